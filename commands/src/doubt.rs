//! What a crash, a timeout or a cut connection left open: the list that `doctor` shows.

use std::path::Path;

use missive_log::Timestamp;
use missive_log::backend::instance::Instance;
use missive_log::event::facts::Failure;
use missive_log::event::{Alias, ContextId, MessageId, OperationId, Seq, TaskId};
use missive_projections::{Intent, Open, Views, ViewsError};

/// An intent whose outcome is not known, and that nobody works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InDoubt {
    /// The operation: what `retry` takes.
    pub operation: Option<OperationId>,
    /// What it is.
    pub intent: Intent,
    /// Its place.
    pub seq: Seq,
    /// When it was written.
    pub at: Timestamp,
    /// The agent, by the alias that it had then.
    pub agent: Option<Alias>,
    /// Where it went.
    pub url: String,
    /// The message id of a send.
    pub message: Option<MessageId>,
    /// The context.
    pub context: Option<ContextId>,
    /// The task.
    pub task: Option<TaskId>,
    /// The how manieth attempt of a send.
    pub attempt: u32,
    /// What ended the wait; none if the process ended before it could say.
    pub failure: Option<Failure>,
}

/// Whether somebody works on an intent: a run of the program that lives, as far as `run` shows. A doubt that was
/// recorded is nobody's work any more, whether its process lives or not.
pub fn is_under_way(open: &Open, run: &Path) -> bool {
    open.doubt.is_none() && Instance::is_alive(run, open.instance)
}

/// Everything that is in doubt, oldest first. `run` is the folder in which runs of the program show
/// that they are alive: what they still work on is not in doubt.
pub fn in_doubt(views: &Views, run: &Path) -> Result<Vec<InDoubt>, ViewsError> {
    let mut found = Vec::new();
    for open in views.outbox()? {
        if is_under_way(&open, run) {
            continue;
        }
        found.push(InDoubt {
            operation: open.operation,
            intent: open.intent,
            seq: open.seq,
            at: open.at,
            agent: open.agent,
            url: open.url.to_string(),
            message: open.message,
            context: open.context,
            task: open.task,
            attempt: open.attempt,
            failure: open.doubt.map(|doubt| doubt.failure),
        });
    }
    Ok(found)
}
