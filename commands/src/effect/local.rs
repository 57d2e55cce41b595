//! A command on this machine: text in, text out, bounded in time and in size.
//!
//! It runs in a process group of its own, and the whole group is ended when it takes too long, writes too
//! much, or is not wanted any more: first asked to (SIGTERM), after two seconds made to (SIGKILL). What a
//! command leaves behind in the background is ended as well (C078).

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::interrupt::Interrupt;

/// How much of its standard error is kept, in bytes.
const ERRORS_BYTES_MAX: usize = 64 << 10;
/// How long a group that is asked to end may take.
const GRACE: Duration = Duration::from_secs(2);
/// How long pipes may stay open after the command ended: what it wrote is in them already.
const DRAIN: Duration = Duration::from_millis(250);

/// What came of a command.
#[derive(Debug)]
pub struct Ran {
    /// What it wrote, up to the bound.
    pub output: Vec<u8>,
    /// The beginning of what it wrote to its standard error.
    pub errors: Vec<u8>,
    /// How it ended.
    pub end: RanEnd,
}

/// How a command ended.
#[derive(Debug)]
pub enum RanEnd {
    /// By itself, with this code.
    Exited(u8),
    /// By this signal.
    Signal(i32),
    /// It took longer than it may.
    Timeout,
    /// It wrote more than is taken.
    TooLarge,
    /// The user did not want to wait any more.
    Interrupted,
    /// It could not be started, or not be waited for.
    NotStarted(io::Error),
}

/// Runs a program with these arguments, and `input` as its standard input. It does not get the variables
/// that are `withheld`: they hold secrets of ours.
pub async fn run(
    program: &str,
    arguments: &[String],
    withheld: &[String],
    input: &[u8],
    (limit, bytes_max): (Duration, usize),
    interrupt: &mut Interrupt,
) -> Ran {
    let mut command = Command::new(program);
    for name in withheld {
        command.env_remove(name);
    }
    let spawned = command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            return Ran {
                output: Vec::new(),
                errors: Vec::new(),
                end: RanEnd::NotStarted(error),
            };
        }
    };
    let group = Group::of(&child);
    let mut ran = Ran {
        output: Vec::new(),
        errors: Vec::new(),
        end: RanEnd::Timeout,
    };
    let ended = {
        let talking = talk(
            &mut child,
            input,
            bytes_max,
            &mut ran.output,
            &mut ran.errors,
        );
        tokio::select! {
            biased;
            ended = talking => ended,
            () = interrupt.came() => Talk::Unwanted(RanEnd::Interrupted),
            () = sleep(limit) => Talk::Unwanted(RanEnd::Timeout),
        }
    };
    ran.end = match ended {
        Talk::Over(Ok(status)) => of_status(status),
        Talk::Over(Err(error)) => RanEnd::NotStarted(error),
        Talk::Unwanted(end) => {
            group.signal(Signal::TERM);
            // Whether it ended in time changes nothing: the group is killed when `group` goes.
            let _ended = timeout(GRACE, child.wait()).await;
            end
        }
    };
    drop(group);
    ran
}

/// How the talk with a command ended.
enum Talk {
    Over(io::Result<ExitStatus>),
    Unwanted(RanEnd),
}

/// Writes, reads and waits at once, since a command may do the three in any order.
async fn talk(
    child: &mut Child,
    input: &[u8],
    bytes_max: usize,
    output: &mut Vec<u8>,
    errors: &mut Vec<u8>,
) -> Talk {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A command need not read what it is given: then the pipe breaks, and that is no fault.
            let _read_or_not = stdin.write_all(input).await;
        }
    };
    let pipes = async {
        tokio::join!(
            write,
            read(stdout, bytes_max, output, false),
            read(stderr, ERRORS_BYTES_MAX, errors, true)
        )
        .1
    };
    tokio::pin!(pipes);
    tokio::select! {
        fits = &mut pipes => {
            if !fits {
                return Talk::Unwanted(RanEnd::TooLarge);
            }
            Talk::Over(child.wait().await)
        }
        status = child.wait() => {
            // Something in the background may hold the pipes open; what is written already is taken.
            match timeout(DRAIN, &mut pipes).await {
                Ok(false) => Talk::Unwanted(RanEnd::TooLarge),
                Ok(true) | Err(_) => Talk::Over(status),
            }
        }
    }
}

/// Reads to the end, or until more than `bytes_max` came; of what is passed over only that much is kept.
async fn read(
    from: Option<impl AsyncRead + Unpin>,
    bytes_max: usize,
    into: &mut Vec<u8>,
    pass_over: bool,
) -> bool {
    let Some(mut from) = from else {
        return true;
    };
    let mut buffer = vec![0; 16 << 10];
    loop {
        let Ok(count) = from.read(&mut buffer).await else {
            return true;
        };
        if count == 0 {
            return true;
        }
        let room = bytes_max.saturating_sub(into.len());
        into.extend(buffer.iter().take(count.min(room)));
        if count > room && !pass_over {
            return false;
        }
    }
}

fn of_status(status: ExitStatus) -> RanEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => RanEnd::Exited(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, signal) => RanEnd::Signal(signal.unwrap_or_default()),
    }
}

/// The process group of a command; what is left of it when this goes is killed.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // It may have ended by itself: then there is nothing to tell anybody.
            let _gone = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shell(script: &str, input: &str, limit: Duration, bytes_max: usize) -> Ran {
        let arguments = ["-c".to_owned(), script.to_owned()];
        let mut never = Interrupt::never();
        run(
            "sh",
            &arguments,
            &["MISSIVE_TEST_WITHHELD".to_owned()],
            input.as_bytes(),
            (limit, bytes_max),
            &mut never,
        )
        .await
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_command_gets_its_input_and_gives_its_output_and_code() {
        let ran = shell("tr a-z A-Z; echo no >&2; exit 3", "abc", LONG, 100).await;

        assert_eq!(ran.output, b"ABC");
        assert_eq!(ran.errors, b"no\n");
        assert!(matches!(ran.end, RanEnd::Exited(3)));
    }

    #[tokio::test]
    async fn a_command_that_reads_nothing_of_a_long_input_is_no_fault() {
        let ran = shell("echo done", &"x".repeat(1 << 20), LONG, 100).await;

        assert_eq!(ran.output, b"done\n");
        assert!(matches!(ran.end, RanEnd::Exited(0)));
    }

    #[tokio::test]
    async fn more_output_than_is_taken_ends_it() {
        let ran = shell("yes", "", LONG, 1_000).await;

        assert_eq!(ran.output.len(), 1_000);
        assert!(matches!(ran.end, RanEnd::TooLarge));
    }

    #[tokio::test]
    async fn one_that_takes_too_long_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("pid");
        let script = format!("sleep 3600 & echo $! > {}; wait", mark.display());

        let ran = shell(&script, "", Duration::from_millis(300), 100).await;

        assert!(matches!(ran.end, RanEnd::Timeout));
        let pid = std::fs::read_to_string(&mark).unwrap();
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        // The kernel tells of the end of a killed process a moment later.
        for _ in 0..200 {
            if !is_running(pid) {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("the background process goes on");
    }

    /// A killed process may stay in the table until somebody waits for it: that counts as ended.
    fn is_running(pid: Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[tokio::test]
    async fn what_is_left_in_the_background_does_not_keep_the_answer() {
        let ran = shell("sleep 3600 & echo done", "", LONG, 100).await;

        assert_eq!(ran.output, b"done\n");
        assert!(matches!(ran.end, RanEnd::Exited(0)));
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_said() {
        let mut never = Interrupt::never();

        let ran = run("/nowhere/at/all", &[], &[], b"", (LONG, 10), &mut never).await;

        assert!(matches!(ran.end, RanEnd::NotStarted(_)));
    }
}
