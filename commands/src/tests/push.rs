//! Push configurations: asked for, confirmed, taken away; and what becomes of their secrets.

use missive_fixtures::{Answer, ScriptedPeer};
use missive_log::event::facts::Method;
use missive_log::event::{EventKind, PushConfigId, TaskId};
use serde_json::{Value, json};

use super::{World, patient, py, told};
use crate::secret::Secret;
use crate::wire::json::{JsonText, Limits};
use crate::wire::push::{NewPushConfig, PushAuthentication};

const CONFIGS: &str = "/rest/tasks/t-1/pushNotificationConfigs";

fn peer() -> ScriptedPeer {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"pushNotifications": true}}));
    peer
}

fn task() -> TaskId {
    TaskId::new("t-1").unwrap()
}

fn id(text: &str) -> PushConfigId {
    PushConfigId::new(text).unwrap()
}

fn wanted() -> NewPushConfig {
    NewPushConfig {
        task_id: "t-1".to_owned(),
        config_id: None,
        url: "https://me.example/a2a/push".parse().unwrap(),
        token: Some(Secret::new("tok-7f3a".to_owned())),
        authentication: Some(PushAuthentication {
            scheme: "Bearer".to_owned(),
            credentials: Some(Secret::new("cred-91".to_owned())),
        }),
        metadata: None,
    }
}

/// What an agent that hides nothing answers.
fn config() -> Value {
    json!({
        "id": "c-1", "taskId": "t-1", "url": "https://me.example/a2a/push", "token": "tok-7f3a",
        "authentication": {"scheme": "Bearer", "credentials": "cred-91"},
    })
}

#[tokio::test]
async fn a_confirmed_configuration_is_a_fact_and_its_secrets_are_sent_and_stored_nowhere() {
    let peer = peer();
    peer.on("POST", CONFIGS, Answer::json(201, &config()));
    let world = World::new().with_agent(&peer.url()).await;
    let mut wanted = wanted();
    let metadata = JsonText::parse("{\"team\":\"ops\"}", &Limits::default());
    wanted.metadata = Some(metadata.unwrap());
    let missive = world.missive_with(|parts| {
        parts.further_secrets = vec![
            Secret::new("tok-7f3a".to_owned()),
            Secret::new("cred-91".to_owned()),
        ];
    });

    let done = missive
        .push_create(&py(), &wanted, &mut patient())
        .await
        .unwrap();

    let config = &done.report.config;
    assert_eq!(config.config_id.as_deref(), Some("c-1"));
    assert!(config.token && config.authentication.as_ref().unwrap().credentials);
    let sent = peer.requests().last().unwrap().text();
    assert!(sent.contains("tok-7f3a") && sent.contains("cred-91") && !sent.contains("ops"));
    let kinds = world.kinds().await;
    assert_eq!(
        &kinds[kinds.len() - 3..],
        [
            "a2a.call.requested",
            "a2a.call.responded",
            "a2a.push.configured"
        ]
    );
    let events = world.events().await;
    let EventKind::PushConfigured(facts) = &events.last().unwrap().kind else {
        panic!("{events:?}")
    };
    assert!(facts.token && facts.authentication && facts.config == id("c-1"));
    let everywhere = format!(
        "{}{}",
        world.stored().await,
        serde_json::to_string(&done.report).unwrap()
    );
    assert!(!everywhere.contains("tok-7f3a") && !everywhere.contains("cred-91"));
    assert!(everywhere.contains("ops"));
}

#[tokio::test]
async fn a_deleted_configuration_is_gone_from_the_views_whatever_the_answer_looks_like() {
    for answer in [
        Answer::json(200, &json!({})),
        Answer::status(204),
        Answer::status(200),
    ] {
        let peer = peer();
        peer.on("POST", CONFIGS, Answer::json(200, &config()));
        peer.on("DELETE", &format!("{CONFIGS}/c-1"), answer);
        let task_answer = json!({
            "id": "t-1", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"},
        });
        peer.on_send(&Answer::a2a_value(&json!({"task": task_answer})));
        let world = World::new().with_agent(&peer.url()).await;
        let missive = world.missive();
        let hi = crate::Send::text(py(), "hi");
        missive.send(&hi, &mut patient()).await.unwrap();
        missive
            .push_create(&py(), &wanted(), &mut patient())
            .await
            .unwrap();
        let known = world.newest().task(&task(), None).unwrap().unwrap();
        assert_eq!(world.newest().push_configs(&known).unwrap().len(), 1);

        missive
            .push_delete(&py(), &task(), &id("c-1"), &mut patient())
            .await
            .unwrap();

        assert_eq!(peer.requests().last().unwrap().method, "DELETE");
        assert!(world.newest().push_configs(&known).unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_list_is_read_to_its_end_and_an_agent_that_repeats_itself_ends_it() {
    let peer = peer();
    let page = |id: &str, next: &str| {
        json!({
            "configs": [{"id": id, "taskId": "t-1", "url": "https://me.example/p"}],
            "nextPageToken": next,
        })
    };
    peer.once("GET", CONFIGS, Answer::json(200, &page("c-1", "2")));
    peer.once("GET", CONFIGS, Answer::json(200, &page("c-2", "3")));
    peer.once("GET", CONFIGS, Answer::json(200, &page("c-3", "3")));
    let world = World::new().with_agent(&peer.url()).await;

    let done = world
        .missive()
        .push_list(&py(), &task(), &mut patient())
        .await
        .unwrap();

    let ids = done
        .report
        .configs
        .iter()
        .map(|config| config.config_id.as_deref());
    assert_eq!(
        ids.collect::<Vec<_>>(),
        [Some("c-1"), Some("c-2"), Some("c-3")]
    );
}

#[tokio::test]
async fn an_agent_whose_card_says_that_it_does_not_push_is_not_asked() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    let world = World::new().with_agent(&peer.url()).await;

    let refused = world
        .missive()
        .push_list(&py(), &task(), &mut patient())
        .await
        .unwrap_err();

    let told = told(&refused).replace(&peer.url(), "[PEER]");
    insta::assert_snapshot!(told, @"76 push_not_supported py does not push notifications, says its card at [PEER]/.well-known/agent-card.json");
    assert!(
        !world
            .kinds()
            .await
            .contains(&"a2a.call.requested".to_owned())
    );
}

#[tokio::test]
async fn an_unknown_configuration_is_not_found() {
    let peer = peer();
    let error = json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "no such config",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org"}]}});
    peer.on("GET", &format!("{CONFIGS}/c-9"), Answer::json(404, &error));
    let world = World::new().with_agent(&peer.url()).await;

    let failed = world
        .missive()
        .push_get(&py(), &task(), &id("c-9"), &mut patient())
        .await
        .unwrap_err();

    assert_eq!(failed.exit(), crate::Exit::NotFound);
    let requested = world.events().await.into_iter().find_map(|event| {
        if let EventKind::CallRequested(facts) = event.kind {
            return Some((facts.method, facts.task));
        }
        None
    });
    assert_eq!(requested, Some((Method::GetPushConfig, Some(task()))));
}
