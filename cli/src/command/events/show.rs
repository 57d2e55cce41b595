//! `missive events show`: one event with everything that belongs to it.

use super::super::{Setting, warn_of_fault};
use super::chosen::Indexed;
use super::is_damage;
use super::shown::{Payloads, held};
use crate::args::events::Show;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Report, Tint};
use missive_commands::Exit;
use missive_log::event::{EventId, OperationId, Seq, Timestamp};
use missive_log::export::{Held, Shown, ShownEvent};
use missive_log::{Event, Log as _, Record};
use missive_projections::Filter;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// How many records are looked through at once.
const PAGE: usize = 1_024;

pub(super) async fn run(
    command: &Show,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let Some(session) = setting.home.read().await? else {
        return Err(missing(&command.event, None));
    };
    session
        .used(async |session| show(command, session, output).await)
        .await
}

async fn show(command: &Show, session: &Session, output: &mut Output) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let record = find(&command.event, session).await?;
    let event = match record.decode() {
        Ok(event) => event,
        Err(error) => {
            return Err(Failure::from_error(Exit::Integrity, &error)
                .detail("unreadable")
                .hint("`missive events verify` says how far the log still holds"));
        }
    };
    let held = held(session, &event, Payloads::All).await;
    let digest = record.digest(session.head().log);
    let raw = to_raw_value(&ShownEvent::new(&record, &event, digest, &held));
    let report = OneEvent {
        event: raw.map_err(|error| Failure::from_error(Exit::Internal, &error))?,
        people: ForPeople {
            record,
            event,
            digest: digest.to_string(),
            held,
        },
    };
    output.report(&report).await?;
    Ok(Exit::Done)
}

/// The record with this place or this identifier.
async fn find(wanted: &str, session: &Session) -> Result<Record, Failure> {
    let end = session.head().seq;
    if let Ok(seq) = wanted.parse::<u64>() {
        let picked = session.log().pick(&[Seq(seq)]).await;
        let mut picked = picked.map_err(|error| session.read_failure(error))?;
        return picked.pop().ok_or_else(|| missing(wanted, Some(end)));
    }
    let spelled: String = wanted.chars().filter(|letter| *letter != '-').collect();
    let Ok(id) = spelled.to_lowercase().parse::<EventId>() else {
        return Err(missing(wanted, Some(end)));
    };
    // An identifier begins with the millisecond at which it was made, which is rarely after the event's
    // own time; only if the event is not found from there on, the rest is looked through as well.
    let first = begin(id, session).unwrap_or(Seq::ZERO);
    if let Some(record) = search(id, first, end, session).await? {
        return Ok(record);
    }
    let found = search(id, Seq::ZERO, first, session).await?;
    found.ok_or_else(|| match operation(wanted, session) {
        Some(operation) => no_event(wanted).hint(format!(
            "that is an operation: `missive events list --operation {operation}` lists its events"
        )),
        None => missing(wanted, Some(end)),
    })
}

/// The operation that is called so, if there is one.
fn operation(wanted: &str, session: &Session) -> Option<OperationId> {
    let operation = crate::args::value::operation(wanted).ok()?;
    let last = session.views().ok()?.last_of_operation(&operation);
    last.ok()?.map(|_| operation)
}

/// The place before the first event that can have this identifier.
fn begin(id: EventId, session: &Session) -> Option<Seq> {
    let millis = id.0.first_chunk::<6>()?;
    let millis = millis
        .iter()
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let filter = Filter {
        since: Some(Timestamp::from_micros(millis.saturating_mul(1_000))),
        ..Filter::default()
    };
    let page = Indexed::new(session.views().ok()?, filter).page(1).ok()?;
    page.first().map(|seq| Seq(seq.0.saturating_sub(1)))
}

async fn search(
    id: EventId,
    after: Seq,
    through: Seq,
    session: &Session,
) -> Result<Option<Record>, Failure> {
    let mut after = after;
    while after < through {
        let records = match session.log().read(after, PAGE).await {
            Ok(records) => records,
            // Around damage, place by place.
            Err(error) if is_damage(&error) => {
                after = after.next();
                session.log().pick(&[after]).await.unwrap_or_default()
            }
            Err(error) => return Err(session.read_failure(error)),
        };
        let is_wanted = |record: &&Record| record.decode().is_ok_and(|event| event.id == id);
        if let Some(found) = records.iter().find(is_wanted) {
            return Ok(Some(found.clone()));
        }
        after = records.last().map_or(after, |record| record.seq.max(after));
    }
    Ok(None)
}

fn no_event(wanted: &str) -> Failure {
    Failure::new(Exit::NotFound, format!("there is no event `{wanted}`")).detail("event")
}

fn missing(wanted: &str, end: Option<Seq>) -> Failure {
    let failure = no_event(wanted);
    match end {
        Some(end) => failure.hint(format!("the log has the events 1 to {end}")),
        None => failure.hint("there is no log yet"),
    }
}

/// `events_show`.
#[derive(Serialize)]
struct OneEvent {
    event: Box<RawValue>,
    #[serde(skip)]
    people: ForPeople,
}

struct ForPeople {
    record: Record,
    event: Event,
    digest: String,
    held: Vec<Held>,
}

impl Report for OneEvent {
    fn kind(&self) -> Kind {
        Kind::EventsShow
    }

    fn human(&self, page: &mut Page) {
        self.people.head(page);
        for held in &self.people.held {
            payload(held, page);
        }
    }
}

impl ForPeople {
    fn head(&self, page: &mut Page) {
        fn text<T: ToString>(value: Option<&T>) -> String {
            value.map(ToString::to_string).unwrap_or_default()
        }
        let event = &self.event;
        let before = |seq: Seq| {
            if seq == Seq::ZERO {
                String::new()
            } else {
                seq.to_string()
            }
        };
        page.fields(&[
            ("sequence", &event.seq.to_string()),
            ("type", event.kind.name()),
            ("time", &event.at.to_string()),
            ("event id", &event.id.to_string()),
            ("subject", &text(event.subject.as_ref())),
            (
                "origin",
                event.origin.map_or("", missive_log::Origin::as_str),
            ),
            ("actor", &text(event.actor.as_ref())),
            ("operation", &text(event.operation.as_ref())),
            ("cause", &text(event.cause.as_ref())),
            ("agent", &text(event.links.agent.as_ref())),
            ("context", &text(event.links.context.as_ref())),
            ("task", &text(event.links.task.as_ref())),
            ("group", &text(event.links.group.as_ref())),
            ("facts", &facts(&self.record).unwrap_or_default()),
            ("prev", &before(event.prev)),
            ("digest", &self.digest),
            ("link", &self.record.link.to_string()),
        ]);
    }
}

/// The facts as they are stored.
fn facts(record: &Record) -> Option<String> {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        facts: Option<&'a RawValue>,
    }
    let body: Body<'_> = serde_json::from_str(&record.body).ok()?;
    body.facts.map(|facts| facts.get().to_owned())
}

fn payload(held: &Held, page: &mut Page) {
    let of = &held.of;
    let redacted = match of.redacted {
        0 => String::new(),
        places => format!(", {places} redacted"),
    };
    let (size, text) = match &held.shown {
        Shown::Present(row) => {
            let text = String::from_utf8_lossy(&row.bytes).into_owned();
            (format!("{} bytes", row.bytes.len()), Some(text))
        }
        Shown::Erased(seq) => (format!("erased by event {seq}"), None),
        Shown::Missing => ("missing or changed".to_owned(), None),
        Shown::Withheld => (String::new(), None),
    };
    page.line("");
    page.spans(&[
        (Tint::Strong, of.role.as_str()),
        (
            Tint::Faint,
            &format!(" ({}, {size}{redacted})", of.media.as_str()),
        ),
    ]);
    if let Some(text) = text {
        page.block(&text);
    }
}
