//! The page of exit codes, `docs/exit-codes.md`: the table of the acting room in words for people.

use missive_commands::Exit;

/// The text of `docs/exit-codes.md`.
fn document() -> String {
    use std::fmt::Write as _;

    let mut page = String::from(
        "# Exit codes\n\n\
         Generated from `commands/src/exit.rs`; `UPDATE_DOCS=1 cargo test -p missive` rewrites it.\n\n\
         With `--json` or `--ndjson` an error is one envelope on stderr, whose `data` holds `code`\n\
         (`missive::<category>` or `missive::<category>::<detail>`), `category`, `message`,\n\
         `exit_code`, and where there is something to say `help`, `sources` and `operation_id`; where a task\n\
         goes on at the agent also `task_id`, `context_id` and `state`.\n\n\
         | code | category | meaning |\n| --- | --- | --- |\n",
    );
    for code in Exit::ALL {
        writeln!(
            page,
            "| {} | {} | {} |",
            code.number(),
            code.category(),
            meaning(code)
        )
        .ok();
    }
    page.push_str(
        "\nA2A errors end as: `TASK_NOT_FOUND` 66; `CONTENT_TYPE_NOT_SUPPORTED` and invalid params \
         65; other A2A errors 76;\n401 and 403 77; 429 and other 5xx 69. A command that has a result \
         prints it on stdout with `ok: true`, also when it\nexits with 80 to 86 or 130, and `bcast` with the code of a member; stderr then holds at most remarks.\n",
    );
    page
}

/// What the page says about it.
const fn meaning(exit: Exit) -> &'static str {
    match exit {
        Exit::Done => "done",
        Exit::Usage => "wrong arguments, invalid value, refused duplicate",
        Exit::Data => {
            "input that cannot be used: invalid JSON part, not UTF-8, an unreadable export"
        }
        Exit::NotFound => "no such agent, task, context, group or event",
        Exit::Transport => "network, TLS, HTTP status, no mutual binding",
        Exit::Internal => "a bug; the message says how to report it",
        Exit::Exists => "would overwrite a file (`--force` allows it)",
        Exit::Io => "a local file or the log cannot be read or written, the disk is full",
        Exit::Busy => "the state directory is held by something that does not answer",
        Exit::Protocol => "the peer broke A2A, or does not speak this version",
        Exit::Auth => {
            "a secret could not be resolved (before any request), or the peer answered 401/403"
        }
        Exit::Config => "configuration or profile invalid",
        Exit::Integrity => "the log does not verify",
        Exit::TaskFailed => "the task failed, or a quorum became impossible",
        Exit::TaskCanceled => "the task was canceled",
        Exit::Timeout => "`--timeout` ran out with nothing sent, or with the state known",
        Exit::InputRequired => "input required",
        Exit::AuthRequired => "auth required",
        Exit::TaskRejected => "the task was rejected",
        Exit::Unknown => {
            "a request byte was sent and no full answer came, also when a timeout ended it: \
             whether it arrived is not known (`doctor` lists it, `retry` asks, `retry --resend` \
             repeats with the same message id)"
        }
        Exit::Interrupted => {
            "interrupted by SIGINT: what was running on the other side goes on, and the output \
             says how to follow or cancel it"
        }
        Exit::Terminated => "the same, by SIGTERM",
    }
}

#[test]
fn the_exit_code_page_is_the_generated_one() {
    crate::docs::compare("docs/exit-codes.md", &document());
}
