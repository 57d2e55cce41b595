//! Tasks by what is known of them, the most recently reported first, a page at a time.
//!
//! A page begins behind the event that the page before ended with. A task that is reported again
//! moves to the front, so it may be seen twice and is never missed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use missive_log::event::facts::TaskState;
use missive_log::event::{ContextId, Event, Seq};
use missive_log::{Log, Timestamp};
use missive_projections::{LIST_MAX, Task, Views};

use super::view::{facts_of, short, source};
use crate::failure::CommandError;
use crate::peer::Target;
use crate::report::task::TasksReport;

/// How many events are looked at together.
const CHUNK: usize = 256;
/// What brought a task's state, as `--source` takes it.
pub const SOURCES: [&str; 4] = ["send", "call", "stream", "push"];

/// Which tasks.
#[derive(Clone, Debug, Default)]
pub struct TaskQuery {
    /// Of this agent.
    pub agent: Option<Target>,
    /// In this context.
    pub context: Option<ContextId>,
    /// In this state.
    pub state: Option<TaskState>,
    /// Reported after this moment.
    pub updated_after: Option<Timestamp>,
    /// With a state that came in this way: one of [`SOURCES`].
    pub source: Option<String>,
    /// Behind this event.
    pub after: Option<Seq>,
    /// At most so many; none for all, as far as a list can be long.
    pub page_size: Option<usize>,
    /// Whether their artifacts are listed as well.
    pub include_artifacts: bool,
}

/// The tasks that are meant.
///
/// # Errors
/// The log or the views cannot be read.
pub async fn list<L: Log>(
    log: &L,
    views: &Views,
    query: &TaskQuery,
) -> Result<TasksReport, CommandError> {
    let limit = query.page_size.unwrap_or(LIST_MAX).min(LIST_MAX);
    // One more than the page tells whether there is another page; what the events say is asked later.
    let kept_max = if query.source.is_some() {
        LIST_MAX
    } else {
        limit.saturating_add(1)
    };
    let newest = newest(views, query, kept_max)?;
    let mut tasks = Vec::new();
    let mut next = None;
    let mut last = None;
    let newest: Vec<Task> = newest.into_values().rev().collect();
    'all: for chunk in newest.chunks(CHUNK) {
        let told = told(log, query, chunk).await?;
        for task in chunk {
            if let Some(wanted) = &query.source
                && told.get(&task.status.seq).is_none_or(|told| told != wanted)
            {
                continue;
            }
            if tasks.len() == limit {
                next = last;
                break 'all;
            }
            last = Some(task.last);
            let mut shown = facts_of(log, views, task).await?;
            if query.include_artifacts {
                let artifacts = views.artifacts(task)?;
                shown.artifacts = artifacts.iter().map(|one| short(one, None)).collect();
            }
            tasks.push(shown);
        }
    }
    Ok(TasksReport {
        tasks,
        next_page_token: next.map(|seq: Seq| seq.to_string()),
        operation_id: None,
    })
}

/// The newest of the tasks that the views can tell apart, by the event that reported them last.
fn newest(
    views: &Views,
    query: &TaskQuery,
    kept_max: usize,
) -> Result<BTreeMap<Seq, Task>, CommandError> {
    let mut kept = BTreeMap::new();
    let mut take = |task: Task| {
        let fits = query.after.is_none_or(|after| task.last < after)
            && query.state.is_none_or(|state| task.state == state)
            && query.updated_after.is_none_or(|after| task.updated > after);
        if fits {
            kept.insert(task.last, task);
            if kept.len() > kept_max {
                kept.pop_first();
            }
        }
        ControlFlow::Continue(())
    };
    // An address means the tasks of whoever was never registered.
    let agent = query.agent.as_ref().map(|agent| match agent {
        Target::Alias(alias) => Some(alias),
        Target::Url(_) => None,
    });
    match (&query.context, agent) {
        (Some(context), agent) => {
            let tasks = match agent {
                Some(agent) => views.tasks_in_of(context, agent)?,
                None => views.tasks_in(context)?,
            };
            for task in tasks {
                // It never breaks.
                let _: ControlFlow<()> = take(task);
            }
        }
        (None, Some(agent)) => views.each_task_of(agent, &mut take)?,
        (None, None) => views.each_task(&mut take)?,
    }
    Ok(kept)
}

/// What brought the states of some tasks, by the events that did, where that is asked for.
async fn told<L: Log>(
    log: &L,
    query: &TaskQuery,
    tasks: &[Task],
) -> Result<BTreeMap<Seq, &'static str>, CommandError> {
    if query.source.is_none() {
        return Ok(BTreeMap::new());
    }
    let places: Vec<Seq> = tasks.iter().map(|task| task.status.seq).collect();
    let records = log.pick(&places).await?;
    let events = records.iter().filter_map(|record| record.decode().ok());
    Ok(events
        .map(|event: Event| (event.seq, source(&event)))
        .collect())
}
