//! `push_*` and `webhook_*`.

use serde::Serialize;
use serde_json::value::RawValue;

use super::send::InterfaceReport;

/// `push_create`, `push_get`.
#[derive(Clone, Debug, Serialize)]
pub struct PushReport {
    /// The operation.
    pub operation_id: String,
    /// The alias, or the URL that was named.
    pub agent: String,
    /// The task.
    pub task_id: String,
    /// Where the question went.
    pub interface: InterfaceReport,
    /// The configuration, as the agent told it.
    pub config: PushConfigView,
    /// The last event of the operation.
    pub sequence: u64,
}

/// `push_list`.
#[derive(Clone, Debug, Serialize)]
pub struct PushListReport {
    /// The operation.
    pub operation_id: String,
    /// The alias, or the URL that was named.
    pub agent: String,
    /// The task.
    pub task_id: String,
    /// Where the questions went.
    pub interface: InterfaceReport,
    /// Every configuration of every page, in the agent's order.
    pub configs: Vec<PushConfigView>,
    /// The last event of the operation.
    pub sequence: u64,
}

/// `push_delete`.
#[derive(Clone, Debug, Serialize)]
pub struct PushDeleteReport {
    /// The operation.
    pub operation_id: String,
    /// The alias, or the URL that was named.
    pub agent: String,
    /// The task.
    pub task_id: String,
    /// What is gone.
    pub config_id: String,
    /// Where the question went.
    pub interface: InterfaceReport,
    /// The last event of the operation.
    pub sequence: u64,
}

/// A configuration, without its secrets.
#[derive(Clone, Debug, Serialize)]
pub struct PushConfigView {
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_id: Option<String>,
    /// Where the agent delivers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whether it sends a token along.
    pub token: bool,
    /// How it authenticates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<PushAuthenticationView>,
    /// The agent's own JSON, with placeholders for secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawValue>>,
}

/// How an agent authenticates to a receiver.
#[derive(Clone, Debug, Serialize)]
pub struct PushAuthenticationView {
    /// The scheme.
    pub scheme: String,
    /// Whether it has credentials.
    pub credentials: bool,
}

/// `webhook_event`: a delivery that is durable.
#[derive(Clone, Debug, Serialize)]
pub struct DeliveryReport {
    /// `task`, `message`, `status_update` or `artifact_update`.
    #[serde(rename = "type")]
    pub delivered: &'static str,
    /// The agent, where its task is known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The task that it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The context that it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The state that it tells of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// The text that it brings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether its task, or its context, is known here: otherwise it changes nothing.
    pub linked: bool,
    /// Whether the same bytes had come before: then it changes nothing again.
    pub duplicate: bool,
    /// The Task, the Message or the update as received, with placeholders for secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawValue>>,
    /// Its event.
    pub sequence: u64,
}

/// `webhook_rejected`: refusals of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct RejectionReport {
    /// Why.
    pub reason: &'static str,
    /// The HTTP status of the answers.
    pub status: u16,
    /// How many.
    pub count: u64,
    /// Their event.
    pub sequence: u64,
}

/// `webhook_stopped`.
#[derive(Clone, Debug, Serialize)]
pub struct StoppedReport {
    /// The operation.
    pub operation_id: String,
    /// Why: `interrupted`, `max_events`, `timeout` or `fault`.
    pub end: &'static str,
    /// How many deliveries were accepted.
    pub accepted: u64,
    /// How many were refused.
    pub rejected: u64,
    /// Its event.
    pub sequence: u64,
}
