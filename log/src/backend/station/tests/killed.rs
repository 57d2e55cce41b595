//! Processes that share a log on disk while the one that hosts it is killed.

use crate::backend::companion::NoCompanion;
use crate::backend::fjall::{FjallLog, LogFolder};
use crate::backend::lock::LockGuard;
use crate::backend::station::{Hosting, Opening, Place, Station, StationError};
use crate::conformance::{batch, read_all, verify, within_reason};
use crate::contract::Log as _;
use crate::seam::Ids;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

const WRITERS: usize = 8;
const APPENDS: usize = 25;

struct OnDisk(PathBuf);

impl Hosting for OnDisk {
    type Log = FjallLog;
    type Companion = NoCompanion;

    fn fingerprint(&self) -> String {
        String::new()
    }

    fn open(&self, guard: Arc<LockGuard>) -> Result<Opening<Self>, StationError> {
        let folder = LogFolder::new(self.0.join("log"), self.0.join("witness"));
        let fence = Box::new(move || guard.still_held());
        let log = FjallLog::open(&folder, Arc::new(Ids::from_system()), fence)?;
        Ok((Arc::new(log), Arc::new(NoCompanion)))
    }

    fn close(&self, log: Arc<FjallLog>, _companion: Arc<NoCompanion>) {
        log.close().unwrap();
    }
}

async fn station(state: &Path) -> Arc<Station<OnDisk>> {
    let place = Place::of(&state.join("log"), None).unwrap();
    let station = Station::open(OnDisk(state.to_owned()), place);
    Arc::new(within_reason(station).await.unwrap())
}

/// One process: appends, and says each time what was acknowledged.
#[tokio::test]
#[ignore = "a part of another test, which runs it as a process of its own"]
async fn one_process() {
    let told = |key: &str| std::env::var(key).unwrap();
    let name = told("STATION_NAME");
    let appends: usize = told("STATION_APPENDS").parse().unwrap();
    let station = station(Path::new(&told("STATION_STATE"))).await;

    for n in 0..appends {
        let alias = format!("{name}-{n}");
        let appended = within_reason(station.append(batch(&[&alias])))
            .await
            .unwrap();
        let line = format!("\nacknowledged {alias} {}\n", appended.last);
        std::io::stdout().write_all(line.as_bytes()).unwrap();
    }
    within_reason(station.close()).await;
}

/// A process that does not outlive its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn start(state: &Path, name: &str, appends: usize, heard: mpsc::Sender<(String, u64)>) -> Process {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture"])
        .arg("backend::station::tests::killed::one_process")
        .env("STATION_STATE", state)
        .env("STATION_NAME", name)
        .env("STATION_APPENDS", appends.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let mut words = line.split(' ');
            if words.next() == Some("acknowledged") {
                let alias = words.next().unwrap().to_owned();
                heard
                    .send((alias, words.next().unwrap().parse().unwrap()))
                    .unwrap();
            }
        }
    });
    Process(child)
}

fn hear(lines: &mpsc::Receiver<(String, u64)>) -> (String, u64) {
    lines
        .recv_timeout(Duration::from_secs(60))
        .expect("somebody appends")
}

#[tokio::test]
async fn a_killed_host_takes_nothing_with_it_that_was_acknowledged() {
    let state = tempfile::tempdir().unwrap();
    let (heard, lines) = mpsc::channel();
    let mut host = start(state.path(), "host", usize::MAX, heard.clone());
    let mut acknowledged = vec![hear(&lines)];
    let writers: Vec<_> = (0..WRITERS)
        .map(|n| start(state.path(), &format!("w{n}"), APPENDS, heard.clone()))
        .collect();
    drop(heard);

    // Every writer is attached and in the middle of its work.
    let from_writers =
        |all: &[(String, u64)]| all.iter().filter(|(name, _)| name.starts_with('w')).count();
    while from_writers(&acknowledged) < WRITERS * 5 {
        acknowledged.push(hear(&lines));
    }
    host.0.kill().unwrap();
    host.0.wait().unwrap();
    while from_writers(&acknowledged) < WRITERS * APPENDS {
        acknowledged.push(hear(&lines));
    }
    for mut writer in writers {
        assert!(writer.0.wait().unwrap().success());
    }
    acknowledged.extend(lines);

    let station = station(state.path()).await;
    let records = read_all(&station).await;
    let end = *station.head().borrow();
    assert_eq!(verify(&records, end), end);
    let mut found: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for record in records {
        let subject = record.decode().unwrap().subject.unwrap();
        let name = subject.to_string().replace("agent:", "");
        found.entry(name).or_default().push(record.seq.0);
    }
    for (name, seq) in acknowledged {
        assert_eq!(found.get(&name), Some(&vec![seq]), "{name}");
    }
    assert_eq!(
        found.keys().filter(|name| name.starts_with('w')).count(),
        WRITERS * APPENDS
    );
}
