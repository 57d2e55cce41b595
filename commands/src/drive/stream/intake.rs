//! What a request for a stream is answered with: a stream, one whole answer, or bytes that are neither.

use missive_log::event::facts::StreamEnd;
use missive_log::event::kind::{StreamClosed, StreamMessage, StreamTask};
use missive_log::event::{Draft, EventKind, MessageId, Subject};
use missive_log::{Log, Role};

use super::close::links_of;
use super::picture::event_of_answer;
use super::update::{Channel, subject_of};
use super::{Begun, Ended, Flow, Show};
use crate::decide::Moment;
use crate::effect::reach::{CallError, Reach};
use crate::evidence;
use crate::facts;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::note::Note;
use crate::run::Missive;
use crate::wire::answer::{Answer, Fault, Reading, Reply};
use crate::wire::error::{PeerError, read_error};
use crate::wire::headers::Headers;
use crate::wire::json::{Document, Limits};
use crate::wire::message::SendMessage;
use crate::wire::request::{Operation, Verb};
use crate::wire::stream::read_whole;

impl<L: Log> Missive<L> {
    /// Takes in what a request for a stream is answered with, and records how that ended.
    pub(super) async fn take_in(
        &self,
        flow: &mut Flow<'_>,
        mut channel: Channel,
        begun: Begun,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Ended, CommandError> {
        let mut incoming = match begun {
            Begun::Stream(incoming) => incoming,
            Begun::Answer(reading, call) => {
                let head = match call.reach {
                    Reach::Answered(answer) => answer,
                    Reach::NotSent(_) | Reach::NothingBack(_) | Reach::Partial { .. } => {
                        Answer::default()
                    }
                };
                self.note(Note::NotStreamed);
                self.tell_notes(sink).await;
                return self.whole(flow, channel, &reading, &head, sink).await;
            }
            Begun::Refused(..) | Begun::Interrupted(_) => {
                return Err(Failure::Internal {
                    what: "a stream that never began is followed",
                }
                .into());
            }
        };
        let ended = self
            .follow_stream(flow, &mut channel, &mut incoming, sink, interrupt)
            .await?;
        let ended = match ended {
            Ended::Early(rest) if channel.updates == 0 => {
                let mut body = std::mem::take(&mut channel.preface);
                body.extend_from_slice(&rest);
                match whole_answer(&channel, &body) {
                    Some(Ok(reading)) => {
                        let head = Answer {
                            body,
                            ..incoming.head.clone()
                        };
                        return self.whole(flow, channel, &reading, &head, sink).await;
                    }
                    Some(Err(error)) => Ended::Error(error),
                    None => Ended::Early(body),
                }
            }
            other @ (Ended::Over(_)
            | Ended::Early(_)
            | Ended::Useless(_)
            | Ended::Broken(_)
            | Ended::OutOfTime(_)
            | Ended::Foreign
            | Ended::TooLarge(_)
            | Ended::Error(_)
            | Ended::Answer
            | Ended::Detached) => other,
        };
        let in_doubt = self.close(flow, &channel, &incoming.head, &ended).await?;
        if in_doubt {
            return Err(doubt(flow, ended).into());
        }
        let Some(why) = useless(&ended) else {
            return Ok(ended);
        };
        Err(Failure::Broken {
            operation: flow.course.operation.clone(),
            error: Fault::Broken { why, json: None },
        }
        .into())
    }

    /// Takes in one whole answer where a stream was expected.
    async fn whole(
        &self,
        flow: &mut Flow<'_>,
        mut channel: Channel,
        reading: &Reading,
        head: &Answer,
        sink: &mut impl Show,
    ) -> Result<Ended, CommandError> {
        self.note_violations(reading);
        flow.picture.answered(reading);
        channel.updates = 1;
        let kind = update_of(reading);
        let links = links_of(flow);
        let operation = flow.course.operation.clone();
        let state = flow.picture.state();
        let intent = channel.intent;
        let ended = Ended::Answer;
        self.conclude_with(flow, &channel, |moment: &Moment<'_>| -> Vec<Draft> {
            let closed = StreamClosed {
                end: StreamEnd::Answer,
                status: Some(head.status),
                failure: None,
                error: None,
                updates: 1,
                state,
            };
            let redactor = moment.redactor;
            let raw = evidence::of_object(moment.ids, redactor, Role::Frame, &reading.raw);
            let first = kind.clone().map(|kind| {
                let task = subject_of(&kind).cloned();
                let mut draft = moment.step(&operation, Some(intent), &links, kind, vec![raw]);
                if let Some(task) = task {
                    draft.subject = Subject::Task(task);
                }
                draft
            });
            let payloads = evidence::of_answer(moment, head);
            let kind = EventKind::StreamClosed(closed);
            let last = moment.step(&operation, Some(intent), &links, kind, payloads);
            first.into_iter().chain([last]).collect()
        })
        .await?;
        flow.end = StreamEnd::Answer.as_str();
        sink.show(event_of_answer(
            reading,
            flow.course.newest.0.saturating_sub(1),
        ))
        .await;
        Ok(ended)
    }

    /// Records an outcome of several facts, all about the operation.
    async fn conclude_with(
        &self,
        flow: &mut Flow<'_>,
        channel: &Channel,
        drafts: impl Fn(&Moment<'_>) -> Vec<Draft>,
    ) -> Result<(), CommandError> {
        self.conclude(&mut flow.course, channel.intent, drafts)
            .await?;
        flow.course.last = flow.course.newest;
        Ok(())
    }
}

/// Why a stream is an answer that cannot be used, if it is one.
fn useless(ended: &Ended) -> Option<&'static str> {
    match ended {
        Ended::Useless(_) => Some("nothing in its stream is an update"),
        Ended::Foreign => Some("its stream is about another task"),
        Ended::Over(_)
        | Ended::Early(_)
        | Ended::Broken(_)
        | Ended::OutOfTime(_)
        | Ended::TooLarge(_)
        | Ended::Error(_)
        | Ended::Answer
        | Ended::Detached => None,
    }
}

/// A message of which nobody knows whether it arrived.
fn doubt(flow: &Flow<'_>, ended: Ended) -> Failure {
    let operation = flow.course.operation.clone();
    match ended {
        Ended::Broken(error) | Ended::OutOfTime(error) => Failure::InDoubt { operation, error },
        Ended::Detached => Failure::Interrupted {
            operation,
            in_doubt: true,
            task: None,
        },
        Ended::TooLarge(words) => Failure::InDoubt {
            operation,
            error: CallError::event_too_large(words),
        },
        Ended::Early(_)
        | Ended::Useless(_)
        | Ended::Foreign
        | Ended::Over(_)
        | Ended::Error(_)
        | Ended::Answer => Failure::InDoubt {
            operation,
            error: CallError::ended_empty(),
        },
    }
}

/// Reads bytes that came where an event stream was announced, and are none: an error, or an answer.
fn whole_answer(channel: &Channel, body: &[u8]) -> Option<Result<Reading, Box<PeerError>>> {
    let headers: Headers = [("content-type", "application/json")].into_iter().collect();
    let answer = Answer {
        status: 200,
        headers,
        body: body.to_vec(),
    };
    let operation = if channel.subscription {
        Operation::SubscribeToTask {
            task_id: String::new(),
            verb: Verb::Post,
        }
    } else {
        Operation::SendStreamingMessage(SendMessage::default())
    };
    let (binding, id) = (channel.binding, &channel.request_id);
    match read_whole(binding, &operation, id, &answer, &Limits::default()) {
        Ok(reading) => Some(Ok(reading)),
        Err(Fault::Peer(error)) => Some(Err(error)),
        Err(Fault::Broken { .. }) => {
            // Whatever its envelope is worth, an error says more than nothing.
            let document = Document::read(body, &Limits::default()).ok()?;
            let error = document
                .value()
                .get("error")
                .filter(|error| error.is_object());
            error.map(|_| {
                let none = Headers::default();
                Err(Box::new(read_error(200, &none, body, &Limits::default())))
            })
        }
    }
}

/// One whole answer as an update.
fn update_of(reading: &Reading) -> Option<EventKind> {
    let violations = facts::violations(&reading.odd);
    match &reading.reply {
        Reply::Task(task) => Some(EventKind::StreamTask(StreamTask {
            update: 1,
            task: facts::task(task)?,
            violations,
        })),
        Reply::Message(message) => Some(EventKind::StreamMessage(StreamMessage {
            update: 1,
            message: message
                .message_id
                .as_deref()
                .and_then(|id| MessageId::new(id).ok()),
            violations,
        })),
        Reply::Tasks { .. } | Reply::Push(_) | Reply::Card(_) => None,
    }
}
