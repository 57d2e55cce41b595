//! A log in memory: for tests, and for looking at a log as it once stood.

use super::sequencer::{Sequencer, genesis_draft, thread_keys};
use crate::contract::{
    AppendError, Appended, BATCHES_REMEMBERED, Batch, Expect, Head, Log, Opened, READ_BYTES_MAX,
    READ_RECORDS_MAX, ReadError, Record, StoredPayload,
};
use crate::event::{BatchId, Draft, Seq, Subject};
use crate::payload::{self, PayloadRef, row};
use crate::seam::Ids;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// A log that lives as long as it is held.
#[derive(Debug)]
pub struct MemoryLog {
    ids: Arc<Ids>,
    head: watch::Sender<Head>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    sequencer: Sequencer,
    records: Vec<Record>,
    payloads: BTreeMap<[u8; 10], Vec<u8>>,
    threads: BTreeMap<String, Seq>,
    batches: BTreeMap<BatchId, Appended>,
    batch_order: VecDeque<BatchId>,
}

impl MemoryLog {
    /// A new log with its first event.
    pub fn new(ids: Arc<Ids>) -> Result<Self, AppendError> {
        let genesis = genesis_draft(&ids);
        let (sequencer, record) = Sequencer::create(&genesis, ids.now(), Some(ids.host()))?;
        let mut state = State {
            sequencer: sequencer.stepping(ids.is_seeded()),
            records: Vec::new(),
            payloads: BTreeMap::new(),
            threads: BTreeMap::new(),
            batches: BTreeMap::new(),
            batch_order: VecDeque::new(),
        };
        state.keep(&genesis, record);
        let (head, _) = watch::channel(state.sequencer.head());
        Ok(Self {
            ids,
            head,
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append_now(&self, batch: &Batch) -> Result<Appended, AppendError> {
        batch.check_bounds()?;
        let mut state = self.state();
        if let Some(landed) = state.batches.get(&batch.id) {
            return Ok(*landed);
        }
        state.check(&batch.expect)?;
        let appended = state.append(batch, self.ids.now())?;
        self.head.send_replace(state.sequencer.head());
        Ok(appended)
    }
}

impl State {
    fn check(&self, expect: &[Expect]) -> Result<(), AppendError> {
        for Expect::Unchanged { subject, last } in expect {
            let found = self.threads.get(&subject_key(subject)).copied();
            if found != *last {
                return Err(AppendError::Conflict {
                    subject: subject.clone(),
                    found,
                });
            }
        }
        Ok(())
    }

    fn append(&mut self, batch: &Batch, now: crate::Timestamp) -> Result<Appended, AppendError> {
        // On a copy, since a draft that cannot be encoded must leave no trace of those before it.
        let mut sequencer = self.sequencer;
        let mut threads: BTreeMap<String, Seq> = BTreeMap::new();
        let mut records = Vec::with_capacity(batch.drafts.len());
        for draft in &batch.drafts {
            let (thread, subject) = thread_keys(draft);
            let known = threads.get(&thread).or_else(|| self.threads.get(&thread));
            let record = sequencer.place(draft, known.copied().unwrap_or_default(), now)?;
            threads.insert(thread, record.seq);
            threads.insert(subject, record.seq);
            records.push(record);
        }
        let first = self.sequencer.head().seq.next();
        self.sequencer = sequencer;
        for (draft, record) in batch.drafts.iter().zip(records) {
            self.keep(draft, record);
        }
        let appended = Appended {
            first,
            last: sequencer.head().seq,
        };
        self.remember(batch.id, appended);
        Ok(appended)
    }

    fn keep(&mut self, draft: &Draft, record: Record) {
        let (thread, subject) = thread_keys(draft);
        self.threads.insert(thread, record.seq);
        self.threads.insert(subject, record.seq);
        for (index, payload) in (0..).zip(&draft.payloads) {
            self.payloads
                .insert(payload::key(record.seq, index), row::encode(payload));
        }
        self.records.push(record);
    }

    fn remember(&mut self, id: BatchId, appended: Appended) {
        self.batches.insert(id, appended);
        self.batch_order.push_back(id);
        if u64::try_from(self.batch_order.len()).is_ok_and(|n| n > BATCHES_REMEMBERED)
            && let Some(oldest) = self.batch_order.pop_front()
        {
            self.batches.remove(&oldest);
        }
    }
}

fn subject_key(subject: &Subject) -> String {
    format!("s:{subject}")
}

impl Log for MemoryLog {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        self.append_now(&batch)
    }

    async fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, ReadError> {
        let skip = usize::try_from(after.0).unwrap_or(usize::MAX);
        let limit = limit.min(READ_RECORDS_MAX);
        Ok(self
            .state()
            .records
            .iter()
            .skip(skip)
            .take(limit)
            .cloned()
            .collect())
    }

    async fn pick(&self, places: &[Seq]) -> Result<Vec<Record>, ReadError> {
        let state = self.state();
        let at = |seq: &Seq| {
            let index = usize::try_from(seq.0).ok()?.checked_sub(1)?;
            state.records.get(index).cloned()
        };
        Ok(places
            .iter()
            .take(READ_RECORDS_MAX)
            .filter_map(at)
            .collect())
    }

    async fn payload_rows(
        &self,
        after: (Seq, u16),
        through: Seq,
    ) -> Result<Vec<StoredPayload>, ReadError> {
        let state = self.state();
        let begin = Bound::Excluded(payload::key(after.0, after.1));
        let end = Bound::Included(payload::key(through, u16::MAX));
        let mut bytes = 0;
        let mut rows = Vec::new();
        if after.0 > through {
            return Ok(rows);
        }
        for (key, row) in state.payloads.range((begin, end)) {
            if bytes > 0 && bytes + row.len() > READ_BYTES_MAX {
                break;
            }
            bytes += row.len();
            rows.extend(payload::place(key).map(|(seq, index)| StoredPayload {
                seq,
                index,
                row: row.clone(),
            }));
        }
        Ok(rows)
    }

    fn head(&self) -> watch::Receiver<Head> {
        self.head.subscribe()
    }

    async fn payload(&self, of: PayloadRef) -> Result<Opened, ReadError> {
        let state = self.state();
        let Some(stored) = state.payloads.get(&of.to_key()) else {
            return Ok(Opened::Missing);
        };
        row::open(stored, &of).map(Opened::Present).map_err(|_| {
            let fault = crate::contract::IntegrityFault::PayloadChanged {
                seq: of.seq,
                index: of.index,
            };
            ReadError::Integrity(Arc::new(fault))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unused_async, reason = "other backends wait here")]
    async fn make() -> (Arc<MemoryLog>, ()) {
        (
            Arc::new(MemoryLog::new(Arc::new(Ids::from_system())).unwrap()),
            (),
        )
    }

    crate::conformance::conformance!(make);
}
