//! What each agent last did and said in a context: what a gather collects.
//!
//! An agent's latest work in a context is the task that was begun last, and the newest message that came
//! with it or after it. Messages that were sent from here are no output. Where an answer came in another
//! context than the one that was asked, it counts in both.

use crate::agent::identity;
use crate::outbox::agent_of;
use crate::rows::{Rows, Table, key_of, load, save};
use crate::source::Source;
use crate::task;
use crate::view::Projection;
use missive_log::event::{Alias, ContextId, EventKind, MessageId, Seq, TaskId};
use missive_log::{Event, Role};
use serde::{Deserialize, Serialize};

/// The latest of one agent in one context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The agent, by the alias that it had when it was last heard of here; none for a bare URL.
    pub agent: Option<Alias>,
    /// The task that was begun last.
    pub task: Option<TaskId>,
    /// The first event that named that task.
    pub begun: Option<Seq>,
    /// The newest message that came with that task or after it.
    pub message: Option<Said>,
    /// The newest event that changed this.
    pub changed: Seq,
    /// What stands for its agent in keys, whatever that is called.
    pub(crate) identity: Vec<u8>,
}

/// A message that came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Its id, if it has one.
    pub message: Option<MessageId>,
    /// The raw answer, frame or delivery that holds it.
    pub source: Source,
}

pub(crate) struct Outputs;

impl Projection for Outputs {
    const NAME: &'static str = "output";
    const VERSION: u32 = 1;
    const TABLES: &'static [Table] = &[Table::Outputs];

    fn apply(rows: &mut impl Rows, event: &Event) {
        let reported = task::report(&event.kind);
        let said = said(event);
        if reported.is_none() && said.is_none() {
            return;
        }
        let told = reported.and_then(task::Report::context);
        let asked = event.links.context.as_ref();
        let contexts = [told, asked.filter(|asked| Some(*asked) != told)];
        let identity = identity(rows, agent_of(event).as_ref());
        for context in contexts.into_iter().flatten() {
            let key = key(context, &identity);
            let mut row = load::<Output>(rows, Table::Outputs, &key).unwrap_or_else(|| Output {
                agent: None,
                task: None,
                begun: None,
                message: None,
                changed: event.seq,
                identity: identity.clone(),
            });
            let before = row.clone();
            if let Some(report) = reported {
                begun(rows, event, report.task(), &mut row);
            } else if let Some(said) = &said {
                spoken(event, said, &mut row);
            }
            if row != before || before.changed == event.seq {
                row.agent = agent_of(event);
                row.changed = event.seq;
                save(rows, Table::Outputs, &key, &row);
            }
        }
    }
}

/// What stands in front of the outputs of a context.
pub(crate) fn prefix(context: &ContextId) -> Vec<u8> {
    key_of(&[context.as_str().as_bytes()], &[])
}

pub(crate) fn key(context: &ContextId, identity: &[u8]) -> Vec<u8> {
    key_of(&[context.as_str().as_bytes()], identity)
}

/// The message that an event brings, if it brings one that is no part of a task.
fn said(event: &Event) -> Option<Said> {
    let message = if let EventKind::SendResponded(facts) = &event.kind {
        facts.task.is_none().then_some(&facts.message)
    } else if let EventKind::StreamMessage(facts) = &event.kind {
        Some(&facts.message)
    } else if let EventKind::PushMessage(facts) = &event.kind {
        (facts.linked && !facts.duplicate).then_some(&facts.message)
    } else {
        None
    }?;
    Some(Said {
        message: message.clone(),
        source: Source::of(event, &[Role::Response, Role::Frame, Role::Delivery]),
    })
}

/// A report of a task that was begun after the one that is known is the latest work.
fn begun(rows: &mut impl Rows, event: &Event, task: &TaskId, row: &mut Output) {
    if row.task.as_ref() == Some(task) {
        return;
    }
    let key = task::key(rows, agent_of(event).as_ref(), task);
    // The view of tasks folds before this one.
    let first = load::<task::Task>(rows, Table::Tasks, &key).map_or(event.seq, |task| task.first);
    if row.begun.is_some_and(|begun| begun > first) {
        return;
    }
    let heard = row.message.as_ref().map(|said| said.source.seq);
    row.task = Some(task.clone());
    row.begun = Some(first);
    if heard.is_some_and(|heard| heard < first) {
        row.message = None;
    }
}

/// A message about an older task is not the latest.
fn spoken(event: &Event, said: &Said, row: &mut Output) {
    let about = event.links.task.as_ref();
    if about.is_some() && row.task.is_some() && about != row.task.as_ref() {
        return;
    }
    row.message = Some(said.clone());
}
