//! What a peer's error means, whatever it looks like.
//!
//! HTTP and JSON-RPC codes changed between A2A 1.0.0 and 1.0.1 and many errors share one, so an
//! error is classified by `ErrorInfo.reason` first, then by the A2A range of JSON-RPC codes, then by
//! authentication and rate limits, then by the rest of the codes, and by the HTTP status last (A2A
//! 1.0, section 5.4). Bodies may be `google.rpc.Status`, JSON-RPC, problem details, text, a web page
//! or nothing. Classifying never fails, and the bytes stay with the caller.

use std::fmt;

use serde_json::Value;

use super::headers::Headers;
use super::json::{Document, Limits};
use super::packed::unpack;
use super::text::{excerpt, is_html};

pub use super::error_kind::ErrorKind;

/// What the body of an error was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorShape {
    /// `{"jsonrpc":…,"error":{…}}`
    JsonRpc,
    /// `{"error":{"code":404,"status":…}}`
    Status,
    /// RFC 9457.
    Problem,
    /// Some other JSON.
    Json,
    /// A web page, perhaps of a proxy.
    Html,
    /// Text.
    Text,
    /// Bytes in a coding that nobody asked for.
    Coded,
    /// Nothing.
    Empty,
}

/// Whether a body is in a coding that is not undone here, and so no words for anybody.
fn is_coded(headers: &Headers, unpacked: bool, body: &[u8]) -> bool {
    !unpacked && headers.coding().is_some() && std::str::from_utf8(body).is_err()
}

/// When to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// After so many seconds.
    Seconds(u64),
    /// At this Unix second.
    At(u64),
}

/// An error that a peer reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerError {
    /// What it means.
    pub kind: ErrorKind,
    /// The HTTP status.
    pub status: u16,
    /// The JSON-RPC code.
    pub code: Option<i64>,
    /// `ErrorInfo.reason`, verbatim but bounded.
    pub reason: Option<String>,
    /// An excerpt of what the peer says: untrusted, one line, bounded. Payload, never a fact.
    pub message: String,
    /// Fields that the peer names as wrong, with its words.
    pub fields: Vec<(String, String)>,
    /// When to come back.
    pub retry_after: Option<RetryAfter>,
    /// `WWW-Authenticate`, one entry a header field.
    pub challenges: Vec<String>,
    /// What the body was.
    pub shape: ErrorShape,
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind;
        let name = if kind == ErrorKind::HttpStatus {
            format!("HTTP {}", self.status)
        } else if kind == ErrorKind::Other {
            match (&self.reason, self.code) {
                (Some(reason), _) => excerpt(reason),
                (None, Some(code)) => format!("error {code}"),
                (None, None) => "an error".to_owned(),
            }
        } else if kind.is_a2a() {
            kind.name().to_uppercase()
        } else {
            format!("{} (HTTP {})", kind.name().replace('_', " "), self.status)
        };
        write!(f, "the agent answered {name}")?;
        if self.shape == ErrorShape::Html {
            return f.write_str(" with a web page");
        }
        if self.shape == ErrorShape::Coded {
            return f.write_str(" in a compressed form that was not asked for");
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        for (field, why) in &self.fields {
            write!(f, " [{field}: {why}]")?;
        }
        Ok(())
    }
}

/// Most field violations that are kept.
const FIELDS_MAX: usize = 16;

/// Reads the error of an answer that is no success, or that holds an error.
pub fn read_error(status: u16, headers: &Headers, body: &[u8], limits: &Limits) -> PeerError {
    let unpacked = unpack(body);
    let body = unpacked.as_ref().map_or(body, |unpacked| &unpacked.bytes);
    let document = Document::read(body, limits).ok();
    let found = match &document {
        Some(document) => Found::in_json(document.value()),
        None if is_coded(headers, unpacked.is_some(), body) => Found::new(ErrorShape::Coded),
        None => Found::in_text(body),
    };
    let retry_after = headers
        .get("retry-after")
        .and_then(retry_after)
        .or(found.retry_delay);
    PeerError {
        kind: classify(status, &found),
        status,
        code: found.code,
        reason: found.reason,
        message: found.message,
        fields: found.fields,
        retry_after,
        challenges: headers
            .all("www-authenticate")
            .map(excerpt)
            .take(8)
            .collect(),
        shape: found.shape,
    }
}

fn classify(status: u16, found: &Found) -> ErrorKind {
    let a2a_range = found.code.filter(|code| (-32009..=-32001).contains(code));
    let by_reason = found.reason.as_deref().and_then(ErrorKind::by_reason);
    if let Some(kind) = by_reason.or_else(|| a2a_range.and_then(ErrorKind::by_code)) {
        return kind;
    }
    match status {
        401 => return ErrorKind::Unauthenticated,
        403 => return ErrorKind::Forbidden,
        429 => return ErrorKind::RateLimited,
        _ => {}
    }
    if let Some(kind) = found.code.and_then(ErrorKind::by_code) {
        return kind;
    }
    match found.status_name.as_str() {
        "UNAUTHENTICATED" => ErrorKind::Unauthenticated,
        "PERMISSION_DENIED" => ErrorKind::Forbidden,
        "RESOURCE_EXHAUSTED" => ErrorKind::RateLimited,
        "INVALID_ARGUMENT" => ErrorKind::InvalidParams,
        "NOT_FOUND" => ErrorKind::TaskNotFound,
        "UNIMPLEMENTED" => ErrorKind::MethodNotFound,
        "INTERNAL" => ErrorKind::Internal,
        _ if status == 415 => ErrorKind::ContentTypeNotSupported,
        _ if found.shape == ErrorShape::JsonRpc => ErrorKind::Other,
        _ if status < 300 => ErrorKind::Other,
        _ => ErrorKind::HttpStatus,
    }
}

fn retry_after(text: &str) -> Option<RetryAfter> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that is too large to be read is at least as far away.
        return Some(RetryAfter::Seconds(text.parse().unwrap_or(u64::MAX)));
    }
    super::freshness::http_date(text).map(RetryAfter::At)
}

struct Found {
    shape: ErrorShape,
    code: Option<i64>,
    status_name: String,
    reason: Option<String>,
    message: String,
    fields: Vec<(String, String)>,
    retry_delay: Option<RetryAfter>,
}

impl Found {
    fn new(shape: ErrorShape) -> Self {
        Self {
            shape,
            code: None,
            status_name: String::new(),
            reason: None,
            message: String::new(),
            fields: Vec::new(),
            retry_delay: None,
        }
    }

    fn in_text(body: &[u8]) -> Self {
        if is_html(body) {
            return Self::new(ErrorShape::Html);
        }
        let start = body.get(..body.len().min(2_000)).unwrap_or_default();
        let message = excerpt(&String::from_utf8_lossy(start));
        let shape = if message.is_empty() {
            ErrorShape::Empty
        } else {
            ErrorShape::Text
        };
        Self {
            message,
            ..Self::new(shape)
        }
    }

    fn in_json(value: &Value) -> Self {
        let is_rpc = value.get("jsonrpc").is_some();
        match value.get("error") {
            Some(error @ Value::Object(_)) => {
                let has_code = error.get("code").is_some_and(Value::is_i64);
                let mut found = Self::new(match (is_rpc, has_code) {
                    (true, _) => ErrorShape::JsonRpc,
                    (false, true) => ErrorShape::Status,
                    (false, false) => ErrorShape::Json,
                });
                // A peer without the envelope may still send a JSON-RPC code.
                let code = error.get("code").and_then(Value::as_i64);
                found.code = code.filter(|code| is_rpc || *code < 0);
                found.read(error);
                found
            }
            Some(Value::String(text)) => Self {
                message: excerpt(text),
                ..Self::new(ErrorShape::Json)
            },
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => {
                let problem = value.get("title").is_some() || value.get("type").is_some();
                let shape = if problem {
                    ErrorShape::Problem
                } else {
                    ErrorShape::Json
                };
                let mut found = Self::new(shape);
                found.read(value);
                found
            }
        }
    }

    /// Reads an error object of any shape: members that are not there stay as they are.
    fn read(&mut self, error: &Value) {
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let words = ["message", "detail", "title"].into_iter().find_map(text);
        self.message = excerpt(words.unwrap_or_default());
        self.status_name = text("status").map(excerpt).unwrap_or_default();
        // RFC 9457 names the error by the end of a URL: …/errors/task-not-found.
        let by_type = text("type")
            .and_then(|url| url.rsplit('/').next())
            .map(|last| last.replace('-', "_").to_ascii_uppercase())
            .filter(|reason| ErrorKind::by_reason(reason).is_some());
        self.reason = text("reason").map(excerpt).or(by_type);
        for name in ["details", "data"] {
            match error.get(name) {
                Some(Value::Array(details)) => {
                    for detail in details {
                        self.read_detail(detail);
                    }
                }
                Some(detail @ Value::Object(_)) => self.read_detail(detail),
                Some(Value::String(words)) if !words.is_empty() => {
                    self.message = excerpt(&format!("{}: {words}", self.message));
                }
                Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => {
                }
            }
        }
    }

    fn read_detail(&mut self, detail: &Value) {
        let text = |value: &Value, name: &str| {
            value
                .get(name)
                .and_then(Value::as_str)
                .map(excerpt)
                .unwrap_or_default()
        };
        let kind = text(detail, "@type");
        if let Some(reason) = detail.get("reason").and_then(Value::as_str)
            && (kind.is_empty() || kind.ends_with("google.rpc.ErrorInfo"))
            && self
                .reason
                .as_deref()
                .is_none_or(|known| ErrorKind::by_reason(known).is_none())
        {
            self.reason = Some(excerpt(reason));
        }
        for violation in detail
            .get("fieldViolations")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if self.fields.len() < FIELDS_MAX {
                self.fields
                    .push((text(violation, "field"), text(violation, "description")));
            }
        }
        if let Some(delay) = detail.get("retryDelay").and_then(Value::as_str) {
            let seconds = delay
                .trim_end_matches('s')
                .split('.')
                .next()
                .unwrap_or_default();
            self.retry_delay = seconds.parse().ok().map(RetryAfter::Seconds);
        }
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
