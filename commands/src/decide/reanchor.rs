//! Declare that the log goes on although it lost events.
//!
//! This one is appended alone, without its actor's introduction and without asking the views: the
//! log takes nothing else until it is there.

use missive_log::chain::Link;
use missive_log::contract::IntegrityFault;
use missive_log::event::kind::LogReanchored;
use missive_log::event::{Draft, EventKind, Seq, Subject};
use missive_log::payload::About;
use missive_log::{Head, Role};

use std::sync::Arc;

use super::Moment;
use crate::refusal::Refusal;

/// `log re-anchor`.
#[derive(Clone, Debug)]
pub struct Reanchor {
    /// What does not hold.
    pub fault: Option<Arc<IntegrityFault>>,
    /// Where the log ends.
    pub head: Head,
    /// Why the owner lets it go on.
    pub reason: String,
}

impl Reanchor {
    /// The place whose link the fact names as the last good one, where the fault does not name it itself.
    pub fn last_good(&self) -> Option<Seq> {
        let first_bad = self.fault.as_ref()?.first_bad();
        match self.fault.as_deref()? {
            IntegrityFault::Shorter { .. }
            | IntegrityFault::OtherLink { .. }
            | IntegrityFault::OtherLog { .. }
            | IntegrityFault::Gone { .. } => None,
            IntegrityFault::Chain(_)
            | IntegrityFault::Unreadable { .. }
            | IntegrityFault::Thread { .. }
            | IntegrityFault::Time { .. }
            | IntegrityFault::PayloadMissing { .. }
            | IntegrityFault::PayloadChanged { .. }
            | IntegrityFault::Store { .. } => {
                Some(first_bad.map_or(self.head.seq, |bad| Seq(bad.0.saturating_sub(1))))
            }
        }
    }

    /// The one fact, as facts and as what is appended. `link` is the link of [`Reanchor::last_good`], if
    /// it can be read: damage around that place can hide it, and the log's own one stands in for it then.
    ///
    /// # Errors
    /// If there is no fault to answer, or no reason.
    pub fn decide(
        &self,
        moment: &Moment<'_>,
        link: Option<Link>,
    ) -> Result<(LogReanchored, Draft), Refusal> {
        let fault = self.fault.as_ref().ok_or(Refusal::NothingToReanchor)?;
        if self.reason.trim().is_empty() {
            return Err(Refusal::NoReason);
        }
        let facts = self.facts(fault, link);
        let kind = EventKind::LogReanchored(facts.clone());
        let (ids, redactor) = (moment.ids, moment.redactor);
        let reason = redactor.text(ids, Role::Reason, About::default(), &self.reason);
        let mut draft = moment.draft(Subject::Log, kind, vec![reason]);
        draft.operation = Some(ids.operation());
        Ok((facts, draft))
    }

    fn facts(&self, fault: &IntegrityFault, link: Option<Link>) -> LogReanchored {
        let facts = |witnessed: (Seq, Link), found: (Seq, Link)| LogReanchored {
            witnessed: witnessed.0,
            witnessed_link: witnessed.1,
            found: found.0,
            found_link: found.1,
        };
        let end = (self.head.seq, self.head.link);
        match fault {
            IntegrityFault::Shorter { witnessed, found } => {
                facts((witnessed.seq, witnessed.link), (found.seq, found.link))
            }
            IntegrityFault::OtherLink {
                witnessed, head, ..
            } => facts((witnessed.seq, witnessed.link), (head.seq, head.link)),
            IntegrityFault::OtherLog { witnessed, .. }
            | IntegrityFault::Gone {
                witnessed: Some(witnessed),
            } => facts((witnessed.seq, witnessed.link), end),
            IntegrityFault::Gone { witnessed: None } => facts(end, end),
            IntegrityFault::Chain(_)
            | IntegrityFault::Unreadable { .. }
            | IntegrityFault::Thread { .. }
            | IntegrityFault::Time { .. }
            | IntegrityFault::PayloadMissing { .. }
            | IntegrityFault::PayloadChanged { .. }
            | IntegrityFault::Store { .. } => {
                // Everything from the first bad place on is declared as not trusted.
                let before = self.last_good().unwrap_or(self.head.seq);
                facts(end, (before, link.unwrap_or(self.head.link)))
            }
        }
    }
}
