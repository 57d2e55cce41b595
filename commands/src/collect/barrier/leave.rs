//! Members that leave while a barrier waits: nobody waits for who is not a member any more.

use missive_log::event::facts::MemberStatus;
use missive_log::event::kind::GroupFact;
use missive_log::event::{Event, EventKind, GroupName, Subject};

use super::BarrierMember;

/// The group, followed through its renames.
pub(super) struct Membership {
    name: GroupName,
}

impl Membership {
    pub(super) fn of(name: &GroupName) -> Self {
        Self { name: name.clone() }
    }

    /// Which members an event takes out of the group.
    pub(super) fn left(&mut self, event: &Event, members: &[BarrierMember]) -> Vec<usize> {
        let EventKind::Group(fact) = &event.kind else {
            return Vec::new();
        };
        if event.subject != Some(Subject::Group(self.name.clone())) {
            return Vec::new();
        }
        match fact {
            GroupFact::MemberRemoved(facts) => (0..)
                .zip(members)
                .filter(|(_, member)| {
                    *member.seat.rank() == facts.rank && member.seat.member.agent == facts.agent
                })
                .map(|(at, _)| at)
                .collect(),
            GroupFact::Deleted(_) => (0..members.len()).collect(),
            GroupFact::Renamed(facts) => {
                self.name = facts.to.clone();
                Vec::new()
            }
            GroupFact::Created(_)
            | GroupFact::MemberAdded(_)
            | GroupFact::TurnTaken(_)
            | GroupFact::MemberTried(_) => Vec::new(),
        }
    }
}

/// Notes that a member left; whether that changes how it stands. Who was there stays there.
pub(super) fn leave(member: &mut BarrierMember) -> bool {
    if matches!(member.status, MemberStatus::Succeeded | MemberStatus::Left) {
        return false;
    }
    member.status = MemberStatus::Left;
    true
}

/// How many left.
pub(super) fn left(members: &[BarrierMember]) -> usize {
    let members = members.iter();
    members
        .filter(|member| member.status == MemberStatus::Left)
        .count()
}
