//! Messages to a group: to whom they go, who is tried next, and whose turn it is.

use missive_fixtures::{Answer, EchoAgent, ScriptedPeer, Setup, refused_url, wire};
use missive_log::event::facts::RoutingPolicy;
use missive_log::event::kind::{GroupFact, GroupMemberTried, GroupTurnTaken};
use missive_log::event::{EventKind, OperationId, Subject};
use serde_json::{Value, json};

use super::groups::{add, create, group};
use super::routing::board;
use super::{World, alias, patient, told};
use crate::decide::agent_add::AgentAdd;
use crate::decide::agent_rename::AgentRename;
use crate::decide::member::GroupAdd;
use crate::note::Note;
use crate::report::send::SendReport;
use crate::route::ask::Routing;
use crate::route::send::Routed;
use crate::{CommandError, Nobody, Send, Stream, Target};

/// A group `board` of agents at these addresses, `a1`, `a2`, ... with the ranks 1, 2, ...
async fn of_agents(urls: &[&str]) -> World {
    let world = World::new();
    let missive = world.missive();
    missive.group_create(&create("board")).await.unwrap();
    for (number, url) in (1..).zip(urls) {
        let agent = format!("a{number}");
        let command = AgentAdd::new(alias(&agent), url);
        missive.agent_add(&command).await.unwrap();
        let member = add(&agent, &number.to_string());
        missive.group_add(&member).await.unwrap();
    }
    drop(missive);
    world
}

fn by(policy: RoutingPolicy) -> Routing {
    Routing {
        policy: Some(policy),
        ..board()
    }
}

fn text(text: &str) -> Send {
    Send::text(Target::Url(String::new()), text)
}

async fn sent(world: &World, policy: RoutingPolicy, what: &str) -> Routed<SendReport> {
    let missive = world.missive();
    let (routing, message) = (by(policy), text(what));
    let routed = missive
        .send_routed(&routing, &message, &mut patient())
        .await;
    routed.unwrap()
}

async fn refused(world: &World, routing: &Routing, send: &Send) -> CommandError {
    let missive = world.missive();
    let routed = missive.send_routed(routing, send, &mut patient()).await;
    routed.unwrap_err()
}

async fn turns(world: &World) -> Vec<GroupTurnTaken> {
    let events = world.events().await.into_iter();
    let turns = events.filter_map(|event| {
        if let EventKind::Group(GroupFact::TurnTaken(taken)) = event.kind {
            return Some(taken);
        }
        None
    });
    turns.collect()
}

async fn tried(world: &World) -> Vec<GroupMemberTried> {
    let events = world.events().await.into_iter();
    let tried = events.filter_map(|event| {
        if let EventKind::Group(GroupFact::MemberTried(tried)) = event.kind {
            assert_eq!(event.links.group, Some(group("board")));
            assert_eq!(event.links.agent.as_ref(), Some(&tried.agent));
            assert!(matches!(event.subject, Some(Subject::Operation(_))));
            return Some(tried);
        }
        None
    });
    tried.collect()
}

/// `agent status operation?` of each attempt.
fn attempts(routed: &Routed<SendReport>) -> Vec<String> {
    let attempts = routed.taken.attempts.iter();
    attempts
        .map(|one| {
            let sent = if one.operation_id.is_some() {
                ""
            } else {
                " (nothing sent)"
            };
            format!("{} {}{sent}", one.agent, one.status)
        })
        .collect()
}

/// An agent that takes every message, and whose task fails.
fn failing() -> ScriptedPeer {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}))
        .on_send(&Answer::a2a(wire("send/task_failed.json")));
    peer
}

#[tokio::test]
async fn a_message_goes_to_the_first_rank_with_the_group_on_its_events() {
    let (one, two) = (EchoAgent::start(), EchoAgent::start());
    let world = of_agents(&[&one.url(), &two.url()]).await;

    let routed = sent(&world, RoutingPolicy::Direct, "echo hi").await;

    let report = routed.ended.unwrap().report;
    assert_eq!(
        (report.agent.as_str(), report.answer.text.as_str()),
        ("a1", "hi")
    );
    let route: Value = serde_json::to_value(report.route).unwrap();
    assert_eq!(
        route,
        json!({"group": "board", "policy": "direct", "agent": "a1", "rank": "1"})
    );
    assert_eq!((one.messages().len(), two.messages().len()), (1, 0));
    let events = world.events().await;
    let operation = OperationId::new(&report.operation_id).unwrap();
    let of_message = events
        .iter()
        .filter(|event| event.kind.name().starts_with("a2a.send."))
        .filter(|event| event.operation.as_ref() == Some(&operation));
    assert!(
        of_message
            .clone()
            .all(|event| event.links.group == Some(group("board")))
    );
    assert_eq!(of_message.count(), 2);
}

#[tokio::test]
async fn turns_go_round_and_each_is_a_fact() {
    let agents = [EchoAgent::start(), EchoAgent::start(), EchoAgent::start()];
    let urls = agents.each_ref().map(EchoAgent::url);
    let world = of_agents(&urls.each_ref().map(String::as_str)).await;
    let mut taken = Vec::new();

    for _ in 0..4 {
        let routed = sent(&world, RoutingPolicy::RoundRobin, "echo hi").await;
        taken.push((routed.taken.turn.unwrap(), routed.taken.agent.clone()));
    }

    let expected = [(0, "a1"), (1, "a2"), (2, "a3"), (3, "a1")];
    assert_eq!(
        taken,
        expected.map(|(turn, agent)| (turn, agent.to_owned()))
    );
    let recorded = turns(&world).await.into_iter();
    let recorded: Vec<_> = recorded
        .map(|one| (one.turn, one.agent.to_string()))
        .collect();
    assert_eq!(recorded, taken);
}

#[tokio::test]
async fn of_many_writers_no_two_get_the_same_turn() {
    let (one, two) = (EchoAgent::start(), EchoAgent::start());
    let world = of_agents(&[&one.url(), &two.url()]).await;
    // Each folds its own views, as processes do.
    let writers: Vec<_> = (0..6).map(|_| world.elsewhere()).collect();
    let routing = by(RoutingPolicy::RoundRobin);
    let message = text("echo hi");

    for _ in 0..3 {
        let all = writers.iter().map(async |writer| {
            let routed = writer.send_routed(&routing, &message, &mut patient()).await;
            routed.unwrap().ended.unwrap();
        });
        futures_util::future::join_all(all).await;
    }

    let taken: Vec<u64> = turns(&world).await.iter().map(|one| one.turn).collect();
    assert_eq!(taken, (0..18).collect::<Vec<_>>());
    assert_eq!((one.messages().len(), two.messages().len()), (9, 9));
}

#[tokio::test]
async fn work_is_shared_by_weight_over_turns() {
    let (one, two) = (EchoAgent::start(), EchoAgent::start());
    let world = of_agents(&[&one.url()]).await;
    let missive = world.missive();
    let command = AgentAdd::new(alias("heavy"), &two.url());
    missive.agent_add(&command).await.unwrap();
    let member = GroupAdd {
        weight: Some("3".parse().unwrap()),
        ..add("heavy", "2")
    };
    missive.group_add(&member).await.unwrap();

    for _ in 0..8 {
        sent(&world, RoutingPolicy::Weighted, "echo hi").await;
    }

    assert_eq!((one.messages().len(), two.messages().len()), (2, 6));
    assert_eq!(turns(&world).await.len(), 8);
}

#[tokio::test]
async fn a_fallback_goes_on_when_an_agent_cannot_be_had_and_each_attempt_is_an_event() {
    let agent = EchoAgent::start();
    let full = ScriptedPeer::start();
    full.card(&json!({})).on_send(&Answer::unavailable());
    let world = of_agents(&[&refused_url(), &full.url(), &agent.url()]).await;
    let missive = world.missive();
    let routing = by(RoutingPolicy::Fallback);

    let routed = missive
        .send_routed(&routing, &text("echo hi"), &mut patient())
        .await;

    let routed = routed.unwrap();
    assert_eq!(
        attempts(&routed),
        ["a1 failed", "a2 failed", "a3 succeeded"]
    );
    assert_eq!(routed.taken.agent, "a3");
    let recorded: Vec<_> = tried(&world).await;
    let told: Vec<_> = recorded
        .iter()
        .map(|one| (one.attempt, one.agent.as_str(), one.status.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (1, "a1", "failed"),
            (2, "a2", "failed"),
            (3, "a3", "succeeded")
        ]
    );
    assert!(
        recorded
            .iter()
            .all(|one| one.policy == RoutingPolicy::Fallback)
    );
    let notes = missive.take_notes();
    let next = notes
        .iter()
        .filter(|note| matches!(note, Note::NextTried { .. }));
    assert_eq!(next.count(), 2);
    assert_eq!(routed.ended.unwrap().report.answer.text, "hi");
}

#[tokio::test]
async fn a_fallback_stays_where_the_message_arrived_or_may_have() {
    let spare = EchoAgent::start();
    let failing = failing();
    let silent = ScriptedPeer::start();
    let cut = Answer::a2a(wire("send/task_completed.json")).reset_after(20);
    silent.card(&json!({})).on_send(&cut);
    let failed = of_agents(&[&failing.url(), &spare.url()]).await;
    let doubtful = of_agents(&[&silent.url(), &spare.url()]).await;

    let failed = sent(&failed, RoutingPolicy::Fallback, "echo hi").await;
    let doubtful = sent(&doubtful, RoutingPolicy::Fallback, "echo hi").await;

    assert_eq!(attempts(&failed), ["a1 failed"]);
    assert_eq!(failed.ended.unwrap().exit.number(), 80);
    assert_eq!(attempts(&doubtful), ["a1 in_doubt"]);
    assert_eq!(doubtful.ended.unwrap_err().exit().number(), 86);
    assert_eq!(spare.messages().len(), 0);
}

#[tokio::test]
async fn first_success_goes_on_until_one_answers_well() {
    let failing = failing();
    let silent = ScriptedPeer::start();
    let cut = Answer::a2a(wire("send/task_completed.json")).reset_after(20);
    silent.card(&json!({})).on_send(&cut);
    let (good, spare) = (EchoAgent::start(), EchoAgent::start());
    let urls = [failing.url(), silent.url(), good.url(), spare.url()];
    let world = of_agents(&urls.each_ref().map(String::as_str)).await;

    let routed = sent(&world, RoutingPolicy::FirstSuccess, "echo hi").await;

    assert_eq!(
        attempts(&routed),
        ["a1 failed", "a2 in_doubt", "a3 succeeded"]
    );
    assert_eq!(routed.ended.unwrap().exit.number(), 0);
    assert_eq!(spare.messages().len(), 0);
    assert_eq!(tried(&world).await.len(), 3);
}

#[tokio::test]
async fn a_question_back_is_an_answer_and_nobody_else_is_asked() {
    let (one, two) = (EchoAgent::start(), EchoAgent::start());
    let world = of_agents(&[&one.url(), &two.url()]).await;

    let routed = sent(&world, RoutingPolicy::FirstSuccess, "ask").await;

    assert_eq!(attempts(&routed), ["a1 waiting"]);
    assert_eq!(routed.ended.unwrap().exit.number(), 83);
    assert_eq!(two.messages().len(), 0);
}

#[tokio::test]
async fn when_nobody_succeeds_the_last_one_is_what_it_came_to() {
    let (one, two) = (failing(), failing());
    let world = of_agents(&[&one.url(), &two.url()]).await;

    let routed = sent(&world, RoutingPolicy::FirstSuccess, "echo hi").await;

    assert_eq!(attempts(&routed), ["a1 failed", "a2 failed"]);
    let done = routed.ended.unwrap();
    assert_eq!((done.exit.number(), done.report.agent.as_str()), (80, "a2"));
}

#[tokio::test]
async fn a_stream_is_routed_like_a_message() {
    let streaming = Setup {
        streaming: true,
        ..Setup::default()
    };
    let agent = EchoAgent::with(streaming);
    let world = of_agents(&[&refused_url(), &agent.url()]).await;
    let missive = world.missive();
    let command = Stream {
        send: text("task hi"),
        force: false,
        cancel_on_interrupt: false,
    };
    let routing = by(RoutingPolicy::Fallback);

    let routed = missive
        .stream_routed(&routing, &command, &mut Nobody, &mut patient())
        .await
        .unwrap();

    let report = routed.ended.unwrap().report;
    assert_eq!((report.agent.as_str(), report.end), ("a2", "terminal"));
    assert_eq!(report.route.unwrap().attempts.len(), 2);
    assert_eq!(tried(&world).await.len(), 2);
}

#[tokio::test]
async fn a_member_that_was_renamed_is_spoken_to_by_its_new_name() {
    let agent = EchoAgent::start();
    let world = of_agents(&[&agent.url()]).await;
    let rename = AgentRename {
        old: alias("a1"),
        new: alias("b1"),
    };
    world.missive().agent_rename(&rename).await.unwrap();

    let routed = sent(&world, RoutingPolicy::RoundRobin, "echo hi").await;

    assert_eq!(routed.taken.agent, "b1");
    assert!(routed.ended.is_ok());
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_and_takes_no_turn() {
    let world = World::new().with_board(&[("ada", "1")]).await;
    world
        .missive()
        .group_create(&create("empty"))
        .await
        .unwrap();
    let before = world.events().await.len();
    let mut skilled = by(RoutingPolicy::RoundRobin);
    skilled.needs.capabilities = vec!["translate".to_owned()];
    let mut said = Vec::new();
    let mut lost = text("hi");
    lost.context = Some("no such name!".to_owned());
    let empty = Routing::among(crate::route::ask::Among::Group(group("empty")));

    for (routing, send) in [
        (by(RoutingPolicy::Broadcast), text("hi")),
        (by(RoutingPolicy::Quorum), text("hi")),
        (skilled, text("hi")),
        (empty, text("hi")),
        (by(RoutingPolicy::RoundRobin), lost),
    ] {
        said.push(told(&refused(&world, &routing, &send).await));
    }

    insta::assert_snapshot!(said.join("\n"), @r"
    64 policy broadcast sends a message to several members of board at once
    64 policy quorum sends a message to several members of board at once
    66 nobody_fits round-robin chooses nobody of board
    64 empty_group the group empty has no members
    66 context no context is called no such name!
    ");
    assert_eq!(world.events().await.len(), before);
}
