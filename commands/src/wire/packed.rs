//! Bodies that somebody compressed although nobody asked for it (C058).
//!
//! Promises: what a gzip holds, as far as it can be read, within a bound; a few bytes can become a
//! thousand times as many. Only the bytes decide: a proxy may forget the header, or leave it on a body that
//! it unpacked. Refuses: every other coding.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;

/// Most bytes that come out: errors are short, and nothing else is read from a packed body.
pub const UNPACKED_BYTES_MAX: usize = 1 << 20;

/// How every gzip begins (RFC 1952, section 2.3.1): its mark, and the only method that there is.
const MARK: [u8; 3] = [0x1f, 0x8b, 8];

/// What was in a packed body.
#[derive(Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// The bytes, at most [`UNPACKED_BYTES_MAX`].
    pub bytes: Vec<u8>,
    /// Whether these are all.
    pub whole: bool,
}

/// What is in a body; `None` if it is no gzip.
pub fn unpack(body: &[u8]) -> Option<Unpacked> {
    if !body.starts_with(&MARK) {
        return None;
    }
    let mut bytes = Vec::new();
    let bound = u64::try_from(UNPACKED_BYTES_MAX).unwrap_or(u64::MAX);
    // What came before a fault may still say what is wrong.
    let read = MultiGzDecoder::new(body)
        .take(bound.saturating_add(1))
        .read_to_end(&mut bytes);
    let whole = read.is_ok() && bytes.len() <= UNPACKED_BYTES_MAX;
    bytes.truncate(UNPACKED_BYTES_MAX);
    Some(Unpacked { bytes, whole })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;

    pub(crate) fn packed(text: &[u8]) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(text).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn a_bomb_is_cut_and_what_is_broken_gives_what_came_before() {
        let bomb = unpack(&packed(&vec![b' '; 64 << 20])).unwrap();
        let mut torn = packed("boom".repeat(9_000).as_bytes());
        torn.truncate(torn.len() - 9);
        let torn = unpack(&torn).unwrap();

        assert_eq!((bomb.bytes.len(), bomb.whole), (UNPACKED_BYTES_MAX, false));
        assert!(torn.bytes.starts_with(b"boomboom") && !torn.whole);
        assert_eq!(unpack(b"{}"), None);
        assert_eq!(unpack(b"\x1f\x8b"), None);
        let nothing = unpack(b"\x1f\x8b\x08").unwrap();
        assert_eq!((nothing.bytes.len(), nothing.whole), (0, false));
    }
}
