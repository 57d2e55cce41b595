//! What changed between two earlier moments, view by view.
//!
//! Only events between the two can have changed anything: they say which things to look at. These are folded
//! from their own events up to the earlier moment, looked at, folded on in the same rows to the later one, and
//! compared; so few at once that memory does not grow with the log. Intents without an outcome, messages and
//! indexes are not compared: they follow from the events between, which `events list` shows.

use super::fold::Folding;
use super::places::{Places, Unreadable};
use super::touched::touched;
use super::{COMPARED, Past, Records, Scope, fields};
use crate::error::ViewsError;
use crate::read::Views;
use missive_log::event::Seq;
use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;

/// How many things are folded at once from their own events.
const TOGETHER: usize = 2_048;

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
    /// How many more things changed than were asked for: the last ones by view and thing.
    pub more: u64,
}

/// The fields of a thing, in a fixed order.
pub(super) type Fields = Vec<(&'static str, String)>;

/// A thing as the views of one moment show it.
pub(super) struct Thing {
    pub(super) view: &'static str,
    /// What makes it one thing among those of its scope, whatever it is called.
    pub(super) key: Vec<u8>,
    pub(super) id: String,
    pub(super) fields: Fields,
}

/// The changes that are told, in the order in which they are told.
struct Told {
    most: usize,
    /// By view, by thing, and by how many were found before it.
    changes: BTreeMap<(usize, String, u64), Change>,
    found: u64,
}

impl Told {
    fn new(most: usize) -> Self {
        Self {
            most,
            changes: BTreeMap::new(),
            found: 0,
        }
    }

    fn into(self, found: &mut Changes) {
        found.more = self.found - self.changes.len() as u64;
        found.changes = self.changes.into_values().collect();
    }

    /// Compares the things of one scope.
    fn compare(&mut self, before: Vec<Thing>, after: Vec<Thing>) {
        let key = |thing: Thing| ((thing.view, thing.key.clone()), thing);
        let mut then: BTreeMap<_, Thing> = before.into_iter().map(key).collect();
        for now in after {
            let was = then.remove(&(now.view, now.key));
            self.add(
                now.view,
                now.id,
                was.map(|was| was.fields),
                Some(now.fields),
            );
        }
        for was in then.into_values() {
            self.add(was.view, was.id, Some(was.fields), None);
        }
    }

    fn add(
        &mut self,
        view: &'static str,
        id: String,
        before: Option<Fields>,
        after: Option<Fields>,
    ) {
        let Some((changed, fields)) = compare(before, after) else {
            return;
        };
        let order = VIEWS.iter().position(|other| *other == view);
        let key = (order.unwrap_or(VIEWS.len()), id.clone(), self.found);
        let change = Change {
            view,
            id,
            changed,
            fields,
        };
        self.changes.insert(key, change);
        self.found += 1;
        if self.changes.len() > self.most {
            self.changes.pop_last();
        }
    }
}

/// The two moments.
struct Moments<'a> {
    live: &'a Views,
    records: &'a Records,
    from: Seq,
    to: Seq,
}

impl Moments<'_> {
    /// The views over rows as they grow.
    fn views(&self, folding: &Folding) -> Result<Views, ViewsError> {
        let past = Past::new(self.live.clone(), self.to, COMPARED, self.records.clone());
        Ok(Views::past(
            past.over(folding.rows(), Unreadable::default())?,
        ))
    }

    /// Compares things that are folded from these places.
    fn compare(
        &self,
        scopes: &[Scope],
        mut places: Places,
        told: &mut Told,
    ) -> Result<(), ViewsError> {
        let folding = Folding::new(COMPARED);
        let views = self.views(&folding)?;
        folding.gathered(self.live, self.records, &mut places, self.from)?;
        let before: Result<Vec<_>, _> = scopes.iter().map(|s| fields::of(s, &views)).collect();
        folding.gathered(self.live, self.records, &mut places, self.to)?;
        for (scope, before) in scopes.iter().zip(before?) {
            told.compare(before, fields::of(scope, &views)?);
        }
        Ok(())
    }

    /// Compares so many things at once. A second thread looks up the events of the next ones meanwhile.
    fn compare_all(
        &self,
        scopes: &[Scope],
        together: usize,
        told: &mut Told,
        seen: &mut dyn FnMut(Seq),
    ) -> Result<(), ViewsError> {
        std::thread::scope(|threads| {
            let (send, receive) = sync_channel(1);
            threads.spawn(move || {
                for scopes in scopes.chunks(together) {
                    let places = Places::of(scopes, self.live, self.to, self.records);
                    // The receiver is gone when a fold failed: there is nothing left to do.
                    if send.send((scopes, places)).is_err() {
                        return;
                    }
                }
            });
            let mut done = 0;
            for (of_these, places) in receive {
                self.compare(of_these, places?, told)?;
                done += of_these.len();
                seen(share(self.to, done, scopes.len()));
            }
            Ok(())
        })
    }
}

impl Views {
    /// What changed after the event at `from`, up to the one at `to`; at most so many things. `seen` is told how
    /// far it has come, as a place from 0 up to `to`.
    ///
    /// # Errors
    /// [`ViewsError::Beyond`] if the log has no such place.
    pub fn changes(
        &self,
        from: Seq,
        to: Seq,
        most: usize,
        records: &Records,
        seen: &mut dyn FnMut(Seq),
    ) -> Result<Changes, ViewsError> {
        self.changes_by(TOGETHER, (from, to), most, records, seen)
    }

    /// The same with another number of things that are folded at once.
    pub(crate) fn changes_by(
        &self,
        together: usize,
        (from, to): (Seq, Seq),
        most: usize,
        records: &Records,
        seen: &mut dyn FnMut(Seq),
    ) -> Result<Changes, ViewsError> {
        let mut found = Changes::default();
        let scopes = touched(from, to, records, &mut found)?;
        let live = self.at_least(to);
        let moments = Moments {
            live: &live,
            records,
            from,
            to,
        };
        let mut told = Told::new(most);
        moments.compare_all(&scopes, together, &mut told, seen)?;
        told.into(&mut found);
        Ok(found)
    }

    /// The same by folding every event up to both moments.
    #[cfg(test)]
    pub(crate) fn changes_of_whole(
        &self,
        (from, to): (Seq, Seq),
        records: &Records,
    ) -> Result<Changes, ViewsError> {
        let mut found = Changes::default();
        let scopes = touched(from, to, records, &mut found)?;
        let at = |place| self.at(place, &Scope::Everything, records, &mut |_| {});
        let (before, after) = (at(from)?, at(to)?);
        let mut told = Told::new(usize::MAX);
        for scope in &scopes {
            told.compare(fields::of(scope, &before)?, fields::of(scope, &after)?);
        }
        told.into(&mut found);
        Ok(found)
    }
}

/// How far one is when so many of all are done.
fn share(to: Seq, done: usize, all: usize) -> Seq {
    let share = u128::from(to.0) * done as u128 / (all as u128).max(1);
    Seq(u64::try_from(share).unwrap_or(to.0))
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

/// What happened to a thing, with its fields that differ; nothing if it is what it was.
fn compare(before: Option<Fields>, after: Option<Fields>) -> Option<(Changed, Vec<FieldChange>)> {
    let changed = match (&before, &after) {
        (None, None) => return None,
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
    let is_same = changed == Changed::Altered && fields.is_empty();
    (!is_same).then_some((changed, fields))
}
