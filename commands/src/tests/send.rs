//! Sending, when the peer behaves.

use missive_fixtures::{Answer, EchoAgent, ScriptedPeer, Seen, Setup};
use missive_log::event::EventKind;
use missive_log::{Log as _, Opened};
use serde_json::json;

use super::{World, patient, py, told};
use crate::note::Note;
use crate::wire::packed::tests::packed;
use crate::wire::version::Binding;
use crate::{Exit, Send, Target};

#[tokio::test]
async fn a_message_is_an_intent_an_effect_and_an_outcome() {
    for binding in [Binding::HttpJson, Binding::JsonRpc] {
        let agent = EchoAgent::start();
        let world = World::new().with_agent(&agent.url()).await;
        let missive = world.missive();
        let mut command = Send::text(py(), "echo hi");
        command.binding = Some(binding);

        let done = missive.send(&command, &mut patient()).await.unwrap();

        assert_eq!(
            (done.exit, done.report.answer.text.as_str()),
            (Exit::Done, "hi")
        );
        assert_eq!(
            world.kinds().await,
            [
                "a2a.card.requested",
                "a2a.card.fetched",
                "a2a.send.requested",
                "a2a.send.responded"
            ]
        );
        let events = world.events().await;
        let [intent, outcome] = &events[events.len() - 2..] else {
            panic!()
        };
        assert_eq!(outcome.cause, Some(intent.seq));
        assert_eq!(done.report.sequence, outcome.seq.0);
        assert!(matches!(&intent.kind, EventKind::SendRequested(facts) if facts.attempt == 1));
        assert!(intent.payloads.iter().all(|payload| payload.redacted == 0));
        assert_eq!(agent.messages().len(), 1);
    }
}

/// The media types of the messages that an agent got over HTTP+JSON.
fn media_types(agent: &EchoAgent) -> Vec<String> {
    let seen = agent.peer().requests_to("POST", "/rest/message:send");
    let media = |seen: &Seen| seen.header("content-type").unwrap_or_default().to_owned();
    seen.iter().map(media).collect()
}

#[tokio::test]
async fn a_peer_of_1_0_0_gets_the_message_again_under_the_media_type_that_it_knows() {
    let agent = EchoAgent::start();
    let refusal = Answer::text(415, "Unsupported Media Type");
    agent.peer().once("POST", "/rest/message:send", refusal);
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();

    let message = Send::text(py(), "echo hi");
    let done = missive.send(&message, &mut patient()).await.unwrap();

    assert_eq!(done.report.answer.text, "hi");
    assert_eq!(missive.take_notes(), [Note::PlainJson]);
    assert_eq!(
        media_types(&agent),
        ["application/a2a+json", "application/json"]
    );
    let ids: Vec<_> = agent
        .messages()
        .iter()
        .map(|m| m["messageId"].clone())
        .collect();
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
    assert_eq!(
        world.kinds().await[2..],
        [
            "a2a.send.requested",
            "a2a.send.failed",
            "a2a.send.requested",
            "a2a.send.responded"
        ]
    );
}

#[tokio::test]
async fn a_peer_that_refuses_the_media_types_of_the_parts_or_both_spellings_is_told_as_it_says() {
    let info = json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "CONTENT_TYPE_NOT_SUPPORTED", "domain": "a2a-protocol.org"});
    let of_parts = Answer::json(
        415,
        &json!({"error": {"code": 415, "message": "no images", "details": [info]}}),
    );
    let cases = [
        (of_parts, 1),
        (Answer::text(415, "Unsupported Media Type"), 2),
    ];
    for (refusal, requests) in cases {
        let agent = EchoAgent::start();
        for _ in 0..requests {
            agent
                .peer()
                .once("POST", "/rest/message:send", refusal.clone());
        }
        let world = World::new().with_agent(&agent.url()).await;
        let missive = world.missive();

        let message = Send::text(py(), "echo hi");
        let sent = missive.send(&message, &mut patient()).await;
        let error = sent.unwrap_err();

        assert_eq!(error.exit(), Exit::Data, "{error}");
        assert_eq!(media_types(&agent).len(), requests);
    }
}

#[tokio::test]
async fn the_report_has_the_fields_that_scripts_rely_on() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;

    let done = world
        .missive()
        .send(&Send::text(py(), "task report"), &mut patient())
        .await
        .unwrap();

    let shown = serde_json::to_string(&done.report).unwrap();
    insta::assert_snapshot!(shown.replace(&agent.url(), "<agent>"), @r#"{"operation_id":"01a230f0-89c0-7e8c-91e8-57e7e064cd4c","agent":"py","interface":{"binding":"http+json","url":"<agent>/rest","protocol_version":"1.0","source":"card"},"request":{"message_id":"01a230f0-89c0-7e90-a7ae-0f42afb108cf","parts":[{"kind":"text","source":"message","bytes":11}]},"response":{"shape":"task"},"task_id":"task-2","context_id":"context-1","state":"completed","text":"report","artifacts":[{"artifact_id":"artifact-4","name":"task","parts":[{"kind":"text","bytes":6}],"text":"report"}],"raw":{"artifacts":[{"artifactId":"artifact-4","name":"task","parts":[{"text":"report"}]}],"contextId":"context-1","history":[{"contextId":"context-1","messageId":"01a230f0-89c0-7e90-a7ae-0f42afb108cf","parts":[{"text":"task report"}],"role":"ROLE_USER","taskId":"task-2"}],"id":"task-2","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:00:00.005Z"}},"sequence":7}"#);
}

#[tokio::test]
async fn the_state_of_the_task_decides_how_the_command_ends() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();
    let mut ends = Vec::new();

    for text in ["task x", "ask", "auth", "fail", "reject"] {
        let done = missive
            .send(&Send::text(py(), text), &mut patient())
            .await
            .unwrap();
        ends.push(format!(
            "{text}: {} {}",
            done.exit.number(),
            done.report.answer.state.unwrap_or_default()
        ));
    }

    insta::assert_snapshot!(ends.join("\n"), @r"
    task x: 0 completed
    ask: 83 input_required
    auth: 84 auth_required
    fail: 80 failed
    reject: 85 rejected
    ");
}

#[tokio::test]
async fn waiting_asks_for_the_task_until_it_ends() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let mut command = Send::text(py(), "slow 2");
    command.return_immediately = true;
    command.wait = true;

    let done = world
        .missive()
        .send(&command, &mut patient())
        .await
        .unwrap();

    assert_eq!(done.exit, Exit::Done);
    assert_eq!(done.report.answer.state, Some("completed"));
    let kinds = world.kinds().await;
    let polls = kinds
        .iter()
        .filter(|kind| *kind == "a2a.call.responded")
        .count();
    assert_eq!(
        polls,
        agent
            .peer()
            .requests()
            .iter()
            .filter(|seen| seen.path.starts_with("/rest/tasks/"))
            .count()
    );
    assert_eq!(kinds.last().map(String::as_str), Some("a2a.task.updated"));
}

#[tokio::test]
async fn a_url_serves_for_one_call_and_registers_nothing() {
    let agent = EchoAgent::start();
    let world = World::new();
    let missive = world.missive();

    let done = missive
        .send(
            &Send::text(Target::Url(agent.url()), "echo hi"),
            &mut patient(),
        )
        .await
        .unwrap();

    assert_eq!(done.report.agent, agent.url());
    assert_eq!(done.report.interface.source, "card");
    assert!(missive.agent_list().await.unwrap().report.agents.is_empty());
    assert!(
        world
            .events()
            .await
            .iter()
            .all(|event| event.links.agent.is_none())
    );
}

#[tokio::test]
async fn tenant_token_extension_and_version_go_with_every_request_and_no_secret_is_stored() {
    let agent = EchoAgent::with(Setup {
        tenant: Some("a/b".to_owned()),
        bearer: Some("hunter2-token".to_owned()),
        required_extension: Some("https://x.example/ext".to_owned()),
        ..Setup::default()
    });
    let mut world = World::new()
        .with_token("hunter2-token")
        .with_agent(&agent.url())
        .await;
    world.requests.extensions = vec!["https://x.example/ext".to_owned()];
    world.credentials.headers = vec![(
        "X-Short".to_owned(),
        crate::secret::Secret::new("abc".to_owned()),
    )];
    let mut command = Send::text(py(), "slow 1");
    command.return_immediately = true;
    command.wait = true;

    let done = world
        .missive()
        .send(&command, &mut patient())
        .await
        .unwrap();

    assert_eq!(done.report.interface.tenant.as_deref(), Some("a/b"));
    for seen in agent.peer().requests() {
        assert_eq!(seen.header("a2a-version"), Some("1.0"), "{seen:?}");
        assert_eq!(seen.header("authorization"), Some("Bearer hunter2-token"));
        assert_eq!(seen.header("x-short"), Some("abc"));
    }
    let stored = world.stored().await;
    assert!(!stored.contains("hunter2"));
    assert!(stored.contains("X-Short: [redacted:"), "{stored}");
}

#[tokio::test]
async fn service_parameters_of_the_user_replace_those_of_the_configuration_and_reach_every_request()
{
    let agent = EchoAgent::start();
    let mut world = World::new().with_agent(&agent.url()).await;
    let configured = &mut world.config.protocol.service_params;
    configured.insert("X-Region".to_owned(), "north".to_owned());
    configured.insert("X-Team".to_owned(), "ops".to_owned());
    world.requests.service_params = vec![("x-region".to_owned(), "south".to_owned())];

    world
        .missive()
        .send(&Send::text(py(), "echo hi"), &mut patient())
        .await
        .unwrap();

    let seen = agent.peer().requests();
    assert_eq!(seen.len(), 2);
    for request in seen {
        assert_eq!(request.header_values("x-region"), ["south"]);
        assert_eq!(request.header_values("x-team"), ["ops"]);
    }
}

#[tokio::test]
async fn a_secret_that_comes_back_compressed_is_neither_shown_nor_stored() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    let error = json!({"error": {"code": 400, "message": "what is hunter2-token?"}});
    let body = packed(error.to_string().as_bytes());
    let said = Answer::bytes(400, "application/json", body.clone());
    peer.on_send(&said.header("content-encoding", "gzip"));
    let harmless = packed(br#"{"error":{"code":400,"message":"boom"}}"#);
    let world = World::new().with_token("hunter2-token");
    let world = world.with_agent(&peer.url()).await;
    let missive = world.missive();
    let hi = Send::text(py(), "hi");

    let first = missive.send(&hi, &mut patient()).await.unwrap_err();
    peer.on_send(&Answer::bytes(400, "application/json", harmless.clone()));
    let second = missive.send(&hi, &mut patient()).await.unwrap_err();

    insta::assert_snapshot!(format!("{}\n{}", told(&first), told(&second)), @r"
    69 http_status the agent answered HTTP 400: what is [redacted:1]?
    69 http_status the agent answered HTTP 400: boom
    ");
    let mut kept = Vec::new();
    for event in world.events().await {
        if event.kind.name() == "a2a.send.failed" {
            let opened = world.log.payload(event.payloads[0]).await.unwrap();
            let Opened::Present(row) = opened else {
                panic!("{opened:?}")
            };
            kept.push((event.payloads[0].redacted, row.bytes));
        }
    }
    assert_eq!(kept[0].0, 1);
    assert!(String::from_utf8_lossy(&kept[0].1).contains("what is [redacted"));
    // Without a secret in it the payload is what crossed the wire.
    assert_eq!(kept[1], (0, harmless));
    assert!(!world.stored().await.contains("hunter2"));
}
