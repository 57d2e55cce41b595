//! How a stream ended, as the log keeps it.

use missive_log::event::facts::{A2aError, Failure as Why, StreamEnd};
use missive_log::event::kind::StreamClosed;
use missive_log::event::{Draft, EventKind, Links, Seq};
use missive_log::payload::About;
use missive_log::{Log, Payload, Role};

use super::super::outcome::{payloads_of, status_of, words};
use super::update::Channel;
use super::{Course, Ended, Flow};
use crate::decide::Moment;
use crate::effect::ask::AskError;
use crate::effect::reach::Call;
use crate::evidence;
use crate::facts;
use crate::failure::CommandError;
use crate::run::Missive;
use crate::wire::answer::{Answer, Fault};

/// What is known of an end.
struct Known {
    end: StreamEnd,
    failure: Option<Why>,
    error: Option<A2aError>,
    words: Option<String>,
}

impl Known {
    fn of(ended: &Ended, in_doubt: bool) -> Self {
        let plain = |end, failure| Self {
            end,
            failure,
            error: None,
            words: None,
        };
        let mut known = match ended {
            Ended::Over(end) => plain(*end, None),
            Ended::Answer => plain(StreamEnd::Answer, None),
            Ended::Early(_) => plain(
                StreamEnd::EndedEarly,
                in_doubt.then_some(Why::ProtocolViolation),
            ),
            Ended::Useless(_) | Ended::Foreign => {
                plain(StreamEnd::Error, Some(Why::ProtocolViolation))
            }
            Ended::Broken(error) | Ended::OutOfTime(error) => Self {
                words: Some(error.to_string()),
                ..plain(StreamEnd::Broken, Some(facts::call_failure(error.kind)))
            },
            Ended::TooLarge(words) => Self {
                words: Some(words.clone()),
                ..plain(StreamEnd::Broken, Some(Why::AnswerTooLarge))
            },
            Ended::Error(error) => {
                let (failure, named) = facts::peer_failure(error);
                Self {
                    end: StreamEnd::Error,
                    failure: Some(failure),
                    error: named,
                    words: Some(error.to_string()),
                }
            }
            Ended::Detached => plain(StreamEnd::Detached, Some(Why::Interrupted)),
        };
        if in_doubt {
            known.end = StreamEnd::InDoubt;
        }
        known
    }
}

impl<L: Log> Missive<L> {
    /// Records how a stream ended, and whether its message is in doubt now.
    pub(super) async fn close(
        &self,
        flow: &mut Flow<'_>,
        channel: &Channel,
        head: &Answer,
        ended: &Ended,
    ) -> Result<bool, CommandError> {
        let said_nothing = !channel.subscription && flow.picture.is_empty();
        let in_doubt = match ended {
            Ended::Early(_)
            | Ended::Broken(_)
            | Ended::OutOfTime(_)
            | Ended::TooLarge(_)
            | Ended::Detached => said_nothing,
            Ended::Useless(_)
            | Ended::Foreign
            | Ended::Over(_)
            | Ended::Error(_)
            | Ended::Answer => false,
        };
        let known = Known::of(ended, in_doubt);
        tracing::info!(
            end = known.end.as_str(),
            updates = channel.updates,
            "stream is over"
        );
        let links = links_of(flow);
        let (state, intent) = (flow.picture.state(), channel.intent);
        let operation = flow.course.operation.clone();
        self.conclude(&mut flow.course, intent, |moment| {
            let kind = EventKind::StreamClosed(StreamClosed {
                end: known.end,
                status: Some(head.status),
                failure: known.failure,
                error: known.error,
                updates: channel.updates,
                state,
            });
            let mut payloads = evidence::of_answer(moment, head);
            if let Ended::Early(rest) | Ended::Useless(rest) = ended {
                payloads.extend(rest_of(moment, rest));
            }
            let words = known.words.as_deref();
            payloads.extend(words.map(|words| evidence::of_error(moment, words)));
            vec![moment.step(&operation, Some(intent), &links, kind, payloads)]
        })
        .await?;
        flow.end = known.end.as_str();
        Ok(in_doubt)
    }

    /// Records that a stream never began, and why.
    pub(super) async fn close_unopened(
        &self,
        course: &mut Course,
        channel: &Channel,
        links: &Links,
        refused: Option<(&AskError, &Call)>,
    ) -> Result<(), CommandError> {
        let operation = course.operation.clone();
        let intent = channel.intent;
        self.conclude(course, intent, |moment| {
            let drafted = refused.map(|(error, call)| {
                let mut payloads = payloads_of(moment, call);
                payloads.push(evidence::of_error(moment, &words(error, call)));
                let (end, failure, named) = unopened(error, channel.subscription);
                let kind = EventKind::StreamClosed(StreamClosed {
                    end,
                    status: status_of(call),
                    failure: Some(failure),
                    error: named,
                    updates: 0,
                    state: None,
                });
                moment.step(&operation, Some(intent), links, kind, payloads)
            });
            drafted.into_iter().collect()
        })
        .await?;
        Ok(())
    }

    /// Records that the user interrupted before anything came back.
    pub(super) async fn close_interrupted(
        &self,
        course: &mut Course,
        channel: &Channel,
        links: &Links,
        in_doubt: bool,
    ) -> Result<(), CommandError> {
        let operation = course.operation.clone();
        let end = match (in_doubt, channel.subscription) {
            (true, false) => StreamEnd::InDoubt,
            (false, false) => StreamEnd::NotSent,
            (_, true) => StreamEnd::Detached,
        };
        let closed = closed(end, Some(Why::Interrupted));
        self.just_close(course, (&operation, channel.intent, links), closed)
            .await
    }

    async fn just_close(
        &self,
        course: &mut Course,
        (operation, intent, links): (&missive_log::event::OperationId, Seq, &Links),
        closed: StreamClosed,
    ) -> Result<(), CommandError> {
        self.conclude(course, intent, |moment| -> Vec<Draft> {
            let kind = EventKind::StreamClosed(closed.clone());
            vec![moment.step(operation, Some(intent), links, kind, Vec::new())]
        })
        .await?;
        Ok(())
    }
}

fn closed(end: StreamEnd, failure: Option<Why>) -> StreamClosed {
    StreamClosed {
        end,
        status: None,
        failure,
        error: None,
        updates: 0,
        state: None,
    }
}

/// What is known of a stream that never began.
fn unopened(error: &AskError, subscription: bool) -> (StreamEnd, Why, Option<A2aError>) {
    match error {
        AskError::NotSent(kind) => (StreamEnd::NotSent, facts::call_failure(*kind), None),
        AskError::InDoubt(kind) if subscription => {
            (StreamEnd::Broken, facts::call_failure(*kind), None)
        }
        AskError::InDoubt(kind) => (StreamEnd::InDoubt, facts::call_failure(*kind), None),
        AskError::Redirect(_) => (StreamEnd::Error, Why::RedirectRefused, None),
        AskError::Fault(Fault::Peer(error)) => {
            let (failure, named) = facts::peer_failure(error);
            (StreamEnd::Error, failure, named)
        }
        AskError::Fault(Fault::Broken { .. }) => (StreamEnd::Error, Why::ProtocolViolation, None),
    }
}

/// The nouns that a stream concerns, as far as it named them.
pub(super) fn links_of(flow: &Flow<'_>) -> Links {
    Links {
        agent: flow.links.agent.clone(),
        context: facts::context(flow.picture.context_id()).or_else(|| flow.links.context.clone()),
        task: flow.task().or_else(|| flow.links.task.clone()),
        group: flow.links.group.clone(),
    }
}

/// What stood at the end of a stream without being a frame.
fn rest_of(moment: &Moment<'_>, rest: &[u8]) -> Option<Payload> {
    let about = About {
        media_type: Some("text/event-stream".to_owned()),
        name: None,
    };
    let redactor = moment.redactor;
    (!rest.is_empty()).then(|| redactor.bytes(moment.ids, Role::Response, about, rest))
}
