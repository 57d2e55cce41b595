//! What is known of each agent, and whether anybody listens where it is spoken to.
//!
//! What is known is what was recorded last. Beside it one connection is opened to the interface that a
//! message would go to, and closed again, with nothing sent: no agent is asked anything, and nothing has to be recorded.

use super::super::Setting;
use super::super::acting::{self, OnLog};
use super::Check;
use crate::failure::Failure;
use crate::open::Session;
use missive_commands::effect::knock::{Silence, knock};
use missive_commands::{Pace, Target, card_defects};
use missive_log::Log as _;
use missive_log::event::facts::{CardPath, SignatureOutcome};
use missive_log::event::{Alias, Event, Seq};
use missive_projections::{Card, Filter, KindPattern, Views, ViewsError};
use serde_json::json;
use std::time::Duration;
use url::Url;

/// What ends the holding back of updates.
const UNBUFFERED: &str = "a proxy passes events on at once if it is told to (nginx: `proxy_buffering off`), or if the agent \
                          answers with `X-Accel-Buffering: no`";
/// How long one address may take.
const EACH: Duration = Duration::from_secs(3);
/// How long all of them may take, unless `--timeout` says so.
const ALL: Duration = Duration::from_secs(15);

/// Two checks of each agent: its card, and its endpoint.
pub(super) async fn checks(
    setting: &Setting<'_>,
    session: &Session,
    views: &Views,
) -> Result<Vec<Check>, Failure> {
    let broken = |error| session.views_failure(&error);
    let mut known: Vec<Alias> = views
        .agents()
        .map_err(broken)?
        .into_iter()
        .map(|agent| agent.alias)
        .collect();
    let configured = setting.config.agents.keys();
    known.extend(configured.filter_map(|name| Alias::new(name).ok()));
    known.sort();
    known.dedup();
    let missive = acting::for_records(setting, session)?;
    let (mut cards, mut doors) = (Vec::new(), Vec::new());
    for alias in &known {
        let card = views.card(alias).map_err(broken)?.unwrap_or_default();
        let took = took(&missive, session, views, alias, &card)
            .await
            .map_err(broken)?;
        doors.push(destination(&missive, alias).await);
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
    let urls: Vec<Url> = doors.iter().flatten().cloned().collect();
    let mut heard = knock(&urls, EACH.min(all), all).await.into_iter();
    let mut checks = Vec::with_capacity(2 * known.len());
    for ((alias, card), door) in known.iter().zip(cards).zip(doors) {
        checks.push(card);
        checks.push(match door {
            Ok(url) => {
                let heard = heard.next().unwrap_or(Err(Silence::NotTried));
                of_endpoint(alias.as_str(), &url, &heard)
            }
            Err(why) => Check::warned(
                format!("endpoint {alias}"),
                format!("no message can go there: {why}"),
                format!("missive agent inspect {alias}"),
            )
            .with(json!({"reachable": []})),
        });
    }
    Ok(checks)
}

/// Where a message to an agent would go, without a query, which may hold a secret; in words why nowhere.
async fn destination(missive: &OnLog, alias: &Alias) -> Result<Url, String> {
    let target = Target::Alias(alias.clone());
    let found = missive.destination(&target).await;
    let mut url = found.map_err(|error| error.to_string())?;
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

fn of_endpoint(alias: &str, url: &Url, heard: &Result<(), Silence>) -> Check {
    let id = format!("endpoint {alias}");
    let shown = url.as_str().trim_end_matches('/');
    let data = json!({"reachable": [{"url": url.as_str(), "connects": heard.is_ok()}]});
    let check = match heard {
        Ok(()) => Check::passed(id, format!("{shown} takes connections")),
        Err(why) => Check::warned(
            id,
            format!("{shown} cannot be reached: {why}"),
            format!("missive agent inspect {alias} --refresh"),
        ),
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
    /// Why the updates of that stream seem to be held back.
    pace: Option<Pace>,
}

async fn took(
    missive: &OnLog,
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
    // What cannot be read raises no suspicion.
    took.pace = missive.pace(&operation).await.unwrap_or_default();
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
    let age = age(now
        .as_micros()
        .saturating_sub(body.validated_at.as_micros())
        / 1_000_000);
    let fresh = if body.path.is_none() {
        "given by hand"
    } else if body.fresh_until >= now {
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
    if let Some(pace) = &took.pace {
        summary = format!("{summary}; {pace}");
        // An agent that thinks before it speaks is not to be warned of.
        let is_sure = matches!(pace, Pace::HeldBack { .. });
        hints.extend(is_sure.then(|| UNBUFFERED.to_owned()));
    }
    if let Some((place, hint)) = body.path.and_then(elsewhere) {
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
        "path": body.origin(),
        "defects": defects,
        "signature": card.signature.as_ref().map(|seen| seen.outcome.as_str()),
        "card_milliseconds": took.card,
        "first_update_milliseconds": took.first_update,
        "held_back": took.pace.as_ref().map(Pace::to_string),
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
