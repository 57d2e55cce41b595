//! The messages of the socket, both ways.
//!
//! After the preamble the attached side says hello; the host says `Opening` for as long as it opens the log,
//! then welcomes. From then on the attached side asks, each question under a number of its own, and the
//! answers come in any order; the host also tells every new head, unasked.

use super::fault::{WireAppendError, WireReadError};
use super::wire::{
    Bytes, WireAppended, WireBatch, WireHead, WireOpened, WirePayloadRef, WirePayloadRow,
    WireRecords,
};
use crate::chain::LogId;
use serde::{Deserialize, Serialize};

/// What both sides must agree on, or they do not work together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Agreement {
    /// The version of the stored form that it writes.
    pub(crate) format: u32,
    /// The version of the program.
    pub(crate) program: String,
    /// The versions of what is served beside the log.
    pub(crate) fingerprint: String,
}

impl Agreement {
    /// What this build stands for.
    pub(crate) fn of_this_build(fingerprint: String) -> Self {
        Self {
            format: crate::backend::sequencer::FORMAT,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            fingerprint,
        }
    }

    /// The first thing in which the other side differs, as (what, ours, theirs).
    pub(crate) fn differs(&self, other: &Self) -> Option<(&'static str, String, String)> {
        let fields = [
            (
                "the stored format",
                self.format.to_string(),
                other.format.to_string(),
            ),
            ("the program", self.program.clone(), other.program.clone()),
            (
                "the views",
                self.fingerprint.clone(),
                other.fingerprint.clone(),
            ),
        ];
        fields.into_iter().find(|(_, ours, theirs)| ours != theirs)
    }
}

/// What the attached side sends.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToHost {
    /// First.
    Hello {
        agreement: Agreement,
        /// The log that it belongs to, once it knows one.
        log: Option<LogId>,
        pid: u32,
    },
    /// Afterwards, as often as it likes.
    Ask { id: u64, request: Request },
}

/// A question.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    Append(WireBatch),
    Read {
        after: u64,
        limit: u64,
    },
    Pick(Vec<u64>),
    Payload(WirePayloadRef),
    PayloadRows {
        after: (u64, u16),
        through: u64,
    },
    Companion {
        least: u64,
        bytes: Bytes,
    },
    /// Also asked to see whether the host is still there.
    Head,
}

/// What the host sends.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToAttached {
    /// The log is being opened: wait on.
    Opening,
    /// The log is open. Also sent when the two do not agree, so that the other side can say in what.
    Welcome {
        agreement: Agreement,
        head: WireHead,
        pid: u32,
        /// What is served beside the log says this before it is asked.
        greeting: Bytes,
    },
    /// The head has moved.
    Head(WireHead),
    /// An answer.
    Answer { id: u64, response: Response },
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Response {
    Append(Result<WireAppended, WireAppendError>),
    Records(Result<WireRecords, WireReadError>),
    Payload(Result<WireOpened, WireReadError>),
    PayloadRows(Result<Vec<WirePayloadRow>, WireReadError>),
    Companion(Result<Bytes, String>),
    Head(WireHead),
}
