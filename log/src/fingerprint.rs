//! Recognising bytes again without keeping them.
//!
//! A fingerprint is a hash under a random key that lives in the memory of one process and nowhere else: it
//! is neither stored nor shown, since a digest that outlived an erased payload would give a short one away.

use crate::chain;
use crate::seam::Ids;
use std::fmt;

/// Takes fingerprints, all under one key.
pub struct Fingerprints([u8; 32]);

/// What stands for some bytes while their process lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint([u8; 16]);

impl Fingerprints {
    /// Under a new key.
    pub fn new(ids: &Ids) -> Self {
        Self(ids.bytes())
    }

    /// The fingerprint of bytes that are of some sort: the same bytes of another sort are others.
    pub fn of(&self, sort: u8, bytes: &[u8]) -> Fingerprint {
        Fingerprint(chain::fingerprint(&self.0, sort, bytes))
    }

    /// Whether two secrets are the same. How long that takes says nothing of where they differ: what is
    /// compared are hashes that nobody outside can foretell, and those in constant time.
    pub fn are_same(&self, one: &[u8], other: &[u8]) -> bool {
        chain::are_same(&self.0, one, other)
    }
}

impl fmt::Debug for Fingerprints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprints(..)")
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::Fingerprints;
    use crate::seam::Ids;

    #[test]
    fn the_same_bytes_are_recognised_under_the_same_key_only() {
        let ids = Ids::from_system();
        let (one, other) = (Fingerprints::new(&ids), Fingerprints::new(&ids));

        assert_eq!(one.of(0, b"hello"), one.of(0, b"hello"));
        assert_ne!(one.of(0, b"hello"), one.of(0, b"hellO"));
        assert_ne!(one.of(0, b"hello"), one.of(1, b"hello"));
        assert_ne!(one.of(0, b"hello"), other.of(0, b"hello"));
    }

    #[test]
    fn secrets_are_compared_whole_and_shown_nowhere() {
        let prints = Fingerprints::new(&Ids::from_system());

        assert!(prints.are_same(b"t0ken", b"t0ken"));
        assert!(!prints.are_same(b"t0ken", b"t0ke"));
        assert!(!prints.are_same(b"t0ken", b""));
        let shown = format!("{prints:?} {:?}", prints.of(0, b"t0ken"));
        assert_eq!(shown, "Fingerprints(..) Fingerprint(..)");
    }
}
