//! What is known of each agent, and whether anybody listens where it is spoken to.
//!
//! What is known is what was recorded last. Beside it one connection is opened to each interface and
//! closed again, with nothing sent: no agent is asked anything, and nothing has to be recorded.

use super::super::Setting;
use super::Check;
use crate::open::Session;
use missive_commands::effect::knock::{Silence, knock};
use missive_commands::peer::{Peer, resolve};
use missive_commands::{Target, card_defects};
use missive_log::Log as _;
use missive_log::event::facts::{Binding, CardPath, SignatureOutcome};
use missive_log::event::{Alias, Event, EventKind, Seq};
use missive_projections::{Card, Filter, KindPattern, Views, ViewsError};
use serde_json::json;
use std::time::Duration;
use url::Url;

/// How long one address may take.
const EACH: Duration = Duration::from_secs(3);
/// How long all of them may take, unless `--timeout` says so.
const ALL: Duration = Duration::from_secs(15);
/// How many interfaces of one agent are looked at.
const INTERFACES_MAX: usize = 8;

/// Two checks of each agent: its card, and its endpoint.
pub(super) async fn checks(
    setting: &Setting<'_>,
    session: &Session,
    views: &Views,
) -> Result<Vec<Check>, ViewsError> {
    let mut known: Vec<Alias> = views
        .agents()?
        .into_iter()
        .map(|agent| agent.alias)
        .collect();
    let configured = setting.config.agents.keys();
    known.extend(configured.filter_map(|name| Alias::new(name).ok()));
    known.sort();
    known.dedup();
    let (mut cards, mut doors) = (Vec::new(), Vec::new());
    for alias in &known {
        let card = views.card(alias)?.unwrap_or_default();
        let target = Target::Alias(alias.clone());
        let took = took(session, views, alias, &card).await?;
        doors.push(match resolve(views, &setting.config, &target) {
            Ok(peer) => interfaces(session, &peer, &card).await,
            // Configured with an address that nothing can be sent to.
            Err(_) => Vec::new(),
        });
        let defects = defects(session, &card).await;
        cards.push(of_card(
            alias.as_str(),
            &card,
            &defects,
            &took,
            session.ids().now(),
        ));
    }
    let all = setting.globals.timeout.unwrap_or(ALL);
    let urls = doors.concat();
    let mut heard = knock(&urls, EACH.min(all), all).await.into_iter();
    let mut checks = Vec::with_capacity(2 * known.len());
    for ((alias, card), urls) in known.iter().zip(cards).zip(doors) {
        checks.push(card);
        let heard: Vec<_> = urls.into_iter().zip(heard.by_ref()).collect();
        checks.push(of_endpoint(alias.as_str(), &heard));
    }
    Ok(checks)
}

/// Where messages to an agent may go, without queries, which may hold secrets: what the user registered, else
/// what its card says, else its address.
async fn interfaces(session: &Session, peer: &Peer, card: &Card) -> Vec<Url> {
    let mut urls: Vec<Url> = Vec::new();
    let spoken = |binding: Binding| binding != Binding::Grpc;
    if peer.interfaces.is_empty() {
        let body = card
            .body
            .as_ref()
            .filter(|body| body.base.as_ref() == Some(&peer.url));
        let fetched: Vec<_> = body.iter().map(|body| body.source.seq).collect();
        // A card that cannot be read is the business of the log's own checks.
        for record in session.log().pick(&fetched).await.unwrap_or_default() {
            if let Ok(event) = record.decode()
                && let EventKind::CardFetched(facts) = event.kind
            {
                let entries = facts.card.map(|card| card.interfaces).unwrap_or_default();
                let entries = entries.iter().filter(|entry| spoken(entry.binding));
                urls.extend(entries.filter_map(|entry| Url::parse(entry.url.as_str()).ok()));
            }
        }
    } else {
        urls.extend(peer.interfaces.iter().map(|(_, url)| url.clone()));
    }
    if urls.is_empty() {
        urls.push(peer.base.clone());
    }
    // One connection a place, whatever the paths are.
    let mut places = Vec::new();
    urls.retain(|url| {
        let place = (
            url.host_str().map(str::to_owned),
            url.port_or_known_default(),
        );
        let is_new = !places.contains(&place);
        places.push(place);
        is_new
    });
    urls.truncate(INTERFACES_MAX);
    for url in &mut urls {
        url.set_query(None);
        url.set_fragment(None);
    }
    urls
}

fn of_endpoint(alias: &str, heard: &[(Url, Result<(), Silence>)]) -> Check {
    let id = format!("endpoint {alias}");
    let shown = |url: &Url| url.as_str().trim_end_matches('/').to_owned();
    let mut silent = heard
        .iter()
        .filter_map(|(url, heard)| Some((url, heard.as_ref().err()?)));
    let data = json!({"reachable": heard.iter().map(|(url, heard)| {
        json!({"url": url.as_str(), "connects": heard.is_ok()})
    }).collect::<Vec<_>>()});
    let check = if let Some((url, why)) = silent.next() {
        let summary = format!("{} cannot be reached: {why}", shown(url));
        Check::warned(
            id,
            summary,
            format!("missive agent inspect {alias} --refresh"),
        )
    } else if heard.is_empty() {
        let summary = "its address in the configuration cannot be used";
        Check::warned(id, summary, format!("missive agent show {alias}"))
    } else {
        let urls: Vec<String> = heard.iter().map(|(url, _)| shown(url)).collect();
        Check::passed(id, format!("{} takes connections", urls.join(", ")))
    };
    check.with(data)
}

/// Where the card that is stored is broken, in words.
async fn defects(session: &Session, card: &Card) -> Vec<String> {
    let Some(body) = &card.body else {
        return Vec::new();
    };
    card_defects(session.log().as_ref(), body)
        .await
        .unwrap_or_else(|error| vec![format!("it cannot be read any more: {error}")])
}

/// How long the newest answers of an agent took, as the log has it.
#[derive(Default)]
struct Took {
    /// From the request of its card to the card, in milliseconds.
    card: Option<u64>,
    /// From the newest streamed message to the first update, in milliseconds.
    first_update: Option<u64>,
}

async fn took(
    session: &Session,
    views: &Views,
    alias: &Alias,
    card: &Card,
) -> Result<Took, ViewsError> {
    let newest = Filter {
        agent: Some(alias.clone()),
        kinds: vec![KindPattern::new("a2a.stream.requested")],
        reverse: true,
        limit: Some(1),
        ..Filter::default()
    };
    let begun = views.select(&newest)?.first().copied();
    let mut took = Took::default();
    if let Some(body) = &card.body {
        let answer = event_at(session, body.validated).await;
        let asked = answer.as_ref().and_then(|answer| answer.cause);
        took.card = between(session, asked, answer).await;
    }
    let Some(asked) = begun else {
        return Ok(took);
    };
    let updates = [
        "a2a.stream.task",
        "a2a.stream.message",
        "a2a.stream.status_update",
        "a2a.stream.artifact_update",
    ];
    let Some(operation) = event_at(session, asked)
        .await
        .and_then(|event| event.operation)
    else {
        return Ok(took);
    };
    let first = Filter {
        operation: Some(operation),
        kinds: updates.map(KindPattern::new).into(),
        after: asked,
        limit: Some(1),
        ..Filter::default()
    };
    if let Some(first) = views.select(&first)?.first() {
        let update = event_at(session, *first).await;
        took.first_update = between(session, Some(asked), update).await;
    }
    Ok(took)
}

async fn event_at(session: &Session, seq: Seq) -> Option<Event> {
    let records = session.log().pick(&[seq]).await.ok()?;
    records.first()?.decode().ok()
}

/// The milliseconds between two events.
async fn between(session: &Session, from: Option<Seq>, to: Option<Event>) -> Option<u64> {
    let from = event_at(session, from?).await?;
    let micros = to?.at.as_micros().saturating_sub(from.at.as_micros());
    Some(micros / 1_000)
}

fn of_card(
    alias: &str,
    card: &Card,
    defects: &[String],
    took: &Took,
    now: missive_log::Timestamp,
) -> Check {
    let id = format!("agent {alias}");
    if let Some(failure) = &card.failure {
        let status = failure
            .status
            .map(|status| format!(" (HTTP {status})"))
            .unwrap_or_default();
        let summary = format!(
            "its card could not be fetched: {}{status}",
            failure.failure.as_str()
        );
        return Check::warned(id, summary, format!("missive agent refresh {alias}"));
    }
    let Some(body) = &card.body else {
        return Check::passed(id, "its card is fetched on first use");
    };
    let micros = now
        .as_micros()
        .saturating_sub(body.validated_at.as_micros());
    let age = age(micros / 1_000_000);
    let fresh = if body.fresh_until >= now {
        "fresh"
    } else {
        "asked for again on next use"
    };
    let mut summary = format!("its card is {age} old, {fresh}");
    if let Some(milliseconds) = took.card {
        summary = format!("{summary}, came in {milliseconds} ms");
    }
    if let Some(milliseconds) = took.first_update {
        summary = format!("{summary}; the first update of its newest stream in {milliseconds} ms");
    }
    let mut hints = Vec::new();
    if let Some((place, hint)) = elsewhere(body.path) {
        summary = format!("{summary}, found at {place}");
        hints.push(hint.to_owned());
    }
    if let Some(first) = defects.first() {
        summary = match defects.len() {
            1 => format!("{summary}, with a defect: {first}"),
            many => format!("{summary}, with {many} defects, such as {first}"),
        };
        hints.push(format!("missive agent inspect {alias}"));
    }
    if let Some(words) = signature(card) {
        summary = format!("{summary}; {words}");
        hints.push(format!("missive agent inspect {alias}"));
        hints.dedup();
    }
    let check = if hints.is_empty() {
        Check::passed(id, summary)
    } else {
        Check::warned(id, summary, hints.join("\n"))
    };
    check.with(json!({
        "fetched": body.validated_at,
        "fresh_until": body.fresh_until,
        "path": body.path.as_str(),
        "defects": defects,
        "signature": card.signature.as_ref().map(|seen| seen.outcome.as_str()),
        "card_milliseconds": took.card,
        "first_update_milliseconds": took.first_update,
    }))
}

/// What is wrong with the signatures of the newest card.
fn signature(card: &Card) -> Option<&'static str> {
    match card.signature.as_ref()?.outcome {
        SignatureOutcome::Failed => Some("its signature is wrong"),
        SignatureOutcome::Verified | SignatureOutcome::Unverifiable | SignatureOutcome::Absent => {
            None
        }
    }
}

/// Where a card was found, if not where it should be, and what that means.
fn elsewhere(path: CardPath) -> Option<(&'static str, &'static str)> {
    let root = "it may be another agent's card, since the address of this one has a path";
    match path {
        CardPath::WellKnown => None,
        CardPath::Legacy => Some((
            "the legacy path agent.json",
            "its owner should publish it at .well-known/agent-card.json, where A2A 1.0 looks for it",
        )),
        CardPath::OriginRoot => Some(("the root of the origin", root)),
        CardPath::LegacyOriginRoot => Some(("the legacy path at the root of the origin", root)),
    }
}

/// Seconds in the largest unit that says something.
fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
