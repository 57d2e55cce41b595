//! A task as it is followed, how its streams begin and end, and what it comes to.

use std::collections::BTreeSet;
use std::time::Duration;

use missive_log::event::facts::{StreamEnd, TaskState as State};
use missive_log::event::{Links, TaskId};

use super::super::outgoing::Line;
use super::super::send::name_of;
use super::super::{Course, Done};
use super::follow::LINGER;
use super::picture::Picture;
use crate::effect::ask::AskError;
use crate::effect::reach::{Call, CallError};
use crate::effect::stream::Incoming;
use crate::exit::Exit;
use crate::peer::Peer;
use crate::report::send::{RequestReport, ResponseReport};
use crate::report::stream::StreamReport;
use crate::wire::answer::Reading;
use crate::wire::error::PeerError;
use crate::wire::request::Verb;

/// A task as it is followed, by one stream or several.
pub(crate) struct Flow<'a> {
    pub(super) course: Course,
    pub(super) peer: &'a Peer,
    pub(super) line: &'a Line,
    /// What is known of context and task before anything comes.
    pub(super) links: Links,
    pub(super) picture: Picture,
    /// Whether the next update is the first that the user asked to see of a task that goes on.
    pub(super) begins_here: bool,
    /// The interrupted state that a subscription began with, which does not end it (C069).
    pub(super) begun_in: Option<State>,
    /// The HTTP method that subscriptions were last answered by.
    pub(super) verb: Option<Verb>,
    /// The pause before a reconnection that the peer wished for.
    pub(super) pause_asked: Option<Duration>,
    pub(super) resumes: u32,
    /// How long a stream is watched after its task ended.
    pub(super) linger: Duration,
    pub(super) noted: usize,
    /// Which of the violations that every update repeats were told to the user.
    pub(super) noted_once: BTreeSet<&'static str>,
    /// What broke the last stream, until another one brings it up again.
    pub(super) broke: Option<String>,
    pub(super) end: &'static str,
}

impl<'a> Flow<'a> {
    pub(super) fn new(
        course: Course,
        peer: &'a Peer,
        line: &'a Line,
        links: Links,
        picture: Picture,
    ) -> Self {
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
    pub(super) fn over(&self) -> Option<StreamEnd> {
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
    pub(super) fn is_useless(&self) -> bool {
        self.picture.is_empty() && self.picture.malformed > 0
    }

    pub(super) fn task(&self) -> Option<TaskId> {
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

/// The result of a flow.
pub(super) fn report(
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
