//! Facts about streams: what was asked for, every update that came, and how it ended
//! (A2A 1.0 sections 3.1.2, 3.1.6 and 3.5).
//!
//! The `cause` of an update and of the end is the request that the stream answers. The raw frame is
//! the payload.

use super::fact;
use crate::event::facts::{
    A2aError, BareUrl, Binding, ChunkFacts, Failure, InterfaceSource, Malformed, StatusFacts,
    StreamEnd, TaskFacts, TaskState, Tenant, Version, Violation,
};
use crate::event::id::{InstanceId, MessageId, TaskId};
use serde::{Deserialize, Serialize};

fact!(
    /// A message is about to be sent whose answer streams. Body and headers are payloads. Doubt is resolved
    /// by asking for its task.
    StreamRequested {
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
    /// The updates of a task are about to be asked for. Doubt is resolved by asking again.
    SubscriptionRequested {
        /// The run of the program that is about to do it.
        instance: InstanceId,
        /// The task.
        task: TaskId,
        /// How.
        binding: Binding,
        /// Where.
        url: BareUrl,
        /// 0 if the user asked for it; else the how manieth resumption of a broken stream.
        resume: u32,
    }
);
fact!(
    /// A stream showed a whole task: a snapshot that replaces what was known.
    StreamTask {
        /// Its place among the updates of the stream, from 1.
        update: u64,
        /// What was seen.
        task: TaskFacts,
        /// What is wrong with it although it can be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
fact!(
    /// A stream brought a message.
    StreamMessage {
        /// Its place among the updates of the stream, from 1.
        update: u64,
        /// Its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<MessageId>,
        /// What is wrong with it although it can be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
fact!(
    /// A stream told of a task's state.
    StreamStatusUpdate {
        /// Its place among the updates of the stream, from 1.
        update: u64,
        /// What was told.
        status: StatusFacts,
        /// What is wrong with it although it can be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
fact!(
    /// A stream brought an artifact, or a piece of one.
    StreamArtifactUpdate {
        /// Its place among the updates of the stream, from 1.
        update: u64,
        /// What was brought.
        chunk: ChunkFacts,
        /// What is wrong with it although it can be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
fact!(
    /// A stream brought something that is no update.
    StreamMalformed {
        /// Its place among the updates of the stream, from 1.
        update: u64,
        /// What is wrong with it.
        why: Malformed,
    }
);
fact!(
    /// A stream is over. The answer's headers, and what could not be read of it, are payloads.
    StreamClosed {
        /// How it ended.
        end: StreamEnd,
        /// The HTTP status, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// What broke it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
        /// Which A2A error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<A2aError>,
        /// How many updates came.
        updates: u64,
        /// The state that its task was last told to be in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<TaskState>,
    }
);
