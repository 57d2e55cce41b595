//! `missive projection`: the views, and whether they say what the log says.

use super::{Setting, moment, no_log, warn_of_fault};
use crate::args::events::Projection;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Lines, Output, Page, Report, Tint};
use missive_commands::Exit;
use missive_log::event::Seq;
use missive_projections::{Comparison, Difference, Scope, Status, Views};
use serde::Serialize;

pub(super) async fn run(
    command: &Projection,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = setting.home.read().await?.ok_or_else(no_log)?;
    session
        .used(async |session| {
            warn_of_fault(session, output);
            let scope = scope(setting, session)?;
            let (views, _) = moment::look(setting, session, &scope, output)?;
            moment::tell(setting, session, output).await;
            match command {
                Projection::List => list(session, &views, output).await,
                Projection::Verify => verify(session, &views, output).await,
                Projection::Rebuild => rebuild(session, &views, output).await,
            }
        })
        .await
}

/// What must be folded to know how the views stood: they move together, and so at an earlier place all of
/// them stand at it. Only events that cannot be read must be counted again, if there are some up to there.
fn scope(setting: &Setting<'_>, session: &Session) -> Result<Scope, Failure> {
    let live = session.views().and_then(|views| views.status());
    let live = live.map_err(|error| session.views_failure(&error))?;
    let place = moment::place(setting, session)?;
    let must_count = live
        .unreadable_first
        .zip(place)
        .is_some_and(|(first, place)| first <= place);
    Ok(if must_count {
        Scope::Everything
    } else {
        Scope::Groups
    })
}

/// `projection_list` and `projection_rebuild`.
#[derive(Serialize)]
struct Listing {
    projections: Vec<Row>,
    log: String,
    position: Seq,
    unreadable: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable_first: Option<Seq>,
    #[serde(skip)]
    kind: Kind,
}

#[derive(Serialize)]
struct Row {
    name: String,
    version: u32,
    position: Seq,
}

impl Listing {
    fn new(status: Status, kind: Kind) -> Self {
        let row = |view: missive_projections::ViewName| Row {
            name: view.name,
            version: view.version,
            position: status.position,
        };
        Self {
            projections: status.views.into_iter().map(row).collect(),
            log: status.log.to_string(),
            position: status.position,
            unreadable: status.unreadable,
            unreadable_first: status.unreadable_first,
            kind,
        }
    }
}

impl Report for Listing {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn human(&self, page: &mut Page) {
        let cells = |row: &Row| {
            [
                row.name.clone(),
                row.version.to_string(),
                row.position.to_string(),
            ]
        };
        page.table(
            ["view", "version", "position"],
            self.projections.iter().map(cells),
        );
        if let Some(first) = self.unreadable_first {
            let what = format!(
                "{} events could not be read, the first is {first}",
                self.unreadable
            );
            page.spans(&[(Tint::Warning, &what)]);
        }
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        #[derive(Serialize)]
        struct One<'a> {
            projection: &'a Row,
        }
        let mut rows = self.projections.iter();
        rows.try_for_each(|projection| lines.push(self.kind, true, &One { projection }))
    }
}

async fn list(session: &Session, views: &Views, output: &mut Output) -> Result<Exit, Failure> {
    let status = views
        .status()
        .map_err(|error| session.views_failure(&error))?;
    output
        .report(&Listing::new(status, Kind::ProjectionList))
        .await?;
    Ok(Exit::Done)
}

async fn rebuild(session: &Session, views: &Views, output: &mut Output) -> Result<Exit, Failure> {
    let progress = output.progress("folding every event again");
    let rebuilt = views.rebuild();
    drop(progress);
    let status = rebuilt.map_err(|error| session.views_failure(&error))?;
    output
        .report(&Listing::new(status, Kind::ProjectionRebuild))
        .await?;
    Ok(Exit::Done)
}

/// `projection_verify`.
#[derive(Serialize)]
struct Verification {
    position: Seq,
    equal: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Difference>,
}

impl Report for Verification {
    fn kind(&self) -> Kind {
        Kind::ProjectionVerify
    }

    fn ok(&self) -> bool {
        self.difference.is_none()
    }

    fn human(&self, page: &mut Page) {
        let place = format!("{} rows are equal at event {}", self.equal, self.position);
        match &self.difference {
            None => page.spans(&[
                (Tint::Good, "ok"),
                (Tint::Plain, ": "),
                (Tint::Plain, &place),
            ]),
            Some(difference) => {
                let what = difference.to_string();
                page.spans(&[
                    (Tint::Bad, "different"),
                    (Tint::Plain, ": "),
                    (Tint::Plain, &what),
                ]);
                page.line(&place);
                page.line(
                    "`missive projection rebuild` folds the views again; the log is not affected",
                );
            }
        }
    }
}

async fn verify(session: &Session, views: &Views, output: &mut Output) -> Result<Exit, Failure> {
    let progress = output.progress("folding every event again and comparing");
    let compared = views.verify();
    drop(progress);
    let compared: Comparison = compared.map_err(|error| session.views_failure(&error))?;
    let report = Verification {
        position: compared.position,
        equal: compared.equal,
        difference: compared.difference,
    };
    output.report(&report).await?;
    // The log holds; what is kept beside it on disk does not.
    Ok(if report.ok() { Exit::Done } else { Exit::Io })
}
