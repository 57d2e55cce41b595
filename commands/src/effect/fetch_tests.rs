//! Cards from scripted peers, as the field reports tell of them.

use missive_fixtures::{Answer as Scripted, EchoAgent, ScriptedPeer, Setup, refused_url, wire};

use super::super::http::Settings;
use super::*;

const WELL_KNOWN: &str = "/.well-known/agent-card.json";
const LEGACY: &str = "/.well-known/agent.json";

async fn fetch(base: &str, known: Option<&Known>, extras: &Extras) -> Fetch {
    let caller = HttpCaller::new(Settings::default());
    fetch_card(&caller, &Url::parse(base).unwrap(), known, extras, None).await
}

async fn plainly(base: &str) -> Fetch {
    fetch(base, None, &Extras::default()).await
}

fn card(name: &str) -> Scripted {
    Scripted::bytes(200, "application/json", wire(name))
}

#[tokio::test]
async fn a_card_is_fetched_once_and_then_revalidated() {
    let agent = EchoAgent::with(Setup {
        cache_control: Some("max-age=2".to_owned()),
        ..Setup::default()
    });

    let first = plainly(&agent.url()).await;
    let Ok(Fetched::New { card, caching }) = first.outcome else {
        panic!("{:?}", first.outcome)
    };
    let known = Known {
        asked: Asked::WhereItWas,
        url: first.url,
        caching,
    };
    let second = fetch(&agent.url(), Some(&known), &Extras::default()).await;
    agent.change_card(&serde_json::json!({ "name": "moved" }));
    let third = fetch(&agent.url(), Some(&known), &Extras::default()).await;

    assert_eq!((card.name.as_str(), known.caching.lifetime_s), ("echo", 2));
    assert!(matches!(second.outcome, Ok(Fetched::NotModified(caching)) if caching.lifetime_s == 2));
    let Ok(Fetched::New { card, .. }) = third.outcome else {
        panic!("{:?}", third.outcome)
    };
    assert_eq!(card.name, "moved");
    let asked = agent.peer().requests();
    let tags: Vec<_> = asked
        .iter()
        .map(|seen| seen.header("if-none-match"))
        .collect();
    assert_eq!(tags, [None, Some("\"v1\""), Some("\"v1\"")]);
}

#[tokio::test]
async fn the_place_that_answered_is_reported_and_remembered() {
    let peer = ScriptedPeer::start();
    peer.on("GET", LEGACY, card("cards/c001_legacy_path_v10.json"));

    let first = plainly(&peer.url()).await;
    let known = Known {
        asked: Asked::WhereItWas,
        url: first.url.clone(),
        caching: Caching::default(),
    };
    let second = fetch(&peer.url(), Some(&known), &Extras::default()).await;

    assert!(first.outcome.is_ok());
    assert_eq!(
        first.note.as_deref(),
        Some("card found at the legacy path agent.json")
    );
    assert_eq!((first.asked.len(), second.asked.len()), (2, 1));
    assert_eq!(second.place, Place::Legacy);
}

#[tokio::test]
async fn a_card_at_the_root_never_silently_replaces_the_one_under_the_path() {
    let peer = ScriptedPeer::start();
    peer.on("GET", WELL_KNOWN, card("cards/c003_at_origin_root.json"));
    let base = format!("{}/it_agent", peer.url());

    let at_root = plainly(&base).await;
    peer.on(
        "GET",
        &format!("/it_agent{WELL_KNOWN}"),
        card("cards/c003_under_base_path.json"),
    );
    let below = plainly(&base).await;

    assert_eq!(
        at_root.note.as_deref(),
        Some("card found at origin root, not under /it_agent")
    );
    assert_eq!((below.note, below.asked.len()), (None, 1));
}

/// The answer, the message with `{}` for the address, the exit code.
fn faults() -> Vec<(Scripted, &'static str, u8)> {
    vec![
        (
            Scripted::html(),
            "not an Agent Card: HTML received from {}",
            76,
        ),
        (
            Scripted::html_labelled_json(),
            "not an Agent Card: HTML received from {}",
            76,
        ),
        (
            card("cards/c008_v03_shape.json"),
            "the agent at {} offers only A2A 0.3.0, and missive speaks 1.0",
            76,
        ),
        (
            Scripted::unauthorized("Bearer realm=\"x\""),
            "no card from {}: the agent answered unauthenticated (HTTP 401): unauthorized",
            77,
        ),
        (
            Scripted::forbidden(),
            "no card from {}: the agent answered forbidden (HTTP 403): forbidden",
            77,
        ),
        (
            Scripted::unavailable(),
            "no card from {}: the agent answered HTTP 503 with a web page",
            69,
        ),
        (
            Scripted::redirect(302, "http://169.254.169.254/latest/"),
            "the redirect to http://169.254.169.254/latest/ is not followed: it leads to another origin",
            69,
        ),
        (
            card("cards/bearer.json").cut_after(20),
            "the card of {} cannot be fetched",
            69,
        ),
        (
            Scripted::gzip(),
            "what {} sent as its Agent Card is compressed, which was not asked for",
            76,
        ),
        (
            Scripted::huge(10 << 20),
            "the card of {} cannot be fetched",
            69,
        ),
        (
            Scripted::status(304),
            "no card from {}: the agent answered HTTP 304",
            69,
        ),
    ]
}

#[tokio::test]
async fn a_fault_at_the_right_place_is_not_hidden_by_another_place() {
    let legacy = || card("cards/c001_legacy_path_v10.json");
    for (answer, message, exit) in faults() {
        let peer = ScriptedPeer::start();
        peer.on("GET", WELL_KNOWN, answer)
            .on("GET", LEGACY, legacy());

        let fetch = plainly(&peer.url()).await;

        let error = fetch.outcome.unwrap_err();
        let url = format!("{}{WELL_KNOWN}", peer.url());
        assert_eq!(
            (error.to_string(), error.exit().number()),
            (message.replace("{}", &url), exit)
        );
        assert!(peer.requests_to("GET", LEGACY).is_empty());
    }
}

#[tokio::test]
async fn nobody_home_and_no_card_are_different_errors() {
    let empty = ScriptedPeer::start();
    let refused = refused_url();

    let nowhere = plainly(&empty.url()).await;
    let gone = plainly(&refused).await;

    assert_eq!(
        nowhere.outcome.unwrap_err().to_string(),
        format!("no Agent Card under {}/", empty.url())
    );
    assert_eq!(nowhere.asked.len(), 2);
    assert_eq!(
        gone.outcome.unwrap_err(),
        FetchError::Call {
            url: format!("{refused}{WELL_KNOWN}"),
            kind: CallErrorKind::ConnectRefused
        }
    );
}
