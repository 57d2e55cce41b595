//! `missive route`, and what `send` and `stream` say of a group.

use super::value::{alias, group, identifier, media_type, policy};
use missive_commands::route::ask::{Among, Routing};
use missive_commands::route::needs::Needs as Wanted;
use missive_log::event::facts::RoutingPolicy;
use missive_log::event::{Alias, GroupName};

/// The subcommands of `route`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Route {
    /// Say whom a policy would choose, and of everybody why or why not; nothing moves
    #[command(after_help = "Examples:
  missive route explain --group board
  missive route explain --group board --policy capability-match --capability translate --refresh-capabilities
  missive route explain --agent ada --agent bob --policy fallback --preferred-agent bob
  missive route explain --group board --policy quorum --json | jq -r '.data.selected[]'

Policies: direct (the first rank), capability-match and tag-match (all who meet the requirements; without any, all),
round-robin (in turns), weighted (in turns, by weight), broadcast (all), first-success (one after the other until one
answers well), fallback (the next one only if the one before it cannot be had), quorum (a majority of all, or
--quorum). Without --policy that of the group counts, else [routing] policy of the configuration, else direct.
Requirements hold with every policy. Cards are those that are known: --refresh-capabilities asks for them first.")]
    Explain(Box<Explain>),
}

/// `route explain`.
#[derive(Debug, Clone, clap::Args)]
#[command(group = clap::ArgGroup::new("among").required(true).args(["group", "agent"]))]
pub(crate) struct Explain {
    /// Choose among the members of this group
    #[arg(long, value_name = "GROUP", value_parser = group)]
    pub(crate) group: Option<GroupName>,

    /// Choose among these agents, in this order (repeat)
    #[arg(long, value_name = "ALIAS", value_parser = alias)]
    pub(crate) agent: Vec<Alias>,

    /// How to choose.
    #[command(flatten)]
    pub(crate) needs: Needs,

    /// Only who streams
    #[arg(long)]
    pub(crate) streaming: bool,

    /// Only who pushes notifications
    #[arg(long)]
    pub(crate) push_notifications: bool,

    /// How many make a quorum, instead of a majority
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) quorum: Option<u32>,

    /// The turn to look at, instead of the group's next one; from 0
    #[arg(long, value_name = "N")]
    pub(crate) cursor: Option<u64>,
}

/// How an agent is chosen out of several.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct Needs {
    /// How to choose, instead of the group's own way
    #[arg(long, value_name = "POLICY", value_parser = policy())]
    pub(crate) policy: Option<RoutingPolicy>,

    /// Only whose card names this: the id, name or tag of a skill, a media type, or metadata as KEY=VALUE (repeat)
    #[arg(long, value_name = "WORD", value_parser = identifier)]
    pub(crate) capability: Vec<String>,

    /// Only who has this tag, as an agent or as a member (repeat)
    #[arg(long, value_parser = alias)]
    pub(crate) tag: Vec<Alias>,

    /// Only who takes this media type (repeat)
    #[arg(long, value_name = "MIME", value_parser = media_type)]
    pub(crate) input_mode: Vec<String>,

    /// Only who gives this media type (repeat)
    #[arg(long, value_name = "MIME", value_parser = media_type)]
    pub(crate) output_mode: Vec<String>,

    /// Who comes first, if it meets the requirements (repeat)
    #[arg(long, value_name = "ALIAS", value_parser = alias)]
    pub(crate) preferred_agent: Vec<Alias>,

    /// Ask the agents for their cards first
    #[arg(long)]
    pub(crate) refresh_capabilities: bool,
}

impl Needs {
    /// The same for the acting room.
    pub(crate) fn routing(&self, among: Among) -> Routing {
        Routing {
            policy: self.policy,
            needs: Wanted {
                capabilities: self.capability.clone(),
                tags: self.tag.iter().map(Alias::to_string).collect(),
                input_modes: self.input_mode.clone(),
                output_modes: self.output_mode.clone(),
                streaming: false,
                push: false,
            },
            preferred: self.preferred_agent.clone(),
            refresh: self.refresh_capabilities,
            ..Routing::among(among)
        }
    }
}

impl Explain {
    /// The same for the acting room.
    pub(crate) fn routing(&self) -> Routing {
        let among = match &self.group {
            Some(group) => Among::Group(group.clone()),
            None => Among::Agents(self.agent.clone()),
        };
        let mut routing = self.needs.routing(among);
        routing.needs.streaming = self.streaming;
        routing.needs.push = self.push_notifications;
        routing.quorum = self.quorum;
        routing.cursor = self.cursor;
        routing
    }
}
