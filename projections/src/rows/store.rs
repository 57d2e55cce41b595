//! What rows lie in: one sorted map of bytes, in memory or on disk. The set is closed.

use super::disk::DiskStore;
use super::memory::MemoryStore;
use super::pending::Seen;
use super::{Bytes, Index, KeyRange, Order, Places, Read, Row, Table, postings};
use crate::error::ViewsError;
use missive_log::event::Seq;
use std::ops::ControlFlow;

/// Called with each row until it breaks.
pub(crate) type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

#[derive(Debug)]
pub(crate) enum Store {
    Memory(MemoryStore),
    Disk(DiskStore),
}

impl Store {
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ViewsError> {
        match self {
            Self::Memory(store) => Ok(store.get(key)),
            Self::Disk(store) => store.get(key),
        }
    }

    /// Visits the rows from a key (included) to another (not included) or the end.
    pub(crate) fn scan(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
        order: Order,
        visit: &mut Visit<'_>,
    ) -> Result<(), ViewsError> {
        if to.is_some_and(|to| to <= from) {
            return Ok(());
        }
        match self {
            Self::Memory(store) => {
                store.scan(from, to, order, visit);
                Ok(())
            }
            Self::Disk(store) => store.scan(from, to, order, visit),
        }
    }

    /// Makes all changes of a chunk or none.
    pub(crate) fn commit(&self, chunk: Vec<Seen>) -> Result<(), ViewsError> {
        match self {
            Self::Memory(store) => {
                store.commit(chunk);
                Ok(())
            }
            Self::Disk(store) => store.commit(chunk),
        }
    }
}

/// The stored bounds of a range of a table.
pub(crate) fn bounds(table: Table, range: &KeyRange) -> (Vec<u8>, Option<Vec<u8>>) {
    let to = match &range.to {
        Some(to) => Some(table.key(to)),
        None => (table as u8).checked_add(1).map(|next| vec![next]),
    };
    (table.key(&range.from), to)
}

impl Read for Store {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, ViewsError> {
        Ok(Self::get(self, &table.key(key))?.map(|value| value.to_vec()))
    }

    fn scan(
        &self,
        table: Table,
        range: &KeyRange,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Row>, ViewsError> {
        let mut rows = Vec::new();
        if limit == 0 {
            return Ok(rows);
        }
        let (from, to) = bounds(table, range);
        Self::scan(self, &from, to.as_deref(), order, &mut |key, value| {
            rows.push((key.get(1..).unwrap_or_default().to_vec(), value.to_vec()));
            if rows.len() < limit {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        Ok(rows)
    }

    fn postings(
        &self,
        index: Index,
        term: &[u8],
        places: Places,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Seq>, ViewsError> {
        postings::read(self, index, term, places, order, limit)
    }
}
