//! Who hosts the log: whoever answers at its socket, else whoever gets its lock.

use super::StationError;
use crate::backend::attached::{Attached, ConnectError};
use crate::backend::frame::message::Agreement;
use crate::backend::host::Place;
use crate::backend::lock::{LockError, LockGuard};
use crate::chain::{self, LogId};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long to look for a host before giving up.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait for one host to say anything, before looking whether it still holds the lock.
const SILENCE_MAX: Duration = Duration::from_secs(3);
/// Between two looks: at least, and at most.
const PAUSE_MS: (u64, u64) = (2, 20);

/// How an election ends.
pub(super) enum Elected {
    /// Another process hosts the log.
    Attached(Attached),
    /// This one shall.
    Won(LockGuard),
}

/// Looks for a host, or becomes one; never takes the lock away from anybody.
pub(super) async fn elect(
    place: &Place,
    ours: &Agreement,
    log: Option<LogId>,
    patience: Duration,
) -> Result<Elected, StationError> {
    let give_up = Instant::now() + patience;
    for round in 0_u64.. {
        let silent = give_up.min(Instant::now() + SILENCE_MAX);
        match Attached::connect(place.socket(), ours, log, silent).await {
            Ok(attached) => return Ok(Elected::Attached(attached)),
            Err(ConnectError::Mismatch(mismatch)) => return Err(mismatch.into()),
            Err(ConnectError::Nobody(why)) => tracing::trace!(%why, "nobody answers"),
        }
        let holder = match LockGuard::try_take(place.folder()) {
            Ok(guard) => return Ok(Elected::Won(guard)),
            Err(LockError::Held { holder }) => holder,
            Err(other) => return Err(other.into()),
        };
        if Instant::now() >= give_up {
            return Err(StationError::Busy { holder });
        }
        sleep(pause(round)).await;
    }
    Err(StationError::Busy { holder: None })
}

/// Differs from process to process and from round to round, so that they do not all come at once.
fn pause(round: u64) -> Duration {
    let id = u64::from(std::process::id());
    let sum = chain::checksum(&[b"pause", &id.to_be_bytes(), &round.to_be_bytes()]);
    let random = sum
        .first_chunk()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes));
    let (least, most) = PAUSE_MS;
    Duration::from_millis(least + random % (most - least + 1))
}
