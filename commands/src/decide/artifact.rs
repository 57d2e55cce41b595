//! Artifacts leave the log as files: that is itself an event, written before the files are.

use missive_log::Role;
use missive_log::event::facts::PayloadFacts;
use missive_log::event::kind::ArtifactsSaved;
use missive_log::event::{ArtifactId, EventKind, Links, Subject, TaskId};
use missive_log::payload::About;
use missive_projections::Views;

use super::{Decide, Decision, Moment, Undecided};
use crate::facts::fitting;

/// The most artifacts and the most payloads that one event names.
const NAMED_MAX: usize = 256;

/// What is about to be written to files.
#[derive(Clone, Debug)]
pub struct SaveArtifacts {
    /// The task.
    pub task: TaskId,
    /// Whose, and in which context.
    pub links: Links,
    /// Which artifacts.
    pub artifacts: Vec<ArtifactId>,
    /// How many files.
    pub files: usize,
    /// The payloads that they are made of, each once.
    pub sources: Vec<PayloadFacts>,
    /// The names of the files, with lengths and digests, as JSON.
    pub names: String,
}

impl Decide for SaveArtifacts {
    fn decide(&self, _views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let kind = EventKind::ArtifactsSaved(ArtifactsSaved {
            task: self.task.clone(),
            artifacts: fitting(self.artifacts.iter().cloned(), NAMED_MAX),
            files: count(self.files),
            sources: self.sources.iter().take(NAMED_MAX).cloned().collect(),
            sources_total: count(self.sources.len()),
        });
        let about = About {
            media_type: Some("application/json".to_owned()),
            name: None,
        };
        let names = self.names.as_bytes();
        let names = moment.redactor.json(moment.ids, Role::Files, about, names);
        let subject = Subject::Task(self.task.clone());
        let mut draft = moment.draft(subject, kind, vec![names]);
        draft.operation = Some(moment.ids.operation());
        draft.links = self.links.clone();
        Ok(Decision {
            expect: Vec::new(),
            drafts: vec![draft],
        })
    }
}
