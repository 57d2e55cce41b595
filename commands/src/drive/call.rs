//! Calls that can be repeated: each one an intent and an outcome, each task seen an event.

use missive_log::contract::BATCH_BYTES_MAX;
use missive_log::event::facts::{Failure as Why, Method};
use missive_log::event::kind::{CallFailed, CallResponded, ExtendedCardFetched, TaskUpdated};
use missive_log::event::{Alias, Draft, EventKind, Links, OperationId, Seq, Subject};
use missive_log::{Log, Role};

use super::Course;
use super::again::is_safe;
use super::outcome::{payloads_of, status_of, words};
use super::push::confirmed;
use super::send::Line;
use crate::decide::Moment;
use crate::decide::call::CallIntent;
use crate::effect::ask::{AskError, Asked, ask};
use crate::effect::http::Sent;
use crate::effect::reach::Reach;
use crate::evidence;
use crate::facts;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::note::Note;
use crate::refusal::Refusal;
use crate::run::Missive;
use crate::wire::answer::{Fault, Reading, Reply};
use crate::wire::facts::TaskFacts;
use crate::wire::push::PushCall;
use crate::wire::request::{Operation, Request, build};

/// The most tasks of one answer that become events.
const TASKS_MAX: usize = 1_000;
/// How many times longer redaction makes a text at most: one digit under a secret-like key becomes a
/// numbered placeholder.
const REDACTED_GROWTH_MAX: usize = 3;

/// A call, and what is known before it.
pub(crate) struct Call<'a> {
    /// The agent.
    pub(crate) agent: Option<&'a Alias>,
    /// The interface.
    pub(crate) line: &'a Line,
    /// What is asked.
    pub(crate) operation: Operation,
    /// The nouns that it concerns.
    pub(crate) links: Links,
    /// The task as it was last seen: an answer that says the same is recorded without it.
    pub(crate) known: Option<&'a str>,
    /// An earlier intent whose process ended before it could say how it went.
    pub(crate) abandoned: Option<Seq>,
}

impl<L: Log> Missive<L> {
    /// One call; a question that changes nothing is asked again, within bounds, while the peer is busy.
    pub(crate) async fn call(
        &self,
        course: &mut Course,
        mut call: Call<'_>,
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let mut turn = 0;
        loop {
            match Box::pin(self.call_now(course, &mut call, interrupt)).await {
                Err(error) if is_safe(&call.operation) => {
                    turn += 1;
                    self.before_next(course, error, turn, interrupt).await?;
                }
                made => return made,
            }
        }
    }

    /// One call, whatever the peer says; and one more if a peer of A2A 1.0.0 refused the media type that came
    /// after it.
    pub(super) async fn call_now(
        &self,
        course: &mut Course,
        call: &mut Call<'_>,
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let request_id = self.ids().uuid().to_string();
        let extras = self.extras(call.agent);
        let mut request = build(&call.line.choice, &call.operation, &extras, &request_id)
            .map_err(Refusal::from)?;
        let made = self
            .call_once(course, call, (&request, &request_id), interrupt)
            .await;
        call.abandoned = None;
        match made {
            Err(error) if is_media_refused(&error) && request.make_plain_json() => {
                self.note(Note::PlainJson);
                self.call_once(course, call, (&request, &request_id), interrupt)
                    .await
            }
            made => made,
        }
    }

    /// Intent, effect, outcome.
    async fn call_once(
        &self,
        course: &mut Course,
        call: &Call<'_>,
        (request, request_id): (&Request, &str),
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let operation = course.operation.clone();
        let intent = CallIntent {
            operation: &operation,
            links: &call.links,
            method: method_of(&call.operation)?,
            binding: facts::binding(call.line.choice.binding),
            url: &call.line.url,
            request,
            abandoned: call.abandoned,
        };
        let intent = self.intend(course, &intent).await?;
        tracing::debug!(%operation, %intent, "question is recorded");
        let sent = Sent::default();
        let asking = ask(
            self.calls(),
            call.line.choice.binding,
            &call.operation,
            request,
            request_id,
            self.deadline(),
            &sent,
        );
        let asked = tokio::select! {
            biased;
            asked = asking => Some(asked),
            () = interrupt.came() => None,
        };
        self.conclude(course, intent, |moment| {
            outcome(moment, &operation, intent, call, asked.as_ref())
        })
        .await?;
        let Some(Asked {
            call: made,
            meaning,
        }) = asked
        else {
            return Err(Failure::Interrupted {
                operation,
                in_doubt: false,
                task: call.links.task.clone(),
            }
            .into());
        };
        match meaning {
            Ok(reading) if is_of_another(&call.operation, &reading) => Err(Failure::Broken {
                operation,
                error: Fault::Broken {
                    why: "it is about another task",
                    json: None,
                },
            }
            .into()),
            Ok(reading) => {
                self.note_violations(&reading);
                Ok(reading)
            }
            Err(error) => Err(self.call_failure(operation, error, made.reach).into()),
        }
    }

    pub(crate) fn call_failure(
        &self,
        operation: OperationId,
        error: AskError,
        reach: Reach,
    ) -> Failure {
        match error {
            AskError::Fault(Fault::Peer(error)) => Failure::Peer {
                operation,
                error: Box::new(self.clean(&error)),
            },
            AskError::Fault(error @ Fault::Broken { .. }) => Failure::Broken { operation, error },
            AskError::Redirect(error) => Failure::Redirect { operation, error },
            AskError::NotSent(_) | AskError::InDoubt(_) => match reach {
                Reach::NotSent(error) => Failure::NotSent { operation, error },
                Reach::NothingBack(error) | Reach::Partial { error, .. } => {
                    Failure::NoAnswer { operation, error }
                }
                Reach::Answered(_) => Failure::Internal {
                    what: "an answered call counts as unanswered",
                },
            },
        }
    }
}

/// Whether a question about one task was answered with another one (C149).
fn is_of_another(operation: &Operation, reading: &Reading) -> bool {
    let of_one = matches!(
        operation,
        Operation::GetTask { .. } | Operation::CancelTask { .. }
    );
    of_one
        && reading
            .odd
            .as_slice()
            .iter()
            .any(|odd| odd.code == "task_mismatch")
}

/// Whether the media type of a request was refused, before anybody looked at what it asks.
fn is_media_refused(error: &CommandError) -> bool {
    match error {
        CommandError::Failed(Failure::Peer { error, .. }) => {
            error.status == 415 && error.reason.is_none() && error.code.is_none()
        }
        CommandError::Failed(_) | CommandError::Refused(_) => false,
    }
}

fn method_of(operation: &Operation) -> Result<Method, CommandError> {
    match operation {
        Operation::GetTask { .. } => Ok(Method::GetTask),
        Operation::ListTasks(_) => Ok(Method::ListTasks),
        Operation::CancelTask { .. } => Ok(Method::CancelTask),
        Operation::GetExtendedCard => Ok(Method::GetExtendedCard),
        Operation::Push(PushCall::Create(_)) => Ok(Method::CreatePushConfig),
        Operation::Push(PushCall::Get { .. }) => Ok(Method::GetPushConfig),
        Operation::Push(PushCall::List { .. }) => Ok(Method::ListPushConfigs),
        Operation::Push(PushCall::Delete { .. }) => Ok(Method::DeletePushConfig),
        // Messages and streams have intents of their own.
        Operation::SendMessage(_)
        | Operation::SendStreamingMessage(_)
        | Operation::SubscribeToTask { .. } => Err(Failure::Internal {
            what: "the operation is no question that is asked by a call",
        }
        .into()),
    }
}

fn outcome(
    moment: &Moment<'_>,
    operation: &OperationId,
    intent: Seq,
    call: &Call<'_>,
    asked: Option<&Asked>,
) -> Vec<Draft> {
    let step = |kind, payloads| moment.step(operation, Some(intent), &call.links, kind, payloads);
    let failed = |failure, status, error| {
        EventKind::CallFailed(CallFailed {
            failure,
            status,
            error,
        })
    };
    let Some(Asked {
        call: made,
        meaning,
    }) = asked
    else {
        return vec![step(failed(Why::Interrupted, None, None), Vec::new())];
    };
    let status = status_of(made);
    let mut payloads = payloads_of(moment, made);
    let reading = match meaning {
        Ok(reading) => reading,
        Err(error) => {
            payloads.push(evidence::of_error(moment, &words(error, made)));
            let (failure, error) = failure_of(error);
            return vec![step(failed(failure, status, error), payloads)];
        }
    };
    let news = news(reading, call.known);
    if news.is_empty() && call.known.is_some() {
        // The same task as before: its text is there already.
        payloads.retain(|payload| payload.role() != Role::Response);
    }
    let tasks = match &reading.reply {
        Reply::Tasks { tasks, .. } => tasks.len(),
        Reply::Task(_) => 1,
        Reply::Message(_) | Reply::Push(_) | Reply::Card(_) => 0,
    };
    let kind = EventKind::CallResponded(CallResponded {
        status: status.unwrap_or(0),
        tasks: u32::try_from(tasks).unwrap_or(u32::MAX),
        violations: facts::violations(&reading.odd),
    });
    let mut bytes: usize = payloads.iter().map(|payload| payload.bytes().len()).sum();
    let mut drafts = vec![step(kind, payloads)];
    if let Reply::Card(card) = &reading.reply {
        let kind = EventKind::ExtendedCardFetched(ExtendedCardFetched {
            card: facts::card(moment.redactor, card),
            violations: facts::violations(&card.odd),
        });
        let (ids, redactor) = (moment.ids, moment.redactor);
        let payload = evidence::of_object(ids, redactor, Role::Response, &reading.raw);
        drafts.push(step(kind, vec![payload]));
    }
    if let Operation::Push(push) = &call.operation {
        let place = (operation, intent);
        drafts.extend(confirmed(moment, place, &call.links, push, reading));
    }
    for (task, raw) in news.into_iter().take(TASKS_MAX) {
        // A batch is bounded, and the whole answer is in front: what does not fit is found there.
        bytes = bytes.saturating_add(raw.len().saturating_mul(REDACTED_GROWTH_MAX));
        if bytes > BATCH_BYTES_MAX {
            break;
        }
        drafts.extend(updated(moment, operation, intent, call, task, raw));
    }
    drafts
}

/// The tasks of an answer that say something new.
fn news<'a>(reading: &'a Reading, known: Option<&str>) -> Vec<(&'a TaskFacts, &'a str)> {
    match &reading.reply {
        Reply::Task(task) if known != Some(reading.raw.as_str()) => {
            vec![(task, reading.raw.as_str())]
        }
        Reply::Tasks { tasks, .. } => tasks
            .iter()
            .map(|(task, raw)| (task, raw.as_str()))
            .collect(),
        Reply::Task(_) | Reply::Message(_) | Reply::Push(_) | Reply::Card(_) => Vec::new(),
    }
}

fn updated(
    moment: &Moment<'_>,
    operation: &OperationId,
    intent: Seq,
    call: &Call<'_>,
    task: &TaskFacts,
    raw: &str,
) -> Option<Draft> {
    let task = facts::task(task)?;
    let links = Links {
        agent: call.agent.cloned(),
        context: task.context.clone().or_else(|| call.links.context.clone()),
        task: Some(task.task.clone()),
        group: None,
    };
    let subject = Subject::Task(task.task.clone());
    let payload = evidence::of_object(moment.ids, moment.redactor, Role::Task, raw);
    let kind = EventKind::TaskUpdated(TaskUpdated { task });
    let mut draft = moment.step(operation, Some(intent), &links, kind, vec![payload]);
    draft.subject = subject;
    Some(draft)
}

fn failure_of(error: &AskError) -> (Why, Option<missive_log::event::facts::A2aError>) {
    match error {
        AskError::NotSent(kind) | AskError::InDoubt(kind) => (facts::call_failure(*kind), None),
        AskError::Redirect(_) => (Why::RedirectRefused, None),
        AskError::Fault(Fault::Peer(error)) => facts::peer_failure(error),
        AskError::Fault(Fault::Broken { .. }) => (Why::ProtocolViolation, None),
    }
}
