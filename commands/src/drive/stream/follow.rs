//! One stream, from its first frame to its end.
//!
//! Promises: an update is durable before it is shown; updates that come while others are being written
//! share the next write, and what waits is bounded, so a peer that is faster than the disk has to wait.
//! A stream of a task that is over is not waited for any longer than it takes to see its last updates.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use missive_log::Log;
use missive_log::event::facts::{Malformed as Wrong, StreamEnd, TaskState as State};
use missive_log::event::kind::{
    StreamArtifactUpdate, StreamMalformed, StreamMessage, StreamStatusUpdate, StreamTask,
};
use missive_log::event::{Draft, EventKind, Links, MessageId, Seq, Subject, TaskId};
use tokio::time::{Instant, sleep_until};

use super::{Course, Ended, Flow, Show};
use crate::decide::Moment;
use crate::decide::outcome::Progress;
use crate::effect::reach::CallErrorKind;
use crate::effect::stream::{Incoming, Next};
use crate::evidence;
use crate::facts;
use crate::failure::CommandError;
use crate::interrupt::Interrupt;
use crate::note::Note;
use crate::report::stream::StreamEvent;
use crate::run::Missive;
use crate::wire::json::Limits;
use crate::wire::sse::{Frame, Unterminated};
use crate::wire::stream::{Meaning, read_frame};
use crate::wire::update::{Update, UpdateKind};
use crate::wire::version::Binding;

/// The most updates that wait to be written together.
const WAITING_MAX: usize = 512;
/// The most bytes of updates that wait to be written together, before one more is taken.
const WAITING_BYTES_MAX: usize = 8 << 20;
/// How long a stream is watched after its task ended, or waits for somebody: a peer may tell the rest.
pub(super) const LINGER: Duration = Duration::from_millis(300);
/// The same where nobody sees more than that the task ended: whoever waits does not wait for an agent that
/// leaves its stream open.
pub(super) const LINGER_UNSEEN: Duration = Duration::from_millis(20);
/// The same after a message, which should be all there is.
const LINGER_MESSAGE: Duration = Duration::from_secs(1);
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
struct Item {
    kind: EventKind,
    links: Links,
    data: Option<String>,
    frame: Option<Vec<u8>>,
    words: Option<String>,
    shown: Option<StreamEvent>,
    /// What is to be known of it, once it is durable.
    notes: Vec<Note>,
}

impl Item {
    fn bytes(&self) -> usize {
        let data = self.data.as_ref().map_or(0, String::len);
        data + self.frame.as_ref().map_or(0, Vec::len)
    }
}

/// A write that is under way.
type Writing<'a> =
    Pin<Box<dyn Future<Output = Result<(Course, Seq, Vec<Item>), CommandError>> + 'a>>;

/// What waits to be written.
#[derive(Default)]
struct Waiting {
    items: Vec<Item>,
    bytes: usize,
}

impl Waiting {
    fn push(&mut self, item: Item) {
        self.bytes += item.bytes();
        self.items.push(item);
    }

    fn is_full(&self) -> bool {
        self.items.len() >= WAITING_MAX || self.bytes >= WAITING_BYTES_MAX
    }
}

impl<L: Log> Missive<L> {
    /// Follows a stream until it ends, its task is over, or the user has seen enough.
    pub(super) async fn follow_stream(
        &self,
        flow: &mut Flow<'_>,
        channel: &mut Channel,
        incoming: &mut Incoming,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Ended, CommandError> {
        let intent = channel.intent;
        let mut queue = Waiting::default();
        let mut writing: Option<Writing<'_>> = None;
        let mut ended = None;
        let mut over: Option<(StreamEnd, Instant)> = None;
        loop {
            if writing.is_none() && !queue.items.is_empty() {
                let items = std::mem::take(&mut queue).items;
                writing = Some(Box::pin(self.write(flow.course.clone(), intent, items)));
            }
            if writing.is_none()
                && let Some(ended) = ended.take()
            {
                return Ok(ended);
            }
            let is_writing = writing.is_some();
            let listens = ended.is_none() && !queue.is_full();
            let lingers = over.filter(|_| ended.is_none());
            tokio::select! {
                biased;
                () = interrupt.came(), if ended.is_none() => {
                    ended = Some(over.map_or(Ended::Detached, |(end, _)| Ended::Over(end)));
                }
                written = written(&mut writing), if is_writing => {
                    writing = None;
                    let (course, first, items) = written?;
                    flow.course = course;
                    self.show(sink, first, items).await;
                }
                next = incoming.next(), if listens => {
                    let item = match next {
                        Next::Frame(frame) => match self.read(flow, channel, frame) {
                            Read::Nothing => None,
                            Read::Item(item) => Some(*item),
                            Read::Ended(end) => {
                                ended = Some(over.map_or(end, |(end, _)| Ended::Over(end)));
                                None
                            }
                        },
                        other @ (Next::End(_) | Next::Cut(_) | Next::TooLarge(_)) => {
                            let (item, end) = self.ending(flow, channel, over.map(|over| over.0), other);
                            ended = Some(end);
                            item
                        }
                    };
                    if let Some(item) = item {
                        queue.push(item);
                        over = flow.over().map(|end| (end, until(end, flow.linger, over)));
                    }
                    if channel.subscription && flow.picture.is_foreign() {
                        ended.get_or_insert(Ended::Foreign);
                    }
                }
                end = lingered(lingers), if lingers.is_some() => ended = Some(Ended::Over(end)),
            }
        }
    }

    /// Shows what is durable now, each update with what is to be known of it.
    async fn show(&self, sink: &mut impl Show, first: Seq, items: Vec<Item>) {
        for (place, item) in (first.0..).zip(items) {
            if let Some(mut shown) = item.shown {
                shown.sequence = place;
                sink.show(shown).await;
            }
            for note in item.notes {
                self.note(note);
            }
            self.tell_notes(sink).await;
        }
    }

    /// Writes updates down; gives the place of the first.
    async fn write(
        &self,
        mut course: Course,
        intent: Seq,
        items: Vec<Item>,
    ) -> Result<(Course, Seq, Vec<Item>), CommandError> {
        let operation = course.operation.clone();
        let drafts = |moment: &Moment<'_>| -> Vec<Draft> {
            let draft = |item: &Item| {
                let frame = item.frame.as_deref();
                let mut payloads = evidence::of_frame(moment, item.data.as_deref(), frame);
                payloads.extend(
                    item.words
                        .as_deref()
                        .map(|text| evidence::of_error(moment, text)),
                );
                let (kind, links) = (item.kind.clone(), &item.links);
                let mut draft = moment.step(&operation, Some(intent), links, kind, payloads);
                if let Some(task) = subject_of(&item.kind) {
                    draft.subject = Subject::Task(task.clone());
                }
                draft
            };
            items.iter().map(draft).collect()
        };
        let progress = Progress {
            operation: &operation,
            last: course.last,
            newest: course.newest,
            intent,
            drafts,
        };
        let recorded = self.record(&progress).await?;
        course.newest = recorded.last;
        for (place, item) in (recorded.first.0..).zip(&items) {
            if subject_of(&item.kind).is_none() {
                course.last = Seq(place);
            }
        }
        Ok((course, recorded.first, items))
    }

    /// What a frame comes to.
    fn read(&self, flow: &mut Flow<'_>, channel: &mut Channel, frame: Frame) -> Read {
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
    fn ending(
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

/// What a frame comes to.
enum Read {
    Nothing,
    Item(Box<Item>),
    Ended(Ended),
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

/// Until when a stream is watched that is over in this way.
fn until(end: StreamEnd, linger: Duration, before: Option<(StreamEnd, Instant)>) -> Instant {
    match before {
        // A message may be followed by more of them; a task is over only once.
        Some((known, at)) if known == end && end != StreamEnd::Message => at,
        _ if end == StreamEnd::Message => Instant::now() + LINGER_MESSAGE,
        _ => Instant::now() + linger,
    }
}

async fn lingered(over: Option<(StreamEnd, Instant)>) -> StreamEnd {
    match over {
        Some((end, at)) => {
            sleep_until(at).await;
            end
        }
        None => std::future::pending().await,
    }
}

async fn written(
    writing: &mut Option<Writing<'_>>,
) -> Result<(Course, Seq, Vec<Item>), CommandError> {
    match writing {
        Some(writing) => writing.await,
        None => std::future::pending().await,
    }
}
