//! Opening a log: begin it where there is none, and check it where its last close is not known to be clean.

use super::check;
use super::folder::{Kept, LogFolder, journals, sync_folder};
use super::isolated::{damaged_store, open_isolated, refused};
use super::store::{self, Damage, Store};
use super::witness::{Heard, Testimony, Witness, fingerprint, place_of};
use super::{OpenError, fault, id_of, salvage};
use crate::backend::sequencer::{FORMAT, Sequencer, genesis_draft, thread_keys};
use crate::contract::{Head, IntegrityFault, Record};
use crate::event::kind::LogCreated;
use crate::event::{EventKind, Seq};
use crate::seam::Ids;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An opened log, before its writer runs.
pub(super) struct OpenedLog {
    pub(super) store: Store,
    pub(super) database: PathBuf,
    pub(super) sequencer: Sequencer,
    pub(super) witness: Witness,
    pub(super) needed_format: u32,
    pub(super) journal_bytes: u64,
    pub(super) fault: Option<IntegrityFault>,
}

pub(super) fn open(folder: &LogFolder, ids: &Ids) -> Result<OpenedLog, OpenError> {
    folder.create()?;
    let database = match folder.current()? {
        Some(database) => database,
        None => begin(folder, ids)?,
    };
    let testimony = Heard::of(folder, None)?;
    let clean = match testimony.inside.and_then(|said| said.clean) {
        Some(journals) => journals == fingerprint(&database)?,
        None => false,
    };
    let kept = if clean {
        Kept::OnDisk
    } else {
        folder.keep_journals(&database)?
    };
    let opened = check_open(folder, ids, database.clone(), &testimony, clean);
    if !matches!(&opened, Ok(opened) if opened.fault.is_none()) {
        folder.save_journals(&kept)?;
    }
    match opened {
        Err(OpenError::Integrity(fault)) => {
            before_damage(folder, ids, &database, &testimony, fault)
        }
        other => other,
    }
}

/// Opens what is whole before the damage of a store that does not open. From then on that is the
/// database, and what it lacks is a fault that was noted before.
fn before_damage(
    folder: &LogFolder,
    ids: &Ids,
    damaged: &Path,
    testimony: &Heard,
    fault: Arc<IntegrityFault>,
) -> Result<OpenedLog, OpenError> {
    if !matches!(*fault, IntegrityFault::Store { .. }) || super::whole::lacking(damaged)?.is_some()
    {
        return Err(OpenError::Integrity(fault));
    }
    let Some(beginning) = salvage::longest_beginning(folder, damaged)? else {
        return Err(OpenError::Integrity(fault));
    };
    let Ok(opened) = check_open(folder, ids, beginning.clone(), testimony, false) else {
        super::folder::remove_folder(&beginning)?;
        return Err(OpenError::Integrity(fault));
    };
    opened.store.close();
    if let Some(lacking) = &opened.fault {
        super::folder::replace_file(&folder.fault(), &fault::encode(lacking))?;
    }
    let database = folder.finish_database(&beginning)?;
    folder.leave_kept_journals_with(damaged)?;
    check_open(folder, ids, database, testimony, false)
}

/// Opens the database and holds everything against each other.
fn check_open(
    folder: &LogFolder,
    ids: &Ids,
    database: PathBuf,
    testimony: &Heard,
    clean: bool,
) -> Result<OpenedLog, OpenError> {
    let store = open_isolated(&database)?;
    let (first, last) = ends(&store).map_err(|damage| unreadable(&damage))?;
    let (Some(first), Some(last)) = (first, last) else {
        let witnessed = testimony.newest().map(|said| said.head);
        return Err(OpenError::Integrity(Arc::new(match witnessed {
            Some(_) => IntegrityFault::Gone { witnessed },
            None => IntegrityFault::Store {
                what: "the database holds no event".to_owned(),
            },
        })));
    };
    let needed_format = needed_format(&store, &first)?;
    let head = Head {
        log: id_of(&first),
        seq: last.seq,
        link: last.link,
    };
    let at = last.decode().map(|event| event.at).unwrap_or_default();
    // The outside witness is asked again by the log that is really there.
    let testimony = Heard {
        outside: Heard::of(folder, Some(head.log))?.outside,
        inside: testimony.inside,
    };
    let seen = check::against(&store, head, &testimony, clean);
    let fault = match (noted_fault(folder)?, seen) {
        // It has become shorter still: what was noted names an end that is no more.
        (Some(IntegrityFault::Shorter { found, .. }), Some(seen)) if found != head => Some(seen),
        // A backup was put back: nothing is missing any more.
        (Some(IntegrityFault::Shorter { witnessed, .. }), None) if witnessed.seq <= head.seq => {
            folder.forget_fault()?;
            None
        }
        (Some(noted), _) => Some(noted),
        (None, seen) => seen,
    };
    if fault.is_none() {
        folder.drop_kept_journals()?;
    }
    let witness = rejoin(folder, head, &testimony, fault.is_none())?;
    let journal_bytes = journals(&database)?
        .iter()
        .filter_map(|journal| journal.metadata().ok())
        .map(|metadata| metadata.len())
        .sum();
    Ok(OpenedLog {
        store,
        database,
        sequencer: Sequencer::resume(head, at, Some(ids.host())).stepping(ids.is_seeded()),
        witness,
        needed_format,
        journal_bytes,
        fault,
    })
}

/// Makes a database beside, with its first event, and gives it its name when it is complete.
fn begin(folder: &LogFolder, ids: &Ids) -> Result<PathBuf, OpenError> {
    if let Some(fault) = folder.lost()? {
        return Err(OpenError::Integrity(Arc::new(fault)));
    }
    let made = folder.begin_database()?;
    let genesis = genesis_draft(ids);
    let created = Sequencer::create(&genesis, ids.now(), Some(ids.host()));
    let (sequencer, record) = created.map_err(OpenError::Create)?;
    {
        let store = Store::open(&made).map_err(OpenError::Store)?;
        let mut write = store.batch(4);
        write.insert(&store.events, record.seq.to_key(), store::encode(&record));
        let (thread, _) = thread_keys(&genesis);
        write.insert(&store.threads, thread.into_bytes(), record.seq.to_key());
        write.insert(&store.meta, "format", FORMAT.to_be_bytes());
        write.commit().map_err(OpenError::Store)?;
        store.sync().map_err(OpenError::Store)?;
        store.close();
    }
    sync_folder(&made)?;
    let database = folder.finish_database(&made)?;
    let journals = fingerprint(&database)?;
    let mut witness = Witness::open(folder, Testimony::new(folder, sequencer.head()))?;
    witness.say(|said| said.clean = Some(journals))?;
    Ok(database)
}

/// The witness goes on from what it said, unless that is contested: then it keeps saying it.
fn rejoin(
    folder: &LogFolder,
    head: Head,
    testimony: &Heard,
    trusted: bool,
) -> Result<Witness, OpenError> {
    let said = testimony.inside.or(testimony.outside);
    let said = said.unwrap_or_else(|| Testimony::new(folder, head));
    let mut witness = Witness::open(folder, said)?;
    let behind = testimony.inside.is_none_or(|h| h.head != head)
        || testimony.outside.is_none_or(|h| h.head != head);
    // Where all of it was moved, the witness goes along.
    let place = place_of(folder);
    if trusted && (behind || witness.said().place != place) {
        witness.say(|said| {
            said.head = head;
            said.place = place;
        })?;
    }
    Ok(witness)
}

fn ends(store: &Store) -> Result<(Option<Record>, Option<Record>), Damage> {
    Ok((store.record(Seq(1))?, store.last()?))
}

/// The oldest format that may write, which must not be one that we cannot even read.
fn needed_format(store: &Store, first: &Record) -> Result<u32, OpenError> {
    let marked = store.meta.get("format").map_err(refused)?;
    let marked = marked
        .and_then(|value| value.as_ref().try_into().ok())
        .map(u32::from_be_bytes);
    let kind = first.decode().map(|event| event.kind);
    let Ok(EventKind::LogCreated(LogCreated {
        format: created, ..
    })) = kind
    else {
        return Err(OpenError::NewerFormat {
            found: marked.unwrap_or(0),
            ours: FORMAT,
        });
    };
    if created > FORMAT {
        return Err(OpenError::NewerFormat {
            found: created,
            ours: FORMAT,
        });
    }
    Ok(marked.unwrap_or(created))
}

fn noted_fault(folder: &LogFolder) -> Result<Option<IntegrityFault>, OpenError> {
    let note = super::folder::read_bounded(&folder.fault(), 65_536)?;
    Ok(note.map(|note| fault::decode(&note)))
}

fn unreadable(damage: &Damage) -> OpenError {
    match damage {
        Damage::Store(error) => damaged_store(error),
        Damage::Record(seq) => OpenError::Integrity(Arc::new(IntegrityFault::Unreadable {
            seq: *seq,
            what: "its row is not one of ours".to_owned(),
        })),
    }
}
