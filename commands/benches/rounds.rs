//! What many members cost beside one: a broadcast, and the end of a barrier.
//!
//! Run with `cargo bench -p missive-commands --bench rounds`. The members are aliases of one peer on the
//! loopback, which answers a message after 50 ms and streams tasks that all end at one moment. The log is
//! on disk under `BENCH_DIR` (the working folder without it), its views are folded in memory. The peak of
//! memory is the process's own, with the peer in it.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_types,
    reason = "a benchmark measures time, prints, and ends on the first error"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use missive_commands::collect::barrier::Barrier;
use missive_commands::collect::bcast::Bcast;
use missive_commands::config::Config;
use missive_commands::decide::agent_add::AgentAdd;
use missive_commands::{
    Actor, Credentials, Exit, Interrupt, Missive, Parts, Requests, Send, Target,
};
use missive_fixtures::{Answer, Gate, Piece, ScriptedPeer, Seen, Step};
use missive_log::backend::fjall::{FjallLog, LogFolder};
use missive_log::backend::instance::Instance;
use missive_log::event::facts::{Execution, FailurePolicy};
use missive_log::event::kind::{GroupCreated, GroupMemberAdded};
use missive_log::event::{ActorId, Alias, Draft, EventKind, GroupName, Rank, Subject};
use missive_log::{Batch, Ids, Log, Origin};
use missive_projections::{Views, ViewsHost, source_of};
use serde_json::json;

/// How many members there are.
const MEMBERS: usize = 64;
/// How long the peer thinks about a message.
const THINKS: Duration = Duration::from_millis(50);
/// How often each is timed.
const ROUNDS: usize = 9;

fn main() {
    let folder = tempfile::tempdir_in(std::env::var("BENCH_DIR").unwrap_or(".".into())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for concurrency_max in [16, 64] {
        let home = folder.path().join(concurrency_max.to_string());
        let bench = Bench::new(&home, concurrency_max);
        runtime.block_on(bench.prepare());
        let one = median(|| runtime.block_on(bench.one()));
        let all = median(|| runtime.block_on(bench.bcast()));
        println!(
            "bcast to {MEMBERS}, {concurrency_max} at once: {all:.1?}, {:.2} x one member ({one:.1?})",
            all.as_secs_f64() / one.as_secs_f64()
        );
        if concurrency_max == 64 {
            let late = median(|| runtime.block_on(bench.barrier()));
            println!("barrier of {MEMBERS} streams: {late:.1?} after the last end");
        }
    }
    println!("peak {} MB", peak_mb());
}

fn median(mut one: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| one()).collect();
    times.sort();
    times[times.len() / 2]
}

struct Bench {
    peer: ScriptedPeer,
    missive: Missive<FjallLog>,
    log: Arc<FjallLog>,
    ids: Arc<Ids>,
}

fn member(number: usize) -> Alias {
    Alias::new(&format!("member-{number}")).unwrap()
}

fn group() -> GroupName {
    GroupName::new("crowd").unwrap()
}

impl Bench {
    fn new(home: &Path, concurrency_max: u32) -> Self {
        let peer = ScriptedPeer::start();
        peer.card(&json!({"capabilities": {"streaming": true}}));
        peer.otherwise(Answer::by(|seen| answer(seen).after(THINKS)));
        std::fs::create_dir_all(home.join("run")).unwrap();
        let ids = Arc::new(Ids::from_system());
        let place = LogFolder::new(home.join("log"), home.join("witness"));
        let log = Arc::new(FjallLog::open(&place, Arc::clone(&ids), Box::new(|| true)).unwrap());
        let mut config = Config::default();
        config.qos.concurrency_max = concurrency_max;
        Self {
            peer,
            missive: missive(home, &ids, &log, config),
            log,
            ids,
        }
    }

    /// Registers the members and makes the group.
    async fn prepare(&self) {
        for number in 0..MEMBERS {
            let command = AgentAdd::new(member(number), &self.peer.url());
            self.missive.agent_add(&command).await.unwrap();
        }
        let draft = |kind: EventKind| {
            let mut draft = Draft::new(self.ids.event(), Subject::Group(group()), kind);
            draft.links.group = Some(group());
            draft
        };
        let added = (0..MEMBERS).map(|number| {
            let facts = GroupMemberAdded {
                agent: member(number),
                rank: Rank::new(&format!("rank-{number}")).unwrap(),
                tags: Vec::new(),
                weight: None,
            };
            let mut draft = draft(facts.into());
            draft.links.agent = Some(member(number));
            draft
        });
        let created = draft(GroupCreated { policy: None }.into());
        let drafts = [created].into_iter().chain(added).collect();
        let batch = Batch::new(self.ids.batch(), drafts);
        self.log.append(batch).await.unwrap();
        // An append of its own lets it see what was appended beside it.
        let command = AgentAdd::new(Alias::new("last").unwrap(), &self.peer.url());
        self.missive.agent_add(&command).await.unwrap();
        // The cards are fetched here.
        self.bcast().await;
    }

    async fn one(&self) -> Duration {
        let send = Send::text(Target::Alias(member(0)), "hi");
        let begin = Instant::now();
        let done = self.missive.send(&send, &mut Interrupt::never()).await;
        let time = begin.elapsed();
        assert_eq!(done.unwrap().exit, Exit::Done);
        time
    }

    async fn bcast(&self) -> Duration {
        let command = to_all("hi");
        let begin = Instant::now();
        let done = self
            .missive
            .bcast(&command, &(), &mut Interrupt::never())
            .await;
        let time = begin.elapsed();
        let done = done.unwrap();
        assert_eq!(done.report.counts(), [MEMBERS, 0, 0]);
        time
    }

    /// From the moment at which all tasks end to the end of the barrier.
    async fn barrier(&self) -> Duration {
        let mut command = to_all("work");
        command.send.return_immediately = true;
        let mut never = Interrupt::never();
        let sent = self.missive.bcast(&command, &(), &mut never).await.unwrap();
        let gate = Gate::new("end");
        for end in &sent.report.members {
            let task = end.answer.as_ref().unwrap().task_id.clone().unwrap();
            let context = sent.report.context.to_string();
            let update = json!({"statusUpdate": {
                "taskId": task, "contextId": context, "status": {"state": "TASK_STATE_COMPLETED"},
            }});
            let steps = [
                Step::from(&json!({"task": working(&task, &context)})),
                Step::Piece(Piece::Gate(gate.clone())),
                Step::from(&update),
            ];
            self.peer.on_subscribe(&task, &Answer::a2a_stream(steps));
            let now = Answer::json(200, &working(&task, &context));
            self.peer.on_get_task(&task, &now);
        }
        let command = Barrier {
            group: group(),
            context: sent.report.context.to_string(),
            bcast: None,
            states: Vec::new(),
            required: None,
            failure_policy: FailurePolicy::Continue,
            interval: None,
            local: false,
        };
        let opened = std::thread::spawn(move || {
            gate.wait_arrivals(MEMBERS);
            let now = Instant::now();
            gate.open();
            now
        });
        let done = self
            .missive
            .barrier(&command, &(), &mut never)
            .await
            .unwrap();
        assert_eq!(done.report.counts(), [MEMBERS, 0, 0]);
        opened.join().unwrap().elapsed()
    }
}

fn to_all(text: &str) -> Bcast {
    Bcast {
        group: group(),
        send: Send::text(Target::Url(String::new()), text),
        execution: Execution::Concurrent,
        failure_policy: FailurePolicy::Continue,
        stream: false,
    }
}

fn working(task: &str, context: &str) -> serde_json::Value {
    json!({"id": task, "contextId": context, "status": {"state": "TASK_STATE_WORKING"}})
}

/// A message for a message, and a task for work; it is called as the message is.
fn answer(seen: &Seen) -> Answer {
    let message = seen.json()["message"].clone();
    let id = message["messageId"].as_str().unwrap_or("none");
    let context = message["contextId"].as_str().unwrap_or("none");
    Answer::json(
        200,
        &match message["parts"][0]["text"].as_str() {
            Some("work") => json!({"task": working(&format!("task-{id}"), context)}),
            _ => json!({"message": {
                "messageId": format!("answer-{id}"), "contextId": context, "role": "ROLE_AGENT",
                "parts": [{"text": "hi"}],
            }}),
        },
    )
}

fn missive(home: &Path, ids: &Arc<Ids>, log: &Arc<FjallLog>, config: Config) -> Missive<FjallLog> {
    let head = *log.head().borrow();
    let host = ViewsHost::in_memory(head.log, source_of(Arc::clone(log)));
    Missive::new(Parts {
        log: Arc::clone(log),
        views: Views::hosted(Arc::new(host), head.seq),
        ids: Arc::clone(ids),
        config: Arc::new(config),
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
