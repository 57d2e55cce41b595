//! How far a call got, which decides what may be done next.
//!
//! Not sent: it is safe to repeat. Nothing or not all came back: the message may have arrived, so it
//! is in doubt and never repeated blindly (C080). Answered: the answer says the rest.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use url::Url;

use crate::exit::Exit;
use crate::wire::answer::Answer;

/// How far a call got.
#[derive(Debug)]
pub enum Reach {
    /// No byte of the message can have left.
    NotSent(CallError),
    /// Bytes may have left, and no head of an answer came back: in doubt.
    NothingBack(CallError),
    /// The answer began and did not end: in doubt, with what there is of it.
    Partial {
        /// Status, headers and the bytes until then.
        answer: Answer,
        /// Why it did not end.
        error: CallError,
    },
    /// The whole answer.
    Answered(Answer),
}

/// A finished call: its redirects and how far it got.
#[derive(Debug)]
pub struct Call {
    /// Every redirect that was followed, in order.
    pub hops: Vec<Hop>,
    /// How far it got.
    pub reach: Reach,
    /// A redirect that was answered and not followed; `reach` holds that answer.
    pub refused_redirect: Option<RefusedRedirect>,
}

/// A redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The HTTP status.
    pub status: u16,
    /// Where it came from.
    pub from: Url,
    /// Where it led.
    pub to: Url,
}

/// A redirect that our rules do not follow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the redirect to {to} is not followed: {why}")]
pub struct RefusedRedirect {
    /// Where it led, without query and credentials.
    pub to: String,
    /// Which rule forbids it.
    pub why: &'static str,
}

/// Why a call got no further.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct CallError {
    /// What kind of failure.
    pub kind: CallErrorKind,
    what: String,
    #[source]
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallErrorKind {
    /// Nobody listens there.
    ConnectRefused,
    /// The name does not resolve.
    Dns,
    /// The TLS handshake or the certificate failed.
    Tls,
    /// No connection for another reason.
    Unreachable,
    /// No connection in time.
    ConnectTimeout,
    /// No byte of the answer in time.
    FirstByteTimeout,
    /// The answer fell silent.
    IdleTimeout,
    /// The user's time ran out.
    TotalTimeout,
    /// The connection ended before an answer began.
    ConnectionLost,
    /// The connection ended in the middle of the answer.
    AnswerCut,
    /// The answer has more bytes than allowed.
    AnswerTooLarge,
    /// What came back is no HTTP.
    BadHttp,
    /// The request has more bytes than allowed.
    RequestTooLarge,
    /// The request cannot be formed; a bug, since it was checked before.
    BadRequest,
}

impl CallErrorKind {
    /// How a command ends that it stops, unless a message is left in doubt.
    pub fn exit(self) -> Exit {
        match self {
            Self::TotalTimeout => Exit::Timeout,
            Self::BadHttp => Exit::Protocol,
            Self::RequestTooLarge => Exit::Data,
            Self::BadRequest => Exit::Internal,
            Self::ConnectRefused
            | Self::Dns
            | Self::Tls
            | Self::Unreachable
            | Self::ConnectTimeout
            | Self::FirstByteTimeout
            | Self::IdleTimeout
            | Self::ConnectionLost
            | Self::AnswerCut
            | Self::AnswerTooLarge => Exit::Transport,
        }
    }

    /// The name in facts; the last three have none of their own there.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConnectRefused => "connect_refused",
            Self::Dns => "dns",
            Self::Tls => "tls",
            Self::Unreachable => "unreachable",
            Self::ConnectTimeout => "connect_timeout",
            Self::FirstByteTimeout => "first_byte_timeout",
            Self::IdleTimeout => "idle_timeout",
            Self::TotalTimeout => "total_timeout",
            Self::ConnectionLost => "connection_lost",
            Self::AnswerCut => "answer_cut",
            Self::AnswerTooLarge => "answer_too_large",
            Self::BadHttp => "protocol_violation",
            Self::RequestTooLarge => "request_too_large",
            Self::BadRequest => "bad_request",
        }
    }

    /// Whether one of the four timers ended the call.
    pub fn is_timeout(self) -> bool {
        matches!(
            self,
            Self::ConnectTimeout | Self::FirstByteTimeout | Self::IdleTimeout | Self::TotalTimeout
        )
    }
}

impl CallError {
    pub(super) fn new(kind: CallErrorKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            source: None,
        }
    }

    pub(super) fn because(
        kind: CallErrorKind,
        what: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self {
            kind,
            what: what.into(),
            source: Some(source.into()),
        }
    }

    pub(super) fn connect_timeout(limit: Duration) -> Self {
        Self::new(
            CallErrorKind::ConnectTimeout,
            format!("no connection within {limit:?} (connect timeout)"),
        )
    }

    pub(super) fn first_byte_timeout(limit: Duration) -> Self {
        Self::new(
            CallErrorKind::FirstByteTimeout,
            format!("no byte of the answer within {limit:?} (first-byte timeout)"),
        )
    }

    pub(super) fn idle_timeout(limit: Duration) -> Self {
        Self::new(
            CallErrorKind::IdleTimeout,
            format!("the answer fell silent for {limit:?} (idle timeout)"),
        )
    }

    pub(super) fn total_timeout(limit: Duration) -> Self {
        Self::new(
            CallErrorKind::TotalTimeout,
            format!("no full answer within {limit:?} (total timeout)"),
        )
    }

    /// An event stream that ended in good order before it said anything.
    pub(crate) fn ended_empty() -> Self {
        Self::new(
            CallErrorKind::AnswerCut,
            "the event stream ended before its first event",
        )
    }

    /// A first event that is larger than allowed, in the words of whoever counted.
    pub(crate) fn event_too_large(words: String) -> Self {
        Self::new(CallErrorKind::AnswerTooLarge, words)
    }

    pub(super) fn too_large(bytes_max: usize) -> Self {
        Self::new(
            CallErrorKind::AnswerTooLarge,
            format!("the answer is larger than the {bytes_max} bytes allowed"),
        )
    }

    /// Why sending failed, from what the transport says. The URL is left out of the cause, since
    /// its query may hold a secret.
    pub(super) fn sending(error: reqwest::Error, url: &Url, connect: Duration) -> Self {
        let error = error.without_url();
        let host = authority(url);
        if !error.is_connect() {
            let (kind, what) = match parse_fault(&error) {
                Some(fault) => (CallErrorKind::BadHttp, format!("{host} sent {fault}")),
                None => (
                    CallErrorKind::ConnectionLost,
                    format!("the connection to {host} ended before an answer began"),
                ),
            };
            return Self::because(kind, what, error);
        }
        if error.is_timeout() {
            return Self::connect_timeout(connect);
        }
        let has = |kind| {
            let io_errors = chain(&error).filter_map(|cause| cause.downcast_ref::<io::Error>());
            io_errors.map(io::Error::kind).any(|found| found == kind)
        };
        let handshake = has(io::ErrorKind::InvalidData) || has(io::ErrorKind::UnexpectedEof);
        let (kind, what) = if error.is_dns() {
            (
                CallErrorKind::Dns,
                format!("the host name of {host} does not resolve"),
            )
        } else if has_tls_cause(&error) || (url.scheme() == "https" && handshake) {
            (CallErrorKind::Tls, format!("no TLS connection to {host}"))
        } else if has(io::ErrorKind::ConnectionRefused) {
            (
                CallErrorKind::ConnectRefused,
                format!("{host} refuses connections"),
            )
        } else {
            (
                CallErrorKind::Unreachable,
                format!("no connection to {host}"),
            )
        };
        Self::because(kind, what, error)
    }

    /// Why the body did not end.
    pub(super) fn receiving(error: reqwest::Error, url: &Url) -> Self {
        let host = authority(url);
        let what = format!("the answer of {host} broke off");
        Self::because(CallErrorKind::AnswerCut, what, error.without_url())
    }
}

fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port_or_known_default()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

type Cause<'a> = &'a (dyn StdError + 'static);

fn chain(error: Cause<'_>) -> impl Iterator<Item = Cause<'_>> {
    std::iter::successors(Some(error), |cause| below(*cause))
}

/// A custom `io::Error` skips its own content in `source`, so that is looked at in between.
fn below(cause: Cause<'_>) -> Option<Cause<'_>> {
    match cause
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(content) => Some(content),
        None => cause.source(),
    }
}

fn has_tls_cause(error: &reqwest::Error) -> bool {
    chain(error).any(<dyn StdError>::is::<rustls::Error>)
}

/// What is wrong with an answer that is no HTTP.
fn parse_fault(error: &reqwest::Error) -> Option<&'static str> {
    let hyper = chain(error).find_map(|cause| cause.downcast_ref::<hyper::Error>())?;
    if hyper.is_parse() && hyper.to_string().contains("too large") {
        Some("too many or too large header fields")
    } else if hyper.is_parse() {
        Some("something that is no HTTP")
    } else {
        None
    }
}
