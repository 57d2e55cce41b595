//! What the results of rounds have in common.

use super::super::Setting;
use super::super::acting::Told;
use crate::failure::Failure;
use crate::render::{Page, Tint};
use missive_commands::collect::Seat;
use missive_commands::collect::gather::{Gathered, MemberOutput};
use missive_commands::collect::reduce::{SourceState, source_kind};
use missive_commands::{CommandError, Target};
use missive_log::event::Alias;
use missive_log::event::facts::{MemberStatus, PayloadFacts, ReduceSource, RoundStatus, TaskState};
use serde::Serialize;

/// One member of a result.
#[derive(Debug, Default, Serialize)]
pub(super) struct MemberRow {
    pub(super) agent: String,
    pub(super) rank: String,
    /// The alias that it was added under, where it is called otherwise now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) added_as: Option<String>,
    pub(super) status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) operation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<ErrorRow>,
}

/// Why something failed for one member.
#[derive(Debug, Serialize)]
pub(super) struct ErrorRow {
    code: String,
    category: &'static str,
    message: String,
    exit_code: u8,
    /// What a table has room for: the innermost cause.
    #[serde(skip)]
    brief: String,
}

impl ErrorRow {
    fn of(failure: &Failure) -> Self {
        let causes = failure.sources().iter().map(String::as_str);
        let said: Vec<&str> = std::iter::once(failure.message()).chain(causes).collect();
        Self {
            code: failure.code(),
            category: failure.exit().category(),
            message: said.join(": "),
            exit_code: failure.exit().number(),
            brief: said.last().copied().unwrap_or_default().to_owned(),
        }
    }
}

impl MemberRow {
    pub(super) fn of(seat: &Seat, status: MemberStatus) -> Self {
        let added_as = &seat.member.agent;
        Self {
            agent: seat.agent().to_string(),
            rank: seat.rank().to_string(),
            added_as: (seat.agent() != added_as).then(|| added_as.to_string()),
            status: status.as_str(),
            ..Self::default()
        }
    }

    /// The same with why it failed.
    pub(super) fn failed(mut self, error: Option<CommandError>, setting: &Setting<'_>) -> Self {
        if let (Some(error), Ok(alias)) = (error, Alias::new(&self.agent)) {
            let target = Target::Alias(alias);
            let told = Told::of(setting).about(&target);
            self.error = Some(ErrorRow::of(&told.failure(error)));
        }
        self
    }

    /// What people see in the last column: the error, else the beginning of the text.
    fn said(&self) -> String {
        let said = match (&self.error, &self.text) {
            (Some(error), _) => error.brief.as_str(),
            (None, Some(text)) => text,
            (None, None) => "",
        };
        let mut lines = said.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or_default();
        if lines.next().is_some() {
            format!("{first} …")
        } else {
            first.to_owned()
        }
    }
}

/// The members as a table.
pub(super) fn table(page: &mut Page, members: &[MemberRow]) {
    let rows = members.iter().map(|member| {
        [
            member.rank.clone(),
            member.agent.clone(),
            member.status.to_owned(),
            member.state.unwrap_or_default().to_owned(),
            member.task_id.clone().unwrap_or_default(),
            member.said(),
        ]
    });
    page.table(["rank", "agent", "status", "state", "task", ""], rows);
}

/// How a status looks.
pub(super) fn tint(status: RoundStatus) -> Tint {
    match status {
        RoundStatus::Succeeded => Tint::Good,
        RoundStatus::PartialFailure | RoundStatus::TimedOut | RoundStatus::Canceled => {
            Tint::Warning
        }
        RoundStatus::Failed => Tint::Bad,
    }
}

/// A status for a sentence.
pub(super) fn in_words(status: RoundStatus) -> String {
    status.as_str().replace('_', " ")
}

/// What a group said, as gather and reduce report it: the head of both.
#[derive(Serialize)]
pub(super) struct Heard {
    pub(super) group: String,
    pub(super) context_id: String,
    status: &'static str,
    /// Where the views stood.
    pub(super) position: u64,
    pub(super) counts: HeardCounts,
    #[serde(skip)]
    pub(super) of: RoundStatus,
}

/// How many members did what.
#[derive(Serialize)]
pub(super) struct HeardCounts {
    pub(super) members: usize,
    pub(super) succeeded: usize,
    pub(super) unfinished: usize,
    pub(super) failed: usize,
    pub(super) missing_task: usize,
    pub(super) empty_output: usize,
}

impl Heard {
    pub(super) fn of(gathered: &Gathered) -> Self {
        let counts = gathered.counts();
        let members = gathered.outputs.len();
        let of = if counts.succeeded + counts.unfinished == 0 {
            RoundStatus::Failed
        } else if counts.succeeded < members {
            RoundStatus::PartialFailure
        } else {
            RoundStatus::Succeeded
        };
        Self {
            group: gathered.roster.group.name.to_string(),
            context_id: gathered.context.to_string(),
            status: of.as_str(),
            position: gathered.roster.position.0,
            counts: HeardCounts {
                members,
                succeeded: counts.succeeded,
                unfinished: counts.unfinished,
                failed: counts.failed,
                missing_task: counts.missing_task,
                empty_output: counts.empty_output,
            },
            of,
        }
    }
}

/// What one member said.
#[derive(Serialize)]
pub(super) struct HeardRow {
    #[serde(flatten)]
    pub(super) row: MemberRow,
    /// What the text was read from: `message`, `status` or `artifact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_id: Option<String>,
    /// Whether there is more text than that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut: bool,
    /// Payloads that should hold it and do not any more: `erased` or `missing`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) gone: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) files: Vec<MemberFile>,
}

impl HeardRow {
    pub(super) fn of(output: &MemberOutput) -> Self {
        let mut row = MemberRow::of(&output.seat, output.status);
        if let Some(task) = &output.task {
            row.task_id = Some(task.task.to_string());
            row.context_id = task.context.as_ref().map(ToString::to_string);
            row.state = Some(task.state.as_str());
        }
        row.text = Some(output.text.clone()).filter(|text| !text.is_empty());
        Self {
            row,
            from: output.from.kind,
            message_id: output.from.message.as_ref().map(ToString::to_string),
            artifact_id: output.from.artifact.as_ref().map(ToString::to_string),
            cut: output.cut,
            gone: output.gone.iter().map(|why| why.name()).collect(),
            files: Vec::new(),
        }
    }
}

/// A file of what a member said.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MemberFile {
    /// Where it was written.
    pub(super) path: String,
    /// `output`, or of an artifact `text`, `raw`, `data` or `url`.
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) artifact_id: Option<String>,
    /// Its length.
    pub(super) bytes: u64,
    /// Its BLAKE3 digest, as `b3sum` prints it.
    pub(super) blake3: String,
}

/// What a reduction took from one member.
#[derive(Serialize)]
pub(super) struct ProvenanceRow {
    pub(super) agent: String,
    pub(super) rank: String,
    pub(super) status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_id: Option<String>,
    /// The how manieth version of the artifact it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_version: Option<u32>,
    pub(super) sources: Vec<SourceRow>,
    /// How many payloads there are, where they are too many to be named.
    #[serde(skip_serializing_if = "Option::is_none")]
    sources_total: Option<u32>,
    /// Whether the member has said something else since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) changed_since: Option<bool>,
}

/// A payload that holds what was taken.
#[derive(Serialize)]
pub(super) struct SourceRow {
    sequence: u64,
    index: u16,
    /// What it was taken as: `message`, `status` or `artifact`.
    kind: &'static str,
    commitment: String,
    /// How it stands now: `present`, `erased` or `missing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) now: Option<&'static str>,
}

impl ProvenanceRow {
    pub(super) fn of(source: &ReduceSource) -> Self {
        let kind = source_kind(source);
        let total = usize::try_from(source.payloads_total).unwrap_or(usize::MAX);
        Self {
            agent: source.agent.to_string(),
            rank: source.rank.to_string(),
            status: source.status.as_str(),
            task_id: source.task.as_ref().map(ToString::to_string),
            state: source.state.map(TaskState::as_str),
            message_id: source.message.as_ref().map(ToString::to_string),
            artifact_id: source.artifact.as_ref().map(ToString::to_string),
            artifact_version: source.version,
            sources: source
                .payloads
                .iter()
                .map(|payload| SourceRow::of(payload, kind))
                .collect(),
            sources_total: (total > source.payloads.len()).then_some(source.payloads_total),
            changed_since: None,
        }
    }

    /// The same with how everything stands now.
    pub(super) fn now(mut self, payloads: &[SourceState], changed: Option<bool>) -> Self {
        for (row, state) in self.sources.iter_mut().zip(payloads) {
            row.now = Some(state.name());
        }
        self.changed_since = changed;
        self
    }

    /// The places of the events that hold what was taken.
    pub(super) fn sources_in_words(&self) -> String {
        let places: Vec<String> = self
            .sources
            .iter()
            .map(|source| source.sequence.to_string())
            .collect();
        places.join(" ")
    }

    /// The worst that is to be said of it today.
    pub(super) fn stands(&self) -> &'static str {
        let has = |state: SourceState| {
            let mut sources = self.sources.iter();
            sources.any(|source| source.now == Some(state.name()))
        };
        if has(SourceState::Missing) {
            SourceState::Missing.name()
        } else if has(SourceState::Erased) {
            SourceState::Erased.name()
        } else if self.changed_since == Some(true) {
            "has said something else since"
        } else if self.sources.is_empty() {
            ""
        } else {
            SourceState::Present.name()
        }
    }
}

impl SourceRow {
    fn of(payload: &PayloadFacts, kind: &'static str) -> Self {
        Self {
            sequence: payload.seq.0,
            index: payload.index,
            kind,
            commitment: payload.commitment.to_string(),
            now: None,
        }
    }
}
