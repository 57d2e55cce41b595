//! `missive context`: what belongs together, across agents.

use super::value::{Pair, alias, id, identifier};
use missive_log::event::{Alias, ContextId};
use std::path::PathBuf;

/// The subcommands of `context`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Context {
    /// Begin a context before its first message; agents are told nothing
    #[command(after_help = "Examples:
  missive context create --name 'Release 7' --summary 'what must be ready by Friday'
  missive context create --id release-7 --agent planner --metadata ticket=MIS-7
  missive send planner 'What is left?' --context 'Release 7'")]
    Create(Create),

    /// List the contexts, the most recently active first
    #[command(after_help = "Examples:
  missive context list
  missive context list --ndjson | jq -r .data.context.context_id")]
    List,

    /// Show what was said in a context, both sides, in order
    #[command(after_help = "Examples:
  missive context show 'Release 7'
  missive context show c-9 --json | jq '.data.turns[] | select(.side == \"received\") | .text'")]
    Show(Named),

    /// Begin a context as the child of another one
    #[command(after_help = "Examples:
  missive context fork 'Release 7' --name 'Release 7, the risky way'")]
    Fork(Fork),

    /// Declare a context finished, here only
    #[command(after_help = "Examples:
  missive context close 'Release 7' --summary 'shipped'")]
    Close(Close),

    /// Write everything about a context out
    #[command(after_help = "Examples:
  missive context export 'Release 7' --format html --output release-7.html
  missive context export c-9 --format jsonl > c-9.jsonl
  missive context export c-9 | jq '.events | length'

json has the context, its tasks, its turns and its events, each of which can be verified; jsonl is the
evidence form of `missive events export`, which verifies to the head of the log; html is one page that
needs no network and runs no script.")]
    Export(Export),
}

/// `context create`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Create {
    /// The id; without it a new one
    #[arg(long, value_name = "ID", value_parser = id::<ContextId>)]
    pub(crate) id: Option<ContextId>,

    /// What you call it: 1 to 100 printable characters. It stays in the log for ever, so it should
    /// say nothing personal
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// The agent that it is meant for
    #[arg(long, value_name = "ALIAS", value_parser = alias)]
    pub(crate) agent: Option<Alias>,

    /// What it is about
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,

    /// Something to note about it; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) metadata: Vec<Pair>,
}

/// A context by its id or its name.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Named {
    /// The context
    #[arg(value_name = "ID|NAME", value_parser = identifier)]
    pub(crate) context: String,
}

/// `context fork`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Fork {
    /// The parent
    #[arg(value_name = "ID|NAME", value_parser = identifier)]
    pub(crate) context: String,

    /// What you call the child
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// `context close`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Close {
    /// The context
    #[arg(value_name = "ID|NAME", value_parser = identifier)]
    pub(crate) context: String,

    /// What came of it
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,
}

/// `context export`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Export {
    /// The context
    #[arg(value_name = "ID|NAME", value_parser = identifier)]
    pub(crate) context: String,

    /// The form
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    pub(crate) format: Form,

    /// A file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite the file if it is there
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// The forms of `context export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// One document
    Json,
    /// Evidence, one record a line
    Jsonl,
    /// CloudEvents 1.0, one a line
    #[value(name = "cloudevents")]
    CloudEvents,
    /// One self-contained page
    Html,
}
