//! `missive log`: the line to keep elsewhere, and going on after a loss.

use super::acting::{self, Told};
use super::{Setting, no_log, warn_of_fault};
use crate::args::events::{Log, ReAnchor};
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Report, Tint};
use missive_commands::decide::Moment;
use missive_commands::decide::reanchor::Reanchor;
use missive_commands::{Exit, reanchor};
use missive_log::Origin;
use missive_log::event::Seq;
use serde::Serialize;

pub(super) async fn run(
    command: &Log,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = setting.home.read().await?.ok_or_else(no_log)?;
    session
        .used(async |session| match command {
            Log::Head => head(session, output).await,
            Log::ReAnchor(command) => re_anchor(command, setting, session, output).await,
        })
        .await
}

/// `log_head`.
#[derive(Serialize)]
struct HeadReport {
    head: String,
    log: String,
    sequence: Seq,
    link: String,
}

impl Report for HeadReport {
    fn kind(&self) -> Kind {
        Kind::LogHead
    }

    fn human(&self, page: &mut Page) {
        page.line(&self.head);
    }
}

async fn head(session: &Session, output: &mut Output) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let head = session.head();
    let report = HeadReport {
        head: head.to_string(),
        log: head.log.to_string(),
        sequence: head.seq,
        link: head.link.to_string(),
    };
    output.report(&report).await?;
    Ok(Exit::Done)
}

/// `log_reanchor`.
#[derive(Serialize)]
struct ReAnchored {
    sequence: Seq,
    answered: String,
    first_lost: Option<Seq>,
    last_lost: Option<Seq>,
    head: String,
}

impl Report for ReAnchored {
    fn kind(&self) -> Kind {
        Kind::LogReanchor
    }

    fn human(&self, page: &mut Page) {
        page.spans(&[
            (Tint::Warning, "re-anchored"),
            (
                Tint::Plain,
                &format!(" by event {}: {}", self.sequence, self.answered),
            ),
        ]);
        page.fields(&[("new head", &self.head)]);
    }
}

async fn re_anchor(
    command: &ReAnchor,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let fault = session.fault();
    let wanted = Reanchor {
        fault: fault.cloned(),
        head: session.head(),
        reason: command.reason.clone(),
    };
    let moment = Moment {
        ids: session.ids(),
        redactor: &acting::redactor(setting),
        config: &setting.config,
        actor: session.who()?.id,
        origin: Origin::Cli,
        instance: session.instance()?.id(),
        trace: setting.trace.as_ref(),
    };
    let done = reanchor(&**session.log(), &moment, &wanted).await;
    let done = done.map_err(|error| Told::of(setting).failure(error))?;
    let report = ReAnchored {
        sequence: done.sequence,
        answered: fault.map(ToString::to_string).unwrap_or_default(),
        first_lost: done.lost.map(|lost| lost.0),
        last_lost: done.lost.map(|lost| lost.1),
        head: session.head().to_string(),
    };
    output.report(&report).await?;
    Ok(Exit::Done)
}
