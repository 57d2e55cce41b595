//! Agents and their cards for people. Everything in a card was written by a stranger.

use crate::render::{Kind, Lines, Page, Report, Tint};
use missive_commands::report::agent::{
    AbilitiesReport, AbilitiesView, AgentReport, AgentView, AgentsReport, CapabilitiesView,
    InspectReport, SignatureView,
};
use serde::{Serialize, Serializer};

/// Skills of a card that people are shown; `--json` has all.
const SKILLS_MAX: usize = 20;

/// What is said about one agent, under the name of the command that says it.
pub(super) struct Shown(pub(super) Kind, pub(super) AgentReport);

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.serialize(serializer)
    }
}

impl Report for Shown {
    fn kind(&self) -> Kind {
        self.0
    }

    fn human(&self, page: &mut Page) {
        let Self(kind, report) = self;
        let agent = &report.agent;
        let alias = (Tint::Strong, agent.alias.as_str());
        if *kind == Kind::AgentAdd {
            let what = format!(" is registered at {}", agent.base_url);
            page.spans(&[alias, (Tint::Plain, &what)]);
        } else if *kind == Kind::AgentRename {
            let old = report.previous_alias.as_deref().unwrap_or_default();
            page.spans(&[(Tint::Plain, old), (Tint::Plain, " is called "), alias]);
        } else if *kind == Kind::AgentRemove {
            page.spans(&[alias, (Tint::Plain, " is removed; its history stays")]);
        } else if *kind == Kind::AgentPin {
            page.spans(&[
                (Tint::Plain, "the cards of "),
                alias,
                (Tint::Plain, " must be signed by"),
            ]);
            let rows = agent.card_keys.iter().map(|key| {
                let name = key.kid.clone().unwrap_or_default();
                [name, key.algorithm.to_owned(), key.thumbprint.clone()]
            });
            page.table(["key", "algorithm", "thumbprint"], rows);
        } else if *kind == Kind::AgentRefresh {
            let what = if report.changed == Some(true) {
                " has a new card"
            } else {
                " has the same card as before"
            };
            page.spans(&[alias, (Tint::Plain, what)]);
            fields(page, card(agent));
        } else {
            fields(page, about(agent).into_iter().chain(card(agent)));
        }
    }
}

impl Report for AgentsReport {
    fn kind(&self) -> Kind {
        Kind::AgentList
    }

    fn human(&self, page: &mut Page) {
        let rows = self.agents.iter().map(|agent| {
            let card = agent.card.as_ref();
            [
                agent.alias.clone(),
                agent.base_url.clone(),
                card.map(|card| format!("{} {}", card.name, card.version))
                    .unwrap_or_default(),
                agent.tags.join(" "),
                agent.source.to_owned(),
            ]
        });
        page.table(["alias", "url", "card", "tags", "source"], rows);
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        #[derive(Serialize)]
        struct One<'a> {
            agent: &'a AgentView,
        }
        self.agents
            .iter()
            .try_for_each(|agent| lines.push(self.kind(), true, &One { agent }))
    }
}

impl Report for InspectReport {
    fn kind(&self) -> Kind {
        Kind::AgentInspect
    }

    fn human(&self, page: &mut Page) {
        let card = [
            ("capabilities", capabilities(&self.capabilities)),
            ("takes", self.input_modes.join(" ")),
            ("gives", self.output_modes.join(" ")),
            ("security", self.security_schemes.join(" ")),
            ("signature", signature(&self.signature)),
        ];
        let known = about(&self.agent).into_iter();
        if self.extended {
            fields(page, known.chain(card));
        } else {
            fields(page, known.chain(self::card(&self.agent)).chain(card));
        }
        page.line("");
        if let Some(selected) = &self.selected_interface {
            let interface = &selected.interface;
            let line = format!(
                " {} {} (A2A {}): {}",
                interface.binding, interface.url, interface.protocol_version, selected.reason
            );
            page.spans(&[(Tint::Good, "uses"), (Tint::Plain, &line)]);
        }
        if let Some(why) = &self.no_interface {
            page.spans(&[(Tint::Bad, "unusable: "), (Tint::Plain, why)]);
        }
        let interfaces = self.interfaces.iter().map(|interface| {
            [
                interface.binding.clone(),
                interface.url.clone(),
                interface.protocol_version.clone().unwrap_or_default(),
                match &interface.refused {
                    Some(why) => why.clone(),
                    None => "taken".to_owned(),
                },
            ]
        });
        page.table(["binding", "url", "version", "why"], interfaces);
        if !self.skills.is_empty() {
            page.line("");
        }
        let skills = self.skills.iter().take(SKILLS_MAX);
        let skills =
            skills.map(|skill| [skill.id.clone(), skill.name.clone(), skill.tags.join(" ")]);
        page.table(["skill", "name", "tags"], skills);
        if self.skills.len() > SKILLS_MAX {
            page.line(&format!(
                "and {} more skills; --json shows all",
                self.skills.len() - SKILLS_MAX
            ));
        }
        for violation in &self.violations {
            page.spans(&[(Tint::Warning, "breaks A2A: "), (Tint::Plain, violation)]);
        }
    }
}

/// A name and its value.
type Field = (&'static str, String);

fn fields(page: &mut Page, fields: impl IntoIterator<Item = Field>) {
    let fields: Vec<Field> = fields.into_iter().collect();
    let shown = fields.iter().map(|(name, value)| (*name, value.as_str()));
    page.fields(&shown.collect::<Vec<_>>());
}

/// What is registered.
fn about(agent: &AgentView) -> [Field; 10] {
    let metadata = agent.metadata.iter();
    let metadata: Vec<String> = metadata
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let interfaces = agent.interfaces.iter();
    let interfaces: Vec<String> = interfaces
        .map(|given| format!("{}={}", given.binding, given.url))
        .collect();
    [
        ("alias", agent.alias.clone()),
        ("url", agent.base_url.clone()),
        ("source", agent.source.to_owned()),
        ("interfaces", interfaces.join(" ")),
        ("bindings", agent.binding_preference.join(" ")),
        ("auth ref", agent.auth_ref.clone().unwrap_or_default()),
        ("tags", agent.tags.join(" ")),
        ("card keys", card_keys(agent)),
        ("notes", agent.notes.clone().unwrap_or_default()),
        ("metadata", metadata.join(" ")),
    ]
}

fn card_keys(agent: &AgentView) -> String {
    let keys = agent.card_keys.iter().map(|key| match &key.kid {
        Some(kid) => format!("{kid} ({}, {})", key.algorithm, key.thumbprint),
        None => format!("{} {}", key.algorithm, key.thumbprint),
    });
    keys.collect::<Vec<_>>().join(" ")
}

/// What the signatures of a card are worth, in one line.
fn signature(view: &SignatureView) -> String {
    let one = &view.decisive;
    if let Some(why) = &one.why {
        return format!("{}: {why}", view.status);
    }
    let key = one.key.as_ref().map(|key| format!("key {key}"));
    let said = [one.algorithm.clone(), key, one.source.map(str::to_owned)];
    let said: Vec<String> = said.into_iter().flatten().collect();
    if said.is_empty() {
        return view.status.to_owned();
    }
    format!("{} ({})", view.status, said.join(", "))
}

impl Report for AbilitiesReport {
    fn kind(&self) -> Kind {
        Kind::AgentCapabilities
    }

    fn human(&self, page: &mut Page) {
        let rows = self.agents.iter().map(|agent| {
            let skills: Vec<&str> = agent.skills.iter().map(|skill| skill.id.as_str()).collect();
            let can = match &agent.error {
                Some(why) => format!("unknown: {why}"),
                None => capabilities(&agent.capabilities),
            };
            [
                agent.agent.clone(),
                can,
                skills.join(" "),
                agent.input_modes.join(" "),
                agent.output_modes.join(" "),
            ]
        });
        page.table(["agent", "can", "skills", "takes", "gives"], rows);
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        #[derive(Serialize)]
        struct One<'a> {
            agent: &'a AbilitiesView,
        }
        self.agents
            .iter()
            .try_for_each(|agent| lines.push(self.kind(), true, &One { agent }))
    }
}

/// What the cached card says, in short.
fn card(agent: &AgentView) -> Vec<Field> {
    let Some(card) = &agent.card else {
        return Vec::new();
    };
    let mut fields = vec![
        ("card", format!("{} {}", card.name, card.version)),
        ("says", card.description.clone()),
        ("provider", card.provider.clone().unwrap_or_default()),
    ];
    if card.path == "given" {
        fields.push(("given", card.fetched.clone()));
    } else {
        fields.extend([
            ("fetched", card.fetched.clone()),
            ("fresh until", card.fresh_until.clone()),
            ("from", card.url.clone()),
        ]);
    }
    fields
}

fn capabilities(found: &CapabilitiesView) -> String {
    let mut names: Vec<String> = [
        (found.streaming, "streaming"),
        (found.push_notifications, "push notifications"),
        (found.extended_agent_card, "extended card"),
    ]
    .into_iter()
    .filter(|(has, _)| *has)
    .map(|(_, name)| name.to_owned())
    .collect();
    for extension in &found.extensions {
        let required = if extension.required {
            " (required)"
        } else {
            ""
        };
        names.push(format!("{}{required}", extension.uri));
    }
    if names.is_empty() {
        return "none of the optional ones".to_owned();
    }
    names.join(", ")
}
