//! The event log: what was written, and proof that it still is.
//!
//! This room defines facts, encodes them, chains them, stores them, follows them, verifies them and
//! exports them. It knows nothing of A2A libraries, HTTP, commands, views or terminals: the stored
//! types are its own, because the files outlive every version of every SDK.
//!
//! The path of an event: a [`Draft`] says what happened, [`Log::append`] gives it a place in a
//! [`Batch`], and from then on it is a [`Record`] (the exact stored bytes) that decodes into an
//! [`Event`].

pub mod backend;
pub mod chain;
#[cfg(test)]
mod conformance;
pub mod contract;
pub mod event;
pub mod export;
pub mod fingerprint;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod payload;
pub mod scenario;
pub mod seam;
pub mod verify;

pub use contract::{
    AppendError, Appended, Batch, Expect, Head, Log, Opened, ReadError, Record, StoredPayload,
    Subscription,
};
pub use event::{Draft, Event, EventKind, Links, Origin, Subject, Timestamp};
pub use payload::{Media, Payload, PayloadRef, Role};
pub use seam::{Clock, Ids};
