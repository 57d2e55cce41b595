//! One task, for people and programs.

use super::super::beside::Beside;
use super::super::seconds;
use crate::render::{Kind, Page, Report};
use missive_commands::report::send::AnswerReport;
use missive_commands::report::task::{TaskArtifact, TaskReport, TaskView};
use serde::Serialize;

/// A task by the name of the command that shows it.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Shown(#[serde(skip)] pub(super) Kind, pub(super) TaskReport);

/// What a task says, as an answer does.
pub(super) fn answer(task: &TaskView) -> AnswerReport {
    AnswerReport {
        task_id: Some(task.task_id.clone()),
        context_id: task.context_id.clone(),
        state: Some(task.state),
        unrecognized_state: task.unrecognized_state.clone(),
        text: task.text.clone().unwrap_or_default(),
        raw: task.raw.clone(),
        ..AnswerReport::default()
    }
}

/// The artifacts of a task in one cell.
pub(super) fn cell(task: &TaskView) -> String {
    let words: Vec<String> = task.artifacts.iter().map(words).collect();
    words.join(", ")
}

/// An artifact in a few words.
fn words(artifact: &TaskArtifact) -> String {
    let parts = match artifact.parts {
        1 => "1 part".to_owned(),
        more => format!("{more} parts"),
    };
    let state = match (artifact.headless, artifact.complete) {
        (true, _) => ", its beginning never came",
        (false, false) => ", not complete",
        (false, true) => "",
    };
    let id = &artifact.artifact_id;
    match &artifact.name {
        Some(name) => format!("{id} \"{name}\" ({parts}{state})"),
        None => format!("{id} ({parts}{state})"),
    }
}

impl Report for Shown {
    fn kind(&self) -> Kind {
        self.0
    }

    fn human(&self, page: &mut Page) {
        let task = &self.1.task;
        let history = match task.history_count {
            0 => String::new(),
            1 => "1 message".to_owned(),
            messages => format!("{messages} messages"),
        };
        let state = match &task.unrecognized_state {
            Some(name) => format!("{} ({name})", task.state),
            None => task.state.to_owned(),
        };
        page.fields(&[
            ("task", &task.task_id),
            ("state", &state),
            ("agent", task.agent.as_deref().unwrap_or_default()),
            ("context", task.context_id.as_deref().unwrap_or_default()),
            ("updated", &seconds(&task.updated)),
            ("artifacts", &cell(task)),
            ("history", &history),
        ]);
        let text = task.text.as_deref().unwrap_or_default();
        let beside = Beside::of(task.raw.as_ref().map(|raw| raw.get()));
        if !text.is_empty() || !beside.is_empty() {
            page.line("");
        }
        if !text.is_empty() {
            page.block(text);
        }
        if task.text_cut {
            page.line("and more: `missive task artifact show` shows all of it");
        }
        beside.show(page);
    }
}
