//! Which task a delivery is about, as far as this log knows.
//!
//! A delivery is linked only to what was heard of before: to a task of an answer or a stream, to one whose
//! push configuration was made here, or, for a message without a task, to its context. Agents choose the
//! ids of their tasks, so several agents may use the same one: then the context tells them apart, else
//! which of them was asked to push; and where nothing does, nothing is linked. Otherwise a forged or
//! misrouted delivery would make tasks here (A2A 1.0, section 4.3.3).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use missive_log::Log;
use missive_log::event::{Alias, ContextId, Links, Seq, TaskId};
use missive_projections::{Filter, KindPattern, Task, Views, ViewsError};

use crate::failure::{CommandError, Failure};
use crate::run::Missive;

/// How many tasks are remembered between two refreshes.
const REMEMBERED_MAX: usize = 10_000;

/// What a delivery says that it is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct About {
    pub(super) task: Option<TaskId>,
    pub(super) context: Option<ContextId>,
}

/// What is known already. Only what was found is remembered, and not for long: an agent may be renamed,
/// and a task that is not known now may be known in a moment.
#[derive(Debug, Default)]
pub(super) struct Known {
    found: Mutex<BTreeMap<About, Links>>,
    /// One look at a time: the views are brought up to date once for all that wait.
    looking: tokio::sync::Mutex<()>,
}

impl Known {
    pub(super) fn refresh(&self) {
        self.found().clear();
    }

    fn found(&self) -> std::sync::MutexGuard<'_, BTreeMap<About, Links>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remembered(&self, about: &About) -> Option<Links> {
        self.found().get(about).cloned()
    }
}

/// What the views say.
enum Look {
    Found(Links),
    /// Nobody spoke of the task, but its push configuration was made by this event.
    Configured(Seq),
    Nothing,
}

impl<L: Log> Missive<L> {
    /// The nouns to link a delivery to; `None` if it is about nothing that is known.
    pub(super) async fn link(
        &self,
        known: &Known,
        about: &About,
    ) -> Result<Option<Links>, CommandError> {
        if let Some(links) = known.remembered(about) {
            return Ok(Some(links));
        }
        let _one_at_a_time = known.looking.lock().await;
        if let Some(links) = known.remembered(about) {
            return Ok(Some(links));
        }
        let views = self.views().at_least(self.log().head().borrow().seq);
        let wanted = about.clone();
        // Views block on the disk, and may have thousands of events to fold first.
        let looked = tokio::task::spawn_blocking(move || look(&views, &wanted)).await;
        let looked = looked.map_err(|_| Failure::Internal {
            what: "a look at the views broke off",
        })?;
        let links = match looked? {
            Look::Found(links) => links,
            Look::Configured(seq) => self.links_of(seq, about).await?,
            Look::Nothing => return Ok(None),
        };
        let mut found = known.found();
        if found.len() >= REMEMBERED_MAX {
            found.clear();
        }
        found.insert(about.clone(), links.clone());
        Ok(Some(links))
    }

    async fn links_of(&self, configured: Seq, about: &About) -> Result<Links, CommandError> {
        let records = self.log().pick(&[configured]).await?;
        let event = records.first().and_then(|record| record.decode().ok());
        let agent: Option<Alias> = event.and_then(|event| event.links.agent);
        let agent = match agent {
            Some(alias) => Some(self.views().present_alias(&alias)?),
            None => None,
        };
        Ok(Links {
            agent,
            context: about.context.clone(),
            task: about.task.clone(),
            group: None,
        })
    }
}

fn look(views: &Views, about: &About) -> Result<Look, ViewsError> {
    let Some(task) = &about.task else {
        return look_at_context(views, about.context.as_ref());
    };
    let mut tasks = views.tasks_named(task)?;
    if tasks.is_empty() {
        let filter = Filter {
            task: Some(task.clone()),
            kinds: vec![KindPattern::new("a2a.push.configured")],
            reverse: true,
            limit: Some(1),
            ..Filter::default()
        };
        let configured = views.select(&filter)?.first().copied();
        return Ok(configured.map_or(Look::Nothing, Look::Configured));
    }
    if tasks.len() > 1 && about.context.is_some() {
        tasks.retain(|task| task.context == about.context);
    }
    if tasks.len() > 1 {
        let mut pushed = Vec::new();
        for task in tasks {
            if !views.push_configs(&task)?.is_empty() {
                pushed.push(task);
            }
        }
        tasks = pushed;
    }
    match tasks.as_slice() {
        [task] => Ok(Look::Found(links(views, task, about)?)),
        [] | [_, _, ..] => Ok(Look::Nothing),
    }
}

fn links(views: &Views, task: &Task, about: &About) -> Result<Links, ViewsError> {
    Ok(Links {
        agent: views.agent_of(task)?,
        context: task.context.clone().or_else(|| about.context.clone()),
        task: Some(task.task.clone()),
        group: None,
    })
}

fn look_at_context(views: &Views, context: Option<&ContextId>) -> Result<Look, ViewsError> {
    let Some(context) = context else {
        return Ok(Look::Nothing);
    };
    if views.context(context)?.is_none() {
        return Ok(Look::Nothing);
    }
    let agents = views.agents_in(context)?;
    let agent = match agents.as_slice() {
        [one] => Some(views.present_alias(one)?),
        [] | [_, _, ..] => None,
    };
    Ok(Look::Found(Links {
        agent,
        context: Some(context.clone()),
        task: None,
        group: None,
    }))
}
