//! The witness: what the log's head was, kept outside of fjall.
//!
//! A damaged fjall journal can open without an error and silently shorter. So the head is written to a
//! file of its own after each sync and before the acknowledgement, and to a second one outside of the
//! profile. Neither is synced: after the death of the process both are there, and after a loss of power
//! they may be older than the log, never newer.
//!
//! Each file has two slots that are written in turn, so that a torn write leaves the other one:
//!
//! ```text
//! "MSVHEAD1" ‖ be64 generation ‖ log (32) ‖ be64 seq ‖ link (32) ‖ be64 flushed ‖ state (1) ‖
//! journals (32) ‖ place (16) ‖ zeros to 192 ‖ checksum of all that (32) ‖ zeros to 256
//! ```
//! `flushed` is the head at the last checkpoint: later events still lie in a journal. `state` is 1 after
//! a clean close, and then `journals` is a digest over each journal's name, length and content. `place`
//! stands for the profile's folder, so that a log which is gone altogether is missed.

use super::folder::{LogFolder, journals, private_file, private_folder, read_bounded};
use crate::chain::{Link, LogId, checksum};
use crate::contract::Head;
use crate::event::Seq;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"MSVHEAD1";
const SLOT: usize = 256;
const SUMMED: usize = 192;

/// What a witness says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Testimony {
    /// The newest acknowledged place.
    pub(super) head: Head,
    /// The head at the last checkpoint.
    pub(super) flushed: Seq,
    /// The fingerprint of the journals, after a clean close.
    pub(super) clean: Option<[u8; 32]>,
    /// Which profile it was.
    pub(super) place: [u8; 16],
    generation: u64,
}

impl Testimony {
    /// What to say of a log that has just been made.
    pub(super) fn new(folder: &LogFolder, head: Head) -> Self {
        Self {
            head,
            flushed: Seq::ZERO,
            clean: None,
            place: place_of(folder),
            generation: 0,
        }
    }

    fn encode(&self) -> [u8; SLOT] {
        let mut slot = Vec::with_capacity(SLOT);
        slot.extend_from_slice(MAGIC);
        slot.extend_from_slice(&self.generation.to_be_bytes());
        slot.extend_from_slice(&self.head.log.0);
        slot.extend_from_slice(&self.head.seq.to_key());
        slot.extend_from_slice(&self.head.link.0);
        slot.extend_from_slice(&self.flushed.to_key());
        slot.push(u8::from(self.clean.is_some()));
        slot.extend_from_slice(&self.clean.unwrap_or_default());
        slot.extend_from_slice(&self.place);
        slot.resize(SUMMED, 0);
        let sum = checksum(&[b"witness", &slot]);
        slot.extend_from_slice(&sum);
        slot.resize(SLOT, 0);
        let mut bytes = [0; SLOT];
        bytes.copy_from_slice(&slot);
        bytes
    }

    fn decode(slot: &[u8]) -> Option<Self> {
        let (summed, rest) = slot.split_first_chunk::<SUMMED>()?;
        let sum = rest.first_chunk::<32>()?;
        if checksum(&[b"witness", summed]) != *sum {
            return None;
        }
        let (magic, rest) = summed.split_first_chunk::<8>()?;
        let (generation, rest) = rest.split_first_chunk::<8>()?;
        let (log, rest) = rest.split_first_chunk::<32>()?;
        let (seq, rest) = rest.split_first_chunk::<8>()?;
        let (link, rest) = rest.split_first_chunk::<32>()?;
        let (flushed, rest) = rest.split_first_chunk::<8>()?;
        let ([state], rest) = rest.split_first_chunk::<1>()?;
        let (fingerprint, rest) = rest.split_first_chunk::<32>()?;
        let place = rest.first_chunk::<16>()?;
        (magic == MAGIC).then(|| Self {
            head: Head {
                log: LogId(*log),
                seq: Seq(u64::from_be_bytes(*seq)),
                link: Link(*link),
            },
            flushed: Seq(u64::from_be_bytes(*flushed)),
            clean: (*state == 1).then_some(*fingerprint),
            place: *place,
            generation: u64::from_be_bytes(*generation),
        })
    }
}

/// What stands for a profile's folder, whichever links lead to it.
pub(super) fn place_of(folder: &LogFolder) -> [u8; 16] {
    let root = folder.root();
    // The folder itself may be gone; the one that it lies in is there.
    let real = root.parent().and_then(|parent| parent.canonicalize().ok());
    match (real, root.file_name()) {
        (Some(parent), Some(name)) => place(&parent.join(name)),
        (Some(_) | None, _) => place(root),
    }
}

fn place(root: &Path) -> [u8; 16] {
    let sum = checksum(&[b"place", root.as_os_str().as_bytes()]);
    sum.first_chunk::<16>().copied().unwrap_or_default()
}

/// Reads the newer good slot of a witness file; `None` if there is no file or no good slot.
fn read(path: &Path) -> io::Result<Option<Testimony>> {
    let Some(bytes) = read_bounded(path, 2 * SLOT as u64)? else {
        return Ok(None);
    };
    let slots = bytes.chunks(SLOT).filter_map(Testimony::decode);
    Ok(slots.max_by_key(|testimony| testimony.generation))
}

/// Both witnesses of a log.
pub(super) struct Heard {
    /// The one inside of the profile.
    pub(super) inside: Option<Testimony>,
    /// The one outside of it.
    pub(super) outside: Option<Testimony>,
}

impl Heard {
    /// Asks both. The outside one is found by the log that the inside one names or, where that is
    /// gone, by the profile's folder.
    pub(super) fn of(folder: &LogFolder, log: Option<LogId>) -> io::Result<Self> {
        let inside = read(&folder.head())?;
        let log = log.or(inside.map(|testimony| testimony.head.log));
        let outside = match log {
            Some(log) => read(&outside_path(folder, log))?,
            None => by_place(folder)?,
        };
        Ok(Self { inside, outside })
    }

    /// The one that has seen the most.
    pub(super) fn newest(&self) -> Option<Testimony> {
        [self.inside, self.outside]
            .into_iter()
            .flatten()
            .max_by_key(|heard| heard.head.seq)
    }
}

/// The newest witness of a log that lay in this folder. There are as many as logs were ever made.
fn by_place(folder: &LogFolder) -> io::Result<Option<Testimony>> {
    let entries = match std::fs::read_dir(folder.witnesses()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // Earlier witnesses name the place as it was written, through links.
    let places = [place_of(folder), place(folder.root())];
    let mut newest: Option<Testimony> = None;
    for entry in entries {
        if let Some(heard) = read(&entry?.path())?
            && places.contains(&heard.place)
            && newest.is_none_or(|newest| newest.head.seq < heard.head.seq)
        {
            newest = Some(heard);
        }
    }
    Ok(newest)
}

fn outside_path(folder: &LogFolder, log: LogId) -> PathBuf {
    folder.witnesses().join(log.to_string())
}

/// A digest over each journal's name, length and content.
pub(super) fn fingerprint(database: &Path) -> io::Result<[u8; 32]> {
    let mut pieces = Vec::new();
    for journal in journals(database)? {
        let content = std::fs::read(&journal)?;
        let name = journal
            .file_name()
            .map(|name| name.as_bytes().to_vec())
            .unwrap_or_default();
        pieces.extend_from_slice(&checksum(&[b"name", &name]));
        pieces.extend_from_slice(&checksum(&[b"content", &content]));
    }
    Ok(checksum(&[b"journals", &pieces]))
}

/// The writing side: both files, open.
#[derive(Debug)]
pub(super) struct Witness {
    files: [File; 2],
    said: Testimony,
}

impl Witness {
    /// Opens both files and goes on from what was said last.
    pub(super) fn open(folder: &LogFolder, said: Testimony) -> io::Result<Self> {
        private_folder(folder.witnesses())?;
        let open = |path: PathBuf| private_file().truncate(false).open(path);
        let files = [
            open(folder.head())?,
            open(outside_path(folder, said.head.log))?,
        ];
        Ok(Self { files, said })
    }

    /// What was said last.
    pub(super) fn said(&self) -> &Testimony {
        &self.said
    }

    /// Says something new, unsynced.
    pub(super) fn say(&mut self, change: impl FnOnce(&mut Testimony)) -> io::Result<()> {
        change(&mut self.said);
        self.said.generation += 1;
        let slot = self.said.encode();
        let offset = (self.said.generation % 2) * SLOT as u64;
        for file in &self.files {
            file.write_all_at(&slot, offset)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(at: &Path) -> LogFolder {
        LogFolder::new(at.join("log"), at.join("witness"))
    }

    fn head(seq: u64) -> Head {
        Head {
            log: LogId([7; 32]),
            seq: Seq(seq),
            link: Link([u8::try_from(seq).unwrap(); 32]),
        }
    }

    #[test]
    fn both_witnesses_say_what_was_said_last() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = folder(temporary.path());
        folder.create().unwrap();
        let mut witness = Witness::open(&folder, Testimony::new(&folder, head(1))).unwrap();

        for seq in 2..6 {
            witness.say(|said| said.head = head(seq)).unwrap();
        }

        let heard = Heard::of(&folder, None).unwrap();
        assert_eq!(heard.inside.unwrap().head, head(5));
        assert_eq!(heard.outside, heard.inside);
    }

    #[test]
    fn a_torn_slot_leaves_the_one_before_it() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = folder(temporary.path());
        folder.create().unwrap();
        let mut witness = Witness::open(&folder, Testimony::new(&folder, head(1))).unwrap();
        witness.say(|said| said.head = head(2)).unwrap();
        witness.say(|said| said.head = head(3)).unwrap();

        let mut bytes = std::fs::read(folder.head()).unwrap();
        // Generation 2 lies in slot 0.
        bytes[60] ^= 1;
        std::fs::write(folder.head(), &bytes).unwrap();

        assert_eq!(
            Heard::of(&folder, None).unwrap().inside.unwrap().head,
            head(2)
        );
    }

    #[test]
    fn a_log_that_is_gone_is_missed_by_the_witness_outside() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = folder(temporary.path());
        folder.create().unwrap();
        let mut witness = Witness::open(&folder, Testimony::new(&folder, head(1))).unwrap();
        witness.say(|said| said.head = head(9)).unwrap();

        std::fs::remove_dir_all(folder.root()).unwrap();

        let heard = Heard::of(&folder, None).unwrap();
        assert_eq!(
            (heard.inside, heard.outside.map(|o| o.head)),
            (None, Some(head(9)))
        );
    }
}
