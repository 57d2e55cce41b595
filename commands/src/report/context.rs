//! `context_create`, `context_list`, `context_show`, `context_fork` and `context_close`.

use missive_projections::Context;
use serde::Serialize;
use serde_json::{Map, Value};

/// One context.
#[derive(Clone, Debug, Serialize)]
pub struct ContextReport {
    /// The context.
    pub context: ContextView,
}

/// `context_list`.
#[derive(Clone, Debug, Serialize)]
pub struct ContextsReport {
    /// The contexts, the most recently active first.
    pub contexts: Vec<ContextView>,
}

/// A context, as it stands.
#[derive(Clone, Debug, Serialize)]
pub struct ContextView {
    /// Its id.
    pub context_id: String,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The context that it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_context_id: Option<String>,
    /// The contexts that were forked from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<String>,
    /// `open` or `closed`. Agents know nothing of it.
    pub status: &'static str,
    /// Its agents, by the aliases that they had then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// How many agents it concerns.
    pub agent_count: u32,
    /// How many tasks were seen in it.
    pub task_count: u32,
    /// How many messages were sent and received in it.
    pub message_count: u32,
    /// When it began.
    pub created: String,
    /// When something last happened in it.
    pub updated: String,
    /// What it is about, or what came of it. Free text of a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What a person noted about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Its first event.
    pub first_sequence: u64,
    /// Its newest event.
    pub last_sequence: u64,
    /// The event that this command recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
}

impl ContextView {
    /// What its row says, without what is looked up beside it.
    pub(crate) fn short(context: &Context) -> Self {
        Self {
            context_id: context.context.to_string(),
            name: context.name.as_ref().map(ToString::to_string),
            parent_context_id: context.parent.as_ref().map(ToString::to_string),
            children: Vec::new(),
            status: if context.closed.is_some() {
                "closed"
            } else {
                "open"
            },
            agents: Vec::new(),
            agent_count: context.agents,
            task_count: context.tasks,
            message_count: context.messages,
            created: context.created.to_string(),
            updated: context.active.to_string(),
            summary: None,
            metadata: None,
            first_sequence: context.first.0,
            last_sequence: context.last.0,
            sequence: None,
        }
    }
}
