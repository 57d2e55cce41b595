//! What the log writes for ever: bodies, their documentation, and exports as evidence.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "these are tests, helper functions included"
)]

mod documents;
mod export;
mod golden;
mod histories;
mod verify_py;
