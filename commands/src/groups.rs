//! Groups: their names, their members, and the commands about them.

mod act;
mod capabilities;
mod refusal;
mod seat;

pub(crate) use capabilities::is_its_own;
pub use refusal::GroupRefusal;
pub use seat::{Seat, SeatStanding, seats};

use missive_log::event::{Alias, GroupName};
use missive_projections::{Entry, Group, GroupEntry, Views, ViewsError};

use crate::decide::Undecided;
use crate::refusal::Refusal;

/// How many suggestions a refusal carries.
const NEAREST_MAX: usize = 3;

/// The group that is called so.
///
/// # Errors
/// There is none, or the views gave no answer.
pub fn find_group(views: &Views, name: &GroupName) -> Result<Group, Undecided> {
    match views.group(name)? {
        Some(group) => Ok(group),
        None => Err(no_group(views, name)?.into()),
    }
}

/// Why there is no such group: what became of it, or what may have been meant.
pub(crate) fn no_group(views: &Views, name: &GroupName) -> Result<Refusal, ViewsError> {
    let entry = views.group_entry(name)?;
    let deleted = matches!(entry, Some(GroupEntry::Deleted { .. }));
    let renamed_to = match entry {
        Some(GroupEntry::Renamed { to, .. }) => Some(to),
        Some(GroupEntry::Present(_) | GroupEntry::Deleted { .. }) | None => None,
    };
    Ok(Refusal::NoGroup {
        name: name.clone(),
        nearest: views.nearest_groups(name.as_str(), NEAREST_MAX)?,
        renamed_to,
        deleted,
        is_agent: match Alias::new(name.as_str()) {
            Ok(alias) => matches!(views.entry(&alias)?, Some(Entry::Present(_))),
            Err(_) => false,
        },
    })
}
