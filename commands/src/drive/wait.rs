//! Waiting for a task: `GetTask` again and again, with growing pauses, until it ends or waits itself.
//!
//! The wait ends with the user's time or wish; the task goes on at the peer, and its last known state
//! is the result. A state that A2A does not know is neither an end nor a pause (C026): if nothing
//! changes for as long as the idle timeout, the wait ends as well.

use std::time::Duration;

use missive_log::event::facts::TaskState;
use missive_log::event::{Links, TaskId};
use missive_log::{Log, Timestamp};
use tokio::time::sleep;

use super::Course;
use super::again::asked;
use super::call::Call;
use super::send::Line;
use crate::effect::reach::CallErrorKind;
use crate::exit::{Exit, outcome_code};
use crate::facts;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::peer::Peer;
use crate::report::send::state_of;
use crate::run::Missive;
use crate::wire::answer::{Reading, Reply};
use crate::wire::error::ErrorKind;
use crate::wire::request::Operation;

/// The first pause between two calls.
pub(super) const PAUSE_MIN: Duration = Duration::from_millis(250);
/// The longest pause between two calls, unless the peer asks for more.
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The longest pause that a peer may ask for.
pub(super) const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// How long to wait between two questions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pauses {
    pub(crate) first: Duration,
    max: Duration,
}

impl Default for Pauses {
    /// From a quarter of a second to five seconds.
    fn default() -> Self {
        Self {
            first: PAUSE_MIN,
            max: PAUSE_MAX,
        }
    }
}

impl Pauses {
    /// Always the same one, as the user wants it.
    pub(crate) fn of(interval: Duration) -> Self {
        Self {
            first: interval,
            max: interval,
        }
    }
}

impl<L: Log> Missive<L> {
    /// Asks for the task of an answer until it ends, and says how the command ends.
    pub(crate) async fn wait(
        &self,
        course: &mut Course,
        peer: &Peer,
        line: &Line,
        first: Reading,
        pauses: Pauses,
        interrupt: &mut Interrupt,
    ) -> Result<(Reading, Exit), CommandError> {
        let mut reading = first;
        let mut pause = pauses.first;
        let mut failures = 0;
        let mut unchanged = Duration::ZERO;
        loop {
            let state = state_of(&reading);
            let Some((task, links)) = unfinished(&reading, state, peer) else {
                return Ok((reading, outcome_code(state)));
            };
            if state == Some(TaskState::Unrecognized) && unchanged >= self.qos().idle_timeout {
                return Ok((reading, Exit::Timeout));
            }
            tokio::select! {
                biased;
                () = interrupt.came() => return Ok((reading, Exit::Interrupted)),
                () = self.time_is_up() => return Ok((reading, Exit::Timeout)),
                () = sleep(pause) => {}
            }
            let seen = links.clone();
            let mut call = Call {
                agent: peer.alias.as_ref(),
                line,
                operation: Operation::GetTask {
                    task_id: task,
                    history_length: None,
                },
                links,
                known: Some(&reading.raw),
                abandoned: None,
            };
            // This loop counts by itself how often it asks in vain.
            match self.call_now(course, &mut call, interrupt).await {
                Ok(next) => {
                    failures = 0;
                    let state = state_of(&next).map_or("", TaskState::as_str);
                    tracing::info!(state, "task asked for");
                    if next.raw == reading.raw {
                        unchanged += pause;
                    } else {
                        unchanged = Duration::ZERO;
                    }
                    pause = (pause * 2).min(pauses.max);
                    reading = next;
                    // Another process may have seen the end, and then an older snapshot means nothing.
                    if let Some(exit) = self.ended(&seen)? {
                        return Ok((reading, exit));
                    }
                }
                Err(CommandError::Failed(Failure::Interrupted { .. })) => {
                    return Ok((reading, Exit::Interrupted));
                }
                Err(error) if is_out_of_time(&error) => return Ok((reading, Exit::Timeout)),
                Err(error) => {
                    failures += 1;
                    let Some(at_least) = pause_after(&error, self.ids().now())
                        .filter(|_| failures <= self.qos().retries_max)
                    else {
                        return Err(error);
                    };
                    pause = (pause * 2).min(pauses.max).max(at_least);
                    tracing::info!(failures, ?pause, "the question is asked again");
                }
            }
        }
    }

    /// How a command ends whose task ended as far as the log knows.
    fn ended(&self, links: &Links) -> Result<Option<Exit>, CommandError> {
        let (Some(task), Some(agent)) = (&links.task, &links.agent) else {
            return Ok(None);
        };
        let known = self.views().task(task, Some(agent))?;
        let ended = known.filter(|task| task.state.is_terminal());
        Ok(ended.map(|task| outcome_code(Some(task.state))))
    }

    pub(crate) async fn time_is_up(&self) {
        match self.deadline() {
            Some(deadline) => deadline.passed().await,
            None => std::future::pending().await,
        }
    }
}

/// The task to ask for, if the answer holds one that goes on.
fn unfinished(reading: &Reading, state: Option<TaskState>, peer: &Peer) -> Option<(String, Links)> {
    let Reply::Task(task) = &reading.reply else {
        return None;
    };
    if state.is_none_or(|state| state.is_terminal() || state.is_interrupted()) {
        return None;
    }
    let id = task.task_id.clone()?;
    let links = Links {
        agent: peer.alias.clone(),
        context: facts::context(task.context_id.as_deref()),
        task: TaskId::new(&id).ok(),
        group: None,
    };
    Some((id, links))
}

fn is_out_of_time(error: &CommandError) -> bool {
    match error {
        CommandError::Failed(Failure::NotSent { error, .. } | Failure::NoAnswer { error, .. }) => {
            error.kind == CallErrorKind::TotalTimeout
        }
        CommandError::Failed(_) | CommandError::Refused(_) => false,
    }
}

/// How long to pause at least before asking again, if the failure may pass by itself.
pub(crate) fn pause_after(error: &CommandError, now: Timestamp) -> Option<Duration> {
    match error {
        CommandError::Failed(Failure::NotSent { .. } | Failure::NoAnswer { .. }) => {
            Some(Duration::ZERO)
        }
        CommandError::Failed(Failure::Peer { error, .. }) => {
            let passing = error.kind == ErrorKind::RateLimited
                || (error.kind == ErrorKind::HttpStatus && error.status >= 500);
            let asked = error
                .retry_after
                .map_or(Duration::ZERO, |retry_after| asked(retry_after, now));
            passing.then_some(asked.min(RETRY_AFTER_MAX))
        }
        CommandError::Failed(_) | CommandError::Refused(_) => None,
    }
}
