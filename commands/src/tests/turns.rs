//! Contexts, tasks, interfaces and waiting: what a message belongs to, and how long one stays with it.

use std::time::Duration;

use missive_fixtures::{Answer, EchoAgent, Gate, ScriptedPeer, wire};
use missive_log::event::TaskId;
use serde_json::json;
use tokio::sync::oneshot;

use super::{World, alias, patient, py, told};
use crate::decide::agent_add::AgentAdd;
use crate::note::Note;
use crate::wire::version::Binding;
use crate::{Exit, Interrupt, Refusal, Send, Target};

fn started(text: &str) -> Send {
    Send {
        return_immediately: true,
        wait: true,
        ..Send::text(py(), text)
    }
}

#[tokio::test]
async fn a_task_that_waits_for_input_is_continued_and_one_that_ended_is_not() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();
    let asked = missive
        .send(&Send::text(py(), "ask"), &mut patient())
        .await
        .unwrap();
    let task = TaskId::new(asked.report.answer.task_id.as_deref().unwrap()).unwrap();
    let follow_up = Send {
        task: Some(task.clone()),
        ..Send::text(py(), "blue")
    };

    let done = missive.send(&follow_up, &mut patient()).await.unwrap();
    let before = world.events().await.len();
    let refused = missive.send(&follow_up, &mut patient()).await.unwrap_err();
    let mismatch = Send {
        context: Some("another".to_owned()),
        ..follow_up.clone()
    };
    let mismatched = missive.send(&mismatch, &mut patient()).await.unwrap_err();

    assert_eq!(done.exit, Exit::Done);
    // Both ids leave, as A2A asks (section 3.4.3).
    let context = asked.report.answer.context_id.unwrap();
    assert_eq!(done.report.request.context_id, Some(context.clone()));
    assert_eq!(agent.messages()[1]["contextId"], context);
    assert_eq!(agent.messages()[1]["taskId"], task.as_str());
    let intent = &world.events().await[before - 2];
    assert_eq!(
        intent
            .links
            .context
            .as_ref()
            .map(missive_log::event::ContextId::as_str),
        Some(context.as_str())
    );
    assert_eq!(
        told(&refused),
        format!("64 task_ended task {task} is completed and takes no more messages")
    );
    assert_eq!(mismatched.detail(), Some("task_ended"));
    assert_eq!(world.events().await.len(), before);
}

#[tokio::test]
async fn a_task_and_a_context_that_do_not_belong_together_are_refused() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();
    let asked = missive
        .send(&Send::text(py(), "ask"), &mut patient())
        .await
        .unwrap();
    let task = TaskId::new(asked.report.answer.task_id.as_deref().unwrap()).unwrap();
    let command = Send {
        task: Some(task),
        context: Some("another".to_owned()),
        ..Send::text(py(), "blue")
    };

    let error = missive.send(&command, &mut patient()).await.unwrap_err();

    assert!(matches!(
        error,
        crate::CommandError::Refused(Refusal::ContextMismatch { .. })
    ));
    assert_eq!(agent.messages().len(), 1);
}

#[tokio::test]
async fn who_writes_into_a_context_is_told_of_the_tasks_that_wait_in_it() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();
    let into = |text: &str, context: Option<String>| Send {
        context,
        ..Send::text(py(), text)
    };
    let first = missive
        .send(&into("ask", None), &mut patient())
        .await
        .unwrap();
    let context = first.report.answer.context_id.clone();
    let notes = |missive: &crate::Missive<_>| -> Vec<String> {
        missive
            .take_notes()
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    assert_eq!(notes(&missive), Vec::<String>::new());

    let second = missive
        .send(&into("ask", context.clone()), &mut patient())
        .await
        .unwrap();
    let of_one = notes(&missive);
    missive
        .send(&into("echo hi", context.clone()), &mut patient())
        .await
        .unwrap();
    let of_two = notes(&missive);
    let answer = Send {
        task: Some(TaskId::new(first.report.answer.task_id.as_deref().unwrap()).unwrap()),
        ..into("blue", context)
    };
    missive.send(&answer, &mut patient()).await.unwrap();

    let (first, second) = (
        first.report.answer.task_id.unwrap(),
        second.report.answer.task_id.unwrap(),
    );
    assert_eq!(
        of_one,
        [format!(
            "task {first} of this context waits for an answer, and this message is none: --task says which it \
             answers"
        )]
    );
    assert!(
        of_two[0].starts_with(&format!("tasks {first}, {second} of this context wait")),
        "{of_two:?}"
    );
    assert_eq!(notes(&missive), Vec::<String>::new());
    // None of them was picked.
    assert_eq!(agent.messages()[2].get("taskId"), None);
}

#[tokio::test]
async fn an_unknown_context_begins_with_a_note_and_a_known_one_without() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();
    let command = Send {
        context: Some("trip:2026".to_owned()),
        ..Send::text(py(), "echo hi")
    };

    missive.send(&command, &mut patient()).await.unwrap();
    let first = missive.take_notes();
    missive.send(&command, &mut patient()).await.unwrap();

    assert!(matches!(&first[..], [Note::NewContext(id)] if id.as_str() == "trip:2026"));
    assert_eq!(missive.take_notes(), []);
    assert_eq!(agent.messages()[1]["contextId"], "trip:2026");
}

#[tokio::test]
async fn a_registered_interface_needs_no_card() {
    let peer = ScriptedPeer::start();
    peer.on_send(&Answer::a2a(wire("send/task_completed.json")));
    let world = World::new();
    let missive = world.missive();
    let mut command = AgentAdd::new(alias("py"), &peer.url());
    command.interfaces = vec![(Binding::JsonRpc, format!("{}/rpc", peer.url()))];
    missive.agent_add(&command).await.unwrap();

    let done = missive
        .send(&Send::text(py(), "x"), &mut patient())
        .await
        .unwrap();

    assert_eq!(done.report.interface.source, "override");
    assert_eq!(peer.requests().len(), 1);
}

#[tokio::test]
async fn without_a_card_the_base_url_is_taken_when_the_user_says_how_to_speak() {
    let peer = ScriptedPeer::start();
    let answer = Answer::a2a(wire("send/task_completed.json"));
    peer.on("POST", "/message:send", answer);
    let world = World::new();
    let mut command = Send::text(Target::Url(peer.url()), "x");

    let refused = world.missive().send(&command, &mut patient()).await;
    command.binding = Some(Binding::HttpJson);
    let done = world
        .missive()
        .send(&command, &mut patient())
        .await
        .unwrap();

    assert_eq!(refused.unwrap_err().detail(), Some("no_card"));
    assert_eq!(done.report.interface.source, "direct");
}

#[tokio::test]
async fn a_card_that_leads_into_another_network_is_refused() {
    let peer = ScriptedPeer::start();
    let interface = json!([{
        "url": "http://10.1.2.3:8080/invoke", "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
    }]);
    peer.card(&json!({"supportedInterfaces": interface}));
    let world = World::new()
        .with_token("hunter2")
        .with_agent(&peer.url())
        .await;

    let error = world
        .missive()
        .send(&Send::text(py(), "x"), &mut patient())
        .await
        .unwrap_err();

    insta::assert_snapshot!(told(&error), @"69 wrong_host the card came from 127.0.0.1, and its interface http://10.1.2.3:8080/invoke is on 10.1.2.3, a private address");
}

#[tokio::test]
async fn waiting_ends_with_the_users_time_and_the_state_is_the_result() {
    let agent = EchoAgent::start();
    let mut world = World::new().with_agent(&agent.url()).await;
    world.requests.timeout = Some(Duration::from_millis(700));

    let done = world
        .missive()
        .send(&started("slow 1000"), &mut patient())
        .await
        .unwrap();

    assert_eq!(done.exit, Exit::Timeout);
    assert_eq!(done.report.answer.state, Some("working"));
    assert_eq!(world.newest().outbox().unwrap(), []);
}

#[tokio::test]
async fn an_interruption_while_waiting_leaves_the_task_running_and_its_state_as_the_result() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let gate = Gate::new("the first look at the task");
    agent
        .peer()
        .once("GET", "/rest/tasks/*", Answer::unavailable().gated(&gate));
    let (wish, wished) = oneshot::channel();
    let mut interrupt = Interrupt::when(async {
        wished.await.ok();
    });
    let missive = world.missive();
    let command = started("slow 1000");
    let wishing = async {
        gate.arrived().await;
        wish.send(()).unwrap();
    };

    let (done, ()) = tokio::join!(missive.send(&command, &mut interrupt), wishing);
    gate.open();

    let done = done.unwrap();
    assert_eq!(done.exit, Exit::Interrupted);
    assert!(done.report.answer.task_id.is_some());
    assert_eq!(
        world.kinds().await.last().map(String::as_str),
        Some("a2a.call.failed")
    );
}

#[tokio::test]
async fn a_look_that_fails_is_repeated_a_few_times_and_each_one_is_an_event() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    for _ in 0..2 {
        agent
            .peer()
            .once("GET", "/rest/tasks/*", Answer::unavailable());
    }

    let done = world
        .missive()
        .send(&started("slow 1"), &mut patient())
        .await
        .unwrap();

    assert_eq!(done.report.answer.state, Some("completed"));
    let kinds = world.kinds().await;
    let failed = kinds
        .iter()
        .filter(|kind| *kind == "a2a.call.failed")
        .count();
    assert_eq!(failed, 2);
}

#[tokio::test]
async fn two_processes_that_register_the_same_alias_end_with_one_agent_and_one_refusal() {
    let world = World::new();
    let (first, second) = (world.missive(), world.elsewhere());
    let command = |url: &str| AgentAdd::new(alias("py"), url);

    first.agent_add(&command("http://a.example")).await.unwrap();
    let error = second
        .agent_add(&command("http://b.example"))
        .await
        .unwrap_err();

    assert_eq!(told(&error), "64 alias_taken an agent is already called py");
    let shown = second.agent_show(&alias("py")).await.unwrap();
    assert_eq!(shown.report.agent.base_url, "http://a.example");
}

#[tokio::test]
async fn each_agent_gets_its_own_credentials_and_no_other() {
    let agent = EchoAgent::start();
    let world = World::new()
        .with_token("for-everybody")
        .with_agent(&agent.url())
        .await;
    let own = crate::Credentials {
        bearer: Some(crate::secret::Secret::new("for-py-alone".to_owned())),
        headers: Vec::new(),
    };
    let missive = world.missive_with(|parts| {
        parts.credentials_of.insert(alias("py"), own);
    });

    missive
        .send(&Send::text(py(), "echo hi"), &mut patient())
        .await
        .unwrap();

    for seen in agent.peer().requests() {
        assert_eq!(seen.header("authorization"), Some("Bearer for-py-alone"));
    }
    assert!(!world.stored().await.contains("for-py-alone"));
}
