//! `task get`, `task list`, `task wait`, `task cancel`.

use serde::Serialize;
use serde_json::value::RawValue;

/// One task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskReport {
    /// The task.
    pub task: TaskView,
    /// The operation by which the agent was asked; none if only the log was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
}

/// Tasks.
#[derive(Clone, Debug, Serialize)]
pub struct TasksReport {
    /// The tasks.
    pub tasks: Vec<TaskView>,
    /// What `--page-token` takes to go on; none at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
    /// The operation by which the agent was asked; none if only the log was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
}

/// A task, as it stands.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TaskView {
    /// Its id.
    pub task_id: String,
    /// Its context.
    pub context_id: Option<String>,
    /// Its agent, as it is called now; none for a bare URL.
    pub agent: Option<String>,
    /// Its state, in lower case; `unrecognized` if A2A 1.0 does not know it.
    pub state: &'static str,
    /// Such a state as the peer spells it. It could be spelled like one of ours (C026).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unrecognized_state: Option<String>,
    /// What brought the state: `send`, `call`, `stream` or `push`.
    pub source: &'static str,
    /// When that was recorded (RFC 3339).
    pub updated: String,
    /// The text of the status message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_text: Option<String>,
    /// The texts of the artifacts, else of the status message; none in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether there is more text than that: `task artifact show` has all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub text_cut: bool,
    /// The artifacts; in lists only where they are asked for.
    pub artifacts: Vec<TaskArtifact>,
    /// How many messages its history holds.
    pub history_count: u32,
    /// How many reports said after its end that it ended otherwise, or goes on. They changed nothing.
    #[serde(skip_serializing_if = "is_zero")]
    pub contradicted: u32,
    /// The protocol version that was spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// The newest event that reported it.
    pub sequence: u64,
    /// The newest whole Task exactly as received; none in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawValue>>,
}

/// An artifact of a task, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskArtifact {
    /// Its id.
    pub artifact_id: String,
    /// What the peer calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many parts it has.
    pub parts: u32,
    /// Whether it was shown whole, or its last piece came.
    pub complete: bool,
    /// Whether its beginning never came.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub headless: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
