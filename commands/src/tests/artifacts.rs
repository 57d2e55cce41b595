//! Artifacts that came in pieces.

use std::ops::ControlFlow;

use missive_log::event::facts::{ChunkFacts, StatusFacts, TaskState};
use missive_log::event::kind::{StreamArtifactUpdate, StreamStatusUpdate};
use missive_log::event::{ArtifactId, ContextId, Draft, EventKind, Links, Subject, TaskId};
use missive_log::payload::About;
use missive_log::payload::redact::Redactor;
use missive_log::{Batch, Log, Role};

use super::{World, alias};
use crate::artifact::{Content, Hole, gather};
use crate::task::view;

/// Appends what a stream brought.
async fn streamed(world: &World, frames: &[(EventKind, &str)]) {
    let operation = world.ids.operation();
    let redactor = Redactor::default();
    let drafts = frames.iter().map(|(kind, frame)| {
        let subject = Subject::Task(TaskId::new("t").unwrap());
        let mut draft = Draft::new(world.ids.event(), subject, kind.clone());
        draft.operation = Some(operation.clone());
        draft.links = Links {
            agent: Some(alias("py")),
            context: Some(ContextId::new("c").unwrap()),
            task: Some(TaskId::new("t").unwrap()),
            group: None,
        };
        draft.payloads =
            vec![redactor.json(&world.ids, Role::Frame, About::default(), frame.as_bytes())];
        draft
    });
    let batch = Batch {
        id: world.ids.batch(),
        expect: Vec::new(),
        drafts: drafts.collect(),
    };
    world.log.append(batch).await.unwrap();
}

fn piece(artifact: &str, append: bool, last: bool) -> EventKind {
    EventKind::StreamArtifactUpdate(StreamArtifactUpdate {
        update: 1,
        chunk: ChunkFacts {
            task: TaskId::new("t").unwrap(),
            context: None,
            artifact: ArtifactId::new(artifact).unwrap(),
            parts: 1,
            append,
            last,
        },
        violations: Vec::new(),
    })
}

fn completed() -> EventKind {
    EventKind::StreamStatusUpdate(StreamStatusUpdate {
        update: 2,
        status: StatusFacts {
            task: TaskId::new("t").unwrap(),
            context: None,
            state: TaskState::Completed,
            state_at: None,
            message: None,
        },
        violations: Vec::new(),
    })
}

/// Name, texts with a bar in front of each appended piece, and what is missing.
async fn read(world: &World, artifact: &str) -> (Option<String>, String, Vec<Hole>) {
    let views = world.newest();
    let task = views
        .task(&TaskId::new("t").unwrap(), None)
        .unwrap()
        .unwrap();
    let id = ArtifactId::new(artifact).unwrap();
    let artifact = views.artifact(&task, &id).unwrap().unwrap();
    let mut text = String::new();
    let gathered = gather(&*world.log, &views, &task, &artifact, |part| {
        if part.appended {
            text.push('|');
        }
        match part.content {
            Content::Text(more) | Content::Data(more) | Content::Raw(more) => text.push_str(more),
            Content::Url(_) | Content::Unknown => text.push('?'),
        }
        ControlFlow::Continue(())
    });
    let gathered = gathered.await.unwrap();
    (gathered.name, text, gathered.holes)
}

#[tokio::test]
async fn an_artifact_in_pieces_is_put_together_from_its_beginning() {
    let world = World::new();
    streamed(
        &world,
        &[
            (piece("a1", false, false), r#"{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a1","name":"n","parts":[{"text":"Hel"}]}}}"#),
            (piece("a1", true, true), r#"{"jsonrpc":"2.0","id":"1","result":{"artifact_update":{"artifact":{"artifact_id":"a1","parts":[{"text":"lo"}]},"append":true}}}"#),
            (piece("b1", true, false), r#"{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"b1","parts":[{"data": {"n":1.0}}]},"append":true}}"#),
            (completed(), r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","message":null}}}"#),
        ],
    )
    .await;

    assert_eq!(
        read(&world, "a1").await,
        (Some("n".to_owned()), "Hel|lo".to_owned(), vec![])
    );
    assert_eq!(
        read(&world, "b1").await,
        (None, r#"{"n":1.0}"#.to_owned(), vec![])
    );
    let views = world.newest();
    let task = views
        .task(&TaskId::new("t").unwrap(), None)
        .unwrap()
        .unwrap();
    let shown = view(&*world.log, &views, &task, None).await.unwrap();
    assert_eq!(
        (shown.state, shown.source, shown.text.as_deref()),
        ("completed", "stream", Some("Hello"))
    );
    let artifacts: Vec<_> = shown
        .artifacts
        .iter()
        .map(|one| (one.complete, one.headless))
        .collect();
    assert_eq!(artifacts, [(true, false), (false, true)]);

    streamed(
        &world,
        &[(
            piece("a1", false, false),
            r#"{"artifactUpdate":{"artifact":{"artifactId":"a1","parts":[{"text":"again"}]}}}"#,
        )],
    )
    .await;

    assert_eq!(read(&world, "a1").await.1, "again");
}

#[tokio::test]
async fn a_piece_that_does_not_hold_the_artifact_is_a_hole() {
    let world = World::new();
    streamed(
        &world,
        &[
            (
                piece("a", false, false),
                r#"{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}"#,
            ),
            (piece("a", true, false), r#"{"artifactUpdate":[]}"#),
            (
                piece("a", true, true),
                r#"{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"y"}]}}}"#,
            ),
        ],
    )
    .await;

    let (_, text, holes) = read(&world, "a").await;

    assert_eq!(text, "x|y");
    assert_eq!(holes.len(), 1);
    assert_eq!(holes[0].why.name(), "unreadable");
}
