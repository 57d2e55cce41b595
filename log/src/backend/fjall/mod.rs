//! The log on disk.
//!
//! fjall keeps the bytes; everything that it does not tell us is checked around it. Before an open that
//! follows no clean close, the journals are put aside, since fjall cuts a damaged one off without a
//! word. After the open, head, witnesses and the events that lay in a journal are held against each
//! other; only then the copy is dropped. What does not hold is a fault: reads go on, appends refuse
//! until a re-anchoring, and nothing is repaired silently.

mod check;
mod create;
mod fault;
mod folder;
pub mod forge;
mod isolated;
mod ready;
mod remembered;
mod salvage;
mod store;
#[cfg(test)]
mod tests;
mod whole;
mod witness;
mod writer;

pub use folder::LogFolder;
pub use isolated::opens_a_store;
pub use writer::Fence;

use crate::chain::{self, LogId};
use crate::contract::{
    AppendError, Appended, Batch, Head, IntegrityFault, Log, Opened, READ_RECORDS_MAX, ReadError,
    Record, StoredPayload,
};
use crate::event::{HostId, Seq};
use crate::payload::{PayloadRef, row};
use crate::seam::Ids;
use ready::Ready;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use store::{Damage, Store};
use tokio::sync::{mpsc, oneshot, watch};
use writer::{Request, Writer};

/// How many appends may wait for the writer before further ones wait outside.
const WAITING_MAX: usize = 4_096;

/// Why a log cannot be opened at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The disk, or the file system, said no.
    #[error("the log's folder cannot be used")]
    Io(#[from] io::Error),
    /// Another process holds the database.
    #[error("the log's database is held by another process")]
    Locked,
    /// The store does not open, or the log is gone.
    #[error("the log does not verify")]
    Integrity(#[source] Arc<IntegrityFault>),
    /// The store below reports a fault of its own.
    #[error("the log's store failed")]
    Store(#[source] fjall::Error),
    /// The first event cannot be written.
    #[error("the log cannot be begun")]
    Create(#[source] AppendError),
    /// Written by a version that this one cannot read.
    #[error("the log has format {found}, and this version reads up to {ours}")]
    NewerFormat {
        /// What it has.
        found: u32,
        /// What we read.
        ours: u32,
    },
}

/// A log on disk, opened by the one process that hosts it.
#[derive(Debug)]
pub struct FjallLog {
    shared: Arc<Shared>,
    requests: mpsc::Sender<Request>,
    writer: Mutex<Option<JoinHandle<()>>>,
    log: LogId,
    host: Option<HostId>,
}

/// What the writer and the readers share.
#[derive(Debug)]
struct Shared {
    store: RwLock<Option<Store>>,
    head: watch::Sender<Head>,
    fault: RwLock<Option<Arc<IntegrityFault>>>,
}

impl Shared {
    fn store(&self) -> RwLockReadGuard<'_, Option<Store>> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn store_to_replace(&self) -> RwLockWriteGuard<'_, Option<Store>> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_fault(&self, fault: Option<Arc<IntegrityFault>>) {
        *self.fault.write().unwrap_or_else(PoisonError::into_inner) = fault;
    }
}

impl FjallLog {
    /// Opens a log, or begins one where there is none.
    ///
    /// The caller holds the log's lock; `fence` says, before each group of appends, whether it still does.
    ///
    /// # Errors
    /// [`OpenError::Integrity`] if the store does not open or the log is gone. A log that opens and does
    /// not verify is returned, with [`FjallLog::fault`] set: it can be read.
    pub fn open(folder: &LogFolder, ids: Arc<Ids>, fence: Fence) -> Result<Self, OpenError> {
        let opened = create::open(folder, &ids)?;
        let (head, _) = watch::channel(opened.sequencer.head());
        let fault = opened.fault.map(Arc::new);
        let shared = Arc::new(Shared {
            store: RwLock::new(Some(opened.store)),
            head,
            fault: RwLock::new(fault.clone()),
        });
        let writer = Writer {
            folder: folder.clone(),
            database: opened.database,
            ids,
            shared: Arc::clone(&shared),
            log: opened.sequencer.head().log,
            sequencer: opened.sequencer,
            witness: opened.witness,
            fence,
            needed_format: opened.needed_format,
            fault,
            ordinals: None,
            recent: BTreeMap::new(),
            journal_bytes: opened.journal_bytes,
            dirty: false,
            timer: None,
            poison: None,
        };
        let (log, host) = (writer.log, writer.sequencer.host());
        let (requests, waiting) = mpsc::channel(WAITING_MAX);
        let thread = std::thread::Builder::new()
            .name("missive-writer".to_owned())
            .spawn(move || writer.run(waiting))?;
        Ok(Self {
            shared,
            requests,
            writer: Mutex::new(Some(thread)),
            log,
            host,
        })
    }

    /// What does not verify, if something is known not to.
    pub fn fault(&self) -> Option<Arc<IntegrityFault>> {
        self.shared
            .fault
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Notes a fault that a verification found: from here on appends refuse, also in later processes.
    pub async fn distrust(&self, fault: Arc<IntegrityFault>) {
        let (done, noted) = oneshot::channel();
        if self
            .requests
            .send(Request::Distrust(fault, done))
            .await
            .is_ok()
        {
            let _closed_meanwhile = noted.await;
        }
    }

    /// The log's identity.
    pub fn id(&self) -> LogId {
        self.log
    }

    /// Finishes what was asked before, checkpoints if the journal is long, and closes.
    ///
    /// Blocks; not for use on a thread that runs futures which the writer waits for (there are none).
    pub fn close(&self) -> Result<(), Arc<io::Error>> {
        let (done, closed) = oneshot::channel();
        let asked = self.requests.blocking_send(Request::Close(done));
        let answer = if asked.is_ok() {
            closed.blocking_recv().unwrap_or(Ok(()))
        } else {
            Ok(())
        };
        let thread = self
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            return Err(Arc::new(io::Error::other(
                "the writer of the log ended unexpectedly",
            )));
        }
        answer
    }

    /// The records after a place, without a future: the store answers at once.
    pub fn read_now(&self, after: Seq, limit: usize) -> Result<Vec<Record>, ReadError> {
        // Only up to the head: later events are in fjall already and not yet durable.
        let through = self.shared.head.borrow().seq;
        self.with_store(|store| store.records(after, through, limit.min(READ_RECORDS_MAX)))
    }

    fn with_store<R>(
        &self,
        read: impl FnOnce(&Store) -> Result<R, Damage>,
    ) -> Result<R, ReadError> {
        match self.shared.store().as_ref() {
            Some(store) => read(store).map_err(damaged),
            None => Err(ReadError::HostLost),
        }
    }
}

impl Drop for FjallLog {
    fn drop(&mut self) {
        let thread = self
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let (gone, _) = mpsc::channel(1);
        drop(std::mem::replace(&mut self.requests, gone));
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer of the log ended unexpectedly");
        }
    }
}

/// How damage reads to whoever asked.
fn damaged(damage: Damage) -> ReadError {
    match damage {
        Damage::Store(fjall::Error::Io(error)) => ReadError::Io(Arc::new(error)),
        Damage::Store(error) => ReadError::Store(Arc::new(error)),
        Damage::Record(seq) => {
            let what = "its row is not one of ours".to_owned();
            ReadError::Integrity(Arc::new(IntegrityFault::Unreadable { seq, what }))
        }
    }
}

impl Log for FjallLog {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        let ready = Ready::new(batch, self.host)?;
        let (reply, answer) = oneshot::channel();
        if self
            .requests
            .send(Request::Append(ready, reply))
            .await
            .is_err()
        {
            return Err(AppendError::HostLost);
        }
        answer.await.unwrap_or(Err(AppendError::HostLost))
    }

    async fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, ReadError> {
        self.read_now(after, limit)
    }

    async fn pick(&self, places: &[Seq]) -> Result<Vec<Record>, ReadError> {
        let through = self.shared.head.borrow().seq;
        self.with_store(|store| {
            let mut records = Vec::with_capacity(places.len().min(READ_RECORDS_MAX));
            for seq in places
                .iter()
                .take(READ_RECORDS_MAX)
                .filter(|seq| **seq <= through)
            {
                records.extend(store.record(*seq)?);
            }
            Ok(records)
        })
    }

    async fn payload_rows(
        &self,
        after: (Seq, u16),
        through: Seq,
    ) -> Result<Vec<StoredPayload>, ReadError> {
        let through = through.min(self.shared.head.borrow().seq);
        self.with_store(|store| store.payload_rows(after, through))
    }

    fn head(&self) -> watch::Receiver<Head> {
        self.shared.head.subscribe()
    }

    async fn payload(&self, of: PayloadRef) -> Result<Opened, ReadError> {
        let stored = self.with_store(|store| Ok(store.payloads.get(of.to_key())?))?;
        let Some(stored) = stored else {
            return Ok(Opened::Missing);
        };
        row::open(&stored, &of).map(Opened::Present).map_err(|_| {
            let fault = IntegrityFault::PayloadChanged {
                seq: of.seq,
                index: of.index,
            };
            ReadError::Integrity(Arc::new(fault))
        })
    }
}

/// The log id that a first event gives.
fn id_of(first: &Record) -> LogId {
    chain::log_id(first.body.as_bytes())
}
