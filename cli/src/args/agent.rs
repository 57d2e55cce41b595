//! `missive agent`: who can be talked to.

use super::value::{Pair, alias, binding};
use missive_commands::wire::version::Binding;
use missive_log::event::Alias;
use std::path::PathBuf;

/// The subcommands of `agent`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Agent {
    /// Register an agent; nothing is requested yet
    #[command(after_help = "Examples:
  missive agent add weather https://weather.example
  missive agent add py http://127.0.0.1:7101 --tag local --binding-preference json-rpc
  missive agent add crm https://crm.example --auth-ref crm --notes 'owned by sales'
  missive agent add bare http://127.0.0.1:9000 --interface json-rpc=http://127.0.0.1:9000/rpc
  missive agent add shy https://shy.example --card-file shy-card.json")]
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

    /// Show an agent's card, what its signatures are worth, and the interface that would be used
    #[command(after_help = "Examples:
  missive agent inspect weather
  missive agent inspect weather --refresh
  missive agent inspect weather --binding json-rpc --json
  missive agent inspect crm --extended --bearer-token-env CRM_TOKEN

A signature is `verified` by a key that is pinned for the agent, or that comes from an address which
[trust.ALIAS] of the configuration allows; else it is `failed`, `unverifiable` or `absent`, with the reason.")]
    Inspect(Inspect),

    /// Fetch an agent's card again, or revalidate it
    #[command(after_help = "Examples:
  missive agent refresh weather
  missive agent refresh weather --timeout 5s")]
    Refresh(Named),

    /// Show what agents can do: optional operations, skills, media types
    #[command(after_help = "Examples:
  missive agent capabilities
  missive agent capabilities weather --refresh
  missive agent capabilities --ndjson | jq -r 'select(.data.agent.capabilities.streaming).data.agent.agent'")]
    Capabilities(Capabilities),

    /// Pin a public key that the cards of an agent must be signed by
    #[command(after_help = "Examples:
  missive agent pin weather weather.jwk
  missive agent pin weather keys.json && missive agent refresh weather

The file holds a JWK or a JWK Set of public keys: Ed25519, P-256 or RSA. Keys add up, so a new one is pinned
beside the old one. Once a key is pinned, no other key counts. Removing the agent takes its keys back.")]
    Pin(Pin),

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

    /// Pin the public keys of this file (a JWK or a JWK Set): its cards must be signed by one of them
    /// (repeat)
    #[arg(long, value_name = "FILE")]
    pub(crate) card_key: Vec<PathBuf>,

    /// Take the agent's card from this file, for an agent that shows none or wants a login for it: it is
    /// used until `agent refresh` brings another
    #[arg(long, value_name = "FILE")]
    pub(crate) card_file: Option<PathBuf>,
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

    /// Ask for the extended card, which agents show only to whom they know
    #[arg(long)]
    pub(crate) extended: bool,

    /// Show what this binding would use
    #[arg(long, value_parser = binding())]
    pub(crate) binding: Option<Binding>,
}

/// `agent capabilities`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Capabilities {
    /// The agent's alias; without it, all agents
    #[arg(value_parser = alias)]
    pub(crate) alias: Option<Alias>,

    /// Fetch the cards, even if the cached ones are fresh
    #[arg(long)]
    pub(crate) refresh: bool,
}

/// `agent pin`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Pin {
    /// The agent's alias
    #[arg(value_parser = alias)]
    pub(crate) alias: Alias,

    /// A file with a JWK or a JWK Set
    #[arg(value_name = "FILE")]
    pub(crate) key: PathBuf,
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
