//! Deliveries: what is taken, what they are linked to, what they change, and what is refused.

use std::sync::Arc;

use missive_fixtures::{Answer, ScriptedPeer};
use missive_log::backend::memory::MemoryLog;
use missive_log::event::facts::{PushRefusal, TaskState, Violation, WebhookEnd};
use missive_log::event::{EventKind, TaskId};
use missive_log::{Event, Origin};
use serde_json::{Value, json};

use super::{World, patient, py};
use crate::receive::{Key, NotTaken, Receive, Reception};
use crate::report::push::DeliveryReport;
use crate::secret::Secret;
use crate::wire::headers::Headers;
use crate::{OnTask, Send};

/// A world in which the agent `py` has a task `t-1` that works.
async fn world() -> World {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    peer.on_send(&Answer::a2a_value(&json!({"task": {
        "id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"},
    }})));
    let world = World::new().with_agent(&peer.url()).await;
    let hi = Send::text(py(), "hi");
    world.missive().send(&hi, &mut patient()).await.unwrap();
    world
}

fn how() -> Receive {
    Receive {
        notification_token: None,
        address: "http://127.0.0.1:7347/a2a/push".to_owned(),
        key: Some(Key {
            token: Secret::new("tok-7f3a".to_owned()),
            header: "Authorization".to_owned(),
            scheme: Some("Bearer".to_owned()),
        }),
        body_bytes_max: 1 << 20,
        accepted_max: None,
        raw: true,
    }
}

async fn reception(world: &World) -> Reception<MemoryLog> {
    // Whoever listens tells the redactor of the token.
    let missive = world.missive_with(|parts| {
        parts.further_secrets = vec![Secret::new("tok-7f3a".to_owned())];
    });
    Reception::start(Arc::new(missive), how()).await.unwrap()
}

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn headers() -> Headers {
    [
        ("content-type", "application/a2a+json"),
        ("authorization", "Bearer tok-7f3a"),
        ("user-agent", "agent/1"),
        ("traceparent", TRACE),
    ]
    .into_iter()
    .collect()
}

fn status(task: &str, state: &str, at: &str) -> Value {
    json!({"statusUpdate": {"taskId": task, "contextId": "c-1",
        "status": {"state": state, "timestamp": at}}})
}

async fn deliver(reception: &Reception<MemoryLog>, body: &Value) -> DeliveryReport {
    reception.admit(&headers(), None).unwrap();
    let body = body.to_string();
    reception.take(&headers(), body.as_bytes()).await.unwrap()
}

async fn last(world: &World) -> Event {
    world.events().await.pop().unwrap()
}

fn state(world: &World) -> TaskState {
    let task = TaskId::new("t-1").unwrap();
    world.newest().task(&task, None).unwrap().unwrap().state
}

#[tokio::test]
async fn a_delivery_of_a_known_task_is_linked_and_changes_it() {
    let world = world().await;
    let reception = reception(&world).await;

    let update = status("t-1", "TASK_STATE_COMPLETED", "2026-12-01T10:00:00Z");
    let report = deliver(&reception, &update).await;

    assert!(report.linked && !report.duplicate);
    assert_eq!(report.agent.as_deref(), Some("py"));
    assert_eq!(report.state, Some("completed"));
    let event = last(&world).await;
    assert_eq!(event.seq.0, report.sequence);
    assert_eq!(event.kind.name(), "a2a.push.status_update");
    assert_eq!((event.origin, event.actor), (Some(Origin::Webhook), None));
    assert_eq!(event.links.agent.unwrap().as_str(), "py");
    assert_eq!(event.operation.as_ref(), Some(reception.operation()));
    assert_eq!(event.trace.unwrap().as_str(), TRACE);
    assert_eq!(state(&world), TaskState::Completed);
}

#[tokio::test]
async fn what_proves_who_delivers_is_stored_nowhere() {
    let world = world().await;
    let reception = reception(&world).await;
    let body = json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "taskId": "t-1",
        "parts": [{"text": "my token is tok-7f3a"}]}});

    let report = deliver(&reception, &body).await;

    let stored = world.stored().await;
    let shown = serde_json::to_string(&report).unwrap();
    assert!(stored.contains("agent/1") && !stored.contains("missive-stands-in"));
    assert!(!stored.contains("7f3a") && !shown.contains("7f3a"));
}

#[tokio::test]
async fn a_delivery_of_an_unknown_task_is_kept_and_makes_no_task() {
    let world = world().await;
    let reception = reception(&world).await;
    let task = json!({"task": {"id": "t-9", "contextId": "c-9",
        "status": {"state": "TASK_STATE_COMPLETED"}}});

    let report = deliver(&reception, &task).await;

    assert!(!report.linked);
    let links = last(&world).await.links;
    assert_eq!((links.agent, links.context, links.task), (None, None, None));
    let unknown = TaskId::new("t-9").unwrap();
    assert_eq!(world.newest().task(&unknown, None).unwrap(), None);
}

/// A peer that answers a message with the task `t-1`, at work.
async fn early_world() -> (ScriptedPeer, World) {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    peer.on_send(&Answer::a2a_value(&json!({"task": {
        "id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"},
    }})));
    let world = World::new().with_agent(&peer.url()).await;
    (peer, world)
}

fn piece(text: &str) -> Value {
    json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1", "append": true,
        "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
}

#[tokio::test]
async fn a_delivery_that_came_too_early_counts_once_its_task_is_known() {
    let (_peer, world) = early_world().await;
    let reception = reception(&world).await;
    let update = status("t-1", "TASK_STATE_COMPLETED", "2026-12-01T10:00:00Z");
    let early = [
        deliver(&reception, &piece("one ")).await,
        deliver(&reception, &piece("two")).await,
        deliver(&reception, &update).await,
    ];
    let before = world
        .newest()
        .task(&TaskId::new("t-1").unwrap(), None)
        .unwrap();

    let hi = Send::text(py(), "hi");
    world.missive().send(&hi, &mut patient()).await.unwrap();

    assert_eq!(before, None);
    assert!(
        early
            .iter()
            .all(|report| !report.linked && !report.duplicate)
    );
    assert_eq!(state(&world), TaskState::Completed);
    let events = world.events().await;
    let counted = &events[events.len() - 3..];
    let causes: Vec<_> = counted.iter().map(|event| event.cause.unwrap().0).collect();
    assert_eq!(causes, early.map(|report| report.sequence));
    for event in counted {
        assert_eq!((event.origin, event.actor), (Some(Origin::Webhook), None));
        assert_eq!(event.operation.as_ref(), Some(reception.operation()));
        assert_eq!(event.links.agent.as_ref().unwrap().as_str(), "py");
    }

    // What comes again was counted, and nothing is counted twice.
    let again = deliver(&reception, &piece("two")).await;
    let fresh = self::reception(&world).await;
    let over_a_restart = deliver(&fresh, &piece("one ")).await;
    world
        .missive()
        .count_early(&TaskId::new("t-1").unwrap())
        .await
        .unwrap();
    assert_eq!((again.linked, again.duplicate), (true, true));
    assert_eq!(
        (over_a_restart.linked, over_a_restart.duplicate),
        (true, true)
    );
    assert_eq!(world.events().await.len(), events.len() + 3);
}

#[tokio::test]
async fn an_early_delivery_is_counted_once_whoever_looks_for_it() {
    let (_peer, world) = early_world().await;
    let missive = world.missive();
    let task = TaskId::new("t-1").unwrap();
    let reception = reception(&world).await;
    let update = status("t-1", "TASK_STATE_COMPLETED", "2026-12-01T10:00:00Z");
    let early = deliver(&reception, &update).await;
    let hi = Send::text(py(), "hi");
    missive.send(&hi, &mut patient()).await.unwrap();

    let counted = missive.count_early(&task).await.unwrap();
    let again = world.elsewhere().count_early(&task).await.unwrap();

    assert_eq!(
        counted.into_iter().map(|seq| seq.0).collect::<Vec<_>>(),
        [early.sequence]
    );
    assert_eq!(again.len(), 1);
    assert_eq!(state(&world), TaskState::Completed);
}

#[tokio::test]
async fn a_receiver_counts_early_deliveries_whose_task_was_made_known_by_somebody_who_died() {
    let (peer, world) = early_world().await;
    let first = reception(&world).await;
    let update = status("t-1", "TASK_STATE_COMPLETED", "2026-12-01T10:00:00Z");
    deliver(&first, &update).await;
    // Asking for a task makes it known, and counts nothing.
    peer.on_get_task(
        "t-1",
        &Answer::a2a_value(&json!({
            "id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"},
        })),
    );
    let on = OnTask {
        target: py(),
        task: TaskId::new("t-1").unwrap(),
    };
    world
        .missive()
        .task_get(&on, None, &mut patient())
        .await
        .unwrap();
    assert_eq!(state(&world), TaskState::Working);

    first.flush().await.unwrap();

    assert_eq!(state(&world), TaskState::Completed);
    let events = world.events().await.len();
    first.flush().await.unwrap();
    reception(&world).await.flush().await.unwrap();
    // Nothing but that the second one listens.
    assert_eq!(world.events().await.len(), events + 1);
}

#[tokio::test]
async fn an_early_delivery_of_another_context_or_a_forged_one_still_counts_for_nothing() {
    let (_peer, world) = early_world().await;
    let reception = reception(&world).await;
    let mut forged = status("t-1", "TASK_STATE_COMPLETED", "2026-12-01T10:00:00Z");
    forged["statusUpdate"]["contextId"] = json!("c-2");
    deliver(&reception, &forged).await;
    let other = status("t-2", "TASK_STATE_COMPLETED", "2026-12-01T10:00:00Z");
    deliver(&reception, &other).await;

    let hi = Send::text(py(), "hi");
    world.missive().send(&hi, &mut patient()).await.unwrap();

    assert_eq!(state(&world), TaskState::Working);
    let kinds = world.kinds().await;
    let deliveries = kinds.iter().filter(|kind| kind.starts_with("a2a.push"));
    assert_eq!(deliveries.count(), 2);
}

#[tokio::test]
async fn duplicates_and_late_updates_are_kept_and_change_nothing() {
    let world = world().await;
    let reception = reception(&world).await;
    let done = status("t-1", "TASK_STATE_COMPLETED", "2026-12-01T10:00:02Z");
    let working = status("t-1", "TASK_STATE_WORKING", "2026-12-01T10:00:01Z");

    let mut told = Vec::new();
    for body in [&done, &working, &done] {
        let report = deliver(&reception, body).await;
        told.push((report.duplicate, state(&world)));
    }

    let completed = TaskState::Completed;
    assert_eq!(
        told,
        [(false, completed), (false, completed), (true, completed)]
    );
    let kinds = world.kinds().await;
    let updates = kinds
        .iter()
        .filter(|kind| *kind == "a2a.push.status_update");
    assert_eq!(updates.count(), 3);
}

#[tokio::test]
async fn the_same_delivery_on_two_connections_is_new_once() {
    let world = world().await;
    let reception = reception(&world).await;
    let body = status("t-1", "TASK_STATE_COMPLETED", "2026-12-01T10:00:00Z");

    let (one, other) = tokio::join!(deliver(&reception, &body), deliver(&reception, &body));

    assert!(one.duplicate != other.duplicate);
}

#[tokio::test]
async fn a_receiver_that_starts_again_knows_what_was_delivered_before() {
    let world = world().await;
    let body = status("t-1", "TASK_STATE_COMPLETED", "2026-12-01T10:00:00Z");
    deliver(&reception(&world).await, &body).await;

    let again = deliver(&reception(&world).await, &body).await;

    assert!(again.duplicate);
}

#[tokio::test]
async fn a_task_whose_push_configuration_was_made_here_is_known() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"pushNotifications": true}}));
    let config = json!({"id": "c", "taskId": "t-1", "url": "https://me.example/p"});
    let path = "/rest/tasks/t-1/pushNotificationConfigs";
    peer.on("POST", path, Answer::json(200, &config));
    let world = World::new().with_agent(&peer.url()).await;
    let wanted = crate::wire::push::NewPushConfig {
        task_id: "t-1".to_owned(),
        config_id: None,
        url: "https://me.example/p".parse().unwrap(),
        token: None,
        authentication: None,
        metadata: None,
    };
    let missive = world.missive();
    missive
        .push_create(&py(), &wanted, &mut patient())
        .await
        .unwrap();
    let reception = reception(&world).await;

    let update = status("t-1", "TASK_STATE_WORKING", "2026-12-01T10:00:00Z");
    let report = deliver(&reception, &update).await;

    assert_eq!((report.linked, report.agent.as_deref()), (true, Some("py")));
    assert_eq!(state(&world), TaskState::Working);
}

/// One token serves the deliveries of all tasks: whoever has it must not end the task of somebody else.
#[tokio::test]
async fn another_context_than_the_tasks_own_is_flagged_and_changes_nothing() {
    let world = world().await;
    let reception = reception(&world).await;
    let before = world.newest().tasks().unwrap();
    let mut update = status("t-1", "TASK_STATE_COMPLETED", "2026-12-01T10:00:00Z");
    update["statusUpdate"]["contextId"] = json!("c-2");

    let report = deliver(&reception, &update).await;

    let event = last(&world).await;
    let EventKind::PushStatusUpdate(facts) = event.kind else {
        panic!("a status update")
    };
    assert_eq!(facts.violations, [Violation::ContextMismatch]);
    assert!(!facts.linked && !report.linked);
    assert_eq!(event.links.context.unwrap().as_str(), "c-1");
    assert_eq!(world.newest().tasks().unwrap(), before);
}

#[tokio::test]
async fn refusals_are_counted_and_recorded_once_for_each_reason() {
    let world = world().await;
    let reception = reception(&world).await;
    let before = world.events().await.len();
    for _ in 0..1_000 {
        reception.admit(&Headers::default(), None).unwrap_err();
    }
    for body in ["{", "[]"] {
        let refused = reception.take(&headers(), body.as_bytes()).await;
        assert!(matches!(refused, Err(NotTaken::Refused(why)) if why.status() == 400));
    }

    let reports = reception.flush().await.unwrap();

    let told: Vec<_> = reports
        .iter()
        .map(|report| (report.reason, report.status, report.count))
        .collect();
    assert_eq!(told, [("unauthorized", 401, 1_000), ("malformed", 400, 2)]);
    let events = world.events().await;
    assert_eq!(events.len(), before + 2);
    let EventKind::PushRejected(facts) = &events[before].kind else {
        panic!("a refusal")
    };
    assert_eq!((facts.why, facts.count), (PushRefusal::Unauthorized, 1_000));
    assert!(events[before].payloads.is_empty());
    let roles: Vec<_> = events[before + 1]
        .payloads
        .iter()
        .map(|payload| payload.role.as_str())
        .collect();
    assert_eq!(roles, ["delivery", "request_headers", "error"]);
    assert!(reception.flush().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_receiver_takes_as_many_as_it_should_and_says_how_it_ended() {
    let world = world().await;
    let mut how = how();
    how.accepted_max = Some(1);
    let reception = Reception::start(Arc::new(world.missive()), how)
        .await
        .unwrap();
    let body = status("t-1", "TASK_STATE_WORKING", "2026-12-01T10:00:00Z");
    let text = body.to_string();
    let malformed = reception.take(&headers(), b"{").await;

    deliver(&reception, &body).await;
    let more = reception.take(&headers(), text.as_bytes()).await;
    let (rejections, stopped) = reception.end(WebhookEnd::MaxEvents).await.unwrap();

    assert!(malformed.is_err() && reception.is_full());
    assert!(matches!(more, Err(NotTaken::Refused(why)) if why.status() == 503));
    assert_eq!(rejections.len(), 2);
    assert_eq!((stopped.accepted, stopped.rejected), (1, 2));
    let kinds = world.kinds().await;
    assert_eq!(kinds.last().unwrap(), "missive.webhook.stopped");
}

#[tokio::test]
async fn a_body_beyond_the_bound_is_refused_with_and_without_its_length() {
    let world = world().await;
    let mut how = how();
    how.body_bytes_max = 10;
    let reception = Reception::start(Arc::new(world.missive()), how)
        .await
        .unwrap();

    let by_length = reception.admit(&headers(), Some(11)).unwrap_err();
    let by_bytes = reception.take(&headers(), b"{          }").await;

    assert_eq!(by_length.status(), 413);
    assert!(matches!(by_bytes, Err(NotTaken::Refused(why)) if why.status() == 413));
}
