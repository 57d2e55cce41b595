//! A task as it is shown: facts from the views, words from the payloads.
//!
//! The state and its words come from the newest report that counted, whatever brought it; artifacts
//! come from their view, since no single report needs to hold all of them.

use std::ops::ControlFlow;

use missive_log::event::facts::TaskState as State;
use missive_log::event::{Event, EventKind, Seq};
use missive_log::{Log, Opened, Role};
use missive_projections::{Artifact, PayloadSource, Task, Views};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::artifact::{Content, gather};
use crate::drive::stored::event_at;
use crate::facts;
use crate::failure::CommandError;
use crate::report::task::{TaskArtifact, TaskView};
use crate::wire::facts::{self as wire, TaskFacts};
use crate::wire::json::{Document, Limits};
use crate::wire::normal::normalise;
use crate::wire::state::TaskState;
use crate::wire::text::cut_at;
use crate::wire::update::{Update, UpdateKind};
use crate::wire::violation::Violations;

/// Where a task may stand in an answer, a frame or a delivery.
const PLACES: [&[&str]; 4] = [&["task"], &["result", "task"], &["result"], &[]];
/// The most bytes of text that a task shows: a longer one is shown artifact by artifact.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// Everything that is known of a task; of its history at most `history_length` messages.
///
/// # Errors
/// The log or the views cannot be read.
pub async fn view<L: Log>(
    log: &L,
    views: &Views,
    task: &Task,
    history_length: Option<u32>,
) -> Result<TaskView, CommandError> {
    let mut shown = facts_of(log, views, task).await?;
    let whole = match open(log, task.source).await? {
        Some(bytes) => Whole::of(&bytes),
        None => None,
    };
    let status = if task.status == task.source {
        whole.as_ref().map(|whole| Status::of(&whole.facts))
    } else {
        open(log, task.status)
            .await?
            .and_then(|bytes| Status::read(&bytes))
    };
    if let Some(status) = status {
        shown.status_text = status.text;
        shown.unrecognized_state = status
            .unrecognized
            .filter(|_| task.state == State::Unrecognized);
    }
    let mut text = Text::default();
    for artifact in views.artifacts(task)? {
        let gathered = gather(log, views, task, &artifact, |part| {
            if let Content::Text(more) = part.content {
                text.push(more);
            }
            ControlFlow::Continue(())
        })
        .await?;
        text.next();
        shown.artifacts.push(short(&artifact, gathered.name));
    }
    shown.text_cut = text.cut;
    shown.text = Some(match text.whole {
        none if none.is_empty() => shown.status_text.clone().unwrap_or_default(),
        some => some,
    });
    shown.raw = whole.and_then(|whole| whole.text(history_length));
    Ok(shown)
}

/// What the views know, without a look into a payload of the task.
pub(super) async fn facts_of<L: Log>(
    log: &L,
    views: &Views,
    task: &Task,
) -> Result<TaskView, CommandError> {
    let told = event_at(log, task.status.seq).await?;
    let protocol_version = match told.as_ref().and_then(|event| event.cause) {
        Some(intent) => version_of(log, intent).await?,
        None => None,
    };
    Ok(TaskView {
        task_id: task.task.to_string(),
        context_id: task.context.as_ref().map(ToString::to_string),
        agent: views.agent_of(task)?.as_ref().map(ToString::to_string),
        state: task.state.as_str(),
        source: told.as_ref().map_or("log", |event| source(event)),
        updated: task.updated.to_string(),
        history_count: task.history,
        contradicted: task.contradicted,
        protocol_version,
        sequence: task.last.0,
        ..TaskView::default()
    })
}

/// An artifact as a task lists it.
pub(super) fn short(artifact: &Artifact, name: Option<String>) -> TaskArtifact {
    TaskArtifact {
        artifact_id: artifact.artifact.to_string(),
        name,
        parts: artifact.parts,
        complete: artifact.complete,
        headless: artifact.headless,
    }
}

/// What a task says that was just read, over what is known of it.
pub(crate) fn seen(shown: &mut TaskView, read: &TaskFacts, raw: &str) {
    let status = Status::of(read);
    let state = read.state.as_ref();
    shown.state = state.map_or(State::Unrecognized, facts::state).as_str();
    shown.unrecognized_state = status.unrecognized;
    shown.status_text = status.text;
    shown.raw = crate::report::raw(raw);
}

/// What brought a report.
pub(super) fn source(event: &Event) -> &'static str {
    let name = event.kind.name();
    ["a2a.stream.", "a2a.push.", "a2a.send."]
        .into_iter()
        .find(|prefix| name.starts_with(prefix))
        .map_or("call", |prefix| {
            prefix.trim_start_matches("a2a.").trim_end_matches('.')
        })
}

/// The texts of artifacts, one after the other, up to the bound.
#[derive(Default)]
struct Text {
    whole: String,
    /// Whether the next text belongs to another artifact than the one before.
    apart: bool,
    cut: bool,
}

impl Text {
    fn push(&mut self, more: &str) {
        if std::mem::take(&mut self.apart) && !self.whole.is_empty() && !more.is_empty() {
            self.whole.push('\n');
        }
        let left = TEXT_BYTES_MAX.saturating_sub(self.whole.len());
        let end = cut_at(more, left);
        self.cut |= end < more.len();
        self.whole.push_str(more.get(..end).unwrap_or_default());
    }

    fn next(&mut self) {
        self.apart = true;
    }
}

/// What is said beside a state.
struct Status {
    text: Option<String>,
    unrecognized: Option<String>,
}

impl Status {
    fn of(task: &TaskFacts) -> Self {
        Self {
            text: task.status_text.clone(),
            unrecognized: unknown(task.state.as_ref()),
        }
    }

    /// From an answer, a frame or a delivery.
    fn read(bytes: &[u8]) -> Option<Self> {
        let document = Document::read(bytes, &Limits::default()).ok()?;
        for path in [&["result"][..], &[]] {
            if let Ok(update) = Update::read(&document, path)
                && let UpdateKind::Status(status) = update.kind
            {
                return Some(Self {
                    unrecognized: unknown(Some(&status.state)),
                    text: status.text,
                });
            }
        }
        Whole::in_document(document).map(|whole| Self::of(&whole.facts))
    }
}

/// The name of a state that A2A does not know.
fn unknown(state: Option<&TaskState>) -> Option<String> {
    match state {
        Some(state @ TaskState::Unknown(_)) => Some(state.name().to_owned()),
        Some(_) | None => None,
    }
}

/// A whole task as it was received.
struct Whole {
    document: Document,
    place: &'static [&'static str],
    facts: TaskFacts,
}

impl Whole {
    fn of(bytes: &[u8]) -> Option<Self> {
        Self::in_document(Document::read(bytes, &Limits::default()).ok()?)
    }

    fn in_document(document: Document) -> Option<Self> {
        for place in PLACES {
            let steps = place.iter();
            let found = steps
                .copied()
                .try_fold(document.value(), |value, name| value.get(name));
            let is_task =
                |value: &&Value| value.get("id").is_some() && value.get("status").is_some();
            if let Some(value) = found.filter(is_task) {
                let facts = wire::task(&normalise(value), &mut Violations::default());
                return Some(Self {
                    document,
                    place,
                    facts,
                });
            }
        }
        None
    }

    /// Its exact text, with only the newest messages of its history if that is asked for.
    fn text(&self, history_length: Option<u32>) -> Option<Box<RawValue>> {
        let whole = self.document.raw(self.place)?;
        let text = history_length.and_then(|length| self.shortened(whole, length));
        RawValue::from_string(text.unwrap_or_else(|| whole.to_owned())).ok()
    }

    fn shortened(&self, whole: &str, length: u32) -> Option<String> {
        let path: Vec<&str> = self.place.iter().copied().chain(["history"]).collect();
        let history = self.document.raw(&path)?;
        let messages = self.document.raw_elements(&path);
        let first = messages.len().saturating_sub(usize::try_from(length).ok()?);
        let kept = messages.get(first..)?.join(",");
        let from = history.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
        let (before, rest) = whole.split_at_checked(from)?;
        let after = rest.get(history.len()..)?;
        Some(format!("{before}[{kept}]{after}"))
    }
}

async fn open<L: Log>(log: &L, source: PayloadSource) -> Result<Option<Vec<u8>>, CommandError> {
    let event = event_at(log, source.seq).await?;
    let Some(of) = event.and_then(|event| source.find(&event)) else {
        return Ok(None);
    };
    Ok(match log.payload(of).await? {
        Opened::Present(row) => Some(row.bytes),
        Opened::Erased(_) | Opened::Missing => None,
    })
}

/// The protocol version that the request of an intent named, in its facts or in its header lines.
async fn version_of<L: Log>(log: &L, intent: Seq) -> Result<Option<String>, CommandError> {
    let Some(event) = event_at(log, intent).await? else {
        return Ok(None);
    };
    if let EventKind::SendRequested(facts) = &event.kind {
        return Ok(Some(facts.version.to_string()));
    }
    if let EventKind::StreamRequested(facts) = &event.kind {
        return Ok(Some(facts.version.to_string()));
    }
    let headers = event.payloads.iter();
    let headers = headers.filter(|payload| payload.role == Role::RequestHeaders);
    for of in headers {
        if let Opened::Present(row) = log.payload(*of).await? {
            let lines = String::from_utf8_lossy(&row.bytes).into_owned();
            let mut fields = lines.lines().filter_map(|line| line.split_once(':'));
            let version = fields.find(|(name, _)| name.eq_ignore_ascii_case("a2a-version"));
            return Ok(version.map(|(_, value)| value.trim().to_owned()));
        }
    }
    Ok(None)
}
