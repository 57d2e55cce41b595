//! The events of a context, page by page, with what they say: memory does not grow with the context.

use super::super::events::{Indexed, Payloads, held, picked};
use crate::failure::Failure;
use crate::open::Session;
use missive_commands::conversation::{Conversation, Opened, Turn, spoken};
use missive_log::event::{ContextId, Seq};
use missive_log::export::{Held, Shown};
use missive_log::{Event, Record};
use missive_projections::Filter;

/// How many events are read at once.
const PAGE: usize = 256;

/// An event and everything that belongs to it.
pub(super) struct Chapter {
    pub(super) record: Record,
    pub(super) event: Event,
    pub(super) held: Vec<Held>,
    /// The turns that were complete when it came.
    pub(super) turns: Vec<Turn>,
}

/// A context, as it is read.
pub(super) struct Story<'s> {
    session: &'s Session,
    places: Indexed,
    conversation: Conversation,
    /// How many events could not be read.
    pub(super) unreadable: u64,
}

impl<'s> Story<'s> {
    /// Everything about a context up to a place.
    pub(super) fn new(
        session: &'s Session,
        context: &ContextId,
        through: Seq,
    ) -> Result<Self, Failure> {
        let views = session
            .views()
            .map_err(|error| session.views_failure(&error))?;
        Ok(Self {
            session,
            places: Indexed::new(views, of_context(context, through)),
            conversation: Conversation::default(),
            unreadable: 0,
        })
    }

    /// The next events; none at the end.
    pub(super) async fn page(&mut self) -> Result<Vec<Chapter>, Failure> {
        loop {
            let page = self.places.page(PAGE);
            let places = page.map_err(|error| self.session.views_failure(&error))?;
            if places.is_empty() {
                return Ok(Vec::new());
            }
            let (records, unreadable) = picked(self.session, &places).await?;
            self.unreadable += unreadable;
            let mut chapters = Vec::with_capacity(records.len());
            for record in records {
                let Ok(event) = record.decode() else {
                    self.unreadable += 1;
                    continue;
                };
                let held = held(self.session, &event, Payloads::All).await;
                let turns = self.conversation.take(&event, &opened(&event, &held));
                chapters.push(Chapter {
                    record,
                    event,
                    held,
                    turns,
                });
            }
            if !chapters.is_empty() {
                return Ok(chapters);
            }
        }
    }

    /// The turn that was still open at the end.
    pub(super) fn end(&mut self) -> Option<Turn> {
        self.conversation.end()
    }
}

/// The filter that means a context.
pub(super) fn of_context(context: &ContextId, through: Seq) -> Filter {
    Filter {
        context: Some(context.clone()),
        through: Some(through),
        ..Filter::default()
    }
}

fn opened(event: &Event, held: &[Held]) -> Opened {
    let roles = spoken(&event.kind).unwrap_or_default();
    let found = held.iter().find(|held| roles.contains(&held.of.role));
    match found.map(|held| (&held.shown, held.of.redacted)) {
        Some((Shown::Present(row), redacted)) => Opened::Bytes(row.bytes.clone(), redacted),
        Some((Shown::Erased(_) | Shown::Missing | Shown::Withheld, _)) => Opened::Erased,
        None => Opened::None,
    }
}
