//! `missive events verify`: every digest again, and the first fault exactly.

use super::super::{Setting, no_log};
use super::chosen::Indexed;
use super::is_damage;
use crate::args::events::Verify;
use crate::environment::shown;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Report, Tint};
use missive_commands::Exit;
use missive_log::chain::Anchor;
use missive_log::contract::IntegrityFault;
use missive_log::event::kind::LogReanchored;
use missive_log::event::{EventKind, Seq};
use missive_log::export::verify_export;
use missive_log::verify::{Verified, against, verify};
use missive_log::{Head, Log as _};
use missive_projections::{Filter, KindPattern, SELECT_MAX};
use serde::Serialize;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _};
use std::path::Path;

/// What a log shows by itself.
const NOTHING_PROVEN: &str = "consistent; completeness unproven";
/// A file that holds a head is not longer.
const HEAD_FILE_BYTES_MAX: u64 = 64 << 10;

pub(super) async fn run(
    command: &Verify,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    // Before anything is opened: what it is held against must be there.
    let kept = command.against.as_deref().map(anchor).transpose()?;
    let session = match setting.home.read().await {
        Err(failure) if failure.exit() == Exit::Integrity => {
            output.report(&Verification::closed(&failure)).await?;
            return Ok(Exit::Integrity);
        }
        opened => opened?.ok_or_else(no_log)?,
    };
    session
        .used(async |session| {
            let verified = check(session, output).await?;
            report(session, verified, kept, output).await
        })
        .await
}

/// Verifies the whole log, with a line of progress.
pub(in crate::command) async fn check(
    session: &Session,
    output: &Output,
) -> Result<Verified, Failure> {
    let known = match known(session).await {
        Ok(known) => known,
        // A log that is too damaged for its views is verified all the same.
        Err(failure) if failure.exit() == Exit::Integrity => Vec::new(),
        Err(failure) => return Err(failure),
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let end = session.head().seq;
    let progress = output.progress("verifying");
    let tell = |events| progress.say(&format!("verifying: {events} of {end} events"));
    let verified = verify(&**session.log(), known, threads, tell).await;
    verified.map_err(|error| session.read_failure(error))
}

/// What does not hold: what was found now, else what was noted before.
pub(in crate::command) fn fault_of(
    session: &Session,
    verified: &Verified,
) -> Option<IntegrityFault> {
    let noted = session.fault().map(|fault| (**fault).clone());
    verified.fault.clone().or(noted)
}

/// Every re-anchoring of the log.
pub(in crate::command) async fn known(session: &Session) -> Result<Vec<LogReanchored>, Failure> {
    let filter = Filter {
        kinds: vec![KindPattern::new("missive.log.reanchored")],
        ..Filter::default()
    };
    let places = session
        .views()
        .and_then(|views| Indexed::new(views, filter).page(SELECT_MAX));
    let places = places.map_err(|error| session.views_failure(&error))?;
    let mut known = Vec::with_capacity(places.len());
    for place in places {
        let records = match session.log().pick(&[place]).await {
            Err(error) if is_damage(&error) => continue,
            other => other.map_err(|error| session.read_failure(error))?,
        };
        let event = records.first().and_then(|record| record.decode().ok());
        if let Some(EventKind::LogReanchored(facts)) = event.map(|event| event.kind) {
            known.push(facts);
        }
    }
    Ok(known)
}

async fn report(
    session: &Session,
    verified: Verified,
    kept: Option<Anchor>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let fault = fault_of(session, &verified);
    if let (Some(fault), None) = (&fault, session.fault()) {
        session.distrust(fault).await?;
    }
    // What the log itself shows comes first; a head that somebody gave accuses nobody by itself.
    let given = match (&fault, kept) {
        (None, Some(kept)) => against(&**session.log(), kept).await,
        (Some(_), _) | (None, None) => Ok(None),
    };
    let given = given.map_err(|error| session.read_failure(error))?;
    let mut report = Verification::new(session.head(), &verified, kept, fault.as_ref());
    if let Some(given) = &given {
        report.unlike_the_given(given);
    }
    output.report(&report).await?;
    Ok(match fault.or(given) {
        Some(_) => Exit::Integrity,
        None => Exit::Done,
    })
}

/// What a log is not that is sound by itself and does not go through the head that was given.
fn unlike(given: &IntegrityFault) -> String {
    match given {
        IntegrityFault::OtherLog { witnessed, .. } => {
            format!(
                "the head that you gave is of another log, {}",
                witnessed.log
            )
        }
        IntegrityFault::Shorter { witnessed, found } => format!(
            "the log ends at event {}, before the head that you gave (event {})",
            found.seq, witnessed.seq
        ),
        IntegrityFault::OtherLink { witnessed, .. } => format!(
            "event {} has another link than the head that you gave",
            witnessed.seq
        ),
        IntegrityFault::Chain(_)
        | IntegrityFault::Gone { .. }
        | IntegrityFault::Unreadable { .. }
        | IntegrityFault::Thread { .. }
        | IntegrityFault::Time { .. }
        | IntegrityFault::PayloadMissing { .. }
        | IntegrityFault::PayloadChanged { .. }
        | IntegrityFault::Store { .. } => {
            format!("the head that you gave is not in this log: {given}")
        }
    }
}

/// The head that was kept elsewhere: itself, or in a file, which may also be an export.
fn anchor(text: &str) -> Result<Anchor, Failure> {
    if let Ok(anchor) = text.trim().parse() {
        return Ok(anchor);
    }
    let path = Path::new(text);
    let opened = File::open(path);
    let mut file = BufReader::new(opened.map_err(|error| unreadable(path, &error))?);
    let begin = file.fill_buf().map_err(|error| unreadable(path, &error))?;
    if begin.starts_with(b"{\"export\":") {
        return of_export(path, file);
    }
    let mut content = String::new();
    file.rewind().map_err(|error| unreadable(path, &error))?;
    let read = file.take(HEAD_FILE_BYTES_MAX).read_to_string(&mut content);
    read.map_err(|error| unreadable(path, &error))?;
    let document: Option<serde_json::Value> = serde_json::from_str(&content).ok();
    let head = document
        .as_ref()
        .and_then(|document| document.pointer("/data/head")?.as_str());
    let head = head.unwrap_or(content.trim()).parse();
    head.map_err(|error| {
        Failure::from_error(Exit::Data, &error)
            .detail("head")
            .hint("`missive log head` prints the line that is kept elsewhere")
    })
}

/// An export is verified itself, and then the log is held against its head.
fn of_export(path: &Path, file: BufReader<File>) -> Result<Anchor, Failure> {
    let unusable = |what: String| {
        Failure::new(
            Exit::Data,
            format!("{} does not verify: {what}", shown(path)),
        )
        .detail("export")
    };
    let report = verify_export(file, None).map_err(|error| unreadable(path, &error))?;
    match (report.fault, report.head) {
        (Some(fault), _) => Err(unusable(fault.to_string())),
        (None, Some(head)) => Ok(head),
        (None, None) => Err(unusable("it has no head".to_owned())),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::io(format!("{} cannot be read", shown(path)), error)
        .detail("head")
        .hint(
            "--against takes a file that holds a head, an export, or a head itself (LOG:SEQ:LINK)",
        )
}

/// `events_verify`.
#[derive(Serialize)]
struct Verification {
    log: Option<String>,
    first: Option<Seq>,
    last: Option<Seq>,
    count: u64,
    head: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anchored_to: Option<String>,
    claim: String,
    payloads: Payloads,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<Fault>,
    reanchored: Vec<ReAnchoring>,
    /// What to do about a log that does not even open, or about a head that it does not go through.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<String>,
}

#[derive(Serialize)]
struct Payloads {
    verified: u64,
    erased: u64,
    missing: u64,
}

#[derive(Serialize)]
struct Fault {
    sequence: Option<Seq>,
    what: String,
}

#[derive(Serialize)]
struct ReAnchoring {
    sequence: Seq,
    first_lost: Option<Seq>,
    last_lost: Option<Seq>,
}

impl Verification {
    fn new(
        head: Head,
        verified: &Verified,
        kept: Option<Anchor>,
        fault: Option<&IntegrityFault>,
    ) -> Self {
        let progress = &verified.progress;
        let anchored_to = kept.filter(|_| fault.is_none());
        let claim = match (fault, anchored_to) {
            (Some(_), _) => format!(
                "consistent up to event {}, and not beyond",
                verified.head.seq
            ),
            (None, Some(kept)) => format!("unchanged up to event {}", kept.seq),
            (None, None) => NOTHING_PROVEN.to_owned(),
        };
        Self {
            log: Some(head.log.to_string()),
            first: progress.first,
            last: Some(verified.head.seq),
            count: progress.events,
            head: Some(verified.head.to_string()),
            anchored_to: anchored_to.map(|kept| kept.to_string()),
            claim,
            payloads: Payloads {
                verified: progress.payloads,
                erased: progress.erased,
                missing: progress.missing,
            },
            fault: fault.map(|fault| Fault {
                sequence: fault.first_bad(),
                what: fault.to_string(),
            }),
            reanchored: progress.reanchored.iter().map(ReAnchoring::of).collect(),
            hints: Vec::new(),
        }
    }

    /// The log verifies, and the head that was given is not one of its heads: one of the two is wrong, and
    /// the text of a head is the likelier one. Nothing is noted, so nothing is refused because of it.
    fn unlike_the_given(&mut self, given: &IntegrityFault) {
        self.anchored_to = None;
        NOTHING_PROVEN.clone_into(&mut self.claim);
        self.fault = Some(Fault {
            sequence: given.first_bad(),
            what: unlike(given),
        });
        self.hints = vec![
            "check that head first: one wrong character in it looks the same".to_owned(),
            "by itself the log verifies; if the head is right, events before it were changed or lost \
             since it was kept"
                .to_owned(),
        ];
    }

    /// Of a log that does not open, or is gone.
    fn closed(failure: &Failure) -> Self {
        let told = std::iter::once(failure.message());
        let told = told.chain(failure.sources().iter().map(String::as_str));
        Self {
            log: None,
            first: None,
            last: None,
            count: 0,
            head: None,
            anchored_to: None,
            claim: "nothing can be said of a log that cannot be read".to_owned(),
            payloads: Payloads {
                verified: 0,
                erased: 0,
                missing: 0,
            },
            fault: Some(Fault {
                sequence: None,
                what: told.collect::<Vec<_>>().join(": "),
            }),
            reanchored: Vec::new(),
            hints: failure.hints().to_vec(),
        }
    }
}

impl Verification {
    fn advise(&self, page: &mut Page) {
        for hint in &self.hints {
            page.line(&format!("hint: {hint}"));
        }
    }
}

impl ReAnchoring {
    fn of((sequence, facts): &(Seq, LogReanchored)) -> Self {
        let lost = (facts.found < facts.witnessed).then_some((facts.found.next(), facts.witnessed));
        Self {
            sequence: *sequence,
            first_lost: lost.map(|lost| lost.0),
            last_lost: lost.map(|lost| lost.1),
        }
    }
}

impl Report for Verification {
    fn kind(&self) -> Kind {
        Kind::EventsVerify
    }

    fn ok(&self) -> bool {
        self.fault.is_none()
    }

    fn human(&self, page: &mut Page) {
        match &self.fault {
            None => page.spans(&[
                (Tint::Good, "ok"),
                (Tint::Plain, ": "),
                (Tint::Plain, &self.claim),
            ]),
            Some(fault) => {
                page.spans(&[
                    (Tint::Bad, "fault"),
                    (Tint::Plain, ": "),
                    (Tint::Plain, &fault.what),
                ]);
            }
        }
        if self.log.is_none() {
            self.advise(page);
            return;
        }
        let payloads = &self.payloads;
        let lost = match (payloads.erased, payloads.missing) {
            (0, 0) => String::new(),
            (erased, missing) => format!(", {erased} erased, {missing} missing"),
        };
        let range = match (self.first, self.last) {
            (Some(from), Some(to)) => format!("{} ({from} to {to})", self.count),
            (None, _) | (_, None) => "none".to_owned(),
        };
        page.fields(&[
            ("events", &range),
            ("payloads", &format!("{} verified{lost}", payloads.verified)),
            ("head", self.head.as_deref().unwrap_or_default()),
            ("against", self.anchored_to.as_deref().unwrap_or_default()),
        ]);
        for again in &self.reanchored {
            let lost = match (again.first_lost, again.last_lost) {
                (Some(from), Some(to)) => format!("events {from} to {to} were given up"),
                _ => "nothing was lost".to_owned(),
            };
            page.spans(&[
                (Tint::Warning, "re-anchored"),
                (
                    Tint::Plain,
                    &format!(" by event {}: {lost}", again.sequence),
                ),
            ]);
        }
        self.advise(page);
        if self.fault.is_none() && self.anchored_to.is_none() {
            page.line(
                "hint: `missive log head` prints a head to keep elsewhere; --against it shows that nothing \
                 changed",
            );
        }
        if self.fault.is_some() && self.hints.is_empty() {
            page.line(&format!("the log is {}", self.claim));
            page.line("nothing more is recorded until `missive log re-anchor --reason TEXT`");
        }
    }
}
