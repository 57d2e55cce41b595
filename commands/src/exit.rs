//! How a command ended, in the numbers of the product's table.
//!
//! Numbers and category names never change their meaning: scripts depend on them. This is the only
//! place that lists them; `docs/exit-codes.md` is generated from it.

use missive_log::event::facts::TaskState;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything that was asked for is done.
    Done = 0,
    /// Wrong arguments, an invalid value, a refused duplicate.
    Usage = 64,
    /// Input that cannot be used.
    Data = 65,
    /// No such agent, task, context, operation or event.
    NotFound = 66,
    /// Network, TLS, HTTP status, no mutual binding.
    Transport = 69,
    /// A bug.
    Internal = 70,
    /// A file would have been overwritten.
    Exists = 73,
    /// A local file or the log cannot be read or written.
    Io = 74,
    /// Something is held by somebody else who does not let go.
    Busy = 75,
    /// The peer broke A2A, or does not speak this version.
    Protocol = 76,
    /// A secret could not be resolved, or the peer answered 401 or 403.
    Auth = 77,
    /// The configuration does not let it.
    Config = 78,
    /// The log does not verify.
    Integrity = 79,
    /// The task failed.
    TaskFailed = 80,
    /// The task was canceled.
    TaskCanceled = 81,
    /// The time ran out with nothing sent, or with the state known.
    Timeout = 82,
    /// The task waits for input.
    InputRequired = 83,
    /// The task waits for credentials.
    AuthRequired = 84,
    /// The task was rejected.
    TaskRejected = 85,
    /// It is not known whether a message arrived.
    Unknown = 86,
    /// Interrupted. Commands end with it whatever the signal was: only the edge knows which one came.
    Interrupted = 130,
    /// Interrupted by SIGTERM.
    Terminated = 143,
}

impl Exit {
    /// Every ending, in the order of its number.
    pub const ALL: [Self; 22] = [
        Self::Done,
        Self::Usage,
        Self::Data,
        Self::NotFound,
        Self::Transport,
        Self::Internal,
        Self::Exists,
        Self::Io,
        Self::Busy,
        Self::Protocol,
        Self::Auth,
        Self::Config,
        Self::Integrity,
        Self::TaskFailed,
        Self::TaskCanceled,
        Self::Timeout,
        Self::InputRequired,
        Self::AuthRequired,
        Self::TaskRejected,
        Self::Unknown,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// The number that a process exits with.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The category that machine output names, the middle of `missive::<category>::<detail>`; empty
    /// for [`Exit::Done`].
    pub const fn category(self) -> &'static str {
        match self {
            Self::Done => "",
            Self::Usage => "usage",
            Self::Data => "data",
            Self::NotFound => "not_found",
            Self::Transport => "transport",
            Self::Internal => "internal",
            Self::Exists => "exists",
            Self::Io => "io",
            Self::Busy => "busy",
            Self::Protocol => "protocol",
            Self::Auth => "auth",
            Self::Config => "config",
            Self::Integrity => "integrity",
            Self::TaskFailed
            | Self::TaskCanceled
            | Self::InputRequired
            | Self::AuthRequired
            | Self::TaskRejected => "task",
            Self::Timeout => "timeout",
            Self::Unknown => "unknown",
            Self::Interrupted | Self::Terminated => "interrupted",
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

/// How a command ends that got an answer: by the state of its task, or well if there is none.
pub fn outcome_code(state: Option<TaskState>) -> Exit {
    match state {
        None
        | Some(
            TaskState::Submitted
            | TaskState::Working
            | TaskState::Completed
            | TaskState::Unrecognized,
        ) => Exit::Done,
        Some(TaskState::Failed) => Exit::TaskFailed,
        Some(TaskState::Canceled) => Exit::TaskCanceled,
        Some(TaskState::InputRequired) => Exit::InputRequired,
        Some(TaskState::AuthRequired) => Exit::AuthRequired,
        Some(TaskState::Rejected) => Exit::TaskRejected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_ends_with_its_own_number() {
        let codes: Vec<(&str, u8)> = TaskState::ALL
            .iter()
            .map(|state| (state.as_str(), outcome_code(Some(*state)).number()))
            .collect();

        assert_eq!(
            codes,
            [
                ("submitted", 0),
                ("working", 0),
                ("completed", 0),
                ("failed", 80),
                ("canceled", 81),
                ("input_required", 83),
                ("rejected", 85),
                ("auth_required", 84),
                ("unrecognized", 0),
            ]
        );
        assert_eq!(outcome_code(None), Exit::Done);
    }

    #[test]
    fn every_ending_has_its_own_number_in_ascending_order() {
        let numbers: Vec<u8> = Exit::ALL.iter().map(|exit| exit.number()).collect();

        assert!(
            numbers.is_sorted_by(|left, right| left < right),
            "{numbers:?}"
        );
    }
}
