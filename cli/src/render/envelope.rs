//! Machine output: one stable envelope around everything.
//!
//! JSON that a peer sent passes through as it came, as `serde_json::value::RawValue`; only NDJSON
//! replaces line breaks between its tokens by spaces, because there a line is a document.

use super::escape;
use crate::failure::Failure;
use serde::Serialize;

/// The version of all machine output.
pub(crate) const SCHEMA_VERSION: &str = "missive.output.v1";

/// What an envelope holds: the command, with underscores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// `agent add`.
    AgentAdd,
    /// `agent list`.
    AgentList,
    /// `agent show`.
    AgentShow,
    /// `agent inspect`.
    AgentInspect,
    /// `agent refresh`.
    AgentRefresh,
    /// `agent capabilities`.
    AgentCapabilities,
    /// `agent pin`.
    AgentPin,
    /// `agent rename`.
    AgentRename,
    /// `agent remove`.
    AgentRemove,
    /// `send`.
    SendResult,
    /// One update of `stream` or `task subscribe`.
    StreamEvent,
    /// `stream`.
    StreamResult,
    /// `retry`.
    Retry,
    /// `task get`.
    TaskGet,
    /// `task list`.
    TaskList,
    /// `task wait`.
    TaskWait,
    /// `task cancel`.
    TaskCancel,
    /// `task artifact list`.
    ArtifactList,
    /// `task artifact show`.
    ArtifactShow,
    /// `task artifact save`.
    ArtifactSave,
    /// `task artifact export`.
    ArtifactExport,
    /// `task subscribe`.
    TaskSubscribe,
    /// `context create`.
    ContextCreate,
    /// `context list`.
    ContextList,
    /// `context show`.
    ContextShow,
    /// `context fork`.
    ContextFork,
    /// `context close`.
    ContextClose,
    /// `context export` into a file.
    ContextExport,
    /// `bcast`.
    BcastResult,
    /// `barrier`.
    BarrierResult,
    /// `gather`.
    GatherResult,
    /// `reduce`.
    ReduceResult,
    /// `reduce show`.
    ReduceShow,
    /// `group create`.
    GroupCreate,
    /// `group list`.
    GroupList,
    /// `group show`.
    GroupShow,
    /// `group add`.
    GroupAdd,
    /// `group remove`.
    GroupRemove,
    /// `group rename`.
    GroupRename,
    /// `group delete`.
    GroupDelete,
    /// `group capabilities`.
    GroupCapabilities,
    /// `route explain`.
    RouteExplain,
    /// `push create`.
    PushCreate,
    /// `push get`.
    PushGet,
    /// `push list`.
    PushList,
    /// `push delete`.
    PushDelete,
    /// `webhook run` listens.
    WebhookStarted,
    /// `webhook run` took a delivery.
    WebhookEvent,
    /// `webhook run` refused deliveries.
    WebhookRejected,
    /// `webhook run` is over.
    WebhookStopped,
    /// `events list`, as one document.
    EventsList,
    /// One event of `events list` or `events tail`.
    EventRecord,
    /// `events show`.
    EventsShow,
    /// `events verify`.
    EventsVerify,
    /// `events stats`.
    EventsStats,
    /// `events replay`.
    EventsReplay,
    /// `events diff`.
    EventsDiff,
    /// `log head`.
    LogHead,
    /// `log re-anchor`.
    #[serde(rename = "log_reanchor")]
    LogReanchor,
    /// `projection list`.
    ProjectionList,
    /// `projection verify`.
    ProjectionVerify,
    /// `projection rebuild`.
    ProjectionRebuild,
    /// `doctor`.
    Doctor,
    /// `logs`.
    Logs,
    /// `demo`.
    Demo,
    /// A failure, on stderr.
    Error,
}

#[derive(Serialize)]
struct Envelope<'a, T: ?Sized> {
    schema_version: &'static str,
    ok: bool,
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    data: &'a T,
}

/// What was found, with the place that the views stood at.
#[derive(Serialize)]
struct Standing<'a, T: ?Sized> {
    position: u64,
    #[serde(flatten)]
    content: &'a T,
}

#[derive(Serialize)]
struct ErrorFields<'a> {
    code: String,
    category: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    sources: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    operation_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    exit_code: u8,
}

/// The same, naming the place of an earlier moment in `data`, if there is one.
pub(crate) fn encode_at<T: Serialize + ?Sized>(
    position: Option<u64>,
    kind: Kind,
    ok: bool,
    sequence: Option<u64>,
    content: &T,
) -> Result<Vec<u8>, serde_json::Error> {
    match position {
        Some(position) => encode(kind, ok, sequence, &Standing { position, content }),
        None => encode(kind, ok, sequence, content),
    }
}

/// One document with a newline at its end. A `sequence` makes it a line of NDJSON.
pub(crate) fn encode<T: Serialize + ?Sized>(
    kind: Kind,
    ok: bool,
    sequence: Option<u64>,
    content: &T,
) -> Result<Vec<u8>, serde_json::Error> {
    let envelope = Envelope {
        schema_version: SCHEMA_VERSION,
        ok,
        kind,
        sequence,
        data: content,
    };
    let mut bytes = serde_json::to_vec(&envelope)?;
    if sequence.is_some() {
        for byte in &mut bytes {
            // Inside a JSON string a line break is always escaped: these stand between tokens.
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    bytes.push(b'\n');
    Ok(bytes)
}

/// A failure as one envelope.
pub(crate) fn encode_failure(
    failure: &Failure,
    sequence: Option<u64>,
) -> Result<Vec<u8>, serde_json::Error> {
    let hints = failure.hints();
    let left = failure.left_task();
    let fields = ErrorFields {
        code: failure.code(),
        category: failure.exit().category(),
        message: failure.message(),
        help: (!hints.is_empty()).then(|| hints.join("\n")),
        sources: failure.sources(),
        operation_id: failure.operation(),
        task_id: left.map(|left| left.task.as_str()),
        context_id: left.and_then(|left| left.context.as_deref()),
        state: left.and_then(|left| left.state),
        exit_code: failure.exit().number(),
    };
    encode(Kind::Error, false, sequence, &fields)
}

/// The same document for a terminal: characters that act or hide, which JSON allows inside strings,
/// are written as `\u` escapes. The value does not change.
pub(crate) fn for_terminal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    let mut out = String::with_capacity(bytes.len());
    for letter in String::from_utf8_lossy(bytes).chars() {
        if letter.is_ascii() && letter != '\u{7f}' || !escape::acts_or_hides(letter) {
            out.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}").ok();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Kind, encode, encode_failure, for_terminal};
    use crate::failure::Failure;
    use missive_commands::Exit;
    use serde::Serialize;
    use serde_json::value::RawValue;

    #[derive(Serialize)]
    struct Sent {
        raw: Box<RawValue>,
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn json_of_a_peer_passes_through_unchanged() {
        let raw = "{ \"b\":1.0,\n \"a\" : 9007199254740993, \"a\":\"\u{9b}\" }";
        let sent = Sent {
            raw: RawValue::from_string(raw.to_owned()).unwrap(),
        };

        let document = text(encode(Kind::SendResult, true, None, &sent).unwrap());
        let line = text(encode(Kind::SendResult, true, Some(3), &sent).unwrap());

        assert_eq!(
            document,
            format!(
                "{{\"schema_version\":\"missive.output.v1\",\"ok\":true,\"kind\":\"send_result\",\
                 \"data\":{{\"raw\":{raw}}}}}\n"
            )
        );
        assert!(line.contains("\"sequence\":3,\"data\""), "{line}");
        assert_eq!(line.matches('\n').count(), 1);
        assert!(line.contains("9007199254740993"), "{line}");
    }

    #[test]
    fn on_a_terminal_json_strings_cannot_act() {
        let shown = for_terminal("{\"a\":\"\u{9b}31m\u{202e}\u{7f}\u{e0041}é\"}\n".as_bytes());

        assert_eq!(
            shown,
            "{\"a\":\"\\u009b31m\\u202e\\u007f\\udb40\\udc41é\"}\n"
        );
    }

    #[test]
    fn a_failure_is_an_envelope_with_its_code() {
        let failure = Failure::new(Exit::NotFound, "no agent is called alan")
            .detail("agent")
            .caused_by(Some(&std::io::Error::other("outer")))
            .hint("known agents are `ada` and `grace`");

        insta::assert_snapshot!(text(encode_failure(&failure, None).unwrap()), @r#"{"schema_version":"missive.output.v1","ok":false,"kind":"error","data":{"code":"missive::not_found::agent","category":"not_found","message":"no agent is called alan","help":"known agents are `ada` and `grace`","sources":["outer"],"exit_code":66}}"#);
    }

    #[test]
    fn kinds_are_the_commands_with_underscores() {
        let name = |kind: Kind| serde_json::to_string(&kind).unwrap();

        assert_eq!(name(Kind::AgentAdd), "\"agent_add\"");
        assert_eq!(name(Kind::LogReanchor), "\"log_reanchor\"");
        assert_eq!(name(Kind::EventsVerify), "\"events_verify\"");
    }
}
