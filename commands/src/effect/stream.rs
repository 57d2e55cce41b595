//! One call whose answer is a stream of frames, or turns out to be something else.
//!
//! Promises: frames as they come; the four timers as for every other call, of which only the user's own
//! ends a stream that is alive (C060); no byte is lost when the future that waits for the next frame is
//! dropped. Refuses: to reconnect, to repeat, and to know what the frames say.

use std::time::Duration;

use bytes::{Buf as _, Bytes};
use reqwest::Response;
use tokio::time::{Instant, sleep_until};
use url::Url;

use super::ask::AskError;
use super::http::{Begun, Deadline, HttpCaller, Sent, total};
use super::reach::{Call, CallError, CallErrorKind, Reach};
use super::unpack::Unpack;
use crate::wire::answer::{Answer, Reading};
use crate::wire::headers::Media;
use crate::wire::json::Limits;
use crate::wire::request::{Operation, Request};
use crate::wire::sse::{EventStream, Frame, Last, SseError, Unterminated};
use crate::wire::stream::read_whole;
use crate::wire::version::Binding;

/// How the peer answers.
#[derive(Debug)]
pub enum Opened {
    /// With a stream.
    Stream(Box<Incoming>),
    /// With anything else, or not at all.
    Plain {
        /// How the call went; its answer holds the exact bytes.
        call: Box<Call>,
        /// What it means.
        meaning: Box<Result<Reading, AskError>>,
    },
}

/// What comes next in a stream.
#[derive(Debug)]
pub enum Next {
    /// A whole frame.
    Frame(Frame),
    /// The peer ended the stream in good order, after these bytes that are no frame, if there are any.
    End(Option<Unterminated>),
    /// The stream broke.
    Cut(CallError),
    /// A frame has more bytes than allowed.
    TooLarge(SseError),
}

/// A stream that is coming in.
#[derive(Debug)]
pub struct Incoming {
    /// Status and headers of the answer.
    pub head: Answer,
    response: Response,
    url: Url,
    idle: Option<Duration>,
    /// When the silence has lasted too long.
    silent_at: Option<Instant>,
    deadline: Option<Deadline>,
    unpack: Option<Unpack>,
    /// Bytes that are not yet taken for frames.
    chunk: Bytes,
    frames: EventStream,
}

/// Sends `request`, which was built for `operation` under `binding` and `request_id`. `sent` stays with the
/// caller, who may drop this future.
pub async fn open(
    caller: &HttpCaller,
    binding: Binding,
    operation: &Operation,
    request: &Request,
    request_id: &str,
    deadline: Option<Deadline>,
    sent: &Sent,
) -> Opened {
    let settings = caller.settings();
    let call = match caller.begin(request, deadline, sent, is_stream).await {
        Begun::Ended(call) => call,
        Begun::Answering(answering) => {
            tracing::info!(status = answering.head.status, "stream begins");
            return Opened::Stream(Box::new(Incoming {
                unpack: answering.head.headers.coding().map(|_| Unpack::new()),
                head: answering.head,
                response: answering.response,
                url: answering.url,
                idle: settings.idle,
                silent_at: settings.idle.map(|idle| Instant::now() + idle),
                deadline,
                chunk: Bytes::new(),
                frames: EventStream::new(settings.stream),
            }));
        }
    };
    let limits = Limits {
        bytes_max: settings.response_bytes_max,
        ..Limits::default()
    };
    let meaning = match (&call.reach, &call.refused_redirect) {
        (Reach::NotSent(error), _) => Err(AskError::NotSent(error.kind)),
        (Reach::NothingBack(error) | Reach::Partial { error, .. }, _) => {
            Err(AskError::InDoubt(error.kind))
        }
        (Reach::Answered(_), Some(refused)) => Err(AskError::Redirect(refused.clone())),
        (Reach::Answered(answer), None) => {
            read_whole(binding, operation, request_id, answer, &limits).map_err(AskError::Fault)
        }
    };
    Opened::Plain {
        call: Box::new(call),
        meaning: Box::new(meaning),
    }
}

/// Whether an answer is read frame by frame. One that does not say what it is may be a stream, too.
fn is_stream(head: &Answer) -> bool {
    let is_readable = head.headers.coding().is_none_or(Unpack::knows);
    let media = head.headers.media();
    (200..300).contains(&head.status)
        && is_readable
        && matches!(media, Media::EventStream | Media::Missing)
}

impl Incoming {
    /// The next frame, or how the stream ends. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Next {
        loop {
            let mut rest: &[u8] = &self.chunk;
            let found = self.frames.next_frame(&mut rest);
            let taken = self.chunk.len() - rest.len();
            self.chunk.advance(taken);
            match found {
                Ok(Some(frame)) => return Next::Frame(frame),
                Ok(None) => {}
                Err(error) => return Next::TooLarge(error),
            }
            match self.more().await {
                Ok(Some(bytes)) => self.chunk = bytes,
                Ok(None) => {
                    return match std::mem::take(&mut self.frames).finish() {
                        Some(Last::Frame(frame)) => Next::Frame(frame),
                        Some(Last::Unterminated(cut)) => Next::End(Some(cut)),
                        None => Next::End(None),
                    };
                }
                Err(error) => return Next::Cut(error),
            }
        }
    }

    /// The next bytes as they were before anybody packed them; `None` at the end.
    async fn more(&mut self) -> Result<Option<Bytes>, CallError> {
        loop {
            if let Some(unpack) = &mut self.unpack {
                let step = unpack.step().map_err(|error| {
                    let what = "the compressed answer cannot be unpacked";
                    CallError::because(CallErrorKind::BadHttp, what, error)
                })?;
                if step.is_some() {
                    return Ok(step);
                }
            }
            let silence = async {
                match (self.idle, self.silent_at) {
                    (Some(limit), Some(at)) => {
                        sleep_until(at).await;
                        CallError::idle_timeout(limit)
                    }
                    _ => std::future::pending().await,
                }
            };
            let received = tokio::select! {
                biased;
                received = self.response.chunk() => received,
                error = total(self.deadline) => return Err(error),
                error = silence => return Err(error),
            };
            let received = received.map_err(|error| CallError::receiving(error, &self.url))?;
            self.silent_at = self.idle.map(|idle| Instant::now() + idle);
            match (received, &mut self.unpack) {
                (Some(packed), Some(unpack)) => unpack.feed(packed),
                (received, _) => return Ok(received),
            }
        }
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
