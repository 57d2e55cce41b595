//! The log, or a part of it, leaves the house: every export is itself an event.

use missive_log::Role;
use missive_log::event::facts::{ContextForm, ExportFormat};
use missive_log::event::kind::{ContextExported, LogExported};
use missive_log::event::{ContextId, EventKind, Seq, Subject};
use missive_log::payload::About;
use missive_projections::Views;

use super::{Decide, Decision, Moment, Undecided};

/// `events export`, once what is written out is known.
#[derive(Clone, Debug)]
pub struct Export {
    /// In which form.
    pub format: ExportFormat,
    /// The place up to which the log was read.
    pub through: Seq,
    /// How many events were written out in full.
    pub events: u64,
    /// The filter as it was typed; none if nothing was left out.
    pub filter: Option<String>,
}

impl Decide for Export {
    fn decide(&self, _views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let kind = EventKind::LogExported(LogExported {
            format: self.format,
            through: self.through,
            events: self.events,
            filtered: self.filter.is_some(),
        });
        let filter = self.filter.iter();
        let payloads = filter
            .map(|text| {
                moment
                    .redactor
                    .text(moment.ids, Role::Filter, About::default(), text)
            })
            .collect();
        let mut draft = moment.draft(Subject::Log, kind, payloads);
        draft.operation = Some(moment.ids.operation());
        Ok(Decision {
            expect: Vec::new(),
            drafts: vec![draft],
        })
    }
}

/// `context export`, once what is written out is known.
#[derive(Clone, Debug)]
pub struct ContextExport {
    /// Which context.
    pub context: ContextId,
    /// In which form.
    pub format: ContextForm,
    /// The place up to which the log was read.
    pub through: Seq,
    /// How many events were written out.
    pub events: u64,
}

impl Decide for ContextExport {
    fn decide(&self, _views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let kind = EventKind::ContextExported(ContextExported {
            format: self.format,
            through: self.through,
            events: self.events,
        });
        let subject = Subject::Context(self.context.clone());
        let mut draft = moment.draft(subject, kind, Vec::new());
        draft.operation = Some(moment.ids.operation());
        draft.links.context = Some(self.context.clone());
        Ok(Decision {
            expect: Vec::new(),
            drafts: vec![draft],
        })
    }
}
