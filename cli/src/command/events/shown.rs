//! An event for people and for programs.

use crate::command::seconds;
use crate::open::Session;
use crate::render::{Kind, Lines, Page, Report, Tint};
use missive_log::event::kind::GroupFact;
use missive_log::event::{EventKind, Seq};
use missive_log::export::{Held, Shown, ShownEvent};
use missive_log::{Event, Log as _, Opened, Record, Role, Subject};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// Larger payloads are not part of a list; `events show` and `events export` have them.
const LISTED_BYTES_MAX: usize = 4_096;

/// Wide enough for every kind that this build knows.
const KIND_WIDTH: usize = 22;

/// How much of an event's payloads is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::command) enum Payloads {
    /// Nothing: people see a line.
    None,
    /// The small ones.
    Small,
    /// Those of these roles.
    Of(&'static [Role]),
    /// All.
    All,
}

/// An event as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct Item {
    pub(super) event: Box<RawValue>,
    #[serde(skip)]
    cells: [String; 4],
}

impl Item {
    /// Opens a record; `None` if it is no event.
    pub(super) async fn of(session: &Session, record: &Record, payloads: Payloads) -> Option<Self> {
        let event = record.decode().ok()?;
        let held = held(session, &event, payloads).await;
        let digest = record.digest(session.head().log);
        let shown = ShownEvent::new(record, &event, digest, &held);
        let cells = [
            event.seq.to_string(),
            seconds(&event.at.to_string()),
            event.kind.name().to_owned(),
            about(&event),
        ];
        Some(Self {
            event: to_raw_value(&shown).ok()?,
            cells,
        })
    }

    /// One line, whose first column is so wide.
    fn line(&self, width: usize, page: &mut Page) {
        let [seq, at, kind, about] = &self.cells;
        let before = format!("{seq:>width$}  {at}  ");
        let kind = if about.is_empty() {
            kind.clone()
        } else {
            format!("{kind:KIND_WIDTH$}  ")
        };
        page.spans(&[
            (Tint::Faint, &before),
            (Tint::Plain, &kind),
            (Tint::Plain, about),
        ]);
    }
}

/// The payloads of an event. One that does not verify is shown as missing; `events verify` says more.
pub(in crate::command) async fn held(
    session: &Session,
    event: &Event,
    payloads: Payloads,
) -> Vec<Held> {
    let mut held = Vec::with_capacity(event.payloads.len());
    for of in &event.payloads {
        let shown = match payloads {
            Payloads::None => Shown::Withheld,
            Payloads::Of(roles) if !roles.contains(&of.role) => Shown::Withheld,
            Payloads::Of(_) | Payloads::Small | Payloads::All => {
                match session.log().payload(*of).await {
                    Ok(Opened::Present(row))
                        if payloads == Payloads::Small && row.bytes.len() > LISTED_BYTES_MAX =>
                    {
                        Shown::Withheld
                    }
                    Ok(Opened::Present(row)) => Shown::Present(row),
                    Ok(Opened::Erased(seq)) => Shown::Erased(seq),
                    Ok(Opened::Missing) | Err(_) => Shown::Missing,
                }
            }
        };
        held.push(Held { of: *of, shown });
    }
    held
}

/// The nouns of an event, in a few words.
pub(super) fn about(event: &Event) -> String {
    let mut words: Vec<String> = Vec::new();
    let links = &event.links;
    match (&links.agent, &event.subject) {
        (Some(alias), _) | (None, Some(Subject::Agent(alias))) => words.push(alias.to_string()),
        (None, Some(subject @ Subject::Actor(_))) => words.push(subject.to_string()),
        (None, _) => {}
    }
    words.extend(
        links
            .context
            .as_ref()
            .map(|context| format!("context {context}")),
    );
    words.extend(links.task.as_ref().map(|task| format!("task {task}")));
    words.extend(links.group.as_ref().map(|group| format!("group {group}")));
    let is_named = asks(event) || words.is_empty();
    if let (Some(operation), Some(Subject::Operation(_)), true) =
        (&event.operation, &event.subject, is_named)
    {
        words.push(format!("operation {operation}"));
    }
    words.extend(why(event).map(|why| format!("({why})")));
    words.join("  ")
}

/// Whether an operation begins with this event, or ends as a reduction: one line of it names the operation, and
/// not all.
fn asks(event: &Event) -> bool {
    let kind = event.kind.name();
    matches!(
        kind,
        "a2a.send.requested"
            | "a2a.call.requested"
            | "a2a.stream.requested"
            | "a2a.subscription.requested"
            | "missive.bcast.started"
            | "missive.barrier.started"
            | "missive.gather.recorded"
            | "missive.reduce.completed"
            | "missive.reduce.failed"
    )
}

/// The word for what went wrong.
fn why(event: &Event) -> Option<&'static str> {
    let failure = match &event.kind {
        EventKind::CardFailed(facts) => facts.failure,
        EventKind::SendFailed(facts) => facts.failure,
        EventKind::SendInDoubt(facts) => facts.failure,
        EventKind::CallFailed(facts) => facts.failure,
        EventKind::StreamClosed(facts) => return Some(facts.end.as_str()),
        EventKind::StreamMalformed(facts) => return Some(facts.why.as_str()),
        EventKind::PushRejected(facts) => return Some(facts.why.as_str()),
        EventKind::WebhookStopped(facts) => return Some(facts.end.as_str()),
        EventKind::CardChecked(facts) => return Some(facts.signature.as_str()),
        EventKind::Group(GroupFact::MemberTried(facts)) => return Some(facts.status.as_str()),
        EventKind::LogCreated(_)
        | EventKind::LogExported(_)
        | EventKind::LogReanchored(_)
        | EventKind::ActorSeen(_)
        | EventKind::AgentAdded(_)
        | EventKind::AgentRenamed(_)
        | EventKind::AgentRemoved(_)
        | EventKind::CardRequested(_)
        | EventKind::CardFetched(_)
        | EventKind::SendRequested(_)
        | EventKind::SendResponded(_)
        | EventKind::SendResolved(_)
        | EventKind::CallRequested(_)
        | EventKind::CallResponded(_)
        | EventKind::TaskUpdated(_)
        | EventKind::CardChanged(_)
        | EventKind::ExtendedCardFetched(_)
        | EventKind::KeyPinned(_)
        | EventKind::CardGiven(_)
        | EventKind::StreamRequested(_)
        | EventKind::SubscriptionRequested(_)
        | EventKind::StreamTask(_)
        | EventKind::StreamMessage(_)
        | EventKind::StreamStatusUpdate(_)
        | EventKind::StreamArtifactUpdate(_)
        | EventKind::PushConfigured(_)
        | EventKind::PushRemoved(_)
        | EventKind::PushTask(_)
        | EventKind::PushMessage(_)
        | EventKind::PushStatusUpdate(_)
        | EventKind::PushArtifactUpdate(_)
        | EventKind::WebhookStarted(_)
        | EventKind::ContextCreated(_)
        | EventKind::ContextForked(_)
        | EventKind::ContextNamed(_)
        | EventKind::ContextClosed(_)
        | EventKind::ContextExported(_)
        | EventKind::ArtifactsSaved(_)
        | EventKind::Group(_)
        | EventKind::Round(_)
        | EventKind::Unknown(_) => return None,
    };
    Some(failure.as_str())
}

/// Some events of a list.
#[derive(Debug, Serialize)]
pub(super) struct Events {
    pub(super) items: Vec<Item>,
    #[serde(skip)]
    width: usize,
}

impl Events {
    /// Events of a log that ends there.
    pub(super) fn new(items: Vec<Item>, end: Seq) -> Self {
        Self {
            items,
            width: end.to_string().len(),
        }
    }
}

impl Report for Events {
    fn kind(&self) -> Kind {
        Kind::EventRecord
    }

    fn human(&self, page: &mut Page) {
        for item in &self.items {
            item.line(self.width, page);
        }
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        let mut items = self.items.iter();
        items.try_for_each(|item| lines.push(self.kind(), true, item))
    }
}

/// One event as it comes; also with `--json`, where each is a document.
impl Report for Item {
    fn kind(&self) -> Kind {
        Kind::EventRecord
    }

    fn human(&self, page: &mut Page) {
        self.line(1, page);
    }
}
