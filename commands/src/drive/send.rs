//! Sending a message: its intent, the one request, and its outcome, whatever that was.
//!
//! A message is never sent twice by itself. The one exception sends to another place: when the
//! interface that a cached card named is not there any more, which proves that nothing was taken, the
//! card is asked for once more and the message goes where the new card says (C018).

use missive_log::Log;
use missive_log::event::facts::Failure as Why;
use missive_log::event::{ContextId, GroupName, Links, MessageId, OperationId, Seq, TaskId};

use super::card::Want;
use super::choose::Chosen;
use super::outcome::{outcome_draft, shape_of, unanswered_fact};
pub(crate) use super::outgoing::{Letter, Line, Outgoing};
use super::wait::Pauses;
use super::{Course, Done};
use crate::decide::send::{Place, place};
use crate::effect::ask::{AskError, Asked, ask};
use crate::effect::http::Sent;
use crate::effect::reach::{Call, CallErrorKind, Reach};
use crate::exit::outcome_code;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::note::Note;
use crate::peer::{Peer, Target};
use crate::refusal::Refusal;
use crate::report::send::{
    AnswerReport, PartReport, ResponseReport, SendReport, outgoing, state_of,
};
use crate::run::Missive;
use crate::wire::answer::{Fault, Reading, Reply};
use crate::wire::error::ErrorKind;
use crate::wire::freshness::refresh_due;
use crate::wire::json::JsonText;
use crate::wire::message::{Part, SendMessage};
use crate::wire::negotiate::Choice;
use crate::wire::request::{Operation, Request, build};
use crate::wire::version::Binding;

/// How many violations of one answer are told to the user.
const NOTES_MAX: usize = 8;

/// `send`.
#[derive(Clone, Debug)]
pub struct Send {
    /// To whom.
    pub target: Target,
    /// What.
    pub parts: Vec<SendPart>,
    /// A JSON object, sent as the message's metadata.
    pub metadata: Option<JsonText>,
    /// The context to continue, or the id of a new one.
    pub context: Option<String>,
    /// The task to continue.
    pub task: Option<TaskId>,
    /// Other tasks that the message speaks of.
    pub reference_tasks: Vec<TaskId>,
    /// Media types that the user can take.
    pub accepted_output_modes: Vec<String>,
    /// How many messages of history the answer should hold.
    pub history_length: Option<u32>,
    /// Take the task as it is right after it started.
    pub return_immediately: bool,
    /// Instead of a new message id.
    pub message_id: Option<MessageId>,
    /// The group that the target is a member of, where that is why it was chosen.
    pub group: Option<GroupName>,
    /// Only this binding.
    pub binding: Option<Binding>,
    /// Ask for the task until it ends or waits for somebody.
    pub wait: bool,
}

/// One part of a message, read already.
#[derive(Clone, Debug)]
pub struct SendPart {
    /// What the peer gets.
    pub part: Part,
    /// Which argument it came from, as `send_result` names it.
    pub source: String,
    /// How long its content is, before any encoding.
    pub bytes: u64,
}

impl Send {
    /// A message of one text.
    pub fn text(target: Target, text: &str) -> Self {
        let part = SendPart {
            part: Part::text(text),
            source: "message".to_owned(),
            bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
        };
        Self {
            target,
            parts: vec![part],
            metadata: None,
            context: None,
            task: None,
            reference_tasks: Vec::new(),
            accepted_output_modes: Vec::new(),
            history_length: None,
            return_immediately: false,
            message_id: None,
            group: None,
            binding: None,
            wait: false,
        }
    }

    fn message(&self, id: &MessageId, place: &Place) -> SendMessage {
        SendMessage {
            message_id: id.to_string(),
            context_id: place.context.as_ref().map(ContextId::to_string),
            task_id: place.task.as_ref().map(TaskId::to_string),
            reference_task_ids: self.reference_tasks.iter().map(TaskId::to_string).collect(),
            parts: self.parts.iter().map(|part| part.part.clone()).collect(),
            metadata: self.metadata.clone(),
            accepted_output_modes: self.accepted_output_modes.clone(),
            history_length: self.history_length,
            return_immediately: self.return_immediately,
        }
    }

    pub(crate) fn part_reports(&self) -> Vec<PartReport> {
        let parts = self.parts.iter();
        parts
            .map(|part| outgoing(&part.part, &part.source, part.bytes))
            .collect()
    }
}

/// An answer that can be used.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) reading: Reading,
}

/// A message that was not answered well.
#[derive(Debug)]
pub(crate) struct Unanswered {
    pub(crate) error: CommandError,
    /// Whether nobody listens at the interface.
    refused: bool,
    /// The HTTP status of an answer that is no A2A error.
    status: Option<u16>,
    /// Whether the media type of the request was refused, before anybody looked at the message.
    media_refused: bool,
}

impl From<CommandError> for Unanswered {
    fn from(error: CommandError) -> Self {
        Self {
            error,
            refused: false,
            status: None,
            media_refused: false,
        }
    }
}

impl<L: Log> Missive<L> {
    /// Sends a message and waits for its answer.
    ///
    /// # Errors
    /// A refusal, with nothing of the message recorded; or a failure, which the log knows as well.
    pub async fn send(
        &self,
        command: &Send,
        interrupt: &mut Interrupt,
    ) -> Result<Done<SendReport>, CommandError> {
        let letter = self.letter(command)?;
        self.note_waiting(&letter)?;
        let mut course = Course::new(self.ids().operation());
        let only = command.binding;
        let chosen = self
            .choose(&mut course, &letter.peer, only, Want::Usable, interrupt)
            .await?;
        self.send_by(&mut course, chosen, &letter, command, interrupt)
            .await
    }

    /// The same, once the interface is chosen.
    pub(crate) async fn send_by(
        &self,
        course: &mut Course,
        chosen: Chosen,
        letter: &Letter,
        command: &Send,
        interrupt: &mut Interrupt,
    ) -> Result<Done<SendReport>, CommandError> {
        let peer = &letter.peer;
        let operation = Operation::SendMessage(letter.message.clone());
        let once =
            async |course: &mut Course, outgoing: &Outgoing<'_>, interrupt: &mut Interrupt| {
                self.attempt_once(course, outgoing, interrupt).await
            };
        let (line, answered) = self
            .deliver(course, chosen, letter, &operation, interrupt, once)
            .await?;
        self.count_early_of(began(&letter.place, &answered.reading).as_ref())
            .await;
        let (reading, exit) = if command.wait {
            let pauses = Pauses::default();
            self.wait(course, peer, &line, answered.reading, pauses, interrupt)
                .await?
        } else {
            let exit = outcome_code(state_of(&answered.reading));
            (answered.reading, exit)
        };
        self.settle();
        let report = SendReport {
            operation_id: course.operation.to_string(),
            agent: name_of(peer),
            interface: line.report(),
            request: letter.report(command),
            response: ResponseReport {
                shape: shape_of(&reading).as_str(),
            },
            answer: AnswerReport::of(&reading),
            route: None,
            sequence: course.newest.0,
        };
        Ok(Done { report, exit })
    }

    /// Whom a message is for, what it belongs to, and the message itself.
    pub(crate) fn letter(&self, command: &Send) -> Result<Letter, CommandError> {
        let peer = self.peer(&command.target)?;
        if command.parts.is_empty() {
            return Err(Refusal::NoParts.into());
        }
        let context = command.context.as_deref();
        let mut place = place(&self.views(), &peer, context, command.task.as_ref())?;
        place.group.clone_from(&command.group);
        let id = match &command.message_id {
            Some(id) => id.clone(),
            None => self.new_message_id()?,
        };
        Ok(Letter {
            message: command.message(&id, &place),
            only: command.binding,
            peer,
            place,
            id,
        })
    }

    fn new_message_id(&self) -> Result<MessageId, CommandError> {
        MessageId::new(&self.ids().uuid().to_string()).map_err(|_| {
            Failure::Internal {
                what: "a UUID is no message id",
            }
            .into()
        })
    }

    /// Sends to the chosen place, and to another place once if the first one is proven to be gone. `once`
    /// makes one attempt.
    pub(crate) async fn deliver<T>(
        &self,
        course: &mut Course,
        chosen: Chosen,
        letter: &Letter,
        operation: &Operation,
        interrupt: &mut Interrupt,
        once: impl AsyncFn(&mut Course, &Outgoing<'_>, &mut Interrupt) -> Result<T, Unanswered>,
    ) -> Result<(Line, T), CommandError> {
        let (peer, only) = (&letter.peer, letter.only);
        let cached = chosen.is_cached();
        let outgoing = |choice: Choice, attempt: u32| -> Result<Outgoing<'_>, Refusal> {
            let request_id = self.ids().uuid().to_string();
            let extras = self.extras(peer.alias.as_ref());
            let request = build(&choice, operation, &extras, &request_id)?;
            self.check_size(&request)?;
            Ok(Outgoing {
                peer,
                message_id: &letter.id,
                place: &letter.place,
                line: Line::new(choice, self.redactor())?,
                operation: operation.clone(),
                request,
                request_id,
                parts: letter.message.parts.len(),
                attempt,
                check_task: true,
            })
        };
        let mut first = outgoing(chosen.negotiated.choice, 1)?;
        first.line.tell();
        self.note_new(&letter.place, &first.line);
        let unanswered = match self.attempt(course, &mut first, interrupt, &once).await {
            Ok(answered) => return Ok((first.line, answered)),
            Err(unanswered) => unanswered,
        };
        if !refresh_due(cached, false, unanswered.refused, unanswered.status) {
            return Err(unanswered.error);
        }
        let again = self
            .choose(course, peer, only, Want::Newest, interrupt)
            .await;
        let Ok(again) = again else {
            // The first failure is the one that the user should see.
            return Err(unanswered.error);
        };
        let choice = again.negotiated.choice;
        if is_same_place(&choice, &first.line.choice) {
            return Err(unanswered.error);
        }
        self.note(Note::CardRefreshed);
        let mut second = outgoing(choice, first.attempt.saturating_add(1))?;
        second.line.tell();
        match self.attempt(course, &mut second, interrupt, &once).await {
            Ok(answered) => Ok((second.line, answered)),
            Err(unanswered) => Err(unanswered.error),
        }
    }

    /// A message into a context begins something new there, whatever waits in it: no task is picked (C072).
    pub(crate) fn note_waiting(&self, letter: &Letter) -> Result<(), CommandError> {
        let Some(context) = letter.place.context.as_ref() else {
            return Ok(());
        };
        if letter.place.task.is_some() || letter.place.is_new {
            return Ok(());
        }
        let waiting = self
            .views()
            .waiting_in(context, letter.peer.alias.as_ref())?;
        if !waiting.is_empty() {
            let tasks = waiting.into_iter().map(|task| task.task).collect();
            self.note(Note::Waiting(tasks));
        }
        Ok(())
    }

    fn note_new(&self, place: &Place, line: &Line) {
        if let Some(context) = place.context.as_ref().filter(|_| place.is_new) {
            self.note(Note::NewContext(context.clone()));
        }
        if let Some(context) = place.context.as_ref().filter(|_| place.is_closed) {
            self.note(Note::ClosedContext(context.clone()));
        }
        if line.choice.foreign_host {
            self.note(Note::ForeignHost {
                url: line.url.to_string(),
            });
        }
    }

    pub(crate) fn check_size(&self, request: &Request) -> Result<(), Refusal> {
        let bytes = request.body.as_ref().map_or(0, Vec::len);
        let bytes_max = self.calls().settings().request_bytes_max;
        if bytes > bytes_max {
            return Err(Refusal::RequestTooLarge { bytes, bytes_max });
        }
        Ok(())
    }

    /// One request, and one more if a peer of A2A 1.0.0 refused the media type that came after it: then
    /// nobody has read the message, and it goes out again as `application/json` with the same id.
    pub(crate) async fn attempt<T>(
        &self,
        course: &mut Course,
        outgoing: &mut Outgoing<'_>,
        interrupt: &mut Interrupt,
        once: &impl AsyncFn(&mut Course, &Outgoing<'_>, &mut Interrupt) -> Result<T, Unanswered>,
    ) -> Result<T, Unanswered> {
        match once(course, outgoing, interrupt).await {
            Err(unanswered) if unanswered.media_refused => {
                if !outgoing.request.make_plain_json() {
                    return Err(unanswered);
                }
                outgoing.attempt = outgoing.attempt.saturating_add(1);
                self.note(Note::PlainJson);
                once(course, outgoing, interrupt).await
            }
            other => other,
        }
    }

    /// One request: intent, effect, outcome.
    pub(crate) async fn attempt_once(
        &self,
        course: &mut Course,
        outgoing: &Outgoing<'_>,
        interrupt: &mut Interrupt,
    ) -> Result<Answered, Unanswered> {
        let operation = course.operation.clone();
        let intent = outgoing.intent(&operation);
        let links = intent.links();
        let intent = self.intend(course, &intent).await?;
        let attempt = outgoing.attempt;
        tracing::info!(%operation, message_id = %outgoing.message_id, attempt, "message is sent");
        let sent = Sent::default();
        let asking = ask(
            self.calls(),
            outgoing.line.choice.binding,
            &outgoing.operation,
            &outgoing.request,
            &outgoing.request_id,
            self.deadline(),
            &sent,
        );
        let asked = tokio::select! {
            biased;
            asked = asking => Some(asked),
            () = interrupt.came() => None,
        };
        let Some(asked) = asked else {
            let in_doubt = sent.may_have_left();
            self.interrupted(course, intent, &links, in_doubt).await?;
            return Err(CommandError::from(Failure::Interrupted {
                operation,
                in_doubt,
                task: None,
            })
            .into());
        };
        let bytes = outgoing.request.body.as_ref().map_or(0, Vec::len);
        self.outcome(course, (intent, bytes), &links, asked).await
    }

    async fn interrupted(
        &self,
        course: &mut Course,
        intent: Seq,
        links: &Links,
        in_doubt: bool,
    ) -> Result<(), CommandError> {
        let operation = course.operation.clone();
        self.conclude(course, intent, |moment| {
            let kind = unanswered_fact(in_doubt, Why::Interrupted, None);
            vec![moment.step(&operation, Some(intent), links, kind, Vec::new())]
        })
        .await?;
        Ok(())
    }

    async fn outcome(
        &self,
        course: &mut Course,
        (intent, bytes): (Seq, usize),
        links: &Links,
        asked: Asked,
    ) -> Result<Answered, Unanswered> {
        let operation = course.operation.clone();
        self.conclude(course, intent, |moment| {
            vec![outcome_draft(moment, (&operation, intent, links), &asked)]
        })
        .await?;
        let Asked { call, meaning } = asked;
        match meaning {
            Ok(reading) => {
                self.note_violations(&reading);
                Ok(Answered { reading })
            }
            Err(error) => Err(self.unanswered(operation, bytes, error, call)),
        }
    }

    pub(crate) fn note_violations(&self, reading: &Reading) {
        for violation in reading.odd.as_slice().iter().take(NOTES_MAX) {
            let text = self.redactor().clean(&violation.to_string());
            self.note(Note::Violation(text));
        }
    }

    pub(crate) fn unanswered(
        &self,
        operation: OperationId,
        bytes: usize,
        error: AskError,
        call: Call,
    ) -> Unanswered {
        let (mut refused, mut status, mut media_refused) = (false, None, false);
        let failure = match error {
            AskError::Fault(Fault::Peer(error)) => {
                status = (error.kind == ErrorKind::HttpStatus).then_some(error.status);
                // With a reason or a code it is the agent that speaks, and of the parts of the message.
                media_refused =
                    error.status == 415 && error.reason.is_none() && error.code.is_none();
                let error = Box::new(self.clean(&error));
                if error.status == 413 {
                    Failure::TooLargeForPeer {
                        operation,
                        bytes,
                        error,
                    }
                } else {
                    Failure::Peer { operation, error }
                }
            }
            AskError::Fault(error @ Fault::Broken { .. }) => Failure::Broken { operation, error },
            AskError::Redirect(error) => Failure::Redirect { operation, error },
            AskError::NotSent(_) | AskError::InDoubt(_) => match call.reach {
                Reach::NotSent(error) => {
                    refused = error.kind == CallErrorKind::ConnectRefused;
                    Failure::NotSent { operation, error }
                }
                Reach::NothingBack(error) | Reach::Partial { error, .. } => {
                    Failure::InDoubt { operation, error }
                }
                Reach::Answered(_) => Failure::Internal {
                    what: "an answered message counts as unanswered",
                },
            },
        };
        Unanswered {
            error: failure.into(),
            refused,
            status,
            media_refused,
        }
    }
}

/// The task that an answer began, if it did: it may have been delivered of before.
pub(crate) fn began(place: &Place, reading: &Reading) -> Option<TaskId> {
    let Reply::Task(task) = &reading.reply else {
        return None;
    };
    let task = TaskId::new(task.task_id.as_deref()?).ok()?;
    place.task.is_none().then_some(task)
}

/// The alias, or the URL that was named.
pub(crate) fn name_of(peer: &Peer) -> String {
    match &peer.alias {
        Some(alias) => alias.to_string(),
        None => peer.url.to_string(),
    }
}

pub(crate) fn is_same_place(left: &Choice, right: &Choice) -> bool {
    (left.binding, &left.url, &left.tenant) == (right.binding, &right.url, &right.tenant)
}
