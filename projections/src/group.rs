//! Groups of agents: who belongs to them, in which order, and whose turn is next.
//!
//! A group keeps its members and its turns through renames: both hang on the place of its creation.
//! A member is the agent that had the alias when it was added, whatever that agent is called now; views
//! say whether it is still registered, so that nobody drops out unseen.

use crate::agent::identity;
use crate::rows::{Rows, Table, load, micros, save};
use crate::source::Source;
use crate::view::Projection;
use missive_log::event::facts::{Name, RoutingPolicy, Weight};
use missive_log::event::kind::{GroupFact, GroupMemberAdded};
use missive_log::event::{Alias, EventKind, GroupName, Rank, Seq, Subject};
use missive_log::{Event, Role, Timestamp};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A group, as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its name.
    pub name: GroupName,
    /// The place of its creation: its identity for life, whatever it is called.
    pub created: Seq,
    /// When that was.
    #[serde(with = "micros")]
    pub created_at: Timestamp,
    /// The newest event that changed it.
    pub changed: Seq,
    /// How an agent of it is chosen where nothing else is said.
    pub policy: Option<RoutingPolicy>,
    /// Its notes.
    pub note: Option<Source>,
    /// Its metadata.
    pub metadata: Option<Source>,
    /// How many members it has.
    pub members: u32,
    /// The turn that comes next, from 0.
    pub turn: u64,
    /// What it was called before, oldest first; of very many, the newest.
    pub former: Vec<GroupName>,
}

/// What is known of a group's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupEntry {
    /// There is such a group.
    Present(Group),
    /// It was renamed, and the name is free.
    Renamed {
        /// What it was renamed to.
        to: GroupName,
        /// By which event.
        at: Seq,
    },
    /// It was deleted, and the name is free.
    Deleted {
        /// What it was.
        was: Group,
        /// By which event.
        at: Seq,
    },
}

/// An agent as a member of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The agent, by the alias that it had when it became a member.
    pub agent: Alias,
    /// Its place in the group.
    pub rank: Rank,
    /// Tags that it has as a member, sorted.
    pub tags: Vec<Name>,
    /// How much of the work it takes.
    pub weight: Weight,
    /// Metadata about it as a member.
    pub metadata: Option<Source>,
    /// The event that made it one.
    pub added: Seq,
    /// When that was.
    #[serde(with = "micros")]
    pub added_at: Timestamp,
    /// What stands for its agent in keys, whatever that is called.
    pub(crate) identity: Vec<u8>,
}

/// How a member's agent stands in the register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is registered, under this alias.
    Registered(Alias),
    /// It was registered, and is no more.
    Removed,
    /// It never was: only the configuration may know it.
    Unregistered,
}

/// How many former names are kept, newest first.
const FORMER_MAX: usize = 256;

pub(crate) struct Groups;

impl Projection for Groups {
    const NAME: &'static str = "group";
    const VERSION: u32 = 1;
    const TABLES: &'static [Table] = &[Table::Groups, Table::GroupMembers];

    fn apply(rows: &mut impl Rows, event: &Event) {
        let EventKind::Group(fact) = &event.kind else {
            return;
        };
        let Some(Subject::Group(name)) = &event.subject else {
            return;
        };
        if let GroupFact::Created(facts) = fact {
            create(rows, event, name, facts.policy);
            return;
        }
        let Some(GroupEntry::Present(mut group)) = load(rows, Table::Groups, key(name)) else {
            return;
        };
        group.changed = event.seq;
        match fact {
            GroupFact::Created(_) => {}
            GroupFact::Renamed(facts) => {
                rename(rows, event, group, &facts.to);
                return;
            }
            GroupFact::Deleted(_) => {
                let at = event.seq;
                save(
                    rows,
                    Table::Groups,
                    key(name),
                    &GroupEntry::Deleted { was: group, at },
                );
                return;
            }
            GroupFact::MemberAdded(facts) => add(rows, event, &mut group, facts),
            GroupFact::MemberRemoved(facts) => {
                let member = member_key(&group, &facts.rank);
                if rows.get(Table::GroupMembers, &member).is_some() {
                    rows.delete(Table::GroupMembers, &member);
                    group.members = group.members.saturating_sub(1);
                }
            }
            GroupFact::TurnTaken(facts) => group.turn = facts.turn.saturating_add(1),
            // Its subject is an operation: it says nothing of the group.
            GroupFact::MemberTried(_) => return,
        }
        save(rows, Table::Groups, key(name), &GroupEntry::Present(group));
    }
}

fn key(name: &GroupName) -> &[u8] {
    name.as_str().as_bytes()
}

/// What stands in front of the members of a group.
pub(crate) fn members_prefix(group: &Group) -> Vec<u8> {
    group.created.to_key().to_vec()
}

fn member_key(group: &Group, rank: &Rank) -> Vec<u8> {
    let mut key = members_prefix(group);
    key.extend_from_slice(&rank_key(rank));
    key
}

fn create(rows: &mut impl Rows, event: &Event, name: &GroupName, policy: Option<RoutingPolicy>) {
    let found = |role| Some(Source::of(event, &[role])).filter(|s| s.payload.is_some());
    let group = Group {
        name: name.clone(),
        created: event.seq,
        created_at: event.at,
        changed: event.seq,
        policy,
        note: found(Role::Note),
        metadata: found(Role::Metadata),
        members: 0,
        turn: 0,
        former: Vec::new(),
    };
    save(rows, Table::Groups, key(name), &GroupEntry::Present(group));
}

/// The second fact of a rename, whose subject is the new name, changes nothing.
fn rename(rows: &mut impl Rows, event: &Event, mut group: Group, to: &GroupName) {
    if group.name == *to {
        return;
    }
    let old = std::mem::replace(&mut group.name, to.clone());
    let pointer = GroupEntry::Renamed {
        to: to.clone(),
        at: event.seq,
    };
    save(rows, Table::Groups, key(&old), &pointer);
    group.former.push(old);
    let excess = group.former.len().saturating_sub(FORMER_MAX);
    group.former.drain(..excess);
    save(rows, Table::Groups, key(to), &GroupEntry::Present(group));
}

fn add(rows: &mut impl Rows, event: &Event, group: &mut Group, facts: &GroupMemberAdded) {
    let place = member_key(group, &facts.rank);
    if rows.get(Table::GroupMembers, &place).is_none() {
        group.members = group.members.saturating_add(1);
    }
    let member = Member {
        agent: facts.agent.clone(),
        rank: facts.rank.clone(),
        tags: facts.tags.clone(),
        weight: facts.weight.unwrap_or(Weight::ONE),
        metadata: Some(Source::of(event, &[Role::Metadata])).filter(|s| s.payload.is_some()),
        added: event.seq,
        added_at: event.at,
        identity: identity(rows, Some(&facts.agent)),
    };
    save(rows, Table::GroupMembers, &place, &member);
}

/// Bytes that sort as people count: runs of digits by their value, everything else as it is spelled.
/// Ranks that differ in leading zeros only stay apart, in the order of their spelling.
pub(crate) fn rank_key(rank: &Rank) -> Vec<u8> {
    let text = rank.as_str().as_bytes();
    let mut key = Vec::with_capacity(text.len() * 2 + 4);
    let mut rest = text;
    while let Some(first) = rest.first() {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            key.push(*first);
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        let (run, after) = rest.split_at_checked(digits).unwrap_or_default();
        let zeros = run.iter().take_while(|byte| **byte == b'0').count();
        let value = run.get(zeros..).unwrap_or_default();
        // A run sorts where a digit would, then by its length. A rank has at most 63 characters.
        key.push(b'0');
        key.push(u8::try_from(value.len()).unwrap_or(u8::MAX));
        key.extend_from_slice(value);
        rest = after;
    }
    key.push(0);
    key.extend_from_slice(text);
    key
}

/// The natural order of ranks: `rank-2` before `rank-10`.
pub fn compare_ranks(one: &Rank, other: &Rank) -> Ordering {
    rank_key(one).cmp(&rank_key(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_ordered_as_people_count() {
        let mut ranks: Vec<Rank> = [
            "rank-10", "b", "rank-2", "10", "rank", "9", "rank-02", "a", "rank-2a",
        ]
        .iter()
        .map(|rank| Rank::new(rank).unwrap())
        .collect();

        ranks.sort_by(compare_ranks);

        let spelled: Vec<&str> = ranks.iter().map(Rank::as_str).collect();
        assert_eq!(
            spelled,
            [
                "9", "10", "a", "b", "rank", "rank-02", "rank-2", "rank-2a", "rank-10"
            ]
        );
    }
}
