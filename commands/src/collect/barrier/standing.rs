//! What a task's state means for a barrier, and when a barrier is over. Pure.

use missive_log::event::facts::{FailurePolicy, MemberStatus, RoundStatus, TaskState};

/// The states that satisfy a barrier where none are named.
pub const USUAL: [TaskState; 1] = [TaskState::Completed];

/// Whether a member can satisfy the barrier no more. Of one that is in doubt nobody knows which task to wait for.
pub(super) fn has_failed(status: MemberStatus) -> bool {
    match status {
        MemberStatus::Failed
        | MemberStatus::Canceled
        | MemberStatus::Unregistered
        | MemberStatus::Left
        | MemberStatus::InDoubt
        | MemberStatus::MissingTask => true,
        MemberStatus::Succeeded
        | MemberStatus::Accepted
        | MemberStatus::Waiting
        | MemberStatus::TimedOut
        | MemberStatus::Skipped
        | MemberStatus::EmptyOutput => false,
    }
}

/// How many satisfied it, cannot any more, and still might.
pub(super) fn counts(statuses: impl Iterator<Item = MemberStatus>) -> [usize; 3] {
    let mut counts = [0; 3];
    for status in statuses {
        let at = if status == MemberStatus::Succeeded {
            0
        } else if has_failed(status) {
            1
        } else {
            2
        };
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
    }
    counts
}

/// What came of a barrier, once that is clear; a quorum that cannot be reached any more ends it at once.
/// Of those who cannot satisfy it any more, so many `left`, which is no failure.
pub(super) fn verdict(
    [satisfied, failed, open]: [usize; 3],
    left: usize,
    required: usize,
    policy: FailurePolicy,
) -> Option<RoundStatus> {
    let stopped = policy == FailurePolicy::Stop && failed > left;
    if stopped || satisfied + open < required {
        Some(RoundStatus::Failed)
    } else if satisfied >= required {
        Some(RoundStatus::Succeeded)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::state::of_state_for;
    use proptest::prelude::*;

    #[test]
    fn a_member_that_waits_for_the_user_is_neither_done_nor_failed() {
        for state in [TaskState::InputRequired, TaskState::AuthRequired] {
            let status = of_state_for(state, &USUAL);

            assert_eq!(status, MemberStatus::Waiting);
            assert_eq!(counts([status].into_iter()), [0, 0, 1]);
        }
    }

    #[test]
    fn a_quorum_may_be_reached_although_somebody_failed_unless_that_stops_it() {
        assert_eq!(
            verdict([2, 1, 0], 0, 2, FailurePolicy::Continue),
            Some(RoundStatus::Succeeded)
        );
        assert_eq!(
            verdict([2, 1, 0], 0, 2, FailurePolicy::Stop),
            Some(RoundStatus::Failed)
        );
    }

    proptest! {
        #[test]
        fn a_barrier_goes_on_exactly_as_long_as_its_quorum_is_open(
            satisfied in 0_usize..5, failed in 0_usize..5, open in 0_usize..5, required in 1_usize..12,
        ) {
            let verdict = verdict([satisfied, failed, open], 0, required, FailurePolicy::Continue);

            let undecided = satisfied < required && satisfied + open >= required;
            prop_assert_eq!(verdict.is_none(), undecided);
        }
    }
}
