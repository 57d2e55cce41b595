//! How places lie under a term.
//!
//! ```text
//! key    index (1 byte) ‖ be16 length of the term ‖ term ‖ be64 first place
//! value  the distances from each place to the next, as LEB128 numbers
//! ```
//! A block holds what one chunk of the log had under a term: one place in life, thousands in a
//! rebuild. Blocks of a term never overlap, since chunks come in order, so they sort as their places
//! do. How a history was cut into chunks shows in the blocks and nowhere above.

use super::keyed::Keyed;
use super::pending::{Cell, Seen};
use super::store::Store;
use super::{Index, Order, Places, Posts, Table, extend_counted};
use crate::error::ViewsError;
use missive_log::event::Seq;
use std::ops::ControlFlow;

/// The stored key of a term's blocks, without the place.
pub(crate) fn term_key(index: Index, term: &[u8], key: &mut Vec<u8>) {
    key.clear();
    key.push(Table::Postings as u8);
    key.push(index as u8);
    extend_counted(key, term);
}

/// The places of one term in one chunk, while they are gathered.
#[derive(Debug)]
pub(crate) struct Block {
    first: Seq,
    last: Seq,
    places: u64,
    bytes: Vec<u8>,
}

impl Block {
    pub(crate) fn new(seq: Seq) -> Self {
        Self {
            first: seq,
            last: seq,
            places: 1,
            bytes: Vec::new(),
        }
    }

    /// Adds a later place; an earlier or equal one is there already.
    pub(crate) fn push(&mut self, seq: Seq) {
        let mut distance = seq.0.saturating_sub(self.last.0);
        if distance == 0 {
            return;
        }
        self.last = seq;
        self.places += 1;
        while distance >= 0x80 {
            self.bytes.push(low_seven(distance) | 0x80);
            distance >>= 7;
        }
        self.bytes.push(low_seven(distance));
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// The places of every term in one chunk. Gathering them needs no row, so it can be done beside folding.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    by_term: Keyed<Block>,
    scratch: Vec<u8>,
}

impl Posts for Blocks {
    fn post(&mut self, index: Index, term: &[u8], seq: Seq) {
        term_key(index, term, &mut self.scratch);
        self.by_term
            .upsert(&self.scratch, seq, Block::push, Block::new);
    }
}

impl Blocks {
    /// The terms of an index, each with the number of its places.
    pub(crate) fn counts(&self, index: Index) -> impl Iterator<Item = (&[u8], u64)> {
        let first = [Table::Postings as u8, index as u8];
        let terms = self.by_term.iter();
        terms
            .filter(move |(key, _)| key.starts_with(&first))
            // The table, the index and the length of the term come first.
            .filter_map(|(key, block)| Some((key.get(4..)?, block.places)))
    }

    /// The rows that hold them: new ones, since their keys name places of this chunk.
    pub(crate) fn into_seen(self) -> impl Iterator<Item = Seen> {
        self.by_term.into_iter().map(|(term, block)| {
            let key = [&term[..], &block.first.to_key()].concat();
            let value = Some(block.into_bytes().into());
            (key.into(), Cell::written(value, true))
        })
    }
}

fn low_seven(number: u64) -> u8 {
    u8::try_from(number & 0x7f).unwrap_or(0)
}

/// The places of a block; `None` if the bytes are no block.
pub(crate) fn decode(first: Seq, bytes: &[u8]) -> Option<Vec<Seq>> {
    let mut places = vec![first];
    let mut at = first.0;
    let mut distance: u64 = 0;
    let mut shift = 0;
    for byte in bytes {
        distance |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 != 0 {
            shift += 7;
            continue;
        }
        at = at.checked_add(distance).filter(|next| *next > at)?;
        places.push(Seq(at));
        (distance, shift) = (0, 0);
    }
    (shift == 0).then_some(places)
}

/// Takes the key of a block apart: everything but the place, and the place.
pub(crate) fn split_key(key: &[u8]) -> Option<(&[u8], Seq)> {
    let (term, place) = key.split_last_chunk::<8>()?;
    Some((term, Seq(u64::from_be_bytes(*place))))
}

/// The index and the term of a block's key without its place; for messages.
pub(crate) fn describe(term_key: &[u8]) -> String {
    let index = term_key
        .get(1)
        .and_then(|i| Index::ALL.get(usize::from(*i)));
    let term = term_key.get(4..).unwrap_or_default();
    let name = index.map_or("?", |index| index.name());
    format!("{name} {}", String::from_utf8_lossy(term))
}

const DAMAGED: ViewsError = ViewsError::Damaged {
    table: Table::Postings,
};

/// The places of a term within a range.
pub(crate) fn read(
    store: &Store,
    index: Index,
    term: &[u8],
    places: Places,
    order: Order,
    limit: usize,
) -> Result<Vec<Seq>, ViewsError> {
    let mut found = Vec::new();
    if places.is_empty() || limit == 0 {
        return Ok(found);
    }
    let mut prefix = Vec::with_capacity(term.len() + 12);
    term_key(index, term, &mut prefix);
    let key = |seq: Seq| [prefix.as_slice(), &seq.to_key()].concat();
    let from = match order {
        // The block that holds the first wanted place may begin before it.
        Order::Forward => begin(store, &prefix, places.first)?.unwrap_or(places.first),
        Order::Reverse => Seq::ZERO,
    };
    let end = [prefix.as_slice(), &places.last.to_key(), &[0]].concat();
    let mut fault = None;
    store.scan(&key(from), Some(&end), order, &mut |key, value| {
        let block = split_key(key).and_then(|(_, first)| decode(first, value));
        let Some(mut block) = block else {
            fault = Some(DAMAGED);
            return ControlFlow::Break(());
        };
        if order == Order::Reverse {
            block.reverse();
        }
        for seq in block {
            let past = match order {
                Order::Forward => seq > places.last,
                Order::Reverse => seq < places.first,
            };
            if past || found.len() >= limit {
                return ControlFlow::Break(());
            }
            if places.contains(seq) {
                found.push(seq);
            }
        }
        ControlFlow::Continue(())
    })?;
    match fault {
        Some(fault) => Err(fault),
        None => Ok(found),
    }
}

/// The first place of the block that a place would be in.
fn begin(store: &Store, prefix: &[u8], place: Seq) -> Result<Option<Seq>, ViewsError> {
    let from = [prefix, &Seq::ZERO.to_key()].concat();
    let to = [prefix, &place.to_key(), &[0]].concat();
    let mut first = None;
    store.scan(&from, Some(&to), Order::Reverse, &mut |key, _| {
        first = split_key(key).map(|(_, first)| first);
        ControlFlow::Break(())
    })?;
    Ok(first)
}
