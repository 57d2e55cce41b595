//! The lines of the evidence form, one struct each: what is written is what is read.
//!
//! ```text
//! {"export":{"version":1,"program":"missive/0.1.0","log":"<hex>","filtered":false}}
//! {"seq":1,"prev":0,"body":"<exact text>","link":"<hex>","payloads":[{"salt":"<hex>","text":"..."}]}
//! {"gap":"<base64 of the digests of left-out events>"}
//! {"head":{"log":"<hex>","seq":9,"link":"<hex>"}}
//! ```
//! A payload is `{"salt","text"}`, `{"salt","base64"}`, `{"erased":seq}`, `{"withheld":true}` or
//! `{"missing":true}`. Each line has one spelling: keys in this order, no white space, minimal escapes.

use crate::chain::{Anchor, Digest, Link, LogId, Salt};
use crate::contract::{BATCH_BYTES_MAX, Record};
use crate::event::Seq;
use crate::event::facts::Program;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::{self, Write};

/// The version of the form.
pub(super) const VERSION: u32 = 1;

/// The most digests in one gap line; more left-out events take several lines in a row.
pub(super) const GAP_DIGESTS_MAX: usize = 4_096;

/// The longest line: the payloads of one batch, whose text doubles at most when it is escaped, and a body.
pub(super) const LINE_BYTES_MAX: usize = 2 * BATCH_BYTES_MAX + (1 << 20);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeaderLine {
    pub(super) export: Header,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) version: u32,
    pub(super) program: Program,
    pub(super) log: LogId,
    pub(super) filtered: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordLine<'a> {
    pub(super) seq: Seq,
    pub(super) prev: Seq,
    #[serde(borrow)]
    pub(super) body: Cow<'a, str>,
    pub(super) link: Link,
    #[serde(borrow)]
    pub(super) payloads: Vec<PayloadForm<'a>>,
}

impl<'a> RecordLine<'a> {
    pub(super) fn new(record: &'a Record, payloads: Vec<PayloadForm<'a>>) -> Self {
        Self {
            seq: record.seq,
            prev: record.prev,
            body: Cow::Borrowed(&record.body),
            link: record.link,
            payloads,
        }
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PayloadForm<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) salt: Option<String>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Text<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) erased: Option<Seq>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) withheld: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) missing: Option<bool>,
}

/// Borrows where nothing is escaped, which `Option<Cow>` alone does not.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl<'a> PayloadForm<'a> {
    pub(super) fn present(salt: &Salt, bytes: &'a [u8]) -> Self {
        let mut form = Self {
            salt: Some(salt.to_string()),
            ..Self::default()
        };
        match as_text(bytes) {
            Some(text) => form.text = Some(Text(Cow::Borrowed(text))),
            None => form.base64 = Some(STANDARD.encode(bytes)),
        }
        form
    }
}

/// The bytes as text, where they are UTF-8 without control characters other than tab and line ends.
/// So text at most doubles when it is escaped.
pub(super) fn as_text(bytes: &[u8]) -> Option<&str> {
    let plain = |b: &u8| *b >= b' ' || matches!(b, b'\t' | b'\n' | b'\r');
    std::str::from_utf8(bytes)
        .ok()
        .filter(|_| bytes.iter().all(plain))
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GapLine {
    pub(super) gap: String,
}

impl GapLine {
    pub(super) fn new(digests: &[Digest]) -> Self {
        let joined: Vec<u8> = digests.iter().flat_map(|digest| digest.0).collect();
        Self {
            gap: STANDARD.encode(joined),
        }
    }

    /// The digests; `None` if these are none, or too many for a line.
    pub(super) fn digests(&self) -> Option<Vec<Digest>> {
        let joined = STANDARD.decode(&self.gap).ok()?;
        let (digests, rest) = joined.as_chunks::<32>();
        let fits = (1..=GAP_DIGESTS_MAX).contains(&digests.len()) && rest.is_empty();
        fits.then(|| digests.iter().copied().map(Digest).collect())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeadLine {
    pub(super) head: HeadForm,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeadForm {
    log: LogId,
    seq: Seq,
    link: Link,
}

impl From<Anchor> for HeadForm {
    fn from(head: Anchor) -> Self {
        Self {
            log: head.log,
            seq: head.seq,
            link: head.link,
        }
    }
}

impl From<HeadForm> for Anchor {
    fn from(head: HeadForm) -> Self {
        Self {
            log: head.log,
            seq: head.seq,
            link: head.link,
        }
    }
}

/// Writes one line.
pub(super) fn write(out: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// Whether the line is spelled in the one way in which it is written.
pub(super) fn is_spelled(line: &[u8], read: &impl Serialize) -> bool {
    let mut rest = Rest(line);
    serde_json::to_writer(&mut rest, read).is_ok() && rest.0.is_empty()
}

/// Compares what is written with what is there, without a copy.
struct Rest<'a>(&'a [u8]);

impl Write for Rest<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .strip_prefix(bytes)
            .ok_or(io::ErrorKind::InvalidData)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
