//! Views as they stood at an earlier place of the log.
//!
//! A question about one thing is answered from that thing's own events: they are found by the indexes of the
//! live views, together with the few events on which others depend (`reach.rs` lists the kinds), and folded
//! in the order of the log into memory. The rows of that thing are then exactly those that a fold of the
//! whole log up to that place gives. A question about everything folds the whole log, but only what its
//! [`Scope`] reads.
//!
//! What lies outside of a scope is not there, or is there in part: ask for what the scope names. A table
//! that no fold of the scope writes is an error. Events are asked of the live views, bounded by the place.
//!
//! One number is exact for honest logs only: how many messages a context has counts answers by their cause,
//! and an outcome that names a cause of another operation is not found.

mod diff;
mod fields;
mod fold;
mod past;
mod places;
pub(crate) mod reach;
mod touched;

pub use diff::{Change, Changed, Changes, FieldChange};
pub(crate) use past::Past;
pub(crate) use reach::told_beside;

use crate::error::ViewsError;
use crate::follow::block_on;
use crate::read::Views;
use crate::select::Filter;
use crate::views::{Part, Parts};
use fold::Folding;
use missive_log::event::{Alias, ContextId, OperationId, Seq, TaskId};
use missive_log::{Log, ReadError, Record, Timestamp};
use places::Places;
use std::fmt;
use std::sync::Arc;

/// How often a read is tried again because the log moved on meanwhile.
const TRIES_MAX: usize = 4;

/// A moment of a log, as people name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// After the event at this place.
    Place(Seq),
    /// After the last event, in the order of the log, that is not later.
    Time(Timestamp),
}

/// What is asked of an earlier moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every view but those that only serve appends and the search for events.
    Everything,
    /// Every task with its artifacts, and the register of agents.
    Tasks,
    /// Every context, and the register of agents.
    Contexts,
    /// Every agent with its card, and every group.
    Registry,
    /// Every group, and the register of agents.
    Groups,
    /// A context with its tasks, messages and outputs; and every group.
    Context(ContextId),
    /// The tasks with this id, with their artifacts and push configurations.
    Task(TaskId),
    /// An agent with its card, by the alias that it had then.
    Agent(Alias),
    /// A round, by its operation; and every group.
    Round(OperationId),
}

/// The folds behind all that is compared, with those whose rows they read.
const COMPARED: Parts = Parts::of(&[
    Part::Agents,
    Part::Tasks,
    Part::Artifacts,
    Part::Messages,
    Part::Contexts,
    Part::PushConfigs,
    Part::Groups,
    Part::Rounds,
    Part::Outputs,
]);

impl Scope {
    /// Whether the whole log must be gone through, which takes seconds for a long one.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Everything | Self::Tasks | Self::Contexts => true,
            Self::Registry
            | Self::Groups
            | Self::Context(_)
            | Self::Task(_)
            | Self::Agent(_)
            | Self::Round(_) => false,
        }
    }

    /// The folds that answer it, with those whose rows they read.
    fn parts(&self) -> Parts {
        match self {
            Self::Everything => COMPARED.and(Part::Outbox),
            Self::Tasks => Parts::of(&[Part::Agents, Part::Tasks, Part::Artifacts]),
            Self::Contexts => Parts::of(&[Part::Agents, Part::Messages, Part::Contexts]),
            Self::Registry | Self::Groups => Parts::of(&[Part::Agents, Part::Groups]),
            Self::Context(_) => Parts::of(&[
                Part::Agents,
                Part::Tasks,
                Part::Artifacts,
                Part::Messages,
                Part::Contexts,
                Part::PushConfigs,
                Part::Groups,
                Part::Outputs,
            ]),
            Self::Task(_) => Parts::of(&[
                Part::Agents,
                Part::Tasks,
                Part::Artifacts,
                Part::PushConfigs,
            ]),
            Self::Agent(_) => Parts::of(&[Part::Agents]),
            Self::Round(_) => Parts::of(&[Part::Agents, Part::Groups, Part::Rounds]),
        }
    }
}

/// Picks records by their places, at most [`missive_log::READ_RECORDS_MAX`] at once.
type Pick = dyn Fn(&[Seq]) -> Result<Vec<Record>, ReadError> + Send + Sync;
/// Reads records after a place.
type After = dyn Fn(Seq, usize) -> Result<Vec<Record>, ReadError> + Send + Sync;

/// The records of a log, of this process or of another one.
#[derive(Clone)]
pub struct Records {
    after: Arc<After>,
    pick: Arc<Pick>,
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Records")
    }
}

impl Records {
    /// The records of this log. Reading them blocks.
    pub fn of<L: Log>(log: Arc<L>) -> Self {
        let other = Arc::clone(&log);
        Self {
            after: Arc::new(move |after, limit| block_on(log.read(after, limit))),
            pick: Arc::new(move |places| block_on(other.pick(places))),
        }
    }

    fn after(&self, place: Seq, limit: usize) -> Result<Vec<Record>, ViewsError> {
        Ok((self.after)(place, limit)?)
    }

    fn pick(&self, places: &[Seq]) -> Result<Vec<Record>, ViewsError> {
        Ok((self.pick)(places)?)
    }
}

impl Views {
    /// The place that a moment means: of the last event that is not later. A place without an event, which
    /// a re-anchoring leaves, means the event before it. `None`: before the first event, or beyond the end.
    pub fn place_of(&self, at: At) -> Result<Option<Seq>, ViewsError> {
        let newest = Filter {
            reverse: true,
            limit: Some(1),
            ..Filter::default()
        };
        let filter = match at {
            At::Place(seq) if seq > self.least() => return Ok(None),
            At::Place(seq) => Filter {
                through: Some(seq),
                ..newest
            },
            At::Time(moment) => Filter {
                until: Some(moment),
                ..newest
            },
        };
        Ok(self.select(&filter)?.first().copied())
    }

    /// The views as they stood at `place`, as far as `scope` goes; see the module. `seen` is told how far a
    /// fold of the whole log has come.
    ///
    /// # Errors
    /// [`ViewsError::Beyond`] if the log has no such place.
    pub fn at(
        &self,
        place: Seq,
        scope: &Scope,
        records: &Records,
        seen: &mut dyn FnMut(Seq),
    ) -> Result<Self, ViewsError> {
        let live = self.at_least(place);
        let folding = Folding::new(scope.parts());
        let unreadable = if scope.is_whole() {
            folding.everything(records, place, fold::kinds_of(scope), seen)?
        } else {
            let mut places = Places::of(std::slice::from_ref(scope), &live, place, records)?;
            folding.gathered(&live, records, &mut places, place)?
        };
        let past = Past::new(live, place, scope.parts(), records.clone());
        Ok(Self::past(past.over(folding.rows(), unreadable)?))
    }

    /// Reads something at one place of the log, and says which. Where the log moves on under every try, it
    /// is read as it stood, which `scope` must cover.
    pub fn consistent<T, E: From<ViewsError>>(
        &self,
        scope: &Scope,
        records: &Records,
        mut read: impl FnMut(&Self) -> Result<T, E>,
    ) -> Result<(T, Seq), E> {
        // A status waits for a fold that is under way, so equal places mean that nothing was folded between.
        let mut before = self.status()?.position;
        for _ in 0..TRIES_MAX {
            let found = read(&self.at_least(before))?;
            let after = self.status()?.position;
            if before == after {
                return Ok((found, after));
            }
            before = after;
        }
        let past = self.at(before, scope, records, &mut |_| {})?;
        Ok((read(&past)?, before))
    }
}
