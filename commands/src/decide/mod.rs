//! What may happen next: pure decisions on views, one file per command.
//!
//! A decision says what should be recorded and on which condition; nothing here does anything. The
//! same views, command and moment give the same decision, except for identifiers and salts, which
//! come through their seam.

pub mod agent_add;
pub mod agent_pin;
pub mod agent_remove;
pub mod agent_rename;
pub mod artifact;
pub mod call;
pub mod card;
pub mod context;
pub mod export;
pub mod gather;
pub mod group;
pub mod member;
pub mod outcome;
pub mod reanchor;
pub mod round;
pub mod send;
pub mod subscribe;

use missive_log::event::facts::TraceParent;
use missive_log::event::{ActorId, Draft, EventKind, InstanceId, Links, OperationId, Seq, Subject};
use missive_log::payload::redact::Redactor;
use missive_log::{Expect, Ids, Origin, Payload};
use missive_projections::{Views, ViewsError};

use crate::config::Config;
use crate::failure::{CommandError, Failure};
use crate::refusal::Refusal;

/// Who decides, when and where; nothing else may influence a decision.
#[derive(Debug)]
pub struct Moment<'a> {
    /// Clock, identifiers, salts.
    pub ids: &'a Ids,
    /// The only maker of payloads.
    pub redactor: &'a Redactor,
    /// The configuration.
    pub config: &'a Config,
    /// Who acts.
    pub actor: ActorId,
    /// By which door.
    pub origin: Origin,
    /// The run of the program that would carry an intent out.
    pub instance: InstanceId,
    /// The W3C trace that the command is part of.
    pub trace: Option<&'a TraceParent>,
}

impl Moment<'_> {
    /// A draft that says who acts and by which door.
    pub fn draft(&self, subject: Subject, kind: EventKind, payloads: Vec<Payload>) -> Draft {
        let mut draft = Draft::new(self.ids.event(), subject, kind);
        draft.actor = Some(self.actor);
        draft.origin = Some(self.origin);
        draft.trace = self.trace.cloned();
        draft.payloads = payloads;
        draft
    }

    /// A draft of an operation, on its subject.
    pub fn step(
        &self,
        operation: &OperationId,
        cause: Option<Seq>,
        links: &Links,
        kind: EventKind,
        payloads: Vec<Payload>,
    ) -> Draft {
        let subject = Subject::Operation(operation.clone());
        let mut draft = self.draft(subject, kind, payloads);
        draft.operation = Some(operation.clone());
        draft.cause = cause;
        draft.links = links.clone();
        draft
    }
}

/// What should be recorded, and on which conditions.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The conditions.
    pub expect: Vec<Expect>,
    /// The facts, in order.
    pub drafts: Vec<Draft>,
}

/// Why there is no decision.
#[derive(Debug, thiserror::Error)]
pub enum Undecided {
    /// The rules say no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The views gave no answer.
    #[error(transparent)]
    Views(#[from] ViewsError),
    /// Somebody else was quicker with the outcome.
    #[error("operation {0} was finished by another process")]
    Superseded(OperationId),
}

impl From<Undecided> for CommandError {
    fn from(undecided: Undecided) -> Self {
        match undecided {
            Undecided::Refused(refusal) => Self::Refused(refusal),
            Undecided::Views(error) => Self::Failed(Failure::Views(error)),
            Undecided::Superseded(operation) => Self::Failed(Failure::Superseded { operation }),
        }
    }
}

/// Something that can be decided.
pub trait Decide {
    /// Decides on the newest views.
    ///
    /// # Errors
    /// See [`Undecided`].
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided>;
}

impl<F> Decide for F
where
    F: Fn(&Views, &Moment<'_>) -> Result<Decision, Undecided>,
{
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        self(views, moment)
    }
}

/// The condition that the newest event of a subject is still the one that the views know.
///
/// To be taken before anything of the subject is read: each look at the views may see more of the log
/// than the one before it, and what a decision rests on must not be older than its condition.
pub(crate) fn unchanged(views: &Views, subject: Subject) -> Result<Expect, ViewsError> {
    let last = views.last_of(&subject)?;
    Ok(Expect::Unchanged { subject, last })
}
