//! Why something about a group is not done. Nothing was recorded.

use missive_log::event::facts::RoutingPolicy;
use missive_log::event::{Alias, GroupName, Rank};

use crate::exit::Exit;

/// What the rules say about groups and their members.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupRefusal {
    /// There is such a group.
    #[error("a group is already called {name}")]
    Taken {
        /// The name.
        name: GroupName,
    },
    /// The agent is a member.
    #[error("{agent} is a member of {group} already, with rank {rank}")]
    AlreadyMember {
        /// The group.
        group: GroupName,
        /// The agent.
        agent: Alias,
        /// Its rank.
        rank: Rank,
    },
    /// Another member has the rank.
    #[error("rank {rank} of {group} is that of {agent}")]
    RankTaken {
        /// The group.
        group: GroupName,
        /// The rank.
        rank: Rank,
        /// Who has it.
        agent: Alias,
        /// The ranks that are taken, in order.
        taken: Vec<Rank>,
    },
    /// The agent is no member.
    #[error("{agent} is no member of {group}{}", rank.as_ref().map(|rank| format!(" with rank {rank}")).unwrap_or_default())]
    NoMember {
        /// The group.
        group: GroupName,
        /// The agent.
        agent: Alias,
        /// The rank that was asked for.
        rank: Option<Rank>,
        /// The members, as they are called now.
        members: Vec<Alias>,
    },
    /// Several members had that alias when they were added.
    #[error("several members of {group} are or were called {agent}")]
    SeveralMembers {
        /// The group.
        group: GroupName,
        /// The alias.
        agent: Alias,
        /// Their ranks.
        ranks: Vec<Rank>,
    },
    /// The agent that is preferred is none of those among whom is chosen.
    #[error("{agent} is preferred, and is not among those that can be chosen")]
    NoCandidate {
        /// The agent.
        agent: Alias,
        /// Who can be.
        candidates: Vec<Alias>,
    },
    /// Something was given that the policy has no use for.
    #[error("a {what} does not go with the policy {policy}")]
    NotOfPolicy {
        /// `quorum` or `cursor`.
        what: &'static str,
        /// The policy.
        policy: RoutingPolicy,
    },
    /// The policy wants several to have a message at once, and this sends one.
    #[error("{policy} sends a message to several members of {group} at once")]
    PolicyOfMany {
        /// The group.
        group: GroupName,
        /// The policy.
        policy: RoutingPolicy,
    },
    /// Nobody meets the requirements, or can be spoken to.
    #[error("{policy} chooses nobody of {group}")]
    NobodyFits {
        /// The group.
        group: GroupName,
        /// The policy.
        policy: RoutingPolicy,
        /// Why not, of each member.
        reasons: Vec<(Alias, String)>,
    },
}

impl GroupRefusal {
    /// How the command ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Taken { .. }
            | Self::AlreadyMember { .. }
            | Self::RankTaken { .. }
            | Self::SeveralMembers { .. }
            | Self::NotOfPolicy { .. }
            | Self::PolicyOfMany { .. } => Exit::Usage,
            Self::NoMember { .. } | Self::NoCandidate { .. } | Self::NobodyFits { .. } => {
                Exit::NotFound
            }
        }
    }

    /// The last part of `missive::<category>::<detail>`.
    pub fn detail(&self) -> &'static str {
        match self {
            Self::Taken { .. } => "group_taken",
            Self::AlreadyMember { .. } => "already_member",
            Self::RankTaken { .. } => "rank_taken",
            Self::NoMember { .. } => "member",
            Self::SeveralMembers { .. } => "ambiguous_member",
            Self::NotOfPolicy { .. } | Self::PolicyOfMany { .. } => "policy",
            Self::NoCandidate { .. } => "preferred_agent",
            Self::NobodyFits { .. } => "nobody_fits",
        }
    }
}
