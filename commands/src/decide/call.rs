//! Make a call that can be repeated: `GetTask` or `ListTasks`.

use missive_log::event::facts::{BareUrl, Binding, Failure, Method};
use missive_log::event::kind::{CallFailed, CallRequested};
use missive_log::event::{EventKind, Links, OperationId, Seq, Subject};
use missive_projections::Views;

use super::{Decide, Decision, Moment, Undecided, unchanged};
use crate::evidence;
use crate::wire::request::Request;

/// The intent to make a call.
pub(crate) struct CallIntent<'a> {
    /// The operation that needs it.
    pub(crate) operation: &'a OperationId,
    /// The nouns that it concerns; task and context are what is asked for.
    pub(crate) links: &'a Links,
    /// What.
    pub(crate) method: Method,
    /// How.
    pub(crate) binding: Binding,
    /// Where.
    pub(crate) url: &'a BareUrl,
    /// The request.
    pub(crate) request: &'a Request,
    /// An earlier intent whose process ended before it could say how it went.
    pub(crate) abandoned: Option<Seq>,
}

impl Decide for CallIntent<'_> {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let operation = self.operation;
        let expect = unchanged(views, Subject::Operation(operation.clone()))?;
        let mut drafts = Vec::new();
        if let Some(intent) = self.abandoned {
            let kind = EventKind::CallFailed(CallFailed {
                failure: Failure::ProcessEnded,
                status: None,
                error: None,
            });
            drafts.push(moment.step(operation, Some(intent), self.links, kind, Vec::new()));
        }
        let kind = EventKind::CallRequested(CallRequested {
            instance: moment.instance,
            method: self.method,
            binding: self.binding,
            url: self.url.clone(),
            task: self.links.task.clone(),
            context: self.links.context.clone(),
        });
        let payloads = evidence::of_request(moment, self.request);
        drafts.push(moment.step(operation, None, self.links, kind, payloads));
        Ok(Decision {
            expect: vec![expect],
            drafts,
        })
    }
}
