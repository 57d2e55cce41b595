//! `agent_*`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use missive_log::event::Alias;
use missive_log::event::facts::{KeySource, Label};
use missive_log::payload::redact::Redactor;
use missive_projections::CardSignature;
use serde::Serialize;
use serde_json::value::RawValue;

use super::raw;
use super::send::InterfaceReport;
use crate::wire::card::{Capabilities, Card, Skill};
use crate::wire::negotiate::Considered;
use crate::wire::signature::{Form, Judged, Key, Verdict};

/// `agent_add`, `agent_show`, `agent_rename`, `agent_remove`, `agent_refresh`.
#[derive(Clone, Debug, Serialize)]
pub struct AgentReport {
    /// The agent.
    pub agent: AgentView,
    /// What it was called before a rename.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_alias: Option<String>,
    /// Whether a refresh brought another card than the known one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// The event that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
}

/// `agent_list`.
#[derive(Clone, Debug, Serialize)]
pub struct AgentsReport {
    /// Every agent that can be spoken to, by alias.
    pub agents: Vec<AgentView>,
}

/// An agent.
#[derive(Clone, Debug, Serialize)]
pub struct AgentView {
    /// Its alias.
    pub alias: String,
    /// Its base URL.
    pub base_url: String,
    /// Its labels, sorted.
    pub tags: Vec<String>,
    /// A person's remark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// A person's further facts.
    pub metadata: BTreeMap<String, String>,
    /// `registered` or `config`.
    pub source: &'static str,
    /// The name of its credential in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_ref: Option<String>,
    /// Interfaces that the user gave.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<GivenInterface>,
    /// The user's order of bindings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub binding_preference: Vec<&'static str>,
    /// The keys that were pinned for its cards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub card_keys: Vec<CardKeyView>,
    /// The cached card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<CardView>,
}

/// A key that was pinned for an agent's cards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CardKeyView {
    /// Its name; a stranger's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
    /// `EdDSA`, `ES256` or `RS256`.
    pub algorithm: &'static str,
    /// Its thumbprint (RFC 7638, SHA-256, base64url).
    pub thumbprint: String,
}

impl CardKeyView {
    /// A key as it is shown.
    pub(crate) fn of(key: &Key) -> Self {
        Self {
            kid: key.kid.clone(),
            algorithm: key.algorithm().name(),
            thumbprint: thumbprint(&key.thumbprint()),
        }
    }
}

/// An interface that the user gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GivenInterface {
    /// How.
    pub binding: &'static str,
    /// Where.
    pub url: String,
}

/// A cached card, in short.
#[derive(Clone, Debug, Serialize)]
pub struct CardView {
    /// When it came or was last confirmed.
    pub fetched: String,
    /// Its entity tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// Until when it is used without asking again.
    pub fresh_until: String,
    /// The exact place that answered.
    pub url: String,
    /// Which path that is: `well_known`, `legacy`, `origin_root` or `legacy_origin_root`.
    pub path: &'static str,
    /// What the agent calls itself.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// What it says about itself.
    pub description: String,
    /// The organisation that runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// `agent_inspect`.
#[derive(Clone, Debug, Serialize)]
pub struct InspectReport {
    /// The agent.
    pub agent: AgentView,
    /// Whether what follows is the extended card, and not the public one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub extended: bool,
    /// The interface that calls go to, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected_interface: Option<SelectedInterface>,
    /// Why no interface can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_interface: Option<String>,
    /// Every interface, in the order in which they were looked at.
    pub interfaces: Vec<ConsideredInterface>,
    /// Optional operations.
    pub capabilities: CapabilitiesView,
    /// What it can do.
    pub skills: Vec<SkillView>,
    /// Media types that it takes.
    pub input_modes: Vec<String>,
    /// Media types that it gives.
    pub output_modes: Vec<String>,
    /// The names of its security schemes.
    pub security_schemes: Vec<String>,
    /// Whether it asks for one of them.
    pub security_required: bool,
    /// What is known of its signatures.
    pub signature: SignatureView,
    /// Where the card breaks A2A, in words that quote it.
    pub violations: Vec<String>,
    /// The card exactly as it is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawValue>>,
}

/// The interface that calls go to.
#[derive(Clone, Debug, Serialize)]
pub struct SelectedInterface {
    /// Which.
    #[serde(flatten)]
    pub interface: InterfaceReport,
    /// Why this one.
    pub reason: String,
}

/// An interface that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConsideredInterface {
    /// Verbatim.
    pub binding: String,
    /// Without a query.
    pub url: String,
    /// Verbatim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// `override`, `card` or `direct`.
    pub source: &'static str,
    /// Whether calls go to it.
    pub selected: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Whether the entry itself is defective.
    pub defect: bool,
}

/// Optional operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CapabilitiesView {
    /// Streams.
    pub streaming: bool,
    /// Pushes.
    pub push_notifications: bool,
    /// Has an extended card.
    pub extended_agent_card: bool,
    /// Extensions.
    pub extensions: Vec<ExtensionView>,
}

/// An extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExtensionView {
    /// Its identity.
    pub uri: String,
    /// Whether every request must declare it.
    pub required: bool,
}

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkillView {
    /// Its id.
    pub id: String,
    /// Free text.
    pub name: String,
    /// Free text.
    pub description: String,
    /// Keywords.
    pub tags: Vec<String>,
}

/// What is known of a card's signatures: of the one that decides, and then of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SignatureView {
    /// `verified`, `failed`, `unverifiable` or `absent`.
    pub status: &'static str,
    /// How many there are.
    pub count: usize,
    /// What its header says of it.
    #[serde(flatten)]
    pub decisive: OneSignature,
    /// Each of them, in the card's order; none if only the judgement of an earlier day is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<JudgedSignature>,
}

/// One signature, judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JudgedSignature {
    /// `verified`, `failed` or `unverifiable`.
    pub status: &'static str,
    /// What is known of it.
    #[serde(flatten)]
    pub one: OneSignature,
}

/// What is known of one signature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OneSignature {
    /// Why it is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The algorithm that its header names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
    /// The key that its header names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The thumbprint (RFC 7638, SHA-256, base64url) of the key that verified it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thumbprint: Option<String>,
    /// Why that key is trusted: `pinned` or `jku`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    /// Which form of the card it is over: `strict`, `as_sent` or `without_empty`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<&'static str>,
}

impl SignatureView {
    /// A judgement of now.
    pub(crate) fn of(verdict: &Verdict, redactor: &Redactor) -> Self {
        let one = |judged: &Judged| one_signature(judged, redactor);
        let signatures = verdict.signatures.iter().map(|judged| JudgedSignature {
            status: judged.outcome.name(),
            one: one(judged),
        });
        Self {
            status: verdict.outcome.name(),
            count: verdict.signatures.len(),
            decisive: verdict.decisive().map(one).unwrap_or_default(),
            signatures: signatures.collect(),
        }
    }

    /// The judgement that is on record, and the words that went with it.
    pub(crate) fn recorded(seen: &CardSignature, why: Option<String>) -> Self {
        let text = |label: &Option<Label>| label.as_ref().map(ToString::to_string);
        Self {
            status: seen.outcome.as_str(),
            count: usize::try_from(seen.signatures).unwrap_or(usize::MAX),
            decisive: OneSignature {
                why,
                algorithm: text(&seen.algorithm),
                key: text(&seen.key),
                thumbprint: seen.thumbprint.map(|bytes| thumbprint(&bytes.0)),
                source: seen.source.map(KeySource::as_str),
                form: None,
            },
            signatures: Vec::new(),
        }
    }
}

fn one_signature(judged: &Judged, redactor: &Redactor) -> OneSignature {
    let clean = |text: &Option<String>| text.as_deref().map(|text| redactor.clean(text));
    OneSignature {
        why: clean(&judged.why),
        algorithm: clean(&judged.algorithm),
        key: clean(&judged.kid),
        thumbprint: judged.key.as_ref().map(|key| thumbprint(&key.thumbprint())),
        source: judged.source.map(crate::wire::signature::KeySource::name),
        form: judged.form.map(Form::name),
    }
}

fn thumbprint(bytes: &[u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl InspectReport {
    /// What a card says; the interfaces are put in by the caller.
    pub(crate) fn of(agent: AgentView, card: &Card, bytes: &[u8], redactor: &Redactor) -> Self {
        let skills = card.skills.iter().map(skill);
        let violations = card.odd.as_slice().iter();
        Self {
            agent,
            extended: false,
            selected_interface: None,
            no_interface: None,
            interfaces: Vec::new(),
            capabilities: capabilities(&card.capabilities, redactor),
            skills: skills.collect(),
            input_modes: card.input_modes.clone(),
            output_modes: card.output_modes.clone(),
            security_schemes: card.security_schemes.clone(),
            security_required: card.security_required,
            signature: SignatureView {
                status: "absent",
                ..SignatureView::default()
            },
            violations: violations
                .map(|violation| redactor.clean(&violation.to_string()))
                .collect(),
            raw: std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| raw(text.trim_start_matches('\u{feff}'))),
        }
    }
}

fn capabilities(read: &Capabilities, redactor: &Redactor) -> CapabilitiesView {
    let extensions = read.extensions.iter().map(|extension| ExtensionView {
        uri: redactor.clean(&extension.uri),
        required: extension.required,
    });
    CapabilitiesView {
        streaming: read.streaming,
        push_notifications: read.push_notifications,
        extended_agent_card: read.extended_card,
        extensions: extensions.collect(),
    }
}

fn skill(read: &Skill) -> SkillView {
    SkillView {
        id: read.id.clone(),
        name: read.name.clone(),
        description: read.description.clone(),
        tags: read.tags.clone(),
    }
}

/// What a card can do, in short.
#[derive(Clone, Debug, Serialize)]
pub struct AbilitiesView {
    /// The agent's alias.
    pub agent: String,
    /// Why nothing is known of it; then all else is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When its card came or was last confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched: Option<String>,
    /// Optional operations.
    pub capabilities: CapabilitiesView,
    /// What it can do.
    pub skills: Vec<SkillView>,
    /// Media types that it takes.
    pub input_modes: Vec<String>,
    /// Media types that it gives.
    pub output_modes: Vec<String>,
}

impl AbilitiesView {
    /// Nothing, and why.
    pub(crate) fn unknown(agent: &Alias, why: String) -> Self {
        Self {
            error: Some(why),
            ..Self::of(agent, None, &Card::default(), &Redactor::default())
        }
    }

    /// What a card says.
    pub(crate) fn of(
        agent: &Alias,
        fetched: Option<String>,
        card: &Card,
        redactor: &Redactor,
    ) -> Self {
        Self {
            agent: agent.to_string(),
            error: None,
            fetched,
            capabilities: capabilities(&card.capabilities, redactor),
            skills: card.skills.iter().map(skill).collect(),
            input_modes: card.input_modes.clone(),
            output_modes: card.output_modes.clone(),
        }
    }
}

/// `agent_capabilities`.
#[derive(Clone, Debug, Serialize)]
pub struct AbilitiesReport {
    /// The agents that were asked about, by alias.
    pub agents: Vec<AbilitiesView>,
}

/// An interface that was looked at.
pub(crate) fn considered(redactor: &Redactor, entry: &Considered) -> ConsideredInterface {
    let url = entry.url.split('?').next().unwrap_or_default();
    ConsideredInterface {
        binding: entry.binding.clone(),
        url: redactor.clean(url),
        protocol_version: entry.protocol_version.clone(),
        source: entry.source.name(),
        selected: entry.refused.is_none(),
        refused: entry.refused.as_deref().map(|why| redactor.clean(why)),
        defect: entry.defect,
    }
}
