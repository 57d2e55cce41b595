//! The values of the log in the shape in which they cross the socket.
//!
//! Facts travel as the text in which they are stored, payloads as their rows (so redaction happened in the
//! process that made them). Everything is validated again on arrival.

use super::FrameError;
use crate::chain::{Anchor, Commitment, Link, LogId, Salt};
use crate::contract::{Appended, Batch, Expect, Head, Opened, Record, StoredPayload};
use crate::event::facts::TraceParent;
use crate::event::stored::{self, EncodeError};
use crate::event::{
    ActorId, Alias, BatchId, ContextId, Draft, EventId, GroupName, Links, OperationId, Origin, Seq,
    Subject, TaskId,
};
use crate::payload::row::{self, Row};
use crate::payload::{About, Media, Payload, PayloadRef, Role};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// Bytes, written as one piece and not one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

/// A head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WireHead {
    log: [u8; 32],
    seq: u64,
    link: [u8; 32],
}

impl From<Head> for WireHead {
    fn from(head: Head) -> Self {
        Self {
            log: head.log.0,
            seq: head.seq.0,
            link: head.link.0,
        }
    }
}

impl From<WireHead> for Head {
    fn from(head: WireHead) -> Self {
        Anchor {
            log: LogId(head.log),
            seq: Seq(head.seq),
            link: Link(head.link),
        }
    }
}

/// A batch.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireBatch {
    id: [u8; 16],
    expect: Vec<(Subject, Option<Seq>)>,
    drafts: Vec<WireDraft>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireDraft {
    id: [u8; 16],
    subject: Subject,
    operation: Option<OperationId>,
    cause: Option<Seq>,
    origin: Option<Origin>,
    actor: Option<[u8; 16]>,
    agent: Option<Alias>,
    context: Option<ContextId>,
    task: Option<TaskId>,
    trace: Option<TraceParent>,
    group: Option<GroupName>,
    kind: String,
    version: u32,
    facts: Option<String>,
    payloads: Vec<WirePayload>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WirePayload {
    role: Role,
    media: Media,
    redacted: u32,
    row: Bytes,
}

impl WireBatch {
    pub(crate) fn of(batch: &Batch) -> Result<Self, EncodeError> {
        let expect = batch.expect.iter();
        Ok(Self {
            id: batch.id.0,
            expect: expect
                .map(|Expect::Unchanged { subject, last }| (subject.clone(), *last))
                .collect(),
            drafts: batch
                .drafts
                .iter()
                .map(WireDraft::of)
                .collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn into_batch(self) -> Result<Batch, FrameError> {
        let expect = self.expect.into_iter();
        Ok(Batch {
            id: BatchId(self.id),
            expect: expect
                .map(|(subject, last)| Expect::Unchanged { subject, last })
                .collect(),
            drafts: self
                .drafts
                .into_iter()
                .map(WireDraft::into_draft)
                .collect::<Result<_, _>>()?,
        })
    }
}

impl WireDraft {
    fn of(draft: &Draft) -> Result<Self, EncodeError> {
        let facts = draft.kind.encode_facts().map_err(EncodeError::Json)?;
        let links = draft.links.clone();
        Ok(Self {
            id: draft.id.0,
            subject: draft.subject.clone(),
            operation: draft.operation.clone(),
            cause: draft.cause,
            origin: draft.origin,
            actor: draft.actor.map(|actor| actor.0),
            agent: links.agent,
            context: links.context,
            task: links.task,
            group: links.group,
            trace: draft.trace.clone(),
            kind: draft.kind.name().to_owned(),
            version: draft.kind.version(),
            facts: facts.map(String::from),
            payloads: draft.payloads.iter().map(WirePayload::of).collect(),
        })
    }

    fn into_draft(self) -> Result<Draft, FrameError> {
        let kind = stored::decode_kind(&self.kind, self.version, self.facts.as_deref())
            .map_err(|_| FrameError::Malformed)?;
        Ok(Draft {
            id: EventId(self.id),
            subject: self.subject,
            operation: self.operation,
            cause: self.cause,
            origin: self.origin,
            actor: self.actor.map(ActorId),
            links: Links {
                agent: self.agent,
                context: self.context,
                task: self.task,
                group: self.group,
            },
            trace: self.trace,
            kind,
            payloads: self
                .payloads
                .into_iter()
                .map(WirePayload::into_payload)
                .collect::<Result<_, _>>()?,
        })
    }
}

impl WirePayload {
    fn of(payload: &Payload) -> Self {
        Self {
            role: payload.role(),
            media: payload.media(),
            redacted: payload.redacted(),
            row: Bytes(row::encode(payload)),
        }
    }

    fn into_payload(self) -> Result<Payload, FrameError> {
        row::rebuild(self.role, self.media, self.redacted, &self.row.0)
            .map_err(|_| FrameError::Malformed)
    }
}

/// Where a batch landed, and the head afterwards.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireAppended {
    first: u64,
    last: u64,
    head: WireHead,
}

impl WireAppended {
    pub(crate) fn of(appended: Appended, head: Head) -> Self {
        Self {
            first: appended.first.0,
            last: appended.last.0,
            head: head.into(),
        }
    }

    pub(crate) fn into_parts(self) -> (Appended, Head) {
        let appended = Appended {
            first: Seq(self.first),
            last: Seq(self.last),
        };
        (appended, self.head.into())
    }
}

/// Records, as many as fit an answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireRecords {
    pub(crate) records: Vec<WireRecord>,
    /// How many of those that were asked for (the last ones) have to be asked for again.
    pub(crate) left: u64,
}

/// A record.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireRecord {
    seq: u64,
    prev: u64,
    link: [u8; 32],
    body: Box<str>,
}

impl From<Record> for WireRecord {
    fn from(record: Record) -> Self {
        Self {
            seq: record.seq.0,
            prev: record.prev.0,
            link: record.link.0,
            body: record.body,
        }
    }
}

impl From<WireRecord> for Record {
    fn from(record: WireRecord) -> Self {
        Self {
            seq: Seq(record.seq),
            prev: Seq(record.prev),
            link: Link(record.link),
            body: record.body,
        }
    }
}

/// A payload that is asked for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct WirePayloadRef {
    seq: u64,
    index: u16,
    role: Role,
    media: Media,
    commitment: [u8; 32],
    redacted: u32,
}

impl From<PayloadRef> for WirePayloadRef {
    fn from(of: PayloadRef) -> Self {
        Self {
            seq: of.seq.0,
            index: of.index,
            role: of.role,
            media: of.media,
            commitment: of.commitment.0,
            redacted: of.redacted,
        }
    }
}

impl From<WirePayloadRef> for PayloadRef {
    fn from(of: WirePayloadRef) -> Self {
        Self {
            seq: Seq(of.seq),
            index: of.index,
            role: of.role,
            media: of.media,
            commitment: Commitment(of.commitment),
            redacted: of.redacted,
        }
    }
}

/// What became of a payload.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WireOpened {
    /// It is there.
    Present {
        salt: [u8; 32],
        media_type: Option<String>,
        name: Option<String>,
        bytes: Bytes,
    },
    /// It was erased.
    Erased(u64),
    /// It is missing.
    Missing,
}

impl From<Opened> for WireOpened {
    fn from(opened: Opened) -> Self {
        match opened {
            Opened::Present(row) => Self::Present {
                salt: row.salt.0,
                media_type: row.about.media_type,
                name: row.about.name,
                bytes: Bytes(row.bytes),
            },
            Opened::Erased(seq) => Self::Erased(seq.0),
            Opened::Missing => Self::Missing,
        }
    }
}

impl From<WireOpened> for Opened {
    fn from(opened: WireOpened) -> Self {
        match opened {
            WireOpened::Present {
                salt,
                media_type,
                name,
                bytes,
            } => Self::Present(Row {
                salt: Salt(salt),
                about: About { media_type, name },
                bytes: bytes.0,
            }),
            WireOpened::Erased(seq) => Self::Erased(Seq(seq)),
            WireOpened::Missing => Self::Missing,
        }
    }
}

/// A payload's row as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WirePayloadRow {
    seq: u64,
    index: u16,
    row: Bytes,
}

impl From<StoredPayload> for WirePayloadRow {
    fn from(stored: StoredPayload) -> Self {
        Self {
            seq: stored.seq.0,
            index: stored.index,
            row: Bytes(stored.row),
        }
    }
}

impl From<WirePayloadRow> for StoredPayload {
    fn from(row: WirePayloadRow) -> Self {
        Self {
            seq: Seq(row.seq),
            index: row.index,
            row: row.row.0,
        }
    }
}
