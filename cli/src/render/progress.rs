//! A line on stderr for work that takes more than half a second.
//!
//! Only on a terminal, never with `--quiet`, and wiped before anything else is printed there.

use super::escape;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Work shorter than this shows nothing.
const SILENT_FOR: Duration = Duration::from_millis(500);

/// A line is at most this long, so that it never wraps.
const LINE_CHARS_MAX: usize = 78;

/// Shows what is being done until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    running: Option<(mpsc::Sender<String>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts the clock if `wanted`; otherwise everything here does nothing.
    pub(crate) fn start(wanted: bool, doing: &str) -> Self {
        if !wanted {
            return Self::default();
        }
        let (texts, received) = mpsc::channel();
        let first = doing.to_owned();
        let thread = std::thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || show(first, &received, SILENT_FOR, &mut std::io::stderr()));
        // Without a thread there is no progress line, which changes nothing about the work.
        Self {
            running: thread.ok().map(|thread| (texts, thread)),
        }
    }

    /// Replaces what the line says.
    pub(crate) fn say(&self, doing: &str) {
        if let Some((texts, _)) = &self.running {
            texts.send(doing.to_owned()).ok();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((texts, thread)) = self.running.take() {
            drop(texts);
            thread.join().ok();
        }
    }
}

/// Waits `silent_for`, then shows the newest text until the sender is gone, then wipes it.
fn show(
    mut text: String,
    received: &mpsc::Receiver<String>,
    silent_for: Duration,
    terminal: &mut impl std::io::Write,
) {
    let begun = std::time::Instant::now();
    while let Some(left) = silent_for.checked_sub(begun.elapsed()) {
        match received.recv_timeout(left) {
            Ok(newer) => text = newer,
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
    loop {
        let line: String = escape::line(&text).chars().take(LINE_CHARS_MAX).collect();
        write!(terminal, "\r\u{1b}[2K{line}")
            .and_then(|()| terminal.flush())
            .ok();
        match received.recv() {
            Ok(newer) => text = received.try_iter().last().unwrap_or(newer),
            Err(_) => break,
        }
    }
    write!(terminal, "\r\u{1b}[2K")
        .and_then(|()| terminal.flush())
        .ok();
}

#[cfg(test)]
mod tests {
    use super::show;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn work_that_ends_in_time_shows_nothing() {
        let (texts, received) = mpsc::channel();
        let mut terminal = Vec::new();

        drop(texts);
        show(
            "reading".to_owned(),
            &received,
            Duration::from_secs(3600),
            &mut terminal,
        );

        assert!(terminal.is_empty());
    }

    #[test]
    fn longer_work_shows_the_newest_text_and_wipes_it() {
        let (texts, received) = mpsc::channel();
        let mut terminal = Vec::new();
        for text in ["one", "two \u{1b}[2J"] {
            texts.send(text.to_owned()).unwrap();
        }

        drop(texts);
        show(
            "reading".to_owned(),
            &received,
            Duration::ZERO,
            &mut terminal,
        );

        let shown = String::from_utf8(terminal).unwrap();
        assert!(
            shown.ends_with("\r\u{1b}[2Ktwo \\u{1b}[2J\r\u{1b}[2K"),
            "{shown:?}"
        );
    }
}
