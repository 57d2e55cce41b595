//! Rules about every source file: its size, its first line, and the attributes that it may not use.

use super::{Tree, is_broken, is_kept};

const LINES_MAX: usize = 600;

fn files_are_short(tree: &Tree) -> Vec<String> {
    tree.rust()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LINES_MAX)
        .map(|(path, lines)| format!("{path}: {lines} lines, at most {LINES_MAX}"))
        .collect()
}

#[test]
fn no_file_has_more_than_six_hundred_lines() {
    is_kept(files_are_short);
}

#[test]
fn a_long_file_is_named() {
    is_broken(
        files_are_short,
        [
            ("log/src/a.rs", &*"\n".repeat(601)),
            ("log/src/b.rs", &*"\n".repeat(600)),
        ],
        &["log/src/a.rs: 601 lines, at most 600"],
    );
}

fn files_say_what_they_promise(tree: &Tree) -> Vec<String> {
    tree.rust()
        .filter(|(_, text)| {
            let doc = text
                .lines()
                .next()
                .and_then(|line| line.strip_prefix("//!"));
            doc.is_none_or(|doc| doc.trim().is_empty())
        })
        .map(|(path, _)| {
            format!("{path}: does not start with a module doc (`//! What it promises.`)")
        })
        .collect()
}

#[test]
fn every_file_starts_with_what_it_promises() {
    is_kept(files_say_what_they_promise);
}

#[test]
fn a_file_without_a_module_doc_is_named() {
    let said = "does not start with a module doc (`//! What it promises.`)";
    is_broken(
        files_say_what_they_promise,
        [
            ("a.rs", "use std::fs;\n"),
            ("b.rs", ""),
            ("c.rs", "//!\n"),
            ("d.rs", "//! A promise.\n"),
        ],
        &[
            &format!("a.rs: {said}"),
            &format!("b.rs: {said}"),
            &format!("c.rs: {said}"),
        ],
    );
}

/// Lints are lifted by `#[expect]`, which fails when it is no longer needed, and with a reason.
fn lints_are_not_allowed_away(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in tree.rust() {
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim_start();
            if line.starts_with("#[allow(") || line.starts_with("#![allow(") {
                faults.push(format!(
                    "{path}:{number}: use #[expect(.., reason = \"..\")] instead of allow"
                ));
            }
        }
    }
    faults
}

#[test]
fn no_lint_is_allowed_away() {
    is_kept(lints_are_not_allowed_away);
}

#[test]
fn an_allowed_lint_is_named_with_its_line() {
    is_broken(
        lints_are_not_allowed_away,
        [
            (
                "a.rs",
                "//! A promise.\n\n    #[allow(dead_code)]\nfn f() {}\n",
            ),
            ("b.rs", "#![allow(missing_docs)]\n"),
        ],
        &[
            "a.rs:3: use #[expect(.., reason = \"..\")] instead of allow",
            "b.rs:1: use #[expect(.., reason = \"..\")] instead of allow",
        ],
    );
}
