//! What happens to a log on disk when its process dies, its files are damaged or its folder is gone.
//!
//! A death is a copy of all files while the log is open: what a killed process leaves behind.

use super::*;
use crate::event::kind::{ActorSeen, LogReanchored};
use crate::event::{Draft, EventKind, Subject, Timestamp};
use crate::seam::{Clock, FrozenClock};
use crate::verify::verify;
use std::fs;
use std::path::{Path, PathBuf};

mod damage;

struct World {
    temporary: tempfile::TempDir,
    ids: Arc<Ids>,
}

impl World {
    fn new() -> Self {
        Self {
            temporary: tempfile::tempdir().unwrap(),
            ids: Arc::new(Ids::from_system()),
        }
    }

    fn home(&self, name: &str) -> PathBuf {
        self.temporary.path().join(name)
    }

    fn folder(&self, name: &str) -> LogFolder {
        let home = self.home(name);
        LogFolder::new(home.join("log"), home.join("witness"))
    }

    fn open(&self, name: &str) -> FjallLog {
        self.try_open(name).unwrap()
    }

    fn try_open(&self, name: &str) -> Result<FjallLog, OpenError> {
        FjallLog::open(&self.folder(name), Arc::clone(&self.ids), Box::new(|| true))
    }

    /// Leaves behind what a process would that is killed now.
    fn killed(&self, from: &str, to: &str) {
        copy(
            &self.temporary.path().join(from),
            &self.temporary.path().join(to),
        );
    }

    fn batch(&self, events: usize) -> Batch {
        let draft = |_| {
            let subject = Subject::Actor(self.ids.actor());
            Draft::new(
                self.ids.event(),
                subject,
                EventKind::ActorSeen(ActorSeen {}),
            )
        };
        Batch::new(self.ids.batch(), (0..events).map(draft).collect())
    }

    fn journals(&self, name: &str) -> Vec<PathBuf> {
        let database = self.folder(name).current().unwrap().unwrap();
        folder::journals(&database).unwrap()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn head(log: &FjallLog) -> Head {
    *log.head().borrow()
}

async fn fault_of(log: &FjallLog) -> Option<IntegrityFault> {
    verify(log, Vec::new(), 1, |_| {}).await.unwrap().fault
}

#[tokio::test]
async fn a_log_that_was_closed_opens_where_it_ended_and_keeps_no_copy() {
    let world = World::new();
    let log = world.open("a");
    log.append(world.batch(3)).await.unwrap();
    let before = head(&log);
    tokio::task::spawn_blocking(move || log.close())
        .await
        .unwrap()
        .unwrap();

    let log = world.open("a");

    assert_eq!((head(&log), log.fault()), (before, None));
    assert_eq!(fault_of(&log).await, None);
    assert!(!world.folder("a").kept().exists());
}

#[tokio::test]
async fn a_killed_process_loses_nothing_that_was_acknowledged() {
    let world = World::new();
    let log = world.open("a");
    for _ in 0..5 {
        log.append(world.batch(2)).await.unwrap();
    }
    let acknowledged = head(&log);
    world.killed("a", "b");

    let again = world.open("b");

    assert_eq!((head(&again), again.fault()), (acknowledged, None));
    assert_eq!(fault_of(&again).await, None);
    assert!(!world.folder("b").kept().exists());
}

#[tokio::test]
async fn a_journal_that_was_cut_is_noticed_and_kept_and_writes_refuse() {
    let world = World::new();
    let log = world.open("a");
    log.append(world.batch(4)).await.unwrap();
    let kept = head(&log);
    log.append(world.batch(1)).await.unwrap();
    world.killed("a", "b");
    let lost = head(&log);
    let journal = world.journals("b").pop().unwrap();
    let whole = fs::read(&journal).unwrap();
    let used = whole.iter().rposition(|byte| *byte != 0).unwrap();
    fs::write(&journal, &whole[..used - 20]).unwrap();

    let cut = world.open("b");

    let fault = cut.fault().unwrap();
    assert_eq!(
        *fault,
        IntegrityFault::Shorter {
            witnessed: lost,
            found: kept
        }
    );
    assert_eq!(
        fault.to_string(),
        "events 6 to 6 are missing: the log ends at 5"
    );
    assert!(
        world
            .folder("b")
            .kept()
            .join(journal.file_name().unwrap())
            .exists()
    );
    assert!(matches!(
        cut.append(world.batch(1)).await,
        Err(AppendError::Integrity(_))
    ));
    assert_eq!(cut.read_now(Seq::ZERO, 10).unwrap().len(), 5);
    drop(cut);
    assert_eq!(
        world.open("b").fault().as_deref(),
        Some(&*fault),
        "it is still refused later"
    );
}

#[tokio::test]
async fn a_re_anchoring_names_the_lost_range_and_is_reported_for_ever() {
    let world = World::new();
    let log = world.open("a");
    log.append(world.batch(4)).await.unwrap();
    let found = head(&log);
    log.append(world.batch(3)).await.unwrap();
    let witnessed = head(&log);
    world.killed("a", "b");
    let journal = world.journals("b").pop().unwrap();
    let whole = fs::read(&journal).unwrap();
    let used = whole.iter().rposition(|byte| *byte != 0).unwrap();
    fs::write(&journal, &whole[..used - 20]).unwrap();
    let cut = world.open("b");

    let facts = LogReanchored {
        witnessed: witnessed.seq,
        witnessed_link: witnessed.link,
        found: found.seq,
        found_link: found.link,
    };
    let kind = EventKind::LogReanchored(facts.clone());
    let draft = Draft::new(world.ids.event(), Subject::Log, kind);
    let landed = cut
        .append(Batch::new(world.ids.batch(), vec![draft]))
        .await
        .unwrap();
    cut.append(world.batch(1)).await.unwrap();
    let end = head(&cut);
    drop(cut);

    assert_eq!(landed.first, witnessed.seq.next());
    let aside = format!("kept-{}", landed.first);
    assert!(
        world.folder("b").root().join(aside).exists(),
        "the evidence stays"
    );
    let again = world.open("b");
    assert_eq!((again.fault(), head(&again)), (None, end));
    let verified = verify(&again, vec![facts.clone()], 2, |_| {})
        .await
        .unwrap();
    assert_eq!(verified.fault, None);
    assert_eq!(verified.progress.reanchored, vec![(landed.first, facts)]);
}

#[tokio::test]
async fn an_older_copy_of_the_log_is_noticed_by_the_witness_outside() {
    let world = World::new();
    let log = world.open("a");
    log.append(world.batch(2)).await.unwrap();
    world.killed("a", "old");
    log.append(world.batch(2)).await.unwrap();
    let newest = head(&log);
    drop(log);

    let home = world.temporary.path();
    fs::remove_dir_all(home.join("a/log")).unwrap();
    copy(&home.join("old/log"), &home.join("a/log"));

    let swapped = world.open("a");
    assert!(matches!(
        swapped.fault().as_deref(),
        Some(IntegrityFault::Shorter { witnessed, .. }) if *witnessed == newest
    ));
}

#[tokio::test]
async fn a_log_that_is_gone_is_not_begun_anew() {
    let world = World::new();
    let log = world.open("a");
    log.append(world.batch(2)).await.unwrap();
    let witnessed = head(&log);
    drop(log);
    fs::remove_dir_all(world.folder("a").root()).unwrap();

    let refused = world.try_open("a").unwrap_err();

    let OpenError::Integrity(fault) = refused else {
        panic!("{refused}")
    };
    let witnessed = Some(witnessed);
    assert_eq!(*fault, IntegrityFault::Gone { witnessed });
}

#[tokio::test]
async fn a_log_that_was_moved_and_opened_is_missed_at_its_new_place() {
    let world = World::new();
    let log = world.open("a");
    log.append(world.batch(2)).await.unwrap();
    drop(log);
    fs::rename(world.home("a"), world.home("b")).unwrap();
    let log = world.open("b");
    let witnessed = Some(head(&log));
    drop(log);
    fs::remove_dir_all(world.folder("b").root()).unwrap();

    let refused = world.try_open("b").unwrap_err();

    assert!(
        matches!(&refused, OpenError::Integrity(fault) if **fault == IntegrityFault::Gone { witnessed }),
        "{refused}"
    );
}

#[tokio::test]
async fn a_log_is_missed_by_whatever_link_its_place_is_named() {
    let world = World::new();
    let log = world.open("a");
    let witnessed = Some(head(&log));
    drop(log);
    fs::remove_dir_all(world.folder("a").root()).unwrap();
    std::os::unix::fs::symlink(world.home("a"), world.home("link")).unwrap();

    let lost = world.folder("link").lost().unwrap();

    assert_eq!(lost, Some(IntegrityFault::Gone { witnessed }));
}

#[tokio::test]
async fn what_was_made_from_a_log_shows_that_there_was_one() {
    let world = World::new();
    let made = world.home("a").join("views");
    fs::create_dir_all(&made).unwrap();
    let folder = world.folder("a").with_made(&made);
    assert_eq!(folder.lost().unwrap(), None);

    fs::write(made.join("row"), "x").unwrap();

    let witnessed = None;
    assert_eq!(
        folder.lost().unwrap(),
        Some(IntegrityFault::Gone { witnessed })
    );
}

#[tokio::test]
async fn a_creation_that_was_interrupted_is_finished_by_the_next() {
    let world = World::new();
    let folder = world.folder("a");
    fs::create_dir_all(folder.root().join("db-1.new/half")).unwrap();

    let log = world.open("a");

    assert_eq!(head(&log).seq, Seq(1));
    assert!(!folder.root().join("db-1.new").exists());
}

#[tokio::test]
async fn losing_the_lock_ends_writing_before_anything_is_written() {
    let world = World::new();
    let held = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let seen = Arc::clone(&held);
    let fence = Box::new(move || seen.load(std::sync::atomic::Ordering::Relaxed));
    let log = FjallLog::open(&world.folder("a"), Arc::clone(&world.ids), fence).unwrap();
    log.append(world.batch(1)).await.unwrap();
    let before = head(&log);

    held.store(false, std::sync::atomic::Ordering::Relaxed);
    let refused = log.append(world.batch(1)).await;

    assert!(matches!(refused, Err(AppendError::Io(_))));
    assert_eq!(head(&log), before);
}

/// Any byte of any journal: the damage is noticed, or it is harmless and everything is equal.
#[tokio::test]
async fn a_log_that_a_newer_version_must_write_is_read_and_not_written() {
    let world = World::new();
    let log = world.open("a");
    log.append(world.batch(2)).await.unwrap();
    let whole = log.read_now(Seq::ZERO, 100).unwrap();
    drop(log);
    let database = world.folder("a").current().unwrap().unwrap();
    let store = Store::open(&database).unwrap();
    store.meta.insert("format", 2_u32.to_be_bytes()).unwrap();
    store.sync().unwrap();
    store.close();

    let log = world.open("a");

    assert_eq!(log.read_now(Seq::ZERO, 100).unwrap(), whole);
    assert!(matches!(
        log.append(world.batch(1)).await,
        Err(AppendError::NewerFormat { needed: 2, ours: 1 })
    ));
}

#[tokio::test]
async fn a_clock_that_is_set_back_sets_no_time_back() {
    let clock = Arc::new(FrozenClock::at(Timestamp::from_micros(9_000_000)));
    let ids = Ids::new(
        Shown(Arc::clone(&clock)),
        crate::seam::KernelRandomness::default(),
    );
    let world = World {
        temporary: tempfile::tempdir().unwrap(),
        ids: Arc::new(ids),
    };
    let log = world.open("a");
    log.append(world.batch(1)).await.unwrap();

    clock.set(Timestamp::from_micros(5_000_000));
    log.append(world.batch(1)).await.unwrap();
    drop(log);
    let again = world.open("a");
    again.append(world.batch(1)).await.unwrap();
    clock.set(Timestamp::from_micros(11_000_000));
    again.append(world.batch(1)).await.unwrap();

    let times = again.read_now(Seq::ZERO, 100).unwrap();
    let times = times
        .iter()
        .map(|record| record.decode().unwrap().at.as_secs());
    assert_eq!(times.collect::<Vec<_>>(), [9, 9, 9, 9, 11]);
    assert_eq!(fault_of(&again).await, None);
}

/// A clock that the test keeps a hand on.
#[derive(Debug)]
struct Shown(Arc<FrozenClock>);

impl Clock for Shown {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

/// The promises of the contract, on disk.
mod conformance {
    use super::*;

    #[expect(clippy::unused_async, reason = "other backends wait here")]
    async fn make() -> (Arc<FjallLog>, World) {
        let world = World::new();
        let log = Arc::new(world.open("a"));
        (log, world)
    }

    crate::conformance::conformance!(make);
}

#[tokio::test]
async fn a_changed_letter_is_found_although_the_store_sees_nothing_wrong() {
    let world = World::new();
    let log = world.open("a");
    log.append(world.batch(5)).await.unwrap();
    tokio::task::spawn_blocking(move || log.close())
        .await
        .unwrap()
        .unwrap();

    let changed = forge::change_a_letter(&world.folder("a"), Seq(3)).unwrap();

    let log = world.open("a");
    assert!(changed);
    assert_eq!(
        fault_of(&log).await,
        Some(IntegrityFault::Chain(chain::ChainFault::Link {
            seq: Seq(3)
        }))
    );
    assert!(
        log.fault().is_some(),
        "the journal is another one than at the close"
    );
}
