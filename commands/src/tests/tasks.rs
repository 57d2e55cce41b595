//! Questions about tasks: one, all, until one ends, and to cancel one.

use std::time::Duration;

use missive_fixtures::{Answer, EchoAgent, ScriptedPeer};
use missive_log::event::TaskId;
use missive_log::event::facts::TaskState;
use serde_json::{Value, json};

use super::{World, alias, patient, py, told};
use crate::decide::agent_add::AgentAdd;
use crate::note::Note;
use crate::task::list::{TaskQuery, list};
use crate::{Exit, Interrupt, OnTask, Send, Target, TaskListing, wire};

fn on(task: &str) -> OnTask {
    OnTask {
        target: py(),
        task: TaskId::new(task).unwrap(),
    }
}

fn task_at(state: &str, second: u8) -> Value {
    let at = format!("2026-11-30T10:00:{second:02}Z");
    json!({"id": "t", "contextId": "c", "status": {"state": state, "timestamp": at}})
}

async fn peer_with(task: &Value) -> (ScriptedPeer, World) {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"supportedInterfaces": peer.interfaces(&["HTTP+JSON"])}));
    peer.on("GET", "/rest/tasks/t", Answer::json(200, task));
    let world = World::new().with_agent(&peer.url()).await;
    (peer, world)
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

#[tokio::test]
async fn a_task_that_is_asked_for_is_in_the_log_and_an_older_snapshot_does_not_undo_its_end() {
    let (peer, world) = peer_with(&task_at("TASK_STATE_COMPLETED", 9)).await;
    let missive = world.missive();
    let mut states = Vec::new();

    for second in [9, 3] {
        let got = missive.task_get(&on("t"), Some(2), &mut patient()).await;
        let task = got.unwrap().report.task;
        states.push((task.state, task.source, task.protocol_version.unwrap()));
        let older = task_at("TASK_STATE_WORKING", second - 1);
        peer.on("GET", "/rest/tasks/t", Answer::json(200, &older));
    }

    let completed = ("completed", "call", "1.0".to_owned());
    assert_eq!(states, [completed.clone(), completed]);
    let asked = peer.requests_to("GET", "/rest/tasks/t");
    assert_eq!(asked[0].query_value("historyLength"), Some("2"));
    let known = world.newest().task(&on("t").task, Some(&alias("py")));
    assert_eq!(known.unwrap().unwrap().refused, 1);
    insta::assert_snapshot!(world.kinds().await[2..].join("\n"), @r"
    a2a.call.requested
    a2a.call.responded
    a2a.task.updated
    a2a.call.requested
    a2a.call.responded
    a2a.task.updated
    ");
}

#[tokio::test]
async fn a_cancellation_shows_the_state_that_came_back_and_only_canceled_is_well() {
    let (peer, world) = peer_with(&task_at("TASK_STATE_WORKING", 1)).await;
    let missive = world.missive();
    let mut ends = Vec::new();
    let cancel = "/rest/tasks/t:cancel";

    for state in [
        "TASK_STATE_WORKING",
        "TASK_STATE_COMPLETED",
        "TASK_STATE_CANCELED",
    ] {
        peer.on("POST", cancel, Answer::json(200, &task_at(state, 5)));
        let done = missive.task_cancel(&on("t"), &mut patient()).await.unwrap();
        ends.push((done.report.task.state, done.exit.number()));
    }

    // The log keeps the first end that it heard of; what comes back is shown all the same.
    assert_eq!(ends, [("working", 80), ("completed", 80), ("canceled", 0)]);
    let known = world.newest().task(&on("t").task, None).unwrap().unwrap();
    assert_eq!((known.state, known.contradicted), (TaskState::Completed, 1));
}

#[tokio::test]
async fn a_task_that_cannot_be_canceled_any_more_is_shown_as_it_stands() {
    for (state, exit) in [
        ("TASK_STATE_CANCELED", Exit::Done),
        ("TASK_STATE_FAILED", Exit::TaskFailed),
    ] {
        let (peer, world) = peer_with(&task_at(state, 1)).await;
        peer.on(
            "POST",
            "/rest/tasks/t:cancel",
            Answer::a2a_error("task_not_cancelable"),
        );
        let missive = world.missive();

        let done = missive.task_cancel(&on("t"), &mut patient()).await.unwrap();

        assert_eq!(done.exit, exit);
        assert_eq!(missive.take_notes(), [Note::NotCancelable]);
        let kinds = world.kinds().await;
        assert!(kinds.contains(&"a2a.call.failed".to_owned()), "{kinds:?}");
    }
}

#[tokio::test]
async fn a_cancellation_whose_media_type_is_refused_goes_out_again_as_plain_json() {
    let (peer, world) = peer_with(&task_at("TASK_STATE_WORKING", 1)).await;
    let cancel = "/rest/tasks/t:cancel";
    peer.once("POST", cancel, Answer::text(415, "unsupported"));
    peer.on(
        "POST",
        cancel,
        Answer::json(200, &task_at("TASK_STATE_CANCELED", 2)),
    );
    let missive = world.missive();

    let done = missive.task_cancel(&on("t"), &mut patient()).await.unwrap();

    assert_eq!(done.exit, Exit::Done);
    let sent = peer.requests_to("POST", cancel);
    let types: Vec<_> = sent
        .iter()
        .map(|one| one.header("content-type").unwrap())
        .collect();
    assert_eq!(types, ["application/a2a+json", "application/json"]);
    assert_eq!(missive.take_notes(), [Note::PlainJson]);
}

#[tokio::test]
async fn pages_are_followed_to_the_end_with_the_same_filters() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();
    for text in ["task a", "ask", "task b", "task c"] {
        missive
            .send(&Send::text(py(), text), &mut patient())
            .await
            .unwrap();
    }
    let listing = TaskListing {
        state: Some(wire::state::TaskState::Completed),
        page_size: Some(1),
        ..everything()
    };

    let done = missive.task_list(&listing, &mut patient()).await.unwrap();
    let one_page = TaskListing {
        all: false,
        ..listing
    };
    let first = missive.task_list(&one_page, &mut patient()).await.unwrap();

    assert_eq!(done.report.tasks.len(), 3);
    assert_eq!(done.report.next_page_token, None);
    assert_eq!(first.report.tasks.len(), 1);
    assert!(first.report.next_page_token.is_some());
    let asked: Vec<_> = agent
        .peer()
        .requests()
        .into_iter()
        .filter(|one| one.path.ends_with("/tasks"))
        .collect();
    assert_eq!(asked.len(), 4);
    for one in &asked {
        assert_eq!(one.query_value("status"), Some("TASK_STATE_COMPLETED"));
        assert_eq!(one.query_value("pageSize"), Some("1"));
    }
}

#[tokio::test]
async fn a_page_token_that_leads_back_ends_the_listing() {
    let (peer, world) = peer_with(&task_at("TASK_STATE_WORKING", 1)).await;
    let page = |token: &str| {
        let task = task_at("TASK_STATE_WORKING", 1);
        Answer::json(200, &json!({"tasks": [task], "nextPageToken": token}))
    };
    peer.once("GET", "/rest/tasks", page("b"));
    peer.on("GET", "/rest/tasks", page("b"));

    let error = world
        .missive()
        .task_list(&everything(), &mut patient())
        .await;

    insta::assert_snapshot!(told(&error.unwrap_err()), @"76 broken_answer the agent's answer is unusable: its page token leads back to an earlier page");
    assert_eq!(peer.requests_to("GET", "/rest/tasks").len(), 2);
    // What came until then is known.
    assert_eq!(world.newest().tasks().unwrap().len(), 1);
}

#[tokio::test]
async fn tasks_that_were_not_asked_for_are_kept_and_not_listed_and_told_once() {
    let (peer, world) = peer_with(&task_at("TASK_STATE_WORKING", 1)).await;
    let mut other = task_at("TASK_STATE_WORKING", 1);
    other["id"] = json!("other");
    let tasks = json!({"tasks": [task_at("TASK_STATE_WORKING", 1), other]});
    peer.on("GET", "/rest/tasks", Answer::json(200, &tasks));
    let missive = world.missive();
    let listing = TaskListing {
        state: Some(wire::state::TaskState::Failed),
        ..everything()
    };

    let done = missive.task_list(&listing, &mut patient()).await.unwrap();

    assert_eq!(done.report.tasks.len(), 0);
    assert!(matches!(&missive.take_notes()[..], [Note::Violation(_)]));
    assert_eq!(world.newest().tasks().unwrap().len(), 2);
}

#[tokio::test]
async fn a_wait_ends_with_the_code_of_the_state() {
    for (state, exit) in [
        ("TASK_STATE_COMPLETED", 0),
        ("TASK_STATE_FAILED", 80),
        ("TASK_STATE_CANCELED", 81),
        ("TASK_STATE_INPUT_REQUIRED", 83),
        ("TASK_STATE_AUTH_REQUIRED", 84),
        ("TASK_STATE_REJECTED", 85),
    ] {
        let (peer, world) = peer_with(&task_at(state, 5)).await;
        let working = task_at("TASK_STATE_WORKING", 1);
        peer.once("GET", "/rest/tasks/t", Answer::json(200, &working));
        peer.once("GET", "/rest/tasks/t", Answer::unavailable());
        let interval = Some(Duration::from_millis(1));

        let done = world
            .missive()
            .task_wait(&on("t"), interval, &mut patient())
            .await;

        assert_eq!(done.unwrap().exit.number(), exit, "{state}");
        assert_eq!(peer.requests_to("GET", "/rest/tasks/t").len(), 3);
    }
}

#[tokio::test]
async fn a_wait_follows_the_task_where_the_agent_streams_and_asks_where_that_fails() {
    let whole = task_at("TASK_STATE_WORKING", 1);
    let end = json!({"statusUpdate": {"taskId": "t", "contextId": "c",
        "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-11-30T10:00:02Z"}}});
    for (what, stream, asked) in [
        (
            "followed",
            Some([json!({"task": whole}), end].map(|v| v.to_string())),
            1,
        ),
        ("not followed", None, 3),
    ] {
        let peer = ScriptedPeer::start();
        peer.card(
            &json!({"supportedInterfaces": peer.interfaces(&["HTTP+JSON"]),
            "capabilities": {"streaming": true}}),
        );
        let done = task_at("TASK_STATE_COMPLETED", 2);
        peer.on("GET", "/rest/tasks/t", Answer::json(200, &done));
        peer.once("GET", "/rest/tasks/t", Answer::json(200, &whole));
        if let Some(updates) = stream {
            peer.on_subscribe("t", &Answer::a2a_stream(updates));
        } else {
            peer.once("GET", "/rest/tasks/t", Answer::json(200, &whole));
            peer.on_subscribe("t", &Answer::a2a_error("unsupported_operation"));
        }
        let world = World::new().with_agent(&peer.url()).await;
        let missive = world.missive();

        let waited = missive.task_wait(&on("t"), None, &mut patient()).await;

        let waited = waited.unwrap();
        assert_eq!(waited.exit.number(), 0, "{what}");
        assert_eq!(waited.report.task.state, "completed", "{what}");
        let gets = peer.requests_to("GET", "/rest/tasks/t").len();
        assert_eq!(gets, asked, "{what}");
    }
}

#[tokio::test]
async fn a_wait_says_why_it_could_not_follow_also_where_asking_fails_as_well() {
    let peer = ScriptedPeer::start();
    peer.card(
        &json!({"supportedInterfaces": peer.interfaces(&["HTTP+JSON"]),
        "capabilities": {"streaming": true}}),
    );
    let whole = task_at("TASK_STATE_WORKING", 1);
    peer.once("GET", "/rest/tasks/t", Answer::json(200, &whole));
    peer.on("GET", "/rest/tasks/t", Answer::a2a_error("task_not_found"));
    let broken =
        Answer::event_stream("data: {\"error\":{\"code\":500,\"message\":\"no room\"}}\n\n");
    peer.on_subscribe("t", &broken);
    let world = World::new().with_agent(&peer.url()).await;
    let missive = world.missive();

    let waited = missive.task_wait(&on("t"), None, &mut patient()).await;

    let why = "66 task_not_found the agent answered TASK_NOT_FOUND: task not found";
    assert_eq!(told(&waited.unwrap_err()), why);
    let notes: Vec<String> = missive
        .take_notes()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(
        notes.iter().any(|note| note.contains("no room")),
        "{notes:?}"
    );
}

#[tokio::test]
async fn a_wait_whose_time_is_over_says_how_the_task_stands() {
    let (_peer, mut world) = peer_with(&task_at("TASK_STATE_WORKING", 1)).await;
    world.requests.timeout = Some(Duration::from_millis(300));

    let done = world
        .missive()
        .task_wait(&on("t"), None, &mut patient())
        .await
        .unwrap();

    assert_eq!(
        (done.exit, done.report.task.state),
        (Exit::Timeout, "working")
    );
}

#[tokio::test]
async fn nobody_is_asked_about_a_task_that_has_ended() {
    let (peer, world) = peer_with(&task_at("TASK_STATE_FAILED", 5)).await;
    let missive = world.missive();
    missive
        .task_get(&on("t"), None, &mut patient())
        .await
        .unwrap();

    let done = missive
        .task_wait(&on("t"), None, &mut patient())
        .await
        .unwrap();

    assert_eq!(done.exit, Exit::TaskFailed);
    assert_eq!(peer.requests_to("GET", "/rest/tasks/t").len(), 1);
}

#[tokio::test]
async fn a_local_wait_ends_when_somebody_else_records_the_end() {
    let (peer, world) = peer_with(&task_at("TASK_STATE_WORKING", 1)).await;
    let (here, there) = (world.missive(), world.missive());
    there
        .task_get(&on("t"), None, &mut patient())
        .await
        .unwrap();
    peer.on(
        "GET",
        "/rest/tasks/t",
        Answer::json(200, &task_at("TASK_STATE_COMPLETED", 2)),
    );
    let task = on("t").task;
    let mut never = patient();

    let waiting = here.task_wait_local(&task, None, &mut never);
    let recording = async {
        there
            .task_get(&on("t"), None, &mut patient())
            .await
            .unwrap();
    };
    let (done, ()) = tokio::join!(waiting, recording);

    let done = done.unwrap();
    assert_eq!(
        (done.exit, done.report.task.state),
        (Exit::Done, "completed")
    );
}

#[tokio::test]
async fn a_local_wait_can_be_interrupted() {
    let (_peer, world) = peer_with(&task_at("TASK_STATE_WORKING", 1)).await;
    let missive = world.missive();
    missive
        .task_get(&on("t"), None, &mut patient())
        .await
        .unwrap();
    let mut now = Interrupt::when(std::future::ready(()));

    let done = missive
        .task_wait_local(&on("t").task, Some(&py()), &mut now)
        .await;

    assert_eq!(done.unwrap().exit, Exit::Interrupted);
}

#[tokio::test]
async fn an_answer_about_another_task_is_no_answer() {
    let mut other = task_at("TASK_STATE_COMPLETED", 1);
    other["id"] = json!("u");
    let (_peer, world) = peer_with(&other).await;

    let error = world
        .missive()
        .task_get(&on("t"), None, &mut patient())
        .await;

    insta::assert_snapshot!(told(&error.unwrap_err()), @"76 broken_answer the agent's answer is unusable: it is about another task");
}

#[tokio::test]
async fn a_task_id_that_several_agents_use_needs_an_agent() {
    let (peer, world) = peer_with(&task_at("TASK_STATE_WORKING", 1)).await;
    let missive = world.missive();
    let command = AgentAdd::new(alias("rs"), &peer.url());
    missive.agent_add(&command).await.unwrap();
    for name in ["py", "rs"] {
        let of = OnTask {
            target: Target::Alias(alias(name)),
            ..on("t")
        };
        missive.task_get(&of, None, &mut patient()).await.unwrap();
    }
    let views = world.newest();
    let find =
        |task: &str, agent| match crate::task::find(&views, &TaskId::new(task).unwrap(), agent) {
            Ok(task) => task.agent.unwrap().to_string(),
            Err(error) => told(&error),
        };

    let said = [
        find("t", None),
        find("t", Some(&py())),
        find("x", None),
        find("x", Some(&py())),
    ];

    insta::assert_snapshot!(said.join("\n"), @r"
    64 ambiguous_task several agents have a task `t`
    py
    66 task the log knows no task `x`
    66 task the log knows no task `x` of py
    ");
}

#[tokio::test]
async fn the_log_lists_the_newest_first_and_page_by_page() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();
    for text in ["task a", "ask", "task b", "fail"] {
        missive
            .send(&Send::text(py(), text), &mut patient())
            .await
            .unwrap();
    }
    let views = world.newest();
    let shown = async |query: &TaskQuery| {
        let found = list(missive.log(), &views, query).await.unwrap();
        let states: Vec<_> = found.tasks.iter().map(|task| task.state).collect();
        (states, found.next_page_token)
    };

    let all = shown(&TaskQuery::default()).await;
    let page = TaskQuery {
        page_size: Some(3),
        agent: Some(py()),
        ..TaskQuery::default()
    };
    let (first, token) = shown(&page).await;
    let after = token.unwrap().parse().ok().map(missive_log::event::Seq);
    let second = shown(&TaskQuery { after, ..page }).await;
    let sent = TaskQuery {
        state: Some(TaskState::Completed),
        source: Some("send".to_owned()),
        page_size: Some(1),
        ..TaskQuery::default()
    };
    let (sent, more) = shown(&sent).await;

    assert_eq!(
        all,
        (
            vec!["failed", "completed", "input_required", "completed"],
            None
        )
    );
    assert_eq!(first, ["failed", "completed", "input_required"]);
    assert_eq!(second, (vec!["completed"], None));
    assert_eq!((sent, more.is_some()), (vec!["completed"], true));
}

#[tokio::test]
async fn of_a_history_the_newest_messages_are_shown() {
    let mut long = task_at("TASK_STATE_COMPLETED", 1);
    let message = |id: &str| json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": id}]});
    long["history"] = json!([message("m-1"), message("m-2"), message("m-3")]);
    let (_peer, world) = peer_with(&long).await;
    let missive = world.missive();
    missive
        .task_get(&on("t"), None, &mut patient())
        .await
        .unwrap();
    let views = world.newest();
    let known = views.task(&on("t").task, None).unwrap().unwrap();
    let mut shown = Vec::new();

    for length in [None, Some(0), Some(1), Some(99)] {
        let view = crate::task::view(missive.log(), &views, &known, length)
            .await
            .unwrap();
        let raw: Value = serde_json::from_str(view.raw.unwrap().get()).unwrap();
        let ids = raw["history"].as_array().unwrap().iter();
        shown.push(
            ids.map(|one| one["messageId"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>(),
        );
    }

    assert_eq!(shown[0], ["m-1", "m-2", "m-3"]);
    assert_eq!(shown[1], Vec::<String>::new());
    assert_eq!(shown[2], ["m-3"]);
    assert_eq!(shown[3], shown[0]);
}

#[tokio::test]
async fn of_notes_without_end_the_first_are_kept() {
    let missive = World::new().missive();

    for number in 0..1_000 {
        missive.note(Note::Violation(number.to_string()));
    }

    let notes = missive.take_notes();
    assert_eq!(notes.len(), 100);
    assert_eq!(notes[0], Note::Violation("0".to_owned()));
}
