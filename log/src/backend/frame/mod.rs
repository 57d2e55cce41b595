//! What crosses the socket between the process that hosts the log and those attached to it.
//!
//! Each side first writes [`preamble`]: eight bytes of magic and the protocol version. Then frames, each a
//! big-endian length of four bytes and that many bytes of postcard. A length above [`FRAME_BYTES_MAX`] ends
//! the connection; below it, memory grows with what has arrived, never with what is claimed. The
//! messages are in `message`, the values in them in `wire` and `fault`.

pub(crate) mod fault;
pub(crate) mod message;
pub(crate) mod wire;

use crate::contract::BATCH_BYTES_MAX;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

/// The most bytes of one frame: the payloads of the largest batch, and what stands around them.
pub(crate) const FRAME_BYTES_MAX: usize = BATCH_BYTES_MAX + (1 << 20);
/// The most bytes of the frames that are read before the peer has shown who it is.
pub(crate) const HELLO_BYTES_MAX: usize = 64 << 10;
/// How long a peer may leave a frame half read or half written.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Changes with every change of what crosses the socket.
pub(crate) const PROTOCOL: u32 = 3;

const MAGIC: [u8; 8] = *b"missive\0";
const PREAMBLE_BYTES: usize = 12;
const LENGTH_BYTES: usize = 4;
/// How much is read or written between two looks at the clock.
const PIECE_BYTES: usize = 256 << 10;

/// Why a connection is of no more use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    /// The socket says no.
    #[error("the socket failed")]
    Io(#[from] io::Error),
    /// The peer ended in the middle.
    #[error("the connection ended in the middle of a frame")]
    Cut,
    /// Longer than a frame can be.
    #[error("a frame of {bytes} bytes is longer than {max}")]
    TooLarge {
        /// How long.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// No message that this version knows.
    #[error("a frame holds no message")]
    Malformed,
    /// Not the first bytes that missive writes.
    #[error("something other than missive answers")]
    Magic,
    /// Another version of the protocol.
    #[error("the peer speaks version {0} of the socket protocol and this one speaks {PROTOCOL}")]
    Protocol(u32),
    /// A frame does not go on.
    #[error("the peer does not read or write any more")]
    Slow,
}

/// The first bytes of each side.
pub(crate) fn preamble() -> [u8; PREAMBLE_BYTES] {
    let mut bytes = [0; PREAMBLE_BYTES];
    let (magic, protocol) = bytes.split_at_mut(MAGIC.len());
    magic.copy_from_slice(&MAGIC);
    protocol.copy_from_slice(&PROTOCOL.to_be_bytes());
    bytes
}

/// Reads the first bytes of the peer. The caller bounds the wait.
pub(crate) async fn read_preamble(reader: &mut (impl AsyncRead + Unpin)) -> Result<(), FrameError> {
    let mut magic = [0; MAGIC.len()];
    let mut protocol = [0; 4];
    read_exact(reader, &mut magic).await?;
    if magic != MAGIC {
        return Err(FrameError::Magic);
    }
    read_exact(reader, &mut protocol).await?;
    match u32::from_be_bytes(protocol) {
        PROTOCOL => Ok(()),
        other => Err(FrameError::Protocol(other)),
    }
}

async fn read_exact(
    reader: &mut (impl AsyncRead + Unpin),
    bytes: &mut [u8],
) -> Result<(), FrameError> {
    match reader.read_exact(bytes).await {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(FrameError::Cut),
        Err(error) => Err(error.into()),
    }
}

/// A message as a whole frame, length included.
pub(crate) fn encode(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut frame =
        postcard::to_extend(message, vec![0; LENGTH_BYTES]).map_err(|_| FrameError::Malformed)?;
    let bytes = frame.len().saturating_sub(LENGTH_BYTES);
    let too_large = FrameError::TooLarge {
        bytes,
        max: FRAME_BYTES_MAX,
    };
    let length = u32::try_from(bytes)
        .ok()
        .filter(|_| bytes <= FRAME_BYTES_MAX);
    let (Some(length), Some(header)) = (length, frame.first_chunk_mut::<LENGTH_BYTES>()) else {
        return Err(too_large);
    };
    *header = length.to_be_bytes();
    Ok(frame)
}

/// The message of a frame's bytes.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FrameError> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok(_) | Err(_) => Err(FrameError::Malformed),
    }
}

/// Waits for the next frame and reads its length; `None` if the peer ended between two frames.
pub(crate) async fn read_length(
    reader: &mut (impl AsyncRead + Unpin),
    max: usize,
) -> Result<Option<usize>, FrameError> {
    let mut header = [0; LENGTH_BYTES];
    let (first, rest) = header.split_at_mut(1);
    // A silent peer may stay for ever; one that has begun may not.
    if reader.read(first).await? == 0 {
        return Ok(None);
    }
    timeout(PATIENCE, read_exact(reader, rest))
        .await
        .map_err(|_| FrameError::Slow)??;
    let bytes = usize::try_from(u32::from_be_bytes(header)).unwrap_or(usize::MAX);
    if bytes > max {
        return Err(FrameError::TooLarge { bytes, max });
    }
    Ok(Some(bytes))
}

/// Reads the bytes of a frame whose length was read.
pub(crate) async fn read_body(
    reader: &mut (impl AsyncRead + Unpin),
    length: usize,
) -> Result<Vec<u8>, FrameError> {
    let mut body = Vec::new();
    while body.len() < length {
        let missing = length - body.len();
        // At most twice what has arrived, whatever was claimed.
        body.reserve(missing.min(body.len().max(PIECE_BYTES)));
        let mut piece = (&mut *reader).take(u64::try_from(missing.min(PIECE_BYTES)).unwrap_or(1));
        let read = timeout(PATIENCE, piece.read_buf(&mut body))
            .await
            .map_err(|_| FrameError::Slow)??;
        if read == 0 {
            return Err(FrameError::Cut);
        }
    }
    Ok(body)
}

/// Reads the next message; `None` if the peer ended between two frames.
pub(crate) async fn read<T: DeserializeOwned>(
    reader: &mut (impl AsyncRead + Unpin),
    max: usize,
) -> Result<Option<T>, FrameError> {
    let Some(length) = read_length(reader, max).await? else {
        return Ok(None);
    };
    decode(&read_body(reader, length).await?).map(Some)
}

/// Writes bytes to a peer that must go on reading.
pub(crate) async fn write(
    writer: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
) -> Result<(), FrameError> {
    for piece in bytes.chunks(PIECE_BYTES) {
        timeout(PATIENCE, writer.write_all(piece))
            .await
            .map_err(|_| FrameError::Slow)??;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
