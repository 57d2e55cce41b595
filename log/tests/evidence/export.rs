//! Exports: what is written verifies, and what was changed does not.

use super::histories::{draft, ids, later_draft, log_of, now};
use missive_log::backend::memory::MemoryLog;
use missive_log::chain::{self, Anchor, Verifier};
use missive_log::contract::{AppendError, Appended, Opened, ReadError, Record, StoredPayload};
use missive_log::event::facts::{ExportFormat, Program};
use missive_log::event::kind::{ActorSeen, AgentRemoved, LogReanchored};
use missive_log::event::stored::encode;
use missive_log::event::{Event, Seq};
use missive_log::export::{
    ExportReport, Exported, PayloadCounts, Plan, What, export, verify_export,
};
use missive_log::payload::redact::Redactor;
use missive_log::payload::{About, PayloadRef};
use missive_log::{Batch, Draft, EventKind, Log, Role, Subject, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

pub(crate) fn plan(log: &MemoryLog, format: ExportFormat) -> Plan {
    Plan {
        format,
        through: *log.head().borrow(),
        filtered: false,
        withhold: false,
        program: Program::new("missive/0.1.0").unwrap(),
        known: Vec::new(),
    }
}

pub(crate) fn written(
    log: &MemoryLog,
    plan: &Plan,
    keep: impl FnMut(&Event) -> bool,
) -> (Vec<u8>, Exported) {
    let mut out = Vec::new();
    let exported = now(export(log, plan, keep, &mut out)).unwrap();
    (out, exported)
}

fn verified(export: &[u8]) -> ExportReport {
    verify_export(export, None).unwrap()
}

/// A small log with payloads of both forms.
pub(crate) fn small_log() -> MemoryLog {
    let ids = ids("small");
    let redactor = Redactor::default();
    let agent = Subject::Agent("ada".parse().unwrap());
    let mut with_payloads = Draft::new(ids.event(), agent.clone(), removed());
    with_payloads.payloads = vec![
        redactor.text(
            &ids,
            Role::Note,
            About::default(),
            "=1+1, \"quoted\"\nand é",
        ),
        redactor.bytes(&ids, Role::Request, About::default(), &[0xff, 0]),
    ];
    let seen = EventKind::ActorSeen(ActorSeen {});
    log_of(vec![
        with_payloads,
        Draft::new(ids.event(), agent, removed()),
        Draft::new(ids.event(), Subject::Actor(ids.actor()), seen),
    ])
}

fn removed() -> EventKind {
    EventKind::AgentRemoved(AgentRemoved {})
}

#[test]
fn the_evidence_form_is_the_one_that_is_written_down() {
    let log = small_log();
    let plan = Plan {
        filtered: true,
        ..plan(&log, ExportFormat::Jsonl)
    };

    let (export, exported) = written(&log, &plan, |event| event.seq == Seq(2));

    insta::assert_snapshot!(String::from_utf8(export.clone()).unwrap());
    assert_eq!((exported.events, exported.left_out), (2, 2));
    let report = verified(&export);
    assert_eq!(report.fault, None);
    assert_eq!((report.events, report.gaps, report.last), (2, 2, Seq(4)));
    assert_eq!(report.payloads.verified, 2);
}

#[test]
fn the_forms_for_tools_are_the_ones_that_are_written_down() {
    let log = small_log();

    for format in [
        ExportFormat::Json,
        ExportFormat::Csv,
        ExportFormat::CloudEvents,
    ] {
        let (export, _) = written(&log, &plan(&log, format), |_| true);

        let export = String::from_utf8(export).unwrap();
        insta::assert_snapshot!(format.as_str(), export);
        if format == ExportFormat::Json {
            let document: serde_json::Value = serde_json::from_str(&export).unwrap();
            assert_eq!(document["events"].as_array().unwrap().len(), 4);
        }
    }
}

#[test]
fn left_out_events_are_bounded_per_line_and_all_there() {
    let ids = ids("many");
    let agent = Subject::Agent("ada".parse().unwrap());
    let drafts = (0..9_000).map(|_| Draft::new(ids.event(), agent.clone(), removed()));
    let log = log_of(drafts.collect());
    let plan = Plan {
        filtered: true,
        ..plan(&log, ExportFormat::Jsonl)
    };

    let (export, _) = written(&log, &plan, |event| event.seq == Seq(9_001));

    let lines = export
        .split(|b| *b == b'\n')
        .filter(|line| line.starts_with(b"{\"gap\":"));
    assert_eq!(lines.count(), 3);
    assert_eq!(verified(&export).gaps, 8_999);
}

#[test]
fn payloads_that_stay_at_home_are_counted() {
    let log = small_log();
    let plan = Plan {
        withhold: true,
        ..plan(&log, ExportFormat::Jsonl)
    };

    let (export, _) = written(&log, &plan, |_| true);

    let counts = PayloadCounts {
        withheld: 2,
        ..PayloadCounts::default()
    };
    assert_eq!(verified(&export).payloads, counts);
}

#[test]
fn a_head_that_was_kept_elsewhere_is_found_or_missed() {
    let log = small_log();
    let (export, _) = written(&log, &plan(&log, ExportFormat::Jsonl), |_| true);
    let third = now(log.pick(&[Seq(3)])).unwrap().remove(0);
    let kept = Anchor {
        log: log.head().borrow().log,
        seq: Seq(3),
        link: third.link,
    };
    let other = Anchor {
        link: chain::Link([7; 32]),
        ..kept
    };

    let found = verify_export(&*export, Some(kept)).unwrap();
    let missed = verify_export(&*export, Some(other)).unwrap();

    assert_eq!((found.anchored_to, found.fault), (Some(kept), None));
    let fault = missed.fault.unwrap();
    assert_eq!(
        (fault.seq, fault.what),
        (Some(Seq(3)), What::NotThrough(other))
    );
}

/// Rewrites one line and says what the first fault is.
fn fault_after(edit: impl Fn(&mut Vec<String>)) -> String {
    let log = small_log();
    let (export, _) = written(&log, &plan(&log, ExportFormat::Jsonl), |_| true);
    let text = String::from_utf8(export).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    edit(&mut lines);
    let report = verified(lines.join("\n").as_bytes());
    let fault = report.fault.unwrap();
    let seq = fault.seq.map_or("-".to_owned(), |seq| seq.to_string());
    format!("{fault} (event {seq})")
}

#[test]
fn the_first_fault_is_named_with_its_line_and_its_event() {
    let replace = |line: usize, from: &'static str, to: &'static str| {
        fault_after(move |lines| lines[line] = lines[line].replacen(from, to, 1))
    };

    insta::assert_debug_snapshot!([
        replace(0, "\"version\":1", "\"version\":2"),
        replace(0, "export", "import"),
        replace(0, "\"log\":\"", "\"log\":\"0"),
        replace(1, "missive.local", "missive.other"),
        replace(2, "agent:ada", "agent:eve"),
        replace(2, "quoted", "forged"),
        replace(2, ",\"link\"", ", \"link\""),
        replace(2, "{\"salt\"", "{\"withheld\":true},{\"salt\""),
        replace(3, "\"seq\":3", "\"seq\":4"),
        replace(5, "\"seq\":4", "\"seq\":5"),
        fault_after(|lines| drop(lines.remove(3))),
        fault_after(|lines| drop(lines.pop())),
        fault_after(|lines| lines.push(lines[5].clone())),
        fault_after(Vec::clear),
        fault_after(|lines| lines.insert(3, "{\"gap\":\"AA==\"}".to_owned())),
    ]);
}

#[test]
fn a_gap_that_a_re_anchoring_names_is_crossed_and_told_of() {
    let (export, plain) = re_anchored_export();

    let report = verified(&export);
    let unnamed = verified(&plain);

    assert_eq!(report.fault, None);
    assert_eq!(report.reanchored.len(), 1);
    assert_eq!((report.events, report.last), (4, Seq(6)));
    assert!(unnamed.fault.is_some());
}

/// An export by hand of a log that lost its events 4 and 5, with and without the event that says so.
pub(crate) fn re_anchored_export() -> (Vec<u8>, Vec<u8>) {
    let log = small_log();
    let (export, _) = written(&log, &plan(&log, ExportFormat::Jsonl), |_| true);
    let text = String::from_utf8(export).unwrap();
    let kept: String = text.split_inclusive('\n').take(4).collect();
    let third = now(log.pick(&[Seq(3)])).unwrap().remove(0);
    let id = log.head().borrow().log;
    let ids = ids("later");
    let lost = Anchor {
        log: id,
        seq: Seq(5),
        link: chain::Link([5; 32]),
    };
    let event = |kind| {
        let draft = Draft::new(ids.event(), Subject::Log, kind);
        let later = Timestamp::from_micros(ids.now().as_micros() + 60_000_000);
        let body = encode(&draft, later, None).unwrap();
        let mut verifier = Verifier::after(lost);
        let digest = chain::digest(id, Seq(6), Seq(1), body.as_bytes());
        let link = verifier.take(Seq(6), digest, None).unwrap();
        let body = serde_json::Value::from(body);
        let head = format!("{{\"head\":{{\"log\":\"{id}\",\"seq\":6,\"link\":\"{link}\"}}}}\n");
        let record = format!(
            "{{\"seq\":6,\"prev\":1,\"body\":{body},\"link\":\"{link}\",\"payloads\":[]}}\n"
        );
        [&*kept, &*record, &*head].concat().into_bytes()
    };
    let named = event(EventKind::LogReanchored(LogReanchored {
        witnessed: Seq(5),
        witnessed_link: lost.link,
        found: Seq(3),
        found_link: third.link,
    }));
    (named, event(removed()))
}

/// A log whose third event is stored with other bytes, and whose first payload row is changed or gone.
struct Damaged {
    log: MemoryLog,
    body: bool,
    payload: Option<Opened>,
}

impl Log for Damaged {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        self.log.append(batch).await
    }

    async fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, ReadError> {
        let mut records = self.log.read(after, limit).await?;
        for record in records
            .iter_mut()
            .filter(|record| self.body && record.seq == Seq(3))
        {
            record.body = record.body.replace("agent:ada", "agent:eve").into();
        }
        Ok(records)
    }

    async fn pick(&self, places: &[Seq]) -> Result<Vec<Record>, ReadError> {
        self.log.pick(places).await
    }

    fn head(&self) -> tokio::sync::watch::Receiver<Anchor> {
        self.log.head()
    }

    async fn payload(&self, of: PayloadRef) -> Result<Opened, ReadError> {
        match &self.payload {
            Some(opened) => Ok(opened.clone()),
            None => self.log.payload(of).await,
        }
    }

    async fn payload_rows(
        &self,
        after: (Seq, u16),
        through: Seq,
    ) -> Result<Vec<StoredPayload>, ReadError> {
        let rows = self.log.payload_rows(after, through).await?;
        Ok(if self.payload.is_some() {
            Vec::new()
        } else {
            rows
        })
    }
}

#[test]
fn a_damaged_event_ends_an_export_unless_a_re_anchoring_gave_it_up() {
    let log = Damaged {
        log: small_log(),
        body: true,
        payload: None,
    };
    let plain = plan(&log.log, ExportFormat::Jsonl);
    let head = plain.through;
    let known = LogReanchored {
        witnessed: Seq(3),
        witnessed_link: head.link,
        found: Seq(2),
        found_link: head.link,
    };
    let gave_up = Plan {
        known: vec![known.clone()],
        ..plain.clone()
    };

    let refused = now(export(&log, &plain, |_| true, &mut Vec::new())).unwrap_err();
    let mut out = Vec::new();
    let exported = now(export(&log, &gave_up, |_| true, &mut out)).unwrap();

    let source = std::error::Error::source(&refused).unwrap().to_string();
    assert_eq!(
        source,
        "event 3 does not have the bytes that its link was made of"
    );
    assert_eq!((exported.events, exported.given_up), (3, 1));
    let unnamed = verified(&out);
    assert_eq!((unnamed.last, unnamed.events), (Seq(2), 2));
    assert_eq!(unnamed.fault.unwrap().line, 4);
    let kind = EventKind::LogReanchored(known);
    let named = verified(&with_last_event(
        &out,
        head,
        kind,
        Timestamp::from_micros(u64::MAX),
    ));
    assert_eq!(named.fault, None);
    assert_eq!((named.events, named.given_up, named.last), (4, 1, Seq(5)));
}

#[test]
fn an_event_that_is_older_than_the_one_before_it_is_a_fault() {
    let log = small_log();
    let plan = plan(&log, ExportFormat::Jsonl);
    let (export, _) = written(&log, &plan, |_| true);

    let older = with_last_event(&export, plan.through, removed(), Timestamp::default());

    let fault = verified(&older).fault.unwrap();
    assert_eq!(
        fault.to_string(),
        "line 6: event 5 is older than the one before it"
    );
}

/// The export of a log with one more event, by hand.
fn with_last_event(export: &[u8], head: Anchor, kind: EventKind, at: Timestamp) -> Vec<u8> {
    let ids = ids("last");
    let body = encode(&Draft::new(ids.event(), Subject::Log, kind), at, None).unwrap();
    let (log, seq) = (head.log, head.seq.next());
    let digest = chain::digest(log, seq, Seq(1), body.as_bytes());
    let link = chain::extend(head.link, digest);
    let text = String::from_utf8_lossy(export);
    let kept = text.split("{\"head\"").next().unwrap();
    let body = serde_json::Value::from(body);
    format!(
        "{kept}{{\"seq\":{seq},\"prev\":1,\"body\":{body},\"link\":\"{link}\",\"payloads\":[]}}\n\
         {{\"head\":{{\"log\":\"{log}\",\"seq\":{seq},\"link\":\"{link}\"}}}}\n"
    )
    .into_bytes()
}

#[test]
fn payloads_that_are_gone_are_told_apart() {
    for (opened, erased, missing) in [(Opened::Erased(Seq(4)), 2, 0), (Opened::Missing, 0, 2)] {
        let log = Damaged {
            log: small_log(),
            body: false,
            payload: Some(opened),
        };
        let mut out = Vec::new();

        let plan = plan(&log.log, ExportFormat::Jsonl);
        let exported = now(export(&log, &plan, |_| true, &mut out)).unwrap();

        let counts = PayloadCounts {
            erased,
            missing,
            ..PayloadCounts::default()
        };
        assert_eq!(verified(&out).payloads, counts);
        assert_eq!(exported.payloads_missing, missing);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a filter leaves out, the export verifies to the head of the log.
    #[test]
    fn every_export_verifies_to_the_head(
        drafts in vec(later_draft(), 0..12), kept in any::<u16>(), filtered in any::<bool>(),
    ) {
        let log = log_of(drafts);
        let plan = Plan { filtered, ..plan(&log, ExportFormat::Jsonl) };

        let (export, exported) = written(&log, &plan, |event| kept >> event.seq.0 & 1 == 1);

        let report = verified(&export);
        prop_assert_eq!(report.fault, None);
        prop_assert_eq!(report.head, Some(plan.through));
        prop_assert_eq!((report.events, report.gaps), (exported.events, exported.left_out));
    }

    /// Any flipped bit of an export is a fault. Only who wrote the export is not bound to anything.
    #[test]
    fn any_flipped_bit_of_an_export_is_found(
        drafts in vec(later_draft(), 0..4), kept in any::<u16>(),
        at in any::<prop::sample::Index>(), bit in 0..8_u32,
    ) {
        let log = log_of(drafts);
        let plan = Plan { filtered: true, ..plan(&log, ExportFormat::Jsonl) };
        let (mut export, _) = written(&log, &plan, |event| kept >> event.seq.0 & 1 == 1);
        let program = export.windows(13).position(|text| text == b"missive/0.1.0").unwrap();
        let at = at.index(export.len());
        prop_assume!(!(program..program + 13).contains(&at));

        export[at] ^= 1 << bit;

        let report = verified(&export);
        prop_assert!(report.fault.is_some(), "byte {} of {}", at, String::from_utf8_lossy(&export));
    }

    /// Bytes that are no export are a fault and nothing worse.
    #[test]
    fn any_bytes_can_be_verified(bytes in vec(any::<u8>(), 0..200), drafts in vec(draft(), 0..2)) {
        let log = log_of(drafts);
        let (mut export, _) = written(&log, &plan(&log, ExportFormat::Jsonl), |_| true);
        let header = export.iter().position(|b| *b == b'\n').unwrap();
        export.truncate(header + 1);
        export.extend_from_slice(&bytes);

        prop_assert!(verified(&bytes).fault.is_some());
        prop_assert!(verified(&export).fault.is_some());
    }
}
