//! Refusals, counted.
//!
//! A stranger can be refused as often as he likes: what the log gets of it is one event for each reason at
//! each call of [`Tally::take`], with a count, and of the first refusal of a sender who holds the token
//! what he sent. Of strangers nothing is kept but the count.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use missive_log::event::facts::PushRefusal;

use crate::wire::headers::Headers;

/// Why a delivery is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct Refused {
    /// The reason, as facts name it.
    pub why: PushRefusal,
    /// The same in words, which are missive's own.
    pub words: &'static str,
}

impl Refused {
    /// A refusal in our own words.
    pub fn new(why: PushRefusal, words: &'static str) -> Self {
        Self { why, words }
    }

    /// The HTTP status that the sender gets.
    pub fn status(self) -> u16 {
        match self.why {
            PushRefusal::Malformed => 400,
            PushRefusal::Unauthorized => 401,
            PushRefusal::NotFound => 404,
            PushRefusal::Method => 405,
            PushRefusal::Timeout => 408,
            PushRefusal::TooLarge => 413,
            PushRefusal::ContentType => 415,
            PushRefusal::Busy => 503,
        }
    }
}

/// What a sender sent, to be kept.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) words: String,
    pub(super) headers: Headers,
    pub(super) body: Vec<u8>,
}

/// Refusals of one kind since they were taken last.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) refused: Refused,
    pub(super) count: u64,
    pub(super) sample: Option<Sample>,
}

#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    open: BTreeMap<PushRefusal, Counted>,
    total: u64,
}

impl Tally {
    /// Counts one; `sample` is asked for if it is the first of its kind.
    pub(super) fn add(&self, refused: Refused, sample: impl FnOnce() -> Option<Sample>) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.total = counts.total.saturating_add(1);
        let counted = counts.open.entry(refused.why).or_insert_with(|| Counted {
            refused,
            count: 0,
            sample: None,
        });
        counted.count = counted.count.saturating_add(1);
        if counted.sample.is_none() {
            counted.sample = sample();
        }
    }

    /// What was counted since the last time.
    pub(super) fn take(&self) -> Vec<Counted> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut counts.open).into_values().collect()
    }

    /// How many there were in all.
    pub(super) fn total(&self) -> u64 {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_their_reason_and_the_first_sample_is_kept() {
        let tally = Tally::default();
        let sample = |text: &str| {
            Some(Sample {
                words: text.to_owned(),
                headers: Headers::default(),
                body: Vec::new(),
            })
        };
        let malformed = Refused::new(PushRefusal::Malformed, "m");

        for text in ["one", "two"] {
            tally.add(malformed, || sample(text));
        }
        tally.add(Refused::new(PushRefusal::Unauthorized, "u"), || None);
        let taken = tally.take();

        let told: Vec<_> = taken
            .iter()
            .map(|counted| {
                let words = counted.sample.as_ref().map(|sample| sample.words.as_str());
                (counted.refused.status(), counted.count, words)
            })
            .collect();
        assert_eq!(told, [(401, 1, None), (400, 2, Some("one"))]);
        assert!(tally.take().is_empty());
        assert_eq!(tally.total(), 3);
    }
}
