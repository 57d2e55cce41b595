//! Every view at one place of the log.
//!
//! Views move together: one write batch carries the rows of a chunk of events and the place that they
//! now stand at, with its link, the identity of the log and the versions of all views. Whatever is
//! found on disk is therefore some earlier state of the truth, or is recognised as nothing of ours.

use crate::agent::Agents;
use crate::artifact::Artifacts;
use crate::context::Contexts;
use crate::error::ViewsError;
use crate::group::Groups;
use crate::index::{Postings, Subjects, Times, count_kinds};
use crate::message::Messages;
use crate::outbox::Outbox;
use crate::output::Outputs;
use crate::push::PushConfigs;
use crate::round::Rounds;
use crate::rows::disk::DiskStore;
use crate::rows::fold::Fold;
use crate::rows::keyed::mix;
use crate::rows::pending::Cell;
use crate::rows::postings::Blocks;
use crate::rows::store::Store;
use crate::rows::{Places, Rows, Table, decode_row, encode_row};
use crate::task::Tasks;
use crate::view::{Indexing, Projection};
use missive_log::chain::{Link, LogId};
use missive_log::event::facts::{
    Binding, CardPath, Execution, Failure, FailurePolicy, KeySource, MemberStatus, ReduceFailure,
    ReduceMethod, ReduceStrategy, RoundStatus, RoutingPolicy, SignatureOutcome, TaskState,
};
use missive_log::event::stored::DecodeError;
use missive_log::event::{Event, EventKind, Seq};
use missive_log::{ReadError, Record};
use serde::{Deserialize, Serialize};
use std::sync::mpsc::sync_channel;

/// The most events that are folded as one write batch.
pub const CHUNK_EVENTS_MAX: usize = 4_096;
/// From this distance on, reading and decoding run beside folding, in events.
const PIPELINE_EVENTS_MIN: u64 = 8_192;

/// Where records come from, in order: at most `limit` after a place; none at the end of the log.
pub type Source = Box<dyn Fn(Seq, usize) -> Result<Vec<Record>, ReadError> + Send + Sync>;

/// A view by name, with the version of its fold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewName {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
}

/// Calls a macro with every projection, in the order in which they fold: parts of a noun after it.
macro_rules! every_projection {
    ($call:ident) => {
        $call! {
            Times,
            Subjects,
            Outbox,
            Agents,
            Tasks,
            Artifacts,
            Messages,
            Contexts,
            PushConfigs,
            Groups,
            Rounds,
            Outputs
        }
    };
}

/// Folds one event into every view.
pub(crate) fn apply_all(rows: &mut impl Rows, event: &Event) {
    macro_rules! apply {
        ($($view:ident),+) => { $($view::apply(rows, event);)+ };
    }
    every_projection!(apply);
}

/// Declares [`Part`] and folds that know it.
macro_rules! declare_parts {
    ($($view:ident),+) => {
        /// A projection by name, for folds of some of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Part { $($view),+ }

        /// Folds one event into some of the views; those that fold see what they would see with all others.
        pub(crate) fn apply_parts(parts: Parts, rows: &mut impl Rows, event: &Event) {
            $(if parts.has(Part::$view) { $view::apply(rows, event); })+
        }

        impl Parts {
            /// Whether a table is written by one of them.
            pub(crate) fn write(self, table: Table) -> bool {
                $((self.has(Part::$view) && $view::TABLES.contains(&table)) ||)+ false
            }
        }
    };
}
every_projection!(declare_parts);

/// Some projections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts(u32);

impl Parts {
    /// Those of a list. A projection that reads rows of another one needs that one as well.
    pub(crate) const fn of(mut list: &[Part]) -> Self {
        let mut set = 0;
        while let [part, rest @ ..] = list {
            set |= 1 << *part as u8;
            list = rest;
        }
        Self(set)
    }

    /// These and another one.
    pub(crate) fn and(self, part: Part) -> Self {
        Self(self.0 | 1 << part as u8)
    }

    /// Whether it is one of them.
    pub(crate) fn has(self, part: Part) -> bool {
        self.0 & 1 << part as u8 != 0
    }
}

/// Every view, in the order in which they fold.
pub fn names() -> Vec<ViewName> {
    macro_rules! list {
        ($($view:ident),+) => { [$(ViewName { name: $view::NAME.to_owned(), version: $view::VERSION }),+] };
    }
    let mut names = vec![ViewName {
        name: Postings::NAME.to_owned(),
        version: Postings::VERSION,
    }];
    names.extend(every_projection!(list));
    names
}

/// The view that writes a table.
pub(crate) fn owner(table: Table) -> &'static str {
    macro_rules! find {
        ($($view:ident),+) => { $(if $view::TABLES.contains(&table) { return $view::NAME; })+ };
    }
    every_projection!(find);
    if Postings::TABLES.contains(&table) {
        return Postings::NAME;
    }
    "views"
}

/// A word that is the same for builds whose rows mean the same.
///
/// It names every view with its version. Stored rows hold enums by number, so the lists of their
/// values are in it as well, as a sum: it tells builds apart and protects nothing.
pub fn fingerprint() -> String {
    let words = [
        TaskState::ALL
            .iter()
            .map(|v| v.as_str())
            .collect::<Vec<_>>(),
        Binding::ALL.iter().map(|v| v.as_str()).collect(),
        CardPath::ALL.iter().map(|v| v.as_str()).collect(),
        Failure::ALL.iter().map(|v| v.as_str()).collect(),
        SignatureOutcome::ALL.iter().map(|v| v.as_str()).collect(),
        KeySource::ALL.iter().map(|v| v.as_str()).collect(),
        RoutingPolicy::ALL.iter().map(|v| v.as_str()).collect(),
        Execution::ALL.iter().map(|v| v.as_str()).collect(),
        FailurePolicy::ALL.iter().map(|v| v.as_str()).collect(),
        MemberStatus::ALL.iter().map(|v| v.as_str()).collect(),
        RoundStatus::ALL.iter().map(|v| v.as_str()).collect(),
        ReduceStrategy::ALL.iter().map(|v| v.as_str()).collect(),
        ReduceMethod::ALL.iter().map(|v| v.as_str()).collect(),
        ReduceFailure::ALL.iter().map(|v| v.as_str()).collect(),
    ];
    let words = words.iter().flatten();
    let bytes: Vec<u8> = words.flat_map(|word| word.bytes().chain([0])).collect();
    let sum = mix(&bytes);
    let views: Vec<String> = names()
        .into_iter()
        .map(|view| format!("{}.{}", view.name, view.version))
        .collect();
    format!("{} {sum:016x}", views.join(" "))
}

/// What the views know of themselves; written with every chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    /// The log that they are folded from.
    pub(crate) log: LogId,
    /// The build that folded them.
    pub(crate) fingerprint: String,
    /// The newest event that they have folded.
    pub(crate) position: Seq,
    /// Its link; none before the first.
    pub(crate) link: Option<Link>,
    /// Places that a re-anchoring gave up: there is no event.
    pub(crate) gaps: Vec<Places>,
    /// How many events could not be read, and were folded as nothing.
    pub(crate) unreadable: u64,
    /// The first of them.
    pub(crate) unreadable_first: Option<Seq>,
}

const STATE_KEY: &[u8] = b"state";

impl State {
    /// Views of a log before its first event.
    pub(crate) fn new(log: LogId) -> Self {
        Self {
            log,
            fingerprint: fingerprint(),
            position: Seq::ZERO,
            link: None,
            gaps: Vec::new(),
            unreadable: 0,
            unreadable_first: None,
        }
    }

    /// What a store says; `None` if it has no row yet.
    pub(crate) fn load(store: &DiskStore) -> Result<Option<Self>, ViewsError> {
        let Some(bytes) = store.get(&Table::Meta.key(STATE_KEY))? else {
            return Ok(None);
        };
        decode_row(&bytes)
            .map(Some)
            .ok_or(ViewsError::Damaged { table: Table::Meta })
    }
}

/// A record, read.
struct Decoded {
    seq: Seq,
    link: Link,
    event: Result<Event, DecodeError>,
}

/// Records that are ready to be folded: read, and noted under their terms.
#[derive(Default)]
pub(crate) struct Prepared {
    events: Vec<Decoded>,
    blocks: Blocks,
}

impl Prepared {
    /// Everything about records that needs no row.
    pub(crate) fn of(records: Vec<Record>) -> Self {
        let mut prepared = Self::default();
        for record in records {
            let event = record.decode();
            if let Ok(event) = &event {
                Postings::apply(&mut prepared.blocks, event);
            }
            prepared.events.push(Decoded {
                seq: record.seq,
                link: record.link,
                event,
            });
        }
        prepared
    }
}

/// One chunk of events over a store.
pub(crate) struct Chunk<'a> {
    rows: Fold<'a>,
    position: Seq,
}

impl<'a> Chunk<'a> {
    fn new(store: &'a Store, position: Seq) -> Self {
        Self {
            rows: Fold::new(store),
            position,
        }
    }

    /// Folds the next event.
    ///
    /// # Panics
    /// If `event` is not the next one: a gap would make every later answer wrong.
    fn apply(&mut self, event: &Event) {
        assert!(
            follows(event.seq, self.position, Some(event)),
            "views must see every event, in order"
        );
        apply_all(&mut self.rows, event);
        self.position = event.seq;
    }
}

/// Folds a chunk and commits it together with its place.
pub(crate) fn fold(store: &Store, state: &State, prepared: Prepared) -> Result<State, ViewsError> {
    let mut chunk = Chunk::new(store, state.position);
    let mut next = state.clone();
    for decoded in prepared.events {
        if !follows(decoded.seq, next.position, decoded.event.as_ref().ok()) {
            return Err(ViewsError::OutOfOrder {
                position: next.position,
                found: decoded.seq,
            });
        }
        if let Ok(event) = &decoded.event {
            chunk.apply(event);
        } else {
            // The log's verification reports it; views that stopped here would hide all the rest.
            next.unreadable += 1;
            next.unreadable_first.get_or_insert(decoded.seq);
            chunk.position = decoded.seq;
        }
        if decoded.seq != next.position.next() {
            next.gaps.push(Places {
                first: next.position.next(),
                last: Seq(decoded.seq.0.saturating_sub(1)),
            });
        }
        next.position = decoded.seq;
        next.link = Some(decoded.link);
    }
    count_kinds(&mut chunk.rows, &prepared.blocks);
    let mut seen = chunk.rows.into_seen()?;
    seen.extend(prepared.blocks.into_seen());
    let row = encode_row(&next).map_err(|_| ViewsError::Damaged { table: Table::Meta })?;
    let key = Table::Meta.key(STATE_KEY).into();
    seen.push((key, Cell::written(Some(row), false)));
    store.commit(seen)?;
    Ok(next)
}

/// Whether an event is the next one: only a re-anchoring leaves places empty, and says which.
fn follows(seq: Seq, position: Seq, event: Option<&Event>) -> bool {
    if seq == position.next() {
        return true;
    }
    if let Some(EventKind::LogReanchored(facts)) = event.map(|event| &event.kind) {
        return facts.found == position && facts.witnessed.next() == seq;
    }
    false
}

/// How far to fold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// At least to this place; what a chunk holds beyond it is folded as well.
    Least(Seq),
    /// To this place and no further.
    Exactly(Seq),
}

impl Until {
    fn place(self) -> Seq {
        match self {
            Self::Least(seq) | Self::Exactly(seq) => seq,
        }
    }

    /// How many records to ask for after a place.
    fn limit(self, after: Seq) -> usize {
        match self {
            Self::Least(_) => CHUNK_EVENTS_MAX,
            Self::Exactly(seq) => usize::try_from(seq.0.saturating_sub(after.0))
                .unwrap_or(usize::MAX)
                .min(CHUNK_EVENTS_MAX),
        }
    }

    /// The next records after a place.
    fn read(self, source: &Source, after: Seq) -> Result<Vec<Record>, ReadError> {
        let mut records = source(after, self.limit(after))?;
        if let Self::Exactly(last) = self {
            // Where a re-anchoring left places empty, the next record may lie beyond.
            records.retain(|record| record.seq <= last);
        }
        Ok(records)
    }
}

/// Folds until a place, one chunk at a time; `done` sees the state after each.
pub(crate) fn catch_up(
    store: &Store,
    state: State,
    source: &Source,
    until: Until,
    done: &mut dyn FnMut(&State),
) -> Result<State, ViewsError> {
    if state.position >= until.place() {
        return Ok(state);
    }
    let far = until.place().0 - state.position.0 >= PIPELINE_EVENTS_MIN;
    let state = if far {
        fold_beside(store, state, source, until, done)?
    } else {
        fold_in_line(store, state, source, until, done)?
    };
    let empty_place = matches!(until, Until::Exactly(_)) && !source(state.position, 1)?.is_empty();
    if state.position < until.place() && !empty_place {
        return Err(ViewsError::Beyond {
            position: state.position,
            least: until.place(),
        });
    }
    Ok(state)
}

fn fold_in_line(
    store: &Store,
    mut state: State,
    source: &Source,
    until: Until,
    done: &mut dyn FnMut(&State),
) -> Result<State, ViewsError> {
    while state.position < until.place() {
        let records = until.read(source, state.position)?;
        if records.is_empty() {
            break;
        }
        state = fold(store, &state, Prepared::of(records))?;
        done(&state);
    }
    Ok(state)
}

/// The same with a second thread that reads and decodes the next chunk meanwhile.
pub(crate) fn fold_beside(
    store: &Store,
    mut state: State,
    source: &Source,
    until: Until,
    done: &mut dyn FnMut(&State),
) -> Result<State, ViewsError> {
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(1);
        let mut after = state.position;
        scope.spawn(move || {
            while after < until.place() {
                let records = until.read(source, after);
                let last = match &records {
                    Ok(records) => records.last().map(|record| record.seq),
                    Err(_) => None,
                };
                // The receiver is gone when a fold failed: there is nothing left to do.
                if send.send(records.map(Prepared::of)).is_err() {
                    return;
                }
                match last {
                    Some(last) if last > after => after = last,
                    Some(_) | None => return,
                }
            }
        });
        for chunk in receive {
            let chunk = chunk?;
            if chunk.events.is_empty() {
                break;
            }
            state = fold(store, &state, chunk)?;
            done(&state);
        }
        Ok(state)
    })
}
