//! Foreign text for terminals: nothing that a peer wrote can act on the terminal or hide itself.
//!
//! Escaped are C0 except newline and tab, DEL, C1, bidirectional controls, line separators, tag
//! characters, blank fillers, and joiners or variation selectors that stand where they change
//! nothing that one can see. Emoji sequences and scripts that need joiners stay readable.
//! [`Escaper`] keeps its state across chunks, so a sequence cannot be smuggled in halves.

/// One line: newlines and tabs are escaped too.
pub(crate) fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut state = State::default();
    for letter in text.chars() {
        match letter {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            other => state.push(other, &mut out),
        }
    }
    out
}

/// Several lines: newlines and tabs stay, CRLF becomes a newline.
pub(crate) fn block(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut escaper = Escaper::default();
    escaper.push(text.as_bytes(), &mut out);
    escaper.finish(&mut out);
    out
}

/// Escapes text that arrives in chunks, cut anywhere, also inside a character.
#[derive(Debug, Default)]
pub(crate) struct Escaper {
    /// The beginning of a character whose end has not come: at most three bytes.
    partial: Vec<u8>,
    carriage_return: bool,
    state: State,
}

impl Escaper {
    /// Appends the escaped form of the next bytes. Bytes that are not UTF-8 show as `\x..`.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut String) {
        let joined;
        let bytes = if self.partial.is_empty() {
            bytes
        } else {
            joined = [std::mem::take(&mut self.partial).as_slice(), bytes].concat();
            &joined
        };
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            for letter in chunk.valid().chars() {
                self.letter(letter, out);
            }
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && may_continue(invalid) {
                self.partial = invalid.to_vec();
            } else {
                self.invalid(invalid, out);
            }
        }
    }

    /// Ends the text: what is still incomplete is shown as it is.
    pub(crate) fn finish(mut self, out: &mut String) {
        let partial = std::mem::take(&mut self.partial);
        self.invalid(&partial, out);
        if self.carriage_return {
            out.push_str("\\r");
        }
    }

    fn letter(&mut self, letter: char, out: &mut String) {
        if std::mem::take(&mut self.carriage_return) && letter != '\n' {
            out.push_str("\\r");
        }
        if letter == '\r' {
            self.carriage_return = true;
        } else if letter == '\n' || letter == '\t' {
            self.state = State::default();
            out.push(letter);
        } else {
            self.state.push(letter, out);
        }
    }

    fn invalid(&mut self, bytes: &[u8], out: &mut String) {
        use std::fmt::Write as _;

        for byte in bytes {
            if std::mem::take(&mut self.carriage_return) {
                out.push_str("\\r");
            }
            self.state = State::default();
            write!(out, "\\x{byte:02x}").ok();
        }
    }
}

/// Whether further bytes could complete these to a character.
fn may_continue(bytes: &[u8]) -> bool {
    let wanted = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        Some(_) | None => return false,
    };
    bytes.len() < wanted
}

/// What stood before, as far as it decides whether a joiner may stay.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing that a joiner could join.
    #[default]
    Plain,
    /// A visible character outside ASCII.
    Joinable,
    /// A variation selector on such a character: one joiner may still follow.
    Varied,
    /// A joiner: nothing invisible may follow.
    Joined,
}

impl State {
    fn push(&mut self, letter: char, out: &mut String) {
        use std::fmt::Write as _;

        let (next, keep) = match letter {
            // Joiners and variation selectors.
            '\u{200c}' | '\u{200d}' => {
                (Self::Joined, matches!(self, Self::Joinable | Self::Varied))
            }
            '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
                (Self::Varied, *self == Self::Joinable)
            }
            _ if acts_or_hides(letter) => (Self::Plain, false),
            _ if letter.is_ascii() => (Self::Plain, true),
            _ => (Self::Joinable, true),
        };
        if keep {
            *self = next;
            out.push(letter);
        } else {
            *self = Self::Plain;
            write!(out, "\\u{{{:x}}}", u32::from(letter)).ok();
        }
    }
}

/// Whether a character controls the terminal, reorders text, or takes no room.
pub(crate) fn acts_or_hides(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}' // soft hyphen
            | '\u{34f}' // combining grapheme joiner
            | '\u{61c}' // Arabic letter mark
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // Hangul fillers
            | '\u{17b4}' | '\u{17b5}' // Khmer inherent vowels
            | '\u{180b}'..='\u{180f}' // Mongolian selectors
            | '\u{200b}' | '\u{200e}' | '\u{200f}' // zero width space, direction marks
            | '\u{2028}'..='\u{202e}' // separators, embeddings, overrides
            | '\u{2060}'..='\u{206f}' // invisible operators, isolates
            | '\u{feff}' // byte order mark
            | '\u{fff0}'..='\u{fffb}' // unassigned ignorables, interlinear annotation
            | '\u{1bca0}'..='\u{1bca3}' // shorthand format controls
            | '\u{1d173}'..='\u{1d17a}' // musical format controls
            | '\u{e0000}'..='\u{e00ff}' // tags
            | '\u{e01f0}'..='\u{e0fff}' // unassigned ignorables
        )
}

#[cfg(test)]
mod tests {
    use super::{Escaper, block, line};

    /// The text of field report C140, escaped.
    const HOSTILE: &str = "ok\u{1b}[2K\u{1b}]52;c;ZXZpbA==\u{7}\u{202e}\u{9b}31m\r$ ";
    const HARMLESS: &str = "ok\\u{1b}[2K\\u{1b}]52;c;ZXZpbA==\\u{7}\\u{202e}\\u{9b}31m\\r$ ";

    #[test]
    fn terminal_sequences_become_visible_text() {
        assert_eq!(block(HOSTILE), HARMLESS);
        assert_eq!(line(HOSTILE), HARMLESS);
    }

    #[test]
    fn a_sequence_cut_anywhere_stays_harmless() {
        let bytes = HOSTILE.as_bytes();

        for cut in 0..=bytes.len() {
            let mut out = String::new();
            let mut escaper = Escaper::default();
            escaper.push(&bytes[..cut], &mut out);
            escaper.push(&bytes[cut..], &mut out);
            escaper.finish(&mut out);
            assert_eq!(out, HARMLESS, "cut at {cut}");
        }
    }

    #[test]
    fn a_block_keeps_its_lines_and_a_line_does_not() {
        assert_eq!(block("a\r\nb\tc\n"), "a\nb\tc\n");
        assert_eq!(line("a\r\nb\tc\n"), "a\\r\\nb\\tc\\n");
        assert_eq!(block("a\r"), "a\\r");
    }

    #[test]
    fn emoji_and_joined_scripts_stay_readable() {
        for text in ["👩‍🚀", "❤️", "👁️‍🗨️", "می‌خواهم", "क्‍ष", "é€😀", "e\u{301}"]
        {
            assert_eq!(block(text), text);
        }
    }

    #[test]
    fn invisible_characters_that_join_nothing_are_shown() {
        assert_eq!(block("pay\u{200b}pal"), "pay\\u{200b}pal");
        assert_eq!(block("a\u{200d}b"), "a\\u{200d}b");
        assert_eq!(block("😀\u{200d}\u{200d}"), "😀\u{200d}\\u{200d}");
        assert_eq!(block("😀\u{fe0f}\u{e0101}"), "😀\u{fe0f}\\u{e0101}");
        assert_eq!(block("x\u{e0041}\u{ad}"), "x\\u{e0041}\\u{ad}");
        assert_eq!(block("\u{feff}x\u{2028}"), "\\u{feff}x\\u{2028}");
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_shown_as_bytes() {
        let mut out = String::new();
        let mut escaper = Escaper::default();

        for byte in [b'a', 0x9b, b'b', 0xe2, 0x82, 0xac, 0xe2, 0x82] {
            escaper.push(&[byte], &mut out);
        }
        escaper.finish(&mut out);

        assert_eq!(out, "a\\x9bb€\\xe2\\x82");
    }
}
