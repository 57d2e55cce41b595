//! From clap's errors to ours: one message, one hint, exit code 64.
//!
//! Values are repeated only where they cannot be secrets. Help and version are not errors: they go
//! to stdout and end with 0.

use crate::failure::Failure;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// What parsing came to, if not to a command.
#[derive(Debug)]
pub(crate) enum NotACommand {
    /// The user asked for help or the version: print it on stdout.
    Asked(clap::builder::StyledStr),
    /// Words that are not understood.
    Wrong(Failure),
}

/// Flags whose values are never repeated in an error.
const SECRETIVE: [&str; 3] = ["--header", "--bearer-token-env", "--service-param"];

/// Sorts clap's outcomes into help and usage errors. `path` is the command that was meant, `below` are its
/// subcommands.
pub(crate) fn explain(error: &clap::Error, path: &str, below: &[String]) -> NotACommand {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        return NotACommand::Asked(error.render());
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return NotACommand::Wrong(
            Failure::usage("a command is missing")
                .detail("missing_command")
                .hint(format!("commands are {}", below.join(", ")))
                .hint(format!("`{path} --help` explains them{}", tour(path))),
        );
    }
    let failure = Failure::usage(message(error)).detail(detail(error.kind()));
    let tips = tips(error);
    NotACommand::Wrong(if tips.is_empty() {
        failure.hint(format!("see `{path} --help`"))
    } else {
        tips.into_iter().fold(failure, Failure::hint)
    })
}

/// Whether the user asked for machine output, found out without parsing, because parsing failed.
pub(crate) fn wants_machine_output(arguments: &[OsString]) -> bool {
    arguments
        .iter()
        .skip(1)
        .take_while(|argument| *argument != "--")
        .any(|argument| argument == "--json" || argument == "--ndjson")
}

fn tour(path: &str) -> &'static str {
    if path == "missive" {
        "; `missive demo` shows them at work"
    } else {
        ""
    }
}

fn detail(kind: ErrorKind) -> &'static str {
    if kind == ErrorKind::UnknownArgument {
        "unknown_argument"
    } else if kind == ErrorKind::InvalidSubcommand {
        "unknown_command"
    } else if kind == ErrorKind::MissingRequiredArgument || kind == ErrorKind::MissingSubcommand {
        "missing_argument"
    } else if kind == ErrorKind::ArgumentConflict {
        "conflict"
    } else {
        "invalid_value"
    }
}

fn message(error: &clap::Error) -> String {
    let flag = text(error, ContextKind::InvalidArg).map(|flag| flag.join(", "));
    let flag = flag.as_deref().unwrap_or_default();
    let value = text(error, ContextKind::InvalidValue)
        .unwrap_or_default()
        .join(" ");
    let kind = error.kind();
    if kind == ErrorKind::UnknownArgument {
        format!("`{}` is not an argument here", shown(flag))
    } else if kind == ErrorKind::InvalidSubcommand {
        let word = text(error, ContextKind::InvalidSubcommand)
            .unwrap_or_default()
            .join(" ");
        format!("there is no command `{}`", shown(&word))
    } else if kind == ErrorKind::MissingRequiredArgument {
        format!("{flag} is missing")
    } else if kind == ErrorKind::ArgumentConflict {
        let prior = text(error, ContextKind::PriorArg)
            .unwrap_or_default()
            .join(", ");
        if prior.is_empty() || prior == flag {
            format!("{flag} stands there more than once")
        } else if flag.is_empty() {
            // A command below: clap does not name it.
            format!("{prior} cannot stand in front of a further command")
        } else {
            format!("{flag} cannot be used together with {prior}")
        }
    } else if kind == ErrorKind::InvalidValue && value.is_empty() {
        format!("{flag} needs a value")
    } else if kind == ErrorKind::InvalidUtf8 {
        "an argument is not UTF-8".to_owned()
    } else if flag.is_empty() {
        first_line(error)
    } else {
        let source = std::error::Error::source(error).map(ToString::to_string);
        let why = source.map(|why| format!(": {why}")).unwrap_or_default();
        if SECRETIVE.iter().any(|name| flag.starts_with(name)) {
            format!("{flag} has an invalid value{why}")
        } else {
            format!("{flag} does not take `{}`{why}", shown(&value))
        }
    }
}

/// At most 80 characters of what the user typed. Control characters are escaped when it is shown.
fn shown(typed: &str) -> String {
    match typed.char_indices().nth(80) {
        Some((end, _)) => format!("{}...", typed.get(..end).unwrap_or_default()),
        None => typed.to_owned(),
    }
}

fn tips(error: &clap::Error) -> Vec<String> {
    let mut tips = Vec::new();
    let suggestions = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ];
    for kind in suggestions {
        if let Some(near) = text(error, kind).and_then(|found| found.into_iter().next()) {
            tips.push(format!("did you mean `{near}`?"));
        }
    }
    let valid = text(error, ContextKind::ValidValue).unwrap_or_default();
    if tips.is_empty() && !valid.is_empty() {
        tips.push(format!("valid values are {}", valid.join(", ")));
    }
    tips
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<Vec<String>> {
    match error.get(kind)? {
        ContextValue::String(one) => Some(vec![one.clone()]),
        ContextValue::Strings(many) => Some(many.clone()),
        ContextValue::StyledStr(styled) => Some(vec![styled.to_string()]),
        ContextValue::StyledStrs(styled) => Some(styled.iter().map(ToString::to_string).collect()),
        ContextValue::Number(number) => Some(vec![number.to_string()]),
        // The list is open: what else clap may tell is not text.
        ContextValue::None | ContextValue::Bool(_) | _ => None,
    }
}

fn first_line(error: &clap::Error) -> String {
    let rendered = error.render().to_string();
    let line = rendered.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}
