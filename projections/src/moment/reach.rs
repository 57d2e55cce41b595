//! What an event can change beyond what its envelope says.
//!
//! The one list of kinds for whoever folds less than everything: a new kind must be considered here
//! before it compiles, and so cannot be forgotten by a look at an earlier moment.

use crate::task;
use missive_log::event::{ContextId, EventKind, TaskId};

/// What an event can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach<'a> {
    /// Nothing beyond the contexts of its links.
    Links,
    /// The register of agents, on which the keys of everything else hang: always folded.
    Register,
    /// A card, or the keys that an agent's cards are signed by.
    Card,
    /// A group.
    Group,
    /// A round, which is known by its operation.
    Round,
    /// A context or a task that its facts name, whatever the links say.
    Told {
        /// The context.
        context: Option<&'a ContextId>,
        /// The task.
        task: Option<&'a TaskId>,
    },
}

/// The names of the kinds of [`Reach::Register`].
pub(crate) const REGISTER: [&str; 3] = [
    "missive.agent.added",
    "missive.agent.renamed",
    "missive.agent.removed",
];
/// The names of the kinds of [`Reach::Card`].
pub(crate) const CARDS: [&str; 7] = [
    "a2a.card.requested",
    "a2a.card.fetched",
    "a2a.card.failed",
    "a2a.card.checked",
    "a2a.card.extended",
    "missive.agent.key_pinned",
    "missive.agent.card_given",
];
/// The names of the kinds of [`Reach::Group`].
pub(crate) const GROUPS: [&str; 7] = [
    "missive.group.created",
    "missive.group.renamed",
    "missive.group.deleted",
    "missive.group.member_added",
    "missive.group.member_removed",
    "missive.group.turn_taken",
    "missive.group.member_tried",
];
/// The names of the kinds that may report of a task.
pub(crate) const REPORTS: [&str; 9] = [
    "a2a.send.responded",
    "a2a.send.resolved",
    "a2a.task.updated",
    "a2a.stream.task",
    "a2a.stream.status_update",
    "a2a.stream.artifact_update",
    "a2a.push.task",
    "a2a.push.status_update",
    "a2a.push.artifact_update",
];

/// What an event of this kind can change.
pub(crate) fn reach(kind: &EventKind) -> Reach<'_> {
    match kind {
        EventKind::AgentAdded(_) | EventKind::AgentRenamed(_) | EventKind::AgentRemoved(_) => {
            Reach::Register
        }
        EventKind::CardRequested(_)
        | EventKind::CardFetched(_)
        | EventKind::CardFailed(_)
        | EventKind::CardChecked(_)
        | EventKind::ExtendedCardFetched(_)
        | EventKind::KeyPinned(_)
        | EventKind::CardGiven(_) => Reach::Card,
        EventKind::Group(_) => Reach::Group,
        EventKind::Round(_) => Reach::Round,
        EventKind::SendResponded(_)
        | EventKind::SendResolved(_)
        | EventKind::TaskUpdated(_)
        | EventKind::StreamTask(_)
        | EventKind::StreamStatusUpdate(_)
        | EventKind::StreamArtifactUpdate(_)
        | EventKind::PushTask(_)
        | EventKind::PushStatusUpdate(_)
        | EventKind::PushArtifactUpdate(_) => {
            task::report(kind).map_or(Reach::Links, |report| Reach::Told {
                context: report.context(),
                task: Some(report.task()),
            })
        }
        EventKind::ContextForked(facts) => Reach::Told {
            context: Some(&facts.from),
            task: None,
        },
        EventKind::PushConfigured(facts) => Reach::Told {
            context: None,
            task: Some(&facts.task),
        },
        EventKind::PushRemoved(facts) => Reach::Told {
            context: None,
            task: Some(&facts.task),
        },
        // Listed, not `_`: a new fact must be considered here before it compiles.
        EventKind::LogCreated(_)
        | EventKind::LogExported(_)
        | EventKind::LogReanchored(_)
        | EventKind::ActorSeen(_)
        | EventKind::SendRequested(_)
        | EventKind::SendFailed(_)
        | EventKind::SendInDoubt(_)
        | EventKind::CallRequested(_)
        | EventKind::CallResponded(_)
        | EventKind::CallFailed(_)
        | EventKind::CardChanged(_)
        | EventKind::StreamRequested(_)
        | EventKind::SubscriptionRequested(_)
        | EventKind::StreamMessage(_)
        | EventKind::StreamMalformed(_)
        | EventKind::StreamClosed(_)
        | EventKind::PushMessage(_)
        | EventKind::PushRejected(_)
        | EventKind::WebhookStarted(_)
        | EventKind::WebhookStopped(_)
        | EventKind::ContextCreated(_)
        | EventKind::ContextNamed(_)
        | EventKind::ContextClosed(_)
        | EventKind::ContextExported(_)
        | EventKind::ArtifactsSaved(_)
        | EventKind::Unknown(_) => Reach::Links,
    }
}

/// Whether an event may say of a message where it landed: then it means what the request says.
pub(crate) fn answers(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::SendResponded(_)
            | EventKind::SendResolved(_)
            | EventKind::StreamTask(_)
            | EventKind::StreamStatusUpdate(_)
            | EventKind::StreamArtifactUpdate(_)
            | EventKind::StreamMessage(_)
    )
}

/// What the facts of an event name that its links do not: found by an index of its own.
pub(crate) fn told_beside<'e>(
    kind: &'e EventKind,
    links: &missive_log::Links,
) -> (Option<&'e ContextId>, Option<&'e TaskId>) {
    if let Some(task) = task::unlinked(kind) {
        return (None, Some(task));
    }
    let Reach::Told { context, task } = reach(kind) else {
        return (None, None);
    };
    (
        context.filter(|context| links.context.as_ref() != Some(context)),
        task.filter(|task| links.task.as_ref() != Some(task)),
    )
}
