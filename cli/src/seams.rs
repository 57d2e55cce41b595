//! The clock and the seed of reproducible runs, for tests.
//!
//! `MISSIVE_TEST_CLOCK` (RFC 3339) and `MISSIVE_TEST_SEED` (any text) replace the machine's clock and
//! the kernel's randomness. A log that is written so proves nothing to anybody, because its salts can
//! be foretold: every run says on stderr that the seams are open, and event 1 says it for ever.

use crate::environment::Environment;
use crate::failure::Failure;
use missive_log::event::Timestamp;

/// The line that every run with open seams begins with.
pub(crate) const WARNING: &str =
    "test seams are active (MISSIVE_TEST_CLOCK, MISSIVE_TEST_SEED): this log proves nothing";

/// What replaces the world in this run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Seams {
    /// Instead of the machine's clock.
    pub(crate) clock: Option<Timestamp>,
    /// Instead of the kernel's randomness.
    pub(crate) seed: Option<Vec<u8>>,
}

impl Seams {
    /// Reads both variables.
    pub(crate) fn of(environment: &Environment<'_>) -> Result<Self, Failure> {
        let clock = match environment.get("MISSIVE_TEST_CLOCK") {
            Some(text) => match text.to_str().and_then(Timestamp::parse_rfc3339) {
                Some(moment) => Some(moment),
                None => {
                    return Err(Failure::config("MISSIVE_TEST_CLOCK is not a time")
                        .detail("seams")
                        .hint("it is written in RFC 3339, such as 2026-12-01T09:30:00Z"));
                }
            },
            None => None,
        };
        let seed = environment
            .get("MISSIVE_TEST_SEED")
            .map(|seed| seed.as_encoded_bytes().to_vec());
        Ok(Self { clock, seed })
    }

    /// Whether anything is replaced.
    pub(crate) fn are_open(&self) -> bool {
        self.clock.is_some() || self.seed.is_some()
    }
}
