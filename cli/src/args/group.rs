//! `missive group`: agents that belong together.

use super::value::{Pair, alias, group, policy, rank, weight};
use missive_log::event::facts::{RoutingPolicy, Weight};
use missive_log::event::{Alias, GroupName, Rank};

/// The subcommands of `group`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Group {
    /// Make a group without members
    #[command(after_help = "Examples:
  missive group create board
  missive group create reviewers --routing-policy round-robin --notes 'who looks at changes'

Policies: direct (the first rank), capability-match, tag-match, round-robin (in turns), weighted (by weight),
broadcast (all), first-success (one after the other until one answers well), quorum (a majority), fallback (the next
one only if the one before it cannot be had). `missive route explain` shows whom each would choose.")]
    Create(Create),

    /// List the groups
    #[command(after_help = "Examples:
  missive group list
  missive group list --ndjson | jq -r .data.group.name")]
    List,

    /// Show a group and its members, whatever became of them
    #[command(after_help = "Examples:
  missive group show board
  missive group show board --json | jq -r '.data.members[] | select(.status == \"removed\").agent'

A member whose agent was renamed is shown by its new alias; one whose agent was removed stays until it is taken out.")]
    Show(Named),

    /// Make an agent a member
    #[command(after_help = "Examples:
  missive group add board planner --rank 1
  missive group add board critic --rank 2 --tag careful --weight 0.5
  missive group add board archive --rank 10 --routing-metadata region=eu

Ranks are ordered as people count: rank-2 before rank-10.")]
    Add(Add),

    /// Take a member out of a group
    #[command(after_help = "Examples:
  missive group remove board critic
  missive group remove board critic --rank 2")]
    Remove(Remove),

    /// Give a group another name; members, turns and history go with it
    #[command(after_help = "Examples:
  missive group rename board council")]
    Rename(Rename),

    /// Delete a group; its history stays
    #[command(after_help = "Examples:
  missive group delete board")]
    Delete(Named),

    /// Show what the members of a group can do, as their cached cards say
    #[command(after_help = "Examples:
  missive group capabilities board
  missive group capabilities board --refresh
  missive group capabilities board --json | jq '.data.members[] | {agent, labels}'

`labels` are the words that `missive route explain --capability` matches.")]
    Capabilities(Capabilities),
}

/// `group create`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Create {
    /// The name: a-z, 0-9, `.`, `_`, `-`, at most 63 characters. It stays in the log for ever, so it should say
    /// nothing personal
    #[arg(value_parser = group)]
    pub(crate) name: GroupName,

    /// How an agent of it is chosen where nothing else is said
    #[arg(long, value_name = "POLICY", value_parser = policy())]
    pub(crate) routing_policy: Option<RoutingPolicy>,

    /// A remark for people
    #[arg(long, value_name = "TEXT")]
    pub(crate) notes: Option<String>,

    /// Further facts about the group (repeat)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) metadata: Vec<Pair>,
}

/// One group.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Named {
    /// The group
    #[arg(value_name = "GROUP", value_parser = group)]
    pub(crate) name: GroupName,
}

/// `group add`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Add {
    /// The group
    #[arg(value_parser = group)]
    pub(crate) group: GroupName,

    /// The agent's alias
    #[arg(value_parser = alias)]
    pub(crate) agent: Alias,

    /// Its place in the group, which no other member has; it stays in the log for ever
    #[arg(long, value_parser = rank)]
    pub(crate) rank: Rank,

    /// A label that it has as a member (repeat); it stays in the log for ever
    #[arg(long, value_parser = alias)]
    pub(crate) tag: Vec<Alias>,

    /// How much of the work it takes: a number over 0 with at most 6 decimals, 1 if it is not given
    #[arg(long, value_name = "NUMBER", value_parser = weight, allow_hyphen_values = true)]
    pub(crate) weight: Option<Weight>,

    /// Further facts about it as a member, which `--capability KEY=VALUE` matches (repeat)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) routing_metadata: Vec<Pair>,
}

/// `group remove`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Remove {
    /// The group
    #[arg(value_parser = group)]
    pub(crate) group: GroupName,

    /// The member: the alias that it has now, or had when it was added
    #[arg(value_parser = alias)]
    pub(crate) agent: Alias,

    /// Its rank, where several members are or were called so
    #[arg(long, value_parser = rank)]
    pub(crate) rank: Option<Rank>,
}

/// `group rename`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Rename {
    /// The name that the group has now
    #[arg(value_name = "OLD", value_parser = group)]
    pub(crate) old: GroupName,

    /// The name that it gets
    #[arg(value_name = "NEW", value_parser = group)]
    pub(crate) new: GroupName,
}

/// `group capabilities`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Capabilities {
    /// The group
    #[arg(value_parser = group)]
    pub(crate) group: GroupName,

    /// Fetch the members' cards first, even if the cached ones are fresh
    #[arg(long)]
    pub(crate) refresh: bool,
}
