//! The message that the user sends, as plain values and as the exact bytes that leave.
//!
//! JSON that the user gave is inserted as text, so that an integer beyond 2^53 leaves as it was
//! typed. What is absent is left out: `tenant` in particular must not be invented (A2A 1.0, 8.3.2).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::json::JsonText;

/// What `SendMessage` is called with (A2A 1.0, section 3.2.1).
#[derive(Clone, Debug, Default)]
pub struct SendMessage {
    /// Unique, and logged before anything is sent: a retry repeats it.
    pub message_id: String,
    /// The conversation to continue.
    pub context_id: Option<String>,
    /// The task to continue.
    pub task_id: Option<String>,
    /// Other tasks that the message speaks of.
    pub reference_task_ids: Vec<String>,
    /// At least one.
    pub parts: Vec<Part>,
    /// A JSON object, sent as the message's metadata.
    pub metadata: Option<JsonText>,
    /// Media types that the user can take.
    pub accepted_output_modes: Vec<String>,
    /// How many messages of history the answer should hold; `None` leaves it to the agent.
    pub history_length: Option<u32>,
    /// Answer as soon as the task exists, instead of when it ends or waits.
    pub return_immediately: bool,
}

/// One part of the message.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it holds.
    pub content: Content,
    /// A file name for the peer.
    pub filename: Option<String>,
    /// The media type of the content.
    pub media_type: Option<String>,
    /// A JSON object.
    pub metadata: Option<JsonText>,
}

/// What a part holds: exactly one of four.
#[derive(Clone, Debug)]
pub enum Content {
    /// Text.
    Text(String),
    /// Bytes, sent as base64.
    Raw(Vec<u8>),
    /// The address of a file.
    Url(String),
    /// Any JSON, sent exactly as given.
    Data(JsonText),
}

impl Part {
    /// A part of plain text.
    pub fn text(text: &str) -> Self {
        let content = Content::Text(text.to_owned());
        Self {
            content,
            filename: None,
            media_type: None,
            metadata: None,
        }
    }
}

/// `SendMessageRequest`: the HTTP+JSON body, and the params of JSON-RPC.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SendMessageRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    message: Outgoing<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<Configuration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outgoing<'a> {
    message_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    role: &'static str,
    parts: Vec<WirePart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a JsonText>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    reference_task_ids: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Configuration<'a> {
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    accepted_output_modes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    return_immediately: bool,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a JsonText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a JsonText>,
}

impl SendMessage {
    pub(super) fn request<'a>(&'a self, tenant: Option<&'a str>) -> SendMessageRequest<'a> {
        let configured = !self.accepted_output_modes.is_empty()
            || self.history_length.is_some()
            || self.return_immediately;
        SendMessageRequest {
            tenant,
            message: Outgoing {
                message_id: &self.message_id,
                context_id: self.context_id.as_deref(),
                task_id: self.task_id.as_deref(),
                role: "ROLE_USER",
                parts: self.parts.iter().map(Part::wire).collect(),
                metadata: self.metadata.as_ref(),
                reference_task_ids: &self.reference_task_ids,
            },
            configuration: configured.then_some(Configuration {
                accepted_output_modes: &self.accepted_output_modes,
                history_length: self.history_length,
                return_immediately: self.return_immediately,
            }),
        }
    }
}

impl Part {
    fn wire(&self) -> WirePart<'_> {
        let mut wire = WirePart {
            filename: self.filename.as_deref(),
            media_type: self.media_type.as_deref(),
            metadata: self.metadata.as_ref(),
            ..WirePart::default()
        };
        match &self.content {
            Content::Text(text) => wire.text = Some(text),
            Content::Raw(bytes) => wire.raw = Some(STANDARD.encode(bytes)),
            Content::Url(url) => wire.url = Some(url),
            Content::Data(json) => wire.data = Some(json),
        }
        wire
    }
}
