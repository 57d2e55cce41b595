//! Facts about what is done with many agents at once: broadcasts, barriers, gathers and reductions.
//!
//! The subject is the operation. What each member is sent and answers are facts of its own operation,
//! which the round's facts name.

use super::fact;
use crate::event::facts::{
    Execution, Failure, FailurePolicy, MemberStatus, ReduceFailure, ReduceMethod, ReduceSource,
    ReduceStrategy, RoundStatus, TaskState,
};
use crate::event::id::{Alias, InstanceId, OperationId, Rank, Seq, TaskId};
use serde::{Deserialize, Serialize};

fact!(
    /// A message is about to be sent to every member of a group.
    BcastStarted {
        /// The run of the program that is about to do it.
        instance: InstanceId,
        /// One after the other, or side by side.
        execution: Execution,
        /// What a failure means for the other members.
        failure_policy: FailurePolicy,
        /// How many members there were: they stay the same until the end.
        members: u32,
        /// For how long, in milliseconds; absent: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
        /// Where the views stood that named the members.
        position: Seq,
        /// The members in the order of ranks, each by the event that made it one: no rename changes that.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        member_ids: Vec<Seq>,
    }
);
fact!(
    /// What came of a broadcast for one member.
    BcastMemberEnded {
        /// The member, by its alias.
        agent: Alias,
        /// Its rank.
        rank: Rank,
        /// What came of it.
        status: MemberStatus,
        /// The operation that sent it the message; none if nothing was sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operation: Option<OperationId>,
        /// The task that it made of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The state of that task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<TaskState>,
        /// Why it failed, where the wire says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    }
);
fact!(
    /// A broadcast is over.
    BcastCompleted {
        /// What came of it.
        status: RoundStatus,
        /// How many members took the message.
        succeeded: u32,
        /// How many did not.
        failed: u32,
        /// Of how many it is not known, or nothing was sent.
        unfinished: u32,
    }
);
fact!(
    /// The members of a group are about to be waited for.
    BarrierStarted {
        /// The run of the program that is about to do it.
        instance: InstanceId,
        /// The states that satisfy it, sorted.
        states: Vec<TaskState>,
        /// How many members must be in one of them.
        required: u32,
        /// What a failure means for the others.
        failure_policy: FailurePolicy,
        /// How many members there were.
        members: u32,
        /// Whether only the log is looked at.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        local: bool,
        /// The broadcast whose tasks are waited for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bcast: Option<OperationId>,
        /// For how long, in milliseconds; absent: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
        /// Where the views stood that named the members.
        position: Seq,
        /// The members in the order of ranks, each by the event that made it one: no rename changes that.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        member_ids: Vec<Seq>,
    }
);
fact!(
    /// Where a member stood when a barrier ended.
    BarrierMemberEnded {
        /// The member, by its alias.
        agent: Alias,
        /// Its rank.
        rank: Rank,
        /// What that means for the barrier.
        status: MemberStatus,
        /// Its task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The state of that task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<TaskState>,
    }
);
fact!(
    /// A barrier is over.
    BarrierCompleted {
        /// What came of it.
        status: RoundStatus,
        /// How many members were needed.
        required: u32,
        /// How many satisfied it.
        satisfied: u32,
        /// How many cannot any more.
        failed: u32,
        /// How many still might.
        unfinished: u32,
    }
);
fact!(
    /// What a group had said was gathered and kept, or written to files. The names of the files are the
    /// payload.
    GatherRecorded {
        /// Where the views stood.
        position: Seq,
        /// How many members there were.
        members: u32,
        /// How many of them had said something.
        outputs: u32,
        /// How many files were written.
        files: u32,
        /// The members in the order of ranks, each by the event that made it one: no rename changes that.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        member_ids: Vec<Seq>,
    }
);
fact!(
    /// What a group had said is about to be made into one. The prompt, if an agent or a command gets one,
    /// and the command are payloads.
    ReduceStarted {
        /// The run of the program that is about to do it.
        instance: InstanceId,
        /// How.
        strategy: ReduceStrategy,
        /// By whom.
        method: ReduceMethod,
        /// Where the views stood that the inputs come from.
        position: Seq,
        /// How many members had said something.
        inputs: u32,
        /// The members in the order of ranks, each by the event that made it one: no rename changes that.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        member_ids: Vec<Seq>,
    }
);
fact!(
    /// What a reduction was made of: of many members, some of them.
    ReduceSources {
        /// The how manieth part of the list, from 0.
        part: u32,
        /// In the order of ranks.
        sources: Vec<ReduceSource>,
    }
);
fact!(
    /// A reduction is done. Its text is the payload.
    ReduceCompleted {
        /// How.
        strategy: ReduceStrategy,
        /// By whom.
        method: ReduceMethod,
        /// Where the views stood that the inputs come from.
        position: Seq,
        /// How many members had said something.
        inputs: u32,
        /// How many members the list of sources names.
        sources: u32,
        /// The agent that made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reducer: Option<Alias>,
        /// The operation that asked it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operation: Option<OperationId>,
        /// The task that it made of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
    }
);
fact!(
    /// A reduction came to nothing. What the command wrote to its standard error is the payload.
    ReduceFailed {
        /// Why.
        failure: ReduceFailure,
        /// The code that a command ended with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<u8>,
        /// The operation that asked the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operation: Option<OperationId>,
    }
);
fact!(
    /// A round whose process died was found, and is over without an end of its own.
    RoundAbandoned {}
);
