//! How a payload lies in the store.
//!
//! ```text
//! codec (1 byte) ‖ salt (32) ‖ be16 length of about ‖ about (JSON) ‖ bytes
//! ```
//! Codec 0 is plain; 1 (chunk manifest) and 2 (encrypted) are reserved. `about` holds the exact media
//! type and the file name, outside of the commitment.

use super::{About, Media, Payload, PayloadRef, Role};
use crate::chain::{self, Salt};

const PLAIN: u8 = 0;

/// A payload's row that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// A codec that this build does not have.
    #[error("codec {0} is not known to this version")]
    Codec(u8),
    /// Shorter than its own header says.
    #[error("the row is cut")]
    Cut,
    /// Not the bytes that the event committed to.
    #[error("the bytes are not the ones that the event committed to")]
    Commitment,
}

/// The row of a payload.
pub fn encode(payload: &Payload) -> Vec<u8> {
    // Two optional strings always have a JSON form, and names are bounded where they are made.
    let mut about = serde_json::to_vec(payload.about()).unwrap_or_default();
    let length = u16::try_from(about.len()).unwrap_or_else(|_| {
        about.clear();
        0
    });
    let mut row = Vec::with_capacity(35 + about.len() + payload.bytes().len());
    row.push(PLAIN);
    row.extend_from_slice(&payload.salt().0);
    row.extend_from_slice(&length.to_be_bytes());
    row.extend_from_slice(&about);
    row.extend_from_slice(payload.bytes());
    row
}

/// A row, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The salt.
    pub salt: Salt,
    /// What is known about the bytes.
    pub about: About,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The parts of a row, where they lie.
struct Parts<'a> {
    salt: &'a [u8; 32],
    about: &'a [u8],
    bytes: &'a [u8],
}

fn split(row: &[u8]) -> Result<Parts<'_>, RowError> {
    let (codec, rest) = row.split_first().ok_or(RowError::Cut)?;
    if *codec != PLAIN {
        return Err(RowError::Codec(*codec));
    }
    let (salt, rest) = rest.split_first_chunk::<32>().ok_or(RowError::Cut)?;
    let (length, rest) = rest.split_first_chunk::<2>().ok_or(RowError::Cut)?;
    let length = usize::from(u16::from_be_bytes(*length));
    let (about, bytes) = rest.split_at_checked(length).ok_or(RowError::Cut)?;
    Ok(Parts { salt, about, bytes })
}

/// Takes a row apart without checking what it holds.
pub fn decode(row: &[u8]) -> Result<Row, RowError> {
    let Parts { salt, about, bytes } = split(row)?;
    let about = if about.is_empty() {
        About::default()
    } else {
        serde_json::from_slice(about).map_err(|_| RowError::Cut)?
    };
    Ok(Row {
        salt: Salt(*salt),
        about,
        bytes: bytes.to_vec(),
    })
}

/// Holds a row against what the event committed to, without taking it apart.
pub fn check(row: &[u8], of: &PayloadRef) -> Result<(), RowError> {
    let Parts { salt, bytes, .. } = split(row)?;
    if chain::commit(&Salt(*salt), bytes) != of.commitment {
        return Err(RowError::Commitment);
    }
    Ok(())
}

/// Takes a row apart and holds it against what the event committed to.
pub fn open(row: &[u8], of: &PayloadRef) -> Result<Row, RowError> {
    check(row, of)?;
    decode(row)
}

/// Rebuilds a payload that the redactor of an attached process made and sent over the socket.
pub(crate) fn rebuild(
    role: Role,
    media: Media,
    redacted: u32,
    row: &[u8],
) -> Result<Payload, RowError> {
    let Row { salt, about, bytes } = decode(row)?;
    Ok(Payload::new(role, media, redacted, salt, about, bytes))
}
