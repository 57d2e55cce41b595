//! Contexts: what belongs together, across agents.

use crate::outbox::agent_of;
use crate::rows::{Bytes, Rows, Table, key_of, load, micros, save};
use crate::task::{self, Report};
use crate::view::Projection;
use missive_log::event::facts::ContextName;
use missive_log::event::{Alias, ContextId, EventKind, Seq, TaskId};
use missive_log::{Event, Timestamp};
use serde::{Deserialize, Serialize};

/// A context, as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Its id.
    pub context: ContextId,
    /// What people call it.
    pub name: Option<ContextName>,
    /// The context that it was forked from.
    pub parent: Option<ContextId>,
    /// The event that began it here, with its summary and metadata; none if a message did.
    pub begun: Option<Seq>,
    /// The event that declared it finished, with its summary.
    pub closed: Option<Seq>,
    /// The first event that concerns it.
    pub first: Seq,
    /// The newest event that concerns it.
    pub last: Seq,
    /// When the first one was written.
    #[serde(with = "micros")]
    pub created: Timestamp,
    /// When the newest one was written.
    #[serde(with = "micros")]
    pub active: Timestamp,
    /// How many agents it concerns, by their aliases then.
    pub agents: u32,
    /// How many tasks were seen in it.
    pub tasks: u32,
    /// How many messages were sent and received in it; attempts at one message are one. The view of
    /// messages keeps it.
    #[serde(skip)]
    pub messages: u32,
}

pub(crate) struct Contexts;

impl Projection for Contexts {
    const NAME: &'static str = "context";
    const VERSION: u32 = 2;
    const TABLES: &'static [Table] = &[
        Table::Contexts,
        Table::ContextAgents,
        Table::ContextTasks,
        Table::ContextNames,
        Table::ContextChildren,
    ];

    fn apply(rows: &mut impl Rows, event: &Event) {
        if matches!(event.kind, EventKind::Unknown(_)) {
            return;
        }
        let reported = task::report(&event.kind);
        let told = reported.and_then(Report::context);
        // The peer's word first: a server may put a message into another context than it was asked to.
        let Some(context) = told.or(event.links.context.as_ref()) else {
            return;
        };
        let agent = agent_of(event);
        note(
            rows,
            event,
            context,
            agent.as_ref(),
            reported.map(Report::task),
        );
        if let Some(other) = event
            .links
            .context
            .as_ref()
            .filter(|other| *other != context)
        {
            note(rows, event, other, agent.as_ref(), None);
        }
        declare(rows, event, context);
    }
}

/// What was declared here about a context, beside what crossed the wire.
fn declare(rows: &mut impl Rows, event: &Event, context: &ContextId) {
    let Some(mut row) = load::<Context>(rows, Table::Contexts, key(context)) else {
        return;
    };
    if let EventKind::ContextCreated(_) = &event.kind {
        row.begun = Some(event.seq);
    } else if let EventKind::ContextForked(facts) = &event.kind {
        row.begun = Some(event.seq);
        if facts.from != *context {
            let child = key_of(&[key(&facts.from)], key(context));
            rows.put(Table::ContextChildren, &child, Bytes::empty());
            row.parent = Some(facts.from.clone());
        }
    } else if let EventKind::ContextNamed(facts) = &event.kind {
        // The first one keeps a name: whoever asks for it later must not get another context.
        let place = facts.name.as_str().as_bytes();
        if rows.get(Table::ContextNames, place).is_none() {
            row.name = Some(facts.name.clone());
            rows.put(Table::ContextNames, place, key(context).into());
        }
    } else if let EventKind::ContextClosed(_) = &event.kind {
        row.closed = Some(event.seq);
    } else {
        return;
    }
    save(rows, Table::Contexts, key(context), &row);
}

fn key(context: &ContextId) -> &[u8] {
    context.as_str().as_bytes()
}

fn note(
    rows: &mut impl Rows,
    event: &Event,
    context: &ContextId,
    agent: Option<&Alias>,
    task: Option<&TaskId>,
) {
    let mut row = load(rows, Table::Contexts, key(context)).unwrap_or_else(|| Context {
        context: context.clone(),
        name: None,
        parent: None,
        begun: None,
        closed: None,
        first: event.seq,
        last: event.seq,
        created: event.at,
        active: event.at,
        agents: 0,
        tasks: 0,
        messages: 0,
    });
    row.last = event.seq;
    row.active = event.at;
    if let Some(agent) = agent {
        let key = key_of(&[key(context)], agent.as_str().as_bytes());
        row.agents += note_new(rows, Table::ContextAgents, &key);
    }
    if let Some(task) = task {
        let task = task::key(rows, agent, task);
        let key = key_of(&[key(context)], &task);
        row.tasks += note_new(rows, Table::ContextTasks, &key);
    }
    save(rows, Table::Contexts, key(context), &row);
}

/// Puts an empty row; 1 if it is new.
fn note_new(rows: &mut impl Rows, table: Table, key: &[u8]) -> u32 {
    if rows.get(table, key).is_some() {
        return 0;
    }
    rows.put(table, key, Bytes::empty());
    1
}
