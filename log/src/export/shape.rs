//! An event as people and tools see it: flat, with the names that scripts rely on.
//!
//! The same shape is an element of `events list --json`, of an exported JSON document, and the data
//! of an exported cloud event. It is for reading; the evidence form is what verifies.

use super::line::as_text;
use super::{Held, Shown};
use crate::chain::{Digest, Link};
use crate::contract::Record;
use crate::event::facts::TraceParent;
use crate::event::{
    ActorId, Alias, ContextId, Event, EventId, GroupName, OperationId, Origin, Seq, Subject,
    TaskId, Timestamp,
};
use crate::payload::{Media, Role};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// An event, flat.
#[derive(Serialize)]
pub struct ShownEvent<'a> {
    /// Its place.
    pub sequence: Seq,
    /// Its identifier.
    pub event_id: EventId,
    /// The writer's wall clock.
    pub timestamp: Timestamp,
    /// Its dotted kind.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// By which door it entered.
    pub origin: Option<Origin>,
    /// Who acted.
    pub actor: Option<ActorId>,
    /// The operation that it belongs to.
    pub operation_id: Option<&'a OperationId>,
    /// The event that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Seq>,
    /// What it is about.
    pub subject: Option<&'a Subject>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<&'a Alias>,
    /// The A2A context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<&'a ContextId>,
    /// The A2A task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<&'a TaskId>,
    /// The group, by the name that it had then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a GroupName>,
    /// The W3C trace that its command was part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<&'a TraceParent>,
    /// The facts as stored; an empty object where there are none.
    pub facts: &'a RawValue,
    /// Its payloads.
    pub payloads: Vec<ShownPayload<'a>>,
    /// The last earlier place of its thread.
    pub prev: Seq,
    /// What its link was extended with.
    pub digest: Digest,
    /// Its link.
    pub link: Link,
}

/// A payload of such an event.
#[derive(Serialize)]
pub struct ShownPayload<'a> {
    /// What it is to the event.
    pub role: Role,
    /// What kind of bytes it holds.
    pub media: Media,
    /// How many places were replaced.
    pub redacted: u32,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
    /// Its bytes, where they are no plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// The event that erased it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erased: Option<Seq>,
    /// Whether it is gone although no event erased it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

#[derive(Deserialize)]
struct FactsOnly<'a> {
    #[serde(borrow)]
    facts: Option<&'a RawValue>,
}

impl<'a> ShownEvent<'a> {
    /// The event of a record; the payloads are those that were opened for it.
    pub fn new(record: &'a Record, event: &'a Event, digest: Digest, payloads: &'a [Held]) -> Self {
        let facts = serde_json::from_str::<FactsOnly<'a>>(&record.body).ok();
        Self {
            sequence: event.seq,
            event_id: event.id,
            timestamp: event.at,
            kind: event.kind.name(),
            origin: event.origin,
            actor: event.actor,
            operation_id: event.operation.as_ref(),
            cause: event.cause,
            subject: event.subject.as_ref(),
            agent: event.links.agent.as_ref(),
            context_id: event.links.context.as_ref(),
            task_id: event.links.task.as_ref(),
            group: event.links.group.as_ref(),
            trace: event.trace.as_ref(),
            facts: facts.and_then(|body| body.facts).unwrap_or(no_facts()),
            payloads: payloads.iter().map(ShownPayload::new).collect(),
            prev: event.prev,
            digest,
            link: record.link,
        }
    }
}

/// An empty object.
fn no_facts<'a>() -> &'a RawValue {
    serde_json::from_str("{}").unwrap_or(RawValue::NULL)
}

impl<'a> ShownPayload<'a> {
    fn new(held: &'a Held) -> Self {
        let mut shown = Self {
            role: held.of.role,
            media: held.of.media,
            redacted: held.of.redacted,
            text: None,
            base64: None,
            erased: None,
            missing: false,
        };
        match &held.shown {
            Shown::Present(row) => {
                shown.text = as_text(&row.bytes);
                shown.base64 = shown.text.is_none().then(|| STANDARD.encode(&row.bytes));
            }
            Shown::Erased(seq) => shown.erased = Some(*seq),
            Shown::Missing => shown.missing = true,
            Shown::Withheld => {}
        }
        shown
    }
}
