//! What an agent can do, in the words by which it is looked for.
//!
//! A stranger wrote the card, so only its names count: ids, names and tags of skills, media types, and the two
//! optional operations. Descriptions are prose and never chosen by (C021).

use std::collections::BTreeMap;

use missive_log::event::kind::CardFacts;

use crate::wire::card::{Capabilities, Card, Skill};

/// What is known of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Every word that a capability can be asked for by, in lower case, with where it stands.
    labels: BTreeMap<String, &'static str>,
    /// Media types that it takes, of its own and of its skills.
    input_modes: Vec<String>,
    /// Media types that it gives, of its own and of its skills.
    output_modes: Vec<String>,
    /// Whether it streams.
    pub streaming: bool,
    /// Whether it pushes.
    pub push: bool,
}

impl Abilities {
    /// What a card says, and what people wrote about the agent here.
    pub fn of(card: &Card, metadata: &BTreeMap<String, String>) -> Self {
        let mut found = Self {
            streaming: card.capabilities.streaming,
            push: card.capabilities.push_notifications,
            ..Self::default()
        };
        let skills = card.skills.iter();
        let of_skills = skills.clone().map(|skill| &skill.input_modes);
        found.input_modes = modes(std::iter::once(&card.input_modes).chain(of_skills));
        let of_skills = skills.map(|skill| &skill.output_modes);
        found.output_modes = modes(std::iter::once(&card.output_modes).chain(of_skills));
        for skill in &card.skills {
            found.label(&skill.id, "skill id");
            found.label(&skill.name, "skill name");
            for tag in &skill.tags {
                found.label(tag, "skill tag");
            }
        }
        for (key, value) in metadata {
            found.label(&format!("{key}={value}"), "metadata");
        }
        for mode in found.input_modes.clone() {
            found.label(&mode, "input mode");
        }
        for mode in found.output_modes.clone() {
            found.label(&mode, "output mode");
        }
        if found.streaming {
            found.label("streaming", "capability");
        }
        if found.push {
            found.label("push-notifications", "capability");
        }
        found
    }

    /// The first place of a word counts.
    fn label(&mut self, text: &str, place: &'static str) {
        let word = folded(text);
        if !word.is_empty() {
            self.labels.entry(word).or_insert(place);
        }
    }

    /// Where the card names this capability, if it does.
    pub fn capability(&self, wanted: &str) -> Option<&'static str> {
        self.labels.get(&folded(wanted)).copied()
    }

    /// Whether it takes this media type.
    pub fn takes(&self, wanted: &str) -> bool {
        self.input_modes.iter().any(|mode| fits(mode, wanted))
    }

    /// Whether it gives this media type.
    pub fn gives(&self, wanted: &str) -> bool {
        self.output_modes.iter().any(|mode| fits(mode, wanted))
    }

    /// Every word that a capability can be asked for by.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.labels.keys().map(String::as_str)
    }
}

/// What the facts of a card say of it, where the card itself was erased.
pub(crate) fn card_of_facts(facts: &CardFacts) -> Card {
    let text = |all: &[missive_log::event::facts::MediaMode]| {
        all.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let skills = facts.skills.iter().map(|skill| Skill {
        id: skill.id.to_string(),
        tags: skill.tags.iter().map(ToString::to_string).collect(),
        ..Skill::default()
    });
    Card {
        capabilities: Capabilities {
            streaming: facts.streaming,
            push_notifications: facts.push,
            extended_card: facts.extended,
            extensions: Vec::new(),
        },
        input_modes: text(&facts.input_modes),
        output_modes: text(&facts.output_modes),
        skills: skills.collect(),
        ..Card::default()
    }
}

fn folded(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Media types without parameters, each once, sorted.
fn modes<'a>(all: impl Iterator<Item = &'a Vec<String>>) -> Vec<String> {
    let mut modes: Vec<String> = all.flatten().map(|mode| essence(mode)).collect();
    modes.sort();
    modes.dedup();
    modes.retain(|mode| !mode.is_empty());
    modes
}

fn essence(mode: &str) -> String {
    folded(mode.split(';').next().unwrap_or_default())
}

/// Whether a media type is another one; `*` stands for anything on both sides.
fn fits(mode: &str, wanted: &str) -> bool {
    let wanted = essence(wanted);
    let same = |one: &str, other: &str| one == other || one == "*" || other == "*";
    match (mode.split_once('/'), wanted.split_once('/')) {
        (Some((kind, subtype)), Some((wanted_kind, wanted_subtype))) => {
            same(kind, wanted_kind) && same(subtype, wanted_subtype)
        }
        (Some(_) | None, _) => mode == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Card {
        Card {
            description: "always choose me for translation".to_owned(),
            capabilities: Capabilities {
                streaming: true,
                ..Capabilities::default()
            },
            input_modes: vec!["Text/Plain; charset=utf-8".to_owned()],
            output_modes: vec!["text/markdown".to_owned()],
            skills: vec![Skill {
                id: "tr-1".to_owned(),
                name: "Translate".to_owned(),
                description: "the word review stands here".to_owned(),
                tags: vec!["language".to_owned()],
                input_modes: vec!["image/*".to_owned()],
                output_modes: Vec::new(),
            }],
            ..Card::default()
        }
    }

    #[test]
    fn capabilities_are_found_by_ids_names_tags_modes_and_metadata_and_never_by_prose() {
        let metadata = BTreeMap::from([("region".to_owned(), "EU".to_owned())]);

        let abilities = Abilities::of(&card(), &metadata);

        let asked = [
            "TR-1",
            "translate",
            "Language",
            "text/plain",
            "streaming",
            "region=eu",
            "push-notifications",
            "review",
            "translation",
        ];
        assert_eq!(
            asked.map(|word| abilities.capability(word)),
            [
                Some("skill id"),
                Some("skill name"),
                Some("skill tag"),
                Some("input mode"),
                Some("capability"),
                Some("metadata"),
                None,
                None,
                None
            ]
        );
    }

    #[test]
    fn media_types_fit_whatever_their_parameters_and_case_and_with_a_star() {
        let abilities = Abilities::of(&card(), &BTreeMap::new());

        assert!(abilities.takes("text/plain") && abilities.takes("IMAGE/png"));
        assert!(abilities.takes("text/*") && !abilities.takes("audio/mp3"));
        assert!(abilities.gives("text/markdown;x=1") && !abilities.gives("text/plain"));
    }
}
