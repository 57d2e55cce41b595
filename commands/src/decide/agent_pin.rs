//! Pin keys that an agent's cards must be signed by.
//!
//! Keys add up: a signer that changes its key is trusted again once the new one is pinned. Only the
//! removal of the agent takes keys back.

use missive_log::event::facts::{Label, Thumbprint};
use missive_log::event::kind::KeyPinned;
use missive_log::event::{Alias, Draft, EventKind, OperationId, Subject};
use missive_log::{Payload, Role};
use missive_projections::Views;

use super::agent_rename::not_ours;
use super::{Decide, Decision, Moment, Undecided, unchanged};
use crate::evidence;
use crate::wire::signature::Key;

/// `agent pin`.
#[derive(Clone, Debug)]
pub struct AgentPin {
    /// Whose cards.
    pub alias: Alias,
    /// The public keys.
    pub keys: Vec<Key>,
}

impl Decide for AgentPin {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let expect = unchanged(views, Subject::Agent(self.alias.clone()))?;
        if views.agent(&self.alias)?.is_none() {
            return Err(not_ours(views, moment, &self.alias)?.into());
        }
        let operation = moment.ids.operation();
        Ok(Decision {
            expect: vec![expect],
            drafts: pins(moment, &self.alias, &operation, &self.keys),
        })
    }
}

/// One fact for each key; the key itself is its payload.
pub(super) fn pins(
    moment: &Moment<'_>,
    alias: &Alias,
    operation: &OperationId,
    keys: &[Key],
) -> Vec<Draft> {
    let pin = |key: &Key| {
        let name = key.kid.as_deref();
        let name = name.filter(|name| moment.redactor.clean(name) == **name);
        let kind = EventKind::KeyPinned(KeyPinned {
            key: name.and_then(|name| Label::new(name).ok()),
            thumbprint: Thumbprint(key.thumbprint()),
        });
        let payload: Payload =
            evidence::of_object(moment.ids, moment.redactor, Role::Key, &key.jwk());
        let mut draft = moment.draft(Subject::Agent(alias.clone()), kind, vec![payload]);
        draft.operation = Some(operation.clone());
        draft.links.agent = Some(alias.clone());
        draft
    };
    keys.iter().map(pin).collect()
}
