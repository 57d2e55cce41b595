//! Errors in the shape in which they cross the socket: the attached side gets the same variant, with the
//! same values, as a process that holds the log itself. Only causes from below become text.

use crate::contract::{AppendError, IntegrityFault, ReadError};
use crate::event::stored::EncodeError;
use crate::event::{Seq, Subject};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io;
use std::sync::Arc;

/// A cause that only the other process saw: its text, with its own causes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Far(String);

/// The text of an error and of its causes.
fn text(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// An error of the operating system.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireIo {
    code: Option<i32>,
    text: String,
}

impl From<&io::Error> for WireIo {
    fn from(error: &io::Error) -> Self {
        Self {
            code: error.raw_os_error(),
            text: text(error),
        }
    }
}

impl From<WireIo> for Arc<io::Error> {
    fn from(wire: WireIo) -> Self {
        Arc::new(match wire.code {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::other(wire.text),
        })
    }
}

/// [`AppendError`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WireAppendError {
    Conflict {
        subject: Subject,
        found: Option<Seq>,
    },
    Empty,
    TooLarge {
        drafts: u64,
        bytes: u64,
    },
    EventTooLarge {
        bytes: u64,
    },
    NoStoredForm(String),
    Integrity(IntegrityFault),
    NewerFormat {
        needed: u32,
        ours: u32,
    },
    Io(WireIo),
    Poisoned(Option<WireIo>),
    Store(String),
    HostLost,
    Busy {
        holder: Option<String>,
    },
}

impl From<AppendError> for WireAppendError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Conflict { subject, found } => Self::Conflict { subject, found },
            AppendError::Empty => Self::Empty,
            AppendError::TooLarge { drafts, bytes } => Self::TooLarge {
                drafts: wide(drafts),
                bytes: wide(bytes),
            },
            AppendError::Encode(EncodeError::TooLarge { bytes }) => {
                Self::EventTooLarge { bytes: wide(bytes) }
            }
            AppendError::Encode(EncodeError::Json(cause)) => Self::NoStoredForm(text(&cause)),
            AppendError::Integrity(fault) => Self::Integrity((*fault).clone()),
            AppendError::NewerFormat { needed, ours } => Self::NewerFormat { needed, ours },
            AppendError::Io(cause) => Self::Io((&*cause).into()),
            AppendError::Poisoned(cause) => Self::Poisoned(cause.as_deref().map(Into::into)),
            AppendError::Store(cause) => Self::Store(text(&*cause)),
            AppendError::HostLost => Self::HostLost,
            AppendError::Busy { holder } => Self::Busy { holder },
        }
    }
}

impl From<WireAppendError> for AppendError {
    fn from(error: WireAppendError) -> Self {
        match error {
            WireAppendError::Conflict { subject, found } => Self::Conflict { subject, found },
            WireAppendError::Empty => Self::Empty,
            WireAppendError::TooLarge { drafts, bytes } => Self::TooLarge {
                drafts: narrow(drafts),
                bytes: narrow(bytes),
            },
            WireAppendError::EventTooLarge { bytes } => Self::Encode(EncodeError::TooLarge {
                bytes: narrow(bytes),
            }),
            WireAppendError::NoStoredForm(cause) => {
                Self::Encode(EncodeError::Json(serde::de::Error::custom(cause)))
            }
            WireAppendError::Integrity(fault) => Self::Integrity(Arc::new(fault)),
            WireAppendError::NewerFormat { needed, ours } => Self::NewerFormat { needed, ours },
            WireAppendError::Io(cause) => Self::Io(cause.into()),
            WireAppendError::Poisoned(cause) => Self::Poisoned(cause.map(Into::into)),
            WireAppendError::Store(cause) => Self::Store(Arc::new(Far(cause))),
            WireAppendError::HostLost => Self::HostLost,
            WireAppendError::Busy { holder } => Self::Busy { holder },
        }
    }
}

/// [`ReadError`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WireReadError {
    Io(WireIo),
    Store(String),
    Integrity(IntegrityFault),
    HostLost,
    Busy,
}

impl From<ReadError> for WireReadError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(cause) => Self::Io((&*cause).into()),
            ReadError::Store(cause) => Self::Store(text(&*cause)),
            ReadError::Integrity(fault) => Self::Integrity((*fault).clone()),
            ReadError::HostLost => Self::HostLost,
            ReadError::Busy => Self::Busy,
        }
    }
}

impl From<WireReadError> for ReadError {
    fn from(error: WireReadError) -> Self {
        match error {
            WireReadError::Io(cause) => Self::Io(cause.into()),
            WireReadError::Store(cause) => Self::Store(Arc::new(Far(cause))),
            WireReadError::Integrity(fault) => Self::Integrity(Arc::new(fault)),
            WireReadError::HostLost => Self::HostLost,
            WireReadError::Busy => Self::Busy,
        }
    }
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn narrow(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
