//! `missive stream`: updates as they come, and what they came to.
//!
//! Machines get one line per update, written at once, and the result at the end; with `--json` the result
//! alone. People get the text on standard output as it arrives, and what happens to the task on stderr.

mod live;

use super::send::{command as message, remark_addresses, remark_task, tell_context, tell_files};
use super::{Setting, acting, no_log, to_group};
use crate::args::send::Stream as Arguments;
use crate::failure::Failure;
use crate::input;
use crate::open::Session;
use crate::render::{Kind, Mode, Output, Page, Report};
use acting::{OnLog, Told, Wish};
pub(super) use live::Live;
use missive_commands::report::stream::StreamReport;
use missive_commands::route::ask::Routing;
use missive_commands::wire::error::ErrorKind;
use missive_commands::wire::text::excerpt;
use missive_commands::{CommandError, Done, Exit, Failure as Broke, Stream};
use missive_log::event::OperationId;
use serde::Serialize;

pub(super) async fn run(
    arguments: &Arguments,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let bytes_max = setting.config.qos_of(&setting.profile).request_bytes_max;
    let inputs = input::read(&arguments.message.parts, bytes_max, std::io::stdin().lock())?;
    let command = Stream {
        send: message(&arguments.message, inputs)?,
        force: arguments.force,
        cancel_on_interrupt: arguments.cancel_on_interrupt,
    };
    if let Some(routing) = to_group::routing(&arguments.message)? {
        let session = setting.home.read().await?.ok_or_else(no_log)?;
        return session
            .used(async |session| {
                Box::pin(stream_routed(&routing, &command, setting, session, output)).await
            })
            .await;
    }
    let session = acting::session_for(&command.send.target, setting).await?;
    session
        .used(async |session| stream(&command, setting, session, output).await)
        .await
}

async fn stream(
    command: &Stream,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let target = &command.send.target;
    let missive = acting::for_requests(setting, session, Some(target))?;
    let wish = Wish::listen()?;
    let unread = output.unread()?;
    let mut live = Live::begin(output);
    let streamed = missive
        .stream(command, &mut live, &mut wish.interrupt_or(unread))
        .await;
    if is_unread(&wish, &streamed) {
        return Ok(Exit::Done);
    }
    live.end(streamed.as_ref().ok().map(|done| &done.report))
        .await?;
    let told = Told::of(setting).about(target).ended_by(wish.ending());
    let told = told.continuing(command.send.task.as_ref());
    let done = conclude(streamed, command, &told, &missive, output).await?;
    Ok(wish.exit(done))
}

/// A message to a member of a group.
async fn stream_routed(
    routing: &Routing,
    command: &Stream,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let missive = to_group::room(routing, setting, session)?;
    let wish = Wish::listen()?;
    let unread = output.unread()?;
    let mut live = Live::begin(output);
    let routed = missive
        .stream_routed(routing, command, &mut live, &mut wish.interrupt_or(unread))
        .await;
    if let Ok(routed) = &routed
        && is_unread(&wish, &routed.ended)
    {
        return Ok(Exit::Done);
    }
    let ended = routed.as_ref().ok().map(|routed| &routed.ended);
    let report = ended.and_then(|ended| ended.as_ref().ok());
    live.end(report.map(|done| &done.report)).await?;
    let told = Told::of(setting).ended_by(wish.ending());
    let routed = acting::concluded(&missive, output, &told, routed)?;
    let told = to_group::told(told, &routed.taken, output);
    let done = conclude(routed.ended, command, &told, &missive, output).await?;
    Ok(wish.exit(done))
}

/// The result, and what people must know beside it.
async fn conclude(
    streamed: Result<Done<StreamReport>, CommandError>,
    command: &Stream,
    told: &Told<'_>,
    missive: &OnLog,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let refused = streamed.as_ref().is_err_and(is_refused);
    let done = acting::concluded(missive, output, told, streamed);
    let done = done.map_err(|failure| {
        if refused {
            return failure
                .hint("`missive send` sends it without a stream; --wait waits for the task");
        }
        failure
    })?;
    output.report(&Streamed(&done.report)).await?;
    summary(output, &done);
    tell_pace(missive, output, &done.report).await;
    if let Some(request) = &done.report.request {
        tell_context(output, request, &done.report.answer);
    }
    remark_addresses(output, &command.send);
    Ok(done.exit)
}

/// Whether the reader of standard output went away. The log has the detaching; there is nobody to tell.
pub(super) fn is_unread(wish: &Wish, done: &Result<Done<StreamReport>, CommandError>) -> bool {
    let exit = match done {
        Ok(done) => done.exit,
        Err(error) => error.exit(),
    };
    wish.is_unread(exit)
}

/// Whether the agent does not do what was asked of it.
fn is_refused(error: &CommandError) -> bool {
    let kinds = [ErrorKind::UnsupportedOperation, ErrorKind::MethodNotFound];
    match error {
        CommandError::Failed(Broke::Peer { error, .. }) => kinds.contains(&error.kind),
        CommandError::Failed(_) | CommandError::Refused(_) => false,
    }
}

/// Whether a proxy seems to hold updates back. It is a suspicion, so nothing fails where it cannot be had.
pub(super) async fn tell_pace(missive: &OnLog, output: &Output, report: &StreamReport) {
    if output.style().mode != Mode::Human {
        return;
    }
    let Ok(operation) = OperationId::new(&report.operation_id) else {
        return;
    };
    if let Ok(Some(pace)) = missive.pace(&operation).await {
        output.note(&format!("note: {pace}"));
    }
}

/// What people should know beside what they saw.
pub(super) fn summary(output: &Output, done: &Done<StreamReport>) {
    let report = &done.report;
    let answer = &report.answer;
    let counted = |number: u64, one: &str, more: &str| match number {
        1 => format!("1 {one}"),
        number => format!("{number} {more}"),
    };
    if answer.state == Some("completed") {
        let task = answer.task_id.as_deref().unwrap_or_default();
        let mut words = format!(
            "task {task} of {} completed: {}",
            report.agent,
            counted(report.updates, "update", "updates")
        );
        if report.resumes > 0 {
            words.push_str(", ");
            words.push_str(&counted(report.resumes, "resumption", "resumptions"));
        }
        output.note(&words);
    }
    match &report.canceled {
        Some(state) if state == "canceled" => {
            let task = answer.task_id.as_deref().unwrap_or_default();
            output.note(&format!(
                "interrupted: task {task} of {} was canceled",
                report.agent
            ));
        }
        Some(why) => {
            output.note(&format!("the task was asked to stop: {}", excerpt(why)));
            remark_task(output, &report.agent, answer, done.exit);
        }
        None => remark_task(output, &report.agent, answer, done.exit),
    }
    if report.text_cut {
        output.note("note: the text is longer than is held at once; the log has all of it");
    }
    tell_files(output, &report.agent, answer, report.sequence);
}

/// `stream_result`.
#[derive(Serialize)]
#[serde(transparent)]
struct Streamed<'a>(&'a StreamReport);

impl Report for Streamed<'_> {
    fn kind(&self) -> Kind {
        Kind::StreamResult
    }

    fn human(&self, _: &mut Page) {
        // People saw the text as it came.
    }
}
