//! Rows in memory: for tests, for looking at a log as it once stood, and for `projection verify`.

use super::pending::Seen;
use super::store::Visit;
use super::{Bytes, Order};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock};

/// A sorted map that goes away with the process. Clones are the same map.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryStore {
    rows: Arc<RwLock<BTreeMap<Bytes, Bytes>>>,
}

impl MemoryStore {
    pub(crate) fn get(&self, key: &[u8]) -> Option<Bytes> {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        rows.get(key).cloned()
    }

    pub(crate) fn scan(&self, from: &[u8], to: Option<&[u8]>, order: Order, visit: &mut Visit<'_>) {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        let end = to.map_or(Bound::Unbounded, Bound::Excluded);
        let mut range = rows.range::<[u8], _>((Bound::Included(from), end));
        loop {
            let next = match order {
                Order::Forward => range.next(),
                Order::Reverse => range.next_back(),
            };
            match next {
                Some((key, value)) if visit(key, value).is_continue() => {}
                Some(_) | None => return,
            }
        }
    }

    pub(crate) fn commit(&self, chunk: Vec<Seen>) {
        let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        for (key, cell) in chunk.into_iter().filter(|(_, cell)| cell.is_due()) {
            match cell.value {
                Some(value) => rows.insert(key, value),
                None => rows.remove(&key),
            };
        }
    }
}
