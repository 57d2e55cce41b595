//! The outside: what missive does to the world once the log says that it will.
//!
//! An effect reports what happened and how far it got; it never decides, records or repeats.

pub mod ask;
pub mod fetch;
pub mod http;
pub(crate) mod keys;
pub mod knock;
pub mod local;
mod mark;
pub mod reach;
pub mod redirect;
pub mod stream;
mod tls;
pub mod unpack;
