//! `missive send` and `missive retry`.
//!
//! The parts of a message keep the order in which they were typed, and `--mime` describes the part
//! that stands before it.

use super::route::Needs;
use super::value::{Pair, Refused, Target, binding, group, id, identifier, media_type, operation};
use clap::{Arg, ArgAction, ArgMatches};
use missive_commands::wire::version::Binding;
use missive_log::event::{GroupName, MessageId, OperationId, TaskId};
use std::path::PathBuf;

/// A message and where it goes, for every command that sends one.
#[expect(clippy::struct_field_names, reason = "the field is called as its flag")]
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Message {
    /// Whom it is for.
    #[command(flatten)]
    pub(crate) whom: Whom,

    /// What is sent.
    #[command(flatten)]
    pub(crate) parts: Parts,

    /// How a member is chosen.
    #[command(flatten)]
    pub(crate) needs: Needs,

    /// Metadata of the message (repeat)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) metadata: Vec<Pair>,

    /// Continue in this context; an unknown id starts a new context with that id
    #[arg(long, value_name = "ID|NAME", value_parser = identifier)]
    pub(crate) context: Option<String>,

    /// Continue this task
    #[arg(long, value_name = "ID", value_parser = id::<TaskId>, conflicts_with = "group")]
    pub(crate) task: Option<TaskId>,

    /// Point the agent to an earlier task (repeat)
    #[arg(long, value_name = "ID", value_parser = id::<TaskId>)]
    pub(crate) reference_task: Vec<TaskId>,

    /// A media type that the answer may have (repeat)
    #[arg(long, value_name = "MIME", value_parser = media_type)]
    pub(crate) accepted_output_mode: Vec<String>,

    /// How many messages of the task's history the answer should hold
    #[arg(long, value_name = "N")]
    pub(crate) history_length: Option<u32>,

    /// Use this message id instead of a new one
    #[arg(long, value_name = "ID", value_parser = id::<MessageId>)]
    pub(crate) message_id: Option<MessageId>,

    /// Use this binding
    #[arg(long, value_parser = binding())]
    pub(crate) binding: Option<Binding>,
}

/// Whom a message is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Whom {
    /// An agent.
    Agent(Target),
    /// A member of a group. Then the only positional is the message.
    Group(GroupName),
}

impl clap::Args for Whom {
    fn augment_args(command: clap::Command) -> clap::Command {
        command
            .arg(
                Arg::new("agent")
                    .value_name("AGENT")
                    .required_unless_present("group")
                    .help("A registered alias, or a URL for one-off use; with --group this is the message"),
            )
            .arg(
                Arg::new("group")
                    .long("group")
                    .value_name("GROUP")
                    .value_parser(group)
                    .help("Send it to a member of this group, chosen by --policy or as the group says"),
            )
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Whom {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        if let Some(group) = matches.get_one::<GroupName>("group") {
            if matches.contains_id("message") {
                return Err(wrong("with --group the only positional is the message"));
            }
            return Ok(Self::Group(group.clone()));
        }
        let typed = matches.get_one::<String>("agent");
        let typed = typed.map(String::as_str).unwrap_or_default();
        typed.parse().map(Self::Agent).map_err(|why: Refused| {
            let typed: String = typed.chars().take(80).collect();
            wrong(&format!("<AGENT> does not take `{typed}`: {why}"))
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// `send`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Send {
    /// The message.
    #[command(flatten)]
    pub(crate) message: Message,

    /// Take the task as it is right after it started, without waiting for its end
    #[arg(long, conflicts_with = "wait")]
    pub(crate) return_immediately: bool,

    /// Ask for the task until it ends, or needs input or authentication
    #[arg(long)]
    pub(crate) wait: bool,
}

/// `stream`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Stream {
    /// The message.
    #[command(flatten)]
    pub(crate) message: Message,

    /// Ask for a stream although the agent's card offers none
    #[arg(long)]
    pub(crate) force: bool,

    /// Cancel the task on Ctrl-C, instead of leaving it at work
    #[arg(long)]
    pub(crate) cancel_on_interrupt: bool,
}

/// `retry`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Retry {
    /// The operation that `doctor` lists as in doubt
    #[arg(value_parser = operation)]
    pub(crate) operation: OperationId,

    /// Send again with the same message id if the agent cannot say whether it has the message
    #[arg(long)]
    pub(crate) resend: bool,
}

/// One part of a message, before its bytes were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where its content comes from.
    pub(crate) source: Source,
    /// The media type that `--mime` gave it.
    pub(crate) media_type: Option<String>,
}

/// Where the content of a part comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// The positional message.
    Message(String),
    /// `--part text=`.
    Text(String),
    /// `--stdin`: all of standard input, as text.
    Stdin,
    /// `--file`: a reference to a local file.
    File(PathBuf),
    /// `--file-bytes`: the content of a local file.
    FileBytes(PathBuf),
    /// `--json-part`: the JSON text exactly as it was typed.
    Json(String),
}

/// The parts in the order in which they were typed; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts(pub(crate) Vec<Part>);

impl clap::Args for Parts {
    fn augment_args(command: clap::Command) -> clap::Command {
        let many = |id: &'static str| Arg::new(id).long(id).action(ArgAction::Append);
        command
            .arg(
                Arg::new("message")
                    .value_name("MESSAGE")
                    .help("The message, as text"),
            )
            .arg(
                Arg::new("stdin")
                    .long("stdin")
                    .action(ArgAction::SetTrue)
                    .help("Read a text part from standard input"),
            )
            .arg(
                many("part")
                    .value_name("text=TEXT")
                    .value_parser(text_part)
                    .help("A text part (repeat)"),
            )
            .arg(
                many("file")
                    .value_name("PATH")
                    .value_parser(clap::value_parser!(PathBuf))
                    .help("A part that holds the file:// address of a local file, not its content: only an agent on this machine can read it (repeat)"),
            )
            .arg(
                many("file-bytes")
                    .value_name("PATH")
                    .value_parser(clap::value_parser!(PathBuf))
                    .help("A part that holds the bytes of a local file (repeat)"),
            )
            .arg(
                many("json-part")
                    .value_name("JSON")
                    .help("A part that holds this JSON value (repeat)"),
            )
            .arg(
                many("mime")
                    .value_name("TYPE")
                    .value_parser(media_type)
                    .help("The media type of the part before it (repeat)"),
            )
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Parts {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut found: Vec<(usize, Source)> = Vec::new();
        found.extend(
            typed::<String>(matches, "message").map(|(at, text)| (at, Source::Message(text))),
        );
        // With --group the first positional is the message, and there is no second one.
        if of_group(matches) {
            found.extend(
                typed::<String>(matches, "agent").map(|(at, text)| (at, Source::Message(text))),
            );
        }
        found.extend(typed::<String>(matches, "part").map(|(at, text)| (at, Source::Text(text))));
        found.extend(typed::<PathBuf>(matches, "file").map(|(at, path)| (at, Source::File(path))));
        found.extend(
            typed::<PathBuf>(matches, "file-bytes").map(|(at, path)| (at, Source::FileBytes(path))),
        );
        found.extend(
            typed::<String>(matches, "json-part").map(|(at, json)| (at, Source::Json(json))),
        );
        if matches.get_flag("stdin") {
            let at = matches.index_of("stdin").unwrap_or(usize::MAX);
            found.push((at, Source::Stdin));
        }
        found.sort_by_key(|(at, _)| *at);
        let mut parts: Vec<(usize, Part)> = found
            .into_iter()
            .map(|(at, source)| {
                (
                    at,
                    Part {
                        source,
                        media_type: None,
                    },
                )
            })
            .collect();
        for (at, media_type) in typed::<String>(matches, "mime") {
            match parts.iter_mut().rev().find(|(place, _)| *place < at) {
                Some((_, part)) if part.media_type.is_none() => part.media_type = Some(media_type),
                Some(_) => return Err(wrong("there are two --mime for one part")),
                None => return Err(wrong("--mime stands before the part that it describes")),
            }
        }
        if parts.is_empty() {
            return Err(wrong(
                "there is nothing to send: no message, no --stdin, no part, no file",
            ));
        }
        let is_empty =
            |part: &Part| matches!(&part.source, Source::Message(text) if text.is_empty());
        if parts.iter().all(|(_, part)| is_empty(part)) {
            return Err(wrong("there is nothing to send: the message is empty"));
        }
        Ok(Self(parts.into_iter().map(|(_, part)| part).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The values of one flag, each with its place on the command line.
fn typed<T: Clone + std::marker::Send + Sync + 'static>(
    matches: &ArgMatches,
    flag: &str,
) -> impl Iterator<Item = (usize, T)> {
    let places = matches.indices_of(flag).into_iter().flatten();
    let values = matches.get_many::<T>(flag).into_iter().flatten().cloned();
    places.zip(values).collect::<Vec<_>>().into_iter()
}

/// Whether a command that takes an agent was given a group instead.
fn of_group(matches: &ArgMatches) -> bool {
    let given = |id| matches.try_contains_id(id).unwrap_or(false);
    given("group") && given("agent")
}

fn wrong(why: &str) -> clap::Error {
    clap::Error::raw(clap::error::ErrorKind::ValueValidation, why)
}

fn text_part(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some(("text", value)) => Ok(value.to_owned()),
        Some(_) | None => {
            Err("a part is written text=TEXT; files and JSON have their own flags".to_owned())
        }
    }
}
