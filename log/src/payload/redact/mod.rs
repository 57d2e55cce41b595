//! The only maker of payloads: what is secret is replaced before anything is stored.
//!
//! Replaced are, in place and without touching another byte: the values of secret-like keys (JSON
//! objects, header lines, query parameters, assignments), `Bearer` and `Basic` credentials, the user
//! part of URLs, and every secret value that this process resolved, also in its JSON-escaped,
//! percent-encoded and base64 forms. Each place becomes `[redacted:N]`, numbered from 1. JSON inside
//! JSON strings is read too, [`LEVELS_MAX`] levels deep.
//!
//! Promises: valid JSON stays valid JSON; redacting twice is redacting once; work grows with the
//! bytes and not with their nesting; nothing here panics, whatever the bytes are. Not promised: a
//! secret that a peer invented and put under a harmless name is not recognised.

mod json;
mod known;
mod names;
mod spans;
mod text;
mod unescape;

pub use known::{KnownSecrets, SECRET_BYTES_MIN};

use super::{About, Media, Payload, Role};
use crate::seam::Ids;
use known::Forms;
use memchr::memchr;
use spans::{Numbers, Span};
use std::borrow::Cow;
use std::fmt;

/// How deep JSON in JSON strings is read by its keys; below, the rules for text still hold.
pub const LEVELS_MAX: u32 = 4;

/// How often the rules are applied to what they made. One place that is replaced can bring another
/// one into sight; two rounds are the rule, and the last one finds nothing.
const ROUNDS_MAX: u32 = 4;

/// Replaces secrets and makes payloads.
#[derive(Default)]
pub struct Redactor {
    forms: Forms,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor(..)")
    }
}

impl Redactor {
    /// Knows every secret value that this process resolved.
    pub fn new(secrets: &KnownSecrets) -> Self {
        Self {
            forms: Forms::of(secrets),
        }
    }

    /// A payload of JSON, kept as received but for the replaced places.
    pub fn json(&self, ids: &Ids, role: Role, about: About, bytes: &[u8]) -> Payload {
        self.payload(ids, role, Media::Json, about, bytes)
    }

    /// Bytes that a redactor made before, for another event: what was replaced then counts on.
    pub fn again(
        &self,
        ids: &Ids,
        (role, media): (Role, Media),
        about: About,
        (bytes, redacted): (&[u8], u32),
    ) -> Payload {
        let payload = self.payload(ids, role, media, about, bytes);
        let redacted = payload.redacted.saturating_add(redacted);
        Payload {
            redacted,
            ..payload
        }
    }

    /// A payload of text.
    pub fn text(&self, ids: &Ids, role: Role, about: About, text: &str) -> Payload {
        self.payload(ids, role, Media::Text, about, text.as_bytes())
    }

    /// A payload of any other bytes.
    pub fn bytes(&self, ids: &Ids, role: Role, about: About, bytes: &[u8]) -> Payload {
        self.payload(ids, role, Media::Bytes, about, bytes)
    }

    /// A payload of header lines, one `name: value` a line, in the order given.
    ///
    /// If something was redacted in the body that they belong to, the headers that fingerprint that
    /// body are left out, each counted as one replaced place: a short secret falls to its digest.
    pub fn headers<'a>(
        &self,
        ids: &Ids,
        role: Role,
        headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
        body_was_redacted: bool,
    ) -> Payload {
        let mut numbers = Numbers::new(&self.forms);
        let mut lines = Vec::new();
        for (name, value) in headers {
            if body_was_redacted && names::is_fingerprint(name) {
                numbers.count();
                continue;
            }
            // A value with a line break is no header; it must not become two of them.
            let value: Vec<u8> = value
                .iter()
                .map(|b| if matches!(b, b'\r' | b'\n') { b' ' } else { *b })
                .collect();
            lines.extend_from_slice(name.as_bytes());
            lines.extend_from_slice(b": ");
            if names::is_secret_header(name) && !spans::is_harmless(&value) {
                lines.extend_from_slice(numbers.next().as_bytes());
            } else {
                lines.extend_from_slice(&self.rounds(&value, false, &mut numbers));
            }
            lines.push(b'\n');
        }
        let redacted = numbers.places();
        let about = About::default();
        Payload::new(role, Media::Headers, redacted, ids.salt(), about, lines)
    }

    /// The text without its secrets: for errors and logs, which are no payloads.
    pub fn clean(&self, text: &str) -> String {
        let mut numbers = Numbers::new(&self.forms);
        let bytes = self.rounds(
            text.as_bytes(),
            looks_like_json(text.as_bytes()),
            &mut numbers,
        );
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn payload(&self, ids: &Ids, role: Role, media: Media, about: About, bytes: &[u8]) -> Payload {
        let mut numbers = Numbers::new(&self.forms);
        let as_json = media == Media::Json || looks_like_json(bytes);
        let bytes = self.rounds(bytes, as_json, &mut numbers).into_owned();
        let about = About {
            media_type: about.media_type.map(|text| self.clean(&text)),
            name: about.name.map(|text| self.clean(&text)),
        };
        Payload::new(role, media, numbers.places(), ids.salt(), about, bytes)
    }

    fn rounds<'b>(
        &self,
        bytes: &'b [u8],
        as_json: bool,
        numbers: &mut Numbers<'_>,
    ) -> Cow<'b, [u8]> {
        let mut bytes = Cow::Borrowed(bytes);
        for _ in 0..ROUNDS_MAX {
            let found = find(&bytes, &self.forms, 0, as_json);
            if found.is_empty() {
                break;
            }
            bytes = Cow::Owned(spans::replace(&bytes, &found, numbers));
        }
        bytes
    }
}

/// The places to replace, in order and apart from each other.
fn find(bytes: &[u8], forms: &Forms, level: u32, as_json: bool) -> Vec<Span> {
    if !as_json {
        return spans::merge(in_text(bytes, forms, level));
    }
    let mut scan = json::scan(bytes, forms, level);
    if !scan.sound {
        scan.spans.extend(in_text(bytes, forms, level));
    }
    spans::merge(scan.spans)
}

/// The places in a text. Lines of it that are JSON (a log of such lines, an event stream) are read as that.
fn in_text(bytes: &[u8], forms: &Forms, level: u32) -> Vec<Span> {
    let mut found = text::find(bytes, forms);
    let mut read: Vec<(usize, usize)> = Vec::new();
    let mut start = 0;
    let mut inner = Vec::new();
    for line in lines(bytes) {
        let begin = line.strip_prefix(b"data:").map_or(0, |_| 5);
        let text = line.get(begin..).unwrap_or_default();
        if level < LEVELS_MAX && looks_like_json(text) {
            let scan = json::scan(text, forms, level + 1);
            if scan.sound {
                read.push((start + begin, start + line.len()));
                inner.extend(scan.spans.into_iter().map(|span| Span {
                    start: start + begin + span.start,
                    end: start + begin + span.end,
                    quote: span.quote,
                }));
            }
        }
        start += line.len();
    }
    found.retain(|span| {
        let after = read.partition_point(|(_, end)| *end <= span.start);
        read.get(after)
            .is_none_or(|(begin, end)| span.start < *begin || span.end > *end)
    });
    found.extend(inner);
    found
}

/// The lines of a text, each with its end.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let end = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let (line, after) = rest.split_at_checked(end)?;
        rest = after;
        (!line.is_empty()).then_some(line)
    })
}

fn looks_like_json(bytes: &[u8]) -> bool {
    matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['))
}

#[cfg(test)]
mod tests;
