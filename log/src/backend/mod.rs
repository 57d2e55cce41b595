//! Who keeps the log.
//!
//! `memory` is for tests, for `--at` and for replays; `fjall` is the log on disk; `attached` speaks to
//! the process that hosts it. The set is closed.

mod attached;
pub mod companion;
pub mod fjall;
pub(crate) mod frame;
mod host;
pub mod instance;
pub mod lock;
pub mod memory;
mod sequencer;
pub mod station;

pub use attached::Mismatch;
pub use host::Place;
pub use sequencer::genesis_draft;
pub use station::{Hosting, Station, StationError};
