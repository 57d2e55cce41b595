//! Which agents of several are chosen, and why.
//!
//! `route explain`, `send` and `stream` come to the same decision: [`policy::choose`], a pure function.

pub mod abilities;
pub mod ask;
pub mod needs;
pub mod policy;
#[cfg(test)]
mod policy_tests;
pub mod send;
