//! `missive task wait`: until it ends, or waits for somebody.

use super::super::acting::{self, Told, Wish};
use super::super::send::remark;
use super::super::{Setting, warn_of_fault};
use super::shown::{Shown, answer};
use super::{address, asked};
use crate::args::task::Wait;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output};
use missive_commands::report::task::TaskReport;
use missive_commands::{Done, Exit};

pub(super) async fn run(
    command: &Wait,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = if command.local {
        super::session(setting).await?
    } else {
        super::session_for(command.agent.as_ref(), setting).await?
    };
    session
        .used(async |session| {
            if command.local {
                local(command, setting, session, output).await
            } else {
                remote(command, setting, session, output).await
            }
        })
        .await
}

async fn local(
    command: &Wait,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let missive = acting::for_records(setting, session)?;
    let wish = Wish::listen()?;
    let progress = acting::progress(output, "waiting for the log");
    let agent = command.agent.as_ref().map(acting::target);
    let done = missive
        .task_wait_local(&command.task, agent.as_ref(), &mut wish.interrupt())
        .await;
    drop(progress);
    let told = Told::of(setting).ended_by(wish.ending());
    let done = acting::concluded(&missive, output, &told, done)?;
    ended(done, agent.as_ref().and_then(address), &wish, output).await
}

async fn remote(
    command: &Wait,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let (on, missive) = asked(&command.task, command.agent.as_ref(), setting, session)?;
    let wish = Wish::listen()?;
    let progress = acting::progress(output, "waiting for the agent");
    let done = missive
        .task_wait(&on, command.interval, &mut wish.interrupt())
        .await;
    drop(progress);
    let told = Told::of(setting).about(&on.target).ended_by(wish.ending());
    let done = acting::concluded(&missive, output, &told, done)?;
    ended(done, address(&on.target), &wish, output).await
}

async fn ended(
    done: Done<TaskReport>,
    address: Option<&str>,
    wish: &Wish,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let answer = answer(&done.report.task);
    let agent = done.report.task.agent.clone();
    output.report(&Shown(Kind::TaskWait, done.report)).await?;
    let agent = agent.as_deref().or(address).unwrap_or_default();
    remark(output, agent, &answer, done.exit);
    Ok(wish.exit(done.exit))
}
