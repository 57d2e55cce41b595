//! How long durable appends take, beside a plain file that is appended to and synced.
//!
//! Run with `cargo bench -p missive-log --bench append`. Every figure is a ratio of two medians of the
//! same run, taken in turn, so that a machine whose speed drifts does not change it. Encoding and hashing
//! are inside the timer for both sides.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_types,
    reason = "a benchmark measures time, prints, and ends on the first error"
)]

use missive_log::backend::fjall::{FjallLog, LogFolder};
use missive_log::event::kind::ActorSeen;
use missive_log::event::{Draft, EventKind, Subject};
use missive_log::payload::{About, Role, redact::Redactor};
use missive_log::{Batch, Ids, Log};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::default);

fn main() {
    let rounds: usize = std::env::var("ROUNDS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(60);
    let folder = tempfile::tempdir_in(std::env::var("BENCH_DIR").unwrap_or(".".into())).unwrap();
    let ids = Arc::new(Ids::from_system());
    println!(
        "{:>12} {:>12} {:>12} {:>8}",
        "appends/sync", "raw", "log", "ratio"
    );
    for group in [1, 64, 1_024] {
        one(folder.path(), &ids, group, rounds);
    }
    bulk(folder.path(), &ids);
}

fn one(folder: &Path, ids: &Arc<Ids>, group: usize, rounds: usize) {
    let home = folder.join(format!("log-{group}"));
    let place = LogFolder::new(home.join("log"), home.join("witness"));
    let log = Arc::new(FjallLog::open(&place, Arc::clone(ids), Box::new(|| true)).unwrap());
    let mut raw = File::create(folder.join(format!("raw-{group}"))).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let (mut raws, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        raws.push(append_raw(&mut raw, ids, group));
        ours.push(append_log(&runtime, &log, ids, group));
    }
    let (raw, ours) = (median(raws), median(ours));
    println!(
        "{group:>12} {raw:>12.1?} {ours:>12.1?} {:>8.2}",
        ours.as_secs_f64() / raw.as_secs_f64()
    );
    log.close().unwrap();
}

fn draft(ids: &Ids) -> Draft {
    let subject = Subject::Actor(ids.actor());
    let mut draft = Draft::new(ids.event(), subject, EventKind::ActorSeen(ActorSeen {}));
    let text = "x".repeat(600);
    draft.payloads = vec![REDACTOR.text(ids, Role::Note, About::default(), &text)];
    draft
}

/// The rival does what a plain audit file would: encode, hash, append, sync.
fn append_raw(file: &mut File, ids: &Ids, group: usize) -> Duration {
    let begin = Instant::now();
    let drafts: Vec<Draft> = (0..group).map(|_| draft(ids)).collect();
    let mut lines = Vec::new();
    for draft in &drafts {
        let body = missive_log::event::stored::encode(draft, ids.now(), None).unwrap();
        let digest = blake3::hash(body.as_bytes());
        lines.extend_from_slice(body.as_bytes());
        lines.extend_from_slice(digest.as_bytes());
        for payload in &draft.payloads {
            lines.extend_from_slice(payload.bytes());
        }
        lines.push(b'\n');
    }
    file.write_all(&lines).unwrap();
    file.sync_data().unwrap();
    begin.elapsed()
}

/// `group` appends that wait for the same sync, each a batch of its own.
fn append_log(
    runtime: &tokio::runtime::Runtime,
    log: &Arc<FjallLog>,
    ids: &Ids,
    group: usize,
) -> Duration {
    let begin = Instant::now();
    let drafts: Vec<Draft> = (0..group).map(|_| draft(ids)).collect();
    runtime.block_on(async {
        let mut waiting = Vec::with_capacity(group);
        for draft in drafts {
            let log = Arc::clone(log);
            let batch = Batch::new(ids.batch(), vec![draft]);
            waiting.push(tokio::spawn(async move { log.append(batch).await }));
        }
        for answer in waiting {
            answer.await.unwrap().unwrap();
        }
    });
    begin.elapsed()
}

fn bulk(folder: &Path, ids: &Arc<Ids>) {
    let events: usize = std::env::var("EVENTS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(100_000);
    let home = folder.join("bulk");
    let place = LogFolder::new(home.join("log"), home.join("witness"));
    let log = FjallLog::open(&place, Arc::clone(ids), Box::new(|| true)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let begin = Instant::now();
    let mut left = events;
    while left > 0 {
        let drafts: Vec<Draft> = (0..left.min(1_000)).map(|_| draft(ids)).collect();
        left -= drafts.len();
        runtime
            .block_on(log.append(Batch::new(ids.batch(), drafts)))
            .unwrap();
    }
    let wrote = begin.elapsed();
    println!("bulk: {events} events, {:.0} events/s", rate(events, wrote));
    for threads in [1, 2] {
        let begin = Instant::now();
        let verified = runtime
            .block_on(missive_log::verify::verify(
                &log,
                Vec::new(),
                threads,
                |_| {},
            ))
            .unwrap();
        assert_eq!(verified.fault, None);
        println!(
            "verify: {threads} threads, {:.0} events/s",
            rate(events, begin.elapsed())
        );
    }
    log.close().unwrap();
    let begin = Instant::now();
    let log = FjallLog::open(&place, Arc::clone(ids), Box::new(|| true)).unwrap();
    println!("open: {:.1?}", begin.elapsed());
    log.close().unwrap();
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a rate that is printed without decimals"
)]
fn rate(events: usize, time: Duration) -> f64 {
    events as f64 / time.as_secs_f64()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
