//! What the members of a group can do, as far as their cards that are known say so.

use std::collections::BTreeMap;

use missive_log::event::kind::CardFacts;
use missive_log::event::{Alias, EventKind, GroupName};
use missive_log::payload::redact::Redactor;
use missive_log::{Log, event::Seq};

use super::{Seat, find_group, seats};
use crate::Done;
use crate::collect::crowd::{Wish, all};
use crate::drive::Course;
use crate::drive::card::Want;
use crate::exit::Exit;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::peer::{Peer, Target};
use crate::report::agent::AbilitiesView;
use crate::report::group::{GroupAbilitiesReport, MemberAbilities};
use crate::route::abilities::{Abilities, card_of_facts};
use crate::run::Missive;
use crate::wire::card::Card;

/// Why nothing is known of what an agent can do.
pub(crate) const NO_CARD: &str = "its card is not known yet";

/// A card that is known, however old.
pub(crate) struct KnownCard {
    pub(crate) card: Card,
    /// When it came or was last confirmed.
    pub(crate) fetched: String,
}

/// What is known of an agent, for choosing it.
pub(crate) struct Profile {
    /// Its tags, sorted.
    pub(crate) tags: Vec<String>,
    /// What people noted about it.
    pub(crate) metadata: BTreeMap<String, String>,
    /// Its card.
    pub(crate) card: Option<KnownCard>,
}

impl<L: Log> Missive<L> {
    /// What the members of a group can do. Cards that are known are read; with `refresh` they are asked for
    /// first, and whoever cannot be asked is told beside the others.
    ///
    /// # Errors
    /// A refusal if there is no such group.
    pub async fn group_capabilities(
        &self,
        name: &GroupName,
        refresh: bool,
        interrupt: &mut Interrupt,
    ) -> Result<Done<GroupAbilitiesReport>, CommandError> {
        let views = self.views();
        let group = find_group(&views, name)?;
        let seats = seats(&views, self.config(), &group)?;
        let mut failed = BTreeMap::new();
        if refresh {
            let aliases = seats.iter().filter_map(|seat| seat.alias.clone());
            failed = self.refresh_cards(aliases, interrupt).await?;
        }
        let mut members = Vec::new();
        for seat in &seats {
            members.push(self.member_abilities(seat, &failed).await?);
        }
        self.settle();
        Ok(Done {
            report: GroupAbilitiesReport {
                group: self.group_view(&group).await?,
                members,
            },
            exit: Exit::Done,
        })
    }

    async fn member_abilities(
        &self,
        seat: &Seat,
        failed: &BTreeMap<Alias, String>,
    ) -> Result<MemberAbilities, CommandError> {
        let profile = match &seat.alias {
            Some(alias) => Some(self.profile_of(alias).await?),
            None => None,
        };
        let card = profile.as_ref().and_then(|profile| profile.card.as_ref());
        let error = match (&seat.alias, card) {
            (None, _) => Some("it is not registered any more".to_owned()),
            (Some(alias), _) if failed.contains_key(alias) => failed.get(alias).cloned(),
            (Some(_), None) => Some(NO_CARD.to_owned()),
            (Some(_), Some(_)) => None,
        };
        let nothing = Card::default();
        let known = card.map_or(&nothing, |known| &known.card);
        let view = AbilitiesView::of(seat.agent(), None, known, self.redactor());
        let (tags, metadata) = self.of_member(seat, profile.as_ref()).await?;
        let labels = Abilities::of(known, &metadata);
        Ok(MemberAbilities {
            agent: view.agent,
            rank: seat.member.rank.to_string(),
            status: seat.standing.name(),
            error,
            fetched: card.map(|known| known.fetched.clone()),
            capabilities: view.capabilities,
            skills: view.skills,
            input_modes: view.input_modes,
            output_modes: view.output_modes,
            tags,
            labels: cleaned(labels.labels(), self.redactor()),
        })
    }

    /// Tags and metadata of a member: its own and its agent's; its own metadata win.
    pub(crate) async fn of_member(
        &self,
        seat: &Seat,
        profile: Option<&Profile>,
    ) -> Result<(Vec<String>, BTreeMap<String, String>), CommandError> {
        let mut tags: Vec<String> = seat.member.tags.iter().map(ToString::to_string).collect();
        let mut metadata = BTreeMap::new();
        if let Some(profile) = profile {
            tags.extend(profile.tags.iter().cloned());
            metadata.clone_from(&profile.metadata);
        }
        tags.sort();
        tags.dedup();
        metadata.extend(self.pairs_of(seat.member.metadata).await?);
        Ok((tags, metadata))
    }

    /// What is known of an agent without asking it.
    pub(crate) async fn profile_of(&self, alias: &Alias) -> Result<Profile, CommandError> {
        let peer = self.peer(&Target::Alias(alias.clone()))?;
        let card = self.card_on_record(&peer).await?;
        if let Some(agent) = self.views().agent(alias)? {
            return Ok(Profile {
                tags: agent.tags.iter().map(ToString::to_string).collect(),
                metadata: self.pairs_of(agent.metadata).await?,
                card,
            });
        }
        let seed = self.config().agents.get(alias.as_str());
        let mut tags = seed.map(|seed| seed.tags.clone()).unwrap_or_default();
        tags.sort();
        Ok(Profile {
            tags,
            metadata: seed.map(|seed| seed.metadata.clone()).unwrap_or_default(),
            card,
        })
    }

    /// The card of an agent as it is known; of one that was erased, what its facts say.
    async fn card_on_record(&self, peer: &Peer) -> Result<Option<KnownCard>, CommandError> {
        let Some(alias) = &peer.alias else {
            return Ok(None);
        };
        let body = self.views().card(alias)?.and_then(|card| card.body);
        let Some(body) = body.filter(|body| body.base.as_ref() == Some(&peer.url)) else {
            return Ok(None);
        };
        let fetched = body.validated_at.to_string();
        let card = match self.stored_card(peer).await? {
            Some(stored) if stored.no_store => None,
            Some(stored) => Some(stored.card),
            None => self
                .card_facts(body.source.seq)
                .await?
                .as_ref()
                .map(card_of_facts),
        };
        Ok(card.map(|card| KnownCard { card, fetched }))
    }

    async fn card_facts(&self, seq: Seq) -> Result<Option<CardFacts>, CommandError> {
        let records = self.log().pick(&[seq]).await?;
        let event = records.first().and_then(|record| record.decode().ok());
        Ok(match event.map(|event| event.kind) {
            Some(EventKind::CardFetched(fetched)) => fetched.card,
            Some(EventKind::CardGiven(given)) => Some(given.card),
            Some(_) | None => None,
        })
    }

    /// Asks agents for their cards, whether the known ones are fresh or not, as many at once as the configuration
    /// allows; says why where one did not come.
    pub(crate) async fn refresh_cards(
        &self,
        aliases: impl IntoIterator<Item = Alias>,
        interrupt: &mut Interrupt,
    ) -> Result<BTreeMap<Alias, String>, CommandError> {
        let at_once = usize::try_from(self.qos().concurrency_max).unwrap_or(1);
        let asked = all(aliases, at_once, interrupt, async |alias, wish: Wish| {
            let came = self.refresh_card(&alias, &mut wish.interrupt()).await;
            (alias, came)
        })
        .await;
        let mut failed = BTreeMap::new();
        for (alias, came) in asked {
            match came {
                Ok(()) => {}
                Err(error) if is_its_own(&error) => {
                    failed.insert(alias, self.redactor().clean(&error.to_string()));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(failed)
    }

    async fn refresh_card(
        &self,
        alias: &Alias,
        interrupt: &mut Interrupt,
    ) -> Result<(), CommandError> {
        let peer = self.peer(&Target::Alias(alias.clone()))?;
        let mut course = Course::new(self.ids().operation());
        self.card(&mut course, &peer, Want::Newest, interrupt)
            .await?;
        Ok(())
    }
}

/// Whether an error is about one agent alone.
pub(crate) fn is_its_own(error: &CommandError) -> bool {
    matches!(
        error,
        CommandError::Refused(_) | CommandError::Failed(Failure::Card { .. })
    )
}

fn cleaned<'a>(labels: impl Iterator<Item = &'a str>, redactor: &Redactor) -> Vec<String> {
    labels.map(|label| redactor.clean(label)).collect()
}
