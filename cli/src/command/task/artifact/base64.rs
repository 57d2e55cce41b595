//! Base64 as agents write it, decoded in bounded memory.
//!
//! Both alphabets, with padding or without, and white space between the letters, as readers of `ProtoJSON`
//! must take it. Anything else is no base64.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::io::{self, Write};

/// How many letters are decoded together: a multiple of four.
const LETTERS: usize = 64 << 10;

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Writes the bytes; says whether it was base64. What came before a wrong letter was written.
pub(super) fn decode(text: &str, out: &mut impl Write) -> io::Result<bool> {
    let mut letters = Vec::with_capacity(LETTERS.min(text.len()));
    let mut padded = false;
    for byte in text.bytes() {
        let letter = match byte {
            b'-' => b'+',
            b'_' => b'/',
            space if space.is_ascii_whitespace() => continue,
            b'=' => {
                padded = true;
                continue;
            }
            other => other,
        };
        if padded {
            return Ok(false);
        }
        letters.push(letter);
        if letters.len() == LETTERS {
            if !flush(&letters, out)? {
                return Ok(false);
            }
            letters.clear();
        }
    }
    flush(&letters, out)
}

fn flush(letters: &[u8], out: &mut impl Write) -> io::Result<bool> {
    match ENGINE.decode(letters) {
        Ok(bytes) => {
            out.write_all(&bytes)?;
            Ok(true)
        }
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    fn decoded(text: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode(text, &mut out).unwrap().then_some(out)
    }

    #[test]
    fn every_spelling_of_the_same_bytes_is_taken_and_nothing_else() {
        for text in ["+/8=", "-_8=", "-_8", "+/8", " +/\n8= "] {
            assert_eq!(decoded(text).as_deref(), Some(&[0xfb, 0xff][..]), "{text}");
        }
        for text in ["a", "!!!!", "YQ==YQ", "é"] {
            assert_eq!(decoded(text), None, "{text}");
        }
        assert_eq!(decoded("").as_deref(), Some(&[][..]));
    }

    #[test]
    fn what_is_longer_than_the_buffer_is_decoded_whole() {
        use base64::Engine as _;
        let bytes: Vec<u8> = (0..200_001_u32).map(|at| at.to_le_bytes()[1]).collect();
        let text = base64::engine::general_purpose::STANDARD.encode(&bytes);

        assert_eq!(decoded(&text), Some(bytes));
    }
}
