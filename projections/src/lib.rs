//! Views: what the log means.
//!
//! Everything that a command shows is folded from events, and can be folded again. A fold ([`view`])
//! is a pure function of the events; its rows lie in a folder of their own ([`rows`]), which may be
//! deleted at any time. [`ViewsHost`] keeps them in step with the log, [`Views`] answers questions.
//!
//! This room does no I/O in a fold, reads no payload, no clock and no randomness.

pub mod agent;
pub mod artifact;
pub mod context;
mod error;
mod follow;
pub mod group;
mod host;
mod index;
pub mod message;
pub mod moment;
pub mod nearest;
pub mod outbox;
pub mod output;
pub mod push;
mod read;
pub mod round;
pub mod rows;
pub mod scenario;
mod select;
mod source;
pub mod summary;
pub mod task;
mod verify;
pub mod view;
mod views;

pub use agent::{Agent, Card, CardBody, CardFailure, CardSignature, Entry, Former, PinnedKey};
pub use artifact::Artifact;
pub use context::Context;
pub use error::ViewsError;
pub use follow::{Follower, block_on, source_of};
pub use group::{Group, GroupEntry, Member, Standing, compare_ranks};
pub use host::{Status, ViewsFolder, ViewsHost};
pub use index::TERM_BYTES_MAX;
pub use message::{Direction, Message};
pub use moment::{At, Change, Changed, Changes, FieldChange, Records, Scope};
pub use outbox::{Doubt, Intent, Open};
pub use output::{Output, Said};
pub use push::PushConfig;
pub use read::{LIST_MAX, TaskPlace, Views};
pub use round::{Reduction, Round, RoundMember, RoundWhat};
pub use rows::attached::{Attached, Call};
pub use select::{Filter, KindPattern, SELECT_MAX};
pub use source::Source as PayloadSource;
pub use task::Task;
pub use verify::{Comparison, Difference};
pub use views::{CHUNK_EVENTS_MAX, Source, ViewName, fingerprint, names};

#[cfg(test)]
mod tests;
