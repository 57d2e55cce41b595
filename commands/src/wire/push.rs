//! Push notification configurations (A2A 1.0, sections 3.1.7 to 3.1.10): calls and their answers.
//!
//! The shape is the flat one of 1.0, and an answer in the nested one that went before is read and flagged.
//! The token and the credentials of a configuration are for the peer alone: they are written into the
//! request, and of what comes back only their presence is read.

use serde::Serialize;
use serde_json::Value;
use url::Url;

use super::facts::{identifier, list, string};
use super::json::JsonText;
use super::request::{BuildError, segment};
use super::violation::Violations;
use crate::secret::Secret;

/// What is asked of an agent about the push notifications of a task.
#[derive(Clone, Debug)]
pub enum PushCall {
    /// `CreateTaskPushNotificationConfig`
    Create(NewPushConfig),
    /// `GetTaskPushNotificationConfig`
    Get {
        /// Which task.
        task_id: String,
        /// Which configuration.
        config_id: String,
    },
    /// `ListTaskPushNotificationConfigs`
    List {
        /// Which task.
        task_id: String,
        /// 1 to 100; `None` leaves it to the agent.
        page_size: Option<u32>,
        /// From the page before.
        page_token: Option<String>,
    },
    /// `DeleteTaskPushNotificationConfig`
    Delete {
        /// Which task.
        task_id: String,
        /// Which configuration.
        config_id: String,
    },
}

/// A configuration that an agent is asked to take (A2A 1.0, section 4.3.1).
#[derive(Clone, Debug)]
pub struct NewPushConfig {
    /// Which task.
    pub task_id: String,
    /// Its id, where the agent is not to choose it.
    pub config_id: Option<String>,
    /// Where the agent is to deliver.
    pub url: Url,
    /// What it sends along, so that the receiver knows whom it hears.
    pub token: Option<Secret>,
    /// How it authenticates to the receiver.
    pub authentication: Option<PushAuthentication>,
    /// A JSON object that stays here: A2A 1.0 has no place for it.
    pub metadata: Option<JsonText>,
}

/// How an agent authenticates to a receiver (A2A 1.0, section 4.3.2).
#[derive(Clone, Debug)]
pub struct PushAuthentication {
    /// One name of the IANA registry, such as `Bearer`.
    pub scheme: String,
    /// What follows it in `Authorization`.
    pub credentials: Option<Secret>,
}

/// A configuration as an agent tells it, without its secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushConfig {
    /// Its id.
    pub config_id: Option<String>,
    /// Its task.
    pub task_id: Option<String>,
    /// Where it delivers.
    pub url: Option<String>,
    /// Whether it has a token.
    pub token: bool,
    /// Its authentication scheme, if it has one.
    pub scheme: Option<String>,
    /// Whether it told its credentials.
    pub credentials: bool,
}

/// What an agent answered.
#[derive(Clone, Debug)]
pub enum PushReply {
    /// One configuration.
    Config(PushConfig),
    /// One page of them.
    Configs {
        /// Facts and exact text of each.
        configs: Vec<(PushConfig, String)>,
        /// What to ask for the next page with; `None` on the last.
        next_page_token: Option<String>,
    },
    /// Done, and there is nothing to say.
    Deleted,
}

impl PushCall {
    /// The task that it is about.
    pub fn task_id(&self) -> &str {
        match self {
            Self::Create(NewPushConfig { task_id, .. })
            | Self::Get { task_id, .. }
            | Self::List { task_id, .. }
            | Self::Delete { task_id, .. } => task_id,
        }
    }

    /// The method in JSON-RPC (section 9.4).
    pub(super) fn method(&self) -> &'static str {
        match self {
            Self::Create(_) => "CreateTaskPushNotificationConfig",
            Self::Get { .. } => "GetTaskPushNotificationConfig",
            Self::List { .. } => "ListTaskPushNotificationConfigs",
            Self::Delete { .. } => "DeleteTaskPushNotificationConfig",
        }
    }

    /// Whether repeating it changes nothing: without an id, each creation makes another configuration.
    pub(super) fn is_repeatable(&self) -> bool {
        match self {
            Self::Create(config) => config.config_id.is_some(),
            Self::Get { .. } | Self::List { .. } | Self::Delete { .. } => true,
        }
    }

    /// The path over HTTP, below the interface and its tenant.
    pub(super) fn path(&self) -> Result<String, BuildError> {
        let task = segment(self.task_id())?;
        let base = format!("/tasks/{task}/pushNotificationConfigs");
        Ok(match self {
            Self::Create(_) | Self::List { .. } => base,
            Self::Get { config_id, .. } | Self::Delete { config_id, .. } => {
                format!("{base}/{}", segment(config_id)?)
            }
        })
    }

    /// The object that JSON-RPC takes as parameters, and a creation over HTTP as body.
    pub(super) fn object<'a>(&'a self, tenant: Option<&'a str>) -> PushObject<'a> {
        let empty = PushObject {
            tenant,
            task_id: self.task_id(),
            ..PushObject::default()
        };
        match self {
            Self::Create(config) => PushObject {
                id: config.config_id.as_deref(),
                url: Some(config.url.as_str()),
                token: config.token.as_ref().map(Secret::expose),
                authentication: config.authentication.as_ref().map(|how| Authentication {
                    scheme: &how.scheme,
                    credentials: how.credentials.as_ref().map(Secret::expose),
                }),
                ..empty
            },
            Self::Get { config_id, .. } | Self::Delete { config_id, .. } => PushObject {
                id: Some(config_id),
                ..empty
            },
            Self::List {
                page_size,
                page_token,
                ..
            } => PushObject {
                page_size: *page_size,
                page_token: page_token.as_deref(),
                ..empty
            },
        }
    }
}

/// The members of all four requests; each has some of them.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PushObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    task_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication: Option<Authentication<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_token: Option<&'a str>,
}

#[derive(Serialize)]
struct Authentication<'a> {
    scheme: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<&'a str>,
}

/// Reads a configuration from a normalised value.
pub(super) fn config(value: &Value, odd: &mut Violations) -> PushConfig {
    // Until 1.0 the configuration was a member, beside the id of its task.
    let nested = value
        .get("pushNotificationConfig")
        .filter(|nested| nested.is_object());
    if nested.is_some() {
        odd.note(
            "missing_field",
            "the push configuration is nested as it was before 1.0",
        );
    }
    let flat = nested.unwrap_or(value);
    let authentication = flat.get("authentication").unwrap_or(&Value::Null);
    let is_said = |value: &Value, name: &str| {
        let text = value.get(name).and_then(Value::as_str);
        text.is_some_and(|text| !text.is_empty())
    };
    let facts = PushConfig {
        config_id: identifier(flat, "id", odd),
        task_id: identifier(value, "taskId", odd),
        url: string(flat, "url", odd).filter(|url| !url.is_empty()),
        token: is_said(flat, "token"),
        scheme: string(authentication, "scheme", odd).filter(|scheme| !scheme.is_empty()),
        credentials: is_said(authentication, "credentials"),
    };
    for (absent, name) in [
        (facts.config_id.is_none(), "id"),
        (facts.url.is_none(), "url"),
    ] {
        if absent {
            odd.note(
                "missing_field",
                format!("the push configuration has no {name}"),
            );
        }
    }
    facts
}

/// Reads one page of configurations; `texts` are the exact texts of the list's elements.
pub(super) fn configs(value: &Value, texts: &[&str], odd: &mut Violations) -> PushReply {
    let values: Vec<&Value> = list(value, "configs", odd).collect();
    let read = values.into_iter().zip(texts);
    PushReply::Configs {
        configs: read
            .map(|(value, text)| (config(value, odd), (*text).to_owned()))
            .collect(),
        next_page_token: string(value, "nextPageToken", odd).filter(|token| !token.is_empty()),
    }
}

#[cfg(test)]
#[path = "push_tests.rs"]
mod tests;
