//! How the log leaves the house: as evidence that verifies without missive, or in forms for tools.
//!
//! The evidence form (JSONL) holds the exact bodies, the salts and bytes of payloads, and the digests
//! of what a filter left out, so that a filtered export still verifies to the head. It is written and
//! read with memory for one event at a time. The chain is recomputed while it is written: a damaged
//! log does not become a sound-looking export.
//!
//! What a re-anchoring gave up stays visible: lost places are a jump in `seq` right before the event
//! that names them, and an event that is there and does not hold is written as it is stored.

mod line;
mod read;
mod rows;
mod shape;
mod tools;

pub use read::{ExportFault, ExportReport, PayloadCounts, What, verify_export};
pub use shape::{ShownEvent, ShownPayload};

use crate::chain::{self, Anchor, ChainFault, Digest, Verifier};
use crate::contract::{Head, IntegrityFault, Log, Opened, ReadError, Record};
use crate::event::facts::{ExportFormat, Program};
use crate::event::kind::LogReanchored;
use crate::event::{Event, EventKind, Seq};
use crate::payload::PayloadRef;
use crate::payload::row::Row;
use rows::Rows;
use std::io::{self, Write};
use std::sync::Arc;

/// How many records are read at once: a body has up to 64 KB.
const RECORDS_AT_ONCE: usize = 64;

/// What an export is to be.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In which form.
    pub format: ExportFormat,
    /// Up to where: a head that the log has reached.
    pub through: Head,
    /// Whether `keep` may leave events out. The evidence form says so.
    pub filtered: bool,
    /// Whether payloads stay at home.
    pub withhold: bool,
    /// The program that writes it, as `name/version`.
    pub program: Program,
    /// The re-anchorings of the log: what they gave up does not end the export.
    pub known: Vec<LogReanchored>,
}

impl Plan {
    /// Whether a re-anchoring gave up this place.
    fn gave_up(&self, seq: Seq) -> bool {
        let gave_up = |known: &LogReanchored| known.found < seq && seq <= known.witnessed;
        self.known.iter().any(gave_up)
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Events in full.
    pub events: u64,
    /// Events left out.
    pub left_out: u64,
    /// Events that do not hold, and that a re-anchoring gave up.
    pub given_up: u64,
    /// Payloads that are gone although no event erased them: an integrity fault of the log.
    pub payloads_missing: u64,
}

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The log cannot be read, or does not verify.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The export cannot be written.
    #[error("the export could not be written")]
    Write(#[from] io::Error),
}

/// A payload beside its event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Which.
    pub of: PayloadRef,
    /// What there is of it.
    pub shown: Shown,
}

/// What there is of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Its bytes.
    Present(Row),
    /// It was erased by that event.
    Erased(Seq),
    /// It is gone, and no event erased it.
    Missing,
    /// It was not asked for.
    Withheld,
}

/// Opens every payload of an event.
pub async fn open_payloads(log: &impl Log, event: &Event) -> Result<Vec<Held>, ReadError> {
    let mut held = Vec::with_capacity(event.payloads.len());
    for of in &event.payloads {
        let shown = open(log, *of).await?;
        held.push(Held { of: *of, shown });
    }
    Ok(held)
}

async fn open(log: &impl Log, of: PayloadRef) -> Result<Shown, ReadError> {
    Ok(match log.payload(of).await? {
        Opened::Present(row) => Shown::Present(row),
        Opened::Erased(seq) => Shown::Erased(seq),
        Opened::Missing => Shown::Missing,
    })
}

/// Writes the events up to a head that `keep` wants; the evidence form keeps the first one always.
pub async fn export(
    log: &impl Log,
    plan: &Plan,
    mut keep: impl FnMut(&Event) -> bool,
    out: &mut impl Write,
) -> Result<Exported, ExportError> {
    let mut verifier = Verifier::new(plan.through.log);
    let mut writer = Writer::begin(plan, out)?;
    let mut exported = Exported::default();
    let mut rows = Rows::new(plan.through.seq);
    while verifier.anchor().seq < plan.through.seq {
        let after = verifier.anchor().seq;
        let mut records = log.read(after, RECORDS_AT_ONCE).await?;
        records.retain(|record| record.seq <= plan.through.seq);
        if records.is_empty() {
            let found = verifier.anchor();
            let witnessed = plan.through;
            return Err(fault(IntegrityFault::Shorter { witnessed, found }));
        }
        for record in &records {
            let digest = record.digest(plan.through.log);
            let Some(event) = follow(&mut verifier, plan, record, digest)? else {
                exported.given_up += 1;
                writer.given_up(record)?;
                continue;
            };
            if plan.filtered && !carries_the_chain(plan, &event) && !keep(&event) {
                exported.left_out += 1;
                writer.leave_out(digest)?;
                continue;
            }
            let payloads = payloads(log, plan, &mut rows, &event).await?;
            let missing = payloads.iter().filter(|held| held.shown == Shown::Missing);
            exported.payloads_missing += u64::try_from(missing.count()).unwrap_or(u64::MAX);
            exported.events += 1;
            writer.event(record, &event, digest, &payloads)?;
        }
    }
    let (witnessed, head) = (plan.through, verifier.anchor());
    if witnessed != head {
        let found = head.link;
        return Err(fault(IntegrityFault::OtherLink {
            witnessed,
            found,
            head,
        }));
    }
    writer.end(plan.through)?;
    Ok(exported)
}

/// Whether the evidence form needs the event, whatever a filter says.
fn carries_the_chain(plan: &Plan, event: &Event) -> bool {
    let carries = matches!(
        event.kind,
        EventKind::LogCreated(_) | EventKind::LogReanchored(_)
    );
    carries && plan.format == ExportFormat::Jsonl
}

async fn payloads(
    log: &impl Log,
    plan: &Plan,
    rows: &mut Rows,
    event: &Event,
) -> Result<Vec<Held>, ReadError> {
    let mut held = Vec::with_capacity(event.payloads.len());
    for of in &event.payloads {
        let opened = if plan.withhold {
            Ok(Shown::Withheld)
        } else if plan.filtered {
            // Most rows are not wanted: each one is asked for.
            open(log, *of).await
        } else {
            rows.open(log, *of).await
        };
        let shown = match opened {
            Err(ReadError::Integrity(_)) if plan.gave_up(event.seq) => Shown::Missing,
            opened => opened?,
        };
        held.push(Held { of: *of, shown });
    }
    Ok(held)
}

fn fault(fault: IntegrityFault) -> ExportError {
    ExportError::Read(ReadError::Integrity(Arc::new(fault)))
}

/// Recomputes one step of the chain and reads the body; `None` if a re-anchoring gave the event up
/// and it does not hold.
fn follow(
    verifier: &mut Verifier,
    plan: &Plan,
    record: &Record,
    digest: Digest,
) -> Result<Option<Event>, ExportError> {
    let log = plan.through.log;
    let seq = record.seq;
    if seq == Seq::ZERO.next() && chain::log_id(record.body.as_bytes()) != log {
        return Err(fault(ChainFault::Link { seq }.into()));
    }
    let event = record.decode();
    if let Ok(event) = &event {
        cross_the_gap(verifier, event);
    }
    let (place, link) = (verifier.anchor().seq.next(), Some(record.link));
    let broken = match (verifier.take(seq, digest, link), event) {
        (Ok(_), Ok(event)) => return Ok(Some(event)),
        (Err(broken), _) => broken.into(),
        (Ok(_), Err(error)) => {
            let what = error.to_string();
            IntegrityFault::Unreadable { seq, what }
        }
    };
    if place != seq || !plan.gave_up(seq) {
        return Err(fault(broken));
    }
    let link = record.link;
    verifier.jump(Anchor { log, seq, link });
    Ok(None)
}

/// Goes over the places that a re-anchoring declares to be lost, if it stands right behind them.
fn cross_the_gap(verifier: &mut Verifier, event: &Event) {
    let EventKind::LogReanchored(facts) = &event.kind else {
        return;
    };
    let here = verifier.anchor();
    if (facts.found, facts.found_link) == (here.seq, here.link)
        && facts.found < facts.witnessed
        && facts.witnessed.next() == event.seq
    {
        verifier.jump(Anchor {
            log: here.log,
            seq: facts.witnessed,
            link: facts.witnessed_link,
        });
    }
}

/// The writer of one form.
struct Writer<'o, W> {
    out: &'o mut W,
    form: Form,
}

enum Form {
    Evidence { gap: Vec<Digest> },
    Document(tools::Document),
    Csv,
    CloudEvents { source: String },
}

impl<'o, W: Write> Writer<'o, W> {
    fn begin(plan: &Plan, out: &'o mut W) -> io::Result<Self> {
        let log = plan.through.log;
        let form = match plan.format {
            ExportFormat::Jsonl => {
                let export = line::Header {
                    version: line::VERSION,
                    program: plan.program.clone(),
                    log,
                    filtered: plan.filtered,
                };
                line::write(out, &line::HeaderLine { export })?;
                Form::Evidence { gap: Vec::new() }
            }
            ExportFormat::Json => Form::Document(tools::Document::begin(
                out,
                &log.to_string(),
                plan.filtered,
            )?),
            ExportFormat::Csv => {
                tools::csv_begin(out)?;
                Form::Csv
            }
            ExportFormat::CloudEvents => Form::CloudEvents {
                source: format!("urn:missive:log:{log}"),
            },
        };
        Ok(Self { out, form })
    }

    fn leave_out(&mut self, digest: Digest) -> io::Result<()> {
        match &mut self.form {
            Form::Evidence { gap } => {
                gap.push(digest);
                if gap.len() < line::GAP_DIGESTS_MAX {
                    return Ok(());
                }
                write_gap(self.out, gap)
            }
            Form::Document(_) | Form::Csv | Form::CloudEvents { .. } => Ok(()),
        }
    }

    /// Writes an event that does not hold as it is stored: evidence, and nothing for tools.
    fn given_up(&mut self, record: &Record) -> io::Result<()> {
        match &mut self.form {
            Form::Evidence { gap } => {
                write_gap(self.out, gap)?;
                line::write(self.out, &line::RecordLine::new(record, Vec::new()))
            }
            Form::Document(_) | Form::Csv | Form::CloudEvents { .. } => Ok(()),
        }
    }

    fn event(
        &mut self,
        record: &Record,
        event: &Event,
        digest: Digest,
        payloads: &[Held],
    ) -> io::Result<()> {
        let shown = || ShownEvent::new(record, event, digest, payloads);
        match &mut self.form {
            Form::Evidence { gap } => {
                write_gap(self.out, gap)?;
                write_evidence(self.out, record, payloads)
            }
            Form::Document(document) => document.event(self.out, &shown()),
            Form::Csv => tools::csv_event(self.out, &shown()),
            Form::CloudEvents { source } => tools::cloud_event(self.out, source, &shown()),
        }
    }

    fn end(mut self, head: Head) -> io::Result<()> {
        match &mut self.form {
            Form::Evidence { gap } => {
                write_gap(self.out, gap)?;
                line::write(self.out, &line::HeadLine { head: head.into() })?;
            }
            Form::Document(_) => tools::Document::end(self.out, head)?,
            Form::Csv | Form::CloudEvents { .. } => {}
        }
        self.out.flush()
    }
}

/// Writes one record in the evidence form, as one line: the digest of the body and the commitments of the
/// payloads can be recomputed from it, and with the log's id its place as well.
///
/// # Errors
/// What the writer says.
pub fn write_evidence(out: &mut impl Write, record: &Record, payloads: &[Held]) -> io::Result<()> {
    let payloads = payloads.iter().map(|held| held.shown.evidence()).collect();
    line::write(out, &line::RecordLine::new(record, payloads))
}

/// Writes what was left out since the last event.
fn write_gap(out: &mut impl Write, gap: &mut Vec<Digest>) -> io::Result<()> {
    if !gap.is_empty() {
        line::write(out, &line::GapLine::new(gap))?;
        gap.clear();
    }
    Ok(())
}

impl Shown {
    fn evidence(&self) -> line::PayloadForm<'_> {
        let none = line::PayloadForm::default();
        match self {
            Self::Present(row) => line::PayloadForm::present(&row.salt, &row.bytes),
            Self::Erased(seq) => line::PayloadForm {
                erased: Some(*seq),
                ..none
            },
            Self::Withheld => line::PayloadForm {
                withheld: Some(true),
                ..none
            },
            Self::Missing => line::PayloadForm {
                missing: Some(true),
                ..none
            },
        }
    }
}
