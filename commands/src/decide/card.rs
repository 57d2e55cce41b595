//! Ask for an agent's card.

use missive_log::event::facts::Failure;
use missive_log::event::kind::{CardFailed, CardRequested};
use missive_log::event::{EventKind, Links, OperationId, Seq, Subject};
use missive_projections::Views;

use super::{Decide, Decision, Moment, Undecided, unchanged};
use crate::evidence;
use crate::peer::Peer;
use crate::wire::request::Request;

/// The intent to ask for a card.
pub(crate) struct CardIntent<'a> {
    /// Whose.
    pub(crate) peer: &'a Peer,
    /// The operation that needs it.
    pub(crate) operation: &'a OperationId,
    /// Whether a cached card is being revalidated.
    pub(crate) revalidate: bool,
    /// The first request of the search.
    pub(crate) request: &'a Request,
    /// An earlier intent whose process ended before it could say how it went.
    pub(crate) abandoned: Option<Seq>,
}

impl Decide for CardIntent<'_> {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let operation = self.operation;
        let mut expect = vec![unchanged(views, Subject::Operation(operation.clone()))?];
        expect.extend(self.peer.unchanged());
        let links = Links {
            agent: self.peer.alias.clone(),
            ..Links::default()
        };
        let mut drafts = Vec::new();
        if let Some(intent) = self.abandoned {
            let kind = EventKind::CardFailed(CardFailed {
                failure: Failure::ProcessEnded,
                status: None,
            });
            drafts.push(moment.step(operation, Some(intent), &links, kind, Vec::new()));
        }
        let kind = EventKind::CardRequested(CardRequested {
            instance: moment.instance,
            url: self.peer.url.clone(),
            revalidate: self.revalidate,
        });
        let payloads = evidence::of_request(moment, self.request);
        drafts.push(moment.step(operation, None, &links, kind, payloads));
        Ok(Decision { expect, drafts })
    }
}
