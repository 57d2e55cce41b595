//! Fetching an agent's card: the search of `wire::discover`, performed.
//!
//! One card is fetched under one deadline, with the user's headers, with the validators of a stored
//! card where it was found last time. The answer that counts is kept whole. A card is always small,
//! so it has bounds of its own.

use url::Url;

use super::http::{Deadline, HttpCaller, Sent};
use super::reach::{Call, CallErrorKind, Reach, RefusedRedirect};
use crate::exit::Exit;
use crate::wire::answer::Answer;
use crate::wire::card::{Card, CardError, read_card};
use crate::wire::discover::{Candidate, Discovery, Place, Step};
use crate::wire::error::{PeerError, read_error};
use crate::wire::freshness::{Caching, caching};
use crate::wire::json::Limits;
use crate::wire::request::{BuildError, CARD_BYTES_MAX, Extras, card_request};

/// What is known from the last fetch.
#[derive(Clone, Debug)]
pub struct Known {
    /// Where the card was found.
    pub url: Url,
    /// Whether that is asked before the places where a card should be.
    pub asked: Asked,
    /// What its answer said about caching. Validators are sent to that address only.
    pub caching: Caching,
}

/// Where a search begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Where the card was last time: one request, if it is still there.
    WhereItWas,
    /// Where it should be, so that a card that appears there is seen (C003).
    WhereItShouldBe,
}

impl Known {
    /// The address that is asked before all others.
    pub fn first(&self) -> Option<&Url> {
        match self.asked {
            Asked::WhereItWas => Some(&self.url),
            Asked::WhereItShouldBe => None,
        }
    }
}

/// A finished fetch.
#[derive(Debug)]
pub struct Fetch {
    /// Every address that answered, with its HTTP status, in order.
    pub asked: Vec<(Url, u16)>,
    /// The last address asked, whose answer counts. After redirects, the card's own address is the
    /// end of `call.hops`.
    pub url: Url,
    /// What kind of place that is.
    pub place: Place,
    /// What the user should know about the place.
    pub note: Option<String>,
    /// The last call, with its bytes. `None` only if the request could not be built.
    pub call: Option<Call>,
    /// What came of it.
    pub outcome: Result<Fetched, FetchError>,
}

/// A good answer.
#[derive(Debug)]
pub enum Fetched {
    /// A card.
    New {
        /// What it says.
        card: Box<Card>,
        /// How long it may be used.
        caching: Caching,
    },
    /// 304: the stored card is still right, and this is its new caching.
    NotModified(Caching),
}

/// Why there is no card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The request cannot be built, for example because of a header.
    #[error(transparent)]
    Request(#[from] BuildError),
    /// The call failed; see the call for the cause.
    #[error("the card of {url} cannot be fetched")]
    Call {
        /// The address.
        url: String,
        /// The kind of failure.
        kind: CallErrorKind,
    },
    /// A redirect that is not followed.
    #[error(transparent)]
    Redirect(RefusedRedirect),
    /// An HTTP error from the place that counts: 401 means credentials, not "no card".
    #[error("no card from {url}: {error}")]
    Status {
        /// The address.
        url: String,
        /// What the peer says.
        error: Box<PeerError>,
    },
    /// A good status without a good card.
    #[error(transparent)]
    Card(CardError),
    /// Every place answered that there is nothing.
    #[error("no Agent Card under {base}")]
    Nowhere {
        /// The address that the agent is registered with.
        base: String,
    },
}

impl FetchError {
    /// How a command ends that it stops.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Request(_) => Exit::Usage,
            Self::Call { kind, .. } => kind.exit(),
            Self::Redirect(_) | Self::Nowhere { .. } => Exit::Transport,
            Self::Status { error, .. } => error.kind.exit(),
            Self::Card(_) => Exit::Protocol,
        }
    }
}

/// Searches the card of the agent at `base`.
pub async fn fetch_card(
    caller: &HttpCaller,
    base: &Url,
    known: Option<&Known>,
    extras: &Extras,
    deadline: Option<Deadline>,
) -> Fetch {
    let mut search = Discovery::new(base, known.and_then(Known::first));
    let mut next = search.first().cloned();
    let mut last = None;
    while let Some(candidate) = next.take() {
        let known = known.filter(|known| known.url == candidate.url);
        let validators = known
            .map(|known| known.caching.validators())
            .unwrap_or_default();
        let request = match card_request(&candidate.url, extras, &validators) {
            Ok(request) => request,
            Err(error) => return finish(&search, candidate, None, Err(error.into())),
        };
        let call = caller.call(&request, deadline, &Sent::default()).await;
        match status_of(&call).map(|status| search.answered(status)) {
            None | Some(Step::Stop) => {
                let outcome = judge(&call, &candidate.url, known);
                return finish(&search, candidate, Some(call), outcome);
            }
            Some(Step::Ask(other)) => next = Some(other),
            Some(Step::Exhausted) => {}
        }
        last = Some((candidate, call));
    }
    let (candidate, call) = match last {
        Some((candidate, call)) => (candidate, Some(call)),
        None => (
            Candidate {
                url: base.clone(),
                place: Place::WellKnown,
            },
            None,
        ),
    };
    let nowhere = FetchError::Nowhere { base: shown(base) };
    finish(&search, candidate, call, Err(nowhere))
}

fn finish(
    search: &Discovery,
    candidate: Candidate,
    call: Option<Call>,
    outcome: Result<Fetched, FetchError>,
) -> Fetch {
    let note = outcome.is_ok().then(|| search.note()).flatten();
    let Candidate { url, place } = candidate;
    Fetch {
        asked: search.asked().to_vec(),
        url,
        place,
        note,
        call,
        outcome,
    }
}

/// The status of a whole answer; a refused redirect is an answer like any other.
fn status_of(call: &Call) -> Option<u16> {
    match &call.reach {
        Reach::Answered(answer) => Some(answer.status),
        Reach::NotSent(_) | Reach::NothingBack(_) | Reach::Partial { .. } => None,
    }
}

fn judge(call: &Call, url: &Url, known: Option<&Known>) -> Result<Fetched, FetchError> {
    let answer = match &call.reach {
        Reach::Answered(answer) => answer,
        Reach::NotSent(error) | Reach::NothingBack(error) | Reach::Partial { error, .. } => {
            return Err(FetchError::Call {
                url: shown(url),
                kind: error.kind,
            });
        }
    };
    if let Some(refused) = &call.refused_redirect {
        return Err(FetchError::Redirect(refused.clone()));
    }
    match (answer.status, known) {
        // Nobody confirms what was not asked about.
        (304, Some(known)) if !known.caching.validators().is_empty() => Ok(Fetched::NotModified(
            known.caching.revalidated(&answer.headers),
        )),
        (200..300, _) => card_of(answer, url),
        _ => {
            let error = read_error(answer.status, &answer.headers, &answer.body, &card_limits());
            Err(FetchError::Status {
                url: shown(url),
                error: Box::new(error),
            })
        }
    }
}

fn card_of(answer: &Answer, url: &Url) -> Result<Fetched, FetchError> {
    if answer.headers.coding().is_some() {
        return Err(FetchError::Card(CardError::Compressed { from: shown(url) }));
    }
    let card = read_card(
        &answer.body,
        answer.headers.media(),
        &shown(url),
        &card_limits(),
    )
    .map_err(FetchError::Card)?;
    Ok(Fetched::New {
        card: Box::new(card),
        caching: caching(&answer.headers),
    })
}

fn card_limits() -> Limits {
    Limits {
        bytes_max: CARD_BYTES_MAX,
        ..Limits::default()
    }
}

/// Without the query, which may hold a secret.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.to_string()
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
