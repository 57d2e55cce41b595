//! Crashes, interruptions, and what resolves the doubt that they leave.

use std::future::Future;
use std::task::{Context, Poll, Waker};

use missive_fixtures::{Answer, EchoAgent, Gate};
use missive_log::event::OperationId;
use tokio::sync::oneshot;

use super::{World, alias, patient, py, told};
use crate::doubt::in_doubt;
use crate::report::send::Resolution;
use crate::{CommandError, Exit, Failure, Interrupt, Retry, Send};

/// The one operation that is in doubt.
fn doubtful(world: &World) -> OperationId {
    let found = in_doubt(&world.newest(), world.run()).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].operation.clone().unwrap()
}

fn retry(operation: &OperationId, resend: bool) -> Retry {
    Retry {
        operation: operation.clone(),
        resend,
    }
}

/// A world in which a process died while it sent this text, right after the agent had taken it.
async fn crashed_after_the_effect(agent: &EchoAgent, text: &str) -> World {
    let world = World::new().with_agent(&agent.url()).await;
    let gate = Gate::new("after the message was taken");
    agent.next_send_waits(&gate);
    {
        let missive = world.missive();
        let command = Send::text(py(), text);
        let mut interrupt = patient();
        let sending = missive.send(&command, &mut interrupt);
        tokio::select! {
            _ = sending => panic!("nobody opened the gate"),
            () = gate.arrived() => {}
        }
    }
    gate.open();
    world
}

#[tokio::test]
async fn a_process_that_died_after_the_intent_leaves_a_doubt_that_a_retry_finds_unresolvable() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();
    missive
        .agent_refresh(&alias("py"), &mut patient())
        .await
        .unwrap();
    {
        let command = Send::text(py(), "task x");
        let mut interrupt = patient();
        let mut sending = Box::pin(missive.send(&command, &mut interrupt));
        // The log is in memory, so the first step ends where the connection is awaited.
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(sending.as_mut().poll(&mut context), Poll::Pending));
    }
    assert_eq!(in_doubt(&world.newest(), world.run()).unwrap(), []);
    drop(missive);

    let operation = doubtful(&world);
    let error = world
        .missive()
        .retry(&retry(&operation, false), &mut patient())
        .await
        .unwrap_err();

    assert_eq!(error.exit(), Exit::Unknown);
    assert_eq!(
        world.kinds().await[2..],
        [
            "a2a.send.requested",
            "a2a.call.requested",
            "a2a.call.responded",
            "a2a.send.in_doubt"
        ]
    );
    let done = world
        .missive()
        .retry(&retry(&operation, true), &mut patient())
        .await
        .unwrap();
    assert_eq!(done.report.resolution, Resolution::Resent);
    assert_eq!(done.report.answer.text, "x");
    assert_eq!(agent.messages().len(), 1);
    assert_eq!(in_doubt(&world.newest(), world.run()).unwrap(), []);
}

#[tokio::test]
async fn a_message_that_was_taken_before_the_process_died_is_found_and_not_sent_again() {
    let agent = EchoAgent::start();
    let world = crashed_after_the_effect(&agent, "task report").await;
    let operation = doubtful(&world);

    let done = world
        .missive()
        .retry(&retry(&operation, true), &mut patient())
        .await
        .unwrap();

    assert_eq!(done.report.resolution, Resolution::Found);
    assert_eq!(done.report.answer.text, "report");
    assert_eq!(done.exit, Exit::Done);
    assert_eq!(agent.messages().len(), 1);
    let kinds = world.kinds().await;
    assert_eq!(kinds.last().map(String::as_str), Some("a2a.send.resolved"));
    assert!(kinds.contains(&"a2a.task.updated".to_owned()));
    assert_eq!(in_doubt(&world.newest(), world.run()).unwrap(), []);
    let again = world
        .missive()
        .retry(&retry(&operation, true), &mut patient())
        .await
        .unwrap();
    assert_eq!(again.report.resolution, Resolution::Recorded);
    assert_eq!(
        (again.report.answer.text.as_str(), again.exit),
        ("report", Exit::Done)
    );
    assert_eq!(agent.messages().len(), 1);
}

#[tokio::test]
async fn nobody_takes_over_what_still_runs() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let gate = Gate::new("after the message was taken");
    agent.next_send_waits(&gate);
    let first = world.missive();
    let command = Send::text(py(), "task x");
    let mut interrupt = patient();
    let sending = first.send(&command, &mut interrupt);
    let meddling = async {
        gate.arrived().await;
        let operation = world.newest().outbox().unwrap()[0]
            .operation
            .clone()
            .unwrap();
        let refused = world
            .missive()
            .retry(&retry(&operation, true), &mut patient())
            .await
            .unwrap_err();
        gate.open();
        (told(&refused), operation)
    };

    let (sent, (refused, operation)) = tokio::join!(sending, meddling);

    assert_eq!(
        refused,
        format!("75 still_running operation {operation} is still running in another process")
    );
    assert_eq!(sent.unwrap().report.answer.text, "x");
    assert_eq!(agent.messages().len(), 1);
}

#[tokio::test]
async fn an_interruption_in_flight_is_recorded_as_a_doubt_before_the_command_ends() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let gate = Gate::new("after the message was taken");
    agent.next_send_waits(&gate);
    let (wish, wished) = oneshot::channel();
    let mut interrupt = Interrupt::when(async {
        wished.await.ok();
    });
    let missive = world.missive();
    let command = Send::text(py(), "task x");
    let wishing = async {
        gate.arrived().await;
        wish.send(()).unwrap();
    };

    let (ended, ()) = tokio::join!(missive.send(&command, &mut interrupt), wishing);
    gate.open();

    let error = ended.unwrap_err();
    assert_eq!(error.exit(), Exit::Interrupted);
    assert!(matches!(
        error,
        CommandError::Failed(Failure::Interrupted { in_doubt: true, .. })
    ));
    assert_eq!(
        world.kinds().await.last().map(String::as_str),
        Some("a2a.send.in_doubt")
    );
    assert!(world.stored().await.contains("\"failure\":\"interrupted\""));
    let operation = doubtful(&world);
    let found = world
        .missive()
        .retry(&retry(&operation, false), &mut patient())
        .await
        .unwrap();
    assert_eq!(found.report.resolution, Resolution::Found);
}

#[tokio::test]
async fn an_interruption_before_anything_left_is_a_failure_without_doubt() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();
    missive
        .agent_refresh(&alias("py"), &mut patient())
        .await
        .unwrap();
    let mut interrupt = Interrupt::when(async {});

    let error = missive
        .send(&Send::text(py(), "task x"), &mut interrupt)
        .await
        .unwrap_err();

    assert!(matches!(
        error,
        CommandError::Failed(Failure::Interrupted {
            in_doubt: false,
            ..
        })
    ));
    assert_eq!(
        world.kinds().await.last().map(String::as_str),
        Some("a2a.send.failed")
    );
    assert!(agent.messages().is_empty());
}

#[tokio::test]
async fn a_card_request_whose_process_died_is_repeated() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    {
        let missive = world.missive();
        let mut interrupt = patient();
        let name = alias("py");
        let mut refreshing = Box::pin(missive.agent_refresh(&name, &mut interrupt));
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(
            refreshing.as_mut().poll(&mut context),
            Poll::Pending
        ));
    }
    let operation = doubtful(&world);

    let done = world
        .missive()
        .retry(&retry(&operation, false), &mut patient())
        .await
        .unwrap();

    assert_eq!(done.report.resolution, Resolution::Repeated);
    assert_eq!(
        world.kinds().await,
        [
            "a2a.card.requested",
            "a2a.card.failed",
            "a2a.card.requested",
            "a2a.card.fetched"
        ]
    );
    assert_eq!(in_doubt(&world.newest(), world.run()).unwrap(), []);
}

#[tokio::test]
async fn a_peer_that_cannot_say_leaves_the_doubt_and_an_unreachable_one_gets_nothing() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    agent.next_send_answers(Answer::close());
    let error = world
        .missive()
        .send(&Send::text(py(), "task x"), &mut patient())
        .await
        .unwrap_err();
    assert_eq!(error.exit(), Exit::Unknown);
    let operation = doubtful(&world);

    agent.peer().on(
        "GET",
        "/rest/tasks",
        Answer::a2a_error("unsupported_operation"),
    );
    let cannot = world
        .missive()
        .retry(&retry(&operation, false), &mut patient())
        .await
        .unwrap_err();
    agent.peer().on("GET", "/rest/tasks", Answer::unavailable());
    let unreachable = world
        .missive()
        .retry(&retry(&operation, true), &mut patient())
        .await
        .unwrap_err();

    let said = format!("{}\n{}", told(&cannot), told(&unreachable));
    insta::assert_snapshot!(said.replace(operation.as_str(), "<operation>"), @r"
    86 in_doubt it is still not known whether the message of operation <operation> arrived: the agent does not list tasks: the agent answered UNSUPPORTED_OPERATION: unsupported operation
    86 cannot_ask nothing was sent again, since the agent cannot be asked whether it has the message of operation <operation>: the agent answered HTTP 503 with a web page
    ");
    assert_eq!(agent.messages().len(), 1);
    // The doubt was on record already, so it is not recorded again.
    let kinds = world.kinds().await;
    let doubts = kinds
        .iter()
        .filter(|kind| *kind == "a2a.send.in_doubt")
        .count();
    assert_eq!(doubts, 1);
}

#[tokio::test]
async fn of_two_who_resolve_the_same_doubt_one_records_the_outcome_and_the_other_is_told() {
    let agent = EchoAgent::start();
    let world = crashed_after_the_effect(&agent, "task report").await;
    let operation = doubtful(&world);
    let gate = Gate::new("the slow one asks for tasks");
    let refusal = Answer::a2a_error("unsupported_operation").gated(&gate);
    agent.peer().once("GET", "/rest/tasks", refusal);
    let (slow, quick) = (world.missive(), world.missive());
    let command = retry(&operation, false);
    let mut interrupt = patient();
    let meddling = async {
        gate.arrived().await;
        let done = quick.retry(&command, &mut patient()).await.unwrap();
        gate.open();
        done.report.resolution
    };

    let (late, resolution) = tokio::join!(slow.retry(&command, &mut interrupt), meddling);

    assert_eq!(resolution, Resolution::Found);
    assert_eq!(
        told(&late.unwrap_err()),
        format!("75 superseded operation {operation} was finished by another process")
    );
    let kinds = world.kinds().await;
    let ends = kinds
        .iter()
        .filter(|kind| *kind == "a2a.send.resolved")
        .count();
    assert_eq!(ends, 1);
}

#[tokio::test]
async fn a_retry_that_died_itself_leaves_the_message_as_the_thing_to_resolve() {
    let agent = EchoAgent::start();
    let world = crashed_after_the_effect(&agent, "task report").await;
    let operation = doubtful(&world);
    {
        let missive = world.missive();
        let command = retry(&operation, false);
        let mut interrupt = patient();
        let mut retrying = Box::pin(missive.retry(&command, &mut interrupt));
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(
            retrying.as_mut().poll(&mut context),
            Poll::Pending
        ));
    }
    assert_eq!(in_doubt(&world.newest(), world.run()).unwrap().len(), 2);

    let done = world
        .missive()
        .retry(&retry(&operation, false), &mut patient())
        .await
        .unwrap();

    assert_eq!(done.report.resolution, Resolution::Found);
    assert_eq!(in_doubt(&world.newest(), world.run()).unwrap(), []);
    assert!(world.stored().await.contains("process_ended"));
}

#[tokio::test]
async fn a_list_of_any_length_is_recorded_within_the_bounds_of_the_log() {
    let agent = EchoAgent::start();
    let world = crashed_after_the_effect(&agent, "task report").await;
    let operation = doubtful(&world);
    let tasks: Vec<String> = (0..6_000)
        .map(|n| format!(r#"{{"id":"t-{n}","contextId":"c","status":{{"state":"TASK_STATE_WORKING"}},"history":[{{"messageId":"m-{n}"}}]}}"#))
        .collect();
    let list = format!(r#"{{"tasks":[{}],"nextPageToken":""}}"#, tasks.join(","));
    agent.peer().on("GET", "/rest/tasks", Answer::a2a(list));

    let error = world
        .missive()
        .retry(&retry(&operation, false), &mut patient())
        .await
        .unwrap_err();

    assert_eq!(error.exit(), Exit::Unknown);
    let kinds = world.kinds().await;
    let updated = kinds
        .iter()
        .filter(|kind| *kind == "a2a.task.updated")
        .count();
    assert_eq!(updated, 1_000);
}

#[tokio::test]
async fn a_message_with_redacted_parts_is_not_sent_again() {
    let agent = EchoAgent::start();
    let world = World::new()
        .with_token("hunter2-token")
        .with_agent(&agent.url())
        .await;
    let missive = world.missive();
    missive
        .agent_refresh(&alias("py"), &mut patient())
        .await
        .unwrap();
    agent.next_send_answers(Answer::close());
    let mut command = Send::text(py(), "echo my token is hunter2-token");
    command.message_id = Some(missive_log::event::MessageId::new("m-1").unwrap());
    missive.send(&command, &mut patient()).await.unwrap_err();
    let operation = doubtful(&world);

    let error = missive
        .retry(&retry(&operation, true), &mut patient())
        .await
        .unwrap_err();

    assert_eq!(
        (error.exit(), error.detail()),
        (Exit::Usage, Some("redacted"))
    );
    assert_eq!(agent.messages().len(), 1);
    assert!(!world.stored().await.contains("hunter2"));
}

#[tokio::test]
async fn an_operation_that_is_not_there_is_named_with_those_in_doubt() {
    let world = World::new();
    let operation = OperationId::new("op-1").unwrap();

    let error = world
        .missive()
        .retry(&retry(&operation, false), &mut patient())
        .await
        .unwrap_err();

    assert_eq!(told(&error), "66 operation there is no operation op-1");
}
