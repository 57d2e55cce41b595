//! Where the raw text behind a row lies.

use missive_log::event::Seq;
use missive_log::{Event, PayloadRef, Role};
use serde::{Deserialize, Serialize};

/// A payload by its place: the log opens it. Views never do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Source {
    /// The event.
    pub seq: Seq,
    /// Which of its payloads; `None` if it has none of the kind.
    pub payload: Option<u16>,
}

impl Source {
    /// The first payload of an event with one of these roles, in the order of the roles.
    pub(crate) fn of(event: &Event, roles: &[Role]) -> Self {
        let with = |role: &Role| event.payloads.iter().find(|p| p.role == *role);
        Self {
            seq: event.seq,
            payload: roles.iter().find_map(with).map(|p| p.index),
        }
    }

    /// The same payload as the event names it, if this is the event.
    pub fn find(self, event: &Event) -> Option<PayloadRef> {
        let index = self.payload.filter(|_| event.seq == self.seq)?;
        event.payloads.iter().find(|p| p.index == index).copied()
    }
}
