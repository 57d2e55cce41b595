//! Rules about what is stored: facts hold no free text, golden files decode for ever, every backend
//! keeps every promise, and one file hashes.

use super::{Tree, has_extension, is_broken, is_kept};

/// Types that can hold anything a person or a peer wrote.
const FREE: [&str; 6] = ["String", "str", "Value", "RawValue", "OsString", "PathBuf"];

/// Files whose types are stored as facts. Identifier types live in `id.rs`, behind a checked grammar.
fn holds_facts(path: &str) -> bool {
    [
        "log/src/event/kind",
        "log/src/event/stored",
        "log/src/event/facts",
    ]
    .iter()
    .any(|start| path.starts_with(start))
}

/// The type of a line such as `pub name: Option<Type>,`, if it is a field and not a statement.
fn type_of_field(line: &str) -> Option<&str> {
    let line = line.trim().trim_end_matches(',');
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let (name, kind) = line.split_once(": ").or_else(|| line.split_once(" : "))?;
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    (is_name && !kind.ends_with([';', '{', ')'])).then_some(kind)
}

/// Types of those files that are no facts: errors, the frame around the facts, and what a newer build wrote.
fn is_no_fact(name: &str) -> bool {
    name.ends_with("Error") || ["Body", "Written", "UnknownFact"].contains(&name)
}

/// The type that a line such as `pub struct Name {` or, inside a macro, `Name {` begins.
fn name_of_type(line: &str) -> Option<&str> {
    let line = line.trim().strip_suffix('{')?.trim_end();
    let name = line
        .rsplit_once("struct ")
        .or_else(|| line.rsplit_once("enum "))
        .map_or(line, |(_, name)| name);
    let name = name.split(['<', ' ']).next()?;
    name.starts_with(|c: char| c.is_ascii_uppercase())
        .then_some(name)
}

fn facts_hold_no_free_text(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in tree.rust().filter(|(path, _)| holds_facts(path)) {
        let before_tests = text.split("#[cfg(test)]").next().unwrap_or_default();
        // The type that the line belongs to, with the depth at which it begins and ends.
        let mut inside: Option<(&str, usize)> = None;
        for (number, line) in (1..).zip(before_tests.lines()) {
            let depth = line.len() - line.trim_start().len();
            if inside.is_some_and(|(_, begin)| depth <= begin && line.trim_start().starts_with('}'))
            {
                inside = None;
            }
            if inside.is_none() {
                inside = name_of_type(line).map(|name| (name, depth));
            }
            let Some((of_type, _)) = inside else { continue };
            let mut words = type_of_field(line)
                .unwrap_or_default()
                .split(|c: char| !c.is_alphanumeric());
            if let Some(free) = words
                .find(|word| FREE.contains(word))
                .filter(|_| !is_no_fact(of_type))
            {
                faults.push(format!(
                    "{path}:{number}: {of_type} may not hold a {free}: text is payload"
                ));
            }
        }
    }
    faults
}

#[test]
fn facts_hold_no_free_text_outside_identifier_types() {
    is_kept(facts_hold_no_free_text);
}

#[test]
fn a_fact_with_free_text_is_named_with_its_line() {
    let kind = "//! Facts.
fact!(
    Added {
        alias: Alias,
        note: Option<String>,
    }
);
enum DecodeError {
    Facts {
        kind: String,
    },
}
fn f(
    text: &str,
) {
    let a: String = g();
}
";
    is_broken(
        facts_hold_no_free_text,
        [
            ("log/src/event/kind.rs", kind),
            ("log/src/event/id.rs", "struct Id {\n    text: String,\n}\n"),
        ],
        &["log/src/event/kind.rs:5: Added may not hold a String: text is payload"],
    );
}

/// Golden files are named `KIND.vN.json`; the table of shapes names each as `("KIND", N)`.
fn golden_files_are_decoded(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    let stored: String = tree
        .rust()
        .filter(|(path, _)| path.starts_with("log/"))
        .map(|(_, text)| text)
        .collect();
    for (path, _) in tree
        .below("log/tests/golden/")
        .filter(|(path, _)| has_extension(path, "json"))
    {
        let name = path
            .trim_start_matches("log/tests/golden/")
            .trim_end_matches(".json");
        let kind = name.rsplit_once(".v").map_or(name, |(kind, _)| kind);
        if !stored.contains(&format!("\"{kind}\"")) {
            faults.push(format!("{path}: no shape in log/ is called {kind}"));
        }
    }
    faults
}

#[test]
fn every_golden_shape_has_code_that_decodes_it() {
    is_kept(golden_files_are_decoded);
}

#[test]
fn a_golden_file_that_nothing_decodes_is_named() {
    is_broken(
        golden_files_are_decoded,
        [
            (
                "log/src/event/stored.rs",
                "//! Shapes.\nconst KIND: &str = \"missive.agent.added\";\n",
            ),
            ("log/tests/golden/missive.agent.added.v1.json", "{}"),
            ("log/tests/golden/missive.agent.addled.v1.json", "{}"),
        ],
        &[
            "log/tests/golden/missive.agent.addled.v1.json: no shape in log/ is called missive.agent.addled",
        ],
    );
}

/// The names of the promises: the functions of the suite that take a whole log.
fn promises(suite: &str) -> Vec<&str> {
    let promise = |text: &&str| {
        text.split(')')
            .next()
            .is_some_and(|head| head.contains("log: Arc<"))
    };
    suite
        .split("async fn ")
        .skip(1)
        .filter(promise)
        .filter_map(|text| text.split(['<', '(']).next())
        .collect()
}

/// The suite lists every promise, and every backend runs the suite: in its file, or in its folder.
fn every_backend_keeps_every_promise(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    let suite = tree.get("log/src/conformance.rs").unwrap_or_default();
    let list = suite
        .split("macro_rules! conformance")
        .nth(1)
        .and_then(|text| text.split(");").next());
    let listed: Vec<&str> = list
        .unwrap_or_default()
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .collect();
    for promise in promises(suite)
        .iter()
        .filter(|promise| !listed.contains(promise))
    {
        faults.push(format!(
            "log/src/conformance.rs: the promise {promise} is not in the list"
        ));
    }
    let runs = |text: &str| {
        let mut lines = text.lines().map(str::trim);
        lines.any(|line| {
            line.trim_start_matches("crate::conformance::")
                .starts_with("conformance!(")
        })
    };
    // `AnyLog` joins the others by `match` and keeps nothing itself.
    let keeps = |line: &str| {
        line.starts_with("impl") && line.contains(" Log for ") && !line.contains("AnyLog")
    };
    for (path, text) in tree.below("log/src/backend/") {
        let module = path.trim_end_matches("/mod.rs").trim_end_matches(".rs");
        let is_double = path.contains("/tests"); // A log that breaks promises, to see who notices.
        if text.lines().any(keeps) && !is_double && !tree.below(module).any(|(_, text)| runs(text))
        {
            faults.push(format!(
                "{path}: this backend does not run the promises (`conformance!`)"
            ));
        }
    }
    faults
}

#[test]
fn every_backend_runs_every_promise() {
    is_kept(every_backend_keeps_every_promise);
}

#[test]
fn a_promise_that_is_not_listed_and_a_backend_without_promises_are_named() {
    let suite = "//! Promises.
macro_rules! conformance {
    ($make:path) => {
        conformance!($make => a_batch_is_whole,);
    };
}
pub(crate) async fn a_batch_is_whole<L: Log>(log: Arc<L>) {}
pub(crate) async fn a_retry_is_one<L: Log>(
    log: Arc<L>,
) {}
async fn elsewhere<L: Log>(log: &Arc<L>) {}
";
    is_broken(
        every_backend_keeps_every_promise,
        [
            ("log/src/conformance.rs", suite),
            (
                "log/src/backend/memory.rs",
                "impl Log for MemoryLog {}\ncrate::conformance::conformance!(make);\n",
            ),
            ("log/src/backend/fjall/mod.rs", "impl Log for FjallLog {}\n"),
            (
                "log/src/backend/fjall/tests.rs",
                "crate::conformance::conformance!(make);\n",
            ),
            (
                "log/src/backend/attached.rs",
                "impl Log for AttachedLog {}\n",
            ),
            ("log/src/backend/any.rs", "impl Log for AnyLog {}\n"),
            (
                "log/src/backend/fjall/tests/forgetful.rs",
                "impl<L: Log> Log for Forgetful<L> {}\n",
            ),
        ],
        &[
            "log/src/conformance.rs: the promise a_retry_is_one is not in the list",
            "log/src/backend/attached.rs: this backend does not run the promises (`conformance!`)",
        ],
    );
}

/// The chain hashes evidence; the seam draws the bytes of a seeded run, which are no evidence.
const MAY_HASH: [&str; 2] = ["log/src/chain.rs", "log/src/seam.rs"];

fn one_file_hashes(tree: &Tree) -> Vec<String> {
    tree.rust()
        .filter(|(path, _)| {
            ["log/src/", "projections/src/", "commands/src/", "cli/src/"]
                .iter()
                .any(|room| path.starts_with(room))
                && !MAY_HASH.contains(path)
        })
        .filter(|(_, text)| text.contains("blake3::"))
        .map(|(path, _)| format!("{path}: only log/src/chain.rs hashes"))
        .collect()
}

#[test]
fn only_the_chain_hashes() {
    is_kept(one_file_hashes);
}

#[test]
fn another_file_that_hashes_is_named() {
    is_broken(
        one_file_hashes,
        [
            ("log/src/chain.rs", "use blake3::Hasher;\n"),
            ("cli/src/main.rs", "use blake3::Hasher;\n"),
        ],
        &["cli/src/main.rs: only log/src/chain.rs hashes"],
    );
}
