//! What is asked of groups, rounds and outputs.

use super::{PAGE_ROWS, Views};
use crate::agent::{Entry, RENAMES_MAX};
use crate::error::ViewsError;
use crate::group::{self, Group, GroupEntry, Member, Standing};
use crate::output::{self, Output};
use crate::round::{self, Round, RoundMember};
use crate::rows::{KeyRange, Order, Table, key_of};
use crate::task::Task;
use missive_log::event::{Alias, ContextId, GroupName, OperationId, Seq};
use std::collections::BTreeMap;

impl Views {
    /// A group.
    pub fn group(&self, name: &GroupName) -> Result<Option<Group>, ViewsError> {
        Ok(match self.group_entry(name)? {
            Some(GroupEntry::Present(group)) => Some(group),
            Some(GroupEntry::Renamed { .. } | GroupEntry::Deleted { .. }) | None => None,
        })
    }

    /// What is known of a group's name.
    pub fn group_entry(&self, name: &GroupName) -> Result<Option<GroupEntry>, ViewsError> {
        self.fetch(Table::Groups, name.as_str().as_bytes())
    }

    /// What a group of some time is now, whatever it is called; none if it was deleted.
    pub fn present_group(&self, name: &GroupName) -> Result<Option<Group>, ViewsError> {
        let mut name = name.clone();
        for _ in 0..RENAMES_MAX {
            match self.group_entry(&name)? {
                Some(GroupEntry::Renamed { to, .. }) => name = to,
                Some(GroupEntry::Present(group)) => return Ok(Some(group)),
                Some(GroupEntry::Deleted { .. }) | None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Every group, by name.
    pub fn groups(&self) -> Result<Vec<Group>, ViewsError> {
        let entries: Vec<GroupEntry> = self.list(Table::Groups, &KeyRange::all())?;
        let present = entries.into_iter().filter_map(|entry| match entry {
            GroupEntry::Present(group) => Some(group),
            GroupEntry::Renamed { .. } | GroupEntry::Deleted { .. } => None,
        });
        Ok(present.collect())
    }

    /// Groups that a mistyped name may mean, nearest first, at most `limit`.
    pub fn nearest_groups(&self, wanted: &str, limit: usize) -> Result<Vec<GroupName>, ViewsError> {
        let names = self.groups()?.into_iter().map(|group| group.name);
        Ok(crate::nearest::nearest(wanted, names, limit))
    }

    /// The members of a group, in the order of their ranks.
    pub fn members(&self, group: &Group) -> Result<Vec<Member>, ViewsError> {
        let prefix = group::members_prefix(group);
        self.list(Table::GroupMembers, &KeyRange::prefix(&prefix))
    }

    /// How the agents of members stand in the register, in the order of the members.
    pub fn standings(&self, members: &[Member]) -> Result<Vec<Standing>, ViewsError> {
        let agents = self.agents()?.into_iter();
        let present: BTreeMap<[u8; 8], Alias> = agents
            .map(|agent| (agent.added.to_key(), agent.alias))
            .collect();
        let mut standings = Vec::with_capacity(members.len());
        for member in members {
            standings.push(self.standing(member, &present)?);
        }
        Ok(standings)
    }

    fn standing(
        &self,
        member: &Member,
        present: &BTreeMap<[u8; 8], Alias>,
    ) -> Result<Standing, ViewsError> {
        if let Ok(added) = <[u8; 8]>::try_from(member.identity.as_slice()) {
            return Ok(match present.get(&added) {
                Some(alias) => Standing::Registered(alias.clone()),
                None => Standing::Removed,
            });
        }
        // A member that the configuration knew, and that was registered here since.
        Ok(match self.entry(&member.agent)? {
            Some(Entry::Present(agent)) => Standing::Registered(agent.alias),
            Some(Entry::Renamed { .. } | Entry::Removed { .. }) | None => Standing::Unregistered,
        })
    }

    /// What each agent last did and said in a context.
    pub fn outputs(&self, context: &ContextId) -> Result<Vec<Output>, ViewsError> {
        let prefix = output::prefix(context);
        self.list(Table::Outputs, &KeyRange::prefix(&prefix))
    }

    /// What the agent of a member last did and said in a context. What it did before it was registered is its
    /// own as well.
    pub fn output_of(
        &self,
        member: &Member,
        context: &ContextId,
    ) -> Result<Option<Output>, ViewsError> {
        let find = |identity: &[u8]| self.fetch(Table::Outputs, &output::key(context, identity));
        if let Some(found) = find(&member.identity)? {
            return Ok(Some(found));
        }
        let name = member.agent.as_str().as_bytes();
        let seed = [&Seq::ZERO.to_key(), name].concat();
        if member.identity == seed {
            // Only the configuration knew it then; it may have been registered since.
            let registered = self.with(|rows| rows.get(Table::Identities, name))?;
            return registered.map_or(Ok(None), |identity| find(&identity));
        }
        find(&seed)
    }

    /// The task of an output.
    pub fn task_of(&self, output: &Output) -> Result<Option<Task>, ViewsError> {
        let Some(task) = &output.task else {
            return Ok(None);
        };
        let key = key_of(&[task.as_str().as_bytes()], &output.identity);
        self.fetch(Table::Tasks, &key)
    }

    /// A round: a broadcast, barrier, gather or reduction.
    pub fn round(&self, operation: &OperationId) -> Result<Option<Round>, ViewsError> {
        self.fetch(Table::Rounds, operation.as_str().as_bytes())
    }

    /// Rounds without an end, oldest first.
    pub fn open_rounds(&self) -> Result<Vec<Round>, ViewsError> {
        let rows = self.with(|rows| {
            let range = KeyRange::all();
            rows.scan(Table::OpenRounds, &range, Order::Forward, PAGE_ROWS)
        })?;
        let mut open = Vec::new();
        for (_, operation) in rows {
            open.extend(self.fetch::<Round>(Table::Rounds, &operation)?);
        }
        Ok(open)
    }

    /// What came of a round for its members, in the order of their ranks.
    pub fn round_members(&self, operation: &OperationId) -> Result<Vec<RoundMember>, ViewsError> {
        let prefix = round::members_prefix(operation);
        self.list(Table::RoundMembers, &KeyRange::prefix(&prefix))
    }

    /// The events that name what a reduction was made of, in the order of their parts.
    pub fn reduce_sources(&self, operation: &OperationId) -> Result<Vec<Seq>, ViewsError> {
        let prefix = round::members_prefix(operation);
        self.list(Table::ReduceSources, &KeyRange::prefix(&prefix))
    }
}
