//! Facts about push notifications: where they are asked for, and what peers deliver
//! (A2A 1.0 sections 3.1.7 to 3.1.10 and 4.3).

use super::fact;
use crate::event::facts::{
    BareUrl, ChunkFacts, PushRefusal, StatusFacts, TaskFacts, Violation, WebhookEnd,
};
use crate::event::id::{MessageId, PushConfigId, TaskId};
use serde::{Deserialize, Serialize};

fact!(
    /// A peer said that it pushes the updates of a task. Its answer is the payload, without secrets.
    PushConfigured {
        /// The task.
        task: TaskId,
        /// The id of the configuration.
        config: PushConfigId,
        /// Where to, without a query.
        url: BareUrl,
        /// Whether it sends a token.
        token: bool,
        /// Whether it authenticates itself.
        authentication: bool,
    }
);
fact!(
    /// A peer said that it pushes no more.
    PushRemoved {
        /// The task.
        task: TaskId,
        /// The id of the configuration.
        config: PushConfigId,
    }
);
fact!(
    /// A peer delivered a whole task. The body as received is the payload.
    PushTask {
        /// What was seen.
        task: TaskFacts,
        /// Whether its task was known here: what is not linked changes no task.
        linked: bool,
        /// Whether the same bytes had come before: they change nothing again.
        duplicate: bool,
        /// What is wrong with it although it can be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
fact!(
    /// A peer delivered a message. The body as received is the payload.
    PushMessage {
        /// Its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<MessageId>,
        /// Whether its task was known here: what is not linked changes no task.
        linked: bool,
        /// Whether the same bytes had come before: they change nothing again.
        duplicate: bool,
        /// What is wrong with it although it can be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
fact!(
    /// A peer delivered a task's state. The body as received is the payload.
    PushStatusUpdate {
        /// What was told.
        status: StatusFacts,
        /// Whether its task was known here: what is not linked changes no task.
        linked: bool,
        /// Whether the same bytes had come before: they change nothing again.
        duplicate: bool,
        /// What is wrong with it although it can be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
fact!(
    /// A peer delivered an artifact, or a piece of one. The body as received is the payload.
    PushArtifactUpdate {
        /// What was brought.
        chunk: ChunkFacts,
        /// Whether its task was known here: what is not linked changes no task.
        linked: bool,
        /// Whether the same bytes had come before: they change nothing again.
        duplicate: bool,
        /// What is wrong with it although it can be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
fact!(
    /// Deliveries were refused, counted since the last such event of the same kind. Of the first one, what
    /// came is the payload.
    PushRejected {
        /// Why.
        why: PushRefusal,
        /// The HTTP status that they were answered with.
        status: u16,
        /// How many.
        count: u64,
    }
);
fact!(
    /// A receiver listens. Its address and path are the payload.
    WebhookStarted {}
);
fact!(
    /// A receiver stopped.
    WebhookStopped {
        /// Why.
        end: WebhookEnd,
        /// How many deliveries it accepted.
        accepted: u64,
        /// How many it refused.
        rejected: u64,
    }
);
