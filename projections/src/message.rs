//! Messages by their ids.
//!
//! Whoever makes a message chooses its id, so one id may stand for several: a message is known by its
//! id, its direction and its agent. Attempts at a message carry one id and are one message. A message
//! is counted in every context that it was found to be in: peers may choose the context themselves.

use crate::agent::identity;
use crate::outbox::agent_of;
use crate::rows::{Bytes, Rows, Table, key_of, load, micros, save};
use crate::task::{self, Report};
use crate::view::Projection;
use missive_log::event::facts::StreamEnd;
use missive_log::event::{Alias, ContextId, EventKind, MessageId, OperationId, Seq, TaskId};
use missive_log::{Event, Timestamp};
use serde::{Deserialize, Serialize};

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Direction {
    /// From here.
    Sent = 0,
    /// To here.
    Received = 1,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub message: MessageId,
    /// Which way it went.
    pub direction: Direction,
    /// The event that holds it; of several attempts, the first.
    pub seq: Seq,
    /// When that was written.
    #[serde(with = "micros")]
    pub at: Timestamp,
    /// The event that holds the newest attempt.
    pub last: Seq,
    /// The operation of the newest attempt.
    pub operation: Option<OperationId>,
    /// The agent, by the alias that it had then.
    pub agent: Option<Alias>,
    /// Its context.
    pub context: Option<ContextId>,
    /// Its task: the one that it was sent to, or that answered it.
    pub task: Option<TaskId>,
}

pub(crate) struct Messages;

impl Projection for Messages {
    const NAME: &'static str = "message";
    const VERSION: u32 = 3;
    const TABLES: &'static [Table] = &[
        Table::Messages,
        Table::Sends,
        Table::MessageCounts,
        Table::ContextMessages,
    ];

    fn apply(rows: &mut impl Rows, event: &Event) {
        match &event.kind {
            EventKind::SendRequested(facts) => sent(rows, event, &facts.message),
            EventKind::SendResponded(facts) => {
                let task = facts.task.as_ref().map(Report::Whole);
                came(rows, event, task, facts.message.as_ref());
            }
            EventKind::SendResolved(facts) => {
                answered(rows, event, Some(Report::Whole(&facts.task)));
            }
            EventKind::SendFailed(_) => forget(rows, event),
            EventKind::StreamRequested(facts) => sent(rows, event, &facts.message),
            // The first update says where the message landed; the row is gone for the later ones.
            EventKind::StreamTask(_)
            | EventKind::StreamStatusUpdate(_)
            | EventKind::StreamArtifactUpdate(_) => {
                answered(rows, event, task::report(&event.kind));
            }
            EventKind::StreamMessage(facts) => came(rows, event, None, facts.message.as_ref()),
            EventKind::StreamClosed(facts) if facts.end != StreamEnd::InDoubt => {
                forget(rows, event);
            }
            EventKind::PushMessage(facts) => {
                if let Some(message) = facts.message.as_ref().filter(|_| facts.linked) {
                    note(rows, event, message, Direction::Received);
                }
            }
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
            | EventKind::SendInDoubt(_)
            | EventKind::CallRequested(_)
            | EventKind::CallResponded(_)
            | EventKind::CallFailed(_)
            | EventKind::TaskUpdated(_)
            | EventKind::CardChecked(_)
            | EventKind::CardChanged(_)
            | EventKind::ExtendedCardFetched(_)
            | EventKind::KeyPinned(_)
            | EventKind::CardGiven(_)
            | EventKind::SubscriptionRequested(_)
            | EventKind::StreamMalformed(_)
            | EventKind::StreamClosed(_)
            | EventKind::PushConfigured(_)
            | EventKind::PushRemoved(_)
            | EventKind::PushTask(_)
            | EventKind::PushStatusUpdate(_)
            | EventKind::PushArtifactUpdate(_)
            | EventKind::PushRejected(_)
            | EventKind::WebhookStarted(_)
            | EventKind::WebhookStopped(_)
            | EventKind::ContextCreated(_)
            | EventKind::ContextForked(_)
            | EventKind::ContextNamed(_)
            | EventKind::ContextClosed(_)
            | EventKind::ContextExported(_)
            | EventKind::ArtifactsSaved(_)
            | EventKind::Group(_)
            | EventKind::Round(_)
            | EventKind::Unknown(_) => {}
        }
    }
}

/// An answer: where the message landed that was sent, and the message that it holds.
fn came(
    rows: &mut impl Rows,
    event: &Event,
    task: Option<Report<'_>>,
    message: Option<&MessageId>,
) {
    answered(rows, event, task);
    if let Some(message) = message {
        note(rows, event, message, Direction::Received);
    }
}

fn key_for(
    rows: &mut impl Rows,
    event: &Event,
    message: &MessageId,
    direction: Direction,
) -> Vec<u8> {
    let identity = identity(rows, agent_of(event).as_ref());
    let id = message.as_str().as_bytes();
    key_of(&[id, &[direction as u8]], &identity)
}

fn sent(rows: &mut impl Rows, event: &Event, message: &MessageId) {
    let key = note(rows, event, message, Direction::Sent);
    rows.put_new(Table::Sends, &event.seq.to_key(), key.into());
}

fn note(rows: &mut impl Rows, event: &Event, message: &MessageId, direction: Direction) -> Vec<u8> {
    let key = key_for(rows, event, message, direction);
    let fresh = Message {
        message: message.clone(),
        direction,
        seq: event.seq,
        at: event.at,
        last: event.seq,
        operation: event.operation.clone(),
        agent: agent_of(event),
        context: event.links.context.clone(),
        task: event.links.task.clone(),
    };
    let known: Option<Message> = load(rows, Table::Messages, &key);
    let before = known.as_ref().and_then(|known| known.context.clone());
    let row = match known {
        None => fresh,
        Some(known) => Message {
            seq: known.seq,
            at: known.at,
            context: fresh.context.or(known.context),
            task: fresh.task.or(known.task),
            ..fresh
        },
    };
    keep(rows, &key, before.as_ref(), &row);
    key
}

/// A message counts once in each context that it was found to be in, whatever was found in between.
fn keep(rows: &mut impl Rows, key: &[u8], before: Option<&ContextId>, row: &Message) {
    save(rows, Table::Messages, key, row);
    let moved = row.context.as_ref().filter(|now| Some(*now) != before);
    let Some(context) = moved.map(|context| context.as_str().as_bytes()) else {
        return;
    };
    let place = key_of(&[context], key);
    if rows.get(Table::ContextMessages, &place).is_none() {
        rows.put(Table::ContextMessages, &place, Bytes::empty());
        let count: u32 = load(rows, Table::MessageCounts, context).unwrap_or(0);
        let count = count.saturating_add(1);
        save(rows, Table::MessageCounts, context, &count);
    }
}

/// Nothing more will be said of a message that was sent.
fn forget(rows: &mut impl Rows, event: &Event) {
    if let Some(cause) = event.cause {
        rows.delete(Table::Sends, &cause.to_key());
    }
}

/// What an answer says of the message that was sent: where it landed.
fn answered(rows: &mut impl Rows, event: &Event, task: Option<Report<'_>>) {
    let Some(cause) = event.cause else {
        return;
    };
    let Some(key) = rows.get(Table::Sends, &cause.to_key()) else {
        return;
    };
    rows.delete(Table::Sends, &cause.to_key());
    let Some(mut row) = load::<Message>(rows, Table::Messages, &key) else {
        return;
    };
    let before = row.context.clone();
    let told = task.and_then(|report| report.context().cloned());
    row.context = told.or_else(|| event.links.context.clone()).or(row.context);
    row.task = task
        .map(|report| report.task().clone())
        .or_else(|| event.links.task.clone())
        .or(row.task);
    keep(rows, &key, before.as_ref(), &row);
}
