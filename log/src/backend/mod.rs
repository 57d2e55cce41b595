//! Who keeps the log.
//!
//! `memory` is for tests, for `--at` and for replays; `fjall` is the log on disk; `attached` speaks to
//! the process that hosts it. The set is closed.

pub mod companion;
pub mod fjall;
mod frame;
pub mod instance;
pub mod lock;
pub mod memory;
mod sequencer;

pub use sequencer::genesis_draft;
