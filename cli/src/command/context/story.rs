//! The events of a context, page by page, with what they say: memory does not grow with the context.
//!
//! What is not wanted is not read: a conversation needs one payload of an event, evidence needs all of them.

use super::super::events::{Indexed, Payloads, held, picked};
use crate::failure::Failure;
use crate::open::Session;
use missive_commands::conversation::{Conversation, Opened, Turn, spoken, went_on};
use missive_log::event::{ContextId, EventKind, Seq};
use missive_log::export::{Held, Shown};
use missive_log::{Event, Record, Role};
use missive_projections::{Filter, Views};
use std::collections::BTreeSet;

/// How many events are read at once.
const PAGE: usize = 64;

/// An event and everything that belongs to it.
pub(super) struct Chapter {
    pub(super) record: Record,
    pub(super) event: Event,
    pub(super) held: Vec<Held>,
    /// The turns that were complete when it came.
    pub(super) turns: Vec<Turn>,
}

/// What is wanted of the events of a context.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// What was said.
    Turns,
    /// The events with all their payloads.
    Evidence,
}

/// A context, as it is read.
pub(super) struct Story<'s> {
    session: &'s Session,
    views: Views,
    context: ContextId,
    wanted: Wanted,
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
        wanted: Wanted,
    ) -> Result<Self, Failure> {
        let views = session
            .views()
            .map_err(|error| session.views_failure(&error))?;
        Ok(Self {
            session,
            places: Indexed::new(views.clone(), of_context(context, through)),
            views,
            context: context.clone(),
            wanted,
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
                let (payloads, is_said) = match self.wanted {
                    Wanted::Turns => (Payloads::Of(spoken(&event.kind).unwrap_or_default()), true),
                    Wanted::Evidence => (Payloads::All, false),
                };
                let held = held(self.session, &event, payloads).await;
                let turns = if is_said {
                    self.conversation.take(&event, &opened(&event, &held))
                } else {
                    Vec::new()
                };
                chapters.push(Chapter {
                    record,
                    event,
                    held,
                    turns,
                });
            }
            if !chapters.is_empty() {
                if self.wanted == Wanted::Turns {
                    self.note_answers_elsewhere(&mut chapters).await?;
                }
                return Ok(chapters);
            }
        }
    }

    /// Says behind each message of this page whose answer is not in this context where it went on: an
    /// agent may answer elsewhere than it was asked to.
    async fn note_answers_elsewhere(&self, chapters: &mut [Chapter]) -> Result<(), Failure> {
        let broken = |error| self.session.views_failure(&error);
        let mut answered = BTreeSet::new();
        for chapter in chapters.iter_mut().rev() {
            let event = &chapter.event;
            answered.extend(event.cause);
            let (true, Some(operation)) = (is_message(&event.kind), &event.operation) else {
                continue;
            };
            if answered.contains(&event.seq) {
                continue;
            }
            let Some(last) = self.views.last_of_operation(operation).map_err(broken)? else {
                continue;
            };
            let (records, _) = picked(self.session, &[last]).await?;
            let last = records.first().and_then(|record| record.decode().ok());
            let elsewhere = last.filter(|last| last.cause == Some(event.seq));
            if let Some(context) = elsewhere.and_then(|last| last.links.context)
                && context != self.context
            {
                chapter.turns.push(went_on(event, &context));
            }
        }
        Ok(())
    }

    /// The turn that was still open at the end.
    pub(super) fn end(&mut self) -> Option<Turn> {
        self.conversation.end()
    }
}

fn is_message(kind: &EventKind) -> bool {
    spoken(kind) == Some(&[Role::Request])
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
