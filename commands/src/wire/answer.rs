//! Answers of both bindings, read into facts with the exact text of the A2A object beside them.
//!
//! A status of 400 and above is an error before the body's type is even looked at (C027). A JSON-RPC
//! envelope is checked whole, since an answer to somebody else's question is no answer (C035). What
//! cannot be used is a [`Fault`]; what is merely wrong is a violation.

use serde_json::Value;

use super::card::{Card, read_card};
use super::error::{PeerError, read_error};
use super::facts::{self, MessageFacts, TaskFacts};
use super::headers::{Headers, Media};
use super::json::{Document, JsonError, Limits};
use super::normal::normalise;
use super::packed::unpack;
use super::push::{self, PushCall, PushReply};
use super::request::Operation;
use super::text::is_html;
use super::version::Binding;
use super::violation::Violations;

/// A whole HTTP answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The header fields.
    pub headers: Headers,
    /// The bytes of the body, exactly.
    pub body: Vec<u8>,
}

/// A usable answer.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What it says.
    pub reply: Reply,
    /// The exact text of the A2A object: the Task, the Message, or the list response.
    pub raw: String,
    /// Where it breaks A2A without being useless.
    pub odd: Violations,
}

/// What an answer says.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A Task.
    Task(TaskFacts),
    /// A Message, and no task.
    Message(MessageFacts),
    /// One page of tasks.
    Tasks {
        /// Facts and exact text of each.
        tasks: Vec<(TaskFacts, String)>,
        /// What to ask for the next page with; `None` on the last.
        next_page_token: Option<String>,
    },
    /// What is said of push notification configurations.
    Push(PushReply),
    /// An agent card.
    Card(Box<Card>),
}

/// An answer that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The peer reports an error.
    #[error("{0}")]
    Peer(Box<PeerError>),
    /// The peer breaks A2A: exit 76. The words are missive's own.
    #[error("the agent's answer is unusable: {why}")]
    Broken {
        /// What is wrong.
        why: &'static str,
        /// Why it is no JSON, if that is the trouble.
        #[source]
        json: Option<JsonError>,
    },
}

fn broken(why: &'static str) -> Fault {
    Fault::Broken { why, json: None }
}

/// Reads the answer to `operation`; `request_id` is the JSON-RPC id that was sent.
///
/// # Errors
/// See [`Fault`].
pub fn read(
    binding: Binding,
    operation: &Operation,
    request_id: &str,
    answer: &Answer,
    limits: &Limits,
) -> Result<Reading, Fault> {
    let reported = || {
        Fault::Peer(Box::new(read_error(
            answer.status,
            &answer.headers,
            &answer.body,
            limits,
        )))
    };
    if !(200..300).contains(&answer.status) {
        return Err(reported());
    }
    if let Operation::Push(PushCall::Delete { .. }) = operation
        && binding == Binding::HttpJson
        && answer.body.is_empty()
    {
        return Ok(deleted(Violations::default()));
    }
    let mut odd = Violations::default();
    let unpacked = unpack(&answer.body);
    let is_packed = unpacked.is_some() || answer.headers.coding().is_some();
    if is_packed {
        let body = unpacked.map_or_else(|| answer.body.clone(), |unpacked| unpacked.bytes);
        return Err(if holds_error(&body, limits) {
            reported()
        } else {
            broken("its body is compressed, which was not asked for")
        });
    }
    let document = read_body(answer, limits, &mut odd)?;
    // Only the top levels are normalised for finding the way; the object itself is, below.
    let value = document.value();
    let path: &[&str] = match binding {
        Binding::HttpJson if value.get("error").is_some_and(Value::is_object) => {
            return Err(reported());
        }
        Binding::HttpJson => &[],
        Binding::JsonRpc | Binding::Grpc => {
            if check_envelope(value, request_id).map_err(broken)? == Envelope::Error {
                return Err(reported());
            }
            &["result"]
        }
    };
    let reading = Body {
        document: &document,
        path,
        odd,
    };
    match operation {
        Operation::SendMessage(sent) | Operation::SendStreamingMessage(sent) => {
            let mut reading = reading.message_or_task()?;
            compare(
                &mut reading,
                sent.task_id.as_deref(),
                sent.context_id.as_deref(),
            );
            Ok(reading)
        }
        Operation::GetTask { task_id, .. }
        | Operation::CancelTask { task_id }
        | Operation::SubscribeToTask { task_id, .. } => {
            let mut reading = reading.task()?;
            compare(&mut reading, Some(task_id), None);
            Ok(reading)
        }
        Operation::ListTasks(_) => reading.tasks(),
        Operation::Push(call) => reading.push(call),
        Operation::GetExtendedCard => reading.card(limits),
    }
}

/// Whether a body is an error of either binding, whatever else is wrong with it.
fn holds_error(body: &[u8], limits: &Limits) -> bool {
    let document = Document::read(body, limits).ok();
    document.is_some_and(|document| document.value().get("error").is_some_and(Value::is_object))
}

fn read_body(answer: &Answer, limits: &Limits, odd: &mut Violations) -> Result<Document, Fault> {
    if is_html(&answer.body) {
        return Err(broken("it is a web page"));
    }
    let media = answer.headers.media();
    if media == Media::EventStream {
        return Err(broken(
            "it is an event stream where one answer was asked for",
        ));
    }
    let document = Document::read(&answer.body, limits).map_err(|error| Fault::Broken {
        why: "it is no usable JSON",
        json: Some(error),
    })?;
    if media != Media::Json {
        odd.note("content_type", "the content type does not say JSON");
    }
    odd.note_flags(document.flags());
    Ok(document)
}

/// Which of the two an envelope holds.
#[derive(PartialEq, Eq)]
pub(super) enum Envelope {
    Result,
    Error,
}

/// The JSON-RPC 2.0 envelope: version, id with its type, exactly one of result and error.
pub(super) fn check_envelope(value: &Value, request_id: &str) -> Result<Envelope, &'static str> {
    if !value.is_object() {
        return Err("it is no JSON-RPC object");
    }
    if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err("it does not say jsonrpc 2.0");
    }
    // `"error": null` beside a result comes from writers that drop nothing; a null result is one.
    let error = value.get("error").filter(|error| !error.is_null());
    let result = value.get("result");
    let outcome = match (result, error) {
        (Some(_), None) => Envelope::Result,
        (None | Some(Value::Null), Some(_)) => Envelope::Error,
        (Some(_), Some(_)) => return Err("it holds a result and an error"),
        (None, None) => return Err("it holds neither a result nor an error"),
    };
    let id = value.get("id");
    // A peer that could not read the request cannot know its id.
    let unread = error
        .and_then(|error| error.get("code"))
        .and_then(Value::as_i64)
        .is_some_and(|code| matches!(code, -32700 | -32600));
    let nameless = unread && id.is_none_or(Value::is_null);
    if id.and_then(Value::as_str) == Some(request_id) || nameless {
        return Ok(outcome);
    }
    Err("its JSON-RPC id is not the one that was sent")
}

struct Body<'a> {
    document: &'a Document,
    path: &'a [&'a str],
    odd: Violations,
}

impl Body<'_> {
    fn value(&self) -> Value {
        let mut value = self.document.value();
        for step in self.path {
            value = value.get(step).unwrap_or(&Value::Null);
        }
        normalise(value)
    }

    fn raw(&self, member: Option<&str>) -> String {
        let path: Vec<&str> = self.path.iter().copied().chain(member).collect();
        self.document.raw(&path).unwrap_or_default().to_owned()
    }

    fn message_or_task(mut self) -> Result<Reading, Fault> {
        let value = self.value();
        let member = |name: &str| value.get(name).filter(|member| member.is_object());
        match (member("task"), member("message")) {
            (Some(task), None) => {
                let facts = facts::task(task, &mut self.odd);
                let facts = with_id(facts)?;
                Ok(Reading {
                    raw: self.raw(Some("task")),
                    reply: Reply::Task(facts),
                    odd: self.odd,
                })
            }
            (None, Some(message)) => {
                let facts = facts::message(message, &mut self.odd);
                let raw = self.raw(Some("message"));
                Ok(Reading {
                    raw,
                    reply: Reply::Message(facts),
                    odd: self.odd,
                })
            }
            (Some(_), Some(_)) => Err(broken("it holds a task and a message")),
            (None, None) if value.get("kind").is_some() => {
                Err(broken("it has the shape of A2A 0.3, not of 1.0"))
            }
            (None, None) => Err(broken("it holds neither a task nor a message")),
        }
    }

    fn task(mut self) -> Result<Reading, Fault> {
        let value = self.value();
        if !value.is_object() {
            return Err(broken("it holds no task"));
        }
        let facts = with_id(facts::task(&value, &mut self.odd))?;
        Ok(Reading {
            raw: self.raw(None),
            reply: Reply::Task(facts),
            odd: self.odd,
        })
    }

    fn card(self, limits: &Limits) -> Result<Reading, Fault> {
        let raw = self.raw(None);
        let card = read_card(raw.as_bytes(), Media::Json, "the agent", limits)
            .map_err(|_| broken("it holds no agent card of A2A 1.0"))?;
        Ok(Reading {
            raw,
            reply: Reply::Card(Box::new(card)),
            odd: self.odd,
        })
    }

    fn tasks(mut self) -> Result<Reading, Fault> {
        let value = self.value();
        if !value.is_object() {
            return Err(broken("it holds no list of tasks"));
        }
        let path: Vec<&str> = self.path.iter().copied().chain(["tasks"]).collect();
        let texts = self.document.raw_elements(&path);
        let mut tasks = Vec::new();
        let values: Vec<&Value> = facts::list(&value, "tasks", &mut self.odd).collect();
        for (task, text) in values.into_iter().zip(texts) {
            tasks.push((facts::task(task, &mut self.odd), text.to_owned()));
        }
        let next_page_token =
            facts::string(&value, "nextPageToken", &mut self.odd).filter(|token| !token.is_empty());
        let reply = Reply::Tasks {
            tasks,
            next_page_token,
        };
        Ok(Reading {
            raw: self.raw(None),
            reply,
            odd: self.odd,
        })
    }

    fn push(mut self, call: &PushCall) -> Result<Reading, Fault> {
        let value = self.value();
        if let PushCall::Delete { .. } = call {
            return Ok(deleted(self.odd));
        }
        if !value.is_object() {
            return Err(broken("it holds no push configuration"));
        }
        let reply = match call {
            PushCall::Delete { .. } => PushReply::Deleted,
            PushCall::Create(_) | PushCall::Get { .. } => {
                let config = push::config(&value, &mut self.odd);
                if config.config_id.is_none() && config.url.is_none() {
                    return Err(broken("it holds no push configuration"));
                }
                PushReply::Config(config)
            }
            PushCall::List { .. } => {
                let path: Vec<&str> = self.path.iter().copied().chain(["configs"]).collect();
                let texts = self.document.raw_elements(&path);
                push::configs(&value, &texts, &mut self.odd)
            }
        };
        let mut reading = Reading {
            raw: self.raw(None),
            reply: Reply::Push(reply),
            odd: self.odd,
        };
        compare(&mut reading, Some(call.task_id()), None);
        Ok(reading)
    }
}

/// A configuration is gone, whatever the answer says beside its success.
fn deleted(odd: Violations) -> Reading {
    Reading {
        reply: Reply::Push(PushReply::Deleted),
        raw: String::new(),
        odd,
    }
}

/// A task without an id can be neither followed nor found again.
fn with_id(facts: TaskFacts) -> Result<TaskFacts, Fault> {
    if facts.task_id.is_none() {
        return Err(broken("its task has no usable id"));
    }
    Ok(facts)
}

/// Flags an answer about another task or context than the one that was asked about.
fn compare(reading: &mut Reading, task_id: Option<&str>, context_id: Option<&str>) {
    let (answered_task, answered_context) = match &reading.reply {
        Reply::Task(facts) => (facts.task_id.as_deref(), facts.context_id.as_deref()),
        Reply::Message(facts) => (facts.task_id.as_deref(), facts.context_id.as_deref()),
        Reply::Push(PushReply::Config(facts)) => (facts.task_id.as_deref(), None),
        Reply::Tasks { .. } | Reply::Push(_) | Reply::Card(_) => (None, None),
    };
    let differs = |sent: Option<&str>, answered: Option<&str>| matches!((sent, answered), (Some(sent), Some(answered)) if sent != answered);
    if differs(task_id, answered_task) {
        reading.odd.note(
            "task_mismatch",
            "the answer is about another task than the request",
        );
    }
    if differs(context_id, answered_context) {
        reading.odd.note(
            "context_mismatch",
            "the answer is in another context than the request",
        );
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
