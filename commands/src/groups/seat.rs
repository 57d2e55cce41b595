//! Members of a group and what became of their agents.

use missive_log::event::facts::Weight;
use missive_log::event::{Alias, Rank};
use missive_projections::{Group, Member, Standing, Views, ViewsError};

use crate::config::Config;

/// A member, and what its agent is called now.
#[derive(Clone, Debug)]
pub struct Seat {
    /// The member, as it was added.
    pub member: Member,
    /// What its agent is called now; none if nobody can be spoken to any more.
    pub alias: Option<Alias>,
    /// How that came.
    pub standing: SeatStanding,
}

/// How the agent of a member stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeatStanding {
    /// It is registered under the alias that it was added by.
    Registered,
    /// It is registered under another alias.
    Renamed,
    /// The configuration names it.
    Configured,
    /// It was registered, and is no more.
    Removed,
    /// Neither the log nor the configuration knows it any more.
    Unregistered,
}

impl SeatStanding {
    /// The name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::Renamed => "renamed",
            Self::Configured => "config",
            Self::Removed => "removed",
            Self::Unregistered => "unregistered",
        }
    }
}

impl Seat {
    fn of(member: Member, standing: Standing, config: &Config) -> Self {
        let configured = config.agents.contains_key(member.agent.as_str());
        let (alias, standing) = match standing {
            Standing::Registered(alias) if alias == member.agent => {
                (Some(alias), SeatStanding::Registered)
            }
            Standing::Registered(alias) => (Some(alias), SeatStanding::Renamed),
            Standing::Removed => (None, SeatStanding::Removed),
            Standing::Unregistered if configured => {
                (Some(member.agent.clone()), SeatStanding::Configured)
            }
            Standing::Unregistered => (None, SeatStanding::Unregistered),
        };
        Self {
            member,
            alias,
            standing,
        }
    }

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

/// The members of a group, in the order of their ranks. Nobody is left out.
///
/// # Errors
/// The views gave no answer.
pub fn seats(views: &Views, config: &Config, group: &Group) -> Result<Vec<Seat>, ViewsError> {
    let members = views.members(group)?;
    let standings = views.standings(&members)?;
    let seats = members.into_iter().zip(standings);
    Ok(seats
        .map(|(member, standing)| Seat::of(member, standing, config))
        .collect())
}
