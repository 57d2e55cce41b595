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

use super::Moment;
use crate::refusal::Refusal;

/// `log re-anchor`.
#[derive(Clone, Debug)]
pub struct Reanchor {
    /// What does not hold.
    pub fault: Option<IntegrityFault>,
    /// Where the log ends.
    pub head: Head,
    /// Why the owner lets it go on.
    pub reason: String,
}

impl Reanchor {
    /// The one fact.
    ///
    /// # Errors
    /// If there is no fault to answer, or no reason.
    pub fn decide(&self, moment: &Moment<'_>) -> Result<Draft, Refusal> {
        let fault = self.fault.as_ref().ok_or(Refusal::NothingToReanchor)?;
        if self.reason.trim().is_empty() {
            return Err(Refusal::NoReason);
        }
        let facts = self.facts(fault);
        let kind = EventKind::LogReanchored(facts);
        let (ids, redactor) = (moment.ids, moment.redactor);
        let reason = redactor.text(ids, Role::Reason, About::default(), &self.reason);
        let mut draft = moment.draft(Subject::Log, kind, vec![reason]);
        draft.operation = Some(ids.operation());
        Ok(draft)
    }

    fn facts(&self, fault: &IntegrityFault) -> LogReanchored {
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
            IntegrityFault::OtherLog { witnessed, .. } | IntegrityFault::Gone { witnessed } => {
                facts((witnessed.seq, witnessed.link), end)
            }
            IntegrityFault::Chain(_)
            | IntegrityFault::Unreadable { .. }
            | IntegrityFault::Thread { .. }
            | IntegrityFault::Time { .. }
            | IntegrityFault::PayloadMissing { .. }
            | IntegrityFault::PayloadChanged { .. }
            | IntegrityFault::Store { .. } => {
                // Everything from the first bad place on is declared as not trusted.
                let before = fault
                    .first_bad()
                    .map_or(self.head.seq, |bad| Seq(bad.0.saturating_sub(1)));
                facts(end, (before, self.head.link))
            }
        }
    }
}
