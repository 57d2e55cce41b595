//! What the inside of a JSON string says, and where each byte of it came from.

use std::borrow::Cow;

/// The text of a string and the way back into its raw form.
pub(super) struct Unescaped<'a> {
    pub(super) text: Cow<'a, [u8]>,
    escapes: Vec<Escape>,
}

/// One escape: where it stands raw, and which bytes of the text it made.
struct Escape {
    raw: (usize, usize),
    text: (usize, usize),
}

impl Unescaped<'_> {
    /// The raw place of a start in the text; the whole escape belongs to what begins inside it.
    pub(super) fn raw_start(&self, at: usize) -> usize {
        match self.last_before(at) {
            Some(escape) if at < escape.text.1 => escape.raw.0,
            Some(escape) => escape.raw.1 + (at - escape.text.1),
            None => at,
        }
    }

    /// The raw place of an end in the text; the whole escape belongs to what ends inside it.
    pub(super) fn raw_end(&self, at: usize) -> usize {
        match self.last_before(at) {
            Some(escape) if at == escape.text.0 => escape.raw.0,
            Some(escape) if at <= escape.text.1 => escape.raw.1,
            Some(escape) => escape.raw.1 + (at - escape.text.1),
            None => at,
        }
    }

    /// The last escape whose text begins at this place or before it.
    fn last_before(&self, at: usize) -> Option<&Escape> {
        let after = self.escapes.partition_point(|escape| escape.text.0 <= at);
        self.escapes.get(after.checked_sub(1)?)
    }
}

/// Reads the inside of a JSON string; what is no escape after all stands for itself.
pub(super) fn unescape(raw: &[u8]) -> Unescaped<'_> {
    if !raw.contains(&b'\\') {
        return Unescaped {
            text: Cow::Borrowed(raw),
            escapes: Vec::new(),
        };
    }
    let mut text = Vec::with_capacity(raw.len());
    let mut escapes = Vec::new();
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        if byte != b'\\' {
            text.push(byte);
            at += 1;
            continue;
        }
        let start = text.len();
        let length = one(raw.get(at..).unwrap_or_default(), &mut text);
        escapes.push(Escape {
            raw: (at, at + length),
            text: (start, text.len()),
        });
        at += length;
    }
    Unescaped {
        text: Cow::Owned(text),
        escapes,
    }
}

/// Reads one escape and says how many raw bytes it takes.
fn one(raw: &[u8], text: &mut Vec<u8>) -> usize {
    let simple = match raw.get(1) {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'u') => return unicode(raw, text),
        Some(other) => *other,
        None => {
            text.push(b'\\');
            return 1;
        }
    };
    text.push(simple);
    2
}

fn unicode(raw: &[u8], text: &mut Vec<u8>) -> usize {
    let Some(high) = unit(raw) else {
        text.push(b'u');
        return 2;
    };
    let low = raw.get(6..).and_then(unit);
    let (found, length) = match (high, low) {
        (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) => {
            (0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12)
        }
        _ => (high, 6),
    };
    // Half a surrogate pair is no character; it is kept raw and only read as one here.
    let found = char::from_u32(found).unwrap_or(char::REPLACEMENT_CHARACTER);
    text.extend_from_slice(found.encode_utf8(&mut [0; 4]).as_bytes());
    length
}

/// The number in `\uXXXX`.
fn unit(raw: &[u8]) -> Option<u32> {
    let digits = raw.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |number, digit| {
        Some(number * 16 + char::from(*digit).to_digit(16)?)
    })
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn every_escape_is_read_and_found_again() {
        let raw = br#"a\u0062\ud83d\ude00\"\/c\ud800"#;

        let read = unescape(raw);

        assert_eq!(&*read.text, "ab\u{1f600}\"/c\u{fffd}".as_bytes());
        assert_eq!((read.raw_start(1), read.raw_end(2)), (1, 7));
        assert_eq!((read.raw_start(3), read.raw_end(4)), (7, 19));
        assert_eq!((read.raw_start(8), read.raw_end(9)), (23, 24));
    }

    #[test]
    fn broken_escapes_stand_for_themselves() {
        assert_eq!(&*unescape(br"\u12").text, b"u12");
        assert_eq!(&*unescape(br"a\").text, br"a\");
        assert_eq!(&*unescape(br"\x").text, b"x");
    }
}
