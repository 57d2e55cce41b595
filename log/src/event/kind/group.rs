//! Facts about groups: who belongs to them, and whose turn it was.
//!
//! The subject is the group, but of attempts, which change nothing about it. Notes and metadata are payloads.

use super::fact;
use crate::event::facts::{MemberStatus, Name, RoutingPolicy, Weight};
use crate::event::id::{Alias, GroupName, OperationId, Rank};
use serde::{Deserialize, Serialize};

fact!(
    /// A group was made.
    GroupCreated {
        /// How an agent of it is chosen where nothing else is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<RoutingPolicy>,
    }
);
fact!(
    /// A group has another name from here on. The subject is the old one; a second fact beside it, whose
    /// subject is the new one, says that this name is taken.
    GroupRenamed {
        /// The new name.
        to: GroupName,
    }
);
fact!(
    /// A group is no more. What happened stays in the log.
    GroupDeleted {}
);
fact!(
    /// An agent became a member.
    GroupMemberAdded {
        /// The agent, by the alias that it had then.
        agent: Alias,
        /// Its place in the group; no two members share one.
        rank: Rank,
        /// Tags that it has as a member, sorted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<Name>,
        /// How much of the work it takes; absent: one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weight: Option<Weight>,
    }
);
fact!(
    /// An agent is a member no more.
    GroupMemberRemoved {
        /// The agent, by the alias that the member had.
        agent: Alias,
        /// The rank that is free again.
        rank: Rank,
    }
);
fact!(
    /// A member took its turn: the next one is another's. Who appends it has the turn.
    GroupTurnTaken {
        /// The how manieth turn of the group, from 0.
        turn: u64,
        /// Whose turn it was.
        agent: Alias,
        /// Its rank.
        rank: Rank,
    }
);
fact!(
    /// A member was tried, since its policy goes from one to the next. Why it failed is the payload.
    GroupMemberTried {
        /// The policy.
        policy: RoutingPolicy,
        /// The how manieth attempt, from 1.
        attempt: u32,
        /// Who was tried, by its alias then.
        agent: Alias,
        /// Its rank.
        rank: Rank,
        /// What came of it.
        status: MemberStatus,
        /// The operation that sent it the message, if that was begun.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operation: Option<OperationId>,
    }
);
