//! How the updates of a stream reached us: as they were made, or held back on the way (C059).
//!
//! Promises: a suspicion, from times that are on record anyway. It never says who holds them back for
//! sure: an agent that thinks for long and then says everything looks like a proxy that buffers.

use std::fmt;

use missive_log::event::{EventKind, OperationId};
use missive_log::{Log, Timestamp};
use missive_projections::{Filter, KindPattern};

use crate::failure::CommandError;
use crate::run::Missive;

/// The most updates of a stream that are looked at.
const UPDATES_MAX: usize = 256;
/// Fewer updates say nothing about how they come.
const UPDATES_MIN: usize = 3;
/// What is shorter may be chance, or a clock that counts in seconds; in milliseconds.
const HELD_MS_MIN: u64 = 2_000;
/// Everything came at once if the rest took at most this part of the wait for the first.
const AT_ONCE_PART: u64 = 20;

/// What the events of a stream are called.
const KINDS: [&str; 6] = [
    "a2a.stream.requested",
    "a2a.subscription.requested",
    "a2a.stream.task",
    "a2a.stream.message",
    "a2a.stream.status_update",
    "a2a.stream.artifact_update",
];

/// When an update came, and when the agent says that it made it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// By our clock.
    pub came: Timestamp,
    /// By the agent's.
    pub made: Option<Timestamp>,
}

/// Why updates seem to be held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Some took longer than others on their way, by the agent's own times.
    HeldBack {
        /// By how much, in milliseconds.
        milliseconds: u64,
    },
    /// All of them came together after a while.
    AtOnce {
        /// How many.
        updates: usize,
        /// After how long, in milliseconds.
        milliseconds: u64,
    },
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |milliseconds: u64| {
            format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100)
        };
        match self {
            Self::HeldBack { milliseconds } => write!(
                f,
                "updates came up to {} later than the agent made them: a proxy on the way seems to hold them back",
                seconds(*milliseconds)
            ),
            Self::AtOnce {
                updates,
                milliseconds,
            } => write!(
                f,
                "all {updates} updates came at once after {}: the agent had nothing to say before, or a proxy on \
                 the way holds them back",
                seconds(*milliseconds)
            ),
        }
    }
}

/// What the arrivals of a stream, in order, say that was asked for at that moment.
pub fn pace(asked: Timestamp, arrivals: &[Arrival]) -> Option<Pace> {
    let (first, last) = (arrivals.first()?, arrivals.last()?);
    if arrivals.len() < UPDATES_MIN {
        return None;
    }
    // The clocks may differ: how long the quickest of them took is taken for no time at all.
    let on_the_way = |one: &Arrival| {
        let came = i128::from(one.came.as_micros());
        Some(came - i128::from(one.made?.as_micros()))
    };
    let ways: Vec<i128> = arrivals.iter().filter_map(on_the_way).collect();
    if let (true, Some(least), Some(most)) = (
        ways.len() >= UPDATES_MIN,
        ways.iter().min(),
        ways.iter().max(),
    ) {
        let milliseconds = u64::try_from((most - least) / 1_000).unwrap_or(u64::MAX);
        // The agent's own times tell more than ours: if they agree, nothing is held back.
        return (milliseconds >= HELD_MS_MIN).then_some(Pace::HeldBack { milliseconds });
    }
    let between =
        |from: Timestamp, to: Timestamp| to.as_micros().saturating_sub(from.as_micros()) / 1_000;
    let waited = between(asked, first.came);
    let rest = between(first.came, last.came);
    (waited >= HELD_MS_MIN && rest <= waited / AT_ONCE_PART).then_some(Pace::AtOnce {
        updates: arrivals.len(),
        milliseconds: waited,
    })
}

impl<L: Log> Missive<L> {
    /// Whether the updates of the first stream of an operation seem to be held back.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn pace(&self, operation: &OperationId) -> Result<Option<Pace>, CommandError> {
        let filter = Filter {
            operation: Some(operation.clone()),
            kinds: KINDS.map(KindPattern::new).into(),
            limit: Some(UPDATES_MAX),
            ..Filter::default()
        };
        let found = self.views().select(&filter)?;
        let mut asked = None;
        let mut arrivals = Vec::new();
        for record in self.log().pick(&found).await? {
            let Ok(event) = record.decode() else {
                continue;
            };
            if let EventKind::StreamRequested(_) | EventKind::SubscriptionRequested(_) = &event.kind
            {
                // What comes after a resumption was on the way for other reasons.
                if asked.replace(event.at).is_some() {
                    break;
                }
                continue;
            }
            let made = if let EventKind::StreamStatusUpdate(facts) = &event.kind {
                facts.status.state_at
            } else {
                None
            };
            arrivals.push(Arrival {
                came: event.at,
                made,
            });
        }
        Ok(asked.and_then(|asked| pace(asked, &arrivals)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: u64 = 1_800_000_000_000;

    fn at(milliseconds: u64) -> Timestamp {
        Timestamp::from_micros((BEGIN + milliseconds) * 1_000)
    }

    fn judged(arrivals: &[(u64, Option<u64>)]) -> Option<Pace> {
        let arrivals: Vec<Arrival> = arrivals
            .iter()
            .map(|(came, made)| Arrival {
                came: at(*came),
                made: made.map(at),
            })
            .collect();
        pace(at(0), &arrivals)
    }

    #[test]
    fn updates_that_come_at_once_long_after_they_were_made_are_held_back() {
        let burst = judged(&[
            (5_000, Some(500)),
            (5_001, Some(2_500)),
            (5_002, Some(4_900)),
        ]);
        // A proxy that forwards blocks: each of them holds what was made meanwhile.
        let blocks = judged(&[
            (3_000, Some(100)),
            (3_000, Some(2_900)),
            (6_000, Some(3_100)),
            (6_000, Some(5_900)),
        ]);

        assert_eq!(
            burst,
            Some(Pace::HeldBack {
                milliseconds: 4_398
            })
        );
        assert_eq!(
            blocks,
            Some(Pace::HeldBack {
                milliseconds: 2_800
            })
        );
        assert_eq!(
            burst.unwrap().to_string(),
            "updates came up to 4.3 s later than the agent made them: a proxy on the way seems to hold them back"
        );
    }

    #[test]
    fn an_agent_whose_clock_is_wrong_or_that_thinks_before_it_speaks_holds_nothing_back() {
        let slow = judged(&[
            (5_000, Some(95_000)),
            (7_000, Some(97_100)),
            (9_000, Some(98_900)),
        ]);
        let thinker = judged(&[
            (9_000, Some(8_990)),
            (9_001, Some(8_991)),
            (9_002, Some(8_992)),
        ]);
        let few = judged(&[(9_000, None), (9_001, None)]);
        let spread = judged(&[(2_000, None), (3_000, None), (4_000, None)]);
        let quick = judged(&[(30, None), (31, None), (32, None)]);

        assert_eq!([slow, thinker, few, spread, quick], [None; 5]);
    }

    #[test]
    fn updates_without_times_that_come_at_once_after_a_while_are_a_suspicion() {
        let found = judged(&[(4_000, None), (4_001, Some(9)), (4_150, None)]);

        assert_eq!(
            found.unwrap().to_string(),
            "all 3 updates came at once after 4.0 s: the agent had nothing to say before, or a proxy on the way \
             holds them back"
        );
    }
}
