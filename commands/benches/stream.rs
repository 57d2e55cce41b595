//! How fast a stream is followed: every update stored durably before it is shown.
//!
//! Run with `cargo bench -p missive-commands --bench stream`. A peer on the loopback sends 10,000 small
//! updates, then an artifact of 16 MiB in 1,000 pieces and one of 32 MiB in 2,000; the time of the two
//! shows whether it is linear. The log is on disk under `BENCH_DIR` (the working folder without it). The
//! peak of memory is the process's own, with the peer in it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_types,
    reason = "a benchmark measures time, prints, and ends on the first error"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use missive_commands::config::Config;
use missive_commands::report::stream::StreamEvent;
use missive_commands::{
    Actor, Credentials, Interrupt, Missive, Parts, Requests, Send, Show, Stream, Target,
};
use missive_fixtures::{Answer, Piece, ScriptedPeer};
use missive_log::backend::fjall::{FjallLog, LogFolder};
use missive_log::backend::instance::Instance;
use missive_log::event::ActorId;
use missive_log::{Ids, Log, Origin};
use missive_projections::{Views, ViewsHost, source_of};
use serde_json::json;

fn main() {
    let folder = tempfile::tempdir_in(std::env::var("BENCH_DIR").unwrap_or(".".into())).unwrap();
    println!(
        "{:>8} {:>12} {:>10} {:>12} {:>10}",
        "updates", "bytes each", "time", "updates/s", "peak MB"
    );
    for (updates, bytes) in [(10_000, 20), (1_000, 16 << 10), (2_000, 16 << 10)] {
        let home = folder.path().join(format!("{updates}"));
        let time = followed(&home, updates, bytes);
        let rate = f64::from(u32::try_from(updates).unwrap()) / time.as_secs_f64();
        let peak = peak_mb();
        println!("{updates:>8} {bytes:>12} {time:>10.1?} {rate:>12.0} {peak:>10}");
    }
}

/// Counts, and keeps nothing.
struct Count(u64);

impl Show for Count {
    async fn show(&mut self, _: StreamEvent) {
        self.0 += 1;
    }
}

fn followed(home: &Path, updates: u64, bytes: usize) -> Duration {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"streaming": true}}));
    peer.on_stream(&answer(updates, bytes));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    std::fs::create_dir_all(home.join("run")).unwrap();
    let ids = Arc::new(Ids::from_system());
    let place = LogFolder::new(home.join("log"), home.join("witness"));
    let log = Arc::new(FjallLog::open(&place, Arc::clone(&ids), Box::new(|| true)).unwrap());
    let missive = missive(home, &ids, &log);
    let command = Stream {
        send: Send::text(Target::Url(peer.url()), "go"),
        force: true,
        cancel_on_interrupt: false,
    };
    let mut count = Count(0);

    let begin = Instant::now();
    let done = runtime.block_on(missive.stream(&command, &mut count, &mut Interrupt::never()));
    let time = begin.elapsed();

    let report = done.unwrap().report;
    assert_eq!((report.updates, count.0), (updates + 2, updates + 2));
    assert_eq!(report.answer.text.len() as u64, updates * bytes as u64);
    time
}

/// A task, so many pieces of one artifact, and its end.
fn answer(updates: u64, bytes: usize) -> Answer {
    let frame = |update: String| Piece::Bytes(format!("data: {update}\n\n").into_bytes());
    let piece = format!(
        "data: {{\"artifactUpdate\":{{\"taskId\":\"t\",\"contextId\":\"c\",\"append\":true,\"artifact\":{{\
         \"artifactId\":\"a\",\"parts\":[{{\"text\":\"{}\"}}]}}}}}}\n\n",
        "x".repeat(bytes)
    );
    let status = |state: &str| format!(r#"{{"state":"TASK_STATE_{state}"}}"#);
    Answer::event_stream("").pieces([
        frame(format!(
            r#"{{"task":{{"id":"t","contextId":"c","status":{}}}}}"#,
            status("WORKING")
        )),
        Piece::Repeat(piece.into_bytes(), updates),
        frame(format!(
            r#"{{"statusUpdate":{{"taskId":"t","contextId":"c","status":{}}}}}"#,
            status("COMPLETED")
        )),
    ])
}

fn missive(home: &Path, ids: &Arc<Ids>, log: &Arc<FjallLog>) -> Missive<FjallLog> {
    let head = *log.head().borrow();
    let host = ViewsHost::in_memory(head.log, source_of(Arc::clone(log)));
    Missive::new(Parts {
        log: Arc::clone(log),
        views: Views::hosted(Arc::new(host), head.seq),
        ids: Arc::clone(ids),
        config: Arc::new(Config::default()),
        profile: "default".to_owned(),
        actor: Actor {
            id: ActorId([7; 16]),
            names: "bench".to_owned(),
        },
        instance: Arc::new(Instance::begin(&home.join("run"), ids).unwrap()),
        run: home.join("run"),
        origin: Origin::Cli,
        requests: Requests::default(),
        credentials: Credentials::default(),
        credentials_of: BTreeMap::new(),
        further_secrets: Vec::new(),
    })
}

/// The most memory that the process ever had, in MB; 0 where nobody can tell.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}
