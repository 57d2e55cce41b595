//! What somebody can do who owns the folder: change a stored byte and leave no trace in the store.
//!
//! For the demonstration and for tests only. The change goes through fjall, so that every checksum of
//! its own is right again: only the chain can tell.

use super::folder::LogFolder;
use super::store::Store;
use super::{OpenError, isolated};
use crate::event::Seq;

/// Changes one letter of a stored event; `false` if there is no such event or it has no letter.
///
/// The caller holds the log's lock, and the log is closed.
///
/// # Errors
/// If the store cannot be opened or written.
pub fn change_a_letter(folder: &LogFolder, seq: Seq) -> Result<bool, OpenError> {
    let Some(database) = folder.current()? else {
        return Ok(false);
    };
    let store = isolated::open_isolated(&database)?;
    let changed = change(&store, seq).map_err(OpenError::Store)?;
    store.sync().map_err(OpenError::Store)?;
    store.close();
    Ok(changed)
}

fn change(store: &Store, seq: Seq) -> fjall::Result<bool> {
    let Some(value) = store.events.get(seq.to_key())? else {
        return Ok(false);
    };
    let mut value = value.to_vec();
    // Behind the link and the predecessor lies the body; its last digit of the time is changed.
    let digit = value
        .windows(3)
        .position(|text| text == b"Z\",")
        .and_then(|at| at.checked_sub(1));
    let Some(byte) = digit.and_then(|at| value.get_mut(at)) else {
        return Ok(false);
    };
    *byte = if *byte == b'0' { b'1' } else { b'0' };
    store.events.insert(seq.to_key(), value)?;
    Ok(true)
}
