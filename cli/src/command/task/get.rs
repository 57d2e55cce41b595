//! `missive task get`: one task.

use super::super::acting::{self, Told, Wish};
use super::super::{Setting, moment, warn_of_fault};
use super::shown::Shown;
use crate::args::task::Get;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output};
use missive_commands::Exit;
use missive_commands::report::task::TaskReport;
use missive_commands::task::{find, view};
use missive_projections::Scope;

pub(super) async fn run(
    command: &Get,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if command.remote {
        let session = super::session_for(command.agent.as_ref(), setting).await?;
        return session
            .used(async |session| remote(command, setting, session, output).await)
            .await;
    }
    let session = super::session(setting).await?;
    session
        .used(async |session| local(command, setting, session, output).await)
        .await
}

async fn local(
    command: &Get,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let told = Told::of(setting);
    let scope = Scope::Task(command.task.clone());
    let views = moment::views(setting, session, &scope, output)?;
    let agent = command.agent.as_ref().map(acting::target);
    let task = find(&views, &command.task, agent.as_ref());
    let task = task.map_err(|error| told.failure(error))?;
    let shown = view(&**session.log(), &views, &task, command.history_length).await;
    let task = shown.map_err(|error| told.failure(error))?;
    let report = TaskReport {
        task,
        operation_id: None,
    };
    moment::tell(setting, session, output).await;
    output.report(&Shown(Kind::TaskGet, report)).await?;
    Ok(Exit::Done)
}

async fn remote(
    command: &Get,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let (on, missive) = super::asked(&command.task, command.agent.as_ref(), setting, session)?;
    let wish = Wish::listen()?;
    let progress = acting::progress(output, "asking the agent");
    let done = missive
        .task_get(&on, command.history_length, &mut wish.interrupt())
        .await;
    drop(progress);
    let told = Told::of(setting).about(&on.target).ended_by(wish.ending());
    let done = acting::concluded(&missive, output, &told, done)?;
    output.report(&Shown(Kind::TaskGet, done.report)).await?;
    Ok(wish.exit(done.exit))
}
