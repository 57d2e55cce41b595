//! What the log and its views say of themselves, of agents, and of what was left unfinished.

use super::super::Setting;
use super::super::events::{check, fault_of};
use super::{Check, agents};
use crate::args::Doctor;
use crate::failure::Failure;
use crate::open::{Session, failure};
use crate::render::Output;
use missive_commands::Exit;
use missive_commands::doubt::is_under_way;
use missive_commands::drive::round::is_abandoned;
use missive_log::event::GroupName;
use missive_projections::{Round, Views, ViewsError};
use serde_json::json;

pub(super) async fn checks(
    command: &Doctor,
    setting: &Setting<'_>,
    session: &Session,
    output: &Output,
) -> Result<Vec<Check>, Failure> {
    let mut checks = vec![log(command, setting, session, output).await?];
    match session.views() {
        Ok(views) => checks.extend(of_views(command, setting, session, &views).await),
        Err(error) => checks.push(Check::failed("views", &session.views_failure(&error))),
    }
    Ok(checks)
}

async fn log(
    command: &Doctor,
    setting: &Setting<'_>,
    session: &Session,
    output: &Output,
) -> Result<Check, Failure> {
    let head = session.head();
    let (fault, depth) = if command.deep {
        let verified = check(session, output).await?;
        let fault = fault_of(session, &verified);
        if let (Some(fault), None) = (&fault, session.fault()) {
            session.distrust(fault).await?;
        }
        (fault, "every event verified")
    } else {
        (
            session.fault().map(|fault| (**fault).clone()),
            "as its witnesses saw it",
        )
    };
    if let Some(fault) = fault {
        let failure = failure::integrity(&setting.home, "the log does not verify", &fault);
        return Ok(Check::failed("log", &failure).with(json!({"head": head.to_string()})));
    }
    let summary = format!("{} events, {depth}", head.seq);
    Ok(Check::passed("log", summary).with(json!({"head": head.to_string()})))
}

async fn of_views(
    command: &Doctor,
    setting: &Setting<'_>,
    session: &Session,
    views: &Views,
) -> Vec<Check> {
    let told = |id: &str, checked: Result<Vec<Check>, ViewsError>| match checked {
        Ok(checks) => checks,
        Err(error) => vec![Check::failed(id, &session.views_failure(&error))],
    };
    let mut checks = told("views", state(command, views));
    checks.extend(match agents::checks(setting, session, views).await {
        Ok(checks) => checks,
        Err(failure) => vec![Check::failed("agents", &failure)],
    });
    checks.extend(told("operations", operations(session, views)));
    checks
}

fn state(command: &Doctor, views: &Views) -> Result<Vec<Check>, ViewsError> {
    let status = views.status()?;
    let summary = format!("{} views at event {}", status.views.len(), status.position);
    if let Some(first) = status.unreadable_first {
        let summary = format!("{summary}; {} events could not be read", status.unreadable);
        let hint = format!("`missive events verify` says what is wrong with event {first}");
        return Ok(vec![Check::warned("views", summary, hint)]);
    }
    if command.deep
        && let Some(difference) = views.verify()?.difference
    {
        let failure = Failure::new(Exit::Io, "the views do not say what the log says")
            .caused_by(Some(&std::io::Error::other(difference.to_string())))
            .hint("`missive projection rebuild` folds them again; the log is not affected");
        return Ok(vec![Check::failed("views", &failure)]);
    }
    Ok(vec![Check::passed("views", summary)])
}

/// Rounds that began and never ended, and whose process is gone.
fn rounds(session: &Session, views: &Views) -> Result<Vec<Check>, ViewsError> {
    let run = session.run_folder();
    let open = views.open_rounds()?.into_iter();
    let check = |round: Round| {
        let of = round.group.as_ref().map_or("a group", GroupName::as_str);
        let what = round.what.name();
        let summary = format!(
            "a {what} of {of} began at {} and never ended: the process ended",
            round.begun_at
        );
        let hint = format!("missive retry {}", round.operation);
        Check::warned("operations", summary, hint).with(json!({
            "operation_id": round.operation,
            "sequence": round.begun,
        }))
    };
    let abandoned = open.filter(|round| is_abandoned(round, &run));
    Ok(abandoned.map(check).collect())
}

fn operations(session: &Session, views: &Views) -> Result<Vec<Check>, ViewsError> {
    let run = session.run_folder();
    let (mut doubtful, mut under_way) = (Vec::new(), 0_u64);
    for open in views.outbox()? {
        if is_under_way(&open, &run) {
            under_way += 1;
        } else if open.intent.is_message() {
            doubtful.push(open);
        }
    }
    let rounds = rounds(session, views)?;
    if doubtful.is_empty() && rounds.is_empty() {
        let summary = match under_way {
            0 => "none in doubt".to_owned(),
            under_way => format!("none in doubt, {under_way} under way"),
        };
        return Ok(vec![Check::passed("operations", summary)]);
    }
    let check = |open: missive_projections::Open| {
        let operation = open
            .operation
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let to = open
            .agent
            .as_ref()
            .map_or_else(|| open.url.to_string(), ToString::to_string);
        let why = open
            .doubt
            .map_or("the process ended", |doubt| doubt.failure.as_str());
        let summary = format!("a message to {to} at {} is in doubt: {why}", open.at);
        Check::warned("operations", summary, format!("missive retry {operation}")).with(json!({
            "operation_id": operation,
            "message_id": open.message,
            "sequence": open.seq,
            "attempt": open.attempt,
        }))
    };
    Ok(rounds
        .into_iter()
        .chain(doubtful.into_iter().map(check))
        .collect())
}
