//! Give an agent another alias; its history stays.
//!
//! Both aliases are subjects of the fact: it is recorded on the old one and once more on the new one, which
//! the views pass over. So two processes that give the same new alias at the same moment, by renaming or by
//! adding, are each other's condition, and the second one decides again.

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
        let expect = vec![
            unchanged(views, Subject::Agent(self.old.clone()))?,
            unchanged(views, Subject::Agent(self.new.clone()))?,
        ];
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
        let to = self.new.clone();
        let kind = EventKind::AgentRenamed(AgentRenamed { to });
        let operation = moment.ids.operation();
        let on = |alias: &Alias| {
            let subject = Subject::Agent(alias.clone());
            let mut draft = moment.draft(subject, kind.clone(), Vec::new());
            draft.operation = Some(operation.clone());
            draft.links.agent = Some(alias.clone());
            draft
        };
        Ok(Decision {
            expect,
            drafts: vec![on(&self.old), on(&self.new)],
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
