//! `missive bcast`, `barrier`, `gather` and `reduce`: many agents at once.

use super::send::Parts;
use super::task::state;
use super::value::{self, Pair, alias, binding, group, id, identifier, operation};
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use missive_commands::wire::version::Binding;
use missive_log::event::facts::{Execution, FailurePolicy, ReduceStrategy, TaskState};
use missive_log::event::{Alias, GroupName, OperationId, TaskId};
use std::path::PathBuf;
use std::time::Duration;

/// `bcast`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Bcast {
    /// The group
    #[arg(value_parser = group)]
    pub(crate) group: GroupName,

    /// What is sent.
    #[command(flatten)]
    pub(crate) parts: Parts,

    /// Metadata of each message (repeat)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) metadata: Vec<Pair>,

    /// The context that all messages belong to; without it a new one
    #[arg(long, value_name = "ID|NAME", value_parser = identifier)]
    pub(crate) context: Option<String>,

    /// Point the agents to an earlier task (repeat)
    #[arg(long, value_name = "ID", value_parser = id::<TaskId>)]
    pub(crate) reference_task: Vec<TaskId>,

    /// A media type that the answers may have (repeat)
    #[arg(long, value_name = "MIME", value_parser = value::media_type)]
    pub(crate) accepted_output_mode: Vec<String>,

    /// How many messages of its task's history each answer should hold
    #[arg(long, value_name = "N")]
    pub(crate) history_length: Option<u32>,

    /// Use this binding for every member
    #[arg(long, value_parser = binding())]
    pub(crate) binding: Option<Binding>,

    /// Take each task as it is right after it started, without waiting for its end
    #[arg(long, conflicts_with = "wait")]
    pub(crate) return_immediately: bool,

    /// Ask for each task until it ends, or needs input or authentication
    #[arg(long)]
    pub(crate) wait: bool,

    /// One member after the other, or side by side (as many at once as `concurrency` of the configuration says)
    #[arg(long, value_parser = execution(), default_value = "concurrent")]
    pub(crate) execution: Execution,

    /// Whether members that have not begun are still called once one has failed
    #[arg(long, value_parser = failure_policy(), default_value = "continue")]
    pub(crate) failure_policy: FailurePolicy,

    /// Ask members for streams, and show what each of them does as it happens
    #[arg(long, conflicts_with_all = ["wait", "return_immediately"])]
    pub(crate) stream: bool,
}

/// `barrier`.
#[derive(Debug, Clone, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["context", "from_bcast"]))]
pub(crate) struct Barrier {
    /// The group
    #[arg(value_parser = group)]
    pub(crate) group: GroupName,

    /// Wait for each member's latest task in this context
    #[arg(long, value_name = "ID|NAME", value_parser = identifier)]
    pub(crate) context: Option<String>,

    /// Wait for the tasks of this `bcast --json` (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) from_bcast: Option<PathBuf>,

    /// A state that counts, instead of `completed` (repeat)
    #[arg(long, value_name = "STATE", value_parser = state())]
    pub(crate) state: Vec<TaskState>,

    /// How many members must be in it, instead of all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) required: Option<u32>,

    /// Whether the first failure ends it, or only a quorum that cannot be reached any more
    #[arg(long, value_parser = failure_policy(), default_value = "continue")]
    pub(crate) failure_policy: FailurePolicy,

    /// Ask again this often, instead of following the tasks
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) interval: Option<Duration>,

    /// Ask nobody: wait until others have recorded it
    #[arg(long, conflicts_with = "interval")]
    pub(crate) local: bool,
}

/// `gather`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Gather {
    /// The group
    #[arg(value_parser = group)]
    pub(crate) group: GroupName,

    /// In which context
    #[arg(long, value_name = "ID|NAME", value_parser = identifier)]
    pub(crate) context: String,

    /// Write each member's text and artifacts into this folder, with the rank in front of each name
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,

    /// Write over files that are there
    #[arg(long, requires = "output_dir")]
    pub(crate) force: bool,

    /// Record that this was gathered
    #[arg(long)]
    pub(crate) record: bool,
}

/// `reduce`.
#[derive(Debug, Clone, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Reduce {
    /// Look at one that was made.
    #[command(subcommand)]
    pub(crate) look: Option<ReduceLook>,

    /// The group
    #[arg(value_parser = group, required = true)]
    pub(crate) group: Option<GroupName>,

    /// In which context
    #[arg(long, value_name = "ID|NAME", value_parser = identifier, required = true)]
    pub(crate) context: Option<String>,

    /// How many outputs become one
    #[arg(long, value_parser = strategy(), default_value = "summarise")]
    pub(crate) strategy: ReduceStrategy,

    /// The text of `custom`, or what an agent or a command is asked: with `{{group}}`, `{{context_id}}`,
    /// `{{strategy}}`, `{{input_count}}`, `{{inputs}}`, `{{default_reduction}}`
    #[arg(long, value_name = "TEXT")]
    pub(crate) template: Option<String>,

    /// Have this agent make it
    #[arg(long, value_name = "ALIAS", value_parser = alias, conflicts_with = "command")]
    pub(crate) reducer_agent: Option<Alias>,

    /// Have this command make it: it gets the prompt as its standard input, and what it prints is the result
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<String>,

    /// Hand the command to `sh -c` instead of splitting it into words
    #[arg(long, requires = "command")]
    pub(crate) shell: bool,
}

/// The subcommands of `reduce`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum ReduceLook {
    /// Show a reduction, and prove what it was made of
    #[command(after_help = "Examples:
  missive reduce show 0192f3a1-c6e8-7b4f-9d2e-5a6b7c8d9e0f
  missive reduce show 0192f3a1-c6e8-7b4f-9d2e-5a6b7c8d9e0f --json | jq '.data.provenance'")]
    Show(ReduceShow),
}

/// `reduce show`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReduceShow {
    /// The reduction: its `reduce_id`
    #[arg(value_name = "ID", value_parser = operation)]
    pub(crate) id: OperationId,
}

fn execution() -> impl clap::builder::TypedValueParser<Value = Execution> {
    let names = Execution::ALL.iter().map(|value| value.as_str());
    PossibleValuesParser::new(names)
        .try_map(|name| Execution::from_name(&name).ok_or("no such order"))
}

fn failure_policy() -> impl clap::builder::TypedValueParser<Value = FailurePolicy> {
    let names = FailurePolicy::ALL.iter().map(|value| value.as_str());
    PossibleValuesParser::new(names)
        .try_map(|name| FailurePolicy::from_name(&name).ok_or("no such policy"))
}

fn strategy() -> impl clap::builder::TypedValueParser<Value = ReduceStrategy> {
    let names = ReduceStrategy::ALL.iter().map(|value| value.as_str());
    PossibleValuesParser::new(names)
        .try_map(|name| ReduceStrategy::from_name(&name).ok_or("no such strategy"))
}
