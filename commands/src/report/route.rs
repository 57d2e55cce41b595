//! `route_explain`, and what `send_result` and `stream_result` say of a group.

use missive_log::event::facts::Weight;
use missive_log::payload::redact::Redactor;
use serde::Serialize;

use super::group::number;
use crate::route::ask::Decided;
use crate::route::policy::{Candidate, Judged};

/// `route_explain`.
#[derive(Clone, Debug, Serialize)]
pub struct RouteReport {
    /// The group, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// How it is chosen.
    pub policy: &'static str,
    /// The chosen ones, in the order in which they come.
    pub selected: Vec<String>,
    /// Everybody who may be chosen, in the order of ranks.
    pub candidates: Vec<CandidateView>,
    /// How many are needed, of a quorum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u32>,
    /// The turn that this would be, of policies that go by turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<u64>,
    /// The turn that comes after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<u64>,
}

/// What is said of one candidate.
#[derive(Clone, Debug, Serialize)]
pub struct CandidateView {
    /// What it is called now.
    pub agent: String,
    /// Its rank, in a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<String>,
    /// How much of the work it takes.
    #[serde(serialize_with = "number")]
    pub weight: Weight,
    /// Whether it is chosen.
    pub selected: bool,
    /// Why, or why not.
    pub reason: String,
    /// Whether it meets every requirement and can be spoken to.
    pub matched: bool,
    /// What it meets, each with where that is said.
    pub matched_requirements: Vec<String>,
    /// What it does not meet.
    pub missing_requirements: Vec<String>,
}

impl RouteReport {
    pub(crate) fn of(decided: &Decided, redactor: &Redactor) -> Self {
        let choice = &decided.choice;
        let candidates = decided.candidates.iter().zip(&choice.judged);
        Self {
            group: decided.group.as_ref().map(|group| group.name.to_string()),
            policy: decided.question.policy.as_str(),
            selected: decided
                .selected()
                .map(|one| one.agent.to_string())
                .collect(),
            candidates: candidates
                .map(|(candidate, judged)| CandidateView::of(candidate, judged, redactor))
                .collect(),
            quorum: choice.quorum,
            cursor: choice.next_cursor.map(|_| decided.question.cursor),
            next_cursor: choice.next_cursor,
        }
    }
}

impl CandidateView {
    fn of(candidate: &Candidate, judged: &Judged, redactor: &Redactor) -> Self {
        let clean = |texts: &[String]| texts.iter().map(|text| redactor.clean(text)).collect();
        Self {
            agent: candidate.agent.to_string(),
            rank: candidate.rank.as_ref().map(ToString::to_string),
            weight: candidate.weight,
            selected: judged.selected,
            reason: judged.reason.clone(),
            matched: judged.fit.is_whole(),
            matched_requirements: clean(&judged.fit.matched),
            missing_requirements: clean(&judged.fit.missing),
        }
    }
}

/// To whom a message to a group went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RouteTaken {
    /// The group.
    pub group: String,
    /// How the member was chosen.
    pub policy: &'static str,
    /// The member that it went to; of several attempts the last one.
    pub agent: String,
    /// Its rank.
    pub rank: String,
    /// The turn that it took, where the policy goes by turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The operation of the turn, or of the attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// Who was tried, in order, where the policy goes from one to the next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptView>,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttemptView {
    /// Who was tried.
    pub agent: String,
    /// Its rank.
    pub rank: String,
    /// What came of it: `succeeded`, `accepted`, `waiting`, `failed`, `timed_out`, `in_doubt` or `canceled`.
    pub status: &'static str,
    /// The operation that sent the message, if that was begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// The state of its task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
