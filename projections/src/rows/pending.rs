//! Rows that a store has not taken in yet.
//!
//! Views may lose their newest rows with the process, since the log gives them again. So chunks gather
//! here: a row that changes often is written once, one that comes and goes never, and what folds have
//! read is at hand. Readers look here first. When it is full, everything goes to the store at once,
//! with the place that the views then stand at.

use super::keyed::{Places, sum};
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

/// A key, with its new value or none.
pub(crate) type Due<'a> = (&'a [u8], Option<&'a [u8]>);

/// A row that a chunk read or wrote.
pub(crate) type Seen = (Bytes, Cell);

/// How many rows gather at most, or the chunk that passes it. Twice as many take twice the memory and
/// nearly half of the work of merging tables; after a kill they are folded again, in less than a second.
const ROWS_MAX: usize = 128 << 10;
/// How many bytes they take at most, roughly.
const BYTES_MAX: usize = 40 << 20;
/// What a row takes besides its key and its value, in bytes, roughly.
const ROW_OVERHEAD_BYTES: usize = 64;

/// Rows that gather.
///
/// Keys and values lie in one run of bytes: a small piece of memory for each would cost more than all the
/// rest, since going through them in the order of keys is mostly the wait for memory.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    places: Places,
    rows: Vec<Kept>,
    /// All that chunks brought, also what a later one replaced.
    bytes: Vec<u8>,
}

/// A row as it is kept.
#[derive(Debug)]
struct Kept {
    key: Span,
    /// `None`: there is none, or none any more.
    value: Option<Span>,
    changed: bool,
    fresh: bool,
}

/// A part of the bytes. They are bounded far below 4 GB.
#[derive(Clone, Copy, Debug)]
struct Span {
    at: u32,
    len: u32,
}

impl Pending {
    /// What is known of a key here; `None`: ask the store.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Due<'_>> {
        let row = self.rows.get(self.find(key, sum(key)).ok()?)?;
        Some(self.show(row))
    }

    fn find(&self, key: &[u8], sum: u32) -> Result<usize, usize> {
        let key_of = |row: &Kept| self.part(row.key) == key;
        let is = |entry: usize| self.rows.get(entry).is_some_and(key_of);
        self.places.find(sum, is)
    }

    fn part(&self, span: Span) -> &[u8] {
        let at = span.at as usize;
        self.bytes
            .get(at..at + span.len as usize)
            .unwrap_or_default()
    }

    fn lay(&mut self, part: &[u8]) -> Span {
        let number = |n| u32::try_from(n).unwrap_or(u32::MAX);
        let at = number(self.bytes.len());
        self.bytes.extend_from_slice(part);
        Span {
            at,
            len: number(part.len()),
        }
    }

    /// Takes in a chunk, whose folds saw what is here.
    pub(crate) fn add(&mut self, chunk: Vec<Seen>) {
        for (key, cell) in chunk {
            self.places.reserve(self.rows.len());
            let sum = sum(&key);
            let found = self.find(&key, sum);
            if found.is_ok() && !cell.changed {
                continue;
            }
            let value = cell.value.map(|value| self.lay(&value));
            match found {
                Ok(entry) => {
                    if let Some(known) = self.rows.get_mut(entry) {
                        known.value = value;
                        known.changed = true;
                    }
                }
                Err(place) => {
                    self.places.take(place, sum, self.rows.len());
                    let key = self.lay(&key);
                    self.rows.push(Kept {
                        key,
                        value,
                        changed: cell.changed,
                        fresh: cell.fresh,
                    });
                }
            }
        }
    }

    /// Forgets everything, and keeps the room for as much.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.rows.clear();
        self.bytes.clear();
    }

    pub(crate) fn is_full(&self) -> bool {
        let bytes = self.bytes.len() + self.rows.len() * ROW_OVERHEAD_BYTES;
        self.rows.len() >= ROWS_MAX || bytes >= BYTES_MAX
    }

    fn show(&self, row: &Kept) -> Due<'_> {
        (self.part(row.key), row.value.map(|value| self.part(value)))
    }

    /// The rows of a range, in this order; `None` where there is none any more.
    pub(crate) fn range(&self, from: &[u8], to: Option<&[u8]>, order: Order) -> Vec<Due<'_>> {
        let changed = self.rows.iter().filter(|row| row.changed);
        let mut found: Vec<_> = changed
            .map(|row| self.show(row))
            .filter(|(key, _)| *key >= from && to.is_none_or(|to| *key < to))
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
        // What the store never had and what is gone again is nothing to it.
        let is_due = |row: &&Kept| row.changed && !(row.fresh && row.value.is_none());
        for row in self.rows.iter().filter(is_due) {
            let due = self.show(row);
            let byte = |n: usize| due.0.get(n).copied().unwrap_or(0);
            let rows = tables.entry([byte(0), byte(1)]).or_default();
            rows.push((beginning(due.0), due));
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

#[cfg(test)]
mod tests {
    use super::{Cell, Pending, Seen};
    use crate::rows::Order;

    fn put(key: &str, value: &str, fresh: bool) -> Seen {
        (key.into(), Cell::written(Some(value.into()), fresh))
    }

    fn gone(key: &str) -> Seen {
        (key.into(), Cell::written(None, false))
    }

    fn texts(rows: &[super::Due<'_>]) -> Vec<String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let row = |(key, value): &super::Due<'_>| {
            format!("{}={}", text(key), value.map_or("-".to_owned(), text))
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn a_row_that_comes_and_goes_before_it_is_asked_for_is_nothing_to_the_store() {
        let mut pending = Pending::default();
        pending.add(vec![put("new", "1", true), put("old", "1", false)]);
        pending.add(vec![gone("new"), gone("old"), gone("older")]);
        pending.add(vec![put("back", "1", true), gone("back")]);
        pending.add(vec![put("back", "2", true)]);

        assert_eq!(texts(&pending.due()), ["back=2", "old=-", "older=-"]);
        assert_eq!(pending.get(b"new").unwrap().1, None);
    }

    #[test]
    fn what_was_only_read_is_at_hand_and_is_not_written() {
        let mut pending = Pending::default();
        let read = |value: &str| Cell {
            value: Some(value.into()),
            changed: false,
            fresh: false,
        };
        pending.add(vec![("a".into(), read("1")), ("b".into(), read("1"))]);
        pending.add(vec![put("b", "2", false), ("a".into(), read("1"))]);

        assert_eq!(texts(&pending.due()), ["b=2"]);
        assert_eq!(pending.get(b"a").unwrap().1, Some(b"1".as_slice()));
        assert!(pending.get(b"c").is_none());
        pending.clear();
        assert!(pending.get(b"a").is_none() && pending.due().is_empty());
    }

    #[test]
    fn rows_come_in_the_order_of_their_keys_however_much_of_them_is_alike() {
        let long = "0123456789abcdefghij";
        let keys = [
            "b",
            "ab",
            "a",
            "aa\0",
            "aa",
            "",
            "ab1",
            &format!("aa{long}2"),
            &format!("aa{long}1"),
        ];
        let mut pending = Pending::default();
        pending.add(keys.iter().map(|key| put(key, "", false)).collect());

        let keys = |rows: Vec<super::Due<'_>>| -> Vec<Vec<u8>> {
            rows.iter().map(|(key, _)| key.to_vec()).collect()
        };
        let due = keys(pending.due());
        assert!(due.is_sorted() && due.len() == 9);
        assert_eq!(keys(pending.range(b"", None, Order::Forward)), due);
        let within = pending.range(b"aa", Some(b"ab1"), Order::Reverse);
        assert_eq!(
            keys(within),
            due[2..7].iter().rev().cloned().collect::<Vec<_>>()
        );
    }
}
