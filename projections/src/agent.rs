//! Registered agents and their cached cards.
//!
//! A rename carries the registration, its card and its history to the new alias; the old alias stays
//! as a pointer until somebody registers it anew. A removal keeps the registration as history. Agents
//! that only the configuration knows have a card here and no registration.

use crate::outbox::agent_of;
use crate::rows::{Rows, Table, load, micros, micros_option, save};
use crate::source::Source;
use crate::view::Projection;
use missive_log::event::facts::{
    BareUrl, Binding, CardPath, EntityTag, Failure, InterfaceFacts, KeySource, Label, Name,
    SignatureOutcome, Thumbprint,
};
use missive_log::event::kind::{
    AgentAdded, CardChecked, CardFailed, CardFetched, CardRequested, KeyPinned,
};
use missive_log::event::{Alias, EventKind, Seq, Subject};
use missive_log::{Event, Role, Timestamp};
use serde::{Deserialize, Serialize};

/// A registration, as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// The alias.
    pub alias: Alias,
    /// The place of its registration: its identity for life, whatever it is called.
    pub added: Seq,
    /// When it was registered.
    #[serde(with = "micros")]
    pub added_at: Timestamp,
    /// Since when it has this alias.
    pub since: Seq,
    /// The base URL.
    pub url: BareUrl,
    /// Interfaces that the user gave.
    pub interfaces: Vec<InterfaceFacts>,
    /// The user's order of bindings; empty: the card's.
    pub bindings: Vec<Binding>,
    /// The configured credential.
    pub auth_ref: Option<Name>,
    /// Tags, sorted.
    pub tags: Vec<Name>,
    /// Notes and metadata, if there are any.
    pub note: Option<Source>,
    /// The same for its metadata.
    pub metadata: Option<Source>,
    /// The keys that its cards must be signed by, oldest first; of very many, the newest.
    pub keys: Vec<PinnedKey>,
    /// What it was called before, oldest first; of very many, the newest.
    pub former: Vec<Former>,
}

/// An alias that an agent once had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Former {
    /// The alias.
    pub alias: Alias,
    /// From this event on.
    pub since: Seq,
    /// Up to this event, which renamed it.
    pub until: Seq,
}

/// What is known of an alias.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// It is registered.
    Present(Agent),
    /// It was renamed, and the alias is free.
    Renamed {
        /// What it was renamed to.
        to: Alias,
        /// By which event.
        at: Seq,
    },
    /// It was removed, and the alias is free.
    Removed {
        /// What it was.
        was: Agent,
        /// By which event.
        at: Seq,
    },
}

/// A cached card. The card itself is a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The base URL that the newest request named.
    pub asked: Option<BareUrl>,
    /// The newest card that came, confirmed or not.
    pub body: Option<CardBody>,
    /// The newest failure, if nothing came since.
    pub failure: Option<CardFailure>,
    /// What the signatures of the newest card were found to be worth.
    pub signature: Option<CardSignature>,
    /// The newest extended card. It is kept beside the public one, and never instead of it.
    pub extended: Option<Source>,
}

/// What came of the look at a card's signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardSignature {
    /// The event that says so.
    pub seq: Seq,
    /// What they are worth.
    pub outcome: SignatureOutcome,
    /// How many there are.
    pub signatures: u32,
    /// The algorithm of the one that counted.
    pub algorithm: Option<Label>,
    /// The id of its key.
    pub key: Option<Label>,
    /// Why that key is trusted.
    pub source: Option<KeySource>,
    /// Its RFC 7638 thumbprint, if it verified the signature.
    pub thumbprint: Option<Thumbprint>,
}

/// A key that was pinned for an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedKey {
    /// The id that signatures name it by.
    pub key: Option<Label>,
    /// Its RFC 7638 thumbprint.
    pub thumbprint: Thumbprint,
    /// The event that pinned it; the key is its payload.
    pub source: Source,
}

/// A card that came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardBody {
    /// The event that brought it, and its payload. The event's facts hold what routing needs of it.
    pub source: Source,
    /// The base URL that it was asked for by.
    pub base: Option<BareUrl>,
    /// The exact place that answered.
    pub url: BareUrl,
    /// Which path answered; none did if a person gave it.
    pub path: Option<CardPath>,
    /// Its entity tag.
    pub etag: Option<EntityTag>,
    /// Its `Last-Modified`.
    #[serde(with = "micros_option")]
    pub last_modified: Option<Timestamp>,
    /// Until when it may be used without asking again.
    #[serde(with = "micros")]
    pub fresh_until: Timestamp,
    /// The event that brought or last confirmed it.
    pub validated: Seq,
    /// When that was.
    #[serde(with = "micros")]
    pub validated_at: Timestamp,
}

impl CardBody {
    /// Whether it may be used without asking the agent.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.path.is_none() || self.fresh_until > now
    }

    /// Where it is from: the name of a path, or `given`.
    pub fn origin(&self) -> &'static str {
        self.path.map_or("given", CardPath::as_str)
    }
}

/// A request for a card that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardFailure {
    /// The event that says so.
    pub seq: Seq,
    /// When that was.
    #[serde(with = "micros")]
    pub at: Timestamp,
    /// Why.
    pub failure: Failure,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
}

/// How many former aliases are kept, newest first.
const FORMER_MAX: usize = 256;
/// How many keys are kept, newest first.
const KEYS_MAX: usize = 64;
/// How many renames are followed: more do not occur, since a pointer is set when its target exists.
pub(crate) const RENAMES_MAX: usize = 1_024;

pub(crate) struct Agents;

impl Projection for Agents {
    const NAME: &'static str = "agent";
    const VERSION: u32 = 4;
    const TABLES: &'static [Table] = &[Table::Agents, Table::Cards, Table::Identities];

    fn apply(rows: &mut impl Rows, event: &Event) {
        match &event.kind {
            EventKind::AgentAdded(facts) => add(rows, event, facts),
            EventKind::AgentRenamed(facts) => rename(rows, event, &facts.to),
            EventKind::AgentRemoved(_) => remove(rows, event),
            EventKind::CardRequested(facts) => asked(rows, event, facts),
            EventKind::CardFetched(facts) => fetched(rows, event, facts),
            EventKind::CardFailed(facts) => failed(rows, event, facts),
            EventKind::CardChecked(facts) => checked(rows, event, facts),
            EventKind::ExtendedCardFetched(_) => extended(rows, event),
            EventKind::KeyPinned(facts) => pinned(rows, event, facts),
            EventKind::CardGiven(_) => given(rows, event),
            // Listed, not `_`: a new fact must be considered here before it compiles.
            EventKind::LogCreated(_)
            | EventKind::LogExported(_)
            | EventKind::LogReanchored(_)
            | EventKind::ActorSeen(_)
            | EventKind::SendRequested(_)
            | EventKind::SendResponded(_)
            | EventKind::SendFailed(_)
            | EventKind::SendInDoubt(_)
            | EventKind::SendResolved(_)
            | EventKind::CallRequested(_)
            | EventKind::CallResponded(_)
            | EventKind::CallFailed(_)
            | EventKind::TaskUpdated(_)
            | EventKind::CardChanged(_)
            | EventKind::StreamRequested(_)
            | EventKind::SubscriptionRequested(_)
            | EventKind::StreamTask(_)
            | EventKind::StreamMessage(_)
            | EventKind::StreamStatusUpdate(_)
            | EventKind::StreamArtifactUpdate(_)
            | EventKind::StreamMalformed(_)
            | EventKind::StreamClosed(_)
            | EventKind::PushConfigured(_)
            | EventKind::PushRemoved(_)
            | EventKind::PushTask(_)
            | EventKind::PushMessage(_)
            | EventKind::PushStatusUpdate(_)
            | EventKind::PushArtifactUpdate(_)
            | EventKind::PushRejected(_)
            | EventKind::WebhookStarted(_)
            | EventKind::WebhookStopped(_)
            | EventKind::ContextCreated(_)
            | EventKind::ContextForked(_)
            | EventKind::ContextNamed(_)
            | EventKind::ContextClosed(_)
            | EventKind::ContextExported(_)
            | EventKind::ArtifactsSaved(_)
            | EventKind::Group(_)
            | EventKind::Round(_)
            | EventKind::Unknown(_) => {}
        }
    }
}

/// The alias that a registration event is about: its subject, else its link.
fn registered(event: &Event) -> Option<Alias> {
    match &event.subject {
        Some(Subject::Agent(alias)) => Some(alias.clone()),
        Some(
            Subject::Log
            | Subject::Actor(_)
            | Subject::Operation(_)
            | Subject::Context(_)
            | Subject::Task(_)
            | Subject::ContextName(_)
            | Subject::Group(_)
            | Subject::Other(_),
        )
        | None => event.links.agent.clone(),
    }
}

fn key(alias: &Alias) -> &[u8] {
    alias.as_str().as_bytes()
}

fn add(rows: &mut impl Rows, event: &Event, facts: &AgentAdded) {
    let Some(alias) = registered(event) else {
        return;
    };
    let found = |role| Some(Source::of(event, &[role])).filter(|s| s.payload.is_some());
    let agent = Agent {
        alias: alias.clone(),
        added: event.seq,
        added_at: event.at,
        since: event.seq,
        url: facts.url.clone(),
        interfaces: facts.interfaces.clone(),
        bindings: facts.bindings.clone(),
        auth_ref: facts.auth_ref.clone(),
        tags: facts.tags.clone(),
        note: found(Role::Note),
        metadata: found(Role::Metadata),
        keys: Vec::new(),
        former: Vec::new(),
    };
    save(rows, Table::Agents, key(&alias), &Entry::Present(agent));
    rows.put(Table::Identities, key(&alias), event.seq.to_key().into());
    // A card that came from elsewhere is not this agent's.
    let card: Option<Card> = load(rows, Table::Cards, key(&alias));
    let base = card.and_then(|card| card.body).and_then(|body| body.base);
    if base.as_ref() != Some(&facts.url) {
        rows.delete(Table::Cards, key(&alias));
    }
}

fn rename(rows: &mut impl Rows, event: &Event, to: &Alias) {
    let Some(from) = registered(event).filter(|from| from != to) else {
        return;
    };
    let Some(Entry::Present(mut agent)) = load(rows, Table::Agents, key(&from)) else {
        return;
    };
    agent.former.push(Former {
        alias: from.clone(),
        since: agent.since,
        until: event.seq,
    });
    let excess = agent.former.len().saturating_sub(FORMER_MAX);
    agent.former.drain(..excess);
    agent.alias = to.clone();
    agent.since = event.seq;
    let pointer = Entry::Renamed {
        to: to.clone(),
        at: event.seq,
    };
    save(rows, Table::Agents, key(&from), &pointer);
    rows.put(Table::Identities, key(to), agent.added.to_key().into());
    save(rows, Table::Agents, key(to), &Entry::Present(agent));
    match rows.get(Table::Cards, key(&from)) {
        Some(card) => rows.put(Table::Cards, key(to), card),
        None => rows.delete(Table::Cards, key(to)),
    }
    rows.delete(Table::Cards, key(&from));
}

fn remove(rows: &mut impl Rows, event: &Event) {
    let Some(alias) = registered(event) else {
        return;
    };
    if let Some(Entry::Present(was)) = load(rows, Table::Agents, key(&alias)) {
        let removed = Entry::Removed { was, at: event.seq };
        save(rows, Table::Agents, key(&alias), &removed);
    }
    rows.delete(Table::Cards, key(&alias));
}

/// The bytes that stand for an agent in keys: its registration, which no rename changes; for an agent
/// that only the configuration knows its alias; nothing for a bare URL. A removed or renamed agent
/// keeps them until its alias is registered anew, since outcomes may come late.
pub(crate) fn identity(rows: &mut impl Rows, alias: Option<&Alias>) -> Vec<u8> {
    let Some(alias) = alias else {
        return Vec::new();
    };
    let registered = rows.get(Table::Identities, key(alias));
    registered.map_or_else(
        || [&Seq::ZERO.to_key(), key(alias)].concat(),
        |identity| identity.to_vec(),
    )
}

/// What an alias of some time is called now: an outcome may come after a rename.
fn present(rows: &mut impl Rows, alias: &Alias) -> Alias {
    let mut alias = alias.clone();
    for _ in 0..RENAMES_MAX {
        let Some(Entry::Renamed { to, .. }) = load(rows, Table::Agents, key(&alias)) else {
            break;
        };
        alias = to;
    }
    alias
}

fn card_of(rows: &mut impl Rows, event: &Event) -> Option<(Alias, Card)> {
    let alias = present(rows, &agent_of(event)?);
    let card = load(rows, Table::Cards, key(&alias)).unwrap_or_default();
    Some((alias, card))
}

fn asked(rows: &mut impl Rows, event: &Event, facts: &CardRequested) {
    if let Some((alias, mut card)) = card_of(rows, event) {
        card.asked = Some(facts.url.clone());
        save(rows, Table::Cards, key(&alias), &card);
    }
}

fn fetched(rows: &mut impl Rows, event: &Event, facts: &CardFetched) {
    let Some((alias, mut card)) = card_of(rows, event) else {
        return;
    };
    if facts.card.is_some() {
        card.body = Some(CardBody {
            source: Source::of(event, &[Role::Response]),
            base: card.asked.clone(),
            url: facts.url.clone(),
            path: Some(facts.path),
            etag: facts.etag.clone(),
            last_modified: facts.last_modified,
            fresh_until: facts.fresh_until,
            validated: event.seq,
            validated_at: event.at,
        });
    } else if let Some(body) = &mut card.body {
        // RFC 9111 section 4.3.4: a 304 updates what it names and leaves the rest.
        body.etag = facts.etag.clone().or(body.etag.take());
        body.last_modified = facts.last_modified.or(body.last_modified);
        body.fresh_until = facts.fresh_until;
        body.validated = event.seq;
        body.validated_at = event.at;
    }
    card.failure = None;
    save(rows, Table::Cards, key(&alias), &card);
}

/// A card that a person gave stays until a newer one comes: nobody said how long it may be used.
fn given(rows: &mut impl Rows, event: &Event) {
    let Some((alias, mut card)) = card_of(rows, event) else {
        return;
    };
    let Some(Entry::Present(agent)) = load(rows, Table::Agents, key(&alias)) else {
        return;
    };
    card.body = Some(CardBody {
        source: Source::of(event, &[Role::Response]),
        base: Some(agent.url.clone()),
        url: agent.url,
        path: None,
        etag: None,
        last_modified: None,
        fresh_until: event.at,
        validated: event.seq,
        validated_at: event.at,
    });
    card.failure = None;
    save(rows, Table::Cards, key(&alias), &card);
}

fn checked(rows: &mut impl Rows, event: &Event, facts: &CardChecked) {
    if let Some((alias, mut card)) = card_of(rows, event) {
        card.signature = Some(CardSignature {
            seq: event.seq,
            outcome: facts.signature,
            signatures: facts.signatures,
            algorithm: facts.algorithm.clone(),
            key: facts.key.clone(),
            source: facts.source,
            thumbprint: facts.thumbprint,
        });
        save(rows, Table::Cards, key(&alias), &card);
    }
}

fn extended(rows: &mut impl Rows, event: &Event) {
    if let Some((alias, mut card)) = card_of(rows, event) {
        card.extended = Some(Source::of(event, &[Role::Response]));
        save(rows, Table::Cards, key(&alias), &card);
    }
}

fn pinned(rows: &mut impl Rows, event: &Event, facts: &KeyPinned) {
    let Some(alias) = registered(event).map(|alias| present(rows, &alias)) else {
        return;
    };
    let Some(Entry::Present(mut agent)) = load(rows, Table::Agents, key(&alias)) else {
        return;
    };
    agent
        .keys
        .retain(|known| known.thumbprint != facts.thumbprint);
    agent.keys.push(PinnedKey {
        key: facts.key.clone(),
        thumbprint: facts.thumbprint,
        source: Source::of(event, &[Role::Key]),
    });
    let excess = agent.keys.len().saturating_sub(KEYS_MAX);
    agent.keys.drain(..excess);
    save(rows, Table::Agents, key(&alias), &Entry::Present(agent));
}

fn failed(rows: &mut impl Rows, event: &Event, facts: &CardFailed) {
    if let Some((alias, mut card)) = card_of(rows, event) {
        card.failure = Some(CardFailure {
            seq: event.seq,
            at: event.at,
            failure: facts.failure,
            status: facts.status,
        });
        save(rows, Table::Cards, key(&alias), &card);
    }
}
