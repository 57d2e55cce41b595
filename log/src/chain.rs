//! The only code that hashes.
//!
//! `‖` joins bytes, `be64` is an unsigned 64-bit big-endian integer, and
//! `H(label, x)` is BLAKE3 in `derive_key` mode with the context `"missive 2026-12 " + label + " v1"`:
//!
//! ```text
//! log        = H("log", body(1))
//! link(0)    = H("genesis", log)
//! digest(n)  = H("event", log ‖ be64(n) ‖ be64(prev(n)) ‖ be64(len(body)) ‖ body)
//! link(n)    = H("link", link(n-1) ‖ digest(n))
//! commitment = H("payload", salt ‖ be64(len(bytes)) ‖ bytes)
//! ```
//!
//! What this shows: nothing changed up to a head that is kept elsewhere. Without such a head, whoever
//! owns the folder can recompute everything.

use crate::event::Seq;
use crate::event::id::{Hex, NotAnId, from_hex, hex_id};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::LazyLock;

hex_id!(
    /// A log's identity: it binds format, suite, origin, keys and nonce.
    LogId, 32, "a log id (64 hex digits)"
);
hex_id!(
    /// The digest of one event.
    Digest, 32, "a digest (64 hex digits)"
);
hex_id!(
    /// The head of the chain at one place: it binds every event up to there.
    Link, 32, "a link (64 hex digits)"
);
hex_id!(
    /// A salted commitment to the bytes of a payload.
    Commitment, 32, "a commitment (64 hex digits)"
);

hex_id!(
    /// The plain BLAKE3 hash of bytes that left the log, as `b3sum` prints it. It is shown and kept in
    /// payloads; facts hold salted commitments only.
    ContentDigest, 32, "a BLAKE3 digest (64 hex digits)"
);

/// The random bytes in front of a payload in its commitment; fresh for each payload, never reused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt(pub [u8; 32]);

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(..)")
    }
}

impl fmt::Display for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Hex::of(&self.0).as_str())
    }
}

impl std::str::FromStr for Salt {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        from_hex(text)
            .map(Self)
            .ok_or_else(|| NotAnId::new("a salt (64 hex digits)", text))
    }
}

// Deriving a key costs a compression; cloning a keyed hasher costs a copy.
static LOG: LazyLock<blake3::Hasher> = LazyLock::new(|| keyed("missive 2026-12 log v1"));
static GENESIS: LazyLock<blake3::Hasher> = LazyLock::new(|| keyed("missive 2026-12 genesis v1"));
static EVENT: LazyLock<blake3::Hasher> = LazyLock::new(|| keyed("missive 2026-12 event v1"));
static LINK: LazyLock<blake3::Hasher> = LazyLock::new(|| keyed("missive 2026-12 link v1"));
static PAYLOAD: LazyLock<blake3::Hasher> = LazyLock::new(|| keyed("missive 2026-12 payload v1"));
static FILE: LazyLock<blake3::Hasher> = LazyLock::new(|| keyed("missive 2026-12 file v1"));

fn keyed(context: &'static str) -> blake3::Hasher {
    blake3::Hasher::new_derive_key(context)
}

fn hash(keyed: &LazyLock<blake3::Hasher>, pieces: &[&[u8]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::clone(keyed);
    for piece in pieces {
        hasher.update(piece);
    }
    hasher.finalize().into()
}

/// `be64(len(bytes))`.
fn length(bytes: &[u8]) -> [u8; 8] {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes()
}

/// The identity of the log whose first body this is.
pub fn log_id(body1: &[u8]) -> LogId {
    LogId(hash(&LOG, &[body1]))
}

/// The link before the first event.
pub fn genesis(log: LogId) -> Link {
    Link(hash(&GENESIS, &[&log.0]))
}

/// The digest of the event at `seq`.
pub fn digest(log: LogId, seq: Seq, prev: Seq, body: &[u8]) -> Digest {
    Digest(hash(
        &EVENT,
        &[&log.0, &seq.to_key(), &prev.to_key(), &length(body), body],
    ))
}

/// The next link.
#[must_use]
pub fn extend(link: Link, digest: Digest) -> Link {
    Link(hash(&LINK, &[&link.0, &digest.0]))
}

/// The commitment to a payload.
pub fn commit(salt: &Salt, bytes: &[u8]) -> Commitment {
    Commitment(hash(&PAYLOAD, &[&salt.0, &length(bytes), bytes]))
}

/// What stands for bytes of a sort while the process lives that holds the key; `fingerprint.rs` says for what.
pub(crate) fn fingerprint(key: &[u8; 32], sort: u8, bytes: &[u8]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&[sort]);
    hasher.update(bytes);
    let mut print = [0; 16];
    hasher.finalize_xof().fill(&mut print);
    print
}

/// Whether the bytes are the same, by their hashes under a key that nobody outside knows, in constant time.
pub(crate) fn are_same(key: &[u8; 32], one: &[u8], other: &[u8]) -> bool {
    blake3::keyed_hash(key, one) == blake3::keyed_hash(key, other)
}

/// The checksum of a small file of ours (witness slots, journal fingerprints). Not part of the chain.
pub(crate) fn checksum(pieces: &[&[u8]]) -> [u8; 32] {
    hash(&FILE, pieces)
}

/// The digest of bytes that come in pieces and leave the log. Not part of the chain.
#[derive(Clone, Debug, Default)]
pub struct ContentHasher(blake3::Hasher);

impl ContentHasher {
    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all of them.
    pub fn digest(&self) -> ContentDigest {
        ContentDigest(self.0.finalize().into())
    }
}

/// One `n`, `link(n)` and the log that they belong to: what to keep elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The log.
    pub log: LogId,
    /// The place.
    pub seq: Seq,
    /// The link at that place.
    pub link: Link,
}

impl fmt::Display for Anchor {
    /// `log:seq:link`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.log, self.seq, self.link)
    }
}

impl std::str::FromStr for Anchor {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let mut fields = text.split(':');
        let anchor = (|| {
            let log = fields.next()?.parse().ok()?;
            let digits = fields.next()?;
            let seq = Seq(digits.parse().ok()?);
            let link = fields.next()?.parse().ok()?;
            // One spelling only: `+1` and `01` are numbers to Rust and not to us.
            (fields.next().is_none() && seq.to_string() == digits).then_some(Self {
                log,
                seq,
                link,
            })
        })();
        anchor.ok_or_else(|| NotAnId::new("a head (log:seq:link)", text))
    }
}

/// Where the chain has come to while it is being recomputed.
#[derive(Clone, Copy, Debug)]
pub struct Verifier {
    log: LogId,
    seq: Seq,
    link: Link,
}

/// A place at which the chain does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ChainFault {
    /// Events are missing.
    #[error("event {expected} is missing: the next one there is {found}")]
    Gap {
        /// The place that should have come.
        expected: Seq,
        /// The place that came.
        found: Seq,
    },
    /// The stored link is not the one that the bytes give.
    #[error("event {seq} does not have the bytes that its link was made of")]
    Link {
        /// Where.
        seq: Seq,
    },
}

impl Verifier {
    /// Begins before the first event.
    pub fn new(log: LogId) -> Self {
        Self {
            log,
            seq: Seq::ZERO,
            link: genesis(log),
        }
    }

    /// Goes on after a place whose link is trusted already.
    pub fn after(anchor: Anchor) -> Self {
        Self {
            log: anchor.log,
            seq: anchor.seq,
            link: anchor.link,
        }
    }

    /// Takes the next record; a fault leaves the verifier where it was.
    pub fn take(
        &mut self,
        seq: Seq,
        digest: Digest,
        stored: Option<Link>,
    ) -> Result<Link, ChainFault> {
        if seq != self.seq.next() {
            return Err(ChainFault::Gap {
                expected: self.seq.next(),
                found: seq,
            });
        }
        let link = extend(self.link, digest);
        if stored.is_some_and(|stored| stored != link) {
            return Err(ChainFault::Link { seq });
        }
        self.seq = seq;
        self.link = link;
        Ok(link)
    }

    /// Goes on behind a re-anchoring.
    pub(crate) fn jump(&mut self, anchor: Anchor) {
        self.seq = anchor.seq;
        self.link = anchor.link;
    }

    /// Where it has come to.
    pub fn anchor(&self) -> Anchor {
        Anchor {
            log: self.log,
            seq: self.seq,
            link: self.link,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example that fixes the suite for every implementation.
    #[test]
    fn the_published_vectors_hold() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../tests/vectors.json")).unwrap();
        let text = |key: &str| vectors[key].as_str().unwrap().to_owned();
        let (body1, body2) = (text("body1"), text("body2"));

        let log = log_id(body1.as_bytes());
        let link0 = genesis(log);
        let digest1 = digest(log, Seq(1), Seq(0), body1.as_bytes());
        let digest2 = digest(log, Seq(2), Seq(0), body2.as_bytes());
        let link1 = extend(link0, digest1);
        let salt: Salt = text("salt").parse().unwrap();

        assert_eq!(log.to_string(), text("log"));
        assert_eq!(link0.to_string(), text("link0"));
        assert_eq!(digest1.to_string(), text("digest1"));
        assert_eq!(link1.to_string(), text("link1"));
        assert_eq!(digest2.to_string(), text("digest2"));
        assert_eq!(extend(link1, digest2).to_string(), text("link2"));
        assert_eq!(
            commit(&salt, text("payload").as_bytes()).to_string(),
            text("commitment")
        );
        assert_eq!(
            commit(&salt, b"").to_string(),
            text("commitment_of_empty_payload_same_salt")
        );
    }

    #[test]
    fn a_head_has_one_spelling() {
        let anchor = Anchor {
            log: LogId([1; 32]),
            seq: Seq(7),
            link: Link([2; 32]),
        };
        let text = anchor.to_string();

        assert_eq!(text.parse(), Ok(anchor));
        assert!(text.replace(":7:", ":07:").parse::<Anchor>().is_err());
        assert!(text.replace(":7:", ":+7:").parse::<Anchor>().is_err());
        assert!(format!("{text}:").parse::<Anchor>().is_err());
        assert!(
            text.to_uppercase().parse::<Anchor>().is_err() || !text.contains(char::is_alphabetic)
        );
    }
}
