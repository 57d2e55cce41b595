//! `missive task artifact list` and `show`: what there is.

use super::super::super::Setting;
use super::name::Names;
use super::plan::{Planned, Reader};
use super::{all, known, one};
use crate::args::task::{ArtifactOf, ArtifactsOf};
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Lines, Output, Page, Report};
use missive_commands::Exit;
use missive_commands::artifact::{Content, Part};
use serde::Serialize;
use serde_json::value::RawValue;
use std::ops::ControlFlow;

/// The most that is shown of one artifact; a larger one is saved.
const BYTES_MAX: usize = 64 << 20;

pub(super) async fn list(
    of: &ArtifactsOf,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let (views, task) = known(of, setting, session, output)?;
    let reader = Reader::of(setting, &**session.log(), &views, &task);
    let mut names = Names::default();
    let mut artifacts = Vec::new();
    for artifact in all(session, &views, &task)? {
        artifacts.push(reader.plan(&artifact, &mut names).await?);
    }
    if artifacts.is_empty() {
        output.note(&format!("task {} has no artifacts", of.task));
    }
    let report = List {
        task_id: of.task.to_string(),
        artifacts,
    };
    output.report(&report).await?;
    Ok(Exit::Done)
}

pub(super) async fn show(
    which: &ArtifactOf,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let (views, task) = known(&which.of, setting, session, output)?;
    let artifact = one(&which.artifact, (setting, session), &views, &task)?;
    let reader = Reader::of(setting, &**session.log(), &views, &task);
    let planned = reader.plan(&artifact, &mut Names::default()).await?;
    let mut text = String::new();
    let mut parts: Vec<Shown> = Vec::new();
    let mut bytes = 0_usize;
    reader
        .read(&artifact, |part| {
            let shown = Shown::of(&part);
            bytes = bytes.saturating_add(shown.len());
            if bytes > BYTES_MAX {
                return ControlFlow::Break(());
            }
            if let Content::Text(more) = part.content {
                text.push_str(more);
            }
            shown.join(&mut parts);
            ControlFlow::Continue(())
        })
        .await?;
    if bytes > BYTES_MAX {
        let what = format!("artifact {} is too large to be shown", which.artifact);
        return Err(Failure::new(Exit::Data, what)
            .detail("too_large")
            .hint("`missive task artifact save` writes it to a file"));
    }
    for doubt in planned.doubts() {
        output.note(&format!("note: {doubt}"));
    }
    let report = Show {
        task_id: which.of.task.to_string(),
        artifact: Whole {
            planned,
            text,
            parts,
        },
    };
    output.report(&report).await?;
    Ok(Exit::Done)
}

/// `artifact_list`.
#[derive(Serialize)]
struct List {
    task_id: String,
    artifacts: Vec<Planned>,
}

/// One line of it.
#[derive(Serialize)]
struct Line<'a> {
    task_id: &'a str,
    artifact: &'a Planned,
}

impl Report for List {
    fn kind(&self) -> Kind {
        Kind::ArtifactList
    }

    fn human(&self, page: &mut Page) {
        let rows = self.artifacts.iter().flat_map(|one| {
            let id = &one.artifact.artifact_id;
            let name = one.artifact.name.as_deref().unwrap_or_default();
            one.files.iter().map(move |file| {
                [
                    id.clone(),
                    name.to_owned(),
                    file.kind.to_owned(),
                    file.bytes.to_string(),
                    file.media_type.clone().unwrap_or_default(),
                    file.path.clone(),
                ]
            })
        });
        page.table(["artifact", "name", "kind", "bytes", "type", "file"], rows);
        for doubt in self.artifacts.iter().flat_map(Planned::doubts) {
            page.line(&format!("note: {doubt}"));
        }
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        let task_id = &self.task_id;
        self.artifacts
            .iter()
            .try_for_each(|artifact| lines.push(self.kind(), true, &Line { task_id, artifact }))
    }
}

/// `artifact_show`.
#[derive(Serialize)]
struct Show {
    task_id: String,
    artifact: Whole,
}

#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    planned: Planned,
    /// Its text, with nothing between the pieces.
    text: String,
    parts: Vec<Shown>,
}

/// A part; what came of a text in pieces is one.
#[derive(Serialize)]
struct Shown {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<Box<RawValue>>,
}

impl Shown {
    fn of(part: &Part<'_>) -> Self {
        let mut shown = Self {
            kind: part.content.name(),
            filename: part.filename.map(str::to_owned),
            media_type: part.media_type.map(str::to_owned),
            text: None,
            url: None,
            json: None,
        };
        match part.content {
            Content::Text(text) => shown.text = Some(text.to_owned()),
            Content::Url(url) => shown.url = Some(url.to_owned()),
            Content::Data(json) => shown.json = RawValue::from_string(json.to_owned()).ok(),
            Content::Raw(_) | Content::Unknown => {}
        }
        shown
    }

    fn len(&self) -> usize {
        let text = self.text.as_deref().map_or(0, str::len);
        let url = self.url.as_deref().map_or(0, str::len);
        let json = self.json.as_ref().map_or(0, |json| json.get().len());
        // What a part takes without its content.
        text + url + json + 64
    }

    fn join(self, parts: &mut Vec<Self>) {
        if let (
            Some(Self {
                text: Some(before),
                filename,
                media_type,
                ..
            }),
            Some(more),
        ) = (parts.last_mut(), &self.text)
            && (self.filename.is_none() || self.filename == *filename)
            && (self.media_type.is_none() || self.media_type == *media_type)
        {
            before.push_str(more);
            return;
        }
        parts.push(self);
    }
}

impl Report for Show {
    fn kind(&self) -> Kind {
        Kind::ArtifactShow
    }

    fn human(&self, page: &mut Page) {
        let mut raw = self.artifact.planned.files.iter();
        for part in &self.artifact.parts {
            if let Some(text) = &part.text {
                page.block(text);
            } else if let Some(json) = &part.json {
                page.block(json.get());
            } else if let Some(url) = &part.url {
                page.line(&format!("a link to {url}"));
            } else if let Some(file) = raw.by_ref().find(|file| file.kind == "raw")
                && part.kind == "raw"
            {
                let (name, bytes) = (&file.path, file.bytes);
                let media = file.media_type.as_deref().unwrap_or("of no known type");
                page.line(&format!("a file, {name} ({media}, {bytes} bytes)"));
            }
        }
    }
}
