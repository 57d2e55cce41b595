//! What was delivered before.
//!
//! Deliveries carry no id (A2A 1.0, section 4.3), so the bytes themselves are recognised: by fingerprints
//! in memory, the newest [`REMEMBERED_MAX`] of them. A receiver that starts takes the fingerprints of what
//! the log holds of the newest deliveries, so that a sender who repeats itself over a restart is noticed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use missive_log::event::{EventKind, Seq, Subject, TaskId};
use missive_log::fingerprint::{Fingerprint, Fingerprints};
use missive_log::{Event, Log, Opened, Role};
use missive_projections::{Filter, KindPattern};

use super::early::Waiting;
use crate::failure::CommandError;
use crate::run::Missive;

/// How many deliveries are remembered.
pub const REMEMBERED_MAX: usize = 65_536;
/// How many of them are read from the log when a receiver starts.
pub const RECALLED_MAX: usize = 4_096;

/// The kinds of deliveries.
pub(super) const DELIVERIES: [&str; 4] = [
    "a2a.push.task",
    "a2a.push.message",
    "a2a.push.status_update",
    "a2a.push.artifact_update",
];

/// The newest deliveries, by their fingerprints.
#[derive(Debug)]
pub(super) struct Seen {
    prints: Fingerprints,
    newest: Mutex<Newest>,
}

#[derive(Debug, Default)]
struct Newest {
    known: BTreeSet<Fingerprint>,
    order: VecDeque<Fingerprint>,
    /// Where those are that could not be linked.
    unlinked: BTreeMap<Fingerprint, Seq>,
}

impl Seen {
    pub(super) fn new(prints: Fingerprints) -> Self {
        Self {
            prints,
            newest: Mutex::default(),
        }
    }

    /// Takes a delivery in; whether it was there before. One that could not be linked to a task changed
    /// nothing, so it does not count as seen once it can be.
    pub(super) fn note(&self, bytes: &[u8], linked: bool) -> Noted {
        let print = self.prints.of(u8::from(linked), bytes);
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let duplicate = !newest.known.insert(print);
        if !duplicate {
            newest.order.push_back(print);
            if newest.order.len() > REMEMBERED_MAX
                && let Some(oldest) = newest.order.pop_front()
            {
                newest.known.remove(&oldest);
                newest.unlinked.remove(&oldest);
            }
        }
        Noted { print, duplicate }
    }

    /// Remembers where a delivery was recorded that could not be linked.
    pub(super) fn placed(&self, noted: &Noted, linked: bool, seq: Seq) {
        if !linked && !noted.duplicate {
            let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
            newest.unlinked.insert(noted.print, seq);
        }
    }

    /// Where the same bytes were recorded when they could not be linked.
    pub(super) fn unlinked(&self, bytes: &[u8]) -> Option<Seq> {
        let print = self.prints.of(u8::from(false), bytes);
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.unlinked.get(&print).copied()
    }

    /// Takes back what was not recorded after all.
    pub(super) fn forget(&self, noted: &Noted) {
        if !noted.duplicate {
            let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
            newest.known.remove(&noted.print);
            newest.order.retain(|print| *print != noted.print);
        }
    }
}

/// What was taken in.
#[derive(Debug)]
pub(super) struct Noted {
    print: Fingerprint,
    /// Whether the same bytes had come before.
    pub(super) duplicate: bool,
}

impl<L: Log> Missive<L> {
    /// Takes in what the log holds of the newest deliveries. What was erased since is not recognised. Gives the
    /// tasks of those that could not be linked.
    pub(super) async fn recall(&self, seen: &Seen) -> Result<Waiting, CommandError> {
        let waiting = Waiting::default();
        let filter = Filter {
            kinds: DELIVERIES.into_iter().map(KindPattern::new).collect(),
            reverse: true,
            limit: Some(RECALLED_MAX),
            ..Filter::default()
        };
        let mut places = self.views().select(&filter)?;
        places.reverse();
        for record in self.log().pick(&places).await? {
            let Ok(event) = record.decode() else {
                continue;
            };
            if let Some(task) = early_task(&event) {
                waiting.add(task);
            }
            let (Some(marks), Some(body)) = (marks(&event), body_of(&event)) else {
                continue;
            };
            if let Opened::Present(row) = self.log().payload(body).await? {
                let noted = seen.note(&row.bytes, marks.linked);
                seen.placed(&noted, marks.linked, event.seq);
            }
        }
        Ok(waiting)
    }
}

fn body_of(event: &Event) -> Option<missive_log::PayloadRef> {
    let mut payloads = event.payloads.iter();
    payloads
        .find(|payload| payload.role == Role::Delivery)
        .copied()
}

/// The task of a delivery that could not be linked.
fn early_task(event: &Event) -> Option<&TaskId> {
    let early = marks(event).is_some_and(|marks| !marks.linked && !marks.duplicate);
    match &event.subject {
        Some(Subject::Task(task)) if early => Some(task),
        Some(_) | None => None,
    }
}

/// What was said of a delivery when it was recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// Whether it was linked.
    pub(super) linked: bool,
    /// Whether the same had come before.
    pub(super) duplicate: bool,
}

/// `None` if the event is no delivery.
pub(super) fn marks(event: &Event) -> Option<Marks> {
    let marks = |linked, duplicate| Some(Marks { linked, duplicate });
    if let EventKind::PushTask(facts) = &event.kind {
        return marks(facts.linked, facts.duplicate);
    }
    if let EventKind::PushMessage(facts) = &event.kind {
        return marks(facts.linked, facts.duplicate);
    }
    if let EventKind::PushStatusUpdate(facts) = &event.kind {
        return marks(facts.linked, facts.duplicate);
    }
    if let EventKind::PushArtifactUpdate(facts) = &event.kind {
        return marks(facts.linked, facts.duplicate);
    }
    None
}

#[cfg(test)]
mod tests {
    use missive_log::Ids;

    use super::*;

    fn seen() -> Seen {
        Seen::new(Fingerprints::new(&Ids::from_system()))
    }

    #[test]
    fn the_same_bytes_are_a_duplicate_until_the_first_ones_are_taken_back() {
        let seen = seen();

        let first = seen.note(b"a", true);
        let again = seen.note(b"a", true);
        let other = seen.note(b"b", true);
        seen.forget(&again);
        let third = seen.note(b"a", true);
        seen.forget(&first);
        let last = seen.note(b"a", true);

        let told = [first, again, other, third, last].map(|noted| noted.duplicate);
        assert_eq!(told, [false, true, false, true, false]);
    }

    #[test]
    fn what_could_not_be_linked_is_new_once_it_can_be() {
        let seen = seen();

        let early = seen.note(b"a", false);
        let linked = seen.note(b"a", true);

        assert!(!early.duplicate && !linked.duplicate);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let seen = seen();
        for at in 0..=REMEMBERED_MAX {
            seen.note(&at.to_be_bytes(), true);
        }

        assert!(!seen.note(&0_usize.to_be_bytes(), true).duplicate);
        assert!(seen.note(&9_usize.to_be_bytes(), true).duplicate);
    }
}
