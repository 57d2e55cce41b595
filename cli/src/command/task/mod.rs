//! `missive task`: what agents work at, as the log knows it or as they say now.

pub(super) mod artifact;
mod cancel;
mod get;
mod list;
mod shown;
mod subscribe;
mod wait;

use super::{Setting, acting, no_log};
use crate::args::task::Task as Command;
use crate::args::value;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::Output;
use acting::{OnLog, Told};
use missive_commands::task::whose;
use missive_commands::{Exit, OnTask, Target};
use missive_log::event::TaskId;

pub(super) async fn run(
    command: &Command,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match command {
        Command::Get(command) => get::run(command, setting, output).await,
        Command::List(command) => list::run(command, setting, output).await,
        Command::Wait(command) => wait::run(command, setting, output).await,
        Command::Subscribe(command) => subscribe::run(command, setting, output).await,
        Command::Cancel(command) => cancel::run(command, setting, output).await,
        Command::Artifact(command) => artifact::run(command, setting, output).await,
    }
}

/// The log that is there.
async fn session(setting: &Setting<'_>) -> Result<Session, Failure> {
    setting.home.read().await?.ok_or_else(no_log)
}

/// The log for a question to an agent: also one that is about to begin, if the agent is named.
async fn session_for(
    agent: Option<&value::Target>,
    setting: &Setting<'_>,
) -> Result<Session, Failure> {
    match agent {
        Some(agent) => acting::session_for(&acting::target(agent), setting).await,
        None => session(setting).await,
    }
}

/// Which task of whom, and the acting room that can ask them.
fn asked(
    task: &TaskId,
    agent: Option<&value::Target>,
    setting: &Setting<'_>,
    session: &Session,
) -> Result<(OnTask, OnLog), Failure> {
    let views = session
        .views()
        .map_err(|error| session.views_failure(&error))?;
    let agent = agent.map(acting::target);
    let target = whose(&views, task, agent.as_ref());
    let target = target.map_err(|error| Told::of(setting).failure(error))?;
    let missive = acting::for_requests(setting, session, Some(&target))?;
    let task = task.clone();
    Ok((OnTask { target, task }, missive))
}

/// The agent as it has to be named again: an address is not kept.
fn address(target: &Target) -> Option<&str> {
    match target {
        Target::Alias(_) => None,
        Target::Url(url) => Some(url),
    }
}
