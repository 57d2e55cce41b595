//! What the state of a member's task makes of the member.

use missive_log::event::facts::{MemberStatus, TaskState};

/// What a state means to whoever waits for a task to complete.
pub(crate) fn of_state(state: TaskState) -> MemberStatus {
    match state {
        TaskState::Completed => MemberStatus::Succeeded,
        TaskState::Submitted | TaskState::Working | TaskState::Unrecognized => {
            MemberStatus::Accepted
        }
        TaskState::InputRequired | TaskState::AuthRequired => MemberStatus::Waiting,
        TaskState::Canceled => MemberStatus::Canceled,
        TaskState::Failed | TaskState::Rejected => MemberStatus::Failed,
    }
}

/// The same to whoever waits for one of these states.
pub(crate) fn of_state_for(state: TaskState, wanted: &[TaskState]) -> MemberStatus {
    let of = of_state(state);
    if wanted.contains(&state) {
        MemberStatus::Succeeded
    } else if of == MemberStatus::Succeeded {
        // A task that completed where something else was waited for is over.
        MemberStatus::Failed
    } else {
        of
    }
}

#[cfg(test)]
mod tests {
    use super::{MemberStatus, TaskState, of_state, of_state_for};

    #[test]
    fn what_is_waited_for_is_well_whatever_it_is_and_all_else_as_usual() {
        let wanted = [TaskState::Failed];

        let told: Vec<_> = TaskState::ALL
            .iter()
            .filter(|state| of_state(**state) != of_state_for(**state, &wanted))
            .map(|state| (*state, of_state_for(*state, &wanted)))
            .collect();

        assert_eq!(
            told,
            [
                (TaskState::Completed, MemberStatus::Failed),
                (TaskState::Failed, MemberStatus::Succeeded),
            ]
        );
    }
}
