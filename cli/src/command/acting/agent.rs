//! What can be done about what an agent did, or did not: its card, its answers, and silence.

use crate::failure::Failure;
use missive_commands::effect::fetch::FetchError;
use missive_commands::effect::reach::{CallError, CallErrorKind};
use missive_commands::wire::card::CardError;
use missive_commands::wire::error::{ErrorKind, PeerError, RetryAfter};
use missive_log::Timestamp;

pub(super) const CREDENTIALS: &str = "give credentials with --bearer-token-env ENV, with --header 'Name: value', or \
                           with an [auth_refs] entry and `missive agent add --auth-ref NAME`";
const CARD_BY_HAND: &str =
    "a card that you have in a file is taken with `missive agent add ALIAS URL --card-file FILE`";
pub(super) const LARGER_EVENTS: &str = "raise `max_stream_event_bytes` in [qos]";
const IS_IT_RUNNING: &str = "is the agent running, and is its address right?";

/// Which bound an answer exceeded, if that is what ended the wait.
pub(super) fn larger(error: &CallError) -> Option<String> {
    if error.kind != CallErrorKind::AnswerTooLarge {
        return None;
    }
    let key = if error.to_string().contains("event stream") {
        LARGER_EVENTS
    } else {
        "raise `max_response_bytes` in [qos]"
    };
    Some(key.to_owned())
}

pub(super) fn about_card(failure: Failure, error: &FetchError) -> Failure {
    match error {
        FetchError::Call { kind, .. } => failure.hint_if(about_call(*kind)),
        FetchError::Status { error, .. } => {
            let failure = about_peer(failure, error, false);
            if matches!(
                error.kind,
                ErrorKind::Unauthenticated | ErrorKind::Forbidden
            ) {
                return failure.hint(CARD_BY_HAND);
            }
            failure
        }
        FetchError::Card(CardError::Html { .. }) => {
            failure.hint("a web page answered there: check the address of the agent")
        }
        FetchError::Nowhere { .. } => failure.hint(
            "check the address; an agent without a card is registered with --interface BINDING=URL or \
             --card-file FILE, or spoken to with --binding",
        ),
        FetchError::Card(CardError::OldProtocol { .. }) => {
            failure.hint("missive does not fall back to an older protocol by itself")
        }
        FetchError::Request(_)
        | FetchError::Redirect(_)
        | FetchError::Card(
            CardError::Compressed { .. } | CardError::Json { .. } | CardError::NotACard { .. },
        ) => failure,
    }
}

pub(super) fn about_call(kind: CallErrorKind) -> Option<String> {
    let hint = match kind {
        CallErrorKind::ConnectRefused | CallErrorKind::Dns | CallErrorKind::Unreachable => {
            IS_IT_RUNNING
        }
        CallErrorKind::TotalTimeout => "give it more time with --timeout",
        CallErrorKind::ConnectTimeout
        | CallErrorKind::FirstByteTimeout
        | CallErrorKind::IdleTimeout => "the timeouts are in [qos] of the configuration",
        CallErrorKind::Tls => {
            "if plain http is spoken there, the address begins with http://; else look at the certificate"
        }
        CallErrorKind::AnswerTooLarge => "raise `max_response_bytes` in [qos]",
        CallErrorKind::ConnectionLost
        | CallErrorKind::AnswerCut
        | CallErrorKind::BadHttp
        | CallErrorKind::RequestTooLarge
        | CallErrorKind::BadRequest => return None,
    };
    Some(hint.to_owned())
}

pub(super) fn about_peer(mut failure: Failure, error: &PeerError, continues: bool) -> Failure {
    for challenge in &error.challenges {
        failure = failure.hint(format!("the agent asks for `{challenge}`"));
    }
    if matches!(
        error.kind,
        ErrorKind::Unauthenticated | ErrorKind::Forbidden
    ) {
        failure = failure.hint(CREDENTIALS);
    }
    if let Some(hint) = of_kind(error.kind, continues) {
        failure = failure.hint(hint);
    }
    match error.retry_after {
        Some(RetryAfter::Seconds(seconds)) => {
            failure.hint(format!("the agent asks to come back after {seconds} s"))
        }
        Some(RetryAfter::At(second)) => {
            let moment = Timestamp::from_micros(second.saturating_mul(1_000_000)).to_string();
            let moment = super::super::seconds(&moment);
            failure.hint(format!("the agent asks to come back at {moment}"))
        }
        None => failure,
    }
}

/// What an A2A error asks of whoever typed the command, with `--task` or without.
fn of_kind(kind: ErrorKind, continues: bool) -> Option<&'static str> {
    match kind {
        ErrorKind::ContentTypeNotSupported => {
            Some("`missive agent inspect ALIAS` shows which media types the agent takes")
        }
        ErrorKind::TaskNotFound if !continues => {
            Some("`missive task list` shows the tasks that the log knows")
        }
        ErrorKind::TaskNotFound => {
            Some("the agent does not know the task (any more): leave --task out to open a new one")
        }
        ErrorKind::UnsupportedOperation if continues => {
            Some("if the task is over, leave --task out to open a new one in the same --context")
        }
        ErrorKind::UnsupportedOperation
        | ErrorKind::TaskNotCancelable
        | ErrorKind::PushNotificationNotSupported
        | ErrorKind::InvalidAgentResponse
        | ErrorKind::ExtendedAgentCardNotConfigured
        | ErrorKind::ExtensionSupportRequired
        | ErrorKind::VersionNotSupported
        | ErrorKind::ParseError
        | ErrorKind::InvalidRequest
        | ErrorKind::MethodNotFound
        | ErrorKind::InvalidParams
        | ErrorKind::Internal
        | ErrorKind::Other
        | ErrorKind::Unauthenticated
        | ErrorKind::Forbidden
        | ErrorKind::RateLimited
        | ErrorKind::HttpStatus => None,
    }
}
