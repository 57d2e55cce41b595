//! Barriers over the members of a group.

use std::time::Duration;

use missive_fixtures::{Answer, EchoAgent, Setup};
use missive_log::event::facts::{FailurePolicy, TaskState};

use super::rounds::{rename, take_out, team, world_of};
use super::{World, alias, patient};
use crate::collect::barrier::{Barrier, BarrierEnd};
use crate::{Done, Send, Target};

#[tokio::test]
async fn a_barrier_does_not_wait_for_who_leaves_and_minds_no_rename() {
    let agents = [EchoAgent::start(), EchoAgent::start(), EchoAgent::start()];
    let mut told = Vec::new();
    for required in [None, Some(3)] {
        let world = at_work(&agents, ["ask", "done", "slow 1000000"]).await;
        let command = Barrier {
            required,
            local: true,
            ..barrier("work")
        };
        let waits = world.missive();
        let mut never = patient();
        let changing = async {
            rename(&world, "one", "eins").await;
            take_out(&world, "three", "rank-3").await;
            let mut send = Send::text(Target::Alias(alias("eins")), "my name");
            let tasks = agents[0].tasks();
            let task = tasks.last().unwrap()["id"].as_str().unwrap();
            send.task = Some(missive_log::event::TaskId::new(task).unwrap());
            world.missive().send(&send, &mut patient()).await.unwrap();
        };

        let (done, ()) = tokio::join!(waits.barrier(&command, &(), &mut never), changing);
        told.push(barrier_story(&done.unwrap()));
    }

    insta::assert_snapshot!(told.join("\n"), @r"
    0 succeeded [2, 0, 1]
    rank-1 succeeded completed
    rank-2 succeeded completed
    rank-3 left working
    80 failed [1, 0, 2]
    rank-1 waiting input_required
    rank-2 succeeded completed
    rank-3 left working
    ");
}

fn barrier(context: &str) -> Barrier {
    Barrier {
        group: team(),
        context: context.to_owned(),
        bcast: None,
        states: Vec::new(),
        required: None,
        failure_policy: FailurePolicy::Continue,
        interval: Some(Duration::from_millis(1)),
        local: false,
    }
}

fn barrier_story(done: &Done<BarrierEnd>) -> String {
    let mut lines = vec![format!(
        "{} {} {:?}",
        done.exit.number(),
        done.report.status.as_str(),
        done.report.counts()
    )];
    lines.extend(done.report.members.iter().map(|member| {
        let state = member.state.map_or("-", TaskState::as_str);
        let rank = member.seat.rank();
        format!("{rank} {} {state}", member.status.as_str())
    }));
    lines.join("\n")
}

/// Three agents that were each sent something in the context `work`.
async fn at_work(agents: &[EchoAgent; 3], texts: [&str; 3]) -> World {
    let world = world_of(&[
        ("one", agents[0].url()),
        ("two", agents[1].url()),
        ("three", agents[2].url()),
    ])
    .await;
    for (name, text) in ["one", "two", "three"].into_iter().zip(texts) {
        let mut send = Send::text(Target::Alias(alias(name)), text);
        send.context = Some("work".to_owned());
        send.return_immediately = true;
        world.missive().send(&send, &mut patient()).await.unwrap();
    }
    world
}

#[tokio::test]
async fn a_barrier_waits_for_everyone_by_asking_again() {
    let agents = [EchoAgent::start(), EchoAgent::start(), EchoAgent::start()];
    let world = at_work(&agents, ["slow 3", "echo only a message", "done"]).await;

    let done = world
        .missive()
        .barrier(&barrier("work"), &(), &mut patient())
        .await;

    insta::assert_snapshot!(barrier_story(&done.unwrap()), @r"
    0 succeeded [3, 0, 0]
    rank-1 succeeded completed
    rank-2 succeeded -
    rank-3 succeeded completed
    ");
}

#[tokio::test]
async fn a_barrier_follows_where_agents_stream() {
    let streams = || {
        EchoAgent::with(Setup {
            streaming: true,
            ..Setup::default()
        })
    };
    let agents = [streams(), streams(), streams()];
    let world = at_work(&agents, ["slow 3", "slow 2", "done"]).await;
    let command = Barrier {
        interval: None,
        ..barrier("work")
    };

    let done = world.missive().barrier(&command, &(), &mut patient()).await;

    insta::assert_snapshot!(barrier_story(&done.unwrap()), @r"
    0 succeeded [3, 0, 0]
    rank-1 succeeded completed
    rank-2 succeeded completed
    rank-3 succeeded completed
    ");
    let kinds = world.kinds().await;
    let subscribed = kinds
        .iter()
        .filter(|kind| *kind == "a2a.subscription.requested");
    assert_eq!(subscribed.count(), 2, "{kinds:?}");
}

#[tokio::test]
async fn a_quorum_that_cannot_be_reached_ends_the_barrier_at_once() {
    let agents = [EchoAgent::start(), EchoAgent::start(), EchoAgent::start()];
    let world = at_work(&agents, ["slow 1000000", "fail", "done"]).await;
    let mut told = Vec::new();
    for (required, states) in [
        (None, vec![]),
        (Some(1), vec![]),
        (Some(2), vec![TaskState::Failed, TaskState::Completed]),
        (Some(4), vec![]),
    ] {
        let command = Barrier {
            states,
            required,
            ..barrier("work")
        };
        let done = world.missive().barrier(&command, &(), &mut patient()).await;
        told.push(match done {
            Ok(done) => barrier_story(&done),
            Err(error) => super::told(&error),
        });
    }

    insta::assert_snapshot!(told.join("\n"), @r"
    80 failed [1, 1, 1]
    rank-1 accepted working
    rank-2 failed failed
    rank-3 succeeded completed
    0 succeeded [1, 1, 1]
    rank-1 accepted working
    rank-2 failed failed
    rank-3 succeeded completed
    0 succeeded [2, 0, 1]
    rank-1 accepted working
    rank-2 succeeded failed
    rank-3 succeeded completed
    80 failed [1, 1, 1]
    rank-1 accepted working
    rank-2 failed failed
    rank-3 succeeded completed
    ");
}

#[tokio::test]
async fn a_barrier_ends_with_its_deadline_and_says_who_was_left() {
    let agents = [EchoAgent::start(), EchoAgent::start(), EchoAgent::start()];
    let mut world = at_work(&agents, ["slow 1000000", "ask", "done"]).await;
    world.requests.timeout = Some(Duration::from_millis(300));

    let done = world
        .missive()
        .barrier(&barrier("work"), &(), &mut patient())
        .await;

    insta::assert_snapshot!(barrier_story(&done.unwrap()), @r"
    82 timed_out [1, 0, 2]
    rank-1 accepted working
    rank-2 waiting input_required
    rank-3 succeeded completed
    ");
}

#[tokio::test]
async fn a_local_barrier_asks_nobody_and_sees_what_others_record() {
    let agents = [EchoAgent::start(), EchoAgent::start(), EchoAgent::start()];
    let world = at_work(&agents, ["done", "ask", "done"]).await;
    let waits = world.missive();
    let command = Barrier {
        local: true,
        interval: None,
        ..barrier("work")
    };
    let mut never = patient();
    let waiting = waits.barrier(&command, &(), &mut never);
    let asked: Vec<usize> = agents
        .iter()
        .map(|agent| agent.peer().requests().len())
        .collect();

    let answering = async {
        let mut send = Send::text(Target::Alias(alias("two")), "my name");
        let task = agents[1].tasks()[0]["id"].as_str().unwrap().to_owned();
        send.task = Some(missive_log::event::TaskId::new(&task).unwrap());
        world.missive().send(&send, &mut patient()).await.unwrap();
    };
    let (done, ()) = tokio::join!(waiting, answering);

    insta::assert_snapshot!(barrier_story(&done.unwrap()), @r"
    0 succeeded [3, 0, 0]
    rank-1 succeeded completed
    rank-2 succeeded completed
    rank-3 succeeded completed
    ");
    let now: Vec<usize> = agents
        .iter()
        .map(|agent| agent.peer().requests().len())
        .collect();
    assert_eq!(now, [asked[0], asked[1] + 1, asked[2]]);
}

#[tokio::test]
async fn an_earlier_answer_is_none_where_a_later_message_is_in_doubt() {
    let agents = [EchoAgent::start(), EchoAgent::start(), EchoAgent::start()];
    let world = at_work(&agents, ["done", "done", "done"]).await;
    agents[1].next_send_answers(Answer::close());
    let mut send = Send::text(Target::Alias(alias("two")), "done again");
    send.context = Some("work".to_owned());
    let lost = world.missive().send(&send, &mut patient()).await;
    let operation = lost.unwrap_err().operation().cloned();

    let done = world
        .missive()
        .barrier(&barrier("work"), &(), &mut patient())
        .await
        .unwrap();

    insta::assert_snapshot!(barrier_story(&done), @r"
    80 failed [2, 1, 0]
    rank-1 succeeded completed
    rank-2 in_doubt -
    rank-3 succeeded completed
    ");
    assert_eq!(done.report.members[1].doubt, operation);
}

#[tokio::test]
async fn a_bad_answer_says_nothing_of_the_task_and_is_asked_for_again() {
    for bad in [
        Answer::text(200, "<html>please wait</html>"),
        Answer::status(503),
        Answer::close(),
    ] {
        let agents = [EchoAgent::start(), EchoAgent::start(), EchoAgent::start()];
        let world = at_work(&agents, ["slow 2", "done", "done"]).await;
        let task = agents[0].tasks()[0]["id"].as_str().unwrap().to_owned();
        let path = format!("/rest/tasks/{task}");
        for _ in 0..4 {
            agents[0].peer().once("GET", &path, bad.clone());
        }

        let done = world
            .missive()
            .barrier(&barrier("work"), &(), &mut patient())
            .await;

        let done = done.unwrap();
        assert_eq!(done.report.counts(), [3, 0, 0], "{}", barrier_story(&done));
    }
}
