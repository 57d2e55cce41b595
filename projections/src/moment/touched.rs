//! What the events between two moments name, and so may have changed.

use super::diff::Changes;
use super::reach::{Reach, reach};
use super::{Records, Scope};
use crate::error::ViewsError;
use crate::views::CHUNK_EVENTS_MAX;
use missive_log::Event;
use missive_log::event::{ContextId, OperationId, Seq, TaskId};
use std::collections::BTreeMap;

/// What the events between name, each with the number of others that were named before it: things that were
/// touched one after the other have events near each other.
#[derive(Debug, Default)]
struct Touched(BTreeMap<Named, usize>);

/// Something that an event names.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Named {
    Registry,
    Context(ContextId),
    Task(TaskId),
    Round(OperationId),
}

impl Touched {
    fn note(&mut self, event: &Event) {
        self.context(event.links.context.as_ref());
        self.task(event.links.task.as_ref());
        match reach(&event.kind) {
            Reach::Links => {}
            Reach::Register | Reach::Card | Reach::Group => self.add(Named::Registry),
            Reach::Round => {
                if let Some(round) = &event.operation {
                    self.add(Named::Round(round.clone()));
                }
            }
            Reach::Told { context, task } => {
                self.context(context);
                self.task(task);
            }
        }
    }

    fn context(&mut self, context: Option<&ContextId>) {
        if let Some(context) = context {
            self.add(Named::Context(context.clone()));
        }
    }

    fn task(&mut self, task: Option<&TaskId>) {
        if let Some(task) = task {
            self.add(Named::Task(task.clone()));
        }
    }

    fn add(&mut self, named: Named) {
        let before = self.0.len();
        self.0.entry(named).or_insert(before);
    }

    /// A scope for each, in the order in which they were touched.
    fn into_scopes(self) -> Vec<Scope> {
        let mut named: Vec<(Named, usize)> = self.0.into_iter().collect();
        named.sort_unstable_by_key(|(_, before)| *before);
        let scope = |(named, _)| match named {
            Named::Registry => Scope::Registry,
            Named::Context(id) => Scope::Context(id),
            Named::Task(id) => Scope::Task(id),
            Named::Round(id) => Scope::Round(id),
        };
        named.into_iter().map(scope).collect()
    }
}

/// What the events between two places name, in the order in which it was named first. Events are counted.
pub(super) fn touched(
    from: Seq,
    to: Seq,
    records: &Records,
    found: &mut Changes,
) -> Result<Vec<Scope>, ViewsError> {
    let mut touched = Touched::default();
    let mut place = from;
    while place < to {
        let page = records.after(place, CHUNK_EVENTS_MAX)?;
        let Some(last) = page.last() else {
            break;
        };
        place = last.seq;
        for record in page.iter().filter(|record| record.seq <= to) {
            found.events += 1;
            match record.decode() {
                Ok(event) => touched.note(&event),
                Err(_) => found.unreadable += 1,
            }
        }
    }
    Ok(touched.into_scopes())
}
