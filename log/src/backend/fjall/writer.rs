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
use super::ready::{Ready, ReadyEvent};
use super::remembered::{Ordinals, landed};
use super::store::Store;
use super::witness::{Witness, fingerprint};
use crate::backend::lock::LOST;
use crate::backend::sequencer::{FORMAT, Sequencer};
use crate::contract::{AppendError, Appended, Batch, Expect, IntegrityFault};
use crate::event::{Draft, EventKind, Seq};
use crate::payload;
use crate::seam::Ids;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

/// The most appends that share a sync.
const GROUP_MAX: usize = 1_024;
/// The most payload bytes that share a sync; a single larger batch still goes.
const GROUP_BYTES_MAX: usize = 16 << 20;
/// A journal that is longer than this is emptied when nobody has asked for anything for a while ...
const JOURNAL_IDLE_BYTES: u64 = 8 << 20;
/// ... which is this long. Emptying takes a quarter of a second in which nothing is written, so the
/// moment between two batches of an import is no such while.
const QUIET: Duration = Duration::from_millis(200);
/// ... longer than this at once: after a kill the next open replays and checks at most that much ...
const JOURNAL_BYTES_MAX: u64 = 128 << 20;
/// ... and longer than this at close.
const JOURNAL_CLOSE_BYTES: u64 = 512 << 10;
/// The newest places of about this many threads are kept in memory: a busy context would
/// otherwise be read back from a flushed table at each of its events.
const RECENT_MAX: usize = 16_384;
/// Where the answer to an append goes.
type Reply = oneshot::Sender<Result<Appended, AppendError>>;

/// What the writer is asked.
pub(super) enum Request {
    /// Append, and answer when it is durable.
    Append(Ready, Reply),
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
    /// Ahead of what is committed while a batch is placed; a failed write poisons the writer before it
    /// would read a wrong one.
    pub(super) recent: BTreeMap<String, Seq>,
    pub(super) journal_bytes: u64,
    pub(super) dirty: bool,
    /// Wakes the writer from a wait that has an end; made when it is first needed.
    pub(super) timer: Option<Runtime>,
    pub(super) poison: Option<AppendErrorSource>,
}

/// What poisoned the log.
pub(super) type AppendErrorSource = Arc<io::Error>;

type Waiting = (Reply, Result<Appended, AppendError>);

impl Writer {
    /// Serves until it is asked to close or nobody can ask any more.
    pub(super) fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut held = None;
        loop {
            let request = match held.take() {
                Some(request) => request,
                None => match self.next(&mut requests) {
                    Some(request) => request,
                    None => break,
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

    /// The next request; `None` when nobody can ask any more. What is to be done at rest is done while
    /// nobody asks.
    fn next(&mut self, requests: &mut mpsc::Receiver<Request>) -> Option<Request> {
        if self.journal_bytes > JOURNAL_IDLE_BYTES && self.poison.is_none() {
            if self.timer.is_none() {
                self.timer = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build()
                    .ok();
            }
            match &self.timer {
                Some(timer) => {
                    let _context = timer.enter();
                    match timer.block_on(tokio::time::timeout(QUIET, requests.recv())) {
                        Ok(request) => return request,
                        Err(_quiet) => self.checkpoint_and_reopen(),
                    }
                }
                None => self.checkpoint_and_reopen(),
            }
        }
        requests.blocking_recv()
    }

    fn commit(&mut self, group: Vec<(Ready, Reply)>) {
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
        group: Vec<(Ready, Reply)>,
        waiting: &mut Vec<Waiting>,
    ) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let guard = shared.store();
        let before = self.sequencer.head();
        for (batch, reply) in group {
            let staged = match (&self.poison, guard.as_ref()) {
                (Some(poison), _) => Err(AppendError::Poisoned(Some(Arc::clone(poison)))),
                (None, None) => Err(AppendError::Poisoned(None)),
                (None, Some(store)) => match self.stage(store, batch) {
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
    fn stage(&mut self, store: &Store, ready: Ready) -> io::Result<Result<Appended, AppendError>> {
        if let Err(refused) = self.admit() {
            return Ok(Err(refused));
        }
        let batch = &ready.batch;
        if let Some(landed) = landed(store, batch.id).map_err(to_io)? {
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
        self.place(store, ready).map(Ok)
    }

    fn admit(&self) -> Result<(), AppendError> {
        if self.needed_format > FORMAT {
            return Err(AppendError::NewerFormat {
                needed: self.needed_format,
                ours: FORMAT,
            });
        }
        if !(self.fence)() {
            let gone = io::Error::other(LOST);
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

    fn place(&mut self, store: &Store, ready: Ready) -> io::Result<Appended> {
        let Ready { batch, events } = ready;
        let now = self.ids.now();
        if let Some(fault) = &self.fault
            && let Some(EventKind::LogReanchored(facts)) = batch.drafts.first().map(|d| &d.kind)
        {
            let after = fault.anchor_after(self.sequencer.head(), facts);
            self.sequencer = self.sequencer.jump(after);
        }
        let first = self.sequencer.head().seq.next();
        let mut write = store.batch(events.len() * 3 + 2);
        let mut bytes = 128;
        let mut places: BTreeMap<String, Seq> = BTreeMap::new();
        for mut event in events {
            let seq = self.sequencer.head().seq.next();
            let prev = self.follow(store, &places, &event, seq).map_err(to_io)?;
            event.place(&mut self.sequencer, prev, now);
            bytes += put(store, &mut write, event, seq, &mut places);
        }
        for (key, seq) in places {
            bytes += key.len() + 40;
            write.insert(&store.threads, key.into_bytes(), seq.to_key());
        }
        let appended = Appended {
            first,
            last: self.sequencer.head().seq,
        };
        self.remember(store, &mut write, &batch, appended)
            .map_err(to_io)?;
        write.commit().map_err(to_io)?;
        self.journal_bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
        if self.recent.len() > RECENT_MAX {
            self.recent.clear();
        }
        if self.fault.is_some() {
            self.trust_again(store)?;
        }
        Ok(appended)
    }

    /// The newest place of an event's thread, which from here on is `seq`. The thread of a subject holds
    /// all of the subject, also what belongs to a context.
    fn follow(
        &mut self,
        store: &Store,
        places: &BTreeMap<String, Seq>,
        event: &ReadyEvent,
        seq: Seq,
    ) -> fjall::Result<Seq> {
        if event.subject != event.thread
            && let Some(newest) = self.recent.get_mut(&event.subject)
        {
            *newest = seq;
        }
        if let Some(newest) = self.recent.get_mut(&event.thread) {
            return Ok(std::mem::replace(newest, seq));
        }
        let prev = match places.get(&event.thread) {
            Some(prev) => *prev,
            None => newest(store, &event.thread)?.unwrap_or_default(),
        };
        self.recent.insert(event.thread.clone(), seq);
        Ok(prev)
    }

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
        ordinals.remember(store, write, batch.id, appended)?;
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
        // Evidence of what was given up, and no copy of what is written from here on.
        self.folder.lay_kept_journals_aside(head.seq)?;
        self.folder.forget_fault()
    }

    fn distrust(&mut self, fault: Arc<IntegrityFault>) {
        self.shared.set_fault(Some(Arc::clone(&fault)));
        let stored = super::fault::encode(&fault);
        if let Err(error) = replace_file(&self.folder.fault(), &stored) {
            tracing::error!(%error, "the fault could not be noted in the log's folder");
        }
        self.fault = Some(fault);
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
            if let Err(error) = store.checkpoint() {
                // Everything acknowledged is in the journal; the next open replays and checks it.
                tracing::warn!(%error, "the log's journal could not be emptied");
                return Ok(());
            }
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
    first: Ready,
    reply: Reply,
    requests: &mut mpsc::Receiver<Request>,
) -> (Vec<(Ready, Reply)>, Option<Request>) {
    let mut bytes = first.bytes();
    let mut group = vec![(first, reply)];
    while group.len() < GROUP_MAX && bytes < GROUP_BYTES_MAX {
        match requests.try_recv() {
            Ok(Request::Append(ready, reply)) => {
                bytes += ready.bytes();
                group.push((ready, reply));
            }
            Ok(other) => return (group, Some(other)),
            Err(_) => break,
        }
    }
    (group, None)
}

/// Adds a placed event and its payloads to a write batch; says about how many bytes that are.
fn put(
    store: &Store,
    write: &mut fjall::OwnedWriteBatch,
    event: ReadyEvent,
    seq: Seq,
    places: &mut BTreeMap<String, Seq>,
) -> usize {
    let ReadyEvent {
        value,
        thread,
        subject,
        rows,
        ..
    } = event;
    let mut bytes = value.len() + 40;
    write.insert(&store.events, seq.to_key(), value);
    for (index, row) in (0..).zip(rows) {
        bytes += row.len() + 40;
        write.insert(&store.payloads, payload::key(seq, index), row);
    }
    if thread != subject {
        places.insert(subject, seq);
    }
    places.insert(thread, seq);
    bytes
}

/// The newest place of a thread or a subject.
fn newest(store: &Store, key: &str) -> fjall::Result<Option<Seq>> {
    Ok(store
        .threads
        .get(key)?
        .and_then(|value| Seq::from_key(&value)))
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
