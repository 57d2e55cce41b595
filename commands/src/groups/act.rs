//! The commands about groups. None of them asks an agent anything.

use missive_log::Log;
use missive_log::event::{GroupName, Seq};
use missive_projections::Group;

use super::{Seat, find_group, seats};
use crate::Done;
use crate::decide::group::{GroupCreate, GroupDelete, GroupRename};
use crate::decide::member::{GroupAdd, GroupRemove};
use crate::exit::Exit;
use crate::failure::CommandError;
use crate::report::group::{GroupReport, GroupView, GroupsReport, MemberView, WholeGroupReport};
use crate::run::Missive;

impl<L: Log> Missive<L> {
    /// Makes a group without members.
    ///
    /// # Errors
    /// A refusal if the name is taken.
    pub async fn group_create(
        &self,
        command: &GroupCreate,
    ) -> Result<Done<GroupReport>, CommandError> {
        let recorded = self.record(command).await?;
        self.group_done(&command.name, None, recorded.last).await
    }

    /// Gives a group another name; its members, turns and history go with it.
    ///
    /// # Errors
    /// A refusal if there is no such group, or the new name is taken.
    pub async fn group_rename(
        &self,
        command: &GroupRename,
    ) -> Result<Done<GroupReport>, CommandError> {
        let recorded = self.record(command).await?;
        let mut done = self.group_done(&command.new, None, recorded.last).await?;
        done.report.previous_name = Some(command.old.to_string());
        Ok(done)
    }

    /// Deletes a group; the report shows what it was.
    ///
    /// # Errors
    /// A refusal if there is no such group.
    pub async fn group_delete(
        &self,
        command: &GroupDelete,
    ) -> Result<Done<WholeGroupReport>, CommandError> {
        let mut done = self.group_show(&command.name).await?;
        let recorded = self.record(command).await?;
        self.settle();
        done.report.sequence = Some(recorded.last.0);
        Ok(done)
    }

    /// Makes an agent a member.
    ///
    /// # Errors
    /// A refusal if it is one, the rank is taken, or there is no such group or agent.
    pub async fn group_add(&self, command: &GroupAdd) -> Result<Done<GroupReport>, CommandError> {
        let recorded = self.record(command).await?;
        let views = self.views();
        let group = find_group(&views, &command.group)?;
        let seats = seats(&views, self.config(), &group)?;
        let seat = seats.iter().find(|seat| seat.member.rank == command.rank);
        self.group_done(&command.group, seat, recorded.last).await
    }

    /// Takes a member out of a group; the report shows what it was.
    ///
    /// # Errors
    /// A refusal if it is no member, or several are meant.
    pub async fn group_remove(
        &self,
        command: &GroupRemove,
    ) -> Result<Done<GroupReport>, CommandError> {
        let seat = command.seat(&self.views(), self.config())?;
        let recorded = self.record(command).await?;
        self.group_done(&command.group, Some(&seat), recorded.last)
            .await
    }

    /// Every group, by name.
    ///
    /// # Errors
    /// The log or its views gave no answer.
    pub async fn group_list(&self) -> Result<Done<GroupsReport>, CommandError> {
        let mut groups = Vec::new();
        for group in self.views().groups()? {
            groups.push(self.group_view(&group).await?);
        }
        Ok(Done {
            report: GroupsReport { groups },
            exit: Exit::Done,
        })
    }

    /// A group and its members.
    ///
    /// # Errors
    /// A refusal if there is no such group.
    pub async fn group_show(
        &self,
        name: &GroupName,
    ) -> Result<Done<WholeGroupReport>, CommandError> {
        let views = self.views();
        let group = find_group(&views, name)?;
        let mut members = Vec::new();
        for seat in seats(&views, self.config(), &group)? {
            members.push(self.member_view(&seat).await?);
        }
        Ok(Done {
            report: WholeGroupReport {
                group: self.group_view(&group).await?,
                members,
                sequence: None,
            },
            exit: Exit::Done,
        })
    }

    async fn group_done(
        &self,
        name: &GroupName,
        seat: Option<&Seat>,
        sequence: Seq,
    ) -> Result<Done<GroupReport>, CommandError> {
        let group = find_group(&self.views(), name)?;
        let report = GroupReport {
            group: self.group_view(&group).await?,
            member: match seat {
                Some(seat) => Some(self.member_view(seat).await?),
                None => None,
            },
            previous_name: None,
            sequence: sequence.0,
        };
        Ok(Done {
            report,
            exit: Exit::Done,
        })
    }

    pub(super) async fn group_view(&self, group: &Group) -> Result<GroupView, CommandError> {
        let mut view = GroupView::short(group);
        view.notes = self.text_of(group.note).await?;
        view.metadata = self.pairs_of(group.metadata).await?;
        Ok(view)
    }

    async fn member_view(&self, seat: &Seat) -> Result<MemberView, CommandError> {
        let mut view = MemberView::short(seat);
        view.routing_metadata = self.pairs_of(seat.member.metadata).await?;
        Ok(view)
    }
}
