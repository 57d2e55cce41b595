//! The fjall database of a log: five keyspaces, and how they are opened, read and closed.
//!
//! | keyspace | key | value |
//! | --- | --- | --- |
//! | `events` | be64 place | link (32) ‖ be64 prev ‖ body |
//! | `payloads` | be64 place ‖ be16 index | see `payload/row.rs` |
//! | `threads` | `t:` context or `s:` subject | be64 newest place |
//! | `batches` | `i` ‖ batch id | be64 ordinal ‖ be64 first ‖ be64 last |
//! | `batches` | `o` ‖ be64 ordinal | batch id |
//! | `meta` | `format` | be32: the oldest format that may write |
//! | `meta` | `r` ‖ be64 place | a re-anchoring: be64 found ‖ be64 witnessed ‖ link (32) |

use super::folder::journals;
use crate::chain::Link;
use crate::contract::{READ_BYTES_MAX, Record, StoredPayload};
use crate::event::Seq;
use crate::payload;
use fjall::config::{BlockSizePolicy, CompressionPolicy};
use fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode,
};
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
/// How long a checkpoint waits for its flushes, in steps of a millisecond: on a full disk they never end, and fjall
/// does not always say so (C110). Where it is cut short, the next open only replays a longer journal.
const CHECKPOINT_STEPS_MAX: u32 = 4_000;

/// An open database.
pub(super) struct Store {
    db: Database,
    pub(super) events: Keyspace,
    pub(super) payloads: Keyspace,
    pub(super) threads: Keyspace,
    pub(super) batches: Keyspace,
    pub(super) meta: Keyspace,
    path: PathBuf,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({})", self.path.display())
    }
}

/// What came of reading a stored event.
#[derive(Debug)]
pub(super) enum Damage {
    /// fjall says so.
    Store(fjall::Error),
    /// The value is no record.
    Record(Seq),
}

impl From<fjall::Error> for Damage {
    fn from(error: fjall::Error) -> Self {
        Self::Store(error)
    }
}

impl Store {
    /// Opens or makes a database. Its journals are replayed, and a torn tail of them is cut off: put
    /// them aside first.
    pub(super) fn open(path: &Path) -> fjall::Result<Self> {
        let db = Database::builder(path)
            .cache_size(8 * MIB)
            // With two, one of them spins for as long as the other one compacts.
            .worker_threads(1)
            .max_journaling_size(64 * MIB)
            .manual_journal_persist(true)
            .open()?;
        // fjall's own default compresses next to nothing; larger blocks compress better.
        let options = |memtable: u64| {
            move || {
                KeyspaceCreateOptions::default()
                    .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
                    .data_block_size_policy(BlockSizePolicy::all(16 * 1_024))
                    .max_memtable_size(memtable)
                    .manual_journal_persist(true)
            }
        };
        Ok(Self {
            events: db.keyspace("events", options(16 * MIB))?,
            payloads: db.keyspace("payloads", options(16 * MIB))?,
            threads: db.keyspace("threads", options(4 * MIB))?,
            batches: db.keyspace("batches", options(4 * MIB))?,
            meta: db.keyspace("meta", options(MIB))?,
            db,
            path: path.to_owned(),
        })
    }

    /// An empty write batch that stays in user space until [`Store::sync`].
    pub(super) fn batch(&self, items: usize) -> OwnedWriteBatch {
        OwnedWriteBatch::with_capacity(self.db.clone(), items)
    }

    /// Makes everything that was committed durable.
    pub(super) fn sync(&self) -> fjall::Result<()> {
        self.db.persist(PersistMode::SyncData)
    }

    /// The stored event at a place.
    pub(super) fn record(&self, seq: Seq) -> Result<Option<Record>, Damage> {
        match self.events.get(seq.to_key())? {
            Some(value) => decode(seq, &value).map(Some),
            None => Ok(None),
        }
    }

    /// The newest stored event.
    pub(super) fn last(&self) -> Result<Option<Record>, Damage> {
        let Some(guard) = self.events.last_key_value() else {
            return Ok(None);
        };
        let (key, value) = guard.into_inner()?;
        let seq = Seq::from_key(&key).ok_or(Damage::Record(Seq::ZERO))?;
        decode(seq, &value).map(Some)
    }

    /// The stored events after one place and up to another, at most `limit`.
    pub(super) fn records(
        &self,
        after: Seq,
        through: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, Damage> {
        let mut records = Vec::new();
        if after >= through {
            return Ok(records);
        }
        for guard in self
            .events
            .range(after.next().to_key()..=through.to_key())
            .take(limit)
        {
            let (key, value) = guard.into_inner()?;
            let seq = Seq::from_key(&key).ok_or(Damage::Record(after.next()))?;
            records.push(decode(seq, &value)?);
        }
        Ok(records)
    }

    /// The payload rows after one place and index and up to another place, until enough bytes are full.
    pub(super) fn payload_rows(
        &self,
        after: (Seq, u16),
        through: Seq,
    ) -> Result<Vec<StoredPayload>, Damage> {
        let mut rows = Vec::new();
        if after.0 > through {
            return Ok(rows);
        }
        // The key after `after` is that key and one more byte: none of our keys lies between.
        let mut begin = payload::key(after.0, after.1).to_vec();
        begin.push(0);
        let end = payload::key(through, u16::MAX).to_vec();
        let mut bytes = 0;
        for guard in self.payloads.range(begin..=end) {
            let (key, value) = guard.into_inner()?;
            if bytes > 0 && bytes + value.len() > READ_BYTES_MAX {
                break;
            }
            bytes += value.len();
            let (seq, index) = payload::place(&key).ok_or(Damage::Record(after.0))?;
            rows.push(StoredPayload {
                seq,
                index,
                row: value.to_vec(),
            });
        }
        Ok(rows)
    }

    /// Moves everything from the journal into tables, closes the database and empties its journal, so
    /// that the next open has nothing to replay.
    ///
    /// The journal file stays: fjall skips the recovery of its sequence numbers where it is missing.
    pub(super) fn checkpoint(self) -> fjall::Result<()> {
        let keyspaces = [
            &self.events,
            &self.payloads,
            &self.threads,
            &self.batches,
            &self.meta,
        ];
        for keyspace in keyspaces {
            keyspace.rotate_memtable()?;
        }
        let is_settled = || keyspaces.iter().all(|k| k.sealed_memtable_count() == 0);
        for _ in 0..CHECKPOINT_STEPS_MAX {
            if is_settled() {
                break;
            }
            // Where writing the tables failed (a full disk), this may say so; they would never come.
            self.db.persist(PersistMode::Buffer)?;
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let settled = is_settled();
        let path = self.close();
        let journals = journals(&path)?;
        if let ([only], true) = (journals.as_slice(), settled) {
            let journal = std::fs::OpenOptions::new().write(true).open(only)?;
            journal.set_len(0)?;
            journal.sync_all()?;
        }
        Ok(())
    }

    /// Closes the database as it is. Its lock lives until the last keyspace handle is gone.
    pub(super) fn close(self) -> PathBuf {
        let Self {
            db,
            events,
            payloads,
            threads,
            batches,
            meta,
            path,
        } = self;
        drop((events, payloads, threads, batches, meta));
        drop(db);
        path
    }
}

/// What stands before the body in the value of a stored event: link and predecessor.
pub(super) const HEADER: usize = 40;

/// The value of a stored event.
pub(super) fn encode(record: &Record) -> Vec<u8> {
    let mut value = vec![0; HEADER];
    value.extend_from_slice(record.body.as_bytes());
    seal(&mut value, record.link, record.prev);
    value
}

/// Writes link and predecessor before a body.
pub(super) fn seal(value: &mut [u8], link: Link, prev: Seq) {
    if let Some((of_link, rest)) = value.split_first_chunk_mut::<32>() {
        *of_link = link.0;
        if let Some(of_prev) = rest.first_chunk_mut::<8>() {
            *of_prev = prev.to_key();
        }
    }
}

fn decode(seq: Seq, value: &[u8]) -> Result<Record, Damage> {
    let take = || {
        let (link, rest) = value.split_first_chunk::<32>()?;
        let (prev, body) = rest.split_first_chunk::<8>()?;
        let body = std::str::from_utf8(body).ok()?;
        let prev = Seq(u64::from_be_bytes(*prev));
        Some(Record {
            seq,
            prev,
            link: Link(*link),
            body: body.into(),
        })
    };
    take().ok_or(Damage::Record(seq))
}
