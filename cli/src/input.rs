//! The parts of a message: from what was typed to what is sent.
//!
//! Everything that can be wrong with a file, with standard input or with a JSON part is found here,
//! before anything is recorded or sent. Reading is bounded; the bound counts all parts together.

use crate::args::send::{Part, Parts, Source};
use crate::failure::Failure;
use missive_commands::Exit;
use missive_commands::wire::json::{JsonText, Limits};
use missive_commands::wire::message::{self, Content};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

/// One part, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    /// What the peer gets.
    pub(crate) part: message::Part,
    /// Which argument it came from, as `send_result` names it.
    pub(crate) source: &'static str,
    /// How long its content is, before any encoding.
    pub(crate) bytes: u64,
}

/// Reads every part. `bytes_max` bounds what they hold together.
pub(crate) fn read(parts: &Parts, bytes_max: u64, stdin: impl Read) -> Result<Vec<Input>, Failure> {
    let mut stdin = Some(stdin);
    let mut left = bytes_max;
    let mut inputs = Vec::new();
    for part in &parts.0 {
        let input = read_one(part, left, bytes_max, &mut stdin)?;
        left = left.saturating_sub(input.bytes);
        inputs.push(input);
    }
    Ok(inputs)
}

fn read_one(
    part: &Part,
    left: u64,
    bytes_max: u64,
    stdin: &mut Option<impl Read>,
) -> Result<Input, Failure> {
    let mut filename = None;
    let (content, source, bytes) = match &part.source {
        Source::Message(text) => (Content::Text(text.clone()), "message", text.len()),
        Source::Text(text) => (Content::Text(text.clone()), "part", text.len()),
        Source::Stdin => {
            let text = text_of(stdin.take(), left, bytes_max)?;
            let bytes = text.len();
            (Content::Text(text), "stdin", bytes)
        }
        Source::File(path) => {
            filename = name_of(path);
            let url = address(path)?;
            let bytes = url.len();
            (Content::Url(url), "file", bytes)
        }
        Source::FileBytes(path) => {
            filename = name_of(path);
            let file = opened(path)?.0;
            let read = bounded(file, left).map_err(|error| unreadable(path, &error))?;
            let Some(content) = read else {
                return Err(too_large(&path.display().to_string(), bytes_max));
            };
            let bytes = content.len();
            (Content::Raw(content), "file-bytes", bytes)
        }
        Source::Json(text) => {
            let json = JsonText::parse(text, &Limits::default()).map_err(|error| {
                Failure::from_error(Exit::Data, &error)
                    .detail("json_part")
                    .hint("quote it for the shell: --json-part '{\"key\": \"value\"}'")
            })?;
            (Content::Data(json), "json-part", text.len())
        }
    };
    let bytes = bytes as u64;
    if bytes > left {
        return Err(too_large(&format!("--{source}"), bytes_max));
    }
    let media_type = part
        .media_type
        .clone()
        .or_else(|| default_media_type(&content));
    let part = message::Part {
        content,
        filename,
        media_type,
        metadata: None,
    };
    Ok(Input {
        part,
        source,
        bytes,
    })
}

/// JSON is JSON; what a file holds is for the user to say.
fn default_media_type(content: &Content) -> Option<String> {
    match content {
        Content::Data(_) => Some("application/json".to_owned()),
        Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
    }
}

fn text_of(stdin: Option<impl Read>, left: u64, bytes_max: u64) -> Result<String, Failure> {
    // The flag cannot be given twice, so standard input is still there.
    let Some(stdin) = stdin else {
        return Ok(String::new());
    };
    let read = bounded(stdin, left)
        .map_err(|error| Failure::io("standard input cannot be read", &error).detail("input"))?;
    let Some(bytes) = read else {
        return Err(too_large("standard input", bytes_max));
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(
            Exit::Data,
            format!("standard input is not UTF-8 at byte {at}"),
        )
        .detail("not_utf8")
        .hint("send bytes that are no text with --file-bytes")
    })
}

/// The whole content, or nothing if it is longer than allowed.
fn bounded(source: impl Read, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    source
        .take(bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= bytes_max).then_some(bytes))
}

/// The `file://` address of a regular file that can be read.
fn address(path: &Path) -> Result<String, Failure> {
    let (_, found) = opened(path)?;
    if !found.is_file() {
        let what = format!("`{}` is not a regular file", path.display());
        return Err(Failure::new(Exit::Data, what).detail("not_a_file"));
    }
    let whole = std::fs::canonicalize(path).map_err(|error| unreadable(path, &error))?;
    let url = url::Url::from_file_path(&whole);
    url.map(String::from).map_err(|()| {
        let what = format!("`{}` has no file address", path.display());
        Failure::new(Exit::Data, what).detail("not_a_file")
    })
}

fn opened(path: &Path) -> Result<(File, Metadata), Failure> {
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let found = file.metadata().map_err(|error| unreadable(path, &error))?;
    if found.is_dir() {
        let what = format!("`{}` is a folder", path.display());
        return Err(Failure::new(Exit::Data, what).detail("not_a_file"));
    }
    Ok((file, found))
}

fn name_of(path: &Path) -> Option<String> {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::io(format!("`{}` cannot be read", path.display()), error).detail("input")
}

fn too_large(what: &str, bytes_max: u64) -> Failure {
    Failure::new(
        Exit::Data,
        format!("with {what} the message is longer than {bytes_max} bytes"),
    )
    .detail("too_large")
    .hint("raise `max_request_bytes` in [qos], or send a reference with --file")
}

#[cfg(test)]
mod tests {
    use super::{Input, read};
    use crate::args::send::{Part, Parts, Source};
    use crate::failure::Failure;
    use missive_commands::wire::message::Content;

    fn read_all(sources: Vec<Source>, bytes_max: u64, stdin: &[u8]) -> Result<Vec<Input>, Failure> {
        let parts = sources.into_iter().map(|source| Part {
            source,
            media_type: None,
        });
        read(&Parts(parts.collect()), bytes_max, stdin)
    }

    fn refused(source: Source, stdin: &[u8]) -> String {
        let failure = read_all(vec![source], 10, stdin).unwrap_err();
        format!("{} {}", failure.exit().number(), failure.code())
    }

    #[test]
    fn parts_become_text_addresses_bytes_and_json_as_typed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a b.bin");
        std::fs::write(&file, [0xff, 0]).unwrap();
        let sources = vec![
            Source::Stdin,
            Source::FileBytes(file.clone()),
            Source::File(file),
            Source::Json("{\"a\": 9007199254740993, \"b\": 1.0}".to_owned()),
        ];

        let inputs = read_all(sources, 1 << 20, "é\n".as_bytes()).unwrap();

        let [text, raw, url, json] = &inputs[..] else {
            panic!("{inputs:?}")
        };
        assert!(matches!(&text.part.content, Content::Text(text) if text == "é\n"));
        assert!(matches!(&raw.part.content, Content::Raw(bytes) if bytes == &[0xff, 0]));
        assert_eq!(
            (raw.bytes, raw.part.filename.as_deref()),
            (2, Some("a b.bin"))
        );
        assert!(
            matches!(&url.part.content, Content::Url(url) if url.starts_with("file:///") && url.ends_with("/a%20b.bin"))
        );
        assert_eq!(json.part.media_type.as_deref(), Some("application/json"));
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_own_code() {
        let folder = tempfile::tempdir().unwrap();
        let large = folder.path().join("large");
        std::fs::write(&large, [0; 11]).unwrap();

        insta::assert_snapshot!(refused(Source::FileBytes(large), b""), @"65 missive::data::too_large");
        insta::assert_snapshot!(refused(Source::FileBytes(folder.path().into()), b""), @"65 missive::data::not_a_file");
        insta::assert_snapshot!(refused(Source::File(folder.path().into()), b""), @"65 missive::data::not_a_file");
        insta::assert_snapshot!(refused(Source::File("/dev/null".into()), b""), @"65 missive::data::not_a_file");
        insta::assert_snapshot!(refused(Source::File(folder.path().join("absent")), b""), @"74 missive::io::input");
        insta::assert_snapshot!(refused(Source::Stdin, b"\xff"), @"65 missive::data::not_utf8");
        insta::assert_snapshot!(refused(Source::Stdin, b"01234567890"), @"65 missive::data::too_large");
        insta::assert_snapshot!(refused(Source::Message("01234567890".to_owned()), b""), @"65 missive::data::too_large");
        insta::assert_snapshot!(refused(Source::Json("{\"a\":".to_owned()), b""), @"65 missive::data::json_part");
    }

    #[test]
    fn the_bound_counts_all_parts_together() {
        let six = || Source::Text("123456".to_owned());

        assert!(read_all(vec![six()], 10, b"").is_ok());
        assert!(read_all(vec![six(), six()], 10, b"").is_err());
    }
}
