//! Rows in a fjall folder of their own, never synced: the log can give everything again.
//!
//! One keyspace holds every table, so that opening replays one journal and a checkpoint flushes one
//! memtable. A folder that does not open is removed by the caller; so is one whose creation was
//! interrupted, which fjall cannot open either.

use super::store::{Visit, Write};
use super::written::Written;
use super::{Bytes, Order};
use crate::error::ViewsError;
use fjall::config::{BlockSizePolicy, CompressionPolicy};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use std::fmt;
use std::ops::Bound;
use std::path::{Path, PathBuf};

/// Blocks of the tables, in bytes: larger ones compress better and cost more per point read.
const BLOCK_BYTES: u32 = 16 << 10;
/// What is kept in memory before it is flushed, in bytes.
const MEMTABLE_BYTES: u64 = 8 << 20;
/// The cache of blocks, in bytes: peak memory is this plus about 15 MB.
const CACHE_BYTES: u64 = 8 << 20;
/// The smallest limit of all journals that fjall takes, in bytes.
const JOURNALS_BYTES: u64 = 64 << 20;
/// From this length on a journal is emptied at close, in bytes: replaying it would slow the next open.
const CHECKPOINT_BYTES: u64 = 512 << 10;
/// How long a checkpoint waits for its flush, in steps of a millisecond.
const FLUSH_STEPS_MAX: u32 = 30_000;

/// A database folder of rows.
pub(crate) struct DiskStore {
    folder: PathBuf,
    rows: Keyspace,
    database: Database,
    /// Only of a folder that was empty when it was opened.
    written: Option<Written>,
}

impl fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DiskStore({})", self.folder.display())
    }
}

impl DiskStore {
    /// Opens the folder, or makes it.
    pub(crate) fn open(folder: &Path) -> Result<Self, ViewsError> {
        let database = Database::builder(folder)
            .cache_size(CACHE_BYTES)
            .worker_threads(1)
            .max_journaling_size(JOURNALS_BYTES)
            .manual_journal_persist(true)
            .open()?;
        // fjall's own default compresses next to nothing.
        let rows = database.keyspace("rows", || {
            KeyspaceCreateOptions::default()
                .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
                .data_block_size_policy(BlockSizePolicy::all(BLOCK_BYTES))
                .max_memtable_size(MEMTABLE_BYTES)
                .manual_journal_persist(true)
        })?;
        let written = rows.is_empty()?.then(Written::none);
        Ok(Self {
            folder: folder.to_owned(),
            rows,
            database,
            written,
        })
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ViewsError> {
        match &self.written {
            Some(written) if !written.may_have(key) => Ok(None),
            Some(_) | None => Ok(self.rows.get(key)?),
        }
    }

    pub(crate) fn scan(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
        order: Order,
        visit: &mut Visit<'_>,
    ) -> Result<(), ViewsError> {
        let end = to.map_or(Bound::Unbounded, Bound::Excluded);
        // A snapshot, since a batch that is committed meanwhile must be seen whole or not at all.
        let snapshot = self.database.snapshot();
        let mut range = snapshot.range::<&[u8], _>(&self.rows, (Bound::Included(from), end));
        loop {
            let next = match order {
                Order::Forward => range.next(),
                Order::Reverse => range.next_back(),
            };
            let Some(row) = next else {
                return Ok(());
            };
            let (key, value) = row.into_inner()?;
            if visit(&key, &value).is_break() {
                return Ok(());
            }
        }
    }

    pub(crate) fn commit(&self, writes: Vec<Write>, flush: bool) -> Result<(), ViewsError> {
        let mode = flush.then_some(PersistMode::Buffer);
        let mut batch = self.database.batch().durability(mode);
        for (key, value) in writes {
            if let Some(written) = &self.written {
                written.note(&key);
            }
            match value {
                Some(value) => batch.insert(&self.rows, key, value),
                None => batch.remove(&self.rows, key),
            }
        }
        Ok(batch.commit()?)
    }

    pub(crate) fn flush(&self) -> Result<(), ViewsError> {
        Ok(self.database.persist(PersistMode::Buffer)?)
    }

    /// Closes the folder; a long journal is moved into tables and emptied first.
    ///
    /// fjall replays the whole journal at open, and has no way to shorten it but this: flush
    /// everything, let go of the database, cut the one journal file to nothing. The file itself stays,
    /// since fjall skips the recovery of its sequence numbers where it is missing.
    pub(crate) fn close(self) -> Result<(), ViewsError> {
        self.flush()?;
        let long = self.database.journal_disk_space()? >= CHECKPOINT_BYTES;
        let settled = long && self.settle()?;
        let Self {
            folder,
            rows,
            database,
            written: _,
        } = self;
        drop(rows);
        drop(database);
        match journals(&folder)?.as_slice() {
            [only] if settled => {
                let journal = std::fs::OpenOptions::new().write(true).open(only)?;
                journal.set_len(0)?;
                Ok(journal.sync_all()?)
            }
            _ => Ok(()),
        }
    }

    /// Moves what is in memory into tables; whether nothing is left that only the journal has.
    fn settle(&self) -> Result<bool, ViewsError> {
        self.rows.rotate_memtable()?;
        for _ in 0..FLUSH_STEPS_MAX {
            if self.rows.sealed_memtable_count() == 0 {
                return Ok(true);
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Ok(false)
    }
}

/// The journal files of a database folder.
fn journals(folder: &Path) -> Result<Vec<PathBuf>, ViewsError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jnl") {
            found.push(path);
        }
    }
    Ok(found)
}
