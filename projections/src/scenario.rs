//! A log with its views for tests: given some events, when a command decides, then these events and views.
//!
//! A command is anything that reads views and says what is to be recorded, and on which conditions. It is
//! decided and recorded like in life, only in memory and with a clock that is told.
//!
//! ```
//! use missive_log::event::facts::RoutingPolicy;
//! use missive_log::event::kind::{GroupCreated, GroupDeleted, GroupFact};
//! use missive_log::event::{EventKind, GroupName, Subject};
//! use missive_projections::scenario::Scenario;
//! use missive_projections::Scope;
//!
//! let name = GroupName::new("board").unwrap();
//! let scenario = Scenario::new();
//! let about = |fact| scenario.draft(Subject::Group(name.clone()), EventKind::Group(fact));
//!
//! let created = GroupFact::Created(GroupCreated { policy: Some(RoutingPolicy::Broadcast) });
//! let given = scenario.given([about(created)]);
//! let when = scenario.when(|views| match views.group(&name) {
//!     Ok(Some(_)) => Ok((Vec::new(), vec![about(GroupFact::Deleted(GroupDeleted {}))])),
//!     Ok(None) | Err(_) => Err("no such group"),
//! });
//!
//! assert_eq!(when.unwrap()[0].kind.name(), "missive.group.deleted");
//! assert_eq!(scenario.views().group(&name).unwrap(), None);
//! let before = scenario.views_at(given, &Scope::Groups);
//! assert!(before.group(&name).unwrap().is_some());
//! ```

use crate::host::ViewsHost;
use crate::moment::{Records, Scope};
use crate::read::Views;
use crate::{Source, source_of};
use missive_log::event::Seq;
use missive_log::{AppendError, Draft, Event, Expect};
use std::ops::Deref;
use std::sync::Arc;

/// What a command decides to record, and the conditions for it.
pub type Decided = (Vec<Expect>, Vec<Draft>);

/// A log in memory with its views. What the log alone can do it can as well.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    log: missive_log::scenario::Scenario,
}

impl Deref for Scenario {
    type Target = missive_log::scenario::Scenario;

    fn deref(&self) -> &Self::Target {
        &self.log
    }
}

impl Scenario {
    /// A log with its first event.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with identifiers of its own.
    pub fn seeded(seed: &[u8]) -> Self {
        Self {
            log: missive_log::scenario::Scenario::seeded(seed),
        }
    }

    /// Where its records come from.
    pub fn source(&self) -> Source {
        source_of(Arc::clone(self.log.log()))
    }

    /// Every view at the end of the log, folded anew.
    pub fn views(&self) -> Views {
        let head = self.head();
        let host = ViewsHost::in_memory(head.log, self.source());
        Views::hosted(Arc::new(host), head.seq)
    }

    /// The views as they stood at an earlier place, as far as `scope` goes.
    ///
    /// # Panics
    /// If there is no such place: it is a mistake of the test.
    #[expect(clippy::expect_used, reason = "a test asks for a place that it knows")]
    pub fn views_at(&self, place: Seq, scope: &Scope) -> Views {
        let records = Records::of(Arc::clone(self.log.log()));
        self.views()
            .at(place, scope, &records, &mut |_| {})
            .expect("a place of this log")
    }

    /// Lets a command decide on the views, and records what it decided; the events that it came to.
    ///
    /// # Errors
    /// What the command says no with. Nothing is recorded then.
    ///
    /// # Panics
    /// If what was decided cannot be recorded: nobody else writes, so its conditions were wrong.
    #[expect(
        clippy::expect_used,
        reason = "a decision on the newest views holds, or the test has found a mistake"
    )]
    pub fn when<E>(
        &self,
        decide: impl FnOnce(&Views) -> Result<Decided, E>,
    ) -> Result<Vec<Event>, E> {
        let before = self.head().seq;
        let (expect, drafts) = decide(&self.views())?;
        if !drafts.is_empty() {
            let appended: Result<_, AppendError> = self.log.when(expect, drafts);
            appended.expect("a decision on the newest views can be recorded");
        }
        Ok(self.then(before))
    }
}
