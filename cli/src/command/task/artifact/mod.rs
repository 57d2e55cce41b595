//! `missive task artifact`: what a task made, and how it becomes files.
//!
//! Everything is read from the log; nothing is requested, and no link is followed.

mod base64;
mod files;
mod name;
mod plan;
mod save;
mod show;

pub(in crate::command) use files::{FileView, Measure};
pub(in crate::command) use name::{Names, harmless};
pub(in crate::command) use plan::{Planned, Reader};
pub(in crate::command) use save::{check_all, folder, path_text};

use super::super::acting::{self, Told};
use super::super::{Setting, moment, warn_of_fault};
use crate::args::task::{Artifact as Command, ArtifactsOf};
use crate::failure::Failure;
use crate::open::Session;
use crate::render::Output;
use missive_commands::{Exit, Refusal, task};
use missive_log::event::ArtifactId;
use missive_projections::{Artifact, Scope, Task, Views};

pub(super) async fn run(
    command: &Command,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if let Command::Save(save) = command {
        save::check(save, output)?;
    }
    let session = super::session(setting).await?;
    session
        .used(async |session| {
            warn_of_fault(session, output);
            moment::tell(setting, session, output).await;
            match command {
                Command::List(of) => show::list(of, setting, session, output).await,
                Command::Show(which) => show::show(which, setting, session, output).await,
                Command::Save(save) => save::save(save, setting, session, output).await,
                Command::Export(export) => save::export(export, setting, session, output).await,
            }
        })
        .await
}

/// The task that is meant.
fn known(
    of: &ArtifactsOf,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<(Views, Task), Failure> {
    let scope = Scope::Task(of.task.clone());
    let views = moment::views(setting, session, &scope, output)?;
    let agent = of.agent.as_ref().map(acting::target);
    let found = task::find(&views, &of.task, agent.as_ref());
    let task = found.map_err(|error| Told::of(setting).failure(error))?;
    Ok((views, task))
}

fn all(session: &Session, views: &Views, task: &Task) -> Result<Vec<Artifact>, Failure> {
    views
        .artifacts(task)
        .map_err(|error| session.views_failure(&error))
}

fn one(
    id: &ArtifactId,
    (setting, session): (&Setting<'_>, &Session),
    views: &Views,
    task: &Task,
) -> Result<Artifact, Failure> {
    let found = views
        .artifact(task, id)
        .map_err(|error| session.views_failure(&error))?;
    if let Some(artifact) = found {
        return Ok(artifact);
    }
    let known = all(session, views, task)?;
    let refusal = Refusal::NoArtifact {
        task: task.task.clone(),
        artifact: id.to_string(),
        known: known.iter().map(|one| one.artifact.to_string()).collect(),
    };
    Err(Told::of(setting).failure(refusal.into()))
}
