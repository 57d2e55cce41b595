//! The steps of an operation after its first: outcomes, doubts, further intents.
//!
//! Each is appended on the condition that the operation is still what this process last saw. When
//! that does not hold, the outbox says whether the intent is still open: if not, somebody else has
//! recorded its outcome, and there is no second one.

use missive_log::Expect;
use missive_log::event::{Draft, OperationId, Seq, Subject};
use missive_projections::Views;

use super::{Decide, Decision, Moment, Undecided, unchanged};

/// Facts that follow an intent.
pub(crate) struct Following<'a, F> {
    /// The operation.
    pub(crate) operation: &'a OperationId,
    /// Its newest event that this process knows of.
    pub(crate) last: Seq,
    /// The intent that is answered.
    pub(crate) intent: Seq,
    /// Makes the facts.
    pub(crate) drafts: F,
}

impl<F> Decide for Following<'_, F>
where
    F: Fn(&Moment<'_>) -> Vec<Draft>,
{
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let subject = Subject::Operation(self.operation.clone());
        // Right after the intent, and without a conflict, there is nothing to look up: the condition
        // alone decides.
        let expect = if self.intent == self.last && views.least() <= self.last {
            Expect::Unchanged {
                subject,
                last: Some(self.last),
            }
        } else {
            still_open(views, subject, self.operation, self.intent)?
        };
        Ok(Decision {
            expect: vec![expect],
            drafts: (self.drafts)(moment),
        })
    }
}

/// Facts of an intent whose outcome is still to come, such as the updates of a stream.
pub(crate) struct Progress<'a, F> {
    /// The operation.
    pub(crate) operation: &'a OperationId,
    /// The newest event whose subject it is.
    pub(crate) last: Seq,
    /// The newest event that this process wrote.
    pub(crate) newest: Seq,
    /// The intent that goes on.
    pub(crate) intent: Seq,
    /// Makes the facts.
    pub(crate) drafts: F,
}

impl<F> Decide for Progress<'_, F>
where
    F: Fn(&Moment<'_>) -> Vec<Draft>,
{
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let subject = Subject::Operation(self.operation.clone());
        // As long as nobody else wrote, nothing is looked up, however fast updates come.
        let expect = if views.least() <= self.newest {
            Expect::Unchanged {
                subject,
                last: Some(self.last),
            }
        } else {
            still_open(views, subject, self.operation, self.intent)?
        };
        Ok(Decision {
            expect: vec![expect],
            drafts: (self.drafts)(moment),
        })
    }
}

/// The condition that nobody else concludes the intent, once others may have written.
fn still_open(
    views: &Views,
    subject: Subject,
    operation: &OperationId,
    intent: Seq,
) -> Result<Expect, Undecided> {
    let expect = unchanged(views, subject)?;
    let open = views.outbox_of(operation)?;
    if open.iter().all(|open| open.seq != intent) {
        return Err(Undecided::Superseded(operation.clone()));
    }
    Ok(expect)
}
