//! Artifacts of tasks: of which raw pieces each one is made.
//!
//! An artifact comes in whole tasks and in pieces (A2A 1.0 section 4.2.2). Pieces are put together by the
//! channel that they come through (the stream of one operation, all deliveries), since several channels
//! may tell the same thing: a piece that does not append begins anew, one that appends goes behind what this channel has,
//! and one that appends to nothing begins as well, marked. What is shown is the channel that told last,
//! unless another one has more and this one lacks its beginning.
//!
//! A report may leave artifacts out (`includeArtifacts` in A2A 1.0 section 3.1.4), so none is ever
//! taken away. Reports that the task view refused as older change nothing.

use crate::outbox::agent_of;
use crate::rows::{Rows, Table, key_of, load, save};
use crate::source::Source;
use crate::task::{self, Report};
use crate::view::Projection;
use missive_log::event::facts::{ChunkFacts, TaskFacts};
use missive_log::event::{ArtifactId, EventKind, OperationId};
use missive_log::{Event, Role};
use serde::{Deserialize, Serialize};

/// An artifact, as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its id.
    pub artifact: ArtifactId,
    /// Where it begins: the raw task that holds it, or the first piece.
    pub source: Source,
    /// Its place among the artifacts of that task, from 0; none if it begins with a piece.
    pub position: Option<u32>,
    /// How many parts it has.
    pub parts: u32,
    /// How many pieces came behind the beginning.
    pub pieces: u32,
    /// Whether a piece said that it is the last one, or a whole task showed it.
    pub complete: bool,
    /// Whether it began with a piece that should have been appended to something.
    pub headless: bool,
    /// How often it was begun in this channel.
    pub(crate) epoch: u32,
    /// The operation whose stream brought it; none for answers and deliveries.
    pub(crate) channel: Option<OperationId>,
}

impl Artifact {
    /// Which version of the artifact this is in its channel: it grows with each piece and each new beginning.
    pub fn version(&self) -> u32 {
        self.epoch.saturating_add(self.pieces).saturating_add(1)
    }
}

/// The rows of the pieces of one beginning: artifact, channel, epoch.
pub(crate) fn pieces_prefix(artifact: &[u8], of: &Artifact) -> Vec<u8> {
    let channel = channel_bytes(of.channel.as_ref());
    key_of(&[artifact, channel], &of.epoch.to_be_bytes())
}

/// The key of an artifact behind the key of its task.
pub(crate) fn key(task: &[u8], artifact: &ArtifactId) -> Vec<u8> {
    key_of(&[task], artifact.as_str().as_bytes())
}

fn channel_key(artifact: &[u8], channel: Option<&OperationId>) -> Vec<u8> {
    key_of(&[artifact], channel_bytes(channel))
}

fn channel_bytes(channel: Option<&OperationId>) -> &[u8] {
    channel.map_or(b"", |operation| operation.as_str().as_bytes())
}

pub(crate) struct Artifacts;

impl Projection for Artifacts {
    const NAME: &'static str = "artifact";
    const VERSION: u32 = 2;
    const TABLES: &'static [Table] = &[Table::Artifacts, Table::Assemblies, Table::Pieces];

    fn apply(rows: &mut impl Rows, event: &Event) {
        let Some(report) = task::report(&event.kind) else {
            return;
        };
        let task = task::key(rows, agent_of(event).as_ref(), report.task());
        match report {
            Report::Whole(facts) => whole(rows, event, &task, facts),
            Report::Status(_) => {}
            Report::Chunk(facts) => piece(rows, event, &task, facts),
        }
    }
}

/// Whether an event belongs to a channel, in which pieces are appended; answers do not.
fn has_channel(event: &Event) -> bool {
    matches!(
        event.kind,
        EventKind::StreamTask(_)
            | EventKind::StreamArtifactUpdate(_)
            | EventKind::PushTask(_)
            | EventKind::PushArtifactUpdate(_)
    )
}

/// The operation whose stream brought an event; none for deliveries.
fn channel_of(event: &Event) -> Option<OperationId> {
    let streamed = matches!(
        event.kind,
        EventKind::StreamTask(_) | EventKind::StreamArtifactUpdate(_)
    );
    event.operation.clone().filter(|_| streamed)
}

fn whole(rows: &mut impl Rows, event: &Event, task: &[u8], facts: &TaskFacts) {
    if facts.artifacts.is_empty() {
        return;
    }
    let shown = task::is_shown(rows, task, event);
    let channel = channel_of(event);
    let roles = [Role::Task, Role::Response, Role::Frame, Role::Delivery];
    let source = Source::of(event, &roles);
    for (position, seen) in (0..).zip(&facts.artifacts) {
        let key = key(task, &seen.artifact);
        let mut row = Artifact {
            artifact: seen.artifact.clone(),
            source,
            position: Some(position),
            parts: seen.parts,
            pieces: 0,
            complete: true,
            headless: false,
            epoch: 0,
            channel: channel.clone(),
        };
        // What a stream or deliveries showed whole is what their pieces are appended to. An answer is
        // no beginning of theirs, so it needs no row of its own.
        if has_channel(event) {
            let assembly = channel_key(&key, channel.as_ref());
            let before = load::<Artifact>(rows, Table::Assemblies, &assembly);
            row.epoch = before.map_or(0, |before| before.epoch.saturating_add(1));
            save(rows, Table::Assemblies, &assembly, &row);
        }
        // An older report still tells of an artifact that nothing newer has told of.
        if shown || rows.get(Table::Artifacts, &key).is_none() {
            save(rows, Table::Artifacts, &key, &row);
        }
    }
}

fn piece(rows: &mut impl Rows, event: &Event, task: &[u8], facts: &ChunkFacts) {
    let key = key(task, &facts.artifact);
    let channel = channel_of(event);
    let assembly = channel_key(&key, channel.as_ref());
    let source = Source::of(event, &[Role::Frame, Role::Delivery]);
    let before = load::<Artifact>(rows, Table::Assemblies, &assembly);
    let row = match before {
        Some(mut row) if facts.append => {
            let place = row.pieces;
            row.pieces = row.pieces.saturating_add(1);
            row.parts = row.parts.saturating_add(facts.parts);
            row.complete = facts.last;
            let mut piece = pieces_prefix(&key, &row);
            piece.extend_from_slice(&place.to_be_bytes());
            save(rows, Table::Pieces, &piece, &source);
            row
        }
        before => Artifact {
            artifact: facts.artifact.clone(),
            source,
            position: None,
            parts: facts.parts,
            pieces: 0,
            complete: facts.last,
            headless: facts.append,
            epoch: before.map_or(0, |before| before.epoch.saturating_add(1)),
            channel,
        },
    };
    save(rows, Table::Assemblies, &assembly, &row);
    let shown = load::<Artifact>(rows, Table::Artifacts, &key);
    let gives_way = shown.is_some_and(|shown| {
        let other = shown.channel != row.channel || shown.source != row.source;
        other && row.headless && !shown.headless
    });
    if !gives_way {
        save(rows, Table::Artifacts, &key, &row);
    }
}
