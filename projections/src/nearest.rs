//! What somebody may have meant.

/// Candidates that are near to what was written, nearest first: a few slips apart, or one beginning
/// with the other.
pub fn nearest<T: AsRef<str>>(
    wanted: &str,
    candidates: impl IntoIterator<Item = T>,
    limit: usize,
) -> Vec<T> {
    // A third of the letters may be wrong, and always two.
    let slips_max = (wanted.chars().count() / 3).max(2);
    let mut scored: Vec<(usize, T)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let text = candidate.as_ref();
            let slips = distance(wanted, text);
            let begins =
                !wanted.is_empty() && (text.starts_with(wanted) || wanted.starts_with(text));
            (slips <= slips_max || begins).then_some((slips, candidate))
        })
        .collect();
    scored.sort_by(|left, right| (left.0, left.1.as_ref()).cmp(&(right.0, right.1.as_ref())));
    scored.truncate(limit);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

/// How many letters must be put in, taken out or changed (Levenshtein).
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        let mut next = vec![before];
        for (b, above) in right.iter().zip(row.iter().skip(1)) {
            let changed = diagonal + usize::from(a != *b);
            before = changed.min(above + 1).min(before + 1);
            diagonal = *above;
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn slips_are_counted_and_the_nearest_comes_first() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(
            nearest("alan", ["grace", "ada", "alain", "allan"], 2),
            ["alain", "allan"]
        );
    }

    #[test]
    fn what_is_far_from_everything_means_nothing() {
        assert!(nearest("zebra", ["ada", "grace"], 3).is_empty());
    }
}
