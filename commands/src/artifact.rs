//! Artifacts, put together from the raw pieces that came, from the beginning (A2A 1.0 section 4.2.2).
//!
//! The view says of which payloads an artifact is made; here they are opened, one at a time, and their
//! parts are visited in order. Nothing is put between them: where the text of a stream is cut means
//! nothing (C067). A piece that was erased or is lost leaves a hole, which is told and never filled.

use std::ops::ControlFlow;

use missive_log::event::facts::PayloadFacts;
use missive_log::event::{ArtifactId, Seq};
use missive_log::{Log, Opened};
use missive_projections::{Artifact, PayloadSource, Task, Views};
use serde_json::Value;

use crate::drive::stored::event_at;
use crate::failure::CommandError;
use crate::wire::json::{Document, Limits, member};

/// One part, as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Its content.
    pub content: Content<'a>,
    /// A file name given by the peer: untrusted.
    pub filename: Option<&'a str>,
    /// The media type, verbatim.
    pub media_type: Option<&'a str>,
    /// Whether a piece begins with it that goes behind an earlier one.
    pub appended: bool,
}

/// What a part holds (A2A 1.0 section 4.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// Text.
    Text(&'a str),
    /// Bytes in base64, in whatever alphabet.
    Raw(&'a str),
    /// An address, which nobody fetches.
    Url(&'a str),
    /// JSON, its exact text.
    Data(&'a str),
    /// Nothing that A2A knows.
    Unknown,
}

impl Content<'_> {
    /// The name in outputs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Raw(_) => "raw",
            Self::Url(_) => "url",
            Self::Data(_) => "data",
            Self::Unknown => "unknown",
        }
    }
}

/// What an artifact was put together from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// What the peer calls it.
    pub name: Option<String>,
    /// The payloads that were read, in order.
    pub sources: Vec<PayloadFacts>,
    /// How many places of them were redacted before they were stored.
    pub redacted: u64,
    /// Pieces that are not there.
    pub holes: Vec<Hole>,
}

/// A piece that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// The event that it belonged to.
    pub seq: Seq,
    /// Why it is not there.
    pub why: Gone,
}

/// Why a piece is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Somebody erased it.
    Erased,
    /// The log lost it.
    Missing,
    /// It is there, and does not hold the artifact any more as far as anybody can read.
    Unreadable,
}

impl Gone {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Erased => "erased",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Visits the parts of an artifact in their order, until `visit` breaks. One piece is in memory at a
/// time.
///
/// # Errors
/// The log or the views cannot be read.
pub async fn gather<L: Log>(
    log: &L,
    views: &Views,
    task: &Task,
    artifact: &Artifact,
    visit: impl FnMut(Part<'_>) -> ControlFlow<()>,
) -> Result<Gathered, CommandError> {
    gather_with(&mut LastPiece::default(), log, views, task, artifact, visit).await
}

/// The piece that was read last, for whoever reads several artifacts of one answer.
#[derive(Debug, Default)]
pub struct LastPiece(Option<(PayloadSource, Piece)>);

/// The same, which reads the piece that was read last only once.
///
/// # Errors
/// The log or the views cannot be read.
pub async fn gather_with<L: Log>(
    last: &mut LastPiece,
    log: &L,
    views: &Views,
    task: &Task,
    artifact: &Artifact,
    mut visit: impl FnMut(Part<'_>) -> ControlFlow<()>,
) -> Result<Gathered, CommandError> {
    let pieces = views.pieces(task, artifact)?;
    let mut gathered = Gathered::default();
    for (at, source) in std::iter::once(artifact.source).chain(pieces).enumerate() {
        let held = last.0.take().filter(|(held, _)| *held == source);
        let opened = match held {
            Some((_, piece)) => Ok(piece),
            None => open(log, source).await?,
        };
        let piece = match opened {
            Ok(piece) => &last.0.insert((source, piece)).1,
            Err(why) => {
                let seq = source.seq;
                gathered.holes.push(Hole { seq, why });
                continue;
            }
        };
        gathered.sources.push(piece.facts.clone());
        gathered.redacted = gathered.redacted.saturating_add(piece.redacted.into());
        let Some(place) = place(&piece.document, &artifact.artifact) else {
            gathered.holes.push(Hole {
                seq: source.seq,
                why: Gone::Unreadable,
            });
            continue;
        };
        let holder = place.value(&piece.document);
        if gathered.name.is_none() {
            gathered.name = text(holder, &["name"]).map(str::to_owned);
        }
        if visit_parts(&piece.document, &place, at > 0, &mut visit).is_break() {
            break;
        }
    }
    Ok(gathered)
}

#[derive(Debug)]
struct Piece {
    document: Document,
    facts: PayloadFacts,
    redacted: u32,
}

async fn open<L: Log>(log: &L, source: PayloadSource) -> Result<Result<Piece, Gone>, CommandError> {
    let event = event_at(log, source.seq).await?;
    let Some(of) = event.and_then(|event| source.find(&event)) else {
        return Ok(Err(Gone::Missing));
    };
    let bytes = match log.payload(of).await? {
        Opened::Present(row) => row.bytes,
        Opened::Erased(_) => return Ok(Err(Gone::Erased)),
        Opened::Missing => return Ok(Err(Gone::Missing)),
    };
    Ok(match Document::read(&bytes, &Limits::default()) {
        Ok(document) => Ok(Piece {
            document,
            facts: PayloadFacts {
                seq: of.seq,
                index: of.index,
                commitment: of.commitment,
            },
            redacted: of.redacted,
        }),
        Err(_) => Err(Gone::Unreadable),
    })
}

/// Where an artifact stands in a task, an answer or an update.
struct Place(Vec<String>);

impl Place {
    fn value<'a>(&self, document: &'a Document) -> &'a Value {
        self.0
            .iter()
            .fold(document.value(), |value, step| match value {
                Value::Array(list) => step
                    .parse::<usize>()
                    .ok()
                    .and_then(|at| list.get(at))
                    .unwrap_or(&Value::Null),
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Object(_) => value.get(step).unwrap_or(&Value::Null),
            })
    }

    fn parts<'a>(&'a self, document: &'a Document) -> Vec<&'a str> {
        let steps = self.0.iter().map(String::as_str);
        let path: Vec<&str> = steps.chain(["parts"]).collect();
        document.raw_elements(&path)
    }
}

fn place(document: &Document, artifact: &ArtifactId) -> Option<Place> {
    let mut path: Vec<String> = Vec::new();
    let mut value = document.value();
    let mut step = |value: &mut &Value, names: &[&str]| {
        let found = names
            .iter()
            .find_map(|name| Some((name, value.get(name).filter(|member| member.is_object())?)));
        if let Some((name, member)) = found {
            path.push((*name).to_owned());
            *value = member;
        }
        found.is_some()
    };
    if value.get("jsonrpc").is_some() {
        step(&mut value, &["result"]);
    }
    if step(&mut value, &["artifactUpdate", "artifact_update"]) {
        return step(&mut value, &["artifact"]).then_some(Place(path));
    }
    step(&mut value, &["task"]);
    let artifacts = value.get("artifacts").and_then(Value::as_array)?;
    // Of two with the same id the later one is the one that the view has.
    let at = artifacts
        .iter()
        .rposition(|one| text(one, &["artifactId", "artifact_id"]) == Some(artifact.as_str()))?;
    path.extend(["artifacts".to_owned(), at.to_string()]);
    Some(Place(path))
}

fn visit_parts(
    document: &Document,
    place: &Place,
    appended: bool,
    visit: &mut impl FnMut(Part<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let parts = place.value(document).get("parts").and_then(Value::as_array);
    let texts = place.parts(document);
    for (at, (part, exact)) in parts.into_iter().flatten().zip(texts).enumerate() {
        visit(Part {
            content: content(part, exact),
            filename: text(part, &["filename"]).filter(|name| !name.is_empty()),
            media_type: text(part, &["mediaType", "media_type"]).filter(|name| !name.is_empty()),
            appended: appended && at == 0,
        })?;
    }
    ControlFlow::Continue(())
}

/// The first of the four members that is there, as everywhere else.
fn content<'a>(part: &'a Value, exact: &'a str) -> Content<'a> {
    let read = |name| text(part, &[name]);
    if let Some(text) = read("text") {
        Content::Text(text)
    } else if let Some(raw) = read("raw") {
        Content::Raw(raw)
    } else if let Some(url) = read("url") {
        Content::Url(url)
    } else if let Some(json) = member(exact, "data") {
        Content::Data(json)
    } else {
        Content::Unknown
    }
}

fn text<'a>(value: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| value.get(name)?.as_str())
}
