//! Members of groups that come and go.
//!
//! A member is the agent that has the alias now: it stays one when it is renamed, and is shown as gone, not
//! dropped, when it is removed from the registry.

use missive_log::event::facts::Weight;
use missive_log::event::kind::{GroupMemberAdded, GroupMemberRemoved};
use missive_log::event::{Alias, EventKind, GroupName, Rank, Subject};
use missive_projections::Views;

use super::agent_add::{names_of_tags, remarks};
use super::{Decide, Decision, Moment, Undecided, unchanged};
use crate::config::Config;
use crate::groups::{GroupRefusal, Seat, find_group, seats};
use crate::peer::{Target, resolve};
use crate::refusal::Refusal;

/// The most members of one group.
pub const MEMBERS_MAX: usize = 4_096;

/// `group add`.
#[derive(Clone, Debug)]
pub struct GroupAdd {
    /// The group.
    pub group: GroupName,
    /// The agent.
    pub agent: Alias,
    /// Its place in the group.
    pub rank: Rank,
    /// Tags that it has as a member.
    pub tags: Vec<String>,
    /// How much of the work it takes; absent: one.
    pub weight: Option<Weight>,
    /// Facts about it as a member; of the same key twice the last one counts.
    pub metadata: Vec<(String, String)>,
}

impl GroupAdd {
    /// Refuses a second place for an agent, and a place for a second agent.
    fn check(&self, seats: &[Seat]) -> Result<(), Refusal> {
        let group = self.group.clone();
        let of_agent = seats
            .iter()
            .find(|seat| seat.alias.as_ref() == Some(&self.agent));
        if let Some(seat) = of_agent {
            return Err(GroupRefusal::AlreadyMember {
                group,
                agent: self.agent.clone(),
                rank: seat.member.rank.clone(),
            }
            .into());
        }
        if let Some(seat) = seats.iter().find(|seat| seat.member.rank == self.rank) {
            return Err(GroupRefusal::RankTaken {
                group,
                rank: self.rank.clone(),
                agent: seat.agent().clone(),
                taken: seats.iter().map(|seat| seat.member.rank.clone()).collect(),
            }
            .into());
        }
        if seats.len() >= MEMBERS_MAX {
            return Err(Refusal::TooMany {
                what: "members",
                count_max: MEMBERS_MAX,
            });
        }
        Ok(())
    }
}

impl Decide for GroupAdd {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let subject = Subject::Group(self.group.clone());
        let mut expect = vec![unchanged(views, subject.clone())?];
        let group = find_group(views, &self.group)?;
        let target = Target::Alias(self.agent.clone());
        let peer = resolve(views, moment.config, &target)?;
        expect.extend(peer.unchanged());
        self.check(&seats(views, moment.config, &group)?)?;
        let kind = EventKind::from(GroupMemberAdded {
            agent: self.agent.clone(),
            rank: self.rank.clone(),
            tags: names_of_tags(&self.tags)?,
            weight: self.weight,
        });
        let payloads = remarks(moment, None, &self.metadata);
        let mut draft = moment.draft(subject, kind, payloads);
        draft.operation = Some(moment.ids.operation());
        draft.links.group = Some(self.group.clone());
        draft.links.agent = Some(self.agent.clone());
        Ok(Decision {
            expect,
            drafts: vec![draft],
        })
    }
}

/// `group remove`.
#[derive(Clone, Debug)]
pub struct GroupRemove {
    /// The group.
    pub group: GroupName,
    /// The agent: as it is called now, or as it was called when it was added.
    pub agent: Alias,
    /// Its rank, where several are or were called so.
    pub rank: Option<Rank>,
}

impl GroupRemove {
    /// The member that is meant.
    pub(crate) fn seat(&self, views: &Views, config: &Config) -> Result<Seat, Undecided> {
        let group = find_group(views, &self.group)?;
        let seats = seats(views, config, &group)?;
        let fits = |seat: &&Seat| {
            self.rank
                .as_ref()
                .is_none_or(|rank| seat.member.rank == *rank)
        };
        let now = |seat: &&Seat| seat.alias.as_ref() == Some(&self.agent);
        let then = |seat: &&Seat| seat.member.agent == self.agent;
        let mut found: Vec<&Seat> = seats.iter().filter(fits).filter(now).collect();
        if found.is_empty() {
            found = seats.iter().filter(fits).filter(then).collect();
        }
        let group = self.group.clone();
        let agent = self.agent.clone();
        match found.as_slice() {
            [one] => Ok((*one).clone()),
            [] => Err(Refusal::from(GroupRefusal::NoMember {
                group,
                agent,
                rank: self.rank.clone(),
                members: seats.iter().map(|seat| seat.agent().clone()).collect(),
            })
            .into()),
            several => Err(Refusal::from(GroupRefusal::SeveralMembers {
                group,
                agent,
                ranks: several
                    .iter()
                    .map(|seat| seat.member.rank.clone())
                    .collect(),
            })
            .into()),
        }
    }
}

impl Decide for GroupRemove {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let subject = Subject::Group(self.group.clone());
        let expect = unchanged(views, subject.clone())?;
        let seat = self.seat(views, moment.config)?;
        let kind = EventKind::from(GroupMemberRemoved {
            agent: seat.member.agent.clone(),
            rank: seat.member.rank.clone(),
        });
        let mut draft = moment.draft(subject, kind, Vec::new());
        draft.operation = Some(moment.ids.operation());
        draft.links.group = Some(self.group.clone());
        draft.links.agent = Some(seat.agent().clone());
        Ok(Decision {
            expect: vec![expect],
            drafts: vec![draft],
        })
    }
}
