//! Follow a task: the intent, whether the user asked for it or a stream broke.

use missive_log::event::kind::SubscriptionRequested;
use missive_log::event::{EventKind, Links, OperationId, Subject, TaskId};
use missive_projections::Views;

use super::{Decide, Decision, Moment, Undecided, unchanged};
use crate::drive::send::Line;
use crate::evidence;
use crate::facts;
use crate::wire::request::Request;

/// The intent to subscribe to a task.
pub(crate) struct SubscribeIntent<'a> {
    /// The operation.
    pub(crate) operation: &'a OperationId,
    /// The nouns that it concerns.
    pub(crate) links: &'a Links,
    /// The task.
    pub(crate) task: &'a TaskId,
    /// The interface.
    pub(crate) line: &'a Line,
    /// The request, exactly as it will leave.
    pub(crate) request: &'a Request,
    /// 0 if the user asked for it; else the how manieth resumption of a broken stream.
    pub(crate) resume: u32,
}

impl Decide for SubscribeIntent<'_> {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let expect = unchanged(views, Subject::Operation(self.operation.clone()))?;
        let kind = EventKind::SubscriptionRequested(SubscriptionRequested {
            instance: moment.instance,
            task: self.task.clone(),
            binding: facts::binding(self.line.choice.binding),
            url: self.line.url.clone(),
            resume: self.resume,
        });
        let payloads = evidence::of_request(moment, self.request);
        let draft = moment.step(self.operation, None, self.links, kind, payloads);
        Ok(Decision {
            expect: vec![expect],
            drafts: vec![draft],
        })
    }
}
