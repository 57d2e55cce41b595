//! Doors for the fuzz targets in `fuzz/`, compiled for them alone (`--cfg fuzzing`).
//!
//! What crosses the socket is private to this room; the targets may throw bytes at it all the same.

use crate::backend::frame::message::{Request, ToAttached, ToHost};
use crate::backend::frame::{self, FRAME_BYTES_MAX, FrameError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// Reads bytes as both sides of the socket would: as a whole conversation and as one message.
///
/// # Panics
/// If a message changes by being written again, or a read takes more than it was given.
#[expect(clippy::expect_used, reason = "a panic is how a fuzz target reports")]
pub fn socket_frame(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime starts");
    runtime.block_on(async {
        let mut rest = bytes;
        let begun = frame::read_preamble(&mut rest).await;
        if begun.is_err() {
            rest = bytes;
        }
        while let Ok(Some(_)) = frame::read::<ToHost>(&mut rest, FRAME_BYTES_MAX).await {}
    });

    same_again::<ToHost>(bytes);
    same_again::<ToAttached>(bytes);
    if let Ok(ToHost::Ask {
        request: Request::Append(batch),
        ..
    }) = frame::decode(bytes)
    {
        drop(batch.into_batch());
    }
}

fn same_again<T: Serialize + DeserializeOwned + Debug>(bytes: &[u8]) {
    let Ok(message) = frame::decode::<T>(bytes) else {
        return;
    };
    let written: Result<Vec<u8>, FrameError> = frame::encode(&message);
    let again = written
        .ok()
        .and_then(|frame| frame::decode::<T>(frame.get(4..).unwrap_or_default()).ok());
    assert_eq!(
        again.map(|again| format!("{again:?}")),
        Some(format!("{message:?}")),
        "a message changes by being written again"
    );
}
