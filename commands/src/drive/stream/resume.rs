//! What comes after the end of a stream that was none: subscribing again, and asking at last.

use std::time::Duration;

use missive_log::event::facts::TaskState as State;
use missive_log::{Log, Role};
use missive_projections::{Filter, KindPattern};
use tokio::time::sleep;

use super::super::call::Call;
use super::super::stored::event_at;
use super::super::wait::Pauses;
use super::close::links_of;
use super::picture::event_of_answer;
use super::update::Channel;
use super::{Begun, Ended, Flow, Show};
use crate::decide::subscribe::SubscribeIntent;
use crate::effect::ask::AskError;
use crate::exit::{Exit, outcome_code};
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::note::Note;
use crate::refusal::Refusal;
use crate::run::Missive;
use crate::wire::answer::{Fault, Reading};
use crate::wire::error::{ErrorKind, PeerError};
use crate::wire::request::{Operation, Verb, build};
use crate::wire::version::Binding;

/// The pause before the first resumption; each further one doubles it.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// The longest pause before a resumption, whatever the peer wishes.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// What a subscription came to.
enum Subscribed {
    /// A stream, which ended in this way; it is recorded.
    Ended(Ended),
    /// The peer says that there is nothing to follow: the task may be over.
    Nothing,
    /// The peer cannot do it.
    Cannot,
    /// It could not be reached.
    Failed(Failure),
    /// The user interrupted.
    Interrupted,
}

impl<L: Log> Missive<L> {
    /// Everything after the beginning of a stream, up to how the command ends.
    pub(crate) async fn carry(
        &self,
        flow: &mut Flow<'_>,
        channel: Channel,
        begun: Begun,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Exit, CommandError> {
        let ended = self.take_in(flow, channel, begun, sink, interrupt).await?;
        self.go_on(flow, ended, sink, interrupt).await
    }

    /// The first subscription that the user asked for, and everything after it.
    pub(super) async fn subscribe_first(
        &self,
        flow: &mut Flow<'_>,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Exit, CommandError> {
        match self.subscribe_once(flow, 0, sink, interrupt).await? {
            Subscribed::Ended(ended) => self.go_on(flow, ended, sink, interrupt).await,
            Subscribed::Nothing | Subscribed::Cannot => self.poll(flow, sink, interrupt).await,
            Subscribed::Failed(failure) => Err(failure.into()),
            Subscribed::Interrupted => Ok(Exit::Interrupted),
        }
    }

    /// From the end of one stream to how the command ends.
    async fn go_on(
        &self,
        flow: &mut Flow<'_>,
        first: Ended,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Exit, CommandError> {
        let mut ended = first;
        loop {
            match ended {
                Ended::Over(_) => return Ok(outcome_code(flow.picture.state())),
                Ended::Answer if flow.over().is_some() => {
                    return Ok(outcome_code(flow.picture.state()));
                }
                Ended::Detached => return Ok(Exit::Interrupted),
                Ended::OutOfTime(_) => return Ok(Exit::Timeout),
                Ended::TooLarge(why) => return Err(lost(flow, why, Exit::Transport)),
                Ended::Error(error) => {
                    return self.after_error(flow, *error, sink, interrupt).await;
                }
                broken @ (Ended::Early(_)
                | Ended::Useless(_)
                | Ended::Foreign
                | Ended::Broken(_)
                | Ended::Answer) => flow.broke = broken_by(&broken),
            }
            match self.resume(flow, sink, interrupt).await? {
                Subscribed::Ended(next) => ended = next,
                Subscribed::Interrupted => return Ok(Exit::Interrupted),
                Subscribed::Nothing | Subscribed::Cannot | Subscribed::Failed(_) => {
                    return self.poll(flow, sink, interrupt).await;
                }
            }
        }
    }

    /// Subscribes again, as often as the configuration allows.
    async fn resume(
        &self,
        flow: &mut Flow<'_>,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Subscribed, CommandError> {
        while flow.resumes < self.qos().stream_resumes_max {
            let doubled = PAUSE_MIN * 2_u32.saturating_pow(flow.resumes.min(16));
            let asked = flow.pause_asked.unwrap_or_default();
            let pause = doubled.max(asked).min(PAUSE_MAX);
            tokio::select! {
                biased;
                () = interrupt.came() => return Ok(Subscribed::Interrupted),
                () = self.time_is_up() => return Ok(Subscribed::Cannot),
                () = sleep(pause) => {}
            }
            flow.resumes += 1;
            let resume = flow.resumes;
            match self.subscribe_once(flow, resume, sink, interrupt).await? {
                Subscribed::Failed(failure) => {
                    tracing::info!(%failure, "the stream is not resumed");
                    // The last of them is told: asking for the task may fail as well, and say less.
                    if flow.resumes >= self.qos().stream_resumes_max {
                        self.note(Note::NotFollowed(failure.to_string()));
                    }
                }
                other @ (Subscribed::Ended(_)
                | Subscribed::Nothing
                | Subscribed::Cannot
                | Subscribed::Interrupted) => {
                    return Ok(other);
                }
            }
        }
        Ok(Subscribed::Cannot)
    }

    /// One subscription, by the other method of HTTP if the peer does not take the first.
    async fn subscribe_once(
        &self,
        flow: &mut Flow<'_>,
        resume: u32,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Subscribed, CommandError> {
        let verb = match flow.verb {
            Some(verb) => verb,
            None => self.verb_of(flow).await?,
        };
        let other = match verb {
            Verb::Get => Verb::Post,
            Verb::Post | Verb::Delete => Verb::Get,
        };
        let mut verbs = vec![verb];
        if flow.line.choice.binding == Binding::HttpJson {
            verbs.push(other);
        }
        let mut found = Subscribed::Cannot;
        for verb in verbs {
            let asked = self
                .subscribe_by(flow, verb, resume, sink, interrupt)
                .await?;
            if !matches!(asked, Subscribed::Cannot) {
                flow.verb = Some(verb);
                found = asked;
                break;
            }
        }
        Ok(found)
    }

    async fn subscribe_by(
        &self,
        flow: &mut Flow<'_>,
        verb: Verb,
        resume: u32,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Subscribed, CommandError> {
        let Some(task) = flow.task() else {
            return Ok(Subscribed::Cannot);
        };
        let operation = Operation::SubscribeToTask {
            task_id: task.to_string(),
            verb,
        };
        let extras = self.extras(flow.peer.alias.as_ref());
        let request_id = self.ids().uuid().to_string();
        let request =
            build(&flow.line.choice, &operation, &extras, &request_id).map_err(Refusal::from)?;
        let links = links_of(flow);
        let id = flow.course.operation.clone();
        let intent = SubscribeIntent {
            operation: &id,
            links: &links,
            task: &task,
            line: flow.line,
            request: &request,
            resume,
        };
        let asked = (&operation, &request, request_id.as_str());
        let (channel, begun) = self
            .begin(&mut flow.course, &intent, flow.line, asked, interrupt)
            .await?;
        match begun {
            Begun::Refused(error, call) => {
                let refused = Some((&error, &*call));
                self.close_unopened(&mut flow.course, &channel, &links, refused)
                    .await?;
                let known = if let AskError::Fault(Fault::Peer(told)) = &error {
                    meaning(told)
                } else {
                    None
                };
                Ok(known.unwrap_or_else(|| {
                    Subscribed::Failed(self.call_failure(id, error, call.reach))
                }))
            }
            Begun::Interrupted(in_doubt) => {
                self.close_interrupted(&mut flow.course, &channel, &links, in_doubt)
                    .await?;
                Ok(Subscribed::Interrupted)
            }
            begun @ (Begun::Stream(_) | Begun::Answer(..)) => {
                if resume == 0 {
                    flow.begins_here = true;
                }
                if let Some(why) = flow.broke.take() {
                    self.note(Note::Resumed(why));
                    self.tell_notes(sink).await;
                }
                let ended = self.take_in(flow, channel, begun, sink, interrupt).await?;
                Ok(Subscribed::Ended(ended))
            }
        }
    }

    /// The method that this agent last took for a subscription: POST, unless the newest one was a GET.
    async fn verb_of(&self, flow: &Flow<'_>) -> Result<Verb, CommandError> {
        let Some(alias) = flow.peer.alias.clone() else {
            return Ok(Verb::Post);
        };
        let filter = Filter {
            agent: Some(alias),
            kinds: vec![KindPattern::new("a2a.subscription.requested")],
            reverse: true,
            limit: Some(1),
            ..Filter::default()
        };
        let newest = match self.views().select(&filter)?.first() {
            Some(seq) => event_at(self.log(), *seq).await?,
            None => None,
        };
        // A GET has no body, and JSON-RPC has always one.
        let was_get = newest.is_some_and(|event| {
            let mut payloads = event.payloads.iter();
            !payloads.any(|payload| payload.role == Role::Request)
        });
        Ok(if was_get { Verb::Get } else { Verb::Post })
    }

    /// After an error in the middle of a stream nobody knows how its task stands: it is asked for once.
    async fn after_error(
        &self,
        flow: &mut Flow<'_>,
        error: PeerError,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Exit, CommandError> {
        let operation = flow.course.operation.clone();
        let error = self.clean(&error);
        let failed = Failure::Peer {
            operation,
            error: Box::new(error.clone()),
        };
        if flow.task().is_none() {
            return Err(failed.into());
        }
        match self.look(flow, interrupt).await {
            Ok(reading) => {
                flow.picture.replace(&reading);
                let over = flow.over();
                self.show_answer(flow, &reading, sink).await;
                if over.is_some() {
                    self.note(Note::StreamError(error.to_string()));
                    flow.end = "polled";
                    return Ok(outcome_code(flow.picture.state()));
                }
                Err(lost(flow, error.to_string(), error.kind.exit()))
            }
            Err(CommandError::Failed(Failure::Interrupted { .. })) => Ok(Exit::Interrupted),
            Err(_) => Err(lost(flow, error.to_string(), error.kind.exit())),
        }
    }

    /// Asks for the task until it is over.
    pub(super) async fn poll(
        &self,
        flow: &mut Flow<'_>,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Exit, CommandError> {
        flow.end = "polled";
        let first = match self.look(flow, interrupt).await {
            Ok(reading) => reading,
            Err(CommandError::Failed(Failure::Interrupted { .. })) => return Ok(Exit::Interrupted),
            Err(error) if flow.picture.updates == 0 => return Err(error),
            Err(error) => {
                if error.exit() == Exit::Timeout {
                    return Ok(Exit::Timeout);
                }
                return Err(lost(flow, error.to_string(), Exit::Unknown));
            }
        };
        // A task that ended here is over whatever the peer says now.
        if flow.picture.has_ended() {
            flow.picture.replace(&first);
            self.show_answer(flow, &first, sink).await;
            return Ok(outcome_code(flow.picture.state()));
        }
        let mut course = flow.course.clone();
        let waited = self
            .wait(
                &mut course,
                flow.peer,
                flow.line,
                first,
                Pauses::default(),
                interrupt,
            )
            .await;
        flow.course = course;
        match waited {
            Ok((reading, exit)) => {
                flow.picture.replace(&reading);
                self.show_answer(flow, &reading, sink).await;
                Ok(exit)
            }
            Err(error) => Err(lost(flow, error.to_string(), Exit::Unknown)),
        }
    }

    /// Asks for the task once.
    async fn look(
        &self,
        flow: &mut Flow<'_>,
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let task_id = flow.picture.task_id().unwrap_or_default().to_owned();
        let links = links_of(flow);
        let call = Call {
            agent: flow.peer.alias.as_ref(),
            line: flow.line,
            operation: Operation::GetTask {
                task_id,
                history_length: None,
            },
            links,
            known: None,
            abandoned: None,
        };
        self.call(&mut flow.course, call, interrupt).await
    }

    /// Tells whoever watches what is to be known so far, if it is told between the updates.
    pub(super) async fn tell_notes(&self, sink: &mut impl Show) {
        if sink.wants_notes() {
            for note in self.take_notes() {
                sink.tell(note).await;
            }
        }
    }

    async fn show_answer(&self, flow: &Flow<'_>, reading: &Reading, sink: &mut impl Show) {
        sink.show(event_of_answer(reading, flow.course.newest.0))
            .await;
    }

    /// Cancels the task, whatever the user does meanwhile; a second interruption ends the process, so the task
    /// is named before (C079).
    pub(super) async fn cancel_now(
        &self,
        flow: &mut Flow<'_>,
        sink: &mut impl Show,
    ) -> Option<String> {
        let task = flow.task()?;
        self.note(Note::Canceling(task.clone()));
        self.tell_notes(sink).await;
        let call = Call {
            agent: flow.peer.alias.as_ref(),
            line: flow.line,
            operation: Operation::CancelTask {
                task_id: task.to_string(),
            },
            links: links_of(flow),
            known: None,
            abandoned: None,
        };
        let mut never = Interrupt::never();
        Some(match self.call(&mut flow.course, call, &mut never).await {
            Ok(reading) => {
                flow.picture.replace(&reading);
                flow.picture
                    .state()
                    .map_or("unknown", State::as_str)
                    .to_owned()
            }
            Err(error) => error.to_string(),
        })
    }
}

/// The end of a command whose task goes on, and nobody can say how.
fn lost(flow: &Flow<'_>, why: String, exit: Exit) -> CommandError {
    let state = flow.picture.state().map_or("unknown", State::as_str);
    let links = links_of(flow);
    Failure::StreamLost {
        operation: flow.course.operation.clone(),
        task: links.task,
        context: links.context,
        state,
        why: match &flow.broke {
            Some(cause) => format!("{cause}; then {why}"),
            None => why,
        },
        exit,
    }
    .into()
}

/// What a stream was broken by, in words; nothing of one that was none (C060: which timer, if it was one).
fn broken_by(ended: &Ended) -> Option<String> {
    match ended {
        Ended::Broken(error) | Ended::OutOfTime(error) => Some(error.to_string()),
        Ended::Early(_) => Some("the agent ended it".to_owned()),
        Ended::Useless(_) => Some("nothing in it is an update".to_owned()),
        Ended::Foreign => Some("it is about another task".to_owned()),
        Ended::TooLarge(words) => Some(words.clone()),
        Ended::Error(error) => Some(error.to_string()),
        Ended::Over(_) | Ended::Answer | Ended::Detached => None,
    }
}

/// What an error says of a subscription; `None` if it may pass.
fn meaning(error: &PeerError) -> Option<Subscribed> {
    // The first of them is what A2A asks for (section 3.1.6), the second what others send.
    let over = [ErrorKind::UnsupportedOperation, ErrorKind::TaskNotFound];
    if over.contains(&error.kind) && !is_bare(error) {
        return Some(Subscribed::Nothing);
    }
    let cannot = error.kind == ErrorKind::MethodNotFound || matches!(error.status, 404 | 405 | 501);
    cannot.then_some(Subscribed::Cannot)
}

/// Whether nothing but an HTTP status says what is wrong: then it may be about the path.
fn is_bare(error: &PeerError) -> bool {
    error.code.is_none() && error.reason.is_none()
}
