//! Many agents at once: broadcast, barrier, gather and reduce over the members of a group.
//!
//! Each is a composition of what one agent is asked for. A round (decision 0013) has an operation of its
//! own, and so has everything that a member is sent; membership is that of one moment, which the report
//! names as `position`. Members come in the order of their ranks, always.

pub mod barrier;
pub mod bcast;
mod begin;
pub(crate) mod crowd;
mod doubt;
pub mod gather;
pub mod reduce;
mod roster;
mod state;

pub use doubt::Doubtful;
pub use roster::{Roster, Seat, roster};
