//! What may happen next, and making it happen.
//!
//! [`decide`] says what should be recorded and on which condition; [`drive`] records it, performs it
//! and records what became of it. [`Missive`] holds everything that both need. Nothing in this room
//! prints, reads the environment or parses arguments.

pub mod actor;
pub mod agents;
pub mod artifact;

pub mod collect;
pub mod config;
pub mod contexts;
pub mod conversation;
pub mod decide;
pub mod doubt;
pub mod drive;
pub mod effect;
mod evidence;
pub mod exit;
mod facts;
pub mod failure;
pub mod groups;
pub mod interrupt;
pub mod note;
pub mod pace;
pub mod peer;
pub mod receive;
pub mod refusal;
pub mod report;
pub mod route;
pub mod run;
pub mod secret;
pub mod task;
pub mod wire;

pub use actor::Actor;
pub use doubt::{InDoubt, in_doubt};
pub use drive::Done;
pub use drive::keep::{Reanchored, reanchor};
pub use drive::retry::Retry;
pub use drive::send::{Send, SendPart};
pub use drive::stored::card_defects;
pub use drive::stream::{Nobody, Show, Stream, Subscribe};
pub use drive::task::{OnTask, TaskListing};
pub use exit::{Exit, outcome_code};
pub use failure::{CommandError, Failure, LeftTask};
pub use interrupt::Interrupt;
pub use note::Note;
pub use pace::Pace;
pub use peer::Target;
pub use refusal::Refusal;
pub use run::{Credentials, Missive, Parts, Requests};

#[cfg(test)]
mod tests;
