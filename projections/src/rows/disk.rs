//! Rows in a fjall folder of their own, never synced: the log can give everything again.
//!
//! One keyspace holds every table, so that opening replays one journal and a checkpoint flushes one
//! memtable. A folder that does not open is removed by the caller; so is one whose creation was
//! interrupted, which fjall cannot open either.
//!
//! Rows gather in memory (`pending.rs`). While the log rests they are handed to the operating system at
//! once, as a batch in fjall's journal, so that the death of the process loses nothing. A log that is
//! written or folded in bulk makes many of them: those are sorted and written as a table, which costs
//! a fraction of journal, memtable and flush, and until then a death costs the time to fold them again.

use super::pending::{Due, Pending, Seen};
use super::store::Visit;
use super::written::Written;
use super::{Bytes, Order};
use crate::error::ViewsError;
use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, CompressionPolicy, PartitioningPolicy};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::sync::atomic::{self, AtomicBool};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

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
/// How long closing waits for a merge and a flush together, in steps of a millisecond. On a full disk neither ever
/// ends, and fjall does not say so (C110); where it is cut short, the next open only replays a longer journal.
const CLOSE_STEPS_MAX: u32 = 4_000;

/// A chunk that touched no more rows came from a log at rest: a few events.
const REST_ROWS_MAX: usize = 64;
/// From this number of rows on, a table costs less than a batch, its syncs included.
const TABLE_ROWS_MIN: usize = 4_096;
/// So many newest tables are merged at once into the older ones, which rewrites those: the more, the
/// rarer. A read looks into the filters of all of them. fjall slows batches down from 20 on.
const NEWEST_TABLES: u8 = 12;

/// A database folder of rows.
pub(crate) struct DiskStore {
    folder: PathBuf,
    rows: Keyspace,
    database: Database,
    /// Only of a folder that was empty when it was opened.
    written: Option<Written>,
    pending: RwLock<Pending>,
    /// Whether this process wrote a table by itself.
    wrote_table: AtomicBool,
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
                // In one piece they take megabytes, and whoever reads one row reads all of them.
                .filter_block_partitioning_policy(PartitioningPolicy::all(true))
                .index_block_partitioning_policy(PartitioningPolicy::all(true))
                .max_memtable_size(MEMTABLE_BYTES)
                .compaction_strategy(Arc::new(
                    Leveled::default().with_l0_threshold(NEWEST_TABLES),
                ))
                .manual_journal_persist(true)
        })?;
        let written = rows.is_empty()?.then(Written::none);
        Ok(Self {
            folder: folder.to_owned(),
            rows,
            database,
            written,
            pending: RwLock::default(),
            wrote_table: AtomicBool::new(false),
        })
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ViewsError> {
        if let Some((_, known)) = self.pending().get(key) {
            return Ok(known.map(Into::into));
        }
        match &self.written {
            Some(written) if !written.may_have(key) => Ok(None),
            Some(_) | None => Ok(self.rows.get(key)?),
        }
    }

    fn pending(&self) -> RwLockReadGuard<'_, Pending> {
        self.pending.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn scan(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
        order: Order,
        visit: &mut Visit<'_>,
    ) -> Result<(), ViewsError> {
        // Held until the end: what leaves it for the store meanwhile would be seen twice or not at all.
        let pending = self.pending();
        let mut newer = pending.range(from, to, order).into_iter().peekable();
        let end = to.map_or(Bound::Unbounded, Bound::Excluded);
        // A snapshot, since a batch that is committed meanwhile must be seen whole or not at all.
        let snapshot = self.database.snapshot();
        let mut range = snapshot.range::<&[u8], _>(&self.rows, (Bound::Included(from), end));
        let mut next_stored = || {
            let next = match order {
                Order::Forward => range.next(),
                Order::Reverse => range.next_back(),
            };
            next.map(fjall::Guard::into_inner).transpose()
        };
        let mut stored = next_stored()?;
        loop {
            let comes = match (newer.peek(), &stored) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((key, _)), Some((other, _))) if order == Order::Forward => {
                    (*key).cmp(&**other)
                }
                (Some((key, _)), Some((other, _))) => (**other).cmp(key),
            };
            let from_store = if comes == Ordering::Less {
                None
            } else {
                std::mem::replace(&mut stored, next_stored()?)
            };
            let shown = if comes == Ordering::Greater {
                None
            } else {
                newer.next()
            };
            let flow = match (shown, from_store) {
                (Some((key, Some(value))), _) => visit(key, value),
                (None, Some((key, value))) => visit(&key, &value),
                (Some((_, None)), _) | (None, None) => ControlFlow::Continue(()),
            };
            if flow.is_break() {
                return Ok(());
            }
        }
    }

    /// Makes all changes of a chunk or none. They outlive the process if the log rests.
    pub(crate) fn commit(&self, chunk: Vec<Seen>) -> Result<(), ViewsError> {
        // Before the chunk is taken in: its caller would fold it again if this failed.
        if self.pending().is_full() {
            self.hand_over()?;
        }
        let rests = chunk.len() <= REST_ROWS_MAX;
        let mut pending = self.pending.write().unwrap_or_else(PoisonError::into_inner);
        pending.add(chunk);
        drop(pending);
        if rests && let Err(error) = self.hand_over() {
            // The rows are here, and are handed over with the next ones or at close.
            tracing::warn!(%error, "the newest rows of the views are only in memory");
        }
        Ok(())
    }

    /// Gives everything that gathered to fjall, in one step.
    fn hand_over(&self) -> Result<(), ViewsError> {
        // Only the thread that folds changes what is pending, and it is here; readers may go on.
        {
            let pending = self.pending();
            let mut due = pending.due();
            if let Some(written) = &self.written {
                // What never was there needs no removal.
                due.retain(|(key, value)| value.is_some() || written.may_have(key));
                for (key, _) in &due {
                    written.note(key);
                }
            }
            if due.len() < TABLE_ROWS_MIN {
                self.write_batch(&due)?;
            } else {
                self.write_table(&due)?;
            }
        }
        let mut pending = self.pending.write().unwrap_or_else(PoisonError::into_inner);
        pending.clear();
        Ok(())
    }

    fn write_batch(&self, due: &[Due<'_>]) -> Result<(), ViewsError> {
        let mut batch = self.database.batch().durability(Some(PersistMode::Buffer));
        for (key, value) in due {
            match value {
                Some(value) => batch.insert(&self.rows, *key, *value),
                None => batch.remove(&self.rows, *key),
            }
        }
        Ok(batch.commit()?)
    }

    fn write_table(&self, due: &[Due<'_>]) -> Result<(), ViewsError> {
        self.wrote_table.store(true, atomic::Ordering::Relaxed);
        let mut table = self.rows.start_ingestion()?;
        for (key, value) in due {
            match value {
                Some(value) => table.write(*key, *value)?,
                None => table.write_tombstone(*key)?,
            }
        }
        Ok(table.finish()?)
    }

    /// Closes the folder; a long journal is moved into tables and emptied first.
    ///
    /// fjall replays the whole journal at open, and has no way to shorten it but this: flush
    /// everything, let go of the database, cut the one journal file to nothing. The file itself stays,
    /// since fjall skips the recovery of its sequence numbers where it is missing.
    pub(crate) fn close(self) -> Result<(), ViewsError> {
        self.hand_over()?;
        let mut steps = Steps(CLOSE_STEPS_MAX);
        if self.wrote_table.load(atomic::Ordering::Relaxed) {
            self.await_merge(&mut steps);
        }
        let long = self.database.journal_disk_space()? >= CHECKPOINT_BYTES;
        let settled = long && self.settle(&mut steps)?;
        let Self {
            folder,
            rows,
            database,
            written: _,
            pending: _,
            wrote_table: _,
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

    /// Lets a merge of the newest tables end that is due or under way: dropping the database would break it
    /// off, and every later process would begin it anew and break it off as well.
    fn await_merge(&self, steps: &mut Steps) {
        while self.rows.l0_table_count() >= usize::from(NEWEST_TABLES) && steps.wait() {}
    }

    /// Moves what is in memory into tables; whether nothing is left that only the journal has.
    fn settle(&self, steps: &mut Steps) -> Result<bool, ViewsError> {
        self.rows.rotate_memtable()?;
        while self.rows.sealed_memtable_count() > 0 {
            if !steps.wait() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// How many milliseconds may still be waited for what works beside us.
struct Steps(u32);

impl Steps {
    /// Waits one of them, unless none is left.
    fn wait(&mut self) -> bool {
        let Some(left) = self.0.checked_sub(1) else {
            return false;
        };
        self.0 = left;
        std::thread::sleep(std::time::Duration::from_millis(1));
        true
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
