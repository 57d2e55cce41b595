//! What a Task or a Message says, as far as the log and its views need to know.
//!
//! Reading is lenient: what is absent is `None`, what is odd is a violation, and nothing makes it
//! fail. The exact text of the object stays with the caller as the evidence.

use serde_json::Value;

use super::state::TaskState;
use super::text::excerpt;
use super::violation::Violations;

/// Longest identifier that can be followed, in bytes. A longer one is a violation and left out.
pub const ID_BYTES_MAX: usize = 1_024;

/// What a Task says (A2A 1.0, section 4.1.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFacts {
    /// Required by A2A; absent from broken peers.
    pub task_id: Option<String>,
    /// Not required by the schema.
    pub context_id: Option<String>,
    /// Required by A2A; absent from broken peers.
    pub state: Option<TaskState>,
    /// The time of the status, verbatim.
    pub updated: Option<String>,
    /// The text parts of the status message, one per line. Free text: payload, never a fact.
    pub status_text: Option<String>,
    /// The artifacts in their order.
    pub artifacts: Vec<ArtifactFacts>,
    /// How many messages the history holds.
    pub history_count: usize,
    /// The ids of all messages in the history and the status, in order: what `retry` looks for.
    pub message_ids: Vec<String>,
}

impl TaskFacts {
    /// The text that stands for the task: its artifacts, else its status message.
    pub fn text(&self) -> String {
        let artifacts: Vec<&str> = self
            .artifacts
            .iter()
            .map(|artifact| artifact.text.as_str())
            .filter(|text| !text.is_empty())
            .collect();
        if artifacts.is_empty() {
            return self.status_text.clone().unwrap_or_default();
        }
        artifacts.join("\n")
    }
}

/// What a Message says (A2A 1.0, section 4.1.4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageFacts {
    /// Required by A2A; absent from broken peers.
    pub message_id: Option<String>,
    /// The context, which a peer must name when it made one.
    pub context_id: Option<String>,
    /// The task, if the message belongs to one.
    pub task_id: Option<String>,
    /// The parts in their order.
    pub parts: Vec<PartFacts>,
    /// The text parts, one per line. Free text: payload, never a fact.
    pub text: String,
}

/// What an Artifact says (A2A 1.0, section 4.1.7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactFacts {
    /// Required by A2A; absent from broken peers.
    pub artifact_id: Option<String>,
    /// A name given by the peer. Free text: payload, never a fact.
    pub name: Option<String>,
    /// The parts in their order.
    pub parts: Vec<PartFacts>,
    /// The text parts, with nothing between them.
    pub text: String,
}

/// What one part is (A2A 1.0, section 4.1.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFacts {
    /// Which of the four members it has.
    pub kind: PartKind,
    /// A file name given by the peer: untrusted.
    pub filename: Option<String>,
    /// The media type, verbatim.
    pub media_type: Option<String>,
    /// Bytes of the text, of the decoded raw bytes, of the URL or of the JSON.
    pub bytes: usize,
}

/// Which member of the union a part has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    /// `text`
    Text,
    /// `raw`, base64
    Raw,
    /// `url`
    Url,
    /// `data`, any JSON
    Data,
    /// None of them.
    Unknown,
}

impl PartKind {
    /// The name in outputs and facts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Raw => "raw",
            Self::Url => "url",
            Self::Data => "data",
            Self::Unknown => "unknown",
        }
    }
}

/// Reads a Task from a normalised value.
pub fn task(value: &Value, odd: &mut Violations) -> TaskFacts {
    let status = value.get("status").unwrap_or(&Value::Null);
    let mut facts = TaskFacts {
        task_id: identifier(value, "id", odd),
        context_id: identifier(value, "contextId", odd),
        state: state(status, odd),
        updated: string(status, "timestamp", odd).filter(|time| time.len() <= 64),
        ..TaskFacts::default()
    };
    for (absent, name) in [
        (facts.task_id.is_none(), "id"),
        (facts.state.is_none(), "status.state"),
    ] {
        if absent {
            odd.note("missing_field", format!("the task has no {name}"));
        }
    }
    facts.artifacts = list(value, "artifacts", odd)
        .map(|item| artifact(item, odd))
        .collect();
    let history: Vec<&Value> = list(value, "history", odd).collect();
    facts.history_count = history.len();
    let status_message = status.get("message").filter(|message| message.is_object());
    facts.message_ids = history
        .into_iter()
        .chain(status_message)
        .filter_map(|message| identifier(message, "messageId", odd))
        .collect();
    facts.status_text = status_message
        .map(|message| parts(message, odd).1)
        .filter(|text| !text.is_empty());
    facts
}

/// Reads a Message from a normalised value.
pub fn message(value: &Value, odd: &mut Violations) -> MessageFacts {
    let role = string(value, "role", odd).unwrap_or_default();
    if role != "ROLE_AGENT" {
        odd.note(
            "wrong_role",
            format!("a message of the agent has the role `{}`", excerpt(&role)),
        );
    }
    let message_id = identifier(value, "messageId", odd);
    if message_id.is_none() {
        odd.note("missing_field", "the message has no messageId");
    }
    let (parts, text) = parts(value, odd);
    if parts.is_empty() {
        odd.note("missing_field", "the message has no parts");
    }
    MessageFacts {
        message_id,
        context_id: identifier(value, "contextId", odd),
        task_id: identifier(value, "taskId", odd),
        parts,
        text,
    }
}

/// Reads an Artifact, or a piece of one, from a normalised value.
pub(super) fn artifact(value: &Value, odd: &mut Violations) -> ArtifactFacts {
    let artifact_id = identifier(value, "artifactId", odd);
    if artifact_id.is_none() {
        odd.note("missing_field", "an artifact has no artifactId");
    }
    let (parts, lines) = read_parts(value, odd);
    // A stream cuts a text anywhere, and every piece becomes a part (C067).
    let text = lines.concat();
    ArtifactFacts {
        artifact_id,
        name: string(value, "name", odd),
        parts,
        text,
    }
}

/// The parts of a message, and their texts, one per line.
pub(super) fn parts(holder: &Value, odd: &mut Violations) -> (Vec<PartFacts>, String) {
    let (facts, texts) = read_parts(holder, odd);
    (facts, texts.join("\n"))
}

fn read_parts<'a>(holder: &'a Value, odd: &mut Violations) -> (Vec<PartFacts>, Vec<&'a str>) {
    let mut facts = Vec::new();
    let mut lines = Vec::new();
    for value in list(holder, "parts", odd) {
        let part = part(value, odd);
        if part.kind == PartKind::Text {
            lines.extend(value.get("text").and_then(Value::as_str));
        }
        facts.push(part);
    }
    (facts, lines)
}

fn part(value: &Value, odd: &mut Violations) -> PartFacts {
    let kinds = [
        ("text", PartKind::Text),
        ("raw", PartKind::Raw),
        ("url", PartKind::Url),
        ("data", PartKind::Data),
    ];
    let present: Vec<_> = kinds
        .into_iter()
        .filter(|(name, _)| value.get(name).is_some())
        .collect();
    if present.len() != 1 {
        let names: Vec<&str> = present.iter().map(|(name, _)| *name).collect();
        odd.note(
            "ambiguous_part",
            format!(
                "a part has the members [{}], not exactly one",
                names.join(", ")
            ),
        );
    }
    let (name, kind) = present.first().copied().unwrap_or(("", PartKind::Unknown));
    let member = value.get(name);
    let length = member.and_then(Value::as_str).map_or(0, str::len);
    let bytes = match kind {
        PartKind::Text | PartKind::Url => length,
        PartKind::Raw => {
            let padding = member.and_then(Value::as_str).unwrap_or_default();
            let padding = padding
                .bytes()
                .rev()
                .take_while(|byte| *byte == b'=')
                .count();
            (length / 4 * 3).saturating_sub(padding)
        }
        PartKind::Data => member.map_or(0, |data| data.to_string().len()),
        PartKind::Unknown => 0,
    };
    PartFacts {
        kind,
        filename: string(value, "filename", odd).filter(|name| !name.is_empty()),
        media_type: string(value, "mediaType", odd).filter(|name| !name.is_empty()),
        bytes,
    }
}

/// The state in a status, exactly as it is spelled.
pub(super) fn state(status: &Value, odd: &mut Violations) -> Option<TaskState> {
    let value = status.get("state")?;
    // A number is how protobuf tools write enums; it is not a name of A2A either.
    let verbatim = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    let state = TaskState::parse(&verbatim);
    if matches!(state, TaskState::Unknown(_)) {
        odd.note(
            "unknown_state",
            format!("`{}` is no task state of A2A 1.0", excerpt(&verbatim)),
        );
        if verbatim.len() > ID_BYTES_MAX {
            return Some(TaskState::Unknown(excerpt(&verbatim)));
        }
    }
    Some(state)
}

/// A string member; anything else but absence is a violation.
pub(super) fn string(value: &Value, name: &str, odd: &mut Violations) -> Option<String> {
    match value.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            odd.note("wrong_type", format!("`{name}` is no string"));
            None
        }
    }
}

/// A string member that names something; empty is absent (proto default).
pub(super) fn identifier(value: &Value, name: &str, odd: &mut Violations) -> Option<String> {
    let text = string(value, name, odd).filter(|text| !text.is_empty())?;
    if text.len() > ID_BYTES_MAX {
        odd.note("oversized_id", format!("`{name}` has {} bytes", text.len()));
        return None;
    }
    Some(text)
}

/// The elements of a list member; anything else but absence is a violation.
pub(super) fn list<'a>(
    value: &'a Value,
    name: &str,
    odd: &mut Violations,
) -> std::slice::Iter<'a, Value> {
    match value.get(name) {
        Some(Value::Array(list)) => list.iter(),
        None | Some(Value::Null) => [].iter(),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            odd.note("wrong_type", format!("`{name}` is no list"));
            [].iter()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn codes(odd: &Violations) -> Vec<&'static str> {
        odd.as_slice()
            .iter()
            .map(|violation| violation.code)
            .collect()
    }

    #[test]
    fn a_task_shows_its_artifacts_before_its_status_message() {
        let mut odd = Violations::default();
        let value = json!({
            "id": "t", "contextId": "c",
            "status": { "state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-01T00:00:00Z",
                "message": { "messageId": "m2", "parts": [{ "text": "done" }] } },
            "history": [{ "messageId": "m1" }],
            "artifacts": [{ "artifactId": "a", "name": "n", "parts": [
                { "text": "one", "filename": "", "mediaType": "" }, { "text": "two" },
                { "raw": "aGk=", "filename": "f" }, { "data": null } ] }],
        });

        let facts = task(&value, &mut odd);

        assert_eq!(facts.text(), "onetwo");
        assert_eq!(facts.status_text.as_deref(), Some("done"));
        assert_eq!(facts.message_ids, ["m1", "m2"]);
        assert_eq!(facts.state, Some(TaskState::Completed));
        let parts: Vec<_> = facts.artifacts[0]
            .parts
            .iter()
            .map(|part| (part.kind, part.bytes))
            .collect();
        assert_eq!(
            parts,
            [
                (PartKind::Text, 3),
                (PartKind::Text, 3),
                (PartKind::Raw, 2),
                (PartKind::Data, 4)
            ]
        );
        assert_eq!(codes(&odd), Vec::<&str>::new());
    }

    #[test]
    fn an_unknown_state_is_kept_flagged_and_ends_nothing() {
        for given in [
            json!("completed"),
            json!("TASK_STATE_CANCELLED"),
            json!("TASK_STATE_PAUSED"),
            json!(3),
        ] {
            let mut odd = Violations::default();

            let facts = task(
                &json!({ "id": "t", "status": { "state": given } }),
                &mut odd,
            );

            let state = facts.state.unwrap();
            assert!(!state.is_terminal() && !state.is_interrupted());
            assert_eq!(codes(&odd), ["unknown_state"]);
        }
    }

    #[test]
    fn nonsense_is_read_as_absent_and_flagged() {
        let mut odd = Violations::default();

        let facts = task(
            &json!({ "id": 7, "contextId": "x".repeat(2_000), "artifacts": {} }),
            &mut odd,
        );
        let message = message(
            &json!({ "parts": [{ "text": "a", "url": "u" }, {}] }),
            &mut odd,
        );

        assert_eq!(
            (facts.task_id, facts.context_id, facts.state),
            (None, None, None)
        );
        assert_eq!(message.parts[1].kind, PartKind::Unknown);
        assert_eq!(
            codes(&odd),
            [
                "wrong_type",
                "oversized_id",
                "missing_field",
                "missing_field",
                "wrong_type",
                "wrong_role",
                "missing_field",
                "ambiguous_part",
                "ambiguous_part"
            ]
        );
    }
}
