//! One `StreamResponse`, read into facts: what streams and push notifications are made of (A2A 1.0,
//! sections 3.2.3 and 4.3.3).
//!
//! Reading is as lenient as that of tasks: what is odd is a violation. Refused is what cannot be
//! understood at all: none of the four members, or several of them; an artifact or a state that says
//! neither which nor what it is. Which task is meant may be left out by a peer whose stream is about one
//! task only, so its absence is the caller's to judge.

use serde_json::Value;

use super::facts::{self, ArtifactFacts, MessageFacts, TaskFacts};
use super::json::Document;
use super::normal::normalise;
use super::state::TaskState;
use super::violation::Violations;

/// One update.
#[derive(Clone, Debug)]
pub struct Update {
    /// What it says.
    pub kind: UpdateKind,
    /// The exact text of the Task, the Message or the update itself, without what is around it.
    pub raw: String,
    /// Where it breaks A2A without being useless.
    pub odd: Violations,
}

/// Which of the four members an update has.
#[derive(Clone, Debug)]
pub enum UpdateKind {
    /// `task`: a snapshot, which replaces what was known.
    Task(TaskFacts),
    /// `message`
    Message(MessageFacts),
    /// `statusUpdate`
    Status(StatusFacts),
    /// `artifactUpdate`
    Artifact(ChunkFacts),
}

/// What a status update says (A2A 1.0, section 4.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusFacts {
    /// Required by A2A; absent from broken peers.
    pub task_id: Option<String>,
    /// Required by A2A; absent from broken peers.
    pub context_id: Option<String>,
    /// The state.
    pub state: TaskState,
    /// The time of the status, verbatim.
    pub updated: Option<String>,
    /// The id of the message that came with it.
    pub message_id: Option<String>,
    /// The text parts of that message, one per line. Free text: payload, never a fact.
    pub text: Option<String>,
}

/// What an artifact update brings (A2A 1.0, section 4.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkFacts {
    /// Required by A2A; absent from broken peers.
    pub task_id: Option<String>,
    /// Required by A2A; absent from broken peers.
    pub context_id: Option<String>,
    /// The artifact, or the piece of it; its id is there.
    pub artifact: ArtifactFacts,
    /// Whether it goes behind what came before; else it replaces that.
    pub append: bool,
    /// Whether the artifact is complete with it.
    pub last: bool,
}

/// Why something is no update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoUpdate {
    /// None of the four, or several at once.
    #[error("{0}")]
    Shape(&'static str),
    /// It lacks what it cannot be understood without.
    #[error("{0}")]
    Lacks(&'static str),
}

/// The members of a `StreamResponse`.
const MEMBERS: [&str; 4] = ["task", "message", "statusUpdate", "artifactUpdate"];

impl Update {
    /// Reads the update at `path` of a document.
    ///
    /// # Errors
    /// See [`NoUpdate`].
    pub fn read(document: &Document, path: &[&str]) -> Result<Self, NoUpdate> {
        let mut value = document.value();
        for step in path {
            value = value.get(step).unwrap_or(&Value::Null);
        }
        let mut odd = Violations::default();
        odd.note_flags(document.flags());
        let mut present = MEMBERS
            .into_iter()
            .filter_map(|name| Some((name, value_of(value, name)?)));
        let Some((name, (spelled, member))) = present.next() else {
            return Err(NoUpdate::Shape(if value.get("kind").is_some() {
                "it has the shape of A2A 0.3, not of 1.0"
            } else {
                "it is none of task, message, statusUpdate and artifactUpdate"
            }));
        };
        if present.next().is_some() {
            return Err(NoUpdate::Shape("it is several kinds of update at once"));
        }
        let member = normalise(member);
        let kind = match name {
            "task" => UpdateKind::Task(facts::task(&member, &mut odd)),
            "message" => UpdateKind::Message(facts::message(&member, &mut odd)),
            "statusUpdate" => UpdateKind::Status(status(&member, &mut odd)?),
            _ => UpdateKind::Artifact(chunk(&member, &mut odd)?),
        };
        let path: Vec<&str> = path.iter().copied().chain([spelled]).collect();
        let raw = document.raw(&path).unwrap_or_default().to_owned();
        Ok(Self { kind, raw, odd })
    }

    /// The task that it is about, as far as it says so.
    pub fn task_id(&self) -> Option<&str> {
        match &self.kind {
            UpdateKind::Task(facts) => facts.task_id.as_deref(),
            UpdateKind::Message(facts) => facts.task_id.as_deref(),
            UpdateKind::Status(facts) => facts.task_id.as_deref(),
            UpdateKind::Artifact(facts) => facts.task_id.as_deref(),
        }
    }

    /// The context that it is in, as far as it says so.
    pub fn context_id(&self) -> Option<&str> {
        match &self.kind {
            UpdateKind::Task(facts) => facts.context_id.as_deref(),
            UpdateKind::Message(facts) => facts.context_id.as_deref(),
            UpdateKind::Status(facts) => facts.context_id.as_deref(),
            UpdateKind::Artifact(facts) => facts.context_id.as_deref(),
        }
    }

    /// The state of the task after it, if it says so.
    pub fn state(&self) -> Option<&TaskState> {
        match &self.kind {
            UpdateKind::Task(facts) => facts.state.as_ref(),
            UpdateKind::Status(facts) => Some(&facts.state),
            UpdateKind::Message(_) | UpdateKind::Artifact(_) => None,
        }
    }
}

/// A member that is an object, under the spelling that the peer uses; null is absent.
fn value_of<'a>(holder: &'a Value, name: &'static str) -> Option<(&'static str, &'a Value)> {
    let other = match name {
        "statusUpdate" => "status_update",
        "artifactUpdate" => "artifact_update",
        same => same,
    };
    [name, other].into_iter().find_map(|spelled| {
        let member = holder.get(spelled).filter(|member| member.is_object())?;
        Some((spelled, member))
    })
}

fn status(value: &Value, odd: &mut Violations) -> Result<StatusFacts, NoUpdate> {
    let status = value.get("status").unwrap_or(&Value::Null);
    let Some(state) = facts::state(status, odd) else {
        return Err(NoUpdate::Lacks("the status update has no state"));
    };
    let message = status.get("message").filter(|message| message.is_object());
    let text = message.map(|message| facts::parts(message, odd).1);
    Ok(StatusFacts {
        task_id: identifier(value, "taskId", odd),
        context_id: identifier(value, "contextId", odd),
        state,
        updated: facts::string(status, "timestamp", odd).filter(|time| time.len() <= 64),
        message_id: message.and_then(|message| facts::identifier(message, "messageId", odd)),
        text: text.filter(|text| !text.is_empty()),
    })
}

fn chunk(value: &Value, odd: &mut Violations) -> Result<ChunkFacts, NoUpdate> {
    let Some(artifact) = value
        .get("artifact")
        .filter(|artifact| artifact.is_object())
    else {
        return Err(NoUpdate::Lacks("the artifact update has no artifact"));
    };
    let artifact = facts::artifact(artifact, odd);
    if artifact.artifact_id.is_none() {
        return Err(NoUpdate::Lacks("the artifact has no usable artifactId"));
    }
    Ok(ChunkFacts {
        task_id: identifier(value, "taskId", odd),
        context_id: identifier(value, "contextId", odd),
        artifact,
        append: flag(value, "append", odd),
        last: flag(value, "lastChunk", odd),
    })
}

/// An id that A2A requires in updates.
fn identifier(value: &Value, name: &str, odd: &mut Violations) -> Option<String> {
    let id = facts::identifier(value, name, odd);
    if id.is_none() {
        odd.note("missing_field", format!("the update has no {name}"));
    }
    id
}

fn flag(value: &Value, name: &str, odd: &mut Violations) -> bool {
    match value.get(name) {
        None | Some(Value::Null) => false,
        Some(Value::Bool(flag)) => *flag,
        Some(Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
            odd.note("wrong_type", format!("`{name}` is neither true nor false"));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::Limits;
    use super::*;

    fn read(text: &str) -> Result<Update, NoUpdate> {
        let document = Document::read(text.as_bytes(), &Limits::default()).unwrap();
        Update::read(&document, &[])
    }

    fn codes(update: &Update) -> Vec<&'static str> {
        let odd = update.odd.as_slice().iter();
        odd.map(|violation| violation.code).collect()
    }

    #[test]
    fn each_of_the_four_is_read_with_its_exact_text() {
        let shown = |text: &str| {
            let update = read(text).unwrap();
            let (task, context) = (update.task_id(), update.context_id());
            assert_eq!(codes(&update), Vec::<&str>::new());
            format!("{task:?} {context:?} {:?} {}", update.state(), update.raw)
        };

        let all = [
            r#"{"task": {"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#,
            r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#,
            r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","message":null}}}"#,
            r#"{"artifact_update":{ "task_id":"t","context_id":"c","artifact":{"artifact_id":"a","parts":[{"text":"He"},{"text":"llo"}]},"last_chunk":true}, "task":null}"#,
        ]
        .map(shown);

        insta::assert_snapshot!(all.join("\n"), @r#"
        Some("t") Some("c") Some(Working) {"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}
        None None None {"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}
        Some("t") Some("c") Some(Completed) {"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","message":null}}
        Some("t") Some("c") None { "task_id":"t","context_id":"c","artifact":{"artifact_id":"a","parts":[{"text":"He"},{"text":"llo"}]},"last_chunk":true}
        "#);
    }

    #[test]
    fn the_pieces_of_an_artifact_are_joined_without_anything_between_them() {
        let update = read(
            r#"{"artifactUpdate":{"taskId":"t","contextId":"c","append":true,
            "artifact":{"artifactId":"a","parts":[{"text":"He"},{"data":1},{"text":"llo"}]}}}"#,
        );

        let UpdateKind::Artifact(chunk) = update.unwrap().kind else {
            panic!("an artifact update")
        };
        assert_eq!(
            (chunk.artifact.text.as_str(), chunk.append),
            ("Hello", true)
        );
        assert_eq!(chunk.artifact.parts.len(), 3);
    }

    #[test]
    fn what_is_no_update_says_why_and_what_is_odd_is_flagged() {
        let why = |text: &str| read(text).unwrap_err().to_string();
        let task = r#"{"id":"t","status":{"state":"TASK_STATE_WORKING"}}"#;

        insta::assert_snapshot!([
            why("[]"),
            why(task),
            why(r#"{"kind":"status-update"}"#),
            why(&format!(r#"{{"task":{task},"message":{{}}}}"#)),
            why(r#"{"statusUpdate":{"taskId":"t","status":{}}}"#),
            why(r#"{"artifactUpdate":{"taskId":"t","artifact":[]}}"#),
            why(r#"{"artifactUpdate":{"taskId":"t","artifact":{"parts":[]}}}"#),
        ].join("\n"), @r"
        it is none of task, message, statusUpdate and artifactUpdate
        it is none of task, message, statusUpdate and artifactUpdate
        it has the shape of A2A 0.3, not of 1.0
        it is several kinds of update at once
        the status update has no state
        the artifact update has no artifact
        the artifact has no usable artifactId
        ");
        let odd =
            read(r#"{"statusUpdate":{"status":{"state":"completed"},"taskId":"t","taskId":"u"}}"#);
        assert_eq!(
            codes(&odd.unwrap()),
            ["duplicate_key", "unknown_state", "missing_field"]
        );
    }
}
