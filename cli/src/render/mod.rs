//! What a command found, as text, JSON or NDJSON.
//!
//! A [`Report`] is one value with two faces, so that people and programs are told the same. Results
//! go to stdout, everything else to stderr. Nothing here decides anything.

pub(crate) mod envelope;
pub(crate) mod escape;
pub(crate) mod output;
pub(crate) mod page;
pub(crate) mod progress;
pub(crate) mod sink;

pub(crate) use envelope::Kind;
pub(crate) use output::Output;
pub(crate) use page::{Page, Tint};
pub(crate) use progress::Progress;
pub(crate) use sink::Reader;

use crate::failure::Failure;
use page::Tint::{Bad, Faint, Plain};
use serde::Serialize;

/// The result of a command. Its `Serialize` is the `data` of the envelope.
pub(crate) trait Report: Serialize {
    /// What the envelope calls it.
    fn kind(&self) -> Kind;

    /// False only for a result that is itself the bad news, such as a log that does not verify.
    fn ok(&self) -> bool {
        true
    }

    /// The same for people.
    fn human(&self, page: &mut Page);

    /// One envelope per item, for lists; one for all, for everything else.
    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        lines.push(self.kind(), self.ok(), self)
    }
}

/// NDJSON in the making.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    next: u64,
    position: Option<u64>,
}

impl Lines {
    /// Appends an envelope with the next sequence number.
    pub(crate) fn push<T: Serialize + ?Sized>(
        &mut self,
        kind: Kind,
        ok: bool,
        content: &T,
    ) -> Result<(), serde_json::Error> {
        self.bytes.extend(envelope::encode_at(
            self.position,
            kind,
            ok,
            Some(self.next),
            content,
        )?);
        self.next += 1;
        Ok(())
    }
}

/// How results and errors are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    /// For people.
    #[default]
    Human,
    /// One document.
    Json,
    /// One document a line.
    Ndjson,
}

/// A failure as it appears on stderr. `sequence` counts for NDJSON.
pub(crate) fn failure(failure: &Failure, mode: Mode, sequence: u64, colour: bool) -> String {
    let sequence = match mode {
        Mode::Human => return failure_for_people(failure, colour),
        Mode::Json => None,
        Mode::Ndjson => Some(sequence),
    };
    match envelope::encode_failure(failure, sequence) {
        Ok(bytes) => envelope::for_terminal(&bytes),
        // Strings and numbers always encode; should they not, the user still learns what happened.
        Err(_) => failure_for_people(failure, colour),
    }
}

fn failure_for_people(failure: &Failure, colour: bool) -> String {
    let mut page = Page::new(colour);
    page.spans(&[(Bad, "missive: "), (Plain, failure.message())]);
    for source in failure.sources() {
        page.spans(&[(Faint, "caused by: "), (Plain, source)]);
    }
    for hint in failure.hints() {
        page.spans(&[(Faint, "hint: "), (Plain, hint)]);
    }
    page.into_text()
}

#[cfg(test)]
mod tests {
    use super::{Mode, failure};
    use crate::failure::Failure;
    use missive_commands::Exit;

    #[test]
    fn people_get_message_causes_and_hints_with_foreign_text_escaped() {
        let inner = std::io::Error::other("peer said \u{1b}]0;owned\u{7}");
        let told = Failure::new(Exit::Transport, "the card of weather cannot be fetched")
            .caused_by(Some(&inner))
            .hint("see `missive doctor`");

        insta::assert_snapshot!(failure(&told, Mode::Human, 0, false), @r"
        missive: the card of weather cannot be fetched
        caused by: peer said \u{1b}]0;owned\u{7}
        hint: see `missive doctor`
        ");
    }
}
