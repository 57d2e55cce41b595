//! Rules about the packages: who may depend on whom, on what, and why.

use super::{Tree, is_broken, is_kept};

/// Each room, and the rooms below it that it may use. `fixtures` is for tests alone.
const ROOMS: [(&str, &[&str]); 5] = [
    ("log", &[]),
    ("projections", &["missive-log"]),
    ("commands", &["missive-log", "missive-projections"]),
    (
        "cli",
        &["missive-log", "missive-projections", "missive-commands"],
    ),
    ("fixtures", &[]),
];

/// What a room must not know, from docs/architecture.md.
const UNKNOWN_TO: [(&str, &[&str]); 4] = [
    (
        "log",
        &[
            "a2a-lf",
            "reqwest",
            "rustls",
            "url",
            "toml",
            "clap",
            "comfy-table",
        ],
    ),
    (
        "projections",
        &[
            "a2a-lf",
            "reqwest",
            "rustls",
            "url",
            "toml",
            "clap",
            "comfy-table",
            "getrandom",
        ],
    ),
    (
        "commands",
        &[
            "fjall",
            "blake3",
            "clap",
            "comfy-table",
            "tracing-subscriber",
        ],
    ),
    ("cli", &["fjall", "blake3", "a2a-lf", "reqwest"]),
];

/// Packages that need no reason of their own, because the plan of the house chose them.
const AGREED: [&str; 11] = [
    "a2a-lf",
    "blake3",
    "clap",
    "fjall",
    "insta",
    "proptest",
    "reqwest",
    "serde",
    "serde_json",
    "tokio",
    "tracing",
];

/// One line of a `[dependencies]` table, read as text: these files are written by hand, a line each.
struct Dependency<'a> {
    table: &'a str,
    name: &'a str,
    line: &'a str,
}

fn dependencies(manifest: &str) -> Vec<Dependency<'_>> {
    let mut table = "";
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix('[') {
            table = rest.trim_end_matches(']');
        } else if table.ends_with("dependencies") && !line.starts_with('#') {
            let end = line
                .find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
                .unwrap_or(0);
            if end > 0 {
                found.push(Dependency {
                    table,
                    name: &line[..end],
                    line,
                });
            }
        }
    }
    found
}

fn rooms_depend_downwards(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for (room, below) in ROOMS {
        let path = format!("{room}/Cargo.toml");
        for dependency in dependencies(tree.get(&path).unwrap_or_default()) {
            let name = dependency.name;
            let for_tests = dependency.table == "dev-dependencies";
            let allowed = below.contains(&name) || (for_tests && name == "missive-fixtures");
            if name.starts_with("missive-") && !allowed {
                faults.push(format!(
                    "{path}: {room} may not depend on {name} in [{}]",
                    dependency.table
                ));
            }
        }
    }
    faults
}

#[test]
fn the_rooms_depend_downwards_only() {
    is_kept(rooms_depend_downwards);
}

#[test]
fn a_room_that_looks_up_is_named() {
    is_broken(
        rooms_depend_downwards,
        [
            (
                "log/Cargo.toml",
                "[dependencies]\nmissive-projections.workspace = true\n",
            ),
            (
                "cli/Cargo.toml",
                "[dependencies]\nmissive-fixtures.workspace = true\n[dev-dependencies]\nmissive-fixtures.workspace = true",
            ),
        ],
        &[
            "log/Cargo.toml: log may not depend on missive-projections in [dependencies]",
            "cli/Cargo.toml: cli may not depend on missive-fixtures in [dependencies]",
        ],
    );
}

fn rooms_know_only_their_own(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for (room, unknown) in UNKNOWN_TO {
        let path = format!("{room}/Cargo.toml");
        for dependency in dependencies(tree.get(&path).unwrap_or_default()) {
            if dependency.table == "dependencies" && unknown.contains(&dependency.name) {
                faults.push(format!(
                    "{path}: {room} is not the room for {}",
                    dependency.name
                ));
            }
        }
    }
    faults
}

#[test]
fn no_room_knows_what_belongs_to_another() {
    is_kept(rooms_know_only_their_own);
}

#[test]
fn a_log_that_knows_http_is_named() {
    is_broken(
        rooms_know_only_their_own,
        [(
            "log/Cargo.toml",
            "[dependencies]\nserde.workspace = true\nreqwest.workspace = true\n",
        )],
        &["log/Cargo.toml: log is not the room for reqwest"],
    );
}

fn every_package_is_a_room(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in tree
        .iter()
        .filter(|(path, _)| path.ends_with("/Cargo.toml"))
    {
        let folder = path.trim_end_matches("/Cargo.toml");
        if text.lines().any(|line| line == "[workspace]") {
            continue; // Outside of ours: fuzz targets, and the rivals of the benchmarks.
        }
        if !ROOMS.iter().any(|(room, _)| *room == folder) {
            faults.push(format!("{path}: no room is called {folder}"));
        }
        if !text.contains("[lints]\nworkspace = true") {
            faults.push(format!("{path}: does not inherit the lint table"));
        }
        for dependency in dependencies(text) {
            if !dependency.line.contains("workspace = true") {
                faults.push(format!(
                    "{path}: the version of {} belongs into the root Cargo.toml",
                    dependency.name
                ));
            }
        }
    }
    faults
}

#[test]
fn every_package_is_a_room_and_inherits_lints_and_versions() {
    is_kept(every_package_is_a_room);
}

#[test]
fn a_package_with_its_own_ways_is_named() {
    is_broken(
        every_package_is_a_room,
        [("util/Cargo.toml", "[dependencies]\nserde = \"1\"\n")],
        &[
            "util/Cargo.toml: no room is called util",
            "util/Cargo.toml: does not inherit the lint table",
            "util/Cargo.toml: the version of serde belongs into the root Cargo.toml",
        ],
    );
}

fn dependencies_have_reasons(tree: &Tree) -> Vec<String> {
    dependencies(tree.get("Cargo.toml").unwrap_or_default())
        .into_iter()
        .filter(|one| !AGREED.contains(&one.name) && !one.line.contains("path = "))
        .filter(|one| {
            one.line
                .split_once('#')
                .is_none_or(|(_, reason)| reason.trim().len() < 10)
        })
        .map(|one| format!("Cargo.toml: {} stands there without a reason", one.name))
        .collect()
}

#[test]
fn every_dependency_has_a_reason() {
    is_kept(dependencies_have_reasons);
}

#[test]
fn a_dependency_without_a_reason_is_named() {
    is_broken(
        dependencies_have_reasons,
        [(
            "Cargo.toml",
            "[workspace.dependencies]\nserde = \"1\"\nleft-pad = \"1\"\nurl = \"2\" # the WHATWG parser\n",
        )],
        &["Cargo.toml: left-pad stands there without a reason"],
    );
}

/// The nearest `clippy.toml` wins whole, so a room's file must repeat the lines of the root.
fn rooms_ban_disorder_and_clocks(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    let root = tree.get("clippy.toml").unwrap_or_default();
    for room in ["log", "projections", "commands"] {
        let path = format!("{room}/clippy.toml");
        let text = tree.get(&path).unwrap_or_default();
        for banned in [
            "collections::HashMap",
            "collections::HashSet",
            "time::SystemTime",
            "time::Instant",
        ] {
            let banned = format!("path = \"std::{banned}\"");
            if !text
                .lines()
                .any(|line| line.contains(&banned) && line.contains("reason = "))
            {
                faults.push(format!(
                    "{path}: misses the ban of {banned} with its reason"
                ));
            }
        }
        for line in root
            .lines()
            .filter(|line| !line.is_empty() && !text.contains(line))
        {
            faults.push(format!("{path}: misses `{line}` of the root's file"));
        }
    }
    faults
}

#[test]
fn the_rooms_that_must_be_deterministic_ban_disorder_and_clocks() {
    is_kept(rooms_ban_disorder_and_clocks);
}

#[test]
fn a_room_without_its_bans_is_named() {
    let whole = "too-many-lines-threshold = 70\n\
        { path = \"std::collections::HashMap\", reason = \"order\" }\n{ path = \"std::collections::HashSet\", reason = \"order\" }\n\
        { path = \"std::time::SystemTime\", reason = \"seam\" }\n{ path = \"std::time::Instant\", reason = \"seam\" }";
    let lacking = whole.replace("HashSet", "BTreeSet").replace("70", "700");

    is_broken(
        rooms_ban_disorder_and_clocks,
        [
            ("clippy.toml", "too-many-lines-threshold = 70\n"),
            ("log/clippy.toml", whole),
            ("projections/clippy.toml", whole),
            ("commands/clippy.toml", &lacking),
        ],
        &[
            "commands/clippy.toml: misses the ban of path = \"std::collections::HashSet\" with its reason",
        ],
    );
}
