//! Where results, notes and failures of one run go.

use super::page::Page;
use super::progress::Progress;
use super::sink::{self, Reader, Sink, Writer};
use super::{Lines, Mode, Report, envelope};
use crate::args::global::Globals;
use crate::failure::Failure;
use missive_commands::Exit;
use missive_commands::config;
use std::cell::Cell;
use std::io::{IsTerminal as _, Write as _};

/// What the flags, the variables and the terminals of this run ask for.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about the surroundings"
)]
pub(crate) struct Style {
    /// Text, JSON or NDJSON.
    pub(crate) mode: Mode,
    /// Nothing but errors and machine output.
    pub(crate) quiet: bool,
    /// Colour on stdout.
    pub(crate) colour: bool,
    /// Colour on stderr.
    pub(crate) colour_errors: bool,
    /// Standard output is a terminal.
    pub(crate) terminal: bool,
    /// Standard error is a terminal.
    pub(crate) terminal_errors: bool,
}

impl Style {
    /// Looks at flags, at `NO_COLOR` and `TERM`, and at both terminals.
    pub(crate) fn of(
        globals: &Globals,
        variable: impl Fn(&str) -> Option<std::ffi::OsString>,
    ) -> Self {
        let mode = match (globals.json, globals.ndjson) {
            (_, true) => Mode::Ndjson,
            (true, false) => Mode::Json,
            (false, false) => Mode::Human,
        };
        let plain = globals.no_color
            || variable("NO_COLOR").is_some_and(|value| !value.is_empty())
            || variable("TERM").is_some_and(|value| value == "dumb");
        let terminal = std::io::stdout().is_terminal();
        let terminal_errors = std::io::stderr().is_terminal();
        Self {
            mode,
            quiet: globals.quiet,
            colour: terminal && !plain,
            colour_errors: terminal_errors && !plain,
            terminal,
            terminal_errors,
        }
    }
}

/// So much of a result is held until its command has ended; a longer one is written as it comes.
const HELD_BYTES_MAX: usize = 64 << 10;

/// Standard output and standard error of one run.
#[derive(Debug)]
pub(crate) struct Output {
    style: Style,
    sink: Option<Sink>,
    /// What waits for the end, if anything may.
    held: Option<Vec<u8>>,
    /// The sequence number of the next line of NDJSON.
    next: u64,
    /// The place of the earlier moment that results are about.
    position: Option<u64>,
    /// How many notes said that an agent broke A2A.
    violations: Cell<u32>,
}

impl Output {
    /// Nothing is written, and no thread started, before there is something to write.
    pub(crate) fn new(style: Style) -> Self {
        Self {
            style,
            sink: None,
            held: None,
            next: 0,
            position: None,
            violations: Cell::new(0),
        }
    }

    /// From here on a short result is written when its command has ended and serves nobody any more: that
    /// needs no thread. Not for a command that prints while it goes on, nor where a person looks on.
    pub(crate) fn hold(&mut self) {
        if !self.style.terminal && self.sink.is_none() {
            self.held.get_or_insert_default();
        }
    }

    /// Whether the bytes wait for the end.
    fn holds(&mut self, bytes: &[u8]) -> bool {
        let held = self.held.as_mut();
        let held = held.filter(|held| held.len() + bytes.len() <= HELD_BYTES_MAX);
        if let Some(held) = held {
            held.extend_from_slice(bytes);
            return true;
        }
        false
    }

    /// What the configuration says, where no flag said it.
    pub(crate) fn configure(&mut self, configured: config::Output) {
        if self.style.mode == Mode::Human {
            self.style.mode = match configured.format {
                config::Format::Human => Mode::Human,
                config::Format::Json => Mode::Json,
                config::Format::Ndjson => Mode::Ndjson,
            };
        }
        self.style.colour &= configured.colour;
        self.style.colour_errors &= configured.colour;
    }

    /// How this run writes.
    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// From here on results name the place of the earlier moment that they are about.
    pub(crate) fn stand_at(&mut self, position: u64) {
        self.position = Some(position);
    }

    /// The sequence number that the next line of NDJSON gets.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.next
    }

    /// Prints a result.
    pub(crate) async fn report<R: Report>(&mut self, report: &R) -> Result<Reader, Failure> {
        let bytes = self.rendered(report)?;
        self.bytes(bytes).await
    }

    /// Prints bytes as they are: an export, an answer that goes to a file.
    pub(crate) async fn bytes(&mut self, bytes: Vec<u8>) -> Result<Reader, Failure> {
        if bytes.is_empty() || self.holds(&bytes) {
            return Ok(Reader::Listening);
        }
        if let Some(held) = self.held.take()
            && !held.is_empty()
        {
            self.sink()?.write(held).await;
        }
        Ok(self.sink()?.write(bytes).await)
    }

    /// Returns when nobody reads standard output any more, as far as writing has shown.
    pub(crate) fn unread(&mut self) -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
        Ok(self.sink()?.unread())
    }

    /// Prints a result, outside a runtime.
    pub(crate) fn report_blocking<R: Report>(&mut self, report: &R) -> Result<Reader, Failure> {
        let bytes = self.rendered(report)?;
        self.bytes_blocking(bytes)
    }

    /// Prints bytes as they are, outside a runtime.
    pub(crate) fn bytes_blocking(&mut self, bytes: Vec<u8>) -> Result<Reader, Failure> {
        if self.holds(&bytes) {
            return Ok(Reader::Listening);
        }
        if let Some(held) = self.held.take() {
            self.sink()?.write_blocking(held);
        }
        Ok(self.sink()?.write_blocking(bytes))
    }

    /// Prints a piece of a JSON document that is written as it is found.
    pub(crate) async fn piece(&mut self, bytes: Vec<u8>) -> Result<Reader, Failure> {
        let bytes = self.for_terminal(bytes);
        self.bytes(bytes).await
    }

    /// Standard output for a thread that writes by itself.
    pub(crate) fn writer(&mut self) -> Result<Writer, Failure> {
        let held = self.held.take().unwrap_or_default();
        Ok(self.sink()?.writer(held))
    }

    /// A line on stderr if what is being done takes long.
    pub(crate) fn progress(&self, doing: &str) -> Progress {
        Progress::start(self.style.terminal_errors && !self.style.quiet, doing)
    }

    /// Says something on stderr that is neither result nor failure. With machine output or
    /// `--quiet` it is not said.
    pub(crate) fn note(&self, text: &str) {
        if self.style.quiet || self.style.mode != Mode::Human {
            return;
        }
        let mut page = Page::new(self.style.colour_errors);
        page.line(text);
        to_stderr(&page.into_text());
    }

    /// Counts a note that an agent broke A2A, whether it is shown or not.
    pub(crate) fn saw_violation(&self) {
        self.violations.set(self.violations.get().saturating_add(1));
    }

    /// How many notes said so.
    pub(crate) fn violations(&self) -> u32 {
        self.violations.get()
    }

    /// Says what the user must know even with machine output, such as a log that does not verify.
    pub(crate) fn warn(&self, text: &str) {
        let mut page = Page::new(self.style.colour_errors);
        page.spans(&[
            (super::Tint::Warning, "missive: warning: "),
            (super::Tint::Plain, text),
        ]);
        to_stderr(&page.into_text());
    }

    /// Waits until everything that was printed has been taken. Not inside a runtime.
    pub(crate) fn finish_blocking(&mut self) -> Result<(), Failure> {
        let held = self.held.take().unwrap_or_default();
        let written = match self.sink.take() {
            Some(sink) => sink.finish_blocking(),
            None if held.is_empty() => Ok(()),
            None => sink::write_now(&mut std::io::stdout(), &held).map(|_| ()),
        };
        written.map_err(|error| unwritable(&error))
    }

    fn sink(&mut self) -> Result<&Sink, Failure> {
        let sink = match self.sink.take() {
            Some(sink) => sink,
            None => Sink::start(std::io::stdout()).map_err(|error| unwritable(&error))?,
        };
        Ok(self.sink.insert(sink))
    }

    fn rendered<R: Report>(&mut self, report: &R) -> Result<Vec<u8>, Failure> {
        let failed = |error: serde_json::Error| Failure::from_error(Exit::Internal, &error);
        let bytes = match self.style.mode {
            Mode::Human if self.style.quiet => return Ok(Vec::new()),
            Mode::Human => {
                let mut page = Page::new(self.style.colour);
                report.human(&mut page);
                return Ok(page.into_text().into_bytes());
            }
            Mode::Json => {
                let (kind, ok) = (report.kind(), report.ok());
                envelope::encode_at(self.position, kind, ok, None, report).map_err(failed)?
            }
            Mode::Ndjson => {
                let mut lines = Lines {
                    bytes: Vec::new(),
                    next: self.next,
                    position: self.position,
                };
                report.lines(&mut lines).map_err(failed)?;
                self.next = lines.next;
                lines.bytes
            }
        };
        // What is piped today is looked at tomorrow: a result can act on no terminal (C140).
        if bytes.iter().all(|byte| byte.is_ascii() && *byte != 0x7f) {
            return Ok(bytes);
        }
        Ok(envelope::for_terminal(&bytes).into_bytes())
    }

    fn for_terminal(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.style.terminal {
            envelope::for_terminal(&bytes).into_bytes()
        } else {
            bytes
        }
    }
}

/// Writes to stderr. Where even that is impossible, nobody can be told.
pub(crate) fn to_stderr(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).ok();
}

fn unwritable(error: &std::io::Error) -> Failure {
    Failure::io("standard output cannot be written", error).detail("stdout")
}

#[cfg(test)]
mod tests {
    use super::{HELD_BYTES_MAX, Output, Style};
    use crate::render::{Kind, Lines, Mode, Page, Report};
    use serde::Serialize;

    #[derive(Serialize)]
    struct Names {
        names: Vec<&'static str>,
    }

    #[derive(Serialize)]
    struct Name {
        name: &'static str,
    }

    impl Report for Names {
        fn kind(&self) -> Kind {
            Kind::AgentList
        }
        fn human(&self, page: &mut Page) {
            self.names.iter().for_each(|name| page.line(name));
        }
        fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
            self.names
                .iter()
                .try_for_each(|name| lines.push(Kind::AgentList, true, &Name { name }))
        }
    }

    fn printed(mode: Mode, quiet: bool) -> String {
        let mut output = Output::new(Style {
            mode,
            quiet,
            ..Style::default()
        });
        let report = Names {
            names: vec!["ada", "grace"],
        };

        let mut bytes = output.rendered(&report).unwrap();
        bytes.extend(output.rendered(&report).unwrap());

        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_list_is_lines_a_document_or_one_envelope_per_item() {
        insta::assert_snapshot!(printed(Mode::Human, false), @r"
        ada
        grace
        ada
        grace
        ");
        insta::assert_snapshot!(printed(Mode::Json, false), @r#"
        {"schema_version":"missive.output.v1","ok":true,"kind":"agent_list","data":{"names":["ada","grace"]}}
        {"schema_version":"missive.output.v1","ok":true,"kind":"agent_list","data":{"names":["ada","grace"]}}
        "#);
        insta::assert_snapshot!(printed(Mode::Ndjson, false), @r#"
        {"schema_version":"missive.output.v1","ok":true,"kind":"agent_list","sequence":0,"data":{"name":"ada"}}
        {"schema_version":"missive.output.v1","ok":true,"kind":"agent_list","sequence":1,"data":{"name":"grace"}}
        {"schema_version":"missive.output.v1","ok":true,"kind":"agent_list","sequence":2,"data":{"name":"ada"}}
        {"schema_version":"missive.output.v1","ok":true,"kind":"agent_list","sequence":3,"data":{"name":"grace"}}
        "#);
    }

    #[test]
    fn a_short_result_waits_for_the_end_of_its_command_where_nobody_looks_on() {
        let chunk = vec![b'x'; HELD_BYTES_MAX / 2];
        let mut held = Output::new(Style::default());
        let mut watched = Output::new(Style {
            terminal: true,
            ..Style::default()
        });

        held.hold();
        watched.hold();

        let taken = [held.holds(&chunk), held.holds(&chunk), held.holds(b"x")];
        assert_eq!(taken, [true, true, false]);
        assert!(!watched.holds(b"x"));
    }

    #[test]
    fn quiet_silences_people_and_not_programs() {
        assert_eq!(printed(Mode::Human, true), "");
        assert!(printed(Mode::Json, true).contains("agent_list"));
    }
}
