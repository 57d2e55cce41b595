//! Rounds over the members of a group: broadcast and barrier.

use std::time::Duration;

use missive_fixtures::{Answer, EchoAgent, Gate, Piece, ScriptedPeer, Setup, refused_url};
use missive_log::event::facts::{Execution, FailurePolicy, TaskState};
use missive_log::event::kind::{GroupCreated, GroupMemberAdded, GroupMemberRemoved};
use missive_log::event::{EventKind, GroupName, OperationId, Rank, Subject};
use missive_projections::Views;

use super::{World, alias, patient};
use crate::collect::bcast::{Bcast, BcastEnd};
use crate::decide::agent_add::AgentAdd;
use crate::decide::agent_remove::AgentRemove;
use crate::decide::agent_rename::AgentRename;
use crate::decide::{Decision, Moment, Undecided};
use crate::report::send::Resolution;
use crate::{Done, Exit, Interrupt, Retry, Send, Target};

pub(super) fn team() -> GroupName {
    GroupName::new("team").unwrap()
}

/// A world in which these agents are registered and, in this order, members of `team`; their ranks are
/// `rank-1`, `rank-2` and so on.
pub(super) async fn world_of(members: &[(&str, String)]) -> World {
    let world = World::new();
    let missive = world.missive();
    for (name, url) in members {
        let command = AgentAdd::new(alias(name), url);
        missive.agent_add(&command).await.unwrap();
    }
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let made = |_: &Views, moment: &Moment<'_>| -> Result<Decision, Undecided> {
        let draft = |kind: EventKind| {
            let mut draft = moment.draft(Subject::Group(team()), kind, Vec::new());
            draft.operation = Some(moment.ids.operation());
            draft.links.group = Some(team());
            draft
        };
        let added = (1..).zip(&names).map(|(rank, name)| {
            let mut draft = draft(
                GroupMemberAdded {
                    agent: alias(name),
                    rank: Rank::new(&format!("rank-{rank}")).unwrap(),
                    tags: Vec::new(),
                    weight: None,
                }
                .into(),
            );
            draft.links.agent = Some(alias(name));
            draft
        });
        let created = draft(GroupCreated { policy: None }.into());
        Ok(Decision {
            expect: Vec::new(),
            drafts: [created].into_iter().chain(added).collect(),
        })
    };
    missive.record(&made).await.unwrap();
    drop(missive);
    world
}

pub(super) fn to_team(text: &str) -> Bcast {
    Bcast {
        group: team(),
        send: Send::text(Target::Url(String::new()), text),
        execution: Execution::Concurrent,
        failure_policy: FailurePolicy::Continue,
        stream: false,
    }
}

/// How a broadcast ended, one line for the whole and one for each member.
fn story(done: &Done<BcastEnd>) -> String {
    let mut lines = vec![format!(
        "{} {} {:?}",
        done.exit.number(),
        done.report.status.as_str(),
        done.report.counts()
    )];
    lines.extend(done.report.members.iter().map(|end| {
        let error = end
            .error
            .as_ref()
            .map_or("", |error| error.detail().unwrap_or("refused"));
        let state = end.state().map_or("-", TaskState::as_str);
        let sent = if end.operation.is_some() { "sent" } else { "-" };
        format!(
            "{} {} {} {state} {sent} {error}",
            end.seat.rank(),
            end.seat.agent(),
            end.status.as_str()
        )
        .trim_end()
        .to_owned()
    }));
    lines.join("\n")
}

#[tokio::test]
async fn a_broadcast_is_one_context_and_a_message_of_its_own_for_each_member() {
    let agents: Vec<EchoAgent> = (0..12).map(|_| EchoAgent::start()).collect();
    let names: Vec<String> = (0..12).map(|number| format!("a{number}")).collect();
    let members: Vec<(&str, String)> = names
        .iter()
        .zip(&agents)
        .map(|(name, agent)| (name.as_str(), agent.url()))
        .collect();
    let world = world_of(&members).await;

    let bcast = world.missive();
    let done = bcast.bcast(&to_team("task hi"), &(), &mut patient()).await;

    let done = done.unwrap();
    let ranks: Vec<&str> = done
        .report
        .members
        .iter()
        .map(|end| end.seat.rank().as_str())
        .collect();
    let wanted: Vec<String> = (1..=12).map(|rank| format!("rank-{rank}")).collect();
    assert_eq!(ranks, wanted);
    assert_eq!(
        story(&done).lines().next().unwrap(),
        "0 succeeded [12, 0, 0]"
    );
    let sent: Vec<_> = agents.iter().flat_map(EchoAgent::messages).collect();
    let contexts: Vec<&str> = sent
        .iter()
        .map(|m| m["contextId"].as_str().unwrap())
        .collect();
    assert_eq!(contexts, vec![done.report.context.as_str(); 12]);
    let mut ids: Vec<&str> = sent
        .iter()
        .map(|m| m["messageId"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 12);

    let views = world.newest();
    let round = views.round(&done.report.operation).unwrap().unwrap();
    assert_eq!(round.ended, Some(done.report.sequence));
    assert_eq!(
        views.round_members(&done.report.operation).unwrap().len(),
        12
    );
    assert!(views.open_rounds().unwrap().is_empty());
    assert_eq!(views.verify().unwrap().difference, None);
    let events = world.events().await;
    let of_group = events
        .iter()
        .filter(|event| event.links.group == Some(team()) && event.links.context.is_some());
    // The beginning, an intent and an outcome for each, what came of each, and the end.
    assert_eq!(of_group.count(), 1 + 2 * 12 + 12 + 1);
}

#[tokio::test]
async fn who_fails_is_a_row_and_under_stop_nobody_begins_after_it() {
    let (first, last) = (EchoAgent::start(), EchoAgent::start());
    let world = world_of(&[
        ("one", first.url()),
        ("gone", refused_url()),
        ("three", last.url()),
    ])
    .await;
    let mut told = Vec::new();
    for (execution, failure_policy) in [
        (Execution::Concurrent, FailurePolicy::Continue),
        (Execution::Sequential, FailurePolicy::Continue),
        (Execution::Sequential, FailurePolicy::Stop),
    ] {
        let command = Bcast {
            execution,
            failure_policy,
            ..to_team("echo hi")
        };
        let done = world.missive().bcast(&command, &(), &mut patient()).await;
        told.push(story(&done.unwrap()));
    }

    insta::assert_snapshot!(told.join("\n"), @r"
    0 partial_failure [2, 1, 0]
    rank-1 one succeeded - sent
    rank-2 gone failed - sent connect_refused
    rank-3 three succeeded - sent
    0 partial_failure [2, 1, 0]
    rank-1 one succeeded - sent
    rank-2 gone failed - sent connect_refused
    rank-3 three succeeded - sent
    69 partial_failure [1, 1, 1]
    rank-1 one succeeded - sent
    rank-2 gone failed - sent connect_refused
    rank-3 three skipped - -
    ");
}

#[tokio::test]
async fn one_deadline_holds_for_all_and_what_had_left_is_in_doubt() {
    let agents = [EchoAgent::start(), EchoAgent::start(), EchoAgent::start()];
    let gate = Gate::new("never");
    agents[1].next_send_waits(&gate);
    let members = [
        ("one", agents[0].url()),
        ("two", agents[1].url()),
        ("three", agents[2].url()),
    ];
    let mut world = world_of(&members).await;
    world.requests.timeout = Some(Duration::from_millis(1_500));

    let done = world
        .missive()
        .bcast(&to_team("echo hi"), &(), &mut patient())
        .await;

    let done = done.unwrap();
    insta::assert_snapshot!(story(&done), @r"
    86 timed_out [2, 0, 1]
    rank-1 one succeeded - sent
    rank-2 two in_doubt - sent total_timeout
    rank-3 three succeeded - sent
    ");
    let in_doubt = done.report.members[1].operation.clone().unwrap();
    assert_eq!(world.newest().outbox_of(&in_doubt).unwrap().len(), 1);
    gate.open();
}

#[tokio::test]
async fn a_wish_to_end_reaches_every_member() {
    let agents = [EchoAgent::start(), EchoAgent::start()];
    let gate = Gate::new("both");
    for agent in &agents {
        agent.next_send_waits(&gate);
    }
    let world = world_of(&[("one", agents[0].url()), ("two", agents[1].url())]).await;
    let arrived = gate.clone();
    let mut interrupt = Interrupt::when(async move {
        let waited = tokio::task::spawn_blocking(move || arrived.wait_arrivals(2));
        waited.await.unwrap();
    });

    let done = world
        .missive()
        .bcast(&to_team("echo hi"), &(), &mut interrupt)
        .await;

    insta::assert_snapshot!(story(&done.unwrap()), @r"
    130 canceled [0, 0, 2]
    rank-1 one in_doubt - sent interrupted
    rank-2 two in_doubt - sent interrupted
    ");
    gate.open();
}

#[tokio::test]
async fn a_member_that_is_not_registered_any_more_is_a_row_and_an_empty_group_is_refused() {
    let agent = EchoAgent::start();
    let world = world_of(&[("one", agent.url()), ("two", agent.url())]).await;
    let remove = AgentRemove {
        alias: alias("two"),
    };
    world.missive().agent_remove(&remove).await.unwrap();

    let done = world
        .missive()
        .bcast(&to_team("echo hi"), &(), &mut patient())
        .await;
    insta::assert_snapshot!(story(&done.unwrap()), @r"
    0 partial_failure [1, 1, 0]
    rank-1 one succeeded - sent
    rank-2 two unregistered - -
    ");

    let empty = world_of(&[]).await;
    let before = empty.kinds().await;
    let refused = empty
        .missive()
        .bcast(&to_team("echo hi"), &(), &mut patient())
        .await;
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the group team has no members"
    );
    assert_eq!(empty.kinds().await, before);
}

/// Takes a member out of the team.
pub(super) async fn take_out(world: &World, name: &str, rank: &str) {
    let removed = |_: &Views, moment: &Moment<'_>| -> Result<Decision, Undecided> {
        let facts = GroupMemberRemoved {
            agent: alias(name),
            rank: Rank::new(rank).unwrap(),
        };
        let subject = Subject::Group(team());
        let mut draft = moment.draft(subject, facts.into(), Vec::new());
        draft.links.group = Some(team());
        Ok(Decision {
            expect: Vec::new(),
            drafts: vec![draft],
        })
    };
    world.missive().record(&removed).await.unwrap();
}

pub(super) async fn rename(world: &World, from: &str, to: &str) {
    let command = AgentRename {
        old: alias(from),
        new: alias(to),
    };
    world.missive().agent_rename(&command).await.unwrap();
}

#[tokio::test]
async fn who_leaves_before_its_turn_is_not_asked_and_who_is_renamed_is() {
    let agents = [EchoAgent::start(), EchoAgent::start(), EchoAgent::start()];
    let gate = Gate::new("first");
    agents[0].next_send_waits(&gate);
    let world = world_of(&[
        ("one", agents[0].url()),
        ("two", agents[1].url()),
        ("three", agents[2].url()),
    ])
    .await;
    let command = Bcast {
        execution: Execution::Sequential,
        ..to_team("echo hi")
    };
    let missive = world.missive();
    let mut never = patient();
    let changing = async {
        let arrived = gate.clone();
        let waited = tokio::task::spawn_blocking(move || arrived.wait_arrived());
        waited.await.unwrap();
        take_out(&world, "two", "rank-2").await;
        rename(&world, "three", "drei").await;
        gate.open();
    };

    let (done, ()) = tokio::join!(missive.bcast(&command, &(), &mut never), changing);

    insta::assert_snapshot!(story(&done.unwrap()), @r"
    0 partial_failure [2, 0, 1]
    rank-1 one succeeded - sent
    rank-2 two left - -
    rank-3 three succeeded - sent
    ");
    let asked: Vec<usize> = agents.iter().map(|agent| agent.messages().len()).collect();
    assert_eq!(asked, [1, 0, 1]);
}

#[tokio::test]
async fn a_member_whose_connection_closes_in_the_middle_is_in_doubt_and_the_others_are_done() {
    let agents = [EchoAgent::start(), EchoAgent::start()];
    agents[0].next_send_answers(Answer::close());
    let world = world_of(&[("one", agents[0].url()), ("two", agents[1].url())]).await;

    let done = world
        .missive()
        .bcast(&to_team("echo hi"), &(), &mut patient())
        .await;

    insta::assert_snapshot!(story(&done.unwrap()), @r"
    86 partial_failure [1, 0, 1]
    rank-1 one in_doubt - sent connection_lost
    rank-2 two succeeded - sent
    ");
}

#[tokio::test]
async fn a_round_whose_process_died_is_closed_by_retry_which_names_what_had_left() {
    let agents = [EchoAgent::start(), EchoAgent::start()];
    let gate = Gate::new("held");
    agents[1].next_send_waits(&gate);
    let world = world_of(&[("one", agents[0].url()), ("two", agents[1].url())]).await;
    let dies = world.missive();
    let arrived = gate.clone();
    let hi = Bcast {
        execution: Execution::Sequential,
        ..to_team("echo hi")
    };
    let mut never = patient();
    tokio::select! {
        _ = dies.bcast(&hi, &(), &mut never) => unreachable!(),
        _ = tokio::task::spawn_blocking(move || arrived.wait_arrived()) => {}
    }
    let round = world.newest().open_rounds().unwrap().remove(0);
    let retry = Retry {
        operation: round.operation.clone(),
        resend: false,
    };
    let lives = world.missive();
    let running = lives.retry(&retry, &mut patient()).await;
    assert_eq!(running.unwrap_err().detail(), Some("still_running"));
    drop(dies);

    let closed = lives.retry(&retry, &mut patient()).await.unwrap();
    let again = lives.retry(&retry, &mut patient()).await;

    let report = closed.report;
    assert_eq!((closed.exit, report.in_doubt.len()), (Exit::Unknown, 1));
    assert_eq!(report.resolution, Resolution::Abandoned);
    assert_eq!(again.unwrap_err().detail(), Some("finished"));
    assert!(world.newest().open_rounds().unwrap().is_empty());
    assert_eq!(world.newest().verify().unwrap().difference, None);
    gate.open();
    let message = Retry {
        operation: OperationId::new(&report.in_doubt[0]).unwrap(),
        resend: true,
    };
    let resolved = lives.retry(&message, &mut patient()).await.unwrap();
    assert_eq!(resolved.report.agent.as_deref(), Some("two"));
}

#[tokio::test]
async fn one_that_hangs_one_that_is_dead_and_one_that_asks_lose_nothing_of_the_others() {
    let agents: Vec<EchoAgent> = (0..3).map(|_| EchoAgent::start()).collect();
    let gate = Gate::new("hangs");
    agents[1].next_send_waits(&gate);
    let asks = ScriptedPeer::start();
    asks.card(&serde_json::json!({}));
    let task =
        r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}"#;
    asks.on(
        "POST",
        "/rest/message:send",
        Answer::bytes(200, "application/a2a+json", task),
    );
    let mut world = world_of(&[
        ("fine", agents[0].url()),
        ("dead", refused_url()),
        ("hangs", agents[1].url()),
        ("asks", asks.url()),
        ("fine-too", agents[2].url()),
    ])
    .await;
    world.requests.timeout = Some(Duration::from_millis(1_500));

    let done = world
        .missive()
        .bcast(&to_team("echo hi"), &(), &mut patient())
        .await
        .unwrap();

    insta::assert_snapshot!(story(&done), @r"
    86 timed_out [3, 1, 1]
    rank-1 fine succeeded - sent
    rank-2 dead failed - sent connect_refused
    rank-3 hangs in_doubt - sent total_timeout
    rank-4 asks waiting input_required sent
    rank-5 fine-too succeeded - sent
    ");
    // What comes late still reaches the log.
    gate.open();
    world.requests.timeout = None;
    let retry = Retry {
        operation: done.report.members[2].operation.clone().unwrap(),
        resend: true,
    };
    let late = world.missive().retry(&retry, &mut patient()).await.unwrap();
    assert_eq!(late.report.answer.text, "hi");
}

#[tokio::test]
async fn with_streams_who_does_not_stream_is_sent_to_and_not_waited_for() {
    let agents = [
        EchoAgent::with(Setup {
            streaming: true,
            ..Setup::default()
        }),
        EchoAgent::start(),
    ];
    let world = world_of(&[("one", agents[0].url()), ("two", agents[1].url())]).await;
    let mut command = Bcast {
        stream: true,
        ..to_team("slow 1000000")
    };
    command.send.return_immediately = true;
    let gate = Gate::new("stream");
    agents[0].next_send_answers(Answer::event_stream("").then(Piece::Gate(gate.clone())));
    gate.open();

    let done = world
        .missive()
        .bcast(&command, &(), &mut patient())
        .await
        .unwrap();

    let second = &done.report.members[1];
    assert_eq!(second.status.as_str(), "accepted", "{}", story(&done));
}

#[tokio::test]
async fn a_task_that_an_answer_named_before_it_broke_is_known() {
    let peer = ScriptedPeer::start();
    peer.card(&serde_json::json!({"capabilities": {"streaming": true}}));
    let context = "talk";
    let working = format!(
        r#"{{"task":{{"id":"t","contextId":"{context}","status":{{"state":"TASK_STATE_WORKING"}}}}}}"#
    );
    peer.on_stream(&Answer::event_stream(format!("data: {working}\n\n")).then(Piece::Reset));
    let world = world_of(&[("one", peer.url())]).await;
    let mut command = Bcast {
        stream: true,
        ..to_team("go")
    };
    command.send.context = Some(context.to_owned());

    let done = world
        .missive()
        .bcast(&command, &(), &mut patient())
        .await
        .unwrap();

    let member = &done.report.members[0];
    let task = member.task().map(|task| task.to_string());
    assert_eq!(
        (member.status.as_str(), task.as_deref()),
        ("accepted", Some("t"))
    );
}

#[tokio::test]
async fn what_is_to_be_known_of_a_member_says_of_whom() {
    let (plain, odd) = (EchoAgent::start(), ScriptedPeer::start());
    odd.card(&serde_json::json!({}));
    let answer = r#"{"message":{"contextId":"other","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}"#;
    let answer = Answer::bytes(200, "application/a2a+json", answer);
    odd.on("POST", "/rest/message:send", answer);
    let world = world_of(&[("plain", plain.url()), ("odd", odd.url())]).await;
    let missive = world.missive();

    missive
        .bcast(&to_team("echo hi"), &(), &mut patient())
        .await
        .unwrap();

    let notes: Vec<String> = missive
        .take_notes()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(!notes.is_empty());
    assert!(
        notes.iter().all(|note| note.starts_with("odd: ")),
        "{notes:?}"
    );
}
