//! `missive events list`.

use super::super::{Setting, warn_of_fault};
use super::chosen::{Chosen, patterns};
use super::kinds;
use super::shown::{Events, Item, Payloads};
use crate::args::events::List;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Mode, Output, Reader, envelope};
use crate::suggest;
use missive_commands::Exit;
use missive_projections::Filter;
use serde::Serialize;
use serde_json::value::RawValue;

pub(super) async fn run(
    command: &List,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let Some(session) = setting.home.read().await? else {
        return empty(command, setting, output).await;
    };
    session
        .used(async |session| list(command, setting, session, output).await)
        .await
}

/// A home without a log: nothing has happened, and nothing is created.
async fn empty(
    command: &List,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if let Some(agent) = &command.filter.agent
        && !setting.config.agents.contains_key(agent.as_str())
    {
        let known: Vec<&str> = setting.config.agents.keys().map(String::as_str).collect();
        return Err(
            Failure::new(Exit::NotFound, format!("no agent is called `{agent}`"))
                .detail("agent")
                .hint_if(suggest::hint(agent.as_str(), "agent", &known)),
        );
    }
    let filter = Filter {
        kinds: patterns(&command.filter),
        ..Filter::default()
    };
    // Without views nothing can go wrong.
    if let Ok(Some(unknown)) = kinds::unknown(&filter, None) {
        return Err(unknown);
    }
    if output.style().mode == Mode::Json {
        let (front, back) = frame(None)?;
        output.piece([front, back].concat()).await?;
    }
    output.note("no events");
    Ok(Exit::Done)
}

async fn list(
    command: &List,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let mode = output.style().mode;
    let payloads = if mode == Mode::Human {
        Payloads::None
    } else {
        Payloads::Small
    };
    let mut chosen = Chosen::new(session, setting, &command.filter, command.reverse).await?;
    let (front, back) = frame(Some(session.head().to_string()))?;
    let mut before = front;
    let (mut listed, mut unreadable) = (0, 0);
    loop {
        let records = chosen.page().await?;
        if records.is_empty() {
            break;
        }
        let mut items = Vec::with_capacity(records.len());
        for record in &records {
            match Item::of(session, record, payloads).await {
                Some(item) => items.push(item),
                None => unreadable += 1,
            }
        }
        listed += items.len();
        let reader = if mode == Mode::Json {
            for item in &items {
                before.extend_from_slice(item.event.get().as_bytes());
                before.push(b',');
            }
            // The comma after the newest one waits for the next one.
            let keep = if listed == 0 {
                before.len()
            } else {
                before.len() - 1
            };
            let rest = before.split_off(keep);
            let piece = std::mem::replace(&mut before, rest);
            output.piece(piece).await?
        } else {
            output
                .report(&Events::new(items, session.head().seq))
                .await?
        };
        if reader == Reader::Gone {
            return Ok(Exit::Done);
        }
    }
    if mode == Mode::Json {
        let opening = if listed == 0 { before } else { Vec::new() };
        output.piece([opening, back].concat()).await?;
    } else if listed == 0 {
        output.note("no events");
    }
    tell_unreadable(unreadable + chosen.unreadable, output);
    Ok(Exit::Done)
}

/// Says that some events are missing from what was shown.
pub(super) fn tell_unreadable(unreadable: u64, output: &Output) {
    if unreadable > 0 {
        output.warn(&format!(
            "{unreadable} events cannot be read and are left out; `missive events verify` says more"
        ));
    }
}

#[derive(Serialize)]
struct Frame {
    events: [Box<RawValue>; 0],
    head: Option<String>,
}

/// The document around the events, which are written as they are found: memory stays bounded.
fn frame(head: Option<String>) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    const OPENING: &[u8] = b"\"events\":[";
    let frame = Frame { events: [], head };
    let encoded = envelope::encode(Kind::EventsList, true, None, &frame);
    let mut front = encoded.map_err(|error| Failure::from_error(Exit::Internal, &error))?;
    let place = front
        .windows(OPENING.len())
        .position(|window| window == OPENING);
    let place = place.map_or(front.len(), |place| place + OPENING.len());
    let back = front.split_off(place);
    Ok((front, back))
}
