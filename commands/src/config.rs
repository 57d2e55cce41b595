//! The configuration as a value.
//!
//! Where it comes from (files, flags, variables) is the command line's concern: nothing here reads
//! anything, and no secret is ever in it, only names of places where secrets are.

use crate::wire::signature::Key;
use crate::wire::version::Binding;
use std::collections::BTreeMap;
use std::time::Duration;

/// Everything that can be configured. [`Config::default`] is what holds without a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// The profile that is used when the command line names none.
    pub default_profile: Option<String>,
    /// Overrides for single profiles, by name.
    pub profiles: BTreeMap<String, Profile>,
    /// Agents that are there without being registered; read-only.
    pub agents: BTreeMap<String, AgentSeed>,
    /// Where credentials are, by name.
    pub auth_refs: BTreeMap<String, AuthRef>,
    /// Who may sign the cards of an agent, by its alias, whoever registered it.
    pub trust: BTreeMap<String, CardTrust>,
    /// How results are printed.
    pub output: Output,
    /// Where the gateway listens.
    pub gateway: Gateway,
    /// What is spoken with peers.
    pub protocol: Protocol,
    /// Bounds on time, size and repetition.
    pub qos: Qos,
    /// How members of groups are chosen.
    pub routing: Routing,
    /// Local programs and folders that take part, by name.
    pub adapters: BTreeMap<String, Adapter>,
    /// How the log behaves.
    pub log: Log,
}

impl Config {
    /// The protocol section that holds in a profile.
    pub fn protocol_of(&self, profile: &str) -> &Protocol {
        self.profiles
            .get(profile)
            .and_then(|found| found.protocol.as_ref())
            .unwrap_or(&self.protocol)
    }

    /// The bounds that hold in a profile.
    pub fn qos_of(&self, profile: &str) -> &Qos {
        self.profiles
            .get(profile)
            .and_then(|found| found.qos.as_ref())
            .unwrap_or(&self.qos)
    }
}

/// What is different in one profile. A section that is present replaces the general one key by key
/// when the file is read, so it is complete here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// Instead of the general section.
    pub protocol: Option<Protocol>,
    /// Instead of the general section.
    pub qos: Option<Qos>,
}

/// An agent from the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSeed {
    /// Its base URL, as written: http or https, not yet validated further.
    pub url: String,
    /// Interfaces that are used whatever the card says, best first.
    pub interfaces: Vec<(Binding, String)>,
    /// Bindings that are preferred over the card's order, best first.
    pub binding_preference: Vec<Binding>,
    /// The name of an entry of [`Config::auth_refs`]; it exists.
    pub auth_ref: Option<String>,
    /// Labels to find the agent by.
    pub tags: Vec<String>,
    /// A remark for people.
    pub notes: Option<String>,
    /// Further facts.
    pub metadata: BTreeMap<String, String>,
}

/// Who may sign the cards of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CardTrust {
    /// Public keys. If there are any, here or in the log, no other key counts.
    pub keys: Vec<Key>,
    /// Origins from which keys may be taken, as `https://host[:port]`.
    pub origins: Vec<String>,
}

/// Where a credential is, and how it is sent. Never the credential itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthRef {
    /// Where it is.
    pub place: SecretPlace,
    /// How it is sent.
    pub scheme: AuthScheme,
}

/// Where a credential is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretPlace {
    /// In this environment variable.
    Env(String),
    /// In the keyring of the system.
    Keyring {
        /// The service that the entry belongs to.
        service: String,
        /// The account within the service.
        account: String,
    },
}

/// How a credential is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthScheme {
    /// `Authorization: Bearer <credential>`.
    Bearer,
    /// `<name>: <credential>`.
    Header(String),
}

/// How results are printed when no flag says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output {
    /// Text, JSON or NDJSON.
    pub format: Format,
    /// False means never; true means on terminals.
    pub colour: bool,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            format: Format::Human,
            colour: true,
        }
    }
}

/// The forms of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Human,
    /// One document.
    Json,
    /// One document a line.
    Ndjson,
}

/// Where the gateway listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// An IP address.
    pub bind_address: std::net::IpAddr,
    /// A TCP port; 0 lets the system choose.
    pub port: u16,
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            bind_address: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
            port: 7347,
        }
    }
}

/// What is spoken with peers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Protocol {
    /// `Major.Minor`; without it, the newest that both sides speak.
    pub version: Option<String>,
    /// Extension URIs that are asked for with every request.
    pub extensions: Vec<String>,
    /// Further service parameters of every request.
    pub service_params: BTreeMap<String, String>,
    /// Bindings that are preferred over the card's order, best first.
    pub binding_preference: Vec<Binding>,
}

/// Bounds on time, size and repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qos {
    /// Until a connection stands.
    pub connect_timeout: Duration,
    /// From the request's last byte to the answer's first; `None` waits for ever.
    pub first_byte_timeout: Option<Duration>,
    /// Between two bytes of an answer.
    pub idle_timeout: Duration,
    /// For the whole operation; `None` waits for ever.
    pub total_timeout: Option<Duration>,
    /// How often a request that is safe to repeat is repeated.
    pub retries_max: u32,
    /// The longest request body, in bytes.
    pub request_bytes_max: u64,
    /// The longest response body, in bytes.
    pub response_bytes_max: u64,
    /// The longest agent card, in bytes.
    pub card_bytes_max: u64,
    /// Requests that run at the same time.
    pub concurrency_max: u32,
    /// How often a stream that broke is resumed.
    pub stream_resumes_max: u32,
    /// The longest line of an event stream, in bytes.
    pub stream_line_bytes_max: u64,
    /// The longest event of an event stream, in bytes.
    pub stream_event_bytes_max: u64,
}

impl Default for Qos {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: None,
            idle_timeout: Duration::from_secs(5 * 60),
            total_timeout: None,
            retries_max: 2,
            request_bytes_max: 32 << 20,
            response_bytes_max: 32 << 20,
            card_bytes_max: 1 << 20,
            concurrency_max: 16,
            stream_resumes_max: 3,
            stream_line_bytes_max: 16 << 20,
            stream_event_bytes_max: 16 << 20,
        }
    }
}

/// How members of groups are chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Routing {
    /// The policy of groups that name none.
    pub policy: Option<String>,
}

/// A local program or folder that takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Adapter {
    /// A program that is spoken to on its standard streams.
    Stdio {
        /// The program and its arguments; never handed to a shell.
        command: Vec<String>,
    },
    /// A folder that files are put into.
    FileDrop {
        /// An absolute path.
        folder: std::path::PathBuf,
    },
}

/// How the log behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// How much memory the store may use for caching, in bytes.
    pub cache_bytes_max: u64,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            cache_bytes_max: 16 << 20,
        }
    }
}
