//! Which events a scope is folded from.
//!
//! A task needs every event that reports of it. A context needs every event that names it, in its links or
//! in its facts; of its tasks all events; and of an answer whose request went out without the context, the
//! request and its operation. An agent needs the events of its card under every alias that it may have had.

use super::reach::{CARDS, GROUPS, REGISTER, Reach, answers, reach};
use super::{Records, Scope};
use crate::error::ViewsError;
use crate::index::term;
use crate::read::Views;
use crate::rows::{Index, Order, Places as Range};
use crate::select::SELECT_MAX;
use missive_log::Event;
use missive_log::event::{Alias, ContextId, EventKind, Seq, Subject, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// How many events that were read on the way are kept for the fold; the others are read again.
const KEPT_MAX: usize = 16_384;
/// How many records are read at once.
pub(super) const PAGE: usize = 1_024;
/// Up to this number of cards, reading all of them is quicker than looking whose they are.
const CARDS_READ_MAX: usize = 256;

/// Places of events in order, with those events that were read already.
#[derive(Debug, Default)]
pub(super) struct Places {
    places: Vec<Seq>,
    kept: BTreeMap<Seq, Event>,
}

/// Where to look.
struct Look<'a> {
    live: &'a Views,
    place: Seq,
    records: &'a Records,
}

impl Places {
    /// The events that some scopes are folded from, up to a place.
    pub(super) fn of(
        scopes: &[Scope],
        live: &Views,
        place: Seq,
        records: &Records,
    ) -> Result<Self, ViewsError> {
        let look = Look {
            live,
            place,
            records,
        };
        let mut places = Self::default();
        look.kinds(&REGISTER, &mut places.places)?;
        if scopes.iter().any(reads_groups) {
            look.kinds(&GROUPS, &mut places.places)?;
        }
        for scope in scopes {
            match scope {
                // These go through the whole log and do not ask.
                Scope::Everything | Scope::Tasks | Scope::Contexts | Scope::Groups => {}
                Scope::Registry => look.kinds(&CARDS, &mut places.places)?,
                Scope::Task(task) => look.task(task, &mut places.places)?,
                Scope::Round(operation) => {
                    look.term(Index::Operation, operation.as_str(), &mut places.places)?;
                }
                Scope::Agent(alias) => look.agent(alias, &mut places)?,
                Scope::Context(context) => look.context(context, &mut places)?,
            }
        }
        places.sort();
        Ok(places)
    }

    fn sort(&mut self) {
        self.places.sort_unstable();
        self.places.dedup();
    }

    /// Reads events at places that are in order, and keeps some.
    fn read(
        &mut self,
        look: &Look<'_>,
        places: &[Seq],
        visit: &mut dyn FnMut(&Event),
    ) -> Result<(), ViewsError> {
        for page in places.chunks(PAGE) {
            for record in look.records.pick(page)? {
                let Ok(event) = record.decode() else {
                    continue;
                };
                visit(&event);
                if self.kept.len() < KEPT_MAX {
                    self.kept.insert(event.seq, event);
                }
            }
        }
        Ok(())
    }

    /// The events up to a place in order, page by page, with the number of those that could not be read. The
    /// others stay.
    pub(super) fn pages(
        &mut self,
        records: &Records,
        place: Seq,
        fold: &mut dyn FnMut(&[Event]) -> Result<(), ViewsError>,
    ) -> Result<Unreadable, ViewsError> {
        let mut unreadable = Unreadable::default();
        let later = self.places.partition_point(|seq| *seq <= place);
        let later = self.places.split_off(later);
        for page in std::mem::replace(&mut self.places, later).chunks(PAGE) {
            let known = |seq: &&Seq| !self.kept.contains_key(seq);
            let missing: Vec<Seq> = page.iter().filter(known).copied().collect();
            if !missing.is_empty() {
                for record in records.pick(&missing)? {
                    match record.decode() {
                        Ok(event) => drop(self.kept.insert(event.seq, event)),
                        Err(_) => unreadable.note(record.seq),
                    }
                }
            }
            let events: Vec<Event> = page
                .iter()
                .filter_map(|seq| self.kept.remove(seq))
                .collect();
            fold(&events)?;
        }
        Ok(unreadable)
    }
}

/// Whether a scope goes with every group.
fn reads_groups(scope: &Scope) -> bool {
    match scope {
        Scope::Registry | Scope::Groups | Scope::Context(_) | Scope::Round(_) => true,
        Scope::Everything | Scope::Tasks | Scope::Contexts | Scope::Task(_) | Scope::Agent(_) => {
            false
        }
    }
}

/// Events that could not be read, and were folded as nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unreadable {
    pub(super) count: u64,
    pub(super) first: Option<Seq>,
}

impl Unreadable {
    pub(super) fn note(&mut self, seq: Seq) {
        self.count += 1;
        self.first.get_or_insert(seq);
    }
}

impl Look<'_> {
    /// The places of a term, up to the place.
    fn term(&self, index: Index, text: &str, places: &mut Vec<Seq>) -> Result<(), ViewsError> {
        let mut range = Range {
            first: Seq(1),
            last: self.place,
        };
        loop {
            let page = self
                .live
                .places(index, term(text), range, Order::Forward, SELECT_MAX)?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            range.first = last.next();
            places.extend_from_slice(&page);
            if page.len() < SELECT_MAX {
                return Ok(());
            }
        }
    }

    fn kinds(&self, names: &[&str], places: &mut Vec<Seq>) -> Result<(), ViewsError> {
        names
            .iter()
            .try_for_each(|name| self.term(Index::Kind, name, places))
    }

    fn task(&self, task: &TaskId, places: &mut Vec<Seq>) -> Result<(), ViewsError> {
        self.term(Index::Task, task.as_str(), places)?;
        self.term(Index::ToldTask, task.as_str(), places)
    }

    fn context(&self, context: &ContextId, found: &mut Places) -> Result<(), ViewsError> {
        let mut own = Vec::new();
        self.term(Index::Context, context.as_str(), &mut own)?;
        self.term(Index::ToldContext, context.as_str(), &mut own)?;
        own.sort_unstable();
        own.dedup();
        let (mut tasks, mut causes) = (BTreeSet::new(), BTreeSet::new());
        found.read(self, &own, &mut |event| {
            if let Reach::Told {
                task: Some(task), ..
            } = reach(&event.kind)
                && !tasks.contains(task)
            {
                tasks.insert(task.clone());
            }
            if let Some(cause) = event.cause.filter(|_| answers(&event.kind)) {
                causes.insert(cause);
            }
        })?;
        // An answer whose request went out without the context: what else was said of that request counts.
        let elsewhere = |cause: &Seq| *cause <= self.place && own.binary_search(cause).is_err();
        let causes: Vec<Seq> = causes.into_iter().filter(elsewhere).collect();
        let mut operations = BTreeSet::new();
        found.read(self, &causes, &mut |event| {
            let asked = matches!(
                event.kind,
                EventKind::SendRequested(_) | EventKind::StreamRequested(_)
            );
            operations.extend(event.operation.clone().filter(|_| asked));
        })?;
        found.places.extend(own);
        found.places.extend(causes);
        for operation in operations {
            self.term(Index::Operation, operation.as_str(), &mut found.places)?;
        }
        tasks
            .iter()
            .try_for_each(|task| self.task(task, &mut found.places))
    }

    fn agent(&self, alias: &Alias, found: &mut Places) -> Result<(), ViewsError> {
        found.sort();
        let register = found.places.clone();
        let mut renames: Vec<(Alias, Alias)> = Vec::new();
        found.read(self, &register, &mut |event| {
            if let EventKind::AgentRenamed(facts) = &event.kind {
                let subject = match &event.subject {
                    Some(Subject::Agent(from)) => Some(from),
                    Some(_) | None => None,
                };
                let from = [subject, event.links.agent.as_ref()];
                let pairs = from.into_iter().flatten();
                renames.extend(pairs.map(|from| (from.clone(), facts.to.clone())));
            }
        })?;
        let mut cards = Vec::new();
        self.kinds(&CARDS, &mut cards)?;
        if cards.len() > CARDS_READ_MAX {
            let mut of_agent = Vec::new();
            for alias in connected(alias, &renames) {
                self.term(Index::Agent, alias.as_str(), &mut of_agent)?;
            }
            of_agent.sort_unstable();
            cards.retain(|seq| of_agent.binary_search(seq).is_ok());
        }
        found.places.extend(cards);
        Ok(())
    }
}

/// Every alias that renames may have led to or from this one.
fn connected(alias: &Alias, renames: &[(Alias, Alias)]) -> BTreeSet<Alias> {
    let mut beside: BTreeMap<&Alias, Vec<&Alias>> = BTreeMap::new();
    for (from, to) in renames {
        beside.entry(from).or_default().push(to);
        beside.entry(to).or_default().push(from);
    }
    let mut known = BTreeSet::from([alias.clone()]);
    let mut open = vec![alias];
    while let Some(next) = open.pop() {
        for other in beside.get(next).into_iter().flatten() {
            if known.insert((*other).clone()) {
                open.push(other);
            }
        }
    }
    known
}
