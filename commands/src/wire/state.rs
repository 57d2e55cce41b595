//! Task states by their exact A2A 1.0 names.

use std::fmt;

/// The state of a task (A2A 1.0, section 4.1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Accepted, not started.
    Submitted,
    /// Being worked on.
    Working,
    /// Waits for another message.
    InputRequired,
    /// Waits for credentials given out of band.
    AuthRequired,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Ended by request.
    Canceled,
    /// Never taken on.
    Rejected,
    /// A name that A2A 1.0 does not have, verbatim: a violation, neither terminal nor interrupted.
    Unknown(String),
}

/// The eight that a peer may send, with their name on the wire and missive's own.
const NAMES: [(TaskState, &str, &str); 8] = [
    (TaskState::Submitted, "TASK_STATE_SUBMITTED", "submitted"),
    (TaskState::Working, "TASK_STATE_WORKING", "working"),
    (
        TaskState::InputRequired,
        "TASK_STATE_INPUT_REQUIRED",
        "input_required",
    ),
    (
        TaskState::AuthRequired,
        "TASK_STATE_AUTH_REQUIRED",
        "auth_required",
    ),
    (TaskState::Completed, "TASK_STATE_COMPLETED", "completed"),
    (TaskState::Failed, "TASK_STATE_FAILED", "failed"),
    (TaskState::Canceled, "TASK_STATE_CANCELED", "canceled"),
    (TaskState::Rejected, "TASK_STATE_REJECTED", "rejected"),
];

impl TaskState {
    /// Reads a name from the wire, exactly: old spellings such as `completed` are unknown (C026).
    pub fn parse(wire: &str) -> Self {
        NAMES
            .into_iter()
            .find(|(_, name, _)| *name == wire)
            .map_or_else(|| Self::Unknown(wire.to_owned()), |(state, _, _)| state)
    }

    /// The state that missive calls so; none for a name that A2A does not know.
    pub fn named(name: &str) -> Option<Self> {
        let mut rows = NAMES.into_iter();
        rows.find(|(_, _, ours)| *ours == name)
            .map(|(state, _, _)| state)
    }

    /// The name on the wire.
    pub fn wire_name(&self) -> &str {
        self.row().map_or_else(|| self.verbatim(), |(wire, _)| wire)
    }

    /// The name in missive's outputs and facts; an unknown state keeps the peer's own text.
    pub fn name(&self) -> &str {
        self.row().map_or_else(|| self.verbatim(), |(_, name)| name)
    }

    fn verbatim(&self) -> &str {
        if let Self::Unknown(verbatim) = self {
            verbatim
        } else {
            ""
        }
    }

    fn row(&self) -> Option<(&'static str, &'static str)> {
        NAMES
            .into_iter()
            .find(|(state, _, _)| state == self)
            .map(|(_, wire, name)| (wire, name))
    }

    /// Whether the task takes no more messages, for good.
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected
        )
    }

    /// Whether the task waits for somebody else.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::text::excerpt(self.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_1_0_are_states() {
        for (state, wire, name) in NAMES {
            assert_eq!(TaskState::parse(wire), state);
            assert_eq!((state.wire_name(), state.name()), (wire, name));
        }
        for odd in [
            "completed",
            "TASK_STATE_CANCELLED",
            "TASK_STATE_PAUSED",
            "input-required",
            "",
        ] {
            let state = TaskState::parse(odd);

            assert_eq!(state, TaskState::Unknown(odd.to_owned()));
            assert!(!state.is_terminal() && !state.is_interrupted());
        }
    }

    #[test]
    fn terminal_and_interrupted_are_disjoint() {
        let terminal = NAMES
            .iter()
            .filter(|(state, _, _)| state.is_terminal())
            .count();
        let interrupted = NAMES
            .iter()
            .filter(|(state, _, _)| state.is_interrupted())
            .count();

        assert_eq!((terminal, interrupted), (4, 2));
        assert!(
            NAMES
                .iter()
                .all(|(state, _, _)| !(state.is_terminal() && state.is_interrupted()))
        );
    }
}
