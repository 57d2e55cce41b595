//! `missive events diff`: what changed between two moments.

use super::super::{Setting, moment, no_log, seconds, warn_of_fault};
use super::is_zero;
use super::list::tell_unreadable;
use crate::args::events::Diff;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Lines, Output, Page, Report};
use missive_commands::Exit;
use missive_log::Log as _;
use missive_log::event::Seq;
use missive_projections::Change;
use serde::Serialize;

pub(super) async fn run(
    command: &Diff,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = setting.home.read().await?.ok_or_else(no_log)?;
    session
        .used(async |session| diff(command, session, output).await)
        .await
}

async fn diff(command: &Diff, session: &Session, output: &mut Output) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let from = moment::place_of(command.from, "--from", session)?;
    let to = match command.to {
        Some(to) => moment::place_of(to, "--to", session)?,
        None => session.head().seq,
    };
    if to < from {
        return Err(Failure::usage("--to comes before --from").hint("swap them"));
    }
    let records = moment::records(session);
    let progress = output.progress(moment::BACK);
    let views = session.views();
    let found = views.and_then(|views| {
        let mut seen = moment::back(&progress, to);
        views.changes(from, to, command.limit, &records, &mut seen)
    });
    drop(progress);
    let found = found.map_err(|error| session.views_failure(&error))?;
    let report = Differences {
        from: place(session, from).await?,
        to: place(session, to).await?,
        events: found.events,
        changes: found.changes.into_iter().map(Row::of).collect(),
        changes_more: found.more,
    };
    output.report(&report).await?;
    if report.changes.is_empty() {
        output.note("nothing changed that a view shows");
    }
    if found.more > 0 {
        output.note(&format!(
            "{} more changed: `--limit` lists more of them",
            found.more
        ));
    }
    tell_unreadable(found.unreadable, output);
    Ok(Exit::Done)
}

async fn place(session: &Session, seq: Seq) -> Result<Place, Failure> {
    let records = session.log().pick(&[seq]).await;
    let records = records.map_err(|error| session.read_failure(error))?;
    let event = records.first().and_then(|record| record.decode().ok());
    Ok(Place {
        sequence: seq,
        timestamp: event.map(|event| event.at.to_string()),
    })
}

/// `events_diff`.
#[derive(Serialize)]
struct Differences {
    from: Place,
    to: Place,
    events: u64,
    changes: Vec<Row>,
    /// How many more things changed than are listed.
    #[serde(skip_serializing_if = "is_zero")]
    changes_more: u64,
}

#[derive(Serialize)]
struct Place {
    sequence: Seq,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
}

#[derive(Serialize)]
struct Row {
    view: &'static str,
    id: String,
    change: &'static str,
    fields: Vec<Field>,
}

#[derive(Serialize)]
struct Field {
    #[serde(rename = "field")]
    name: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    from: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    to: String,
}

impl Row {
    fn of(change: Change) -> Self {
        let fields = change.fields.into_iter().map(|field| Field {
            name: field.name,
            from: field.from,
            to: field.to,
        });
        Self {
            view: change.view,
            id: change.id,
            change: change.changed.as_str(),
            fields: fields.collect(),
        }
    }
}

impl Report for Differences {
    fn kind(&self) -> Kind {
        Kind::EventsDiff
    }

    /// A line for each field: what somebody else wrote stays in a cell of its own.
    fn human(&self, page: &mut Page) {
        let place = |place: &Place| match &place.timestamp {
            Some(at) => format!("{} at {}", place.sequence, seconds(at)),
            None => place.sequence.to_string(),
        };
        page.fields(&[
            ("from", &place(&self.from)),
            ("to", &place(&self.to)),
            ("events", &self.events.to_string()),
        ]);
        if !self.changes.is_empty() {
            page.line("");
        }
        let rows = self.changes.iter().flat_map(|row| {
            row.fields.iter().map(|field| {
                [
                    row.view.replace('_', " "),
                    row.id.clone(),
                    row.change.to_owned(),
                    field.name.replace('_', " "),
                    field.from.clone(),
                    field.to.clone(),
                ]
            })
        });
        page.table(["view", "id", "change", "field", "from", "to"], rows);
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        #[derive(Serialize)]
        struct One<'a> {
            change: &'a Row,
        }
        #[derive(Serialize)]
        struct More {
            changes_more: u64,
        }
        let mut rows = self.changes.iter();
        rows.try_for_each(|change| lines.push(self.kind(), true, &One { change }))?;
        if self.changes_more > 0 {
            let more = More {
                changes_more: self.changes_more,
            };
            lines.push(self.kind(), true, &more)?;
        }
        Ok(())
    }
}
