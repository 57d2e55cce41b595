//! Register an agent. No request is made.

use missive_log::event::facts::{InterfaceFacts, Name};
use missive_log::event::kind::{AgentAdded, CardGiven};
use missive_log::event::{Alias, Draft, EventKind, OperationId, Subject};
use missive_log::payload::About;
use missive_log::{Payload, Role};
use missive_projections::Views;
use serde_json::{Map, Value};

use super::agent_pin::pins;
use super::{Decide, Decision, Moment, Undecided, unchanged};
use crate::evidence;
use crate::facts;
use crate::peer::agent_url;
use crate::refusal::Refusal;
use crate::wire::card::{Card, CardError, read_card};
use crate::wire::headers::Media;
use crate::wire::json::Limits;
use crate::wire::signature::Key;
use crate::wire::text::excerpt;
use crate::wire::version::Binding;

/// The most interfaces that a user gives to one agent.
pub const INTERFACES_MAX: usize = 16;
/// The most tags of one agent.
pub const TAGS_MAX: usize = 64;

/// `agent add`.
#[derive(Clone, Debug)]
pub struct AgentAdd {
    /// The name from now on.
    pub alias: Alias,
    /// The base URL, as typed.
    pub url: String,
    /// Interfaces that win over the card's.
    pub interfaces: Vec<(Binding, String)>,
    /// Bindings in the user's order.
    pub binding_preference: Vec<Binding>,
    /// The name of a configured credential.
    pub auth_ref: Option<String>,
    /// Labels.
    pub tags: Vec<String>,
    /// A remark for people.
    pub notes: Option<String>,
    /// Further facts; of the same key twice the last one counts.
    pub metadata: Vec<(String, String)>,
    /// Public keys that its cards must be signed by.
    pub card_keys: Vec<Key>,
    /// The card of an agent that shows none to us.
    pub card: Option<GivenCard>,
}

/// A card that a person has.
#[derive(Clone, Debug)]
pub struct GivenCard {
    card: Card,
    text: String,
}

impl GivenCard {
    /// Reads a card; `from` says in errors whose it is. It is a stranger's text like every other card.
    ///
    /// # Errors
    /// See [`CardError`].
    pub fn read(bytes: &[u8], from: &str) -> Result<Self, CardError> {
        let card = read_card(bytes, Media::Json, from, &Limits::default())?;
        // What is JSON is UTF-8.
        let text = String::from_utf8_lossy(bytes).into_owned();
        Ok(Self { card, text })
    }

    fn draft(&self, moment: &Moment<'_>, alias: &Alias, operation: &OperationId) -> Draft {
        let kind = EventKind::CardGiven(CardGiven {
            card: facts::card(moment.redactor, &self.card),
            violations: facts::violations(&self.card.odd),
        });
        let payload = evidence::of_object(moment.ids, moment.redactor, Role::Response, &self.text);
        let mut draft = moment.draft(Subject::Agent(alias.clone()), kind, vec![payload]);
        draft.operation = Some(operation.clone());
        draft.links.agent = Some(alias.clone());
        draft
    }
}

impl AgentAdd {
    /// An agent with nothing but an address.
    pub fn new(alias: Alias, url: &str) -> Self {
        Self {
            alias,
            url: url.to_owned(),
            interfaces: Vec::new(),
            binding_preference: Vec::new(),
            auth_ref: None,
            tags: Vec::new(),
            notes: None,
            metadata: Vec::new(),
            card_keys: Vec::new(),
            card: None,
        }
    }

    fn facts(&self, moment: &Moment<'_>) -> Result<AgentAdded, Refusal> {
        let (_, url) = agent_url(&self.url)?;
        if self.interfaces.len() > INTERFACES_MAX {
            return Err(Refusal::TooMany {
                what: "interfaces",
                count_max: INTERFACES_MAX,
            });
        }
        let tags = names_of_tags(&self.tags)?;
        let mut interfaces = Vec::new();
        for (binding, text) in &self.interfaces {
            interfaces.push(InterfaceFacts {
                binding: facts::binding(*binding),
                url: agent_url(text)?.1,
            });
        }
        let mut bindings: Vec<_> = Vec::new();
        for binding in self.binding_preference.iter().map(|b| facts::binding(*b)) {
            if !bindings.contains(&binding) {
                bindings.push(binding);
            }
        }
        let auth_ref = match &self.auth_ref {
            None => None,
            Some(text) if moment.config.auth_refs.contains_key(text) => {
                Some(name(text, "name of a credential")?)
            }
            Some(text) => {
                return Err(Refusal::NoAuthRef {
                    name: excerpt(text),
                    known: moment.config.auth_refs.keys().cloned().collect(),
                });
            }
        };
        Ok(AgentAdded {
            url,
            interfaces,
            bindings,
            auth_ref,
            tags,
        })
    }
}

/// What a person remarks about something: notes and metadata.
pub(super) fn remarks(
    moment: &Moment<'_>,
    notes: Option<&str>,
    metadata: &[(String, String)],
) -> Vec<Payload> {
    let (ids, redactor) = (moment.ids, moment.redactor);
    let mut payloads = Vec::new();
    if let Some(notes) = notes {
        payloads.push(redactor.text(ids, Role::Note, About::default(), notes));
    }
    if !metadata.is_empty() {
        let object: Map<String, Value> = metadata
            .iter()
            .map(|(key, value)| (key.clone(), Value::from(value.as_str())))
            .collect();
        let json = Value::Object(object).to_string();
        payloads.push(redactor.json(ids, Role::Metadata, About::default(), json.as_bytes()));
    }
    payloads
}

/// Tags, sorted, each once.
pub(super) fn names_of_tags(tags: &[String]) -> Result<Vec<Name>, Refusal> {
    if tags.len() > TAGS_MAX {
        return Err(Refusal::TooMany {
            what: "tags",
            count_max: TAGS_MAX,
        });
    }
    let mut names = Vec::new();
    for tag in tags {
        names.push(name(tag, "tag ([a-z0-9][a-z0-9._-]{0,62})")?);
    }
    names.sort();
    names.dedup();
    Ok(names)
}

fn name(text: &str, what: &'static str) -> Result<Name, Refusal> {
    Name::new(text).map_err(|_| Refusal::BadName {
        text: excerpt(text),
        what,
    })
}

impl Decide for AgentAdd {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let facts = self.facts(moment)?;
        let subject = Subject::Agent(self.alias.clone());
        let expect = unchanged(views, subject.clone())?;
        let configured = moment.config.agents.contains_key(self.alias.as_str());
        if configured || views.agent(&self.alias)?.is_some() {
            return Err(Refusal::AliasTaken {
                alias: self.alias.clone(),
                configured,
            }
            .into());
        }
        let payloads = remarks(moment, self.notes.as_deref(), &self.metadata);
        let mut draft = moment.draft(subject, EventKind::AgentAdded(facts), payloads);
        let operation = moment.ids.operation();
        draft.operation = Some(operation.clone());
        draft.links.agent = Some(self.alias.clone());
        let mut drafts = vec![draft];
        drafts.extend(pins(moment, &self.alias, &operation, &self.card_keys));
        let given = self.card.iter();
        drafts.extend(given.map(|card| card.draft(moment, &self.alias, &operation)));
        Ok(Decision {
            expect: vec![expect],
            drafts,
        })
    }
}
