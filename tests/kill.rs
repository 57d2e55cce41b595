//! A writing process is killed at a random point, again and again, and nothing that it had acknowledged
//! is lost: the chain is whole, every acknowledged place is there, and the views equal rebuilt ones.
//!
//! `MISSIVE_TEST_KILLS` says how often (default 50).

use missive_log::backend::fjall::{FjallLog, LogFolder};
use missive_log::event::facts::{BareUrl, Failure};
use missive_log::event::kind::{AgentAdded, CardFailed};
use missive_log::event::{Alias, ContextId, Draft, EventKind, Seq, Subject};
use missive_log::payload::redact::Redactor;
use missive_log::payload::{About, Role};
use missive_log::{Batch, Ids, Links, Log};
use missive_projections::{ViewsHost, block_on, source_of};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// Where the writing process writes; set only for that process.
const WRITES_TO: &str = "MISSIVE_TEST_WRITES_TO";

fn open(home: &Path, ids: &Arc<Ids>) -> (Arc<FjallLog>, ViewsHost) {
    let folder = LogFolder::new(home.join("log"), home.join("witness"));
    let log = FjallLog::open(&folder, Arc::clone(ids), Box::new(|| true));
    let log = Arc::new(log.expect("the log opens after a kill"));
    assert_eq!(log.fault(), None, "the log verifies after a kill");
    let head = *log.head().borrow();
    let views = ViewsHost::open(&home.join("views"), head, source_of(Arc::clone(&log)));
    (log, views.expect("the views open after a kill"))
}

/// Events of two kinds, with payloads, in a few contexts: enough to move every index.
fn batch(ids: &Ids) -> Batch {
    let redactor = Redactor::default();
    let [size, who, which, length] = ids.bytes::<4>();
    let alias = Alias::new(&format!("agent-{}", who % 5)).expect("an alias");
    let draft = |n: u8| {
        let kind = if n.is_multiple_of(2) {
            EventKind::AgentAdded(AgentAdded {
                url: BareUrl::new("http://127.0.0.1:1").expect("a URL"),
                interfaces: Vec::new(),
                bindings: Vec::new(),
                auth_ref: None,
                tags: Vec::new(),
            })
        } else {
            EventKind::CardFailed(CardFailed {
                failure: Failure::Dns,
                status: None,
            })
        };
        let mut draft = Draft::new(ids.event(), Subject::Agent(alias.clone()), kind);
        draft.links = Links {
            agent: Some(alias.clone()),
            context: ContextId::new(&format!("c-{}", which % 7)).ok(),
            task: None,
            group: None,
        };
        let text = "note ".repeat(usize::from(length));
        draft.payloads = vec![redactor.text(ids, Role::Note, About::default(), &text)];
        draft
    };
    Batch::new(ids.batch(), (0..=size % 4).map(draft).collect())
}

/// The process that is killed. Run as an ordinary test it has nothing to do.
#[test]
fn the_writing_process() {
    let Some(home) = std::env::var_os(WRITES_TO).map(PathBuf::from) else {
        return;
    };
    let ids = Arc::new(Ids::from_system());
    let (log, views) = open(&home, &ids);
    let mut stdout = std::io::stdout().lock();
    loop {
        let appended = block_on(log.append(batch(&ids))).expect("an append");
        writeln!(stdout, "acknowledged {}", appended.last).expect("a reader");
        stdout.flush().expect("a reader");
        if ids.bytes::<1>()[0] < 64 {
            views.ensure(appended.last).expect("views that follow");
        }
    }
}

fn start(home: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            "kill::the_writing_process",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(WRITES_TO, home)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child")
}

/// Reads acknowledgements until there are enough, kills, and returns the last one that came.
fn killed_after(mut child: Child, acknowledgements: u8) -> Seq {
    let mut last = Seq::ZERO;
    let mut seen = 0;
    let stdout = child.stdout.take().expect("a pipe");
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        let Some((_, place)) = line.split_once("acknowledged ") else {
            continue;
        };
        last = Seq(place.trim().parse().expect("a place"));
        seen += 1;
        if seen == acknowledgements {
            // What comes until the kill arrives is read as well: it was acknowledged.
            child.kill().expect("a kill");
        }
    }
    child.wait().expect("an end");
    last
}

#[test]
fn a_writing_process_that_is_killed_loses_nothing_that_it_acknowledged() {
    let kills = std::env::var("MISSIVE_TEST_KILLS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(50);
    let home = tempfile::tempdir().expect("a folder");
    let ids = Arc::new(Ids::from_system());
    for round in 0..kills {
        let [acknowledgements] = ids.bytes::<1>();
        let acknowledged = killed_after(start(home.path()), 1 + acknowledgements % 40);

        let (log, views) = open(home.path(), &ids);

        let head = *log.head().borrow();
        assert!(
            head.seq >= acknowledged,
            "round {round}: {acknowledged} is lost, {head}"
        );
        let verified = block_on(missive_log::verify::verify(&*log, Vec::new(), 1, |_| {}));
        let verified = verified.expect("a log that can be read");
        assert_eq!(
            (verified.fault, verified.head),
            (None, head),
            "round {round}"
        );
        views.ensure(head.seq).expect("views that catch up");
        let compared = views.verify().expect("views that can be read");
        assert_eq!(compared.difference, None, "round {round}");
        views.close().expect("views that close");
        log.close().expect("a log that closes");
    }
}
