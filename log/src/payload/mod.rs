//! Everything personal or free: kept beside the events, committed to by salted digests, and erasable.
//!
//! A [`Payload`] has one constructor, the redactor (`redact.rs`). No digest and no length of bytes
//! that redaction removed is stored anywhere.

pub mod redact;
pub mod row;

use crate::chain::{self, Commitment, Salt};
use crate::event::Seq;
use crate::event::facts::stored_enum;
use serde::{Deserialize, Serialize};
use std::fmt;

stored_enum!(
    /// What kind of bytes a payload holds, coarsely; the exact media type is in the payload's row.
    Media {
        /// JSON as received or as sent.
        Json = "json",
        /// Text in UTF-8.
        Text = "text",
        /// HTTP header lines, `name: value`, one a line.
        Headers = "headers",
        /// Frames of an event stream.
        EventStream = "event_stream",
        /// Anything else.
        Bytes = "bytes",
    }
);

stored_enum!(
    /// What a payload is to its event.
    Role {
        /// The body that was sent.
        Request = "request",
        /// The header lines that were sent.
        RequestHeaders = "request_headers",
        /// The body that came back.
        Response = "response",
        /// The header lines that came back.
        ResponseHeaders = "response_headers",
        /// A task as received.
        Task = "task",
        /// A person's note.
        Note = "note",
        /// A person's metadata.
        Metadata = "metadata",
        /// Why somebody did something.
        Reason = "reason",
        /// The text of an error.
        Error = "error",
        /// The user and host names of an actor.
        Actor = "actor",
        /// The full URLs and names of what was sent from this machine.
        Sources = "sources",
        /// The filter of an export.
        Filter = "filter",
        /// One frame of an event stream: its data.
        Frame = "frame",
        /// The body of a delivery.
        Delivery = "delivery",
        /// A person's summary of a context.
        Summary = "summary",
        /// The address and path of a receiver.
        Address = "address",
        /// The names of files that were written.
        Files = "files",
        /// A public key.
        Key = "key",
        /// A command that was run, as it was given.
        Command = "command",
        /// What a reduction came to.
        Result = "result",
    }
);

/// Bytes that are about to be stored: redacted, salted and committed to.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    role: Role,
    media: Media,
    redacted: u32,
    salt: Salt,
    commitment: Commitment,
    about: About,
    bytes: Vec<u8>,
}

/// What the row says about the bytes, outside of the commitment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The exact media type.
    pub media_type: Option<String>,
    /// The name of the file that the bytes came from.
    pub name: Option<String>,
}

impl Payload {
    /// Only the redactor calls this, and what rebuilds a payload that a redactor of another process made.
    fn new(
        role: Role,
        media: Media,
        redacted: u32,
        salt: Salt,
        about: About,
        bytes: Vec<u8>,
    ) -> Self {
        let commitment = chain::commit(&salt, &bytes);
        Self {
            role,
            media,
            redacted,
            salt,
            commitment,
            about,
            bytes,
        }
    }

    /// What it is to its event.
    pub fn role(&self) -> Role {
        self.role
    }

    /// What kind of bytes it holds.
    pub fn media(&self) -> Media {
        self.media
    }

    /// How many places were replaced; 0 means that these are the wire bytes exactly.
    pub fn redacted(&self) -> u32 {
        self.redacted
    }

    /// The commitment that stands in the body.
    pub fn commitment(&self) -> Commitment {
        self.commitment
    }

    /// The bytes as they are stored.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The salt in front of them.
    pub(crate) fn salt(&self) -> &Salt {
        &self.salt
    }

    /// What the row says about them.
    pub(crate) fn about(&self) -> &About {
        &self.about
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Payload({}, {} bytes, {})",
            self.role,
            self.bytes.len(),
            self.commitment
        )
    }
}

/// A payload of an event that has a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadRef {
    /// Whose payload.
    pub seq: Seq,
    /// The how manieth, from 0.
    pub index: u16,
    /// What it is to the event.
    pub role: Role,
    /// What kind of bytes it holds.
    pub media: Media,
    /// What the event committed to.
    pub commitment: Commitment,
    /// How many places were replaced.
    pub redacted: u32,
}

impl PayloadRef {
    /// The key of its row.
    pub fn to_key(self) -> [u8; 10] {
        key(self.seq, self.index)
    }
}

/// The key of a payload's row: be64 place, be16 index.
pub(crate) fn key(seq: Seq, index: u16) -> [u8; 10] {
    let mut key = [0; 10];
    let (place, rest) = key.split_at_mut(8);
    place.copy_from_slice(&seq.to_key());
    rest.copy_from_slice(&index.to_be_bytes());
    key
}

/// Reads such a key.
pub(crate) fn place(key: &[u8]) -> Option<(Seq, u16)> {
    let (seq, index) = key.split_first_chunk::<8>()?;
    Some((
        Seq(u64::from_be_bytes(*seq)),
        u16::from_be_bytes(index.try_into().ok()?),
    ))
}
