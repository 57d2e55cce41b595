//! Who is a member of a group at one moment.

use missive_log::event::facts::Weight;
use missive_log::event::{Alias, GroupName, Rank, Seq};
use missive_projections::{Group, Member, Standing, Views};

use crate::config::Config;
use crate::decide::Undecided;
use crate::groups::find_group;

/// The members of a group at one moment, in the order of their ranks.
#[derive(Clone, Debug)]
pub struct Roster {
    /// The group.
    pub group: Group,
    /// Where the views stood.
    pub position: Seq,
    /// Its members.
    pub seats: Vec<Seat>,
}

/// One member.
#[derive(Clone, Debug)]
pub struct Seat {
    /// The member, as it was added.
    pub member: Member,
    /// What its agent is called now; none if it is not registered any more.
    pub alias: Option<Alias>,
}

impl Seat {
    /// What people call it: as it is called now, else as it was.
    pub fn agent(&self) -> &Alias {
        self.alias.as_ref().unwrap_or(&self.member.agent)
    }

    /// Its rank.
    pub fn rank(&self) -> &Rank {
        &self.member.rank
    }

    /// How much of the work it takes.
    pub fn weight(&self) -> Weight {
        self.member.weight
    }
}

/// Reads the members of a group.
///
/// # Errors
/// There is no such group, or the views gave no answer.
pub fn roster(views: &Views, config: &Config, name: &GroupName) -> Result<Roster, Undecided> {
    let group = find_group(views, name)?;
    let members = views.members(&group)?;
    let standings = views.standings(&members)?;
    let seats = members
        .into_iter()
        .zip(standings)
        .map(|(member, standing)| {
            let alias = match standing {
                Standing::Registered(alias) => Some(alias),
                Standing::Removed => None,
                Standing::Unregistered => Some(member.agent.clone())
                    .filter(|alias| config.agents.contains_key(alias.as_str())),
            };
            Seat { member, alias }
        });
    Ok(Roster {
        group,
        position: views.status()?.position,
        seats: seats.collect(),
    })
}
