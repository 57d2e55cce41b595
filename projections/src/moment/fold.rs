//! Folding into memory: gathered events, or the whole log with reading and decoding beside.

use super::places::{Places, Unreadable};
use super::reach::{REGISTER, REPORTS};
use super::{Records, Scope};
use crate::error::ViewsError;
use crate::read::Views;
use crate::rows::fold::Fold;
use crate::rows::memory::MemoryStore;
use crate::rows::store::Store;
use crate::rows::{Rows, Table};
use crate::views::{CHUNK_EVENTS_MAX, Parts, apply_parts};
use missive_log::Event;
use missive_log::event::{EventKind, Seq};
use std::collections::BTreeSet;
use std::sync::mpsc::sync_channel;

/// Rows in memory that gather.
pub(super) struct Folding {
    rows: MemoryStore,
    store: Store,
    parts: Parts,
}

/// The kinds that matter to a whole-log scope; none means all.
pub(super) fn kinds_of(scope: &Scope) -> Option<Vec<&'static str>> {
    let kinds = || REGISTER.into_iter().chain(REPORTS).collect();
    matches!(scope, Scope::Tasks).then(kinds)
}

/// What a chunk of the log came to.
struct Chunk {
    events: Vec<Event>,
    last: Seq,
    unreadable: Unreadable,
}

impl Folding {
    pub(super) fn new(parts: Parts) -> Self {
        let rows = MemoryStore::default();
        Self {
            store: Store::Memory(rows.clone()),
            rows,
            parts,
        }
    }

    /// The rows, as they stand and as they will stand when more is folded.
    pub(super) fn rows(&self) -> Store {
        Store::Memory(self.rows.clone())
    }

    fn chunk(
        &self,
        events: &[Event],
        prepare: impl FnOnce(&mut Fold<'_>),
    ) -> Result<(), ViewsError> {
        let mut rows = Fold::new(&self.store);
        prepare(&mut rows);
        for event in events {
            apply_parts(self.parts, &mut rows, event);
        }
        self.store.commit(rows.into_seen()?)
    }

    /// Folds gathered events up to a place; the others stay.
    pub(super) fn gathered(
        &self,
        live: &Views,
        records: &Records,
        places: &mut Places,
        place: Seq,
    ) -> Result<Unreadable, ViewsError> {
        let mut asked = BTreeSet::new();
        places.pages(records, place, &mut |events| {
            // The first context that took a name keeps it, and may lie outside of what is folded.
            let mut taken = Vec::new();
            for event in events {
                if let (EventKind::ContextNamed(facts), Some(context)) =
                    (&event.kind, &event.links.context)
                    && asked.insert(facts.name.clone())
                    && let Some(owner) = live.context_named(&facts.name)?
                    && owner != *context
                {
                    taken.push((facts.name.clone(), owner));
                }
            }
            self.chunk(events, |rows| {
                for (name, owner) in taken {
                    let owner = owner.as_str().as_bytes().into();
                    rows.put(Table::ContextNames, name.as_str().as_bytes(), owner);
                }
            })
        })
    }

    /// Folds the whole log up to a place. Another thread reads and decodes the next chunk meanwhile.
    pub(super) fn everything(
        &self,
        records: &Records,
        place: Seq,
        kinds: Option<Vec<&'static str>>,
        seen: &mut dyn FnMut(Seq),
    ) -> Result<Unreadable, ViewsError> {
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel(2);
            scope.spawn(move || {
                let mut after = Seq::ZERO;
                while after < place {
                    let chunk = read(records, after, place, kinds.as_deref());
                    let last = chunk.as_ref().map_or(place, |chunk| chunk.last);
                    // The receiver is gone when a fold failed: there is nothing left to do.
                    if send.send(chunk).is_err() || last <= after {
                        return;
                    }
                    after = last;
                }
            });
            let mut unreadable = Unreadable::default();
            let mut reached = Seq::ZERO;
            for chunk in receive {
                let chunk: Chunk = chunk?;
                self.chunk(&chunk.events, |_| {})?;
                unreadable.count += chunk.unreadable.count;
                unreadable.first = unreadable.first.or(chunk.unreadable.first);
                reached = chunk.last;
                seen(reached);
            }
            if reached < place {
                return Err(ViewsError::Beyond {
                    position: reached,
                    least: place,
                });
            }
            Ok(unreadable)
        })
    }
}

/// The next chunk, decoded as far as it matters.
fn read(
    records: &Records,
    after: Seq,
    place: Seq,
    kinds: Option<&[&str]>,
) -> Result<Chunk, ViewsError> {
    let left = usize::try_from(place.0 - after.0).unwrap_or(usize::MAX);
    let page = records.after(after, left.min(CHUNK_EVENTS_MAX))?;
    let mut chunk = Chunk {
        events: Vec::with_capacity(page.len()),
        last: after,
        unreadable: Unreadable::default(),
    };
    for record in page.iter().filter(|record| record.seq <= place) {
        chunk.last = record.seq;
        let matters = match (kinds, record.kind()) {
            (Some(kinds), Some(kind)) => kinds.contains(&kind),
            (None, _) | (_, None) => true,
        };
        if !matters {
            continue;
        }
        match record.decode() {
            Ok(event) => chunk.events.push(event),
            Err(_) => chunk.unreadable.note(record.seq),
        }
    }
    Ok(chunk)
}
