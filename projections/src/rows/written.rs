//! Which keys a store may have, for a store that was empty when it was opened.
//!
//! Most keys that a rebuild asks for were never written: a new task, a new message. The store itself takes
//! microseconds to say so. This filter says it in nanoseconds for nearly all of them, and is never wrong
//! about a key that was written (a Bloom filter, which forgets nothing and may mix keys up).

use super::keyed::mix;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits, as a power of two: 4 MB, of which the system gives only the pages that are touched. Past some
/// five million keys it answers "perhaps" ever more often, which costs time and nothing else.
const BITS_LOG2: u32 = 25;
/// How many bits stand for one key. They share a word: one look into memory, and a few more mix-ups.
const PROBES: u32 = 4;

/// Keys that were written, and some others.
pub(crate) struct Written(Vec<AtomicU64>);

impl Written {
    pub(crate) fn none() -> Self {
        let words = 1_usize << (BITS_LOG2 - 6);
        Self((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    /// Notes a key. To be done before it can be read.
    pub(crate) fn note(&self, key: &[u8]) {
        if let Some((word, bits)) = self.place(key) {
            word.fetch_or(bits, Ordering::Relaxed);
        }
    }

    /// `false`: the key was never noted.
    pub(crate) fn may_have(&self, key: &[u8]) -> bool {
        self.place(key)
            .is_some_and(|(word, bits)| word.load(Ordering::Relaxed) & bits == bits)
    }

    fn place(&self, key: &[u8]) -> Option<(&AtomicU64, u64)> {
        let hash = mix(key);
        let word = self
            .0
            .get(usize::try_from(hash >> (70 - BITS_LOG2)).ok()?)?;
        let bit = |probe: u32| 1 << (hash >> (6 * probe) & 63);
        Some((
            word,
            (0..PROBES).map(bit).fold(0, |all, bit: u64| all | bit),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::Written;

    #[test]
    fn a_written_key_is_never_denied_and_others_nearly_always_are() {
        let written = Written::none();
        let key = |n: u32| format!("context-{n}-aaaa").into_bytes();
        (0..10_000).for_each(|n| written.note(&key(n)));

        let mixed_up = (10_000..20_000)
            .filter(|n| written.may_have(&key(*n)))
            .count();

        assert!((0..10_000).all(|n| written.may_have(&key(n))));
        assert!(mixed_up < 100, "{mixed_up}");
    }
}
