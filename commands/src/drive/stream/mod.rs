//! Messages whose answer streams, and subscriptions to tasks.
//!
//! Promises: an intent before anything is opened, one event per update, and one that says how the stream
//! ended. A stream that breaks while its task goes on is resumed by subscribing to the task, a bounded
//! number of times, and then asked for; an end that is none is never success (C053). A stream that broke
//! before it said anything is in doubt, like a message without an answer.

mod close;
mod follow;
mod intake;
mod picture;
mod resume;

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use missive_log::Log;
use missive_log::event::facts::{StreamEnd, TaskState as State};
use missive_log::event::{ContextId, Links, TaskId};

use super::card::Want;
use super::choose::Chosen;
use super::outcome::shape_of;
use super::outgoing::{Letter, Line, Outgoing};
use super::send::{Send, Unanswered, name_of};
use super::wait::Pauses;
use super::{Course, Done};
use crate::decide::Decide;
use crate::effect::ask::AskError;
use crate::effect::http::Sent;
use crate::effect::reach::{Call, CallError};
use crate::effect::stream::{Incoming, Opened, open};
use crate::exit::Exit;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::note::Note;
use crate::peer::{Peer, Target};
use crate::report::send::{RequestReport, ResponseReport};
use crate::report::stream::{StreamEvent, StreamReport};
use crate::run::Missive;
use crate::task::of;
use crate::wire::answer::Reading;
use crate::wire::error::PeerError;
use crate::wire::request::{Operation, Request, Verb};
use crate::wire::text::excerpt;
use crate::wire::version::Binding;
use follow::{Channel, LINGER, LINGER_UNSEEN};
use picture::{Picture, event_of_answer};

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

/// A task as it is followed, by one stream or several.
pub(crate) struct Flow<'a> {
    course: Course,
    peer: &'a Peer,
    line: &'a Line,
    /// What is known of context and task before anything comes.
    links: Links,
    picture: Picture,
    /// Whether the next update is the first that the user asked to see of a task that goes on.
    begins_here: bool,
    /// The interrupted state that a subscription began with, which does not end it (C069).
    begun_in: Option<State>,
    /// The HTTP method that subscriptions were last answered by.
    verb: Option<Verb>,
    /// The pause before a reconnection that the peer wished for.
    pause_asked: Option<Duration>,
    resumes: u32,
    /// How long a stream is watched after its task ended.
    linger: Duration,
    noted: usize,
    /// Which of the violations that every update repeats were told to the user.
    noted_once: BTreeSet<&'static str>,
    /// What broke the last stream, until another one brings it up again.
    broke: Option<String>,
    end: &'static str,
}

impl<'a> Flow<'a> {
    fn new(course: Course, peer: &'a Peer, line: &'a Line, links: Links, picture: Picture) -> Self {
        Self {
            course,
            peer,
            line,
            links,
            picture,
            begins_here: false,
            begun_in: None,
            verb: None,
            pause_asked: None,
            resumes: 0,
            linger: LINGER,
            noted: 0,
            noted_once: BTreeSet::new(),
            broke: None,
            end: "",
        }
    }

    /// How the stream is over, if nothing more needs to be waited for.
    fn over(&self) -> Option<StreamEnd> {
        match self.picture.state() {
            Some(state) if state.is_terminal() => Some(StreamEnd::Terminal),
            Some(state) if state.is_interrupted() && self.begun_in != Some(state) => {
                Some(StreamEnd::Interrupted)
            }
            Some(_) => None,
            None => self.picture.is_message().then_some(StreamEnd::Message),
        }
    }

    /// What all of it came to, and where its operation stands.
    pub(crate) fn into_answer(self) -> (Course, Reading) {
        let reading = self.picture.into_reading();
        (self.course, reading)
    }

    /// Whether things came that should be updates, and none is one.
    fn is_useless(&self) -> bool {
        self.picture.is_empty() && self.picture.malformed > 0
    }

    fn task(&self) -> Option<TaskId> {
        TaskId::new(self.picture.task_id()?).ok()
    }
}

/// How one stream ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// As it should.
    Over(StreamEnd),
    /// The peer ended it too early, after these bytes that are no frame.
    Early(Vec<u8>),
    /// The peer answered a message with a stream in which nothing is an update, and these bytes.
    Useless(Vec<u8>),
    /// The connection broke.
    Broken(CallError),
    /// The user's time ran out.
    OutOfTime(CallError),
    /// The peer follows another task than the one that was asked for.
    Foreign,
    /// An event is larger than this configuration allows; in words.
    TooLarge(String),
    /// The peer reported an error.
    Error(Box<PeerError>),
    /// One whole answer came instead.
    Answer,
    /// The user has seen enough.
    Detached,
}

/// How the peer answered a request for a stream.
pub(crate) enum Begun {
    /// With a stream.
    Stream(Box<Incoming>),
    /// With one whole answer.
    Answer(Box<Reading>, Box<Call>),
    /// Not usably.
    Refused(AskError, Box<Call>),
    /// The user interrupted before; whether bytes may have left.
    Interrupted(bool),
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
        let exit = self
            .carry(&mut flow, channel, begun, sink, interrupt)
            .await?;
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

/// The result of a flow.
fn report(
    flow: &Flow<'_>,
    request: Option<RequestReport>,
    canceled: Option<String>,
    exit: Exit,
) -> Done<StreamReport> {
    let is_message = flow.picture.is_message();
    let report = StreamReport {
        operation_id: flow.course.operation.to_string(),
        agent: name_of(flow.peer),
        interface: flow.line.report(),
        request,
        response: ResponseReport {
            shape: if is_message { "message" } else { "task" },
        },
        answer: flow.picture.report(),
        end: if exit == Exit::Timeout {
            "timeout"
        } else if exit == Exit::Interrupted {
            "detached"
        } else {
            flow.end
        },
        updates: flow.picture.updates,
        malformed: flow.picture.malformed,
        resumes: u64::from(flow.resumes),
        text_cut: flow.picture.text_cut,
        canceled,
        route: None,
        sequence: flow.course.newest.0,
    };
    Done { report, exit }
}

/// Whether a card says that its agent does not stream.
pub(super) fn says_no(chosen: &Chosen) -> bool {
    let card = chosen.card.as_ref();
    card.is_some_and(|loaded| !loaded.card.capabilities.streaming)
}
