//! Standard output on a thread of its own.
//!
//! A process that prints may at the same time serve the log to others, so a reader that is slow or
//! stands still must never stop it: writers wait without blocking the runtime, and what waits is
//! bounded. A reader that went away ends the output quietly; everything else that goes wrong with
//! standard output is an error, reported once by [`Sink::finish_blocking`].

use std::io::{self, Write};
use tokio::sync::{mpsc, oneshot};

/// Chunks that wait for the reader.
const CHUNKS_MAX: usize = 32;

/// A writer gathers so much before it hands it over.
const WRITER_BYTES: usize = 64 << 10;

/// Whether anybody still reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// The chunk was taken.
    Listening,
    /// Nothing more needs to be written.
    Gone,
}

/// The writing end of standard output.
#[derive(Debug)]
pub(crate) struct Sink {
    chunks: mpsc::Sender<Vec<u8>>,
    ended: oneshot::Receiver<io::Result<()>>,
}

impl Sink {
    /// Starts the thread that writes to `target`.
    pub(crate) fn start(target: impl Write + Send + 'static) -> io::Result<Self> {
        let (chunks, waiting) = mpsc::channel(CHUNKS_MAX);
        let (end, ended) = oneshot::channel();
        std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || {
                // The receiver is gone only if the process ends without asking.
                end.send(write_all(target, waiting)).ok();
            })?;
        Ok(Self { chunks, ended })
    }

    /// Hands a chunk over; waits, without blocking, while too much waits already.
    pub(crate) async fn write(&self, chunk: Vec<u8>) -> Reader {
        match self.chunks.send(chunk).await {
            Ok(()) => Reader::Listening,
            Err(_) => Reader::Gone,
        }
    }

    /// Returns when the reader is gone.
    pub(crate) fn unread(&self) -> impl Future<Output = ()> + Send + 'static {
        let chunks = self.chunks.clone();
        async move { chunks.closed().await }
    }

    /// The same outside a runtime.
    pub(crate) fn write_blocking(&self, chunk: Vec<u8>) -> Reader {
        match self.chunks.blocking_send(chunk) {
            Ok(()) => Reader::Listening,
            Err(_) => Reader::Gone,
        }
    }

    /// A writer for a thread that is no runtime's. Everything is written only once it is gone.
    /// These bytes come first.
    pub(crate) fn writer(&self, mut buffer: Vec<u8>) -> Writer {
        buffer.reserve(WRITER_BYTES);
        Writer {
            chunks: self.chunks.clone(),
            buffer,
        }
    }

    /// Waits until everything is written. Not inside a runtime.
    pub(crate) fn finish_blocking(self) -> io::Result<()> {
        drop(self.chunks);
        self.ended
            .blocking_recv()
            .unwrap_or_else(|_| Err(io::Error::other("the output thread ended early")))
    }
}

/// Hands over what is written, in chunks; blocks while too much waits.
#[derive(Debug)]
pub(crate) struct Writer {
    chunks: mpsc::Sender<Vec<u8>>,
    buffer: Vec<u8>,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= WRITER_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(WRITER_BYTES));
        let taken = self.chunks.blocking_send(chunk);
        taken.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

fn write_all(mut target: impl Write, mut waiting: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    while let Some(chunk) = waiting.blocking_recv() {
        if write_now(&mut target, &chunk)? == Reader::Gone {
            return Ok(());
        }
    }
    Ok(())
}

/// Writes a chunk on the thread that calls, which waits for the reader.
pub(crate) fn write_now(target: &mut impl Write, chunk: &[u8]) -> io::Result<Reader> {
    match target.write_all(chunk).and_then(|()| target.flush()) {
        Ok(()) => Ok(Reader::Listening),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNKS_MAX, Reader, Sink};
    use std::io::{self, Write};
    use std::sync::mpsc;

    /// Answers every write with an error of this kind.
    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Takes a write only when it is allowed to.
    struct Slow(mpsc::Receiver<()>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.recv().ok();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        let sink = Sink::start(Broken(io::ErrorKind::BrokenPipe)).unwrap();

        while sink.write_blocking(b"x".to_vec()) == Reader::Listening {}

        assert!(sink.finish_blocking().is_ok());
    }

    #[test]
    fn a_full_disk_is_reported_at_the_end() {
        let sink = Sink::start(Broken(io::ErrorKind::StorageFull)).unwrap();

        while sink.write_blocking(b"x".to_vec()) == Reader::Listening {}

        assert_eq!(
            sink.finish_blocking().unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
    }

    #[tokio::test]
    async fn a_reader_that_stands_still_stops_the_writer_and_not_the_runtime() {
        let (allow, allowed) = mpsc::channel();
        let sink = Sink::start(Slow(allowed)).unwrap();
        let writer = tokio::spawn(async move {
            for _ in 0..=CHUNKS_MAX + 1 {
                sink.write(b"x".to_vec()).await;
            }
            tokio::task::spawn_blocking(|| sink.finish_blocking())
                .await
                .unwrap()
        });

        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(!writer.is_finished());

        drop(allow);
        assert!(writer.await.unwrap().is_ok());
    }
}
