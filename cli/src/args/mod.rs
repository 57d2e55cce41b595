//! The command line as types: what can be asked for, not how it is done.
//!
//! Only commands that exist are here. Parsing has no effects: it reads no file, no variable and no
//! state.

pub(crate) mod agent;
pub(crate) mod collect;
pub(crate) mod context;
pub(crate) mod events;
pub(crate) mod global;
pub(crate) mod group;
mod narrow;
pub(crate) mod push;
pub(crate) mod route;
pub(crate) mod send;
pub(crate) mod task;
pub(crate) mod usage;
pub(crate) mod value;

use crate::failure::Failure;
use clap::{CommandFactory as _, FromArgMatches as _};
use missive_log::event::Alias;
use std::ffi::OsString;

/// The whole command line.
#[derive(Debug, Clone, clap::Parser)]
#[command(
    name = "missive",
    version,
    about = "The flight recorder and control plane for agent-to-agent (A2A) communication",
    long_about = "The flight recorder and control plane for agent-to-agent (A2A) communication.

Everything that leaves or reaches this machine, and every command that changes something, is first \
an event in an append-only, hash-chained log. What every other command shows is folded from that log.",
    after_help = "Examples:
  missive demo
  missive agent add weather https://weather.example
  missive send weather 'Will it rain in Bern tomorrow?'
  missive events list --agent weather
  missive events verify",
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    /// Global flags.
    #[command(flatten)]
    pub(crate) globals: global::Globals,

    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Command {
    /// Register, inspect and look up agents
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Examples:
  missive agent add weather https://weather.example
  missive agent list"
    )]
    Agent(agent::Agent),

    /// Send a message to an agent and print the answer
    #[command(after_help = "Examples:
  missive send weather 'Will it rain in Bern tomorrow?'
  git diff | missive send reviewer --stdin --context release-7
  missive send crm 'Update these' --file-bytes contacts.csv --mime text/csv
  missive send planner --json-part '{\"budget\": 1200}' --wait --json
  missive send http://127.0.0.1:7101 'echo hi' --bearer-token-env PY_TOKEN
  missive send --group board --policy fallback 'Who is there?'

Exit codes: 0 done, 80 failed, 81 canceled, 82 the time ran out, 83 input required, 84 auth required,
85 rejected, 86 not known whether it arrived (see `missive doctor` and `missive retry`).

A file that comes back is shown by its name. Its bytes are in the task that the log keeps:
  missive task get t-1 --json | jq -r '.data.task.raw.artifacts[0].parts[0].raw' | base64 -d > FILE")]
    Send(Box<send::Send>),

    /// Send a message to an agent and print its updates as they come
    #[command(after_help = "Examples:
  missive stream writer 'A short story about the sea'
  missive stream builder 'Run the tests' --cancel-on-interrupt
  missive stream --group board 'Run the tests' --capability testing
  missive stream planner 'Plan the week' --ndjson | jq -r 'select(.kind == \"stream_event\").data.state'

The text goes to stdout as it arrives; what happens to the task is told on stderr. Ctrl-C detaches: the task
goes on at the agent, and `missive task subscribe` follows it again. A stream that breaks is resumed.

Exit codes: those of `missive send`; 86 also if the stream broke and nobody can say how the task goes on;
130 if it was interrupted.")]
    Stream(Box<send::Stream>),

    /// Find out what became of an operation that a crash or a cut connection left in doubt
    #[command(after_help = "Examples:
  missive doctor
  missive retry 0192f3a1-c6e8-7b4f-9d2e-5a6b7c8d9e0f
  missive retry 0192f3a1-c6e8-7b4f-9d2e-5a6b7c8d9e0f --resend")]
    Retry(send::Retry),

    /// Look at, wait for and cancel tasks, and get their artifacts
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Examples:
  missive task list --state working
  missive task wait t-1
  missive task get t-1"
    )]
    Task(task::Task),

    /// Begin, name, read, fork, close and export contexts
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Examples:
  missive context list
  missive context show 'Release 7'"
    )]
    Context(context::Context),

    /// Send a message to every member of a group
    #[command(after_help = "Examples:
  missive bcast board 'Is the release ready?' --timeout 2m
  missive bcast board --stdin --context release-7 --wait < question.txt
  missive bcast board 'Run the tests' --execution sequential --failure-policy stop
  missive bcast board 'Report' --stream

Exit codes: 0 everyone took it, or (with `--failure-policy continue`) at least one did and the others failed for
sure; otherwise the code of the first failure. 82 the time ran out; 86 it is not known of somebody whether the
message arrived: `missive doctor` lists who, `missive retry` asks. Failures are in the result, one row per member.")]
    Bcast(Box<collect::Bcast>),

    /// Wait until enough members of a group have come to a state
    #[command(after_help = "Examples:
  missive barrier board --context release-7 --timeout 10m
  missive barrier board --context release-7 --required 2
  missive bcast board 'Vote' --json | missive barrier board --from-bcast -
  missive barrier board --context release-7 --state completed --state input_required --local

Exit codes: 0 enough are there, 80 that cannot be any more, 81 the same since tasks were canceled, 82 the time ran
out. A member that waits for the user is neither there nor lost.")]
    Barrier(collect::Barrier),

    /// Collect what every member of a group last said in a context
    #[command(after_help = "Examples:
  missive gather board --context release-7
  missive gather board --context release-7 --json | jq -r '.data.members[] | [.agent, .text] | @tsv'
  missive gather board --context release-7 --output-dir answers

Nobody is asked: this is what the log knows. A member that has no task, or said nothing, has a row that says so.")]
    Gather(collect::Gather),

    /// Make one text of what every member of a group last said in a context
    #[command(after_help = "Examples:
  missive reduce board --context release-7
  missive reduce board --context release-7 --strategy vote
  missive reduce board --context release-7 --strategy custom --template '{{input_count}} answers: {{inputs}}'
  missive reduce board --context release-7 --reducer-agent editor
  missive reduce board --context release-7 --command 'llm -m small' --timeout 1m
  missive reduce board --context release-7 --template '{{inputs}}' --command 'sort | uniq -c' --shell
  missive reduce show 0192f3a1-c6e8-7b4f-9d2e-5a6b7c8d9e0f

What it was made of is recorded with it: `missive reduce show` proves it later.
A command or an agent gets a prompt with what everyone said and what missive would have made of it; --template says what
it gets instead.
Strategies: summarise (everything, with who said what), vote (the answer that most gave; of several the one of the
first rank), merge (every line once), rank (by weight), custom (a template).")]
    Reduce(Box<collect::Reduce>),
    /// Make groups of agents, and say who belongs to them
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Examples:
  missive group create board
  missive group add board planner --rank 1
  missive group show board"
    )]
    Group(group::Group),

    /// Say which agents of several would be chosen, and why
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Examples:
  missive route explain --group board
  missive route explain --agent ada --agent bob --policy fallback"
    )]
    Route(route::Route),

    /// Ask agents to push the updates of a task to a URL
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Examples:
  missive push create planner t-1 https://hooks.example/a2a/push --token-env HOOK_TOKEN
  missive push list planner t-1"
    )]
    Push(push::Push),

    /// Receive what agents push
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Examples:
  missive webhook run --auth-token-env HOOK_TOKEN"
    )]
    Webhook(push::Webhook),

    /// Read, follow, export and verify the log
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Examples:
  missive events list --limit 20
  missive events verify"
    )]
    Events(events::Events),

    /// The head of the log, and what to do when the log was damaged
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Examples:
  missive log head"
    )]
    Log(events::Log),

    /// The views that are folded from the log
    #[command(
        subcommand,
        arg_required_else_help = true,
        after_help = "Examples:
  missive projection list
  missive projection verify"
    )]
    Projection(events::Projection),

    /// Check configuration, state, log, views, agents and unfinished operations
    #[command(after_help = "Examples:
  missive doctor
  missive doctor --deep --json")]
    Doctor(Doctor),

    /// Take a tour in a throw-away home, with an agent inside this program
    #[command(after_help = "Examples:
  missive demo
  missive demo --team")]
    Demo(Demo),

    /// What was asked of agents lately, and what came of it
    #[command(after_help = "Examples:
  missive logs
  missive logs --failed --agent weather
  missive logs --ndjson | jq -r '[.data.operation.operation_id, .data.operation.outcome] | @tsv'

Each line is an operation: `missive events list --operation ID` shows its events.")]
    Logs(Logs),

    /// Print a manual page
    #[command(after_help = "Examples:
  missive manpage | man -l -
  missive manpage task get > missive-task-get.1")]
    Manpage(Manpage),

    /// Print a completion script
    #[command(after_help = "Examples:
  mkdir -p ~/.local/share/bash-completion/completions
  missive completion bash > ~/.local/share/bash-completion/completions/missive
  missive completion zsh > ~/.zfunc/_missive
  missive completion fish > ~/.config/fish/completions/missive.fish")]
    Completion(Completion),
}

/// `doctor`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Doctor {
    /// Verify the whole log and rebuild the views for comparison
    #[arg(long)]
    pub(crate) deep: bool,
}

/// `demo`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Demo {
    /// With a team of three agents: a group, a broadcast, a barrier, votes, and time travel
    #[arg(long)]
    pub(crate) team: bool,
}

/// `completion`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Completion {
    /// The shell to complete for
    pub(crate) shell: clap_complete::Shell,
}

/// `logs`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Logs {
    /// Only what was asked of this agent
    #[arg(long, value_name = "ALIAS", value_parser = value::alias)]
    pub(crate) agent: Option<Alias>,

    /// Only what failed, is in doubt or was given up
    #[arg(long)]
    pub(crate) failed: bool,

    /// How many of the newest, at most 1000
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
}

/// `manpage`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Manpage {
    /// The command, such as `task get`; without it the page of missive itself
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

impl Command {
    /// Its name, for the trace.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Agent(_) => "agent",
            Self::Send(_) => "send",
            Self::Stream(_) => "stream",
            Self::Retry(_) => "retry",
            Self::Task(_) => "task",
            Self::Context(_) => "context",
            Self::Bcast(_) => "bcast",
            Self::Barrier(_) => "barrier",
            Self::Gather(_) => "gather",
            Self::Reduce(_) => "reduce",
            Self::Group(_) => "group",
            Self::Route(_) => "route",
            Self::Push(_) => "push",
            Self::Webhook(_) => "webhook",
            Self::Events(_) => "events",
            Self::Log(_) => "log",
            Self::Projection(_) => "projection",
            Self::Doctor(_) => "doctor",
            Self::Logs(_) => "logs",
            Self::Manpage(_) => "manpage",
            Self::Demo(_) => "demo",
            Self::Completion(_) => "completion",
        }
    }
}

/// The clap tree, for completion and documents.
pub(crate) fn tree() -> clap::Command {
    Cli::command()
}

/// Parses the words of the process, the program's name first.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Cli, usage::NotACommand> {
    let arguments = global::hoist(arguments);
    let cli = match narrow::parse(&arguments) {
        Some(cli) => cli,
        None => whole(&arguments)?,
    };
    // clap sees a conflict of global flags only where both stand on the same side.
    if cli.globals.json && cli.globals.ndjson {
        let failure = Failure::usage("--json cannot be used together with --ndjson");
        return Err(usage::NotACommand::Wrong(
            failure.detail("conflict").hint("choose one"),
        ));
    }
    Ok(cli)
}

/// Reads the words with the whole tree, which can also explain what is wrong with them.
fn whole(arguments: &[OsString]) -> Result<Cli, usage::NotACommand> {
    let mut tree = tree();
    let (path, below) = path(&tree, arguments);
    let matches = tree.try_get_matches_from_mut(arguments);
    let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map_err(|error| usage::explain(&error, &path, &below))
}

/// The command that the words name, as far as they do: `missive agent add`; and what it is followed by.
fn path(tree: &clap::Command, arguments: &[OsString]) -> (String, Vec<String>) {
    let mut path = vec![tree.get_name()];
    let mut place = tree;
    for word in arguments.iter().skip(1).take_while(|word| *word != "--") {
        if let Some(below) = place.find_subcommand(word) {
            path.push(below.get_name());
            place = below;
        }
    }
    let below = place
        .get_subcommands()
        .map(|below| below.get_name().to_owned());
    (path.join(" "), below.collect())
}

/// The text of `docs/cli.md`: the help of every command.
#[cfg(test)]
pub(crate) fn document() -> String {
    let mut page = String::from(
        "# The command line\n\n\
         Generated from the clap tree in `cli/src/args/`; `UPDATE_DOCS=1 cargo test -p missive` \
         rewrites it.\n\n\
         The global options stand before or after every subcommand; they are shown once, with \
         `missive` itself.\n",
    );
    let mut tree = tree().term_width(100);
    tree.build();
    describe(&tree, "", &mut page);
    page
}

#[cfg(test)]
fn describe(command: &clap::Command, above: &str, page: &mut String) {
    let name = if above.is_empty() {
        command.get_name().to_owned()
    } else {
        format!("{above} {}", command.get_name())
    };
    let mut shown = command.clone();
    if !above.is_empty() {
        shown = shown.mut_args(|argument| {
            let hidden = argument.is_global_set() || argument.get_id() == "help";
            argument.hide(hidden)
        });
    }
    let help = shown.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let text = lines.join("\n");
    for piece in ["\n## ", &name, "\n\n```text\n", text.trim_end(), "\n```\n"] {
        page.push_str(piece);
    }
    for below in command.get_subcommands() {
        describe(below, &name, page);
    }
}

#[cfg(test)]
mod tests {
    use super::{Cli, Command, document, parse, tree};
    use crate::args::send::{Part, Source};

    fn parsed(line: &[&str]) -> Cli {
        let words = std::iter::once(&"missive")
            .chain(line)
            .map(Into::into)
            .collect();
        parse(words).unwrap_or_else(|error| panic!("{error:?}"))
    }

    #[test]
    fn the_tree_is_sound() {
        tree().debug_assert();
    }

    #[test]
    fn the_command_line_page_is_the_generated_one() {
        crate::docs::compare("docs/cli.md", &document());
    }

    #[test]
    fn global_flags_count_on_both_sides_of_the_subcommand() {
        let cli = parsed(&[
            "--header", "A: 1", "--json", "log", "head", "--header", "B: 2", "-q",
        ]);

        let names: Vec<&str> = cli
            .globals
            .header
            .iter()
            .map(|header| header.name.as_str())
            .collect();
        assert_eq!(names, ["A", "B"]);
        assert!(cli.globals.json && cli.globals.quiet);
    }

    #[test]
    fn parts_keep_their_order_and_a_media_type_describes_the_part_before_it() {
        let cli = parsed(&[
            "send",
            "ada",
            "--file",
            "b",
            "--mime",
            "text/csv",
            "--json-part",
            "1",
            "--part",
            "text=x",
            "--file-bytes",
            "a",
            "--mime",
            "image/png",
        ]);

        let Command::Send(send) = cli.command else {
            panic!("not a send")
        };
        let expected = [
            (Source::File("b".into()), Some("text/csv")),
            (Source::Json("1".to_owned()), None),
            (Source::Text("x".to_owned()), None),
            (Source::FileBytes("a".into()), Some("image/png")),
        ];
        let expected = expected.map(|(source, media_type)| Part {
            source,
            media_type: media_type.map(str::to_owned),
        });
        assert_eq!(send.message.parts.0, expected);
    }

    #[test]
    fn a_message_after_two_dashes_may_look_like_a_flag() {
        let cli = parsed(&["send", "ada", "--", "--header"]);

        let Command::Send(send) = cli.command else {
            panic!("not a send")
        };
        assert_eq!(
            send.message.parts.0.first().unwrap().source,
            Source::Message("--header".to_owned())
        );
    }
}
