//! What one frame of an event stream means to A2A (A2A 1.0, sections 9.4.2 and 11.7).
//!
//! Promises: a frame without data, or of an event that is none of A2A's, means nothing; an error is an
//! error wherever it stands; what should be an update and is none is told apart by what is wrong with it,
//! and never skipped. Refuses: to decide how the stream goes on.

use super::answer::{Answer, Envelope, Fault, Reading, check_envelope, read};
use super::error::{PeerError, read_error};
use super::headers::Headers;
use super::json::{Document, JsonError, Limits};
use super::message::SendMessage;
use super::request::Operation;
use super::sse::Frame;
use super::update::{NoUpdate, Update};
use super::version::Binding;

/// What a frame means.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// Nothing: a comment, an empty event, or an event of somebody else.
    Nothing,
    /// An update.
    Update(Box<Update>),
    /// Something that should be an update and is none.
    Malformed(Malformed),
    /// The peer reports an error, which ends the stream.
    Error(Box<PeerError>),
}

/// What is wrong with something that should be an update.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Bytes that are no text.
    #[error("not UTF-8 at byte {offset} of the event stream")]
    NotUtf8 {
        /// The first wrong byte, counted from 0 at the start of the stream.
        offset: u64,
    },
    /// No JSON that can be used.
    #[error("{0}")]
    NotJson(JsonError),
    /// No envelope of this binding, or one for another request.
    #[error("{0}")]
    Envelope(&'static str),
    /// No update.
    #[error(transparent)]
    NoUpdate(#[from] NoUpdate),
}

/// Reads a frame of the answer to a request with this JSON-RPC id.
pub fn read_frame(binding: Binding, request_id: &str, frame: &Frame, limits: &Limits) -> Meaning {
    let data = match frame.data() {
        Ok(Some(data)) => data,
        Ok(None) => return Meaning::Nothing,
        Err(error) => {
            let offset = error.offset;
            return Meaning::Malformed(Malformed::NotUtf8 { offset });
        }
    };
    let name = frame.event();
    match name.as_deref() {
        None | Some("message") if data.trim().is_empty() => Meaning::Nothing,
        None | Some("message") => read_data(binding, request_id, &data, limits),
        Some("error") => {
            let error = read_error(200, &Headers::default(), data.as_bytes(), limits);
            Meaning::Error(Box::new(error))
        }
        // A2A names no events. Should a peer name them all the same, its updates are not lost.
        Some(_) => match read_data(binding, request_id, &data, limits) {
            Meaning::Malformed(_) => Meaning::Nothing,
            meant @ (Meaning::Nothing | Meaning::Update(_) | Meaning::Error(_)) => meant,
        },
    }
}

fn read_data(binding: Binding, request_id: &str, data: &str, limits: &Limits) -> Meaning {
    let document = match Document::read(data.as_bytes(), limits) {
        Ok(document) => document,
        Err(error) => return Meaning::Malformed(Malformed::NotJson(error)),
    };
    let value = document.value();
    let enveloped = value.get("jsonrpc").is_some();
    let error = || {
        let error = read_error(200, &Headers::default(), data.as_bytes(), limits);
        Meaning::Error(Box::new(error))
    };
    let mut odd = None;
    let path: &[&str] = match (binding, enveloped) {
        (Binding::JsonRpc, true) => match check_envelope(value, request_id) {
            Ok(Envelope::Result) => &["result"],
            Ok(Envelope::Error) => return error(),
            Err(why) => return Meaning::Malformed(Malformed::Envelope(why)),
        },
        _ if value.get("error").is_some_and(serde_json::Value::is_object) => return error(),
        (Binding::JsonRpc, false) => {
            odd = Some("an update of JSON-RPC has no envelope");
            &[]
        }
        (Binding::HttpJson | Binding::Grpc, true) => {
            odd = Some("an update of HTTP+JSON has a JSON-RPC envelope");
            &["result"]
        }
        (Binding::HttpJson | Binding::Grpc, false) => &[],
    };
    match Update::read(&document, path) {
        Ok(mut update) => {
            if let Some(odd) = odd {
                update.odd.note("envelope", odd);
            }
            Meaning::Update(Box::new(update))
        }
        // What is neither is rather no envelope than no update.
        Err(NoUpdate::Shape(_)) if binding == Binding::JsonRpc && !enveloped => {
            Meaning::Malformed(Malformed::Envelope("it is no JSON-RPC envelope"))
        }
        Err(why) => Meaning::Malformed(why.into()),
    }
}

/// Reads an answer that came whole where a stream was asked for: an error, or all that there is to say.
///
/// # Errors
/// See [`Fault`].
pub fn read_whole(
    binding: Binding,
    operation: &Operation,
    request_id: &str,
    answer: &Answer,
    limits: &Limits,
) -> Result<Reading, Fault> {
    if let Operation::SubscribeToTask { .. } = operation {
        // Where updates are expected a Task is wrapped, and where a Task is expected it is not.
        let as_update = Operation::SendStreamingMessage(SendMessage::default());
        let read_as = |operation| read(binding, operation, request_id, answer, limits);
        return match read_as(&as_update) {
            Err(Fault::Broken { json: None, .. }) => read_as(operation),
            other => other,
        };
    }
    read(binding, operation, request_id, answer, limits)
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
