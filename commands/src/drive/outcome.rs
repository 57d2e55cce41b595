//! What became of a message, as facts and payloads.

use missive_log::Payload;
use missive_log::event::facts::{Failure as Why, Shape};
use missive_log::event::kind::{SendFailed, SendInDoubt, SendResponded};
use missive_log::event::{Draft, EventKind, Links, MessageId, OperationId, Seq, TaskId};

use crate::decide::Moment;
use crate::effect::ask::{AskError, Asked};
use crate::effect::reach::{Call, Reach};
use crate::evidence;
use crate::facts;
use crate::wire::answer::{Fault, Reading, Reply};

/// The common part of a step: operation, intent, links.
pub(super) type Step<'a> = (&'a OperationId, Seq, &'a Links);

pub(super) fn outcome_draft(moment: &Moment<'_>, step: Step<'_>, asked: &Asked) -> Draft {
    let (operation, intent, links) = step;
    let mut links = links.clone();
    let mut payloads = payloads_of(moment, &asked.call);
    let status = status_of(&asked.call);
    let kind = match &asked.meaning {
        Ok(reading) => responded(reading, status.unwrap_or(0), &mut links),
        Err(error) => {
            payloads.push(evidence::of_error(moment, &words(error, &asked.call)));
            failed(error, status)
        }
    };
    moment.step(operation, Some(intent), &links, kind, payloads)
}

/// The answer's payloads, as far as it came.
pub(super) fn payloads_of(moment: &Moment<'_>, call: &Call) -> Vec<Payload> {
    match &call.reach {
        Reach::Answered(answer) | Reach::Partial { answer, .. } => {
            evidence::of_answer(moment, answer)
        }
        Reach::NotSent(_) | Reach::NothingBack(_) => Vec::new(),
    }
}

/// The HTTP status, if the answer had begun.
pub(super) fn status_of(call: &Call) -> Option<u16> {
    match &call.reach {
        Reach::Answered(answer) | Reach::Partial { answer, .. } => Some(answer.status),
        Reach::NotSent(_) | Reach::NothingBack(_) => None,
    }
}

/// An error with its cause, in one line.
pub(super) fn words(error: &AskError, call: &Call) -> String {
    match &call.reach {
        Reach::NotSent(cause) | Reach::NothingBack(cause) | Reach::Partial { error: cause, .. } => {
            format!("{error}: {cause}")
        }
        Reach::Answered(_) => error.to_string(),
    }
}

fn responded(reading: &Reading, status: u16, links: &mut Links) -> EventKind {
    let mut fact = SendResponded {
        status,
        shape: shape_of(reading),
        message: None,
        task: None,
        violations: facts::violations(&reading.odd),
    };
    let (context, task) = match &reading.reply {
        Reply::Task(task) => {
            fact.task = facts::task(task);
            (task.context_id.as_deref(), task.task_id.as_deref())
        }
        Reply::Message(message) => {
            let id = message.message_id.as_deref();
            fact.message = id.and_then(|id| MessageId::new(id).ok());
            (message.context_id.as_deref(), message.task_id.as_deref())
        }
        Reply::Tasks { .. } | Reply::Push(_) | Reply::Card(_) => (None, None),
    };
    if let Some(context) = facts::context(context) {
        links.context = Some(context);
    }
    if let Some(task) = task.and_then(|id| TaskId::new(id).ok()) {
        links.task = Some(task);
    }
    EventKind::SendResponded(fact)
}

fn failed(error: &AskError, status: Option<u16>) -> EventKind {
    let (failure, error) = match error {
        AskError::InDoubt(kind) => {
            return unanswered_fact(true, facts::call_failure(*kind), status);
        }
        AskError::NotSent(kind) => (facts::call_failure(*kind), None),
        AskError::Redirect(_) => (Why::RedirectRefused, None),
        AskError::Fault(Fault::Peer(error)) => facts::peer_failure(error),
        AskError::Fault(Fault::Broken { .. }) => (Why::ProtocolViolation, None),
    };
    EventKind::SendFailed(SendFailed {
        failure,
        status,
        error,
    })
}

pub(super) fn unanswered_fact(in_doubt: bool, failure: Why, status: Option<u16>) -> EventKind {
    if in_doubt {
        EventKind::SendInDoubt(SendInDoubt { failure, status })
    } else {
        EventKind::SendFailed(SendFailed {
            failure,
            status,
            error: None,
        })
    }
}

pub(super) fn shape_of(reading: &Reading) -> Shape {
    match reading.reply {
        Reply::Task(_) | Reply::Tasks { .. } | Reply::Push(_) | Reply::Card(_) => Shape::Task,
        Reply::Message(_) => Shape::Message,
    }
}
