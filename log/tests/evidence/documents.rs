//! `docs/events.md` is made from the source of the facts, so it cannot differ from what is stored.
//! `UPDATE_DOCS=1` rewrites it.

use missive_log::EventKind;
use std::fmt::Write as _;
use std::path::Path;

const KINDS: &str = include_str!("../../src/event/kind.rs");
const SOURCES: &[&str] = &[
    KINDS,
    include_str!("../../src/event/kind/call.rs"),
    include_str!("../../src/event/kind/card.rs"),
    include_str!("../../src/event/kind/collective.rs"),
    include_str!("../../src/event/kind/group.rs"),
    include_str!("../../src/event/kind/push.rs"),
    include_str!("../../src/event/kind/stream.rs"),
    include_str!("../../src/event/facts.rs"),
    include_str!("../../src/event/facts/collective.rs"),
    include_str!("../../src/event/facts/update.rs"),
    include_str!("../../src/event/id.rs"),
    include_str!("../../src/chain.rs"),
];

/// What each kind is about, and which payloads it may have. The order is that of the closed list.
const ABOUT: &[(&str, &str, &str)] = &[
    ("missive.log.created", "`log`", ""),
    ("missive.log.exported", "`log`", "filter"),
    ("missive.log.reanchored", "`log`", "reason"),
    ("missive.actor.seen", "`actor:ID`", "actor"),
    ("missive.agent.added", "`agent:ALIAS`", "note, metadata"),
    ("missive.agent.renamed", "`agent:ALIAS`", ""),
    ("missive.agent.removed", "`agent:ALIAS`", ""),
    ("a2a.card.requested", "`operation:ID`", "request_headers"),
    (
        "a2a.card.fetched",
        "`operation:ID`",
        "response, response_headers",
    ),
    (
        "a2a.card.failed",
        "`operation:ID`",
        "response, response_headers, error",
    ),
    (
        "a2a.send.requested",
        "`operation:ID`",
        "request, request_headers, sources",
    ),
    (
        "a2a.send.responded",
        "`operation:ID`",
        "response, response_headers",
    ),
    (
        "a2a.send.failed",
        "`operation:ID`",
        "response, response_headers, error",
    ),
    (
        "a2a.send.in_doubt",
        "`operation:ID`",
        "response, response_headers, error",
    ),
    ("a2a.send.resolved", "`operation:ID`", "task"),
    (
        "a2a.call.requested",
        "`operation:ID`",
        "request, request_headers",
    ),
    (
        "a2a.call.responded",
        "`operation:ID`",
        "response, response_headers",
    ),
    (
        "a2a.call.failed",
        "`operation:ID`",
        "response, response_headers, error",
    ),
    ("a2a.task.updated", "`task:ID`", "task"),
    ("a2a.card.checked", "`agent:ALIAS`", "error"),
    ("a2a.card.changed", "`agent:ALIAS`", ""),
    (
        "a2a.card.extended",
        "`operation:ID`",
        "response, response_headers",
    ),
    ("missive.agent.key_pinned", "`agent:ALIAS`", "key"),
    ("missive.agent.card_given", "`agent:ALIAS`", "response"),
    (
        "a2a.stream.requested",
        "`operation:ID`",
        "request, request_headers, sources",
    ),
    (
        "a2a.subscription.requested",
        "`operation:ID`",
        "request, request_headers",
    ),
    ("a2a.stream.task", "`task:ID`", "frame"),
    ("a2a.stream.message", "`operation:ID`", "frame"),
    ("a2a.stream.status_update", "`task:ID`", "frame"),
    ("a2a.stream.artifact_update", "`task:ID`", "frame"),
    ("a2a.stream.malformed", "`operation:ID`", "frame, error"),
    (
        "a2a.stream.closed",
        "`operation:ID`",
        "response, response_headers, error",
    ),
    (
        "a2a.push.configured",
        "`task:ID`",
        "response, response_headers",
    ),
    ("a2a.push.removed", "`task:ID`", ""),
    ("a2a.push.task", "`task:ID`", "delivery, request_headers"),
    ("a2a.push.message", "`log`", "delivery, request_headers"),
    (
        "a2a.push.status_update",
        "`task:ID`",
        "delivery, request_headers",
    ),
    (
        "a2a.push.artifact_update",
        "`task:ID`",
        "delivery, request_headers",
    ),
    ("a2a.push.rejected", "`log`", "delivery, error"),
    ("missive.webhook.started", "`operation:ID`", "address"),
    ("missive.webhook.stopped", "`operation:ID`", "error"),
    (
        "missive.context.created",
        "`context:ID`",
        "summary, metadata",
    ),
    ("missive.context.forked", "`context:ID`", "metadata"),
    ("missive.context.named", "`context_name:NAME`", ""),
    ("missive.context.closed", "`context:ID`", "summary"),
    ("missive.context.exported", "`context:ID`", ""),
    ("missive.artifact.saved", "`task:ID`", "files"),
    ("missive.group.created", "`group:NAME`", "note, metadata"),
    ("missive.group.renamed", "`group:NAME`", ""),
    ("missive.group.deleted", "`group:NAME`", ""),
    ("missive.group.member_added", "`group:NAME`", "metadata"),
    ("missive.group.member_removed", "`group:NAME`", ""),
    ("missive.group.turn_taken", "`group:NAME`", ""),
    ("missive.group.member_tried", "`operation:ID`", "error"),
    ("missive.bcast.started", "`operation:ID`", ""),
    ("missive.bcast.member_ended", "`operation:ID`", "error"),
    ("missive.bcast.completed", "`operation:ID`", ""),
    ("missive.barrier.started", "`operation:ID`", ""),
    ("missive.barrier.member_ended", "`operation:ID`", ""),
    ("missive.barrier.completed", "`operation:ID`", ""),
    ("missive.gather.recorded", "`operation:ID`", "files"),
    (
        "missive.reduce.started",
        "`operation:ID`",
        "command, request",
    ),
    ("missive.reduce.sources", "`operation:ID`", ""),
    ("missive.reduce.completed", "`operation:ID`", "result"),
    ("missive.reduce.failed", "`operation:ID`", "error"),
    ("missive.round.abandoned", "`operation:ID`", ""),
];

/// Stands before the meaning of a fact that is left out where there is nothing to say.
const OPTIONAL: &str = "Optional.";

/// One definition of the sources: a shape, an enum, or a type of identifiers.
struct Definition {
    name: String,
    doc: String,
    /// Name, type or stored name, meaning.
    rows: Vec<[String; 3]>,
    /// What a value of it is, where it has no rows.
    text: String,
}

/// Reads every definition of a source: they are written in one way only.
fn definitions(source: &str) -> Vec<Definition> {
    let mut found: Vec<Definition> = Vec::new();
    let mut doc = String::new();
    let mut open: Option<Definition> = None;
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            doc = format!("{doc} {}", text.trim());
            continue;
        }
        if line.starts_with("#[") {
            if line.starts_with("#[serde(default") {
                doc.insert_str(0, OPTIONAL);
            }
            continue;
        }
        let said = std::mem::take(&mut doc).trim().to_owned();
        if let Some(definition) = &mut open {
            if line.starts_with('}') {
                found.extend(open.take());
            } else if let Some((name, rest)) = line.split_once([':', '=']) {
                let name = name.trim().trim_start_matches("pub ").to_owned();
                let rest = rest.trim().trim_end_matches(',').to_owned();
                definition.rows.push([name, rest, said]);
            }
            continue;
        }
        let head = line
            .trim_start_matches("pub struct ")
            .trim_start_matches("pub enum ");
        let is_name = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_uppercase())
                && text.chars().all(char::is_alphanumeric)
        };
        if said.is_empty() {
            continue;
        }
        if let Some(name) = head.strip_suffix(" {}").filter(|name| is_name(name)) {
            found.push(definition(name, &said, ""));
        } else if let Some(name) = head.strip_suffix("(u64);").filter(|name| is_name(name)) {
            found.push(definition(name, &said, "an integer"));
        } else if let Some(name) = head.strip_suffix(" {").filter(|name| is_name(name)) {
            open = Some(definition(name, &said, ""));
        } else if let Some((name, rest)) = line.split_once(", ").filter(|(name, _)| is_name(name)) {
            let text = rest.split('"').nth(1).unwrap_or_default();
            found.push(definition(name, &said, text));
        }
    }
    found
}

fn definition(name: &str, doc: &str, text: &str) -> Definition {
    Definition {
        name: name.to_owned(),
        doc: doc.to_owned(),
        rows: Vec::new(),
        text: text.to_owned(),
    }
}

/// Kind and shape, with what happened, from the closed list.
fn kinds() -> Vec<(String, String)> {
    let list = KINDS.split("\nkinds!(\n").nth(1).unwrap();
    let list = list.split("\n);").next().unwrap();
    let rows = list.lines().filter_map(|line| {
        let (variant, name) = line.trim().trim_end_matches([',', ';']).split_once(" = ")?;
        let shape = variant.split(['(', ')']).nth(1)?;
        Some((name.trim_matches('"').to_owned(), shape.to_owned()))
    });
    rows.collect()
}

/// How a type is called in the page.
fn shown_type(rust: &str) -> String {
    let inside = |wrapper: &str| rust.strip_prefix(wrapper).and_then(|t| t.strip_suffix('>'));
    if let Some(inner) = inside("Option<") {
        return shown_type(inner);
    }
    if let Some(inner) = inside("Vec<") {
        return format!("list of {}", shown_type(inner));
    }
    match rust {
        "bool" => "boolean".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "Seq" => "integer".to_owned(),
        "Timestamp" => "time".to_owned(),
        name => format!("[{name}](#{})", name.to_lowercase()),
    }
}

fn page() -> String {
    let all: Vec<Definition> = SOURCES
        .iter()
        .flat_map(|source| definitions(source))
        .collect();
    let named = |name: &str| {
        all.iter()
            .find(|one| one.name == name)
            .unwrap_or_else(|| panic!("{name} is not defined"))
    };
    let mut page = String::from(
        "# Events\n\nMade from the source of the facts by a test (`UPDATE_DOCS=1 cargo test -p missive-log`). Every kind has one\n\
         version so far: 1. The parts that all events share are in [format.md](format.md). Optional facts are left out\n\
         where there is nothing to say. What is free or personal is never a fact: it is a payload with one of the roles\n\
         named here.\n\n\
         | kind | v | subject | payloads | what happened |\n| --- | --- | --- | --- | --- |\n",
    );
    let mut types: Vec<String> = Vec::new();
    let kinds = kinds();
    for (kind, shape) in &kinds {
        let (_, subject, payloads) = ABOUT.iter().find(|(name, ..)| name == kind).unwrap();
        let doc = &named(shape).doc;
        writeln!(
            page,
            "| [`{kind}`](#{}) | 1 | {subject} | {payloads} | {doc} |",
            anchor(kind)
        )
        .unwrap();
    }
    page.push_str("\n# Facts\n");
    for (kind, shape) in &kinds {
        writeln!(page, "\n## {kind}\n").unwrap();
        fields(&mut page, named(shape), &mut types);
    }
    page.push_str("\n# Types\n");
    let mut next = 0;
    while let Some(name) = types.get(next).cloned() {
        let one = named(&name);
        writeln!(page, "\n## {name}\n\n{}\n", one.doc).unwrap();
        if one.text.is_empty() {
            fields(&mut page, one, &mut types);
        } else {
            writeln!(page, "Stored as {}.", one.text).unwrap();
        }
        next += 1;
    }
    page
}

fn anchor(kind: &str) -> String {
    kind.replace('.', "")
}

/// The table of a shape's fields or of an enum's stored names; types on the way are remembered.
fn fields(page: &mut String, one: &Definition, types: &mut Vec<String>) {
    if one.rows.is_empty() {
        page.push_str("No facts.\n");
        return;
    }
    if one
        .rows
        .iter()
        .all(|[_, stored, _]| stored.starts_with('"'))
    {
        page.push_str("| stored | meaning |\n| --- | --- |\n");
        for [_, stored, doc] in &one.rows {
            writeln!(page, "| `{}` | {doc} |", stored.trim_matches('"')).unwrap();
        }
        return;
    }
    page.push_str("| fact | type | meaning |\n| --- | --- | --- |\n");
    for [name, rust, doc] in &one.rows {
        let shown = shown_type(rust);
        writeln!(page, "| `{name}` | {shown} | {doc} |").unwrap();
        let inner = rust
            .rsplit('<')
            .next()
            .unwrap()
            .trim_end_matches('>')
            .to_owned();
        if shown.contains('[') && !types.contains(&inner) {
            types.push(inner);
        }
    }
}

#[test]
fn the_page_of_events_is_made_from_the_facts() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/events.md");
    let page = page();

    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }

    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == written,
        "docs/events.md is not current: UPDATE_DOCS=1 rewrites it"
    );
    let names: Vec<String> = kinds().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(names, EventKind::NAMES);
}
