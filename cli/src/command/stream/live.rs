//! Updates on their way to whoever watches.

use super::super::acting;
use super::super::beside::Beside;
use crate::failure::Failure;
use crate::render::escape::Escaper;
use crate::render::progress::Progress;
use crate::render::{Kind, Mode, Output, Page, Report};
use missive_commands::report::stream::{StreamEvent, StreamReport};
use missive_commands::wire::text::excerpt;
use missive_commands::{Note, Show};
use serde::Serialize;
use std::collections::BTreeMap;

/// Of how many artifacts it is remembered what was shown. An agent may begin any number of them; what is shown of
/// further ones is shown again where a whole task holds it.
const SEEN_MAX: usize = 10_000;

/// `stream_event`.
#[derive(Serialize)]
#[serde(transparent)]
struct Event<'a>(&'a StreamEvent);

impl Report for Event<'_> {
    fn kind(&self) -> Kind {
        Kind::StreamEvent
    }

    fn human(&self, _: &mut Page) {}
}

/// What was shown of an artifact.
#[derive(Default)]
struct Seen {
    bytes: usize,
    /// A digest of those bytes, to see whether a snapshot goes on from them.
    digest: u64,
}

impl Seen {
    fn add(&mut self, text: &str) {
        self.bytes += text.len();
        self.digest = digest(self.digest, text.as_bytes());
    }
}

/// FNV-1a. It only decides what is printed twice, so a clever peer gains nothing by a collision.
fn digest(before: u64, bytes: &[u8]) -> u64 {
    let start = before ^ 0xcbf2_9ce4_8422_2325;
    let end = bytes.iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    end ^ 0xcbf2_9ce4_8422_2325
}

/// Whose text came last: an artifact's, which may have no id, or none yet.
enum Current {
    Nothing,
    Artifact(Option<String>),
}

/// Updates on their way to whoever watches.
pub(in crate::command) struct Live<'a> {
    output: &'a mut Output,
    progress: Option<Progress>,
    escaper: Escaper,
    /// By artifact.
    seen: BTreeMap<Option<String>, Seen>,
    /// The artifact whose text came last.
    current: Current,
    /// Whether the last line of standard output has no end yet.
    open_line: bool,
    /// Whether anything was written to standard output.
    wrote: bool,
    /// The task that is followed, once it is known.
    pub(in crate::command) task: Option<String>,
    state: Option<&'static str>,
    /// The last state that was told of another task, and which.
    other: Option<(String, &'static str)>,
    failed: Option<Failure>,
}

impl<'a> Live<'a> {
    pub(in crate::command) fn begin(output: &'a mut Output) -> Self {
        let progress = Some(acting::progress(output, "waiting for the agent"));
        Self {
            output,
            progress,
            escaper: Escaper::default(),
            seen: BTreeMap::new(),
            current: Current::Nothing,
            open_line: false,
            wrote: false,
            task: None,
            state: None,
            other: None,
            failed: None,
        }
    }

    /// Ends the last line; gives what went wrong with standard output meanwhile.
    pub(in crate::command) async fn end(
        mut self,
        report: Option<&StreamReport>,
    ) -> Result<(), Failure> {
        drop(self.progress.take());
        if self.is_for_people()
            && let Some(report) = report.filter(|_| !self.wrote)
            && !report.answer.text.is_empty()
        {
            self.write(&report.answer.text).await;
        }
        self.end_line().await;
        self.failed.map_or(Ok(()), Err)
    }

    fn is_for_people(&self) -> bool {
        let style = self.output.style();
        style.mode == Mode::Human && !style.quiet
    }

    async fn bytes(&mut self, bytes: Vec<u8>) {
        if let Err(failure) = self.output.bytes(bytes).await {
            self.failed.get_or_insert(failure);
        }
    }

    /// Writes a piece of text, which may be cut anywhere.
    async fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut escaped = String::with_capacity(text.len());
        self.escaper.push(text.as_bytes(), &mut escaped);
        self.wrote = true;
        self.open_line = !text.ends_with('\n');
        self.bytes(escaped.into_bytes()).await;
    }

    async fn end_line(&mut self) {
        let mut rest = String::new();
        std::mem::take(&mut self.escaper).finish(&mut rest);
        if std::mem::take(&mut self.open_line) {
            rest.push('\n');
        }
        if !rest.is_empty() {
            self.bytes(rest.into_bytes()).await;
        }
    }

    /// Says what happened to the task, in a line of its own.
    async fn say(&mut self, words: &str) {
        // On a terminal both streams share their lines.
        if self.open_line && self.output.style().terminal {
            self.end_line().await;
        }
        self.output.note(words);
    }

    async fn artifact(&mut self, id: Option<&str>, text: &str, append: bool) {
        let id = id.map(str::to_owned);
        let begins = !append && self.seen.contains_key(&id);
        let another = match &self.current {
            Current::Nothing => false,
            Current::Artifact(current) => *current != id,
        };
        if another || begins {
            self.end_line().await;
        }
        if begins {
            self.seen.remove(&id);
        }
        self.current = Current::Artifact(id.clone());
        if self.seen.len() < SEEN_MAX || self.seen.contains_key(&id) {
            self.seen.entry(id).or_default().add(text);
        }
        self.write(text).await;
    }

    /// Of a whole artifact, what was not shown yet.
    async fn whole(&mut self, id: Option<&str>, text: &str) {
        let key = id.map(str::to_owned);
        let shown = self.seen.get(&key).and_then(|seen| {
            let known = text.as_bytes().get(..seen.bytes)?;
            (digest(0, known) == seen.digest).then_some(seen.bytes)
        });
        match shown {
            Some(shown) => {
                let rest = text.get(shown..).unwrap_or_default().to_owned();
                if !rest.is_empty() {
                    self.artifact(id, &rest, true).await;
                }
            }
            None if text.is_empty() => {}
            None => self.artifact(id, text, false).await,
        }
    }

    async fn status(&mut self, event: &StreamEvent) {
        let Some(state) = event.state else { return };
        let text = event.text.as_deref().unwrap_or_default();
        let is_over = !matches!(state, "submitted" | "working" | "unrecognized");
        // The words of a task that is over are its answer, where it has no other.
        let text = if is_over && !self.wrote { "" } else { text };
        let foreign = self.foreign(event).map(str::to_owned);
        let told = match &foreign {
            Some(task) => self.other.replace((task.clone(), state)) == Some((task.clone(), state)),
            None => self.state.replace(state) == Some(state),
        };
        if told && text.is_empty() {
            return;
        }
        let name = match &event.unrecognized_state {
            Some(name) => format!("unrecognized state `{}`", excerpt(name)),
            None => state.replace('_', " "),
        };
        let words = match text {
            "" => name,
            text => format!("{name}: {}", excerpt(text)),
        };
        match foreign {
            Some(task) => self.say(&format!("task {}: {words}", excerpt(&task))).await,
            None => self.say(&words).await,
        }
    }

    /// The task of an update, if it is another one than the first.
    fn foreign<'e>(&mut self, event: &'e StreamEvent) -> Option<&'e str> {
        let told = event.task_id.as_deref()?;
        let known = self.task.get_or_insert_with(|| told.to_owned());
        (known != told).then_some(told)
    }

    async fn for_people(&mut self, event: &StreamEvent) {
        match event.kind {
            "task" => {
                for (id, text) in &event.artifacts {
                    self.whole(id.as_deref(), text).await;
                }
                let told = StreamEvent {
                    text: None,
                    ..event.clone()
                };
                self.status(&told).await;
            }
            "artifact_update" => {
                let text = event.text.as_deref().unwrap_or_default();
                let append = event.append.unwrap_or_default();
                self.artifact(event.artifact_id.as_deref(), text, append)
                    .await;
            }
            "message" => {
                self.end_line().await;
                self.write(event.text.as_deref().unwrap_or_default()).await;
                self.end_line().await;
            }
            _ => self.status(event).await,
        }
        let beside = Beside::of(Some(&event.raw));
        if !beside.is_empty() {
            self.end_line().await;
            let mut page = Page::new(false);
            beside.show(&mut page);
            self.wrote = true;
            self.bytes(page.into_text().into_bytes()).await;
        }
    }
}

impl Show for Live<'_> {
    async fn show(&mut self, event: StreamEvent) {
        drop(self.progress.take());
        match self.output.style().mode {
            Mode::Json => {}
            Mode::Ndjson => {
                if let Err(failure) = self.output.report(&Event(&event)).await {
                    self.failed.get_or_insert(failure);
                }
            }
            Mode::Human if self.output.style().quiet => {}
            Mode::Human => self.for_people(&event).await,
        }
    }

    fn wants_notes(&self) -> bool {
        self.output.style().mode == Mode::Human
    }

    async fn tell(&mut self, note: Note) {
        drop(self.progress.take());
        if note.breaks_a2a() {
            self.output.saw_violation();
        }
        self.say(&format!("note: {note}")).await;
    }
}

#[cfg(test)]
mod tests {
    use super::{Live, SEEN_MAX, StreamEvent};
    use crate::render::Output;
    use crate::render::output::Style;

    #[tokio::test]
    async fn a_snapshot_shows_only_what_is_new_of_an_artifact() {
        let mut output = Output::new(Style::default());
        let mut live = Live::begin(&mut output);
        let piece = |text: &str, append: bool| StreamEvent {
            kind: "artifact_update",
            artifact_id: Some("a".to_owned()),
            append: Some(append),
            text: Some(text.to_owned()),
            ..StreamEvent::default()
        };
        let whole = |text: &str| StreamEvent {
            kind: "task",
            artifacts: vec![(Some("a".to_owned()), text.to_owned())],
            ..StreamEvent::default()
        };
        let bytes = |live: &Live<'_>| live.seen[&Some("a".to_owned())].bytes;

        live.for_people(&piece("Hel", false)).await;
        live.for_people(&piece("lo", true)).await;
        live.for_people(&whole("Hello, world")).await;
        assert_eq!((bytes(&live), live.open_line), (12, true));

        live.for_people(&whole("Something else")).await;
        assert_eq!(bytes(&live), 14);
    }

    #[tokio::test]
    async fn of_any_number_of_artifacts_only_some_are_remembered() {
        let mut output = Output::new(Style::default());
        let mut live = Live::begin(&mut output);

        for number in 0..=SEEN_MAX {
            live.artifact(Some(&number.to_string()), "", false).await;
        }
        live.artifact(Some("7"), "more", true).await;

        assert_eq!(live.seen.len(), SEEN_MAX);
        assert_eq!(live.seen[&Some("7".to_owned())].bytes, 4);
    }
}
