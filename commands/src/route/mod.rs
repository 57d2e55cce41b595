//! Which agents of several are chosen, and why.

pub mod abilities;
