//! What an agent shows only to whom it knows: its extended card (A2A 1.0, section 3.1.11).
//!
//! It is asked for where the public card says that there is one, and only with credentials. It is kept
//! beside the public card and never used instead of it: calls go by what everybody can check.

use missive_log::Log;
use missive_log::event::{Alias, Links};

use super::call::Call;
use super::card::Want;
use super::choose::Chosen;
use super::send::Line;
use super::{Course, Done};
use crate::exit::Exit;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::peer::Target;
use crate::refusal::Refusal;
use crate::report::agent::{InspectReport, SelectedInterface, SignatureView, considered};
use crate::run::Missive;
use crate::wire::answer::Reply;
use crate::wire::json::Limits;
use crate::wire::request::Operation;
use crate::wire::signature::Signed;
use crate::wire::version::Binding;

impl<L: Log> Missive<L> {
    /// Asks for an agent's extended card and shows it; asks for the public one first if `refresh` is set
    /// or the known one is no longer fresh.
    pub async fn agent_inspect_extended(
        &self,
        alias: &Alias,
        refresh: bool,
        binding: Option<Binding>,
        interrupt: &mut Interrupt,
    ) -> Result<Done<InspectReport>, CommandError> {
        let peer = self.peer(&Target::Alias(alias.clone()))?;
        let want = if refresh { Want::Newest } else { Want::Usable };
        let mut course = Course::new(self.ids().operation());
        let credentials = self.credentials(Some(alias));
        if credentials.bearer.is_none() && credentials.headers.is_empty() {
            return Err(Refusal::NoCredentials.into());
        }
        let chosen = self
            .choose(&mut course, &peer, binding, want, interrupt)
            .await?;
        offers_extended(&chosen)?;
        let negotiated = chosen.negotiated;
        let reason = negotiated.choice.reason.clone();
        let line = Line::new(negotiated.choice, self.redactor())?;
        line.tell();
        let call = Call {
            agent: Some(alias),
            line: &line,
            operation: Operation::GetExtendedCard,
            links: Links {
                agent: Some(alias.clone()),
                ..Links::default()
            },
            known: None,
            abandoned: None,
        };
        let reading = self.call(&mut course, call, interrupt).await?;
        let Reply::Card(card) = &reading.reply else {
            return Err(Failure::Internal {
                what: "a call for a card was answered by something else",
            }
            .into());
        };
        let trust = self.trust(&peer).await?;
        let signed = Signed::read(reading.raw.as_bytes(), &Limits::default());
        let stored = self.views().card(alias)?.and_then(|card| card.extended);
        let bytes = match stored {
            Some(source) => self.open(source).await?.unwrap_or_default(),
            None => Vec::new(),
        };
        let agent = self.agent_view(alias).await?;
        let mut report = InspectReport::of(agent, card, &bytes, self.redactor());
        report.extended = true;
        if let Some(signed) = signed.filter(|signed| signed.count() > 0) {
            report.signature = SignatureView::of(&signed.judge(&trust), self.redactor());
        }
        let all = negotiated.considered.iter();
        report.interfaces = all
            .map(|entry| considered(self.redactor(), entry))
            .collect();
        let interface = line.report();
        report.selected_interface = Some(SelectedInterface { interface, reason });
        self.settle();
        Ok(Done {
            report,
            exit: Exit::Done,
        })
    }
}

/// Whether the public card, where there is one, says that there is another.
fn offers_extended(chosen: &Chosen) -> Result<(), Refusal> {
    match &chosen.card {
        Some(loaded) if !loaded.card.capabilities.extended_card => Err(Refusal::NoExtendedCard),
        Some(_) | None => Ok(()),
    }
}
