//! Whose signature a card carries, and what changes when it is another one.

use missive_fixtures::{Answer, CardSigner, ScriptedPeer};
use missive_log::event::EventKind;
use missive_log::event::kind::{CardChanged, CardChecked};
use serde_json::{Value, json};

use super::{World, alias, patient, told};
use crate::config::CardTrust;
use crate::decide::agent_add::AgentAdd;
use crate::decide::agent_pin::AgentPin;
use crate::report::agent::SignatureView;
use crate::wire::signature::{Key, read_keys};

const WELL_KNOWN: &str = "/.well-known/agent-card.json";
const JWKS: &str = "/jwks.json";

fn key(signer: &CardSigner) -> Key {
    let jwk = signer.jwk().to_string();
    read_keys(jwk.as_bytes()).unwrap().remove(0)
}

fn serve(peer: &ScriptedPeer, card: &Value) {
    peer.on("GET", WELL_KNOWN, Answer::json(200, card));
}

/// A world that trusts these keys, and keys from these origins, for its agent.
async fn world(peer: &ScriptedPeer, keys: &[&CardSigner], origins: &[&str]) -> World {
    let mut world = World::new();
    let trust = CardTrust {
        keys: keys.iter().map(|signer| key(signer)).collect(),
        origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
    };
    world.config.trust.insert("py".to_owned(), trust);
    world.with_agent(&peer.url()).await
}

async fn inspected(world: &World, refresh: bool) -> SignatureView {
    let missive = world.missive();
    let done = missive
        .agent_inspect(&alias("py"), refresh, None, &mut patient())
        .await;
    done.unwrap().report.signature
}

/// `status: why`.
fn said(view: &SignatureView) -> String {
    format!(
        "{}: {}",
        view.status,
        view.decisive.why.as_deref().unwrap_or("-")
    )
}

async fn checks(world: &World) -> Vec<CardChecked> {
    let mut checks = Vec::new();
    for event in world.events().await {
        if let EventKind::CardChecked(facts) = event.kind {
            checks.push(facts);
        }
    }
    checks
}

async fn changes(world: &World) -> Vec<CardChanged> {
    let mut changes = Vec::new();
    for event in world.events().await {
        if let EventKind::CardChanged(facts) = event.kind {
            changes.push(facts);
        }
    }
    changes
}

#[tokio::test]
async fn a_card_that_a_pinned_key_signed_is_verified_and_that_is_on_record() {
    let peer = ScriptedPeer::start();
    let signer = CardSigner::new(1, "k1");
    serve(&peer, &signer.sign(&peer.card_value()));
    let world = world(&peer, &[&signer], &[]).await;

    let view = inspected(&world, false).await;

    assert_eq!(said(&view), "verified: -");
    assert_eq!(
        (
            view.decisive.key.as_deref(),
            view.decisive.source,
            view.decisive.form
        ),
        (Some("k1"), Some("pinned"), Some("strict"))
    );
    assert_eq!(
        world.kinds().await,
        ["a2a.card.requested", "a2a.card.fetched", "a2a.card.checked"]
    );
    let recorded = checks(&world).await.remove(0);
    assert_eq!(recorded.thumbprint.unwrap().0, key(&signer).thumbprint());
    // The known card is judged again, and nobody is asked.
    assert_eq!(inspected(&world, false).await, view);
    assert_eq!(peer.requests().len(), 1);
}

#[tokio::test]
async fn an_unsigned_card_of_an_agent_that_nobody_trusts_a_key_for_is_no_matter() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    let world = World::new().with_agent(&peer.url()).await;

    assert_eq!(said(&inspected(&world, false).await), "absent: -");

    assert_eq!(checks(&world).await, []);
}

#[tokio::test]
async fn a_key_that_is_pinned_later_judges_the_card_that_is_known() {
    let peer = ScriptedPeer::start();
    let signer = CardSigner::new(1, "k1");
    serve(&peer, &signer.sign(&peer.card_value()));
    let world = World::new().with_agent(&peer.url()).await;
    let before = inspected(&world, false).await;

    let command = AgentPin {
        alias: alias("py"),
        keys: vec![key(&signer)],
    };
    let pinned = world.missive().agent_pin(&command).await.unwrap();

    assert_eq!(
        said(&before),
        "unverifiable: no key is pinned for this agent"
    );
    assert_eq!(pinned.report.agent.card_keys[0].kid.as_deref(), Some("k1"));
    assert_eq!(said(&inspected(&world, false).await), "verified: -");
    assert_eq!(peer.requests().len(), 1);
}

#[tokio::test]
async fn an_agent_that_is_added_with_a_key_is_held_to_it() {
    let peer = ScriptedPeer::start();
    let evil = CardSigner::new(6, "k1");
    serve(&peer, &evil.sign(&peer.card_value()));
    let mut command = AgentAdd::new(alias("py"), &peer.url());
    command.card_keys = vec![key(&CardSigner::new(1, "k1"))];
    let world = World::new();
    let missive = world.missive();
    missive.agent_add(&command).await.unwrap();

    let done = missive
        .agent_inspect(&alias("py"), false, None, &mut patient())
        .await
        .unwrap();

    insta::assert_snapshot!(said(&done.report.signature), @"failed: it is no signature of this card by the key that it names");
    let notes: Vec<String> = missive
        .take_notes()
        .iter()
        .map(ToString::to_string)
        .collect();
    insta::assert_snapshot!(notes.join("\n"), @"the signature of the agent's card is wrong: it is no signature of this card by the key that it names");
}

#[tokio::test]
async fn keys_are_taken_from_an_allowed_address_and_nothing_of_the_user_goes_there() {
    let (peer, keys) = (ScriptedPeer::start(), ScriptedPeer::start());
    let signer = CardSigner::new(1, "k1").at(&format!("{}{JWKS}", keys.url()));
    serve(&peer, &signer.sign(&peer.card_value()));
    keys.on(
        "GET",
        JWKS,
        Answer::json(200, &json!({"keys": [signer.jwk()]})),
    );
    let world = world(&peer, &[], &[&keys.url()])
        .await
        .with_token("s3cret-token");

    let view = inspected(&world, false).await;

    assert_eq!(said(&view), "verified: -");
    assert_eq!(view.decisive.source, Some("jku"));
    let asked = keys.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].header("authorization"), None);
    // What it said is on record, so it is not asked again to show what is known.
    let again = inspected(&world, false).await;
    assert_eq!(
        (again.status, again.decisive.source),
        ("verified", Some("jku"))
    );
    assert_eq!(keys.requests().len(), 1);
}

#[tokio::test]
async fn an_address_of_keys_that_is_not_allowed_or_leads_elsewhere_is_never_followed() {
    let (peer, keys, evil) = (
        ScriptedPeer::start(),
        ScriptedPeer::start(),
        ScriptedPeer::start(),
    );
    let signer = CardSigner::new(6, "k1");
    evil.on(
        "GET",
        JWKS,
        Answer::json(200, &json!({"keys": [signer.jwk()]})),
    );
    keys.on(
        "GET",
        JWKS,
        Answer::redirect(302, &format!("{}{JWKS}", evil.url())),
    );
    let world = world(&peer, &[], &[&keys.url()]).await;
    let shown = |view: &SignatureView| {
        let said = said(view).replace(&keys.url(), "<keys>");
        said.replace(&evil.url(), "<evil>")
    };

    let at_evil = CardSigner::new(6, "k1").at(&format!("{}{JWKS}", evil.url()));
    serve(&peer, &at_evil.sign(&peer.card_value()));
    insta::assert_snapshot!(shown(&inspected(&world, true).await), @"unverifiable: keys from <evil> are not allowed for this agent");
    let at_keys = CardSigner::new(6, "k1").at(&format!("{}{JWKS}", keys.url()));
    serve(&peer, &at_keys.sign(&peer.card_value()));
    insta::assert_snapshot!(shown(&inspected(&world, true).await), @"unverifiable: no key from <keys>/jwks.json: the redirect to <evil>/jwks.json is not followed: it leads to another origin");

    assert_eq!(evil.requests().len(), 0);
    assert_eq!(keys.requests().len(), 1);
}

#[tokio::test]
async fn another_key_of_a_known_agent_is_an_event_and_a_warning() {
    let (peer, keys) = (ScriptedPeer::start(), ScriptedPeer::start());
    let jku = format!("{}{JWKS}", keys.url());
    let (old, new) = (
        CardSigner::new(1, "k1").at(&jku),
        CardSigner::new(2, "k1").at(&jku),
    );
    let world = world(&peer, &[], &[&keys.url()]).await;
    serve(&peer, &old.sign(&peer.card_value()));
    keys.on(
        "GET",
        JWKS,
        Answer::json(200, &json!({"keys": [old.jwk()]})),
    );
    inspected(&world, true).await;

    // Under the same name, at the same address.
    serve(&peer, &new.sign(&peer.card_value()));
    keys.on(
        "GET",
        JWKS,
        Answer::json(200, &json!({"keys": [new.jwk()]})),
    );
    let missive = world.missive();
    missive
        .agent_inspect(&alias("py"), true, None, &mut patient())
        .await
        .unwrap();

    let changed = changes(&world).await;
    assert_eq!(changed.len(), 1);
    assert!(changed[0].key && !changed[0].interface_host);
    let notes: Vec<String> = missive
        .take_notes()
        .iter()
        .map(ToString::to_string)
        .collect();
    insta::assert_snapshot!(notes.join("\n"), @"the agent's card is not signed by the key that signed the one before it: ask its owner before you trust it");
    inspected(&world, true).await;
    assert_eq!(
        changes(&world).await.len(),
        1,
        "the same again is no change"
    );
}

#[tokio::test]
async fn another_host_of_an_interface_is_an_event_and_a_warning() {
    let peer = ScriptedPeer::start();
    let world = World::new().with_agent(&peer.url()).await;
    peer.card(&json!({}));
    inspected(&world, true).await;
    let elsewhere = json!([{
        "url": peer.url().replace("127.0.0.1", "localhost"),
        "protocolBinding": "JSONRPC",
        "protocolVersion": "1.0",
    }]);
    peer.card(&json!({"supportedInterfaces": elsewhere}));
    let missive = world.missive();

    missive
        .agent_inspect(&alias("py"), true, None, &mut patient())
        .await
        .unwrap();

    let changed = changes(&world).await;
    assert_eq!(changed.len(), 1);
    assert!(changed[0].interface_host && !changed[0].key);
    let notes: Vec<String> = missive
        .take_notes()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(notes.contains(&"the agent's card names interfaces on hosts that the one before it did not name: localhost".to_owned()), "{notes:?}");
}

#[tokio::test]
async fn a_card_with_a_secret_in_it_is_judged_as_it_came_although_it_is_stored_otherwise() {
    let peer = ScriptedPeer::start();
    let signer = CardSigner::new(1, "k1");
    let mut card = peer.card_value();
    card["description"] = json!("send Authorization: Bearer abcdef1234567890");
    serve(&peer, &signer.sign(&card));
    let world = world(&peer, &[&signer], &[]).await;

    let first = inspected(&world, false).await;
    let again = inspected(&world, false).await;

    assert!(!world.stored().await.contains("abcdef1234567890"));
    assert_eq!([first.status, again.status], ["verified", "verified"]);
    assert_eq!(again.decisive.thumbprint, first.decisive.thumbprint);
}

#[tokio::test]
async fn keys_are_pinned_only_for_agents_of_the_log() {
    let world = World::new();
    let command = AgentPin {
        alias: alias("py"),
        keys: vec![key(&CardSigner::new(1, "k1"))],
    };

    let refused = world.missive().agent_pin(&command).await.unwrap_err();

    insta::assert_snapshot!(told(&refused), @"66 agent no agent is called py");
}
