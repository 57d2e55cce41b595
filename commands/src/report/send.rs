//! `send_result` and `retry`.

use missive_log::event::facts::TaskState as State;
use serde::Serialize;
use serde_json::value::RawValue;

use super::raw;
use super::route::RouteTaken;
use crate::facts;
use crate::wire::answer::{Reading, Reply};
use crate::wire::facts::{ArtifactFacts, PartFacts};
use crate::wire::message::{Content, Part};
use crate::wire::state::TaskState;
use crate::wire::violation::Violation;

/// `send_result`.
#[derive(Clone, Debug, Serialize)]
pub struct SendReport {
    /// The operation.
    pub operation_id: String,
    /// The alias, or the URL that was named.
    pub agent: String,
    /// Where it went.
    pub interface: InterfaceReport,
    /// What was sent.
    pub request: RequestReport,
    /// What came back.
    pub response: ResponseReport,
    /// What the answer says.
    #[serde(flatten)]
    pub answer: AnswerReport,
    /// How the agent was chosen, if that was by a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<RouteTaken>,
    /// The last event of the operation.
    pub sequence: u64,
}

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InterfaceReport {
    /// `http+json` or `json-rpc`.
    pub binding: &'static str,
    /// Without a query, which may hold a secret.
    pub url: String,
    /// `Major.Minor`.
    pub protocol_version: String,
    /// The value that every request repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// `override`, `card` or `direct`.
    pub source: &'static str,
}

/// The message that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestReport {
    /// Its id.
    pub message_id: String,
    /// The context that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The task that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Its parts.
    pub parts: Vec<PartReport>,
}

/// One part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartReport {
    /// `text`, `raw`, `url`, `data` or `unknown`.
    pub kind: &'static str,
    /// Which argument it came from; absent in what a peer sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// A file name; untrusted in what a peer sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// The media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// How long its content is, before any encoding.
    pub bytes: u64,
}

/// What kind of answer came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResponseReport {
    /// `message` or `task`.
    pub shape: &'static str,
}

/// What an answer says.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AnswerReport {
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The state of the task, in lower case; `unrecognized` if A2A 1.0 does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// Such a state as the peer spells it. It could be spelled like one of ours (C026).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unrecognized_state: Option<String>,
    /// The texts of the artifacts, else of the status message, else of the message.
    pub text: String,
    /// The artifacts of the task.
    pub artifacts: Vec<ArtifactReport>,
    /// Where the peer breaks A2A, in words that quote it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// The Task or the Message exactly as received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawValue>>,
}

/// An artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArtifactReport {
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<String>,
    /// A name that the peer gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its parts.
    pub parts: Vec<PartReport>,
    /// Its text parts, with nothing between them.
    pub text: String,
}

/// `retry`.
#[derive(Clone, Debug, Serialize)]
pub struct RetryReport {
    /// The operation.
    pub operation_id: String,
    /// How it went.
    pub resolution: Resolution,
    /// The alias, or the URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The message whose fate was not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Of a round that was closed: the operations whose messages had left and were not answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_doubt: Vec<String>,
    /// What the task, or the answer to the repeated message, says.
    #[serde(flatten)]
    pub answer: AnswerReport,
    /// The last event of the operation.
    pub sequence: u64,
}

/// How a doubt was resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// The peer has a task for the message.
    Found,
    /// The message was sent again, and answered.
    Resent,
    /// The request was harmless to repeat, and was repeated.
    Repeated,
    /// Nothing was open: this is what the log says, and nobody was asked.
    Recorded,
    /// A round whose process died was closed.
    Abandoned,
}

impl AnswerReport {
    /// What a usable answer says.
    pub(crate) fn of(reading: &Reading) -> Self {
        let violations = reading.odd.as_slice().iter().map(Violation::to_string);
        let mut report = Self {
            violations: violations.collect(),
            raw: raw(&reading.raw),
            ..Self::default()
        };
        match &reading.reply {
            Reply::Task(task) => {
                report.task_id.clone_from(&task.task_id);
                report.context_id.clone_from(&task.context_id);
                report.state = task
                    .state
                    .as_ref()
                    .map(|state| facts::state(state).as_str());
                if let Some(state @ TaskState::Unknown(_)) = &task.state {
                    report.unrecognized_state = Some(state.name().to_owned());
                }
                report.text = task.text();
                report.artifacts = task.artifacts.iter().map(artifact).collect();
            }
            Reply::Message(message) => {
                report.task_id.clone_from(&message.task_id);
                report.context_id.clone_from(&message.context_id);
                report.text.clone_from(&message.text);
            }
            Reply::Tasks { .. } | Reply::Push(_) | Reply::Card(_) => {}
        }
        report
    }
}

/// The state that decides how a command ends.
pub(crate) fn state_of(reading: &Reading) -> Option<State> {
    match &reading.reply {
        Reply::Task(task) => Some(
            task.state
                .as_ref()
                .map_or(State::Unrecognized, facts::state),
        ),
        Reply::Message(_) | Reply::Tasks { .. } | Reply::Push(_) | Reply::Card(_) => None,
    }
}

fn artifact(read: &ArtifactFacts) -> ArtifactReport {
    ArtifactReport {
        artifact_id: read.artifact_id.clone(),
        name: read.name.clone(),
        parts: read.parts.iter().map(received).collect(),
        text: read.text.clone(),
    }
}

fn received(part: &PartFacts) -> PartReport {
    PartReport {
        kind: part.kind.name(),
        source: None,
        filename: part.filename.clone(),
        media_type: part.media_type.clone(),
        bytes: u64::try_from(part.bytes).unwrap_or(u64::MAX),
    }
}

/// A part of our own message.
pub(crate) fn outgoing(part: &Part, source: &str, bytes: u64) -> PartReport {
    PartReport {
        kind: match part.content {
            Content::Text(_) => "text",
            Content::Raw(_) => "raw",
            Content::Url(_) => "url",
            Content::Data(_) => "data",
        },
        source: Some(source.to_owned()),
        filename: part.filename.clone(),
        media_type: part.media_type.clone(),
        bytes,
    }
}
