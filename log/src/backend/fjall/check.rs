//! What is held against each other when a log is opened.

use super::store::{Damage, Store};
use super::witness::Heard;
use crate::backend::sequencer::keys_of;
use crate::chain::{self, LogId};
use crate::contract::{Head, IntegrityFault, READ_RECORDS_MAX, Record};
use crate::event::Seq;
use crate::verify::{Check, Inspected, Progress};

/// The first thing that does not hold, if any.
///
/// The head is always held against both witnesses. After an unclean end, every event that still lay in a
/// journal is verified too, with its payloads and its thread: damage in a journal can drop any part of it.
pub(super) fn against(
    store: &Store,
    head: Head,
    said: &Heard,
    clean: bool,
) -> Option<IntegrityFault> {
    for witnessed in [said.inside, said.outside]
        .into_iter()
        .flatten()
        .map(|testimony| testimony.head)
    {
        if let Err(fault) = against_witness(store, head, witnessed) {
            return Some(*fault);
        }
    }
    if clean {
        // Damage cannot have come from a journal; whether the newest event's thread is there is cheap.
        let last = store.last().ok().flatten();
        return last.and_then(|last| remembered(store, &last).err().map(|fault| *fault));
    }
    let flushed = said
        .inside
        .map_or(Seq::ZERO, |testimony| testimony.flushed)
        .min(head.seq);
    tail(store, head, flushed).err().map(|fault| *fault)
}

fn against_witness(store: &Store, head: Head, witnessed: Head) -> Result<(), Box<IntegrityFault>> {
    if witnessed.log != head.log {
        return Err(IntegrityFault::OtherLog {
            witnessed,
            found: head.log,
        }
        .into());
    }
    if witnessed.seq > head.seq {
        return Err(IntegrityFault::Shorter {
            witnessed,
            found: head,
        }
        .into());
    }
    let link = if witnessed.seq == head.seq {
        head.link
    } else {
        let record = store
            .record(witnessed.seq)
            .map_err(|damage| as_fault(&damage))?;
        match record {
            Some(record) => record.link,
            // Places that a re-anchoring left empty were never witnessed.
            None => return Err(missing(witnessed.seq).into()),
        }
    };
    if link != witnessed.link {
        return Err(IntegrityFault::OtherLink {
            witnessed,
            found: link,
            head,
        }
        .into());
    }
    Ok(())
}

fn tail(store: &Store, head: Head, flushed: Seq) -> Result<(), Box<IntegrityFault>> {
    let start = match store.record(flushed).map_err(|damage| as_fault(&damage))? {
        Some(record) => Head {
            log: head.log,
            seq: record.seq,
            link: record.link,
        },
        None => before_first(head.log),
    };
    let mut check = Check::after(start);
    let mut after = start.seq;
    while after < head.seq {
        let records = store
            .records(after, head.seq, READ_RECORDS_MAX / 4)
            .map_err(|damage| as_fault(&damage))?;
        let Some(last) = records.last().map(|record| record.seq) else {
            return Err(missing(after.next()).into());
        };
        let mut rows = Vec::new();
        let mut place = (after, u16::MAX);
        loop {
            let more = store
                .payload_rows(place, last)
                .map_err(|damage| as_fault(&damage))?;
            let Some(end) = more.last().map(|row| (row.seq, row.index)) else {
                break;
            };
            rows.extend(more);
            place = end;
        }
        for inspected in Inspected::all(head.log, &records, &rows) {
            check.take(inspected, &mut Progress::default())?;
        }
        for record in &records {
            remembered(store, record)?;
        }
        after = last;
    }
    Ok(())
}

/// The thread and the subject of an event must be remembered at its place or later.
fn remembered(store: &Store, record: &Record) -> Result<(), Box<IntegrityFault>> {
    let Ok(event) = record.decode() else {
        return Ok(());
    };
    let Some(subject) = &event.subject else {
        return Ok(());
    };
    let (thread, subject) = keys_of(subject, &event.links);
    for key in [thread, subject] {
        let value = store
            .threads
            .get(key)
            .map_err(|error| as_fault(&Damage::Store(error)))?;
        let newest = value
            .and_then(|value| Seq::from_key(&value))
            .unwrap_or_default();
        if newest < record.seq {
            return Err(IntegrityFault::Thread {
                seq: record.seq,
                stored: newest,
                found: record.seq,
            }
            .into());
        }
    }
    Ok(())
}

fn missing(seq: Seq) -> IntegrityFault {
    IntegrityFault::Unreadable {
        seq,
        what: "it is not there".to_owned(),
    }
}

fn as_fault(damage: &Damage) -> IntegrityFault {
    match damage {
        Damage::Store(error) => IntegrityFault::Store {
            what: error.to_string(),
        },
        Damage::Record(seq) => IntegrityFault::Unreadable {
            seq: *seq,
            what: "its row is not one of ours".to_owned(),
        },
    }
}

/// The head that a log has before its first event.
fn before_first(log: LogId) -> Head {
    Head {
        log,
        seq: Seq::ZERO,
        link: chain::genesis(log),
    }
}
