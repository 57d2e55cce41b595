//! `missive task subscribe`: a task that goes on, update by update.

use super::super::stream::{Live, is_unread, summary, tell_pace};
use super::super::{Setting, acting};
use super::{asked, session_for};
use crate::args::task::Subscribe as Arguments;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Report};
use acting::{Told, Wish};
use missive_commands::report::stream::StreamReport;
use missive_commands::report::task::TaskView;
use missive_commands::task::{find, view};
use missive_commands::{Exit, Subscribe};
use serde::Serialize;

pub(super) async fn run(
    arguments: &Arguments,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = session_for(arguments.agent.as_ref(), setting).await?;
    session
        .used(async |session| follow(arguments, setting, session, output).await)
        .await
}

async fn follow(
    arguments: &Arguments,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let (on, missive) = asked(&arguments.task, arguments.agent.as_ref(), setting, session)?;
    let wish = Wish::listen()?;
    let known = find(&missive.views(), &on.task, Some(&on.target)).ok();
    let command = Subscribe {
        target: on.target.clone(),
        task: on.task.clone(),
        context: known.and_then(|task| task.context),
        binding: arguments.binding,
    };
    let unread = output.unread()?;
    let mut live = Live::begin(output);
    live.task = Some(on.task.to_string());
    let followed = missive
        .subscribe(&command, &mut live, &mut wish.interrupt_or(unread))
        .await;
    if is_unread(&wish, &followed) {
        return Ok(Exit::Done);
    }
    live.end(followed.as_ref().ok().map(|done| &done.report))
        .await?;
    let told = Told::of(setting).about(&on.target).ended_by(wish.ending());
    let done = acting::concluded(&missive, output, &told, followed)?;
    let views = missive.views();
    let task = match find(&views, &on.task, Some(&on.target)) {
        Ok(task) => {
            let task = view(missive.log(), &views, &task, None).await;
            Some(task.map_err(|error| told.failure(error))?)
        }
        // One that nobody registered may be known under no name.
        Err(_) => None,
    };
    let followed = Followed {
        task,
        report: &done.report,
    };
    output.report(&followed).await?;
    summary(output, &done);
    tell_pace(&missive, output, &done.report).await;
    Ok(wish.exit(done.exit))
}

/// `task_subscribe`.
#[derive(Serialize)]
struct Followed<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskView>,
    #[serde(flatten)]
    report: &'a StreamReport,
}

impl Report for Followed<'_> {
    fn kind(&self) -> Kind {
        Kind::TaskSubscribe
    }

    fn human(&self, _: &mut Page) {
        // People saw the text as it came.
    }
}
