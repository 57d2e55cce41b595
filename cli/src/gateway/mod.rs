//! What listens: no arguments, no rendering, no decisions.

pub(crate) mod webhook;
