//! The exit codes: the table that scripts depend on.
//!
//! Numbers and category names are fixed by the product page and never change their meaning.
//! `docs/exit-codes.md` is generated from this file.

/// How a run of missive ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCode {
    /// Everything that was asked for is done.
    Done = 0,
    /// Wrong arguments, an invalid value, or a refused duplicate.
    Usage = 64,
    /// Input that cannot be used.
    Unusable = 65,
    /// No such agent, task, context or event.
    NotFound = 66,
    /// Network, TLS, HTTP status, no mutual binding.
    Transport = 69,
    /// A bug.
    Internal = 70,
    /// A file would have been overwritten.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "no command of this release overwrites a file; the table is whole"
        )
    )]
    Exists = 73,
    /// A local file or the log cannot be read or written.
    Io = 74,
    /// The state folder is held by something that does not answer.
    Busy = 75,
    /// The peer broke A2A.
    Protocol = 76,
    /// A secret could not be resolved, or the peer answered 401 or 403.
    Auth = 77,
    /// Configuration or profile invalid.
    Config = 78,
    /// The log does not verify.
    Integrity = 79,
    /// The task failed.
    TaskFailed = 80,
    /// The task was canceled.
    TaskCanceled = 81,
    /// `--timeout` ran out with nothing sent, or with the state known.
    Timeout = 82,
    /// The task waits for input.
    InputRequired = 83,
    /// The task waits for authentication.
    AuthRequired = 84,
    /// The task was rejected.
    TaskRejected = 85,
    /// It is not known whether a request arrived.
    Unknown = 86,
    /// Ended by SIGINT.
    Interrupted = 130,
    /// Ended by SIGTERM.
    Terminated = 143,
}

impl ExitCode {
    /// Every code, in the order of its number.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 22] = [
        Self::Done,
        Self::Usage,
        Self::Unusable,
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

    /// The number that the process exits with.
    pub(crate) const fn number(self) -> u8 {
        self as u8
    }

    /// The category that machine output names, the middle of `missive::<category>::<detail>`; empty
    /// for [`ExitCode::Done`].
    pub(crate) const fn category(self) -> &'static str {
        match self {
            Self::Done => "",
            Self::Usage => "usage",
            Self::Unusable => "data",
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

    /// What `docs/exit-codes.md` says about it.
    #[cfg(test)]
    const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Usage => "wrong arguments, invalid value, refused duplicate",
            Self::Unusable => {
                "input that cannot be used: invalid JSON part, not UTF-8, an unreadable export"
            }
            Self::NotFound => "no such agent, task, context or event",
            Self::Transport => "network, TLS, HTTP status, no mutual binding",
            Self::Internal => "a bug; the message says how to report it",
            Self::Exists => "would overwrite a file (`--force` allows it)",
            Self::Io => "a local file or the log cannot be read or written, the disk is full",
            Self::Busy => "the state directory is held by something that does not answer",
            Self::Protocol => "the peer broke A2A, or does not speak this version",
            Self::Auth => {
                "a secret could not be resolved (before any request), or the peer answered 401/403"
            }
            Self::Config => "configuration or profile invalid",
            Self::Integrity => "the log does not verify",
            Self::TaskFailed => "the task failed",
            Self::TaskCanceled => "the task was canceled",
            Self::Timeout => "`--timeout` ran out with nothing sent, or with the state known",
            Self::InputRequired => "input required",
            Self::AuthRequired => "auth required",
            Self::TaskRejected => "the task was rejected",
            Self::Unknown => {
                "a request byte was sent and no full answer came, also when a timeout ended it: \
                 whether it arrived is not known (`doctor` lists it, `retry` asks, `retry --resend` \
                 repeats with the same message id)"
            }
            Self::Interrupted => {
                "interrupted by SIGINT: what was running on the other side goes on, and the output \
                 says how to follow or cancel it"
            }
            Self::Terminated => "the same, by SIGTERM",
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}

/// The text of `docs/exit-codes.md`.
#[cfg(test)]
pub(crate) fn document() -> String {
    use std::fmt::Write as _;

    let mut page = String::from(
        "# Exit codes\n\n\
         Generated from `cli/src/exit.rs`; `UPDATE_DOCS=1 cargo test -p missive` rewrites it.\n\n\
         With `--json` or `--ndjson` an error is one envelope on stderr, whose `data` holds `code`\n\
         (`missive::<category>` or `missive::<category>::<detail>`), `category`, `message`,\n\
         `exit_code`, and where there is something to say `help`, `sources` and `operation_id`.\n\n\
         | code | category | meaning |\n| --- | --- | --- |\n",
    );
    for code in ExitCode::ALL {
        writeln!(
            page,
            "| {} | {} | {} |",
            code.number(),
            code.category(),
            code.meaning()
        )
        .ok();
    }
    page.push_str(
        "\nA2A errors end as: `TASK_NOT_FOUND` 66; `CONTENT_TYPE_NOT_SUPPORTED` and invalid params \
         65; other A2A errors 76;\n401 and 403 77; 429 and other 5xx 69. A command that has a result \
         prints it on stdout with `ok: true`, also when it\nexits with 80 to 85.\n",
    );
    page
}

#[cfg(test)]
mod tests {
    use super::{ExitCode, document};

    #[test]
    fn every_code_has_its_own_number_in_ascending_order() {
        let numbers: Vec<u8> = ExitCode::ALL.iter().map(|code| code.number()).collect();

        assert!(
            numbers.is_sorted_by(|left, right| left < right),
            "{numbers:?}"
        );
    }

    #[test]
    fn the_exit_code_page_is_the_generated_one() {
        crate::docs::compare("docs/exit-codes.md", &document());
    }
}
