//! What can go wrong with views: never the log's loss, at worst a rebuild.

use crate::rows::Table;
use missive_log::ReadError;
use missive_log::event::Seq;
use std::sync::Arc;

/// Why the views gave no answer. None of these means that an event was lost: `missive projection
/// rebuild` folds everything again.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ViewsError {
    /// The store below reports a fault of its own.
    #[error("the store of the views failed")]
    Store(#[source] Arc<fjall::Error>),
    /// The disk, or the file system, said no.
    #[error("the views could not be kept")]
    Io(#[source] Arc<std::io::Error>),
    /// A row is not what a view wrote there.
    #[error("a row of the view table `{table}` is damaged")]
    Damaged {
        /// In which table.
        table: Table,
    },
    /// The log gave nothing to fold.
    #[error("the views cannot follow the log")]
    Log(#[source] Arc<ReadError>),
    /// The log gave other events than the next ones.
    #[error("the views stand at event {position} and the log went on with event {found}")]
    OutOfOrder {
        /// The newest event that they have folded.
        position: Seq,
        /// What came.
        found: Seq,
    },
    /// A place was asked for that the log does not have.
    #[error("the views stand at event {position}, and event {least} is not in the log")]
    Beyond {
        /// The newest event that they have folded.
        position: Seq,
        /// What was asked for.
        least: Seq,
    },
    /// An event whose time is needed cannot be read: the log's verification says more.
    #[error("event {seq} cannot be read")]
    Unreadable {
        /// Which.
        seq: Seq,
    },
    /// An earlier moment was folded for another question.
    #[error("the view table `{table}` was not folded for this moment")]
    OutOfScope {
        /// The table that was asked.
        table: Table,
    },
    /// The connection to the hosting process failed.
    #[error("the process that hosts the views cannot be asked")]
    Unreachable(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// A request or an answer of another version.
    #[error("the process that hosts the views speaks another version")]
    Foreign,
    /// The views were closed.
    #[error("the views were closed")]
    Closed,
}

impl ViewsError {
    /// Whether what is on disk is not what was written there, so that folding it again helps. A disk
    /// that is full or refuses is not helped by that.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } => true,
            Self::Store(error) => !matches!(
                error.as_ref(),
                fjall::Error::Storage(fjall::LsmError::Io(_))
                    | fjall::Error::Io(_)
                    | fjall::Error::Locked
                    | fjall::Error::Poisoned
            ),
            Self::Io(_)
            | Self::Log(_)
            | Self::OutOfOrder { .. }
            | Self::Beyond { .. }
            | Self::Unreadable { .. }
            | Self::OutOfScope { .. }
            | Self::Unreachable(_)
            | Self::Foreign
            | Self::Closed => false,
        }
    }
}

impl From<fjall::Error> for ViewsError {
    fn from(error: fjall::Error) -> Self {
        Self::Store(Arc::new(error))
    }
}

impl From<std::io::Error> for ViewsError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

impl From<ReadError> for ViewsError {
    fn from(error: ReadError) -> Self {
        Self::Log(Arc::new(error))
    }
}
