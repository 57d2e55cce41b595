//! What can still be read of a log whose store does not open any more.
//!
//! fjall opens a journal that was cut off, and refuses one in which a byte is wrong. So the longest
//! beginning of the journals that opens is looked for, in a copy beside the database: everything before
//! the damage is readable again. The damaged database stays where it is, and the journals are kept as
//! well; what the beginning lacks is a fault that the witness names, and writes refuse until a
//! re-anchoring. Where no beginning opens, the damage is elsewhere and the log stays closed.

use super::folder::{LogFolder, journals, private_folder, remove_folder};
use super::{OpenError, isolated, store::Store};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The database made of the longest beginning that opens, under a name that is not its last one.
pub(super) fn longest_beginning(folder: &LogFolder, damaged: &Path) -> io::Result<Option<PathBuf>> {
    let scratch = folder.next_database(damaged)?;
    let journals = Journals::of(folder, damaged)?;
    tracing::warn!("the log's journal is damaged: looking for what is whole before the damage");
    // Everything before `opens` is known to open, everything from `fails` on is known not to.
    let (mut opens, mut fails) = (0, journals.ends.len());
    while opens < fails {
        let middle = opens + (fails - opens) / 2;
        let cut = journals.ends.get(middle).copied().unwrap_or_default();
        if attempt(damaged, &scratch, &journals, cut)? {
            opens = middle + 1;
        } else {
            fails = middle;
        }
    }
    let longest = opens
        .checked_sub(1)
        .and_then(|last| journals.ends.get(last));
    match longest {
        Some(cut) if attempt(damaged, &scratch, &journals, *cut)? => Ok(Some(scratch)),
        Some(_) | None => {
            remove_folder(&scratch)?;
            Ok(None)
        }
    }
}

/// Whether the database opens with so many bytes of its journals.
fn attempt(damaged: &Path, scratch: &Path, journals: &Journals, cut: u64) -> io::Result<bool> {
    remove_folder(scratch)?;
    copy(damaged, scratch)?;
    journals.write(scratch, cut)?;
    match isolated::open_isolated(scratch) {
        Ok(store) => {
            Store::close(store);
            Ok(true)
        }
        Err(OpenError::Integrity(_)) => Ok(false),
        // A shortage is no damage: it must not make the beginning shorter.
        Err(OpenError::Io(error)) => Err(error),
        Err(other) => Err(io::Error::other(other)),
    }
}

/// Copies a database without its journals. Tables are never changed in place and need no copy.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    private_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&source, &target)?;
        } else if from.ends_with("tables") {
            fs::hard_link(&source, &target)?;
        } else if source
            .extension()
            .is_none_or(|extension| extension != "jnl")
        {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

/// What fjall writes behind each batch in a journal.
const TRAILER: &[u8] = b"FJL\x03";

/// The most bytes that are looked through; the writer keeps the journals shorter than that.
const BYTES_MAX: u64 = 256 << 20;

/// The journals as they were before the open that failed.
struct Journals {
    files: Vec<(PathBuf, u64)>,
    /// Where a batch may end, counted through all of them: there is nothing else to cut at. That it
    /// does end there is what opening shows.
    ends: Vec<u64>,
}

impl Journals {
    fn of(folder: &LogFolder, damaged: &Path) -> io::Result<Self> {
        let kept = folder.kept();
        let from = if kept.is_dir() { &kept } else { damaged };
        let (mut files, mut ends, mut before) = (Vec::new(), Vec::new(), 0);
        for journal in journals(from)? {
            let mut bytes = Vec::new();
            let left = BYTES_MAX.saturating_sub(before);
            fs::File::open(&journal)?
                .take(left)
                .read_to_end(&mut bytes)?;
            let trailers = memchr::memmem::find_iter(&bytes, TRAILER);
            let after = trailers.map(|at| before + length(at + TRAILER.len()));
            ends.extend(after);
            before += length(bytes.len());
            files.push((journal, length(bytes.len())));
        }
        Ok(Self { files, ends })
    }

    /// Writes the first bytes of all of them; those behind the cut are there and empty.
    fn write(&self, database: &Path, cut: u64) -> io::Result<()> {
        let mut left = cut;
        for (journal, size) in &self.files {
            let bytes = left.min(*size);
            left -= bytes;
            let name = journal.file_name().unwrap_or_default();
            let mut target = fs::File::create(database.join(name))?;
            io::copy(&mut fs::File::open(journal)?.take(bytes), &mut target)?;
        }
        Ok(())
    }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
