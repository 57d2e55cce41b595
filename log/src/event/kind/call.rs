//! Facts about single requests: messages and calls, and the tasks that answers show
//! (A2A 1.0 sections 3.1.1, 3.1.3 to 3.1.5, 3.1.7 to 3.1.11).

use super::fact;
use crate::event::facts::{
    A2aError, BareUrl, Binding, Failure, InterfaceSource, Method, Shape, TaskFacts, Tenant,
    Version, Violation,
};
use crate::event::id::{ContextId, InstanceId, MessageId, TaskId};
use serde::{Deserialize, Serialize};

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
