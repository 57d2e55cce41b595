//! The closed list of facts, in their newest shapes.
//!
//! `a2a.*` is what crossed the wire, `missive.*` is what happened here. A shape is never edited: a new
//! one goes beside it (`stored.rs` knows every shape that was ever written and carries old to new).

use super::facts::{
    A2aError, BareUrl, Binding, CardPath, EntityTag, ExportFormat, Failure, InterfaceFacts,
    InterfaceSource, Label, LogOrigin, MediaMode, Method, Name, Nonce, Program, Shape, SkillFacts,
    TaskFacts, Tenant, Version, Violation,
};
use super::id::{Alias, ContextId, InstanceId, MessageId, Seq, TaskId};
use super::time::Timestamp;
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
    /// A card is about to be asked for. Doubt is resolved by asking again.
    CardRequested {
        /// The run of the program that is about to do it.
        instance: InstanceId,
        /// The base URL.
        url: BareUrl,
        /// Whether a cached card is being revalidated.
        revalidate: bool,
    }
);
fact!(
    /// A card came, or the cached one was confirmed (304). The raw card is the payload.
    CardFetched {
        /// The HTTP status: 200 or 304.
        status: u16,
        /// Which path answered.
        path: CardPath,
        /// The exact place that answered.
        url: BareUrl,
        /// Its entity tag.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        etag: Option<EntityTag>,
        /// Its `Last-Modified`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_modified: Option<Timestamp>,
        /// Until when it may be used without asking again (RFC 9111).
        fresh_until: Timestamp,
        /// The facts of the card; absent with 304.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        card: Option<CardFacts>,
        /// What is wrong with the answer although it can be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
fact!(
    /// What routing and lists need of a card.
    CardFacts {
        /// Its interfaces that have an http(s) URL and a binding that we know by name, in order.
        interfaces: Vec<InterfaceFacts>,
        /// Whether it streams.
        streaming: bool,
        /// Whether it pushes.
        push: bool,
        /// Whether it has an extended card.
        extended: bool,
        /// What it takes.
        input_modes: Vec<MediaMode>,
        /// What it gives.
        output_modes: Vec<MediaMode>,
        /// What it can do, the first 256.
        skills: Vec<SkillFacts>,
    }
);
fact!(
    /// No card came. The answer, if any, is the payload.
    CardFailed {
        /// Why.
        failure: Failure,
        /// The HTTP status, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
    }
);
fact!(
    /// A message is about to be sent. Body and headers are payloads. Doubt is resolved by asking for its task.
    SendRequested {
        /// The run of the program that is about to do it.
        instance: InstanceId,
        /// The A2A `messageId`.
        message: MessageId,
        /// How.
        binding: Binding,
        /// Where.
        url: BareUrl,
        /// Where that place came from.
        source: InterfaceSource,
        /// The protocol version that was sent.
        version: Version,
        /// The tenant that was sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tenant: Option<Tenant>,
        /// How many parts it has.
        parts: u32,
        /// 1 for the first time, one more for each `retry --resend`.
        attempt: u32,
    }
);
fact!(
    /// The peer answered a message. The raw answer is the payload.
    SendResponded {
        /// The HTTP status.
        status: u16,
        /// With what.
        shape: Shape,
        /// The id of the answered Message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<MessageId>,
        /// The task, if it answered with one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskFacts>,
        /// What is wrong with the answer although it can be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
fact!(
    /// The message did not do what it should, and that is known for sure.
    SendFailed {
        /// Why.
        failure: Failure,
        /// The HTTP status, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// Which A2A error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<A2aError>,
    }
);
fact!(
    /// A byte of the message left and no full answer came: whether it arrived is not known.
    SendInDoubt {
        /// What ended the wait.
        failure: Failure,
        /// The HTTP status, if the answer had begun.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
    }
);
fact!(
    /// A doubt was resolved: the peer has a task for that message.
    SendResolved {
        /// The task that it was found in.
        task: TaskFacts,
    }
);
fact!(
    /// A call that can be repeated is about to be made.
    CallRequested {
        /// The run of the program that is about to do it.
        instance: InstanceId,
        /// What.
        method: Method,
        /// How.
        binding: Binding,
        /// Where.
        url: BareUrl,
        /// The task that is asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The context whose tasks are asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<ContextId>,
    }
);
fact!(
    /// The peer answered a call. The raw answer is the payload.
    CallResponded {
        /// The HTTP status.
        status: u16,
        /// How many tasks it holds; each is also a `a2a.task.updated`.
        tasks: u32,
        /// What is wrong with the answer although it can be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
fact!(
    /// A call has no good answer.
    CallFailed {
        /// Why.
        failure: Failure,
        /// The HTTP status, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// Which A2A error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<A2aError>,
    }
);
fact!(
    /// A task was seen in an answer to a call. The task as received is the payload.
    TaskUpdated {
        /// What was seen.
        task: TaskFacts,
    }
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
    ($($(#[$doc:meta])* $variant:ident($shape:ty) = $name:literal),+ $(,)?) => {
        /// What happened. The list is closed: folding over it is by name, without a wildcard.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum EventKind {
            $($(#[$doc])* $variant($shape),)+
            /// A kind or a version that this build does not know.
            Unknown(UnknownFact),
        }

        impl EventKind {
            /// The dotted names of every known kind, in the order of the list.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The dotted name.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)+
                    Self::Unknown(unknown) => &unknown.kind,
                }
            }

            /// Whether there is anything to say beyond the name.
            pub(super) fn has_facts(&self) -> bool {
                match self {
                    $(Self::$variant(_) => size_of::<$shape>() > 0,)+
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
