//! A tolerant scanner of JSON: it finds keys and strings, whatever else is wrong.
//!
//! It keeps one byte for each open bracket and never recurses over nesting, and it looks at each byte
//! a bounded number of times.

use super::known::Forms;
use super::spans::{self, Span};
use super::unescape::unescape;
use super::{LEVELS_MAX, find, looks_like_json, names};
use memchr::memchr2;

/// What was found.
pub(super) struct Scan {
    /// The places to replace.
    pub(super) spans: Vec<Span>,
    /// Whether the bytes look like JSON throughout. If not, the rules for text must have their say.
    pub(super) sound: bool,
}

/// Finds the secret places of JSON bytes that lie `level` strings deep.
pub(super) fn scan(bytes: &[u8], forms: &Forms, level: u32) -> Scan {
    let mut scanner = Scanner {
        bytes,
        forms,
        level,
        at: 0,
        open: Vec::new(),
        named: false,
        words: Vec::new(),
        scan: Scan {
            spans: Vec::new(),
            sound: true,
        },
    };
    scanner.run();
    if scanner.scan.sound {
        scanner.scan.spans.append(&mut scanner.words);
    }
    scanner.scan
}

/// One open bracket.
#[derive(Clone, Copy)]
struct Open {
    is_array: bool,
    /// Whether the keys in it are names that somebody chose.
    named: bool,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    forms: &'a Forms,
    level: u32,
    at: usize,
    open: Vec<Open>,
    /// Whether the value that comes next is an object of chosen names.
    named: bool,
    /// Numbers that hold a secret. In what is no JSON, the rules for text see them as well.
    words: Vec<Span>,
    scan: Scan,
}

impl Scanner<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' => self.at += 1,
                b'{' | b'[' => self.enter(byte == b'['),
                b'}' | b']' => self.leave(byte == b']'),
                b'"' => self.string(),
                _ => self.scalar(),
            }
        }
        self.scan.sound &= self.open.is_empty();
    }

    fn enter(&mut self, is_array: bool) {
        // A secret that is JSON itself, such as the key file of a service account.
        if let Some(length) = self.forms.longest_at(self.bytes, self.at)
            && value_end(self.bytes, self.at) == Some(self.at + length)
        {
            self.scan
                .spans
                .push(Span::quoted(self.at, self.at + length));
            self.at += length;
            return;
        }
        let inherited = self
            .open
            .last()
            .is_some_and(|open| open.is_array && open.named);
        let named = std::mem::take(&mut self.named) || inherited;
        self.open.push(Open { is_array, named });
        self.at += 1;
    }

    fn leave(&mut self, is_array: bool) {
        let matches = self
            .open
            .pop()
            .is_some_and(|open| open.is_array == is_array);
        self.scan.sound &= matches;
        self.at += 1;
    }

    fn string(&mut self) {
        let start = self.at;
        let end = string_end(self.bytes, start);
        self.scan.sound &= end.is_some();
        let (inside, end) = match end {
            Some(end) => ((start + 1, end - 1), end),
            None => ((start + 1, self.bytes.len()), self.bytes.len()),
        };
        let colon = skip_space(self.bytes, end);
        self.at = end;
        if self.bytes.get(colon) != Some(&b':') {
            self.named = false;
            self.inside(inside);
            return;
        }
        self.at = colon + 1;
        let raw = self.bytes.get(inside.0..inside.1).unwrap_or_default();
        // Six raw bytes can spell one character of a name.
        let key = (raw.len() <= 6 * names::NAME_BYTES_MAX).then(|| unescape(raw));
        let key = key.as_ref().map(|key| &*key.text).unwrap_or_default();
        self.named = names::names_its_members(key);
        if names::is_secret(key) {
            self.secret_value();
        } else {
            self.inside(inside);
        }
    }

    /// Replaces the value after a secret-like key, unless there is nothing to hide.
    fn secret_value(&mut self) {
        let start = skip_space(self.bytes, self.at);
        let first = self.bytes.get(start).copied().unwrap_or_default();
        let chosen = self.open.last().is_some_and(|open| open.named);
        if chosen && matches!(first, b'{' | b'[') {
            return;
        }
        let end = value_end(self.bytes, start);
        self.scan.sound &= end.is_some();
        let end = end.unwrap_or(self.bytes.len());
        let value = self.bytes.get(start..end).unwrap_or_default();
        let inside = value
            .strip_prefix(b"\"")
            .and_then(|v| v.strip_suffix(b"\""));
        let harmless = if let Some(inside) = inside {
            spans::is_harmless(inside) && !self.forms.occur_in(inside)
        } else {
            is_nothing(value)
        };
        if !harmless {
            self.scan.spans.push(Span::quoted(start, end));
            self.at = end;
        }
    }

    /// Applies the rules to what a string says.
    fn inside(&mut self, (start, end): (usize, usize)) {
        let read = unescape(self.bytes.get(start..end).unwrap_or_default());
        let deeper = self.level < LEVELS_MAX;
        let as_json = deeper && looks_like_json(&read.text);
        let found = find(
            &read.text,
            self.forms,
            self.level + u32::from(deeper),
            as_json,
        );
        self.scan.spans.extend(found.into_iter().map(|span| Span {
            start: start + read.raw_start(span.start),
            end: start + read.raw_end(span.end),
            quote: span.quote.replace('\\', "\\\\").replace('"', "\\\""),
        }));
    }

    /// A number, a literal, or what should not be here.
    fn scalar(&mut self) {
        let start = self.at;
        self.named = false;
        self.at = scalar_end(self.bytes, start).max(start + 1);
        let word = self.bytes.get(start..self.at).unwrap_or_default();
        if self.forms.occur_in(word) {
            // Whole, since half a number with a word in it is no JSON.
            self.words.push(Span::quoted(start, self.at));
        }
        let is_number = word
            .iter()
            .all(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        self.scan.sound &= is_number || matches!(word, b"true" | b"false" | b"null");
    }
}

/// Whether a value that is no string says nothing: a literal, or empty brackets.
fn is_nothing(value: &[u8]) -> bool {
    let start = value.iter().take(8).filter(|b| !is_space(**b));
    let start: Vec<u8> = start.copied().collect();
    matches!(&*start, b"" | b"null" | b"true" | b"false" | b"{}" | b"[]")
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// The first place from here on that is no white space.
pub(super) fn skip_space(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|b| is_space(**b)).count()
}

/// The place after the string that begins here; `None` if it does not end.
pub(super) fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = *bytes.get(start)?;
    let mut at = start + 1;
    loop {
        at += memchr2(quote, b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&quote) {
            return Some(at + 1);
        }
        at += 2;
    }
}

fn scalar_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let inside =
        |b: &&u8| !is_space(**b) && !matches!(b, b',' | b':' | b'{' | b'}' | b'[' | b']' | b'"');
    start + rest.iter().take_while(inside).count()
}

/// The place after the value that begins here; `None` if it does not end.
pub(super) fn value_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match bytes.get(at) {
            Some(b'"') => at = string_end(bytes, at)?,
            Some(b'{' | b'[') => {
                depth += 1;
                at += 1;
            }
            Some(b'}' | b']') if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            Some(_) if depth > 0 => at += 1,
            Some(_) => return Some(scalar_end(bytes, at)),
            None => return (depth == 0).then_some(at),
        }
        if depth == 0 {
            return Some(at);
        }
    }
}
