//! Agents that have no time now: who asks again, when, and who does not.

use std::time::Duration;

use missive_fixtures::{Answer, ScriptedPeer};
use missive_log::event::{PushConfigId, TaskId};
use serde_json::{Value, json};

use super::{World, alias, patient, py, told};
use crate::wire::push::NewPushConfig;
use crate::{Exit, OnTask, Send, TaskListing};

const CARD: &str = "/.well-known/agent-card.json";
const TASK: &str = "/rest/tasks/t";
const TASKS: &str = "/rest/tasks";
const CANCEL: &str = "/rest/tasks/t:cancel";
const CONFIGS: &str = "/rest/tasks/t/pushNotificationConfigs";
const CONFIG: &str = "/rest/tasks/t/pushNotificationConfigs/c-1";
/// The moment at which the clock of every world stands.
const NOW: &str = "Tue, 01 Dec 2026 09:30:00 GMT";

fn on() -> OnTask {
    OnTask {
        target: py(),
        task: TaskId::new("t").unwrap(),
    }
}

fn everything() -> TaskListing {
    TaskListing {
        target: py(),
        context: None,
        state: None,
        updated_after: None,
        page_size: None,
        page_token: None,
        all: true,
        include_artifacts: false,
    }
}

fn hook() -> NewPushConfig {
    NewPushConfig {
        task_id: "t".to_owned(),
        config_id: None,
        url: "https://me.example/push".parse().unwrap(),
        token: None,
        authentication: None,
        metadata: None,
    }
}

fn task() -> Value {
    json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}})
}

fn config() -> Value {
    json!({"id": "c-1", "taskId": "t", "url": "https://me.example/push"})
}

/// A peer whose answers are right, where nothing else is queued.
fn peer() -> ScriptedPeer {
    let peer = ScriptedPeer::start();
    peer.card(
        &json!({"supportedInterfaces": peer.interfaces(&["HTTP+JSON"]),
        "capabilities": {"pushNotifications": true}}),
    );
    let list = json!({"tasks": [task()], "nextPageToken": "", "pageSize": 1, "totalSize": 1});
    let configs = json!({"configs": [config()], "nextPageToken": ""});
    peer.on("GET", TASK, Answer::json(200, &task()))
        .on("GET", TASKS, Answer::json(200, &list))
        .on("GET", CONFIGS, Answer::json(200, &configs))
        .on("GET", CONFIG, Answer::json(200, &config()));
    peer
}

#[tokio::test]
async fn what_changes_nothing_is_asked_again_when_the_agent_says_when_to_come_back() {
    let peer = peer();
    for (path, busy) in [
        (CARD, Answer::too_many_requests("0")),
        (TASK, Answer::too_many_requests(NOW)),
        (TASK, Answer::status(503).header("retry-after", "0")),
        (TASKS, Answer::too_many_requests("0")),
        (CONFIG, Answer::too_many_requests("0")),
        (CONFIGS, Answer::status(503).header("retry-after", NOW)),
    ] {
        peer.once("GET", path, busy);
    }
    let world = World::new().with_agent(&peer.url()).await;
    let missive = world.missive();
    let (task, id) = (on().task, PushConfigId::new("c-1").unwrap());

    let got = missive.task_get(&on(), None, &mut patient()).await;
    let listed = missive.task_list(&everything(), &mut patient()).await;
    let hook = missive.push_get(&py(), &task, &id, &mut patient()).await;
    let hooks = missive.push_list(&py(), &task, &mut patient()).await;

    assert_eq!(got.unwrap().report.task.state, "working");
    assert_eq!(listed.unwrap().report.tasks.len(), 1);
    assert_eq!(
        hook.unwrap().report.config.config_id.as_deref(),
        Some("c-1")
    );
    assert_eq!(hooks.unwrap().report.configs.len(), 1);
    insta::assert_snapshot!(world.kinds().await.join("\n"), @r"
    a2a.card.requested
    a2a.card.failed
    a2a.card.requested
    a2a.card.fetched
    a2a.call.requested
    a2a.call.failed
    a2a.call.requested
    a2a.call.failed
    a2a.call.requested
    a2a.call.responded
    a2a.task.updated
    a2a.call.requested
    a2a.call.failed
    a2a.call.requested
    a2a.call.responded
    a2a.task.updated
    a2a.call.requested
    a2a.call.failed
    a2a.call.requested
    a2a.call.responded
    a2a.call.requested
    a2a.call.failed
    a2a.call.requested
    a2a.call.responded
    ");
}

#[tokio::test]
async fn what_changes_something_goes_out_once() {
    let peer = peer();
    let busy = || Answer::too_many_requests("0");
    peer.on_send(&busy());
    peer.on("POST", CANCEL, busy()).on("POST", CONFIGS, busy());
    peer.on("DELETE", CONFIG, busy());
    let world = World::new().with_agent(&peer.url()).await;
    let missive = world.missive();
    let (task, id) = (on().task, PushConfigId::new("c-1").unwrap());

    let ends = [
        missive
            .send(&Send::text(py(), "hi"), &mut patient())
            .await
            .unwrap_err(),
        missive
            .task_cancel(&on(), &mut patient())
            .await
            .unwrap_err(),
        missive
            .push_create(&py(), &hook(), &mut patient())
            .await
            .unwrap_err(),
        missive
            .push_delete(&py(), &task, &id, &mut patient())
            .await
            .unwrap_err(),
    ];

    for end in ends {
        assert_eq!(
            told(&end),
            "69 rate_limited the agent answered rate limited (HTTP 429)"
        );
    }
    let sent = peer.requests();
    assert_eq!(sent.iter().filter(|seen| seen.method != "GET").count(), 4);
}

#[tokio::test]
async fn an_agent_that_wants_more_time_than_the_user_has_is_not_waited_for() {
    let peer = peer();
    let mut world = World::new().with_agent(&peer.url()).await;
    world.requests.timeout = Some(Duration::from_secs(30));
    let missive = world.missive();
    let mut ends = Vec::new();

    for (path, retry_after) in [
        (CARD, "45"),
        (TASK, "31"),
        (TASK, "Tue, 01 Dec 2026 10:30:00 GMT"),
        (TASK, "99999999999999999999"),
    ] {
        let before = peer.requests_to("GET", path).len();
        peer.once("GET", path, Answer::too_many_requests(retry_after));
        let end = missive.task_get(&on(), None, &mut patient()).await;
        let asked = peer.requests_to("GET", path).len() - before;
        ends.push((retry_after, end.map_err(|error| error.exit()).err(), asked));
    }

    for (retry_after, exit, asked) in ends {
        assert_eq!((exit, asked), (Some(Exit::Transport), 1), "{retry_after}");
    }
}

#[tokio::test]
async fn a_busy_agent_is_asked_as_often_as_the_configuration_says() {
    for retries in [0, 1, 3] {
        let peer = peer();
        peer.on("GET", TASK, Answer::too_many_requests("0"));
        let mut world = World::new().with_agent(&peer.url()).await;
        world.config.qos.retries_max = retries;

        let end = world.missive().task_wait(&on(), None, &mut patient()).await;

        assert_eq!(end.unwrap_err().exit(), Exit::Transport);
        let asked = u32::try_from(peer.requests_to("GET", TASK).len()).unwrap();
        assert_eq!(asked, retries + 1);
    }
}

#[tokio::test]
async fn a_card_that_is_known_does_as_well_as_one_of_a_busy_agent() {
    let peer = peer();
    let world = World::new().with_agent(&peer.url()).await;
    world
        .missive()
        .agent_refresh(&alias("py"), &mut patient())
        .await
        .unwrap();
    world.later(Duration::from_secs(90_000));
    peer.on("GET", CARD, Answer::too_many_requests("0"));

    let got = world.missive().task_get(&on(), None, &mut patient()).await;

    assert_eq!(got.unwrap().exit, Exit::Done);
    assert_eq!(peer.requests_to("GET", CARD).len(), 2);
}
