//! Artifacts of tasks: in which raw task each was last seen.
//!
//! A report may leave artifacts out (`includeArtifacts` in A2A 1.0 section 3.1.4), so none is ever
//! taken away. Reports that the task view refused as older change nothing.

use crate::outbox::agent_of;
use crate::rows::{Rows, Table, key_of, load, save};
use crate::source::Source;
use crate::task;
use crate::view::Projection;
use missive_log::event::ArtifactId;
use missive_log::{Event, Role};
use serde::{Deserialize, Serialize};

/// An artifact, as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its id.
    pub artifact: ArtifactId,
    /// The raw task that holds it.
    pub source: Source,
    /// Its place among the artifacts of that task, from 0.
    pub position: u32,
    /// How many parts it has.
    pub parts: u32,
}

pub(crate) struct Artifacts;

impl Projection for Artifacts {
    const NAME: &'static str = "artifact";
    const VERSION: u32 = 1;
    const TABLES: &'static [Table] = &[Table::Artifacts];

    fn apply(rows: &mut impl Rows, event: &Event) {
        let Some(facts) = task::report(&event.kind).filter(|facts| !facts.artifacts.is_empty())
        else {
            return;
        };
        let task = task::key(rows, agent_of(event).as_ref(), &facts.task);
        let shown = task::is_shown(rows, &task, event);
        let source = Source::of(event, &[Role::Task, Role::Response]);
        for (position, seen) in (0..).zip(&facts.artifacts) {
            let row = Artifact {
                artifact: seen.artifact.clone(),
                source,
                position,
                parts: seen.parts,
            };
            let key = key_of(&[&task], seen.artifact.as_str().as_bytes());
            // An older report still tells of an artifact that nothing newer has told of.
            if shown || load::<Artifact>(rows, Table::Artifacts, &key).is_none() {
                save(rows, Table::Artifacts, &key, &row);
            }
        }
    }
}
