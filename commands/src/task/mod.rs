//! Tasks as the log knows them: which one is meant, whose it is, and what there is to show.
//!
//! Agents choose task ids, so several may use the same one: where that is so, the user has to say whose
//! is meant. Nothing here asks an agent.

pub mod list;
mod view;

pub(crate) use view::seen;
pub use view::view;

use missive_log::event::{Alias, TaskId};
use missive_projections::{Task, Views, ViewsError};

use crate::failure::CommandError;
use crate::peer::Target;
use crate::refusal::Refusal;

/// The most ids among which a mistyped one is looked for.
const KNOWN_MAX: usize = 10_000;

/// The task that is meant.
///
/// # Errors
/// If the log knows no such task, or several and nobody said whose.
pub fn find(views: &Views, task: &TaskId, agent: Option<&Target>) -> Result<Task, CommandError> {
    match of(views, task, agent)? {
        Some(found) => Ok(found),
        None => Err(no_task(views, task, agent)?.into()),
    }
}

/// Whom to ask about a task: who is named, else whose task it is.
///
/// # Errors
/// As [`find`]; and if the task's agent was only named by its address, which has to be said again.
pub fn whose(views: &Views, task: &TaskId, agent: Option<&Target>) -> Result<Target, CommandError> {
    if let Some(agent) = agent {
        return Ok(agent.clone());
    }
    let found = find(views, task, None)?;
    match views.agent_of(&found)? {
        Some(alias) => Ok(Target::Alias(alias)),
        None => Err(Refusal::TaskOfUrl { task: task.clone() }.into()),
    }
}

/// The task that is meant, if it is known.
pub(crate) fn of(
    views: &Views,
    task: &TaskId,
    agent: Option<&Target>,
) -> Result<Option<Task>, CommandError> {
    match agent {
        Some(Target::Alias(alias)) => Ok(views.task(task, Some(alias))?),
        Some(Target::Url(_)) => {
            let named = views.tasks_named(task)?.into_iter();
            Ok(named
                .filter(|one| one.agent.is_none())
                .max_by_key(|one| one.last))
        }
        None => {
            let mut named = views.tasks_named(task)?;
            if named.len() > 1 {
                let agents = names(views, &named)?;
                let task = task.clone();
                return Err(Refusal::SeveralTasks { task, agents }.into());
            }
            Ok(named.pop())
        }
    }
}

fn names(views: &Views, tasks: &[Task]) -> Result<Vec<String>, ViewsError> {
    let mut names = Vec::new();
    for task in tasks {
        names.extend(views.agent_of(task)?.as_ref().map(Alias::to_string));
    }
    names.sort();
    names.dedup();
    Ok(names)
}

fn no_task(views: &Views, task: &TaskId, agent: Option<&Target>) -> Result<Refusal, ViewsError> {
    let mut known = Vec::new();
    views.each_task(&mut |one| {
        known.push(one.task.to_string());
        if known.len() < KNOWN_MAX {
            std::ops::ControlFlow::Continue(())
        } else {
            std::ops::ControlFlow::Break(())
        }
    })?;
    Ok(Refusal::NoTask {
        task: task.clone(),
        agent: agent.map(|agent| match agent {
            Target::Alias(alias) => alias.to_string(),
            Target::Url(url) => url.clone(),
        }),
        known,
    })
}
