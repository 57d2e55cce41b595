//! What every subcommand does: arguments to Command, Command to Report.

mod acting;
mod agent;
mod beside;
mod collect;
pub(crate) mod completion;
mod context;
mod doctor;
mod events;
mod group;
mod log;
mod logs;
mod manpage;
mod moment;
mod profile;
mod projection;
mod push;
mod retry;
mod route;
mod send;
mod stream;
mod task;
mod to_group;
mod webhook;

use crate::args::events::{Events, Replay};
use crate::args::global::Globals;
use crate::args::task::Task;
use crate::args::{Cli, Command};
use crate::config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::open::{Home, Session};
use crate::render::Output;
use crate::seams::{self, Seams};
use missive_commands::Exit;
use missive_commands::config::Config;
use missive_log::event::facts::TraceParent;
use std::path::PathBuf;
use tracing::Instrument as _;

/// What a command works with, whatever it is.
#[derive(Debug)]
pub(crate) struct Setting<'a> {
    /// The global flags.
    pub(crate) globals: &'a Globals,
    /// The configuration.
    pub(crate) config: Config,
    /// The file that said so, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// The name of the profile.
    pub(crate) profile: String,
    /// Where the profile is.
    pub(crate) home: Home,
    /// The W3C trace that this run is part of.
    pub(crate) trace: Option<TraceParent>,
}

/// Runs one command to its end.
pub(crate) fn run(cli: &Cli, output: &mut Output) -> Result<Exit, Failure> {
    moment::check(cli)?;
    if let Command::Completion(completion) = &cli.command {
        output.bytes_blocking(completion::script(completion.shell))?;
        return Ok(Exit::Done);
    }
    if let Command::Manpage(wanted) = &cli.command {
        output.bytes_blocking(manpage::page(&wanted.command)?)?;
        return Ok(Exit::Done);
    }
    if let Command::Demo(demo) = &cli.command {
        return crate::demo::run(demo.team, output);
    }
    let environment = Environment::of_process();
    let seams = Seams::of(&environment)?;
    if seams.are_open() {
        output.warn(seams::WARNING);
    }
    let loaded = config::load(&cli.globals, &environment)?;
    output.configure(loaded.config.output);
    tracing::debug!(file = ?loaded.file, "configuration read");
    let setting = Setting {
        globals: &cli.globals,
        home: Home::of(&environment, &loaded.profile, seams)?,
        config: loaded.config,
        file: loaded.file,
        profile: loaded.profile,
        trace: trace(&environment, output),
    };
    if answers_at_once(&cli.command) {
        output.hold();
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::io("the program cannot wait for events", &error))?;
    profile::check(cli, &setting)?;
    let is_new = profile::is_new(&setting);
    let span = crate::trace::span(cli.command.name());
    let ended = runtime.block_on(dispatch(&cli.command, &setting, output).instrument(span));
    if is_new && !profile::is_new(&setting) {
        output.note(&format!("note: profile `{}` is new", setting.profile));
    }
    let exit = ended.map_err(|failure| moment::told(failure, &cli.globals))?;
    Ok(if cli.globals.strict {
        judged(exit, output)
    } else {
        exit
    })
}

/// How a command ends under `--strict`: what is well is not, if an agent broke A2A on the way.
fn judged(exit: Exit, output: &Output) -> Exit {
    let violations = output.violations();
    if exit != Exit::Done || violations == 0 {
        return exit;
    }
    let times = if violations == 1 {
        "once".to_owned()
    } else {
        format!("{violations} times")
    };
    output.warn(&format!(
        "the agent broke A2A {times}, which --strict does not pass over"
    ));
    Exit::Protocol
}

/// Whether a command prints one result, and nothing before it is done.
fn answers_at_once(command: &Command) -> bool {
    match command {
        Command::Agent(_)
        | Command::Context(_)
        | Command::Gather(_)
        | Command::Group(_)
        | Command::Route(_)
        | Command::Push(_)
        | Command::Log(_) => true,
        Command::Task(command) => !matches!(command, Task::Subscribe(_)),
        Command::Events(command) => matches!(
            command,
            Events::List(_)
                | Events::Show(_)
                | Events::Stats(_)
                | Events::Diff(_)
                | Events::Replay(Replay { watch: None, .. })
        ),
        Command::Send(_)
        | Command::Bcast(_)
        | Command::Barrier(_)
        | Command::Reduce(_)
        | Command::Webhook(_)
        | Command::Stream(_)
        | Command::Retry(_)
        | Command::Projection(_)
        | Command::Doctor(_)
        | Command::Demo(_)
        | Command::Logs(_)
        | Command::Manpage(_)
        | Command::Completion(_) => false,
    }
}

/// The trace that the environment names. A broken one is no reason not to work.
fn trace(environment: &Environment<'_>, output: &Output) -> Option<TraceParent> {
    let text = environment.get("TRACEPARENT")?;
    let trace = text.to_str().and_then(|text| TraceParent::new(text).ok());
    if trace.is_none() {
        output.note("note: the variable TRACEPARENT holds no W3C traceparent and is passed over");
    }
    trace
}

async fn dispatch(
    command: &Command,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match command {
        Command::Events(command) => events::run(command, setting, output).await,
        Command::Log(command) => log::run(command, setting, output).await,
        Command::Agent(command) => agent::run(command, setting, output).await,
        Command::Send(command) => send::run(command, setting, output).await,
        Command::Stream(command) => stream::run(command, setting, output).await,
        Command::Retry(command) => retry::run(command, setting, output).await,
        Command::Projection(command) => projection::run(command, setting, output).await,
        Command::Logs(command) => logs::run(command, setting, output).await,
        Command::Doctor(command) => doctor::run(command, setting, output).await,
        Command::Context(command) => context::run(command, setting, output).await,
        Command::Group(command) => group::run(command, setting, output).await,
        Command::Route(command) => route::run(command, setting, output).await,
        Command::Task(command) => task::run(command, setting, output).await,
        Command::Bcast(command) => collect::bcast::run(command, setting, output).await,
        Command::Barrier(command) => collect::barrier::run(command, setting, output).await,
        Command::Gather(command) => collect::gather::run(command, setting, output).await,
        Command::Reduce(command) => collect::reduce::run(command, setting, output).await,
        Command::Push(command) => push::run(command, setting, output).await,
        Command::Webhook(command) => webhook::run(command, setting, output).await,
        Command::Demo(_) | Command::Completion(_) | Command::Manpage(_) => Err(Failure::new(
            Exit::Internal,
            "this command needs no log and was handed one",
        )),
    }
}

/// A stored time without its fraction.
fn seconds(at: &str) -> String {
    let whole = at.split_once('.').map_or(at, |(whole, _)| whole);
    format!("{whole}Z")
}

/// Says what the user must know before anything else is read from a log.
fn warn_of_fault(session: &Session, output: &Output) {
    if let Some(fault) = session.fault() {
        output.warn(&format!("the log does not verify: {fault}"));
    }
}

/// What is asked of a log that is not there.
fn no_log() -> Failure {
    Failure::new(Exit::NotFound, "there is no log yet")
        .detail("log")
        .hint("the first command that records something begins it, such as `missive agent add`")
}
