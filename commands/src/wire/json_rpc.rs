//! JSON-RPC requests (A2A 1.0, section 9): one address, the method in the body.

use serde::Serialize;

use super::headers::HeaderText;
use super::negotiate::Choice;
use super::request::{Bounds, BuildError, Operation, Request, Verb, absolute};
use super::state::TaskState;

#[derive(Serialize)]
struct Envelope<'a, P: Serialize> {
    jsonrpc: &'static str,
    id: &'a str,
    method: &'static str,
    params: P,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GetTaskParams<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListTasksParams<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_timestamp_after: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include_artifacts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<u32>,
}

/// The params of `CancelTask` and `SubscribeToTask`.
#[derive(Serialize)]
struct OnTaskParams<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    id: &'a str,
}

/// The params of `GetExtendedAgentCard`.
#[derive(Serialize)]
struct OnAgentParams<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
}

/// Builds a request without the headers that all bindings share.
pub(super) fn build(
    choice: &Choice,
    operation: &Operation,
    id: &str,
) -> Result<Request, BuildError> {
    let tenant = choice.tenant.as_deref();
    let body = match operation {
        Operation::SendMessage(send) => envelope(id, "SendMessage", send.request(tenant)),
        Operation::GetTask {
            task_id,
            history_length,
        } => {
            let params = GetTaskParams {
                tenant,
                id: task_id,
                history_length: *history_length,
            };
            envelope(id, "GetTask", params)
        }
        Operation::ListTasks(list) => {
            let params = ListTasksParams {
                tenant,
                context_id: list.context_id.as_deref(),
                status: list.status.as_ref().map(TaskState::wire_name),
                status_timestamp_after: list.status_timestamp_after.as_deref(),
                include_artifacts: list.include_artifacts.then_some(true),
                page_size: list.page_size,
                page_token: list.page_token.as_deref(),
                history_length: list.history_length,
            };
            envelope(id, "ListTasks", params)
        }
        Operation::CancelTask { task_id } => envelope(
            id,
            "CancelTask",
            OnTaskParams {
                tenant,
                id: task_id,
            },
        ),
        Operation::SendStreamingMessage(send) => {
            envelope(id, "SendStreamingMessage", send.request(tenant))
        }
        Operation::SubscribeToTask { task_id, .. } => envelope(
            id,
            "SubscribeToTask",
            OnTaskParams {
                tenant,
                id: task_id,
            },
        ),
        Operation::GetExtendedCard => {
            envelope(id, "GetExtendedAgentCard", OnAgentParams { tenant })
        }
        Operation::Push(push) => envelope(id, push.method(), push.object(tenant)),
    }?;
    let plain = |name: &str, value: &str| (name.to_owned(), HeaderText::Plain(value.to_owned()));
    let accept = if operation.is_streamed() {
        "text/event-stream, application/json;q=0.9"
    } else {
        "application/json"
    };
    let headers = vec![
        plain("Accept", accept),
        plain("Content-Type", "application/json"),
    ];
    Ok(Request {
        verb: Verb::Post,
        url: absolute(&choice.url)?,
        headers,
        body: Some(body),
        bounds: Bounds::default(),
    })
}

fn envelope<P: Serialize>(
    id: &str,
    method: &'static str,
    params: P,
) -> Result<Vec<u8>, BuildError> {
    serde_json::to_vec(&Envelope {
        jsonrpc: "2.0",
        id,
        method,
        params,
    })
    .map_err(|_| BuildError::Json)
}
