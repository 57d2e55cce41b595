//! The commands about agents: who can be talked to, and what their cards say.

use std::collections::BTreeMap;

use missive_log::event::{Alias, Seq};
use missive_log::{Log, Opened, PayloadRef};
use missive_projections::{Agent, CardBody, PayloadSource};
use serde_json::Value;

use crate::Done;
use crate::decide::agent_add::AgentAdd;
use crate::decide::agent_pin::AgentPin;
use crate::decide::agent_remove::AgentRemove;
use crate::decide::agent_rename::AgentRename;
use crate::drive::Course;
use crate::drive::card::{Loaded, Want};
use crate::drive::send::Line;
use crate::exit::Exit;
use crate::facts;
use crate::failure::CommandError;
use crate::interrupt::Interrupt;
use crate::peer::{Known, Peer, Target, known_aliases};
use crate::report::agent::{
    AgentReport, AgentView, AgentsReport, CardKeyView, CardView, GivenInterface, InspectReport,
    SelectedInterface, considered,
};
use crate::run::Missive;
use crate::wire::card::read_card;
use crate::wire::headers::Media;
use crate::wire::json::Limits;
use crate::wire::negotiate::{NoChoice, Wishes, choose};
use crate::wire::version::Binding;

impl<L: Log> Missive<L> {
    /// Registers an agent. Nothing is requested.
    pub async fn agent_add(&self, command: &AgentAdd) -> Result<Done<AgentReport>, CommandError> {
        let recorded = self.record(command).await?;
        let agent = self.agent_view(&command.alias).await?;
        Ok(self.agent_done(agent, Some(recorded.last)))
    }

    /// Every agent that can be spoken to, by alias.
    pub async fn agent_list(&self) -> Result<Done<AgentsReport>, CommandError> {
        let mut agents = Vec::new();
        for alias in known_aliases(&self.views(), self.config())? {
            agents.push(self.agent_view(&alias).await?);
        }
        Ok(Done {
            report: AgentsReport { agents },
            exit: Exit::Done,
        })
    }

    /// What is known of an agent.
    pub async fn agent_show(&self, alias: &Alias) -> Result<Done<AgentReport>, CommandError> {
        let agent = self.agent_view(alias).await?;
        Ok(self.agent_done(agent, None))
    }

    /// Pins keys that the cards of an agent must be signed by.
    pub async fn agent_pin(&self, command: &AgentPin) -> Result<Done<AgentReport>, CommandError> {
        let recorded = self.record(command).await?;
        let agent = self.agent_view(&command.alias).await?;
        Ok(self.agent_done(agent, Some(recorded.last)))
    }

    /// Gives an agent another alias.
    pub async fn agent_rename(
        &self,
        command: &AgentRename,
    ) -> Result<Done<AgentReport>, CommandError> {
        let recorded = self.record(command).await?;
        let agent = self.agent_view(&command.new).await?;
        let mut done = self.agent_done(agent, Some(recorded.last));
        done.report.previous_alias = Some(command.old.to_string());
        Ok(done)
    }

    /// Removes an agent from the registry; the report shows what it was.
    pub async fn agent_remove(
        &self,
        command: &AgentRemove,
    ) -> Result<Done<AgentReport>, CommandError> {
        // An alias that cannot be removed is refused by the decision, with its own words.
        let before = match self.agent_view(&command.alias).await {
            Ok(agent) => Some(agent),
            Err(CommandError::Refused(_)) => None,
            Err(error) => return Err(error),
        };
        let recorded = self.record(command).await?;
        let agent = match before {
            Some(agent) => agent,
            None => self.agent_view(&command.alias).await?,
        };
        Ok(self.agent_done(agent, Some(recorded.last)))
    }

    /// Asks for an agent's card, whether the known one is fresh or not.
    pub async fn agent_refresh(
        &self,
        alias: &Alias,
        interrupt: &mut Interrupt,
    ) -> Result<Done<AgentReport>, CommandError> {
        let peer = self.peer(&Target::Alias(alias.clone()))?;
        let mut course = Course::new(self.ids().operation());
        let card = self
            .card(&mut course, &peer, Want::Newest, interrupt)
            .await?;
        let agent = self.agent_view(alias).await?;
        let mut done = self.agent_done(agent, Some(course.newest));
        done.report.changed = Some(card.changed);
        Ok(done)
    }

    /// Shows an agent's card and the interface that would be used; asks for the card if `refresh` is
    /// set or the known one is no longer fresh.
    pub async fn agent_inspect(
        &self,
        alias: &Alias,
        refresh: bool,
        binding: Option<Binding>,
        interrupt: &mut Interrupt,
    ) -> Result<Done<InspectReport>, CommandError> {
        let peer = self.peer(&Target::Alias(alias.clone()))?;
        let wishes = self.wishes(&peer, binding)?;
        let want = if refresh { Want::Newest } else { Want::Usable };
        let mut course = Course::new(self.ids().operation());
        let loaded = self.card(&mut course, &peer, want, interrupt).await?;
        self.inspected(alias, &peer, &loaded, &wishes).await
    }

    /// The same of the card that is known, however old, without asking anybody.
    ///
    /// # Errors
    /// A refusal if no card is known.
    pub async fn agent_inspect_known(
        &self,
        alias: &Alias,
        binding: Option<Binding>,
    ) -> Result<Done<InspectReport>, CommandError> {
        let peer = self.peer(&Target::Alias(alias.clone()))?;
        let wishes = self.wishes(&peer, binding)?;
        let loaded = self.kept_card(alias, &peer).await?;
        self.inspected(alias, &peer, &loaded, &wishes).await
    }

    async fn inspected(
        &self,
        alias: &Alias,
        peer: &Peer,
        loaded: &Loaded,
        wishes: &Wishes,
    ) -> Result<Done<InspectReport>, CommandError> {
        let agent = self.agent_view(alias).await?;
        let bytes = self.card_bytes(alias).await?;
        let mut report = InspectReport::of(agent, &loaded.card, &bytes, self.redactor());
        report.signature = self.signature_view(peer, loaded).await?;
        match choose(&peer.base, Some((&loaded.card, &loaded.from)), wishes) {
            Ok(negotiated) => {
                report.interfaces = negotiated
                    .considered
                    .iter()
                    .map(|entry| considered(self.redactor(), entry))
                    .collect();
                let reason = negotiated.choice.reason.clone();
                let interface = Line::new(negotiated.choice, self.redactor())?.report();
                report.selected_interface = Some(SelectedInterface { interface, reason });
            }
            Err(no) => {
                let all = reasons(&no);
                let shown = all.iter().map(|entry| considered(self.redactor(), entry));
                report.interfaces = shown.collect();
                report.no_interface = Some(self.no_interface(no).to_string());
            }
        }
        self.settle();
        Ok(Done {
            report,
            exit: Exit::Done,
        })
    }

    fn agent_done(&self, agent: AgentView, sequence: Option<Seq>) -> Done<AgentReport> {
        self.settle();
        Done {
            report: AgentReport {
                agent,
                previous_alias: None,
                changed: None,
                sequence: sequence.map(|seq| seq.0),
            },
            exit: Exit::Done,
        }
    }

    /// What is known of an alias, from the log first and else from the configuration.
    pub(crate) async fn agent_view(&self, alias: &Alias) -> Result<AgentView, CommandError> {
        let peer = self.peer(&Target::Alias(alias.clone()))?;
        let mut view = AgentView {
            alias: alias.to_string(),
            base_url: peer.url.to_string(),
            tags: Vec::new(),
            notes: None,
            metadata: BTreeMap::new(),
            source: peer.known.name(),
            auth_ref: peer.auth_ref.clone(),
            interfaces: peer.interfaces.iter().map(given).collect(),
            binding_preference: peer.bindings.iter().map(|binding| binding.name()).collect(),
            card_keys: Vec::new(),
            card: self.card_view(alias, &peer).await?,
        };
        let trust = self.trust(&peer).await?;
        view.card_keys = trust.pinned.iter().map(CardKeyView::of).collect();
        match peer.known {
            Known::Registered(_) => {
                if let Some(agent) = self.views().agent(alias)? {
                    self.describe(&agent, &mut view).await?;
                }
            }
            Known::Configured | Known::Direct => {
                if let Some(seed) = self.config().agents.get(alias.as_str()) {
                    view.tags.clone_from(&seed.tags);
                    view.tags.sort();
                    view.notes.clone_from(&seed.notes);
                    view.metadata.clone_from(&seed.metadata);
                }
            }
        }
        Ok(view)
    }

    /// What people wrote about a registered agent.
    async fn describe(&self, agent: &Agent, view: &mut AgentView) -> Result<(), CommandError> {
        view.tags = agent.tags.iter().map(ToString::to_string).collect();
        view.notes = self.text_of(agent.note).await?;
        view.metadata = self.pairs_of(agent.metadata).await?;
        Ok(())
    }

    /// Metadata that a person gave.
    pub(crate) async fn pairs_of(
        &self,
        source: Option<PayloadSource>,
    ) -> Result<BTreeMap<String, String>, CommandError> {
        let Some(text) = self.text_of(source).await? else {
            return Ok(BTreeMap::new());
        };
        let Ok(Value::Object(object)) = serde_json::from_str(&text) else {
            return Ok(BTreeMap::new());
        };
        let entries = object.into_iter().map(|(key, value)| match value {
            Value::String(text) => (key, text),
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_)) => (key, other.to_string()),
        });
        Ok(entries.collect())
    }

    /// Text that a person wrote.
    pub(crate) async fn text_of(
        &self,
        source: Option<PayloadSource>,
    ) -> Result<Option<String>, CommandError> {
        let Some(source) = source else {
            return Ok(None);
        };
        let bytes = self.open(source).await?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// A payload by its place; `None` if it is not there, or was erased.
    pub(crate) async fn open(
        &self,
        source: PayloadSource,
    ) -> Result<Option<Vec<u8>>, CommandError> {
        let records = self.log().pick(&[source.seq]).await?;
        let event = records.first().and_then(|record| record.decode().ok());
        let found: Option<PayloadRef> = event.and_then(|event| source.find(&event));
        let Some(of) = found else {
            return Ok(None);
        };
        Ok(match self.log().payload(of).await? {
            Opened::Present(row) => Some(row.bytes),
            Opened::Erased(_) | Opened::Missing => None,
        })
    }

    async fn card_body(&self, alias: &Alias) -> Result<Option<(CardBody, Vec<u8>)>, CommandError> {
        let Some(body) = self.views().card(alias)?.and_then(|card| card.body) else {
            return Ok(None);
        };
        let bytes = self.open(body.source).await?;
        Ok(bytes.map(|bytes| (body, bytes)))
    }

    async fn card_bytes(&self, alias: &Alias) -> Result<Vec<u8>, CommandError> {
        let found = self.card_body(alias).await?;
        Ok(found.map(|(_, bytes)| bytes).unwrap_or_default())
    }

    async fn card_view(
        &self,
        alias: &Alias,
        peer: &Peer,
    ) -> Result<Option<CardView>, CommandError> {
        let Some((body, bytes)) = self.card_body(alias).await? else {
            return Ok(None);
        };
        if body.base.as_ref() != Some(&peer.url) {
            return Ok(None);
        }
        let limits = Limits::default();
        let card = read_card(&bytes, Media::Json, body.url.as_str(), &limits).ok();
        Ok(card.map(|card| CardView {
            fetched: body.validated_at.to_string(),
            etag: body.etag.as_ref().map(ToString::to_string),
            fresh_until: body.fresh_until.to_string(),
            url: body.url.to_string(),
            path: body.origin(),
            name: card.name,
            version: card.version,
            description: card.description,
            provider: card.provider,
        }))
    }
}

fn given((binding, url): &(Binding, url::Url)) -> GivenInterface {
    GivenInterface {
        binding: binding.name(),
        url: facts::bare(url)
            .map(|url| url.to_string())
            .unwrap_or_default(),
    }
}

fn reasons(no: &NoChoice) -> Vec<crate::wire::negotiate::Considered> {
    match no {
        NoChoice::NothingFits { considered, .. }
        | NoChoice::OnlyOldVersions { considered, .. }
        | NoChoice::WrongHost { considered, .. } => considered.clone(),
        NoChoice::NotSpoken { .. } | NoChoice::Nothing => Vec::new(),
    }
}
