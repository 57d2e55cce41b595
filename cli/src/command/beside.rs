//! What an answer holds beside its text: JSON data, files and links, for people.
//!
//! Everything is read from the peer's JSON exactly as it came, so data is shown with its own numbers. File
//! names come from strangers: they are shown, and never part of a command that somebody may paste.

use crate::render::Page;
use missive_commands::wire::json::{Document, Limits};

/// How many parts are shown.
const PARTS_MAX: usize = 100;
/// How much of a name that a peer chose.
const NAME_CHARS_MAX: usize = 120;

/// One part that is no text.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    /// Where it stands in the Task or the Message, as jq writes it.
    place: String,
    what: What,
}

#[derive(Debug, PartialEq, Eq)]
enum What {
    /// JSON.
    Data(String),
    /// Bytes.
    File(String),
    /// An address, which is not fetched.
    Link(String),
    /// Nothing that A2A knows.
    Unknown,
}

/// The parts that are no text, in their order.
#[derive(Debug, Default)]
pub(super) struct Beside(Vec<Part>);

impl Beside {
    /// Those of a Task or a Message as it was received.
    pub(super) fn of(raw: Option<&str>) -> Self {
        let mut found = Self::default();
        let Some(whole) = raw.and_then(read) else {
            return found;
        };
        for (at, artifact) in whole.raw_elements(&["artifacts"]).iter().enumerate() {
            found.add(artifact, &format!("artifacts[{at}].parts"));
        }
        if let Some(message) = whole.raw(&["status", "message"]) {
            found.add(message, "status.message.parts");
        }
        if let Some(artifact) = whole.raw(&["artifact"]) {
            found.add(artifact, "artifact.parts");
        }
        found.add(whole.text(), "parts");
        found
    }

    fn add(&mut self, holder: &str, place: &str) {
        let Some(holder) = read(holder) else { return };
        for (at, part) in holder.raw_elements(&["parts"]).iter().enumerate() {
            if let Some(what) = read(part).and_then(|part| what(&part)) {
                let place = format!("{place}[{at}]");
                self.0.push(Part { place, what });
            }
        }
    }

    /// Whether there is nothing but text.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Data as JSON; of everything else its name, its type and how long it is.
    pub(super) fn show(&self, page: &mut Page) {
        for part in self.0.iter().take(PARTS_MAX) {
            match &part.what {
                What::Data(json) => page.block(json),
                What::File(words) | What::Link(words) => page.line(words),
                What::Unknown => page.line("a part of no known kind"),
            }
        }
        let more = self.0.len().saturating_sub(PARTS_MAX);
        if more > 0 {
            page.line(&format!("and {more} more parts"));
        }
    }

    /// The place of the first file.
    pub(super) fn first_file(&self) -> Option<&str> {
        let mut files = self.0.iter();
        let file = files.find(|part| matches!(part.what, What::File(_)))?;
        Some(&file.place)
    }
}

fn read(text: &str) -> Option<Document> {
    Document::read(text.as_bytes(), &Limits::default()).ok()
}

/// What a part is; `None` for text.
fn what(part: &Document) -> Option<What> {
    let value = part.value();
    let text = |name: &str| value.get(name).and_then(serde_json::Value::as_str);
    let media = text("mediaType").or_else(|| text("media_type"));
    let name = short(text("filename").unwrap_or("a file without a name"));
    if let Some(base64) = text("raw") {
        let digits = base64.trim_end_matches('=').len();
        let bytes = match digits / 4 * 3 + (digits % 4).saturating_sub(1) {
            1 => "1 byte".to_owned(),
            more => format!("{more} bytes"),
        };
        let media = media.map(|media| format!("{}, ", short(media)));
        let words = format!("{name} ({}{bytes})", media.unwrap_or_default());
        return Some(What::File(words));
    }
    if let Some(url) = text("url") {
        let media = media.map(|media| format!(" ({})", short(media)));
        let words = format!("{}{} at {url}", name, media.unwrap_or_default());
        return Some(What::Link(words));
    }
    if let Some(json) = part.raw(&["data"]) {
        return Some(What::Data(json.to_owned()));
    }
    text("text").is_none().then_some(What::Unknown)
}

fn short(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}...", name.get(..end).unwrap_or_default()),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::Beside;
    use crate::render::Page;

    fn shown(raw: &str) -> String {
        let beside = Beside::of(Some(raw));
        let mut page = Page::new(false);
        beside.show(&mut page);
        let file = beside.first_file().unwrap_or("none");
        format!("{}first file: {file}", page.into_text())
    }

    #[test]
    fn data_is_shown_as_it_came_and_files_by_name_type_and_size() {
        let task = r#"{"id": "t", "artifacts": [
            {"parts": [{"text": "hi"}, {"data": {"n": 9007199254740993.10, "b": [1, 2]}}]},
            {"parts": [{"raw": "c3Vubnk=", "filename": "../a\u001b[31m.txt", "mediaType": "text/plain"}, {"raw": "YQ"},
                       {"url": "https://h/f", "filename": "f", "media_type": "image/png"}, {"odd": 1}]}]}"#;

        insta::assert_snapshot!(shown(task), @r#"
        {"n": 9007199254740993.10, "b": [1, 2]}
        ../a\u{1b}[31m.txt (text/plain, 5 bytes)
        a file without a name (1 byte)
        f (image/png) at https://h/f
        a part of no known kind
        first file: artifacts[1].parts[0]
        "#);
        insta::assert_snapshot!(shown(r#"{"messageId": "m", "parts": [{"data": null}, {"raw": "YWI="}]}"#), @r"
        null
        a file without a name (2 bytes)
        first file: parts[1]
        ");
        insta::assert_snapshot!(shown(r#"{"status": {"message": {"parts": [{"text": ""}]}}}"#), @"first file: none");
        insta::assert_snapshot!(shown("[]"), @"first file: none");
    }
}
