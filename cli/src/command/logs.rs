//! `missive logs`: what was asked of agents lately, an operation a line, read from the log itself.

use super::events::{Indexed, picked};
use super::{Setting, no_log, seconds, warn_of_fault};
use crate::args::Logs;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Lines, Output, Page, Report};
use missive_commands::Exit;
use missive_commands::doubt::is_under_way;
use missive_commands::drive::round::is_abandoned;
use missive_log::Event;
use missive_log::event::facts::{RoundStatus, StreamEnd, TaskState};
use missive_log::event::kind::RoundFact;
use missive_log::event::{Alias, EventKind, OperationId};
use missive_projections::{Filter, KindPattern, SELECT_MAX, Views};
use serde::Serialize;
use std::collections::BTreeSet;

/// What operations begin with. A reduction that is made here begins with its end.
const BEGINNINGS: [&str; 6] = [
    "a2a.*.requested",
    "missive.bcast.started",
    "missive.barrier.started",
    "missive.gather.recorded",
    "missive.reduce.started",
    "missive.reduce.completed",
];
/// How many requests are looked at once.
const PAGE: usize = 256;

pub(super) async fn run(
    command: &Logs,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = setting.home.read().await?.ok_or_else(no_log)?;
    session
        .used(async |session| list(command, session, output).await)
        .await
}

async fn list(command: &Logs, session: &Session, output: &mut Output) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let broken = |error| session.views_failure(&error);
    let views = session.views().map_err(broken)?;
    let requests = Filter {
        agent: command.agent.clone(),
        kinds: BEGINNINGS.map(KindPattern::new).into(),
        through: Some(session.head().seq),
        reverse: true,
        ..Filter::default()
    };
    let mut requests = Indexed::new(views.clone(), requests);
    let (mut seen, mut operations) = (BTreeSet::new(), Vec::new());
    'pages: loop {
        let places = requests.page(PAGE).map_err(broken)?;
        if places.is_empty() {
            break;
        }
        let (records, _) = picked(session, &places).await?;
        for record in records {
            let operation = record.decode().ok().and_then(|event| event.operation);
            let Some(operation) = operation.filter(|id| seen.insert(id.clone())) else {
                continue;
            };
            let told = told(&operation, session, &views).await?;
            if !command.failed || told.outcome != "done" && told.outcome != "running" {
                operations.push(told);
            }
            if operations.len() >= usize::from(command.limit) {
                break 'pages;
            }
        }
    }
    if operations.is_empty() {
        output.note("nothing was asked of an agent");
    }
    // People read downwards; the newest is what they look for.
    operations.reverse();
    output.report(&Operations { operations }).await?;
    Ok(Exit::Done)
}

/// One operation, from its events.
async fn told(
    operation: &OperationId,
    session: &Session,
    views: &Views,
) -> Result<Operation, Failure> {
    let filter = Filter {
        operation: Some(operation.clone()),
        ..Filter::default()
    };
    let broken = |error| session.views_failure(&error);
    let places = views.select(&filter).map_err(broken)?;
    let ends: Vec<_> = match places.len() {
        // A long stream is told by its ends.
        many if many > SELECT_MAX.min(PAGE) => {
            let half = PAGE / 2;
            let (first, rest) = places.split_at(half);
            let last = rest.get(rest.len() - half..).unwrap_or_default();
            [first, last].concat()
        }
        _ => places.clone(),
    };
    let (records, _) = picked(session, &ends).await?;
    let events: Vec<Event> = records
        .iter()
        .filter_map(|record| record.decode().ok())
        .collect();
    let open = views.outbox_of(operation).map_err(broken)?;
    let run = session.run_folder();
    let round = views.round(operation).map_err(broken)?;
    let outcome = if let Some(round) = round.filter(|round| round.ended.is_none()) {
        if is_abandoned(&round, &run) {
            ("in_doubt", None)
        } else {
            ("running", None)
        }
    } else if open.is_empty() {
        ending(&events)
    } else if open.iter().any(|open| is_under_way(open, &run)) {
        ("running", None)
    } else {
        ("in_doubt", None)
    };
    Ok(Operation::of(operation, &events, places.len(), outcome))
}

/// How the newest outcome went.
fn ending(events: &[Event]) -> (&'static str, Option<&'static str>) {
    for event in events.iter().rev() {
        if let EventKind::Round(fact) = &event.kind
            && let Some(ended) = ending_of(fact)
        {
            return ended;
        }
        if let EventKind::SendFailed(facts) = &event.kind {
            return ("failed", Some(facts.failure.as_str()));
        }
        if let EventKind::CallFailed(facts) = &event.kind {
            return ("failed", Some(facts.failure.as_str()));
        }
        if let EventKind::CardFailed(facts) = &event.kind {
            return ("failed", Some(facts.failure.as_str()));
        }
        if let EventKind::SendResponded(facts) = &event.kind {
            return answered(facts.task.as_ref().map(|task| task.state));
        }
        if let EventKind::StreamClosed(facts) = &event.kind {
            let why = Some(facts.end.as_str());
            return match facts.end {
                StreamEnd::Terminal
                | StreamEnd::Interrupted
                | StreamEnd::Message
                | StreamEnd::Answer => answered(facts.state),
                StreamEnd::Detached => ("detached", why),
                StreamEnd::EndedEarly
                | StreamEnd::Broken
                | StreamEnd::Error
                | StreamEnd::NotSent
                | StreamEnd::InDoubt
                | StreamEnd::ProcessEnded => ("failed", why),
            };
        }
        if matches!(
            event.kind,
            EventKind::SendResolved(_) | EventKind::CallResponded(_) | EventKind::CardFetched(_)
        ) {
            return ("done", None);
        }
    }
    ("done", None)
}

/// How a round went, if this fact ends it.
fn ending_of(fact: &RoundFact) -> Option<(&'static str, Option<&'static str>)> {
    let ended = |status: RoundStatus| match status {
        RoundStatus::Succeeded => ("done", None),
        RoundStatus::PartialFailure
        | RoundStatus::Failed
        | RoundStatus::TimedOut
        | RoundStatus::Canceled => ("failed", Some(status.as_str())),
    };
    match fact {
        RoundFact::BcastCompleted(facts) => Some(ended(facts.status)),
        RoundFact::BarrierCompleted(facts) => Some(ended(facts.status)),
        RoundFact::ReduceFailed(facts) => Some(("failed", Some(facts.failure.as_str()))),
        RoundFact::Abandoned(_) => Some(("failed", Some("process_ended"))),
        RoundFact::GatherRecorded(_) | RoundFact::ReduceCompleted(_) => Some(("done", None)),
        RoundFact::BcastStarted(_)
        | RoundFact::BcastMemberEnded(_)
        | RoundFact::BarrierStarted(_)
        | RoundFact::BarrierMemberEnded(_)
        | RoundFact::ReduceStarted(_)
        | RoundFact::ReduceSources(_) => None,
    }
}

/// A good answer may tell of a task that did not end well.
fn answered(state: Option<TaskState>) -> (&'static str, Option<&'static str>) {
    match state {
        Some(state @ (TaskState::Failed | TaskState::Rejected)) => ("failed", Some(state.as_str())),
        Some(
            TaskState::Submitted
            | TaskState::Working
            | TaskState::Completed
            | TaskState::Canceled
            | TaskState::InputRequired
            | TaskState::AuthRequired
            | TaskState::Unrecognized,
        )
        | None => ("done", None),
    }
}

/// `logs`.
#[derive(Serialize)]
struct Operations {
    operations: Vec<Operation>,
}

#[derive(Serialize)]
struct Operation {
    #[serde(rename = "operation_id")]
    id: String,
    started: String,
    ended: String,
    /// `bcast`, `barrier`, `gather`, `reduce`, `send`, `stream`, `subscribe`, the method of a call, or `card`.
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// Of a round.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    /// `done`, `failed`, `detached`, `in_doubt` or `running`.
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    events: usize,
    milliseconds: u64,
}

impl Operation {
    fn of(
        id: &OperationId,
        events: &[Event],
        count: usize,
        (outcome, why): (&'static str, Option<&'static str>),
    ) -> Self {
        let (first, last) = (events.first(), events.last());
        let micros = |event: Option<&Event>| event.map_or(0, |event| event.at.as_micros());
        let at = |event: Option<&Event>| event.map(|event| event.at.to_string());
        let what = events.iter().filter_map(asked).max().unwrap_or((0, ""));
        let newest = events.iter().rev();
        Self {
            id: id.to_string(),
            started: at(first).unwrap_or_default(),
            ended: at(last).unwrap_or_default(),
            what: what.1,
            // What a round says of one member is not about the whole.
            agent: events
                .iter()
                .filter(|_| what.0 < ROUND)
                .find_map(|event| event.links.agent.as_ref())
                .map(Alias::to_string),
            group: events
                .iter()
                .filter(|_| what.0 == ROUND)
                .find_map(|event| event.links.group.as_ref())
                .map(ToString::to_string),
            context_id: newest
                .clone()
                .find_map(|event| event.links.context.as_ref())
                .map(ToString::to_string),
            task_id: newest
                .clone()
                .find_map(|event| event.links.task.as_ref())
                .map(ToString::to_string),
            outcome,
            why,
            events: count,
            milliseconds: micros(last).saturating_sub(micros(first)) / 1_000,
        }
    }
}

/// The weight of a round.
const ROUND: u8 = 5;

/// What a round is called by its command.
fn asked_of_many(fact: &RoundFact) -> Option<(u8, &'static str)> {
    match fact {
        RoundFact::BcastStarted(_) => Some((ROUND, "bcast")),
        RoundFact::BarrierStarted(_) => Some((ROUND, "barrier")),
        RoundFact::GatherRecorded(_) => Some((ROUND, "gather")),
        RoundFact::ReduceStarted(_) | RoundFact::ReduceCompleted(_) => Some((ROUND, "reduce")),
        RoundFact::BcastMemberEnded(_)
        | RoundFact::BcastCompleted(_)
        | RoundFact::BarrierMemberEnded(_)
        | RoundFact::BarrierCompleted(_)
        | RoundFact::ReduceSources(_)
        | RoundFact::ReduceFailed(_)
        | RoundFact::Abandoned(_) => None,
    }
}

/// What an intent asks for; of several in one operation the weightiest names it.
fn asked(event: &Event) -> Option<(u8, &'static str)> {
    if let EventKind::Round(fact) = &event.kind {
        return asked_of_many(fact);
    }
    if let EventKind::SendRequested(_) = &event.kind {
        return Some((4, "send"));
    }
    if let EventKind::StreamRequested(_) = &event.kind {
        return Some((4, "stream"));
    }
    if let EventKind::SubscriptionRequested(_) = &event.kind {
        return Some((3, "subscribe"));
    }
    if let EventKind::CallRequested(facts) = &event.kind {
        return Some((2, facts.method.as_str()));
    }
    matches!(event.kind, EventKind::CardRequested(_)).then_some((1, "card"))
}

impl Report for Operations {
    fn kind(&self) -> Kind {
        Kind::Logs
    }

    fn human(&self, page: &mut Page) {
        let rows = self.operations.iter().map(|operation| {
            let outcome = match operation.why {
                Some(why) => format!("{} ({why})", operation.outcome),
                None => operation.outcome.to_owned(),
            };
            [
                seconds(&operation.started),
                operation.id.clone(),
                operation.what.to_owned(),
                match &operation.group {
                    Some(group) => format!("group {group}"),
                    None => operation.agent.clone().unwrap_or_default(),
                },
                outcome,
                format!("{} ms", operation.milliseconds),
            ]
        });
        page.table(
            ["started", "operation", "what", "agent", "outcome", "took"],
            rows,
        );
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        #[derive(Serialize)]
        struct One<'a> {
            operation: &'a Operation,
        }
        self.operations
            .iter()
            .try_for_each(|operation| lines.push(self.kind(), true, &One { operation }))
    }
}
