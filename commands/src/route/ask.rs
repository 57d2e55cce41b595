//! Who may be chosen, read from views and cards that are known; and what a policy makes of them.

use std::collections::BTreeMap;

use missive_log::Log;
use missive_log::event::facts::{RoutingPolicy, Weight};
use missive_log::event::{Alias, GroupName, Seq};
use missive_projections::{Group, Views};

use super::abilities::Abilities;
use super::needs::Needs;
use super::policy::{Candidate, Choice, Question, choose, is_by_turns};
use crate::Done;
use crate::config::Config;
use crate::decide::Undecided;
use crate::exit::Exit;
use crate::failure::CommandError;
use crate::groups::{GroupRefusal, Seat, find_group, seats};
use crate::interrupt::Interrupt;
use crate::note::Note;
use crate::report::route::RouteReport;
use crate::run::Missive;

/// Among whom is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Among {
    /// The members of a group.
    Group(GroupName),
    /// These, in this order.
    Agents(Vec<Alias>),
}

/// `route explain`, and what `send` and `stream` say of a group.
#[derive(Clone, Debug)]
pub struct Routing {
    /// Among whom.
    pub among: Among,
    /// How; without it as the group, else the configuration, else `direct` says.
    pub policy: Option<RoutingPolicy>,
    /// What must hold of whoever is chosen.
    pub needs: Needs,
    /// Who comes first of those who fit.
    pub preferred: Vec<Alias>,
    /// How many make a quorum, instead of a majority.
    pub quorum: Option<u32>,
    /// The turn, instead of the group's next one.
    pub cursor: Option<u64>,
    /// Ask the candidates for their cards first.
    pub refresh: bool,
}

impl Routing {
    /// Among whom, and nothing else said.
    pub fn among(among: Among) -> Self {
        Self {
            among,
            policy: None,
            needs: Needs::default(),
            preferred: Vec::new(),
            quorum: None,
            cursor: None,
            refresh: false,
        }
    }

    /// The question as it stands for a group, or for none.
    pub(super) fn question(
        &self,
        group: Option<&Group>,
        config: &Config,
    ) -> Result<Question, GroupRefusal> {
        let of_config = || RoutingPolicy::from_name(config.routing.policy.as_deref()?);
        let policy = self
            .policy
            .or_else(|| group.and_then(|group| group.policy))
            .or_else(of_config)
            .unwrap_or(RoutingPolicy::Direct);
        let stray = |what| GroupRefusal::NotOfPolicy { what, policy };
        if self.quorum.is_some() && policy != RoutingPolicy::Quorum {
            return Err(stray("quorum"));
        }
        if self.cursor.is_some() && !is_by_turns(policy) {
            return Err(stray("cursor"));
        }
        Ok(Question {
            policy,
            needs: self.needs.clone(),
            preferred: self.preferred.clone(),
            quorum: self.quorum,
            cursor: self
                .cursor
                .or(group.map(|group| group.turn))
                .unwrap_or_default(),
        })
    }
}

/// What is known of the members beside the views: their cards, and what people noted.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(BTreeMap<Seq, (Vec<String>, Option<Abilities>)>);

impl Known {
    fn candidate(&self, seat: &Seat) -> Candidate {
        // Who became a member since is known by the views alone.
        let known = self.0.get(&seat.member.added).cloned();
        let (tags, abilities) = known.unwrap_or_else(|| {
            let tags = seat.member.tags.iter().map(ToString::to_string);
            (tags.collect(), None)
        });
        Candidate {
            agent: seat.agent().clone(),
            rank: Some(seat.member.rank.clone()),
            weight: seat.member.weight,
            tags,
            abilities,
            gone: seat.alias.is_none(),
        }
    }
}

/// A decision, and what it was made of.
#[derive(Clone, Debug)]
pub(crate) struct Decided {
    pub(crate) group: Option<Group>,
    pub(crate) question: Question,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) choice: Choice,
}

impl Decided {
    fn of(
        group: Option<Group>,
        question: Question,
        candidates: Vec<Candidate>,
    ) -> Result<Self, GroupRefusal> {
        let aliases = || candidates.iter().map(|one| one.agent.clone());
        for preferred in &question.preferred {
            if !aliases().any(|alias| alias == *preferred) {
                return Err(GroupRefusal::NoCandidate {
                    agent: preferred.clone(),
                    candidates: aliases().collect(),
                });
            }
        }
        let choice = choose(&question, &candidates);
        Ok(Self {
            group,
            question,
            candidates,
            choice,
        })
    }

    /// The chosen ones, in the order in which they come.
    pub(crate) fn selected(&self) -> impl Iterator<Item = &Candidate> {
        let places = self.choice.selected.iter();
        places.filter_map(|place| self.candidates.get(*place))
    }
}

/// Chooses among the members of a group as the views know it.
pub(super) fn of_group(
    routing: &Routing,
    name: &GroupName,
    known: &Known,
    (views, config): (&Views, &Config),
) -> Result<Decided, Undecided> {
    let group = find_group(views, name)?;
    let seats = seats(views, config, &group)?;
    let question = routing.question(Some(&group), config);
    let question = question.map_err(|why| Undecided::Refused(why.into()))?;
    let candidates = seats.iter().map(|seat| known.candidate(seat)).collect();
    let decided = Decided::of(Some(group), question, candidates);
    decided.map_err(|why| Undecided::Refused(why.into()))
}

impl<L: Log> Missive<L> {
    /// Says whom a policy would choose, and why. No cursor moves.
    ///
    /// # Errors
    /// A refusal if there is no such group or agent.
    pub async fn route_explain(
        &self,
        routing: &Routing,
        interrupt: &mut Interrupt,
    ) -> Result<Done<RouteReport>, CommandError> {
        self.refresh_candidates(routing, interrupt).await?;
        let decided = match &routing.among {
            Among::Group(name) => {
                let known = self.known_members(name).await?;
                of_group(routing, name, &known, (&self.views(), self.config()))?
            }
            Among::Agents(agents) => self.of_agents(routing, agents).await?,
        };
        self.settle();
        Ok(Done {
            report: RouteReport::of(&decided, self.redactor()),
            exit: Exit::Done,
        })
    }

    /// Asks for the candidates' cards, if that is wanted; who does not answer is told.
    pub(super) async fn refresh_candidates(
        &self,
        routing: &Routing,
        interrupt: &mut Interrupt,
    ) -> Result<(), CommandError> {
        if !routing.refresh {
            return Ok(());
        }
        let aliases = match &routing.among {
            Among::Agents(agents) => agents.clone(),
            Among::Group(name) => {
                let views = self.views();
                let group = find_group(&views, name)?;
                let seats = seats(&views, self.config(), &group)?;
                seats.into_iter().filter_map(|seat| seat.alias).collect()
            }
        };
        for (alias, why) in self.refresh_cards(aliases, interrupt).await? {
            self.note(Note::NotAsked { alias, why });
        }
        Ok(())
    }

    /// What is known of the members of a group beside the views.
    pub(super) async fn known_members(&self, name: &GroupName) -> Result<Known, CommandError> {
        let views = self.views();
        let group = find_group(&views, name)?;
        let mut known = Known::default();
        for seat in seats(&views, self.config(), &group)? {
            let profile = match &seat.alias {
                Some(alias) => Some(self.profile_of(alias).await?),
                None => None,
            };
            let (tags, metadata) = self.of_member(&seat, profile.as_ref()).await?;
            let card = profile.and_then(|profile| profile.card);
            let abilities = card.map(|known| Abilities::of(&known.card, &metadata));
            known.0.insert(seat.member.added, (tags, abilities));
        }
        Ok(known)
    }

    async fn of_agents(
        &self,
        routing: &Routing,
        agents: &[Alias],
    ) -> Result<Decided, CommandError> {
        let question = routing.question(None, self.config());
        let question = question.map_err(|why| CommandError::Refused(why.into()))?;
        let mut candidates: Vec<Candidate> = Vec::new();
        for alias in agents {
            if candidates.iter().any(|one| one.agent == *alias) {
                continue;
            }
            let profile = self.profile_of(alias).await?;
            let card = profile.card.as_ref();
            candidates.push(Candidate {
                agent: alias.clone(),
                rank: None,
                weight: Weight::ONE,
                abilities: card.map(|known| Abilities::of(&known.card, &profile.metadata)),
                tags: profile.tags,
                gone: false,
            });
        }
        let decided = Decided::of(None, question, candidates);
        decided.map_err(|why| CommandError::Refused(why.into()))
    }
}
