//! Remove an agent from the registry; its history stays.

use missive_log::event::kind::AgentRemoved;
use missive_log::event::{Alias, EventKind, Subject};
use missive_projections::Views;

use super::agent_rename::not_ours;
use super::{Decide, Decision, Moment, Undecided, unchanged};

/// `agent remove`.
#[derive(Clone, Debug)]
pub struct AgentRemove {
    /// The alias.
    pub alias: Alias,
}

impl Decide for AgentRemove {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let subject = Subject::Agent(self.alias.clone());
        let expect = unchanged(views, subject.clone())?;
        if views.agent(&self.alias)?.is_none() {
            return Err(not_ours(views, moment, &self.alias)?.into());
        }
        let kind = EventKind::AgentRemoved(AgentRemoved {});
        let mut draft = moment.draft(subject, kind, Vec::new());
        draft.operation = Some(moment.ids.operation());
        draft.links.agent = Some(self.alias.clone());
        Ok(Decision {
            expect: vec![expect],
            drafts: vec![draft],
        })
    }
}
