//! `missive context export`: everything about a context leaves the house, and the log says so first.
//!
//! The evidence form and CloudEvents are those of `events export`. The JSON document and the page are
//! written as the context is read, so memory does not grow with it.

use super::super::Setting;
use super::super::acting::{self, OnLog, Told};
use super::super::events::{count, known, write_out};
use super::html;
use super::rest::{Tasks, Withheld};
use super::story::{Chapter, Story, Wanted, of_context};
use crate::args::context::{Export, Form};
use crate::failure::Failure;
use crate::file::NewFile;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Reader, Report};
use missive_commands::Exit;
use missive_commands::conversation::Turn;
use missive_commands::decide::export::ContextExport;
use missive_commands::report::context::ContextView;
use missive_log::Head;
use missive_log::event::facts::{ContextForm, ExportFormat, Program};
use missive_log::export::{Plan, write_evidence};
use missive_projections::Context;
use serde::Serialize;
use std::io::Write as _;

/// What is written where.
enum Target<'o> {
    Stdout(&'o mut Output),
    File(NewFile),
}

impl Target<'_> {
    async fn write(&mut self, bytes: Vec<u8>) -> Result<Reader, Failure> {
        match self {
            Self::Stdout(output) => output.bytes(bytes).await,
            Self::File(file) => {
                let written = file.write_all(&bytes);
                written.map_err(|error| Failure::io("the export cannot be written", &error))?;
                Ok(Reader::Listening)
            }
        }
    }
}

pub(super) async fn export(
    command: &Export,
    context: &Context,
    missive: &OnLog,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<(), Failure> {
    let head = session.head();
    let file = match &command.output {
        Some(place) => Some(NewFile::begin(place, command.force)?),
        None => None,
    };
    let filter = of_context(&context.context, head.seq);
    let plan = plan(command.format, head, session).await?;
    let views = session
        .views()
        .map_err(|error| session.views_failure(&error))?;
    let events = count(&views, &filter, &plan).map_err(|error| session.views_failure(&error))?;
    // First the fact, then the effect: what left the house is on record even if the writing is cut short.
    let fact = ContextExport {
        context: context.context.clone(),
        format: form(command.format),
        through: head.seq,
        events,
    };
    let recorded = missive.context_exported(&fact).await;
    let told = Told::of(setting);
    let recorded = acting::concluded(missive, output, &told, recorded)?;
    let progress = output.progress("exporting");
    let written = match (command.format, file) {
        (Form::Jsonl | Form::CloudEvents, Some(file)) => {
            let written = write_out(session, &filter, plan, file).await?;
            written.map(|(_, file)| file)
        }
        (Form::Jsonl | Form::CloudEvents, None) => {
            write_out(session, &filter, plan, output.writer()?).await?;
            None
        }
        (Form::Json | Form::Html, file) => {
            let view = missive.context_view(context.context.as_str()).await;
            let view = acting::concluded(missive, output, &told, view)?;
            let mut target = match file {
                Some(file) => Target::File(file),
                None => Target::Stdout(output),
            };
            told_whole(command.format, &view, context, session, head, &mut target).await?;
            match target {
                Target::File(file) => Some(file),
                Target::Stdout(_) => None,
            }
        }
    };
    drop(progress);
    let Some(file) = written else {
        return Ok(());
    };
    file.finish()?;
    let place = command
        .output
        .as_deref()
        .unwrap_or(std::path::Path::new(""));
    let report = Written {
        context_id: context.context.to_string(),
        format: fact.format.as_str(),
        file: place.display().to_string(),
        events,
        sequence: recorded.last.0,
    };
    output.report(&report).await?;
    Ok(())
}

/// The forms of `events export`; the others count events by it.
async fn plan(format: Form, head: Head, session: &Session) -> Result<Plan, Failure> {
    Ok(Plan {
        format: match format {
            Form::CloudEvents => ExportFormat::CloudEvents,
            Form::Json | Form::Jsonl | Form::Html => ExportFormat::Jsonl,
        },
        through: head,
        filtered: true,
        withhold: false,
        program: program()?,
        known: known(session).await?,
    })
}

fn program() -> Result<Program, Failure> {
    Program::new(concat!("missive/", env!("CARGO_PKG_VERSION")))
        .map_err(|error| Failure::from_error(Exit::Internal, &error))
}

fn form(form: Form) -> ContextForm {
    match form {
        Form::Json => ContextForm::Json,
        Form::Jsonl => ContextForm::Jsonl,
        Form::CloudEvents => ContextForm::CloudEvents,
        Form::Html => ContextForm::Html,
    }
}

/// Writes the document or the page, until its end or until the reader is gone.
async fn told_whole(
    format: Form,
    view: &ContextView,
    context: &Context,
    session: &Session,
    head: Head,
    target: &mut Target<'_>,
) -> Result<(), Failure> {
    let is_page = format == Form::Html;
    if told_tasks(view, context, session, is_page, head, target).await? == Reader::Gone {
        return Ok(());
    }
    let mut withheld = Withheld::default();
    for wanted in [Wanted::Turns, Wanted::Evidence] {
        if wanted == Wanted::Evidence {
            let between = if is_page {
                html::between()
            } else {
                b"],\n\"events\":[".to_vec()
            };
            target.write(between).await?;
        }
        let story = Story::new(session, &context.context, head.seq, wanted)?;
        let reader = run_through(story, wanted, is_page, head, &mut withheld, target).await?;
        if reader == Reader::Gone {
            return Ok(());
        }
    }
    let end = if is_page {
        html::end(&withheld, head)
    } else {
        json_end(&withheld)?
    };
    target.write(end).await?;
    Ok(())
}

/// Writes everything in front of the turns: what the context is, and its tasks.
async fn told_tasks(
    view: &ContextView,
    context: &Context,
    session: &Session,
    is_page: bool,
    head: Head,
    target: &mut Target<'_>,
) -> Result<Reader, Failure> {
    let broken = |error| session.views_failure(&error);
    let views = session.views().map_err(broken)?;
    let mut tasks = Tasks::of(context, views).map_err(broken)?;
    let has_tasks = !tasks.is_empty();
    let mut bytes = if is_page {
        html::begin(view, has_tasks)
    } else {
        json_begin(view, head)?
    };
    let mut separator = "";
    loop {
        let rows = tasks.page().map_err(broken)?;
        for row in &rows {
            if is_page {
                html::task(&mut bytes, row);
                continue;
            }
            bytes.extend_from_slice(separator.as_bytes());
            serde_json::to_writer(&mut bytes, row).map_err(internal)?;
            separator = ",";
        }
        if tasks.is_empty() {
            bytes.extend(if is_page {
                html::timeline(has_tasks)
            } else {
                b"],\n\"turns\":[".to_vec()
            });
            return target.write(bytes).await;
        }
        if target.write(std::mem::take(&mut bytes)).await? == Reader::Gone {
            return Ok(Reader::Gone);
        }
    }
}

/// Goes through the whole context once.
async fn run_through(
    mut story: Story<'_>,
    wanted: Wanted,
    is_page: bool,
    head: Head,
    withheld: &mut Withheld,
    target: &mut Target<'_>,
) -> Result<Reader, Failure> {
    let mut separator = "";
    loop {
        let chapters = story.page().await?;
        let mut bytes = Vec::new();
        for chapter in &chapters {
            match wanted {
                Wanted::Turns => put_turns(&mut bytes, &chapter.turns, is_page, &mut separator)?,
                Wanted::Evidence => {
                    withheld.note(chapter);
                    put_event(&mut bytes, chapter, is_page, head, &mut separator)?;
                }
            }
        }
        if chapters.is_empty()
            && wanted == Wanted::Turns
            && let Some(last) = story.end()
        {
            put_turns(&mut bytes, &[last], is_page, &mut separator)?;
        }
        let reader = target.write(bytes).await?;
        if chapters.is_empty() || reader == Reader::Gone {
            return Ok(reader);
        }
    }
}

fn put_turns(
    bytes: &mut Vec<u8>,
    turns: &[Turn],
    is_page: bool,
    separator: &mut &'static str,
) -> Result<(), Failure> {
    for turn in turns {
        if is_page {
            html::turn(bytes, turn);
            continue;
        }
        bytes.extend_from_slice(separator.as_bytes());
        serde_json::to_writer(&mut *bytes, turn).map_err(internal)?;
        *separator = ",\n";
    }
    Ok(())
}

fn put_event(
    bytes: &mut Vec<u8>,
    chapter: &Chapter,
    is_page: bool,
    head: Head,
    separator: &mut &'static str,
) -> Result<(), Failure> {
    if is_page {
        let digest = chapter.record.digest(head.log).to_string();
        html::event(bytes, &chapter.event, &digest);
        return Ok(());
    }
    bytes.extend_from_slice(separator.as_bytes());
    let written = write_evidence(bytes, &chapter.record, &chapter.held);
    written.map_err(|error| Failure::io("the export cannot be written", &error))?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    *separator = ",\n";
    Ok(())
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that `map_err` takes"
)]
fn internal(error: serde_json::Error) -> Failure {
    Failure::from_error(Exit::Internal, &error)
}

#[derive(Serialize)]
struct Begin<'a> {
    schema_version: &'static str,
    program: Program,
    log: String,
    head: String,
    context: &'a ContextView,
}

/// The beginning of the document, up to the first task.
fn json_begin(view: &ContextView, head: Head) -> Result<Vec<u8>, Failure> {
    let begin = Begin {
        schema_version: "missive.context.v1",
        program: program()?,
        log: head.log.to_string(),
        head: head.to_string(),
        context: view,
    };
    let mut bytes = serde_json::to_vec(&begin).map_err(internal)?;
    bytes.pop();
    bytes.extend_from_slice(b",\"tasks\":[");
    Ok(bytes)
}

fn json_end(withheld: &Withheld) -> Result<Vec<u8>, Failure> {
    let mut bytes = b"],\n\"withheld\":".to_vec();
    serde_json::to_writer(&mut bytes, withheld).map_err(internal)?;
    bytes.extend_from_slice(b"}\n");
    Ok(bytes)
}

/// `context_export`, where it went into a file.
#[derive(Serialize)]
struct Written {
    context_id: String,
    format: &'static str,
    file: String,
    events: u64,
    sequence: u64,
}

impl Report for Written {
    fn kind(&self) -> Kind {
        Kind::ContextExport
    }

    fn human(&self, page: &mut Page) {
        page.line(&format!(
            "{} events of context {} are in {}",
            self.events, self.context_id, self.file
        ));
    }
}
