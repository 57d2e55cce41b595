//! Looking for the task that a message became.
//!
//! The peer is asked for the task that the message continued, then for the tasks of its context, then
//! for tasks that are known here. A task is the one if its history holds the message id. The search
//! is bounded; every question is an event like any other call.

use missive_log::Log;
use missive_log::event::{ContextId, Links, MessageId, TaskId};

use super::Course;
use super::call::Call;
use super::send::Line;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::peer::Peer;
use crate::run::Missive;
use crate::wire::answer::{Reading, Reply};
use crate::wire::facts::TaskFacts;
use crate::wire::request::{ListTasks, Operation};
use crate::wire::violation::Violations;

/// The most pages of tasks that are asked for.
const PAGES_MAX: usize = 10;
/// Tasks of one page.
const PAGE_SIZE: u32 = 50;
/// The most tasks that are asked for one by one.
const TASKS_MAX: usize = 20;
/// How much history of a task is asked for: the message is among the newest.
const HISTORY_LENGTH: u32 = 100;

/// A message whose fate is not known.
pub(crate) struct Lost<'a> {
    /// Its id.
    pub(crate) message: &'a MessageId,
    /// The context that it was sent in.
    pub(crate) context: Option<&'a ContextId>,
    /// The task that it continued.
    pub(crate) task: Option<&'a TaskId>,
}

/// What a search came to.
pub(crate) enum Found {
    /// The task.
    Task(Box<Reading>),
    /// The peer was asked, and shows no such task; in words.
    Nothing(String),
    /// The peer could not be asked; in words.
    Unreachable(String),
}

/// What an answer to one question means.
enum Asked {
    Answered(Reading),
    /// The peer has no such task, or does not answer such questions.
    Refused(String),
    Unreachable(String),
}

impl<L: Log> Missive<L> {
    /// Asks the peer for the task of a message.
    pub(crate) async fn search(
        &self,
        course: &mut Course,
        peer: &Peer,
        line: &Line,
        lost: &Lost<'_>,
        interrupt: &mut Interrupt,
    ) -> Result<Found, CommandError> {
        let mut looked_at: Vec<String> = Vec::new();
        if let Some(task) = lost.task {
            let id = task.to_string();
            looked_at.push(id.clone());
            let found = self
                .look_at(course, peer, line, lost, id, interrupt)
                .await?;
            if let Some(found) = found {
                return Ok(found);
            }
        }
        let (listed, why) = match self.list(course, peer, line, lost, interrupt).await? {
            Listed::Found(id, listed) => {
                // A list leaves artifacts out (A2A 1.0, section 3.1.4), and they are the answer.
                let whole = self
                    .look_at(course, peer, line, lost, id, interrupt)
                    .await?;
                return Ok(match whole {
                    Some(Found::Task(whole)) => Found::Task(whole),
                    Some(Found::Nothing(_) | Found::Unreachable(_)) | None => Found::Task(listed),
                });
            }
            Listed::Unreachable(why) => return Ok(Found::Unreachable(why)),
            Listed::Candidates(ids) => (ids, "no task of the agent holds it".to_owned()),
            Listed::Refused(why) => (Vec::new(), format!("the agent does not list tasks: {why}")),
        };
        let candidates = listed.into_iter().chain(self.known_tasks(peer, lost)?);
        for id in candidates {
            if looked_at.contains(&id) {
                continue;
            }
            if looked_at.len() >= TASKS_MAX {
                break;
            }
            looked_at.push(id.clone());
            let found = self
                .look_at(course, peer, line, lost, id, interrupt)
                .await?;
            if let Some(found) = found {
                return Ok(found);
            }
        }
        Ok(Found::Nothing(why))
    }

    /// Tasks of this agent that are known here and may hold the message, newest first.
    fn known_tasks(&self, peer: &Peer, lost: &Lost<'_>) -> Result<Vec<String>, CommandError> {
        let views = self.views();
        let mut tasks = match lost.context {
            Some(context) => views.tasks_in(context)?,
            None => Vec::new(),
        };
        tasks.sort_by_key(|task| std::cmp::Reverse(task.last));
        let mut ids = Vec::new();
        for task in tasks {
            let alias = match &task.agent {
                Some(alias) => Some(views.present_alias(alias)?),
                None => None,
            };
            if alias == peer.alias {
                ids.push(task.task.to_string());
            }
        }
        Ok(ids)
    }

    /// Asks for one task; `None` if it is not the one.
    async fn look_at(
        &self,
        course: &mut Course,
        peer: &Peer,
        line: &Line,
        lost: &Lost<'_>,
        id: String,
        interrupt: &mut Interrupt,
    ) -> Result<Option<Found>, CommandError> {
        let links = Links {
            agent: peer.alias.clone(),
            context: lost.context.cloned(),
            task: TaskId::new(&id).ok(),
            group: None,
        };
        let operation = Operation::GetTask {
            task_id: id,
            history_length: Some(HISTORY_LENGTH),
        };
        let asked = self
            .question(course, peer, line, operation, links, interrupt)
            .await?;
        Ok(match asked {
            Asked::Unreachable(why) => Some(Found::Unreachable(why)),
            Asked::Refused(_) => None,
            Asked::Answered(reading) => match &reading.reply {
                Reply::Task(task) if holds(task, lost.message) => {
                    Some(Found::Task(Box::new(reading)))
                }
                Reply::Task(_)
                | Reply::Message(_)
                | Reply::Tasks { .. }
                | Reply::Push(_)
                | Reply::Card(_) => None,
            },
        })
    }

    async fn list(
        &self,
        course: &mut Course,
        peer: &Peer,
        line: &Line,
        lost: &Lost<'_>,
        interrupt: &mut Interrupt,
    ) -> Result<Listed, CommandError> {
        let links = Links {
            agent: peer.alias.clone(),
            context: lost.context.cloned(),
            task: None,
            group: None,
        };
        let mut without_history = Vec::new();
        let mut page_token = None;
        for _ in 0..PAGES_MAX {
            let operation = Operation::ListTasks(ListTasks {
                context_id: lost.context.map(ToString::to_string),
                page_size: Some(PAGE_SIZE),
                page_token: page_token.take(),
                history_length: Some(HISTORY_LENGTH),
                ..ListTasks::default()
            });
            let asked = self
                .question(course, peer, line, operation, links.clone(), interrupt)
                .await?;
            let reading = match asked {
                Asked::Answered(reading) => reading,
                Asked::Refused(why) => return Ok(Listed::Refused(why)),
                Asked::Unreachable(why) => return Ok(Listed::Unreachable(why)),
            };
            let Reply::Tasks {
                tasks,
                next_page_token,
            } = reading.reply
            else {
                break;
            };
            for (task, raw) in tasks {
                if let Some(id) = task.task_id.clone().filter(|_| holds(&task, lost.message)) {
                    let reading = Reading {
                        reply: Reply::Task(task),
                        raw,
                        odd: Violations::default(),
                    };
                    return Ok(Listed::Found(id, Box::new(reading)));
                }
                if task.history_count == 0 {
                    without_history.extend(task.task_id);
                }
            }
            match next_page_token {
                Some(token) => page_token = Some(token),
                None => break,
            }
        }
        Ok(Listed::Candidates(without_history))
    }

    async fn question(
        &self,
        course: &mut Course,
        peer: &Peer,
        line: &Line,
        operation: Operation,
        links: Links,
        interrupt: &mut Interrupt,
    ) -> Result<Asked, CommandError> {
        let call = Call {
            agent: peer.alias.as_ref(),
            line,
            operation,
            links,
            known: None,
            abandoned: None,
        };
        match self.call(course, call, interrupt).await {
            Ok(reading) => Ok(Asked::Answered(reading)),
            Err(CommandError::Failed(failure)) => meaning(failure),
            Err(refused @ CommandError::Refused(_)) => Err(refused),
        }
    }
}

/// Whether a failed question says something of the message.
fn meaning(failure: Failure) -> Result<Asked, CommandError> {
    let why = failure.to_string();
    if let Failure::Peer { error, .. } = &failure {
        let passing = error.status >= 500 && error.status != 501;
        let shut = matches!(error.status, 401 | 403 | 429);
        return Ok(if passing || shut {
            Asked::Unreachable(why)
        } else {
            Asked::Refused(why)
        });
    }
    if let Failure::Broken { .. } = failure {
        return Ok(Asked::Refused(why));
    }
    if let Failure::NotSent { .. } | Failure::NoAnswer { .. } | Failure::Redirect { .. } = failure {
        return Ok(Asked::Unreachable(why));
    }
    Err(failure.into())
}

enum Listed {
    /// The task that holds the message, as the list shows it.
    Found(String, Box<Reading>),
    /// Tasks whose history the list left out.
    Candidates(Vec<String>),
    Refused(String),
    Unreachable(String),
}

/// Whether a task's history holds the message.
fn holds(task: &TaskFacts, message: &MessageId) -> bool {
    task.task_id.is_some()
        && task
            .message_ids
            .iter()
            .any(|id| id.as_str() == message.as_str())
}
