//! The reductions that missive makes itself: pure, so that the same inputs give the same text for ever.

use std::collections::BTreeMap;

use missive_log::event::facts::{ReduceStrategy, Weight};

/// What one member said. Inputs come in the order of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Input<'a> {
    /// The member.
    pub(super) agent: &'a str,
    /// Its rank.
    pub(super) rank: &'a str,
    /// How much of the work it takes.
    pub(super) weight: Weight,
    /// What it said; not empty.
    pub(super) text: &'a str,
}

/// One answer of a vote, with who gave it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// The answer, as its first voter spelled it.
    pub answer: String,
    /// How many gave it.
    pub votes: usize,
    /// Who, in the order of ranks.
    pub agents: Vec<String>,
}

/// What a reduction came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reduced {
    /// The text.
    pub(super) text: String,
    /// Of a vote: every answer, the winner first.
    pub(super) tallies: Vec<Tally>,
    /// Of a vote: whether another answer has as many votes as the winner.
    pub(super) tie: bool,
}

/// Makes one of several. `custom` without its template is a summary.
pub(super) fn reduce(strategy: ReduceStrategy, inputs: &[Input<'_>]) -> Reduced {
    let text = match strategy {
        ReduceStrategy::Summarise | ReduceStrategy::Custom => attributed(inputs),
        ReduceStrategy::Merge => merged(inputs),
        ReduceStrategy::Rank => ranked(inputs),
        ReduceStrategy::Vote => return voted(inputs),
    };
    Reduced {
        text,
        ..Reduced::default()
    }
}

/// What somebody else is asked to make of it, where no template says so.
pub(super) fn prompt(strategy: ReduceStrategy, inputs: &[Input<'_>], reduced: &str) -> String {
    let wish = match strategy {
        ReduceStrategy::Summarise | ReduceStrategy::Custom => "Summarise what they said.",
        ReduceStrategy::Vote => "Say which answer most of them gave.",
        ReduceStrategy::Merge => "Merge what they said, without repetitions.",
        ReduceStrategy::Rank => "Rank what they said, the best first.",
    };
    format!(
        "Several agents answered. {wish}\n\n{}\nCombined without judgement, it is:\n\n{reduced}\n",
        attributed(inputs)
    )
}

/// Every text with who said it: what `{{inputs}}` stands for.
pub(super) fn attributed(inputs: &[Input<'_>]) -> String {
    let blocks = inputs.iter().map(|input| {
        let text = quoted(input.text);
        format!("[{}] {}:\n{text}", input.rank, input.agent)
    });
    blocks.collect::<Vec<_>>().join("\n")
}

/// Each line behind a mark, so that none of them passes for the heading of another member.
fn quoted(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| format!("> {line}").trim_end().to_owned() + "\n");
    lines.collect()
}

/// Every line that anybody wrote, once, where it was written first.
fn merged(inputs: &[Input<'_>]) -> String {
    let mut seen = std::collections::BTreeSet::new();
    let mut text = String::new();
    for line in inputs.iter().flat_map(|input| input.text.lines()) {
        let line = line.trim_end();
        if !line.is_empty() && seen.insert(line) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// By weight, the heaviest first; of the same weight, in the order of ranks.
fn ranked(inputs: &[Input<'_>]) -> String {
    let mut by_weight: Vec<&Input<'_>> = inputs.iter().collect();
    by_weight.sort_by_key(|input| std::cmp::Reverse(input.weight));
    let lines = (1..).zip(by_weight).map(|(place, input)| {
        let text = quoted(input.text);
        format!(
            "{place}. {} (weight {}):\n{text}",
            input.agent, input.weight
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The answer that most gave; of several, the one whose first voter has the first rank.
fn voted(inputs: &[Input<'_>]) -> Reduced {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut tallies: Vec<Tally> = Vec::new();
    for input in inputs {
        let at = *places
            .entry(normalised(input.text))
            .or_insert(tallies.len());
        if at == tallies.len() {
            tallies.push(Tally {
                answer: input.text.trim().to_owned(),
                votes: 0,
                agents: Vec::new(),
            });
        }
        if let Some(tally) = tallies.get_mut(at) {
            tally.votes += 1;
            tally.agents.push(input.agent.to_owned());
        }
    }
    // Stable: answers with as many votes stay in the order of their first voters.
    tallies.sort_by_key(|tally| std::cmp::Reverse(tally.votes));
    let most = tallies.first().map_or(0, |tally| tally.votes);
    Reduced {
        text: tallies
            .first()
            .map(|tally| tally.answer.clone())
            .unwrap_or_default(),
        tie: tallies.get(1).is_some_and(|second| second.votes == most),
        tallies,
    }
}

/// What makes two answers the same: neither case, nor space, nor what ends a sentence counts.
fn normalised(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let joined = words.join(" ");
    let end = |c: char| matches!(c, '.' | '!' | '?' | ',' | ';' | ':');
    let bare = joined.trim_end_matches(end);
    if bare.is_empty() {
        joined
    } else {
        bare.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input<'a>(rank: &'a str, agent: &'a str, text: &'a str) -> Input<'a> {
        Input {
            agent,
            rank,
            weight: Weight::ONE,
            text,
        }
    }

    #[test]
    fn the_answer_that_most_gave_wins_whatever_its_case_and_its_full_stop() {
        let inputs = [
            input("1", "ada", "No"),
            input("2", "bob", "  Yes.\n"),
            input("3", "cyd", "yes"),
        ];

        let reduced = reduce(ReduceStrategy::Vote, &inputs);

        assert_eq!(reduced.text, "Yes.");
        assert!(!reduced.tie);
        let tallies: Vec<_> = reduced
            .tallies
            .iter()
            .map(|t| (t.votes, t.agents.join(",")))
            .collect();
        assert_eq!(tallies, [(2, "bob,cyd".to_owned()), (1, "ada".to_owned())]);
    }

    #[test]
    fn a_tie_is_won_by_the_first_rank_and_said() {
        let inputs = [input("2", "bob", "b"), input("10", "cyd", "c")];

        let reduced = reduce(ReduceStrategy::Vote, &inputs);

        assert_eq!((reduced.text.as_str(), reduced.tie), ("b", true));
    }

    #[test]
    fn an_answer_of_punctuation_alone_is_an_answer() {
        let inputs = [input("1", "ada", "?"), input("2", "bob", "!")];

        let reduced = reduce(ReduceStrategy::Vote, &inputs);

        assert_eq!(reduced.tallies.len(), 2);
    }

    #[test]
    fn merging_keeps_each_line_once_where_it_came_first() {
        let inputs = [input("1", "ada", "x\ny  \n\n"), input("2", "bob", "y\nz")];

        assert_eq!(reduce(ReduceStrategy::Merge, &inputs).text, "x\ny\nz\n");
    }

    #[test]
    fn ranking_goes_by_weight_and_then_by_rank() {
        let mut heavy = input("2", "bob", "b");
        heavy.weight = "2.5".parse().unwrap();
        let inputs = [input("1", "ada", "a"), heavy, input("3", "cyd", "c")];

        let text = reduce(ReduceStrategy::Rank, &inputs).text;

        assert_eq!(
            text,
            "1. bob (weight 2.5):\n> b\n\n2. ada (weight 1):\n> a\n\n3. cyd (weight 1):\n> c\n"
        );
    }

    #[test]
    fn a_summary_says_who_said_what() {
        let inputs = [input("1", "ada", "a\n"), input("2", "bob", "b")];

        let text = reduce(ReduceStrategy::Summarise, &inputs).text;

        assert_eq!(text, "[1] ada:\n> a\n\n[2] bob:\n> b\n");
    }
}
