//! Who is a member of a group at one moment.

use missive_log::event::{GroupName, Seq};
use missive_projections::{Group, Views};

use crate::config::Config;
use crate::decide::Undecided;
use crate::groups::{find_group, seats};

pub use crate::groups::Seat;

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

impl Roster {
    /// What the members are known by for ever: the event that made each of them one.
    pub fn ids(&self) -> Vec<Seq> {
        self.seats.iter().map(|seat| seat.member.added).collect()
    }
}

/// Reads the members of a group.
///
/// # Errors
/// There is no such group, or the views gave no answer.
pub fn roster(views: &Views, config: &Config, name: &GroupName) -> Result<Roster, Undecided> {
    let group = find_group(views, name)?;
    let seats = seats(views, config, &group)?;
    Ok(Roster {
        group,
        position: views.status()?.position,
        seats,
    })
}
