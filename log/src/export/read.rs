//! Verifies the evidence form with memory for one line, and reports the first fault exactly.

use super::cross_the_gap;
use super::line::{
    self, GapLine, HeadLine, Header, HeaderLine, LINE_BYTES_MAX, PayloadForm, RecordLine, as_text,
};
use crate::chain::{self, Anchor, ChainFault, LogId, Salt, Verifier};
use crate::contract::IntegrityFault;
use crate::event::kind::LogReanchored;
use crate::event::stored;
use crate::event::{Event, EventKind, Seq, Timestamp};
use crate::payload::PayloadRef;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read as _};

/// What an export holds, as far as it was read: to its end, or to its first fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// The log that it says it is of; event 1 proves it.
    pub log: Option<LogId>,
    /// Whether it says that events were left out.
    pub filtered: bool,
    /// The first place that is there in full.
    pub first: Option<Seq>,
    /// The last place that was verified, in full or by its digest.
    pub last: Seq,
    /// How many events are there in full.
    pub events: u64,
    /// How many events are there by their digests only.
    pub gaps: u64,
    /// The head that it ends with, verified.
    pub head: Option<Anchor>,
    /// The head that was kept elsewhere, if the export goes through it.
    pub anchored_to: Option<Anchor>,
    /// What there is of the payloads.
    pub payloads: PayloadCounts,
    /// The re-anchorings that it tells of, with their places.
    pub reanchored: Vec<(Seq, LogReanchored)>,
    /// How many events do not hold and were given up by a re-anchoring.
    pub given_up: u64,
    /// The first thing that does not hold. Nothing after it was looked at.
    pub fault: Option<ExportFault>,
}

/// Payloads, counted by what there is of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PayloadCounts {
    /// They are there and are what their events committed to.
    pub verified: u64,
    /// They were erased.
    pub erased: u64,
    /// They stayed at home.
    pub withheld: u64,
    /// They were gone from the log.
    pub missing: u64,
}

/// The first thing that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ExportFault {
    /// The line, from 1.
    pub line: u64,
    /// The event that cannot be trusted any more, where there is one.
    pub seq: Option<Seq>,
    /// What is wrong.
    pub what: What,
}

/// The most re-anchorings that are told of.
const REANCHORED_MAX: usize = 1_024;

/// What can be wrong with an export.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum What {
    /// It does not begin as an export.
    #[error("not an export of a missive log")]
    NotAnExport,
    /// A form that this build does not know.
    #[error("form {0} of exports is not known to this version")]
    Version(u32),
    /// A line that is not spelled as exports are.
    #[error("not a line of an export")]
    Spelling,
    /// A line that no export has.
    #[error("the line is longer than {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// The chain, an event or a payload does not hold.
    #[error(transparent)]
    Integrity(Box<IntegrityFault>),
    /// Event 1 is not the one that makes the log that the header names.
    #[error("the first event makes another log than the one that the header names")]
    OtherLog,
    /// Events are left out although the header says that none are, or before event 1.
    #[error("events are left out where none may be")]
    Gap,
    /// More or fewer payloads than the event committed to.
    #[error("event {seq} committed to {promised} payloads and has {found}")]
    Payloads {
        /// Which event.
        seq: Seq,
        /// How many it committed to.
        promised: usize,
        /// How many there are.
        found: usize,
    },
    /// A payload in no known form.
    #[error("payload {index} of event {seq} has no known form")]
    PayloadForm {
        /// Whose.
        seq: Seq,
        /// Which.
        index: u16,
    },
    /// The head is not the one that the events lead to.
    #[error("the head is not the one that the events lead to")]
    OtherHead,
    /// The file ends before the head.
    #[error("the export ends before its head")]
    Cut,
    /// Something follows the head.
    #[error("something follows the head")]
    AfterHead,
    /// It does not go through the head that was kept elsewhere.
    #[error("the log does not go through {0}, which was kept elsewhere")]
    NotThrough(Anchor),
}

/// Reads an export in the evidence form, to its end or to its first fault. `kept` is a head that was
/// kept elsewhere. An error is a fault of reading, never of what was read.
pub fn verify_export(mut reader: impl BufRead, kept: Option<Anchor>) -> io::Result<ExportReport> {
    let mut reading = Reading {
        report: ExportReport::default(),
        verifier: None,
        kept,
        at: Timestamp::default(),
        erased_by: Seq::ZERO,
        number: 0,
        broken: None,
    };
    let mut buffer = Vec::new();
    loop {
        reading.number += 1;
        let read = next_line(&mut reader, &mut buffer)?;
        let step = match read {
            Line::End => reading.end(),
            Line::TooLong => Err(What::TooLong),
            Line::Full => reading.line(&buffer),
        };
        if let Err(what) = step {
            reading.report.fault = Some(reading.fault(what));
        }
        if reading.report.fault.is_some() || matches!(read, Line::End) {
            return Ok(reading.finish());
        }
    }
}

#[derive(Clone, Copy)]
enum Line {
    Full,
    TooLong,
    End,
}

/// Reads one line without its end into the buffer.
fn next_line(reader: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Line> {
    buffer.clear();
    let limit = u64::try_from(LINE_BYTES_MAX + 1).unwrap_or(u64::MAX);
    let read = reader.by_ref().take(limit).read_until(b'\n', buffer)?;
    if read == 0 {
        return Ok(Line::End);
    }
    if buffer.last() == Some(&b'\n') {
        buffer.pop();
    } else if read > LINE_BYTES_MAX {
        return Ok(Line::TooLong);
    }
    Ok(Line::Full)
}

struct Reading {
    report: ExportReport,
    /// Begun by the header.
    verifier: Option<Verifier>,
    kept: Option<Anchor>,
    at: Timestamp,
    /// The last event that is said to have erased a payload.
    erased_by: Seq,
    /// The line that is being read.
    number: u64,
    /// Events that do not hold, and that no re-anchoring gave up yet: what the report was at the first
    /// of them, and the place of the last one.
    broken: Option<(ExportReport, Seq)>,
}

impl Reading {
    fn line(&mut self, bytes: &[u8]) -> Result<(), What> {
        let Some(verifier) = self.verifier else {
            return self.header(bytes);
        };
        if self.report.head.is_some() {
            return Err(What::AfterHead);
        }
        if bytes.starts_with(b"{\"gap\":") {
            self.gap(verifier, bytes)
        } else if bytes.starts_with(b"{\"head\":") {
            self.head(verifier, bytes)
        } else {
            self.record(verifier, bytes)
        }
    }

    fn header(&mut self, bytes: &[u8]) -> Result<(), What> {
        #[derive(Deserialize)]
        struct AnyVersion {
            export: VersionOnly,
        }
        #[derive(Deserialize)]
        struct VersionOnly {
            version: u32,
        }
        let any: AnyVersion = serde_json::from_slice(bytes).map_err(|_| What::NotAnExport)?;
        if any.export.version != line::VERSION {
            return Err(What::Version(any.export.version));
        }
        let read: HeaderLine = parse(bytes)?;
        let Header { log, filtered, .. } = read.export;
        self.report.log = Some(log);
        self.report.filtered = filtered;
        self.verifier = Some(Verifier::new(log));
        Ok(())
    }

    fn gap(&mut self, mut verifier: Verifier, bytes: &[u8]) -> Result<(), What> {
        if verifier.anchor().seq == Seq::ZERO || !self.report.filtered {
            return Err(What::Gap);
        }
        let read: GapLine = parse(bytes)?;
        for digest in read.digests().ok_or(What::Spelling)? {
            let seq = verifier.anchor().seq.next();
            verifier.take(seq, digest, None).map_err(broken)?;
            self.report.gaps += 1;
            self.goes_through(&verifier);
        }
        self.verifier = Some(verifier);
        Ok(())
    }

    fn record(&mut self, mut verifier: Verifier, bytes: &[u8]) -> Result<(), What> {
        let read: RecordLine<'_> = parse(bytes)?;
        let (seq, prev, body) = (read.seq, read.prev, read.body.as_bytes());
        let log = verifier.anchor().log;
        if seq == Seq::ZERO.next() && chain::log_id(body) != log {
            return Err(What::OtherLog);
        }
        let digest = chain::digest(log, seq, prev, body);
        let event = self.body(seq, prev, body);
        if let Ok(event) = &event {
            cross_the_gap(&mut verifier, event);
        }
        let in_place = verifier.anchor().seq.next() == seq;
        let taken = verifier.take(seq, digest, Some(read.link)).map_err(broken);
        let event = match taken.and(event) {
            Ok(event) => event,
            // Such a line has no payloads, since nobody can say what it committed to.
            Err(what) if in_place && read.payloads.is_empty() => {
                let link = read.link;
                verifier.jump(Anchor { log, seq, link });
                self.give_up(seq, what);
                self.goes_through(&verifier);
                self.verifier = Some(verifier);
                return Ok(());
            }
            Err(what) => return Err(what),
        };
        self.reanchored(&event);
        let (promised, found) = (event.payloads.len(), read.payloads.len());
        if promised != found {
            return Err(What::Payloads {
                seq,
                promised,
                found,
            });
        }
        let mut counts = self.report.payloads;
        for (of, form) in event.payloads.iter().zip(&read.payloads) {
            self.payload(&mut counts, of, form)?;
        }
        self.report.payloads = counts;
        self.at = event.at;
        self.report.first = self.report.first.or(Some(seq));
        self.report.events += 1;
        self.goes_through(&verifier);
        self.verifier = Some(verifier);
        Ok(())
    }

    /// Goes on behind an event that does not hold: a later re-anchoring may have given it up.
    fn give_up(&mut self, seq: Seq, what: What) {
        let mut until_here = self.report.clone();
        until_here.fault = Some(self.fault(what));
        let (_, last) = self.broken.get_or_insert((until_here, seq));
        *last = seq;
        self.report.given_up += 1;
    }

    fn reanchored(&mut self, event: &Event) {
        let EventKind::LogReanchored(facts) = &event.kind else {
            return;
        };
        if self.report.reanchored.len() < REANCHORED_MAX {
            self.report.reanchored.push((event.seq, facts.clone()));
        }
        let named = |(report, last): &mut (ExportReport, Seq)| {
            facts.found <= report.last && *last <= facts.witnessed
        };
        self.broken.take_if(named);
    }

    /// What was found: to the end, or to the first event that nobody gave up.
    fn finish(self) -> ExportReport {
        self.broken.map_or(self.report, |(report, _)| report)
    }

    fn fault(&self, what: What) -> ExportFault {
        ExportFault {
            line: self.number,
            seq: self.seq_of(&what),
            what,
        }
    }

    fn body(&self, seq: Seq, prev: Seq, body: &[u8]) -> Result<Event, What> {
        if prev >= seq {
            let (stored, found) = (prev, Seq::ZERO);
            return Err(IntegrityFault::Thread { seq, stored, found }.into());
        }
        let event = stored::decode_canonical(seq, prev, body).map_err(|error| {
            let what = error.to_string();
            IntegrityFault::Unreadable { seq, what }
        })?;
        let begins = matches!(event.kind, EventKind::LogCreated(_));
        if begins != (seq == Seq::ZERO.next()) {
            let what = "a log is created by its first event and by no other".to_owned();
            return Err(IntegrityFault::Unreadable { seq, what }.into());
        }
        if event.at < self.at {
            return Err(IntegrityFault::Time { seq }.into());
        }
        Ok(event)
    }

    fn payload(
        &mut self,
        counts: &mut PayloadCounts,
        of: &PayloadRef,
        form: &PayloadForm<'_>,
    ) -> Result<(), What> {
        let (seq, index) = (of.seq, of.index);
        let unknown = What::PayloadForm { seq, index };
        let is_true = |flag: Option<bool>| flag == Some(true);
        match form {
            PayloadForm {
                salt: Some(salt),
                erased: None,
                withheld: None,
                missing: None,
                ..
            } => {
                let salt: Salt = salt.parse().map_err(|_| unknown.clone())?;
                let decoded;
                let bytes = match (&form.text, &form.base64) {
                    (Some(text), None) if as_text(text.0.as_bytes()).is_some() => text.0.as_bytes(),
                    (None, Some(base64)) => {
                        decoded = STANDARD.decode(base64).map_err(|_| unknown.clone())?;
                        if as_text(&decoded).is_some() {
                            return Err(unknown);
                        }
                        &decoded
                    }
                    _ => return Err(unknown),
                };
                if chain::commit(&salt, bytes) != of.commitment {
                    return Err(IntegrityFault::PayloadChanged { seq, index }.into());
                }
                counts.verified += 1;
            }
            PayloadForm {
                erased: Some(by),
                salt: None,
                text: None,
                base64: None,
                withheld: None,
                missing: None,
            } if *by > seq => {
                self.erased_by = self.erased_by.max(*by);
                counts.erased += 1;
            }
            PayloadForm {
                withheld,
                salt: None,
                text: None,
                base64: None,
                erased: None,
                missing: None,
            } if is_true(*withheld) => {
                counts.withheld += 1;
            }
            PayloadForm {
                missing,
                salt: None,
                text: None,
                base64: None,
                erased: None,
                withheld: None,
            } if is_true(*missing) => {
                counts.missing += 1;
            }
            _ => return Err(unknown),
        }
        Ok(())
    }

    fn head(&mut self, verifier: Verifier, bytes: &[u8]) -> Result<(), What> {
        let read: HeadLine = parse(bytes)?;
        let head = Anchor::from(read.head);
        if verifier.anchor().seq == Seq::ZERO
            || head != verifier.anchor()
            || self.erased_by > head.seq
        {
            return Err(What::OtherHead);
        }
        self.report.head = Some(head);
        Ok(())
    }

    fn goes_through(&mut self, verifier: &Verifier) {
        self.report.last = verifier.anchor().seq;
        if self.kept == Some(verifier.anchor()) {
            self.report.anchored_to = self.kept;
        }
    }

    fn end(&self) -> Result<(), What> {
        if self.report.head.is_none() {
            return Err(if self.verifier.is_some() {
                What::Cut
            } else {
                What::NotAnExport
            });
        }
        match self.kept {
            Some(kept) if self.report.anchored_to.is_none() => Err(What::NotThrough(kept)),
            _ => Ok(()),
        }
    }

    /// The event that a fault makes untrustworthy.
    fn seq_of(&self, what: &What) -> Option<Seq> {
        let next = self.report.last.next();
        match what {
            What::Integrity(fault) => fault.first_bad().or(Some(next)),
            What::Payloads { seq, .. } | What::PayloadForm { seq, .. } => Some(*seq),
            What::NotThrough(kept) => Some(kept.seq),
            What::Spelling | What::TooLong | What::OtherLog | What::Gap | What::Cut => Some(next),
            What::NotAnExport | What::Version(_) | What::OtherHead | What::AfterHead => None,
        }
    }
}

impl From<IntegrityFault> for What {
    fn from(fault: IntegrityFault) -> Self {
        Self::Integrity(Box::new(fault))
    }
}

fn broken(fault: ChainFault) -> What {
    IntegrityFault::from(fault).into()
}

/// Reads a line that is spelled as it would be written.
fn parse<'a, T: Deserialize<'a> + Serialize>(bytes: &'a [u8]) -> Result<T, What> {
    let read: T = serde_json::from_slice(bytes).map_err(|_| What::Spelling)?;
    if line::is_spelled(bytes, &read) {
        Ok(read)
    } else {
        Err(What::Spelling)
    }
}
