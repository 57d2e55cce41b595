//! The log of another process, over its socket.
//!
//! Whatever ends the connection, every open question answers `HostLost`: for an append that means that nobody
//! knows whether it landed, and a retry with the same batch id finds out. A host that says nothing for
//! [`SILENT_TICKS_MAX`] looks at the clock, although it is asked, counts as lost too.

mod line;

use super::frame::message::{Agreement, Request, Response, ToAttached, ToHost};
use super::frame::wire::{Bytes, WireBatch, WireRecords};
use super::frame::{self, FrameError, HELLO_BYTES_MAX, PATIENCE, encode, preamble, read_preamble};
use crate::chain::LogId;
use crate::contract::{
    AppendError, Appended, Batch, Head, Log, Opened, READ_RECORDS_MAX, ReadError, Record,
    StoredPayload,
};
use crate::event::Seq;
use crate::payload::PayloadRef;
use line::{Line, NoAnswer};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

/// How many looks at the clock an asked host may let pass without a word.
const SILENT_TICKS_MAX: u32 = 3;
/// How long a host may go on saying that it opens the log.
const OPENING_MAX: Duration = Duration::from_secs(600);
/// How long an answer from beside the log may take: views may have to be rebuilt first.
const COMPANION_MAX: Duration = Duration::from_secs(600);

/// Another process hosts the log, and the two do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the log is hosted by process {}, and {what} differ: {theirs} there, {ours} here",
    pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string())
)]
pub struct Mismatch {
    /// In what they differ.
    pub what: &'static str,
    /// What this process has.
    pub ours: String,
    /// What the host has.
    pub theirs: String,
    /// The host.
    pub pid: Option<u32>,
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// Nobody listens, or whoever does goes away or says nothing: try something else.
    Nobody(FrameError),
    /// Somebody listens and will not do.
    Mismatch(Mismatch),
}

impl From<FrameError> for ConnectError {
    fn from(error: FrameError) -> Self {
        Self::Nobody(error)
    }
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        Self::Nobody(error.into())
    }
}

/// Why there is no answer from beside the log.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The connection ended.
    HostLost,
    /// The answer is that it cannot be answered.
    Refused(String),
}

/// A connection to the process that hosts the log.
#[derive(Debug)]
pub(crate) struct Attached {
    line: Arc<Line>,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    greeting: Vec<u8>,
}

impl Attached {
    /// Connects, and waits for as long as the host opens the log; a host that says nothing is waited for
    /// until `deadline`. The connection lives on the runtime that this is called on.
    pub(crate) async fn connect(
        socket: &Path,
        ours: &Agreement,
        log: Option<LogId>,
        deadline: Instant,
    ) -> Result<Self, ConnectError> {
        let slow = |_| FrameError::Slow;
        let stream = timeout_at(deadline, UnixStream::connect(socket))
            .await
            .map_err(slow)??;
        if !super::host::is_ours(&stream) {
            return Err(FrameError::Magic.into());
        }
        let pid = stream
            .peer_cred()?
            .pid()
            .and_then(|pid| u32::try_from(pid).ok());
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::new(reader);
        let mut hello = preamble().to_vec();
        hello.extend(encode(&ToHost::Hello {
            agreement: ours.clone(),
            log,
            pid: std::process::id(),
        })?);
        frame::write(&mut writer, &hello).await?;
        match timeout_at(deadline, read_preamble(&mut reader))
            .await
            .map_err(slow)?
        {
            Err(FrameError::Protocol(theirs)) => {
                return Err(ConnectError::Mismatch(Mismatch {
                    what: "the versions of the socket",
                    ours: frame::PROTOCOL.to_string(),
                    theirs: theirs.to_string(),
                    pid,
                }));
            }
            heard => heard?,
        }
        let (agreement, head, greeting) = welcome(&mut reader, deadline).await?;
        let differs = ours.differs(&agreement).or_else(|| {
            let log = log.filter(|log| *log != head.log)?;
            Some(("the logs", log.to_string(), head.log.to_string()))
        });
        if let Some((what, ours, theirs)) = differs {
            return Err(ConnectError::Mismatch(Mismatch {
                what,
                ours,
                theirs,
                pid,
            }));
        }
        let (outgoing, queue) = mpsc::unbounded_channel();
        let line = Arc::new(Line::new(head));
        line::run(&line, reader, writer, queue);
        Ok(Self {
            line,
            outgoing,
            greeting,
        })
    }

    /// What is served beside the log said before it was asked; empty: nothing.
    pub(crate) fn greeting(&self) -> &[u8] {
        &self.greeting
    }

    /// Waits until the connection has ended.
    pub(crate) async fn ended(&self) {
        self.line.ended().await;
    }

    /// Ends the connection, because what comes over it is of no use.
    pub(crate) fn hang_up(&self) {
        self.line.lose();
    }

    async fn ask(&self, request: Request) -> Result<Response, NoAnswer> {
        self.line.ask(&self.outgoing, request).await
    }

    /// Asks what is served beside the log, and blocks until it answers. Never to be called on the thread that
    /// the connection lives on.
    pub(crate) fn call_companion(&self, least: Seq, bytes: &[u8]) -> Result<Vec<u8>, CallError> {
        let request = Request::Companion {
            least: least.0,
            bytes: Bytes(bytes.to_vec()),
        };
        match self
            .line
            .ask_blocking(&self.outgoing, request, COMPANION_MAX)
        {
            Ok(Response::Companion(answer)) => {
                answer.map(|bytes| bytes.0).map_err(CallError::Refused)
            }
            Err(NoAnswer::TooLong) => {
                Err(CallError::Refused("the question is too long".to_owned()))
            }
            Ok(_) | Err(NoAnswer::Lost) => Err(CallError::HostLost),
        }
    }
}

/// Waits to be let in.
async fn welcome(
    reader: &mut BufReader<OwnedReadHalf>,
    mut deadline: Instant,
) -> Result<(Agreement, Head, Vec<u8>), FrameError> {
    let opened_by = Instant::now() + OPENING_MAX;
    loop {
        let message = timeout_at(
            deadline.min(opened_by),
            frame::read(reader, HELLO_BYTES_MAX),
        );
        match message.await.map_err(|_| FrameError::Slow)?? {
            Some(ToAttached::Opening) => deadline = Instant::now() + PATIENCE,
            Some(ToAttached::Welcome {
                agreement,
                head,
                greeting,
                ..
            }) => return Ok((agreement, head.into(), greeting.0)),
            Some(ToAttached::Head(_) | ToAttached::Answer { .. }) => {
                return Err(FrameError::Malformed);
            }
            None => return Err(FrameError::Cut),
        }
    }
}

impl Log for Attached {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        batch.check_bounds()?;
        let request = Request::Append(WireBatch::of(&batch)?);
        let payloads = batch.drafts.iter().flat_map(|draft| &draft.payloads);
        let too_long = AppendError::TooLarge {
            drafts: batch.drafts.len(),
            bytes: payloads.map(|payload| payload.bytes().len()).sum(),
        };
        drop(batch);
        match self.ask(request).await {
            Ok(Response::Append(Ok(appended))) => {
                let (appended, head) = appended.into_parts();
                self.line.advance(head);
                Ok(appended)
            }
            Ok(Response::Append(Err(error))) => Err(error.into()),
            Err(NoAnswer::TooLong) => Err(too_long),
            Ok(_) | Err(NoAnswer::Lost) => Err(AppendError::HostLost),
        }
    }

    async fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, ReadError> {
        let mut limit = limit.min(READ_RECORDS_MAX);
        let mut records: Vec<Record> = Vec::new();
        let mut after = after;
        while limit > 0 {
            let request = Request::Read {
                after: after.0,
                limit: u64::try_from(limit).unwrap_or(u64::MAX),
            };
            let (more, left) = self.records(request, limit).await?;
            records.extend(more);
            limit = left;
            after = records.last().map_or(after, |record| record.seq);
        }
        Ok(records)
    }

    async fn pick(&self, places: &[Seq]) -> Result<Vec<Record>, ReadError> {
        let mut places = places.get(..READ_RECORDS_MAX).unwrap_or(places);
        let mut records = Vec::new();
        while !places.is_empty() {
            let request = Request::Pick(places.iter().map(|seq| seq.0).collect());
            let (more, left) = self.records(request, places.len()).await?;
            records.extend(more);
            let done = places.len().saturating_sub(left);
            places = places.get(done..).unwrap_or_default();
        }
        Ok(records)
    }

    fn head(&self) -> watch::Receiver<Head> {
        self.line.head()
    }

    async fn payload(&self, of: PayloadRef) -> Result<Opened, ReadError> {
        match self.ask(Request::Payload(of.into())).await {
            Ok(Response::Payload(opened)) => opened.map(Into::into).map_err(Into::into),
            Ok(_) | Err(_) => Err(ReadError::HostLost),
        }
    }

    async fn payload_rows(
        &self,
        after: (Seq, u16),
        through: Seq,
    ) -> Result<Vec<StoredPayload>, ReadError> {
        let request = Request::PayloadRows {
            after: (after.0.0, after.1),
            through: through.0,
        };
        match self.ask(request).await {
            Ok(Response::PayloadRows(Ok(rows))) => Ok(rows.into_iter().map(Into::into).collect()),
            Ok(Response::PayloadRows(Err(error))) => Err(error.into()),
            Ok(_) | Err(_) => Err(ReadError::HostLost),
        }
    }
}

impl Attached {
    /// One piece of an answer that holds at most `asked` records, and how many of those are left.
    async fn records(
        &self,
        request: Request,
        asked: usize,
    ) -> Result<(impl Iterator<Item = Record>, usize), ReadError> {
        match self.ask(request).await {
            Ok(Response::Records(Ok(WireRecords { records, left }))) => {
                let left = usize::try_from(left).unwrap_or(usize::MAX);
                // Every answer gets somewhere, or the host could keep us asking for ever.
                if left >= asked || records.len() > asked - left {
                    return Err(ReadError::HostLost);
                }
                Ok((records.into_iter().map(Record::from), left))
            }
            Ok(Response::Records(Err(error))) => Err(error.into()),
            Ok(_) | Err(_) => Err(ReadError::HostLost),
        }
    }
}

#[cfg(test)]
mod tests;
