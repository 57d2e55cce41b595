//! How fast views are folded from a log on disk, and what that takes.
//!
//! `cargo bench -p missive-projections` prints a table. `MISSIVE_BENCH_EVENTS` sets the number of events
//! (200,000 by default), `MISSIVE_BENCH_FOLDER` a folder to work in (the system's temporary one by
//! default). The log is written by one child process and folded by another, so that peak memory is that
//! of folding.
//!
//! `MISSIVE_BENCH_STEP` makes folding follow the log in steps of so many events, as the views of a host
//! do; without it everything is folded at once. `MISSIVE_BENCH_SENDS=1` writes sends that nobody answers,
//! each an operation of its own, instead of the history below.
//!
//! The history is the heaviest that honest use gives: five events an operation (a send, its task, a call,
//! the task again, the answer), each operation with ids of its own, five operations a context, twenty
//! agents.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::disallowed_types, reason = "a benchmark measures time")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run may stop")]

use missive_log::backend::fjall::{FjallLog, LogFolder};
use missive_log::event::facts::{
    ArtifactFacts, BareUrl, Binding, InterfaceSource, Method, Shape, TaskFacts, TaskState, Version,
};
use missive_log::event::kind::{
    AgentAdded, CallRequested, CallResponded, SendRequested, SendResponded, TaskUpdated,
};
use missive_log::event::{
    ActorId, Alias, ArtifactId, ContextId, EventKind, InstanceId, MessageId, OperationId, Origin,
    Seq, TaskId,
};
use missive_log::{Batch, Draft, Ids, Links, Log, Subject};
use missive_projections::{Filter, KindPattern, Records, Scope, Views, ViewsHost, source_of};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let events = std::env::var("MISSIVE_BENCH_EVENTS").ok();
    let events: u64 = events.and_then(|n| n.parse().ok()).unwrap_or(200_000);
    if let Ok(phase) = std::env::var("MISSIVE_BENCH_PHASE") {
        let home = std::env::var("MISSIVE_BENCH_HOME").unwrap();
        match phase.as_str() {
            "write" => write(Path::new(&home), events),
            _ => fold(Path::new(&home)),
        }
        return;
    }
    let parent = std::env::var_os("MISSIVE_BENCH_FOLDER");
    let home = match &parent {
        Some(parent) => tempfile::tempdir_in(parent).unwrap(),
        None => tempfile::tempdir().unwrap(),
    };
    for phase in ["write", "fold"] {
        let status = Command::new(std::env::current_exe().unwrap())
            .env("MISSIVE_BENCH_PHASE", phase)
            .env("MISSIVE_BENCH_HOME", home.path())
            .env("MISSIVE_BENCH_EVENTS", events.to_string())
            .status()
            .unwrap();
        assert!(status.success(), "the {phase} phase failed");
    }
}

fn open_log(home: &Path) -> Arc<FjallLog> {
    let folder = LogFolder::new(home.join("log"), home.join("witness"));
    let ids = Arc::new(Ids::from_system());
    Arc::new(FjallLog::open(&folder, ids, Box::new(|| true)).unwrap())
}

fn write(home: &Path, events: u64) {
    let log = open_log(home);
    let ids = Ids::from_system();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut drafts = agents(&ids);
    let mut operation = 0;
    let begun = Instant::now();
    while log.head().borrow().seq.0 < events {
        while drafts.len() < 4_000 {
            let next = log.head().borrow().seq.0 + u64::try_from(drafts.len()).unwrap() + 1;
            drafts.extend(operation_of(&ids, operation, Seq(next)));
            operation += 1;
        }
        let batch = Batch::new(ids.batch(), std::mem::take(&mut drafts));
        runtime.block_on(log.append(batch)).unwrap();
    }
    let rate = per_second(log.head().borrow().seq.0, begun.elapsed());
    log.close().unwrap();
    row(
        "log written, with drafts made on the same thread",
        &format!("{rate} events/s"),
    );
}

fn agents(ids: &Ids) -> Vec<Draft> {
    let agent = |n: usize| {
        let kind = EventKind::AgentAdded(AgentAdded {
            url: BareUrl::new("http://one.test").unwrap(),
            interfaces: Vec::new(),
            bindings: Vec::new(),
            auth_ref: None,
            tags: Vec::new(),
        });
        Draft::new(ids.event(), Subject::Agent(alias(n)), kind)
    };
    (0..20).map(agent).collect()
}

fn alias(n: usize) -> Alias {
    Alias::new(&format!("agent-{:02}", n % 20)).unwrap()
}

fn task_of(ids: &Ids, number: usize) -> TaskId {
    let id = if sends_only() {
        format!("task-{:08}", number / 5)
    } else {
        ids.uuid().to_string()
    };
    TaskId::new(&id).unwrap()
}

fn operation_of(ids: &Ids, number: usize, first: Seq) -> Vec<Draft> {
    let url = BareUrl::new("https://agents.example.test/a2a/v1").unwrap();
    let context = ContextId::new(&format!("context-{:08}-aaaa-bbbb-cccc", number / 5)).unwrap();
    let task = task_of(ids, number);
    let operation: OperationId = ids.operation();
    let message = MessageId::new(&ids.uuid().to_string()).unwrap();
    let facts = |state| TaskFacts {
        task: task.clone(),
        context: Some(context.clone()),
        state,
        state_at: None,
        history: 2,
        artifacts: vec![ArtifactFacts {
            artifact: ArtifactId::new("artifact-1").unwrap(),
            parts: 1,
        }],
    };
    let kinds = [
        EventKind::SendRequested(SendRequested {
            instance: InstanceId([7; 8]),
            message,
            binding: Binding::JsonRpc,
            url: url.clone(),
            source: InterfaceSource::Card,
            version: Version::new("1.0").unwrap(),
            tenant: None,
            parts: 1,
            attempt: 1,
        }),
        EventKind::SendResponded(SendResponded {
            status: 200,
            shape: Shape::Task,
            message: None,
            task: Some(facts(TaskState::Working)),
            violations: Vec::new(),
        }),
        EventKind::CallRequested(CallRequested {
            instance: InstanceId([7; 8]),
            method: Method::GetTask,
            binding: Binding::JsonRpc,
            url,
            task: Some(task.clone()),
            context: None,
        }),
        EventKind::TaskUpdated(TaskUpdated {
            task: facts(TaskState::Completed),
        }),
        EventKind::CallResponded(CallResponded {
            status: 200,
            tasks: 1,
            violations: Vec::new(),
        }),
    ];
    let kinds = kinds.into_iter().take(if sends_only() { 1 } else { 5 });
    let third = first.next().next();
    let causes = [None, Some(first), None, Some(third), Some(third)];
    let drafts = kinds.zip(causes).map(|(kind, cause)| Draft {
        operation: Some(operation.clone()),
        origin: Some(Origin::Cli),
        actor: Some(ActorId([5; 16])),
        cause,
        links: Links {
            agent: Some(alias(number)),
            context: Some(context.clone()),
            task: Some(task.clone()),
            group: None,
        },
        ..Draft::new(ids.event(), Subject::Operation(operation.clone()), kind)
    });
    drafts.collect()
}

fn sends_only() -> bool {
    std::env::var_os("MISSIVE_BENCH_SENDS").is_some()
}

/// How many events are folded at a time.
fn step() -> Option<usize> {
    std::env::var("MISSIVE_BENCH_STEP").ok()?.parse().ok()
}

fn source(log: &Arc<FjallLog>) -> missive_projections::Source {
    let all = source_of(Arc::clone(log));
    let most = step().unwrap_or(usize::MAX);
    Box::new(move |after, limit| all(after, limit.min(most)))
}

fn follow(host: &ViewsHost, head: Seq) {
    while let Some(step) = step().filter(|_| host.position() < head) {
        let next = host.position().0 + u64::try_from(step).unwrap();
        host.ensure(Seq(next).min(head)).unwrap();
    }
    host.ensure(head).unwrap();
}

fn fold(home: &Path) {
    let log = open_log(home);
    let head = *log.head().borrow();
    let folder = home.join("views");
    let open = || Arc::new(ViewsHost::open(&folder, head, source(&log)).unwrap());
    let begun = Instant::now();
    let mut after = Seq::ZERO;
    while after < head.seq {
        for record in log.read_now(after, 4_096).unwrap() {
            after = record.decode().unwrap().seq;
        }
    }
    let rate = per_second(head.seq.0, begun.elapsed());
    row(
        "log read and decoded by one thread, for scale",
        &format!("{rate} events/s"),
    );
    let before = peak_memory();

    let host = open();
    let (begun, cpu_before) = (Instant::now(), cpu());
    follow(&host, head.seq);
    let rate = per_second(head.seq.0, begun.elapsed());
    row("views folded from nothing", &format!("{rate} events/s"));
    let [thread, process] = cpu();
    let per_event = |spent: u128| spent / u128::from(head.seq.0);
    let folding = per_event(thread - cpu_before[0]);
    let cpu_times = format!("{folding} / {} ns", per_event(process - cpu_before[1]));
    row("its CPU an event, folding thread / all threads", &cpu_times);
    row(
        "peak memory, log alone / with folding",
        &format!("{before} / {} MB", peak_memory()),
    );
    let begun = Instant::now();
    host.close().unwrap();
    row("close after that", &format!("{:?}", begun.elapsed()));
    row("folder", &format!("{} MB", size(&folder) >> 20));

    row("open", &format!("{:?}", median(|| drop(open()))));
    let views = Views::hosted(open(), head.seq);
    let newest = Filter {
        agent: Some(alias(3)),
        reverse: true,
        limit: Some(20),
        ..Filter::default()
    };
    let both = Filter {
        kinds: vec![KindPattern::new("a2a.send.*")],
        ..newest.clone()
    };
    row(
        "newest 20 of an agent",
        &format!("{:?}", median(|| drop(views.select(&newest).unwrap()))),
    );
    row(
        "newest 20 sends of an agent",
        &format!("{:?}", median(|| drop(views.select(&both).unwrap()))),
    );
    let some = views.select(&newest).unwrap();
    let task = log
        .read_now(Seq(some.last().unwrap().0 - 1), 1)
        .unwrap()
        .pop()
        .unwrap();
    let task = task.decode().unwrap().links.task.unwrap();
    row(
        "one task",
        &format!("{:?}", median(|| drop(views.task(&task, None).unwrap()))),
    );
    row("peak memory with reading", &format!("{} MB", peak_memory()));
    look_back(&log, &views, task);
}

/// Everything once more as it stood at the newest place, in memory: of a thing and of the whole log.
fn look_back(log: &Arc<FjallLog>, views: &Views, task: TaskId) {
    let place = log.head().borrow().seq;
    let records = Records::of(Arc::clone(log));
    let at = |scope: &Scope| drop(views.at(place, scope, &records, &mut |_| {}).unwrap());
    let scope = Scope::Task(task);
    row(
        "one task, looking back",
        &format!("{:?}", median(|| at(&scope))),
    );
    for (scope, what) in [
        (Scope::Tasks, "all tasks, looking back"),
        (Scope::Contexts, "all contexts, looking back"),
        (Scope::Everything, "every view, looking back"),
    ] {
        let begun = Instant::now();
        at(&scope);
        let rate = per_second(place.0, begun.elapsed());
        row(what, &format!("{rate} events/s"));
    }
    row(
        "peak memory with looking back",
        &format!("{} MB", peak_memory()),
    );
}

fn row(what: &str, value: &str) {
    println!("{what:<50} {value}");
}

fn per_second(count: u64, time: Duration) -> u128 {
    u128::from(count) * 1_000_000 / time.as_micros().max(1)
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..21 {
        let begun = Instant::now();
        work();
        times.push(begun.elapsed());
    }
    times.sort();
    times.get(10).copied().unwrap_or_default()
}

/// CPU time of this thread and of the whole process so far, in nanoseconds; 0 where the system does not
/// say. On a busy machine it tells more than the clock on the wall.
fn cpu() -> [u128; 2] {
    let thread = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let thread = thread
        .split_whitespace()
        .next()
        .and_then(|ns| ns.parse().ok());
    let process = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields 14 and 15, in hundredths of a second; the name in field 2 has no blanks here.
    let ticks = process.split_whitespace().skip(13).take(2);
    let ticks: u128 = ticks.filter_map(|ticks| ticks.parse::<u128>().ok()).sum();
    [thread.unwrap_or(0), ticks * 10_000_000]
}

/// The peak of resident memory so far, in MB; 0 where the system does not say.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) >> 10
}

fn size(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    let of = |entry: std::fs::DirEntry| {
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            size(&entry.path())
        } else {
            metadata.len()
        }
    };
    entries.map(of).sum()
}
