//! `stream_event` and `stream_result`.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::route::RouteTaken;
use super::send::{AnswerReport, InterfaceReport, RequestReport, ResponseReport};

/// `stream_event`: one update, which is stored already.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StreamEvent {
    /// `task`, `message`, `status_update` or `artifact_update`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The state of the task, in lower case; `unrecognized` if A2A 1.0 does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// Such a state as the peer spells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unrecognized_state: Option<String>,
    /// The artifact of an artifact update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<String>,
    /// Whether an artifact update goes behind what came before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append: Option<bool>,
    /// Whether an artifact is complete with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_chunk: Option<bool>,
    /// The text that came with this update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where the peer breaks A2A, in words that quote it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// The Task, the Message or the update exactly as received.
    #[serde(serialize_with = "as_it_is")]
    pub raw: String,
    /// The event of the log that holds it.
    pub sequence: u64,
    /// The texts of a whole task's artifacts, each with its id: what people are shown of a snapshot.
    #[serde(skip)]
    pub artifacts: Vec<(Option<String>, String)>,
}

fn as_it_is<S: Serializer>(raw: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_str::<&RawValue>(raw) {
        Ok(raw) => raw.serialize(serializer),
        // It was read as JSON when it came; only missive's own reader takes what this one does not.
        Err(_) => serializer.serialize_str(raw),
    }
}

/// `stream_result`, and what `task_subscribe` has beside its task.
#[derive(Clone, Debug, Serialize)]
pub struct StreamReport {
    /// The operation.
    pub operation_id: String,
    /// The alias, or the URL that was named.
    pub agent: String,
    /// Where it went.
    pub interface: InterfaceReport,
    /// What was sent; absent of a subscription.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestReport>,
    /// What came back.
    pub response: ResponseReport,
    /// What all updates together say. `raw` is the newest whole Task, or the last Message.
    #[serde(flatten)]
    pub answer: AnswerReport,
    /// How it ended: `terminal`, `interrupted`, `message`, `answer`, `polled`, `detached` or `timeout`.
    pub end: &'static str,
    /// How many updates came.
    pub updates: u64,
    /// How many things came that should be updates and are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub malformed: u64,
    /// How often the stream was resumed.
    #[serde(skip_serializing_if = "is_zero")]
    pub resumes: u64,
    /// Whether `text` is shorter than what came, since that was too long to be held.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub text_cut: bool,
    /// What became of the task when the user wanted it canceled: its state, or the words of an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canceled: Option<String>,
    /// How the agent was chosen, if that was by a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<RouteTaken>,
    /// The last event of the operation.
    pub sequence: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde wants"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
