//! What must hold of an agent that is chosen, and how far it does.

use super::policy::Candidate;

/// What must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Words that its card names, whatever their case.
    pub capabilities: Vec<String>,
    /// Tags of the agent or of the member.
    pub tags: Vec<String>,
    /// Media types that it takes.
    pub input_modes: Vec<String>,
    /// Media types that it gives.
    pub output_modes: Vec<String>,
    /// That it streams.
    pub streaming: bool,
    /// That it pushes.
    pub push: bool,
}

/// How far a candidate meets what must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// What it meets, each with where that is said.
    pub matched: Vec<String>,
    /// What it does not meet.
    pub missing: Vec<String>,
    /// Whether nobody can be spoken to any more.
    pub gone: bool,
    /// Whether what it can do is not known, and must be.
    pub unknown: bool,
}

impl Fit {
    /// Whether it may be chosen.
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty() && !self.gone
    }

    /// Why it may not.
    pub(super) fn refusal(&self) -> String {
        if self.gone {
            return "it is not registered any more".to_owned();
        }
        if self.unknown {
            return "its card is not known yet, and what it can do is required".to_owned();
        }
        "it does not meet every requirement".to_owned()
    }
}

impl Needs {
    /// Whether nothing must hold.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether what an agent can do matters, and not only what people say of it here.
    pub fn is_about_cards(&self) -> bool {
        let of_people = Self {
            tags: self.tags.clone(),
            ..Self::default()
        };
        *self != of_people
    }

    /// How far a candidate meets it.
    pub(super) fn fit(&self, candidate: &Candidate) -> Fit {
        let mut fit = Fit {
            gone: candidate.gone,
            unknown: candidate.abilities.is_none() && self.is_about_cards(),
            ..Fit::default()
        };
        let abilities = candidate.abilities.as_ref();
        for wanted in &self.capabilities {
            let place = abilities.and_then(|abilities| abilities.capability(wanted));
            let met = place.map(|place| format!("capability {wanted} ({place})"));
            note(&mut fit, met, format!("capability {wanted}"));
        }
        for wanted in &self.tags {
            let text = format!("tag {wanted}");
            let met = candidate.tags.contains(wanted).then(|| text.clone());
            note(&mut fit, met, text);
        }
        for wanted in &self.input_modes {
            let text = format!("input mode {wanted}");
            let takes = abilities.is_some_and(|abilities| abilities.takes(wanted));
            note(&mut fit, takes.then(|| text.clone()), text);
        }
        for wanted in &self.output_modes {
            let text = format!("output mode {wanted}");
            let gives = abilities.is_some_and(|abilities| abilities.gives(wanted));
            note(&mut fit, gives.then(|| text.clone()), text);
        }
        let optional = [
            (
                self.streaming,
                "streaming",
                abilities.map(|one| one.streaming),
            ),
            (
                self.push,
                "push notifications",
                abilities.map(|one| one.push),
            ),
        ];
        for (wanted, name, has) in optional {
            if wanted {
                let met = (has == Some(true)).then(|| name.to_owned());
                note(&mut fit, met, name.to_owned());
            }
        }
        fit
    }
}

fn note(fit: &mut Fit, met: Option<String>, missing: String) {
    match met {
        Some(met) => fit.matched.push(met),
        None => fit.missing.push(missing),
    }
}
