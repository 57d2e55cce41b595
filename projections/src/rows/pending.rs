//! Rows that a store has not taken in yet.
//!
//! Views may lose their newest rows with the process, since the log gives them again. So chunks gather
//! here: a row that changes often is written once, one that comes and goes never, and what folds have
//! read is at hand. Readers look here first. When it is full, everything goes to the store at once,
//! with the place that the views then stand at.

use super::keyed::Keyed;
use super::{Bytes, Order};
use std::collections::BTreeMap;

/// A value as folds see it.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) value: Option<Bytes>,
    /// `false`: it was only read.
    pub(crate) changed: bool,
    /// The store is known to have nothing there: what comes and goes before it is asked is never written.
    pub(crate) fresh: bool,
}

impl Cell {
    /// A value that was written.
    pub(crate) fn written(value: Option<Bytes>, fresh: bool) -> Self {
        Self {
            value,
            changed: true,
            fresh,
        }
    }

    /// Whether a store must hear of it.
    pub(crate) fn is_due(&self) -> bool {
        self.changed && !(self.fresh && self.value.is_none())
    }
}

/// A row that a store must hear of, with its new value or none.
pub(crate) type Due<'a> = (&'a Bytes, Option<&'a Bytes>);

/// A row that a chunk read or wrote.
pub(crate) type Seen = (Bytes, Cell);

/// How many rows gather at most, or the chunk that passes it. Twice as many take twice the memory and
/// nearly half of the work of merging tables; after a kill they are folded again, in less than a second.
const ROWS_MAX: usize = 128 << 10;
/// How many bytes they take at most, roughly.
const BYTES_MAX: usize = 32 << 20;
/// What a row takes besides its key and its value, in bytes, roughly.
const ROW_OVERHEAD_BYTES: usize = 128;

/// Rows that gather.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    cells: Keyed<Cell>,
    /// All that chunks brought, also what a later one replaced.
    bytes: usize,
}

impl Pending {
    /// What is known of a key here; `None`: ask the store.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Option<Bytes>> {
        self.cells.get(key).map(|cell| &cell.value)
    }

    /// Takes in a chunk, whose folds saw what is here.
    pub(crate) fn add(&mut self, chunk: Vec<Seen>) {
        for (key, cell) in chunk {
            let value_bytes = cell.value.as_ref().map_or(0, |value| value.len());
            self.bytes += key.len() + value_bytes;
            let change = |known: &mut Cell, cell: Cell| {
                if cell.changed {
                    known.value = cell.value;
                    known.changed = true;
                }
            };
            self.cells.upsert(key, cell, change, |cell| cell);
        }
    }

    /// Forgets everything, and keeps the room for as much.
    pub(crate) fn clear(&mut self) {
        self.cells.clear();
        self.bytes = 0;
    }

    pub(crate) fn is_full(&self) -> bool {
        let bytes = self.bytes + self.cells.len() * ROW_OVERHEAD_BYTES;
        self.cells.len() >= ROWS_MAX || bytes >= BYTES_MAX
    }

    /// The rows of a range, in this order; `None` where there is none any more.
    pub(crate) fn range(&self, from: &[u8], to: Option<&[u8]>, order: Order) -> Vec<Due<'_>> {
        let within = |key: &[u8]| key >= from && to.is_none_or(|to| key < to);
        let rows = self.cells.iter().filter(|(key, _)| within(key));
        let mut found: Vec<_> = rows
            .filter(|(_, cell)| cell.changed)
            .map(|(key, cell)| (key, cell.value.as_ref()))
            .collect();
        found.sort_unstable_by_key(|(key, _)| *key);
        if order == Order::Reverse {
            found.reverse();
        }
        found
    }

    /// What the store must hear of, in the order of keys.
    pub(crate) fn due(&self) -> Vec<Due<'_>> {
        // Tables apart from each other, since within one many keys come in their order already.
        let mut tables: BTreeMap<[u8; 2], Vec<(u128, Due<'_>)>> = BTreeMap::new();
        for (key, cell) in self.cells.iter().filter(|(_, cell)| cell.is_due()) {
            let head = key.get(..2).and_then(|head| head.try_into().ok());
            let rows = tables.entry(head.unwrap_or_default()).or_default();
            rows.push((beginning(key), (key, cell.value.as_ref())));
        }
        let mut due = Vec::with_capacity(tables.values().map(Vec::len).sum());
        for mut rows in tables.into_values() {
            rows.sort_by(|(a, (left, _)), (b, (right, _))| a.cmp(b).then_with(|| left.cmp(right)));
            due.extend(rows.into_iter().map(|(_, row)| row));
        }
        due
    }
}

/// The first bytes of a key after its first two, as a number that sorts as they do: most keys are told
/// apart without a look at where they lie.
fn beginning(key: &[u8]) -> u128 {
    let mut first = [0; 16];
    let bytes = key.get(2..).unwrap_or_default();
    first
        .iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    u128::from_be_bytes(first)
}
