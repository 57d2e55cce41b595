//! The policies on groups that are made up.

use std::collections::BTreeMap;

use missive_log::event::facts::{RoutingPolicy, Weight};
use missive_log::event::{Alias, Rank};
use proptest::prelude::*;

use super::abilities::Abilities;
use super::needs::Needs;
use super::policy::{Candidate, Choice, Question, choose, is_by_turns};
use crate::wire::card::{Card, Skill};

/// A member of a made-up group.
#[derive(Clone, Debug)]
struct Made {
    weight: u64,
    /// Whether it says that it translates, if there is a card.
    card: Option<bool>,
    tagged: bool,
    gone: bool,
}

fn candidate(number: usize, made: &Made) -> Candidate {
    let card = |translates: bool| Card {
        skills: vec![Skill {
            id: if translates { "translate" } else { "weather" }.to_owned(),
            ..Skill::default()
        }],
        ..Card::default()
    };
    Candidate {
        agent: alias(number),
        rank: Some(Rank::new(&number.to_string()).unwrap()),
        weight: Weight::from_millionths(made.weight).unwrap(),
        tags: made.tagged.then(|| "eu".to_owned()).into_iter().collect(),
        abilities: made
            .card
            .map(|translates| Abilities::of(&card(translates), &BTreeMap::new())),
        gone: made.gone,
    }
}

fn alias(number: usize) -> Alias {
    Alias::new(&format!("a{number}")).unwrap()
}

fn plain(count: usize) -> Vec<Candidate> {
    let made = Made {
        weight: Weight::SCALE,
        card: Some(true),
        tagged: true,
        gone: false,
    };
    (0..count).map(|number| candidate(number, &made)).collect()
}

fn question(policy: RoutingPolicy) -> Question {
    Question {
        policy,
        needs: Needs::default(),
        preferred: Vec::new(),
        quorum: None,
        cursor: 0,
    }
}

fn members() -> impl Strategy<Value = Vec<Candidate>> {
    let made = (1..5_000_000_u64, any::<[bool; 3]>(), 0..8_u8).prop_map(|(weight, bools, gone)| {
        let [has_card, translates, tagged] = bools;
        Made {
            weight,
            card: has_card.then_some(translates),
            tagged,
            gone: gone == 0,
        }
    });
    let all = prop::collection::vec(made, 0..12);
    all.prop_map(|all| {
        let numbered = all.iter().enumerate();
        numbered
            .map(|(number, made)| candidate(number, made))
            .collect()
    })
}

fn questions() -> impl Strategy<Value = Question> {
    let policy = prop::sample::select(RoutingPolicy::ALL);
    let preferred = prop::collection::vec(0..12_usize, 0..3);
    let quorum = prop::option::of(1..8_u32);
    let asked = any::<[bool; 2]>();
    let parts = (policy, preferred, quorum, asked, any::<u64>());
    parts.prop_map(
        |(policy, preferred, quorum, [capable, tagged], cursor)| Question {
            policy,
            needs: Needs {
                capabilities: capable
                    .then(|| "Translate".to_owned())
                    .into_iter()
                    .collect(),
                tags: tagged.then(|| "eu".to_owned()).into_iter().collect(),
                ..Needs::default()
            },
            preferred: preferred.into_iter().map(alias).collect(),
            quorum,
            cursor,
        },
    )
}

fn names(choice: &Choice, candidates: &[Candidate]) -> Vec<String> {
    let chosen = choice.selected.iter();
    chosen
        .map(|place| candidates[*place].agent.to_string())
        .collect()
}

proptest! {
    /// Nobody is chosen who is gone or lacks something, nobody twice, and everybody is told why.
    #[test]
    fn only_who_fits_is_chosen_once_and_everybody_is_told_why(
        question in questions(), candidates in members(),
    ) {
        let choice = choose(&question, &candidates);

        prop_assert_eq!(choice.judged.len(), candidates.len());
        let mut seen = choice.selected.clone();
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(seen.len(), choice.selected.len());
        for (place, (judged, candidate)) in choice.judged.iter().zip(&candidates).enumerate() {
            prop_assert_eq!(judged.selected, choice.selected.contains(&place));
            prop_assert!(!judged.reason.is_empty());
            if judged.selected {
                prop_assert!(!candidate.gone && judged.fit.missing.is_empty());
                let met = judged.fit.matched.len();
                prop_assert_eq!(met, question.needs.capabilities.len() + question.needs.tags.len());
            }
        }
        prop_assert_eq!(choice.next_cursor.is_some(), is_by_turns(question.policy));
    }

    /// The same question about the same candidates has the same answer, and who does not fit changes nothing.
    #[test]
    fn an_answer_depends_on_those_who_fit_alone(
        question in questions(), candidates in members(),
    ) {
        // A majority counts everybody.
        prop_assume!(question.policy != RoutingPolicy::Quorum || question.quorum.is_some());
        let choice = choose(&question, &candidates);
        let judged = choice.judged.iter();
        let fitting: Vec<Candidate> = judged
            .zip(&candidates)
            .filter(|(judged, _)| judged.fit.is_whole())
            .map(|(_, candidate)| candidate.clone())
            .collect();

        let again = choose(&question, &candidates);
        let narrow = choose(&question, &fitting);

        prop_assert_eq!(&again, &choice);
        prop_assert_eq!(names(&narrow, &fitting), names(&choice, &candidates));
    }

    /// How many a policy chooses follows from how many fit.
    #[test]
    fn each_policy_chooses_as_many_as_it_says(question in questions(), candidates in members()) {
        let choice = choose(&question, &candidates);
        let fitting = choice.judged.iter().filter(|judged| judged.fit.is_whole()).count();

        let expected = match question.policy {
            RoutingPolicy::Direct | RoutingPolicy::RoundRobin | RoutingPolicy::Weighted => fitting.min(1),
            RoutingPolicy::Quorum => {
                let needed = choice.quorum.unwrap() as usize;
                if fitting >= needed { needed } else { 0 }
            }
            RoutingPolicy::CapabilityMatch
            | RoutingPolicy::TagMatch
            | RoutingPolicy::Broadcast
            | RoutingPolicy::FirstSuccess
            | RoutingPolicy::Fallback => fitting,
        };
        prop_assert_eq!(choice.selected.len(), expected);
    }

    /// Over as many turns as there are members, from any turn on, everybody gets one.
    #[test]
    fn turns_go_round(count in 1..20_usize, from in 0..u64::MAX / 2) {
        let candidates = plain(count);
        let mut seen: Vec<usize> = (0..count as u64)
            .flat_map(|turn| {
                let question = Question { cursor: from + turn, ..question(RoutingPolicy::RoundRobin) };
                choose(&question, &candidates).selected
            })
            .collect();

        seen.sort_unstable();
        prop_assert_eq!(seen, (0..count).collect::<Vec<_>>());
    }

    /// Over any run of turns everybody gets its share of them, up to a few.
    #[test]
    fn work_is_shared_by_weight(
        weights in prop::collection::vec(1..9_000_000_u64, 1..9), from in any::<u64>(), turns in 1..400_u64,
    ) {
        let mut candidates = plain(weights.len());
        for (candidate, weight) in candidates.iter_mut().zip(&weights) {
            candidate.weight = Weight::from_millionths(*weight).unwrap();
        }
        let mut taken = vec![0_u32; weights.len()];

        for turn in 0..turns {
            let cursor = from.wrapping_add(turn);
            let question = Question { cursor, ..question(RoutingPolicy::Weighted) };
            taken[choose(&question, &candidates).selected[0]] += 1;
        }

        let total: u64 = weights.iter().sum();
        for (taken, weight) in taken.iter().zip(&weights) {
            let (got, due) = (u64::from(*taken) * total, turns * weight);
            prop_assert!(got.abs_diff(due) < 4 * total, "{taken} of {turns} for {weight} of {total}");
        }
    }
}

#[test]
fn a_preferred_agent_comes_first_if_it_fits() {
    let mut candidates = plain(3);
    candidates[2].gone = true;
    let ask = |policy, preferred: &[usize]| {
        let question = Question {
            preferred: preferred.iter().map(|number| alias(*number)).collect(),
            ..question(policy)
        };
        choose(&question, &candidates).selected
    };

    assert_eq!(ask(RoutingPolicy::Direct, &[]), [0]);
    assert_eq!(ask(RoutingPolicy::Direct, &[1]), [1]);
    assert_eq!(ask(RoutingPolicy::Direct, &[2]), [0]);
    assert_eq!(ask(RoutingPolicy::Fallback, &[2, 1]), [1, 0]);
    assert_eq!(ask(RoutingPolicy::RoundRobin, &[1]), [1]);
}

#[test]
fn a_majority_counts_those_as_well_who_cannot_be_had() {
    let mut candidates = plain(5);
    let asked = |candidates: &[Candidate]| {
        let choice = choose(&question(RoutingPolicy::Quorum), candidates);
        (
            choice.quorum,
            choice.selected,
            choice.judged[0].reason.clone(),
        )
    };

    let whole = asked(&candidates);
    candidates[3].gone = true;
    candidates[4].gone = true;
    let three = asked(&candidates);
    candidates[2].gone = true;
    let two = asked(&candidates);

    assert_eq!((whole.0, &whole.1[..]), (Some(3), &[0, 1, 2][..]));
    assert_eq!(three.1, [0, 1, 2]);
    assert_eq!(two.1, Vec::<usize>::new());
    assert_eq!(two.2, "a quorum of 3 cannot be had: only 2 fit");
}

#[test]
fn reasons_say_what_happened() {
    let mut candidates = plain(3);
    candidates[1].gone = true;
    candidates[2].abilities = None;
    let mut said = Vec::new();
    for policy in RoutingPolicy::ALL {
        for capability in [None, Some("translate".to_owned())] {
            let needs = Needs {
                capabilities: capability.into_iter().collect(),
                ..Needs::default()
            };
            let question = Question {
                needs,
                ..question(*policy)
            };
            let judged = choose(&question, &candidates).judged;
            let reasons: Vec<String> = judged.into_iter().map(|judged| judged.reason).collect();
            said.push(format!("{policy}: {}", reasons.join(" | ")));
        }
    }

    insta::assert_snapshot!(said.join("\n"), @r"
    direct: it comes first | it is not registered any more | another one comes before it
    direct: it comes first | it is not registered any more | its card is not known yet, and what it can do is required
    capability-match: nothing is required | it is not registered any more | nothing is required
    capability-match: it meets every requirement | it is not registered any more | its card is not known yet, and what it can do is required
    tag-match: nothing is required | it is not registered any more | nothing is required
    tag-match: it meets every requirement | it is not registered any more | its card is not known yet, and what it can do is required
    round-robin: turn 0 is its turn | it is not registered any more | turn 0 is another one's
    round-robin: turn 0 is its turn | it is not registered any more | its card is not known yet, and what it can do is required
    weighted: turn 0 falls to another one by weight | it is not registered any more | turn 0 falls to it by weight
    weighted: turn 0 falls to it by weight | it is not registered any more | its card is not known yet, and what it can do is required
    broadcast: everyone is chosen | it is not registered any more | everyone is chosen
    broadcast: everyone is chosen | it is not registered any more | its card is not known yet, and what it can do is required
    first-success: it is tried first | it is not registered any more | it is tried as number 2, if nobody before it succeeds
    first-success: it is tried first | it is not registered any more | its card is not known yet, and what it can do is required
    quorum: it is one of the 2 of the quorum | it is not registered any more | it is one of the 2 of the quorum
    quorum: a quorum of 2 cannot be had: only 1 fit | it is not registered any more | its card is not known yet, and what it can do is required
    fallback: it is tried first | it is not registered any more | it is tried as number 2, if nobody before it can be had
    fallback: it is tried first | it is not registered any more | its card is not known yet, and what it can do is required
    ");
}
