//! The views of a process that hosts them: rows, and where the events come from.
//!
//! One folder belongs to one process (the log's lock sees to that). Views follow behind the log: every
//! reader names the least place that it needs and waits until they stand there. A folder that is gone,
//! damaged, of another log, of other versions or ahead of the log is folded again from the first
//! event; that loses nothing but time.

use crate::error::ViewsError;
use crate::rows::disk::DiskStore;
use crate::rows::memory::MemoryStore;
use crate::rows::store::Store;
use crate::rows::{Index, KeyRange, Order, Places, Read, Row, Table};
use crate::select::{Filter, select};
use crate::verify::{self, Comparison};
use crate::views::{Source, State, Until, ViewName, catch_up, fingerprint, names};
use missive_log::chain::LogId;
use missive_log::event::Seq;
use missive_log::{Head, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

/// Where the views stand; for `projection list` and `doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The log that they are folded from.
    pub log: LogId,
    /// The newest event that they have folded.
    pub position: Seq,
    /// Every view and its version.
    pub views: Vec<ViewName>,
    /// How many events could not be read, and were folded as nothing.
    pub unreadable: u64,
    /// The first of them.
    pub unreadable_first: Option<Seq>,
}

/// Views, hosted.
pub struct ViewsHost {
    folder: Option<PathBuf>,
    source: Source,
    /// Whoever holds it folds; there is one at a time.
    state: Mutex<State>,
    /// The place of `state`, for those who only need to know that they need not wait.
    position: AtomicU64,
    /// Places before that without an event; a copy of those of `state`.
    gaps: RwLock<Vec<Places>>,
    /// `None` once closed. Held for writing only while the folder is exchanged.
    store: RwLock<Option<Store>>,
    /// A reader met a row that it could not read: the next fold begins from nothing.
    suspect: AtomicBool,
    lost: Option<Head>,
}

impl fmt::Debug for ViewsHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ViewsHost({:?} at {})", self.folder, self.position())
    }
}

/// The folder of the views, open before it is known what their log holds: the two can be opened side by side.
#[derive(Debug)]
pub struct ViewsFolder {
    folder: PathBuf,
    store: DiskStore,
}

impl ViewsFolder {
    /// Opens the folder, or makes it.
    pub fn open(folder: &Path) -> Result<Self, ViewsError> {
        remove(&beside(folder))?;
        Ok(Self {
            folder: folder.to_owned(),
            store: open_or_make(folder)?,
        })
    }

    /// The views of a log that stands at `head`, as [`ViewsHost::open`] gives them.
    pub fn of_log(self, head: Head, source: Source) -> Result<ViewsHost, ViewsError> {
        ViewsHost::begin(self, head, source)
    }
}

impl ViewsHost {
    /// Opens the folder, or makes it, for a log that stands at `head`. Folds nothing yet.
    ///
    /// What is found there is used only if it is some earlier state of this log, folded by the same
    /// versions; otherwise it is removed.
    pub fn open(folder: &Path, head: Head, source: Source) -> Result<Self, ViewsError> {
        ViewsFolder::open(folder)?.of_log(head, source)
    }

    fn begin(
        ViewsFolder { folder, store }: ViewsFolder,
        head: Head,
        source: Source,
    ) -> Result<Self, ViewsError> {
        let mut store = store;
        let (state, lost) = match examine(&store, head, &source) {
            Found::Earlier(state) => (Some(state), None),
            Found::Empty => (Some(State::new(head.log)), None),
            Found::Foreign => (None, None),
            Found::Lost(seen) => (None, Some(seen)),
        };
        if state.is_none() {
            drop(store);
            remove(&folder)?;
            store = open_or_make(&folder)?;
        }
        let state = state.unwrap_or_else(|| State::new(head.log));
        let mut host = Self::with(Some(folder), Store::Disk(store), state, source);
        host.lost = lost;
        Ok(host)
    }

    /// What the views had folded of this very log, if the log no longer has it: they are a witness of
    /// the log's loss, for the one open that finds it.
    pub fn lost(&self) -> Option<Head> {
        self.lost
    }

    /// Views in memory, before the first event.
    pub fn in_memory(log: LogId, source: Source) -> Self {
        let store = Store::Memory(MemoryStore::default());
        Self::with(None, store, State::new(log), source)
    }

    /// Views in memory as they stood at a place, for good.
    pub fn at(log: LogId, place: Seq, source: Source) -> Result<Self, ViewsError> {
        let host = Self::in_memory(log, source);
        host.advance(&mut host.folding(), Until::Exactly(place))?;
        Ok(host)
    }

    /// Rows that were folded elsewhere, and that follow nothing.
    pub(crate) fn of_rows(store: Store, state: State) -> Self {
        Self::with(None, store, state, Box::new(|_, _| Ok(Vec::new())))
    }

    fn with(folder: Option<PathBuf>, store: Store, state: State, source: Source) -> Self {
        Self {
            folder,
            source,
            position: AtomicU64::new(state.position.0),
            gaps: RwLock::new(state.gaps.clone()),
            state: Mutex::new(state),
            store: RwLock::new(Some(store)),
            suspect: AtomicBool::new(false),
            lost: None,
        }
    }

    /// The newest event that the views have folded.
    pub fn position(&self) -> Seq {
        Seq(self.position.load(Ordering::Acquire))
    }

    /// Whether the views stand at least at this place, and nothing is to be folded again.
    pub(crate) fn stands_at(&self, least: Seq) -> bool {
        self.position() >= least && !self.suspect.load(Ordering::Acquire)
    }

    /// Waits until the views stand at least at this place, folding what is missing.
    pub fn ensure(&self, least: Seq) -> Result<(), ViewsError> {
        let suspect = self.suspect.load(Ordering::Acquire);
        if self.position() >= least && !suspect {
            return Ok(());
        }
        let mut state = self.folding();
        if suspect {
            self.rebuild_in(&mut state)?;
            self.suspect.store(false, Ordering::Release);
        }
        match self.advance(&mut state, Until::Least(least)) {
            // What is on disk cannot be read: everything is in the log, so fold it again, once.
            Err(error) if error.is_damage() => {
                self.rebuild_in(&mut state)?;
                self.advance(&mut state, Until::Least(least))
            }
            other => other,
        }
    }

    /// Folds every event again into a new folder beside, which then takes the place of the old one.
    /// Readers are served from the old one until then. A death on the way leaves one of the two.
    pub fn rebuild(&self) -> Result<Status, ViewsError> {
        let mut state = self.folding();
        self.rebuild_in(&mut state)?;
        Ok(status(&state))
    }

    /// Folds every event again into memory and compares row by row. Nothing is folded meanwhile.
    pub fn verify(&self) -> Result<Comparison, ViewsError> {
        let state = self.folding();
        let fresh = Store::Memory(MemoryStore::default());
        let until = Until::Exactly(state.position);
        catch_up(
            &fresh,
            State::new(state.log),
            &self.source,
            until,
            &mut |_| {},
        )?;
        let live = self.store();
        let live = live.as_ref().ok_or(ViewsError::Closed)?;
        verify::compare(live, &fresh, state.position)
    }

    /// Where the views stand.
    pub fn status(&self) -> Status {
        status(&self.folding())
    }

    /// The places that a filter means.
    pub fn select(&self, filter: &Filter) -> Result<Vec<Seq>, ViewsError> {
        // The position before the rows: what is folded meanwhile is left out, not half seen.
        let position = self.position();
        let gaps = self.gaps();
        select(self, filter, position, &gaps, &|seq| self.time_of(seq))
    }

    /// Closes the folder, so that it opens quickly again. Later calls fail with [`ViewsError::Closed`].
    pub fn close(&self) -> Result<(), ViewsError> {
        let _state = self.folding();
        let mut store = self.store.write().unwrap_or_else(PoisonError::into_inner);
        match store.take() {
            Some(Store::Disk(store)) => store.close(),
            Some(Store::Memory(_)) | None => Ok(()),
        }
    }

    fn folding(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self) -> RwLockReadGuard<'_, Option<Store>> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn gaps(&self) -> Vec<Places> {
        let gaps = self.gaps.read().unwrap_or_else(PoisonError::into_inner);
        gaps.clone()
    }

    /// Lets readers know where the views stand.
    fn publish(&self, state: &State) {
        let mut gaps = self.gaps.write().unwrap_or_else(PoisonError::into_inner);
        gaps.clone_from(&state.gaps);
        self.position.store(state.position.0, Ordering::Release);
    }

    fn time_of(&self, seq: Seq) -> Result<Timestamp, ViewsError> {
        let records = (self.source)(Seq(seq.0.saturating_sub(1)), 1)?;
        let event = records.first().map(missive_log::Record::decode);
        match event {
            Some(Ok(event)) => Ok(event.at),
            Some(Err(_)) | None => Err(ViewsError::Unreadable { seq }),
        }
    }

    fn advance(&self, state: &mut State, until: Until) -> Result<(), ViewsError> {
        let store = self.store();
        let store = store.as_ref().ok_or(ViewsError::Closed)?;
        let mut reached = state.clone();
        let folded = catch_up(store, state.clone(), &self.source, until, &mut |next| {
            reached = next.clone();
            self.publish(next);
        });
        // Chunks that were committed before a fault are there.
        *state = reached;
        folded.map(|_| ())
    }

    /// Rebuilds up to where the old views stood, or a chunk further.
    fn rebuild_in(&self, state: &mut State) -> Result<(), ViewsError> {
        let until = Until::Least(state.position);
        let Some(folder) = &self.folder else {
            let fresh = Store::Memory(MemoryStore::default());
            let fresh_state = State::new(state.log);
            *state = catch_up(&fresh, fresh_state, &self.source, until, &mut |_| {})?;
            *self.store.write().unwrap_or_else(PoisonError::into_inner) = Some(fresh);
            self.publish(state);
            return Ok(());
        };
        let new = beside(folder);
        remove(&new)?;
        let fresh = Store::Disk(DiskStore::open(&new)?);
        let fresh_state = State::new(state.log);
        let rebuilt = catch_up(&fresh, fresh_state, &self.source, until, &mut |_| {})?;
        if let Store::Disk(fresh) = fresh {
            fresh.close()?;
        }
        let mut store = self.store.write().unwrap_or_else(PoisonError::into_inner);
        // fjall's lock lives until the last handle is gone, and the folder moves under none.
        drop(store.take());
        remove(folder)?;
        std::fs::rename(&new, folder)?;
        *store = Some(Store::Disk(DiskStore::open(folder)?));
        *state = rebuilt;
        self.publish(state);
        Ok(())
    }

    fn reading<T>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, ViewsError>,
    ) -> Result<T, ViewsError> {
        let store = self.store();
        let answer = read(store.as_ref().ok_or(ViewsError::Closed)?);
        if answer.as_ref().is_err_and(ViewsError::is_damage) {
            self.suspect();
        }
        answer
    }

    /// A row was read and is none: the next fold begins from nothing.
    pub(crate) fn suspect(&self) {
        self.suspect.store(true, Ordering::Release);
    }
}

impl Read for ViewsHost {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, ViewsError> {
        self.reading(|store| Read::get(store, table, key))
    }

    fn scan(
        &self,
        table: Table,
        range: &KeyRange,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Row>, ViewsError> {
        self.reading(|store| Read::scan(store, table, range, order, limit))
    }

    fn postings(
        &self,
        index: Index,
        term: &[u8],
        places: Places,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Seq>, ViewsError> {
        self.reading(|store| Read::postings(store, index, term, places, order, limit))
    }
}

fn status(state: &State) -> Status {
    Status {
        log: state.log,
        position: state.position,
        views: names(),
        unreadable: state.unreadable,
        unreadable_first: state.unreadable_first,
    }
}

/// Where a rebuild gathers.
fn beside(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    folder.with_file_name(name)
}

fn remove(folder: &Path) -> Result<(), ViewsError> {
    match std::fs::remove_dir_all(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn open_or_make(folder: &Path) -> Result<DiskStore, ViewsError> {
    match DiskStore::open(folder) {
        // Somebody else has it open, or the disk says no: removing it would help nobody.
        Err(ViewsError::Store(error)) if matches!(*error, fjall::Error::Locked) => {
            Err(ViewsError::Store(error))
        }
        Err(ViewsError::Store(_)) => {
            remove(folder)?;
            DiskStore::open(folder)
        }
        other => other,
    }
}

/// What a store turned out to be.
enum Found {
    /// Some earlier state of this log, folded by this build.
    Earlier(State),
    /// Without a row: just made, or left before the first chunk.
    Empty,
    /// Of another log or another build, or damaged.
    Foreign,
    /// A state of this log that the log itself no longer has.
    Lost(Head),
}

fn examine(store: &DiskStore, head: Head, source: &Source) -> Found {
    let state = match State::load(store) {
        Ok(Some(state)) => state,
        Ok(None) => return Found::Empty,
        Err(_) => return Found::Foreign,
    };
    let (Some(link), true) = (state.link, state.log == head.log) else {
        return Found::Foreign;
    };
    let seen = Head {
        log: state.log,
        seq: state.position,
        link,
    };
    if state.position > head.seq {
        return Found::Lost(seen);
    }
    // A log that lost events and went on has other events at the same places. Where it cannot be read
    // just now, its own verification says more than a view could.
    match source(Seq(state.position.0.saturating_sub(1)), 1) {
        Ok(records) if records.first().map(|record| record.link) != Some(link) => Found::Lost(seen),
        Ok(_) | Err(_) if state.fingerprint == fingerprint() => Found::Earlier(state),
        Ok(_) | Err(_) => Found::Foreign,
    }
}
