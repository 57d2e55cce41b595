//! One stream, from its first frame to its end.
//!
//! Promises: an update is durable before it is shown; updates that come while others are being written
//! share the next write, and what waits is bounded, so a peer that is faster than the disk has to wait.
//! A stream of a task that is over is not waited for any longer than it takes to see its last updates.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use missive_log::Log;
use missive_log::event::facts::StreamEnd;
use missive_log::event::{Draft, Seq, Subject};
use tokio::time::{Instant, sleep_until};

use super::update::{Channel, Item, Read, subject_of};
use super::{Course, Ended, Flow, Show};
use crate::decide::Moment;
use crate::decide::outcome::Progress;
use crate::effect::stream::{Incoming, Next};
use crate::evidence;
use crate::failure::CommandError;
use crate::interrupt::Interrupt;
use crate::run::Missive;

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
