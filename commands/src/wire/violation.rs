//! Where a peer breaks A2A without making its answer useless.

use std::fmt;

use super::json::Flags;
use super::text::excerpt;

/// How many violations of one answer are kept.
pub const VIOLATIONS_MAX: usize = 32;

/// One thing that a peer should not have sent. The answer was usable all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// A stable name from missive's own vocabulary, such as `unknown_task_state`: may be a fact.
    pub code: &'static str,
    /// What exactly, in words; quotes the peer, so it belongs into a payload.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

/// A list that a hostile answer cannot fill without bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// Adds one, unless [`VIOLATIONS_MAX`] are there already.
    pub fn note(&mut self, code: &'static str, detail: impl Into<String>) {
        if self.0.len() < VIOLATIONS_MAX {
            self.0.push(Violation {
                code,
                detail: detail.into(),
            });
        }
    }

    /// Adds what is legal in JSON and still not what it seems.
    pub(super) fn note_flags(&mut self, flags: &Flags) {
        for at in &flags.duplicate_keys {
            self.note(
                "duplicate_key",
                format!("the key {} stands twice", excerpt(at)),
            );
        }
        if flags.lone_surrogates {
            self.note("lone_surrogate", "a string holds half of a surrogate pair");
        }
        if let Some(offset) = flags.out_of_range {
            self.note(
                "number_out_of_range",
                format!("the number at byte {offset} fits no double"),
            );
        }
    }

    /// Adds all of another list, within the same bound.
    pub fn extend(&mut self, other: Violations) {
        for violation in other.0 {
            self.note(violation.code, violation.detail);
        }
    }

    /// All of them, in the order in which they were found.
    pub fn as_slice(&self) -> &[Violation] {
        &self.0
    }
}
