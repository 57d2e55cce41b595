//! Intents that have no outcome yet.
//!
//! This is both the work queue and the crash-recovery list. An outcome closes the intent that its
//! `cause` names; without such a cause, the newest open intent of its kind in its operation. An answer
//! to a message closes every attempt at it, since they carry one message id; a known failure closes
//! its own attempt only, for an earlier one may still have arrived. A doubt keeps its row, marked.

use crate::rows::{Rows, Table, load, micros, save, save_new};
use crate::view::Projection;
use missive_log::event::facts::{BareUrl, Failure, StreamEnd};
use missive_log::event::kind::{SendRequested, StreamClosed};
use missive_log::event::{
    Alias, ContextId, EventKind, InstanceId, MessageId, OperationId, Seq, Subject, TaskId,
};
use missive_log::{Event, Timestamp};
use serde::{Deserialize, Serialize};

/// The kinds of intents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Intent {
    /// Ask for a card. Repeating it is harmless.
    Card,
    /// Send a message. Doubt is resolved by asking for its task.
    Send,
    /// Make a call that can be repeated.
    Call,
    /// Send a message and follow its answer. Doubt is resolved by asking for its task.
    Stream,
    /// Follow a task. Repeating it is harmless.
    Subscription,
}

impl Intent {
    /// Whether it carries a message.
    pub fn is_message(self) -> bool {
        match self {
            Self::Send | Self::Stream => true,
            Self::Card | Self::Call | Self::Subscription => false,
        }
    }
}

/// An intent without an outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// The place of the intent.
    pub seq: Seq,
    /// What it is.
    pub intent: Intent,
    /// When it was written.
    #[serde(with = "micros")]
    pub at: Timestamp,
    /// The operation.
    pub operation: Option<OperationId>,
    /// The agent, by the alias that it had then.
    pub agent: Option<Alias>,
    /// The context.
    pub context: Option<ContextId>,
    /// The task.
    pub task: Option<TaskId>,
    /// The run of the program that carries it out: while that lives, nobody takes over.
    pub instance: InstanceId,
    /// Where it went.
    pub url: BareUrl,
    /// The message id of a send.
    pub message: Option<MessageId>,
    /// The how manieth attempt of a send; 1 for others.
    pub attempt: u32,
    /// What is known of a send that ended without an answer.
    pub doubt: Option<Doubt>,
}

/// A send that ended without an answer after bytes had left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// The place of the event that says so.
    pub seq: Seq,
    /// What ended the wait.
    pub failure: Failure,
    /// The HTTP status, if the answer had begun.
    pub status: Option<u16>,
}

/// How many open intents of one operation are found by it, newest first.
const OPEN_OF_OPERATION_MAX: usize = 256;

pub(crate) struct Outbox;

impl Projection for Outbox {
    const NAME: &'static str = "outbox";
    const VERSION: u32 = 2;
    const TABLES: &'static [Table] = &[Table::Outbox, Table::OutboxByOperation];

    fn apply(rows: &mut impl Rows, event: &Event) {
        match &event.kind {
            EventKind::CardRequested(card) => {
                open(rows, &row_of(event, Intent::Card, card.instance, &card.url));
            }
            EventKind::CallRequested(call) => {
                open(rows, &row_of(event, Intent::Call, call.instance, &call.url));
            }
            EventKind::SendRequested(send) => requested(rows, event, send),
            EventKind::CardFetched(_) | EventKind::CardFailed(_) => {
                close_one(rows, event, Intent::Card);
            }
            EventKind::CallResponded(_) | EventKind::CallFailed(_) => {
                close_one(rows, event, Intent::Call);
            }
            EventKind::SendFailed(_) => close_one(rows, event, Intent::Send),
            EventKind::SendResponded(_) | EventKind::SendResolved(_) => close_sends(rows, event),
            EventKind::SendInDoubt(facts) => {
                if let Some(mut row) = answered(rows, event, Intent::Send) {
                    row.doubt = Some(Doubt {
                        seq: event.seq,
                        failure: facts.failure,
                        status: facts.status,
                    });
                    keep(rows, &row);
                }
            }
            EventKind::StreamRequested(_)
            | EventKind::SubscriptionRequested(_)
            | EventKind::StreamTask(_)
            | EventKind::StreamStatusUpdate(_)
            | EventKind::StreamArtifactUpdate(_)
            | EventKind::StreamClosed(_) => of_stream(rows, event),
            // Listed, not `_`: a new fact must be considered here before it compiles.
            EventKind::LogCreated(_)
            | EventKind::LogExported(_)
            | EventKind::LogReanchored(_)
            | EventKind::ActorSeen(_)
            | EventKind::AgentAdded(_)
            | EventKind::AgentRenamed(_)
            | EventKind::AgentRemoved(_)
            | EventKind::TaskUpdated(_)
            | EventKind::CardChecked(_)
            | EventKind::CardChanged(_)
            | EventKind::ExtendedCardFetched(_)
            | EventKind::KeyPinned(_)
            | EventKind::CardGiven(_)
            | EventKind::StreamMessage(_)
            | EventKind::StreamMalformed(_)
            | EventKind::PushConfigured(_)
            | EventKind::PushRemoved(_)
            | EventKind::PushTask(_)
            | EventKind::PushMessage(_)
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

fn requested(rows: &mut impl Rows, event: &Event, send: &SendRequested) {
    let row = Open {
        message: Some(send.message.clone()),
        attempt: send.attempt,
        ..row_of(event, Intent::Send, send.instance, &send.url)
    };
    open(rows, &row);
}

fn of_stream(rows: &mut impl Rows, event: &Event) {
    if let EventKind::StreamRequested(stream) = &event.kind {
        let row = Open {
            message: Some(stream.message.clone()),
            attempt: stream.attempt,
            ..row_of(event, Intent::Stream, stream.instance, &stream.url)
        };
        open(rows, &row);
    } else if let EventKind::SubscriptionRequested(facts) = &event.kind {
        let row = Open {
            task: Some(facts.task.clone()),
            ..row_of(event, Intent::Subscription, facts.instance, &facts.url)
        };
        open(rows, &row);
    } else if let EventKind::StreamTask(facts) = &event.kind {
        landed(rows, event, facts.update, &facts.task.task);
    } else if let EventKind::StreamStatusUpdate(facts) = &event.kind {
        landed(rows, event, facts.update, &facts.status.task);
    } else if let EventKind::StreamArtifactUpdate(facts) = &event.kind {
        landed(rows, event, facts.update, &facts.chunk.task);
    } else if let EventKind::StreamClosed(facts) = &event.kind {
        closed(rows, event, facts);
    }
}

/// The first update of a stream says which task it is about.
fn landed(rows: &mut impl Rows, event: &Event, update: u64, task: &TaskId) {
    let cause = event.cause.filter(|_| update == 1);
    let named = cause.and_then(|cause| load::<Open>(rows, Table::Outbox, &cause.to_key()));
    if let Some(mut row) = named {
        row.task.get_or_insert_with(|| task.clone());
        keep(rows, &row);
    }
}

/// A stream is over: a doubt keeps its row, an answer closes every attempt at its message, and
/// whatever else is known for sure closes this one.
fn closed(rows: &mut impl Rows, event: &Event, facts: &StreamClosed) {
    let cause = event.cause;
    let named = cause.and_then(|cause| load::<Open>(rows, Table::Outbox, &cause.to_key()));
    let Some(mut row) = named else {
        return;
    };
    if facts.end == StreamEnd::InDoubt {
        row.doubt = Some(Doubt {
            seq: event.seq,
            failure: facts.failure.unwrap_or(Failure::ConnectionLost),
            status: facts.status,
        });
        keep(rows, &row);
    } else if row.intent == Intent::Stream && facts.updates > 0 {
        close_attempts(rows, &row);
    } else {
        close(rows, &row);
    }
}

fn row_of(event: &Event, intent: Intent, instance: InstanceId, url: &BareUrl) -> Open {
    Open {
        seq: event.seq,
        intent,
        at: event.at,
        operation: event.operation.clone(),
        agent: agent_of(event),
        context: event.links.context.clone(),
        task: event.links.task.clone(),
        instance,
        url: url.clone(),
        message: None,
        attempt: 1,
        doubt: None,
    }
}

/// The agent that an event concerns: its link, else its subject.
pub(crate) fn agent_of(event: &Event) -> Option<Alias> {
    match (&event.links.agent, &event.subject) {
        (Some(alias), _) | (None, Some(Subject::Agent(alias))) => Some(alias.clone()),
        (None, _) => None,
    }
}

fn keep(rows: &mut impl Rows, row: &Open) {
    save(rows, Table::Outbox, &row.seq.to_key(), row);
}

/// Writes a new row down, also under its operation.
fn open(rows: &mut impl Rows, row: &Open) {
    save_new(rows, Table::Outbox, &row.seq.to_key(), row);
    if let Some(operation) = &row.operation {
        let mut places = places_of(rows, operation);
        places.push(row.seq);
        let excess = places.len().saturating_sub(OPEN_OF_OPERATION_MAX);
        places.drain(..excess);
        save(
            rows,
            Table::OutboxByOperation,
            operation_key(operation),
            &places,
        );
    }
}

fn operation_key(operation: &OperationId) -> &[u8] {
    operation.as_str().as_bytes()
}

fn places_of(rows: &mut impl Rows, operation: &OperationId) -> Vec<Seq> {
    load(rows, Table::OutboxByOperation, operation_key(operation)).unwrap_or_default()
}

fn close(rows: &mut impl Rows, row: &Open) {
    rows.delete(Table::Outbox, &row.seq.to_key());
    if let Some(operation) = &row.operation {
        let mut places = places_of(rows, operation);
        places.retain(|place| *place != row.seq);
        if places.is_empty() {
            rows.delete(Table::OutboxByOperation, operation_key(operation));
        } else {
            save(
                rows,
                Table::OutboxByOperation,
                operation_key(operation),
                &places,
            );
        }
    }
}

/// The open intent that an outcome is about. Outcomes of messages are about streams as well, since a
/// doubt about one is resolved in the same way.
fn answered(rows: &mut impl Rows, event: &Event, intent: Intent) -> Option<Open> {
    let named = event
        .cause
        .and_then(|cause| load::<Open>(rows, Table::Outbox, &cause.to_key()));
    named.filter(|row| is_alike(row, intent)).or_else(|| {
        open_of(rows, event.operation.as_ref()?, intent)
            .into_iter()
            .next()
    })
}

/// Open intents of an operation, newest first.
fn open_of(rows: &mut impl Rows, operation: &OperationId, intent: Intent) -> Vec<Open> {
    let places = places_of(rows, operation).into_iter().rev();
    places
        .filter_map(|place| load::<Open>(rows, Table::Outbox, &place.to_key()))
        .filter(|row| is_alike(row, intent))
        .collect()
}

fn is_alike(row: &Open, intent: Intent) -> bool {
    row.intent == intent || (intent.is_message() && row.intent.is_message())
}

fn close_one(rows: &mut impl Rows, event: &Event, intent: Intent) {
    if let Some(row) = answered(rows, event, intent) {
        close(rows, &row);
    }
}

fn close_sends(rows: &mut impl Rows, event: &Event) {
    if let Some(row) = answered(rows, event, Intent::Send) {
        close_attempts(rows, &row);
    }
}

/// Closes an intent to send and every other attempt at its message.
fn close_attempts(rows: &mut impl Rows, row: &Open) {
    close(rows, row);
    let Some(operation) = &row.operation else {
        return;
    };
    for other in open_of(rows, operation, Intent::Send) {
        if other.message == row.message {
            close(rows, &other);
        }
    }
}
