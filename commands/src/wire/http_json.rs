//! HTTP+JSON requests (A2A 1.0, section 11): bare objects, ids and tenants in the path.

use url::Url;

use super::headers::HeaderText;
use super::negotiate::Choice;
use super::request::{Bounds, BuildError, Operation, Request, Verb, below, segment};

/// The media type of bodies (section 11.1).
pub(super) const MEDIA: &str = "application/a2a+json";

/// Builds a request without the headers that all bindings share.
pub(super) fn build(choice: &Choice, operation: &Operation) -> Result<Request, BuildError> {
    let plain = |name: &str, value: &str| (name.to_owned(), HeaderText::Plain(value.to_owned()));
    let mut headers = vec![plain(
        "Accept",
        "application/a2a+json, application/json;q=0.9",
    )];
    let tenant = choice.tenant.as_deref();
    // GET has no body to hold the tenant, so it stands in the path (checklist section 4).
    let prefix = match tenant {
        Some(tenant) => format!("/{}", segment(tenant)?),
        None => String::new(),
    };
    match operation {
        Operation::SendMessage(send) => {
            let body = serde_json::to_vec(&send.request(tenant)).map_err(|_| BuildError::Json)?;
            headers.push(plain("Content-Type", MEDIA));
            let url = below(&choice.url, "/message:send")?;
            Ok(Request {
                verb: Verb::Post,
                url,
                headers,
                body: Some(body),
                bounds: Bounds::default(),
            })
        }
        Operation::GetTask {
            task_id,
            history_length,
        } => {
            let mut url = below(
                &choice.url,
                &format!("{prefix}/tasks/{}", segment(task_id)?),
            )?;
            append(&mut url, "historyLength", *history_length);
            Ok(get(url, headers))
        }
        Operation::ListTasks(list) => {
            let mut url = below(&choice.url, &format!("{prefix}/tasks"))?;
            append(&mut url, "contextId", list.context_id.as_ref());
            append(&mut url, "pageSize", list.page_size);
            append(&mut url, "pageToken", list.page_token.as_ref());
            append(&mut url, "historyLength", list.history_length);
            Ok(get(url, headers))
        }
    }
}

fn append(url: &mut Url, name: &str, value: Option<impl ToString>) {
    if let Some(value) = value {
        url.query_pairs_mut().append_pair(name, &value.to_string());
    }
}

fn get(url: Url, headers: Vec<(String, HeaderText)>) -> Request {
    Request {
        verb: Verb::Get,
        url,
        headers,
        body: None,
        bounds: Bounds::default(),
    }
}
