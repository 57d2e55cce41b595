//! What all updates of a stream together say of its task.
//!
//! Promises: a snapshot replaces, a piece is appended or replaces (A2A 1.0, section 4.2.2; C062, C067);
//! what a peer should not have sent is flagged and not lost (C065); what is held of texts is bounded.
//! The same is folded from the log by the views; this one is for whoever watches.

use missive_log::event::facts::TaskState as State;

use crate::decide::send::Place;
use crate::facts;
use crate::report::send::AnswerReport;
use crate::report::stream::StreamEvent;
use crate::wire::answer::{Reading, Reply};
use crate::wire::facts::{MessageFacts, TaskFacts};
use crate::wire::state::TaskState;
use crate::wire::update::{ChunkFacts, Update, UpdateKind};
use crate::wire::violation::{Violation, Violations};

/// The most bytes of text that are held of all artifacts and messages.
const TEXT_BYTES_MAX: usize = 64 << 20;
/// The most parts that are held of all artifacts, their facts without their content, and messages.
const PARTS_MAX: usize = 250_000;

/// A task as a stream tells of it.
#[derive(Debug, Default)]
pub(crate) struct Picture {
    /// The task; what its updates say of artifacts and state is in here.
    task: TaskFacts,
    /// The texts of messages, in order.
    messages: Vec<String>,
    /// The context that was asked for.
    asked_in: Option<String>,
    /// The task that the message was for.
    asked_of: Option<String>,
    /// Whether a snapshot of another task came.
    foreign: bool,
    /// Whether anything came that belongs to its task.
    own: bool,
    /// What was told of its state after its end, if that is another one.
    told_after: Option<String>,
    /// The context, if only messages named one.
    context_id: Option<String>,
    /// The newest whole Task, or the last Message, exactly as received.
    raw: Option<String>,
    odd: Violations,
    text_bytes: usize,
    parts: usize,
    pub(crate) text_cut: bool,
    /// How many updates came.
    pub(crate) updates: u64,
    /// How many things came that are no updates.
    pub(crate) malformed: u64,
}

impl Picture {
    /// Of a task that is known by its id.
    pub(crate) fn of_task(id: &str, context: Option<&str>) -> Self {
        let task = TaskFacts {
            task_id: Some(id.to_owned()),
            context_id: context.map(str::to_owned),
            ..TaskFacts::default()
        };
        Self {
            task,
            asked_in: context.map(str::to_owned),
            ..Self::default()
        }
    }

    /// Of whatever answers a message to this place.
    pub(crate) fn asked_in(place: &Place) -> Self {
        Self {
            asked_in: place.context.as_ref().map(ToString::to_string),
            asked_of: place.task.as_ref().map(ToString::to_string),
            ..Self::default()
        }
    }

    /// Whether all that came is about a task that nobody asked for (C149).
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign && !self.own
    }

    /// Takes over how the task ended as far as the log knows: the first end counts.
    pub(crate) fn ended(&mut self, state: State) {
        self.task.state = TaskState::named(state.as_str()).filter(TaskState::is_terminal);
    }

    /// What the peer says after the first end, and that end, if these are two.
    pub(crate) fn contradiction(&self) -> Option<(&str, &'static str)> {
        Some((self.told_after.as_deref()?, self.state()?.as_str()))
    }

    /// The task, once it is known.
    pub(crate) fn task_id(&self) -> Option<&str> {
        self.task.task_id.as_deref()
    }

    /// The context, once it is known.
    pub(crate) fn context_id(&self) -> Option<&str> {
        self.task
            .context_id
            .as_deref()
            .or(self.context_id.as_deref())
    }

    /// Whether nothing came that says that the message arrived.
    pub(crate) fn is_empty(&self) -> bool {
        self.task.task_id.is_none() && self.messages.is_empty()
    }

    /// Whether a message came, and no task.
    pub(crate) fn is_message(&self) -> bool {
        self.task.task_id.is_none() && !self.messages.is_empty()
    }

    /// The state of the task.
    pub(crate) fn state(&self) -> Option<State> {
        self.task.task_id.as_ref()?;
        Some(
            self.task
                .state
                .as_ref()
                .map_or(State::Unrecognized, facts::state),
        )
    }

    /// Takes an update, which gets what is wrong with it in this stream. Gives what is shown of it.
    pub(crate) fn take(&mut self, update: &mut Update) -> StreamEvent {
        self.updates += 1;
        let foreign = self.judge(update);
        let event = event_of(update, self.task_id());
        if foreign {
            self.foreign |= matches!(update.kind, UpdateKind::Task(_));
        } else {
            self.own = true;
            self.merge(&update.kind);
        }
        match &update.kind {
            UpdateKind::Task(_) if foreign => {}
            UpdateKind::Task(_) => self.raw = Some(update.raw.clone()),
            UpdateKind::Message(_) if self.task.task_id.is_none() => {
                self.raw = Some(update.raw.clone());
            }
            UpdateKind::Message(_) | UpdateKind::Status(_) | UpdateKind::Artifact(_) => {}
        }
        self.odd.extend(update.odd.clone());
        event
    }

    /// Takes the answer to a question about the task, which replaces what was known.
    pub(crate) fn replace(&mut self, reading: &Reading) {
        if let Reply::Task(task) = &reading.reply {
            self.own = true;
            self.snapshot(task.clone());
            self.raw = Some(reading.raw.clone());
            self.odd.extend(reading.odd.clone());
        }
    }

    /// Takes one whole answer where a stream was expected.
    pub(crate) fn answered(&mut self, reading: &Reading) {
        self.updates += 1;
        self.raw = Some(reading.raw.clone());
        self.odd.extend(reading.odd.clone());
        match &reading.reply {
            Reply::Task(task) => self.snapshot(task.clone()),
            Reply::Message(message) => {
                self.messages.push(message.text.clone());
                self.context_id.clone_from(&message.context_id);
            }
            Reply::Tasks { .. } | Reply::Push(_) | Reply::Card(_) => {}
        }
    }

    /// The same as an answer to a question.
    pub(crate) fn reading(&self) -> Reading {
        Reading {
            reply: Reply::Task(self.task.clone()),
            raw: self.raw.clone().unwrap_or_default(),
            odd: Violations::default(),
        }
    }

    /// The same, of whatever came.
    pub(crate) fn into_reading(self) -> Reading {
        if !self.is_message() {
            return self.reading();
        }
        let message = MessageFacts {
            context_id: self.context_id,
            text: self.messages.join("\n"),
            ..MessageFacts::default()
        };
        Reading {
            reply: Reply::Message(message),
            raw: self.raw.unwrap_or_default(),
            odd: self.odd,
        }
    }

    /// Flags what does not belong into this stream; whether it is about another task.
    fn judge(&self, update: &mut Update) -> bool {
        let odd = &mut update.odd;
        let known = self.task.task_id.as_deref();
        let is_message = matches!(update.kind, UpdateKind::Message(_));
        if is_message && (known.is_some() || !self.messages.is_empty()) {
            let what = "a message in a stream about a task, or a second one";
            odd.note("unexpected_message", what);
        }
        if self.has_ended() && !matches!(update.kind, UpdateKind::Task(_)) {
            odd.note("after_the_end", "an update after the end of the task");
        }
        if let UpdateKind::Artifact(chunk) = &update.kind {
            let id = &chunk.artifact.artifact_id;
            let base = self
                .task
                .artifacts
                .iter()
                .any(|known| known.artifact_id == *id);
            if chunk.append && !base {
                let what = "a piece is appended to an artifact that was never begun";
                odd.note("append_without_base", what);
            }
        }
        if differs(self.asked_in.as_deref(), update.context_id()) {
            let what = "the answer is in another context than the request";
            update.odd.note("context_mismatch", what);
        }
        let foreign = differs(known, update.task_id());
        if foreign {
            let what = "an update of another task than the stream's";
            update.odd.note("task_mismatch", what);
        } else if differs(self.asked_of.as_deref(), update.task_id()) {
            let what = "the answer is about another task than the message";
            update.odd.note("task_mismatch", what);
        }
        foreign
    }

    fn merge(&mut self, update: &UpdateKind) {
        match update {
            UpdateKind::Task(task) => self.snapshot(task.clone()),
            UpdateKind::Message(message) => {
                if self.room(message.text.len(), 1) {
                    self.messages.push(message.text.clone());
                }
                if self.context_id.is_none() {
                    self.context_id.clone_from(&message.context_id);
                }
            }
            UpdateKind::Status(status) => {
                self.name(status.task_id.as_ref(), status.context_id.as_ref());
                // The first end counts, here as in the views (C074, C076); this one is flagged.
                if self.has_ended() {
                    self.told_again(&status.state);
                    return;
                }
                self.task.state = Some(status.state.clone());
                self.task.updated.clone_from(&status.updated);
                // A null status message says nothing of the earlier one's text (C066).
                if status.text.is_some() {
                    self.task.status_text.clone_from(&status.text);
                }
            }
            UpdateKind::Artifact(chunk) => {
                self.name(chunk.task_id.as_ref(), chunk.context_id.as_ref());
                self.chunk(chunk);
            }
        }
    }

    fn name(&mut self, task: Option<&String>, context: Option<&String>) {
        if self.task.task_id.is_none() {
            self.task.task_id = task.cloned();
        }
        if self.task.context_id.is_none() {
            self.task.context_id = context.cloned();
        }
    }

    /// Notes a state that was told after the end.
    fn told_again(&mut self, state: &TaskState) {
        if self.task.state.as_ref().is_some_and(|end| end != state) {
            self.told_after = Some(state.name().to_owned());
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.task.state.as_ref().is_some_and(TaskState::is_terminal)
    }

    fn snapshot(&mut self, task: TaskFacts) {
        if let Some(state) = task.state.as_ref().filter(|_| self.has_ended()) {
            self.told_again(state);
        }
        let end = self.task.state.take().filter(TaskState::is_terminal);
        let (id, context) = (self.task.task_id.take(), self.task.context_id.take());
        let texts: usize = task
            .artifacts
            .iter()
            .map(|artifact| artifact.text.len())
            .sum();
        let parts = task.artifacts.iter().map(|artifact| artifact.parts.len());
        self.parts = parts.sum::<usize>() + self.messages.len();
        self.text_bytes = texts + self.messages.iter().map(String::len).sum::<usize>();
        self.task = task;
        self.task.state = end.or(self.task.state.take());
        self.task.task_id = self.task.task_id.take().or(id);
        self.task.context_id = self.task.context_id.take().or(context);
    }

    fn chunk(&mut self, chunk: &ChunkFacts) {
        let piece = &chunk.artifact;
        let has_room = self.room(piece.text.len(), piece.parts.len().max(1));
        let known = self
            .task
            .artifacts
            .iter_mut()
            .find(|known| known.artifact_id == piece.artifact_id);
        let Some(known) = known else {
            if has_room {
                self.task.artifacts.push(piece.clone());
            }
            return;
        };
        if !chunk.append {
            self.text_bytes = self.text_bytes.saturating_sub(known.text.len());
            self.parts = self.parts.saturating_sub(known.parts.len());
            known.text.clear();
            known.parts.clear();
        }
        if has_room {
            known.text.push_str(&piece.text);
            known.parts.extend(piece.parts.iter().cloned());
        }
        if piece.name.is_some() {
            known.name.clone_from(&piece.name);
        }
    }

    /// Whether so much more may be held.
    fn room(&mut self, text: usize, parts: usize) -> bool {
        let fits = self.text_bytes + text <= TEXT_BYTES_MAX && self.parts + parts <= PARTS_MAX;
        if fits {
            self.text_bytes += text;
            self.parts += parts;
        } else {
            self.text_cut = true;
        }
        fits
    }

    /// What machines and people are told at the end.
    pub(crate) fn report(&self) -> AnswerReport {
        let reading = self.reading();
        let mut report = if self.is_message() {
            AnswerReport::default()
        } else {
            AnswerReport::of(&reading)
        };
        report.task_id = self.task_id().map(str::to_owned);
        report.context_id = self.context_id().map(str::to_owned);
        report.raw = self.raw.as_deref().and_then(crate::report::raw);
        let odd = self.odd.as_slice().iter();
        report.violations = odd.map(Violation::to_string).collect();
        if report.text.is_empty() {
            report.text = self.messages.join("\n");
        }
        report
    }
}

fn differs(asked: Option<&str>, told: Option<&str>) -> bool {
    matches!((asked, told), (Some(asked), Some(told)) if asked != told)
}

/// What is shown of an update.
fn event_of(update: &Update, known: Option<&str>) -> StreamEvent {
    let task_id = update.task_id().or(known).map(str::to_owned);
    let mut event = StreamEvent {
        task_id,
        context_id: update.context_id().map(str::to_owned),
        violations: update
            .odd
            .as_slice()
            .iter()
            .map(Violation::to_string)
            .collect(),
        raw: update.raw.clone(),
        ..StreamEvent::default()
    };
    if let Some(state) = update.state() {
        event.state = Some(facts::state(state).as_str());
        if let TaskState::Unknown(name) = state {
            event.unrecognized_state = Some(name.clone());
        }
    }
    match &update.kind {
        UpdateKind::Task(task) => {
            event.kind = "task";
            event.text = Some(task.text()).filter(|text| !text.is_empty());
            event.artifacts = texts_of(task);
        }
        UpdateKind::Message(message) => {
            event.kind = "message";
            event.text = Some(message.text.clone()).filter(|text| !text.is_empty());
        }
        UpdateKind::Status(status) => {
            event.kind = "status_update";
            event.text.clone_from(&status.text);
        }
        UpdateKind::Artifact(chunk) => {
            event.kind = "artifact_update";
            event.artifact_id.clone_from(&chunk.artifact.artifact_id);
            event.append = Some(chunk.append);
            event.last_chunk = Some(chunk.last);
            event.text = Some(chunk.artifact.text.clone()).filter(|text| !text.is_empty());
        }
    }
    event
}

/// What is shown of an answer that stands for all updates.
pub(crate) fn event_of_answer(reading: &Reading, sequence: u64) -> StreamEvent {
    let report = AnswerReport::of(reading);
    let mut event = StreamEvent {
        kind: "task",
        task_id: report.task_id,
        context_id: report.context_id,
        state: report.state,
        unrecognized_state: report.unrecognized_state,
        text: Some(report.text).filter(|text| !text.is_empty()),
        violations: report.violations,
        raw: reading.raw.clone(),
        sequence,
        ..StreamEvent::default()
    };
    match &reading.reply {
        Reply::Task(task) => event.artifacts = texts_of(task),
        Reply::Message(_) | Reply::Tasks { .. } | Reply::Push(_) | Reply::Card(_) => {
            event.kind = "message";
        }
    }
    event
}

fn texts_of(task: &TaskFacts) -> Vec<(Option<String>, String)> {
    let artifacts = task.artifacts.iter();
    artifacts
        .map(|artifact| (artifact.artifact_id.clone(), artifact.text.clone()))
        .collect()
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
