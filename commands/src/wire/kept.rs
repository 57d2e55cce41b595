//! What a stored body says: requests, answers, updates and deliveries as the log keeps them.
//!
//! Unlike [`super::answer`], which judges what just came, this reads what was judged then: both bindings,
//! every envelope, and as much as can still be read. What cannot be read is `None`.

use serde_json::Value;

use super::facts::{self, MessageFacts, TaskFacts};
use super::json::{Document, Limits};
use super::normal::normalise;
use super::update::{Update, UpdateKind};
use super::violation::Violations;

/// What a stored answer, or an update, says.
#[derive(Clone, Debug)]
pub enum Kept {
    /// A whole task.
    Task(TaskFacts),
    /// A message of the agent.
    Message(MessageFacts),
    /// Another update.
    Update(UpdateKind),
}

/// Where a task or a message may stand in a body: the envelope of JSON-RPC first.
const PLACES: [&[&str]; 4] = [&["result", "task"], &["task"], &["result"], &[]];

/// Reads a stored answer, task, frame or delivery.
pub fn answer(bytes: &[u8]) -> Option<Kept> {
    let document = Document::read(bytes, &Limits::default()).ok()?;
    for path in [&["result"][..], &[]] {
        if let Ok(update) = Update::read(&document, path) {
            return Some(match update.kind {
                UpdateKind::Task(task) => Kept::Task(task),
                UpdateKind::Message(message) => Kept::Message(message),
                other @ (UpdateKind::Status(_) | UpdateKind::Artifact(_)) => Kept::Update(other),
            });
        }
    }
    let mut odd = Violations::default();
    for place in PLACES {
        let Some(value) = at(document.value(), place).map(normalise) else {
            continue;
        };
        if value.get("status").is_some() {
            return Some(Kept::Task(facts::task(&value, &mut odd)));
        }
        if value.get("messageId").is_some() {
            return Some(Kept::Message(facts::message(&value, &mut odd)));
        }
    }
    None
}

/// Reads a stored request: the message that was sent.
pub fn sent(bytes: &[u8]) -> Option<MessageFacts> {
    let document = Document::read(bytes, &Limits::default()).ok()?;
    let found = at(document.value(), &["params", "message"]);
    let message = normalise(found.or_else(|| at(document.value(), &["message"]))?);
    // Its role is the user's, which would be a violation of an agent.
    Some(facts::message(&message, &mut Violations::default()))
}

fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_body_is_read_whatever_is_around_it() {
        let task = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}"#;
        let bodies = [
            task.to_owned(),
            format!(r#"{{"task":{task}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":"1","result":{{"task":{task}}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":"1","result":{task}}}"#),
        ];

        for body in bodies {
            let Some(Kept::Task(facts)) = answer(body.as_bytes()) else {
                panic!("{body}");
            };
            assert_eq!(facts.task_id.as_deref(), Some("t"), "{body}");
        }
    }

    #[test]
    fn updates_and_messages_are_told_apart() {
        let message = br#"{"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}}"#;
        let update = br#"{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}"#;
        let request = br#"{"params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo"}]}}}"#;

        assert!(matches!(answer(message), Some(Kept::Message(m)) if m.text == "hi"));
        assert!(matches!(
            answer(update),
            Some(Kept::Update(UpdateKind::Artifact(_)))
        ));
        assert_eq!(sent(request).unwrap().text, "echo");
        assert!(answer(b"[]").is_none() && answer(b"{").is_none() && sent(b"{}").is_none());
    }
}
