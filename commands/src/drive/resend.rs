//! Sending a message again, and finding out what became of one whose answer streamed.
//!
//! The same bytes leave under the same message id. Nothing is shown of a stream that is opened here: what
//! it comes to is the answer.

use missive_log::event::facts::{Failure as Why, StreamEnd};
use missive_log::event::kind::{
    SendRequested, StreamClosed, StreamRequested, SubscriptionRequested,
};
use missive_log::event::{EventKind, MessageId, Seq, TaskId};
use missive_log::{Log, Role};

use super::Course;
use super::call::Call;
use super::outgoing::{Letter, Line, Outgoing};
use super::retry::{Case, choice};
use super::stream::Nobody;
use crate::decide::send::Place;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::refusal::Refusal;
use crate::report::send::Resolution;
use crate::run::Missive;
use crate::wire::answer::Reading;
use crate::wire::json::{Document, Limits};
use crate::wire::message::SendMessage;
use crate::wire::negotiate::Source;
use crate::wire::request::{Operation, Request, build};

impl<L: Log> Missive<L> {
    pub(super) async fn resend(
        &self,
        case: &mut Case,
        facts: &SendRequested,
        line: Line,
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let stored = self.stored_message(case, &facts.message).await?;
        let extras = self.extras(case.peer.alias.as_ref());
        let operation = if matches!(case.event.kind, EventKind::StreamRequested(_)) {
            Operation::SendStreamingMessage(stored.message.clone())
        } else {
            Operation::SendMessage(stored.message.clone())
        };
        let built =
            build(&line.choice, &operation, &extras, &stored.request_id).map_err(Refusal::from)?;
        let request = Request {
            body: Some(stored.body),
            ..built
        };
        let place = Place {
            context: case.event.links.context.clone(),
            task: case.event.links.task.clone(),
            group: case.event.links.group.clone(),
            is_new: false,
            is_closed: false,
        };
        let peer = case.peer.clone();
        let mut outgoing = Outgoing {
            peer: &peer,
            message_id: &facts.message,
            place: &place,
            line,
            operation,
            request,
            request_id: stored.request_id,
            parts: usize::try_from(facts.parts).unwrap_or(usize::MAX),
            attempt: facts.attempt.saturating_add(1),
            check_task: false,
        };
        if outgoing.operation.is_streamed() {
            let peer = peer.clone();
            return self
                .resend_stream(case, &mut outgoing, peer, interrupt)
                .await;
        }
        let once =
            async |course: &mut Course, outgoing: &Outgoing<'_>, interrupt: &mut Interrupt| {
                self.attempt_once(course, outgoing, interrupt).await
            };
        let answered = self
            .attempt(&mut case.course, &mut outgoing, interrupt, &once)
            .await;
        match answered {
            Ok(answered) => Ok(answered.reading),
            Err(unanswered) => Err(unanswered.error),
        }
    }

    /// The message exactly as it was sent, if the log has it so.
    async fn stored_message(
        &self,
        case: &Case,
        message: &MessageId,
    ) -> Result<StoredMessage, CommandError> {
        let operation = case.course.operation.clone();
        let stored = self.stored_bytes(case.open.seq, Role::Request).await?;
        let Some(stored) = stored else {
            return Err(Refusal::Erased { operation }.into());
        };
        if stored.redacted > 0 {
            let message_id = message.to_string();
            let refusal = Refusal::Redacted {
                operation,
                message_id,
            };
            return Err(refusal.into());
        }
        StoredMessage::read(stored.bytes, case.open.seq).map_err(CommandError::from)
    }

    /// What became of a message whose answer should have streamed.
    pub(super) async fn resolve_stream(
        &self,
        case: &mut Case,
        facts: &StreamRequested,
        resend: bool,
        interrupt: &mut Interrupt,
    ) -> Result<(Reading, Resolution), CommandError> {
        let sent = as_sent(facts);
        let landed = case.open.task.clone();
        match landed.filter(|_| case.event.links.task.is_none()) {
            // An update came before the process ended: the message arrived, and this is its task.
            Some(task) => {
                let reading = self.ask_for(case, &sent, &task, interrupt).await?;
                self.resolved(case, &reading).await?;
                Ok((reading, Resolution::Found))
            }
            None => self.resolve_send(case, &sent, resend, interrupt).await,
        }
    }

    async fn ask_for(
        &self,
        case: &mut Case,
        sent: &SendRequested,
        task: &TaskId,
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let mut chosen = choice(sent.binding, sent.url.as_str(), Source::Card);
        chosen.tenant = sent.tenant.as_ref().map(ToString::to_string);
        let line = self.line(case, chosen, interrupt).await?;
        self.question_of(case, &line, task, interrupt).await
    }

    async fn question_of(
        &self,
        case: &mut Case,
        line: &Line,
        task: &TaskId,
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let mut links = case.event.links.clone();
        links.task = Some(task.clone());
        let call = Call {
            agent: case.peer.alias.as_ref(),
            line,
            operation: Operation::GetTask {
                task_id: task.to_string(),
                history_length: None,
            },
            links,
            known: None,
            abandoned: None,
        };
        self.call(&mut case.course, call, interrupt).await
    }

    /// What became of a task that a process followed when it ended: the stream is not opened again.
    pub(super) async fn look_again(
        &self,
        case: &mut Case,
        facts: &SubscriptionRequested,
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let chosen = choice(facts.binding, facts.url.as_str(), Source::Card);
        let line = self.line(case, chosen, interrupt).await?;
        let operation = case.course.operation.clone();
        let (intent, links) = (case.open.seq, case.event.links.clone());
        self.conclude(&mut case.course, intent, |moment| {
            let kind = EventKind::StreamClosed(StreamClosed {
                end: StreamEnd::ProcessEnded,
                status: None,
                failure: Some(Why::ProcessEnded),
                error: None,
                updates: 0,
                state: None,
            });
            vec![moment.step(&operation, Some(intent), &links, kind, Vec::new())]
        })
        .await?;
        self.question_of(case, &line, &facts.task, interrupt).await
    }

    /// The same message again, as a stream that is followed to its end.
    async fn resend_stream(
        &self,
        case: &mut Case,
        outgoing: &mut Outgoing<'_>,
        peer: crate::peer::Peer,
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let once =
            async |course: &mut Course, outgoing: &Outgoing<'_>, interrupt: &mut Interrupt| {
                self.begin_stream(course, outgoing, interrupt).await
            };
        let begun = self
            .attempt(&mut case.course, outgoing, interrupt, &once)
            .await;
        let (channel, begun) = begun.map_err(|unanswered| unanswered.error)?;
        let letter = Letter {
            peer,
            place: outgoing.place.clone(),
            id: outgoing.message_id.clone(),
            message: SendMessage::default(),
            only: None,
        };
        let mut flow = Self::flow_of(case.course.clone(), &letter, &outgoing.line);
        let carried = self
            .carry(&mut flow, channel, begun, &mut Nobody, interrupt)
            .await;
        let (course, reading) = flow.into_answer();
        case.course = course;
        carried.map(|_| reading)
    }
}

/// The same facts as those of a message that was sent without a stream.
pub(super) fn as_sent(facts: &StreamRequested) -> SendRequested {
    SendRequested {
        instance: facts.instance,
        message: facts.message.clone(),
        binding: facts.binding,
        url: facts.url.clone(),
        source: facts.source,
        version: facts.version.clone(),
        tenant: facts.tenant.clone(),
        parts: facts.parts,
        attempt: facts.attempt,
    }
}

/// A message that was sent before.
pub(super) struct StoredMessage {
    body: Vec<u8>,
    pub(super) request_id: String,
    /// Only what an answer is compared with.
    message: SendMessage,
}

impl StoredMessage {
    pub(super) fn read(body: Vec<u8>, seq: Seq) -> Result<Self, Failure> {
        let document = Document::read(&body, &Limits::default()).map_err(|_| Failure::Payload {
            seq,
            why: "it is no message",
        })?;
        let value = document.value();
        let request = value.get("params").unwrap_or(value);
        let text = |name: &str| {
            let member = request.get("message").and_then(|message| message.get(name));
            member.and_then(|member| member.as_str()).map(str::to_owned)
        };
        let id = value.get("id").and_then(|id| id.as_str());
        Ok(Self {
            request_id: id.unwrap_or_default().to_owned(),
            message: SendMessage {
                message_id: text("messageId").unwrap_or_default(),
                context_id: text("contextId"),
                task_id: text("taskId"),
                ..SendMessage::default()
            },
            body,
        })
    }
}
