//! The nine policies: whom they choose, and why.
//!
//! Everything here is a pure function of the question and the candidates. Whoever does not meet a requirement is
//! chosen by no policy; the policies differ in what they make of the others.

use missive_log::event::facts::{RoutingPolicy, Weight};
use missive_log::event::{Alias, Rank};

use super::abilities::Abilities;
use super::needs::{Fit, Needs};

/// Somebody who may be chosen.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What it is called now; of one that is gone, what it was called.
    pub agent: Alias,
    /// Its rank, in a group.
    pub rank: Option<Rank>,
    /// How much of the work it takes.
    pub weight: Weight,
    /// Its tags.
    pub tags: Vec<String>,
    /// What it can do; none if its card is not known.
    pub abilities: Option<Abilities>,
    /// Whether nobody can be spoken to any more.
    pub gone: bool,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Question {
    /// How to choose.
    pub policy: RoutingPolicy,
    /// What must hold of whoever is chosen.
    pub needs: Needs,
    /// Who comes first of those who fit, in this order.
    pub preferred: Vec<Alias>,
    /// How many make a quorum, instead of a majority.
    pub quorum: Option<u32>,
    /// The turn that is to be taken, from 0.
    pub cursor: u64,
}

/// Whom a policy chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The chosen ones by their places among the candidates, in the order in which they come.
    pub selected: Vec<usize>,
    /// What is said of each candidate, in the order of the candidates.
    pub judged: Vec<Judged>,
    /// How many are needed; of `quorum` alone.
    pub quorum: Option<u32>,
    /// The turn that comes next; of the policies that go by turns alone.
    pub next_cursor: Option<u64>,
}

/// What is said of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Whether it is chosen.
    pub selected: bool,
    /// Why, or why not.
    pub reason: String,
    /// Which requirements it meets, and which not.
    pub fit: Fit,
}

/// Whether a policy goes by turns.
pub fn is_by_turns(policy: RoutingPolicy) -> bool {
    matches!(policy, RoutingPolicy::RoundRobin | RoutingPolicy::Weighted)
}

/// Whether a policy tries one after the other.
pub fn is_by_attempts(policy: RoutingPolicy) -> bool {
    matches!(
        policy,
        RoutingPolicy::FirstSuccess | RoutingPolicy::Fallback
    )
}

/// Whether a policy wants several to have the same message at once.
pub fn is_for_many(policy: RoutingPolicy) -> bool {
    matches!(policy, RoutingPolicy::Broadcast | RoutingPolicy::Quorum)
}

/// Chooses. The candidates stand in the order of their ranks.
pub fn choose(question: &Question, candidates: &[Candidate]) -> Choice {
    let fits: Vec<Fit> = candidates
        .iter()
        .map(|candidate| question.needs.fit(candidate))
        .collect();
    let fitting = fitting(question, candidates, &fits);
    let needed = (question.policy == RoutingPolicy::Quorum).then(|| {
        question
            .quorum
            .unwrap_or_else(|| majority(candidates.len()))
    });
    let selected = selected(question, candidates, &fitting, needed);
    let judged = fits.into_iter().enumerate().map(|(place, fit)| {
        let reason = if fit.is_whole() {
            let at = selected.iter().position(|other| *other == place);
            let is_preferred = candidates
                .get(place)
                .is_some_and(|one| question.preferred.contains(&one.agent));
            reason(question, at, is_preferred, (needed, fitting.len()))
        } else {
            fit.refusal()
        };
        Judged {
            selected: selected.contains(&place),
            reason,
            fit,
        }
    });
    Choice {
        judged: judged.collect(),
        quorum: needed,
        next_cursor: is_by_turns(question.policy).then(|| question.cursor.saturating_add(1)),
        selected,
    }
}

/// More than half. Those count as well who cannot be chosen, so that a majority does not shrink unseen.
fn majority(candidates: usize) -> u32 {
    u32::try_from(candidates / 2 + 1).unwrap_or(u32::MAX)
}

/// The places of those who meet every requirement: the preferred ones first, then by rank.
fn fitting(question: &Question, candidates: &[Candidate], fits: &[Fit]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..candidates.len())
        .filter(|place| fits.get(*place).is_some_and(Fit::is_whole))
        .collect();
    let preference = |place: &usize| {
        let agent = candidates.get(*place).map(|candidate| &candidate.agent);
        let preferred = question.preferred.iter();
        preferred
            .clone()
            .position(|one| Some(one) == agent)
            .unwrap_or(preferred.len())
    };
    // Stable: who is not preferred stays in the order of ranks.
    places.sort_by_key(preference);
    places
}

fn selected(
    question: &Question,
    candidates: &[Candidate],
    fitting: &[usize],
    needed: Option<u32>,
) -> Vec<usize> {
    let first = fitting.first().copied();
    let preferred = first.filter(|place| {
        candidates
            .get(*place)
            .is_some_and(|one| question.preferred.contains(&one.agent))
    });
    match question.policy {
        RoutingPolicy::Direct => first.into_iter().collect(),
        RoutingPolicy::RoundRobin => {
            let turn = in_turn(question.cursor, fitting.len());
            let taken = turn.and_then(|turn| fitting.get(turn).copied());
            preferred.or(taken).into_iter().collect()
        }
        RoutingPolicy::Weighted => {
            let weights = fitting.iter().filter_map(|place| candidates.get(*place));
            let weights: Vec<Weight> = weights.map(|candidate| candidate.weight).collect();
            let taken = by_weight(question.cursor, &weights);
            let taken = taken.and_then(|at| fitting.get(at).copied());
            preferred.or(taken).into_iter().collect()
        }
        RoutingPolicy::Quorum => {
            let needed = usize::try_from(needed.unwrap_or(u32::MAX)).unwrap_or(usize::MAX);
            fitting.get(..needed).unwrap_or_default().to_vec()
        }
        RoutingPolicy::CapabilityMatch
        | RoutingPolicy::TagMatch
        | RoutingPolicy::Broadcast
        | RoutingPolicy::FirstSuccess
        | RoutingPolicy::Fallback => fitting.to_vec(),
    }
}

fn in_turn(cursor: u64, count: usize) -> Option<usize> {
    let turn = cursor.checked_rem(u64::try_from(count).ok()?)?;
    usize::try_from(turn).ok()
}

/// Whose turn it is by weight: over any run of turns everybody gets its share, up to a few turns.
///
/// The turns step through the weights by the golden ratio, whose multiples lie more evenly than those of any
/// other number. Nothing is drawn: the same turn is always the same member's.
fn by_weight(cursor: u64, weights: &[Weight]) -> Option<usize> {
    /// 2^64 divided by the golden ratio.
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let total: u128 = weights.iter().map(|one| u128::from(one.millionths())).sum();
    let place = u128::from(cursor.wrapping_add(1).wrapping_mul(STEP));
    // At most 4,096 members of at most 10^15 each, so this is far below 2^128.
    let point = (place * total) >> 64;
    let mut passed = 0;
    weights.iter().position(|one| {
        passed += u128::from(one.millionths());
        point < passed
    })
}

/// Why somebody who meets every requirement is chosen in this place, or is not.
fn reason(
    question: &Question,
    at: Option<usize>,
    is_preferred: bool,
    (needed, fitting): (Option<u32>, usize),
) -> String {
    let turn = question.cursor;
    if is_preferred && at == Some(0) {
        return "it is preferred".to_owned();
    }
    match (question.policy, at) {
        (RoutingPolicy::Direct, Some(_)) => "it comes first".to_owned(),
        (RoutingPolicy::Direct, None) => "another one comes before it".to_owned(),
        (RoutingPolicy::CapabilityMatch | RoutingPolicy::TagMatch, _) => {
            if question.needs.is_empty() {
                "nothing is required".to_owned()
            } else {
                "it meets every requirement".to_owned()
            }
        }
        (RoutingPolicy::Broadcast, _) => "everyone is chosen".to_owned(),
        (RoutingPolicy::RoundRobin, Some(_)) => format!("turn {turn} is its turn"),
        (RoutingPolicy::RoundRobin, None) => format!("turn {turn} is another one's"),
        (RoutingPolicy::Weighted, Some(_)) => format!("turn {turn} falls to it by weight"),
        (RoutingPolicy::Weighted, None) => format!("turn {turn} falls to another one by weight"),
        (RoutingPolicy::FirstSuccess | RoutingPolicy::Fallback, Some(0)) => {
            "it is tried first".to_owned()
        }
        (RoutingPolicy::FirstSuccess, at) => format!(
            "it is tried as number {}, if nobody before it succeeds",
            at.map_or(0, |at| at + 1)
        ),
        (RoutingPolicy::Fallback, at) => format!(
            "it is tried as number {}, if nobody before it can be had",
            at.map_or(0, |at| at + 1)
        ),
        (RoutingPolicy::Quorum, Some(_)) => {
            format!(
                "it is one of the {} of the quorum",
                needed.unwrap_or_default()
            )
        }
        (RoutingPolicy::Quorum, None) => {
            let needed = needed.unwrap_or_default();
            if u32::try_from(fitting).is_ok_and(|fitting| fitting < needed) {
                format!("a quorum of {needed} cannot be had: only {fitting} fit")
            } else {
                format!("the quorum of {needed} is complete without it")
            }
        }
    }
}
