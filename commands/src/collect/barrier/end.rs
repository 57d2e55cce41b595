//! What came of a barrier, for each member and for all of them.

use missive_log::Draft;
use missive_log::event::facts::{MemberStatus, RoundStatus, TaskState};
use missive_log::event::kind::{BarrierCompleted, BarrierMemberEnded};
use missive_log::event::{ContextId, EventKind, Links, OperationId, Seq, TaskId};

use super::leave::left;
use super::standing::{counts, has_failed};
use crate::collect::roster::{Roster, Seat};
use crate::decide::Moment;
use crate::decide::round::links_of;
use crate::exit::Exit;
use crate::failure::CommandError;

/// How a member stands.
#[derive(Debug)]
pub struct BarrierMember {
    /// The member.
    pub seat: Seat,
    /// What that means for the barrier.
    pub status: MemberStatus,
    /// Its task.
    pub task: Option<TaskId>,
    /// The state of that task.
    pub state: Option<TaskState>,
    /// Why it cannot be asked any more.
    pub error: Option<CommandError>,
    /// The message to it that may have arrived, and that nobody knows the task of.
    pub doubt: Option<OperationId>,
}

impl BarrierMember {
    /// The same to be shown, without what it failed of.
    pub(super) fn clone_shown(&self) -> Self {
        Self {
            seat: self.seat.clone(),
            status: self.status,
            task: self.task.clone(),
            state: self.state,
            error: None,
            doubt: self.doubt.clone(),
        }
    }
}

/// What came of a barrier.
#[derive(Debug)]
pub struct BarrierEnd {
    /// Its operation.
    pub operation: OperationId,
    /// Who the members were.
    pub roster: Roster,
    /// The context.
    pub context: ContextId,
    /// The states that satisfy it.
    pub states: Vec<TaskState>,
    /// How many members were needed.
    pub required: u32,
    /// What came of it.
    pub status: RoundStatus,
    /// How each member stood at the end, in the order of ranks.
    pub members: Vec<BarrierMember>,
    /// The last event of the barrier.
    pub sequence: Seq,
}

impl BarrierEnd {
    /// How many members satisfied it, cannot any more, and still might or left.
    pub fn counts(&self) -> [usize; 3] {
        let [satisfied, failed, open] = counts(self.members.iter().map(|member| member.status));
        let left = left(&self.members);
        [satisfied, failed.saturating_sub(left), open + left]
    }

    pub(super) fn exit(&self) -> Exit {
        match self.status {
            RoundStatus::Succeeded | RoundStatus::PartialFailure => Exit::Done,
            RoundStatus::TimedOut => Exit::Timeout,
            RoundStatus::Canceled => Exit::Interrupted,
            RoundStatus::Failed => {
                let failed = self
                    .members
                    .iter()
                    .filter(|member| has_failed(member.status));
                let mut statuses = failed.map(|member| member.status).peekable();
                let any = statuses.peek().is_some();
                if any && statuses.all(|status| status == MemberStatus::Canceled) {
                    Exit::TaskCanceled
                } else {
                    Exit::TaskFailed
                }
            }
        }
    }

    pub(super) fn drafts(&self, moment: &Moment<'_>, begun: Seq) -> Vec<Draft> {
        let step = |agent, task, kind: EventKind| {
            let links = Links {
                task,
                ..links_of(&self.roster.group.name, &self.context, agent)
            };
            moment.step(&self.operation, Some(begun), &links, kind, Vec::new())
        };
        let members = self.members.iter().map(|member| {
            let agent = member.seat.agent().clone();
            let fact = BarrierMemberEnded {
                agent: agent.clone(),
                rank: member.seat.rank().clone(),
                status: member.status,
                task: member.task.clone(),
                state: member.state,
            };
            step(Some(agent), None, fact.into())
        });
        let [satisfied, failed, unfinished] = self
            .counts()
            .map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let completed = BarrierCompleted {
            status: self.status,
            required: self.required,
            satisfied,
            failed,
            unfinished,
        };
        members
            .chain([step(None, None, completed.into())])
            .collect()
    }
}
