//! HTTP+JSON requests (A2A 1.0, section 11): bare objects, ids and tenants in the path.

use serde::Serialize;
use url::Url;

use super::headers::HeaderText;
use super::negotiate::Choice;
use super::push::PushCall;
use super::request::{Bounds, BuildError, ListTasks, Operation, Request, Verb, below, segment};
use super::state::TaskState;

/// The media type of bodies (section 11.1).
pub(super) const MEDIA: &str = "application/a2a+json";

/// Builds a request without the headers that all bindings share.
pub(super) fn build(choice: &Choice, operation: &Operation) -> Result<Request, BuildError> {
    let plain = |name: &str, value: &str| (name.to_owned(), HeaderText::Plain(value.to_owned()));
    // A stream that cannot begin is answered with an error as JSON.
    let accept = if operation.is_streamed() {
        "text/event-stream, application/a2a+json;q=0.9, application/json;q=0.8"
    } else {
        "application/a2a+json, application/json;q=0.9"
    };
    let headers = vec![plain("Accept", accept)];
    let tenant = choice.tenant.as_deref();
    // GET has no body to hold the tenant, so it stands in the path (checklist section 4).
    let prefix = match tenant {
        Some(tenant) => format!("/{}", segment(tenant)?),
        None => String::new(),
    };
    match operation {
        Operation::SendMessage(send) | Operation::SendStreamingMessage(send) => {
            let path = if operation.is_streamed() {
                "/message:stream"
            } else {
                "/message:send"
            };
            post(below(&choice.url, path)?, headers, &send.request(tenant))
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
        Operation::ListTasks(list) => Ok(get(list_url(choice, list, &prefix)?, headers)),
        Operation::CancelTask { task_id } => {
            let path = format!("/tasks/{}:cancel", segment(task_id)?);
            post(below(&choice.url, &path)?, headers, &OnTask { tenant })
        }
        Operation::SubscribeToTask { task_id, verb } => {
            let path = format!("/tasks/{}:subscribe", segment(task_id)?);
            match verb {
                Verb::Post | Verb::Delete => {
                    post(below(&choice.url, &path)?, headers, &OnTask { tenant })
                }
                Verb::Get => Ok(get(
                    below(&choice.url, &format!("{prefix}{path}"))?,
                    headers,
                )),
            }
        }
        Operation::GetExtendedCard => {
            let url = below(&choice.url, &format!("{prefix}/extendedAgentCard"))?;
            Ok(get(url, headers))
        }
        Operation::Push(push) => build_push(choice, push, &prefix, headers),
    }
}

/// Where the tasks are listed, with the filters as query.
fn list_url(choice: &Choice, list: &ListTasks, prefix: &str) -> Result<Url, BuildError> {
    let mut url = below(&choice.url, &format!("{prefix}/tasks"))?;
    append(&mut url, "contextId", list.context_id.as_ref());
    append(
        &mut url,
        "status",
        list.status.as_ref().map(TaskState::wire_name),
    );
    append(
        &mut url,
        "statusTimestampAfter",
        list.status_timestamp_after.as_ref(),
    );
    append(
        &mut url,
        "includeArtifacts",
        list.include_artifacts.then_some(true),
    );
    append(&mut url, "pageSize", list.page_size);
    append(&mut url, "pageToken", list.page_token.as_ref());
    append(&mut url, "historyLength", list.history_length);
    Ok(url)
}

fn build_push(
    choice: &Choice,
    push: &PushCall,
    prefix: &str,
    headers: Vec<(String, HeaderText)>,
) -> Result<Request, BuildError> {
    let path = push.path()?;
    match push {
        PushCall::Create(_) => {
            let body = push.object(choice.tenant.as_deref());
            post(below(&choice.url, &path)?, headers, &body)
        }
        PushCall::Get { .. } => Ok(get(
            below(&choice.url, &format!("{prefix}{path}"))?,
            headers,
        )),
        PushCall::List {
            page_size,
            page_token,
            ..
        } => {
            let mut url = below(&choice.url, &format!("{prefix}{path}"))?;
            append(&mut url, "pageSize", *page_size);
            append(&mut url, "pageToken", page_token.as_ref());
            Ok(get(url, headers))
        }
        PushCall::Delete { .. } => Ok(Request {
            verb: Verb::Delete,
            ..get(below(&choice.url, &format!("{prefix}{path}"))?, headers)
        }),
    }
}

/// What the body of a POST about a task holds: its id stands in the path.
#[derive(Serialize)]
struct OnTask<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
}

fn post(
    url: Url,
    mut headers: Vec<(String, HeaderText)>,
    body: &impl Serialize,
) -> Result<Request, BuildError> {
    let media = HeaderText::Plain(MEDIA.to_owned());
    headers.push(("Content-Type".to_owned(), media));
    Ok(Request {
        verb: Verb::Post,
        url,
        headers,
        body: Some(serde_json::to_vec(body).map_err(|_| BuildError::Json)?),
        bounds: Bounds::default(),
    })
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
