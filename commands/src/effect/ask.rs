//! One A2A operation: the call and what its answer means, joined.
//!
//! The request is built and logged before; here it is sent once and read. What is returned keeps the
//! whole call, since its bytes are the evidence.

use super::http::{Deadline, HttpCaller, Sent};
use super::reach::{Call, CallError, CallErrorKind, Reach, RefusedRedirect};
use crate::exit::Exit;
use crate::wire::answer::{Fault, Reading, read};
use crate::wire::json::Limits;
use crate::wire::request::{Operation, Request};
use crate::wire::version::Binding;

/// A finished operation: the evidence and its meaning.
#[derive(Debug)]
pub struct Asked {
    /// How the call went; its answer holds the exact bytes.
    pub call: Call,
    /// What it means.
    pub meaning: Result<Reading, AskError>,
}

/// Why an operation has no usable answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// No byte of it left; see the call for the cause.
    #[error("nothing was sent")]
    NotSent(CallErrorKind),
    /// It may have arrived; see the call for the cause.
    #[error("whether the message arrived is not known")]
    InDoubt(CallErrorKind),
    /// The peer answered with a redirect that is not followed.
    #[error(transparent)]
    Redirect(RefusedRedirect),
    /// The peer answered with an error, or with something unusable.
    #[error(transparent)]
    Fault(Fault),
}

impl AskError {
    /// How a command ends that it stops. `repeatable` operations (reads) are never in doubt: for them a
    /// lost answer is an ordinary failure of the transport.
    pub fn exit(&self, repeatable: bool) -> Exit {
        match self {
            Self::InDoubt(_) if !repeatable => Exit::Unknown,
            Self::NotSent(kind) | Self::InDoubt(kind) => kind.exit(),
            Self::Redirect(_) => Exit::Transport,
            Self::Fault(Fault::Peer(error)) => error.kind.exit(),
            Self::Fault(Fault::Broken { .. }) => Exit::Protocol,
        }
    }
}

impl Asked {
    /// The failure of the transport, if there was one: its message says which host and why.
    pub fn call_error(&self) -> Option<&CallError> {
        match &self.call.reach {
            Reach::NotSent(error) | Reach::NothingBack(error) | Reach::Partial { error, .. } => {
                Some(error)
            }
            Reach::Answered(_) => None,
        }
    }
}

/// Sends `request`, which was built for `operation` under `binding` and `request_id`, and reads the
/// answer. `sent` stays with the caller, who may drop this future.
pub async fn ask(
    caller: &HttpCaller,
    binding: Binding,
    operation: &Operation,
    request: &Request,
    request_id: &str,
    deadline: Option<Deadline>,
    sent: &Sent,
) -> Asked {
    let call = caller.call(request, deadline, sent).await;
    let limits = Limits {
        bytes_max: caller.settings().response_bytes_max,
        ..Limits::default()
    };
    let meaning = match (&call.reach, &call.refused_redirect) {
        (Reach::NotSent(error), _) => Err(AskError::NotSent(error.kind)),
        (Reach::NothingBack(error) | Reach::Partial { error, .. }, _) => {
            Err(AskError::InDoubt(error.kind))
        }
        (Reach::Answered(_), Some(refused)) => Err(AskError::Redirect(refused.clone())),
        (Reach::Answered(answer), None) => {
            read(binding, operation, request_id, answer, &limits).map_err(AskError::Fault)
        }
    };
    Asked { call, meaning }
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
