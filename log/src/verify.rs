//! Recomputing everything: every digest, every link, every payload.
//!
//! The work on one record (`Inspected`) is independent of its neighbours and is spread over threads;
//! the chain (`Check`) is folded in order. Memory is bounded, whatever the size of the log.

use crate::chain::{Anchor, ChainFault, Digest, Link, LogId, Verifier};
use crate::contract::{Head, IntegrityFault, Log, ReadError, Record, StoredPayload};
use crate::event::kind::LogReanchored;
use crate::event::stored;
use crate::event::{EventKind, Seq, Timestamp};
use crate::payload::row;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// How many records are inspected at once by one thread.
const CHUNK: usize = 1_024;

/// What one record gives when it is looked at alone.
#[derive(Clone, Debug)]
pub(crate) struct Inspected {
    seq: Seq,
    prev: Seq,
    digest: Digest,
    link: Link,
    at: Timestamp,
    payloads: u64,
    reanchored: Option<LogReanchored>,
    fault: Option<IntegrityFault>,
}

impl Inspected {
    /// Looks at records and their payload rows; both in order, and the rows of all these records.
    pub(crate) fn all(log: LogId, records: &[Record], rows: &[StoredPayload]) -> Vec<Self> {
        let mut rows = rows;
        records
            .iter()
            .map(|record| {
                let skip = rows.iter().take_while(|row| row.seq < record.seq).count();
                rows = rows.get(skip..).unwrap_or_default();
                let own = rows.iter().take_while(|row| row.seq == record.seq).count();
                let (own, rest) = rows.split_at_checked(own).unwrap_or_default();
                rows = rest;
                Self::of(log, record, own)
            })
            .collect()
    }

    fn of(log: LogId, record: &Record, rows: &[StoredPayload]) -> Self {
        let seq = record.seq;
        let mut inspected = Self {
            seq,
            prev: record.prev,
            digest: record.digest(log),
            link: record.link,
            at: Timestamp::default(),
            payloads: 0,
            reanchored: None,
            fault: None,
        };
        let event = match stored::decode_canonical(seq, record.prev, record.body.as_bytes()) {
            Ok(event) => event,
            Err(error) => {
                let what = describe(&error);
                inspected.fault = Some(IntegrityFault::Unreadable { seq, what });
                return inspected;
            }
        };
        inspected.at = event.at;
        for payload in &event.payloads {
            let stored = rows.iter().find(|row| row.index == payload.index);
            let fault = match stored.map(|stored| row::check(&stored.row, payload)) {
                Some(Ok(())) => {
                    inspected.payloads += 1;
                    continue;
                }
                Some(Err(_)) => IntegrityFault::PayloadChanged {
                    seq,
                    index: payload.index,
                },
                None => IntegrityFault::PayloadMissing {
                    seq,
                    index: payload.index,
                },
            };
            inspected.fault.get_or_insert(fault);
        }
        if let EventKind::LogReanchored(facts) = event.kind {
            inspected.reanchored = Some(facts);
        }
        inspected
    }
}

/// The causes of an error in one line.
fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// The chain, folded over inspected records.
#[derive(Debug)]
pub(crate) struct Check {
    chain: Verifier,
    at: Timestamp,
    known: Vec<LogReanchored>,
}

impl Check {
    /// Begins before the first event; these re-anchorings name places that are known to be lost.
    pub(crate) fn new(log: LogId, known: Vec<LogReanchored>) -> Self {
        Self {
            chain: Verifier::new(log),
            at: Timestamp::default(),
            known,
        }
    }

    /// Goes on after a place that is trusted.
    pub(crate) fn after(anchor: Anchor) -> Self {
        Self {
            chain: Verifier::after(anchor),
            at: Timestamp::default(),
            known: Vec::new(),
        }
    }

    /// Takes the next record.
    pub(crate) fn take(
        &mut self,
        record: Inspected,
        progress: &mut Progress,
    ) -> Result<(), Box<IntegrityFault>> {
        let seq = record.seq;
        let lost = self
            .known
            .iter()
            .any(|k| k.found < seq && seq <= k.witnessed);
        if let Some(facts) = &record.reanchored {
            let gap = facts.witnessed.next() == seq && facts.found == self.chain.anchor().seq;
            if gap && facts.found < facts.witnessed {
                let (seq, link) = (facts.witnessed, facts.witnessed_link);
                self.chain.jump(Anchor {
                    seq,
                    link,
                    ..self.chain.anchor()
                });
            }
            progress.reanchored.push((seq, facts.clone()));
        }
        if let Err(fault) = self.chain.take(seq, record.digest, Some(record.link)) {
            if !lost {
                return Err(IntegrityFault::from(fault).into());
            }
            self.chain.jump(Anchor {
                seq,
                link: record.link,
                ..self.chain.anchor()
            });
        }
        if record.prev >= seq {
            let found = Seq(seq.0.saturating_sub(1));
            return Err(IntegrityFault::Thread {
                seq,
                stored: record.prev,
                found,
            }
            .into());
        }
        match record.fault {
            Some(fault) if !lost => return Err(fault.into()),
            Some(_) => progress.missing += 1,
            None => {}
        }
        if record.at < self.at && !lost {
            return Err(IntegrityFault::Time { seq }.into());
        }
        self.at = record.at;
        progress.events += 1;
        progress.payloads += record.payloads;
        progress.first.get_or_insert(seq);
        Ok(())
    }

    /// Where it has come to.
    pub(crate) fn anchor(&self) -> Anchor {
        self.chain.anchor()
    }
}

/// What has been verified so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The first place.
    pub first: Option<Seq>,
    /// Events that hold.
    pub events: u64,
    /// Payloads that are what their events committed to.
    pub payloads: u64,
    /// Payloads that were erased, by an event that says so.
    pub erased: u64,
    /// Payloads and events in ranges that a re-anchoring gave up.
    pub missing: u64,
    /// Every re-anchoring, with its place.
    pub reanchored: Vec<(Seq, LogReanchored)>,
}

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How far it came.
    pub head: Head,
    /// What holds.
    pub progress: Progress,
    /// The first thing that does not; everything before it does.
    pub fault: Option<IntegrityFault>,
}

/// One portion of work for a thread.
struct Portion {
    number: u64,
    records: Vec<Record>,
    rows: Vec<StoredPayload>,
}

/// Verifies a log from its first event to the head that it had when this began.
///
/// `known` are the re-anchorings of the log, whose lost ranges are reported instead of failing;
/// `threads` bounds how many cores are used; `tell` hears how many events are done.
///
/// # Errors
/// Only if the log cannot be read for another reason than damage.
pub async fn verify<L: Log>(
    log: &L,
    known: Vec<LogReanchored>,
    threads: usize,
    mut tell: impl FnMut(u64),
) -> Result<Verified, ReadError> {
    let head = *log.head().borrow();
    let mut fold = Fold {
        check: Check::new(head.log, known),
        progress: Progress::default(),
        early: BTreeMap::new(),
        next: 0,
        fault: None,
    };
    let crew = Crew::hire(head.log, threads.clamp(1, 16));
    let mut sent = 0;
    let mut after = Seq::ZERO;
    while after < head.seq && fold.fault.is_none() {
        let portion = match portion(log, sent, after, head.seq).await {
            Ok(Some(portion)) => portion,
            Ok(None) => break,
            Err(error) => match as_fault(log, after, error).await? {
                Damaged {
                    good: Some(portion),
                    fault,
                } => {
                    fold.finish(&crew, sent);
                    let inspected = Inspected::all(head.log, &portion.records, &portion.rows);
                    fold.take_all(inspected);
                    fold.fault.get_or_insert(fault);
                    break;
                }
                Damaged { good: None, fault } => {
                    fold.finish(&crew, sent);
                    fold.fault.get_or_insert(fault);
                    break;
                }
            },
        };
        after = portion.records.last().map_or(head.seq, |record| record.seq);
        crew.give(portion);
        sent += 1;
        // Bounded: at most a few portions are under way.
        while sent - fold.next > 2 * crew.size {
            fold.receive(&crew);
        }
        tell(fold.progress.events);
    }
    fold.finish(&crew, sent);
    if fold.fault.is_none() && fold.check.anchor() != head {
        let found = fold.check.anchor();
        fold.fault = Some(IntegrityFault::Shorter {
            witnessed: head,
            found,
        });
    }
    Ok(Verified {
        head: fold.check.anchor(),
        progress: fold.progress,
        fault: fold.fault,
    })
}

async fn portion<L: Log>(
    log: &L,
    number: u64,
    after: Seq,
    through: Seq,
) -> Result<Option<Portion>, ReadError> {
    let mut records = log.read(after, CHUNK).await?;
    records.retain(|record| record.seq <= through);
    let Some(last) = records.last().map(|record| record.seq) else {
        return Ok(None);
    };
    let mut rows: Vec<StoredPayload> = Vec::new();
    let mut place = (after, u16::MAX);
    loop {
        let more = log.payload_rows(place, last).await?;
        let Some(end) = more.last().map(|row| (row.seq, row.index)) else {
            break;
        };
        rows.extend(more);
        place = end;
    }
    Ok(Some(Portion {
        number,
        records,
        rows,
    }))
}

/// Where reading stopped because of damage.
struct Damaged {
    good: Option<Portion>,
    fault: IntegrityFault,
}

/// Finds the first event that cannot be read, by reading one at a time.
async fn as_fault<L: Log>(log: &L, after: Seq, error: ReadError) -> Result<Damaged, ReadError> {
    let what = match error {
        ReadError::Store(source) => describe(&*source),
        ReadError::Integrity(fault) => fault.to_string(),
        ReadError::Io(_) | ReadError::HostLost | ReadError::Busy => return Err(error),
    };
    let mut records = Vec::new();
    let mut rows = Vec::new();
    let mut at = after;
    for _ in 0..CHUNK {
        match portion(log, 0, at, at.next()).await {
            Ok(Some(one)) => {
                records.extend(one.records);
                rows.extend(one.rows);
                at = at.next();
            }
            Ok(None) | Err(_) => break,
        }
    }
    let good = (!records.is_empty()).then_some(Portion {
        number: 0,
        records,
        rows,
    });
    Ok(Damaged {
        good,
        fault: IntegrityFault::Unreadable {
            seq: at.next(),
            what,
        },
    })
}

/// The folding side: puts portions back into order.
struct Fold {
    check: Check,
    progress: Progress,
    early: BTreeMap<u64, Vec<Inspected>>,
    next: u64,
    fault: Option<IntegrityFault>,
}

impl Fold {
    /// Waits for one portion and folds what is in order.
    fn receive(&mut self, crew: &Crew) {
        let Ok((number, inspected)) = crew.done.recv() else {
            self.fault.get_or_insert(IntegrityFault::Store {
                what: "a verifying thread ended unexpectedly".to_owned(),
            });
            self.next = u64::MAX;
            return;
        };
        self.early.insert(number, inspected);
        while let Some(inspected) = self.early.remove(&self.next) {
            self.take_all(inspected);
            self.next += 1;
        }
    }

    fn take_all(&mut self, inspected: Vec<Inspected>) {
        for record in inspected {
            if self.fault.is_some() {
                return;
            }
            self.fault = self
                .check
                .take(record, &mut self.progress)
                .err()
                .map(|fault| *fault);
        }
    }

    fn finish(&mut self, crew: &Crew, sent: u64) {
        while self.next < sent {
            self.receive(crew);
        }
    }
}

/// The threads that inspect.
struct Crew {
    work: Sender<Portion>,
    done: Receiver<(u64, Vec<Inspected>)>,
    size: u64,
}

impl Crew {
    fn hire(log: LogId, threads: usize) -> Self {
        let (work, todo) = channel::<Portion>();
        let (results, done) = channel();
        let todo = Arc::new(Mutex::new(todo));
        for _ in 0..threads {
            let todo = Arc::clone(&todo);
            let results = results.clone();
            // They end when the work's sender is dropped; none holds anything that outlives it.
            std::thread::spawn(move || {
                loop {
                    let next = todo.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(portion) = next else { return };
                    let inspected = Inspected::all(log, &portion.records, &portion.rows);
                    if results.send((portion.number, inspected)).is_err() {
                        return;
                    }
                }
            });
        }
        Self {
            work,
            done,
            size: u64::try_from(threads).unwrap_or(1),
        }
    }

    fn give(&self, portion: Portion) {
        // A crew that is gone shows when its results are awaited.
        let _shows_later = self.work.send(portion);
    }
}

/// Holds a head that was kept elsewhere against the log.
///
/// # Errors
/// If the log cannot be read.
pub async fn against<L: Log>(log: &L, kept: Anchor) -> Result<Option<IntegrityFault>, ReadError> {
    let head = *log.head().borrow();
    if kept.log != head.log {
        return Ok(Some(IntegrityFault::OtherLog {
            witnessed: kept,
            found: head.log,
        }));
    }
    if kept.seq > head.seq {
        return Ok(Some(IntegrityFault::Shorter {
            witnessed: kept,
            found: head,
        }));
    }
    let link = match log.pick(&[kept.seq]).await?.pop() {
        Some(record) => record.link,
        None if kept.seq == Seq::ZERO => crate::chain::genesis(head.log),
        None => {
            return Ok(Some(
                ChainFault::Gap {
                    expected: kept.seq,
                    found: head.seq,
                }
                .into(),
            ));
        }
    };
    Ok((link != kept.link).then_some(IntegrityFault::OtherLink {
        witnessed: kept,
        found: link,
        head,
    }))
}
