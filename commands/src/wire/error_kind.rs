//! The kinds of error that a peer can report, and how each ends.
//!
//! Every kind of A2A 1.0 (section 5.4) has its reason and its JSON-RPC code in one table, so that no
//! binding can treat it differently from another.

use crate::exit::Exit;

/// What kind of error a peer reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// `TASK_NOT_FOUND`
    TaskNotFound,
    /// `TASK_NOT_CANCELABLE`
    TaskNotCancelable,
    /// `PUSH_NOTIFICATION_NOT_SUPPORTED`
    PushNotificationNotSupported,
    /// `UNSUPPORTED_OPERATION`
    UnsupportedOperation,
    /// `CONTENT_TYPE_NOT_SUPPORTED`
    ContentTypeNotSupported,
    /// `INVALID_AGENT_RESPONSE`
    InvalidAgentResponse,
    /// `EXTENDED_AGENT_CARD_NOT_CONFIGURED`
    ExtendedAgentCardNotConfigured,
    /// `EXTENSION_SUPPORT_REQUIRED`
    ExtensionSupportRequired,
    /// `VERSION_NOT_SUPPORTED`
    VersionNotSupported,
    /// -32700
    ParseError,
    /// -32600
    InvalidRequest,
    /// -32601
    MethodNotFound,
    /// -32602
    InvalidParams,
    /// -32603
    Internal,
    /// A reason or code that A2A does not define.
    Other,
    /// 401
    Unauthenticated,
    /// 403
    Forbidden,
    /// 429
    RateLimited,
    /// Any other HTTP status that is no success, with nothing better to go by.
    HttpStatus,
}

/// Kind, missive's name, `ErrorInfo.reason`, JSON-RPC code; 0 where there is none.
pub(super) const TABLE: [(ErrorKind, &str, &str, i64); 19] = [
    (
        ErrorKind::TaskNotFound,
        "task_not_found",
        "TASK_NOT_FOUND",
        -32001,
    ),
    (
        ErrorKind::TaskNotCancelable,
        "task_not_cancelable",
        "TASK_NOT_CANCELABLE",
        -32002,
    ),
    (
        ErrorKind::PushNotificationNotSupported,
        "push_notification_not_supported",
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
        -32003,
    ),
    (
        ErrorKind::UnsupportedOperation,
        "unsupported_operation",
        "UNSUPPORTED_OPERATION",
        -32004,
    ),
    (
        ErrorKind::ContentTypeNotSupported,
        "content_type_not_supported",
        "CONTENT_TYPE_NOT_SUPPORTED",
        -32005,
    ),
    (
        ErrorKind::InvalidAgentResponse,
        "invalid_agent_response",
        "INVALID_AGENT_RESPONSE",
        -32006,
    ),
    (
        ErrorKind::ExtendedAgentCardNotConfigured,
        "extended_agent_card_not_configured",
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        -32007,
    ),
    (
        ErrorKind::ExtensionSupportRequired,
        "extension_support_required",
        "EXTENSION_SUPPORT_REQUIRED",
        -32008,
    ),
    (
        ErrorKind::VersionNotSupported,
        "version_not_supported",
        "VERSION_NOT_SUPPORTED",
        -32009,
    ),
    (ErrorKind::ParseError, "parse_error", "PARSE_ERROR", -32700),
    (
        ErrorKind::InvalidRequest,
        "invalid_request",
        "INVALID_REQUEST",
        -32600,
    ),
    (
        ErrorKind::MethodNotFound,
        "method_not_found",
        "METHOD_NOT_FOUND",
        -32601,
    ),
    (
        ErrorKind::InvalidParams,
        "invalid_params",
        "INVALID_PARAMS",
        -32602,
    ),
    (ErrorKind::Internal, "internal", "INTERNAL_ERROR", -32603),
    (ErrorKind::Other, "other", "", 0),
    (
        ErrorKind::Unauthenticated,
        "unauthenticated",
        "UNAUTHENTICATED",
        0,
    ),
    (ErrorKind::Forbidden, "forbidden", "PERMISSION_DENIED", 0),
    (
        ErrorKind::RateLimited,
        "rate_limited",
        "RATE_LIMIT_EXCEEDED",
        0,
    ),
    (ErrorKind::HttpStatus, "http_status", "", 0),
];

impl ErrorKind {
    /// The name in facts and in `missive::<category>::<detail>`.
    pub fn name(self) -> &'static str {
        TABLE
            .iter()
            .find(|row| row.0 == self)
            .map_or("other", |row| row.1)
    }

    pub(super) fn by_reason(reason: &str) -> Option<Self> {
        TABLE
            .iter()
            .find(|row| !row.2.is_empty() && row.2 == reason)
            .map(|row| row.0)
    }

    pub(super) fn by_code(code: i64) -> Option<Self> {
        TABLE
            .iter()
            .find(|row| row.3 != 0 && row.3 == code)
            .map(|row| row.0)
    }

    /// Whether it is said in A2A's terms (sections 5.4 and 9.5), be it one that only the peer knows, and
    /// not by a status of HTTP alone.
    pub fn is_a2a(self) -> bool {
        !matches!(
            self,
            Self::Unauthenticated | Self::Forbidden | Self::RateLimited | Self::HttpStatus
        )
    }

    /// How a command ends that gets it.
    pub fn exit(self) -> Exit {
        match self {
            Self::TaskNotFound => Exit::NotFound,
            Self::ContentTypeNotSupported | Self::InvalidParams => Exit::Data,
            Self::Unauthenticated | Self::Forbidden => Exit::Auth,
            Self::RateLimited | Self::HttpStatus | Self::Internal => Exit::Transport,
            Self::TaskNotCancelable
            | Self::PushNotificationNotSupported
            | Self::UnsupportedOperation
            | Self::InvalidAgentResponse
            | Self::ExtendedAgentCardNotConfigured
            | Self::ExtensionSupportRequired
            | Self::VersionNotSupported
            | Self::ParseError
            | Self::InvalidRequest
            | Self::MethodNotFound
            | Self::Other => Exit::Protocol,
        }
    }
}
