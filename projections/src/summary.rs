//! What a run of events comes to, context by context and task by task.
//!
//! It is folded from the events alone, in their order: the same events give the same summary, whatever came
//! before or after them. No payload is read, and no clock. Of contexts and tasks that began later than those that
//! are listed only the ids are kept, so that each is counted once.

use crate::task::{Report, report};
use missive_log::event::facts::TaskState;
use missive_log::event::{Alias, ContextId, EventKind, GroupName, Seq, TaskId};
use missive_log::{Event, Timestamp};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The most changes of one task's state that are kept; an agent may change it for ever.
pub const STATES_MAX: usize = 256;

/// A place of the log with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The place.
    pub seq: Seq,
    /// When it was recorded.
    pub at: Timestamp,
}

/// Events in a row: how many, from when to when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// How many.
    pub events: u64,
    /// The first.
    pub first: Option<Mark>,
    /// The last.
    pub last: Option<Mark>,
}

impl Span {
    fn add(&mut self, mark: Mark) {
        self.events += 1;
        self.first.get_or_insert(mark);
        self.last = Some(mark);
    }

    /// From the first to the last, in microseconds.
    pub fn micros(&self) -> u64 {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last.at.as_micros().saturating_sub(first.at.as_micros()),
            (None, _) | (_, None) => 0,
        }
    }
}

/// What happened in a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextSummary {
    /// Its events.
    pub span: Span,
    /// How many messages were sent in it.
    pub sent: u64,
    /// How many tasks were seen in it.
    pub tasks: u64,
    /// The agents that took part.
    pub members: BTreeSet<Alias>,
    /// The groups that took part.
    pub groups: BTreeSet<GroupName>,
}

/// A state of a task, from when on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateMark {
    /// The state.
    pub state: TaskState,
    /// The event that reported it first.
    pub from: Mark,
}

/// What happened to a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskSummary {
    /// The context that it was first seen in.
    pub context: Option<ContextId>,
    /// Its events.
    pub span: Span,
    /// The state that it came to.
    pub state: Option<TaskState>,
    /// Its states, each from when it was reported; repetitions, and what came after its end, are left out.
    pub states: Vec<StateMark>,
    /// How many more changes there were than are kept.
    pub states_more: u64,
}

impl TaskSummary {
    fn take(&mut self, state: TaskState, mark: Mark) {
        let last = self.state;
        // The first end counts: whatever is told afterwards changes nothing.
        if last == Some(state) || last.is_some_and(TaskState::is_terminal) {
            return;
        }
        self.state = Some(state);
        if self.states.len() < STATES_MAX {
            self.states.push(StateMark { state, from: mark });
        } else {
            self.states_more += 1;
        }
    }
}

/// What makes a task one: agents choose ids, and two may choose the same.
type TaskKey = (TaskId, Option<Alias>);

/// Summaries as they grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summaries {
    /// All events.
    pub whole: Span,
    /// Contexts by their id.
    pub contexts: BTreeMap<ContextId, ContextSummary>,
    /// Tasks by their id and agent.
    pub tasks: BTreeMap<TaskKey, TaskSummary>,
    listed_max: usize,
    contexts_beyond: BTreeSet<ContextId>,
    tasks_beyond: BTreeSet<TaskKey>,
}

impl Default for Summaries {
    fn default() -> Self {
        Self::of_first(usize::MAX)
    }
}

impl Summaries {
    /// Summaries of the contexts and of the tasks that began first, so many of each.
    pub fn of_first(listed_max: usize) -> Self {
        Self {
            whole: Span::default(),
            contexts: BTreeMap::new(),
            tasks: BTreeMap::new(),
            listed_max,
            contexts_beyond: BTreeSet::new(),
            tasks_beyond: BTreeSet::new(),
        }
    }

    /// How many contexts there were beyond those.
    pub fn contexts_more(&self) -> u64 {
        self.contexts_beyond.len() as u64
    }

    /// How many tasks there were beyond those.
    pub fn tasks_more(&self) -> u64 {
        self.tasks_beyond.len() as u64
    }

    /// Takes the next event. `agent` is the one that it belongs to, by the alias to be shown.
    pub fn add(&mut self, event: &Event, agent: Option<&Alias>) {
        let mark = Mark {
            seq: event.seq,
            at: event.at,
        };
        self.whole.add(mark);
        let told = report(&event.kind);
        let links = &event.links;
        let context = links.context.as_ref();
        let context = context.or_else(|| told.and_then(Report::context));
        let task = links.task.as_ref();
        let task = task.or_else(|| told.map(Report::task));
        let state = told.and_then(Report::state).map(|(state, _)| state);
        let is_new = task.is_some_and(|task| {
            let key = (task.clone(), agent.cloned());
            self.add_to_task(key, mark, context, state)
        });
        if let Some(summary) = context.and_then(|context| self.context(context)) {
            summary.span.add(mark);
            summary.sent += u64::from(is_sent(&event.kind));
            summary.tasks += u64::from(is_new);
            summary.members.extend(agent.cloned());
            summary.groups.extend(links.group.clone());
        }
    }

    /// Whether the task was not seen before.
    fn add_to_task(
        &mut self,
        key: TaskKey,
        mark: Mark,
        context: Option<&ContextId>,
        state: Option<TaskState>,
    ) -> bool {
        let is_full = self.tasks.len() >= self.listed_max;
        let summary = match self.tasks.entry(key) {
            Entry::Vacant(none) if is_full => return self.tasks_beyond.insert(none.into_key()),
            Entry::Vacant(none) => none.insert(TaskSummary::default()),
            Entry::Occupied(known) => known.into_mut(),
        };
        let is_new = summary.span.events == 0;
        summary.span.add(mark);
        summary.context = summary.context.take().or_else(|| context.cloned());
        if let Some(state) = state {
            summary.take(state, mark);
        }
        is_new
    }

    /// The summary of a context, if it is among those that are listed.
    fn context(&mut self, context: &ContextId) -> Option<&mut ContextSummary> {
        let is_full = self.contexts.len() >= self.listed_max;
        match self.contexts.entry(context.clone()) {
            Entry::Vacant(none) if is_full => {
                self.contexts_beyond.insert(none.into_key());
                None
            }
            Entry::Vacant(none) => Some(none.insert(ContextSummary::default())),
            Entry::Occupied(known) => Some(known.into_mut()),
        }
    }
}

fn is_sent(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::SendRequested(_) | EventKind::StreamRequested(_)
    )
}
