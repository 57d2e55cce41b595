//! What is asked of tasks.

use super::Views;
use crate::agent::{Agent, Entry};
use crate::error::ViewsError;
use crate::rows::{KeyRange, Table, decode_row, key_of};
use crate::task::Task;
use missive_log::event::{Alias, ContextId, Seq, TaskId};
use std::ops::ControlFlow;

/// At how many tasks of a context is looked for those that wait: a context has few, and a note is no search.
const WAITING_LOOK_MAX: usize = 256;

/// Where a task is.
#[derive(Clone, Debug)]
pub struct TaskPlace {
    first: Seq,
    key: Box<[u8]>,
}

impl Views {
    /// The task with this id that was heard of last, of this agent if one is named.
    pub fn task(&self, task: &TaskId, agent: Option<&Alias>) -> Result<Option<Task>, ViewsError> {
        let mut tasks = self.tasks_named(task)?;
        if let Some(alias) = agent {
            let identities = self.identities(Some(alias))?;
            tasks.retain(|task| identities.contains(&task.identity));
        }
        Ok(tasks.into_iter().max_by_key(|task| task.last))
    }

    /// What the agent of a task is called now; as it was called then if it is no longer registered.
    pub fn agent_of(&self, task: &Task) -> Result<Option<Alias>, ViewsError> {
        let of_task = |agent: &Agent| task.identity == agent.added.to_key();
        let present = self.agents()?.into_iter().find(of_task);
        Ok(present
            .map(|agent| agent.alias)
            .or_else(|| task.agent.clone()))
    }

    /// Every task with this id: agents choose ids, so there may be several.
    pub fn tasks_named(&self, task: &TaskId) -> Result<Vec<Task>, ViewsError> {
        let prefix = key_of(&[task.as_str().as_bytes()], &[]);
        self.list(Table::Tasks, &KeyRange::prefix(&prefix))
    }

    /// Every task, in the order of ids, at most [`LIST_MAX`](super::LIST_MAX) of them.
    pub fn tasks(&self) -> Result<Vec<Task>, ViewsError> {
        self.list(Table::Tasks, &KeyRange::all())
    }

    /// Every task, however many, one after the other, until `visit` breaks.
    pub fn each_task(
        &self,
        visit: &mut dyn FnMut(Task) -> ControlFlow<()>,
    ) -> Result<(), ViewsError> {
        let table = Table::Tasks;
        self.each(table, KeyRange::all(), &mut |_, value| {
            let task = decode_row(value).ok_or(ViewsError::Damaged { table })?;
            Ok(visit(task))
        })
    }

    /// The same of the tasks of one agent, or of those of bare URLs. Other tasks are not read.
    pub fn each_task_of(
        &self,
        agent: Option<&Alias>,
        visit: &mut dyn FnMut(Task) -> ControlFlow<()>,
    ) -> Result<(), ViewsError> {
        let mut flow = ControlFlow::Continue(());
        for identity in self.identities(agent)? {
            let prefix = key_of(&[&identity], &[]);
            let range = KeyRange::prefix(&prefix);
            self.each(Table::AgentTasks, range, &mut |key, _| {
                let task = key.get(prefix.len()..).unwrap_or_default();
                if let Some(task) = self.fetch(Table::Tasks, &key_of(&[task], &identity))? {
                    flow = visit(task);
                }
                Ok(flow)
            })?;
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The tasks that were seen in a context, oldest first; those of one agent if it is named, or those of
    /// bare URLs.
    pub fn tasks_in_of(
        &self,
        context: &ContextId,
        agent: Option<&Alias>,
    ) -> Result<Vec<Task>, ViewsError> {
        let identities = self.identities(agent)?;
        let mut tasks = self.tasks_in(context)?;
        tasks.retain(|task| identities.contains(&task.identity));
        Ok(tasks)
    }

    /// Where the tasks are that were seen in a context, oldest first: for whoever goes through any number of
    /// them without holding all.
    pub fn task_places_in(&self, context: &ContextId) -> Result<Vec<TaskPlace>, ViewsError> {
        let prefix = key_of(&[context.as_str().as_bytes()], &[]);
        let mut places = Vec::new();
        let range = KeyRange::prefix(&prefix);
        self.each(Table::ContextTasks, range, &mut |key, _| {
            let key = key.get(prefix.len()..).unwrap_or_default();
            if let Some(task) = self.fetch::<Task>(Table::Tasks, key)? {
                places.push(TaskPlace {
                    first: task.first,
                    key: key.into(),
                });
            }
            Ok(ControlFlow::Continue(()))
        })?;
        places.sort_unstable_by_key(|place| place.first);
        Ok(places)
    }

    /// The task at a place.
    pub fn task_at(&self, place: &TaskPlace) -> Result<Option<Task>, ViewsError> {
        self.fetch(Table::Tasks, &place.key)
    }

    /// The tasks that were seen in a context, oldest first.
    pub fn tasks_in(&self, context: &ContextId) -> Result<Vec<Task>, ViewsError> {
        let prefix = key_of(&[context.as_str().as_bytes()], &[]);
        let keys = self.keys_after(Table::ContextTasks, &prefix)?;
        let mut tasks: Vec<Task> = Vec::new();
        for key in keys {
            tasks.extend(self.fetch::<Task>(Table::Tasks, &key)?);
        }
        tasks.sort_by_key(|task| task.first);
        Ok(tasks)
    }

    /// The tasks of a context that wait for somebody, of this agent or of bare URLs; of a context with hundreds
    /// of tasks some are not looked at.
    pub fn waiting_in(
        &self,
        context: &ContextId,
        agent: Option<&Alias>,
    ) -> Result<Vec<Task>, ViewsError> {
        let identities = self.identities(agent)?;
        let prefix = key_of(&[context.as_str().as_bytes()], &[]);
        let (mut waiting, mut seen) = (Vec::new(), 0);
        let range = KeyRange::prefix(&prefix);
        self.each(Table::ContextTasks, range, &mut |key, _| {
            let key = key.get(prefix.len()..).unwrap_or_default();
            let task = self.fetch::<Task>(Table::Tasks, key)?;
            let waits =
                |task: &Task| task.state.is_interrupted() && identities.contains(&task.identity);
            waiting.extend(task.filter(waits));
            seen += 1;
            Ok(if seen < WAITING_LOOK_MAX {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            })
        })?;
        waiting.sort_unstable_by_key(|task| task.first);
        Ok(waiting)
    }

    /// What stands for an agent in the keys of its tasks: its registration, and, since what it did before it
    /// was registered is its own as well, the aliases that it had and that nobody else has now.
    fn identities(&self, agent: Option<&Alias>) -> Result<Vec<Vec<u8>>, ViewsError> {
        let Some(alias) = agent else {
            return Ok(vec![Vec::new()]);
        };
        let unregistered =
            |alias: &Alias| [&Seq::ZERO.to_key(), alias.as_str().as_bytes()].concat();
        let mut identities = vec![unregistered(alias)];
        let name = alias.as_str().as_bytes();
        identities.extend(self.with(|rows| rows.get(Table::Identities, name))?);
        if let Some(Entry::Present(agent)) = self.entry(alias)? {
            for former in &agent.former {
                let seed = unregistered(&former.alias);
                if !identities.contains(&seed) && self.present_alias(&former.alias)? == *alias {
                    identities.push(seed);
                }
            }
        }
        Ok(identities)
    }
}
