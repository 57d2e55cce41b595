//! `missive agent`: who can be talked to.

use super::value::{Pair, alias, binding};
use missive_commands::wire::version::Binding;
use missive_log::event::Alias;

/// The subcommands of `agent`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Agent {
    /// Register an agent; nothing is requested yet
    #[command(after_help = "Examples:
  missive agent add weather https://weather.example
  missive agent add py http://127.0.0.1:7101 --tag local --binding-preference json-rpc
  missive agent add crm https://crm.example --auth-ref crm --notes 'owned by sales'")]
    Add(Add),

    /// List the registered agents
    #[command(after_help = "Examples:
  missive agent list
  missive agent list --ndjson | jq .data.agent.alias")]
    List,

    /// Show what is registered about an agent
    #[command(after_help = "Examples:
  missive agent show weather
  missive agent show weather --json")]
    Show(Named),

    /// Show an agent's card and the interface that would be used, and why
    #[command(after_help = "Examples:
  missive agent inspect weather
  missive agent inspect weather --refresh
  missive agent inspect weather --binding json-rpc --json")]
    Inspect(Inspect),

    /// Fetch an agent's card again, or revalidate it
    #[command(after_help = "Examples:
  missive agent refresh weather
  missive agent refresh weather --timeout 5s")]
    Refresh(Named),

    /// Give an agent another alias; the new one finds its whole history
    #[command(after_help = "Examples:
  missive agent rename weather forecast")]
    Rename(Rename),

    /// Remove an agent from the registry; its history stays
    #[command(after_help = "Examples:
  missive agent remove weather")]
    Remove(Named),
}

/// `agent add`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Add {
    /// The name to use from now on: a-z, 0-9, `.`, `_`, `-`, at most 63 characters. It stays in the
    /// log for ever, so it should say nothing personal
    #[arg(value_parser = alias)]
    pub(crate) alias: Alias,

    /// Where the agent is: an absolute http or https URL without credentials
    pub(crate) url: String,

    /// Use this interface, whatever the card says (repeat)
    #[arg(long, value_name = "BINDING=URL")]
    pub(crate) interface: Vec<Pair>,

    /// Prefer this binding over the card's order (repeat, best first)
    #[arg(long, value_name = "BINDING", value_parser = binding())]
    pub(crate) binding_preference: Vec<Binding>,

    /// Authenticate with this reference of the configuration
    #[arg(long, value_name = "NAME", value_parser = alias)]
    pub(crate) auth_ref: Option<Alias>,

    /// A label to find the agent by (repeat); it stays in the log for ever
    #[arg(long, value_parser = alias)]
    pub(crate) tag: Vec<Alias>,

    /// A remark for people
    #[arg(long, value_name = "TEXT")]
    pub(crate) notes: Option<String>,

    /// Further facts about the agent (repeat)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) metadata: Vec<Pair>,
}

/// One alias.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Named {
    /// The agent's alias
    #[arg(value_parser = alias)]
    pub(crate) alias: Alias,
}

/// `agent inspect`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Inspect {
    /// The agent's alias
    #[arg(value_parser = alias)]
    pub(crate) alias: Alias,

    /// Fetch the card, even if the cached one is fresh
    #[arg(long)]
    pub(crate) refresh: bool,

    /// Show what this binding would use
    #[arg(long, value_parser = binding())]
    pub(crate) binding: Option<Binding>,
}

/// `agent rename`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Rename {
    /// The alias that the agent has now
    #[arg(value_name = "OLD", value_parser = alias)]
    pub(crate) old: Alias,

    /// The alias that it gets
    #[arg(value_name = "NEW", value_parser = alias)]
    pub(crate) new: Alias,
}
