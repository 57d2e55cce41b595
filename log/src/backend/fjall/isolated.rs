//! Opening an existing store: what fjall needs must be there, and what it does on damage stays apart.

use super::folder::private_file;
use super::store::Store;
use super::{OpenError, whole};
use crate::contract::IntegrityFault;
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

thread_local! {
    static OPENING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is opening a store: a panic is damage then, and no fault of ours. For panic hooks.
pub fn opens_a_store() -> bool {
    OPENING.get()
}

/// Opens a store; some damage makes fjall panic instead of reporting it, and that is caught.
pub(super) fn open_isolated(database: &Path) -> Result<Store, OpenError> {
    let path = database.to_owned();
    if path.is_dir() {
        if let Some(what) = whole::lacking(&path)? {
            return Err(OpenError::Integrity(Arc::new(IntegrityFault::Store {
                what,
            })));
        }
        // fjall wants the file, whose existence means nothing: the log's own lock is elsewhere.
        private_file().open(path.join("lock"))?;
    }
    OPENING.set(true);
    // Nothing of what a panic leaves behind is looked at again.
    let opened = catch_unwind(AssertUnwindSafe(|| Store::open(&path)));
    OPENING.set(false);
    match opened {
        Ok(opened) => opened.map_err(refused),
        Err(_panic) => Err(OpenError::Integrity(Arc::new(IntegrityFault::Store {
            what: "its journal cannot be read".to_owned(),
        }))),
    }
}

/// fjall does not open: an error of the file system, another process, or damage that it noticed itself.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "fjall may report damage in new words"
)]
pub(super) fn refused(error: fjall::Error) -> OpenError {
    if matches!(error, fjall::Error::Locked) {
        return OpenError::Locked;
    }
    let error = match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => error,
        other => return damaged_store(&other),
    };
    // What a cut or garbled file gives while it is being parsed, and what a missing one gives in a
    // database that was complete.
    let damage = [
        io::ErrorKind::UnexpectedEof,
        io::ErrorKind::InvalidData,
        io::ErrorKind::NotFound,
        io::ErrorKind::AlreadyExists,
    ];
    if damage.contains(&error.kind()) {
        return damaged_store(&error);
    }
    OpenError::Io(error)
}

pub(super) fn damaged_store(what: &dyn std::error::Error) -> OpenError {
    OpenError::Integrity(Arc::new(IntegrityFault::Store {
        what: what.to_string(),
    }))
}
