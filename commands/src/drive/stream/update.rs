//! What a frame of a stream comes to: an update as it is written and shown, or how the stream ends.
//!
//! Promises: nothing that came is lost. What should be an update and is none is kept with its frame, flagged,
//! and of any number of such the first are told to the user.

use std::time::Duration;

use missive_log::Log;
use missive_log::event::facts::{Malformed as Wrong, StreamEnd, TaskState as State};
use missive_log::event::kind::{
    StreamArtifactUpdate, StreamMalformed, StreamMessage, StreamStatusUpdate, StreamTask,
};
use missive_log::event::{EventKind, Links, MessageId, Seq, TaskId};

use super::{Ended, Flow};
use crate::effect::reach::CallErrorKind;
use crate::effect::stream::Next;
use crate::facts;
use crate::note::Note;
use crate::report::stream::StreamEvent;
use crate::run::Missive;
use crate::wire::json::Limits;
use crate::wire::sse::{Frame, Unterminated};
use crate::wire::stream::{Meaning, read_frame};
use crate::wire::update::{Update, UpdateKind};
use crate::wire::version::Binding;

/// The most bytes that are kept of what comes before the first event: an error may have no `data:`.
const PREFACE_BYTES_MAX: usize = 64 << 10;
/// How many violations of one stream are told to the user.
const NOTES_MAX: usize = 8;

/// A request whose answer streams.
#[derive(Debug)]
pub(crate) struct Channel {
    /// The place of its intent.
    pub(crate) intent: Seq,
    /// Its JSON-RPC id.
    pub(crate) request_id: String,
    /// Its binding.
    pub(crate) binding: Binding,
    /// Whether it follows a task, and sent no message.
    pub(crate) subscription: bool,
    /// How many updates came by it.
    pub(crate) updates: u64,
    /// What came before the first event.
    pub(crate) preface: Vec<u8>,
}

/// What is to be written.
pub(super) struct Item {
    pub(super) kind: EventKind,
    pub(super) links: Links,
    pub(super) data: Option<String>,
    pub(super) frame: Option<Vec<u8>>,
    pub(super) words: Option<String>,
    pub(super) shown: Option<StreamEvent>,
    /// What is to be known of it, once it is durable.
    pub(super) notes: Vec<Note>,
}

impl Item {
    pub(super) fn bytes(&self) -> usize {
        let data = self.data.as_ref().map_or(0, String::len);
        data + self.frame.as_ref().map_or(0, Vec::len)
    }
}

/// What a frame comes to.
pub(super) enum Read {
    Nothing,
    Item(Box<Item>),
    Ended(Ended),
}

impl<L: Log> Missive<L> {
    /// What a frame comes to.
    pub(super) fn read(&self, flow: &mut Flow<'_>, channel: &mut Channel, frame: Frame) -> Read {
        if let Some(pause) = frame.retry_ms() {
            flow.pause_asked = Some(Duration::from_millis(pause));
        }
        let limits = self.limits_of_updates();
        match read_frame(channel.binding, &channel.request_id, &frame, &limits) {
            Meaning::Nothing => {
                let room = PREFACE_BYTES_MAX.saturating_sub(channel.preface.len());
                if flow.picture.updates == 0 && frame.raw().len() <= room {
                    channel.preface.extend_from_slice(frame.raw());
                }
                Read::Nothing
            }
            Meaning::Error(error) => Read::Ended(Ended::Error(error)),
            Meaning::Update(update) => {
                Read::Item(Box::new(self.update(flow, channel, *update, frame)))
            }
            Meaning::Malformed(why) => {
                let (told, wrong) = (why.to_string(), facts::malformed(&why));
                let raw = Some(frame.into_raw());
                Read::Item(Box::new(self.malformed(flow, channel, wrong, told, raw)))
            }
        }
    }

    /// How a stream ends that brings no further frame, and what is still to be written of it.
    pub(super) fn ending(
        &self,
        flow: &mut Flow<'_>,
        channel: &mut Channel,
        over: Option<StreamEnd>,
        next: Next,
    ) -> (Option<Item>, Ended) {
        match self.last_words(flow, channel, &next) {
            Read::Nothing => ending(flow, channel, over, next),
            Read::Item(item) => {
                let (_, end) = ending(flow, channel, flow.over(), Next::End(None));
                (Some(*item), end)
            }
            Read::Ended(end) => (None, over.map_or(end, Ended::Over)),
        }
    }

    /// What stands at the end of a stream without a blank line behind it. The event stream format drops
    /// it, since it may have been cut. JSON says itself whether it is whole, and there are agents that
    /// forget the line: so a whole update, or error, is taken and flagged. What was cut stays in the end.
    fn last_words(&self, flow: &mut Flow<'_>, channel: &mut Channel, next: &Next) -> Read {
        let Next::End(Some(rest)) = next else {
            return Read::Nothing;
        };
        let Some(frame) = rest.as_frame() else {
            return Read::Nothing;
        };
        let limits = self.limits_of_updates();
        match read_frame(channel.binding, &channel.request_id, &frame, &limits) {
            Meaning::Update(mut update) => {
                let what = "the last event of the stream has no blank line behind it";
                update.odd.note("unterminated_event", what);
                Read::Item(Box::new(self.update(flow, channel, *update, frame)))
            }
            Meaning::Error(error) => Read::Ended(Ended::Error(error)),
            Meaning::Nothing | Meaning::Malformed(_) => Read::Nothing,
        }
    }

    fn limits_of_updates(&self) -> Limits {
        Limits {
            bytes_max: self.calls().settings().stream.event_bytes_max,
            ..Limits::default()
        }
    }

    /// Something that should be an update and is none, with a word about it.
    fn malformed(
        &self,
        flow: &mut Flow<'_>,
        channel: &mut Channel,
        wrong: Wrong,
        words: String,
        frame: Option<Vec<u8>>,
    ) -> Item {
        let note = (flow.picture.malformed < NOTES_MAX as u64)
            .then(|| Note::Malformed(self.redactor().clean(&words)));
        let mut item = malformed(flow, channel, wrong, words, frame);
        item.notes.extend(note);
        item
    }

    /// An update as it is written and shown.
    fn update(
        &self,
        flow: &mut Flow<'_>,
        channel: &mut Channel,
        mut update: Update,
        frame: Frame,
    ) -> Item {
        let known = flow.picture.task_id().map(str::to_owned);
        let told = update.task_id().map(str::to_owned).or(known);
        let task = told.and_then(|id| TaskId::new(&id).ok());
        if task.is_none() && !matches!(update.kind, UpdateKind::Message(_)) {
            let why = "the update does not say which task it is about".to_owned();
            let raw = Some(frame.into_raw());
            return self.malformed(flow, channel, Wrong::MissingField, why, raw);
        }
        let mut shown = flow.picture.take(&mut update);
        if std::mem::take(&mut flow.begins_here) {
            flow.begun_in = flow.picture.state().filter(|state| state.is_interrupted());
        } else if flow.picture.state() != flow.begun_in {
            flow.begun_in = None;
        }
        channel.updates += 1;
        let mut notes = Vec::new();
        for violation in update.odd.as_slice() {
            // An answer in another place says so with every update.
            let repeats = matches!(violation.code, "context_mismatch" | "task_mismatch");
            let again = repeats && !flow.noted_once.insert(violation.code);
            if flow.noted < NOTES_MAX && !again {
                flow.noted += 1;
                let text = self.redactor().clean(&violation.to_string());
                notes.push(Note::Violation(text));
            }
        }
        let context = facts::context(update.context_id());
        let links = Links {
            agent: flow.links.agent.clone(),
            context: context.or_else(|| facts::context(flow.picture.context_id())),
            task: task.clone(),
            group: None,
        };
        let Some(kind) = kind_of(&update, task, channel.updates) else {
            // A task, or an artifact, under an id that nobody can keep.
            channel.updates -= 1;
            let why = "the update has no id that can be kept".to_owned();
            let raw = Some(frame.into_raw());
            return self.malformed(flow, channel, Wrong::MissingField, why, raw);
        };
        let data = frame
            .data()
            .ok()
            .flatten()
            .map(std::borrow::Cow::into_owned);
        let beside = data
            .as_deref()
            .is_none_or(|data| !is_plain(frame.raw(), data));
        shown.context_id = links.context.as_ref().map(ToString::to_string);
        Item {
            kind,
            links,
            data,
            frame: beside.then(|| frame.into_raw()),
            words: None,
            shown: Some(shown),
            notes,
        }
    }
}

/// An update as a fact; `None` if it has no id that can be kept.
fn kind_of(read: &Update, task: Option<TaskId>, update: u64) -> Option<EventKind> {
    let violations = facts::violations(&read.odd);
    Some(match &read.kind {
        UpdateKind::Task(task) => EventKind::StreamTask(StreamTask {
            update,
            task: facts::task(task)?,
            violations,
        }),
        UpdateKind::Message(message) => {
            let id = message.message_id.as_deref();
            EventKind::StreamMessage(StreamMessage {
                update,
                message: id.and_then(|id| MessageId::new(id).ok()),
                violations,
            })
        }
        UpdateKind::Status(status) => EventKind::StreamStatusUpdate(StreamStatusUpdate {
            update,
            status: facts::status(task?, status),
            violations,
        }),
        UpdateKind::Artifact(chunk) => EventKind::StreamArtifactUpdate(StreamArtifactUpdate {
            update,
            chunk: facts::chunk(task?, chunk)?,
            violations,
        }),
    })
}

/// The task that an update is about: then it is the subject of the fact.
pub(super) fn subject_of(kind: &EventKind) -> Option<&TaskId> {
    if let EventKind::StreamTask(facts) = kind {
        return Some(&facts.task.task);
    }
    if let EventKind::StreamStatusUpdate(facts) = kind {
        return Some(&facts.status.task);
    }
    if let EventKind::StreamArtifactUpdate(facts) = kind {
        return Some(&facts.chunk.task);
    }
    None
}

/// Whether a frame is one `data` line and nothing else, whatever its line ends: its data say it all.
fn is_plain(raw: &[u8], data: &str) -> bool {
    let raw = raw.strip_prefix(b"\n").unwrap_or(raw);
    let Some(rest) = raw.strip_prefix(b"data:") else {
        return false;
    };
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let Some(ends) = rest.strip_prefix(data.as_bytes()) else {
        return false;
    };
    ends.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}

fn malformed(
    flow: &mut Flow<'_>,
    channel: &mut Channel,
    why: Wrong,
    words: String,
    frame: Option<Vec<u8>>,
) -> Item {
    flow.picture.malformed += 1;
    channel.updates += 1;
    Item {
        kind: EventKind::StreamMalformed(StreamMalformed {
            update: channel.updates,
            why,
        }),
        links: flow.links.clone(),
        data: None,
        frame,
        words: Some(words),
        shown: None,
        notes: Vec::new(),
    }
}

/// How a stream ends that brings no further frame, and what is still to be written of it.
fn ending(
    flow: &mut Flow<'_>,
    channel: &mut Channel,
    over: Option<StreamEnd>,
    next: Next,
) -> (Option<Item>, Ended) {
    match (next, over) {
        (Next::TooLarge(error), _) => {
            let words = error.to_string();
            let item = malformed(flow, channel, Wrong::TooLarge, words.clone(), None);
            (Some(item), Ended::TooLarge(words))
        }
        // Whatever happens to the connection of a task that is over.
        (_, Some(end)) => (None, Ended::Over(end)),
        // A subscription that began in a pause ends with it, if the agent ends it there.
        (Next::End(_), None) if flow.picture.state().is_some_and(State::is_interrupted) => {
            (None, Ended::Over(StreamEnd::Interrupted))
        }
        // Something came, so the message arrived; but none of it can be used.
        (Next::End(rest), None) if !channel.subscription && flow.is_useless() => {
            (None, Ended::Useless(bytes_of(rest)))
        }
        (Next::End(rest), None) => (None, Ended::Early(bytes_of(rest))),
        (Next::Cut(error), None) if error.kind == CallErrorKind::TotalTimeout => {
            (None, Ended::OutOfTime(error))
        }
        (Next::Cut(error), None) => (None, Ended::Broken(error)),
        (Next::Frame(_), None) => (None, Ended::Early(Vec::new())),
    }
}

fn bytes_of(rest: Option<Unterminated>) -> Vec<u8> {
    rest.map_or_else(Vec::new, |rest| rest.raw)
}
