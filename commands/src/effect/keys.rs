//! Fetching the keys of a card's signer from an address that is allowed for it.
//!
//! The address was chosen by whoever signed, so nothing of the user goes there: no credentials, no
//! parameters, one small answer within a short time, and no way to another origin (C015, C017).

use std::time::Duration;

use url::Url;

use super::http::{Deadline, HttpCaller, Sent};
use super::reach::Reach;
use crate::wire::headers::HeaderText;
use crate::wire::request::{Bounds, Request, Verb};
use crate::wire::signature::{KEYS_BYTES_MAX, KeySet, read_keys};

/// The longest wait for the head of an answer.
const HEAD_TIME_MAX: Duration = Duration::from_secs(15);

/// Asks one address for its key set. What goes wrong is part of what is returned.
pub(crate) async fn fetch_keys(
    caller: &HttpCaller,
    url: &Url,
    deadline: Option<Deadline>,
) -> KeySet {
    let accept = "application/jwk-set+json, application/json;q=0.9";
    let request = Request {
        verb: Verb::Get,
        url: url.clone(),
        headers: vec![("Accept".to_owned(), HeaderText::Plain(accept.to_owned()))],
        body: None,
        bounds: Bounds {
            first_byte: Some(HEAD_TIME_MAX),
            response_bytes_max: Some(KEYS_BYTES_MAX),
        },
    };
    let call = caller.call(&request, deadline, &Sent::default()).await;
    let keys = match (call.reach, call.refused_redirect) {
        (_, Some(refused)) => Err(refused.to_string()),
        (Reach::NotSent(error) | Reach::NothingBack(error) | Reach::Partial { error, .. }, _) => {
            Err(error.to_string())
        }
        (Reach::Answered(answer), None) if !(200..300).contains(&answer.status) => {
            Err(format!("HTTP {}", answer.status))
        }
        (Reach::Answered(answer), None) if answer.headers.coding().is_some() => {
            Err("it is compressed, which was not asked for".to_owned())
        }
        (Reach::Answered(answer), None) => {
            read_keys(&answer.body).map_err(|error| error.to_string())
        }
    };
    KeySet {
        jku: url.to_string(),
        keys,
    }
}
