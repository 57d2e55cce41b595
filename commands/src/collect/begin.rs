//! The beginning of a round: who is a member is fixed, and that it begins is written down.

use std::sync::{Mutex, PoisonError};

use missive_log::event::{ContextId, EventKind, GroupName, OperationId, Subject};
use missive_projections::Views;

use super::roster::{Roster, roster};
use crate::decide::round::links_of;
use crate::decide::{Decide, Decision, Moment, Undecided, unchanged};
use crate::refusal::Refusal;

/// The intent of a round over the members of a group.
pub(super) struct Begin<'a, F> {
    /// The group.
    pub(super) group: &'a GroupName,
    /// The operation of the round.
    pub(super) operation: &'a OperationId,
    /// The context that it belongs to.
    pub(super) context: &'a ContextId,
    /// Makes the fact of these members, or refuses.
    pub(super) facts: F,
    /// The members that the decision was made for; the last one counts.
    pub(super) chosen: Chosen,
}

/// Who takes part.
#[derive(Default)]
pub(super) struct Chosen(Mutex<Option<Roster>>);

impl Chosen {
    fn set(&self, roster: Roster) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(roster);
    }

    /// The members, once the intent is written down.
    pub(super) fn into_roster(self) -> Option<Roster> {
        let roster = self.0.into_inner();
        roster.unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F> Decide for Begin<'_, F>
where
    F: Fn(&Roster, &Moment<'_>) -> Result<EventKind, Refusal>,
{
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let expect = vec![
            unchanged(views, Subject::Group(self.group.clone()))?,
            unchanged(views, Subject::Operation(self.operation.clone()))?,
        ];
        let roster = roster(views, moment.config, self.group)?;
        if roster.seats.is_empty() {
            let name = self.group.clone();
            return Err(Refusal::EmptyGroup { name }.into());
        }
        let kind = (self.facts)(&roster, moment)?;
        let links = links_of(self.group, self.context, None);
        let draft = moment.step(self.operation, None, &links, kind, Vec::new());
        self.chosen.set(roster);
        Ok(Decision {
            expect,
            drafts: vec![draft],
        })
    }
}

/// How many members there are, as facts count them.
pub(super) fn size(roster: &Roster) -> u32 {
    u32::try_from(roster.seats.len()).unwrap_or(u32::MAX)
}
