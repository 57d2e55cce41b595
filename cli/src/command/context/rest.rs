//! What an export holds beside turns and events: tasks with their artifacts, and what is not there in full.

use super::story::Chapter;
use missive_log::event::ArtifactId;
use missive_log::export::Shown;
use missive_projections::{Context, TaskPlace, Views, ViewsError};
use serde::Serialize;

/// The most withheld payloads that are named one by one; the counts are of all.
const NAMED_MAX: usize = 1_000;
/// How many tasks are read at once.
const PAGE: usize = 256;

/// A task of the context.
#[derive(Serialize)]
pub(super) struct TaskRow {
    pub(super) task_id: String,
    pub(super) agent: Option<String>,
    pub(super) state: &'static str,
    pub(super) updated: String,
    pub(super) artifacts: Vec<ArtifactRow>,
}

/// An artifact of a task.
#[derive(Serialize)]
pub(super) struct ArtifactRow {
    pub(super) artifact_id: ArtifactId,
    pub(super) parts: u32,
    pub(super) complete: bool,
}

/// The tasks of a context, oldest first, some at a time: a long context may have as many as it has messages.
pub(super) struct Tasks {
    views: Views,
    places: std::vec::IntoIter<TaskPlace>,
}

impl Tasks {
    pub(super) fn of(context: &Context, views: Views) -> Result<Self, ViewsError> {
        let places = views.task_places_in(&context.context)?.into_iter();
        Ok(Self { views, places })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.len() == 0
    }

    /// The next ones; none at the end.
    pub(super) fn page(&mut self) -> Result<Vec<TaskRow>, ViewsError> {
        let mut rows = Vec::new();
        for place in self.places.by_ref().take(PAGE) {
            let Some(task) = self.views.task_at(&place)? else {
                continue;
            };
            let artifacts = self.views.artifacts(&task)?.into_iter();
            rows.push(TaskRow {
                task_id: task.task.to_string(),
                agent: task.agent.as_ref().map(ToString::to_string),
                state: task.state.as_str(),
                updated: task.updated.to_string(),
                artifacts: artifacts
                    .map(|artifact| ArtifactRow {
                        artifact_id: artifact.artifact,
                        parts: artifact.parts,
                        complete: artifact.complete,
                    })
                    .collect(),
            });
        }
        Ok(rows)
    }
}

/// What is not there in full.
#[derive(Default, Serialize)]
pub(super) struct Withheld {
    pub(super) redacted: u64,
    pub(super) erased: u64,
    pub(super) missing: u64,
    /// The first of them.
    pub(super) payloads: Vec<WithheldPayload>,
}

/// One payload that is not there in full.
#[derive(Serialize)]
pub(super) struct WithheldPayload {
    pub(super) sequence: u64,
    pub(super) index: u16,
    pub(super) role: &'static str,
    pub(super) why: &'static str,
}

impl Withheld {
    pub(super) fn note(&mut self, chapter: &Chapter) {
        for held in &chapter.held {
            let why = match &held.shown {
                Shown::Erased(_) => {
                    self.erased += 1;
                    "erased"
                }
                Shown::Missing | Shown::Withheld => {
                    self.missing += 1;
                    "missing"
                }
                Shown::Present(_) if held.of.redacted > 0 => {
                    self.redacted += 1;
                    "redacted"
                }
                Shown::Present(_) => continue,
            };
            if self.payloads.len() < NAMED_MAX {
                self.payloads.push(WithheldPayload {
                    sequence: held.of.seq.0,
                    index: held.of.index,
                    role: held.of.role.as_str(),
                    why,
                });
            }
        }
    }
}
