//! What agents can do, by their cards: of one agent or of all.
//!
//! Of all, an agent that cannot be asked is told beside the others, and ends nothing.

use missive_log::Log;
use missive_log::event::Alias;

use super::card::{Loaded, Want};
use super::{Course, Done};
use crate::exit::Exit;
use crate::failure::CommandError;
use crate::groups::is_its_own;
use crate::interrupt::Interrupt;
use crate::peer::{Target, known_aliases};
use crate::report::agent::{AbilitiesReport, AbilitiesView};
use crate::run::Missive;

impl<L: Log> Missive<L> {
    /// The capabilities, skills and media types of an agent, or of every agent; asks for a card if
    /// `refresh` is set or the known one is no longer fresh.
    pub async fn agent_capabilities(
        &self,
        alias: Option<&Alias>,
        refresh: bool,
        interrupt: &mut Interrupt,
    ) -> Result<Done<AbilitiesReport>, CommandError> {
        let mut agents = Vec::new();
        if let Some(alias) = alias {
            agents.push(self.abilities(alias, refresh, interrupt).await?);
        } else {
            for alias in known_aliases(&self.views(), self.config())? {
                let found = self.abilities(&alias, refresh, interrupt).await;
                agents.push(match found {
                    Ok(view) => view,
                    Err(error) if is_its_own(&error) => {
                        AbilitiesView::unknown(&alias, self.redactor().clean(&error.to_string()))
                    }
                    Err(error) => return Err(error),
                });
            }
        }
        self.settle();
        Ok(Done {
            report: AbilitiesReport { agents },
            exit: Exit::Done,
        })
    }

    /// The same of the cards that are known, however old, without asking anybody.
    ///
    /// # Errors
    /// A refusal if an agent is named, and no card of it is known.
    pub async fn agent_capabilities_known(
        &self,
        alias: Option<&Alias>,
    ) -> Result<Done<AbilitiesReport>, CommandError> {
        let mut agents = Vec::new();
        if let Some(alias) = alias {
            agents.push(self.known_abilities(alias).await?);
        } else {
            for alias in known_aliases(&self.views(), self.config())? {
                agents.push(match self.known_abilities(&alias).await {
                    Ok(view) => view,
                    Err(error) if is_its_own(&error) => {
                        AbilitiesView::unknown(&alias, self.redactor().clean(&error.to_string()))
                    }
                    Err(error) => return Err(error),
                });
            }
        }
        Ok(Done {
            report: AbilitiesReport { agents },
            exit: Exit::Done,
        })
    }

    async fn known_abilities(&self, alias: &Alias) -> Result<AbilitiesView, CommandError> {
        let peer = self.peer(&Target::Alias(alias.clone()))?;
        let loaded = self.kept_card(alias, &peer).await?;
        self.abilities_of(alias, &loaded)
    }

    async fn abilities(
        &self,
        alias: &Alias,
        refresh: bool,
        interrupt: &mut Interrupt,
    ) -> Result<AbilitiesView, CommandError> {
        let peer = self.peer(&Target::Alias(alias.clone()))?;
        let want = if refresh { Want::Newest } else { Want::Usable };
        let mut course = Course::new(self.ids().operation());
        let loaded = self.card(&mut course, &peer, want, interrupt).await?;
        self.abilities_of(alias, &loaded)
    }

    fn abilities_of(&self, alias: &Alias, loaded: &Loaded) -> Result<AbilitiesView, CommandError> {
        let body = self.views().card(alias)?.and_then(|card| card.body);
        let fetched = body.map(|body| body.validated_at.to_string());
        Ok(AbilitiesView::of(
            alias,
            fetched,
            &loaded.card,
            self.redactor(),
        ))
    }
}
