//! Which files an artifact becomes.
//!
//! A text that came in pieces is one file, and so are bytes that an appended piece goes on with; every other
//! part is a file of its own. The plan is made by reading everything once, so that lengths, digests and
//! names are known, and what would be overwritten is seen, before anything is written.

use super::base64::decode;
use super::name::{Names, harmless};
use missive_commands::artifact::{Content, Part};
use missive_log::chain::ContentHasher;
use serde::Serialize;
use std::io::{self, Write};

/// One file.
#[derive(Clone, Debug, Serialize)]
pub(in crate::command) struct FileView {
    /// Its name, or where it was written.
    pub(in crate::command) path: String,
    /// Of which artifact.
    pub(in crate::command) artifact_id: String,
    /// `text`, `raw`, `data` or `url`.
    pub(in crate::command) kind: &'static str,
    /// What the agent calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::command) filename: Option<String>,
    /// What the agent says that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::command) media_type: Option<String>,
    /// Its length.
    pub(in crate::command) bytes: u64,
    /// Its BLAKE3 digest, as `b3sum` prints it.
    pub(in crate::command) blake3: String,
    /// Set where `raw` was no base64: it is kept as it came.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::command) not_base64: bool,
}

/// Files in the making: told of every part in order, in which file it belongs.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    current: Option<Current>,
    /// How many files were begun.
    pub(super) begun: usize,
}

#[derive(Clone, Debug)]
struct Current {
    kind: &'static str,
    filename: Option<String>,
    media_type: Option<String>,
}

impl Cutter {
    /// Whether a part begins a file; `None` for a part that holds nothing.
    pub(super) fn begins(&mut self, part: &Part<'_>, is_base64: bool) -> Option<bool> {
        let kind = match part.content {
            Content::Unknown => return None,
            Content::Raw(_) if !is_base64 => "broken",
            Content::Text(_) | Content::Raw(_) | Content::Url(_) | Content::Data(_) => {
                part.content.name()
            }
        };
        let goes_on = self.current.as_ref().is_some_and(|current| {
            let same = |now: Option<&str>, before: &Option<String>| {
                now.is_none() || now == before.as_deref()
            };
            current.kind == kind
                && (kind == "text" || (kind == "raw" && part.appended))
                && same(part.filename, &current.filename)
                && same(part.media_type, &current.media_type)
        });
        if !goes_on {
            self.begun += 1;
            self.current = Some(Current {
                kind,
                filename: part.filename.map(str::to_owned),
                media_type: part.media_type.map(str::to_owned),
            });
        }
        Some(!goes_on)
    }
}

/// Whether the bytes of a part can be decoded.
pub(super) fn is_base64(part: &Part<'_>) -> bool {
    match part.content {
        // A sink takes everything.
        Content::Raw(raw) => decode(raw, &mut io::sink()).unwrap_or(false),
        Content::Text(_) | Content::Url(_) | Content::Data(_) | Content::Unknown => true,
    }
}

/// Writes what a part holds, as it stands in its file.
pub(super) fn write(part: &Part<'_>, is_base64: bool, out: &mut impl Write) -> io::Result<()> {
    match part.content {
        Content::Text(text) => out.write_all(text.as_bytes()),
        Content::Raw(raw) if is_base64 => decode(raw, out).map(|_| ()),
        Content::Raw(raw) => out.write_all(raw.as_bytes()),
        Content::Data(json) => {
            out.write_all(json.as_bytes())?;
            out.write_all(b"\n")
        }
        Content::Url(url) => {
            let link = Link {
                url,
                filename: part.filename,
                media_type: part.media_type,
                fetched: false,
            };
            serde_json::to_writer_pretty(&mut *out, &link)?;
            out.write_all(b"\n")
        }
        Content::Unknown => Ok(()),
    }
}

/// A link that was not followed.
#[derive(Serialize)]
struct Link<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<&'a str>,
    fetched: bool,
}

/// The file that a part begins, with a name that no other file of the folder has.
pub(super) fn file(
    part: &Part<'_>,
    is_base64: bool,
    (artifact, called): (&str, Option<&str>),
    names: &mut Names,
) -> FileView {
    let extension = match part.content {
        Content::Data(_) => ".json",
        Content::Url(_) => ".url.json",
        Content::Raw(_) if !is_base64 => ".base64.txt",
        Content::Text(_) => extension(part.media_type).unwrap_or(".txt"),
        Content::Raw(_) | Content::Unknown => extension(part.media_type).unwrap_or(".bin"),
    };
    let given = part.filename.and_then(harmless);
    let own = match part.content {
        Content::Data(_) | Content::Url(_) => true,
        Content::Raw(_) => !is_base64,
        Content::Text(_) | Content::Unknown => false,
    };
    let name = match given {
        Some(name) if !own || name.to_lowercase().ends_with(extension) => name,
        Some(name) => format!("{name}{extension}"),
        None => {
            let stem = called.and_then(harmless).or_else(|| harmless(artifact));
            let stem = stem.unwrap_or_else(|| "artifact".to_owned());
            if stem.to_lowercase().ends_with(extension) {
                stem
            } else {
                format!("{stem}{extension}")
            }
        }
    };
    FileView {
        path: names.unique(&name),
        artifact_id: artifact.to_owned(),
        kind: part.content.name(),
        filename: part.filename.map(str::to_owned),
        media_type: part.media_type.map(str::to_owned),
        bytes: 0,
        blake3: String::new(),
        not_base64: !is_base64,
    }
}

fn extension(media_type: Option<&str>) -> Option<&'static str> {
    let media = media_type?.split(';').next()?.trim().to_ascii_lowercase();
    Some(match media.as_str() {
        "text/plain" => ".txt",
        "text/markdown" => ".md",
        "text/csv" => ".csv",
        "text/html" => ".html",
        "application/json" => ".json",
        "application/pdf" => ".pdf",
        "application/zip" => ".zip",
        "image/png" => ".png",
        "image/jpeg" => ".jpg",
        "image/gif" => ".gif",
        "image/svg+xml" => ".svg",
        "audio/mpeg" => ".mp3",
        "audio/wav" => ".wav",
        "video/mp4" => ".mp4",
        _ => return None,
    })
}

/// Counts and digests what would be written.
#[derive(Debug, Default)]
pub(in crate::command) struct Measure {
    hasher: ContentHasher,
    pub(in crate::command) bytes: u64,
}

impl Measure {
    pub(in crate::command) fn digest(&self) -> String {
        self.hasher.digest().to_string()
    }
}

impl Write for Measure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hasher.update(bytes);
        self.bytes = self
            .bytes
            .saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
