//! Give an agent another alias; its history stays.

use missive_log::event::kind::AgentRenamed;
use missive_log::event::{Alias, EventKind, Subject};
use missive_projections::Views;

use super::{Decide, Decision, Moment, Undecided, unchanged};
use crate::peer;
use crate::refusal::Refusal;

/// `agent rename`.
#[derive(Clone, Debug)]
pub struct AgentRename {
    /// The alias that the agent has now.
    pub old: Alias,
    /// The alias that it gets.
    pub new: Alias,
}

impl Decide for AgentRename {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        if views.agent(&self.old)?.is_none() {
            return Err(not_ours(views, moment, &self.old)?.into());
        }
        let configured = moment.config.agents.contains_key(self.new.as_str());
        if configured || views.agent(&self.new)?.is_some() {
            return Err(Refusal::AliasTaken {
                alias: self.new.clone(),
                configured,
            }
            .into());
        }
        let subject = Subject::Agent(self.old.clone());
        let expect = vec![
            unchanged(views, subject.clone())?,
            unchanged(views, Subject::Agent(self.new.clone()))?,
        ];
        let to = self.new.clone();
        let kind = EventKind::AgentRenamed(AgentRenamed { to });
        let mut draft = moment.draft(subject, kind, Vec::new());
        draft.operation = Some(moment.ids.operation());
        draft.links.agent = Some(self.old.clone());
        Ok(Decision {
            expect,
            drafts: vec![draft],
        })
    }
}

/// Why an alias that is not registered cannot be changed.
pub(super) fn not_ours(
    views: &Views,
    moment: &Moment<'_>,
    alias: &Alias,
) -> Result<Refusal, Undecided> {
    if moment.config.agents.contains_key(alias.as_str()) {
        return Ok(Refusal::Configured {
            alias: alias.clone(),
        });
    }
    Ok(peer::unknown(views, moment.config, alias)?)
}
