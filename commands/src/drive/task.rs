//! Asking an agent about its tasks: one of them, all of them, to cancel one, or until one ends.
//!
//! What is answered goes through the log like everything else, and what is shown afterwards is what the
//! log makes of it: an older snapshot does not undo an end that was seen (C074). Only `cancel` shows
//! the state that came back, whatever is known otherwise (C075).

use std::collections::BTreeSet;
use std::time::Duration;

use missive_log::Log;
use missive_log::event::facts::{A2aError, TaskState};
use missive_log::event::{ContextId, Links, TaskId};
use missive_projections::Task;

use super::again::busy;
use super::call::Call;
use super::card::Want;
use super::send::{Line, is_same_place};
use super::stream::says_no;
use super::wait::{Pauses, pause_after};
use super::{Course, Done};
use crate::effect::reach::CallErrorKind;
use crate::exit::{Exit, outcome_code};
use crate::facts;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::note::Note;
use crate::peer::{Peer, Target};
use crate::report::send::state_of;
use crate::report::task::{TaskArtifact, TaskReport, TaskView, TasksReport};
use crate::run::Missive;
use crate::task::{of, seen, view};
use crate::wire;
use crate::wire::answer::{Fault, Reading, Reply};
use crate::wire::request::{ListTasks, Operation};

/// The most pages of one listing.
const PAGES_MAX: usize = 10_000;

/// A task of an agent.
#[derive(Clone, Debug)]
pub struct OnTask {
    /// Whose.
    pub target: Target,
    /// Which.
    pub task: TaskId,
}

/// `task list --remote`.
#[derive(Clone, Debug)]
pub struct TaskListing {
    /// Whose.
    pub target: Target,
    /// Only those of this context.
    pub context: Option<ContextId>,
    /// Only those in this state.
    pub state: Option<wire::state::TaskState>,
    /// Only those whose status is not older (RFC 3339).
    pub updated_after: Option<String>,
    /// How many a page has; none leaves it to the agent.
    pub page_size: Option<u32>,
    /// The page to begin with.
    pub page_token: Option<String>,
    /// Whether to go on to the end.
    pub all: bool,
    /// Whether artifacts come as well.
    pub include_artifacts: bool,
}

/// Where questions about an agent's tasks go.
struct Ground {
    peer: Peer,
    course: Course,
    line: Line,
    /// Whether the interface came from a card that was not asked for now.
    cached: bool,
    /// Whether the card offers streams.
    streams: bool,
}

impl<L: Log> Missive<L> {
    /// Asks for a task.
    ///
    /// # Errors
    /// A refusal, or a failure, which the log knows as well.
    pub async fn task_get(
        &self,
        on: &OnTask,
        history_length: Option<u32>,
        interrupt: &mut Interrupt,
    ) -> Result<Done<TaskReport>, CommandError> {
        let mut ground = self.ground(&on.target, interrupt).await?;
        let operation = get(&on.task, history_length);
        let reading = self
            .inquire(&mut ground, operation, self.links(on)?, interrupt)
            .await?;
        let (task, _) = self
            .task_seen(on, &ground, &reading, history_length)
            .await?;
        Ok(Done {
            report: task,
            exit: Exit::Done,
        })
    }

    /// Asks for a task to be canceled; shows the state that came back. Ends well only if that is
    /// `canceled`.
    ///
    /// # Errors
    /// As [`Missive::task_get`].
    pub async fn task_cancel(
        &self,
        on: &OnTask,
        interrupt: &mut Interrupt,
    ) -> Result<Done<TaskReport>, CommandError> {
        let mut ground = self.ground(&on.target, interrupt).await?;
        let operation = Operation::CancelTask {
            task_id: on.task.to_string(),
        };
        let links = self.links(on)?;
        let asked = self
            .inquire(&mut ground, operation, links.clone(), interrupt)
            .await;
        let reading = match asked {
            // It has ended before, perhaps by an earlier cancellation: only its state can tell.
            Err(error) if is_not_cancelable(&error) => {
                let operation = get(&on.task, None);
                let asked = self.inquire(&mut ground, operation, links, interrupt).await;
                self.note(Note::NotCancelable);
                asked.map_err(|_| error)?
            }
            asked => asked?,
        };
        let (mut report, _) = self.task_seen(on, &ground, &reading, None).await?;
        if let Reply::Task(task) = &reading.reply {
            seen(&mut report.task, task, &reading.raw);
        }
        let exit = match state_of(&reading) {
            Some(TaskState::Canceled) => Exit::Done,
            Some(_) | None => Exit::TaskFailed,
        };
        Ok(Done { report, exit })
    }

    /// Waits until a task ends or waits for somebody: by following it where the agent streams, else, or with
    /// an `interval`, by asking for it again and again.
    ///
    /// # Errors
    /// As [`Missive::task_get`].
    pub async fn task_wait(
        &self,
        on: &OnTask,
        interval: Option<Duration>,
        interrupt: &mut Interrupt,
    ) -> Result<Done<TaskReport>, CommandError> {
        if let Some(known) = of(&self.views(), &on.task, Some(&on.target))?
            && known.state.is_terminal()
        {
            let report = self.task_known(&known).await?;
            let exit = outcome_code(Some(known.state));
            return Ok(Done { report, exit });
        }
        let pauses = interval.map_or_else(Pauses::default, Pauses::of);
        let mut ground = self.ground(&on.target, interrupt).await?;
        let first = self.first_look(on, &mut ground, pauses, interrupt).await?;
        let follow = ground.streams && interval.is_none() && goes_on(&first);
        let links = self.links(on)?;
        let Ground {
            peer, course, line, ..
        } = &mut ground;
        let mut attended = None;
        if follow {
            match self.attend(course, peer, line, links, interrupt).await {
                Ok(ended) => attended = Some(ended),
                Err(error) => self.note(Note::NotFollowed(error.to_string())),
            }
        }
        let (reading, exit) = match attended {
            Some(attended) => attended,
            // What could not be followed can still be asked for.
            None => {
                self.wait(course, peer, line, first, pauses, interrupt)
                    .await?
            }
        };
        let (report, known) = self.task_seen(on, &ground, &reading, None).await?;
        let ended = known.filter(|task| task.state.is_terminal());
        let exit = ended.map_or(exit, |task| outcome_code(Some(task.state)));
        Ok(Done { report, exit })
    }

    /// Waits until the log says that a task ended or waits for somebody: others are expected to record it.
    ///
    /// # Errors
    /// If the log knows no such task, or cannot be read.
    pub async fn task_wait_local(
        &self,
        task: &TaskId,
        agent: Option<&Target>,
        interrupt: &mut Interrupt,
    ) -> Result<Done<TaskReport>, CommandError> {
        let mut following = self.follow();
        loop {
            let known = crate::task::find(&self.views(), task, agent)?;
            let exit = if known.state.is_terminal() || known.state.is_interrupted() {
                outcome_code(Some(known.state))
            } else {
                tokio::select! {
                    biased;
                    () = interrupt.came() => Exit::Interrupted,
                    () = self.time_is_up() => Exit::Timeout,
                    records = following.next() => {
                        let records = records?;
                        if let Some(newest) = records.last() {
                            self.saw(newest.seq);
                        }
                        continue;
                    }
                }
            };
            let report = self.task_known(&known).await?;
            return Ok(Done { report, exit });
        }
    }

    /// Asks for the tasks of an agent: one page, or all of them.
    ///
    /// # Errors
    /// As [`Missive::task_get`]; and if the agent's pages lead in a circle or do not end.
    pub async fn task_list(
        &self,
        listing: &TaskListing,
        interrupt: &mut Interrupt,
    ) -> Result<Done<TasksReport>, CommandError> {
        let mut ground = self.ground(&listing.target, interrupt).await?;
        let links = Links {
            agent: ground.peer.alias.clone(),
            context: listing.context.clone(),
            task: None,
            group: None,
        };
        let mut report = TasksReport {
            tasks: Vec::new(),
            next_page_token: None,
            operation_id: Some(ground.course.operation.to_string()),
        };
        let mut asked_with = BTreeSet::new();
        let mut ignores_filters = false;
        let mut page_token = listing.page_token.clone();
        loop {
            if !asked_with.insert(page_token.clone()) {
                return Err(unusable(
                    &ground,
                    "its page token leads back to an earlier page",
                ));
            }
            if asked_with.len() > PAGES_MAX {
                return Err(unusable(&ground, "its list of tasks does not end"));
            }
            let operation = Operation::ListTasks(ListTasks {
                context_id: listing.context.as_ref().map(ToString::to_string),
                status: listing.state.clone(),
                status_timestamp_after: listing.updated_after.clone(),
                include_artifacts: listing.include_artifacts,
                page_size: listing.page_size,
                page_token,
                // A list shows no messages, and a history can be long.
                history_length: Some(0),
            });
            let reading = self
                .inquire(&mut ground, operation, links.clone(), interrupt)
                .await?;
            let Reply::Tasks {
                tasks,
                next_page_token,
            } = reading.reply
            else {
                return Err(unusable(&ground, "it holds no list of tasks"));
            };
            let all = tasks.len();
            let meant = tasks.iter().filter(|(task, _)| is_meant(listing, task));
            let meant: Vec<TaskView> = meant.map(|(task, _)| listed(&ground, task)).collect();
            ignores_filters |= meant.len() < all;
            report.tasks.extend(meant);
            tracing::info!(tasks = report.tasks.len(), "tasks listed");
            match next_page_token {
                Some(token) if listing.all => page_token = Some(token),
                next => {
                    report.next_page_token = next;
                    break;
                }
            }
        }
        if ignores_filters {
            let what = "its list holds tasks that were not asked for; they are left out here";
            self.note(Note::Violation(what.to_owned()));
        }
        self.settle();
        Ok(Done {
            report,
            exit: Exit::Done,
        })
    }

    async fn ground(
        &self,
        target: &Target,
        interrupt: &mut Interrupt,
    ) -> Result<Ground, CommandError> {
        let peer = self.peer(target)?;
        let mut course = Course::new(self.ids().operation());
        let chosen = self
            .choose(&mut course, &peer, None, Want::Usable, interrupt)
            .await?;
        let cached = chosen.is_cached();
        let streams = !says_no(&chosen);
        let line = Line::new(chosen.negotiated.choice, self.redactor())?;
        line.tell();
        if line.choice.foreign_host {
            let url = line.url.to_string();
            self.note(Note::ForeignHost { url });
        }
        Ok(Ground {
            peer,
            course,
            line,
            cached,
            streams,
        })
    }

    /// One question; asked once more elsewhere if the interface of a cached card is gone (C018).
    async fn inquire(
        &self,
        ground: &mut Ground,
        operation: Operation,
        links: Links,
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let asked = self
            .put(ground, operation.clone(), links.clone(), interrupt)
            .await;
        let error = match asked {
            Err(error) if ground.cached && is_refused(&error) => error,
            asked => return asked,
        };
        ground.cached = false;
        let Ground { peer, course, .. } = ground;
        let again = self
            .choose(course, peer, None, Want::Newest, interrupt)
            .await;
        let Ok(again) = again else {
            return Err(error);
        };
        let choice = again.negotiated.choice;
        if is_same_place(&choice, &ground.line.choice) {
            return Err(error);
        }
        ground.line = Line::new(choice, self.redactor())?;
        ground.line.tell();
        self.note(Note::CardRefreshed);
        self.put(ground, operation, links, interrupt).await
    }

    async fn put(
        &self,
        ground: &mut Ground,
        operation: Operation,
        links: Links,
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let Ground {
            peer, course, line, ..
        } = ground;
        let call = Call {
            agent: peer.alias.as_ref(),
            line,
            operation,
            links,
            known: None,
            abandoned: None,
        };
        self.call(course, call, interrupt).await
    }

    /// The first answer of a wait: what may pass by itself is asked again.
    async fn first_look(
        &self,
        on: &OnTask,
        ground: &mut Ground,
        pauses: Pauses,
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let mut failures = 0;
        loop {
            let asked = self
                .inquire(ground, get(&on.task, None), self.links(on)?, interrupt)
                .await;
            let error = match asked {
                Err(error) => error,
                asked => return asked,
            };
            failures += 1;
            // Of a busy agent that was asked again already no more is to be had.
            let pause = pause_after(&error, self.ids().now())
                .filter(|_| failures <= self.qos().retries_max && busy(&error).is_none());
            let Some(pause) = pause else {
                return Err(error);
            };
            tokio::select! {
                biased;
                () = interrupt.came() => return Err(error),
                () = self.time_is_up() => return Err(error),
                () = tokio::time::sleep(pause.max(pauses.first)) => {}
            }
        }
    }

    fn links(&self, on: &OnTask) -> Result<Links, CommandError> {
        let known = of(&self.views(), &on.task, Some(&on.target))?;
        Ok(Links {
            agent: match &on.target {
                Target::Alias(alias) => Some(alias.clone()),
                Target::Url(_) => None,
            },
            context: known.and_then(|known| known.context),
            task: Some(on.task.clone()),
            group: None,
        })
    }

    /// What the log makes of an answer, and the task as it stands in the views.
    async fn task_seen(
        &self,
        on: &OnTask,
        ground: &Ground,
        reading: &Reading,
        history_length: Option<u32>,
    ) -> Result<(TaskReport, Option<Task>), CommandError> {
        self.settle();
        let views = self.views();
        let known = of(&views, &on.task, Some(&on.target))?;
        let mut task = if let Some(known) = &known {
            view(self.log(), &views, known, history_length).await?
        } else if let Reply::Task(task) = &reading.reply {
            // An id that is too long for the log is shown as it came.
            listed(ground, task)
        } else {
            TaskView::default()
        };
        let ended = known
            .as_ref()
            .is_some_and(|known| known.state.is_terminal());
        if let Reply::Task(read) = &reading.reply
            && !ended
            && state_of(reading).map(TaskState::as_str) != Some(task.state)
        {
            seen(&mut task, read, &reading.raw);
        }
        let operation_id = Some(ground.course.operation.to_string());
        Ok((TaskReport { task, operation_id }, known))
    }

    async fn task_known(&self, known: &Task) -> Result<TaskReport, CommandError> {
        Ok(TaskReport {
            task: view(self.log(), &self.views(), known, None).await?,
            operation_id: None,
        })
    }
}

/// Whether the task of an answer is at work.
fn goes_on(reading: &Reading) -> bool {
    state_of(reading).is_some_and(|state| !state.is_terminal() && !state.is_interrupted())
}

fn get(task: &TaskId, history_length: Option<u32>) -> Operation {
    Operation::GetTask {
        task_id: task.to_string(),
        history_length,
    }
}

fn unusable(ground: &Ground, why: &'static str) -> CommandError {
    let operation = ground.course.operation.clone();
    let error = Fault::Broken { why, json: None };
    Failure::Broken { operation, error }.into()
}

/// Whether a listed task is one that was asked for: some agents ignore filters.
fn is_meant(listing: &TaskListing, task: &wire::facts::TaskFacts) -> bool {
    let in_context = match (&listing.context, &task.context_id) {
        (Some(wanted), Some(context)) => wanted.as_str() == context,
        (Some(_) | None, None) | (None, Some(_)) => true,
    };
    in_context && (listing.state.is_none() || listing.state == task.state)
}

/// Whether nobody listens at the interface.
fn is_refused(error: &CommandError) -> bool {
    match error {
        CommandError::Failed(Failure::NotSent { error, .. }) => {
            error.kind == CallErrorKind::ConnectRefused
        }
        CommandError::Failed(_) | CommandError::Refused(_) => false,
    }
}

fn is_not_cancelable(error: &CommandError) -> bool {
    match error {
        CommandError::Failed(Failure::Peer { error, .. }) => {
            facts::peer_failure(error).1 == Some(A2aError::TaskNotCancelable)
        }
        CommandError::Failed(_) | CommandError::Refused(_) => false,
    }
}

/// A task as an answer shows it.
fn listed(ground: &Ground, task: &wire::facts::TaskFacts) -> TaskView {
    let artifacts = task.artifacts.iter().map(|artifact| TaskArtifact {
        artifact_id: artifact.artifact_id.clone().unwrap_or_default(),
        name: artifact.name.clone(),
        parts: u32::try_from(artifact.parts.len()).unwrap_or(u32::MAX),
        complete: true,
        headless: false,
    });
    let mut shown = TaskView {
        task_id: task.task_id.clone().unwrap_or_default(),
        context_id: task.context_id.clone(),
        agent: ground.peer.alias.as_ref().map(ToString::to_string),
        source: "call",
        updated: task.updated.clone().unwrap_or_default(),
        artifacts: artifacts.collect(),
        history_count: u32::try_from(task.history_count).unwrap_or(u32::MAX),
        protocol_version: Some(ground.line.version.to_string()),
        sequence: ground.course.newest.0,
        ..TaskView::default()
    };
    seen(&mut shown, task, "");
    shown
}
