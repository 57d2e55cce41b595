//! `missive reduce show`: a reduction as it was recorded, and how its sources stand.

use super::super::acting::Told;
use super::super::{Setting, moment, warn_of_fault};
use super::session;
use super::shown::ProvenanceRow;
use crate::args::collect::ReduceShow as Arguments;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Report};
use missive_commands::Exit;
use missive_commands::collect::reduce::{Proof, SourceState, prove};
use missive_log::event::Seq;
use missive_log::event::facts::{ReduceFailure, RoundStatus};
use missive_projections::{Scope, Views};
use serde::Serialize;

pub(super) async fn run(
    arguments: &Arguments,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = session(setting).await?;
    session
        .used(async |session| perform(arguments, setting, session, output).await)
        .await
}

async fn perform(
    arguments: &Arguments,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let Looked {
        views,
        then,
        said,
        as_of,
    } = looked(arguments, setting, session, output)?;
    moment::tell(setting, session, output).await;
    let log = &**session.log();
    let proof = prove(log, &views, (&then, &said), &setting.config, &arguments.id).await;
    let proof = proof.map_err(|error| Told::of(setting).failure(error))?;
    let shown = Shown::of(proof, as_of);
    output.report(&shown).await?;
    if shown.missing > 0 {
        output.warn("a source is not what the reduction was made of any more: the log was damaged");
        output.note("hint: `missive events verify` says where");
        return Ok(Exit::Integrity);
    }
    Ok(Exit::Done)
}

/// What is looked at.
struct Looked {
    /// The reduction.
    views: Views,
    /// The group as it was.
    then: Views,
    /// What its members say.
    said: Views,
    /// The place of that.
    as_of: Seq,
}

/// At an earlier moment the reduction and what members say are folded apart; the group as it was always is.
fn looked(
    arguments: &Arguments,
    setting: &Setting<'_>,
    session: &Session,
    output: &Output,
) -> Result<Looked, Failure> {
    let broken = |error| session.views_failure(&error);
    let scope = Scope::Round(arguments.id.clone());
    let (views, as_of) = moment::look(setting, session, &scope, output)?;
    let round = views.round(&arguments.id).map_err(broken)?;
    let said = match round.as_ref().and_then(|round| round.context.clone()) {
        Some(context) if setting.globals.at.is_some() => {
            moment::look(setting, session, &Scope::Context(context), output)?.0
        }
        Some(_) | None => views.clone(),
    };
    let then = match round {
        Some(round) => {
            let live = session.views().map_err(broken)?;
            let records = moment::records(session);
            let then = live.at(round.position, &Scope::Groups, &records, &mut |_| {});
            then.map_err(broken)?
        }
        None => views.clone(),
    };
    Ok(Looked {
        views,
        then,
        said,
        as_of,
    })
}

/// `reduce_show`.
#[derive(Serialize)]
struct Shown {
    reduce_id: String,
    operation_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// Where the views stood that it was made of.
    position: u64,
    strategy: &'static str,
    method: &'static str,
    /// The place of the views that `now` and `changed_since` tell of.
    as_of: u64,
    begun_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// The event that recorded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reducer_agent: Option<String>,
    /// The command that made it, as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_operation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reduced_text: Option<String>,
    provenance: Vec<ProvenanceRow>,
    #[serde(skip)]
    missing: usize,
}

impl Shown {
    fn of(proof: Proof, as_of: Seq) -> Self {
        let (round, made) = (proof.round, proof.reduction);
        let sources = proof.sources.iter();
        let states = sources.clone().flat_map(|source| &source.payloads);
        Self {
            reduce_id: round.operation.to_string(),
            operation_id: round.operation.to_string(),
            group: round.group.map(|group| group.to_string()),
            context_id: round.context.map(|context| context.to_string()),
            status: round.status.map(RoundStatus::as_str),
            position: round.position.0,
            strategy: made.strategy.as_str(),
            method: made.method.as_str(),
            as_of: as_of.0,
            begun_at: round.begun_at.to_string(),
            ended_at: round.ended_at.map(|at| at.to_string()),
            sequence: round.ended.map(|seq| seq.0),
            reducer_agent: made.reducer.map(|alias| alias.to_string()),
            command: proof.command,
            asked_operation_id: made.asked.map(|operation| operation.to_string()),
            failure: made.failure.map(ReduceFailure::as_str),
            reduced_text: proof.text,
            missing: states
                .filter(|state| **state == SourceState::Missing)
                .count(),
            provenance: sources
                .map(|source| {
                    ProvenanceRow::of(&source.source).now(&source.payloads, source.changed)
                })
                .collect(),
        }
    }
}

impl Shown {
    /// Who made it.
    fn maker(&self) -> &str {
        match (self.reducer_agent.as_deref(), self.method) {
            (Some(agent), _) => agent,
            (None, "local") => "missive",
            (None, method) => method,
        }
    }
}

impl Report for Shown {
    fn kind(&self) -> Kind {
        Kind::ReduceShow
    }

    fn human(&self, page: &mut Page) {
        let status = match (self.status, self.failure) {
            (_, Some(failure)) => format!("failed: {failure}").replace('_', " "),
            (Some(status), None) => status.replace('_', " "),
            (None, None) => "not ended".to_owned(),
        };
        page.fields(&[
            ("reduction", &self.reduce_id),
            ("group", self.group.as_deref().unwrap_or_default()),
            ("context", self.context_id.as_deref().unwrap_or_default()),
            ("status", &status),
            ("strategy", self.strategy),
            ("made by", self.maker()),
            ("command", self.command.as_deref().unwrap_or_default()),
            ("inputs as of", &format!("event {}", self.position)),
            ("begun", &self.begun_at),
            ("ended", self.ended_at.as_deref().unwrap_or_default()),
        ]);
        if let Some(text) = &self.reduced_text {
            page.line("");
            page.block(text);
        }
        if self.provenance.is_empty() {
            return;
        }
        page.line("");
        let rows = self.provenance.iter().map(|row| {
            [
                row.rank.clone(),
                row.agent.clone(),
                row.status.replace('_', " "),
                row.task_id.clone().unwrap_or_default(),
                row.sources_in_words(),
                row.stands().to_owned(),
            ]
        });
        page.table(["rank", "agent", "status", "task", "events", "now"], rows);
    }
}
