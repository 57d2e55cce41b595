//! What facts about updates, deliveries and checks are made of.

use super::{TaskState, stored_enum};
use crate::chain::Commitment;
use crate::event::id::{ArtifactId, ContextId, MessageId, Seq, TaskId};
use crate::event::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What an update said about the state of a task (A2A 1.0 section 4.2.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusFacts {
    /// The task.
    pub task: TaskId,
    /// Its context; servers must send one and some do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextId>,
    /// Its state.
    pub state: TaskState,
    /// The peer's own clock for that state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_at: Option<Timestamp>,
    /// The id of the message that came with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
}

/// What an update brought of an artifact (A2A 1.0 section 4.2.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChunkFacts {
    /// The task.
    pub task: TaskId,
    /// Its context; servers must send one and some do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextId>,
    /// The artifact.
    pub artifact: ArtifactId,
    /// How many parts came.
    pub parts: u32,
    /// Whether they go behind those that came before; else they replace them.
    pub append: bool,
    /// Whether the artifact is complete now.
    pub last: bool,
}

/// A payload of an earlier event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayloadFacts {
    /// The event.
    pub seq: Seq,
    /// Which of its payloads, from 0.
    pub index: u16,
    /// What the event committed to.
    pub commitment: Commitment,
}

stored_enum!(
    /// What is wrong with something that should be an update.
    Malformed {
        /// No JSON.
        NotJson = "not_json",
        /// No UTF-8.
        NotUtf8 = "not_utf8",
        /// JSON that is no envelope of this binding, or answers another request.
        Envelope = "envelope",
        /// None of the four updates, or several at once.
        NotAnUpdate = "not_an_update",
        /// An update without what it needs to be understood.
        MissingField = "missing_field",
        /// Larger than this configuration allows.
        TooLarge = "too_large",
    }
);

stored_enum!(
    /// How a stream ended.
    StreamEnd {
        /// Its task ended.
        Terminal = "terminal",
        /// Its task waits for somebody.
        Interrupted = "interrupted",
        /// It was answered by a message, and no task.
        Message = "message",
        /// A plain answer came instead of a stream, and is complete.
        Answer = "answer",
        /// The peer ended it while its task was still running.
        EndedEarly = "ended_early",
        /// The connection broke, or this side gave up, after updates had come.
        Broken = "broken",
        /// The peer said that it failed, or refused to stream.
        Error = "error",
        /// It never began, and that is known for sure.
        NotSent = "not_sent",
        /// Bytes of the message left and nothing came back: whether it arrived is not known.
        InDoubt = "in_doubt",
        /// The user did not want to see more; the task goes on.
        Detached = "detached",
        /// The process ended before it could say.
        ProcessEnded = "process_ended",
    }
);

stored_enum!(
    /// Why a delivery was refused.
    PushRefusal {
        /// No credentials, or wrong ones.
        Unauthorized = "unauthorized",
        /// No update, or several.
        Malformed = "malformed",
        /// Larger than this configuration allows.
        TooLarge = "too_large",
        /// Another media type than JSON.
        ContentType = "content_type",
        /// Another HTTP method.
        Method = "method",
        /// Another path.
        NotFound = "not_found",
        /// Head or body did not come in time.
        Timeout = "timeout",
        /// Too many at once.
        Busy = "busy",
    }
);

stored_enum!(
    /// Why a receiver stopped.
    WebhookEnd {
        /// The user wanted it to.
        Interrupted = "interrupted",
        /// It had accepted as many deliveries as it should.
        MaxEvents = "max_events",
        /// Its time was over.
        Timeout = "timeout",
        /// It could not go on.
        Fault = "fault",
    }
);

stored_enum!(
    /// What the signatures of a card are worth (A2A 1.0 section 8.4).
    SignatureOutcome {
        /// One of them verifies with a trusted key.
        Verified = "verified",
        /// A trusted key does not verify what it should have signed.
        Failed = "failed",
        /// There is no trusted key, or no algorithm, to check them with.
        Unverifiable = "unverifiable",
        /// There are none.
        Absent = "absent",
    }
);

stored_enum!(
    /// Why a key is trusted.
    KeySource {
        /// It was pinned for this agent.
        Pinned = "pinned",
        /// It came from a place that the configuration allows.
        Jku = "jku",
    }
);

stored_enum!(
    /// A form in which a context leaves the house.
    ContextForm {
        /// One document for tools.
        Json = "json",
        /// The evidence form: verifiable, one record a line.
        Jsonl = "jsonl",
        /// CloudEvents 1.0, for tools.
        CloudEvents = "cloudevents",
        /// One self-contained page, for people.
        Html = "html",
    }
);
