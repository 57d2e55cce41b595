//! `missive task cancel`: the wish, and the state that came back.

use super::super::Setting;
use super::super::acting::{self, Told, Wish, word};
use super::asked;
use super::shown::Shown;
use crate::args::task::Cancel;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output};
use missive_commands::Exit;

pub(super) async fn run(
    command: &Cancel,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = super::session_for(command.agent.as_ref(), setting).await?;
    session
        .used(async |session| cancel(command, setting, session, output).await)
        .await
}

async fn cancel(
    command: &Cancel,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let (on, missive) = asked(&command.task, command.agent.as_ref(), setting, session)?;
    let wish = Wish::listen()?;
    let progress = acting::progress(output, "asking the agent");
    let done = missive.task_cancel(&on, &mut wish.interrupt()).await;
    drop(progress);
    let told = Told::of(setting).about(&on.target).ended_by(wish.ending());
    let done = acting::concluded(&missive, output, &told, done)?;
    let state = done.report.task.state;
    output.report(&Shown(Kind::TaskCancel, done.report)).await?;
    if done.exit != Exit::Done {
        let task = &command.task;
        output.note(&format!("task {task} is not canceled: it is {state}"));
        if matches!(
            state,
            "submitted" | "working" | "input_required" | "auth_required"
        ) {
            let wait = format!("missive task wait {}", word(task.as_str()));
            output.note(&format!("hint: it may still be on its way: `{wait}` waits"));
        }
    }
    Ok(wish.exit(done.exit))
}
