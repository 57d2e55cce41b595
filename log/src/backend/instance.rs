//! Which runs of the program are alive: each holds a lock on `run/<instance>` for as long as it lives.
//!
//! An intent names the run that is about to carry it out. It is in doubt only when that run's lock is
//! free, so nobody takes over what is still under way. The kernel frees the lock at the end of the
//! process, whatever ended it.

use crate::event::InstanceId;
use crate::seam::Ids;
use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// This run of the program.
#[derive(Debug)]
pub struct Instance {
    id: InstanceId,
    path: PathBuf,
    _lock: File,
}

impl Instance {
    /// Takes an identifier and its lock.
    ///
    /// # Errors
    /// If the file cannot be made or locked.
    pub fn begin(run: &Path, ids: &Ids) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(run)?;
        let id = ids.instance();
        let path = run.join(id.to_string());
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self {
            id,
            path,
            _lock: lock,
        })
    }

    /// The identifier that its intents name.
    pub fn id(&self) -> InstanceId {
        self.id
    }

    /// Whether that run of the program is alive.
    pub fn is_alive(run: &Path, id: InstanceId) -> bool {
        let Ok(file) = File::open(run.join(id.to_string())) else {
            return false;
        };
        flock(&file, FlockOperation::NonBlockingLockShared).is_err()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // What is left behind after a kill is an unlocked file, which means the same as none.
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "the mark of this run could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_alive_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let ids = Ids::from_system();

        let instance = Instance::begin(folder.path(), &ids).unwrap();
        let id = instance.id();
        let alive = Instance::is_alive(folder.path(), id);
        drop(instance);

        assert!(alive);
        assert!(!Instance::is_alive(folder.path(), id));
        assert!(!Instance::is_alive(folder.path(), ids.instance()));
    }
}
