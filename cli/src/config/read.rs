//! From the tables of a file to the [`Config`] value.

use super::walk::{Source, Table};
use crate::args::value;
use crate::failure::Failure;
use crate::keys;
use missive_commands::config::{
    Adapter, AgentSeed, AuthRef, AuthScheme, CardTrust, Config, Format, Gateway, Log, Output,
    Profile, Protocol, Qos, Routing, SecretPlace,
};
use missive_commands::wire::signature::key_origin;
use missive_commands::wire::version::Binding;
use std::collections::BTreeMap;
use toml::de::DeTable;

/// The schema of the files that this release reads.
pub(crate) const SCHEMA_VERSION: &str = "missive.config.v1";

const BYTES_MAX: u64 = 4 << 30;

/// Reads a whole file.
pub(crate) fn config(source: &Source<'_>) -> Result<Config, Failure> {
    let parsed = DeTable::parse(source.text).map_err(|error| {
        source.error(
            &error.span().unwrap_or_default(),
            &format!("not TOML: {}", error.message()),
        )
    })?;
    let mut top = Table::top(source, parsed.get_ref());
    schema(&mut top)?;
    let protocol = section(&mut top, "protocol", &Protocol::default(), protocol)?;
    let qos = section(&mut top, "qos", &Qos::default(), qos)?;
    let mut profiles = BTreeMap::new();
    for (name, table) in top.named_tables("profiles")? {
        profiles.insert(name, profile(table, &protocol, &qos)?);
    }
    let mut auth_refs = BTreeMap::new();
    for (name, table) in top.named_tables("auth_refs")? {
        auth_refs.insert(name, auth_ref(table)?);
    }
    let mut agents = BTreeMap::new();
    for (name, table) in top.named_tables("agents")? {
        agents.insert(name, agent(table, &auth_refs)?);
    }
    let mut trust = BTreeMap::new();
    for (name, table) in top.named_tables("trust")? {
        trust.insert(name, card_trust(table)?);
    }
    let mut adapters = BTreeMap::new();
    for (name, table) in top.named_tables("adapters")? {
        adapters.insert(name, adapter(table)?);
    }
    let config = Config {
        default_profile: top.parsed("default_profile", |text| {
            value::name(text).map(str::to_owned)
        })?,
        profiles,
        agents,
        auth_refs,
        trust,
        output: section(&mut top, "output", &Output::default(), output)?,
        gateway: section(&mut top, "gateway", &Gateway::default(), gateway)?,
        protocol,
        qos,
        routing: section(&mut top, "routing", &Routing::default(), routing)?,
        adapters,
        log: section(&mut top, "log", &Log::default(), log)?,
    };
    top.finish()?;
    Ok(config)
}

fn schema(top: &mut Table<'_>) -> Result<(), Failure> {
    match top.text("schema_version")?.as_deref() {
        Some(SCHEMA_VERSION) => Ok(()),
        Some(other) => Err(top
            .refused(
                "schema_version",
                &format!("`{other}` is not a schema that this missive reads"),
            )
            .detail("schema")
            .hint(format!("this release reads `{SCHEMA_VERSION}`"))),
        None => Err(top
            .source()
            .error(&(0..0), "`schema_version` is missing")
            .detail("schema")
            .hint(format!(
                "begin the file with `schema_version = \"{SCHEMA_VERSION}\"`"
            ))),
    }
}

/// A section, or what holds without it.
fn section<T: Clone>(
    top: &mut Table<'_>,
    key: &'static str,
    default: &T,
    read: impl FnOnce(&mut Table<'_>, T) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Some(mut table) = top.table(key)? else {
        return Ok(default.clone());
    };
    let value = read(&mut table, default.clone())?;
    table.finish()?;
    Ok(value)
}

fn profile(mut table: Table<'_>, general: &Protocol, bounds: &Qos) -> Result<Profile, Failure> {
    let profile = Profile {
        protocol: Some(section(&mut table, "protocol", general, protocol)?),
        qos: Some(section(&mut table, "qos", bounds, qos)?),
    };
    table.finish()?;
    Ok(profile)
}

fn protocol(table: &mut Table<'_>, mut protocol: Protocol) -> Result<Protocol, Failure> {
    protocol.version = table
        .parsed("version", value::protocol_version)?
        .or(protocol.version);
    if let Some(extensions) = table.list("extensions", value::identifier)? {
        protocol.extensions = extensions;
    }
    if let Some(pairs) = table.pairs("service_params")? {
        protocol.service_params = pairs
            .into_iter()
            .map(|(name, text, _)| (name, text))
            .collect();
    }
    if let Some(bindings) = table.list("binding_preference", binding)? {
        protocol.binding_preference = bindings;
    }
    Ok(protocol)
}

fn qos(table: &mut Table<'_>, mut qos: Qos) -> Result<Qos, Failure> {
    qos.connect_timeout = table
        .duration("connect_timeout")?
        .unwrap_or(qos.connect_timeout);
    qos.first_byte_timeout = table
        .duration("first_byte_timeout")?
        .or(qos.first_byte_timeout);
    qos.idle_timeout = table.duration("idle_timeout")?.unwrap_or(qos.idle_timeout);
    qos.total_timeout = table.duration("total_timeout")?.or(qos.total_timeout);
    let bytes = |table: &mut Table<'_>, key, default: u64| {
        table
            .number(key, 1..=BYTES_MAX)
            .map(|found| found.unwrap_or(default))
    };
    qos.request_bytes_max = bytes(table, "max_request_bytes", qos.request_bytes_max)?;
    qos.response_bytes_max = bytes(table, "max_response_bytes", qos.response_bytes_max)?;
    qos.card_bytes_max = bytes(table, "max_card_bytes", qos.card_bytes_max)?;
    let most = qos.stream_line_bytes_max;
    qos.stream_line_bytes_max = bytes(table, "max_stream_line_bytes", most)?;
    let most = qos.stream_event_bytes_max;
    qos.stream_event_bytes_max = bytes(table, "max_stream_event_bytes", most)?;
    qos.retries_max = small(table, "retries", 0..=100, qos.retries_max)?;
    qos.concurrency_max = small(table, "concurrency", 1..=1024, qos.concurrency_max)?;
    qos.stream_resumes_max = small(table, "stream_resumes", 0..=1000, qos.stream_resumes_max)?;
    Ok(qos)
}

fn small(
    table: &mut Table<'_>,
    key: &'static str,
    allowed: std::ops::RangeInclusive<u64>,
    default: u32,
) -> Result<u32, Failure> {
    let found = table.number(key, allowed)?;
    Ok(found
        .and_then(|number| u32::try_from(number).ok())
        .unwrap_or(default))
}

fn agent(
    mut table: Table<'_>,
    auth_refs: &BTreeMap<String, AuthRef>,
) -> Result<AgentSeed, Failure> {
    let url = table.text("url")?;
    let mut interfaces = Vec::new();
    for (name, url, at) in table.pairs("interfaces")?.unwrap_or_default() {
        match binding(&name) {
            Ok(binding) => interfaces.push((binding, url)),
            Err(why) => {
                let what = format!("`{}.{name}`: {why}", table.name("interfaces"));
                return Err(table.source().error(&at, &what));
            }
        }
    }
    let auth_ref = table.text("auth_ref")?;
    if let Some(name) = auth_ref
        .as_deref()
        .filter(|name| !auth_refs.contains_key(*name))
    {
        let known: Vec<&str> = auth_refs.keys().map(String::as_str).collect();
        let failure = table.refused("auth_ref", &format!("there is no [auth_refs.{name}]"));
        return Err(failure.hint_if(crate::suggest::hint(name, "auth_ref", &known)));
    }
    let binding_preference = table
        .list("binding_preference", binding)?
        .unwrap_or_default();
    let tags = table
        .list("tags", |text| value::name(text).map(str::to_owned))?
        .unwrap_or_default();
    let notes = table.text("notes")?;
    let metadata = table.pairs("metadata")?.unwrap_or_default();
    let absent = missing(&table, "url").hint("url = \"https://agent.example\"");
    // Another name for the URL is the usual mistake, so unknown keys come first.
    table.finish()?;
    Ok(AgentSeed {
        url: url.ok_or(absent)?,
        interfaces,
        binding_preference,
        auth_ref,
        tags,
        notes,
        metadata: metadata
            .into_iter()
            .map(|(name, text, _)| (name, text))
            .collect(),
    })
}

fn card_trust(mut table: Table<'_>) -> Result<CardTrust, Failure> {
    let folder = table.source().folder.clone();
    let keys = table.list("card_keys", |text| keys::of_configured(&folder.join(text)))?;
    let origins = table.list("key_origins", |text| {
        key_origin(text).map_err(|why| format!("`{text}`: {why}"))
    })?;
    table.finish()?;
    Ok(CardTrust {
        keys: keys.unwrap_or_default().concat(),
        origins: origins.unwrap_or_default(),
    })
}

/// Keys that people use for the secret itself.
const SECRETS: [&str; 9] = [
    "token",
    "secret",
    "password",
    "value",
    "api_key",
    "apikey",
    "key",
    "credentials",
    "bearer",
];

fn auth_ref(mut table: Table<'_>) -> Result<AuthRef, Failure> {
    for key in SECRETS {
        if let Some(at) = table.span_of(key) {
            let what = format!("`{}` would be a secret in a file", table.name(key));
            return Err(table
                .source()
                .error(&at, &what)
                .detail("secret_in_file")
                .hint(
                    "keep the secret in an environment variable: kind = \"env\", env = \"NAME\"",
                ));
        }
    }
    let kind = table.choice("kind", &[("env", true), ("keyring", false)])?;
    let place = match kind {
        Some(true) => match table.parsed("env", value::variable)? {
            Some(name) => SecretPlace::Env(name),
            None => return Err(missing(&table, "env")),
        },
        Some(false) => match (table.text("service")?, table.text("account")?) {
            (Some(service), Some(account)) => SecretPlace::Keyring { service, account },
            (None, _) => return Err(missing(&table, "service")),
            (_, None) => return Err(missing(&table, "account")),
        },
        None => return Err(missing(&table, "kind").hint("kind = \"env\", env = \"NAME\"")),
    };
    let header = table.parsed("header", |text| {
        format!("{text}: x")
            .parse::<value::Header>()
            .map(|header| header.name)
    })?;
    table.finish()?;
    Ok(AuthRef {
        place,
        scheme: header.map_or(AuthScheme::Bearer, AuthScheme::Header),
    })
}

fn output(table: &mut Table<'_>, mut output: Output) -> Result<Output, Failure> {
    let formats = [
        ("human", Format::Human),
        ("json", Format::Json),
        ("ndjson", Format::Ndjson),
    ];
    output.format = table.choice("format", &formats)?.unwrap_or(output.format);
    output.colour = table.flag("color")?.unwrap_or(output.colour);
    Ok(output)
}

fn gateway(table: &mut Table<'_>, mut gateway: Gateway) -> Result<Gateway, Failure> {
    let address = table.parsed("bind_address", str::parse::<std::net::IpAddr>)?;
    gateway.bind_address = address.unwrap_or(gateway.bind_address);
    let port = table.number("port", 0..=u64::from(u16::MAX))?;
    gateway.port = port
        .and_then(|port| u16::try_from(port).ok())
        .unwrap_or(gateway.port);
    Ok(gateway)
}

fn routing(table: &mut Table<'_>, mut routing: Routing) -> Result<Routing, Failure> {
    const POLICIES: [&str; 9] = [
        "direct",
        "capability-match",
        "tag-match",
        "round-robin",
        "weighted",
        "broadcast",
        "first-success",
        "quorum",
        "fallback",
    ];
    let policy = table.choice("policy", &POLICIES.map(|policy| (policy, policy)))?;
    routing.policy = policy.map(str::to_owned);
    Ok(routing)
}

fn adapter(mut table: Table<'_>) -> Result<Adapter, Failure> {
    let kind = table.choice("kind", &[("stdio", true), ("file-drop", false)])?;
    let adapter = match kind {
        Some(true) => match table.list("command", value::identifier)? {
            Some(command) if !command.is_empty() => Adapter::Stdio { command },
            Some(_) | None => return Err(missing(&table, "command")),
        },
        Some(false) => {
            let absolute = |text: &str| match std::path::PathBuf::from(text) {
                path if path.is_absolute() => Ok(path),
                _ => Err("this must be an absolute path"),
            };
            match table.parsed("folder", absolute)? {
                Some(folder) => Adapter::FileDrop { folder },
                None => return Err(missing(&table, "folder")),
            }
        }
        None => return Err(missing(&table, "kind").hint("kind = \"stdio\" or \"file-drop\"")),
    };
    table.finish()?;
    Ok(adapter)
}

fn log(table: &mut Table<'_>, mut log: Log) -> Result<Log, Failure> {
    let cache = table.number("cache_bytes", 1 << 20..=1 << 30)?;
    log.cache_bytes_max = cache.unwrap_or(log.cache_bytes_max);
    Ok(log)
}

fn binding(text: &str) -> Result<Binding, String> {
    Binding::parse(text)
        .ok_or_else(|| format!("`{text}` is not a binding; they are http+json, json-rpc and grpc"))
}

fn missing(table: &Table<'_>, key: &str) -> Failure {
    table
        .source()
        .error(&table.place(), &format!("`{}` is missing", table.name(key)))
}
