//! Making it happen: intent, effect, outcome, in this order and never without the log.
//!
//! Everything that goes on under one operation shares a `Course`, which knows the operation's newest
//! event. Outcomes are appended on the condition that it still is the newest.

mod abilities;
mod again;
pub(crate) mod call;
pub(crate) mod card;
pub(crate) mod choose;
mod extended;
pub mod keep;
mod outcome;
mod outgoing;
pub mod push;
mod recorded;
mod resend;
pub mod retry;
pub mod round;
mod search;
pub mod send;
pub(crate) mod stored;
pub mod stream;
pub mod task;
pub(crate) mod trust;
mod wait;

use missive_log::Log;
use missive_log::event::{Alias, Draft, OperationId, Seq};

use crate::decide::outcome::Following;
use crate::decide::{Decide, Moment};
use crate::exit::Exit;
use crate::failure::CommandError;
use crate::run::Missive;
use crate::wire::error::PeerError;
use crate::wire::request::Extras;

/// The header of the W3C trace context.
const TRACE: &str = "traceparent";

/// A command that has a result.
#[derive(Debug)]
pub struct Done<R> {
    /// What is shown.
    pub report: R,
    /// How the command ends.
    pub exit: Exit,
}

/// One operation as it goes on.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// The operation.
    pub(crate) operation: OperationId,
    /// Its newest event.
    pub(crate) last: Seq,
    /// The newest event that anything of this command became.
    pub(crate) newest: Seq,
}

impl Course {
    /// An operation that has no event yet.
    pub(crate) fn new(operation: OperationId) -> Self {
        Self {
            operation,
            last: Seq::ZERO,
            newest: Seq::ZERO,
        }
    }
}

impl<L: Log> Missive<L> {
    /// Records an intent, whose fact is the last of its batch; gives its place.
    pub(crate) async fn intend(
        &self,
        course: &mut Course,
        intent: &impl Decide,
    ) -> Result<Seq, CommandError> {
        let recorded = self.record(intent).await?;
        if course.last == Seq::ZERO {
            let operation = tracing::field::display(&course.operation);
            tracing::Span::current().record("operation", operation);
        }
        course.last = recorded.last;
        course.newest = recorded.last;
        Ok(recorded.last)
    }

    /// Records what became of an intent. The first of the facts is about the operation.
    pub(crate) async fn conclude(
        &self,
        course: &mut Course,
        intent: Seq,
        drafts: impl Fn(&Moment<'_>) -> Vec<Draft>,
    ) -> Result<Seq, CommandError> {
        let following = Following {
            operation: &course.operation,
            last: course.last,
            intent,
            drafts,
        };
        let recorded = self.record(&following).await?;
        course.last = recorded.first;
        course.newest = recorded.last;
        Ok(recorded.first)
    }

    /// What every request to an agent carries.
    pub(crate) fn extras(&self, agent: Option<&Alias>) -> Extras {
        let protocol = self.protocol();
        let requests = self.requests();
        let mut extensions = protocol.extensions.clone();
        for uri in &requests.extensions {
            if !extensions.contains(uri) {
                extensions.push(uri.clone());
            }
        }
        let given = &requests.service_params;
        let is_given = |name: &str| {
            given
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(name))
        };
        let mut service_params: Vec<(String, String)> = protocol
            .service_params
            .iter()
            .filter(|(name, _)| !is_given(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        service_params.extend(given.iter().cloned());
        let credentials = self.credentials(agent);
        let mut named = service_params.iter().map(|(name, _)| name);
        let mut headers = credentials.headers.iter().map(|(name, _)| name);
        let is_trace = |name: &String| name.eq_ignore_ascii_case(TRACE);
        let has_trace = named.any(is_trace) || headers.any(is_trace);
        if let Some(trace) = requests.trace.as_ref().filter(|_| !has_trace) {
            service_params.push((TRACE.to_owned(), trace.to_string()));
        }
        Extras {
            extensions,
            service_params,
            headers: credentials.headers.clone(),
            bearer: credentials.bearer.clone(),
        }
    }

    /// A peer's error as it may be shown: what it says back must not hold a secret of ours.
    pub(crate) fn clean(&self, error: &PeerError) -> PeerError {
        let clean = |text: &str| self.redactor().clean(text);
        PeerError {
            message: clean(&error.message),
            reason: error.reason.as_deref().map(clean),
            fields: error
                .fields
                .iter()
                .map(|(field, why)| (clean(field), clean(why)))
                .collect(),
            challenges: error.challenges.iter().map(|text| clean(text)).collect(),
            ..error.clone()
        }
    }
}
