//! Whether an agent card was signed by whom its reader trusts (A2A 1.0, section 8.4).
//!
//! A signature is a JWS with detached content over the canonical card *as it came*, never over what was
//! read from it. Who signed is decided by the reader alone: a key counts if it was pinned for the agent,
//! or came from an allowed address; that a card names a key proves nothing. `none` and shared secrets
//! are refused, and nothing here fetches, fails or panics: a signature that cannot be judged says why.

use std::net::IpAddr;

use serde_json::{Map, Value};
use url::{Host, Url};

use super::json::{Document, Limits};
pub use super::signature_canonical::Form;
use super::signature_canonical::signed_text;
pub use super::signature_key::{Algorithm, KEYS_BYTES_MAX, Key, KeyError, read_keys};
use super::signature_key::{decode_base64url, encode_base64url};
use super::text::excerpt;

/// How many signatures of one card are looked at.
pub const SIGNATURES_MAX: usize = 16;
/// How many addresses of keys one card makes us ask.
pub const ADDRESSES_MAX: usize = 4;

/// What is known of a signature, or of all signatures of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// A trusted key signed this card.
    Verified,
    /// A signature is wrong, or of a kind that proves nothing.
    Failed,
    /// There is no trusted key to judge it with.
    Unverifiable,
    /// There is no signature.
    Absent,
}

impl Outcome {
    /// The name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Failed => "failed",
            Self::Unverifiable => "unverifiable",
            Self::Absent => "absent",
        }
    }
}

/// Why a key is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// It was pinned for this agent.
    Pinned,
    /// It came from an address that is allowed for this agent.
    Jku,
}

impl KeySource {
    /// The name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Jku => "jku",
        }
    }
}

/// What was found under an allowed address.
#[derive(Clone, Debug)]
pub struct KeySet {
    /// The address as the signature names it.
    pub jku: String,
    /// Its keys, or why there are none.
    pub keys: Result<Vec<Key>, String>,
}

/// What a reader trusts for one agent.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// Keys of the agent. If there are any, no other key counts.
    pub pinned: Vec<Key>,
    /// Origins from which its keys may be taken, as `https://host[:port]`.
    pub origins: Vec<String>,
    /// What was found there.
    pub sets: Vec<KeySet>,
}

impl Trust {
    /// Whether there is nothing that a signature could be judged by.
    pub fn is_empty(&self) -> bool {
        self.pinned.is_empty() && self.origins.is_empty()
    }
}

/// All signatures of a card, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Verified if one is; else failed if one is; else unverifiable; absent without any.
    pub outcome: Outcome,
    /// Each of them, in the card's order.
    pub signatures: Vec<Judged>,
}

impl Verdict {
    /// The signature that the outcome comes from.
    pub fn decisive(&self) -> Option<&Judged> {
        let mut all = self.signatures.iter();
        all.find(|judged| judged.outcome == self.outcome)
    }
}

/// One signature, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// What is known of it.
    pub outcome: Outcome,
    /// Its algorithm, as its header says.
    pub algorithm: Option<String>,
    /// The name of its key, as its header says.
    pub kid: Option<String>,
    /// Where its header says that the key is.
    pub jku: Option<String>,
    /// Why the key is trusted that it was judged with.
    pub source: Option<KeySource>,
    /// The key that verified it.
    pub key: Option<Key>,
    /// Which form of the card it is over.
    pub form: Option<Form>,
    /// Why it is not verified.
    pub why: Option<String>,
}

/// A card's text with its signatures.
#[derive(Clone, Debug)]
pub struct Signed {
    document: Document,
    claims: Vec<Claim>,
    more: bool,
}

/// What one entry of `signatures` says.
#[derive(Clone, Debug, Default)]
struct Claim {
    protected: String,
    signature: Vec<u8>,
    algorithm: Option<String>,
    kid: Option<String>,
    jku: Option<String>,
    /// Why it is no signature that could be judged.
    broken: Option<String>,
}

impl Signed {
    /// Reads the signatures of a card that came as these bytes; `None` if they are no JSON.
    pub fn read(bytes: &[u8], limits: &Limits) -> Option<Self> {
        let document = Document::read(bytes, limits).ok()?;
        let entries = document.value().get("signatures").and_then(Value::as_array);
        let entries = entries.map(Vec::as_slice).unwrap_or_default();
        Some(Self {
            claims: entries.iter().take(SIGNATURES_MAX).map(claim).collect(),
            more: entries.len() > SIGNATURES_MAX,
            document,
        })
    }

    /// How many signatures are looked at.
    pub fn count(&self) -> usize {
        self.claims.len()
    }

    /// Where keys have to be asked for before this card can be judged: allowed addresses, each once. With
    /// pinned keys there are none.
    pub fn addresses(&self, trust: &Trust) -> Vec<Url> {
        let mut addresses = Vec::new();
        if !trust.pinned.is_empty() || self.ambiguity().is_some() {
            return addresses;
        }
        for claim in self.claims.iter().filter(|claim| claim.broken.is_none()) {
            let address = claim.jku.as_deref().map(|jku| address(jku, &trust.origins));
            if let Some(Ok(url)) = address
                && !addresses.contains(&url)
                && addresses.len() < ADDRESSES_MAX
            {
                addresses.push(url);
            }
        }
        addresses
    }

    /// Judges every signature.
    pub fn judge(&self, trust: &Trust) -> Verdict {
        let forms: Vec<(Form, String)> = Form::ALL
            .into_iter()
            .filter_map(|form| Some((form, signed_text(self.document.value(), form)?)))
            .map(|(form, text)| (form, encode_base64url(text.as_bytes())))
            .collect();
        let signatures: Vec<Judged> = self
            .claims
            .iter()
            .map(|claim| self.judge_one(claim, trust, &forms))
            .collect();
        let all = [Outcome::Verified, Outcome::Failed, Outcome::Unverifiable];
        let found = |outcome: &Outcome| signatures.iter().any(|one| one.outcome == *outcome);
        let outcome = all.into_iter().find(found).unwrap_or(Outcome::Absent);
        Verdict {
            outcome,
            signatures,
        }
    }

    /// What makes the text mean different things to different readers.
    fn ambiguity(&self) -> Option<&'static str> {
        let flags = self.document.flags();
        if !flags.duplicate_keys.is_empty() {
            return Some("a name stands twice in the card, so it has no canonical form");
        }
        if flags.lone_surrogates || flags.out_of_range.is_some() {
            return Some("the card holds what has no canonical form");
        }
        self.more.then_some("the card has too many signatures")
    }

    fn judge_one(&self, claim: &Claim, trust: &Trust, forms: &[(Form, String)]) -> Judged {
        let judged = |outcome: Outcome, why: Option<String>| Judged {
            outcome,
            algorithm: claim.algorithm.clone(),
            kid: claim.kid.clone(),
            jku: claim.jku.clone(),
            source: None,
            key: None,
            form: None,
            why,
        };
        let ambiguity = self.ambiguity().map(str::to_owned);
        if let Some(why) = claim.broken.clone().or(ambiguity) {
            return judged(Outcome::Failed, Some(why));
        }
        let name = claim.algorithm.as_deref().unwrap_or_default();
        let Some(algorithm) = Algorithm::parse(name) else {
            let (outcome, why) = not_ours(name);
            return judged(outcome, Some(why));
        };
        let (source, keys) = match keys_for(claim, trust) {
            Ok(found) => found,
            Err(why) => return judged(Outcome::Unverifiable, Some(why)),
        };
        let keys: Vec<&Key> = keys
            .into_iter()
            .filter(|key| key.algorithm() == algorithm)
            .collect();
        if keys.is_empty() {
            let why = format!("the key that it names is not one for {}", algorithm.name());
            return Judged {
                source: Some(source),
                ..judged(Outcome::Failed, Some(why))
            };
        }
        let matched = forms.iter().find_map(|(form, payload)| {
            let message = format!("{}.{payload}", claim.protected);
            let mut keys = keys.iter();
            let key = keys.find(|key| key.verifies(message.as_bytes(), &claim.signature))?;
            Some((*form, (**key).clone()))
        });
        match matched {
            Some((form, key)) => Judged {
                source: Some(source),
                key: Some(key),
                form: Some(form),
                ..judged(Outcome::Verified, None)
            },
            None => Judged {
                source: Some(source),
                ..judged(
                    Outcome::Failed,
                    Some("it is no signature of this card by the key that it names".to_owned()),
                )
            },
        }
    }
}

/// Reads one entry; what is wrong with it is part of it.
fn claim(entry: &Value) -> Claim {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    let broken = |why: &str| Claim {
        broken: Some(why.to_owned()),
        ..Claim::default()
    };
    let Some(protected) = text("protected") else {
        return broken("it has no protected header");
    };
    let Some(header) = header_of(protected) else {
        return broken("its protected header is no base64url of a JSON object");
    };
    let said = |name: &str| header.get(name).and_then(Value::as_str).map(str::to_owned);
    let beside = || {
        let name = entry.get("header")?.get("kid")?;
        name.as_str().map(str::to_owned)
    };
    let signature = text("signature").and_then(decode_base64url);
    let why = if header.contains_key("crit") || header.contains_key("b64") {
        Some("its header demands what is not understood here")
    } else if header.get("alg").and_then(Value::as_str).is_none() {
        Some("its header names no algorithm")
    } else if signature.is_none() {
        Some("its signature is no base64url")
    } else {
        None
    };
    Claim {
        protected: protected.to_owned(),
        signature: signature.unwrap_or_default(),
        algorithm: said("alg").map(|name| excerpt(&name)),
        kid: said("kid").or_else(beside),
        jku: said("jku"),
        broken: why.map(str::to_owned),
    }
}

fn header_of(protected: &str) -> Option<Map<String, Value>> {
    let bytes = decode_base64url(protected)?;
    let document = Document::read(&bytes, &Limits::default()).ok()?;
    if !document.flags().duplicate_keys.is_empty() {
        return None;
    }
    document.value().as_object().cloned()
}

/// What is said of an algorithm that is not verified here.
fn not_ours(name: &str) -> (Outcome, String) {
    if name.eq_ignore_ascii_case("none") {
        return (Outcome::Failed, "`none` is no signature".to_owned());
    }
    if name.to_ascii_uppercase().starts_with("HS") {
        let why = format!(
            "{name} needs a shared secret: whoever can check it could have made it, so it is refused"
        );
        return (Outcome::Failed, why);
    }
    let why = format!("{name} is not one of EdDSA, ES256 and RS256");
    (Outcome::Unverifiable, why)
}

/// The trusted keys that may have made this signature, and why they are trusted.
fn keys_for<'a>(claim: &Claim, trust: &'a Trust) -> Result<(KeySource, Vec<&'a Key>), String> {
    let kid = claim.kid.as_deref();
    if !trust.pinned.is_empty() {
        return match called(&trust.pinned, kid) {
            keys if keys.is_empty() => Err(match kid {
                Some(kid) => format!("no key called `{}` is pinned for this agent", excerpt(kid)),
                None => "it names no key".to_owned(),
            }),
            keys => Ok((KeySource::Pinned, keys)),
        };
    }
    let Some(jku) = &claim.jku else {
        return Err("no key is pinned for this agent".to_owned());
    };
    let url = address(jku, &trust.origins)?;
    let set = trust
        .sets
        .iter()
        .find(|set| Url::parse(&set.jku).ok().as_ref() == Some(&url));
    let keys = match set.map(|set| &set.keys) {
        None => return Err("its key was not asked for".to_owned()),
        Some(Err(why)) => return Err(format!("no key from {}: {why}", shown(&url))),
        Some(Ok(keys)) => keys,
    };
    match called(keys, kid) {
        found if found.is_empty() => Err(match kid {
            Some(kid) => format!("{} has no key called `{}`", shown(&url), excerpt(kid)),
            None => "it names no key".to_owned(),
        }),
        found => Ok((KeySource::Jku, found)),
    }
}

/// The keys with this name; else those that have none, or all if none is asked for.
fn called<'a>(keys: &'a [Key], kid: Option<&str>) -> Vec<&'a Key> {
    let named: Vec<&Key> = keys
        .iter()
        .filter(|key| kid.is_some() && key.kid.as_deref() == kid)
        .collect();
    if !named.is_empty() {
        return named;
    }
    keys.iter()
        .filter(|key| kid.is_none() || key.kid.is_none())
        .collect()
}

/// The address of keys, if it may be asked: https, or http on this machine, of an allowed origin.
fn address(jku: &str, origins: &[String]) -> Result<Url, String> {
    let url = Url::parse(jku).map_err(|_| "its `jku` is no address".to_owned())?;
    if !is_private_enough(&url) {
        return Err("its `jku` is neither https nor on this machine".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err("its `jku` holds credentials or a fragment".to_owned());
    }
    let origin = url.origin().ascii_serialization();
    if origins.contains(&origin) {
        return Ok(url);
    }
    Err(format!("keys from {origin} are not allowed for this agent"))
}

/// Whether nobody on the way can exchange what comes from there.
fn is_private_enough(url: &Url) -> bool {
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => return false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && loopback)
}

/// An origin as it is written into a configuration: `https://host[:port]`, or http on this machine.
///
/// # Errors
/// Words about what is wrong with it.
pub fn key_origin(text: &str) -> Result<String, &'static str> {
    let url = Url::parse(text).map_err(|_| "an origin looks like https://keys.example")?;
    if !is_private_enough(&url) {
        return Err("keys come over https, or over http from this machine");
    }
    let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    if !bare || !url.username().is_empty() || url.password().is_some() {
        return Err("an origin has neither path nor query nor credentials");
    }
    Ok(url.origin().ascii_serialization())
}

/// Without the query, which may hold a secret.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.to_string()
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
