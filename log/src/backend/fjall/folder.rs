//! The files of one log on disk, and the crash-safe ways to change them.
//!
//! ```text
//! log/            of one profile
//!   lock          the flock of the hosting process; its content means nothing
//!   CURRENT       the name of the database folder
//!   db-N/         the fjall database
//!   db-N.new/     one that is being made; renamed when complete
//!   db-M/         with M < N: one that was damaged, as it was found
//!   head          the witness (see witness.rs)
//!   kept/         journals as they were before an unclean open, until it has been checked
//!   kept-N/       those of a log that was re-anchored by event N
//!   fault         what did not verify; there until `log re-anchor`
//! <state>/witness/<log>   the second copy of the witness, outside of the profile
//! ```

use super::witness::Heard;
use crate::contract::IntegrityFault;
use crate::event::Seq;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where a log lies, and where its second witness lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFolder {
    root: PathBuf,
    witnesses: PathBuf,
    /// What is made from the log, elsewhere.
    made: Option<PathBuf>,
}

/// A file name that no journal of ours has is not touched; neither is a larger number of journals.
const JOURNALS_MAX: usize = 64;

/// The most bytes of journals that are held in memory where the disk takes no copy; the writer keeps
/// them shorter than that.
const HELD_BYTES_MAX: u64 = 192 << 20;

/// Where the journals are kept as they were before an unclean open.
pub(super) enum Kept {
    /// In the folder for them, or there was no need.
    OnDisk,
    /// Here, by name, because the disk was full.
    InMemory(Vec<(OsString, Vec<u8>)>),
}

impl LogFolder {
    /// The folder `log/` of a profile, and the folder of the witnesses outside of it.
    pub fn new(root: impl Into<PathBuf>, witnesses: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            witnesses: witnesses.into(),
            made: None,
        }
    }

    /// The same, with a folder that holds something only once there is a log: where no witness knows this place,
    /// since all of it was moved, that shows that one was here.
    #[must_use]
    pub fn with_made(mut self, folder: impl Into<PathBuf>) -> Self {
        self.made = Some(folder.into());
        self
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether a log is here. Creates nothing.
    pub fn is_begun(&self) -> io::Result<bool> {
        Ok(self.current()?.is_some())
    }

    /// Whether a log was here that is gone: a witness of it saw its head, or what was made from it is there.
    /// Creates nothing. Ask before [`is_begun`](Self::is_begun) again: another process may just have begun it.
    pub fn lost(&self) -> io::Result<Option<IntegrityFault>> {
        let witnessed = Heard::of(self, None)?.newest().map(|heard| heard.head);
        let lost = witnessed.is_some() || self.has_made()?;
        Ok(lost.then_some(IntegrityFault::Gone { witnessed }))
    }

    fn has_made(&self) -> io::Result<bool> {
        let Some(made) = &self.made else {
            return Ok(false);
        };
        match fs::read_dir(made) {
            Ok(mut entries) => Ok(entries.next().is_some()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The folder of the second witnesses.
    pub(super) fn witnesses(&self) -> &Path {
        &self.witnesses
    }

    pub(super) fn head(&self) -> PathBuf {
        self.root.join("head")
    }

    pub(super) fn fault(&self) -> PathBuf {
        self.root.join("fault")
    }

    /// Removes the note of a fault that is none any more.
    pub(super) fn forget_fault(&self) -> io::Result<()> {
        or_absent(fs::remove_file(self.fault()))
    }

    /// The journals that were put aside before an unclean open.
    pub fn kept(&self) -> PathBuf {
        self.root.join("kept")
    }

    /// Makes both folders, for their owner only.
    pub(super) fn create(&self) -> io::Result<()> {
        private_folder(&self.root)?;
        private_folder(&self.witnesses)
    }

    /// The database in use: the one that `CURRENT` names, else the only one that is there.
    ///
    /// `CURRENT` is written after the rename that completes a database, so a crash between the two
    /// leaves a complete one without a name.
    pub(super) fn current(&self) -> io::Result<Option<PathBuf>> {
        let named = match read_bounded(&self.root.join("CURRENT"), 64)? {
            Some(bytes) => String::from_utf8(bytes)
                .ok()
                .map(|name| name.trim_end().to_owned()),
            None => None,
        };
        if let Some(name) = named.filter(|name| is_database_name(name))
            && self.root.join(&name).is_dir()
        {
            return Ok(Some(self.root.join(name)));
        }
        let mut found = Vec::new();
        match fs::read_dir(&self.root) {
            Ok(entries) => {
                for entry in entries {
                    let entry = entry?;
                    if entry.file_name().to_str().is_some_and(is_database_name) {
                        found.push(entry.path());
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        match found.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(only.clone())),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "several databases and no file CURRENT that names one of them",
            )),
        }
    }

    /// A place to make a database in; what an earlier attempt left there is removed.
    pub(super) fn begin_database(&self) -> io::Result<PathBuf> {
        let path = self.root.join("db-1.new");
        remove_folder(&path)?;
        Ok(path)
    }

    /// A place beside for the successor of a database. What an earlier attempt left is removed, also one
    /// that was complete and died before `CURRENT` named it.
    pub(super) fn next_database(&self, database: &Path) -> io::Result<PathBuf> {
        let name = database.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_prefix("db-")?.parse::<u32>().ok());
        let next = format!("db-{}", number.unwrap_or(0).saturating_add(1));
        remove_folder(&self.root.join(&next))?;
        let path = self.root.join(next + ".new");
        remove_folder(&path)?;
        Ok(path)
    }

    /// Gives a complete database its name.
    pub(super) fn finish_database(&self, made: &Path) -> io::Result<PathBuf> {
        let path = made.with_extension("");
        fs::rename(made, &path)?;
        sync_folder(&self.root)?;
        if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
            replace_file(&self.root.join("CURRENT"), format!("{name}\n").as_bytes())?;
        }
        Ok(path)
    }

    /// Puts the journals aside, unless an earlier open that was not finished has done so: its copy is
    /// the older evidence. On a full disk the copy is held in memory, so that reading goes on.
    pub(super) fn keep_journals(&self, database: &Path) -> io::Result<Kept> {
        if self.kept().is_dir() {
            return Ok(Kept::OnDisk);
        }
        let journals = journals(database)?;
        let copied = self.keep(|fresh| {
            journals.iter().try_for_each(|journal| {
                let name = journal.file_name().unwrap_or_default();
                fs::copy(journal, fresh.join(name)).map(|_| ())
            })
        });
        let Err(error) = copied else {
            return Ok(Kept::OnDisk);
        };
        let mut bytes = 0;
        for journal in &journals {
            bytes += fs::metadata(journal)?.len();
        }
        let is_full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        if !is_full.contains(&error.kind()) || bytes > HELD_BYTES_MAX {
            return Err(error);
        }
        tracing::warn!("the disk is full: the journals are held in memory until they are checked");
        let read = |journal: &PathBuf| {
            let name = journal.file_name().unwrap_or_default().to_owned();
            Ok((name, fs::read(journal)?))
        };
        let held: io::Result<Vec<_>> = journals.iter().map(read).collect();
        Ok(Kept::InMemory(held?))
    }

    /// Fills the folder of kept journals, all of it or nothing.
    fn keep(&self, fill: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        let fresh = self.root.join("kept.new");
        remove_folder(&fresh)?;
        let filled = private_folder(&fresh).and_then(|()| fill(&fresh));
        if filled.is_err() {
            // Half a copy is no evidence, and takes room that is needed.
            remove_folder(&fresh)?;
        }
        filled?;
        fs::rename(&fresh, self.kept())
    }

    /// Writes down what is still held in memory only.
    pub(super) fn save_journals(&self, kept: &Kept) -> io::Result<()> {
        let Kept::InMemory(journals) = kept else {
            return Ok(());
        };
        self.keep(|fresh| {
            let mut journals = journals.iter();
            journals.try_for_each(|(name, bytes)| fs::write(fresh.join(name), bytes))
        })
    }

    /// Puts that copy into the damaged database that it belongs to: what comes later has journals of its own.
    pub(super) fn leave_kept_journals_with(&self, damaged: &Path) -> io::Result<()> {
        self.move_kept_journals(&damaged.join("kept"))
    }

    /// Gives that copy a name of its own for good, after the re-anchoring at this place.
    pub(super) fn lay_kept_journals_aside(&self, seq: Seq) -> io::Result<()> {
        self.move_kept_journals(&self.root.join(format!("kept-{seq}")))
    }

    fn move_kept_journals(&self, place: &Path) -> io::Result<()> {
        remove_folder(place)?;
        or_absent(fs::rename(self.kept(), place))
    }

    /// Drops that copy, when the open has been checked.
    pub(super) fn drop_kept_journals(&self) -> io::Result<()> {
        remove_folder(&self.kept())
    }
}

fn is_database_name(name: &str) -> bool {
    name.strip_prefix("db-")
        .is_some_and(|n| !n.is_empty() && n.len() < 10 && n.bytes().all(|b| b.is_ascii_digit()))
}

/// The journals of a database, by name.
pub(super) fn journals(database: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(database)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jnl") {
            found.push(path);
        }
    }
    if found.len() > JOURNALS_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{} journals, more than {JOURNALS_MAX}", found.len()),
        ));
    }
    found.sort();
    Ok(found)
}

/// Makes a folder and its parents for their owner only, whatever the umask is.
pub(super) fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

/// Removes a folder that need not be there.
pub(super) fn remove_folder(path: &Path) -> io::Result<()> {
    or_absent(fs::remove_dir_all(path))
}

/// What was asked of something that need not be there.
fn or_absent(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// A file for its owner only.
pub(super) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    options
}

/// Replaces a small file: all of the old or all of the new.
pub(super) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file = private_file().truncate(true).open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Reads a small file; `None` if it is not there.
pub(super) fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
