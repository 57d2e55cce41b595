//! `reduce show`: a reduction as it was recorded, and whether what it was made of still stands.

use missive_log::event::facts::{PayloadFacts, ReduceMethod, ReduceSource};
use missive_log::event::kind::RoundFact;
use missive_log::event::{EventKind, OperationId};
use missive_log::{Log, Opened, Role};
use missive_projections::{Reduction, Round, RoundWhat, Views};

use crate::collect::gather::{Gathered, gather};
use crate::collect::roster;
use crate::config::Config;
use crate::drive::stored::{event_at, stored_bytes};
use crate::failure::CommandError;
use crate::refusal::Refusal;

/// A reduction, with what it was made of.
#[derive(Debug)]
pub struct Proof {
    /// The round.
    pub round: Round,
    /// What is recorded of it.
    pub reduction: Reduction,
    /// Its text; none where it was erased, or never came.
    pub text: Option<String>,
    /// The command that made it, as it was given; none where none did, or it was erased.
    pub command: Option<String>,
    /// What it was made of, in the order of ranks.
    pub sources: Vec<ProvedSource>,
}

/// One member of it.
#[derive(Debug)]
pub struct ProvedSource {
    /// As it was recorded.
    pub source: ReduceSource,
    /// How its payloads stand now, in their order.
    pub payloads: Vec<SourceState>,
    /// Whether the member has said something else in the context since; none if that cannot be told.
    pub changed: Option<bool>,
}

/// How a payload stands that a reduction was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// It is there, and is what was committed to.
    Present,
    /// It was erased.
    Erased,
    /// It is not there, or is not what the reduction was made of: the log was damaged.
    Missing,
}

impl SourceState {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Erased => "erased",
            Self::Missing => "missing",
        }
    }
}

/// Reads a reduction and looks at everything that it was made of. `then` are the views of groups as they
/// stood where the reduction was made; `said` those that tell what the members say, folded for its context.
///
/// # Errors
/// There is no such reduction; or the log or the views cannot be read.
pub async fn prove<L: Log>(
    log: &L,
    views: &Views,
    (then, said): (&Views, &Views),
    config: &Config,
    operation: &OperationId,
) -> Result<Proof, CommandError> {
    let round = views.round(operation)?;
    let Some((round, reduction)) = round.and_then(|round| match &round.what {
        RoundWhat::Reduce(reduction) => Some((round.clone(), reduction.clone())),
        RoundWhat::Bcast { .. } | RoundWhat::Barrier { .. } | RoundWhat::Gather { .. } => None,
    }) else {
        let operation = operation.clone();
        return Err(Refusal::NoReduction { operation }.into());
    };
    let text = match reduction.result {
        Some(result) => stored_bytes(log, result.seq, Role::Result).await?,
        None => None,
    };
    let command = match reduction.method {
        ReduceMethod::Command => stored_bytes(log, round.begun, Role::Command).await?,
        ReduceMethod::Local | ReduceMethod::Agent => None,
    };
    let now = now(log, (then, said), config, &round).await?;
    let mut sources = Vec::new();
    for seq in views.reduce_sources(operation)? {
        let event = event_at(log, seq).await?.map(|event| event.kind);
        if let Some(EventKind::Round(RoundFact::ReduceSources(facts))) = event {
            for source in facts.sources {
                sources.push(look(log, source, now.as_ref()).await?);
            }
        }
    }
    Ok(Proof {
        round,
        reduction,
        text: text.and_then(|stored| String::from_utf8(stored.bytes).ok()),
        command: command.and_then(|stored| String::from_utf8(stored.bytes).ok()),
        sources,
    })
}

/// What the members of then say now, whatever became of the group.
async fn now<L: Log>(
    log: &L,
    (then, said): (&Views, &Views),
    config: &Config,
    round: &Round,
) -> Result<Option<Gathered>, CommandError> {
    let (Some(group), Some(context)) = (&round.group, &round.context) else {
        return Ok(None);
    };
    match roster(then, config, group) {
        Ok(roster) => Ok(Some(gather(log, said, roster, context).await?)),
        // Without the group as it was nothing can be told.
        Err(_) => Ok(None),
    }
}

async fn look<L: Log>(
    log: &L,
    source: ReduceSource,
    now: Option<&Gathered>,
) -> Result<ProvedSource, CommandError> {
    let mut payloads = Vec::with_capacity(source.payloads.len());
    for payload in &source.payloads {
        payloads.push(state(log, payload).await?);
    }
    let member = now.and_then(|now| {
        let mut outputs = now.outputs.iter();
        outputs.find(|output| {
            *output.seat.rank() == source.rank && output.seat.member.agent == source.agent
                || *output.seat.rank() == source.rank && *output.seat.agent() == source.agent
        })
    });
    let changed = member.map(|output| {
        let same = output.from.payloads.iter().zip(&source.payloads);
        let total = u32::try_from(output.from.payloads.len()).unwrap_or(u32::MAX);
        total != source.payloads_total || same.into_iter().any(|(now, then)| now != then)
    });
    Ok(ProvedSource {
        source,
        payloads,
        changed,
    })
}

async fn state<L: Log>(log: &L, payload: &PayloadFacts) -> Result<SourceState, CommandError> {
    let event = event_at(log, payload.seq).await?;
    let found = event.and_then(|event| {
        let mut payloads = event.payloads.into_iter();
        payloads.find(|found| found.index == payload.index)
    });
    let Some(found) = found.filter(|found| found.commitment == payload.commitment) else {
        return Ok(SourceState::Missing);
    };
    Ok(match log.payload(found).await? {
        Opened::Present(_) => SourceState::Present,
        Opened::Erased(_) => SourceState::Erased,
        Opened::Missing => SourceState::Missing,
    })
}
