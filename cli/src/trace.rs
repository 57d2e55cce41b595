//! `-v`, `-vv` and `--trace`: what missive says about its own work, on stderr.
//!
//! Only missive's own lines are shown: libraries below it may log headers and bodies, and no flag
//! lifts redaction. Every line of a command stands in its span, which carries identifiers and never
//! content. `MISSIVE_LOG_FORMAT=json` makes each line a document.

use crate::args::global::Globals;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::render::{envelope, escape, output};
use missive_commands::Exit;
use std::io;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Json,
}

/// The variable that says so.
const FORMAT: &str = "MISSIVE_LOG_FORMAT";

fn format(environment: &Environment<'_>) -> Result<Format, Failure> {
    let Some(value) = environment.get(FORMAT) else {
        return Ok(Format::Text);
    };
    if value == "json" {
        Ok(Format::Json)
    } else if value == "text" {
        Ok(Format::Text)
    } else {
        let what = format!("{FORMAT} is `{}`", value.to_string_lossy());
        Err(Failure::new(Exit::Config, what)
            .detail("log_format")
            .hint("it may be `text` or `json`"))
    }
}

/// Starts logging, if the user asked for it.
pub(crate) fn start(globals: &Globals, environment: &Environment<'_>) -> Result<(), Failure> {
    let format = format(environment)?;
    let level = match (globals.trace, globals.verbose) {
        (true, _) => LevelFilter::TRACE,
        (false, 0) => return Ok(()),
        (false, 1) => LevelFilter::INFO,
        (false, _) => LevelFilter::DEBUG,
    };
    let ours =
        filter_fn(move |line| *line.level() <= level && line.target().starts_with("missive"));
    let lines = tracing_subscriber::fmt::layer().with_ansi(false);
    let target = level == LevelFilter::TRACE;
    let lines = match format {
        Format::Text => lines
            .without_time()
            .with_target(target)
            .with_writer(|| Stderr(Format::Text))
            .boxed(),
        Format::Json => lines
            .json()
            .flatten_event(true)
            .with_span_list(false)
            .with_target(target)
            .with_writer(|| Stderr(Format::Json))
            .boxed(),
    };
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(ours));
    // There is one already only if this is called twice.
    tracing::subscriber::set_global_default(subscriber).ok();
    Ok(())
}

/// The span of a command. What it concerns is filled in as it becomes known.
pub(crate) fn span(command: &'static str) -> tracing::Span {
    tracing::info_span!(
        "command",
        command,
        operation = tracing::field::Empty,
        agent = tracing::field::Empty,
        context = tracing::field::Empty,
        task = tracing::field::Empty,
    )
}

/// Stderr for lines that may hold foreign text; errors are swallowed, since there is nobody to tell.
struct Stderr(Format);

impl io::Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let shown = match self.0 {
            Format::Text => escape::block(&String::from_utf8_lossy(line)),
            Format::Json => envelope::for_terminal(line),
        };
        output::to_stderr(&shown);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
