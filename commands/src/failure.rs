//! What the world can break, and how it ends.
//!
//! What a peer said is in here only as an excerpt and without the secrets of this process.

use missive_log::event::{ContextId, OperationId, TaskId};
use missive_log::{AppendError, ReadError};
use missive_projections::ViewsError;

use crate::effect::fetch::FetchError;
use crate::effect::reach::{CallError, RefusedRedirect};
use crate::exit::Exit;
use crate::refusal::Refusal;
use crate::wire::answer::Fault;
use crate::wire::card::CardError;
use crate::wire::error::PeerError;

/// Why a command did not end well.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The rules say no; nothing was recorded.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Something broke; what happened until then is in the log.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// What broke.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The log took nothing.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The log could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The views gave no answer.
    #[error(transparent)]
    Views(#[from] ViewsError),
    /// Others changed the same thing again and again.
    #[error("the log changed {tries} times while this was being decided")]
    Contended {
        /// How often it was decided.
        tries: usize,
    },
    /// Somebody else recorded the outcome of the operation meanwhile.
    #[error("operation {operation} was finished by another process")]
    Superseded {
        /// The operation.
        operation: OperationId,
    },
    /// A payload that is needed is gone, or is not what it was.
    #[error("a stored payload of event {seq} cannot be used: {why}")]
    Payload {
        /// Whose.
        seq: missive_log::event::Seq,
        /// Why not.
        why: &'static str,
    },
    /// There is no card.
    #[error("{error}")]
    Card {
        /// The operation.
        operation: OperationId,
        /// Why not, without secrets of this process.
        error: FetchError,
        /// Why the call got no further, if it did not.
        #[source]
        cause: Option<CallError>,
    },
    /// No byte of the request left.
    #[error("{error}")]
    NotSent {
        /// The operation.
        operation: OperationId,
        /// Why.
        #[source]
        error: CallError,
    },
    /// The answer to a request that can be repeated did not come whole.
    #[error("{error}")]
    NoAnswer {
        /// The operation.
        operation: OperationId,
        /// Why.
        #[source]
        error: CallError,
    },
    /// It is not known whether the message arrived.
    #[error("it is not known whether the message arrived")]
    InDoubt {
        /// The operation.
        operation: OperationId,
        /// What ended the wait.
        #[source]
        error: CallError,
    },
    /// It is still not known whether the message arrived.
    #[error("it is still not known whether the message of operation {operation} arrived: {why}")]
    StillInDoubt {
        /// The operation.
        operation: OperationId,
        /// What the search came to.
        why: String,
    },
    /// The peer could not even be asked whether the message arrived.
    #[error(
        "nothing was sent{}, since the agent cannot be asked whether it has the message of operation \
         {operation}: {why}", if *resend { " again" } else { "" }
    )]
    CannotAsk {
        /// The operation.
        operation: OperationId,
        /// Why not.
        why: String,
        /// Whether the user wanted the message to be sent again.
        resend: bool,
    },
    /// How an operation ended that is over.
    #[error("operation {operation} failed: {why}")]
    Recorded {
        /// The operation.
        operation: OperationId,
        /// The words of the log.
        why: String,
        /// How its command ended.
        exit: Exit,
    },
    /// The peer does not take a message of this size (HTTP 413).
    #[error("the message of {bytes} bytes is too large for the agent: {error}")]
    TooLargeForPeer {
        /// The operation.
        operation: OperationId,
        /// How long the body of the request was.
        bytes: usize,
        /// The error, without secrets of this process.
        error: Box<PeerError>,
    },
    /// The peer reports an error.
    #[error("{error}")]
    Peer {
        /// The operation.
        operation: OperationId,
        /// The error, without secrets of this process.
        error: Box<PeerError>,
    },
    /// The peer breaks A2A.
    #[error("{error}")]
    Broken {
        /// The operation.
        operation: OperationId,
        /// How.
        #[source]
        error: Fault,
    },
    /// The peer points to a place that our rules do not follow.
    #[error("{error}")]
    Redirect {
        /// The operation.
        operation: OperationId,
        /// Where, and which rule.
        #[source]
        error: RefusedRedirect,
    },
    /// A stream ended while its task went on, and nobody could say how it goes on.
    #[error("the stream ended while the task was {state}: {why}")]
    StreamLost {
        /// The operation.
        operation: OperationId,
        /// The task.
        task: Option<TaskId>,
        /// Its context.
        context: Option<ContextId>,
        /// Its last known state.
        state: &'static str,
        /// What ended the stream, or the attempts to go on with it.
        why: String,
        /// How the command ends.
        exit: Exit,
    },
    /// Whoever should have made a reduction made none.
    #[error("{why}")]
    Reducer {
        /// The operation of the reduction.
        operation: OperationId,
        /// Why not, without secrets of this process.
        why: String,
        /// How the command ends.
        exit: Exit,
    },
    /// The user interrupted the command.
    #[error("interrupted{}", if *in_doubt { "; it is not known whether the message arrived" } else { "" })]
    Interrupted {
        /// The operation.
        operation: OperationId,
        /// Whether a message may have arrived.
        in_doubt: bool,
        /// The task that goes on at the peer, if one is known.
        task: Option<TaskId>,
    },
    /// A bug.
    #[error("{what}")]
    Internal {
        /// What should not be.
        what: &'static str,
    },
}

impl Failure {
    /// How the command ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Append(error) => of_append(error),
            Self::Read(error) => of_read(error),
            Self::Views(error) => of_views(error),
            Self::Contended { .. } | Self::Superseded { .. } => Exit::Busy,
            Self::Payload { .. } => Exit::Io,
            Self::Card { error, .. } => error.exit(),
            Self::Broken { .. } => Exit::Protocol,
            Self::NotSent { error, .. } | Self::NoAnswer { error, .. } => error.kind.exit(),
            Self::Redirect { .. } => Exit::Transport,
            Self::InDoubt { .. } | Self::StillInDoubt { .. } | Self::CannotAsk { .. } => {
                Exit::Unknown
            }
            Self::Recorded { exit, .. }
            | Self::StreamLost { exit, .. }
            | Self::Reducer { exit, .. } => *exit,
            Self::Peer { error, .. } | Self::TooLargeForPeer { error, .. } => error.kind.exit(),
            Self::Interrupted { .. } => Exit::Interrupted,
            Self::Internal { .. } => Exit::Internal,
        }
    }

    /// The last part of `missive::<category>::<detail>`, where there is one.
    pub fn detail(&self) -> Option<&'static str> {
        Some(match self {
            Self::Append(_) | Self::Read(_) | Self::Internal { .. } => return None,
            Self::Views(_) => "views",
            Self::Contended { .. } => "contended",
            Self::Superseded { .. } => "superseded",
            Self::Payload { .. } => "payload",
            Self::Card { error, .. } => match error {
                FetchError::Card(CardError::Html { .. }) => "card_html",
                FetchError::Card(CardError::Compressed { .. }) => "card_compressed",
                FetchError::Card(CardError::OldProtocol { .. }) => "old_protocol",
                FetchError::Card(CardError::Json { .. }) => "card_json",
                FetchError::Card(CardError::NotACard { .. }) => "not_a_card",
                FetchError::Request(_) => "request",
                FetchError::Call { kind, .. } => kind.name(),
                FetchError::Redirect(_) => "redirect_refused",
                FetchError::Status { error, .. } => error.kind.name(),
                FetchError::Nowhere { .. } => "no_card",
            },
            Self::NotSent { error, .. }
            | Self::NoAnswer { error, .. }
            | Self::InDoubt { error, .. } => error.kind.name(),
            Self::StillInDoubt { .. } => "in_doubt",
            Self::CannotAsk { .. } => "cannot_ask",
            Self::Recorded { .. } => "recorded",
            Self::TooLargeForPeer { .. } => "too_large_for_agent",
            Self::Peer { error, .. } => error.kind.name(),
            Self::Broken { .. } => "broken_answer",
            Self::Redirect { .. } => "redirect_refused",
            Self::StreamLost { .. } => "stream_lost",
            Self::Reducer { .. } => "reducer",
            Self::Interrupted { .. } => "interrupted",
        })
    }

    /// The operation, if one was begun: what `retry` and `events list --operation` take.
    pub fn operation(&self) -> Option<&OperationId> {
        match self {
            Self::Card { operation, .. }
            | Self::NotSent { operation, .. }
            | Self::NoAnswer { operation, .. }
            | Self::InDoubt { operation, .. }
            | Self::StillInDoubt { operation, .. }
            | Self::CannotAsk { operation, .. }
            | Self::Recorded { operation, .. }
            | Self::TooLargeForPeer { operation, .. }
            | Self::Peer { operation, .. }
            | Self::Broken { operation, .. }
            | Self::Redirect { operation, .. }
            | Self::Interrupted { operation, .. }
            | Self::StreamLost { operation, .. }
            | Self::Reducer { operation, .. }
            | Self::Superseded { operation } => Some(operation),
            Self::Append(_)
            | Self::Read(_)
            | Self::Views(_)
            | Self::Contended { .. }
            | Self::Payload { .. }
            | Self::Internal { .. } => None,
        }
    }
}

impl CommandError {
    /// How the command ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Refused(refusal) => refusal.exit(),
            Self::Failed(failure) => failure.exit(),
        }
    }

    /// The last part of `missive::<category>::<detail>`, where there is one.
    pub fn detail(&self) -> Option<&'static str> {
        match self {
            Self::Refused(refusal) => Some(refusal.detail()),
            Self::Failed(failure) => failure.detail(),
        }
    }

    /// The operation, if one was begun.
    pub fn operation(&self) -> Option<&OperationId> {
        match self {
            Self::Refused(_) => None,
            Self::Failed(failure) => failure.operation(),
        }
    }

    /// The task that goes on at the peer, if it is known (C142).
    pub fn left_task(&self) -> Option<LeftTask<'_>> {
        if let Self::Failed(Failure::StreamLost {
            task: Some(task),
            context,
            state,
            ..
        }) = self
        {
            return Some(LeftTask {
                task,
                context: context.as_ref(),
                state: Some(state),
            });
        }
        if let Self::Failed(Failure::Interrupted {
            task: Some(task), ..
        }) = self
        {
            return Some(LeftTask {
                task,
                context: None,
                state: None,
            });
        }
        None
    }
}

/// A task that goes on although its command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftTask<'a> {
    /// Its id.
    pub task: &'a TaskId,
    /// Its context, where it is known.
    pub context: Option<&'a ContextId>,
    /// Its last known state.
    pub state: Option<&'static str>,
}

macro_rules! through_failure {
    ($($error:ty),+) => { $(impl From<$error> for CommandError {
        fn from(error: $error) -> Self {
            Self::Failed(error.into())
        }
    })+ };
}
through_failure!(AppendError, ReadError, ViewsError);

fn of_append(error: &AppendError) -> Exit {
    match error {
        AppendError::Integrity(_) => Exit::Integrity,
        AppendError::Conflict { .. } | AppendError::HostLost | AppendError::Busy { .. } => {
            Exit::Busy
        }
        AppendError::NewerFormat { .. } => Exit::Config,
        AppendError::Io(_) | AppendError::Poisoned(_) | AppendError::Store(_) => Exit::Io,
        AppendError::Empty | AppendError::TooLarge { .. } | AppendError::Encode(_) => {
            Exit::Internal
        }
    }
}

fn of_read(error: &ReadError) -> Exit {
    match error {
        ReadError::Io(_) => Exit::Io,
        ReadError::Store(_) | ReadError::Integrity(_) => Exit::Integrity,
        ReadError::HostLost | ReadError::Busy => Exit::Busy,
    }
}

fn of_views(error: &ViewsError) -> Exit {
    match error {
        ViewsError::Log(error) => of_read(error),
        ViewsError::Store(_)
        | ViewsError::Io(_)
        | ViewsError::Damaged { .. }
        | ViewsError::OutOfOrder { .. }
        | ViewsError::Beyond { .. }
        | ViewsError::Unreadable { .. } => Exit::Io,
        ViewsError::OutOfScope { .. } => Exit::Internal,
        ViewsError::Unreachable(_) | ViewsError::Foreign | ViewsError::Closed => Exit::Busy,
    }
}
