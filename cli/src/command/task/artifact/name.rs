//! File names from strangers, made harmless (C146).
//!
//! Only the last component of what an agent wrote is ever used, and what is left of it can neither leave
//! a folder, hide in it, mean a device, nor be taken for a flag. What cannot be used gets a name of ours.

use missive_commands::wire::text::cut_at;
use std::collections::{BTreeMap, BTreeSet};

/// The longest name in bytes: with a number and a suffix it still fits everywhere.
const BYTES_MAX: usize = 200;

/// Names that mean devices on Windows, whatever follows the first dot.
const DEVICES: [&str; 8] = [
    "con", "prn", "aux", "nul", "conin$", "conout$", "clock$", "lst",
];

/// The harmless part of a name; `None` if nothing is left of it.
pub(in crate::command) fn harmless(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let letters = last.chars().filter_map(|letter| match letter {
        '<' | '>' | ':' | '"' | '|' | '?' | '*' => Some('_'),
        hidden if hidden.is_control() || is_invisible(hidden) => None,
        other => Some(other),
    });
    let whole: String = letters.collect();
    let whole = whole
        .trim_start_matches(|letter: char| letter == '.' || letter.is_whitespace())
        .trim_end_matches(|letter: char| letter == '.' || letter.is_whitespace());
    let short = shortened(whole);
    if short.is_empty() || is_device(&short) {
        return None;
    }
    if let Some(rest) = short.strip_prefix('-') {
        return Some(format!("_{rest}"));
    }
    Some(short)
}

/// Marks that hide, reorder or join: two names that look the same must be the same.
fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let stem = stem.to_ascii_lowercase();
    let numbered = ["com", "lpt"].iter().any(|port| {
        let number = stem.strip_prefix(port);
        number.is_some_and(|number| {
            matches!(number, "\u{b9}" | "\u{b2}" | "\u{b3}")
                || (number.len() == 1 && number.bytes().all(|digit| digit.is_ascii_digit()))
        })
    });
    numbered || DEVICES.contains(&stem.as_str())
}

/// At most [`BYTES_MAX`] bytes; what is cut is cut in front of the extension.
fn shortened(name: &str) -> String {
    if name.len() <= BYTES_MAX {
        return name.to_owned();
    }
    let (stem, extension) = parts(name);
    let end = cut_at(stem, BYTES_MAX.saturating_sub(extension.len()));
    let stem = stem.get(..end).unwrap_or_default().trim_end();
    format!("{stem}{extension}")
}

/// The name without its extension, and the extension with its dot, if it is a short one.
fn parts(name: &str) -> (&str, &str) {
    let at = match name.strip_suffix(".url.json") {
        Some(stem) => stem.len(),
        None => name.rfind('.').unwrap_or(name.len()),
    };
    let (stem, extension) = name.split_at_checked(at).unwrap_or((name, ""));
    if stem.is_empty() || extension.len() > 20 {
        return (name, "");
    }
    (stem, extension)
}

/// The names that were given in one folder.
#[derive(Debug, Default)]
pub(in crate::command) struct Names {
    taken: BTreeSet<String>,
    /// The last number that a name got: an agent may call any number of files the same.
    last: BTreeMap<String, u64>,
}

impl Names {
    /// This name, or the same with a number if it is taken: also where upper and lower case are the same.
    pub(in crate::command) fn unique(&mut self, name: &str) -> String {
        let lower = name.to_lowercase();
        if self.taken.insert(lower.clone()) {
            return name.to_owned();
        }
        let (stem, extension) = parts(name);
        let number = self.last.entry(lower).or_insert(1);
        loop {
            *number += 1;
            let candidate = format!("{stem}-{number}{extension}");
            if self.taken.insert(candidate.to_lowercase()) {
                return candidate;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, Names, harmless};

    #[test]
    fn names_of_strangers_stay_in_their_folder() {
        let long = format!("{}.tar.gz", "é".repeat(300));
        let shown: Vec<String> = [
            "../../x",
            "/tmp/x",
            "a/../../b",
            "..",
            ".",
            "",
            ".ssh/config",
            ".bashrc",
            "C:\\x",
            "..\\..\\x.exe",
            "CON",
            "con.txt",
            "COM1.log",
            "lpt\u{b9}",
            "console.txt",
            "a\u{0}b",
            "a\nb\u{1b}[31m.txt",
            "gnp.\u{202e}txt.exe",
            "-rf",
            "what?: <a|b>*.txt",
            "name. ",
            "  ",
            "ü 天.txt",
        ]
        .into_iter()
        .map(|name| format!("{name:?} {}", harmless(name).unwrap_or("(ours)".to_owned())))
        .collect();

        insta::assert_snapshot!(shown.join("\n"), @r#"
        "../../x" x
        "/tmp/x" x
        "a/../../b" b
        ".." (ours)
        "." (ours)
        "" (ours)
        ".ssh/config" config
        ".bashrc" bashrc
        "C:\\x" x
        "..\\..\\x.exe" x.exe
        "CON" (ours)
        "con.txt" (ours)
        "COM1.log" (ours)
        "lpt¹" (ours)
        "console.txt" console.txt
        "a\0b" ab
        "a\nb\u{1b}[31m.txt" ab[31m.txt
        "gnp.\u{202e}txt.exe" gnp.txt.exe
        "-rf" _rf
        "what?: <a|b>*.txt" what__ _a_b__.txt
        "name. " name
        "  " (ours)
        "ü 天.txt" ü 天.txt
        "#);
        let short = harmless(&long).unwrap();
        assert!(
            short.len() <= BYTES_MAX && short.ends_with("é.gz"),
            "{short}"
        );
    }

    #[test]
    fn the_same_name_twice_gets_a_number_whatever_its_case() {
        let mut names = Names::default();

        let given = [
            "a.txt",
            "A.TXT",
            "a-2.txt",
            "a.url.json",
            "a.url.json",
            "b",
            "b",
        ]
        .map(|name| names.unique(name));

        assert_eq!(
            given,
            [
                "a.txt",
                "A-2.TXT",
                "a-2-2.txt",
                "a.url.json",
                "a-2.url.json",
                "b",
                "b-2"
            ]
        );
    }

    #[test]
    fn many_files_of_one_name_are_numbered_without_counting_from_the_start() {
        let mut names = Names::default();

        let last = (0..100_000).map(|_| names.unique("x.txt")).last();

        assert_eq!(last.as_deref(), Some("x-100000.txt"));
    }
}
