//! `missive context show`: what was said, both sides, in order.

use super::super::{Setting, moment, seconds};
use super::list::fields;
use super::story::{Story, Wanted};
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Lines, Mode, Output, Page, Reader, Report, Tint};
use missive_commands::Exit;
use missive_commands::conversation::{Side, Turn};
use missive_commands::report::context::ContextView;
use missive_log::event::ContextId;
use serde::Serialize;

/// The most turns of one JSON document; the newest are kept.
const TURNS_MAX: usize = 10_000;

pub(super) async fn show(
    context: ContextView,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<(), Failure> {
    let id = ContextId::new(&context.context_id)
        .map_err(|error| Failure::from_error(Exit::Internal, &error))?;
    let through = moment::place(setting, session)?.unwrap_or(session.head().seq);
    let mut story = Story::new(session, &id, through, Wanted::Turns)?;
    if output.style().mode == Mode::Human && output.report(&Head(&context)).await? == Reader::Gone {
        return Ok(());
    }
    let mut kept: Vec<Turn> = Vec::new();
    let mut truncated = false;
    loop {
        let chapters = story.page().await?;
        let ended = chapters.is_empty();
        let mut turns: Vec<Turn> = chapters
            .into_iter()
            .flat_map(|chapter| chapter.turns)
            .collect();
        if ended {
            turns.extend(story.end());
        }
        if output.style().mode == Mode::Human {
            if output.report(&Said(&turns)).await? == Reader::Gone {
                return Ok(());
            }
        } else {
            kept.append(&mut turns);
            let excess = kept.len().saturating_sub(TURNS_MAX);
            truncated |= excess > 0;
            kept.drain(..excess);
        }
        if ended {
            break;
        }
    }
    if story.unreadable > 0 {
        output.warn(&format!(
            "{} events cannot be read and are left out; `missive events verify` says more",
            story.unreadable
        ));
    }
    if output.style().mode != Mode::Human {
        let report = Whole {
            context,
            turns: kept,
            truncated,
        };
        output.report(&report).await?;
    }
    Ok(())
}

/// `context_show`.
#[derive(Serialize)]
struct Whole {
    context: ContextView,
    turns: Vec<Turn>,
    /// Whether older turns were left out; an export has them all.
    truncated: bool,
}

impl Report for Whole {
    fn kind(&self) -> Kind {
        Kind::ContextShow
    }

    fn human(&self, page: &mut Page) {
        Head(&self.context).human(page);
        Said(&self.turns).human(page);
    }
}

/// What stands in front.
#[derive(Serialize)]
struct Head<'a>(&'a ContextView);

impl Report for Head<'_> {
    fn kind(&self) -> Kind {
        Kind::ContextShow
    }

    fn human(&self, page: &mut Page) {
        let fields = fields(self.0);
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        page.fields(&fields);
    }
}

/// Some turns.
#[derive(Serialize)]
struct Said<'a>(&'a [Turn]);

impl Report for Said<'_> {
    fn kind(&self) -> Kind {
        Kind::ContextShow
    }

    fn human(&self, page: &mut Page) {
        for turn in self.0 {
            page.line("");
            say(turn, page);
        }
    }

    fn lines(&self, _lines: &mut Lines) -> Result<(), serde_json::Error> {
        Ok(())
    }
}

pub(super) fn say(turn: &Turn, page: &mut Page) {
    let at = format!("{:>5}  {}  ", turn.sequence, seconds(&turn.timestamp));
    let (who, tint) = match turn.side {
        Side::Sent => ("to ", Tint::Strong),
        Side::Received => ("from ", Tint::Strong),
        Side::Local => ("here", Tint::Faint),
    };
    let agent = turn.agent.as_deref().unwrap_or_default();
    let agent = if turn.side == Side::Local { "" } else { agent };
    let artifact = turn.artifact.as_ref();
    let called = artifact.and_then(|artifact| artifact.name.as_ref());
    let rest = [
        turn.task_id.as_ref().map(|task| format!("  task {task}")),
        artifact.map(|artifact| format!("  artifact {}", artifact.artifact_id)),
        called.map(|name| format!(" \"{name}\"")),
        turn.state.map(|state| format!("  {state}")),
        turn.withheld.map(|withheld| format!("  ({withheld})")),
    ];
    let rest: String = rest.into_iter().flatten().collect();
    page.spans(&[
        (Tint::Faint, &at),
        (tint, who),
        (tint, agent),
        (Tint::Plain, &rest),
    ]);
    if !turn.text.is_empty() {
        page.quoted(&turn.text);
    }
}
