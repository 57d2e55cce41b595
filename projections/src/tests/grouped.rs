//! What facts about groups and rounds make of groups, their members, rounds and outputs.

use super::streamed::views;
use super::*;
use crate::{GroupEntry, Standing};
use missive_log::event::facts::{
    Execution, FailurePolicy, MemberStatus, ReduceMethod, ReduceStrategy, RoundStatus,
    RoutingPolicy, Weight,
};
use missive_log::event::kind::*;
use missive_log::event::{GroupName, Rank};

fn group(name: &str) -> GroupName {
    GroupName::new(name).unwrap()
}

fn rank(name: &str) -> Rank {
    Rank::new(name).unwrap()
}

fn of_group(name: &str, kind: impl Into<EventKind>) -> Draft {
    let subject = Subject::Group(group(name));
    let mut draft = Draft::new(EventId([1; 16]), subject, kind.into());
    draft.links.group = Some(group(name));
    draft
}

fn member(agent: &str, at: &str) -> GroupMemberAdded {
    GroupMemberAdded {
        agent: alias(agent),
        rank: rank(at),
        tags: Vec::new(),
        weight: None,
    }
}

fn of_round(kind: impl Into<EventKind>) -> Draft {
    let subject = Subject::Operation(operation("round"));
    let mut draft = Draft::new(EventId([1; 16]), subject, kind.into());
    draft.operation = Some(operation("round"));
    draft.links.group = Some(group("board"));
    draft.links.context = Some(context("one"));
    draft
}

fn started() -> BcastStarted {
    BcastStarted {
        instance: InstanceId([3; 8]),
        execution: Execution::Concurrent,
        failure_policy: FailurePolicy::Continue,
        members: 2,
        timeout_ms: None,
        position: Seq(1),
        member_ids: Vec::new(),
    }
}

fn ended(agent: &str, at: &str, status: MemberStatus) -> BcastMemberEnded {
    BcastMemberEnded {
        agent: alias(agent),
        rank: rank(at),
        status,
        operation: Some(operation("op-1")),
        task: None,
        state: None,
        failure: None,
    }
}

fn completed(status: RoundStatus) -> BcastCompleted {
    BcastCompleted {
        status,
        succeeded: 1,
        failed: 0,
        unfinished: 0,
    }
}

fn in_context(op: &str, agent: &str, kind: EventKind) -> Draft {
    let mut draft = of(op, agent, None, kind);
    draft.links.context = Some(context("one"));
    draft
}

/// A fact about a group or a round, out of the numbers of a step.
pub(super) fn of_numbers(step: &Step) -> EventKind {
    let agent = AGENTS[usize::from(step.task)];
    let at = ["rank-10", "rank-2", "a", "b"][usize::from(step.context)];
    let status = MemberStatus::ALL[step.state];
    match step.what % 8 {
        0 => GroupCreated {
            policy: Some(RoutingPolicy::ALL[step.state]),
        }
        .into(),
        1 => GroupRenamed {
            to: group(["one", "two"][usize::from(step.back % 2)]),
        }
        .into(),
        2 => GroupDeleted {}.into(),
        3 => member(agent, at).into(),
        4 => GroupMemberRemoved {
            agent: alias(agent),
            rank: rank(at),
        }
        .into(),
        5 => started().into(),
        6 => ended(agent, at, status).into(),
        _ => completed(RoundStatus::ALL[step.state % 5]).into(),
    }
}

/// The subject of such a fact.
pub(super) fn subject_of_numbers(step: &Step) -> Subject {
    Subject::Group(group(
        ["one", "two", "three"][usize::from(step.operation % 3)],
    ))
}

#[test]
fn a_group_keeps_its_members_and_its_turn_under_another_name() {
    let mut world = World::new();
    let policy = Some(RoutingPolicy::RoundRobin);
    world.append(of_group("board", GroupCreated { policy }));
    world.append(of_group("board", member("bob", "rank-10")));
    world.append(of_group("board", member("ada", "rank-2")));
    let taken = GroupTurnTaken {
        turn: 4,
        agent: alias("ada"),
        rank: rank("rank-2"),
    };
    world.append(of_group("board", taken));
    let to = group("council");
    let renamed = world.append(of_group("board", GroupRenamed { to: to.clone() }));
    world.append(of_group("council", GroupRenamed { to: to.clone() }));

    let views = views(&world);
    let found = views.group(&to).unwrap().unwrap();
    let members = views.members(&found).unwrap();

    let ranks: Vec<&str> = members.iter().map(|m| m.rank.as_str()).collect();
    assert_eq!(ranks, ["rank-2", "rank-10"]);
    assert_eq!((found.members, found.turn, found.policy), (2, 5, policy));
    assert_eq!(found.former, [group("board")]);
    assert_eq!(
        views.group_entry(&group("board")).unwrap(),
        Some(GroupEntry::Renamed { to, at: renamed })
    );
}

#[test]
fn a_member_is_the_agent_that_was_added_whatever_became_of_it() {
    let mut world = World::new();
    world.append(about("ada", added("http://one.test")));
    world.append(about("bob", added("http://one.test")));
    world.append(of_group("board", GroupCreated { policy: None }));
    for (agent, at) in [("ada", "1"), ("bob", "2"), ("cyd", "3")] {
        world.append(of_group("board", member(agent, at)));
    }
    world.append(about("ada", renamed("dot")));
    world.append(about("bob", removed()));
    world.append(about("ada", added("http://two.test")));
    world.append(about("bob", added("http://two.test")));

    let views = views(&world);
    let board = views.group(&group("board")).unwrap().unwrap();
    let members = views.members(&board).unwrap();
    let standings = views.standings(&members).unwrap();

    assert_eq!(
        standings,
        [
            Standing::Registered(alias("dot")),
            Standing::Removed,
            Standing::Unregistered
        ]
    );
}

#[test]
fn a_rank_is_free_again_and_weights_are_kept() {
    let mut world = World::new();
    world.append(of_group("board", GroupCreated { policy: None }));
    world.append(of_group("board", member("ada", "1")));
    let gone = GroupMemberRemoved {
        agent: alias("ada"),
        rank: rank("1"),
    };
    world.append(of_group("board", gone));
    let heavy = GroupMemberAdded {
        weight: "2.5".parse().ok(),
        ..member("bob", "1")
    };
    world.append(of_group("board", heavy));

    let views = views(&world);
    let board = views.group(&group("board")).unwrap().unwrap();
    let members = views.members(&board).unwrap();

    assert_eq!(board.members, 1);
    assert_eq!(members[0].agent, alias("bob"));
    assert_eq!(members[0].weight.to_string(), "2.5");
    assert_eq!(
        members[0].weight,
        Weight::from_millionths(2_500_000).unwrap()
    );
}

#[test]
fn a_round_is_open_until_its_first_end_and_lists_its_members_by_rank() {
    let mut world = World::new();
    let begun = world.append(of_round(started()));
    let open = views(&world).open_rounds().unwrap();
    world.append(of_round(ended("bob", "rank-10", MemberStatus::InDoubt)));
    world.append(of_round(ended("ada", "rank-9", MemberStatus::Succeeded)));
    let end = world.append(of_round(completed(RoundStatus::PartialFailure)));
    world.append(of_round(completed(RoundStatus::Succeeded)));
    world.append(of_round(started()));

    let views = views(&world);
    let round = views.round(&operation("round")).unwrap().unwrap();
    let members = views.round_members(&operation("round")).unwrap();

    assert_eq!(open.len(), 1);
    assert_eq!((round.begun, round.ended), (begun, Some(end)));
    assert_eq!(round.status, Some(RoundStatus::PartialFailure));
    assert_eq!(views.open_rounds().unwrap(), []);
    let agents: Vec<&str> = members.iter().map(|m| m.agent.as_str()).collect();
    assert_eq!(agents, ["ada", "bob"]);
}

#[test]
fn the_sources_of_a_reduction_are_one_list_in_the_order_of_its_parts() {
    let mut world = World::new();
    let part = |part| ReduceSources {
        part,
        sources: Vec::new(),
    };
    let second = world.append(of_round(part(1)));
    let first = world.append(of_round(part(0)));
    let done = ReduceCompleted {
        strategy: ReduceStrategy::Vote,
        method: ReduceMethod::Local,
        position: Seq(1),
        inputs: 2,
        sources: 2,
        reducer: None,
        operation: None,
        task: None,
    };
    world.append(of_round(done));

    let views = views(&world);

    let parts = views.reduce_sources(&operation("round")).unwrap();
    assert_eq!(parts, [first, second]);
    let round = views.round(&operation("round")).unwrap().unwrap();
    assert_eq!(round.status, Some(RoundStatus::Succeeded));
}

#[test]
fn the_latest_output_is_the_task_begun_last_and_what_was_said_since() {
    let mut world = World::new();
    let answer = |id: &str| responded(Some(id), None);
    world.append(in_context("op-1", "ada", answer("first words")));
    let working = seen("one", TaskState::Working, None);
    world.append(in_context("op-2", "ada", responded(None, Some(working))));
    let before = views(&world).outputs(&context("one")).unwrap();
    let said = world.append(in_context("op-3", "ada", answer("last words")));
    let mut late = in_context("op-4", "ada", answer("of an older task"));
    late.links.task = Some(task("zero"));
    world.append(late);
    world.append(in_context("op-5", "bob", answer("hello")));

    let outputs = views(&world).outputs(&context("one")).unwrap();

    assert_eq!(before[0].task, Some(task("one")));
    assert_eq!(before[0].message, None);
    assert_eq!(outputs.len(), 2);
    let ada = &outputs[0];
    assert_eq!(ada.task, Some(task("one")));
    assert_eq!(ada.message.as_ref().map(|said| said.source.seq), Some(said));
    let bob = &outputs[1];
    assert_eq!(bob.agent, Some(alias("bob")));
    assert_eq!(bob.task, None);
}

#[test]
fn a_report_of_an_older_task_does_not_hide_the_newer_one() {
    let mut world = World::new();
    let report = |id: &str, state| responded(None, Some(seen(id, state, None)));
    world.append(in_context("op-1", "ada", report("one", TaskState::Working)));
    world.append(in_context("op-2", "ada", report("two", TaskState::Working)));
    world.append(in_context(
        "op-1",
        "ada",
        report("one", TaskState::Completed),
    ));

    let outputs = views(&world).outputs(&context("one")).unwrap();

    assert_eq!(outputs[0].task, Some(task("two")));
}
