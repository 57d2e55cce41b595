//! Cards: from the cache while they are fresh, else asked for, with every search on record.
//!
//! A card that came is kept in the log whatever its answer says about storing (the log is the record
//! of what came); `no-store` only means that it is not used again without asking.

use std::time::UNIX_EPOCH;

use missive_log::event::facts::Failure as Why;
use missive_log::event::kind::{CardFacts, CardFailed, CardFetched};
use missive_log::event::{Draft, EventKind, Links, OperationId, Seq};
use missive_log::{Log, Role, Timestamp};
use url::Url;

use super::Course;
use super::stored::Stored;
use super::trust::{Checked, changed_fact, checked_fact};
use crate::decide::Moment;
use crate::decide::card::CardIntent;
use crate::effect::fetch::{Asked, Fetch, FetchError, Fetched, Known, fetch_card};
use crate::effect::reach::{Call, CallError, CallErrorKind, Reach};
use crate::evidence;
use crate::facts;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::note::Note;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::run::Missive;
use crate::wire::answer::Answer;
use crate::wire::card::Card;
use crate::wire::discover::Discovery;
use crate::wire::negotiate::defects;
use crate::wire::request::{Extras, Request, card_request};
use crate::wire::signature::Verdict;

/// When a card is asked for although one is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Only if the known one is no longer fresh.
    Usable,
    /// In any case.
    Newest,
}

impl Want {
    /// A user who wants the newest card wants it from where it should be; an ordinary look at a known
    /// one is a single request.
    fn place(self) -> Asked {
        match self {
            Self::Usable => Asked::WhereItWas,
            Self::Newest => Asked::WhereItShouldBe,
        }
    }
}

/// How many defects of one card are told to the user.
const NOTES_MAX: usize = 8;

/// A card that can be used.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// What it says.
    pub(crate) card: Card,
    /// Where it came from.
    pub(crate) from: Url,
    /// Whether it was taken from the log without asking the agent.
    pub(crate) cached: bool,
    /// Whether the agent sent another card than the known one.
    pub(crate) changed: bool,
    /// Whether it came from the log, and a place in it that calls need was redacted there.
    pub(crate) hidden: bool,
    /// What its signatures are worth, if it just came.
    pub(crate) verdict: Option<Verdict>,
}

impl<L: Log> Missive<L> {
    /// The card of an agent.
    pub(crate) async fn card(
        &self,
        course: &mut Course,
        peer: &Peer,
        want: Want,
        interrupt: &mut Interrupt,
    ) -> Result<Loaded, CommandError> {
        let stored = self.stored_card(peer).await?;
        let now = self.ids().now();
        let stored = match stored {
            Some(stored)
                if want == Want::Usable && stored.is_usable() && stored.body.is_fresh(now) =>
            {
                let fresh_until = stored.body.fresh_until.to_string();
                tracing::info!(fresh_until, "card is known");
                return Ok(stored.loaded());
            }
            other => other,
        };
        let fetched = self
            .fetch_again(course, peer, want, stored.as_ref(), interrupt)
            .await;
        let loaded = match (fetched, stored) {
            (Ok(Some(loaded)), stored) => Loaded {
                // An answer without validators may bring the same card again.
                changed: stored.is_none_or(|stored| stored.card != loaded.card),
                ..loaded
            },
            (Ok(None), Some(stored)) => Loaded {
                cached: false,
                ..stored.loaded()
            },
            (Ok(None), None) => {
                return Err(Failure::Internal {
                    what: "a card that is not known was confirmed",
                }
                .into());
            }
            (Err(error), Some(stored)) if want == Want::Usable && is_passing(&error) => {
                if stored.is_usable() {
                    tracing::info!("the known card is used");
                    self.note(Note::StaleCard(error.to_string()));
                    return Ok(stored.loaded());
                }
                self.note(Note::UnusableCard {
                    no_store: stored.no_store,
                });
                return Err(error);
            }
            (Err(error), _) => return Err(error),
        };
        self.note_defects(&loaded);
        Ok(loaded)
    }

    /// Searches until there is an answer; a busy agent is asked again unless a known card does as well.
    async fn fetch_again(
        &self,
        course: &mut Course,
        peer: &Peer,
        want: Want,
        stored: Option<&Stored>,
        interrupt: &mut Interrupt,
    ) -> Result<Option<Loaded>, CommandError> {
        let has_other = want == Want::Usable && stored.is_some_and(Stored::is_usable);
        let mut turn = 0;
        loop {
            let search = Search {
                known: stored.map(|stored| stored.known(want.place())),
                before: stored,
                abandoned: None,
            };
            match Box::pin(self.fetch(course, peer, search, interrupt)).await {
                Err(error) if !has_other => {
                    turn += 1;
                    self.before_next(course, error, turn, interrupt).await?;
                }
                fetched => return fetched,
            }
        }
    }

    /// Tells where a card that was just asked for is broken, so that its owner can be told.
    fn note_defects(&self, loaded: &Loaded) {
        let found = defects(&loaded.card, &loaded.from);
        for defect in found.into_iter().take(NOTES_MAX) {
            self.note(Note::CardDefect(self.redactor().clean(&defect)));
        }
    }

    /// Asks again for a card whose first search ended with its process.
    pub(crate) async fn repeat_card(
        &self,
        course: &mut Course,
        peer: &Peer,
        abandoned: Seq,
        interrupt: &mut Interrupt,
    ) -> Result<(), CommandError> {
        let stored = self.stored_card(peer).await?;
        let search = Search {
            known: stored
                .as_ref()
                .map(|stored| stored.known(Asked::WhereItWas)),
            before: stored.as_ref(),
            abandoned: Some(abandoned),
        };
        self.fetch(course, peer, search, interrupt).await?;
        Ok(())
    }

    /// One search, with its intent and its outcome; `None` if the stored card was confirmed.
    async fn fetch(
        &self,
        course: &mut Course,
        peer: &Peer,
        search: Search<'_>,
        interrupt: &mut Interrupt,
    ) -> Result<Option<Loaded>, CommandError> {
        let Search {
            known,
            before,
            abandoned,
        } = search;
        let trust = self.trust(peer).await?;
        let seen = self.seen_signature(peer.alias.as_ref())?;
        let extras = Extras {
            extensions: Vec::new(),
            ..self.extras(peer.alias.as_ref())
        };
        let (request, revalidate) = first_request(peer, known.as_ref(), &extras)?;
        let intent = CardIntent {
            peer,
            operation: &course.operation.clone(),
            revalidate,
            request: &request,
            abandoned,
        };
        let intent = self.intend(course, &intent).await?;
        tracing::info!(agent = %peer.url, revalidate, "card is asked for");
        let deadline = Some(self.card_deadline());
        let caller = self.card_calls();
        let fetching = async {
            let fetch = fetch_card(caller, &peer.base, known.as_ref(), &extras, deadline).await;
            let checked = self.check_card(&fetch, trust, before, seen.as_ref()).await;
            (fetch, checked)
        };
        let (fetch, checked) = tokio::select! {
            biased;
            found = fetching => found,
            () = interrupt.came() => return self.card_interrupted(course, peer, intent).await,
        };
        self.card_outcome(course, peer, intent, fetch, checked)
            .await
    }

    async fn card_interrupted(
        &self,
        course: &mut Course,
        peer: &Peer,
        intent: Seq,
    ) -> Result<Option<Loaded>, CommandError> {
        let operation = course.operation.clone();
        let links = links_of(peer);
        self.conclude(course, intent, |moment| {
            let kind = EventKind::CardFailed(CardFailed {
                failure: Why::Interrupted,
                status: None,
            });
            vec![moment.step(&operation, Some(intent), &links, kind, Vec::new())]
        })
        .await?;
        Err(Failure::Interrupted {
            operation,
            in_doubt: false,
            task: None,
        }
        .into())
    }

    async fn card_outcome(
        &self,
        course: &mut Course,
        peer: &Peer,
        intent: Seq,
        fetch: Fetch,
        checked: Option<Checked>,
    ) -> Result<Option<Loaded>, CommandError> {
        let operation = course.operation.clone();
        let now = self.ids().now();
        let links = links_of(peer);
        self.conclude(course, intent, |moment| {
            let answer = fetch.call.as_ref().and_then(|call| answer_of(&call.reach));
            let mut payloads = answer
                .map(|answer| evidence::of_answer(moment, answer))
                .unwrap_or_default();
            let redacted = payloads
                .iter()
                .any(|payload| payload.role() == Role::Response && payload.redacted() > 0);
            let kind = match &fetch.outcome {
                Ok(fetched) => {
                    let card = match fetched {
                        Fetched::New { card, .. } => Some(facts::card(moment.redactor, card)),
                        Fetched::NotModified(_) => None,
                    };
                    fetched_fact(&fetch, fetched, card, peer, now, redacted)
                }
                Err(error) => {
                    let text = error_text(error, fetch.call.as_ref());
                    payloads.push(evidence::of_error(moment, &text));
                    EventKind::CardFailed(CardFailed {
                        failure: failure_of(error),
                        status: answer.map(|answer| answer.status),
                    })
                }
            };
            let mut drafts = vec![moment.step(&operation, Some(intent), &links, kind, payloads)];
            drafts.extend(checks(moment, &operation, intent, &links, checked.as_ref()));
            drafts
        })
        .await?;
        // All of them are about the operation.
        course.last = course.newest;
        if let Some(checked) = &checked {
            self.note_check(checked);
        }
        if let Some(note) = fetch.note {
            self.note(Note::CardPlace(note));
        }
        let hops = fetch.call.as_ref().map(|call| call.hops.as_slice());
        let end = hops.and_then(<[_]>::last).map(|hop| hop.to.clone());
        match fetch.outcome {
            Ok(Fetched::NotModified(_)) => {
                tracing::info!("card has not changed");
                Ok(None)
            }
            Ok(Fetched::New { card, .. }) => {
                tracing::info!(interfaces = card.interfaces.len(), "card fetched");
                Ok(Some(Loaded {
                    card: *card,
                    from: end.unwrap_or(fetch.url),
                    cached: false,
                    changed: true,
                    hidden: false,
                    verdict: checked.and_then(|checked| checked.verdict),
                }))
            }
            Err(error) => Err(self.card_failure(operation, error, fetch.call).into()),
        }
    }

    fn card_failure(
        &self,
        operation: OperationId,
        error: FetchError,
        call: Option<Call>,
    ) -> Failure {
        let error = match error {
            FetchError::Status { url, error } => FetchError::Status {
                url,
                error: Box::new(self.clean(&error)),
            },
            other @ (FetchError::Request(_)
            | FetchError::Call { .. }
            | FetchError::Redirect(_)
            | FetchError::Card(_)
            | FetchError::Nowhere { .. }) => other,
        };
        Failure::Card {
            operation,
            error,
            cause: call.and_then(|call| call_error(call.reach)),
        }
    }
}

/// What a search for a card begins with.
struct Search<'a> {
    /// Where it was, and what it was confirmed by.
    known: Option<Known>,
    /// The card of last time.
    before: Option<&'a Stored>,
    /// An earlier intent whose process ended before it could say how it went.
    abandoned: Option<Seq>,
}

/// What was found out about a card, beside that it came.
fn checks(
    moment: &Moment<'_>,
    operation: &OperationId,
    intent: Seq,
    links: &Links,
    checked: Option<&Checked>,
) -> Vec<Draft> {
    let Some(checked) = checked else {
        return Vec::new();
    };
    let step = |kind, payloads| moment.step(operation, Some(intent), links, kind, payloads);
    let verdict = checked.verdict.iter().map(|verdict| {
        let (kind, payloads) = checked_fact(moment, verdict);
        step(kind, payloads)
    });
    let changed = changed_fact(checked).map(|kind| step(kind, Vec::new()));
    verdict.chain(changed).collect()
}

/// The first request of a search, and whether it revalidates.
fn first_request(
    peer: &Peer,
    known: Option<&Known>,
    extras: &Extras,
) -> Result<(Request, bool), Refusal> {
    let search = Discovery::new(&peer.base, known.and_then(Known::first));
    let url = search.first().map_or(&peer.base, |first| &first.url);
    let validators = known
        .filter(|known| known.url == *url)
        .map(|known| known.caching.validators())
        .unwrap_or_default();
    let request = card_request(url, extras, &validators)?;
    Ok((request, !validators.is_empty()))
}

fn links_of(peer: &Peer) -> Links {
    Links {
        agent: peer.alias.clone(),
        ..Links::default()
    }
}

fn answer_of(reach: &Reach) -> Option<&Answer> {
    match reach {
        Reach::Answered(answer) | Reach::Partial { answer, .. } => Some(answer),
        Reach::NotSent(_) | Reach::NothingBack(_) => None,
    }
}

fn call_error(reach: Reach) -> Option<CallError> {
    match reach {
        Reach::NotSent(error) | Reach::NothingBack(error) | Reach::Partial { error, .. } => {
            Some(error)
        }
        Reach::Answered(_) => None,
    }
}

fn fetched_fact(
    fetch: &Fetch,
    fetched: &Fetched,
    facts_of_card: Option<CardFacts>,
    peer: &Peer,
    now: Timestamp,
    redacted: bool,
) -> EventKind {
    let (status, caching, card) = match fetched {
        Fetched::New { card, caching } => {
            let status = fetch.asked.last().map_or(200, |(_, status)| *status);
            (status, caching, Some(card))
        }
        Fetched::NotModified(caching) => (304, caching, None),
    };
    let seconds = |seconds: u64| seconds.saturating_mul(1_000_000);
    let lifetime_s = if caching.no_store {
        0
    } else {
        caching.lifetime_s
    };
    // A tag of a body with a secret in it may be a digest of that secret. And what must not be stored
    // is not revalidated.
    let may_validate = !redacted && !caching.no_store;
    let last_modified = caching.last_modified.as_deref().and_then(|text| {
        let at = httpdate::parse_http_date(text).ok()?;
        let since = at.duration_since(UNIX_EPOCH).ok()?;
        Some(Timestamp::from_micros(seconds(since.as_secs())))
    });
    EventKind::CardFetched(CardFetched {
        status,
        path: facts::place(fetch.place),
        url: facts::bare(&fetch.url).unwrap_or_else(|| peer.url.clone()),
        etag: facts::etag(caching.etag.as_deref()).filter(|_| may_validate),
        last_modified: last_modified.filter(|_| may_validate),
        fresh_until: Timestamp::from_micros(now.as_micros().saturating_add(seconds(lifetime_s))),
        card: facts_of_card,
        violations: card
            .map(|card| facts::violations(&card.odd))
            .unwrap_or_default(),
    })
}

fn failure_of(error: &FetchError) -> Why {
    match error {
        // The request was built before the intent, so this cannot have been sent.
        FetchError::Request(_) => Why::Unreachable,
        FetchError::Call { kind, .. } => facts::call_failure(*kind),
        FetchError::Redirect(_) => Why::RedirectRefused,
        FetchError::Status { error, .. } => facts::peer_failure(error).0,
        FetchError::Card(_) => Why::ProtocolViolation,
        FetchError::Nowhere { .. } => Why::HttpStatus,
    }
}

/// The error with its cause, in one line.
fn error_text(error: &FetchError, call: Option<&Call>) -> String {
    match call.map(|call| &call.reach) {
        Some(
            Reach::NotSent(cause) | Reach::NothingBack(cause) | Reach::Partial { error: cause, .. },
        ) => format!("{error}: {cause}"),
        Some(Reach::Answered(_)) | None => error.to_string(),
    }
}

/// Whether a card that is known may be used although it could not be revalidated: the agent did not
/// say that it has none.
fn is_passing(error: &CommandError) -> bool {
    let CommandError::Failed(Failure::Card { error, .. }) = error else {
        return false;
    };
    match error {
        FetchError::Call { kind, .. } => *kind != CallErrorKind::TotalTimeout,
        FetchError::Status { error, .. } => error.status == 429 || error.status >= 500,
        FetchError::Request(_)
        | FetchError::Redirect(_)
        | FetchError::Card(_)
        | FetchError::Nowhere { .. } => false,
    }
}
