//! Tasks, as their agents last reported them.
//!
//! Peers choose task ids, so two agents may use the same one: a task is known by its agent and its id.
//! Reports come late and out of order. The peer's own clock, where it gives one, says which of two is
//! newer; without it the log's order does, except that a finished task never becomes unfinished.

use crate::agent::identity;
use crate::outbox::agent_of;
use crate::rows::{Rows, Table, key_of, load, micros, micros_option, save};
use crate::source::Source;
use crate::view::Projection;
use missive_log::event::facts::{TaskFacts, TaskState};
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
    /// The newest raw task.
    pub source: Source,
    /// When that one was recorded.
    #[serde(with = "micros")]
    pub updated: Timestamp,
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
    /// What stands for its agent in keys, whatever that is called.
    pub(crate) identity: Vec<u8>,
}

/// How far ahead of ours a peer's clock is believed, in microseconds: one day. A later time would
/// keep every honest report out.
const AHEAD_MICROS_MAX: u64 = 86_400_000_000;

pub(crate) struct Tasks;

impl Projection for Tasks {
    const NAME: &'static str = "task";
    const VERSION: u32 = 1;
    const TABLES: &'static [Table] = &[Table::Tasks];

    fn apply(rows: &mut impl Rows, event: &Event) {
        if let Some(facts) = report(&event.kind) {
            observe(rows, event, facts);
        }
    }
}

/// What an event reports of a task.
pub(crate) fn report(kind: &EventKind) -> Option<&TaskFacts> {
    match kind {
        EventKind::SendResponded(facts) => facts.task.as_ref(),
        EventKind::SendResolved(facts) => Some(&facts.task),
        EventKind::TaskUpdated(facts) => Some(&facts.task),
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
        | EventKind::Unknown(_) => None,
    }
}

/// The key of a task.
pub(crate) fn key(rows: &mut impl Rows, agent: Option<&Alias>, task: &TaskId) -> Vec<u8> {
    let identity = identity(rows, agent);
    key_of(&[task.as_str().as_bytes()], &identity)
}

fn observe(rows: &mut impl Rows, event: &Event, facts: &TaskFacts) {
    let agent = agent_of(event);
    let identity = identity(rows, agent.as_ref());
    let key = key_of(&[facts.task.as_str().as_bytes()], &identity);
    let credible = event.at.as_micros().saturating_add(AHEAD_MICROS_MAX);
    let state_at = facts.state_at.filter(|at| at.as_micros() <= credible);
    let context = facts
        .context
        .clone()
        .or_else(|| event.links.context.clone());
    let artifacts = u32::try_from(facts.artifacts.len()).unwrap_or(u32::MAX);
    let source = Source::of(event, &[Role::Task, Role::Response]);
    let mut row = match load::<Task>(rows, Table::Tasks, &key) {
        None => Task {
            task: facts.task.clone(),
            context,
            agent,
            state: facts.state,
            state_at,
            source,
            updated: event.at,
            first: event.seq,
            last: event.seq,
            artifacts: 0,
            history: 0,
            refused: 0,
            identity,
        },
        Some(mut row) if is_older(&row, facts.state, state_at) => {
            row.refused = row.refused.saturating_add(1);
            row.context = row.context.or(context);
            row
        }
        Some(row) => Task {
            context: context.or(row.context),
            agent,
            state: facts.state,
            state_at: state_at.or(row.state_at),
            source,
            updated: event.at,
            ..row
        },
    };
    row.last = event.seq;
    row.artifacts = row.artifacts.max(artifacts);
    row.history = row.history.max(facts.history);
    save(rows, Table::Tasks, &key, &row);
}

/// Whether a report is older than what is known.
fn is_older(known: &Task, state: TaskState, state_at: Option<Timestamp>) -> bool {
    let reopens = known.state.is_terminal() && !state.is_terminal();
    match (known.state_at, state_at) {
        (Some(known), Some(reported)) => reported < known || (reported == known && reopens),
        (Some(_) | None, None) | (None, Some(_)) => reopens,
    }
}

/// Whether the report that an event holds is the one that the view now shows. Views of parts of a
/// task fold after this one and ask it.
pub(crate) fn is_shown(rows: &mut impl Rows, key: &[u8], event: &Event) -> bool {
    load::<Task>(rows, Table::Tasks, key).is_some_and(|row| row.source.seq == event.seq)
}
