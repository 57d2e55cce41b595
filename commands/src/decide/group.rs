//! Groups that are made, renamed and deleted. Their history stays.
//!
//! As with aliases, both names of a rename are subjects of the fact, so that one name is never given twice
//! at the same moment.

use missive_log::event::facts::RoutingPolicy;
use missive_log::event::kind::{GroupCreated, GroupDeleted, GroupRenamed};
use missive_log::event::{EventKind, GroupName, Subject};
use missive_projections::Views;

use super::agent_add::remarks;
use super::{Decide, Decision, Moment, Undecided, unchanged};
use crate::groups::{GroupRefusal, find_group};
use crate::refusal::Refusal;
use crate::wire::text::excerpt;

/// What is a subcommand where a group could stand (`missive reduce show`).
const RESERVED: &str = "show";

/// `group create`.
#[derive(Clone, Debug)]
pub struct GroupCreate {
    /// Its name.
    pub name: GroupName,
    /// How an agent of it is chosen where nothing else is said.
    pub policy: Option<RoutingPolicy>,
    /// A remark for people.
    pub notes: Option<String>,
    /// Further facts; of the same key twice the last one counts.
    pub metadata: Vec<(String, String)>,
}

impl Decide for GroupCreate {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let subject = Subject::Group(self.name.clone());
        let expect = unchanged(views, subject.clone())?;
        free(views, &self.name)?;
        let policy = self.policy;
        let kind = EventKind::from(GroupCreated { policy });
        let payloads = remarks(moment, self.notes.as_deref(), &self.metadata);
        let mut draft = moment.draft(subject, kind, payloads);
        draft.operation = Some(moment.ids.operation());
        draft.links.group = Some(self.name.clone());
        Ok(Decision {
            expect: vec![expect],
            drafts: vec![draft],
        })
    }
}

/// Refuses a name that a group cannot get.
fn free(views: &Views, name: &GroupName) -> Result<(), Undecided> {
    if name.as_str() == RESERVED {
        return Err(Refusal::BadName {
            text: excerpt(name.as_str()),
            what: "group name, since `missive reduce show` is a command",
        }
        .into());
    }
    if views.group(name)?.is_some() {
        let name = name.clone();
        return Err(Refusal::from(GroupRefusal::Taken { name }).into());
    }
    Ok(())
}

/// `group rename`.
#[derive(Clone, Debug)]
pub struct GroupRename {
    /// The name that it has now.
    pub old: GroupName,
    /// The name that it gets.
    pub new: GroupName,
}

impl Decide for GroupRename {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let expect = vec![
            unchanged(views, Subject::Group(self.old.clone()))?,
            unchanged(views, Subject::Group(self.new.clone()))?,
        ];
        find_group(views, &self.old)?;
        free(views, &self.new)?;
        let to = self.new.clone();
        let kind = EventKind::from(GroupRenamed { to });
        let operation = moment.ids.operation();
        let on = |name: &GroupName| {
            let subject = Subject::Group(name.clone());
            let mut draft = moment.draft(subject, kind.clone(), Vec::new());
            draft.operation = Some(operation.clone());
            draft.links.group = Some(name.clone());
            draft
        };
        Ok(Decision {
            expect,
            drafts: vec![on(&self.old), on(&self.new)],
        })
    }
}

/// `group delete`.
#[derive(Clone, Debug)]
pub struct GroupDelete {
    /// Which one.
    pub name: GroupName,
}

impl Decide for GroupDelete {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let subject = Subject::Group(self.name.clone());
        let expect = unchanged(views, subject.clone())?;
        find_group(views, &self.name)?;
        let kind = EventKind::from(GroupDeleted {});
        let mut draft = moment.draft(subject, kind, Vec::new());
        draft.operation = Some(moment.ids.operation());
        draft.links.group = Some(self.name.clone());
        Ok(Decision {
            expect: vec![expect],
            drafts: vec![draft],
        })
    }
}
