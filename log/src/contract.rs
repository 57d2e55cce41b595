//! What every log promises, whoever keeps it.
//!
//! * `Ok` from [`Log::append`] means durable: it survives the death of the process and the loss of power.
//! * A [`Batch`] is all or nothing. The same [`BatchId`] appends nothing a second time and returns the
//!   same place; it is looked up before the conditions, or a retry that had landed would conflict with itself.
//! * Places are dense from 1 and only grow. A head that was seen never goes back.
//! * Readers see durable events only.
//!
//! `conformance.rs` holds these promises as tests; every backend runs all of them.

use crate::chain::{Anchor, ChainFault, Digest, Link, LogId};
use crate::event::kind::LogReanchored;
use crate::event::stored::{self, DecodeError, EncodeError};
use crate::event::{BatchId, Draft, Event, Seq, Subject, Timestamp};
use crate::payload::PayloadRef;
use crate::payload::row::Row;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::sync::Arc;
use tokio::sync::watch;

/// The newest durable place and its link.
pub type Head = Anchor;

/// The most drafts in one batch.
pub const BATCH_DRAFTS_MAX: usize = 4_096;
/// The most bytes of payloads in one batch.
pub const BATCH_BYTES_MAX: usize = 96 << 20;
/// The most records that one read returns.
pub const READ_RECORDS_MAX: usize = 4_096;
/// The most batch ids that are remembered, newest first.
pub const BATCHES_REMEMBERED: u64 = 65_536;

/// How long the identifier of an event is in a body, in characters.
const EVENT_ID_CHARS: usize = 32;

/// About how many bytes one read of payload rows returns; a single larger row still comes whole.
pub const READ_BYTES_MAX: usize = 4 << 20;

/// A log: append, read, follow.
pub trait Log: Send + Sync + Sized + 'static {
    /// Appends a batch; `Ok` means durable.
    fn append(&self, batch: Batch) -> impl Future<Output = Result<Appended, AppendError>> + Send;

    /// The records after a place, in order, at most `limit` of them (and [`READ_RECORDS_MAX`]).
    /// An empty answer means that `after` is the head or beyond it.
    fn read(
        &self,
        after: Seq,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Record>, ReadError>> + Send;

    /// The records at these places, in the order asked for, without those that do not exist.
    fn pick(&self, places: &[Seq]) -> impl Future<Output = Result<Vec<Record>, ReadError>> + Send;

    /// The newest durable place, as it moves. Forward only.
    fn head(&self) -> watch::Receiver<Head>;

    /// A payload, held against what its event committed to.
    fn payload(&self, of: PayloadRef) -> impl Future<Output = Result<Opened, ReadError>> + Send;

    /// Payload rows as they are stored, in key order: those after `after` (a place and an index) up to
    /// and with the place `through`, until about [`READ_BYTES_MAX`] are full. Empty: there are no more.
    fn payload_rows(
        &self,
        after: (Seq, u16),
        through: Seq,
    ) -> impl Future<Output = Result<Vec<StoredPayload>, ReadError>> + Send;

    /// Everything after a place, and then whatever is appended, without polling.
    fn subscribe(self: &Arc<Self>, after: Seq) -> Subscription<Self> {
        Subscription {
            head: self.head(),
            log: Arc::clone(self),
            after,
        }
    }
}

/// What is appended together: all or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// A retry carries the same one.
    pub id: BatchId,
    /// Conditions; none means whatever the state is.
    pub expect: Vec<Expect>,
    /// The facts, in order.
    pub drafts: Vec<Draft>,
}

impl Batch {
    /// A batch without conditions.
    pub fn new(id: BatchId, drafts: Vec<Draft>) -> Self {
        Self {
            id,
            expect: Vec::new(),
            drafts,
        }
    }

    /// The same on one more condition.
    #[must_use]
    pub fn expecting(mut self, expect: Expect) -> Self {
        self.expect.push(expect);
        self
    }

    /// Whether a log may take it at all.
    pub(crate) fn check_bounds(&self) -> Result<(), AppendError> {
        let bytes: usize = self
            .drafts
            .iter()
            .flat_map(|d| &d.payloads)
            .map(|p| p.bytes().len())
            .sum();
        if self.drafts.is_empty() {
            return Err(AppendError::Empty);
        }
        if self.drafts.len() > BATCH_DRAFTS_MAX || bytes > BATCH_BYTES_MAX {
            return Err(AppendError::TooLarge {
                drafts: self.drafts.len(),
                bytes,
            });
        }
        Ok(())
    }
}

/// A condition of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The newest event with this subject is the one that the decision was made on.
    Unchanged {
        /// The subject.
        subject: Subject,
        /// Its newest event; `None`: it has none.
        last: Option<Seq>,
    },
}

/// Where a batch landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The place of its first event.
    pub first: Seq,
    /// The place of its last event.
    pub last: Seq,
}

/// An event as it is stored: the bytes that were hashed, and what stands around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The place.
    pub seq: Seq,
    /// The last earlier place of the same thread, or 0.
    pub prev: Seq,
    /// The link at that place.
    pub link: Link,
    /// The body, exactly as hashed.
    pub body: Box<str>,
}

impl Record {
    /// What the body says.
    pub fn decode(&self) -> Result<Event, DecodeError> {
        stored::decode(self.seq, self.prev, self.body.as_bytes())
    }

    /// The name of its kind, without reading the rest; `None` if the body is not spelled as usual, and then
    /// [`Self::decode`] says more.
    pub fn kind(&self) -> Option<&str> {
        let rest = self.body.strip_prefix("{\"v\":1,\"id\":\"")?;
        let rest = rest.get(EVENT_ID_CHARS..)?.strip_prefix("\",\"kind\":\"")?;
        let name = rest.get(..rest.find('"')?)?;
        (!name.contains('\\')).then_some(name)
    }

    /// The digest that the link was extended with.
    pub fn digest(&self, log: LogId) -> Digest {
        crate::chain::digest(log, self.seq, self.prev, self.body.as_bytes())
    }
}

/// What became of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It is there and is what the event committed to.
    Present(Row),
    /// It was erased by that event.
    Erased(Seq),
    /// It is not there, and no event says that it was erased: an integrity fault.
    Missing,
}

/// A payload's row with its place, for verification and export in bulk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPayload {
    /// Whose.
    pub seq: Seq,
    /// Which.
    pub index: u16,
    /// The row, as [`crate::payload::row::decode`] reads it.
    pub row: Vec<u8>,
}

/// Why nothing was appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Somebody was quicker: decide again.
    #[error("{subject} has changed in the meantime")]
    Conflict {
        /// Which subject.
        subject: Subject,
        /// Its newest event now.
        found: Option<Seq>,
    },
    /// Nothing to append.
    #[error("a batch needs at least one event")]
    Empty,
    /// More than a log takes at once.
    #[error(
        "a batch of {drafts} events and {bytes} payload bytes is more than the log takes at once \
         ({BATCH_DRAFTS_MAX} events, {BATCH_BYTES_MAX} bytes)"
    )]
    TooLarge {
        /// How many events.
        drafts: usize,
        /// How many payload bytes.
        bytes: usize,
    },
    /// An event that has no stored form.
    #[error("an event cannot be stored")]
    Encode(#[from] EncodeError),
    /// The log does not verify: it takes nothing until it is re-anchored.
    #[error("the log takes no event")]
    Integrity(#[source] Arc<IntegrityFault>),
    /// The log was written by a newer version that does not let this one write.
    #[error("the log needs a writer of format {needed} or later, and this one writes {ours}")]
    NewerFormat {
        /// The oldest format that may write.
        needed: u32,
        /// What this build writes.
        ours: u32,
    },
    /// The disk, or the file system, said no.
    #[error("the log could not be written")]
    Io(#[source] Arc<std::io::Error>),
    /// A write or a sync failed: what is on disk is not known, so this process writes no more.
    #[error("the log was closed after a failed write")]
    Poisoned(#[source] Option<Arc<std::io::Error>>),
    /// The store below reports a fault of its own.
    #[error("the log's store failed")]
    Store(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// The connection to the hosting process ended: it is not known whether the batch landed, and a
    /// retry with the same batch id finds out.
    #[error("the process that hosts the log went away")]
    HostLost,
    /// Nobody could take over as host in time.
    #[error("the log is held by something that does not answer{}", holder.as_deref().map(|h| format!(" ({h})")).unwrap_or_default())]
    Busy {
        /// What is known of it.
        holder: Option<String>,
    },
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The disk, or the file system, said no.
    #[error("the log could not be read")]
    Io(#[source] Arc<std::io::Error>),
    /// The store below reports a fault of its own: damage that it noticed itself.
    #[error("the log's store is damaged")]
    Store(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// What is stored is not what was written.
    #[error("the log does not verify")]
    Integrity(#[source] Arc<IntegrityFault>),
    /// The connection to the hosting process ended; reading again is safe.
    #[error("the process that hosts the log went away")]
    HostLost,
    /// Nobody could take over as host in time.
    #[error("the log is held by something that does not answer")]
    Busy,
}

/// What does not hold, as exactly as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum IntegrityFault {
    /// The chain breaks.
    #[error(transparent)]
    Chain(#[from] ChainFault),
    /// The log is shorter than its witness saw it.
    #[error("events {} to {} are missing: the log ends at {}", found.seq.next(), witnessed.seq, found.seq)]
    Shorter {
        /// What the witness saw.
        witnessed: Head,
        /// What is there.
        found: Head,
    },
    /// The log has another link than its witness saw at the same place.
    #[error("event {} has another link than the one that was witnessed", witnessed.seq)]
    OtherLink {
        /// What the witness saw.
        witnessed: Head,
        /// The link that is there.
        found: Link,
        /// Where the log ends.
        head: Head,
    },
    /// The log is another one than the witness saw.
    #[error("the log is {found} and its witness saw {}", witnessed.log)]
    OtherLog {
        /// What the witness saw.
        witnessed: Head,
        /// The log that is there.
        found: LogId,
    },
    /// A witness is there, or what was made from the log, and the log is not.
    #[error("the log that {} is gone", witnessed.map_or_else(
        || "the views beside it were made from".to_owned(),
        |head| format!("ended at {head}"),
    ))]
    Gone {
        /// What the witness saw, if there is one for this place.
        witnessed: Option<Head>,
    },
    /// A stored event is no event.
    #[error("event {seq} cannot be read: {what}")]
    Unreadable {
        /// Where.
        seq: Seq,
        /// What is wrong with it.
        what: String,
    },
    /// The thread pointer is not the last earlier event of the thread.
    #[error("event {seq} names {stored} as its predecessor, and it is {found}")]
    Thread {
        /// Where.
        seq: Seq,
        /// What it names.
        stored: Seq,
        /// What it should name.
        found: Seq,
    },
    /// The clock of the log goes back.
    #[error("event {seq} is older than the one before it")]
    Time {
        /// Where.
        seq: Seq,
    },
    /// A payload is gone, and no event says that it was erased.
    #[error("payload {index} of event {seq} is missing")]
    PayloadMissing {
        /// Whose.
        seq: Seq,
        /// Which.
        index: u16,
    },
    /// A payload is not what its event committed to.
    #[error("payload {index} of event {seq} is not what the event committed to")]
    PayloadChanged {
        /// Whose.
        seq: Seq,
        /// Which.
        index: u16,
    },
    /// The store below noticed damage before any event could be checked.
    #[error("the store is damaged: {what}")]
    Store {
        /// What it said.
        what: String,
    },
}

impl IntegrityFault {
    /// The first place that cannot be trusted, where one is known.
    pub fn first_bad(&self) -> Option<Seq> {
        match self {
            Self::Chain(ChainFault::Gap { expected, .. }) => Some(*expected),
            Self::Chain(ChainFault::Link { seq })
            | Self::Unreadable { seq, .. }
            | Self::Thread { seq, .. }
            | Self::Time { seq }
            | Self::PayloadMissing { seq, .. }
            | Self::PayloadChanged { seq, .. } => Some(*seq),
            Self::Shorter { found, .. } => Some(found.seq.next()),
            Self::OtherLink { witnessed, .. } => Some(witnessed.seq),
            Self::OtherLog { .. } | Self::Gone { .. } | Self::Store { .. } => None,
        }
    }
}

impl IntegrityFault {
    /// Whether a re-anchoring names what this fault lost.
    pub(crate) fn is_answered_by(&self, facts: &LogReanchored) -> bool {
        match self {
            Self::Shorter { witnessed, found }
            | Self::OtherLink {
                witnessed,
                found: _,
                head: found,
            } => {
                (facts.witnessed, facts.witnessed_link) == (witnessed.seq, witnessed.link)
                    && (facts.found, facts.found_link) == (found.seq, found.link)
            }
            Self::Chain(_)
            | Self::OtherLog { .. }
            | Self::Gone { .. }
            | Self::Unreadable { .. }
            | Self::Thread { .. }
            | Self::Time { .. }
            | Self::PayloadMissing { .. }
            | Self::PayloadChanged { .. }
            | Self::Store { .. } => self
                .first_bad()
                .is_none_or(|bad| facts.found < bad && bad <= facts.witnessed),
        }
    }

    /// Where the chain goes on after that re-anchoring: behind the witnessed place where the log is
    /// shorter, so that the lost places stay empty for ever, else behind the log's own head.
    pub(crate) fn anchor_after(&self, head: Head, facts: &LogReanchored) -> Head {
        match self {
            Self::Shorter { .. } => Head {
                log: head.log,
                seq: facts.witnessed,
                link: facts.witnessed_link,
            },
            Self::Chain(_)
            | Self::OtherLink { .. }
            | Self::OtherLog { .. }
            | Self::Gone { .. }
            | Self::Unreadable { .. }
            | Self::Thread { .. }
            | Self::Time { .. }
            | Self::PayloadMissing { .. }
            | Self::PayloadChanged { .. }
            | Self::Store { .. } => head,
        }
    }
}

/// Everything after a place, as it comes.
#[derive(Debug)]
pub struct Subscription<L> {
    log: Arc<L>,
    head: watch::Receiver<Head>,
    after: Seq,
}

impl<L: Log> Subscription<L> {
    /// The next records, at least one; waits for them without polling.
    ///
    /// Dropping the future loses nothing: the place moves only when records are returned.
    pub async fn next(&mut self) -> Result<Vec<Record>, ReadError> {
        loop {
            // Marked as seen before reading, or an append between the two would go unnoticed.
            let newest = self.head.borrow_and_update().seq;
            if newest > self.after {
                let records = self.log.read(self.after, READ_RECORDS_MAX).await?;
                if let Some(last) = records.last() {
                    self.after = last.seq;
                    return Ok(records);
                }
            }
            if self.head.changed().await.is_err() {
                return Err(ReadError::HostLost);
            }
        }
    }

    /// The last place that was returned.
    pub fn position(&self) -> Seq {
        self.after
    }
}

/// The time that the next event of a log gets: never earlier than the last one's.
pub(crate) fn not_before(now: Timestamp, last: Timestamp) -> Timestamp {
    now.max(last)
}
