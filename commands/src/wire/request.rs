//! A request as plain values: built here, logged, and only then sent.
//!
//! Everything that can be wrong with it is found here, before anything is recorded or any
//! connection opened: addresses that cannot be formed, headers that would smuggle, a body beyond the
//! bound.

use std::time::Duration;

use url::Url;

use super::headers::{HeaderError, HeaderText, check_header};
use super::message::SendMessage;
use super::negotiate::Choice;
use super::push::PushCall;
use super::state::TaskState;
use super::text::excerpt;
use super::version::{Binding, SPOKEN};
use super::{http_json, json_rpc};
use crate::secret::Secret;

/// The HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Asks; safe to repeat.
    Get,
    /// Changes something; never repeated without being told to.
    Post,
    /// Takes something away; safe to repeat.
    Delete,
}

/// An HTTP request, complete but for the connection.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub verb: Verb,
    /// Where to.
    pub url: Url,
    /// Names as sent, in order.
    pub headers: Vec<(String, HeaderText)>,
    /// The exact bytes of the body.
    pub body: Option<Vec<u8>>,
    /// Bounds of this request, beside those of the caller.
    pub bounds: Bounds,
}

impl Request {
    /// Makes the media type of the body the one that A2A 1.0.0 had for HTTP+JSON, `application/json`; says
    /// whether it was the newer one.
    pub(crate) fn make_plain_json(&mut self) -> bool {
        let mut headers = self.headers.iter_mut();
        let media = headers.find(|(name, text)| {
            name.eq_ignore_ascii_case("content-type") && text.expose() == http_json::MEDIA
        });
        let Some((_, media)) = media else {
            return false;
        };
        *media = HeaderText::Plain("application/json".to_owned());
        true
    }
}

/// What an answer may take. Only a blocking send may honestly last for hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Longest wait for the head of the answer, where the caller's settings have no limit.
    pub first_byte: Option<Duration>,
    /// Most bytes of the answer, where the caller's settings allow more.
    pub response_bytes_max: Option<usize>,
}

/// Longest wait for the answer to a question that costs the peer nothing.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// Most bytes of an agent card.
pub const CARD_BYTES_MAX: usize = 4 << 20;

/// An A2A operation (A2A 1.0, section 3.1).
#[derive(Clone, Debug)]
pub enum Operation {
    /// `SendMessage`
    SendMessage(SendMessage),
    /// `GetTask`
    GetTask {
        /// Which task.
        task_id: String,
        /// At most so many newest messages; `None` leaves it to the agent.
        history_length: Option<u32>,
    },
    /// `ListTasks`
    ListTasks(ListTasks),
    /// `CancelTask`
    CancelTask {
        /// Which task.
        task_id: String,
    },
    /// `SendStreamingMessage`: a message that is answered by a stream of updates.
    SendStreamingMessage(SendMessage),
    /// `GetExtendedAgentCard`: what the agent shows to whom it knows.
    GetExtendedCard,
    /// `SubscribeToTask`: the updates of a task that goes on, after a snapshot of it.
    SubscribeToTask {
        /// Which task.
        task_id: String,
        /// The method over HTTP+JSON, where the text of A2A says POST and its schema GET.
        verb: Verb,
    },
    /// One of the four operations on push notification configurations.
    Push(PushCall),
}

impl Operation {
    /// Whether repeating it changes nothing.
    pub fn is_repeatable(&self) -> bool {
        match self {
            Self::SendMessage(_) | Self::SendStreamingMessage(_) => false,
            Self::GetTask { .. }
            | Self::ListTasks(_)
            | Self::CancelTask { .. }
            | Self::GetExtendedCard
            | Self::SubscribeToTask { .. } => true,
            Self::Push(push) => push.is_repeatable(),
        }
    }

    /// Whether its answer is a stream.
    pub fn is_streamed(&self) -> bool {
        match self {
            Self::SendStreamingMessage(_) | Self::SubscribeToTask { .. } => true,
            Self::SendMessage(_)
            | Self::GetTask { .. }
            | Self::ListTasks(_)
            | Self::CancelTask { .. }
            | Self::GetExtendedCard
            | Self::Push(_) => false,
        }
    }
}

/// Filters of `ListTasks` (A2A 1.0, section 3.1.4). Keep them the same from page to page.
#[derive(Clone, Debug, Default)]
pub struct ListTasks {
    /// Only tasks of this context.
    pub context_id: Option<String>,
    /// Only tasks in this state; never one that A2A does not know.
    pub status: Option<TaskState>,
    /// Only tasks whose status is not older than this time (RFC 3339).
    pub status_timestamp_after: Option<String>,
    /// Whether artifacts come as well; left out, the agent leaves them out.
    pub include_artifacts: bool,
    /// 1 to 100; `None` leaves it to the agent.
    pub page_size: Option<u32>,
    /// From the page before.
    pub page_token: Option<String>,
    /// At most so many newest messages of each task.
    pub history_length: Option<u32>,
}

/// What every request to one agent carries besides its operation.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// URIs for `A2A-Extensions`.
    pub extensions: Vec<String>,
    /// Service parameters, sent as headers.
    pub service_params: Vec<(String, String)>,
    /// The user's own headers.
    pub headers: Vec<(String, Secret)>,
    /// A token for `Authorization: Bearer`.
    pub bearer: Option<Secret>,
}

/// Why a request cannot be built. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A header that must not be sent.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// Two values for `Authorization`.
    #[error("the Authorization header is given twice")]
    TwoAuthorizations,
    /// No extension URI can look like that.
    #[error("`{uri}` is no extension URI")]
    Extension {
        /// The text as an excerpt.
        uri: String,
    },
    /// An id that no URL can hold as a path segment, such as `..`.
    #[error("the id `{id}` cannot stand in a URL path")]
    Segment {
        /// The id as an excerpt.
        id: String,
    },
    /// The interface is not absolute http or https.
    #[error("`{url}` is no http or https address")]
    Address {
        /// The address as an excerpt.
        url: String,
    },
    /// The binding is recognised and not spoken.
    #[error("gRPC is not spoken yet")]
    Grpc,
    /// The body cannot be written as JSON.
    #[error("the request cannot be written as JSON")]
    Json,
}

/// Builds the request of an operation for the chosen interface. `request_id` is the JSON-RPC id,
/// which the answer must repeat.
///
/// # Errors
/// See [`BuildError`].
pub fn build(
    choice: &Choice,
    operation: &Operation,
    extras: &Extras,
    request_id: &str,
) -> Result<Request, BuildError> {
    let mut request = match choice.binding {
        Binding::HttpJson => http_json::build(choice, operation)?,
        Binding::JsonRpc => json_rpc::build(choice, operation, request_id)?,
        Binding::Grpc => return Err(BuildError::Grpc),
    };
    if operation.is_repeatable() {
        request.bounds.first_byte = Some(ANSWER_WITHIN);
    }
    if matches!(operation, Operation::GetExtendedCard) {
        request.bounds.response_bytes_max = Some(CARD_BYTES_MAX);
    }
    let plain = |text: String| HeaderText::Plain(text);
    request.headers.push((
        "A2A-Version".to_owned(),
        plain(choice.protocol_version.to_string()),
    ));
    if !extras.extensions.is_empty() {
        for uri in &extras.extensions {
            check_extension(uri)?;
        }
        request.headers.push((
            "A2A-Extensions".to_owned(),
            plain(extras.extensions.join(", ")),
        ));
    }
    append_extras(&mut request, extras)?;
    Ok(request)
}

/// The request for an agent card, with the user's headers and the validators of a stored card.
///
/// # Errors
/// See [`BuildError`].
pub fn card_request(
    url: &Url,
    extras: &Extras,
    validators: &[(&'static str, String)],
) -> Result<Request, BuildError> {
    let mut request = Request {
        verb: Verb::Get,
        url: url.clone(),
        headers: Vec::new(),
        body: None,
        bounds: Bounds {
            first_byte: Some(ANSWER_WITHIN),
            response_bytes_max: Some(CARD_BYTES_MAX),
        },
    };
    let accept = "application/json, application/a2a+json;q=0.9";
    request
        .headers
        .push(("Accept".to_owned(), HeaderText::Plain(accept.to_owned())));
    // Also here, since a server without the header must take the client for one of 0.3.
    let version = SPOKEN[0].to_string();
    request
        .headers
        .push(("A2A-Version".to_owned(), HeaderText::Plain(version)));
    for (name, value) in validators {
        check_header(name, value)?;
        request
            .headers
            .push(((*name).to_owned(), HeaderText::Plain(value.clone())));
    }
    append_extras(&mut request, extras)?;
    Ok(request)
}

/// Fields that the user sets by other means, or not at all.
const OWN: [&str; 5] = [
    "a2a-version",
    "a2a-extensions",
    "content-type",
    "accept-encoding",
    "accept",
];

fn append_extras(request: &mut Request, extras: &Extras) -> Result<(), BuildError> {
    for (name, value) in &extras.service_params {
        check_own(name)?;
        check_header(name, value)?;
        request
            .headers
            .push((name.clone(), HeaderText::Plain(value.clone())));
    }
    let mut authorizations = 0;
    for (name, value) in &extras.headers {
        check_own(name)?;
        check_header(name, value.expose())?;
        authorizations += usize::from(name.eq_ignore_ascii_case("authorization"));
        request
            .headers
            .push((name.clone(), HeaderText::Secret(value.clone())));
    }
    if let Some(token) = &extras.bearer {
        authorizations += 1;
        let value = token.prefixed("Bearer ");
        check_header("Authorization", value.expose())?;
        request
            .headers
            .push(("Authorization".to_owned(), HeaderText::Secret(value)));
    }
    if authorizations > 1 {
        return Err(BuildError::TwoAuthorizations);
    }
    Ok(())
}

fn check_own(name: &str) -> Result<(), HeaderError> {
    if OWN.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Err(HeaderError::Reserved {
            name: name.to_owned(),
        });
    }
    Ok(())
}

fn check_extension(uri: &str) -> Result<(), BuildError> {
    let fits = !uri.is_empty()
        && uri
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b',');
    if fits {
        Ok(())
    } else {
        Err(BuildError::Extension { uri: excerpt(uri) })
    }
}

/// The declared URL with `path` (which begins with a slash) below its own; its query is kept.
pub(super) fn below(declared: &str, path: &str) -> Result<Url, BuildError> {
    let mut url = absolute(declared)?;
    let full = format!("{}{path}", url.path().trim_end_matches('/'));
    url.set_path(&full);
    url.set_fragment(None);
    Ok(url)
}

pub(super) fn absolute(declared: &str) -> Result<Url, BuildError> {
    Url::parse(declared)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| BuildError::Address {
            url: excerpt(declared),
        })
}

/// An opaque id as one path segment: everything but unreserved characters is percent-encoded.
///
/// # Errors
/// `.` and `..` (and nothing at all) would change the path however they are encoded.
pub fn segment(id: &str) -> Result<String, BuildError> {
    if matches!(id, "" | "." | "..") {
        return Err(BuildError::Segment { id: excerpt(id) });
    }
    let mut out = String::new();
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for digit in [byte >> 4, byte & 15] {
                let hex = char::from_digit(u32::from(digit), 16).unwrap_or('0');
                out.push(hex.to_ascii_uppercase());
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
