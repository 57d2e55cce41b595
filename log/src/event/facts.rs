//! The values that facts are made of: identifiers, closed enums, counts and bounded names.
//!
//! Nothing personal and nothing free can be said with these types, since facts stay for ever: whatever
//! a person or a peer wrote as prose is a payload. Unknown stored names of an enum make the fact
//! unreadable on purpose; after its first release, a new name is a new version of its fact.

use super::id::{ArtifactId, ContextId, NotAnId, TaskId, hex_id, is_name, text_id};
use super::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

mod collective;
mod update;

pub use collective::{
    Execution, FailurePolicy, MemberStatus, ReduceFailure, ReduceMethod, ReduceSource,
    ReduceStrategy, RoundStatus, RoutingPolicy, Weight,
};
pub use update::{
    ChunkFacts, ContextForm, KeySource, Malformed, PayloadFacts, PushRefusal, SignatureOutcome,
    StatusFacts, StreamEnd, WebhookEnd,
};

macro_rules! stored_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every value, in the order of its definition.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The stored name.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The value with this stored name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use stored_enum;

stored_enum!(
    /// The state of an A2A task (specification section 4.1.3), in our lower-case spelling.
    TaskState {
        /// Accepted, not begun.
        Submitted = "submitted",
        /// Under way.
        Working = "working",
        /// Ended well.
        Completed = "completed",
        /// Ended badly.
        Failed = "failed",
        /// Ended on request.
        Canceled = "canceled",
        /// Waits for the user.
        InputRequired = "input_required",
        /// Never begun: the agent declined.
        Rejected = "rejected",
        /// Waits for credentials, which travel out of band.
        AuthRequired = "auth_required",
        /// A state that A2A 1.0 does not know; its spelling is in the payload. Neither terminal nor interrupted.
        Unrecognized = "unrecognized",
    }
);

impl TaskState {
    /// Whether the task can change no more.
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected
        )
    }

    /// Whether the task waits for somebody outside of it.
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

stored_enum!(
    /// How A2A is spoken (specification sections 9 to 11).
    Binding {
        /// Plain HTTP with JSON bodies.
        HttpJson = "http+json",
        /// JSON-RPC 2.0 over HTTP.
        JsonRpc = "json-rpc",
        /// gRPC.
        Grpc = "grpc",
    }
);

stored_enum!(
    /// Where an interface URL came from; earlier ones win.
    InterfaceSource {
        /// The user registered it for this agent.
        Override = "override",
        /// The agent's card declares it.
        Card = "card",
        /// The user named the URL for this one call.
        Direct = "direct",
    }
);

stored_enum!(
    /// Which well-known path answered with a card.
    CardPath {
        /// `<base>/.well-known/agent-card.json`.
        WellKnown = "well_known",
        /// `<base>/.well-known/agent.json`, the path of A2A 0.2.
        Legacy = "legacy",
        /// The well-known path at the origin, although the base URL has a path.
        OriginRoot = "origin_root",
        /// The legacy path at the origin, although the base URL has a path.
        LegacyOriginRoot = "legacy_origin_root",
    }
);

stored_enum!(
    /// What a call did.
    Method {
        /// `GetTask`.
        GetTask = "get_task",
        /// `ListTasks`.
        ListTasks = "list_tasks",
        /// `CancelTask`.
        CancelTask = "cancel_task",
        /// `CreateTaskPushNotificationConfig`.
        CreatePushConfig = "create_push_config",
        /// `GetTaskPushNotificationConfig`.
        GetPushConfig = "get_push_config",
        /// `ListTaskPushNotificationConfigs`.
        ListPushConfigs = "list_push_configs",
        /// `DeleteTaskPushNotificationConfig`.
        DeletePushConfig = "delete_push_config",
        /// `GetExtendedAgentCard`.
        GetExtendedCard = "get_extended_card",
    }
);

stored_enum!(
    /// What a peer answered a message with.
    Shape {
        /// A Message, and no task.
        Message = "message",
        /// A Task.
        Task = "task",
    }
);

stored_enum!(
    /// Why a call has no good answer.
    Failure {
        /// Nobody listens at that address.
        ConnectRefused = "connect_refused",
        /// The name does not resolve.
        Dns = "dns",
        /// The TLS handshake failed.
        Tls = "tls",
        /// Another fault before the first byte of the request left.
        Unreachable = "unreachable",
        /// The connect timer ran out.
        ConnectTimeout = "connect_timeout",
        /// The first-byte timer ran out.
        FirstByteTimeout = "first_byte_timeout",
        /// The idle timer ran out in the middle of the answer.
        IdleTimeout = "idle_timeout",
        /// The user's total time ran out.
        TotalTimeout = "total_timeout",
        /// The connection broke before an answer began.
        ConnectionLost = "connection_lost",
        /// The answer broke off in the middle.
        AnswerCut = "answer_cut",
        /// The answer is larger than this configuration allows.
        AnswerTooLarge = "answer_too_large",
        /// The peer pointed to a place that our rules do not follow.
        RedirectRefused = "redirect_refused",
        /// The peer refused the credentials, or wants some (401, 403).
        AuthRefused = "auth_refused",
        /// The peer asks to come back later (429).
        RateLimited = "rate_limited",
        /// Another HTTP status that is no success.
        HttpStatus = "http_status",
        /// An A2A error (specification section 5.4).
        A2aError = "a2a_error",
        /// The answer breaks A2A.
        ProtocolViolation = "protocol_violation",
        /// The user interrupted the command.
        Interrupted = "interrupted",
        /// The process ended before it could say.
        ProcessEnded = "process_ended",
    }
);

stored_enum!(
    /// The A2A errors, by `ErrorInfo.reason` (specification section 5.4), and the JSON-RPC ones.
    A2aError {
        /// `TASK_NOT_FOUND`.
        TaskNotFound = "task_not_found",
        /// `TASK_NOT_CANCELABLE`.
        TaskNotCancelable = "task_not_cancelable",
        /// `PUSH_NOTIFICATION_NOT_SUPPORTED`.
        PushNotificationNotSupported = "push_notification_not_supported",
        /// `UNSUPPORTED_OPERATION`.
        UnsupportedOperation = "unsupported_operation",
        /// `CONTENT_TYPE_NOT_SUPPORTED`.
        ContentTypeNotSupported = "content_type_not_supported",
        /// `INVALID_AGENT_RESPONSE`.
        InvalidAgentResponse = "invalid_agent_response",
        /// `EXTENDED_AGENT_CARD_NOT_CONFIGURED`.
        ExtendedAgentCardNotConfigured = "extended_agent_card_not_configured",
        /// `EXTENSION_SUPPORT_REQUIRED`.
        ExtensionSupportRequired = "extension_support_required",
        /// `VERSION_NOT_SUPPORTED`.
        VersionNotSupported = "version_not_supported",
        /// Bad JSON (-32700).
        ParseError = "parse_error",
        /// Not a request object (-32600).
        InvalidRequest = "invalid_request",
        /// Unknown method (-32601).
        MethodNotFound = "method_not_found",
        /// Bad parameters (-32602).
        InvalidParams = "invalid_params",
        /// Internal error (-32603).
        Internal = "internal",
        /// A code that A2A 1.0 does not define; it is in the payload.
        Other = "other",
    }
);

stored_enum!(
    /// A way in which a peer broke A2A without making its answer unusable.
    Violation {
        /// A task state outside of the specification (section 4.1.3).
        UnknownState = "unknown_state",
        /// The content type does not say JSON.
        ContentType = "content_type",
        /// A required field is missing.
        MissingField = "missing_field",
        /// A JSON object holds the same key twice.
        DuplicateKey = "duplicate_key",
        /// A part holds more than one of text, raw, url and data, or none.
        AmbiguousPart = "ambiguous_part",
        /// An identifier is longer than this log keeps.
        OversizedId = "oversized_id",
        /// A content encoding that was not asked for.
        ContentEncoding = "content_encoding",
        /// A context other than the one that was sent.
        ContextMismatch = "context_mismatch",
        /// A task other than the one that was sent.
        TaskMismatch = "task_mismatch",
        /// A role other than the agent's.
        WrongRole = "wrong_role",
        /// A piece of an artifact that has no beginning.
        AppendWithoutBase = "append_without_base",
        /// A message in a stream that is about a task, or a second one.
        UnexpectedMessage = "unexpected_message",
        /// Updates after the end of the task.
        AfterTheEnd = "after_the_end",
        /// A last event of a stream without the blank line that ends it.
        UnterminatedEvent = "unterminated_event",
    }
);

stored_enum!(
    /// A form in which the log leaves the house.
    ExportFormat {
        /// The evidence form: verifiable, one record a line.
        Jsonl = "jsonl",
        /// One JSON document, for tools.
        Json = "json",
        /// Comma-separated values, for tools.
        Csv = "csv",
        /// CloudEvents 1.0, for tools.
        CloudEvents = "cloudevents",
    }
);

fn is_printable(text: &str, bytes_max: usize) -> bool {
    !text.is_empty() && text.len() <= bytes_max && !text.chars().any(char::is_control)
}

/// Whether the text is an absolute http or https URL without user, password, query and fragment.
fn is_bare_url(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let authority = rest.and_then(|rest| rest.split('/').next());
    text.len() <= 2_048
        && text.bytes().all(|b| b.is_ascii_graphic())
        && authority.is_some_and(|host| !host.is_empty() && !host.contains('@'))
        && !text.contains(['?', '#'])
}

text_id!(
    /// An absolute http or https URL without user, password, query and fragment: safe to keep for ever.
    BareUrl, "an http(s) URL without credentials and query (at most 2048 bytes)", is_bare_url
);
text_id!(
    /// A name of the configuration or a tag: the grammar of aliases.
    Name, "a name ([a-z0-9][a-z0-9._-]{0,62})", is_name
);
text_id!(
    /// A short label that a card carries: a skill id or a skill's tag, 1 to 128 bytes without controls.
    Label, "a label (1 to 128 printable bytes)", |text| is_printable(text, 128)
);
text_id!(
    /// A media type as a card spells it, 1 to 127 bytes.
    MediaMode, "a media type (1 to 127 printable bytes)", |text| is_printable(text, 127)
);
text_id!(
    /// An HTTP entity tag with its quotes, at most 256 bytes.
    EntityTag, "an entity tag (1 to 256 visible characters)", |text| is_printable(text, 256)
);
text_id!(
    /// An A2A protocol version as `Major.Minor`.
    Version, "a protocol version (Major.Minor)", |text| text.len() <= 15
        && text.split_once('.').is_some_and(|(major, minor)| [major, minor]
            .iter()
            .all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())))
);
text_id!(
    /// An A2A tenant: opaque, 1 to 512 bytes without controls.
    Tenant, "a tenant (1 to 512 printable bytes)", |text| is_printable(text, 512)
);
text_id!(
    /// The program that created a log, as `name/version`.
    Program, "a program (name/version)", |text| is_printable(text, 64)
);
text_id!(
    /// The W3C trace context that an event belongs to, as its header `traceparent` spells it: random
    /// identifiers of whoever started the work, and flags.
    TraceParent, "a traceparent (W3C Trace Context)", is_trace_parent
);
text_id!(
    /// What a log calls itself: the origin line that C2SP checkpoints use.
    LogOrigin, "a log origin (1 to 128 printable bytes)", |text| is_printable(text, 128)
);
text_id!(
    /// What people call a context, 1 to 100 printable characters. It stays in the log for ever.
    ContextName, "a context name (1 to 100 printable characters)", |text| text.chars().count() <= 100
        && is_printable(text, 400)
);
hex_id!(
    /// The RFC 7638 thumbprint of a public key (SHA-256).
    Thumbprint, 32, "a thumbprint (64 hex digits)"
);
hex_id!(
    /// Random bytes that make a log's identity its own.
    Nonce, 32, "a nonce (64 hex digits)"
);

/// `version-trace-parent-flags` in lower-case hex, neither id all zeros. Version ff is none.
fn is_trace_parent(text: &str) -> bool {
    let fields: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags] = fields.as_slice() else {
        return false;
    };
    let hex = |text: &str, digits: usize| {
        let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        text.len() == digits && text.bytes().all(lower)
    };
    let given = |id: &str| id.bytes().any(|byte| byte != b'0');
    hex(version, 2)
        && *version != "ff"
        && hex(flags, 2)
        && hex(trace, 32)
        && given(trace)
        && hex(parent, 16)
        && given(parent)
}

/// What an answer said about one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskFacts {
    /// Its id.
    pub task: TaskId,
    /// Its context; servers must send one and some do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextId>,
    /// Its state.
    pub state: TaskState,
    /// The peer's own clock for that state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_at: Option<Timestamp>,
    /// How many messages its history holds.
    pub history: u32,
    /// Its artifacts, in the order of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactFacts>,
}

/// What an answer said about one artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArtifactFacts {
    /// Its id.
    pub artifact: ArtifactId,
    /// How many parts it has.
    pub parts: u32,
}

/// One interface of an agent: where it is spoken to, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterfaceFacts {
    /// How.
    pub binding: Binding,
    /// Where, without a query.
    pub url: BareUrl,
}

/// One skill of a card; its name and its description are text, so they stay in the payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillFacts {
    /// Its id.
    pub id: Label,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Label>,
}
