//! The nearest valid choice to what the user typed.
//!
//! Used for aliases, configuration keys and everything else that clap does not complete itself.
//! It only ever proposes something that is really there.

/// Words longer than this are not compared: nobody mistypes those, and the cost is quadratic.
const WORD_CHARS_MAX: usize = 128;

/// A list of choices ends when it is longer than this.
const LIST_CHARS_MAX: usize = 100;

/// The choice that needs the fewest edits to get from `typed`, if it is near enough to be what the
/// user meant. The first one wins among equals.
pub(crate) fn nearest<'a>(
    typed: &str,
    choices: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let typed: Vec<char> = typed.to_lowercase().chars().collect();
    if typed.is_empty() || typed.len() > WORD_CHARS_MAX {
        return None;
    }
    let allowed = (typed.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for choice in choices {
        let letters: Vec<char> = choice
            .to_lowercase()
            .chars()
            .take(WORD_CHARS_MAX + 1)
            .collect();
        let edits = distance(&typed, &letters);
        if edits <= allowed && best.is_none_or(|(fewest, _)| edits < fewest) {
            best = Some((edits, choice));
        }
    }
    best.map(|(_, choice)| choice)
}

/// A hint that names the nearest choice, or else the first few that exist.
pub(crate) fn hint(typed: &str, noun: &str, choices: &[&str]) -> Option<String> {
    if let Some(near) = nearest(typed, choices.iter().copied()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let mut chars = 0;
    let shown: Vec<String> = choices
        .iter()
        .take(12)
        .take_while(|choice| {
            let fits = chars < LIST_CHARS_MAX;
            chars += choice.chars().count();
            fits
        })
        .map(|choice| format!("`{choice}`"))
        .collect();
    let (last, first) = shown.split_last()?;
    let rest = choices.len() - shown.len();
    let sentence = match (first.is_empty(), rest) {
        (_, 1..) => format!("{} and {rest} more", shown.join(", ")),
        (true, 0) => return Some(format!("the only known {noun} is {last}")),
        (false, 0) => format!("{} and {last}", first.join(", ")),
    };
    Some(format!("known {noun}s are {sentence}"))
}

/// Edits (insert, delete, replace, swap of neighbours) between two words.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    let mut last_left = None;
    for (row, &a) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        let mut last_right = None;
        for (column, &b) in right.iter().enumerate() {
            let at =
                |line: &[usize], place: usize| line.get(place).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&above, column) + usize::from(a != b);
            let mut cost = replaced
                .min(at(&above, column + 1) + 1)
                .min(at(&current, column) + 1);
            if last_left == Some(b) && last_right == Some(a) && column > 0 {
                cost = cost.min(at(&before, column - 1) + 1);
            }
            current.push(cost);
            last_right = Some(b);
        }
        before = std::mem::replace(&mut above, current);
        last_left = Some(a);
    }
    above.last().copied().unwrap_or(left.len())
}

#[cfg(test)]
mod tests {
    use super::{hint, nearest};

    #[test]
    fn one_slip_finds_the_word_that_was_meant() {
        let choices = ["connect_timeout", "idle_timeout", "retries"];

        let found = [
            "conect_timeout",
            "idle_timeuot",
            "retrys",
            "RETRIES",
            "xyzzy",
            "",
        ]
        .map(|typed| nearest(typed, choices));

        assert_eq!(
            found,
            [
                Some("connect_timeout"),
                Some("idle_timeout"),
                Some("retries"),
                Some("retries"),
                None,
                None
            ]
        );
    }

    #[test]
    fn a_swap_of_neighbours_counts_as_one_edit() {
        assert_eq!(nearest("dao", ["ada"]), None);
        assert_eq!(nearest("daa", ["ada"]), Some("ada"));
    }

    #[test]
    fn without_a_near_choice_the_hint_lists_what_exists() {
        assert_eq!(
            hint("alan", "agent", &["ada", "grace"]).as_deref(),
            Some("known agents are `ada` and `grace`")
        );
        assert_eq!(
            hint("alan", "agent", &["grace"]).as_deref(),
            Some("the only known agent is `grace`")
        );
        assert_eq!(hint("alan", "agent", &[]), None);
        let many = [
            "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9", "b10", "b11", "b12", "b13",
        ];
        assert_eq!(
            hint("zebra", "agent", &many).as_deref(),
            Some(
                "known agents are `b1`, `b2`, `b3`, `b4`, `b5`, `b6`, `b7`, `b8`, `b9`, `b10`, `b11`, `b12` and 1 more"
            )
        );
    }
}
