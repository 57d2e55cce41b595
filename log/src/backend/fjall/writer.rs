//! The one writer of a log: what waits is drained into one sync (group commit).
//!
//! For each group: every batch is committed to fjall as one write batch of its own and stays in user
//! space; then one sync; then the witness; then the acknowledgements. If the process dies
//!
//! * before the sync: nothing was acknowledged, and fjall keeps whole batches or none of them;
//! * between the sync and the witness: the log is longer than its witness, which is harmless;
//! * after the witness: the events are there.
//!
//! A write or a sync that failed poisons the log: what is on disk is not known, so this process says
//! nothing more about it.

use super::Shared;
use super::folder::{LogFolder, replace_file};
use super::store::{self, Store};
use super::witness::{Witness, fingerprint};
use crate::backend::sequencer::{FORMAT, Sequencer, thread_keys};
use crate::contract::{
    AppendError, Appended, BATCHES_REMEMBERED, Batch, Expect, IntegrityFault, Record,
};
use crate::event::{Draft, EventKind, Seq, Timestamp};
use crate::payload::{self, row};
use crate::seam::Ids;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// The most appends that share a sync.
const GROUP_MAX: usize = 1_024;
/// The most payload bytes that share a sync; a single larger batch still goes.
const GROUP_BYTES_MAX: usize = 16 << 20;
/// A journal that is longer than this is emptied when the writer has nothing to do ...
const JOURNAL_IDLE_BYTES: u64 = 8 << 20;
/// ... longer than this at once ...
const JOURNAL_BYTES_MAX: u64 = 48 << 20;
/// ... and longer than this at close.
const JOURNAL_CLOSE_BYTES: u64 = 512 << 10;
/// The newest places of about this many threads and subjects are kept in memory: a busy context would
/// otherwise be read back from a flushed table at each of its events.
const RECENT_MAX: usize = 16_384;
/// Batch ids are forgotten this many at a time.
const FORGET_AT_ONCE: u64 = 4_096;

/// Where the answer to an append goes.
type Reply = oneshot::Sender<Result<Appended, AppendError>>;

/// What the writer is asked.
pub(super) enum Request {
    /// Append, and answer when it is durable.
    Append(Batch, Reply),
    /// Remember a fault and take no more appends.
    Distrust(Arc<IntegrityFault>, oneshot::Sender<()>),
    /// Finish what came before, close and answer.
    Close(oneshot::Sender<Result<(), Arc<io::Error>>>),
}

/// Whether this process may still write: it holds the lock, and the lock is the one at the path.
pub type Fence = Box<dyn Fn() -> bool + Send>;

pub(super) struct Writer {
    pub(super) folder: LogFolder,
    pub(super) database: PathBuf,
    pub(super) ids: Arc<Ids>,
    pub(super) shared: Arc<Shared>,
    pub(super) log: crate::chain::LogId,
    pub(super) sequencer: Sequencer,
    pub(super) witness: Witness,
    pub(super) fence: Fence,
    pub(super) needed_format: u32,
    pub(super) fault: Option<Arc<IntegrityFault>>,
    pub(super) ordinals: Option<Ordinals>,
    /// Committed places only; a failed write poisons the writer before it would read a wrong one.
    pub(super) recent: BTreeMap<String, Seq>,
    pub(super) journal_bytes: u64,
    pub(super) dirty: bool,
    pub(super) poison: Option<AppendErrorSource>,
}

/// What poisoned the log.
pub(super) type AppendErrorSource = Arc<io::Error>;

/// Which batch ids are remembered.
#[derive(Clone, Copy)]
pub(super) struct Ordinals {
    next: u64,
    oldest: u64,
}

type Waiting = (Reply, Result<Appended, AppendError>);

impl Writer {
    /// Serves until it is asked to close or nobody can ask any more.
    pub(super) fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut held = None;
        loop {
            let request = match held.take() {
                Some(request) => request,
                None => match requests.try_recv() {
                    Ok(request) => request,
                    Err(mpsc::error::TryRecvError::Disconnected) => break,
                    Err(mpsc::error::TryRecvError::Empty) => {
                        self.rest();
                        match requests.blocking_recv() {
                            Some(request) => request,
                            None => break,
                        }
                    }
                },
            };
            match request {
                Request::Append(batch, reply) => {
                    let (group, next) = gather(batch, reply, &mut requests);
                    held = next;
                    self.commit(group);
                }
                Request::Distrust(fault, done) => {
                    self.distrust(fault);
                    let _nobody_waits = done.send(());
                }
                Request::Close(done) => {
                    requests.close();
                    let _nobody_waits = done.send(self.close().map_err(Arc::new));
                    return;
                }
            }
        }
        if let Err(error) = self.close() {
            tracing::warn!(%error, "the log was not closed cleanly; the next open checks it");
        }
    }

    fn commit(&mut self, group: Vec<(Batch, Reply)>) {
        let before = self.sequencer;
        let mut waiting: Vec<Waiting> = Vec::with_capacity(group.len());
        let outcome = self.write_group(group, &mut waiting);
        if let Err(error) = outcome {
            let error = Arc::new(error);
            tracing::error!(%error, "a write to the log failed");
            self.poison = Some(Arc::clone(&error));
            self.sequencer = before;
            for (reply, staged) in waiting {
                let answer = match staged {
                    Err(refused) => Err(refused),
                    Ok(_) => Err(AppendError::Io(Arc::clone(&error))),
                };
                let _nobody_waits = reply.send(answer);
            }
            return;
        }
        if self.sequencer.head() != before.head() {
            self.shared.head.send_replace(self.sequencer.head());
        }
        for (reply, answer) in waiting {
            let _nobody_waits = reply.send(answer);
        }
        if self.journal_bytes > JOURNAL_BYTES_MAX {
            self.checkpoint_and_reopen();
        }
    }

    /// Stages every batch, then makes all of them durable at once.
    fn write_group(
        &mut self,
        group: Vec<(Batch, Reply)>,
        waiting: &mut Vec<Waiting>,
    ) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let guard = shared.store();
        let before = self.sequencer.head();
        for (batch, reply) in group {
            let staged = match (&self.poison, guard.as_ref()) {
                (Some(poison), _) => Err(AppendError::Poisoned(Some(Arc::clone(poison)))),
                (None, None) => Err(AppendError::Poisoned(None)),
                (None, Some(store)) => match self.stage(store, &batch) {
                    Ok(staged) => staged,
                    Err(error) => {
                        waiting.push((
                            reply,
                            Ok(Appended {
                                first: Seq::ZERO,
                                last: Seq::ZERO,
                            }),
                        ));
                        return Err(error);
                    }
                },
            };
            waiting.push((reply, staged));
        }
        if self.sequencer.head() != before
            && let Some(store) = guard.as_ref()
        {
            store.sync().map_err(to_io)?;
            let head = self.sequencer.head();
            self.witness.say(|said| said.head = head)?;
        }
        Ok(())
    }

    /// Commits one batch to fjall, in user space. The outer error poisons, the inner one is an answer.
    fn stage(&mut self, store: &Store, batch: &Batch) -> io::Result<Result<Appended, AppendError>> {
        if let Err(refused) = self.admit(batch) {
            return Ok(Err(refused));
        }
        if let Some(landed) = landed(store, batch).map_err(to_io)? {
            return Ok(Ok(landed));
        }
        if let Some(fault) = self.fault.clone()
            && !is_reanchoring(batch, &fault)
        {
            return Ok(Err(AppendError::Integrity(fault)));
        }
        for Expect::Unchanged { subject, last } in &batch.expect {
            let key = format!("s:{subject}");
            let found = newest(store, &key).map_err(to_io)?;
            if found != *last {
                return Ok(Err(AppendError::Conflict {
                    subject: subject.clone(),
                    found,
                }));
            }
        }
        self.mark_dirty()?;
        self.place(store, batch)
    }

    fn admit(&self, batch: &Batch) -> Result<(), AppendError> {
        batch.check_bounds()?;
        if self.needed_format > FORMAT {
            return Err(AppendError::NewerFormat {
                needed: self.needed_format,
                ours: FORMAT,
            });
        }
        if !(self.fence)() {
            let gone = io::Error::other("the lock at the log's path is another file by now");
            return Err(AppendError::Io(Arc::new(gone)));
        }
        Ok(())
    }

    /// Before the first write, the witness must no longer say that the journals are as they were left.
    fn mark_dirty(&mut self) -> io::Result<()> {
        if !self.dirty {
            self.witness.say(|said| said.clean = None)?;
            self.dirty = true;
        }
        Ok(())
    }

    fn place(&mut self, store: &Store, batch: &Batch) -> io::Result<Result<Appended, AppendError>> {
        let now = self.ids.now();
        // On a copy, since a draft that cannot be encoded must leave no trace of those before it.
        let mut sequencer = self.sequencer;
        if let Some(fault) = &self.fault
            && let Some(EventKind::LogReanchored(facts)) = batch.drafts.first().map(|d| &d.kind)
        {
            sequencer = sequencer.jump(fault.anchor_after(self.sequencer.head(), facts));
        }
        let first = sequencer.head().seq.next();
        let mut write = store.batch(batch.drafts.len() * 3 + 2);
        let mut bytes = 0;
        let mut threads: BTreeMap<String, Seq> = BTreeMap::new();
        for draft in &batch.drafts {
            let newest = Newest {
                store,
                recent: &self.recent,
            };
            let record = match chained(&newest, draft, &mut sequencer, &mut threads, now) {
                Ok(record) => record,
                Err(Placing::Refused(refused)) => return Ok(Err(refused)),
                Err(Placing::Store(error)) => return Err(to_io(error)),
            };
            bytes += put(store, &mut write, draft, &record);
        }
        for (key, seq) in &threads {
            bytes += key.len() + 40;
            write.insert(&store.threads, key.as_bytes(), seq.to_key());
        }
        let appended = Appended {
            first,
            last: sequencer.head().seq,
        };
        self.remember(store, &mut write, batch, appended)
            .map_err(to_io)?;
        write.commit().map_err(to_io)?;
        self.journal_bytes += u64::try_from(bytes + 128).unwrap_or(u64::MAX);
        self.sequencer = sequencer;
        if self.recent.len() > RECENT_MAX {
            self.recent.clear();
        }
        self.recent.extend(threads);
        if self.fault.is_some() {
            self.trust_again(store)?;
        }
        Ok(Ok(appended))
    }

    /// Notes the batch id, and forgets the oldest ones, many at a time.
    fn remember(
        &mut self,
        store: &Store,
        write: &mut fjall::OwnedWriteBatch,
        batch: &Batch,
        appended: Appended,
    ) -> fjall::Result<()> {
        let mut ordinals = match self.ordinals {
            Some(ordinals) => ordinals,
            None => Ordinals::read(store)?,
        };
        let mut value = Vec::with_capacity(24);
        value.extend_from_slice(&ordinals.next.to_be_bytes());
        value.extend_from_slice(&appended.first.to_key());
        value.extend_from_slice(&appended.last.to_key());
        write.insert(&store.batches, batch_key(batch), value);
        write.insert(&store.batches, ordinal_key(ordinals.next), batch.id.0);
        ordinals.next += 1;
        if ordinals.next - ordinals.oldest > BATCHES_REMEMBERED + FORGET_AT_ONCE {
            let end = ordinals.oldest + FORGET_AT_ONCE;
            for guard in store
                .batches
                .range(ordinal_key(ordinals.oldest)..ordinal_key(end))
            {
                let (key, id) = guard.into_inner()?;
                let mut by_id = vec![b'i'];
                by_id.extend_from_slice(&id);
                write.remove(&store.batches, by_id);
                write.remove(&store.batches, key);
            }
            ordinals.oldest = end;
        }
        self.ordinals = Some(ordinals);
        Ok(())
    }

    /// A re-anchoring ends the refusal, once it is durable.
    fn trust_again(&mut self, store: &Store) -> io::Result<()> {
        store.sync().map_err(to_io)?;
        let head = self.sequencer.head();
        self.witness.say(|said| said.head = head)?;
        self.fault = None;
        self.shared.set_fault(None);
        match std::fs::remove_file(self.folder.fault()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn distrust(&mut self, fault: Arc<IntegrityFault>) {
        self.shared.set_fault(Some(Arc::clone(&fault)));
        let stored = super::fault::encode(&fault);
        if let Err(error) = replace_file(&self.folder.fault(), &stored) {
            tracing::error!(%error, "the fault could not be noted in the log's folder");
        }
        self.fault = Some(fault);
    }

    /// What is done when nothing waits.
    fn rest(&mut self) {
        if self.journal_bytes > JOURNAL_IDLE_BYTES {
            self.checkpoint_and_reopen();
        }
    }

    fn checkpoint_and_reopen(&mut self) {
        if self.poison.is_some() {
            return;
        }
        if let Err(error) = self.try_checkpoint_and_reopen() {
            tracing::error!(%error, "the log could not be reopened after a checkpoint");
            self.poison = Some(Arc::new(error));
        }
    }

    fn try_checkpoint_and_reopen(&mut self) -> io::Result<()> {
        let mut place = self.shared.store_to_replace();
        let Some(store) = place.take() else {
            return Ok(());
        };
        store.checkpoint().map_err(to_io)?;
        let flushed = self.sequencer.head().seq;
        self.witness.say(|said| said.flushed = flushed)?;
        *place = Some(Store::open(&self.database).map_err(to_io)?);
        self.journal_bytes = 0;
        Ok(())
    }

    fn close(mut self) -> io::Result<()> {
        let Some(store) = self.shared.store_to_replace().take() else {
            return Ok(());
        };
        if self.poison.is_some() || self.fault.is_some() {
            // What is on disk is not known, or is evidence: it stays as it is, and as unclean.
            drop(store);
            return Ok(());
        }
        if self.journal_bytes > JOURNAL_CLOSE_BYTES {
            store.checkpoint().map_err(to_io)?;
            let flushed = self.sequencer.head().seq;
            self.witness.say(|said| said.flushed = flushed)?;
        } else {
            store.close();
        }
        let journals = fingerprint(&self.database)?;
        if self.witness.said().clean != Some(journals) {
            self.witness.say(|said| said.clean = Some(journals))?;
        }
        Ok(())
    }
}

/// Takes what else waits, up to the bounds of a group; a request of another kind is handed back.
fn gather(
    batch: Batch,
    reply: Reply,
    requests: &mut mpsc::Receiver<Request>,
) -> (Vec<(Batch, Reply)>, Option<Request>) {
    let size = |batch: &Batch| -> usize {
        batch
            .drafts
            .iter()
            .flat_map(|draft| &draft.payloads)
            .map(|p| p.bytes().len())
            .sum()
    };
    let mut bytes = size(&batch);
    let mut group = vec![(batch, reply)];
    while group.len() < GROUP_MAX && bytes < GROUP_BYTES_MAX {
        match requests.try_recv() {
            Ok(Request::Append(batch, reply)) => {
                bytes += size(&batch);
                group.push((batch, reply));
            }
            Ok(other) => return (group, Some(other)),
            Err(_) => break,
        }
    }
    (group, None)
}

enum Placing {
    Refused(AppendError),
    Store(fjall::Error),
}

/// Where the newest place of a thread is looked up: what was written lately, then the store.
struct Newest<'a> {
    store: &'a Store,
    recent: &'a BTreeMap<String, Seq>,
}

/// Gives a draft its place, after the newest of its thread.
fn chained(
    known: &Newest<'_>,
    draft: &Draft,
    sequencer: &mut Sequencer,
    threads: &mut BTreeMap<String, Seq>,
    now: Timestamp,
) -> Result<Record, Placing> {
    let (thread, subject) = thread_keys(draft);
    let prev = match threads.get(&thread).or_else(|| known.recent.get(&thread)) {
        Some(seq) => *seq,
        None => newest(known.store, &thread)
            .map_err(Placing::Store)?
            .unwrap_or_default(),
    };
    let record = sequencer
        .place(draft, prev, now)
        .map_err(Placing::Refused)?;
    threads.insert(thread, record.seq);
    threads.insert(subject, record.seq);
    Ok(record)
}

/// Adds an event and its payloads to a write batch; says about how many bytes that are.
fn put(store: &Store, write: &mut fjall::OwnedWriteBatch, draft: &Draft, record: &Record) -> usize {
    let mut bytes = record.body.len() + 80;
    write.insert(&store.events, record.seq.to_key(), store::encode(record));
    for (index, payload) in (0..).zip(&draft.payloads) {
        let row = row::encode(payload);
        bytes += row.len() + 40;
        write.insert(&store.payloads, payload::key(record.seq, index), row);
    }
    bytes
}

/// The newest place of a thread or a subject.
fn newest(store: &Store, key: &str) -> fjall::Result<Option<Seq>> {
    Ok(store
        .threads
        .get(key)?
        .and_then(|value| Seq::from_key(&value)))
}

/// Where a batch landed, if it did.
fn landed(store: &Store, batch: &Batch) -> fjall::Result<Option<Appended>> {
    let Some(value) = store.batches.get(batch_key(batch))? else {
        return Ok(None);
    };
    let first = value.get(8..16).and_then(Seq::from_key);
    let last = value.get(16..24).and_then(Seq::from_key);
    Ok(first
        .zip(last)
        .map(|(first, last)| Appended { first, last }))
}

fn batch_key(batch: &Batch) -> Vec<u8> {
    let mut key = vec![b'i'];
    key.extend_from_slice(&batch.id.0);
    key
}

fn ordinal_key(ordinal: u64) -> Vec<u8> {
    let mut key = vec![b'o'];
    key.extend_from_slice(&ordinal.to_be_bytes());
    key
}

impl Ordinals {
    fn read(store: &Store) -> fjall::Result<Self> {
        let of = |key: &[u8]| {
            key.get(1..9)
                .and_then(Seq::from_key)
                .map(|ordinal| ordinal.0)
        };
        let mut range = store.batches.prefix(b"o");
        let oldest = range.next().map(fjall::Guard::key).transpose()?;
        let newest = range.next_back().map(fjall::Guard::key).transpose()?;
        let oldest = oldest.and_then(|key| of(&key));
        let newest = newest.and_then(|key| of(&key)).or(oldest);
        Ok(Self {
            next: newest.map_or(0, |ordinal| ordinal + 1),
            oldest: oldest.unwrap_or(0),
        })
    }
}

/// Whether a batch is the re-anchoring that this fault asks for.
fn is_reanchoring(batch: &Batch, fault: &IntegrityFault) -> bool {
    match batch.drafts.as_slice() {
        [
            Draft {
                kind: EventKind::LogReanchored(facts),
                ..
            },
        ] => fault.is_answered_by(facts),
        _ => false,
    }
}

/// fjall's errors, as the operating system's where they are.
pub(super) fn to_io(error: fjall::Error) -> io::Error {
    if let fjall::Error::Io(error) = error {
        return error;
    }
    io::Error::other(error)
}
