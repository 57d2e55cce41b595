//! Messages whose answer streams, and subscriptions to tasks.
//!
//! Promises: an intent before anything is opened, one event per update, and one that says how the stream
//! ended. A stream that breaks while its task goes on is resumed by subscribing to the task, a bounded
//! number of times, and then asked for; an end that is none is never success (C053). A stream that broke
//! before it said anything is in doubt, like a message without an answer.

mod close;
mod flow;
mod follow;
mod intake;
mod picture;
mod resume;
mod update;

use std::future::Future;

use missive_log::Log;
use missive_log::event::{ContextId, Links, TaskId};

use super::card::Want;
use super::choose::Chosen;
use super::outcome::shape_of;
use super::outgoing::{Letter, Line, Outgoing};
use super::send::{Send, Unanswered, began};
use super::wait::Pauses;
use super::{Course, Done};
use crate::decide::Decide;
use crate::effect::http::Sent;
use crate::effect::stream::{Opened, open};
use crate::exit::Exit;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::note::Note;
use crate::peer::{Peer, Target};
use crate::report::stream::{StreamEvent, StreamReport};
use crate::run::Missive;
use crate::task::of;
use crate::wire::answer::Reading;
use crate::wire::request::{Operation, Request};
use crate::wire::text::excerpt;
use crate::wire::version::Binding;
use flow::report;
pub(crate) use flow::{Begun, Ended, Flow};
use follow::LINGER_UNSEEN;
use picture::{Picture, event_of_answer};
use update::Channel;

/// `stream`.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The message. `wait` and `return_immediately` have no effect on it.
    pub send: Send,
    /// Ask for a stream although the card says that there are none.
    pub force: bool,
    /// Cancel the task when the user interrupts, instead of leaving it at work.
    pub cancel_on_interrupt: bool,
}

/// `task subscribe`.
#[derive(Clone, Debug)]
pub struct Subscribe {
    /// Whose task.
    pub target: Target,
    /// The task.
    pub task: TaskId,
    /// Its context, where it is known.
    pub context: Option<ContextId>,
    /// Only this binding.
    pub binding: Option<Binding>,
}

/// Who is shown every update, once it is durable.
pub trait Show {
    /// Shows one update. As long as it takes, no further one is read.
    fn show(&mut self, event: StreamEvent) -> impl Future<Output = ()>;

    /// Whether notes are told between the updates. Else they are kept for the end of the command.
    fn wants_notes(&self) -> bool {
        false
    }

    /// Tells what the user should know now.
    fn tell(&mut self, _: Note) -> impl Future<Output = ()> {
        std::future::ready(())
    }
}

impl Show for Vec<StreamEvent> {
    async fn show(&mut self, event: StreamEvent) {
        self.push(event);
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Show for Nobody {
    async fn show(&mut self, _: StreamEvent) {}
}

impl<L: Log> Missive<L> {
    /// Sends a message and follows its answer.
    ///
    /// # Errors
    /// A refusal, with nothing of the message recorded; or a failure, which the log knows as well.
    pub async fn stream(
        &self,
        command: &Stream,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Done<StreamReport>, CommandError> {
        let letter = self.letter(&command.send)?;
        self.note_waiting(&letter)?;
        let mut course = Course::new(self.ids().operation());
        let only = command.send.binding;
        let chosen = self
            .choose(&mut course, &letter.peer, only, Want::Usable, interrupt)
            .await?;
        if !command.force && says_no(&chosen) {
            self.note(Note::NoStreaming);
            return self
                .unstreamed(&mut course, chosen, &letter, command, sink, interrupt)
                .await;
        }
        let operation = Operation::SendStreamingMessage(letter.message.clone());
        let once =
            async |course: &mut Course, outgoing: &Outgoing<'_>, interrupt: &mut Interrupt| {
                self.begin_stream(course, outgoing, interrupt).await
            };
        let (line, (channel, begun)) = self
            .deliver(&mut course, chosen, &letter, &operation, interrupt, once)
            .await?;
        let request = letter.report(&command.send);
        let mut flow = Self::flow_of(course, &letter, &line);
        let carried = self.carry(&mut flow, channel, begun, sink, interrupt).await;
        if letter.place.task.is_none() {
            self.count_early_of(flow.task().as_ref()).await;
        }
        let exit = carried?;
        let canceled = if command.cancel_on_interrupt && exit == Exit::Interrupted {
            self.cancel_now(&mut flow, sink).await
        } else {
            None
        };
        self.settle();
        Ok(report(&flow, Some(request), canceled, exit))
    }

    /// Follows a task that goes on.
    ///
    /// # Errors
    /// A refusal, with nothing recorded; or a failure, which the log knows as well.
    pub async fn subscribe(
        &self,
        command: &Subscribe,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Done<StreamReport>, CommandError> {
        let peer = self.peer(&command.target)?;
        let mut course = Course::new(self.ids().operation());
        let chosen = self
            .choose(&mut course, &peer, command.binding, Want::Usable, interrupt)
            .await?;
        let streams = !says_no(&chosen);
        let line = Line::new(chosen.negotiated.choice, self.redactor())?;
        line.tell();
        let links = Links {
            agent: peer.alias.clone(),
            context: command.context.clone(),
            task: Some(command.task.clone()),
            group: None,
        };
        let context = command.context.as_ref().map(ContextId::as_str);
        let mut picture = Picture::of_task(command.task.as_str(), context);
        if let Some(known) = of(&self.views(), &command.task, Some(&command.target))? {
            picture.ended(known.state);
        }
        let mut flow = Flow::new(course, &peer, &line, links, picture);
        let exit = if streams {
            self.subscribe_first(&mut flow, sink, interrupt).await?
        } else {
            self.note(Note::NoSubscription);
            self.poll(&mut flow, sink, interrupt).await?
        };
        if let Some((told, end)) = flow.picture.contradiction() {
            let told = self.redactor().clean(&excerpt(told));
            self.note(Note::OtherEnd { told, end });
        }
        self.settle();
        Ok(report(&flow, None, None, exit))
    }

    /// Follows a task that goes on until it ends or waits for somebody, for whoever shows nothing of it.
    ///
    /// # Errors
    /// The task could not be followed; whoever called may ask for it instead.
    pub(super) async fn attend(
        &self,
        course: &mut Course,
        peer: &Peer,
        line: &Line,
        links: Links,
        interrupt: &mut Interrupt,
    ) -> Result<(Reading, Exit), CommandError> {
        let task = links.task.as_ref().map_or("", TaskId::as_str);
        let context = links.context.as_ref().map(ContextId::as_str);
        let picture = Picture::of_task(task, context);
        let mut flow = Flow::new(course.clone(), peer, line, links, picture);
        flow.linger = LINGER_UNSEEN;
        let followed = self
            .subscribe_first(&mut flow, &mut Nobody, interrupt)
            .await;
        let reading;
        (*course, reading) = flow.into_answer();
        Ok((reading, followed?))
    }

    /// The beginning of a flow that a message opens.
    pub(crate) fn flow_of<'a>(course: Course, letter: &'a Letter, line: &'a Line) -> Flow<'a> {
        let links = Links {
            agent: letter.peer.alias.clone(),
            context: letter.place.context.clone(),
            task: letter.place.task.clone(),
            group: letter.place.group.clone(),
        };
        let picture = Picture::asked_in(&letter.place);
        Flow::new(course, &letter.peer, line, links, picture)
    }

    /// One attempt at a message: its intent, and how the answer begins. What never began is concluded.
    pub(crate) async fn begin_stream(
        &self,
        course: &mut Course,
        outgoing: &Outgoing<'_>,
        interrupt: &mut Interrupt,
    ) -> Result<(Channel, Begun), Unanswered> {
        let operation = course.operation.clone();
        let intent = outgoing.intent(&operation);
        let links = intent.links();
        let attempt = outgoing.attempt;
        tracing::info!(%operation, message_id = %outgoing.message_id, attempt, "message is sent, for a stream");
        let (channel, begun) = self
            .begin(
                course,
                &intent,
                &outgoing.line,
                (&outgoing.operation, &outgoing.request, &outgoing.request_id),
                interrupt,
            )
            .await?;
        match begun {
            Begun::Refused(error, call) => {
                self.close_unopened(course, &channel, &links, Some((&error, &call)))
                    .await?;
                let bytes = outgoing.request.body.as_ref().map_or(0, Vec::len);
                Err(self.unanswered(operation, bytes, error, *call))
            }
            Begun::Interrupted(in_doubt) => {
                self.close_interrupted(course, &channel, &links, in_doubt)
                    .await?;
                Err(CommandError::from(Failure::Interrupted {
                    operation,
                    in_doubt,
                    task: None,
                })
                .into())
            }
            begun @ (Begun::Stream(_) | Begun::Answer(..)) => Ok((channel, begun)),
        }
    }

    /// Records an intent and opens its stream.
    async fn begin(
        &self,
        course: &mut Course,
        intent: &impl Decide,
        line: &Line,
        (operation, request, request_id): (&Operation, &Request, &str),
        interrupt: &mut Interrupt,
    ) -> Result<(Channel, Begun), CommandError> {
        let intent = self.intend(course, intent).await?;
        let channel = Channel {
            intent,
            request_id: request_id.to_owned(),
            binding: line.choice.binding,
            subscription: operation.is_repeatable(),
            updates: 0,
            preface: Vec::new(),
        };
        let sent = Sent::default();
        let opening = open(
            self.calls(),
            channel.binding,
            operation,
            request,
            request_id,
            self.deadline(),
            &sent,
        );
        let opened = tokio::select! {
            biased;
            opened = opening => Some(opened),
            () = interrupt.came() => None,
        };
        let begun = match opened {
            None => Begun::Interrupted(sent.may_have_left()),
            Some(Opened::Stream(incoming)) => Begun::Stream(incoming),
            Some(Opened::Plain { call, meaning }) => match *meaning {
                Ok(reading) => Begun::Answer(Box::new(reading), call),
                Err(error) => Begun::Refused(error, call),
            },
        };
        Ok((channel, begun))
    }

    /// The same message without a stream: sent, and asked for until its task is over.
    async fn unstreamed(
        &self,
        course: &mut Course,
        chosen: Chosen,
        letter: &Letter,
        command: &Stream,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Done<StreamReport>, CommandError> {
        let operation = Operation::SendMessage(letter.message.clone());
        let once =
            async |course: &mut Course, outgoing: &Outgoing<'_>, interrupt: &mut Interrupt| {
                self.attempt_once(course, outgoing, interrupt).await
            };
        let (line, answered) = self
            .deliver(course, chosen, letter, &operation, interrupt, once)
            .await?;
        let first = answered.reading;
        self.count_early_of(began(&letter.place, &first).as_ref())
            .await;
        let (reading, exit) = self
            .wait(
                course,
                &letter.peer,
                &line,
                first,
                Pauses::default(),
                interrupt,
            )
            .await?;
        sink.show(event_of_answer(&reading, course.newest.0)).await;
        let mut flow = Self::flow_of(course.clone(), letter, &line);
        flow.end = "polled";
        flow.picture.answered(&reading);
        let canceled = if command.cancel_on_interrupt && exit == Exit::Interrupted {
            self.cancel_now(&mut flow, sink).await
        } else {
            None
        };
        self.settle();
        let request = letter.report(&command.send);
        let mut done = report(&flow, Some(request), canceled, exit);
        done.report.response.shape = shape_of(&reading).as_str();
        Ok(done)
    }
}

/// Whether a card says that its agent does not stream.
pub(super) fn says_no(chosen: &Chosen) -> bool {
    let card = chosen.card.as_ref();
    card.is_some_and(|loaded| !loaded.card.capabilities.streaming)
}
