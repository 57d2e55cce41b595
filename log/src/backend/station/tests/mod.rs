//! Stations that elect, host, attach and take over, with one profile between them.

mod forgetful;
mod killed;

use super::elect::elect;
use super::*;
use crate::backend::frame::message::Agreement;
use crate::backend::memory::MemoryLog;
use crate::conformance::{batch, draft, read_all, verify, within_reason};
use crate::seam::Ids;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;
use tokio::time::Duration;

/// A log that survives its hosts, as a file would, because the test holds it.
#[derive(Clone)]
struct Kept {
    log: Arc<MemoryLog>,
    views: &'static str,
    opened: Arc<AtomicU32>,
    closed: Arc<AtomicU32>,
}

struct Echo(&'static str);

impl Companion for Echo {
    fn fingerprint(&self) -> String {
        self.0.to_owned()
    }

    fn answer(&self, _least: Seq, request: &[u8]) -> Result<Vec<u8>, String> {
        if request.is_empty() {
            return Err("nothing was asked".to_owned());
        }
        Ok(request.to_vec())
    }
}

impl Hosting for Kept {
    type Log = MemoryLog;
    type Companion = Echo;

    fn fingerprint(&self) -> String {
        self.views.to_owned()
    }

    fn open(&self, _guard: Arc<LockGuard>) -> Result<Opening<Self>, StationError> {
        if self.views == "broken" {
            return Err(StationError::NewerFormat { found: 9, ours: 1 });
        }
        self.opened.fetch_add(1, Ordering::Relaxed);
        Ok((Arc::clone(&self.log), Arc::new(Echo(self.views))))
    }

    fn close(&self, _log: Arc<MemoryLog>, _companion: Arc<Echo>) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }
}

struct World {
    folder: TempDir,
    kept: Kept,
}

impl World {
    fn new() -> Self {
        let log = MemoryLog::new(Arc::new(Ids::from_system())).unwrap();
        Self {
            folder: tempfile::tempdir().unwrap(),
            kept: Kept {
                log: Arc::new(log),
                views: "views 1",
                opened: Arc::default(),
                closed: Arc::default(),
            },
        }
    }

    fn place(&self) -> Place {
        Place::of(self.folder.path(), None).unwrap()
    }

    async fn station(&self) -> Arc<Station<Kept>> {
        self.station_with(self.kept.clone()).await.unwrap()
    }

    async fn station_with(&self, kept: Kept) -> Result<Arc<Station<Kept>>, StationError> {
        within_reason(Station::open(kept, self.place()))
            .await
            .map(Arc::new)
    }
}

mod hosting {
    use super::*;

    async fn make() -> (Arc<Station<Kept>>, World) {
        let world = World::new();
        (world.station().await, world)
    }

    crate::conformance::conformance!(make);
}

mod attached {
    use super::*;

    async fn make() -> (Arc<Station<Kept>>, (Arc<Station<Kept>>, World)) {
        let world = World::new();
        let host = world.station().await;
        (world.station().await, (host, world))
    }

    crate::conformance::conformance!(make);
}

#[tokio::test]
async fn the_first_one_hosts_and_the_others_are_attached_until_it_goes() {
    let world = World::new();
    let (first, second) = (world.station().await, world.station().await);
    let before = (first.is_host(), second.is_host());
    second.append(batch(&["a"])).await.unwrap();

    within_reason(first.close()).await;
    let appended = within_reason(second.append(batch(&["b"]))).await.unwrap();

    assert_eq!(before, (true, false));
    assert!(second.is_host());
    assert_eq!(appended.last, Seq(3));
    assert_eq!(world.kept.opened.load(Ordering::Relaxed), 2);
    assert_eq!(world.kept.closed.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn what_was_closed_takes_nothing_and_leaves_neither_socket_nor_lock() {
    let world = World::new();
    let station = world.station().await;

    within_reason(station.close()).await;

    assert!(matches!(
        station.append(batch(&["a"])).await,
        Err(AppendError::HostLost)
    ));
    assert!(matches!(
        station.read(Seq(0), 1).await,
        Err(ReadError::HostLost)
    ));
    assert!(matches!(
        station.companion(Seq(0), b"x"),
        Err(CompanionError::Station(_))
    ));
    assert!(!world.place().socket().exists());
    assert!(LockGuard::try_take(world.folder.path()).is_ok());
}

#[tokio::test]
async fn hosts_that_go_one_after_the_other_lose_nothing_and_take_nothing_in_twice() {
    let world = World::new();
    let mut stations = Vec::new();
    for _ in 0..6 {
        stations.push(world.station().await);
    }
    let reader = stations.pop().unwrap();
    let writers: Vec<_> = stations
        .into_iter()
        .enumerate()
        .map(|(writer, station)| {
            tokio::spawn(async move {
                let mut places = Vec::new();
                for n in 0..(writer + 1) * 10 {
                    let name = format!("w{writer}-{n}");
                    places.push((
                        name.clone(),
                        station.append(batch(&[&name])).await.unwrap().last,
                    ));
                }
                // The quicker ones are done first, and the first one of all is the host.
                station.close().await;
                places
            })
        })
        .collect();

    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.extend(within_reason(writer).await.unwrap());
    }

    let records = within_reason(read_all(&reader)).await;
    let head = *reader.head().borrow();
    assert_eq!(records.len(), 1 + acknowledged.len());
    assert_eq!(verify(&records, head), *world.kept.log.head().borrow());
    for (name, seq) in acknowledged {
        let record = &records[usize::try_from(seq.0).unwrap() - 1];
        let subject = record.decode().unwrap().subject.unwrap();
        assert_eq!(subject.to_string(), format!("agent:{name}"));
    }
}

#[tokio::test]
async fn a_subscription_goes_on_when_its_process_becomes_the_host() {
    let world = World::new();
    let (first, second) = (world.station().await, world.station().await);
    let mut subscription = second.subscribe(Seq(1));
    first.append(batch(&["a"])).await.unwrap();
    let before = within_reason(subscription.next()).await.unwrap();

    within_reason(first.close()).await;
    second.append(batch(&["b"])).await.unwrap();
    let after = within_reason(subscription.next()).await.unwrap();

    assert_eq!((before[0].seq, after[0].seq), (Seq(2), Seq(3)));
}

#[tokio::test]
async fn what_is_served_beside_the_log_is_asked_at_home_or_over_the_socket() {
    let world = World::new();
    let (host, attached) = (world.station().await, world.station().await);

    for station in [&host, &attached] {
        assert_eq!(station.companion(Seq(1), b"rows").unwrap(), b"rows");
        let refused = station.companion(Seq(1), b"").unwrap_err();
        assert_eq!(refused.to_string(), "nothing was asked");
    }
    assert!(host.local_companion().is_some() && attached.local_companion().is_none());

    within_reason(host.close()).await;
    assert_eq!(attached.companion(Seq(1), b"rows").unwrap(), b"rows");
}

#[tokio::test]
async fn a_lock_whose_holder_does_not_answer_is_never_taken_away() {
    let world = World::new();
    let _held = LockGuard::try_take(world.folder.path()).unwrap();
    let ours = Agreement::of_this_build(String::new());

    let refused = elect(&world.place(), &ours, None, Duration::from_millis(20)).await;

    let Err(refused) = refused else {
        panic!("somebody was elected")
    };
    let (pid, version) = (std::process::id(), env!("CARGO_PKG_VERSION"));
    assert_eq!(
        refused.to_string(),
        format!(
            "the log is held by something that does not answer (perhaps process {pid} (missive {version}))"
        )
    );
}

#[tokio::test]
async fn a_host_that_says_nothing_is_waited_for_and_then_given_up() {
    let world = World::new();
    let _held = LockGuard::try_take(world.folder.path()).unwrap();
    let _stopped = std::os::unix::net::UnixListener::bind(world.place().socket()).unwrap();
    let ours = Agreement::of_this_build(String::new());

    let refused = elect(&world.place(), &ours, None, Duration::from_millis(20)).await;

    assert!(matches!(
        refused,
        Err(StationError::Busy { holder: Some(_) })
    ));
}

#[tokio::test]
async fn a_socket_that_a_dead_host_left_behind_is_in_nobodys_way() {
    let world = World::new();
    drop(std::os::unix::net::UnixListener::bind(world.place().socket()).unwrap());

    let (host, attached) = (world.station().await, world.station().await);

    assert!(host.is_host() && !attached.is_host());
}

#[tokio::test]
async fn other_views_at_the_host_are_refused_and_the_host_is_named() {
    let world = World::new();
    let _host = world.station().await;
    let mut other = world.kept.clone();
    other.views = "views 2";

    let refused = world.station_with(other).await.unwrap_err();

    assert_eq!(
        refused.to_string(),
        format!(
            "the log is hosted by process {}, and the views differ: views 1 there, views 2 here",
            std::process::id()
        )
    );
}

#[tokio::test]
async fn a_log_that_does_not_open_says_so_and_its_lock_is_free_again() {
    let world = World::new();
    let mut broken = world.kept.clone();
    broken.views = "broken";

    let refused = world.station_with(broken).await.unwrap_err();

    assert!(
        matches!(refused, StationError::NewerFormat { found: 9, .. }),
        "{refused:?}"
    );
    assert!(world.station().await.is_host());
}

#[tokio::test]
async fn a_log_that_has_lost_what_was_seen_of_it_is_not_gone_on_with() {
    let world = World::new();
    let first = world.station().await;
    let mut other = world.kept.clone();
    other.log = World::new().kept.log;
    let second = world.station_with(other).await.unwrap();
    second.append(batch(&["a"])).await.unwrap();

    within_reason(first.close()).await;
    let refused = within_reason(second.append(batch(&["b"])))
        .await
        .unwrap_err();

    let AppendError::Integrity(fault) = refused else {
        panic!("{refused:?}")
    };
    assert!(
        matches!(*fault, IntegrityFault::OtherLog { .. }),
        "{fault:?}"
    );
}

#[tokio::test]
async fn a_call_under_way_is_finished_before_the_log_is_closed() {
    let world = World::new();
    let (host, attached) = (world.station().await, world.station().await);
    let appends: Vec<_> = (0..50)
        .map(|n| {
            let station = Arc::clone(if n % 2 == 0 { &host } else { &attached });
            tokio::spawn(async move {
                station
                    .append(Batch::new(Ids::from_system().batch(), vec![draft("a")]))
                    .await
            })
        })
        .collect();

    within_reason(host.close()).await;

    let mut landed = 0;
    for append in appends {
        match within_reason(append).await.unwrap() {
            Ok(_) => landed += 1,
            // Only those of the closed station itself, and only those that had not begun.
            Err(AppendError::HostLost) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(read_all(&attached).await.len(), 1 + landed);
    assert!(landed >= 25);
}
