//! Identifiers: validated at the border, so that everything inside may trust them.
//!
//! There are two families. *Ours* are fixed-size random bytes, written as lower-case hex. *Names and
//! peers' identifiers* are bounded text: names follow the grammar of product.md, identifiers that a
//! peer chose are opaque (A2A 1.0 section 5) and only their length is bounded.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// The place of an event in the log. The first event has `Seq` 1; 0 means "before the first".
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// Before the first event.
    pub const ZERO: Self = Self(0);

    /// The place after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The big-endian bytes that keys are made of: they sort as the numbers do.
    pub fn to_key(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// Reads a key; `None` if it has not eight bytes.
    pub fn from_key(key: &[u8]) -> Option<Self> {
        key.try_into()
            .ok()
            .map(|bytes| Self(u64::from_be_bytes(bytes)))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Text that is no identifier of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not {expected}: {found:?}")]
pub struct NotAnId {
    /// What was wanted, with its article.
    pub expected: &'static str,
    /// The first characters of what was found.
    pub found: String,
}

impl NotAnId {
    pub(crate) fn new(expected: &'static str, found: &str) -> Self {
        Self {
            expected,
            found: found.chars().take(80).collect(),
        }
    }
}

/// Bytes as lower-case hex, without an allocation; the longest are 32 bytes.
pub(crate) struct Hex {
    digits: [u8; 64],
    used: usize,
}

impl Hex {
    /// The first 32 bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let digit = |nibble: u8| {
            if nibble < 10 {
                b'0' + nibble
            } else {
                b'a' + nibble - 10
            }
        };
        let mut digits = [0; 64];
        let (pairs, _) = digits.as_chunks_mut::<2>();
        let mut used = 0;
        for ([high, low], byte) in pairs.iter_mut().zip(bytes) {
            *high = digit(byte >> 4);
            *low = digit(byte & 15);
            used += 2;
        }
        Self { digits, used }
    }

    /// The digits.
    pub(crate) fn as_str(&self) -> &str {
        let digits = self.digits.get(..self.used).unwrap_or_default();
        // Digits are ASCII, so this never falls back.
        std::str::from_utf8(digits).unwrap_or_default()
    }
}

/// Reads text into what it spells, without an owned copy of it.
pub(crate) fn deserialize_text<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    read: fn(&str) -> Result<T, NotAnId>,
) -> Result<T, D::Error> {
    struct Text<T>(fn(&str) -> Result<T, NotAnId>);
    impl<T> de::Visitor<'_> for Text<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("text")
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            self.0(text).map_err(E::custom)
        }
    }
    deserializer.deserialize_str(Text(read))
}

/// Reads exactly `N` bytes of lower-case hex.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    fn nibble(digit: u8) -> Option<u8> {
        match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        }
    }
    let mut bytes = [0; N];
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(bytes)
}

macro_rules! hex_id {
    ($(#[$doc:meta])* $name:ident, $bytes:literal, $expected:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $bytes]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad($crate::event::id::Hex::of(&self.0).as_str())
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }
        impl std::str::FromStr for $name {
            type Err = NotAnId;
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                $crate::event::id::from_hex(text).map(Self).ok_or_else(|| NotAnId::new($expected, text))
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::event::id::Hex::of(&self.0).as_str())
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::event::id::deserialize_text(deserializer, |text| text.parse())
            }
        }
    };
}
pub(crate) use hex_id;

hex_id!(
    /// The identifier of one event: 16 bytes, time-ordered in life (UUID version 7, RFC 9562).
    EventId, 16, "an event id (32 hex digits)"
);
hex_id!(
    /// The identifier of one append: a retry with the same one appends nothing.
    BatchId, 16, "a batch id (32 hex digits)"
);
hex_id!(
    /// One process that hosted the log and wrote to it.
    HostId, 8, "a host id (16 hex digits)"
);
hex_id!(
    /// One run of the program that acts: it holds a lock for as long as it lives, so that others can
    /// tell an intent that is under way from one that is in doubt.
    InstanceId, 8, "an instance id (16 hex digits)"
);
hex_id!(
    /// Somebody who acts, without saying who: the name is a payload of `missive.actor.seen`.
    ActorId, 16, "an actor id (32 hex digits)"
);

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $expected:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// Takes text that is a valid one.
            pub fn new(text: &str) -> Result<Self, NotAnId> {
                let valid: fn(&str) -> bool = $valid;
                if valid(text) { Ok(Self(text.into())) } else { Err(NotAnId::new($expected, text)) }
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
        impl std::str::FromStr for $name {
            type Err = NotAnId;
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                Self::new(text)
            }
        }
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::event::id::deserialize_text(deserializer, Self::new)
            }
        }
    };
}
pub(crate) use text_id;

/// `[a-z0-9][a-z0-9._-]{0,62}`: the names that people look things up by.
pub(crate) fn is_name(text: &str) -> bool {
    let first = text.as_bytes().first().copied().unwrap_or(b'-');
    text.len() <= 63
        && (first.is_ascii_lowercase() || first.is_ascii_digit())
        && text.bytes().all(|b| {
            b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-')
        })
}

/// How long an identifier may be that a peer chose, in bytes.
pub const PEER_ID_BYTES_MAX: usize = 1_024;

fn is_peer_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= PEER_ID_BYTES_MAX
}

text_id!(
    /// The name under which an agent is registered.
    Alias, "an alias ([a-z0-9][a-z0-9._-]{0,62})", is_name
);
text_id!(
    /// The name of a group of agents.
    GroupName, "a group name ([a-z0-9][a-z0-9._-]{0,62})", is_name
);
text_id!(
    /// The place of a member in its group. Ranks are ordered as people count: `rank-2` before `rank-10`.
    Rank, "a rank ([a-z0-9][a-z0-9._-]{0,62})", is_name
);
text_id!(
    /// One command that a user gave, whatever it took to carry out.
    OperationId, "an operation id ([A-Za-z0-9_-]{1,64})", |text| (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
);
text_id!(
    /// An A2A `contextId`: opaque, 1 to 1,024 bytes.
    ContextId, "a context id (1 to 1024 bytes)", is_peer_id
);
text_id!(
    /// An A2A task id: opaque, 1 to 1,024 bytes.
    TaskId, "a task id (1 to 1024 bytes)", is_peer_id
);
text_id!(
    /// An A2A `messageId`: opaque, 1 to 1,024 bytes.
    MessageId, "a message id (1 to 1024 bytes)", is_peer_id
);
text_id!(
    /// An A2A `artifactId`: opaque, 1 to 1,024 bytes.
    ArtifactId, "an artifact id (1 to 1024 bytes)", is_peer_id
);
text_id!(
    /// The id of a push notification configuration: opaque, 1 to 1,024 bytes.
    PushConfigId, "a push configuration id (1 to 1024 bytes)", is_peer_id
);
