//! Cards in the log, and what of them a call may go by.
//!
//! What is stored is redacted, and it is stored whatever its answer says about storing. So a stored card
//! is not always one to go by: never if a place that a call needs was redacted, and never if the answer
//! that brought or confirmed it said `no-store`.

use std::time::{Duration, UNIX_EPOCH};

use missive_log::event::{Alias, Event, Seq};
use missive_log::{Log, Opened, Role};
use missive_projections::CardBody;
use url::Url;

use super::card::Loaded;
use crate::effect::fetch::{Asked, Known};
use crate::failure::{CommandError, Failure};
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::run::Missive;
use crate::wire::card::{Card, read_card};
use crate::wire::freshness::{Caching, caching};
use crate::wire::headers::{Headers, Media};
use crate::wire::json::Limits;
use crate::wire::negotiate::defects;

/// How the redactor marks a place.
const MARK: &str = "[redacted:";

/// Whether a text was redacted. A peer can write the mark itself: then its card is asked for more often.
pub(crate) fn is_redacted(text: &str) -> bool {
    text.contains(MARK)
}

/// A card in the log.
pub(crate) struct Stored {
    pub(crate) body: CardBody,
    pub(crate) card: Card,
    pub(crate) from: Url,
    /// Whether a place that calls need was redacted.
    pub(crate) hidden: bool,
    /// Whether it may not be used again without asking.
    pub(crate) no_store: bool,
}

impl Stored {
    pub(crate) fn loaded(self) -> Loaded {
        Loaded {
            card: self.card,
            from: self.from,
            cached: true,
            changed: false,
            hidden: self.hidden,
            verdict: None,
        }
    }

    /// Whether a call may go by it.
    pub(crate) fn is_usable(&self) -> bool {
        !self.hidden && !self.no_store
    }

    /// What a search needs of it. Its lifetime was what lies between its confirmation and its end.
    pub(crate) fn known(&self, asked: Asked) -> Known {
        let body = &self.body;
        let lifetime_s = body
            .fresh_until
            .as_secs()
            .saturating_sub(body.validated_at.as_secs());
        let last_modified = body
            .last_modified
            .map(|at| httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(at.as_secs())));
        // Only what can be used again is worth a confirmation.
        let usable = self.is_usable();
        Known {
            url: self.from.clone(),
            asked,
            caching: Caching {
                no_store: false,
                lifetime_s,
                by_default: false,
                etag: body
                    .etag
                    .as_ref()
                    .filter(|_| usable)
                    .map(ToString::to_string),
                last_modified: last_modified.filter(|_| usable),
            },
        }
    }
}

impl<L: Log> Missive<L> {
    /// A card that is known, however old, without asking anybody.
    pub(crate) async fn known_card(&self, peer: &Peer) -> Result<Option<Loaded>, CommandError> {
        let stored = self.stored_card(peer).await?;
        Ok(stored.filter(|stored| !stored.no_store).map(Stored::loaded))
    }

    /// The card that is on record, for whoever only looks: also one that calls may not go by.
    pub(crate) async fn kept_card(
        &self,
        alias: &Alias,
        peer: &Peer,
    ) -> Result<Loaded, CommandError> {
        let stored = self.stored_card(peer).await?;
        let unknown = || Refusal::NoCardKnown {
            alias: alias.clone(),
        };
        Ok(stored.ok_or_else(unknown)?.loaded())
    }

    pub(crate) async fn stored_card(&self, peer: &Peer) -> Result<Option<Stored>, CommandError> {
        let Some(alias) = &peer.alias else {
            return Ok(None);
        };
        let Some(body) = self.views().card(alias)?.and_then(|card| card.body) else {
            return Ok(None);
        };
        // The card of another place that once had this alias is not this agent's.
        if body.base.as_ref() != Some(&peer.url) {
            return Ok(None);
        }
        self.stored(body).await
    }

    async fn stored(&self, body: CardBody) -> Result<Option<Stored>, CommandError> {
        let Ok(from) = Url::parse(body.url.as_str()) else {
            return Ok(None);
        };
        let found = self.stored_bytes(body.source.seq, Role::Response).await?;
        let Some(StoredBytes {
            bytes,
            media,
            redacted,
        }) = found
        else {
            return Ok(None);
        };
        // It was read when it came. If it cannot be read any more, a new one is asked for.
        let Ok(card) = read_card(&bytes, media, from.as_str(), &Limits::default()) else {
            return Ok(None);
        };
        // An answer that may not be kept has no lifetime, so most need no second look.
        let no_store =
            !body.is_fresh(body.validated_at) && self.forbade_storing(body.validated).await?;
        Ok(Some(Stored {
            hidden: redacted > 0 && calls_need(&card).any(is_redacted),
            body,
            card,
            from,
            no_store,
        }))
    }

    /// Whether the answer of this event said `no-store`; also if nobody can tell any more.
    async fn forbade_storing(&self, seq: Seq) -> Result<bool, CommandError> {
        let found = self.stored_bytes(seq, Role::ResponseHeaders).await?;
        let Some(found) = found else {
            return Ok(true);
        };
        let text = String::from_utf8_lossy(&found.bytes);
        let headers: Headers = text
            .lines()
            .filter_map(|line| line.split_once(": "))
            .collect();
        Ok(caching(&headers).no_store)
    }

    /// A payload of an event by its role; `None` if the event has no such payload, or if it was erased.
    pub(crate) async fn stored_bytes(
        &self,
        seq: Seq,
        role: Role,
    ) -> Result<Option<StoredBytes>, CommandError> {
        stored_bytes(self.log(), seq, role).await
    }
}

/// A payload as it is stored.
pub(crate) struct StoredBytes {
    pub(crate) bytes: Vec<u8>,
    /// What its `Content-Type` said.
    pub(crate) media: Media,
    /// How many places of it were redacted.
    pub(crate) redacted: u32,
}

/// The event at this place.
pub(crate) async fn event_at<L: Log>(log: &L, seq: Seq) -> Result<Option<Event>, CommandError> {
    let records = log.pick(&[seq]).await?;
    Ok(records.first().and_then(|record| record.decode().ok()))
}

pub(crate) async fn stored_bytes<L: Log>(
    log: &L,
    seq: Seq,
    role: Role,
) -> Result<Option<StoredBytes>, CommandError> {
    let event = event_at(log, seq).await?;
    let payloads = event.map(|event| event.payloads).unwrap_or_default();
    let Some(of) = payloads.into_iter().find(|payload| payload.role == role) else {
        return Ok(None);
    };
    match log.payload(of).await? {
        Opened::Present(row) => Ok(Some(StoredBytes {
            bytes: row.bytes,
            media: Media::parse(row.about.media_type.as_deref()),
            redacted: of.redacted,
        })),
        Opened::Erased(_) => Ok(None),
        Opened::Missing => Err(Failure::Payload {
            seq,
            why: "it is missing",
        }
        .into()),
    }
}

/// Where a stored card is broken, in words that quote it; nothing if it was erased.
///
/// # Errors
/// The log cannot be read.
pub async fn card_defects<L: Log>(log: &L, body: &CardBody) -> Result<Vec<String>, CommandError> {
    let Some(stored) = stored_bytes(log, body.source.seq, Role::Response).await? else {
        return Ok(Vec::new());
    };
    let from = body.url.as_str();
    let card = read_card(&stored.bytes, stored.media, from, &Limits::default());
    Ok(match (card, Url::parse(from)) {
        (Ok(card), Ok(from)) => defects(&card, &from),
        (Err(error), _) => vec![error.to_string()],
        (Ok(_), Err(_)) => Vec::new(),
    })
}

/// Every text of a card that a call repeats, or is decided by.
fn calls_need(card: &Card) -> impl Iterator<Item = &str> {
    let interfaces = card.interfaces.iter().flat_map(|entry| {
        [entry.url.as_str(), entry.binding.as_str()]
            .into_iter()
            .chain(entry.protocol_version.as_deref())
            .chain(entry.tenant.as_deref())
    });
    let extensions = card.capabilities.extensions.iter();
    interfaces.chain(extensions.map(|extension| extension.uri.as_str()))
}
