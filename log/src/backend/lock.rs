//! Who may open the log: one process, shown by a lock on `lock` in the log's folder.
//!
//! The lock is the kernel's (`flock`), so it ends with the process whatever ends it. The file is never
//! deleted and what stands in it is never trusted: it only helps to name the holder. The folder is never
//! swapped either, so the lock covers whatever database lies below it.
//!
//! Refused are file systems on which such a lock does not hold, or not for every machine that sees the
//! same files: network and FUSE file systems.

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NAME: &str = "lock";
/// Why a process that held the lock writes no more.
pub const LOST: &str = "the lock file was removed or replaced while this process held it";
/// More than a pid and the name of a program take.
const NOTE_BYTES_MAX: u64 = 256;
/// The note is filled up with spaces to this length, so that it covers any that stood there before.
const NOTE_CHARS: usize = 63;
/// How often a lock file may be exchanged under our hands before we give up on it.
const EXCHANGES_MAX: u32 = 8;

/// File systems on which a lock says nothing about other machines, by their `statfs` magic.
const REFUSED: [(u32, &str); 20] = [
    (0x0000_6969, "NFS"),
    (0x0000_517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9p"),
    (0x00C3_6400, "Ceph"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0000_564C, "NCP"),
    (0x0116_1970, "GFS2"),
    (0x7461_636F, "OCFS2"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x2003_0528, "OrangeFS"),
    (0x786F_4256, "vboxsf"),
    (0xBACB_ACBC, "vmhgfs"),
    (0x7C7C_6673, "prl_fs"),
];

/// Why the lock was not taken.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else holds it.
    #[error("the log is held by another process{}", holder.as_deref().map(|h| format!(", perhaps {h}")).unwrap_or_default())]
    Held {
        /// What the lock file says about the holder; not to be trusted.
        holder: Option<String>,
    },
    /// The folder lies where locks cannot be relied on.
    #[error("{} is on a {kind} file system, where a log cannot be kept safely", folder.display())]
    FileSystem {
        /// The log's folder.
        folder: PathBuf,
        /// The type of the file system.
        kind: &'static str,
    },
    /// The disk, or the file system, said no.
    #[error("the lock of the log could not be taken")]
    Io(#[source] Arc<io::Error>),
}

impl From<Errno> for LockError {
    fn from(errno: Errno) -> Self {
        Self::Io(Arc::new(errno.into()))
    }
}

impl From<io::Error> for LockError {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

/// The lock on a log; dropping it gives it back.
#[derive(Debug)]
pub struct LockGuard {
    file: File,
    path: PathBuf,
}

impl LockGuard {
    /// Tries to take the lock of the log in this folder, which must exist; does not wait.
    pub fn try_take(folder: &Path) -> Result<Self, LockError> {
        check_file_system(folder)?;
        let path = folder.join(NAME);
        for _ in 0..EXCHANGES_MAX {
            let guard = Self {
                file: open(&path)?,
                path: path.clone(),
            };
            match rustix::fs::flock(&guard.file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => {
                    let holder = guard.note();
                    return Err(LockError::Held { holder });
                }
                Err(errno) => return Err(errno.into()),
            }
            // Between opening and locking, somebody may have exchanged the file: then this lock is on
            // a file that nobody else will ever look at.
            if guard.still_held() {
                // A full disk takes no note, and the lock holds without one.
                if let Err(error) = guard.sign() {
                    tracing::debug!(%error, "the holder of the lock could not be noted");
                }
                return Ok(guard);
            }
        }
        Err(io::Error::other("the lock file does not stay in its place").into())
    }

    /// Whether the held file is still the one at its path. If not, another process may believe that it
    /// holds the log too, so nothing more may be written.
    pub fn still_held(&self) -> bool {
        let held = rustix::fs::fstat(&self.file);
        let named = rustix::fs::lstat(&self.path);
        match (held, named) {
            (Ok(held), Ok(named)) => held.st_ino == named.st_ino && held.st_dev == named.st_dev,
            _ => false,
        }
    }

    /// Writes over what the last holder wrote. Cutting the file first would cost a millisecond, as much as
    /// everything else that taking the lock takes.
    fn sign(&self) -> io::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let note = format!("process {} (missive {version})", std::process::id());
        let line = format!("{note:<NOTE_CHARS$}\n");
        self.file.write_all_at(line.as_bytes(), 0)
    }

    /// The first line of the file, as far as it can be shown to a person.
    fn note(&self) -> Option<String> {
        let mut text = Vec::new();
        (&self.file)
            .take(NOTE_BYTES_MAX)
            .read_to_end(&mut text)
            .ok()?;
        let text = String::from_utf8_lossy(&text);
        let line: String = text
            .lines()
            .next()?
            .chars()
            .filter(|c| !c.is_control())
            .collect();
        let line = line.trim_end();
        (!line.is_empty()).then(|| line.to_owned())
    }
}

fn open(path: &Path) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

/// Whether a log may lie in this folder at all.
fn check_file_system(folder: &Path) -> Result<(), LockError> {
    let found = rustix::fs::statfs(folder)?.f_type & 0xFFFF_FFFF;
    let refused = REFUSED
        .iter()
        .find(|(magic, _)| u32::try_from(found).is_ok_and(|found| found == *magic));
    refused.map_or(Ok(()), |(_, kind)| {
        Err(LockError::FileSystem {
            folder: folder.to_owned(),
            kind,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_second_taker_is_refused_and_told_who_holds_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let _held = LockGuard::try_take(folder.path()).unwrap();

        let refused = LockGuard::try_take(folder.path()).unwrap_err();

        let own = format!(
            "process {} (missive {})",
            std::process::id(),
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(
            refused.to_string(),
            format!("the log is held by another process, perhaps {own}")
        );
    }

    #[test]
    fn the_name_of_a_holder_covers_that_of_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let before = format!("process 4194304 (missive {})\n", "9".repeat(30));
        std::fs::write(folder.path().join(NAME), before).unwrap();

        let _held = LockGuard::try_take(folder.path()).unwrap();

        let note = std::fs::read_to_string(folder.path().join(NAME)).unwrap();
        let own = format!(
            "process {} (missive {})",
            std::process::id(),
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(note, format!("{own:<NOTE_CHARS$}\n"));
    }

    #[test]
    fn a_lock_that_was_given_back_can_be_taken_and_its_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        drop(LockGuard::try_take(folder.path()).unwrap());
        let mode = std::fs::metadata(folder.path().join(NAME))
            .unwrap()
            .permissions()
            .mode();

        let again = LockGuard::try_take(folder.path());

        assert_eq!(mode & 0o777, 0o600);
        assert!(again.is_ok());
    }

    #[test]
    fn a_lock_whose_file_was_removed_or_exchanged_is_no_longer_held() {
        let folder = tempfile::tempdir().unwrap();
        let guard = LockGuard::try_take(folder.path()).unwrap();
        assert!(guard.still_held());

        std::fs::remove_file(folder.path().join(NAME)).unwrap();
        assert!(!guard.still_held());
        let other = LockGuard::try_take(folder.path()).unwrap();

        assert!(!guard.still_held());
        assert!(other.still_held());
    }

    #[test]
    fn a_lock_file_that_is_a_link_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("elsewhere"), "").unwrap();
        std::os::unix::fs::symlink("elsewhere", folder.path().join(NAME)).unwrap();

        assert!(matches!(
            LockGuard::try_take(folder.path()),
            Err(LockError::Io(_))
        ));
    }

    #[test]
    fn what_a_stranger_wrote_into_the_lock_file_is_shown_without_control_characters() {
        let folder = tempfile::tempdir().unwrap();
        let _held = LockGuard::try_take(folder.path()).unwrap();
        std::fs::write(folder.path().join(NAME), b"\x1b[2Jpid 7\xff\nmore").unwrap();

        let refused = LockGuard::try_take(folder.path()).unwrap_err();

        assert_eq!(
            refused.to_string(),
            "the log is held by another process, perhaps [2Jpid 7\u{fffd}"
        );
    }
}
