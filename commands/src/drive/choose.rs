//! Which interface a message goes to, with as few requests as possible.
//!
//! What the user registered wins over the card, and then no card is asked for: a call must not need a
//! fresh card when it knows where to go (C007).

use missive_log::Log;
use url::Url;

use super::Course;
use super::card::{Loaded, Want};
use super::stored::is_redacted;
use crate::effect::fetch::FetchError;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::peer::{Peer, Target};
use crate::refusal::Refusal;
use crate::run::Missive;
use crate::wire::card::missing_extensions;
use crate::wire::negotiate::{Negotiated, NoChoice, Wishes, choose};
use crate::wire::text::excerpt;
use crate::wire::version::{Binding, Version};

/// An interface, and the card that it was chosen by.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The choice, and what else there was.
    pub(crate) negotiated: Negotiated,
    /// The card, if there is one.
    pub(crate) card: Option<Loaded>,
}

impl Chosen {
    /// Whether the interface came from a card that was not asked for now.
    pub(crate) fn is_cached(&self) -> bool {
        use crate::wire::negotiate::Source;
        self.negotiated.choice.source == Source::Card
            && self.card.as_ref().is_some_and(|card| card.cached)
    }
}

impl<L: Log> Missive<L> {
    /// What the user wants of an interface.
    pub(crate) fn wishes(&self, peer: &Peer, only: Option<Binding>) -> Result<Wishes, Refusal> {
        let protocol = self.protocol();
        let text = self.requests().protocol_version.as_ref();
        let version = match text.or(protocol.version.as_ref()) {
            None => None,
            Some(text) => Some(Version::parse(text).ok_or_else(|| Refusal::BadVersion {
                text: excerpt(text),
            })?),
        };
        let preference = if peer.bindings.is_empty() {
            protocol.binding_preference.clone()
        } else {
            peer.bindings.clone()
        };
        Ok(Wishes {
            overrides: peer.interfaces.clone(),
            preference,
            only,
            version,
            allow_any_host: false,
        })
    }

    /// Where a message to this agent would go as far as is known without asking: the interface that a call
    /// would choose; the agent's own address, where its card is asked for first, if no card is known.
    ///
    /// # Errors
    /// There is no such agent, nothing that it offers can be spoken to, or the log cannot be read.
    pub async fn destination(&self, target: &Target) -> Result<Url, CommandError> {
        let peer = self.peer(target)?;
        let wishes = self.wishes(&peer, None)?;
        let card = self.known_card(&peer).await?;
        if card.is_none() && wishes.overrides.is_empty() {
            return Ok(peer.base);
        }
        let entry = card.as_ref().map(|loaded| (&loaded.card, &loaded.from));
        let negotiated =
            choose(&peer.base, entry, &wishes).map_err(|why| self.no_interface(why))?;
        Ok(Url::parse(&negotiated.choice.url).unwrap_or(peer.base))
    }

    /// Chooses, and checks that the agent's required extensions would be declared (C029).
    pub(crate) async fn choose(
        &self,
        course: &mut Course,
        peer: &Peer,
        only: Option<Binding>,
        want: Want,
        interrupt: &mut Interrupt,
    ) -> Result<Chosen, CommandError> {
        let wishes = self.wishes(peer, only)?;
        // A wish that cannot be met is refused before anything is asked or recorded.
        if let Some(version) = wishes.version
            && !version.is_spoken()
        {
            let why = NoChoice::NotSpoken { version };
            return Err(Refusal::from(why).into());
        }
        if let Some(chosen) = self.without_asking(peer, &wishes).await? {
            self.check_extensions(peer, &chosen)?;
            return Ok(chosen);
        }
        let card = match self.card(course, peer, want, interrupt).await {
            Ok(card) => Some(card),
            // Nobody has a card, and the user said how to speak: the base URL is taken as it is.
            Err(CommandError::Failed(Failure::Card {
                error: FetchError::Nowhere { .. },
                ..
            })) if only.is_some() || !peer.bindings.is_empty() => None,
            Err(error) => return Err(error),
        };
        let entry = card.as_ref().map(|loaded| (&loaded.card, &loaded.from));
        let negotiated =
            choose(&peer.base, entry, &wishes).map_err(|why| self.no_interface(why))?;
        let chosen = Chosen { negotiated, card };
        self.check_extensions(peer, &chosen)?;
        Ok(chosen)
    }

    /// The choice, if a registered interface decides it.
    async fn without_asking(
        &self,
        peer: &Peer,
        wishes: &Wishes,
    ) -> Result<Option<Chosen>, CommandError> {
        let wanted = |(binding, _): &(Binding, Url)| {
            *binding != Binding::Grpc && wishes.only.is_none_or(|only| only == *binding)
        };
        if !wishes.overrides.iter().any(wanted) {
            return Ok(None);
        }
        let card = self.known_card(peer).await?;
        let entry = card.as_ref().map(|loaded| (&loaded.card, &loaded.from));
        let negotiated = choose(&peer.base, entry, wishes).map_err(|why| self.no_interface(why))?;
        Ok(Some(Chosen { negotiated, card }))
    }

    /// Why there is no interface, as it may be shown: a card's words must not show a secret.
    pub(crate) fn no_interface(&self, why: NoChoice) -> Refusal {
        let clean = |text: &String| self.redactor().clean(text);
        Refusal::NoInterface(match why {
            NoChoice::NothingFits { first, considered } => NoChoice::NothingFits {
                first: clean(&first),
                considered,
            },
            NoChoice::WrongHost {
                card_host,
                url,
                interface_host,
                class,
                considered,
            } => NoChoice::WrongHost {
                url: clean(&url),
                card_host,
                interface_host,
                class,
                considered,
            },
            other @ (NoChoice::OnlyOldVersions { .. }
            | NoChoice::NotSpoken { .. }
            | NoChoice::Nothing) => other,
        })
    }

    fn check_extensions(&self, peer: &Peer, chosen: &Chosen) -> Result<(), Refusal> {
        let Some(loaded) = &chosen.card else {
            return Ok(());
        };
        let declared = self.extras(peer.alias.as_ref()).extensions;
        let mut missing = missing_extensions(&loaded.card, &declared);
        // What was redacted in a card that was not asked for is not known to be missing.
        missing.retain(|uri| !loaded.hidden || !is_redacted(uri));
        if missing.is_empty() {
            return Ok(());
        }
        let clean = |uri: &String| excerpt(&self.redactor().clean(uri));
        let missing = missing.iter().map(clean).collect();
        Err(Refusal::ExtensionsRequired { missing })
    }
}
