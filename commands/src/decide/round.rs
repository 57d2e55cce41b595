//! The end of a round: what came of everyone, and of the whole.

use missive_log::event::{Alias, ContextId, Draft, GroupName, Links, OperationId, Subject};
use missive_projections::Views;

use super::{Decide, Decision, Moment, Undecided, unchanged};

/// The links of the facts of a round: who is a member stands beside them.
pub(crate) fn links_of(group: &GroupName, context: &ContextId, agent: Option<Alias>) -> Links {
    Links {
        agent,
        context: Some(context.clone()),
        task: None,
        group: Some(group.clone()),
    }
}

/// Facts that end a round that was begun.
pub(crate) struct RoundOver<'a, F> {
    /// The operation of the round.
    pub(crate) operation: &'a OperationId,
    /// Makes the facts.
    pub(crate) drafts: F,
}

impl<F> Decide for RoundOver<'_, F>
where
    F: Fn(&Moment<'_>) -> Vec<Draft>,
{
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let subject = Subject::Operation(self.operation.clone());
        let expect = vec![unchanged(views, subject)?];
        let round = views.round(self.operation)?;
        if round.is_none_or(|round| round.ended.is_some()) {
            return Err(Undecided::Superseded(self.operation.clone()));
        }
        Ok(Decision {
            expect,
            drafts: (self.drafts)(moment),
        })
    }
}
