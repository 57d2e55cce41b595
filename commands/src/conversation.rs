//! What was said in a context, both sides, in the order of the log.
//!
//! Events and their opened payloads go in, turns come out: what a person would read. It is pure, and it
//! keeps no more than one artifact's text and, of each task, what was already told of it: a peer repeats
//! whole tasks again and again, and a reader wants to see what is new.

use std::collections::BTreeMap;

use missive_log::Role;
use missive_log::event::facts::StreamEnd;
use missive_log::event::{Alias, ContextId, Event, EventKind};
use serde::Serialize;

use crate::facts;
use crate::wire::facts::{ArtifactFacts, TaskFacts};
use crate::wire::kept::{Kept, answer, sent};
use crate::wire::state::TaskState;
use crate::wire::update::{ChunkFacts, UpdateKind};

/// The most text of one artifact that is put together, in bytes; what is longer comes as several turns.
const ARTIFACT_BYTES_MAX: usize = 1 << 20;

/// Who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// This side.
    Sent,
    /// The agent.
    Received,
    /// Nobody: it happened here.
    Local,
}

/// One thing that was said, or that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Turn {
    /// The event that it begins with.
    pub sequence: u64,
    /// When that was recorded.
    pub timestamp: String,
    /// Who said it.
    pub side: Side,
    /// `message`, `status`, `artifact` or `note`.
    pub kind: &'static str,
    /// The agent, by the alias that it had then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The state that the task is in from here on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// The artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactName>,
    /// What it says. Free text of a stranger, or of a person here.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What is missing of it: `erased`, or that places were redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<&'static str>,
}

/// Which artifact a turn brings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArtifactName {
    /// Its id.
    pub artifact_id: String,
    /// The name that the agent gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many parts it has.
    pub parts: usize,
}

/// A payload of an event, as far as it is there.
#[derive(Clone, Debug)]
pub enum Opened {
    /// Its bytes, and in how many places they were redacted.
    Bytes(Vec<u8>, u32),
    /// It was erased.
    Erased,
    /// There is none.
    None,
}

/// The role of the payload that a turn is read from, if the event makes one.
pub fn spoken(kind: &EventKind) -> Option<&'static [Role]> {
    match kind {
        EventKind::SendRequested(_) | EventKind::StreamRequested(_) => Some(&[Role::Request]),
        EventKind::SendResponded(_) => Some(&[Role::Response]),
        EventKind::SendResolved(_) | EventKind::TaskUpdated(_) => Some(&[Role::Task]),
        EventKind::StreamTask(_)
        | EventKind::StreamMessage(_)
        | EventKind::StreamStatusUpdate(_)
        | EventKind::StreamArtifactUpdate(_) => Some(&[Role::Frame]),
        EventKind::PushTask(_)
        | EventKind::PushMessage(_)
        | EventKind::PushStatusUpdate(_)
        | EventKind::PushArtifactUpdate(_) => Some(&[Role::Delivery]),
        EventKind::ContextCreated(_) | EventKind::ContextClosed(_) => Some(&[Role::Summary]),
        EventKind::ContextForked(_)
        | EventKind::ContextNamed(_)
        | EventKind::ContextExported(_)
        | EventKind::ArtifactsSaved(_)
        | EventKind::Group(_)
        | EventKind::Round(_)
        | EventKind::SendFailed(_)
        | EventKind::SendInDoubt(_)
        | EventKind::StreamClosed(_)
        | EventKind::StreamMalformed(_) => Some(&[]),
        // Listed, not `_`: a new fact must be considered here before it compiles.
        EventKind::LogCreated(_)
        | EventKind::LogExported(_)
        | EventKind::LogReanchored(_)
        | EventKind::ActorSeen(_)
        | EventKind::AgentAdded(_)
        | EventKind::AgentRenamed(_)
        | EventKind::AgentRemoved(_)
        | EventKind::CardRequested(_)
        | EventKind::CardFetched(_)
        | EventKind::CardFailed(_)
        | EventKind::CallRequested(_)
        | EventKind::CallResponded(_)
        | EventKind::CallFailed(_)
        | EventKind::CardChecked(_)
        | EventKind::CardChanged(_)
        | EventKind::ExtendedCardFetched(_)
        | EventKind::KeyPinned(_)
        | EventKind::CardGiven(_)
        | EventKind::SubscriptionRequested(_)
        | EventKind::PushConfigured(_)
        | EventKind::PushRemoved(_)
        | EventKind::PushRejected(_)
        | EventKind::WebhookStarted(_)
        | EventKind::WebhookStopped(_)
        | EventKind::Unknown(_) => None,
    }
}

/// What was told of a task already.
#[derive(Debug, Default)]
struct Told {
    state: Option<&'static str>,
    /// Artifacts, with their numbers of parts.
    artifacts: BTreeMap<String, usize>,
}

/// A conversation, as it is read.
#[derive(Debug, Default)]
pub struct Conversation {
    told: BTreeMap<(Option<Alias>, String), Told>,
    /// The artifact that pieces still come of.
    open: Option<Turn>,
}

impl Conversation {
    /// Reads the next event of the context; `opened` is the payload that [`spoken`] named.
    pub fn take(&mut self, event: &Event, opened: &Opened) -> Vec<Turn> {
        let mut turns = Vec::new();
        let Some(roles) = spoken(&event.kind) else {
            return turns;
        };
        if roles == [Role::Request] {
            let mut turn = turn(event, Side::Sent, "message");
            turn.task_id = event.links.task.as_ref().map(ToString::to_string);
            if let Some(message) = read(&mut turn, opened, sent) {
                turn.text = message.text;
            }
            turns.push(turn);
        } else if roles.is_empty() || roles == [Role::Summary] {
            turns.extend(noted(event, opened));
        } else if !is_repeated(&event.kind) {
            self.said(event, opened, &mut turns);
        }
        // Pieces that only add to the open artifact leave it open.
        if turns.is_empty() {
            return turns;
        }
        let mut all: Vec<Turn> = self.open.take().into_iter().collect();
        all.append(&mut turns);
        if all.last().is_some_and(is_open) {
            self.open = all.pop();
        }
        all
    }

    /// What is left when there are no more events.
    pub fn end(&mut self) -> Option<Turn> {
        self.open.take()
    }

    fn said(&mut self, event: &Event, opened: &Opened, turns: &mut Vec<Turn>) {
        let mut first = turn(event, Side::Received, "message");
        let Some(kept) = read(&mut first, opened, answer) else {
            if first.withheld.is_some() {
                turns.push(first);
            }
            return;
        };
        match kept {
            Kept::Message(message) => {
                first.task_id = message.task_id;
                first.text = message.text;
                turns.push(first);
            }
            Kept::Task(task) => self.task(&first, &task, turns),
            Kept::Update(UpdateKind::Status(status)) => {
                let task = status.task_id.unwrap_or_default();
                let text = status.text.unwrap_or_default();
                self.state(&first, &task, Some(&status.state), text, turns);
            }
            Kept::Update(UpdateKind::Artifact(chunk)) => self.piece(&first, &chunk, turns),
            Kept::Update(UpdateKind::Task(_) | UpdateKind::Message(_)) => {}
        }
    }

    fn told(&mut self, like: &Turn, task: &str) -> &mut Told {
        let agent = like
            .agent
            .as_deref()
            .and_then(|alias| Alias::new(alias).ok());
        self.told.entry((agent, task.to_owned())).or_default()
    }

    fn state(
        &mut self,
        like: &Turn,
        task: &str,
        state: Option<&TaskState>,
        text: String,
        turns: &mut Vec<Turn>,
    ) {
        let state = state.map(|state| facts::state(state).as_str());
        let told = self.told(like, task);
        if told.state == state && text.is_empty() {
            return;
        }
        told.state = state;
        turns.push(Turn {
            kind: "status",
            task_id: Some(task.to_owned()),
            state,
            text,
            ..like.clone()
        });
    }

    fn task(&mut self, like: &Turn, task: &TaskFacts, turns: &mut Vec<Turn>) {
        let id = task.task_id.clone().unwrap_or_default();
        let new: Vec<&ArtifactFacts> = task
            .artifacts
            .iter()
            .filter(|artifact| {
                let name = artifact.artifact_id.clone().unwrap_or_default();
                let told = self.told(like, &id);
                told.artifacts.insert(name, artifact.parts.len()) != Some(artifact.parts.len())
            })
            .collect();
        for artifact in new {
            turns.push(brought(like, &id, artifact));
        }
        let text = task.status_text.clone().unwrap_or_default();
        let known = self.told(like, &id).state;
        let changed = task
            .state
            .as_ref()
            .map(|state| facts::state(state).as_str())
            != known;
        // A repeated task repeats its status message as well.
        let text = if changed { text } else { String::new() };
        self.state(like, &id, task.state.as_ref(), text, turns);
    }

    fn piece(&mut self, like: &Turn, chunk: &ChunkFacts, turns: &mut Vec<Turn>) {
        let id = chunk.task_id.clone().unwrap_or_default();
        let name = chunk.artifact.artifact_id.clone().unwrap_or_default();
        let told = self.told(like, &id);
        let parts = told.artifacts.entry(name.clone()).or_default();
        *parts = chunk.artifact.parts.len() + if chunk.append { *parts } else { 0 };
        let open = self.open.as_mut().filter(|open| {
            chunk.append
                && open.task_id.as_deref() == Some(id.as_str())
                && open.agent == like.agent
                && open.text.len() < ARTIFACT_BYTES_MAX
                && matches!(&open.artifact, Some(artifact) if artifact.artifact_id == name)
        });
        if let Some(open) = open {
            open.text.push_str(&chunk.artifact.text);
            if let Some(artifact) = &mut open.artifact {
                artifact.parts += chunk.artifact.parts.len();
            }
            open.withheld = open.withheld.or(like.withheld);
        } else {
            turns.push(brought(like, &id, &chunk.artifact));
        }
    }
}

/// Whether pieces may still be added to a turn.
fn is_open(turn: &Turn) -> bool {
    turn.artifact.is_some()
}

/// Whether a delivery is one that had come before, or is about nothing that is known here.
fn is_repeated(kind: &EventKind) -> bool {
    let (linked, duplicate) = if let EventKind::PushTask(facts) = kind {
        (facts.linked, facts.duplicate)
    } else if let EventKind::PushMessage(facts) = kind {
        (facts.linked, facts.duplicate)
    } else if let EventKind::PushStatusUpdate(facts) = kind {
        (facts.linked, facts.duplicate)
    } else if let EventKind::PushArtifactUpdate(facts) = kind {
        (facts.linked, facts.duplicate)
    } else {
        (true, false)
    };
    duplicate || !linked
}

fn turn(event: &Event, side: Side, kind: &'static str) -> Turn {
    Turn {
        sequence: event.seq.0,
        timestamp: event.at.to_string(),
        side,
        kind,
        agent: event.links.agent.as_ref().map(Alias::to_string),
        task_id: None,
        state: None,
        artifact: None,
        text: String::new(),
        withheld: None,
    }
}

/// Reads a payload, and notes on the turn what is missing of it.
fn read<T>(turn: &mut Turn, opened: &Opened, how: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    match opened {
        Opened::Bytes(bytes, redacted) => {
            if *redacted > 0 {
                turn.withheld = Some("redacted");
            }
            how(bytes)
        }
        Opened::Erased => {
            turn.withheld = Some("erased");
            None
        }
        Opened::None => None,
    }
}

fn brought(like: &Turn, task: &str, artifact: &ArtifactFacts) -> Turn {
    Turn {
        kind: "artifact",
        task_id: Some(task.to_owned()),
        artifact: Some(ArtifactName {
            artifact_id: artifact.artifact_id.clone().unwrap_or_default(),
            name: artifact.name.clone(),
            parts: artifact.parts.len(),
        }),
        text: artifact.text.clone(),
        ..like.clone()
    }
}

/// That the answer to a message is in another context than the message.
pub fn went_on(request: &Event, context: &ContextId) -> Turn {
    let mut turn = turn(request, Side::Local, "note");
    turn.text = format!("the agent answered in context {context}");
    turn
}

/// What happened here, in words.
fn noted(event: &Event, opened: &Opened) -> Option<Turn> {
    let mut turn = turn(event, Side::Local, "note");
    turn.task_id = event.links.task.as_ref().map(ToString::to_string);
    let summary = read(&mut turn, opened, |bytes| {
        String::from_utf8(bytes.to_vec()).ok()
    });
    let with = |words: &str| match &summary {
        Some(summary) => format!("{words}: {summary}"),
        None => words.to_owned(),
    };
    turn.text = if let EventKind::ContextCreated(_) = &event.kind {
        with("context created")
    } else if let EventKind::ContextClosed(_) = &event.kind {
        with("context closed")
    } else if let EventKind::ContextForked(facts) = &event.kind {
        format!("context forked from {}", facts.from)
    } else if let EventKind::ContextNamed(facts) = &event.kind {
        format!("context named {}", facts.name)
    } else if let EventKind::ContextExported(facts) = &event.kind {
        format!("context exported as {}", facts.format)
    } else if let EventKind::ArtifactsSaved(facts) = &event.kind {
        format!("{} files of artifacts saved", facts.files)
    } else if let EventKind::SendFailed(facts) = &event.kind {
        format!("the message failed ({})", facts.failure)
    } else if let EventKind::SendInDoubt(facts) = &event.kind {
        format!(
            "whether the message arrived is not known ({})",
            facts.failure
        )
    } else if let EventKind::StreamMalformed(facts) = &event.kind {
        format!("something that is no update came ({})", facts.why)
    } else if let EventKind::StreamClosed(facts) = &event.kind {
        match facts.end {
            StreamEnd::Terminal
            | StreamEnd::Interrupted
            | StreamEnd::Message
            | StreamEnd::Answer => return None,
            StreamEnd::EndedEarly
            | StreamEnd::Broken
            | StreamEnd::Error
            | StreamEnd::NotSent
            | StreamEnd::InDoubt
            | StreamEnd::Detached
            | StreamEnd::ProcessEnded => format!("the stream ended ({})", facts.end),
        }
    } else {
        return None;
    };
    Some(turn)
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
