//! Send a message: what must hold before anything is recorded, and the intent itself.

use missive_log::event::facts::{BareUrl, Version};
use missive_log::event::kind::{SendRequested, StreamRequested};
use missive_log::event::{
    ContextId, EventKind, GroupName, Links, MessageId, OperationId, Subject, TaskId,
};
use missive_projections::Views;

use super::{Decide, Decision, Moment, Undecided, unchanged};
use crate::contexts::{can_be_new, find_context, nearest_contexts, no_context};
use crate::evidence;
use crate::facts;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::wire::negotiate::Choice;
use crate::wire::request::Request;

/// What a message belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The context; with a task alone that of the task, as far as it is known.
    pub(crate) context: Option<ContextId>,
    /// The task that is continued.
    pub(crate) task: Option<TaskId>,
    /// The group that it goes to a member of.
    pub(crate) group: Option<GroupName>,
    /// Whether the context begins with this message.
    pub(crate) is_new: bool,
    /// Whether the context was declared finished here.
    pub(crate) is_closed: bool,
}

/// Finds out where a message goes.
///
/// # Errors
/// If the task takes no more messages, task and context do not fit, or the context cannot be named so.
pub(crate) fn place(
    views: &Views,
    peer: &Peer,
    context: Option<&str>,
    task: Option<&TaskId>,
) -> Result<Place, Undecided> {
    let known = match task {
        Some(task) => views.task(task, peer.alias.as_ref())?,
        None => None,
    };
    // A task that another agent has under the same id says nothing about this one.
    let known = known.filter(|known| known.agent.is_some() == peer.alias.is_some());
    if let Some(known) = &known
        && known.state.is_terminal()
    {
        return Err(Refusal::TaskEnded {
            task: known.task.clone(),
            state: known.state.as_str(),
            context: known.context.clone(),
        }
        .into());
    }
    let of_task = known.and_then(|known| known.context);
    let mut found = Place {
        task: task.cloned(),
        ..Place::default()
    };
    // An answer to a task carries both of its ids (A2A 1.0, section 3.4.3; C072).
    let of_task_text = of_task.as_ref().map(ContextId::as_str);
    let Some(text) = context.or(of_task_text) else {
        return Ok(found);
    };
    let known = find_context(views, text)?;
    found.is_closed = known.as_ref().is_some_and(|known| known.closed.is_some());
    if of_task_text == Some(text) {
        found.context = of_task;
        return Ok(found);
    }
    found.is_new = known.is_none();
    let id = match known {
        Some(known) => known.context,
        None if can_be_new(text) => {
            ContextId::new(text).map_err(|_| no_context(text, Vec::new()))?
        }
        None => return Err(no_context(text, nearest_contexts(views, text)?).into()),
    };
    if let (Some(task), Some(belongs_to)) = (task, of_task)
        && belongs_to != id
    {
        return Err(Refusal::ContextMismatch {
            task: task.clone(),
            asked: id,
            belongs_to,
        }
        .into());
    }
    found.context = Some(id);
    Ok(found)
}

/// The intent to send a message.
pub(crate) struct SendIntent<'a> {
    /// To whom.
    pub(crate) peer: &'a Peer,
    /// The operation.
    pub(crate) operation: &'a OperationId,
    /// The message id.
    pub(crate) message: &'a MessageId,
    /// What it belongs to.
    pub(crate) place: &'a Place,
    /// The interface.
    pub(crate) choice: &'a Choice,
    /// The same address as the log keeps it.
    pub(crate) url: &'a BareUrl,
    /// The tenant as the log keeps it.
    pub(crate) tenant: Option<&'a str>,
    /// The version as the log keeps it.
    pub(crate) version: &'a Version,
    /// The request, exactly as it will leave.
    pub(crate) request: &'a Request,
    /// How many parts the message has.
    pub(crate) parts: usize,
    /// The how manieth attempt.
    pub(crate) attempt: u32,
    /// Whether a known task must still take messages; a repeated message may have ended it itself.
    pub(crate) check_task: bool,
    /// Whether the answer is a stream.
    pub(crate) streamed: bool,
}

impl SendIntent<'_> {
    pub(crate) fn links(&self) -> Links {
        Links {
            agent: self.peer.alias.clone(),
            context: self.place.context.clone(),
            task: self.place.task.clone(),
            group: self.place.group.clone(),
        }
    }
}

impl Decide for SendIntent<'_> {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        if self.check_task {
            let context = self.place.context.as_ref().map(ContextId::as_str);
            place(views, self.peer, context, self.place.task.as_ref())?;
        }
        let subject = Subject::Operation(self.operation.clone());
        let mut expect = vec![unchanged(views, subject)?];
        expect.extend(self.peer.unchanged());
        let parts = u32::try_from(self.parts).unwrap_or(u32::MAX);
        let facts = SendRequested {
            instance: moment.instance,
            message: self.message.clone(),
            binding: facts::binding(self.choice.binding),
            url: self.url.clone(),
            source: facts::source(self.choice.source),
            version: self.version.clone(),
            tenant: facts::tenant(self.tenant),
            parts,
            attempt: self.attempt,
        };
        let kind = if self.streamed {
            EventKind::StreamRequested(streamed(facts))
        } else {
            EventKind::SendRequested(facts)
        };
        let payloads = evidence::of_request(moment, self.request);
        let draft = moment.step(self.operation, None, &self.links(), kind, payloads);
        Ok(Decision {
            expect,
            drafts: vec![draft],
        })
    }
}

fn streamed(facts: SendRequested) -> StreamRequested {
    let SendRequested {
        instance,
        message,
        binding,
        url,
        source,
        version,
        tenant,
        parts,
        attempt,
    } = facts;
    StreamRequested {
        instance,
        message,
        binding,
        url,
        source,
        version,
        tenant,
        parts,
        attempt,
    }
}
