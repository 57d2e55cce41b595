//! Tasks, as their agents last reported them.
//!
//! Peers choose task ids, so two agents may use the same one: a task is known by its agent and its id.
//! Reports come late, twice and out of order. The peer's own clock, where it gives one, says which of two
//! is newer; without it the log's order does. The first end counts (A2A 1.0 section 4.1.3: a finished task
//! changes no more): what says otherwise afterwards is counted, and changes nothing.

use crate::agent::identity;
use crate::outbox::agent_of;
use crate::rows::{Bytes, Rows, Table, key_of, load, micros, micros_option, save};
use crate::source::Source;
use crate::view::Projection;
use missive_log::event::facts::{ChunkFacts, StatusFacts, TaskFacts, TaskState};
use missive_log::event::{Alias, ContextId, EventKind, Seq, TaskId};
use missive_log::{Event, Role, Timestamp};
use serde::{Deserialize, Serialize};

/// A task, as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub task: TaskId,
    /// Its context.
    pub context: Option<ContextId>,
    /// Its agent, by the alias that it had when the task was last seen; none for a bare URL.
    pub agent: Option<Alias>,
    /// Its state.
    pub state: TaskState,
    /// The peer's clock for that state.
    #[serde(with = "micros_option")]
    pub state_at: Option<Timestamp>,
    /// The newest raw task; without a payload if no whole task was seen yet.
    pub source: Source,
    /// The newest report of its state: a whole task, or an update that holds a status message.
    pub status: Source,
    /// When that one was recorded.
    #[serde(with = "micros")]
    pub updated: Timestamp,
    /// The report that ended it.
    pub ended: Option<Seq>,
    /// The event that first named it.
    pub first: Seq,
    /// The newest event that reported it; the index of tasks finds all that concern it.
    pub last: Seq,
    /// The most artifacts that one report held; a report may leave them out.
    pub artifacts: u32,
    /// The most messages that the history of one report held; a report may leave them out.
    pub history: u32,
    /// How many reports were older than what was known, and changed nothing.
    pub refused: u32,
    /// How many reports said after its end that it ended otherwise, or goes on; they changed nothing.
    pub contradicted: u32,
    /// What stands for its agent in keys, whatever that is called.
    pub(crate) identity: Vec<u8>,
}

/// How far ahead of ours a peer's clock is believed, in microseconds: one day. A later time would
/// keep every honest report out.
const AHEAD_MICROS_MAX: u64 = 86_400_000_000;

pub(crate) struct Tasks;

impl Projection for Tasks {
    const NAME: &'static str = "task";
    const VERSION: u32 = 3;
    const TABLES: &'static [Table] = &[Table::Tasks, Table::AgentTasks];

    fn apply(rows: &mut impl Rows, event: &Event) {
        if let Some(report) = report(&event.kind) {
            observe(rows, event, report);
        }
    }
}

/// What an event says of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Report<'a> {
    /// A whole task.
    Whole(&'a TaskFacts),
    /// Its state.
    Status(&'a StatusFacts),
    /// A piece of an artifact.
    Chunk(&'a ChunkFacts),
}

impl<'a> Report<'a> {
    pub(crate) fn task(self) -> &'a TaskId {
        match self {
            Self::Whole(facts) => &facts.task,
            Self::Status(facts) => &facts.task,
            Self::Chunk(facts) => &facts.task,
        }
    }

    pub(crate) fn context(self) -> Option<&'a ContextId> {
        match self {
            Self::Whole(facts) => facts.context.as_ref(),
            Self::Status(facts) => facts.context.as_ref(),
            Self::Chunk(facts) => facts.context.as_ref(),
        }
    }

    /// The state, with the peer's clock for it.
    pub(crate) fn state(self) -> Option<(TaskState, Option<Timestamp>)> {
        match self {
            Self::Whole(facts) => Some((facts.state, facts.state_at)),
            Self::Status(facts) => Some((facts.state, facts.state_at)),
            Self::Chunk(_) => None,
        }
    }
}

/// What an event reports of a task. Deliveries that were not linked, or came before, report nothing.
pub(crate) fn report(kind: &EventKind) -> Option<Report<'_>> {
    match kind {
        EventKind::SendResponded(facts) => facts.task.as_ref().map(Report::Whole),
        EventKind::SendResolved(facts) => Some(Report::Whole(&facts.task)),
        EventKind::TaskUpdated(facts) => Some(Report::Whole(&facts.task)),
        EventKind::StreamTask(facts) => Some(Report::Whole(&facts.task)),
        EventKind::StreamStatusUpdate(facts) => Some(Report::Status(&facts.status)),
        EventKind::StreamArtifactUpdate(facts) => Some(Report::Chunk(&facts.chunk)),
        EventKind::PushTask(facts) => {
            (facts.linked && !facts.duplicate).then_some(Report::Whole(&facts.task))
        }
        EventKind::PushStatusUpdate(facts) => {
            (facts.linked && !facts.duplicate).then_some(Report::Status(&facts.status))
        }
        EventKind::PushArtifactUpdate(facts) => {
            (facts.linked && !facts.duplicate).then_some(Report::Chunk(&facts.chunk))
        }
        // Listed, not `_`: a new fact must be considered here before it compiles.
        EventKind::LogCreated(_)
        | EventKind::LogExported(_)
        | EventKind::LogReanchored(_)
        | EventKind::ActorSeen(_)
        | EventKind::AgentAdded(_)
        | EventKind::AgentRenamed(_)
        | EventKind::AgentRemoved(_)
        | EventKind::CardRequested(_)
        | EventKind::CardFetched(_)
        | EventKind::CardFailed(_)
        | EventKind::SendRequested(_)
        | EventKind::SendFailed(_)
        | EventKind::SendInDoubt(_)
        | EventKind::CallRequested(_)
        | EventKind::CallResponded(_)
        | EventKind::CallFailed(_)
        | EventKind::CardChecked(_)
        | EventKind::CardChanged(_)
        | EventKind::ExtendedCardFetched(_)
        | EventKind::KeyPinned(_)
        | EventKind::CardGiven(_)
        | EventKind::StreamRequested(_)
        | EventKind::SubscriptionRequested(_)
        | EventKind::StreamMessage(_)
        | EventKind::StreamMalformed(_)
        | EventKind::StreamClosed(_)
        | EventKind::PushConfigured(_)
        | EventKind::PushRemoved(_)
        | EventKind::PushMessage(_)
        | EventKind::PushRejected(_)
        | EventKind::WebhookStarted(_)
        | EventKind::WebhookStopped(_)
        | EventKind::ContextCreated(_)
        | EventKind::ContextForked(_)
        | EventKind::ContextNamed(_)
        | EventKind::ContextClosed(_)
        | EventKind::ContextExported(_)
        | EventKind::ArtifactsSaved(_)
        | EventKind::Group(_)
        | EventKind::Round(_)
        | EventKind::Unknown(_) => None,
    }
}

/// The task of a delivery that could not be linked: it reports nothing, and is found by its task all the same.
pub(crate) fn unlinked(kind: &EventKind) -> Option<&TaskId> {
    if let EventKind::PushTask(facts) = kind {
        return (!facts.linked).then_some(&facts.task.task);
    }
    if let EventKind::PushStatusUpdate(facts) = kind {
        return (!facts.linked).then_some(&facts.status.task);
    }
    if let EventKind::PushArtifactUpdate(facts) = kind {
        return (!facts.linked).then_some(&facts.chunk.task);
    }
    None
}

/// The key of a task.
pub(crate) fn key(rows: &mut impl Rows, agent: Option<&Alias>, task: &TaskId) -> Vec<u8> {
    let identity = identity(rows, agent);
    key_of(&[task.as_str().as_bytes()], &identity)
}

fn observe(rows: &mut impl Rows, event: &Event, report: Report<'_>) {
    let agent = agent_of(event);
    let identity = identity(rows, agent.as_ref());
    let key = key_of(&[report.task().as_str().as_bytes()], &identity);
    let context = report.context().or(event.links.context.as_ref());
    let known = load::<Task>(rows, Table::Tasks, &key);
    let mut row = known.unwrap_or_else(|| begun(event, report, identity));
    let fresh = row.first == event.seq;
    if let Some((state, state_at)) = report.state() {
        let credible = event.at.as_micros().saturating_add(AHEAD_MICROS_MAX);
        let state_at = state_at.filter(|at| at.as_micros() <= credible);
        match verdict(&row, state, state_at) {
            _ if fresh => take(&mut row, event, report, (state, state_at)),
            Verdict::Newer => take(&mut row, event, report, (state, state_at)),
            Verdict::Older => row.refused = row.refused.saturating_add(1),
            Verdict::Contradicts => row.contradicted = row.contradicted.saturating_add(1),
        }
        if row.status.seq == event.seq {
            row.agent = agent;
        }
    }
    // A task stays in its context (A2A 1.0 section 3.4.1): whoever tells of another one moves nothing.
    row.context = row.context.or_else(|| context.cloned());
    row.last = event.seq;
    if let Report::Whole(facts) = report {
        let artifacts = u32::try_from(facts.artifacts.len()).unwrap_or(u32::MAX);
        row.artifacts = row.artifacts.max(artifacts);
        row.history = row.history.max(facts.history);
    }
    if fresh {
        let key = key_of(&[&row.identity], row.task.as_str().as_bytes());
        rows.put_new(Table::AgentTasks, &key, Bytes::empty());
    }
    save(rows, Table::Tasks, &key, &row);
}

/// A task that was never heard of before this report.
fn begun(event: &Event, report: Report<'_>, identity: Vec<u8>) -> Task {
    let nothing = Source {
        seq: event.seq,
        payload: None,
    };
    Task {
        task: report.task().clone(),
        context: None,
        agent: agent_of(event),
        // A task of which only a piece of work is known is at work.
        state: TaskState::Working,
        state_at: None,
        source: nothing,
        status: nothing,
        updated: event.at,
        ended: None,
        first: event.seq,
        last: event.seq,
        artifacts: 0,
        history: 0,
        refused: 0,
        contradicted: 0,
        identity,
    }
}

/// Takes over what a report says.
fn take(
    row: &mut Task,
    event: &Event,
    report: Report<'_>,
    (state, state_at): (TaskState, Option<Timestamp>),
) {
    row.state = state;
    row.state_at = state_at.or(row.state_at);
    row.updated = event.at;
    row.status = Source::of(
        event,
        &[Role::Task, Role::Response, Role::Frame, Role::Delivery],
    );
    if let Report::Whole(_) = report {
        row.source = row.status;
    }
    if state.is_terminal() && row.ended.is_none() {
        row.ended = Some(event.seq);
    }
}

/// What a report is to what is known.
enum Verdict {
    Newer,
    Older,
    Contradicts,
}

fn verdict(known: &Task, state: TaskState, state_at: Option<Timestamp>) -> Verdict {
    let (before, after) = match (known.state_at, state_at) {
        (Some(known), Some(reported)) => (reported < known, reported > known),
        (Some(_) | None, None) | (None, Some(_)) => (false, false),
    };
    let ended = known.state.is_terminal();
    if before || (ended && !state.is_terminal() && !after) {
        Verdict::Older
    } else if ended && state != known.state {
        Verdict::Contradicts
    } else {
        Verdict::Newer
    }
}

/// Whether the report that an event holds is the one that the view now shows. Views of parts of a
/// task fold after this one and ask it.
pub(crate) fn is_shown(rows: &mut impl Rows, key: &[u8], event: &Event) -> bool {
    load::<Task>(rows, Table::Tasks, key).is_some_and(|row| row.source.seq == event.seq)
}
