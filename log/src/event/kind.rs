//! The closed list of facts, in their newest shapes.
//!
//! `a2a.*` is what crossed the wire, `missive.*` is what happened here. A shape is never edited: a new
//! one goes beside it (`stored.rs` knows every shape that was ever written and carries old to new).

mod call;
mod card;
mod collective;
mod group;
mod push;
mod stream;

pub use call::{
    CallFailed, CallRequested, CallResponded, SendFailed, SendInDoubt, SendRequested, SendResolved,
    SendResponded, TaskUpdated,
};
pub use card::{
    CardChanged, CardChecked, CardFacts, CardFailed, CardFetched, CardGiven, CardRequested,
    ExtendedCardFetched,
};
pub use collective::{
    BarrierCompleted, BarrierMemberEnded, BarrierStarted, BcastCompleted, BcastMemberEnded,
    BcastStarted, GatherRecorded, ReduceCompleted, ReduceFailed, ReduceSources, ReduceStarted,
    RoundAbandoned,
};
pub use group::{
    GroupCreated, GroupDeleted, GroupMemberAdded, GroupMemberRemoved, GroupMemberTried,
    GroupRenamed, GroupTurnTaken,
};
pub use push::{
    PushArtifactUpdate, PushConfigured, PushMessage, PushRejected, PushRemoved, PushStatusUpdate,
    PushTask, WebhookStarted, WebhookStopped,
};
pub use stream::{
    StreamArtifactUpdate, StreamClosed, StreamMalformed, StreamMessage, StreamRequested,
    StreamStatusUpdate, StreamTask, SubscriptionRequested,
};

use super::facts::{
    BareUrl, Binding, ContextForm, ContextName, ExportFormat, InterfaceFacts, Label, LogOrigin,
    Name, Nonce, PayloadFacts, Program, Thumbprint,
};
use super::id::{Alias, ArtifactId, ContextId, Seq, TaskId};
use crate::chain::{Link, LogId};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

/// A `struct` whose absent fields are left out of the stored form.
macro_rules! fact {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident : $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$fdoc])* pub $field: $type),* }
    };
}
use fact;

fact!(
    /// The log begins. Its body is hashed into the log's identity.
    LogCreated {
        /// The version of the stored form.
        format: u32,
        /// The hash suite.
        suite: Suite,
        /// What the log calls itself.
        origin: LogOrigin,
        /// The keys that sign its checkpoints; none yet.
        keys: Vec<Label>,
        /// The program that made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<Program>,
        /// Makes the identity its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nonce: Option<Nonce>,
        /// Whether identifiers and salts are seeded, so that salts hide nothing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        test: bool,
        /// The log that this one goes on from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        continues: Option<Predecessor>,
    }
);
super::facts::stored_enum!(
    /// The hash functions of a log, as one word.
    Suite {
        /// BLAKE3 with derived keys, as `docs/format.md` fixes it.
        Blake3Of202612 = "blake3-2026-12",
    }
);
fact!(
    /// Where an earlier log ended.
    Predecessor {
        /// Its identity.
        log: LogId,
        /// Its last place.
        seq: Seq,
        /// Its last link.
        link: Link,
    }
);
fact!(
    /// Somebody acted for the first time. Their user and host names are the payload.
    ActorSeen {}
);
fact!(
    /// An agent was registered. Its notes and metadata are payloads.
    AgentAdded {
        /// The base URL under which its card is looked for.
        url: BareUrl,
        /// Interfaces that the user gave; they win over the card's.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        interfaces: Vec<InterfaceFacts>,
        /// The user's order of bindings; empty: the card's.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bindings: Vec<Binding>,
        /// The configured credential that its calls use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        auth_ref: Option<Name>,
        /// Tags, sorted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<Name>,
    }
);
fact!(
    /// An agent has another alias from here on. The subject is the old one; a second fact beside it, whose
    /// subject is the new one, says that this alias is taken.
    AgentRenamed {
        /// The new alias.
        to: Alias,
    }
);
fact!(
    /// An agent is registered no more. What happened stays in the log.
    AgentRemoved {}
);
fact!(
    /// The log, or a part of it, left the house. The filter is the payload.
    LogExported {
        /// In which form.
        format: ExportFormat,
        /// The place up to which it was read.
        through: Seq,
        /// How many events were written out in full.
        events: u64,
        /// Whether a filter left events out.
        filtered: bool,
    }
);
fact!(
    /// An owner declared that the log goes on although it lost events. The reason is the payload.
    LogReanchored {
        /// The last place that the witness had seen.
        witnessed: Seq,
        /// The link that it had seen there.
        witnessed_link: Link,
        /// The last place that was still there.
        found: Seq,
        /// The link that was found there.
        found_link: Link,
    }
);
fact!(
    /// A context was begun here, before any message. Its summary and metadata are payloads.
    ContextCreated {}
);
fact!(
    /// A context was begun here as the child of another one. Its metadata is a payload.
    ContextForked {
        /// The parent.
        from: ContextId,
    }
);
fact!(
    /// A context has a name from here on. The subject is the name, so that nobody else gets it.
    ContextNamed {
        /// What people call it.
        name: ContextName,
    }
);
fact!(
    /// A context was declared finished here; agents are told nothing. The summary is the payload.
    ContextClosed {}
);
fact!(
    /// Everything about a context left the house.
    ContextExported {
        /// In which form.
        format: ContextForm,
        /// The place up to which the log was read.
        through: Seq,
        /// How many events were written out.
        events: u64,
    }
);
fact!(
    /// Artifacts of a task were written to files. The names of the files are the payload.
    ArtifactsSaved {
        /// The task.
        task: TaskId,
        /// Which artifacts, the first 256.
        artifacts: Vec<ArtifactId>,
        /// How many files.
        files: u32,
        /// What they were made of, the first 256 payloads.
        sources: Vec<PayloadFacts>,
        /// How many payloads they were made of.
        sources_total: u32,
    }
);
fact!(
    /// A key was pinned: from now on only it verifies the cards of this agent. The key is the payload.
    KeyPinned {
        /// The id that signatures name it by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Label>,
        /// Its RFC 7638 thumbprint (SHA-256).
        thumbprint: Thumbprint,
    }
);

/// A fact that this build does not know: readable, and folded as nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFact {
    /// Its dotted name.
    pub kind: Box<str>,
    /// The version of its shape.
    pub version: u32,
    /// Its facts as stored.
    pub facts: Option<Box<str>>,
}

macro_rules! kinds {
    (
        $($(#[$doc:meta])* $variant:ident($shape:ty) = $name:literal),+;
        $(
            $(#[$fdoc:meta])* $family:ident($facts:ident) {
                $($(#[$idoc:meta])* $inner:ident($ishape:ty) = $iname:literal),+ $(,)?
            }
        )+
    ) => {
        /// What happened. The list is closed: folding over it is by name, without a wildcard.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum EventKind {
            $($(#[$doc])* $variant($shape),)+
            $($(#[$fdoc])* $family($facts),)+
            /// A kind or a version that this build does not know.
            Unknown(UnknownFact),
        }

        $(
            $(#[$fdoc])*
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub enum $facts {
                $($(#[$idoc])* $inner($ishape),)+
            }

            $(
                impl From<$ishape> for EventKind {
                    fn from(facts: $ishape) -> Self {
                        Self::$family($facts::$inner(facts))
                    }
                }
            )+
        )+

        impl EventKind {
            /// The dotted names of every known kind, in the order of the list.
            pub const NAMES: &'static [&'static str] = &[$($name,)+ $($($iname,)+)+];

            /// The dotted name.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)+
                    $($(Self::$family($facts::$inner(_)) => $iname,)+)+
                    Self::Unknown(unknown) => &unknown.kind,
                }
            }

            /// Whether there is anything to say beyond the name.
            pub(super) fn has_facts(&self) -> bool {
                match self {
                    $(Self::$variant(_) => size_of::<$shape>() > 0,)+
                    $($(Self::$family($facts::$inner(_)) => size_of::<$ishape>() > 0,)+)+
                    Self::Unknown(unknown) => unknown.facts.is_some(),
                }
            }

            /// Writes the facts as they are stored.
            pub(super) fn serialize_facts<S: Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(facts) => facts.serialize(serializer),)+
                    $($(Self::$family($facts::$inner(facts)) => facts.serialize(serializer),)+)+
                    Self::Unknown(unknown) => {
                        let facts = unknown.facts.as_deref().unwrap_or("{}");
                        let raw: &RawValue =
                            serde_json::from_str(facts).map_err(serde::ser::Error::custom)?;
                        raw.serialize(serializer)
                    }
                }
            }

            /// The facts as text, for the socket; `None` where there is nothing to say.
            pub(crate) fn encode_facts(&self) -> Result<Option<Box<str>>, serde_json::Error> {
                if !self.has_facts() {
                    return Ok(None);
                }
                let mut text = Vec::new();
                self.serialize_facts(&mut serde_json::Serializer::new(&mut text))?;
                Ok(String::from_utf8(text).ok().map(String::into_boxed_str))
            }

            /// Reads the newest shape (version 1 of every kind so far).
            pub(crate) fn decode_v1(name: &str, facts: &str) -> Option<serde_json::Result<Self>> {
                Some(match name {
                    $($name => serde_json::from_str(facts).map(Self::$variant),)+
                    $($($iname => serde_json::from_str(facts)
                        .map(|facts| Self::$family($facts::$inner(facts))),)+)+
                    _ => return None,
                })
            }
        }
    };
}

kinds!(
    /// The log begins.
    LogCreated(LogCreated) = "missive.log.created",
    /// The log left the house.
    LogExported(LogExported) = "missive.log.exported",
    /// The log goes on after a loss.
    LogReanchored(LogReanchored) = "missive.log.reanchored",
    /// Somebody acted for the first time.
    ActorSeen(ActorSeen) = "missive.actor.seen",
    /// An agent was registered.
    AgentAdded(AgentAdded) = "missive.agent.added",
    /// An agent got another alias.
    AgentRenamed(AgentRenamed) = "missive.agent.renamed",
    /// An agent is registered no more.
    AgentRemoved(AgentRemoved) = "missive.agent.removed",
    /// Intent: ask for a card.
    CardRequested(CardRequested) = "a2a.card.requested",
    /// Outcome: a card.
    CardFetched(CardFetched) = "a2a.card.fetched",
    /// Outcome: no card.
    CardFailed(CardFailed) = "a2a.card.failed",
    /// Intent: send a message.
    SendRequested(SendRequested) = "a2a.send.requested",
    /// Outcome: an answer.
    SendResponded(SendResponded) = "a2a.send.responded",
    /// Outcome: a known failure.
    SendFailed(SendFailed) = "a2a.send.failed",
    /// No outcome: nobody knows.
    SendInDoubt(SendInDoubt) = "a2a.send.in_doubt",
    /// Outcome: found after a doubt.
    SendResolved(SendResolved) = "a2a.send.resolved",
    /// Intent: make a repeatable call.
    CallRequested(CallRequested) = "a2a.call.requested",
    /// Outcome: an answer.
    CallResponded(CallResponded) = "a2a.call.responded",
    /// Outcome: none.
    CallFailed(CallFailed) = "a2a.call.failed",
    /// A task was seen.
    TaskUpdated(TaskUpdated) = "a2a.task.updated",
    /// The signatures of a card were looked at.
    CardChecked(CardChecked) = "a2a.card.checked",
    /// A card is not what it was.
    CardChanged(CardChanged) = "a2a.card.changed",
    /// An extended card came.
    ExtendedCardFetched(ExtendedCardFetched) = "a2a.card.extended",
    /// A key was pinned.
    KeyPinned(KeyPinned) = "missive.agent.key_pinned",
    /// A person gave a card.
    CardGiven(CardGiven) = "missive.agent.card_given",
    /// Intent: send a message and follow its answer.
    StreamRequested(StreamRequested) = "a2a.stream.requested",
    /// Intent: follow a task.
    SubscriptionRequested(SubscriptionRequested) = "a2a.subscription.requested",
    /// A stream showed a task.
    StreamTask(StreamTask) = "a2a.stream.task",
    /// A stream brought a message.
    StreamMessage(StreamMessage) = "a2a.stream.message",
    /// A stream told of a state.
    StreamStatusUpdate(StreamStatusUpdate) = "a2a.stream.status_update",
    /// A stream brought a piece of an artifact.
    StreamArtifactUpdate(StreamArtifactUpdate) = "a2a.stream.artifact_update",
    /// A stream brought no update.
    StreamMalformed(StreamMalformed) = "a2a.stream.malformed",
    /// Outcome: a stream is over.
    StreamClosed(StreamClosed) = "a2a.stream.closed",
    /// A peer pushes the updates of a task.
    PushConfigured(PushConfigured) = "a2a.push.configured",
    /// A peer pushes no more.
    PushRemoved(PushRemoved) = "a2a.push.removed",
    /// A task was delivered.
    PushTask(PushTask) = "a2a.push.task",
    /// A message was delivered.
    PushMessage(PushMessage) = "a2a.push.message",
    /// A state was delivered.
    PushStatusUpdate(PushStatusUpdate) = "a2a.push.status_update",
    /// A piece of an artifact was delivered.
    PushArtifactUpdate(PushArtifactUpdate) = "a2a.push.artifact_update",
    /// Deliveries were refused.
    PushRejected(PushRejected) = "a2a.push.rejected",
    /// A receiver listens.
    WebhookStarted(WebhookStarted) = "missive.webhook.started",
    /// A receiver stopped.
    WebhookStopped(WebhookStopped) = "missive.webhook.stopped",
    /// A context was begun here.
    ContextCreated(ContextCreated) = "missive.context.created",
    /// A context was begun as the child of another one.
    ContextForked(ContextForked) = "missive.context.forked",
    /// A context got a name.
    ContextNamed(ContextNamed) = "missive.context.named",
    /// A context was declared finished.
    ContextClosed(ContextClosed) = "missive.context.closed",
    /// A context left the house.
    ContextExported(ContextExported) = "missive.context.exported",
    /// Artifacts were written to files.
    ArtifactsSaved(ArtifactsSaved) = "missive.artifact.saved";

    /// Something about a group of agents.
    Group(GroupFact) {
        /// A group was made.
        Created(GroupCreated) = "missive.group.created",
        /// A group got another name.
        Renamed(GroupRenamed) = "missive.group.renamed",
        /// A group is no more.
        Deleted(GroupDeleted) = "missive.group.deleted",
        /// An agent became a member.
        MemberAdded(GroupMemberAdded) = "missive.group.member_added",
        /// An agent is a member no more.
        MemberRemoved(GroupMemberRemoved) = "missive.group.member_removed",
        /// A member took its turn.
        TurnTaken(GroupTurnTaken) = "missive.group.turn_taken",
        /// A member was tried, and what came of it.
        MemberTried(GroupMemberTried) = "missive.group.member_tried",
    }
    /// Something that was done with many agents at once.
    Round(RoundFact) {
        /// Intent: send a message to every member.
        BcastStarted(BcastStarted) = "missive.bcast.started",
        /// What came of it for one of them.
        BcastMemberEnded(BcastMemberEnded) = "missive.bcast.member_ended",
        /// Outcome: a broadcast is over.
        BcastCompleted(BcastCompleted) = "missive.bcast.completed",
        /// Intent: wait for every member.
        BarrierStarted(BarrierStarted) = "missive.barrier.started",
        /// Where one of them stood at the end.
        BarrierMemberEnded(BarrierMemberEnded) = "missive.barrier.member_ended",
        /// Outcome: a barrier is over.
        BarrierCompleted(BarrierCompleted) = "missive.barrier.completed",
        /// What a group had said was gathered and kept.
        GatherRecorded(GatherRecorded) = "missive.gather.recorded",
        /// Intent: make one of what a group had said.
        ReduceStarted(ReduceStarted) = "missive.reduce.started",
        /// What it was made of.
        ReduceSources(ReduceSources) = "missive.reduce.sources",
        /// Outcome: what it came to.
        ReduceCompleted(ReduceCompleted) = "missive.reduce.completed",
        /// Outcome: nothing.
        ReduceFailed(ReduceFailed) = "missive.reduce.failed",
        /// A round ended with its process.
        Abandoned(RoundAbandoned) = "missive.round.abandoned",
    }
);

impl EventKind {
    /// The version of the shape that `encode_facts` writes.
    pub fn version(&self) -> u32 {
        if let Self::Unknown(unknown) = self {
            unknown.version
        } else {
            1
        }
    }
}
