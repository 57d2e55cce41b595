//! A log for tests: given some events, when something is appended, then these events are there.
//!
//! Everything is foretold: the log lives in memory, its clock stands still until it is told, and identifiers
//! and salts come from a seed. The same scenario gives the same bytes, links and head, everywhere.
//!
//! ```
//! use missive_log::event::facts::ContextName;
//! use missive_log::event::kind::{ContextClosed, ContextNamed};
//! use missive_log::event::{ContextId, EventKind, Subject};
//! use missive_log::scenario::Scenario;
//! use std::time::Duration;
//!
//! let context = ContextId::new("c-9").unwrap();
//! let named = ContextNamed { name: ContextName::new("Release 9").unwrap() };
//! let scenario = Scenario::new();
//! let about = |kind| scenario.draft(Subject::Context(context.clone()), kind);
//!
//! let given = scenario.given([about(EventKind::ContextNamed(named))]);
//! scenario.wait(Duration::from_secs(60));
//! let when = scenario.when(Vec::new(), vec![about(EventKind::ContextClosed(ContextClosed {}))]);
//!
//! let then = scenario.then(given);
//! assert!(when.is_ok());
//! assert_eq!(then.len(), 1);
//! assert_eq!(then[0].kind.name(), "missive.context.closed");
//! assert_eq!(then[0].at.to_string(), "2026-12-01T00:01:00.000000Z");
//! ```
//!
//! `missive_projections::scenario` adds views to it, and a command that decides on them.

use crate::backend::memory::MemoryLog;
use crate::contract::{AppendError, Appended, Batch, Expect, Head, Log, Record};
use crate::event::{Draft, Event, EventKind, Links, Seq, Subject, Timestamp};
use crate::seam::{Clock, FrozenClock, Ids, SeededRandomness};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// When every scenario begins, in microseconds since 1970: 2026-12-01T00:00:00Z.
const BEGIN: u64 = 1_796_083_200_000_000;

/// How many records are read at once.
const PAGE: usize = 4_096;

/// A clock that whoever holds it can move.
#[derive(Clone, Debug)]
struct Told(Arc<FrozenClock>);

impl Clock for Told {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

/// A log in memory, with a clock that is told.
#[derive(Clone, Debug)]
pub struct Scenario {
    log: Arc<MemoryLog>,
    ids: Arc<Ids>,
    clock: Told,
}

impl Default for Scenario {
    fn default() -> Self {
        Self::new()
    }
}

impl Scenario {
    /// A log with its first event.
    pub fn new() -> Self {
        Self::seeded(b"scenario")
    }

    /// The same with identifiers of its own.
    ///
    /// # Panics
    /// If a log cannot be begun in memory: there is nothing to test then.
    #[expect(
        clippy::expect_used,
        reason = "a test without a log has failed already"
    )]
    pub fn seeded(seed: &[u8]) -> Self {
        let begin = Timestamp::from_micros(BEGIN);
        let clock = Told(Arc::new(FrozenClock::at(begin)));
        let ids = Arc::new(Ids::new(clock.clone(), SeededRandomness::new(seed, b"")));
        let log = MemoryLog::new(Arc::clone(&ids)).expect("a log in memory begins");
        Self {
            log: Arc::new(log),
            ids,
            clock,
        }
    }

    /// The log.
    pub fn log(&self) -> &Arc<MemoryLog> {
        &self.log
    }

    /// Its clock, identifiers and salts.
    pub fn ids(&self) -> &Arc<Ids> {
        &self.ids
    }

    /// Its end.
    pub fn head(&self) -> Head {
        *self.log.head().borrow()
    }

    /// Lets time pass.
    pub fn wait(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let now = self.clock.now().as_micros().saturating_add(micros);
        self.clock.0.set(Timestamp::from_micros(now));
    }

    /// A fact about something, with the links that its subject gives it.
    pub fn draft(&self, subject: Subject, kind: EventKind) -> Draft {
        let links = links_of(&subject);
        let mut draft = Draft::new(self.ids.event(), subject, kind);
        draft.links = links;
        draft
    }

    /// Appends each fact by itself; the place of the last one, or of the head if there is none.
    ///
    /// # Panics
    /// If one of them cannot be written: it is a mistake of the test.
    #[expect(
        clippy::expect_used,
        reason = "what is given must be there, or the test means nothing"
    )]
    pub fn given(&self, drafts: impl IntoIterator<Item = Draft>) -> Seq {
        for draft in drafts {
            self.when(Vec::new(), vec![draft])
                .expect("what is given can be written");
        }
        self.head().seq
    }

    /// Appends facts as one batch, on conditions.
    ///
    /// # Errors
    /// What any log refuses: a condition that does not hold, or a fact that cannot be encoded.
    pub fn when(&self, expect: Vec<Expect>, drafts: Vec<Draft>) -> Result<Appended, AppendError> {
        let batch = Batch {
            id: self.ids.batch(),
            expect,
            drafts,
        };
        at_once(self.log.append(batch))
    }

    /// Every event after a place, decoded.
    ///
    /// # Panics
    /// If one cannot be decoded: what this log was handed it must be able to read.
    #[expect(
        clippy::expect_used,
        reason = "an event that was just encoded must decode"
    )]
    pub fn then(&self, after: Seq) -> Vec<Event> {
        let records = self.records(after).into_iter();
        records
            .map(|record| record.decode().expect("an event that was just written"))
            .collect()
    }

    /// Every record after a place.
    ///
    /// # Panics
    /// If a log in memory cannot be read.
    #[expect(clippy::expect_used, reason = "memory can be read")]
    pub fn records(&self, after: Seq) -> Vec<Record> {
        let mut records: Vec<Record> = Vec::new();
        loop {
            let after = records.last().map_or(after, |record| record.seq);
            let page = at_once(self.log.read(after, PAGE)).expect("a log in memory");
            if page.is_empty() {
                return records;
            }
            records.extend(page);
        }
    }
}

/// The links that follow from what a fact is about.
fn links_of(subject: &Subject) -> Links {
    let mut links = Links::default();
    match subject {
        Subject::Agent(alias) => links.agent = Some(alias.clone()),
        Subject::Context(context) => links.context = Some(context.clone()),
        Subject::Task(task) => links.task = Some(task.clone()),
        Subject::Group(group) => links.group = Some(group.clone()),
        Subject::Log
        | Subject::Actor(_)
        | Subject::Operation(_)
        | Subject::ContextName(_)
        | Subject::Other(_) => {}
    }
    links
}

/// The result of what a log in memory does without ever waiting.
///
/// # Panics
/// If it waits all the same.
#[expect(clippy::panic, reason = "memory does not wait")]
fn at_once<F: Future>(future: F) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a log in memory waits for something"),
    }
}

#[cfg(test)]
mod tests {
    use super::Scenario;
    use crate::contract::{AppendError, Expect};
    use crate::event::kind::ContextClosed;
    use crate::event::{ContextId, EventKind, Seq, Subject};

    #[test]
    fn the_same_scenario_gives_the_same_log_and_another_seed_another_one() {
        let play = |seed: &[u8]| {
            let scenario = Scenario::seeded(seed);
            let context = Subject::Context(ContextId::new("c-9").unwrap());
            let closed = || EventKind::ContextClosed(ContextClosed {});
            scenario.given([scenario.draft(context.clone(), closed())]);
            scenario.head()
        };

        assert_eq!(play(b"one"), play(b"one"));
        assert_ne!(play(b"one"), play(b"two"));
    }

    #[test]
    fn a_condition_that_does_not_hold_writes_nothing() {
        let scenario = Scenario::new();
        let subject = Subject::Context(ContextId::new("c-9").unwrap());
        let closed = || scenario.draft(subject.clone(), EventKind::ContextClosed(ContextClosed {}));
        let given = scenario.given([closed()]);
        let never = Expect::Unchanged {
            subject: subject.clone(),
            last: None,
        };

        let refused = scenario.when(vec![never], vec![closed()]);

        assert!(matches!(refused, Err(AppendError::Conflict { .. })));
        assert_eq!(scenario.then(given), []);
        assert_eq!(given, Seq(2));
    }
}
