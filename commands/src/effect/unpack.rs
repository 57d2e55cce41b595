//! Undoing a compression that nobody asked for (C058).
//!
//! Promises: what a chunk holds comes out with that chunk, so that an update is not held back until the
//! next one. Refuses: to put more than a bounded part of the packed bytes through at once, since a few of
//! them may become a thousand times as many.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;

/// Packed bytes that are unpacked in one step; at most about a thousand times as many come out.
const STEP_BYTES: usize = 4 << 10;

/// A gzip stream that is coming in.
#[derive(Debug)]
pub struct Unpack {
    packed: Bytes,
    decoder: MultiGzDecoder<Vec<u8>>,
}

impl Unpack {
    /// Whether a `Content-Encoding` is one that can be undone.
    pub fn knows(coding: &str) -> bool {
        ["gzip", "x-gzip"]
            .iter()
            .any(|known| coding.eq_ignore_ascii_case(known))
    }

    /// Nothing has come yet.
    pub fn new() -> Self {
        Self {
            packed: Bytes::new(),
            decoder: MultiGzDecoder::new(Vec::new()),
        }
    }

    /// Takes a chunk, when [`Unpack::step`] has nothing left to do.
    pub fn feed(&mut self, chunk: Bytes) {
        self.packed = chunk;
    }

    /// The next unpacked bytes; `None` once more must be fed. They may be none all the same.
    ///
    /// # Errors
    /// If the bytes are no gzip.
    pub fn step(&mut self) -> io::Result<Option<Bytes>> {
        if self.packed.is_empty() {
            return Ok(None);
        }
        let step = self.packed.len().min(STEP_BYTES);
        self.decoder.write_all(&self.packed.split_to(step))?;
        self.decoder.flush()?;
        Ok(Some(std::mem::take(self.decoder.get_mut()).into()))
    }
}

impl Default for Unpack {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn unpacked(unpack: &mut Unpack, chunk: &[u8]) -> io::Result<Vec<u8>> {
        unpack.feed(Bytes::copy_from_slice(chunk));
        let mut out = Vec::new();
        while let Some(bytes) = unpack.step()? {
            out.extend_from_slice(&bytes);
        }
        Ok(out)
    }

    #[test]
    fn what_was_flushed_comes_out_with_its_chunk() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        let mut unpack = Unpack::new();

        for event in ["data: 1\n\n", "data: 2\n\n"] {
            packer.write_all(event.as_bytes()).unwrap();
            packer.flush().unwrap();
            let chunk = std::mem::take(packer.get_mut());

            assert_eq!(unpacked(&mut unpack, &chunk).unwrap(), event.as_bytes());
        }
    }

    #[test]
    fn a_bomb_comes_out_in_bounded_steps_and_rubbish_is_an_error() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(&vec![0; 64 << 20]).unwrap();
        let bomb = packer.finish().unwrap();
        let mut unpack = Unpack::new();
        unpack.feed(bomb.into());

        let mut most = 0;
        while let Some(bytes) = unpack.step().unwrap() {
            most = most.max(bytes.len());
        }

        assert!(most < 8 << 20, "{most}");
        assert!(unpacked(&mut Unpack::new(), b"data: 1\n\ndata: 2\n\n").is_err());
    }
}
