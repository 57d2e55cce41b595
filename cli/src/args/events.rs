//! `missive events`, `missive log` and `missive projection`: reading the record.

use super::value::{alias, at, group, id, identifier, moment, operation, origin, until};
use missive_log::event::{Alias, GroupName, OperationId, Origin, TaskId, Timestamp};
use missive_projections::At;
use std::num::NonZeroU32;

/// The subcommands of `events`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Events {
    /// List events, oldest first
    #[command(after_help = "Examples:
  missive events list --limit 20
  missive events list --agent weather --type 'a2a.send.*' --since 2026-12-01T00:00:00Z
  missive events list --context c-9 --ndjson | jq .data.event.type

A request names its operation, and --operation ID lists all that belongs to it. Who was told what, when:
  missive events list --type a2a.send.requested --ndjson | jq -r '.data.event | [.timestamp, .agent,
    (.payloads[] | select(.role == \"request\") | .text // \"\" | fromjson? | (.params.message // .message)
     .parts | map(.text // \"(no text)\") | join(\" \"))] | @tsv'")]
    List(List),

    /// Show one event with its payloads
    #[command(after_help = "Examples:
  missive events show 42
  missive events show 0192f3a1c6e87b4f9d2e5a6b7c8d9e0f --json")]
    Show(Show),

    /// Follow the log as it grows
    #[command(after_help = "Examples:
  missive events tail
  missive events tail --from-sequence 1 --type 'a2a.*' --ndjson")]
    Tail(Tail),

    /// Write events out, in a form that others can verify (jsonl) or read
    #[command(after_help = "Examples:
  missive events export > log.jsonl
  missive events export --context c-9 --format jsonl > c-9.jsonl
  missive events export --format csv --since 2026-12-01T00:00:00Z > december.csv")]
    Export(Export),

    /// Recompute every digest and report the first fault exactly
    #[command(after_help = "Examples:
  missive events verify
  missive events verify --against 6f1d...:42:9ab3...
  missive events verify --against head.txt --json")]
    Verify(Verify),

    /// Sum up what happened, context by context and task by task, or watch a context happen again
    #[command(after_help = "Examples:
  missive events replay --context c-9
  missive events replay --since 2026-12-01T00:00:00Z --json | jq '.data.tasks[] | select(.state == \"failed\")'
  missive events replay --rows 1000000 --json
  missive events replay --context c-9 --watch 1
  missive events replay --context c-9 --watch 20")]
    Replay(Replay),

    /// Tell what changed between two moments, view by view
    #[command(after_help = "Examples:
  missive events diff --from 40
  missive events diff --from 2026-12-01T09:00:00Z --to 2026-12-01T10:00:00Z
  missive events diff --from 40 --limit 100000
  missive events diff --from 40 --to 60 --json | jq '.data.changes[] | select(.view == \"tasks\")'

What a message says is told by its event: `missive events show SEQ` shows it, and `missive events list` who did it.")]
    Diff(Diff),

    /// Count events by type, agent and time
    #[command(after_help = "Examples:
  missive events stats
  missive events stats --agent weather --json")]
    Stats(Filter),
}

/// Which events; all conditions must hold.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Filter {
    /// Events of this agent
    #[arg(long, value_name = "ALIAS", value_parser = alias)]
    pub(crate) agent: Option<Alias>,

    /// Events of this context
    #[arg(long, value_name = "ID|NAME", value_parser = identifier)]
    pub(crate) context: Option<String>,

    /// Events of this task
    #[arg(long, value_name = "ID", value_parser = id::<TaskId>)]
    pub(crate) task: Option<TaskId>,

    /// Events of this group, by the name that it had then
    #[arg(long, value_name = "NAME", value_parser = group)]
    pub(crate) group: Option<GroupName>,

    /// Events of this operation
    #[arg(long, value_name = "ID", value_parser = operation)]
    pub(crate) operation: Option<OperationId>,

    /// Events that came in this way
    #[arg(long, alias = "source", value_parser = origin())]
    pub(crate) origin: Option<Origin>,

    /// Events of this type: exact, or a glob such as 'a2a.send.*'
    #[arg(long = "type", value_name = "TYPE", value_parser = type_glob)]
    pub(crate) kind: Option<String>,

    /// Events from this moment on: RFC 3339, or how long ago, such as 2h
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) since: Option<Timestamp>,

    /// Events up to this moment: RFC 3339, where a time without a fraction is the whole second, or how long ago
    #[arg(long, value_name = "TIME", value_parser = until)]
    pub(crate) until: Option<Timestamp>,

    /// Events after this place in the log
    #[arg(long, value_name = "SEQ")]
    pub(crate) after_sequence: Option<u64>,

    /// Keep the newest N of them
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// `events list`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct List {
    /// Which events.
    #[command(flatten)]
    pub(crate) filter: Filter,

    /// Newest first
    #[arg(long)]
    pub(crate) reverse: bool,
}

/// `events show`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Show {
    /// The place of the event in the log, or its id
    #[arg(value_name = "SEQ|ID", value_parser = identifier)]
    pub(crate) event: String,
}

/// `events tail`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Tail {
    /// Which events; with --limit it ends after that many
    #[command(flatten)]
    pub(crate) filter: Filter,

    /// Begin at this place instead of after the newest event
    #[arg(long, value_name = "SEQ", conflicts_with = "after_sequence")]
    pub(crate) from_sequence: Option<u64>,
}

/// `events replay`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Replay {
    /// Which events.
    #[command(flatten)]
    pub(crate) filter: Filter,

    /// List at most so many contexts and so many tasks, those that began first; the others are counted
    #[arg(long, value_name = "N", default_value_t = LISTED)]
    pub(crate) rows: usize,

    /// Show the conversation of a context again as it happened, this many times as fast: 1 is its own rhythm, `max`
    /// waits for nothing. No pause takes longer than a minute
    #[arg(
        long,
        value_name = "SPEED",
        value_parser = speed,
        requires = "context",
        conflicts_with_all = ["agent", "task", "group", "operation", "origin", "kind", "since", "until", "after_sequence", "limit", "rows"]
    )]
    pub(crate) watch: Option<Speed>,
}

/// How much faster than it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speed {
    /// This many times as fast.
    Times(NonZeroU32),
    /// Without any pause.
    AtOnce,
}

/// `events diff`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Diff {
    /// The earlier moment: after the event at this place, or after the last one that is not later than this time
    #[arg(long, value_name = "SEQ|TIME", value_parser = at)]
    pub(crate) from: At,

    /// The later one; without it now
    #[arg(long, value_name = "SEQ|TIME", value_parser = at)]
    pub(crate) to: Option<At>,

    /// List at most so many things, by view and then by id; the others are counted
    #[arg(long, value_name = "N", default_value_t = LISTED)]
    pub(crate) limit: usize,
}

/// How many things are listed where nobody says how many: some ten megabytes.
const LISTED: usize = 10_000;

/// `events export`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Export {
    /// Which events.
    #[command(flatten)]
    pub(crate) filter: Filter,

    /// What to write
    #[arg(long, value_enum, default_value = "jsonl")]
    pub(crate) format: ExportFormat,
}

/// The forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExportFormat {
    /// Evidence: every record with its links, verifiable to the head, also when filtered
    Jsonl,
    /// One JSON document, for tools
    Json,
    /// A table, for spreadsheets
    Csv,
    /// `CloudEvents` 1.0, one a line, for pipelines
    #[value(name = "cloudevents")]
    CloudEvents,
}

/// `events verify`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Verify {
    /// Compare with a head that was kept elsewhere: a file that holds it, an export, or the head itself.
    /// A head that is not in the log is reported (79) and changes nothing: it may be the wrong one. Damage
    /// that the log itself shows is noted, and nothing more is recorded until `missive log re-anchor`
    #[arg(long, value_name = "FILE|LOG:SEQ:LINK")]
    pub(crate) against: Option<String>,
}

/// The subcommands of `log`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Log {
    /// Print the line to keep elsewhere: with it, `events verify --against` shows that nothing changed
    #[command(after_help = "Examples:
  missive log head
  missive log head > /mnt/elsewhere/head.txt")]
    Head,

    /// Accept a log that lost or changed events, for good and on the record. The places of what was lost
    /// stay empty for ever, and every later verification names them: look for a backup first
    #[command(
        name = "re-anchor",
        after_help = "Examples:
  missive log re-anchor --reason 'disk failure on 3 December, ticket 4711'"
    )]
    ReAnchor(ReAnchor),
}

/// `log re-anchor`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReAnchor {
    /// Why; recorded and reported for ever
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
}

/// The subcommands of `projection`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Projection {
    /// List the views with their versions and positions
    #[command(after_help = "Examples:
  missive projection list")]
    List,

    /// Rebuild the views in memory and compare them with the stored ones
    #[command(after_help = "Examples:
  missive projection verify
  missive projection verify --json")]
    Verify,

    /// Drop the stored views and fold them from the log again
    #[command(after_help = "Examples:
  missive projection rebuild")]
    Rebuild,
}

fn speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::AtOnce);
    }
    let number = text.strip_suffix('x').unwrap_or(text).parse();
    number
        .map(Speed::Times)
        .map_err(|_| "a speed is a whole number from 1 on, such as 1 or 20x, or max".to_owned())
}

fn type_glob(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| {
        byte.is_ascii_lowercase()
            || byte.is_ascii_digit()
            || matches!(byte, b'.' | b'_' | b'*' | b'?')
    };
    if !text.is_empty() && text.len() <= 100 && text.bytes().all(allowed) {
        return Ok(text.to_owned());
    }
    Err(
        "an event type is a dotted name such as a2a.send.requested, or a glob such as 'a2a.send.*'"
            .to_owned(),
    )
}
