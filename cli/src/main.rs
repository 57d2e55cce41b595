//! The command line of missive: the edges of the house.
//!
//! Arguments, environment, files and terminals enter here and nowhere else; nothing is decided here.
//! Nothing is started, opened or created before a command needs it, so that a run that only asks
//! for the version costs no more than any other process.

mod args;
mod auth;
mod bug;
mod command;
mod config;
mod demo;
#[cfg(test)]
mod docs;
mod environment;
#[cfg(test)]
mod exit;
mod failure;
mod file;
mod gateway;
mod input;
mod interrupt;
mod keyring;
mod keys;
mod open;
mod render;
mod seams;
mod state;
mod suggest;
mod trace;

use args::usage::{NotACommand, wants_machine_output};
use failure::Failure;
use missive_commands::Exit;
use render::output::{Style, to_stderr};
use render::{Mode, Output};
use std::ffi::OsString;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // What is created is its owner's alone, also the files that the store makes by itself.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Errors of the arguments themselves must already have the form that was asked for.
    let mode = if wants_machine_output(&arguments) {
        Mode::Json
    } else {
        Mode::Human
    };
    bug::guard(mode, move || run(arguments, mode)).into()
}

fn run(arguments: Vec<OsString>, mode: Mode) -> Exit {
    let colourless = arguments.iter().any(|argument| argument == "--no-color");
    let cli = match args::parse(arguments) {
        Ok(cli) => cli,
        Err(outcome) => return answer(outcome, mode, colourless),
    };
    let style = Style::of(&cli.globals, |name| std::env::var_os(name));
    let mut output = Output::new(style);
    let ended = trace::start(&cli.globals, &environment::Environment::of_process())
        .and_then(|()| command::run(&cli, &mut output));
    // What was printed before a failure is still a result.
    let printed = output.finish_blocking();
    match ended.and_then(|code| printed.map(|()| code)) {
        Ok(code) => code,
        Err(failure) => {
            let (style, next) = (output.style(), output.next_sequence());
            to_stderr(&render::failure(
                &failure,
                style.mode,
                next,
                style.colour_errors,
            ));
            failure.exit()
        }
    }
}

/// Help, the version, or a usage error.
fn answer(outcome: NotACommand, mode: Mode, colourless: bool) -> Exit {
    let globals = args::global::Globals {
        no_color: colourless,
        ..Default::default()
    };
    let style = Style::of(&globals, |name| std::env::var_os(name));
    let failure = match outcome {
        NotACommand::Wrong(failure) => failure,
        NotACommand::Asked(help) => {
            let text = if style.colour {
                help.ansi().to_string()
            } else {
                help.to_string()
            };
            match printed(text, style) {
                Ok(()) => return Exit::Done,
                Err(failure) => failure,
            }
        }
    };
    to_stderr(&render::failure(&failure, mode, 0, style.colour_errors));
    failure.exit()
}

fn printed(text: String, style: Style) -> Result<(), Failure> {
    let mut output = Output::new(style);
    output.hold();
    output.bytes_blocking(text.into_bytes())?;
    output.finish_blocking()
}
