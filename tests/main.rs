//! End-to-end tests: the joints between the rooms, seen through the binary.
//!
//! A [`TestWorld`] is a throw-away home with a frozen clock and a fixed seed; what a run of missive
//! printed, on both streams, is shown together with its exit code, as a person would see it.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the allowance for tests does not reach plain functions beside them"
)]

mod cli_agent;
mod cli_artifact;
mod cli_config;
mod cli_context;
mod cli_doubt;
mod cli_events;
mod cli_faults;
mod cli_field;
mod cli_group;
mod cli_log;
mod cli_logs;
mod cli_lookback;
mod cli_output;
mod cli_push;
mod cli_replay;
mod cli_round;
mod cli_route;
mod cli_secrets;
mod cli_send;
mod cli_stream;
mod cli_task;
mod cli_trust;
mod cli_usage;
mod damage;
mod history;
mod kill;
mod processes;
mod state_folders;

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The moment at which every test happens.
const CLOCK: &str = "2026-12-01T09:30:00Z";

/// A home of its own, and nothing of the surroundings.
struct TestWorld {
    home: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl TestWorld {
    /// An empty home.
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        Self {
            home,
            variables: Vec::new(),
        }
    }

    /// Sets a variable for every run that follows.
    fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// `MISSIVE_HOME`; missive creates it.
    fn missive_home(&self) -> PathBuf {
        self.home.path().join("missive")
    }

    /// The working folder of every run.
    fn folder(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file into the working folder.
    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder().join(name);
        let folder = path.parent().expect("a file has a folder");
        std::fs::create_dir_all(folder).expect("a folder for the file");
        std::fs::write(&path, text).expect("a file in the temporary folder");
        path
    }

    /// The command, not started yet; for tests that need their own streams.
    fn command<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_missive"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder())
            .env("MISSIVE_HOME", self.missive_home())
            .env("MISSIVE_TEST_CLOCK", CLOCK)
            .env("MISSIVE_TEST_SEED", "e2e")
            .env("NO_COLOR", "1")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder())
            .stdin(Stdio::null());
        command
    }

    /// Runs missive to its end.
    fn missive<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Run {
        let output = self.command(arguments).output().expect("missive starts");
        self.seen(output)
    }

    /// The same, with something on standard input.
    fn missive_reading<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
        input: &[u8],
    ) -> Run {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("missive starts");
        // A run that does not read its input closes it: that is no fault of the test.
        child
            .stdin
            .take()
            .expect("a piped standard input")
            .write_all(input)
            .ok();
        self.ended(child)
    }

    /// Waits for a process that a test started with [`TestWorld::command`] and piped streams.
    fn ended(&self, child: Child) -> Run {
        self.seen(child.wait_with_output().expect("missive ends"))
    }

    /// What a person would see, with paths and ports of this run made equal to those of every run.
    fn seen(&self, output: Output) -> Run {
        let shown = |bytes: Vec<u8>| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let home = self.folder().to_string_lossy().into_owned();
            ports_hidden(&text.replace(&home, "[HOME]"))
        };
        let stderr = shown(output.stderr);
        let kept: String = stderr
            .split_inclusive('\n')
            .filter(|line| !line.starts_with("missive: warning: test seams are active"))
            .collect();
        Run {
            code: output.status.code(),
            stdout: shown(output.stdout),
            stderr: kept,
        }
    }
}

/// `127.0.0.1:40123` becomes `127.0.0.1:[PORT]`.
fn ports_hidden(text: &str) -> String {
    let mut pieces = text.split("127.0.0.1:");
    let mut hidden = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|letter: char| letter.is_ascii_digit());
        hidden.push_str("127.0.0.1:");
        hidden.push_str(if rest.len() < piece.len() {
            "[PORT]"
        } else {
            ""
        });
        hidden.push_str(rest);
    }
    hidden
}

/// UUIDs, which follow from everything that happened before, become `[ID]`.
fn ids_hidden(text: &str) -> String {
    let is_id = |word: &str| {
        let groups: Vec<usize> = word.split('-').map(str::len).collect();
        groups == [8, 4, 4, 4, 12]
    };
    let mut shown = String::new();
    let mut word = String::new();
    for letter in text.chars().chain(['\0']) {
        if letter.is_ascii_hexdigit() || letter == '-' {
            word.push(letter);
            continue;
        }
        shown.push_str(if is_id(&word) { "[ID]" } else { &word });
        word.clear();
        shown.push(letter);
    }
    shown.pop();
    shown
}

/// What one run of missive printed, and how it ended.
struct Run {
    /// `None` if a signal ended it.
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run {
    /// The same without what differs from machine to machine and from version to version: free MiB, how
    /// many views there are, and a resolver's answer for a name that does not exist.
    fn without_sizes(mut self) -> Self {
        for unit in [" MiB free", " views at"] {
            let mut lines = String::new();
            for line in self.stdout.lines() {
                match line.split_once(unit) {
                    Some((before, after)) => {
                        let before =
                            before.trim_end_matches(|letter: char| letter.is_ascii_digit());
                        lines.extend([before, "[N]", unit, after]);
                    }
                    None => lines.push_str(line),
                }
                lines.push('\n');
            }
            self.stdout = lines;
        }
        for why in ["the name does not resolve", "no connection within 3000 ms"] {
            self.stdout = self.stdout.replace(
                &format!("cannot be reached: {why}"),
                "cannot be reached: [WHY]",
            );
        }
        self
    }

    /// Standard output as one JSON document.
    fn json(&self) -> serde_json::Value {
        match serde_json::from_str(&self.stdout) {
            Ok(document) => document,
            Err(error) => panic!("stdout is not JSON ({error}):\n{self}"),
        }
    }

    /// Standard error as one JSON document.
    fn error(&self) -> serde_json::Value {
        match serde_json::from_str(&self.stderr) {
            Ok(document) => document,
            Err(error) => panic!("stderr is not JSON ({error}):\n{self}"),
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => writeln!(f, "exit {code}")?,
            None => writeln!(f, "ended by a signal")?,
        }
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                write!(f, "------- {name} -------\n{text}")?;
            }
        }
        Ok(())
    }
}
