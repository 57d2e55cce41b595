//! What the log says of an operation that is over: told again, and nobody is asked.

use missive_log::event::facts::{A2aError, Failure as Why, StreamEnd};
use missive_log::event::kind::SendRequested;
use missive_log::event::{Event, EventKind, OperationId, Seq};
use missive_log::{Log, Role};
use missive_projections::{Filter, KindPattern};

use super::Done;
use super::resend::{StoredMessage, as_sent};
use super::stored::event_at;
use crate::exit::{Exit, outcome_code};
use crate::facts;
use crate::failure::{CommandError, Failure};
use crate::report::send::{AnswerReport, Resolution, RetryReport, state_of};
use crate::run::Missive;
use crate::wire::answer::{Answer, Reading, read};
use crate::wire::headers::Headers;
use crate::wire::json::Limits;
use crate::wire::message::SendMessage;
use crate::wire::request::Operation;
use crate::wire::version::Binding;

const MESSAGES: [&str; 2] = ["a2a.send.requested", "a2a.stream.requested"];
/// What can be the end of a message: a wait's last look at its task comes after the answer.
const ENDS_OF_MESSAGES: [&str; 5] = [
    "a2a.send.responded",
    "a2a.send.resolved",
    "a2a.send.failed",
    "a2a.stream.closed",
    "a2a.task.updated",
];
/// What can be the end of anything else that was asked.
const ENDS: [&str; 5] = [
    "a2a.stream.closed",
    "a2a.call.responded",
    "a2a.call.failed",
    "a2a.card.fetched",
    "a2a.card.failed",
];

impl<L: Log> Missive<L> {
    /// How an operation ended; `None` if nothing of it asked anybody, or if what it says is gone.
    pub(super) async fn told_again(
        &self,
        operation: &OperationId,
    ) -> Result<Option<Done<RetryReport>>, CommandError> {
        let message = self.newest_of(operation, &MESSAGES).await?;
        let ends = if message.is_some() {
            &ENDS_OF_MESSAGES
        } else {
            &ENDS
        };
        let Some(end) = self.newest_of(operation, ends).await? else {
            return Ok(None);
        };
        if let Some((why, error)) = failure_of(&end.kind) {
            let said = self.stored_bytes(end.seq, Role::Error).await?;
            let said = said.and_then(|stored| String::from_utf8(stored.bytes).ok());
            return Err(Failure::Recorded {
                operation: operation.clone(),
                why: said.unwrap_or_else(|| why.as_str().to_owned()),
                exit: exit_of(why, error),
            }
            .into());
        }
        let sent = message.as_ref().and_then(sent);
        if let EventKind::StreamClosed(_) = &end.kind {
            let message = sent.map(|(_, facts)| facts.message.to_string());
            return self.stream_told_again(operation, &end, message).map(Some);
        }
        let reading = match &sent {
            Some((seq, facts)) => {
                let Some(reading) = self.answer_of(&end, *seq, facts).await? else {
                    return Ok(None);
                };
                Some(reading)
            }
            None => None,
        };
        let exit = match &reading {
            Some(reading) => outcome_code(state_of(reading)),
            None => Exit::Done,
        };
        let asked = message.as_ref().unwrap_or(&end);
        let report = RetryReport {
            operation_id: operation.to_string(),
            resolution: Resolution::Recorded,
            agent: asked.links.agent.as_ref().map(ToString::to_string),
            in_doubt: Vec::new(),
            message_id: sent.as_ref().map(|(_, facts)| facts.message.to_string()),
            answer: reading.as_ref().map(AnswerReport::of).unwrap_or_default(),
            sequence: end.seq.0,
        };
        Ok(Some(Done { report, exit }))
    }

    /// How a stream ended, and how its task stands as far as the log knows.
    fn stream_told_again(
        &self,
        operation: &OperationId,
        end: &Event,
        message_id: Option<String>,
    ) -> Result<Done<RetryReport>, CommandError> {
        let (views, links) = (self.views(), &end.links);
        let task = match &links.task {
            Some(task) => views.task(task, links.agent.as_ref())?,
            None => None,
        };
        let answer = AnswerReport {
            task_id: links.task.as_ref().map(ToString::to_string),
            context_id: links.context.as_ref().map(ToString::to_string),
            state: task.as_ref().map(|task| task.state.as_str()),
            ..AnswerReport::default()
        };
        let report = RetryReport {
            operation_id: operation.to_string(),
            resolution: Resolution::Recorded,
            agent: links.agent.as_ref().map(ToString::to_string),
            message_id,
            in_doubt: Vec::new(),
            answer,
            sequence: end.seq.0,
        };
        let exit = outcome_code(task.map(|task| task.state));
        Ok(Done { report, exit })
    }

    async fn newest_of(
        &self,
        operation: &OperationId,
        kinds: &[&str],
    ) -> Result<Option<Event>, CommandError> {
        let filter = Filter {
            operation: Some(operation.clone()),
            kinds: kinds.iter().map(|kind| KindPattern::new(kind)).collect(),
            reverse: true,
            limit: Some(1),
            ..Filter::default()
        };
        match self.views().select(&filter)?.first() {
            Some(seq) => event_at(self.log(), *seq).await,
            None => Ok(None),
        }
    }

    /// What the end of a message says, read from what was stored of it.
    async fn answer_of(
        &self,
        end: &Event,
        request: Seq,
        facts: &SendRequested,
    ) -> Result<Option<Reading>, CommandError> {
        let task = |id: String| Operation::GetTask {
            task_id: id,
            history_length: None,
        };
        let (binding, operation, status, role) =
            if let EventKind::SendResponded(answered) = &end.kind {
                (
                    facts::binding_of(facts.binding),
                    Operation::SendMessage(SendMessage::default()),
                    answered.status,
                    Role::Response,
                )
            } else if let EventKind::SendResolved(found) = &end.kind {
                let task = task(found.task.task.to_string());
                (Binding::HttpJson, task, 200, Role::Task)
            } else if let EventKind::TaskUpdated(seen) = &end.kind {
                let task = task(seen.task.task.to_string());
                (Binding::HttpJson, task, 200, Role::Task)
            } else {
                return Ok(None);
            };
        let Some(body) = self.stored_bytes(end.seq, role).await? else {
            return Ok(None);
        };
        let request_id = match self.stored_bytes(request, Role::Request).await? {
            Some(sent) => StoredMessage::read(sent.bytes, request)?.request_id,
            None => return Ok(None),
        };
        // The type was looked at when it came, and is among the violations of the event.
        let headers: Headers = [("content-type", "application/json")].into_iter().collect();
        let answer = Answer {
            status,
            headers,
            body: body.bytes,
        };
        let limits = Limits::default();
        Ok(read(binding, &operation, &request_id, &answer, &limits).ok())
    }
}

fn sent(event: &Event) -> Option<(Seq, SendRequested)> {
    if let EventKind::SendRequested(facts) = &event.kind {
        return Some((event.seq, facts.clone()));
    }
    if let EventKind::StreamRequested(facts) = &event.kind {
        return Some((event.seq, as_sent(facts)));
    }
    None
}

fn failure_of(kind: &EventKind) -> Option<(Why, Option<A2aError>)> {
    if let EventKind::SendFailed(facts) = kind {
        return Some((facts.failure, facts.error));
    }
    if let EventKind::StreamClosed(facts) = kind
        && matches!(facts.end, StreamEnd::NotSent | StreamEnd::Error)
    {
        return Some((facts.failure.unwrap_or(Why::ProtocolViolation), facts.error));
    }
    if let EventKind::CallFailed(facts) = kind {
        return Some((facts.failure, facts.error));
    }
    if let EventKind::CardFailed(facts) = kind {
        return Some((facts.failure, None));
    }
    None
}

/// The exit code that the failure had.
fn exit_of(why: Why, error: Option<A2aError>) -> Exit {
    match why {
        Why::A2aError => match error {
            Some(A2aError::TaskNotFound) => Exit::NotFound,
            Some(A2aError::ContentTypeNotSupported | A2aError::InvalidParams) => Exit::Data,
            Some(A2aError::Internal) => Exit::Transport,
            Some(
                A2aError::TaskNotCancelable
                | A2aError::PushNotificationNotSupported
                | A2aError::UnsupportedOperation
                | A2aError::InvalidAgentResponse
                | A2aError::ExtendedAgentCardNotConfigured
                | A2aError::ExtensionSupportRequired
                | A2aError::VersionNotSupported
                | A2aError::ParseError
                | A2aError::InvalidRequest
                | A2aError::MethodNotFound
                | A2aError::Other,
            )
            | None => Exit::Protocol,
        },
        Why::TotalTimeout => Exit::Timeout,
        Why::AuthRefused => Exit::Auth,
        Why::ProtocolViolation => Exit::Protocol,
        Why::Interrupted => Exit::Interrupted,
        Why::ConnectRefused
        | Why::Dns
        | Why::Tls
        | Why::Unreachable
        | Why::ConnectTimeout
        | Why::FirstByteTimeout
        | Why::IdleTimeout
        | Why::ConnectionLost
        | Why::AnswerCut
        | Why::AnswerTooLarge
        | Why::RedirectRefused
        | Why::RateLimited
        | Why::HttpStatus
        | Why::ProcessEnded => Exit::Transport,
    }
}
