//! What streams, deliveries and declarations make of tasks, artifacts, contexts and the outbox.

use super::*;
use crate::{Artifact, Intent, Views, ViewsHost};
use missive_log::event::PushConfigId;
use missive_log::event::facts::{ChunkFacts, ContextName, StatusFacts, StreamEnd};
use missive_log::event::kind::*;

pub(super) fn views(world: &World) -> Views {
    let head = world.head();
    let host = Arc::new(ViewsHost::in_memory(head.log, world.source()));
    Views::hosted(host, head.seq)
}

pub(super) fn streaming(id: &str) -> EventKind {
    EventKind::StreamRequested(StreamRequested {
        instance: InstanceId([3; 8]),
        message: message(id),
        binding: Binding::JsonRpc,
        url: url("http://one.test/rpc"),
        source: InterfaceSource::Card,
        version: Version::new("1.0").unwrap(),
        tenant: None,
        parts: 1,
        attempt: 1,
    })
}

pub(super) fn subscribed(id: &str, resume: u32) -> EventKind {
    EventKind::SubscriptionRequested(SubscriptionRequested {
        instance: InstanceId([3; 8]),
        task: task(id),
        binding: Binding::JsonRpc,
        url: url("http://one.test/rpc"),
        resume,
    })
}

pub(super) fn chunk(id: &str, artifact: &str, append: bool, last: bool) -> ChunkFacts {
    ChunkFacts {
        task: task(id),
        context: None,
        artifact: ArtifactId::new(artifact).unwrap(),
        parts: 1,
        append,
        last,
    }
}

pub(super) fn brought(update: u64, chunk: ChunkFacts) -> EventKind {
    EventKind::StreamArtifactUpdate(StreamArtifactUpdate {
        update,
        chunk,
        violations: Vec::new(),
    })
}

pub(super) fn told(update: u64, id: &str, state: TaskState) -> EventKind {
    EventKind::StreamStatusUpdate(StreamStatusUpdate {
        update,
        status: status(id, state),
        violations: Vec::new(),
    })
}

pub(super) fn status(id: &str, state: TaskState) -> StatusFacts {
    StatusFacts {
        task: task(id),
        context: None,
        state,
        state_at: None,
        message: None,
    }
}

pub(super) fn shown(update: u64, task: TaskFacts) -> EventKind {
    EventKind::StreamTask(StreamTask {
        update,
        task,
        violations: Vec::new(),
    })
}

pub(super) fn closed(end: StreamEnd, updates: u64) -> EventKind {
    EventKind::StreamClosed(StreamClosed {
        end,
        status: Some(200),
        failure: None,
        error: None,
        updates,
        state: None,
    })
}

pub(super) fn delivered(status: StatusFacts, linked: bool, duplicate: bool) -> EventKind {
    EventKind::PushStatusUpdate(PushStatusUpdate {
        status,
        linked,
        duplicate,
        violations: Vec::new(),
    })
}

/// A stream of one operation, whose updates name its request.
fn stream(world: &mut World, op: &str, updates: Vec<EventKind>) -> Seq {
    let begun = world.append(of(op, "ada", None, streaming(op)));
    for update in updates {
        world.append(of(op, "ada", Some(begun), update));
    }
    begun
}

fn artifact(world: &World, id: &str) -> (Artifact, Vec<Seq>) {
    let views = views(world);
    let task = views.task(&task("t"), None).unwrap().unwrap();
    let id = ArtifactId::new(id).unwrap();
    let found = views.artifact(&task, &id).unwrap().unwrap();
    let pieces = views.pieces(&task, &found).unwrap();
    (found, pieces.iter().map(|piece| piece.seq).collect())
}

#[test]
fn pieces_of_an_artifact_are_put_together_by_the_rules() {
    let mut world = World::new();
    let begun = stream(
        &mut world,
        "op",
        vec![
            brought(1, chunk("t", "a1", false, false)),
            brought(2, chunk("t", "a1", true, true)),
            brought(3, chunk("t", "b1", true, false)),
        ],
    );
    let (whole, pieces) = artifact(&world, "a1");
    assert_eq!((whole.source.seq, whole.parts), (begun.next(), 2));
    assert_eq!(pieces, [Seq(begun.0 + 2)]);
    assert!(whole.complete && !whole.headless);
    let (headless, _) = artifact(&world, "b1");
    assert!(headless.headless && !headless.complete);

    let anew = world.append(of(
        "op",
        "ada",
        Some(begun),
        brought(4, chunk("t", "a1", false, false)),
    ));

    let (whole, pieces) = artifact(&world, "a1");
    assert_eq!((whole.source.seq, whole.parts, pieces.len()), (anew, 1, 0));
}

#[test]
fn a_snapshot_after_a_broken_stream_replaces_what_was_put_together() {
    let mut world = World::new();
    stream(
        &mut world,
        "op",
        vec![
            brought(1, chunk("t", "a", false, false)),
            brought(2, chunk("t", "a", true, false)),
            closed(StreamEnd::Broken, 2),
        ],
    );
    let again = world.append(of("op", "ada", None, subscribed("t", 1)));
    let snapshot = TaskFacts {
        artifacts: vec![ArtifactFacts {
            artifact: ArtifactId::new("a").unwrap(),
            parts: 3,
        }],
        ..seen("t", TaskState::Working, None)
    };
    let snapshot = world.append(of("op", "ada", Some(again), shown(1, snapshot)));
    let fourth = world.append(of(
        "op",
        "ada",
        Some(again),
        brought(2, chunk("t", "a", true, true)),
    ));

    let (whole, pieces) = artifact(&world, "a");

    assert_eq!((whole.source.seq, whole.position), (snapshot, Some(0)));
    assert_eq!((whole.parts, pieces), (4, vec![fourth]));
}

#[test]
fn two_channels_that_tell_the_same_do_not_double_it() {
    let mut world = World::new();
    let first = stream(
        &mut world,
        "op",
        vec![
            brought(1, chunk("t", "a", false, false)),
            brought(2, chunk("t", "a", true, false)),
        ],
    );
    let push = EventKind::PushArtifactUpdate(PushArtifactUpdate {
        chunk: chunk("t", "a", true, false),
        linked: true,
        duplicate: false,
        violations: Vec::new(),
    });
    world.append(about("ada", push));

    let (whole, pieces) = artifact(&world, "a");

    assert_eq!((whole.source.seq, whole.parts), (first.next(), 2));
    assert_eq!(pieces.len(), 1);
}

#[test]
fn a_first_end_counts_and_what_says_otherwise_is_flagged() {
    use TaskState::{Canceled, Completed, Working};
    let mut world = World::new();
    let begun = stream(
        &mut world,
        "op",
        vec![told(1, "t", Working), told(2, "t", Completed)],
    );
    for of in ["c", "another"] {
        let status = StatusFacts {
            context: Some(context(of)),
            ..status("t", Completed)
        };
        world.append(about("ada", delivered(status, true, false)));
    }
    world.append(about("ada", delivered(status("t", Canceled), true, false)));
    world.append(about("ada", delivered(status("t", Working), true, false)));
    world.append(about("ada", delivered(status("t", Canceled), false, false)));
    world.append(about("ada", delivered(status("t", Canceled), true, true)));

    let task = views(&world).task(&task("t"), None).unwrap().unwrap();

    assert_eq!(
        (task.state, task.ended),
        (Completed, Some(Seq(begun.0 + 2)))
    );
    assert_eq!((task.contradicted, task.refused), (1, 1));
    assert_eq!(task.context, Some(context("c")));
    assert_eq!(task.status.seq, Seq(begun.0 + 4));
    assert_eq!(task.source.payload, None);
}

#[test]
fn a_stream_is_open_until_it_is_closed_and_knows_its_task() {
    let mut world = World::new();
    let begun = stream(&mut world, "op", vec![told(1, "t", TaskState::Working)]);
    let open = views(&world).outbox().unwrap();
    assert_eq!(
        (open[0].seq, open[0].intent, open[0].task.clone()),
        (begun, Intent::Stream, Some(task("t")))
    );
    let doubted = stream(&mut world, "op2", vec![closed(StreamEnd::InDoubt, 0)]);
    world.append(of("op", "ada", Some(begun), closed(StreamEnd::Detached, 1)));
    let open = views(&world).outbox().unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!((open[0].seq, open[0].doubt.is_some()), (doubted, true));

    let resolved = EventKind::SendResolved(SendResolved {
        task: seen("t2", TaskState::Working, None),
    });
    world.append(of("op2", "ada", Some(doubted), resolved));

    assert_eq!(views(&world).outbox().unwrap(), []);
}

#[test]
fn a_streamed_message_is_in_the_task_that_its_first_update_names() {
    let mut world = World::new();
    stream(
        &mut world,
        "m",
        vec![
            told(1, "t", TaskState::Working),
            told(2, "u", TaskState::Working),
        ],
    );

    let found = views(&world).message(&message("m")).unwrap().unwrap();

    assert_eq!(found.task, Some(task("t")));
}

fn declared(id: &str, kind: EventKind) -> Draft {
    let mut draft = Draft::new(EventId([1; 16]), Subject::Context(context(id)), kind);
    draft.links.context = Some(context(id));
    draft
}

fn named(name: &str) -> EventKind {
    EventKind::ContextNamed(ContextNamed {
        name: ContextName::new(name).unwrap(),
    })
}

#[test]
fn contexts_have_names_parents_and_ends() {
    let mut world = World::new();
    let begun = world.append(declared("c", EventKind::ContextCreated(ContextCreated {})));
    world.append(declared("c", named("Release 1")));
    world.append(declared("d", named("Release 1")));
    world.append(declared(
        "e",
        EventKind::ContextForked(ContextForked { from: context("c") }),
    ));
    let end = world.append(declared("c", EventKind::ContextClosed(ContextClosed {})));

    let views = views(&world);
    let of = |id: &str| views.context(&context(id)).unwrap().unwrap();
    let name = ContextName::new("Release 1").unwrap();

    assert_eq!(views.context_named(&name).unwrap(), Some(context("c")));
    assert_eq!((of("c").begun, of("c").closed), (Some(begun), Some(end)));
    assert_eq!((of("d").name, of("e").parent), (None, Some(context("c"))));
    assert_eq!(views.children_of(&context("c")).unwrap(), [context("e")]);
}

#[test]
fn push_configurations_are_kept_until_they_are_removed() {
    let mut world = World::new();
    let configured = |config: &str| {
        EventKind::PushConfigured(PushConfigured {
            task: task("t"),
            config: PushConfigId::new(config).unwrap(),
            url: url("http://here.test/push"),
            token: true,
            authentication: false,
        })
    };
    world.append(about("ada", updated(seen("t", TaskState::Working, None))));
    world.append(about("ada", configured("one")));
    world.append(about("ada", configured("two")));
    world.append(about("bob", configured("three")));
    let removed = PushRemoved {
        task: task("t"),
        config: PushConfigId::new("one").unwrap(),
    };
    world.append(about("ada", EventKind::PushRemoved(removed)));

    let views = views(&world);
    let task = views
        .task(&task("t"), Some(&alias("ada")))
        .unwrap()
        .unwrap();
    let configs = views.push_configs(&task).unwrap();

    assert_eq!(configs.len(), 1);
    assert_eq!(configs[0].config.as_str(), "two");
}
