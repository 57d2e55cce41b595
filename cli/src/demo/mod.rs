//! The tour: real commands of this program, one after the other, in a home that is thrown away.
//!
//! Each command is a process of its own, as it would be for a person: what the tour shows is what they
//! get. The last step changes one stored letter behind missive's back, and the log tells which event.

mod agent;
mod team;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::render::{Kind, Mode, Output, Page, Report};
use crate::state::Folders;
use agent::{Character, LoopbackAgent};
use missive_commands::Exit;
use missive_log::backend::fjall::{LogFolder, forge};
use missive_log::event::Seq;
use serde::Serialize;
use std::path::Path;
use std::process::{Command, Stdio};

/// One step of the tour, as it went.
#[derive(Serialize)]
struct Step {
    command: String,
    exit_code: i32,
    output: String,
}

/// The whole tour, for machines.
#[derive(Serialize)]
struct Tour {
    steps: Vec<Step>,
}

impl Report for Tour {
    fn kind(&self) -> Kind {
        Kind::Demo
    }

    fn human(&self, _page: &mut Page) {
        // People saw each step as it went.
    }
}

/// What is said before a step, and the step.
const STEPS: &[(&str, &[&str])] = &[
    (
        "Register an agent. Nothing is requested yet.",
        &["agent", "add", "echo", "URL"],
    ),
    (
        "Look at it: its card is fetched, and an interface chosen.",
        &["agent", "inspect", "echo"],
    ),
    ("Send it a message.", &["send", "echo", "echo hello, log"]),
    (
        "Give it a task.",
        &["send", "echo", "report on the weather"],
    ),
    (
        "A task that needs an answer ends with a code of its own.",
        &["send", "echo", "ask"],
    ),
    ("All of that is in the log.", &["events", "list"]),
    ("The head is what to keep elsewhere.", &["log", "head"]),
    ("Recompute everything.", &["events", "verify"]),
];

/// The event that is changed at the end.
const CHANGED: Seq = Seq(5);

/// Runs the tour, of one agent or of a team.
pub(crate) fn run(is_team: bool, output: &mut Output) -> Result<Exit, Failure> {
    let home = tempfile::Builder::new()
        .prefix("missive-demo-")
        .tempdir()
        .map_err(|error| not_set_up(&error))?;
    let mut tour = Tour { steps: Vec::new() };
    if is_team {
        team::run(output, &mut tour, home.path())?;
    } else {
        alone(output, &mut tour, home.path())?;
    }
    if output.style().mode != Mode::Human {
        output.report_blocking(&tour)?;
    }
    Ok(Exit::Done)
}

fn not_set_up(error: &std::io::Error) -> Failure {
    Failure::io("the tour cannot be set up", error)
}

fn alone(output: &mut Output, tour: &mut Tour, home: &Path) -> Result<(), Failure> {
    let agent = LoopbackAgent::start(Character::default()).map_err(|error| not_set_up(&error))?;
    for (about, arguments) in STEPS {
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| {
                if *argument == "URL" {
                    agent.url()
                } else {
                    (*argument).to_owned()
                }
            })
            .collect();
        step(output, tour, home, about, &arguments)?;
    }
    change_a_letter(home)?;
    let about = format!(
        "Somebody changes one byte of event {CHANGED} on disk, and mends the store's own checksums. Again:"
    );
    let verify = ["events".to_owned(), "verify".to_owned()];
    step(output, tour, home, &about, &verify)?;
    let noticed = tour.steps.last().is_some_and(|step| step.exit_code == 79);
    if !noticed {
        return Err(Failure::new(
            Exit::Internal,
            "the change of a stored letter went unnoticed",
        ));
    }
    Ok(())
}

fn step(
    output: &mut Output,
    tour: &mut Tour,
    home: &Path,
    about: &str,
    arguments: &[String],
) -> Result<(), Failure> {
    let words: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
    let command = format!("missive {}", words.join(" "));
    let ran = ran(home, arguments)
        .map_err(|error| Failure::io("a step of the tour cannot be run", &error))?;
    let code = ran.status.code().unwrap_or(-1);
    let text = [ran.stdout, ran.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    if output.style().mode == Mode::Human {
        let ended = if code == 0 {
            String::new()
        } else {
            format!("(exit {code})\n")
        };
        let about = match about {
            "" => String::new(),
            about => format!("# {about}\n"),
        };
        output.bytes_blocking(format!("{about}$ {command}\n{text}{ended}\n").into_bytes())?;
    }
    tour.steps.push(Step {
        command,
        exit_code: code,
        output: text,
    });
    Ok(())
}

/// One command of this program, with nothing of the caller's environment but its locale.
fn ran(home: &Path, arguments: &[String]) -> std::io::Result<std::process::Output> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(arguments)
        .env_clear()
        .env("MISSIVE_HOME", home)
        .stdin(Stdio::null());
    for name in ["LANG", "LC_ALL", "TZ"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.output()
}

/// An argument as a person would type it.
fn quoted(word: &str) -> String {
    if word.contains(' ') {
        format!("\"{word}\"")
    } else {
        word.to_owned()
    }
}

fn change_a_letter(home: &Path) -> Result<(), Failure> {
    let lookup = |name: &str| (name == "MISSIVE_HOME").then(|| home.as_os_str().to_owned());
    let environment = Environment::from_lookup(&lookup);
    let profile = Folders::of(&environment)?.profile("default");
    let folder = LogFolder::new(profile.log(), profile.witness());
    match forge::change_a_letter(&folder, CHANGED) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new(
            Exit::Internal,
            "the tour's log is shorter than planned",
        )),
        Err(error) => Err(Failure::from_error(Exit::Io, &error)),
    }
}
