//! `missive task`: what agents work at.

use super::value::{self, Target};
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use missive_commands::task::list::SOURCES;
use missive_commands::wire::version::Binding;
use missive_log::Timestamp;
use missive_log::event::facts::TaskState;
use missive_log::event::{ArtifactId, TaskId};
use std::path::PathBuf;
use std::time::Duration;

/// The subcommands of `task`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Task {
    /// Show a task as the log knows it, or ask its agent
    #[command(after_help = "Examples:
  missive task get t-1
  missive task get t-1 --remote --history-length 5
  missive task get t-1 --agent planner --json")]
    Get(Get),

    /// List tasks, the most recently reported first: those that the log knows, or those of an agent
    #[command(after_help = "Examples:
  missive task list --state input_required
  missive task list --context release-7 --all --ndjson | jq -r .data.task.task_id
  missive task list --remote --agent planner --all

With --remote the filters are the agent's, in its order, and what it shows goes into the log.")]
    List(List),

    /// Wait until a task ends, or waits for you
    #[command(after_help = "Examples:
  missive task wait t-1
  missive task wait t-1 --interval 10s --timeout 1h
  missive task wait t-1 --local --timeout 5m

Exit codes: 0 completed, 80 failed, 81 canceled, 82 the time ran out, 83 input required, 84 auth required,
85 rejected. With --local nobody is asked: something else must record what happens, such as a webhook.")]
    Wait(Wait),

    /// Follow a task that goes on: its updates as they come, after a snapshot of it
    #[command(after_help = "Examples:
  missive task subscribe t-1
  missive task subscribe t-1 --agent planner --ndjson

The text goes to stdout as it arrives; what happens to the task is told on stderr. It ends with the task, when
the task begins to need input or authentication, or on Ctrl-C, with the exit codes of `missive stream`.")]
    Subscribe(Subscribe),

    /// Ask the agent to cancel a task, and show the state that came back
    #[command(after_help = "Examples:
  missive task cancel t-1
  missive task cancel t-1 && echo 'it is canceled'

Exit codes: 0 if the state that came back is canceled, 80 if it is another one: agents need not obey.")]
    Cancel(Cancel),

    /// Look at what a task made, and save it
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Examples:
  missive task artifact list t-1
  missive task artifact export t-1 --output-dir results"
    )]
    Artifact(Artifact),
}

/// The subcommands of `task artifact`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Artifact {
    /// List the artifacts of a task, and the files that each one would become
    #[command(after_help = "Examples:
  missive task artifact list t-1
  missive task artifact list t-1 --json | jq '.data.artifacts[].files[]'")]
    List(ArtifactsOf),

    /// Print an artifact: its text, its JSON, and the names of its files
    #[command(after_help = "Examples:
  missive task artifact show t-1 report
  missive task artifact show t-1 report --json | jq .data.artifact.parts")]
    Show(ArtifactOf),

    /// Write an artifact to a file
    #[command(after_help = "Examples:
  missive task artifact save t-1 report --output report.md
  missive task artifact save t-1 chart
  missive task artifact save t-1 numbers --output - | jq .total

Without --output it gets the name that the agent gave it, made harmless, in this folder. A link becomes a
`.url.json` file that says where it leads: nothing is fetched.")]
    Save(ArtifactSave),

    /// Write all artifacts of a task to files in a folder
    #[command(after_help = "Examples:
  missive task artifact export t-1 --output-dir results
  missive task artifact export t-1 --output-dir results --force

Names are those that the agent gave, made harmless; where two are the same, the later one gets a number.
Links become `.url.json` files that say where they lead: nothing is fetched.")]
    Export(ArtifactExport),
}

/// `task artifact list`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ArtifactsOf {
    /// The task's id
    #[arg(value_name = "TASK", value_parser = value::id::<TaskId>)]
    pub(crate) task: TaskId,

    /// The agent that the task belongs to, where several use the same id
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<Target>,
}

/// `task artifact show`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ArtifactOf {
    /// The task
    #[command(flatten)]
    pub(crate) of: ArtifactsOf,

    /// The artifact's id
    #[arg(value_name = "ARTIFACT", value_parser = value::id::<ArtifactId>)]
    pub(crate) artifact: ArtifactId,
}

/// `task artifact save`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ArtifactSave {
    /// Which artifact
    #[command(flatten)]
    pub(crate) which: ArtifactOf,

    /// Write to this file instead; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite what is there
    #[arg(long)]
    pub(crate) force: bool,
}

/// `task artifact export`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ArtifactExport {
    /// The task
    #[command(flatten)]
    pub(crate) of: ArtifactsOf,

    /// The folder; it is made where it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: PathBuf,

    /// Overwrite what is there
    #[arg(long)]
    pub(crate) force: bool,
}

/// `task get`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Get {
    /// The task's id
    #[arg(value_name = "ID", value_parser = value::id::<TaskId>)]
    pub(crate) task: TaskId,

    /// Ask the agent, and record what it answers
    #[arg(long)]
    pub(crate) remote: bool,

    /// The agent that the task belongs to, where several use the same id or the log knows none
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<Target>,

    /// Show at most this many messages of the history
    #[arg(long, value_name = "N")]
    pub(crate) history_length: Option<u32>,
}

/// `task list`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct List {
    /// Ask the agent, and record what it answers
    #[arg(long, requires = "agent")]
    pub(crate) remote: bool,

    /// Only tasks of this agent
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<Target>,

    /// Only tasks in this context: its id or its name
    #[arg(long, value_name = "ID|NAME")]
    pub(crate) context: Option<String>,

    /// Only tasks in this state
    #[arg(long, value_name = "STATE", value_parser = state())]
    pub(crate) state: Option<TaskState>,

    /// Only tasks whose state was reported after this moment (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = value::moment)]
    pub(crate) updated_after: Option<Timestamp>,

    /// Only tasks whose state came in this way
    #[arg(long, value_name = "SOURCE", value_parser = PossibleValuesParser::new(SOURCES), conflicts_with = "remote")]
    pub(crate) source: Option<String>,

    /// How many tasks a page has; 50, or with --remote what the agent likes, at most 100
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) page_size: Option<u32>,

    /// Begin with the page that an earlier list named
    #[arg(long, value_name = "TOKEN")]
    pub(crate) page_token: Option<String>,

    /// Go on to the last page
    #[arg(long)]
    pub(crate) all: bool,

    /// List the artifacts of each task as well
    #[arg(long)]
    pub(crate) include_artifacts: bool,
}

/// `task wait`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Wait {
    /// The task's id
    #[arg(value_name = "ID", value_parser = value::id::<TaskId>)]
    pub(crate) task: TaskId,

    /// The agent that the task belongs to, where several use the same id or the log knows none
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<Target>,

    /// The pause between two questions; without it from 250ms growing to 5s
    #[arg(long, value_name = "DURATION", value_parser = value::duration, conflicts_with = "local")]
    pub(crate) interval: Option<Duration>,

    /// Ask nobody: wait until the log says so
    #[arg(long)]
    pub(crate) local: bool,
}

/// `task subscribe`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Subscribe {
    /// The task's id
    #[arg(value_name = "ID", value_parser = value::id::<TaskId>)]
    pub(crate) task: TaskId,

    /// The agent that the task belongs to, where several use the same id or the log knows none
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<Target>,

    /// Use this binding
    #[arg(long, value_parser = value::binding())]
    pub(crate) binding: Option<Binding>,
}

/// `task cancel`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Cancel {
    /// The task's id
    #[arg(value_name = "ID", value_parser = value::id::<TaskId>)]
    pub(crate) task: TaskId,

    /// The agent that the task belongs to, where several use the same id or the log knows none
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<Target>,
}

pub(super) fn state() -> impl clap::builder::TypedValueParser<Value = TaskState> {
    let names = TaskState::ALL.iter().map(|state| state.as_str());
    PossibleValuesParser::new(names)
        .try_map(|name| TaskState::from_name(&name).ok_or("no such state"))
}
