//! What others ran into in the field, each as small as it was reported. `docs/field-reports.md` lists all.

use std::time::Duration;

use missive_fixtures::{Answer, ScriptedPeer, refused_url};
use missive_log::Role;
use serde_json::{Value, json};

use super::{World, alias, patient, py, told};
use crate::note::Note;
use crate::wire::version::Binding;
use crate::{CommandError, Exit, Failure, Send};

fn x() -> Send {
    Send::text(py(), "x")
}

/// A task in this state, whatever that is.
fn task_in(state: &str) -> Value {
    json!({"id": "t", "contextId": "c", "status": {"state": state}})
}

/// The payload of the newest event in this role, exactly as it is stored.
async fn newest_payload(world: &World, role: Role) -> String {
    let events = world.events().await;
    let seq = events.last().unwrap().seq;
    let missive = world.missive();
    let stored = missive.stored_bytes(seq, role).await.unwrap().unwrap();
    String::from_utf8(stored.bytes).unwrap()
}

#[tokio::test]
async fn an_interface_on_another_host_than_the_card_is_told() {
    let peer = ScriptedPeer::start();
    let elsewhere = refused_url().replace("127.0.0.1", "127.0.0.2");
    peer.card(&json!({"supportedInterfaces": [
        {"url": elsewhere, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    ]}));
    let world = World::new().with_agent(&peer.url()).await;
    let missive = world.missive();

    missive.send(&x(), &mut patient()).await.unwrap_err();

    let notes = missive.take_notes();
    assert!(
        matches!(&notes[..], [Note::ForeignHost { url }] if url.starts_with(&elsewhere)),
        "{notes:?}"
    );
}

#[tokio::test]
async fn a_card_behind_a_login_is_told_with_its_challenge() {
    let peer = ScriptedPeer::start();
    let challenge = "Bearer realm=\"cards\", scope=\"a2a\"";
    peer.on(
        "GET",
        "/.well-known/agent-card.json",
        Answer::unauthorized(challenge),
    );
    let world = World::new().with_agent(&peer.url()).await;

    let error = world
        .missive()
        .agent_refresh(&alias("py"), &mut patient())
        .await
        .unwrap_err();

    assert_eq!(error.exit(), Exit::Auth);
    let CommandError::Failed(Failure::Card {
        error: crate::effect::fetch::FetchError::Status { error, .. },
        ..
    }) = error
    else {
        panic!("{error}")
    };
    assert_eq!(error.challenges, [challenge]);
}

#[tokio::test]
async fn a_state_in_an_old_spelling_is_never_taken_for_the_one_of_today() {
    for name in [
        "completed",
        "failed",
        "input-required",
        "TASK_STATE_CANCELLED",
    ] {
        let peer = ScriptedPeer::start();
        peer.card(&json!({}));
        peer.on_send(&Answer::a2a_value(&json!({"task": task_in(name)})));
        let world = World::new().with_agent(&peer.url()).await;

        let sent = world.missive().send(&x(), &mut patient()).await.unwrap();

        let answer = &sent.report.answer;
        assert_eq!(answer.state, Some("unrecognized"));
        assert_eq!(answer.unrecognized_state.as_deref(), Some(name));
        assert_eq!(sent.exit, Exit::Done);
    }
}

#[tokio::test]
async fn a_wait_for_a_state_that_nobody_knows_ends_when_nothing_changes() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    peer.on_send(&Answer::a2a_value(
        &json!({"task": task_in("TASK_STATE_PAUSED")}),
    ));
    peer.on(
        "GET",
        "/rest/tasks/*",
        Answer::json(200, &task_in("TASK_STATE_PAUSED")),
    );
    let mut world = World::new().with_agent(&peer.url()).await;
    world.config.qos.idle_timeout = Duration::from_millis(1_500);
    let mut command = x();
    command.wait = true;
    command.binding = Some(Binding::HttpJson);

    let sent = world
        .missive()
        .send(&command, &mut patient())
        .await
        .unwrap();

    assert_eq!(sent.exit, Exit::Timeout);
    assert_eq!(sent.report.answer.state, Some("unrecognized"));
    assert!(peer.requests().len() > 2);
}

#[tokio::test]
async fn a_wait_goes_on_when_an_unknown_state_becomes_a_known_one() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    peer.on_send(&Answer::a2a_value(
        &json!({"task": task_in("TASK_STATE_PAUSED")}),
    ));
    let look = |state: &str| Answer::json(200, &task_in(state));
    peer.once("GET", "/rest/tasks/*", look("TASK_STATE_PAUSED"));
    peer.on("GET", "/rest/tasks/*", look("TASK_STATE_FAILED"));
    let world = World::new().with_agent(&peer.url()).await;
    let mut command = x();
    command.wait = true;
    command.binding = Some(Binding::HttpJson);

    let sent = world
        .missive()
        .send(&command, &mut patient())
        .await
        .unwrap();

    assert_eq!(sent.exit, Exit::TaskFailed);
    assert_eq!(sent.report.answer.state, Some("failed"));
    assert_eq!(sent.report.answer.unrecognized_state, None);
}

#[tokio::test]
async fn a_card_that_came_again_without_validators_is_not_a_new_one() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    let world = World::new().with_agent(&peer.url()).await;
    let missive = world.missive();
    let mut changed = Vec::new();

    for name in ["scripted", "scripted", "another"] {
        peer.card(&json!({"name": name}));
        let refreshed = missive.agent_refresh(&alias("py"), &mut patient()).await;
        changed.push(refreshed.unwrap().report.changed);
    }

    assert_eq!(changed, [Some(true), Some(false), Some(true)]);
}

#[tokio::test]
async fn an_answer_to_another_question_stays_in_the_log_as_it_came() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    let reply = r#"{"jsonrpc": "2.0",  "id": 6, "result": {"task":{"id":"t"}}}"#;
    peer.on_send(&Answer::bytes(200, "application/json", reply));
    let world = World::new().with_agent(&peer.url()).await;
    let mut command = x();
    command.binding = Some(Binding::JsonRpc);

    let error = world
        .missive()
        .send(&command, &mut patient())
        .await
        .unwrap_err();

    assert_eq!(error.exit(), Exit::Protocol);
    assert_eq!(
        world.kinds().await.last().map(String::as_str),
        Some("a2a.send.failed")
    );
    assert_eq!(newest_payload(&world, Role::Response).await, reply);
}

#[tokio::test]
async fn a_message_that_is_too_large_for_the_agent_is_told_with_its_size() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    peer.on_send(&Answer::text(413, "too large"));
    let world = World::new().with_agent(&peer.url()).await;

    let error = world
        .missive()
        .send(&x(), &mut patient())
        .await
        .unwrap_err();

    insta::assert_snapshot!(told(&error), @"69 too_large_for_agent the message of 106 bytes is too large for the agent: the agent answered HTTP 413: too large");
}

#[tokio::test]
async fn odd_json_is_stored_to_the_byte() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    let odd = r#"{ "z":1.0,"a":1e3 ,"m":-0,"big":9223372036854775808,"e":"\u00e9","f":"é","lone":"\ud800","k":1,"k":2 }"#;
    let reply = format!(
        r#"{{"message":{{"messageId":"m","role":"ROLE_AGENT","parts":[{{"text":"hi"}}],"metadata":{odd}}}}}"#
    );
    peer.on_send(&Answer::bytes(200, "application/json", reply.clone()));
    let world = World::new().with_agent(&peer.url()).await;
    let mut command = x();
    command.binding = Some(Binding::HttpJson);

    world.missive().send(&command, &mut patient()).await.ok();

    assert_eq!(newest_payload(&world, Role::Response).await, reply);
}
