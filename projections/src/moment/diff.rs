//! What changed between two earlier moments, view by view.
//!
//! Only events between the two can have changed anything: they say which things to look at, and these are
//! folded at both moments and compared. A few things are folded each from their own events; for many, the
//! whole log is folded twice. Intents without an outcome, messages and indexes are not compared: they follow
//! from the events between, which `events list` shows.

use super::reach::{Reach, reach};
use super::{Records, Scope, fields};
use crate::error::ViewsError;
use crate::read::Views;
use crate::views::CHUNK_EVENTS_MAX;
use missive_log::Event;
use missive_log::event::{ContextId, OperationId, Seq, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// Up to this number of things, each is folded from its own events.
const APART_MAX: usize = 64;

/// What happened to a thing between two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It is there only afterwards.
    Added,
    /// It was there only before.
    Removed,
    /// It was there before and afterwards, with other fields.
    Altered,
}

impl Changed {
    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Altered => "changed",
        }
    }
}

/// A field with what it said before and afterwards; empty where it said nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// Its name.
    pub name: &'static str,
    /// Before.
    pub from: String,
    /// Afterwards.
    pub to: String,
}

/// A thing of a view that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The view.
    pub view: &'static str,
    /// The thing, by the id or name that it has afterwards, or had last.
    pub id: String,
    /// What happened.
    pub changed: Changed,
    /// Its fields, in a fixed order; only those that differ.
    pub fields: Vec<FieldChange>,
}

/// Everything that changed between two moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// How many events lie between.
    pub events: u64,
    /// How many of them cannot be read.
    pub unreadable: u64,
    /// What changed, by view and then by thing.
    pub changes: Vec<Change>,
}

/// The fields of a thing, in a fixed order.
pub(super) type Fields = Vec<(&'static str, String)>;

/// What the events between name.
#[derive(Debug, Default)]
struct Touched {
    registry: bool,
    contexts: BTreeSet<ContextId>,
    tasks: BTreeSet<TaskId>,
    rounds: BTreeSet<OperationId>,
}

impl Touched {
    fn note(&mut self, event: &Event) {
        self.contexts.extend(event.links.context.clone());
        self.tasks.extend(event.links.task.clone());
        match reach(&event.kind) {
            Reach::Links => {}
            Reach::Register | Reach::Card | Reach::Group => self.registry = true,
            Reach::Round => self.rounds.extend(event.operation.clone()),
            Reach::Told { context, task } => {
                self.contexts.extend(context.cloned());
                self.tasks.extend(task.cloned());
            }
        }
    }
}

/// The two moments.
struct Moments<'a> {
    live: &'a Views,
    records: &'a Records,
    from: Seq,
    to: Seq,
    whole: Option<(Views, Views)>,
}

impl Moments<'_> {
    /// Both views as far as a thing goes.
    fn of(&self, scope: &Scope) -> Result<(Views, Views), ViewsError> {
        if let Some((before, after)) = &self.whole {
            return Ok((before.clone(), after.clone()));
        }
        let at = |place| self.live.at(place, scope, self.records, &mut |_| {});
        Ok((at(self.from)?, at(self.to)?))
    }
}

impl Views {
    /// What changed after the event at `from`, up to the one at `to`. `seen` is told how far a fold of the
    /// whole log has come, from 0 up to `to` and, where it is needed, once more.
    ///
    /// # Errors
    /// [`ViewsError::Beyond`] if the log has no such place.
    pub fn changes(
        &self,
        from: Seq,
        to: Seq,
        records: &Records,
        seen: &mut dyn FnMut(Seq),
    ) -> Result<Changes, ViewsError> {
        self.changes_apart(from, to, records, APART_MAX, seen)
    }

    /// The same with another number of things that are folded each from its own events.
    pub(crate) fn changes_apart(
        &self,
        from: Seq,
        to: Seq,
        records: &Records,
        apart_max: usize,
        seen: &mut dyn FnMut(Seq),
    ) -> Result<Changes, ViewsError> {
        let mut found = Changes::default();
        let touched = touched(from, to, records, &mut found)?;
        let things = touched.contexts.len() + touched.tasks.len() + touched.rounds.len();
        let whole = if things > apart_max {
            let mut at = |place| self.at(place, &Scope::Everything, records, seen);
            Some((at(from)?, at(to)?))
        } else {
            None
        };
        let moments = Moments {
            live: self,
            records,
            from,
            to,
            whole,
        };
        let changes = &mut found.changes;
        if touched.registry {
            let (before, after) = moments.of(&Scope::Registry)?;
            fields::agents(&before, &after, changes)?;
            fields::groups(&before, &after, changes)?;
        }
        for context in &touched.contexts {
            let (before, after) = moments.of(&Scope::Context(context.clone()))?;
            fields::context(context, &before, &after, changes)?;
        }
        for task in &touched.tasks {
            let (before, after) = moments.of(&Scope::Task(task.clone()))?;
            fields::tasks(task, &before, &after, changes)?;
        }
        for round in &touched.rounds {
            let (before, after) = moments.of(&Scope::Round(round.clone()))?;
            fields::round(round, &before, &after, changes)?;
        }
        let order = |change: &Change| VIEWS.iter().position(|view| *view == change.view);
        changes.sort_by(|left, right| (order(left), &left.id).cmp(&(order(right), &right.id)));
        Ok(found)
    }
}

/// The views that are compared, in the order in which they are told.
const VIEWS: [&str; 10] = [
    "agents",
    "groups",
    "members",
    "contexts",
    "outputs",
    "tasks",
    "artifacts",
    "push_configs",
    "rounds",
    "round_members",
];

fn touched(
    from: Seq,
    to: Seq,
    records: &Records,
    found: &mut Changes,
) -> Result<Touched, ViewsError> {
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
    Ok(touched)
}

/// Notes a thing that is not what it was.
pub(super) fn compare(
    view: &'static str,
    id: String,
    before: Option<Fields>,
    after: Option<Fields>,
    changes: &mut Vec<Change>,
) {
    let what = match (&before, &after) {
        (None, None) => return,
        (None, Some(_)) => Changed::Added,
        (Some(_), None) => Changed::Removed,
        (Some(_), Some(_)) => Changed::Altered,
    };
    let names = after.as_ref().or(before.as_ref());
    let names: Vec<&'static str> = names.into_iter().flatten().map(|(name, _)| *name).collect();
    let mut then: BTreeMap<&str, String> = before.into_iter().flatten().collect();
    let mut now: BTreeMap<&str, String> = after.into_iter().flatten().collect();
    let fields = names.into_iter().map(|name| FieldChange {
        name,
        from: then.remove(name).unwrap_or_default(),
        to: now.remove(name).unwrap_or_default(),
    });
    let fields: Vec<FieldChange> = fields.filter(|field| field.from != field.to).collect();
    if what == Changed::Altered && fields.is_empty() {
        return;
    }
    changes.push(Change {
        view,
        id,
        changed: what,
        fields,
    });
}

/// Compares two lists of things by what makes each of them one thing.
pub(super) fn compare_all<K: Ord, T>(
    view: &'static str,
    (before, after): (Vec<T>, Vec<T>),
    key: impl Fn(&T) -> K,
    id: impl Fn(&T) -> String,
    mut fields: impl FnMut(&T, bool) -> Result<Fields, ViewsError>,
    changes: &mut Vec<Change>,
) -> Result<(), ViewsError> {
    let mut then: BTreeMap<K, T> = before.into_iter().map(|row| (key(&row), row)).collect();
    for row in &after {
        let before = then.remove(&key(row));
        let before = before.map(|row| fields(&row, false)).transpose()?;
        compare(view, id(row), before, Some(fields(row, true)?), changes);
    }
    for row in then.values() {
        compare(view, id(row), Some(fields(row, false)?), None, changes);
    }
    Ok(())
}
