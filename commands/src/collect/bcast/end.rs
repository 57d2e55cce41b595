//! What came of a broadcast, for each member and for all of them.

use missive_log::event::facts::{
    Failure as Why, FailurePolicy, MemberStatus, RoundStatus, TaskState,
};
use missive_log::event::kind::{BcastCompleted, BcastMemberEnded};
use missive_log::event::{ContextId, EventKind, OperationId, Seq, TaskId};
use missive_log::payload::About;
use missive_log::{Draft, Role};

use super::{Roster, Seat};
use crate::collect::state::of_state;
use crate::decide::Moment;
use crate::decide::round::links_of;
use crate::exit::{Exit, outcome_code};
use crate::facts;
use crate::failure::{CommandError, Failure};
use crate::report::send::AnswerReport;

/// What came of a broadcast for one member.
#[derive(Debug)]
pub struct MemberEnd {
    /// The member.
    pub seat: Seat,
    /// What came of it.
    pub status: MemberStatus,
    /// The operation that sent it the message, if that was begun.
    pub operation: Option<OperationId>,
    /// Its answer.
    pub answer: Option<AnswerReport>,
    /// Without one: the task that the log knows nevertheless.
    pub known: Option<(TaskId, TaskState)>,
    /// Why there is none.
    pub error: Option<CommandError>,
}

/// What came of a broadcast.
#[derive(Debug)]
pub struct BcastEnd {
    /// The operation of the broadcast.
    pub operation: OperationId,
    /// Who the members were.
    pub roster: Roster,
    /// The context that all messages belong to.
    pub context: ContextId,
    /// What came of it.
    pub status: RoundStatus,
    /// What came of each member, in the order of ranks.
    pub members: Vec<MemberEnd>,
    /// The last event of the broadcast.
    pub sequence: Seq,
}

impl BcastEnd {
    /// How many members came to each of three ends: they took the message, they did not, and who knows.
    pub fn counts(&self) -> [usize; 3] {
        let count = |wanted: &dyn Fn(MemberStatus) -> bool| {
            let members = self.members.iter();
            members.filter(|end| wanted(end.status)).count()
        };
        [
            count(&has_succeeded),
            count(&has_failed),
            count(&|status| !has_succeeded(status) && !has_failed(status)),
        ]
    }
}

/// Whether a member took the message. One that waits for the user has neither failed nor is it done.
pub(super) fn has_succeeded(status: MemberStatus) -> bool {
    matches!(
        status,
        MemberStatus::Succeeded | MemberStatus::Accepted | MemberStatus::Waiting
    )
}

pub(super) fn has_failed(status: MemberStatus) -> bool {
    matches!(
        status,
        MemberStatus::Failed | MemberStatus::Canceled | MemberStatus::Unregistered
    )
}

impl MemberEnd {
    /// Nothing was sent.
    pub(super) fn nothing(seat: &Seat, status: MemberStatus) -> Self {
        Self {
            seat: seat.clone(),
            status,
            operation: None,
            answer: None,
            known: None,
            error: None,
        }
    }

    /// What a task that the log knows makes of a failure.
    pub(super) fn status_with_task(&self) -> MemberStatus {
        match &self.known {
            Some((_, state)) if self.status != MemberStatus::Skipped => of_state(*state),
            Some(_) | None => self.status,
        }
    }

    pub(super) fn of(seat: &Seat, came: Result<(String, AnswerReport), CommandError>) -> Self {
        match came {
            Ok((operation, answer)) => Self {
                seat: seat.clone(),
                status: status_of_answer(&answer),
                operation: OperationId::new(&operation).ok(),
                answer: Some(answer),
                known: None,
                error: None,
            },
            Err(error) => Self {
                seat: seat.clone(),
                status: status_of_error(&error),
                operation: error.operation().cloned(),
                answer: None,
                known: None,
                error: Some(error),
            },
        }
    }

    /// The state of its task.
    pub fn state(&self) -> Option<TaskState> {
        match (&self.answer, &self.known) {
            (Some(answer), _) => TaskState::from_name(answer.state?),
            (None, Some((_, state))) => Some(*state),
            (None, None) => None,
        }
    }

    /// Its task.
    pub fn task(&self) -> Option<TaskId> {
        match (&self.answer, &self.known) {
            (Some(answer), _) => TaskId::new(answer.task_id.as_deref()?).ok(),
            (None, Some((task, _))) => Some(task.clone()),
            (None, None) => None,
        }
    }

    /// How a command ends that was about this member alone.
    pub fn exit(&self) -> Exit {
        match (&self.error, self.status) {
            (Some(error), _) => error.exit(),
            (None, MemberStatus::Unregistered) => Exit::NotFound,
            (None, MemberStatus::TimedOut) => Exit::Timeout,
            (None, _) => outcome_code(self.state()),
        }
    }

    fn fact(&self) -> BcastMemberEnded {
        BcastMemberEnded {
            agent: self.seat.agent().clone(),
            rank: self.seat.rank().clone(),
            status: self.status,
            operation: self.operation.clone(),
            task: self.task(),
            state: self.state(),
            failure: self.error.as_ref().and_then(why),
        }
    }
}

/// What an answer says of its member.
pub(crate) fn status_of_answer(answer: &AnswerReport) -> MemberStatus {
    let state = answer.state.and_then(TaskState::from_name);
    state.map_or(MemberStatus::Succeeded, of_state)
}

pub(crate) fn status_of_error(error: &CommandError) -> MemberStatus {
    let out_of_time = why(error) == Some(Why::TotalTimeout);
    match error {
        CommandError::Failed(
            Failure::InDoubt { .. } | Failure::Interrupted { in_doubt: true, .. },
        ) => MemberStatus::InDoubt,
        CommandError::Failed(Failure::Interrupted { .. }) => MemberStatus::Skipped,
        CommandError::Failed(_) if out_of_time => MemberStatus::TimedOut,
        CommandError::Failed(_) if error.exit() == Exit::Unknown => MemberStatus::InDoubt,
        CommandError::Failed(_) if error.exit() == Exit::Timeout => MemberStatus::TimedOut,
        CommandError::Failed(_) | CommandError::Refused(_) => MemberStatus::Failed,
    }
}

/// Why a call got no further, as facts name it.
fn why(error: &CommandError) -> Option<Why> {
    let CommandError::Failed(failure) = error else {
        return None;
    };
    if let Failure::NotSent { error, .. }
    | Failure::NoAnswer { error, .. }
    | Failure::InDoubt { error, .. } = failure
    {
        return Some(facts::call_failure(error.kind));
    }
    if let Failure::Card { cause, .. } = failure {
        return cause.as_ref().map(|cause| facts::call_failure(cause.kind));
    }
    if let Failure::Peer { error, .. } | Failure::TooLargeForPeer { error, .. } = failure {
        return Some(facts::peer_failure(error).0);
    }
    if let Failure::Interrupted { .. } = failure {
        return Some(Why::Interrupted);
    }
    matches!(failure, Failure::Broken { .. }).then_some(Why::ProtocolViolation)
}

pub(super) fn status_of(members: &[MemberEnd], interrupted: bool) -> RoundStatus {
    let any = |wanted: fn(MemberStatus) -> bool| members.iter().any(|end| wanted(end.status));
    let out_of_time = members.iter().any(|end| {
        end.status == MemberStatus::TimedOut
            || end.error.as_ref().and_then(why) == Some(Why::TotalTimeout)
    });
    if interrupted {
        RoundStatus::Canceled
    } else if out_of_time {
        RoundStatus::TimedOut
    } else if members.iter().all(|end| has_succeeded(end.status)) {
        RoundStatus::Succeeded
    } else if any(has_succeeded) {
        RoundStatus::PartialFailure
    } else {
        RoundStatus::Failed
    }
}

/// A doubt is louder than a failure: nobody else will look after it.
pub(super) fn exit_of(end: &BcastEnd, policy: FailurePolicy) -> Exit {
    let in_doubt = end
        .members
        .iter()
        .any(|member| member.status == MemberStatus::InDoubt);
    let mut failed = end
        .members
        .iter()
        .filter(|member| has_failed(member.status));
    match end.status {
        RoundStatus::Canceled => Exit::Interrupted,
        _ if in_doubt => Exit::Unknown,
        RoundStatus::Succeeded => Exit::Done,
        RoundStatus::TimedOut => Exit::Timeout,
        RoundStatus::PartialFailure if policy == FailurePolicy::Continue => Exit::Done,
        RoundStatus::PartialFailure | RoundStatus::Failed => {
            failed.next().map_or(Exit::TaskFailed, MemberEnd::exit)
        }
    }
}

impl BcastEnd {
    pub(super) fn drafts(&self, moment: &Moment<'_>, begun: Seq) -> Vec<Draft> {
        let links = |agent| links_of(&self.roster.group.name, &self.context, agent);
        let step = |agent, kind: EventKind, payloads| {
            moment.step(&self.operation, Some(begun), &links(agent), kind, payloads)
        };
        let members = self.members.iter().map(|end| {
            let text = end.error.as_ref().map(ToString::to_string);
            let payloads = text.into_iter().map(|text| {
                let about = About::default();
                moment.redactor.text(moment.ids, Role::Error, about, &text)
            });
            let agent = Some(end.seat.agent().clone());
            step(agent, end.fact().into(), payloads.collect())
        });
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let [succeeded, failed, unfinished] = self.counts().map(count);
        let completed = BcastCompleted {
            status: self.status,
            succeeded,
            failed,
            unfinished,
        };
        let last = step(None, completed.into(), Vec::new());
        members.chain([last]).collect()
    }
}
