//! `-v`, `-vv` and `--trace`: what missive says about its own work, on stderr.
//!
//! Only missive's own lines are shown: libraries below it may log headers and bodies, and no flag
//! lifts redaction.

use crate::args::global::Globals;
use crate::render::{escape, output};
use std::io;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;

/// Starts logging, if the user asked for it.
pub(crate) fn start(globals: &Globals) {
    let level = match (globals.trace, globals.verbose) {
        (true, _) => LevelFilter::TRACE,
        (false, 0) => return,
        (false, 1) => LevelFilter::INFO,
        (false, _) => LevelFilter::DEBUG,
    };
    let ours =
        filter_fn(move |line| *line.level() <= level && line.target().starts_with("missive"));
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .without_time()
        .with_target(level == LevelFilter::TRACE)
        .with_writer(|| Stderr);
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(ours));
    // There is one already only if this is called twice.
    tracing::subscriber::set_global_default(subscriber).ok();
}

/// Stderr for lines that may hold foreign text; errors are swallowed, since there is nobody to tell.
struct Stderr;

impl io::Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        output::to_stderr(&escape::block(&String::from_utf8_lossy(line)));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
