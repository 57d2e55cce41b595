//! House rules that a compiler cannot check.
//!
//! Every rule is a pure function from the text of the repository to a list of faults, each of which
//! names the file that breaks it. Two tests stand beside each rule: the repository keeps it, and a
//! repository that breaks it is told so.

#![expect(
    clippy::expect_used,
    reason = "the allowance for tests does not reach plain functions beside them"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[path = "tidy/crates.rs"]
mod crates;
#[path = "tidy/documents.rs"]
mod documents;
#[path = "tidy/events.rs"]
mod events;
#[path = "tidy/files.rs"]
mod files;
#[path = "tidy/verifier.rs"]
mod verifier;

/// The text files of the repository by their path from its top, `/` between the parts.
#[derive(Clone, Default)]
struct Tree(BTreeMap<String, String>);

/// Folders and files that the rules read. What is not listed (`target`, `.git`) is nobody's text.
const TOPS: [&str; 18] = [
    ".ci",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.toml",
    "README.md",
    "cli",
    "clippy.toml",
    "commands",
    "deny.toml",
    "docs",
    "fixtures",
    "fuzz/Cargo.toml",
    "fuzz/fuzz_targets",
    "justfile",
    "log",
    "projections",
    "rustfmt.toml",
    "tests",
];

impl Tree {
    fn of_repository() -> Self {
        let top = top();
        let mut tree = Self::default();
        for name in TOPS {
            tree.take_in(&top, &top.join(name));
        }
        assert!(
            tree.0.contains_key("Cargo.toml"),
            "the top of the repository is not {}",
            top.display()
        );
        tree
    }

    fn take_in(&mut self, top: &Path, path: &Path) {
        if path.ends_with("target") {
            return; // What a build leaves behind.
        }
        if path.is_dir() {
            for entry in std::fs::read_dir(path).expect("a folder of the repository is readable") {
                self.take_in(
                    top,
                    &entry.expect("an entry of a folder is readable").path(),
                );
            }
        } else if let Ok(text) = std::fs::read_to_string(path) {
            let name = path.strip_prefix(top).expect("every file is below the top");
            self.0.insert(
                name.to_str()
                    .expect("file names are UTF-8")
                    .replace('\\', "/"),
                text,
            );
        }
    }

    /// A repository of these files alone, to see a rule broken.
    fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        Self(
            files
                .into_iter()
                .map(|(path, text)| (path.to_owned(), text.to_owned()))
                .collect(),
        )
    }

    fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(|(path, _)| has_extension(path, "rs"))
    }

    fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.iter()
            .filter(move |(path, _)| path.starts_with(folder))
    }
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|found| found == extension)
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("cli/ has a parent")
        .to_owned()
}

/// # Panics
/// If the repository breaks the rule: with every fault on a line of its own.
#[track_caller]
fn is_kept(rule: fn(&Tree) -> Vec<String>) {
    let faults = rule(&Tree::of_repository());
    assert!(
        faults.is_empty(),
        "{} fault(s):\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// # Panics
/// If the rule says anything else than `said` about these files.
#[track_caller]
fn is_broken<const N: usize>(
    rule: fn(&Tree) -> Vec<String>,
    files: [(&str, &str); N],
    said: &[&str],
) {
    assert_eq!(rule(&Tree::of(files)), said);
}
