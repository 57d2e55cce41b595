//! A message on its way: to whom, by which interface, and as which request.

use missive_log::event::facts::{BareUrl, Version};
use missive_log::event::{ContextId, MessageId, OperationId, TaskId};
use missive_log::payload::redact::Redactor;

use super::send::Send;
use crate::decide::send::{Place, SendIntent};
use crate::facts;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::report::send::{InterfaceReport, RequestReport};
use crate::wire::message::SendMessage;
use crate::wire::negotiate::Choice;
use crate::wire::request::{Operation, Request};
use crate::wire::text::excerpt;
use crate::wire::version::Binding;

/// A message with its address.
#[derive(Debug)]
pub(crate) struct Letter {
    /// To whom.
    pub(crate) peer: Peer,
    /// What it belongs to.
    pub(crate) place: Place,
    /// Its id.
    pub(crate) id: MessageId,
    /// The message.
    pub(crate) message: SendMessage,
    /// Only this binding.
    pub(crate) only: Option<Binding>,
}

impl Letter {
    pub(crate) fn report(&self, command: &Send) -> RequestReport {
        RequestReport {
            message_id: self.id.to_string(),
            context_id: self.place.context.as_ref().map(ContextId::to_string),
            task_id: self.place.task.as_ref().map(TaskId::to_string),
            parts: command.part_reports(),
        }
    }
}

/// An interface as a call needs it: the choice, and how the log keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The interface.
    pub(crate) choice: Choice,
    /// Its address as the log keeps it.
    pub(crate) url: BareUrl,
    /// The version as the log keeps it.
    pub(crate) version: Version,
    /// The tenant as the log keeps it and people see it.
    pub(crate) tenant: Option<String>,
}

impl Line {
    pub(crate) fn new(choice: Choice, redactor: &Redactor) -> Result<Self, Refusal> {
        let address = || Refusal::Address {
            url: excerpt(&redactor.clean(choice.url.split('?').next().unwrap_or_default())),
        };
        let parsed = url::Url::parse(&choice.url).map_err(|_| address())?;
        Ok(Self {
            url: facts::address(redactor, &parsed).ok_or_else(address)?,
            version: facts::version(choice.protocol_version).ok_or_else(address)?,
            tenant: choice
                .tenant
                .as_deref()
                .map(|tenant| redactor.clean(tenant)),
            choice,
        })
    }

    /// Says in the trace which one it is.
    pub(crate) fn tell(&self) {
        let (binding, source) = (self.choice.binding.name(), self.choice.source.name());
        tracing::info!(binding, url = %self.url, version = %self.version, source, "interface chosen");
    }

    pub(crate) fn report(&self) -> InterfaceReport {
        InterfaceReport {
            binding: self.choice.binding.name(),
            url: self.url.to_string(),
            protocol_version: self.version.to_string(),
            tenant: self.tenant.clone(),
            source: self.choice.source.name(),
        }
    }
}

/// A message that is about to leave.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) peer: &'a Peer,
    pub(crate) message_id: &'a MessageId,
    pub(crate) place: &'a Place,
    pub(crate) line: Line,
    pub(crate) operation: Operation,
    pub(crate) request: Request,
    pub(crate) request_id: String,
    pub(crate) parts: usize,
    pub(crate) attempt: u32,
    pub(crate) check_task: bool,
}

impl Outgoing<'_> {
    /// The intent to send it.
    pub(crate) fn intent<'b>(&'b self, operation: &'b OperationId) -> SendIntent<'b> {
        SendIntent {
            peer: self.peer,
            operation,
            message: self.message_id,
            place: self.place,
            choice: &self.line.choice,
            url: &self.line.url,
            tenant: self.line.tenant.as_deref(),
            version: &self.line.version,
            request: &self.request,
            parts: self.parts,
            attempt: self.attempt,
            check_task: self.check_task,
            streamed: self.operation.is_streamed(),
        }
    }
}
