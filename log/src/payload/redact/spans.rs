//! Places to replace, and the numbered words that replace them.

use super::known::Forms;
use std::cmp::Reverse;

const OPEN: &[u8] = b"[redacted:";

/// A place to replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    /// What stands on both sides of the word: a quote where a whole JSON value is replaced, escaped
    /// once for each string that the value lies in.
    pub(super) quote: String,
}

impl Span {
    /// A place inside text.
    pub(super) fn bare(start: usize, end: usize) -> Self {
        Self {
            start,
            end,
            quote: String::new(),
        }
    }

    /// A whole JSON value.
    pub(super) fn quoted(start: usize, end: usize) -> Self {
        Self {
            start,
            end,
            quote: "\"".to_owned(),
        }
    }
}

/// Sorts the places, and makes one of those that overlap: half a secret must not stay.
pub(super) fn merge(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start, Reverse(span.end)));
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start < last.end => {
                if span.end > last.end {
                    last.end = span.end;
                    last.quote.clear();
                }
            }
            _ => merged.push(span),
        }
    }
    merged
}

/// The bytes with each place replaced by the next word.
pub(super) fn replace(bytes: &[u8], spans: &[Span], numbers: &mut Numbers<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + spans.len() * 16);
    let mut at = 0;
    for span in spans {
        out.extend_from_slice(bytes.get(at..span.start).unwrap_or_default());
        out.extend_from_slice(span.quote.as_bytes());
        out.extend_from_slice(numbers.next().as_bytes());
        out.extend_from_slice(span.quote.as_bytes());
        at = span.end;
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    out
}

/// Counts the places of one payload.
pub(super) struct Numbers<'a> {
    forms: &'a Forms,
    number: u64,
    places: u32,
}

impl<'a> Numbers<'a> {
    pub(super) fn new(forms: &'a Forms) -> Self {
        Self {
            forms,
            number: 0,
            places: 0,
        }
    }

    /// The next word.
    pub(super) fn next(&mut self) -> String {
        self.count();
        loop {
            self.number += 1;
            let digits = self.number.to_string();
            // A PIN must not come back as a number of ours.
            if !self.forms.occur_in(digits.as_bytes()) {
                return format!("[redacted:{digits}]");
            }
        }
    }

    /// Counts a place without a word.
    pub(super) fn count(&mut self) {
        self.places = self.places.saturating_add(1);
    }

    pub(super) fn places(&self) -> u32 {
        self.places
    }
}

/// The end of one of our words that begins here.
pub(super) fn word_at(bytes: &[u8], at: usize, forms: &Forms) -> Option<usize> {
    let rest = bytes.get(at..)?.strip_prefix(OPEN)?;
    let digits = rest
        .iter()
        .take(10)
        .take_while(|b| b.is_ascii_digit())
        .count();
    let known = forms.occur_in(rest.get(..digits)?);
    (digits > 0 && !known && rest.get(digits) == Some(&b']')).then(|| at + OPEN.len() + digits + 1)
}

/// Whether a value has nothing in it that could be secret: it is empty, or replaced already.
///
/// A number of ours is taken at its word here: a peer that writes a secret in that form, digits
/// only, is caught by the rule for known values.
pub(super) fn is_harmless(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    let ours = value
        .strip_prefix(OPEN)
        .and_then(|rest| rest.strip_suffix(b"]"))
        .is_some_and(|digits| {
            (1..=10).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
        });
    value.is_empty() || ours
}
