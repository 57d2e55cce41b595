//! A fact before and after it has a place in the log.
//!
//! A [`Draft`] becomes an [`Event`] by being appended: the writer gives it its [`Seq`], the place of
//! its predecessor in the same thread, the time and the host. Nothing else about it changes.

pub mod facts;
pub mod id;
pub mod kind;
pub mod stored;
mod subject;
mod time;

pub use id::{
    ActorId, Alias, ArtifactId, BatchId, ContextId, EventId, GroupName, HostId, InstanceId,
    MessageId, OperationId, PushConfigId, Rank, Seq, TaskId,
};
pub use kind::EventKind;
pub use subject::{Links, Subject};
pub use time::Timestamp;

use crate::payload::{Payload, PayloadRef};
use facts::TraceParent;
use serde::{Deserialize, Serialize};

/// By which door a fact entered the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A command that a person or a script ran.
    Cli,
    /// The daemon.
    Gateway,
    /// A push notification that a peer delivered.
    Webhook,
    /// A local adapter (standard input, file drop).
    Adapter,
    /// A peer that called our server.
    Peer,
}

impl Origin {
    /// Every origin, in the order in which they are listed to people.
    pub const ALL: [Self; 5] = [
        Self::Cli,
        Self::Gateway,
        Self::Webhook,
        Self::Adapter,
        Self::Peer,
    ];

    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Gateway => "gateway",
            Self::Webhook => "webhook",
            Self::Adapter => "adapter",
            Self::Peer => "peer",
        }
    }
}

/// A fact that has no place yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The identifier of the event that this becomes.
    pub id: EventId,
    /// What the fact is about; the unit of optimistic concurrency.
    pub subject: Subject,
    /// The operation (one command that a user gave) that it belongs to.
    pub operation: Option<OperationId>,
    /// The event that this one answers: an outcome names its intent.
    pub cause: Option<Seq>,
    /// By which door it entered.
    pub origin: Option<Origin>,
    /// Who acted, as a random identifier; the name behind it is a payload of `missive.actor.seen`.
    pub actor: Option<ActorId>,
    /// The nouns that people look it up by.
    pub links: Links,
    /// The W3C trace that the command was part of.
    pub trace: Option<TraceParent>,
    /// The fact.
    pub kind: EventKind,
    /// Everything personal or free, committed to by salted digests.
    pub payloads: Vec<Payload>,
}

impl Draft {
    /// A draft with nothing but what every fact has.
    pub fn new(id: EventId, subject: Subject, kind: EventKind) -> Self {
        Self {
            id,
            subject,
            operation: None,
            cause: None,
            origin: None,
            actor: None,
            links: Links::default(),
            trace: None,
            kind,
            payloads: Vec::new(),
        }
    }
}

/// A fact that has a place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The place; dense from 1.
    pub seq: Seq,
    /// The place of the last earlier event of the same thread, or 0.
    pub prev: Seq,
    /// The writer's wall clock. It never decreases within a log, and orders nothing.
    pub at: Timestamp,
    /// The identifier that the draft brought.
    pub id: EventId,
    /// The process that wrote it.
    pub host: Option<HostId>,
    /// Who acted.
    pub actor: Option<ActorId>,
    /// By which door it entered.
    pub origin: Option<Origin>,
    /// The operation that it belongs to.
    pub operation: Option<OperationId>,
    /// What it is about.
    pub subject: Option<Subject>,
    /// The event that it answers.
    pub cause: Option<Seq>,
    /// The nouns that it concerns.
    pub links: Links,
    /// The W3C trace that the command was part of.
    pub trace: Option<TraceParent>,
    /// The fact.
    pub kind: EventKind,
    /// Its payloads, by commitment.
    pub payloads: Vec<PayloadRef>,
}
