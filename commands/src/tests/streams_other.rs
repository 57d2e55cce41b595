//! Answers about another task than the one that was asked about (C149): never taken for it in silence.

use missive_fixtures::{Answer, Piece, ScriptedPeer, Step};
use missive_log::event::TaskId;

use super::streams::{TASK, command, end_of, facts, status, streamed, world_of};
use super::{World, patient, py, told};
use crate::note::Note;
use crate::{Exit, OnTask, Subscribe};

const OTHER: &str =
    r#"{"task":{"id":"u","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
const OTHER_TASK: &str = r#"{"id":"u","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}"#;

fn subscribe() -> Subscribe {
    Subscribe {
        target: py(),
        task: TaskId::new("t").unwrap(),
        context: None,
        binding: None,
    }
}

async fn subscribed(world: &World) -> String {
    let ended = world
        .missive()
        .subscribe(&subscribe(), &mut Vec::new(), &mut patient())
        .await;
    end_of(&ended)
}

#[tokio::test]
async fn a_subscription_that_follows_another_task_is_a_broken_answer_and_not_waited_for() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    // It would never end by itself.
    peer.on_subscribe(
        "t",
        &Answer::a2a_stream([Step::from(OTHER), Step::from(Piece::Never)]),
    );

    let end = subscribed(&world).await;

    insta::assert_snapshot!(end, @"76 broken_answer the agent's answer is unusable: its stream is about another task");
    let log = facts(&world.events().await);
    assert!(
        log.ends_with("task closed(error: protocol_violation)"),
        "{log}"
    );
    // What came is kept as what it is about.
    let views = world.newest();
    let other = views.task(&TaskId::new("u").unwrap(), None).unwrap();
    assert!(other.is_some());
    assert_eq!(views.task(&TaskId::new("t").unwrap(), None).unwrap(), None);
}

#[tokio::test]
async fn an_update_of_another_task_in_front_does_not_end_a_subscription_to_ours() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    let foreign = status("WORKING").replace("\"t\"", "\"u\"");
    let steps = [foreign, TASK.to_owned(), status("COMPLETED")];
    peer.on_subscribe("t", &Answer::a2a_stream(steps));

    assert_eq!(subscribed(&world).await, "0 terminal completed \"\"");
}

#[tokio::test]
async fn a_continued_task_that_is_answered_with_another_one_is_flagged_once() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    let steps = [TASK.to_owned(), status("WORKING"), status("COMPLETED")];
    peer.on_stream(&Answer::a2a_stream(
        steps.map(|step| step.replace("\"t\"", "\"u\"")),
    ));
    let mut command = command("more");
    command.send.task = Some(TaskId::new("t").unwrap());
    let missive = world.missive();

    let (ended, shown) = streamed(&missive, &command).await;

    let odd = "task_mismatch: the answer is about another task than the message";
    assert!(
        shown.iter().all(|event| event.violations == [odd]),
        "{shown:?}"
    );
    assert_eq!(missive.take_notes(), [Note::Violation(odd.to_owned())]);
    let done = ended.unwrap();
    assert_eq!(
        (done.exit, done.report.answer.task_id.as_deref()),
        (Exit::Done, Some("u"))
    );
}

#[tokio::test]
async fn a_cancellation_that_is_answered_with_another_task_is_no_cancellation() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    peer.on_cancel(
        "t",
        &Answer::a2a(OTHER_TASK.replace("COMPLETED", "CANCELED")),
    );
    let on = OnTask {
        target: py(),
        task: TaskId::new("t").unwrap(),
    };

    let error = world
        .missive()
        .task_cancel(&on, &mut patient())
        .await
        .unwrap_err();

    insta::assert_snapshot!(told(&error), @"76 broken_answer the agent's answer is unusable: it is about another task");
}
