//! Rules about documents: decision records without gaps, links that lead somewhere, the verifier of the
//! format page, recipes, and words that promise too much.

use super::{Tree, has_extension, is_broken, is_kept};

fn decisions_have_no_gaps(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    let mut expected = 1;
    for (path, text) in tree.below("docs/decisions/") {
        let name = path.trim_start_matches("docs/decisions/");
        let number = name.get(..4).and_then(|number| number.parse::<u32>().ok());
        if number != Some(expected) {
            faults.push(format!(
                "{path}: its number is not {expected:04}, the next one"
            ));
        }
        for heading in ["## Context", "## Options", "## Decision", "## Consequences"] {
            if !text.contains(heading) {
                faults.push(format!("{path}: misses `{heading}`"));
            }
        }
        expected = number.unwrap_or(expected) + 1;
    }
    faults
}

#[test]
fn decision_records_are_numbered_without_gaps() {
    is_kept(decisions_have_no_gaps);
}

#[test]
fn a_gap_between_decision_records_is_named() {
    let record = "## Context\n## Options\n## Decision\n## Consequences\n";
    is_broken(
        decisions_have_no_gaps,
        [
            ("docs/decisions/0001-a.md", record),
            ("docs/decisions/0003-b.md", record),
            (
                "docs/decisions/0003-c.md",
                "## Context\n## Options\n## Decision\n",
            ),
        ],
        &[
            "docs/decisions/0003-b.md: its number is not 0002, the next one",
            "docs/decisions/0003-c.md: its number is not 0004, the next one",
            "docs/decisions/0003-c.md: misses `## Consequences`",
        ],
    );
}

/// The first fenced block of this language, without its fences.
fn fenced<'a>(text: &'a str, language: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("\n```{language}\n"))?;
    rest.split_once("```\n").map(|(block, _)| block)
}

fn the_format_page_shows_the_verifier(tree: &Tree) -> Vec<String> {
    let page = tree
        .get("docs/format.md")
        .and_then(|text| fenced(text, "python"));
    if page.is_some() && page == tree.get("docs/verify.py") {
        return Vec::new();
    }
    vec!["docs/format.md: its Python block is not docs/verify.py".to_owned()]
}

#[test]
fn the_verifier_of_the_format_page_is_the_one_that_is_tested() {
    is_kept(the_format_page_shows_the_verifier);
}

#[test]
fn a_verifier_that_differs_from_the_page_is_named() {
    is_broken(
        the_format_page_shows_the_verifier,
        [
            ("docs/format.md", "# Format\n\n```python\nprint(1)\n```\n"),
            ("docs/verify.py", "print(2)\n"),
        ],
        &["docs/format.md: its Python block is not docs/verify.py"],
    );
}

/// Targets of `[text](target)` that are files of the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next())
        .filter(|target| !target.is_empty() && !target.contains("://"))
}

fn links_lead_somewhere(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in tree.iter().filter(|(path, _)| has_extension(path, "md")) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for target in links(text) {
            let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
            for part in target.split('/') {
                match part {
                    ".." => drop(parts.pop()),
                    "." | "" => {}
                    part => parts.push(part),
                }
            }
            let wanted = parts.join("/");
            let is_there =
                tree.get(&wanted).is_some() || tree.below(&format!("{wanted}/")).next().is_some();
            if !is_there {
                faults.push(format!("{path}: {target} leads nowhere"));
            }
        }
    }
    faults
}

#[test]
fn links_between_documents_lead_somewhere() {
    is_kept(links_lead_somewhere);
}

#[test]
fn a_link_that_leads_nowhere_is_named() {
    is_broken(
        links_lead_somewhere,
        [
            (
                "README.md",
                "[a](docs/a.md), [d](docs/), [c](docs/c.md), [w](https://example.com)",
            ),
            ("docs/a.md", "[r](../README.md#top), [b](b.md)"),
        ],
        &[
            "README.md: docs/c.md leads nowhere",
            "docs/a.md: b.md leads nowhere",
        ],
    );
}

/// Words that claim more than a hash chain can show. The threat model names them, to refuse them.
const TOO_MUCH: [&str; 6] = [
    "tamper-proof",
    "tamperproof",
    "immutable storage",
    "non-repudiation",
    "trusted time",
    "compliant",
];

fn no_page_promises_too_much(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in tree.iter() {
        if path.starts_with("tests/tidy")
            || path == "docs/threat-model.md"
            || path.starts_with("fixtures/wire")
        {
            continue;
        }
        for (number, line) in (1..).zip(text.to_lowercase().lines()) {
            for word in TOO_MUCH.iter().filter(|word| line.contains(**word)) {
                faults.push(format!(
                    "{path}:{number}: `{word}` is more than the chain shows"
                ));
            }
        }
    }
    faults
}

#[test]
fn no_page_and_no_message_promises_more_than_the_chain_shows() {
    is_kept(no_page_promises_too_much);
}

#[test]
fn a_promise_that_is_too_much_is_named_with_its_line() {
    is_broken(
        no_page_promises_too_much,
        [
            ("README.md", "# missive\n\nTamper-proof logs.\n"),
            ("docs/threat-model.md", "not tamper-proof\n"),
        ],
        &["README.md:3: `tamper-proof` is more than the chain shows"],
    );
}

const FIELD_REPORTS: &str = "docs/field-reports.md";

/// Each row names tests in backticks in its third column, or says in its fourth why there are none.
fn field_reports_name_tests_that_exist(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    let page = tree.get(FIELD_REPORTS).unwrap_or_default();
    for line in page.lines().filter(|line| line.starts_with("| C")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, case, _, tests, why, _] = cells[..] else {
            faults.push(format!("{FIELD_REPORTS}: `{line}` has not four columns"));
            continue;
        };
        if tests.is_empty() && why.is_empty() {
            faults.push(format!(
                "{FIELD_REPORTS}: {case} has neither a test nor a reason"
            ));
        }
        for name in tests.split('`').skip(1).step_by(2) {
            let heads = [format!("fn {name}("), format!("fn {name}<")];
            let is_head = |text: &str| heads.iter().any(|head| text.contains(head));
            if !tree.rust().any(|(_, text)| is_head(text)) {
                faults.push(format!("{FIELD_REPORTS}: {case}: there is no test {name}"));
            }
        }
    }
    faults
}

#[test]
fn every_test_that_the_field_reports_name_exists() {
    is_kept(field_reports_name_tests_that_exist);
    let tree = Tree::of_repository();
    let page = tree.get(FIELD_REPORTS).unwrap_or_default();
    assert!(page.contains("\n| C123 | "), "{FIELD_REPORTS} has no rows");
}

#[test]
fn a_field_report_without_its_test_is_named() {
    is_broken(
        field_reports_name_tests_that_exist,
        [
            (
                "docs/field-reports.md",
                "| C001 | a | `it_holds`<br>`it_does_not` | |\n| C002 | b | | |\n| C003 | c | | later |\n",
            ),
            ("log/src/a.rs", "async fn it_holds() {}\n"),
        ],
        &[
            "docs/field-reports.md: C001: there is no test it_does_not",
            "docs/field-reports.md: C002 has neither a test nor a reason",
        ],
    );
}

const RECIPES_MAX: usize = 12;

fn recipes_are_few_and_explained(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    let mut recipes = 0;
    let mut before = "";
    for line in tree.get("justfile").unwrap_or_default().lines() {
        if line.ends_with(':') && line.starts_with(|c: char| c.is_alphabetic()) {
            recipes += 1;
            if !before.starts_with("# ") {
                faults.push(format!("justfile: `{line}` has no comment above it"));
            }
        }
        before = line;
    }
    if recipes > RECIPES_MAX {
        faults.push(format!(
            "justfile: {recipes} recipes, at most {RECIPES_MAX}"
        ));
    }
    faults
}

#[test]
fn the_justfile_has_at_most_twelve_recipes_each_with_its_comment() {
    is_kept(recipes_are_few_and_explained);
}

#[test]
fn a_recipe_too_many_is_named() {
    let thirteen = "# One more.\nrecipe:\n".repeat(13);
    is_broken(
        recipes_are_few_and_explained,
        [("justfile", &*thirteen)],
        &["justfile: 13 recipes, at most 12"],
    );
    is_broken(
        recipes_are_few_and_explained,
        [("justfile", "test:\n")],
        &["justfile: `test:` has no comment above it"],
    );
}
