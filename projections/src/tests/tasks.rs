//! Tasks, their artifacts, contexts and messages, as peers report them: late, twice, out of order.

use super::*;
use crate::{Direction, PayloadSource, Views, ViewsHost};
use missive_log::chain::Commitment;
use missive_log::{Media, PayloadRef, Role};
use std::ops::ControlFlow;

fn views(world: &World) -> Views {
    let head = world.head();
    let host = Arc::new(ViewsHost::in_memory(head.log, world.source()));
    Views::hosted(host, head.seq)
}

/// The state after two reports, the second after the first.
fn after(first: (TaskState, Option<u64>), second: (TaskState, Option<u64>)) -> TaskState {
    let mut world = World::new();
    for (state, state_at) in [first, second] {
        let state_at = state_at.map(|s| BEGIN + s * 1_000_000);
        world.append(about("ada", updated(seen("t", state, state_at))));
    }
    views(&world).task(&task("t"), None).unwrap().unwrap().state
}

#[test]
fn of_two_reports_the_newer_one_counts() {
    use TaskState::{Completed, Failed, InputRequired, Working};
    const FAR: u64 = 1_000_000;
    let table = [
        (
            "by the order of the log",
            (Working, None),
            (InputRequired, None),
            InputRequired,
        ),
        (
            "by the peer's clock",
            (Working, Some(5)),
            (InputRequired, Some(6)),
            InputRequired,
        ),
        (
            "the older one came late",
            (InputRequired, Some(6)),
            (Working, Some(5)),
            InputRequired,
        ),
        (
            "finished stays finished",
            (Completed, None),
            (Working, None),
            Completed,
        ),
        (
            "one clock is no clock",
            (Completed, Some(6)),
            (Working, None),
            Completed,
        ),
        (
            "at the same moment too",
            (Completed, Some(6)),
            (Working, Some(6)),
            Completed,
        ),
        (
            "whatever the peer's clock says",
            (Completed, Some(6)),
            (Working, Some(7)),
            Completed,
        ),
        (
            "the first end counts",
            (Completed, None),
            (Failed, None),
            Completed,
        ),
        (
            "a clock of a far day is no clock",
            (Working, Some(FAR)),
            (Completed, Some(5)),
            Completed,
        ),
    ];
    for (what, first, second, state) in table {
        assert_eq!(after(first, second), state, "{what}");
    }
}

#[test]
fn a_refused_report_is_counted_and_still_tells_of_unknown_artifacts() {
    let mut world = World::new();
    let artifact = |id: &str, parts| ArtifactFacts {
        artifact: ArtifactId::new(id).unwrap(),
        parts,
    };
    let newer = world.append(about(
        "ada",
        updated(TaskFacts {
            artifacts: vec![artifact("a", 2)],
            history: 4,
            ..seen("t", TaskState::Completed, Some(BEGIN + 9))
        }),
    ));
    let older = world.append(about(
        "ada",
        updated(TaskFacts {
            artifacts: vec![artifact("a", 1), artifact("b", 1)],
            ..seen("t", TaskState::Working, Some(BEGIN + 1))
        }),
    ));

    let views = views(&world);
    let task = views.task(&task("t"), None).unwrap().unwrap();
    let artifacts = views.artifacts(&task).unwrap();

    assert_eq!((task.state, task.source.seq), (TaskState::Completed, newer));
    assert_eq!((task.refused, task.last), (1, older));
    assert_eq!((task.artifacts, task.history), (2, 4));
    let found: Vec<_> = artifacts
        .iter()
        .map(|a| (a.artifact.as_str(), a.parts))
        .collect();
    assert_eq!(found, [("a", 2), ("b", 1)]);
    assert_eq!(
        views
            .artifact(&task, &artifacts[1].artifact)
            .unwrap()
            .unwrap()
            .source
            .seq,
        older
    );
}

#[test]
fn agents_with_equal_task_ids_do_not_meet() {
    let mut world = World::new();
    world.append(about("ada", updated(seen("t", TaskState::Completed, None))));
    world.append(about("bob", updated(seen("t", TaskState::Working, None))));

    let views = views(&world);
    let of = |name: &str| views.task(&task("t"), Some(&alias(name))).unwrap().unwrap();

    assert_eq!(of("ada").state, TaskState::Completed);
    assert_eq!(of("bob").state, TaskState::Working);
    assert_eq!(views.task(&task("t"), Some(&alias("cyd"))).unwrap(), None);
    // Without a name, the one that was heard of last.
    assert_eq!(views.task(&task("t"), None).unwrap().unwrap(), of("bob"));
}

#[test]
fn a_context_that_the_peer_chose_counts_the_message_that_opened_it() {
    let mut world = World::new();
    let sent = world.append(of("op", "ada", None, send("m", 1)));
    let task_of_c = TaskFacts {
        context: Some(context("c")),
        ..seen("t", TaskState::InputRequired, None)
    };
    world.append(of(
        "op",
        "ada",
        Some(sent),
        responded(None, Some(task_of_c)),
    ));
    let mut second = of("op2", "ada", None, send("m2", 1));
    second.links.context = Some(context("c"));
    second.links.task = Some(task("t"));
    let second = world.append(second);
    let mut again = of("op2", "ada", None, send("m2", 2));
    again.links.context = Some(context("c"));
    let again = world.append(again);
    let mut reply = of("op2", "ada", Some(second), responded(Some("r"), None));
    reply.links.context = Some(context("c"));
    let reply = world.append(reply);

    let views = views(&world);
    let c = views.context(&context("c")).unwrap().unwrap();
    let first = views.message(&message("m")).unwrap().unwrap();
    let tasks = views.tasks_in(&context("c")).unwrap();

    assert_eq!((c.messages, c.tasks, c.agents), (3, 1, 1));
    assert_eq!((c.first, c.last), (Seq(3), reply));
    assert_eq!(
        (first.context, first.task),
        (Some(context("c")), Some(task("t")))
    );
    assert_eq!(tasks[0].task, task("t"));
    assert_eq!(tasks[0].last, sent.next());
    assert_eq!(views.agents_in(&context("c")).unwrap(), [alias("ada")]);
    let m2 = views.message(&message("m2")).unwrap().unwrap();
    assert_eq!((m2.seq, m2.last), (second, again));
    assert_eq!(views.contexts().unwrap().len(), 1);
}

#[test]
fn a_list_of_any_length_can_be_gone_through_or_left() {
    let mut world = World::new();
    let report = |n: u32| {
        about(
            "ada",
            updated(seen(&format!("t{n:04}"), TaskState::Working, None)),
        )
    };
    world.append_all((0..2_048).map(report).collect());
    let views = views(&world);
    let (mut all, mut few) = (Vec::new(), 0);

    views
        .each_task(&mut |task| {
            all.push(task);
            ControlFlow::Continue(())
        })
        .unwrap();
    views
        .each_task(&mut |_| {
            few += 1;
            if few < 5 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
        .unwrap();

    assert_eq!(all, views.tasks().unwrap());
    assert_eq!((all.len(), few), (2_048, 5));
}

#[test]
fn the_tasks_of_a_context_can_be_gone_through_oldest_first_one_by_one() {
    let mut world = World::new();
    // Their ids sort the other way round.
    let report = |n: u32| {
        let mut draft = about(
            "ada",
            updated(seen(&format!("t{n:04}"), TaskState::Working, None)),
        );
        draft.links.context = Some(context("c"));
        draft
    };
    world.append_all((0..1_500).rev().map(report).collect());
    world.append(report(700));
    let views = views(&world);

    let places = views.task_places_in(&context("c")).unwrap();

    let tasks: Vec<_> = places
        .iter()
        .map(|place| views.task_at(place).unwrap().unwrap())
        .collect();
    assert_eq!(tasks, views.tasks_in(&context("c")).unwrap());
    assert_eq!((tasks.len(), &tasks[0].task), (1_500, &task("t1499")));
}

#[test]
fn a_message_that_was_sent_comes_before_one_that_came_with_its_id() {
    let mut world = World::new();
    let sent = world.append(of("op", "ada", None, send("m", 1)));
    world.append(of("op", "ada", Some(sent), responded(Some("m"), None)));

    let views = views(&world);

    let found = views.message(&message("m")).unwrap().unwrap();
    assert_eq!((found.direction, found.seq), (Direction::Sent, sent));
    assert_eq!(views.messages_named(&message("m")).unwrap().len(), 2);
}

#[test]
fn a_source_names_the_raw_task_before_the_whole_answer() {
    let mut world = World::new();
    world.append(about("ada", updated(seen("t", TaskState::Working, None))));
    let mut event = world.records().pop().unwrap().decode().unwrap();
    let payload = |index, role| PayloadRef {
        seq: event.seq,
        index,
        role,
        media: Media::Json,
        commitment: Commitment([0; 32]),
        redacted: 0,
    };
    event.payloads = vec![payload(0, Role::Response), payload(1, Role::Task)];

    let source = PayloadSource::of(&event, &[Role::Task, Role::Response]);

    assert_eq!(source.payload, Some(1));
    assert_eq!(source.find(&event), Some(event.payloads[1]));
    assert_eq!(PayloadSource::of(&event, &[Role::Note]).payload, None);
}
