//! Who is spoken to: a registered agent, one that only the configuration knows, or a bare URL.

use missive_log::event::facts::BareUrl;
use missive_log::event::{Alias, GroupName, Seq, Subject};
use missive_log::{Expect, Log, event::facts::Name};
use missive_projections::{Entry, Views, ViewsError};
use url::Url;

use crate::config::{AgentSeed, Config};
use crate::decide::Undecided;
use crate::facts;
use crate::failure::CommandError;
use crate::refusal::Refusal;
use crate::run::Missive;
use crate::wire::text::excerpt;
use crate::wire::version::Binding;

/// How many aliases an error proposes.
const NEAREST_MAX: usize = 3;

/// Whom the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An alias.
    Alias(Alias),
    /// An address for this one call, not yet validated.
    Url(String),
}

/// How an agent is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It is registered in the log; its newest event.
    Registered(Option<Seq>),
    /// The configuration names it.
    Configured,
    /// Only its address is known.
    Direct,
}

impl Known {
    /// The name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Registered(_) => "registered",
            Self::Configured => "config",
            Self::Direct => "direct",
        }
    }
}

/// Somebody to speak to.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The alias; none for a bare URL.
    pub alias: Option<Alias>,
    /// How it is known.
    pub known: Known,
    /// The base URL.
    pub base: Url,
    /// The same as the log keeps it.
    pub url: BareUrl,
    /// Interfaces that the user gave; they win over the card's.
    pub interfaces: Vec<(Binding, Url)>,
    /// The user's order of bindings; empty: the card's.
    pub bindings: Vec<Binding>,
    /// The name of its credential in the configuration.
    pub auth_ref: Option<String>,
}

impl Peer {
    /// The condition that the agent is still what this decision was made on.
    pub(crate) fn unchanged(&self) -> Option<Expect> {
        match (self.known, &self.alias) {
            (Known::Registered(last), Some(alias)) => Some(Expect::Unchanged {
                subject: Subject::Agent(alias.clone()),
                last,
            }),
            (Known::Registered(_) | Known::Configured | Known::Direct, _) => None,
        }
    }
}

/// Reads an address that agents can have: absolute, http or https, without credentials and query.
///
/// # Errors
/// What is wrong with it, without quoting a credential.
pub fn agent_url(text: &str) -> Result<(Url, BareUrl), Refusal> {
    let bad = |what: String| Refusal::BadUrl { what };
    let url =
        Url::parse(text).map_err(|why| bad(format!("`{}` is not absolute: {why}", shown(text))))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!("`{}` is neither http nor https", shown(text))));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("holds credentials".to_owned()));
    }
    if url.query().is_some() {
        return Err(bad("has a query, which may hold a secret".to_owned()));
    }
    if url.fragment().is_some() {
        return Err(bad("has a fragment".to_owned()));
    }
    if !url.has_host() {
        return Err(bad(format!("`{}` has no host", shown(text))));
    }
    let mut canonical = url.as_str();
    if url.path() == "/" && !text.ends_with('/') {
        canonical = canonical.trim_end_matches('/');
    }
    let bare = BareUrl::new(canonical).map_err(|why| bad(format!("is {why}")))?;
    Ok((url, bare))
}

/// An excerpt of something that may be a URL with credentials.
fn shown(text: &str) -> String {
    let scheme_end = text.find("://").map_or(0, |at| at + 3);
    match text.get(scheme_end..).and_then(|rest| rest.rfind('@')) {
        Some(at) => excerpt(&format!(
            "{}...{}",
            text.get(..scheme_end).unwrap_or_default(),
            text.get(scheme_end + at..).unwrap_or_default()
        )),
        None => excerpt(text.split('?').next().unwrap_or_default()),
    }
}

/// Finds out who is meant.
///
/// # Errors
/// A refusal that names the nearest aliases, or a fault of the views.
pub fn resolve(views: &Views, config: &Config, target: &Target) -> Result<Peer, Undecided> {
    match target {
        Target::Url(text) => {
            let (base, url) = agent_url(text)?;
            Ok(Peer {
                alias: None,
                known: Known::Direct,
                base,
                url,
                interfaces: Vec::new(),
                bindings: Vec::new(),
                auth_ref: None,
            })
        }
        Target::Alias(alias) => {
            // Before the agent itself, so that what is read of it is not older than the condition.
            let last = views.last_of(&Subject::Agent(alias.clone()))?;
            if let Some(agent) = views.agent(alias)? {
                return Ok(registered(&agent, last)?);
            }
            match config.agents.get(alias.as_str()) {
                Some(seed) => Ok(configured(alias, seed)?),
                None => Err(unknown(views, config, alias)?.into()),
            }
        }
    }
}

fn registered(agent: &missive_projections::Agent, last: Option<Seq>) -> Result<Peer, Refusal> {
    let (base, url) = agent_url(agent.url.as_str())?;
    let interfaces = agent.interfaces.iter().filter_map(|interface| {
        let url = Url::parse(interface.url.as_str()).ok()?;
        Some((facts::binding_of(interface.binding), url))
    });
    Ok(Peer {
        alias: Some(agent.alias.clone()),
        known: Known::Registered(last),
        base,
        url,
        interfaces: interfaces.collect(),
        bindings: agent
            .bindings
            .iter()
            .map(|b| facts::binding_of(*b))
            .collect(),
        auth_ref: agent.auth_ref.as_ref().map(Name::to_string),
    })
}

fn configured(alias: &Alias, seed: &AgentSeed) -> Result<Peer, Refusal> {
    let (base, url) = agent_url(&seed.url)?;
    let mut interfaces = Vec::new();
    for (binding, text) in &seed.interfaces {
        interfaces.push((*binding, agent_url(text)?.0));
    }
    Ok(Peer {
        alias: Some(alias.clone()),
        known: Known::Configured,
        base,
        url,
        interfaces,
        bindings: seed.binding_preference.clone(),
        auth_ref: seed.auth_ref.clone(),
    })
}

/// Every alias that can be spoken to, sorted: the log's and the configuration's.
pub fn known_aliases(views: &Views, config: &Config) -> Result<Vec<Alias>, ViewsError> {
    let registered = views.agents()?.into_iter().map(|agent| agent.alias);
    let configured = config
        .agents
        .keys()
        .filter_map(|name| Alias::new(name).ok());
    let mut all: Vec<Alias> = registered.chain(configured).collect();
    all.sort();
    all.dedup();
    Ok(all)
}

/// The refusal of an alias that nobody has.
pub(crate) fn unknown(
    views: &Views,
    config: &Config,
    alias: &Alias,
) -> Result<Refusal, ViewsError> {
    let known = known_aliases(views, config)?;
    let renamed_to = match views.entry(alias)? {
        Some(Entry::Renamed { .. }) => Some(views.present_alias(alias)?),
        Some(Entry::Present(_) | Entry::Removed { .. }) | None => None,
    };
    Ok(Refusal::NoAgent {
        alias: alias.clone(),
        nearest: missive_projections::nearest::nearest(alias.as_str(), known.clone(), NEAREST_MAX),
        known,
        renamed_to,
        is_group: match GroupName::new(alias.as_str()) {
            Ok(name) => views.group(&name)?.is_some(),
            Err(_) => false,
        },
    })
}

impl<L: Log> Missive<L> {
    /// Who is meant, from the newest views.
    pub fn peer(&self, target: &Target) -> Result<Peer, CommandError> {
        Ok(resolve(&self.views(), self.config(), target)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_absolute_and_hold_nothing_secret() {
        let told = |text: &str| match agent_url(text) {
            Ok((_, bare)) => bare.to_string(),
            Err(refusal) => refusal.to_string(),
        };

        let said: Vec<String> = [
            "http://127.0.0.1:7101",
            "HTTPS://H.example/a/",
            "h.example/a",
            "ftp://h.example/a",
            "https://u:hunter2@h.example/",
            "http://u:hunter2@[",
            "https://h.example/?key=hunter2",
            "https://h.example/#x",
        ]
        .into_iter()
        .map(told)
        .collect();

        insta::assert_snapshot!(said.join("\n"), @r"
    http://127.0.0.1:7101
    https://h.example/a/
    the URL `h.example/a` is not absolute: relative URL without a base
    the URL `ftp://h.example/a` is neither http nor https
    the URL holds credentials
    the URL `http://...@[` is not absolute: invalid IPv6 address
    the URL has a query, which may hold a secret
    the URL has a fragment
    ");
        assert!(!said.join("").contains("hunter2"));
    }
}
