//! Resolving doubt: what a crash, a timeout or a cut connection left open.
//!
//! Nobody takes over what still runs. What is harmless is repeated; for a message the peer is asked
//! for the task that it became. A message is sent again only when the user says so, with the same
//! message id and the same bytes, and only after the peer was asked.

use missive_log::event::facts::{Failure as Why, InterfaceSource, Method, StreamEnd};
use missive_log::event::kind::{
    CallFailed, CallRequested, CardFailed, SendInDoubt, SendRequested, SendResolved, StreamClosed,
};
use missive_log::event::{Alias, Event, EventKind, Links, OperationId, Subject};
use missive_log::payload::redact::Redactor;
use missive_log::{Log, Role};
use missive_projections::{Intent, Open, Views};

use super::call::Call;
use super::card::Want;
use super::search::{Found, Lost};
use super::send::{Line, name_of};
use super::stored::{Stored, is_redacted};
use super::{Course, Done};
use crate::decide::Undecided;
use crate::doubt::is_under_way;
use crate::evidence;
use crate::exit::{Exit, outcome_code};
use crate::facts;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::peer::{Known, Peer, Target, agent_url, resolve};
use crate::refusal::Refusal;
use crate::report::send::{AnswerReport, Resolution, RetryReport, state_of};
use crate::run::Missive;
use crate::wire::answer::Reading;
use crate::wire::card::Interface;
use crate::wire::negotiate::{Choice, Source};
use crate::wire::push::PushCall;
use crate::wire::request::{ListTasks, Operation};
use crate::wire::version::{Binding, Version};

/// `retry`.
#[derive(Clone, Debug)]
pub struct Retry {
    /// The operation.
    pub operation: OperationId,
    /// Send again if the peer cannot say whether it has the message.
    pub resend: bool,
}

/// The agent whose credentials a retry needs, by the alias that it has now.
pub fn agent_of(views: &Views, operation: &OperationId) -> Result<Option<Alias>, CommandError> {
    let open = views.outbox_of(operation)?;
    match open.into_iter().find_map(|open| open.agent) {
        Some(alias) => Ok(Some(views.present_alias(&alias)?)),
        None => Ok(None),
    }
}

/// An intent that is being resolved.
pub(super) struct Case {
    pub(super) open: Open,
    /// What else of the operation is open: cards and calls that a dead process asked for.
    abandoned: Vec<Open>,
    pub(super) event: Event,
    pub(super) peer: Peer,
    pub(super) course: Course,
}

impl<L: Log> Missive<L> {
    /// Resolves what is open of an operation.
    ///
    /// # Errors
    /// A refusal if the operation is not known or its process is alive; [`Failure::Recorded`] if it is
    /// over and failed; [`Failure::StillInDoubt`] if the peer cannot say and nothing was to be sent again;
    /// [`Failure::CannotAsk`] if the peer cannot be asked.
    pub async fn retry(
        &self,
        command: &Retry,
        interrupt: &mut Interrupt,
    ) -> Result<Done<RetryReport>, CommandError> {
        if let Some(closed) = self.retry_round(&command.operation).await? {
            return Ok(closed);
        }
        let mut case = match self.case(&command.operation).await {
            Ok(case) => case,
            Err(CommandError::Refused(Refusal::Finished { operation })) => {
                let told = self.told_again(&operation).await?;
                return told.ok_or_else(|| Refusal::Finished { operation }.into());
            }
            Err(other) => return Err(other),
        };
        self.close_abandoned(&mut case).await?;
        let kind = case.event.kind.clone();
        let (reading, resolution, message) = if let EventKind::SendRequested(facts) = kind {
            let resend = command.resend;
            let (reading, resolution) = self
                .resolve_send(&mut case, &facts, resend, interrupt)
                .await?;
            (Some(reading), resolution, Some(facts.message))
        } else if let EventKind::StreamRequested(facts) = kind {
            let (reading, resolution) = self
                .resolve_stream(&mut case, &facts, command.resend, interrupt)
                .await?;
            (Some(reading), resolution, Some(facts.message))
        } else if let EventKind::SubscriptionRequested(facts) = kind {
            let reading = self.look_again(&mut case, &facts, interrupt).await?;
            (Some(reading), Resolution::Repeated, None)
        } else if let EventKind::CallRequested(facts) = kind {
            let reading = self.repeat_call(&mut case, &facts, interrupt).await?;
            (Some(reading), Resolution::Repeated, None)
        } else {
            // The only other intent there is: a card.
            self.repeat_card(&mut case.course, &case.peer, case.open.seq, interrupt)
                .await?;
            (None, Resolution::Repeated, None)
        };
        self.settle();
        let state = reading.as_ref().and_then(state_of);
        let exit = match resolution {
            Resolution::Found | Resolution::Resent => outcome_code(state),
            Resolution::Repeated | Resolution::Recorded | Resolution::Abandoned => Exit::Done,
        };
        let report = RetryReport {
            operation_id: command.operation.to_string(),
            resolution,
            agent: Some(name_of(&case.peer)),
            message_id: message.map(|id| id.to_string()),
            in_doubt: Vec::new(),
            answer: reading.as_ref().map(AnswerReport::of).unwrap_or_default(),
            sequence: case.course.newest.0,
        };
        Ok(Done { report, exit })
    }

    /// Finds the newest open intent of an operation, if it may be taken over.
    async fn case(&self, operation: &OperationId) -> Result<Case, CommandError> {
        let views = self.views();
        // Before the rest, so that what is read of the operation is not older than the condition.
        let last = views.last_of(&Subject::Operation(operation.clone()))?;
        let open = views.outbox_of(operation)?;
        if open
            .iter()
            .any(|open| is_under_way(open, self.run_folder()))
        {
            return Err(Refusal::StillRunning {
                operation: operation.clone(),
            }
            .into());
        }
        // The message first: what else is open was only asked because of it.
        let newest = open
            .iter()
            .max_by_key(|open| (open.intent.is_message(), open.seq));
        let Some(newest) = newest.cloned() else {
            return Err(not_open(&views, operation)?.into());
        };
        let abandoned = open.into_iter().filter(|open| open.seq != newest.seq);
        let abandoned = abandoned.filter(|open| !open.intent.is_message()).collect();
        let open = newest;
        let records = self.log().pick(&[open.seq]).await?;
        let event = records.first().and_then(|record| record.decode().ok());
        let Some(event) = event else {
            return Err(Failure::Internal {
                what: "an open intent is not in the log",
            }
            .into());
        };
        let last = last.unwrap_or(open.seq);
        Ok(Case {
            peer: self.peer_of(&views, &open)?,
            course: Course {
                operation: operation.clone(),
                last,
                newest: last,
            },
            event,
            open,
            abandoned,
        })
    }

    /// Says of what an earlier run only asked for, and never told the answer of, that it ended so.
    async fn close_abandoned(&self, case: &mut Case) -> Result<(), CommandError> {
        let operation = case.course.operation.clone();
        let links = case.event.links.clone();
        for open in std::mem::take(&mut case.abandoned) {
            self.conclude(&mut case.course, open.seq, |moment| {
                let kind = match open.intent {
                    Intent::Card => EventKind::CardFailed(CardFailed {
                        failure: Why::ProcessEnded,
                        status: None,
                    }),
                    Intent::Call | Intent::Send => EventKind::CallFailed(CallFailed {
                        failure: Why::ProcessEnded,
                        status: None,
                        error: None,
                    }),
                    Intent::Stream | Intent::Subscription => {
                        EventKind::StreamClosed(StreamClosed {
                            end: StreamEnd::ProcessEnded,
                            status: None,
                            failure: Some(Why::ProcessEnded),
                            error: None,
                            updates: 0,
                            state: None,
                        })
                    }
                };
                vec![moment.step(&operation, Some(open.seq), &links, kind, Vec::new())]
            })
            .await?;
        }
        Ok(())
    }

    /// Who an open intent is about. An agent that was removed meanwhile is still asked, at the address
    /// that the intent names.
    fn peer_of(&self, views: &Views, open: &Open) -> Result<Peer, CommandError> {
        let alias = match &open.agent {
            Some(alias) => Some(views.present_alias(alias)?),
            None => None,
        };
        if let Some(alias) = &alias {
            match resolve(views, self.config(), &Target::Alias(alias.clone())) {
                Ok(peer) => return Ok(peer),
                Err(Undecided::Refused(_)) => {}
                Err(other) => return Err(other.into()),
            }
        }
        let (base, url) = agent_url(open.url.as_str())?;
        Ok(Peer {
            alias,
            known: Known::Direct,
            base,
            url,
            interfaces: Vec::new(),
            bindings: Vec::new(),
            auth_ref: None,
        })
    }

    async fn repeat_call(
        &self,
        case: &mut Case,
        facts: &CallRequested,
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let choice = choice(facts.binding, facts.url.as_str(), Source::Card);
        let line = self.line(case, choice, interrupt).await?;
        let operation = match (facts.method, &facts.task) {
            (Method::GetTask, Some(task)) => Operation::GetTask {
                task_id: task.to_string(),
                history_length: None,
            },
            (Method::CancelTask, Some(task)) => Operation::CancelTask {
                task_id: task.to_string(),
            },
            // The secrets of a creation are not in the log, and whether it or a deletion arrived is what
            // the list says.
            (
                Method::CreatePushConfig
                | Method::GetPushConfig
                | Method::ListPushConfigs
                | Method::DeletePushConfig,
                Some(task),
            ) => Operation::Push(PushCall::List {
                task_id: task.to_string(),
                page_size: None,
                page_token: None,
            }),
            (
                Method::CreatePushConfig
                | Method::GetPushConfig
                | Method::ListPushConfigs
                | Method::DeletePushConfig,
                None,
            ) => {
                return Err(Failure::Internal {
                    what: "a call of this kind cannot be repeated by its operation",
                }
                .into());
            }
            (Method::GetExtendedCard, _) => Operation::GetExtendedCard,
            (Method::GetTask | Method::CancelTask, None) | (Method::ListTasks, _) => {
                Operation::ListTasks(ListTasks {
                    context_id: facts.context.as_ref().map(ToString::to_string),
                    ..ListTasks::default()
                })
            }
        };
        let call = Call {
            agent: case.peer.alias.as_ref(),
            line: &line,
            operation,
            links: case.event.links.clone(),
            known: None,
            abandoned: Some(case.open.seq),
        };
        self.call(&mut case.course, call, interrupt).await
    }

    pub(super) async fn resolve_send(
        &self,
        case: &mut Case,
        facts: &SendRequested,
        resend: bool,
        interrupt: &mut Interrupt,
    ) -> Result<(Reading, Resolution), CommandError> {
        let mut choice = choice(facts.binding, facts.url.as_str(), source(facts.source));
        choice.tenant = facts.tenant.as_ref().map(ToString::to_string);
        let line = match self.line(case, choice, interrupt).await {
            Ok(line) => line,
            Err(CommandError::Failed(failure @ Failure::Card { .. })) => {
                let why = failure.to_string();
                return Err(self.cannot_ask(case, why, resend).await);
            }
            Err(other) => return Err(other),
        };
        let lost = Lost {
            message: &facts.message,
            context: case.event.links.context.as_ref(),
            task: case.event.links.task.as_ref(),
        };
        let found = self
            .search(&mut case.course, &case.peer, &line, &lost, interrupt)
            .await?;
        let why = match found {
            Found::Task(reading) => {
                self.resolved(case, &reading).await?;
                return Ok((*reading, Resolution::Found));
            }
            // Nothing is sent blindly: a peer that cannot be asked now gets nothing either.
            Found::Unreachable(why) => {
                return Err(self.cannot_ask(case, why, resend).await);
            }
            Found::Nothing(why) => why,
        };
        if !resend {
            let operation = case.course.operation.clone();
            self.keep_doubt(case).await?;
            return Err(Failure::StillInDoubt { operation, why }.into());
        }
        let reading = self.resend(case, facts, line, interrupt).await?;
        Ok((reading, Resolution::Resent))
    }

    pub(super) async fn resolved(
        &self,
        case: &mut Case,
        reading: &Reading,
    ) -> Result<(), CommandError> {
        let crate::wire::answer::Reply::Task(task) = &reading.reply else {
            return Ok(());
        };
        let Some(task) = facts::task(task) else {
            return Ok(());
        };
        let operation = case.course.operation.clone();
        let intent = case.open.seq;
        let links = Links {
            agent: case.event.links.agent.clone(),
            context: task
                .context
                .clone()
                .or_else(|| case.event.links.context.clone()),
            task: Some(task.task.clone()),
            group: None,
        };
        self.conclude(&mut case.course, intent, |moment| {
            let payload =
                evidence::of_object(moment.ids, moment.redactor, Role::Task, &reading.raw);
            let kind = EventKind::SendResolved(SendResolved { task: task.clone() });
            vec![moment.step(&operation, Some(intent), &links, kind, vec![payload])]
        })
        .await?;
        self.count_early_of(Some(&task.task)).await;
        Ok(())
    }

    /// What a peer that cannot be asked leaves behind.
    pub(super) async fn cannot_ask(
        &self,
        case: &mut Case,
        why: String,
        resend: bool,
    ) -> CommandError {
        let operation = case.course.operation.clone();
        match self.keep_doubt(case).await {
            Ok(()) => Failure::CannotAsk {
                operation,
                why,
                resend,
            }
            .into(),
            Err(error) => error,
        }
    }

    /// Records the doubt if nobody has yet.
    pub(super) async fn keep_doubt(&self, case: &mut Case) -> Result<(), CommandError> {
        let operation = case.course.operation.clone();
        if case.open.doubt.is_none() {
            let intent = case.open.seq;
            let links = case.event.links.clone();
            self.conclude(&mut case.course, intent, |moment| {
                let kind = EventKind::SendInDoubt(SendInDoubt {
                    failure: Why::ProcessEnded,
                    status: None,
                });
                vec![moment.step(&operation, Some(intent), &links, kind, Vec::new())]
            })
            .await?;
        }
        self.settle();
        Ok(())
    }

    /// An interface as the log names it, with what the agent's card says beyond that: a query may hold a
    /// secret and is in no fact, and no fact has the secrets of an address or a tenant.
    pub(super) async fn line(
        &self,
        case: &mut Case,
        mut choice: Choice,
        interrupt: &mut Interrupt,
    ) -> Result<Line, CommandError> {
        let by_card = choice.source == Source::Card;
        let is_hidden = |choice: &Choice| {
            is_redacted(&choice.url) || choice.tenant.as_deref().is_some_and(is_redacted)
        };
        let stored = self.stored_card(&case.peer).await?;
        let is_known = stored.is_some();
        let usable = stored.filter(Stored::is_usable);
        let mut ask = usable.is_none();
        let mut entry =
            usable.and_then(|stored| entry_of(self.redactor(), stored.card.interfaces, &choice));
        ask |= entry.is_none() && is_hidden(&choice);
        if ask && is_known && by_card {
            let loaded = self
                .card(&mut case.course, &case.peer, Want::Newest, interrupt)
                .await?;
            entry = entry_of(self.redactor(), loaded.card.interfaces, &choice);
        }
        if let Some(entry) = entry {
            choice.url = entry.url;
            if choice.tenant.as_deref().is_none_or(is_redacted) {
                choice.tenant = entry.tenant;
            }
        }
        if is_hidden(&choice) {
            let operation = case.course.operation.clone();
            return Err(Refusal::HiddenInterface { operation }.into());
        }
        Ok(Line::new(choice, self.redactor())?)
    }
}

/// The entry that a choice was made by: the one with its tenant, else the first at its address.
fn entry_of(redactor: &Redactor, entries: Vec<Interface>, choice: &Choice) -> Option<Interface> {
    let is_there = |entry: &Interface| {
        Binding::from_card(&entry.binding) == Some(choice.binding)
            && url::Url::parse(&entry.url)
                .ok()
                .and_then(|url| facts::address(redactor, &url))
                .is_some_and(|address| address.as_str() == choice.url)
    };
    let has_tenant = |entry: &Interface| {
        let tenant = entry.tenant.as_deref().map(|text| redactor.clean(text));
        choice.tenant.is_none() || tenant == choice.tenant
    };
    let mut there: Vec<Interface> = entries.into_iter().filter(is_there).collect();
    match there.iter().position(has_tenant) {
        Some(at) => Some(there.swap_remove(at)),
        None if choice.tenant.as_deref().is_some_and(is_redacted) => None,
        None => there.into_iter().next(),
    }
}

fn not_open(views: &Views, operation: &OperationId) -> Result<Refusal, CommandError> {
    let operation = operation.clone();
    if views.last_of_operation(&operation)?.is_some() {
        return Ok(Refusal::Finished { operation });
    }
    let mut in_doubt: Vec<OperationId> = Vec::new();
    for open in views.outbox()? {
        if let Some(id) = open.operation.filter(|_| open.intent.is_message())
            && !in_doubt.contains(&id)
        {
            in_doubt.push(id);
        }
    }
    Ok(Refusal::NoOperation {
        operation,
        in_doubt,
    })
}

pub(super) fn choice(
    binding: missive_log::event::facts::Binding,
    url: &str,
    source: Source,
) -> Choice {
    Choice {
        binding: facts::binding_of(binding),
        url: url.to_owned(),
        protocol_version: Version { major: 1, minor: 0 },
        tenant: None,
        source,
        reason: "as before".to_owned(),
        foreign_host: false,
    }
}

fn source(stored: InterfaceSource) -> Source {
    match stored {
        InterfaceSource::Override => Source::Override,
        InterfaceSource::Card => Source::Card,
        InterfaceSource::Direct => Source::Direct,
    }
}
