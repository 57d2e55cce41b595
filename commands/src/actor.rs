//! Who acts.
//!
//! An event names its actor by a random identifier. The user and host names behind it are the
//! payload of one `missive.actor.seen`, which goes in front of the actor's first event and can be
//! erased without touching any other.

use missive_log::event::kind::ActorSeen;
use missive_log::event::{ActorId, Draft, EventKind, Subject};
use missive_log::payload::{About, Role};
use missive_log::{Expect, Ids};

use missive_log::payload::redact::Redactor;

/// Somebody who acts.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The identifier; whoever opens the state folder keeps it there.
    pub id: ActorId,
    /// Names of user and host, as text for people.
    pub names: String,
}

impl Actor {
    /// The fact that they were seen, and the condition that nobody has said so yet.
    pub(crate) fn seen(&self, ids: &Ids, redactor: &Redactor) -> (Expect, Draft) {
        let subject = Subject::Actor(self.id);
        let expect = Expect::Unchanged {
            subject: subject.clone(),
            last: None,
        };
        let mut draft = Draft::new(ids.event(), subject, EventKind::ActorSeen(ActorSeen {}));
        draft.payloads = vec![redactor.text(ids, Role::Actor, About::default(), &self.names)];
        (expect, draft)
    }
}
