//! `missive log`: the line to keep elsewhere, and going on after a loss.

use super::{Setting, no_log, warn_of_fault};
use crate::args::events::{Log, ReAnchor};
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Report, Tint};
use missive_commands::Exit;
use missive_log::chain::Link;
use missive_log::contract::IntegrityFault;
use missive_log::event::kind::LogReanchored;
use missive_log::event::{Draft, EventKind, Seq, Subject};
use missive_log::payload::redact::Redactor;
use missive_log::payload::{About, Role};
use missive_log::{Batch, Head, Log as _, Origin};
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
            Log::ReAnchor(command) => re_anchor(command, session, output).await,
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
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let Some(fault) = session.fault() else {
        return Err(
            Failure::usage("there is nothing to re-anchor: no fault of the log is known")
                .detail("no_fault")
                .hint("`missive events verify` looks for one"),
        );
    };
    if command.reason.trim().is_empty() {
        return Err(Failure::usage("the reason is empty").detail("reason"));
    }
    let facts = facts(session, fault).await?;
    let lost = (facts.found < facts.witnessed).then_some((facts.found.next(), facts.witnessed));
    let mut draft = Draft::new(
        session.ids().event(),
        Subject::Log,
        EventKind::LogReanchored(facts),
    );
    let reason = command.reason.as_str();
    draft.payloads =
        vec![Redactor::default().text(session.ids(), Role::Reason, About::default(), reason)];
    draft.operation = Some(session.ids().operation());
    draft.origin = Some(Origin::Cli);
    draft.actor = Some(session.who()?.id);
    // Alone: the log takes nothing else until it is there, not even the actor's introduction.
    let batch = Batch::new(session.ids().batch(), vec![draft]);
    let appended = session.log().append(batch).await;
    let appended = appended.map_err(|error| session.append_failure(error))?;
    let report = ReAnchored {
        sequence: appended.last,
        answered: fault.to_string(),
        first_lost: lost.map(|lost| lost.0),
        last_lost: lost.map(|lost| lost.1),
        head: session.head().to_string(),
    };
    output.report(&report).await?;
    Ok(Exit::Done)
}

/// What is given up: everything from the first place that cannot be trusted to the last one that was seen.
async fn facts(session: &Session, fault: &IntegrityFault) -> Result<LogReanchored, Failure> {
    let head = session.head();
    let facts = |witnessed: (Seq, Link), found: (Seq, Link)| LogReanchored {
        witnessed: witnessed.0,
        witnessed_link: witnessed.1,
        found: found.0,
        found_link: found.1,
    };
    let of = |head: Head| (head.seq, head.link);
    Ok(match fault {
        IntegrityFault::Shorter { witnessed, found } => facts(of(*witnessed), of(*found)),
        IntegrityFault::OtherLink {
            witnessed, head, ..
        } => facts(of(*witnessed), of(*head)),
        IntegrityFault::OtherLog { witnessed, .. } | IntegrityFault::Gone { witnessed } => {
            facts(of(*witnessed), of(head))
        }
        IntegrityFault::Chain(_)
        | IntegrityFault::Unreadable { .. }
        | IntegrityFault::Thread { .. }
        | IntegrityFault::Time { .. }
        | IntegrityFault::PayloadMissing { .. }
        | IntegrityFault::PayloadChanged { .. }
        | IntegrityFault::Store { .. } => {
            let before = fault
                .first_bad()
                .map_or(head.seq, |bad| Seq(bad.0.saturating_sub(1)));
            // Damage around that place can hide its link; the log's own one stands in for it then.
            let records = session.log().pick(&[before]).await.unwrap_or_default();
            let link = records.first().map_or(head.link, |record| record.link);
            facts(of(head), (before, link))
        }
    })
}
