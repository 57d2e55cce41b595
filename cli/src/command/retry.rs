//! `missive retry`: what became of a message that nobody knows about.

use super::send::{answer, remark, tell_files};
use super::{Setting, acting};
use crate::args::send::Retry as Arguments;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Report};
use acting::{Told, Wish};
use missive_commands::Exit;
use missive_commands::drive::retry::agent_of;
use missive_commands::report::send::{Resolution, RetryReport};
use missive_commands::{Refusal, Retry, Target};

pub(super) async fn run(
    arguments: &Arguments,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let command = Retry {
        operation: arguments.operation.clone(),
        resend: arguments.resend,
    };
    let Some(session) = setting.home.read().await? else {
        let refusal = Refusal::NoOperation {
            operation: command.operation,
            in_doubt: Vec::new(),
        };
        return Err(Told::of(setting).failure(refusal.into()));
    };
    session
        .used(async |session| perform(&command, setting, session, output).await)
        .await
}

async fn perform(
    command: &Retry,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let told = Told::of(setting);
    let views = session.views();
    let views = views.map_err(|error| session.views_failure(&error))?;
    let agent = agent_of(&views, &command.operation).map_err(|error| told.failure(error))?;
    let known = agent.map(Target::Alias);
    // An agent that was removed meanwhile is still asked, without the credentials that it had.
    let target = known
        .filter(|target| missive_commands::peer::resolve(&views, &setting.config, target).is_ok());
    let missive = acting::for_requests(setting, session, target.as_ref())?;
    let wish = Wish::listen()?;
    let progress = acting::progress(output, "asking the agent");
    let retried = missive.retry(command, &mut wish.interrupt()).await;
    drop(progress);
    let told = match &target {
        Some(target) => told.about(target),
        None => told,
    };
    let told = told.ended_by(wish.ending());
    let done = acting::concluded(&missive, output, &told, retried)?;
    output.report(&done.report).await?;
    output.note(words(done.report.resolution));
    for operation in &done.report.in_doubt {
        output.note(&format!(
            "hint: `missive retry {operation}` asks what became of a message that had left"
        ));
    }
    if done.report.message_id.is_some() {
        let agent = done.report.agent.as_deref().unwrap_or_default();
        remark(output, agent, &done.report.answer, done.exit);
        tell_files(output, agent, &done.report.answer, done.report.sequence);
    }
    Ok(wish.exit(done.exit))
}

fn words(resolution: Resolution) -> &'static str {
    match resolution {
        Resolution::Found => "the agent has the message",
        Resolution::Resent => "the message was sent again, and answered",
        Resolution::Recorded => {
            "the operation is over: this is what was recorded, and nobody was asked"
        }
        Resolution::Repeated => "the request was repeated, and answered",
        Resolution::Abandoned => "its process died: it is closed, and nobody carries it on",
    }
}

impl Report for RetryReport {
    fn kind(&self) -> Kind {
        Kind::Retry
    }

    fn human(&self, page: &mut Page) {
        answer(page, &self.answer);
    }
}
