//! The rows that a fold sees: one chunk of changes over a store, kept in memory until it is committed.
//!
//! A chunk is bounded by its caller in events, and so is what gathers here. What a fold has read is
//! remembered for the rest of the chunk, since the next event is often about the same nouns.

use super::keyed::Keyed;
use super::pending::{Cell, Seen};
use super::store::{Store, bounds};
use super::{Bytes, KeyRange, Order, Row, Rows, Table};
use crate::error::ViewsError;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Changes of one chunk.
#[derive(Debug)]
pub(crate) struct Fold<'a> {
    store: &'a Store,
    cells: Keyed<Cell>,
    scratch: Vec<u8>,
    fault: Option<ViewsError>,
}

impl<'a> Fold<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self {
            store,
            cells: Keyed::default(),
            scratch: Vec::new(),
            fault: None,
        }
    }

    /// What was read and written, or what went wrong below meanwhile.
    pub(crate) fn into_seen(self) -> Result<Vec<Seen>, ViewsError> {
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(self.cells.into_iter().collect()),
        }
    }

    /// The first fault stays: later ones are often its consequences.
    fn note(&mut self, fault: ViewsError) {
        self.fault.get_or_insert(fault);
    }

    /// Leaves the stored key in `scratch`.
    fn key(&mut self, table: Table, key: &[u8]) {
        self.scratch.clear();
        self.scratch.push(table as u8);
        self.scratch.extend_from_slice(key);
    }

    fn change(&mut self, table: Table, key: &[u8], value: Option<Bytes>, fresh: bool) {
        self.key(table, key);
        let change = |cell: &mut Cell, value| {
            cell.value = value;
            cell.changed = true;
        };
        let make = |value| Cell::written(value, fresh);
        self.cells.upsert(&self.scratch, value, change, make);
    }
}

impl Rows for Fold<'_> {
    fn get(&mut self, table: Table, key: &[u8]) -> Option<Bytes> {
        self.key(table, key);
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
        let make = |value: Option<Bytes>| Cell {
            changed: false,
            fresh: value.is_none(),
            value,
        };
        self.cells
            .upsert(&self.scratch, value.clone(), |_, _| {}, make);
        value
    }

    fn put(&mut self, table: Table, key: &[u8], value: Bytes) {
        self.change(table, key, Some(value), false);
    }

    fn put_new(&mut self, table: Table, key: &[u8], value: Bytes) {
        self.change(table, key, Some(value), true);
    }

    fn delete(&mut self, table: Table, key: &[u8]) {
        self.change(table, key, None, false);
    }

    fn scan(&mut self, table: Table, range: &KeyRange, order: Order, limit: usize) -> Vec<Row> {
        let (from, to) = bounds(table, range);
        if limit == 0 {
            return Vec::new();
        }
        let mut merged: BTreeMap<Bytes, Option<Bytes>> = BTreeMap::new();
        for (key, cell) in self.cells.iter() {
            if **key >= *from && to.as_deref().is_none_or(|to| **key < *to) {
                merged.insert(key.clone(), cell.value.clone());
            }
        }
        // Enough of the store that, even if the chunk removed all that it knows, `limit` are left.
        let mut wanted = limit.saturating_add(merged.len());
        let scanned = self
            .store
            .scan(&from, to.as_deref(), order, &mut |key, value| {
                merged
                    .entry(key.into())
                    .or_insert_with(|| Some(value.into()));
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
            Some((key, value?.to_vec()))
        });
        match order {
            Order::Forward => present.take(limit).collect(),
            Order::Reverse => present.rev().take(limit).collect(),
        }
    }

    fn damaged(&mut self, table: Table) {
        self.note(ViewsError::Damaged { table });
    }
}
