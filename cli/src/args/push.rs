//! `missive push` and `missive webhook`: updates that agents deliver by themselves.

use super::value::{Pair, Target, id, identifier, variable};
use missive_log::event::{PushConfigId, TaskId};
use std::net::IpAddr;

/// The subcommands of `push`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Push {
    /// Ask an agent to push the updates of a task to a URL
    #[command(after_help = "Examples:
  missive push create planner t-1 https://hooks.example/a2a/push --token-env HOOK_TOKEN
  missive push create planner t-1 https://hooks.example/a2a/push --auth-scheme Bearer \\
      --auth-credentials-env HOOK_TOKEN

What arrives there can be received with `missive webhook run`. Token and credentials go to the agent and
nowhere else: no log and no output has them.")]
    Create(Box<Create>),

    /// Show one push configuration, as the agent has it
    #[command(after_help = "Examples:
  missive push get planner t-1 c-1")]
    Get(Named),

    /// List the push configurations of a task, as the agent has them
    #[command(after_help = "Examples:
  missive push list planner t-1
  missive push list planner t-1 --ndjson | jq -r .data.config.url")]
    List(List),

    /// Ask an agent to push no more
    #[command(after_help = "Examples:
  missive push delete planner t-1 c-1")]
    Delete(Named),
}

/// `push create`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Create {
    /// The agent: an alias or a URL
    pub(crate) agent: Target,

    /// The task's id
    #[arg(value_name = "TASK", value_parser = id::<TaskId>)]
    pub(crate) task: TaskId,

    /// Where the agent is to deliver: an absolute http or https URL without credentials
    pub(crate) url: String,

    /// The id of the configuration, instead of one that the agent chooses
    #[arg(long, value_name = "ID", value_parser = id::<PushConfigId>)]
    pub(crate) config_id: Option<PushConfigId>,

    /// The agent sends the value of this environment variable along as token
    #[arg(long, value_name = "ENV", value_parser = variable)]
    pub(crate) token_env: Option<String>,

    /// The agent authenticates by this scheme, such as Bearer
    #[arg(long, value_name = "SCHEME", value_parser = scheme)]
    pub(crate) auth_scheme: Option<String>,

    /// The agent authenticates with the value of this environment variable
    #[arg(long, value_name = "ENV", value_parser = variable, requires = "auth_scheme")]
    pub(crate) auth_credentials_env: Option<String>,

    /// Further facts about it, kept here and not sent (repeat)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) metadata: Vec<Pair>,
}

/// `push list`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct List {
    /// The agent: an alias or a URL
    pub(crate) agent: Target,

    /// The task's id
    #[arg(value_name = "TASK", value_parser = id::<TaskId>)]
    pub(crate) task: TaskId,
}

/// `push get` and `push delete`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Named {
    /// The agent: an alias or a URL
    pub(crate) agent: Target,

    /// The task's id
    #[arg(value_name = "TASK", value_parser = id::<TaskId>)]
    pub(crate) task: TaskId,

    /// The configuration's id
    // Not `config`: that is a global option.
    #[arg(value_name = "CONFIG", value_parser = id::<PushConfigId>)]
    pub(crate) config_id: PushConfigId,
}

/// The subcommands of `webhook`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Webhook {
    /// Receive push notifications; each is durable before its sender is answered
    #[command(after_help = "Examples:
  missive webhook run --auth-token-env HOOK_TOKEN
  missive webhook run --port 8080 --path /hooks/a2a --max-events 1 --timeout 5m --ndjson

A delivery is answered with 202 once it is in the log, whoever asks for the token is answered with 401, and
what is no update with 400. The token may stand in the header of --auth-header, behind --auth-scheme, or
alone in X-A2A-Notification-Token or A2A-Notification-Token, and a wrong one in any of them is refused; give
--token-env where these two hold another token. TLS is for a proxy in front of it.
docs/webhooks.md has a recipe.

Exit codes: 0 after --max-events, 82 when --timeout is over, 130 and 143 after an interrupt.")]
    Run(WebhookRun),
}

/// `webhook run`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WebhookRun {
    /// Listen on this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) bind_address: IpAddr,

    /// Listen on this port; 0: any that is free
    #[arg(long, default_value_t = 7347)]
    pub(crate) port: u16,

    /// Take deliveries at this path
    #[arg(long, default_value = "/a2a/push", value_parser = path)]
    pub(crate) path: String,

    /// Take only deliveries that carry the value of this environment variable
    #[arg(long, value_name = "ENV", value_parser = variable)]
    pub(crate) auth_token_env: Option<String>,

    /// The header that carries it
    #[arg(
        long,
        value_name = "NAME",
        default_value = "Authorization",
        requires = "auth_token_env"
    )]
    pub(crate) auth_header: String,

    /// The word in front of it in that header; none: it stands alone
    #[arg(long, value_name = "SCHEME", default_value = "Bearer", requires = "auth_token_env",
        value_parser = scheme)]
    pub(crate) auth_scheme: String,

    /// The variable with the push configuration's own token, where that is not the value of --auth-token-env:
    /// then both must be right
    #[arg(long, value_name = "ENV", value_parser = variable)]
    pub(crate) token_env: Option<String>,

    /// Stop after so many accepted deliveries
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_events: Option<u64>,
}

/// An authentication scheme: one word (RFC 9110, section 11.1).
fn scheme(text: &str) -> Result<String, &'static str> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if text.is_empty() || text.len() > 64 || !text.bytes().all(is_token) {
        return Err("a scheme is one word, such as Bearer");
    }
    Ok(text.to_owned())
}

/// The path of a URL.
fn path(text: &str) -> Result<String, String> {
    let text = identifier(text).map_err(|refused| refused.to_string())?;
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#');
    if !text.starts_with('/') || !text.bytes().all(plain) {
        return Err("a path begins with `/` and holds neither spaces nor `?` nor `#`".to_owned());
    }
    if matches!(text.as_str(), "/healthz" | "/readyz") {
        return Err("/healthz and /readyz tell how the receiver is".to_owned());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{path, scheme};

    #[test]
    fn a_path_is_one_that_a_request_can_name() {
        for good in ["/", "/a2a/push", "/hooks/a2a%20b"] {
            assert!(path(good).is_ok(), "{good:?}");
        }
        for wrong in ["", "a2a", "/a b", "/a?b", "/a#b", "/\u{e9}", "/healthz"] {
            assert!(path(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_scheme_is_one_word() {
        assert!(scheme("Bearer").is_ok() && scheme("none").is_ok());
        for wrong in ["", "a b", "a:b", "B\u{e9}"] {
            assert!(scheme(wrong).is_err(), "{wrong:?}");
        }
    }
}
