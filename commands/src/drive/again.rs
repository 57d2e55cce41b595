//! Questions that a busy peer is asked again, each time as a call of its own on record.
//!
//! Only what changes nothing at the peer is repeated without being asked for: cards, tasks, lists,
//! configurations. A message, a cancellation or a new configuration goes out once, whatever the peer says.
//! When the peer names a time, it is kept to; a time that is too far away ends the command at once.

use std::time::Duration;

use missive_log::{Log, Timestamp};
use tokio::time::sleep;

use super::Course;
use super::wait::{PAUSE_MAX, PAUSE_MIN, RETRY_AFTER_MAX};
use crate::effect::fetch::FetchError;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::run::Missive;
use crate::wire::error::{ErrorKind, PeerError, RetryAfter};
use crate::wire::push::PushCall;
use crate::wire::request::Operation;

/// Whether asking twice is like asking once.
pub(super) fn is_safe(operation: &Operation) -> bool {
    match operation {
        Operation::GetTask { .. }
        | Operation::ListTasks(_)
        | Operation::GetExtendedCard
        | Operation::Push(PushCall::Get { .. } | PushCall::List { .. }) => true,
        Operation::SendMessage(_)
        | Operation::SendStreamingMessage(_)
        | Operation::SubscribeToTask { .. }
        | Operation::CancelTask { .. }
        | Operation::Push(PushCall::Create(_) | PushCall::Delete { .. }) => false,
    }
}

/// What a peer says that has no time now.
pub(super) fn busy(error: &CommandError) -> Option<&PeerError> {
    let error = match error {
        CommandError::Failed(
            Failure::Peer { error, .. }
            | Failure::Card {
                error: FetchError::Status { error, .. },
                ..
            },
        ) => error,
        CommandError::Failed(_) | CommandError::Refused(_) => return None,
    };
    let is_busy =
        error.kind == ErrorKind::RateLimited || (error.status == 503 && !error.kind.is_a2a());
    is_busy.then_some(error)
}

/// How long the peer wants to be left alone from now on.
pub(super) fn asked(retry_after: RetryAfter, now: Timestamp) -> Duration {
    Duration::from_secs(match retry_after {
        RetryAfter::Seconds(seconds) => seconds,
        RetryAfter::At(second) => second.saturating_sub(now.as_secs()),
    })
}

/// How long to wait before asking a busy peer again that was asked `turn` times already; `None` if that would
/// not end before the user's time does, or if it is longer than a command should stand still.
fn pause(error: &PeerError, turn: u32, now: Timestamp, left: Option<Duration>) -> Option<Duration> {
    let pause = match error.retry_after {
        Some(retry_after) => asked(retry_after, now),
        None => PAUSE_MIN
            .saturating_mul(2_u32.saturating_pow(turn.saturating_sub(1).min(16)))
            .min(PAUSE_MAX),
    };
    (pause <= RETRY_AFTER_MAX && left.is_none_or(|left| pause < left)).then_some(pause)
}

impl<L: Log> Missive<L> {
    /// Waits until a busy peer may be asked again that was asked `turn` times already; gives the error back
    /// if it is not to be asked again.
    pub(super) async fn before_next(
        &self,
        course: &Course,
        error: CommandError,
        turn: u32,
        interrupt: &mut Interrupt,
    ) -> Result<(), CommandError> {
        let left = self.deadline().map(|deadline| deadline.left());
        let wait = busy(&error)
            .filter(|_| turn <= self.qos().retries_max)
            .and_then(|busy| pause(busy, turn, self.ids().now(), left));
        let Some(wait) = wait else {
            return Err(error);
        };
        tracing::info!(turn, ?wait, "the agent is busy and is asked again");
        tokio::select! {
            biased;
            () = interrupt.came() => Err(Failure::Interrupted {
                operation: course.operation.clone(),
                in_doubt: false,
                task: None,
            }.into()),
            () = sleep(wait) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::error::ErrorShape;

    fn told(retry_after: Option<RetryAfter>) -> PeerError {
        PeerError {
            kind: ErrorKind::RateLimited,
            status: 429,
            code: None,
            reason: None,
            message: String::new(),
            fields: Vec::new(),
            retry_after,
            challenges: Vec::new(),
            shape: ErrorShape::Empty,
        }
    }

    #[test]
    fn a_busy_peer_is_left_alone_for_as_long_as_it_asks_or_not_asked_again() {
        let now = Timestamp::parse_rfc3339("2026-12-01T09:30:00Z").unwrap();
        let at = |seconds: u64| RetryAfter::At(now.as_secs() + seconds);
        let passed = RetryAfter::At(now.as_secs() - 9);
        let seconds = Duration::from_secs;

        for (retry_after, left, wanted) in [
            (RetryAfter::Seconds(7), None, Some(seconds(7))),
            (RetryAfter::Seconds(7), Some(seconds(8)), Some(seconds(7))),
            (RetryAfter::Seconds(7), Some(seconds(7)), None),
            (RetryAfter::Seconds(61), None, None),
            (RetryAfter::Seconds(u64::MAX), None, None),
            (at(7), None, Some(seconds(7))),
            (at(7), Some(seconds(5)), None),
            (at(3_600), None, None),
            (passed, Some(seconds(5)), Some(seconds(0))),
        ] {
            let found = pause(&told(Some(retry_after)), 1, now, left);
            assert_eq!(found, wanted, "{retry_after:?} {left:?}");
        }
    }

    #[test]
    fn a_busy_peer_that_names_no_time_is_left_alone_for_longer_each_time() {
        let now = Timestamp::parse_rfc3339("2026-12-01T09:30:00Z").unwrap();

        let pauses = [1, 2, 3, 6, 100].map(|turn| pause(&told(None), turn, now, None));

        let pauses = pauses.map(|pause| pause.unwrap().as_millis());
        assert_eq!(pauses, [250, 500, 1_000, 5_000, 5_000]);
    }
}
