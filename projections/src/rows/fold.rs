//! The rows that a fold sees: one chunk of changes over a store, kept in memory until it is committed.
//!
//! A chunk is bounded by its caller in events, and so is what gathers here. What a fold has read is
//! remembered for the rest of the chunk, since the next event is often about the same nouns.

use super::postings::{Block, term_key};
use super::store::{Store, Write, bounds};
use super::{Index, KeyRange, Order, Row, Rows, Table};
use crate::error::ViewsError;
use missive_log::event::Seq;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

/// A value as the chunk sees it.
#[derive(Debug)]
struct Cell {
    value: Option<Vec<u8>>,
    changed: bool,
    /// The store is known to have nothing there: what comes and goes within a chunk is never written.
    fresh: bool,
}

/// Changes of one chunk.
#[derive(Debug)]
pub(crate) struct Fold<'a> {
    store: &'a Store,
    cells: BTreeMap<Vec<u8>, Cell>,
    blocks: BTreeMap<Vec<u8>, Block>,
    scratch: Vec<u8>,
    fault: Option<ViewsError>,
}

impl<'a> Fold<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self {
            store,
            cells: BTreeMap::new(),
            blocks: BTreeMap::new(),
            scratch: Vec::new(),
            fault: None,
        }
    }

    /// The changes in the order of their keys, or what went wrong below while they were made.
    pub(crate) fn into_writes(self) -> Result<Vec<Write>, ViewsError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let cells = self.cells.into_iter();
        let cells = cells.filter(|(_, cell)| cell.changed && !(cell.fresh && cell.value.is_none()));
        let mut writes: Vec<Write> = cells.map(|(key, cell)| (key, cell.value)).collect();
        writes.extend(self.blocks.into_iter().map(|(mut key, block)| {
            key.extend_from_slice(&block.first().to_key());
            (key, Some(block.into_bytes()))
        }));
        Ok(writes)
    }

    /// The first fault stays: later ones are often its consequences.
    fn note(&mut self, fault: ViewsError) {
        self.fault.get_or_insert(fault);
    }

    fn change(&mut self, table: Table, key: &[u8], value: Option<Vec<u8>>, fresh: bool) {
        self.scratch.clear();
        self.scratch.push(table as u8);
        self.scratch.extend_from_slice(key);
        if let Some(cell) = self.cells.get_mut(&self.scratch) {
            cell.value = value;
            cell.changed = true;
            return;
        }
        let cell = Cell {
            value,
            changed: true,
            fresh,
        };
        self.cells.insert(self.scratch.clone(), cell);
    }
}

impl Rows for Fold<'_> {
    fn get(&mut self, table: Table, key: &[u8]) -> Option<Vec<u8>> {
        self.scratch.clear();
        self.scratch.push(table as u8);
        self.scratch.extend_from_slice(key);
        if let Some(cell) = self.cells.get(&self.scratch) {
            return cell.value.clone();
        }
        let value = match self.store.get(&self.scratch) {
            Ok(value) => value,
            Err(fault) => {
                self.note(fault);
                None
            }
        };
        let cell = Cell {
            value: value.clone(),
            changed: false,
            fresh: value.is_none(),
        };
        self.cells.insert(self.scratch.clone(), cell);
        value
    }

    fn put(&mut self, table: Table, key: &[u8], value: Vec<u8>) {
        self.change(table, key, Some(value), false);
    }

    fn put_new(&mut self, table: Table, key: &[u8], value: Vec<u8>) {
        self.change(table, key, Some(value), true);
    }

    fn delete(&mut self, table: Table, key: &[u8]) {
        self.change(table, key, None, false);
    }

    fn scan(&mut self, table: Table, range: &KeyRange, order: Order, limit: usize) -> Vec<Row> {
        let (from, to) = bounds(table, range);
        let end = to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        if limit == 0 || to.as_deref().is_some_and(|to| to <= from.as_slice()) {
            return Vec::new();
        }
        let mut merged: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
        for (key, cell) in self.cells.range::<[u8], _>((Bound::Included(&*from), end)) {
            merged.insert(key.clone(), cell.value.clone());
        }
        // Enough of the store that, even if the chunk removed all that it knows, `limit` are left.
        let mut wanted = limit.saturating_add(merged.len());
        let scanned = self
            .store
            .scan(&from, to.as_deref(), order, &mut |key, value| {
                merged
                    .entry(key.to_vec())
                    .or_insert_with(|| Some(value.to_vec()));
                wanted -= 1;
                if wanted == 0 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
        if let Err(fault) = scanned {
            self.note(fault);
        }
        let present = merged.into_iter().filter_map(|(key, value)| {
            let key = key.get(1..).unwrap_or_default().to_vec();
            value.map(|value| (key, value))
        });
        match order {
            Order::Forward => present.take(limit).collect(),
            Order::Reverse => present.rev().take(limit).collect(),
        }
    }

    fn post(&mut self, index: Index, term: &[u8], seq: Seq) {
        term_key(index, term, &mut self.scratch);
        match self.blocks.get_mut(&self.scratch) {
            Some(block) => block.push(seq),
            None => {
                self.blocks.insert(self.scratch.clone(), Block::new(seq));
            }
        }
    }

    fn damaged(&mut self, table: Table) {
        self.note(ViewsError::Damaged { table });
    }
}
