//! The ids of the newest batches: a retry of one that landed appends nothing.

use super::store::Store;
use crate::contract::{Appended, BATCHES_REMEMBERED};
use crate::event::{BatchId, Seq};

/// Batch ids are forgotten this many at a time.
const FORGET_AT_ONCE: u64 = 4_096;

/// Which batch ids are remembered.
#[derive(Clone, Copy)]
pub(super) struct Ordinals {
    next: u64,
    oldest: u64,
}

impl Ordinals {
    pub(super) fn read(store: &Store) -> fjall::Result<Self> {
        let of = |key: &[u8]| {
            key.get(1..9)
                .and_then(Seq::from_key)
                .map(|ordinal| ordinal.0)
        };
        let mut range = store.batches.prefix(b"o");
        let oldest = range.next().map(fjall::Guard::key).transpose()?;
        let newest = range.next_back().map(fjall::Guard::key).transpose()?;
        let oldest = oldest.and_then(|key| of(&key));
        let newest = newest.and_then(|key| of(&key)).or(oldest);
        Ok(Self {
            next: newest.map_or(0, |ordinal| ordinal + 1),
            oldest: oldest.unwrap_or(0),
        })
    }

    /// Notes the batch id, and forgets the oldest ones, many at a time.
    pub(super) fn remember(
        &mut self,
        store: &Store,
        write: &mut fjall::OwnedWriteBatch,
        id: BatchId,
        appended: Appended,
    ) -> fjall::Result<()> {
        let mut value = [0; 24];
        let (ordinal, places) = value.split_at_mut(8);
        let (first, last) = places.split_at_mut(8);
        ordinal.copy_from_slice(&self.next.to_be_bytes());
        first.copy_from_slice(&appended.first.to_key());
        last.copy_from_slice(&appended.last.to_key());
        write.insert(&store.batches, id_key(id), value);
        write.insert(&store.batches, ordinal_key(self.next), id.0);
        self.next += 1;
        if self.next - self.oldest > BATCHES_REMEMBERED + FORGET_AT_ONCE {
            let end = self.oldest + FORGET_AT_ONCE;
            let oldest = ordinal_key(self.oldest)..ordinal_key(end);
            for guard in store.batches.range(oldest) {
                let (key, id) = guard.into_inner()?;
                let mut by_id = vec![b'i'];
                by_id.extend_from_slice(&id);
                write.remove(&store.batches, by_id);
                write.remove(&store.batches, key);
            }
            self.oldest = end;
        }
        Ok(())
    }
}

/// Where a batch landed, if it did.
pub(super) fn landed(store: &Store, id: BatchId) -> fjall::Result<Option<Appended>> {
    let Some(value) = store.batches.get(id_key(id))? else {
        return Ok(None);
    };
    let first = value.get(8..16).and_then(Seq::from_key);
    let last = value.get(16..24).and_then(Seq::from_key);
    Ok(first
        .zip(last)
        .map(|(first, last)| Appended { first, last }))
}

fn id_key(id: BatchId) -> [u8; 17] {
    let mut key = [b'i'; 17];
    let (_, rest) = key.split_at_mut(1);
    rest.copy_from_slice(&id.0);
    key
}

fn ordinal_key(ordinal: u64) -> [u8; 9] {
    let mut key = [b'o'; 9];
    let (_, rest) = key.split_at_mut(1);
    rest.copy_from_slice(&ordinal.to_be_bytes());
    key
}
