//! `missive task artifact save` and `export`: artifacts become files.
//!
//! First everything is read, then what leaves is recorded, then it is written: what the log says is never
//! less than what is on the disk.

use super::super::super::Setting;
use super::super::super::acting::{self, Told, word};
use super::files::FileView;
use super::name::Names;
use super::plan::{Planned, Reader};
use super::{all, known, one};
use crate::args::task::{ArtifactExport, ArtifactSave};
use crate::failure::Failure;
use crate::file::check as check_place;
use crate::open::Session;
use crate::render::output::Output;
use crate::render::{Kind, Mode, Page, Report};
use missive_commands::Exit;
use missive_commands::decide::artifact::SaveArtifacts;
use missive_log::Links;
use missive_log::event::facts::PayloadFacts;
use missive_projections::Task;
use serde::Serialize;
use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// The most bytes that are printed: a larger artifact goes to a file.
const PRINTED_BYTES_MAX: u64 = 256 << 20;

/// Refuses what cannot be meant, before a log is opened.
pub(super) fn check(command: &ArtifactSave, output: &Output) -> Result<(), Failure> {
    if is_stdout(command) && output.style().mode != Mode::Human {
        let what = "--output - cannot be used together with --json or --ndjson";
        return Err(Failure::usage(what)
            .detail("conflict")
            .hint("the bytes of the artifact would stand among them"));
    }
    if is_stdout(command) && output.style().terminal {
        let what = "the bytes of an artifact are not written to a terminal: they could act on it";
        return Err(Failure::usage(what)
            .detail("terminal")
            .hint("`missive task artifact show` shows them harmless; --output FILE saves them"));
    }
    Ok(())
}

fn is_stdout(command: &ArtifactSave) -> bool {
    command.output.as_deref() == Some(Path::new("-"))
}

pub(super) async fn save(
    command: &ArtifactSave,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let of = &command.which.of;
    let (views, task) = known(of, setting, session, output)?;
    let id = &command.which.artifact;
    let artifact = one(id, (setting, session), &views, &task)?;
    let reader = Reader::of(setting, &**session.log(), &views, &task);
    let mut planned = reader.plan(&artifact, &mut Names::default()).await?;
    match (&command.output, planned.files.as_mut_slice()) {
        (_, []) => return Err(nothing(&format!("artifact {id} holds nothing to save"))),
        (Some(path), [file]) => file.path = path_text(path)?,
        (Some(_), several) => {
            let task = word(of.task.as_str());
            let what = format!("artifact {id} becomes {} files", several.len());
            return Err(Failure::usage(what).detail("several_files").hint(format!(
                "leave --output out, or `missive task artifact export {task} --output-dir DIR`"
            )));
        }
        (None, _) => {}
    }
    let printed = is_stdout(command);
    if printed
        && planned
            .files
            .iter()
            .any(|file| file.bytes > PRINTED_BYTES_MAX)
    {
        let what = format!("artifact {id} is too large to be printed");
        return Err(Failure::new(Exit::Data, what)
            .detail("too_large")
            .hint("name a file with --output FILE"));
    }
    if !printed {
        check_all(std::slice::from_ref(&planned), command.force)?;
    }
    let doubts = planned.doubts();
    let sequence = record(
        setting,
        session,
        output,
        &task,
        std::slice::from_ref(&planned),
    )
    .await?;
    warn(output, &doubts);
    if printed {
        let bytes = reader.bytes(&planned).await?;
        output.bytes(bytes).await?;
        for file in &planned.files {
            output.note(&format!("{} bytes, blake3 {}", file.bytes, file.blake3));
        }
        return Ok(Exit::Done);
    }
    reader.write(&planned, command.force).await?;
    let report = Saved {
        task_id: of.task.to_string(),
        artifact_id: Some(id.to_string()),
        output_dir: None,
        files: planned.files,
        doubts,
        sequence,
    };
    output.report(&report).await?;
    Ok(Exit::Done)
}

pub(super) async fn export(
    command: &ArtifactExport,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let of = &command.of;
    let (views, task) = known(of, setting, session, output)?;
    let reader = Reader::of(setting, &**session.log(), &views, &task);
    let mut names = Names::default();
    let mut all_planned = Vec::new();
    for artifact in all(session, &views, &task)? {
        let mut planned = reader.plan(&artifact, &mut names).await?;
        for file in &mut planned.files {
            file.path = path_text(&command.output_dir.join(&file.path))?;
        }
        all_planned.push(planned);
    }
    if all_planned.iter().all(|planned| planned.files.is_empty()) {
        return Err(nothing(&format!("task {} has nothing to export", of.task)));
    }
    folder(&command.output_dir)?;
    check_all(&all_planned, command.force)?;
    let doubts: Vec<String> = all_planned.iter().flat_map(Planned::doubts).collect();
    let sequence = record(setting, session, output, &task, &all_planned).await?;
    warn(output, &doubts);
    for planned in &all_planned {
        reader.write(planned, command.force).await?;
    }
    let report = Saved {
        task_id: of.task.to_string(),
        artifact_id: None,
        output_dir: Some(path_text(&command.output_dir)?),
        files: all_planned.into_iter().flat_map(|one| one.files).collect(),
        doubts,
        sequence,
    };
    output.report(&report).await?;
    Ok(Exit::Done)
}

/// Nothing is recorded and nothing written where one of the files is in the way.
pub(in crate::command) fn check_all(planned: &[Planned], force: bool) -> Result<(), Failure> {
    let mut files = planned.iter().flat_map(|one| &one.files);
    files.try_for_each(|file| check_place(Path::new(&file.path), force))
}

pub(in crate::command) fn folder(path: &Path) -> Result<(), Failure> {
    let mut builder = std::fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(path);
    made.map_err(|error| Failure::io(format!("{} cannot be made", path.display()), &error))
}

pub(in crate::command) fn path_text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::usage(format!("`{}` is not UTF-8", path.display())).detail("path"))
}

fn nothing(what: &str) -> Failure {
    Failure::new(Exit::NotFound, what).detail("artifact")
}

fn warn(output: &Output, doubts: &[String]) {
    for doubt in doubts {
        output.warn(doubt);
    }
}

async fn record(
    setting: &Setting<'_>,
    session: &Session,
    output: &Output,
    task: &Task,
    planned: &[Planned],
) -> Result<u64, Failure> {
    let mut sources: BTreeMap<_, PayloadFacts> = BTreeMap::new();
    for source in planned.iter().flat_map(|one| &one.sources) {
        sources.insert((source.seq, source.index), source.clone());
    }
    let files: Vec<&FileView> = planned.iter().flat_map(|one| &one.files).collect();
    let names = serde_json::to_string(&files)
        .map_err(|error| Failure::from_error(Exit::Internal, &error))?;
    let saved = SaveArtifacts {
        task: task.task.clone(),
        links: Links {
            agent: task.agent.clone(),
            context: task.context.clone(),
            task: Some(task.task.clone()),
            group: None,
        },
        artifacts: planned.iter().map(|one| one.of.artifact.clone()).collect(),
        files: files.len(),
        sources: sources.into_values().collect(),
        names,
    };
    let missive = acting::for_records(setting, session)?;
    let recorded = missive.artifacts_saved(&saved).await;
    let recorded = acting::concluded(&missive, output, &Told::of(setting), recorded)?;
    Ok(recorded.last.0)
}

/// `artifact_save` and `artifact_export`.
#[derive(Serialize)]
struct Saved {
    task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_dir: Option<String>,
    files: Vec<FileView>,
    /// Why they may not be what the agent made, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<String>,
    sequence: u64,
}

impl Report for Saved {
    fn kind(&self) -> Kind {
        if self.output_dir.is_some() {
            Kind::ArtifactExport
        } else {
            Kind::ArtifactSave
        }
    }

    fn human(&self, page: &mut Page) {
        let rows = self.files.iter().map(|file| {
            let bytes = file.bytes.to_string();
            [file.path.clone(), bytes, file.blake3.clone()]
        });
        page.wide_table(["file", "bytes", "blake3"], rows);
    }
}
