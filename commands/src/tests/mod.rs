//! The acting half as a whole, against peers that answer as told.
//!
//! A [`World`] is a log and its views in memory, a clock that stands still, and nothing else.

mod agents;
mod artifacts;
mod barriers;
mod busy;
mod cards;
mod doubt;
mod extended;
mod faults;
mod field;
mod groups;
mod push;
mod receive;
mod recorded;
mod reductions;
mod rosters;
mod rounds;
mod routed;
mod routing;
mod scenarios;
mod send;
mod signatures;
mod streams;
mod streams_broken;
mod streams_other;
mod tasks;
mod turns;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use missive_log::backend::instance::Instance;
use missive_log::backend::memory::MemoryLog;
use missive_log::event::{Alias, Event, Seq};
use missive_log::seam::{Clock, FrozenClock, SeededRandomness};
use missive_log::{Ids, Log, Origin, Timestamp};
use missive_projections::{Views, ViewsHost, source_of};

use crate::config::Config;
use crate::decide::agent_add::AgentAdd;
use crate::secret::Secret;
use crate::{Actor, CommandError, Credentials, Interrupt, Missive, Parts, Requests, Target};

/// A clock that tests move.
#[derive(Clone, Debug)]
struct TestClock(Arc<FrozenClock>);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

/// One home, and whoever acts in it.
pub(super) struct World {
    log: Arc<MemoryLog>,
    views: Views,
    ids: Arc<Ids>,
    clock: TestClock,
    run: tempfile::TempDir,
    pub(super) config: Config,
    pub(super) credentials: Credentials,
    pub(super) requests: Requests,
}

impl World {
    pub(super) fn new() -> Self {
        let start = Timestamp::parse_rfc3339("2026-12-01T09:30:00Z").unwrap();
        let clock = TestClock(Arc::new(FrozenClock::at(start)));
        let randomness = SeededRandomness::new(b"commands", b"");
        let ids = Arc::new(Ids::new(clock.clone(), randomness));
        let log = Arc::new(MemoryLog::new(ids.clone()).unwrap());
        let head = *log.head().borrow();
        let host = ViewsHost::in_memory(head.log, source_of(log.clone()));
        Self {
            views: Views::hosted(Arc::new(host), head.seq),
            log,
            ids,
            clock,
            run: tempfile::tempdir().unwrap(),
            config: Config::default(),
            credentials: Credentials::default(),
            requests: Requests::default(),
        }
    }

    /// The same world with a bearer token for every agent.
    pub(super) fn with_token(mut self, token: &str) -> Self {
        self.credentials.bearer = Some(Secret::new(token.to_owned()));
        self
    }

    pub(super) fn later(&self, by: Duration) {
        let micros = u64::try_from(by.as_micros()).unwrap();
        let now = self.clock.now().as_micros();
        self.clock.0.set(Timestamp::from_micros(now + micros));
    }

    /// A run of the program, alive until the value is dropped.
    pub(super) fn missive(&self) -> Missive<MemoryLog> {
        self.missive_with(|_| {})
    }

    /// The same in a process that folds its own views.
    pub(super) fn elsewhere(&self) -> Missive<MemoryLog> {
        let head = *self.log.head().borrow();
        let host = ViewsHost::in_memory(head.log, source_of(self.log.clone()));
        let views = Views::hosted(Arc::new(host), head.seq);
        self.missive_with(|parts| parts.views = views)
    }

    /// The same with something changed.
    pub(super) fn missive_with(
        &self,
        change: impl FnOnce(&mut Parts<MemoryLog>),
    ) -> Missive<MemoryLog> {
        let instance = Instance::begin(self.run.path(), &self.ids).unwrap();
        let mut parts = Parts {
            log: self.log.clone(),
            views: self.newest(),
            ids: self.ids.clone(),
            config: Arc::new(self.config.clone()),
            profile: "default".to_owned(),
            actor: Actor {
                id: missive_log::event::ActorId([7; 16]),
                names: "ada@engine".to_owned(),
            },
            instance: Arc::new(instance),
            run: self.run.path().to_owned(),
            origin: Origin::Cli,
            requests: self.requests.clone(),
            credentials: self.credentials.clone(),
            credentials_of: BTreeMap::new(),
            further_secrets: Vec::new(),
        };
        change(&mut parts);
        Missive::new(parts)
    }

    /// The views as of the newest event.
    pub(super) fn newest(&self) -> Views {
        self.views.at_least(self.log.head().borrow().seq)
    }

    /// Where runs of the program show that they are alive.
    pub(super) fn run(&self) -> &std::path::Path {
        self.run.path()
    }

    pub(super) async fn with_agent(self, url: &str) -> Self {
        let command = AgentAdd::new(alias("py"), url);
        self.missive().agent_add(&command).await.unwrap();
        self
    }

    pub(super) async fn events(&self) -> Vec<Event> {
        let records = self.log.read(Seq::ZERO, 4_096).await.unwrap();
        records.iter().map(|r| r.decode().unwrap()).collect()
    }

    /// The kinds of the events after the first ones of every world, in order.
    pub(super) async fn kinds(&self) -> Vec<String> {
        let setup = [
            "missive.log.created",
            "missive.actor.seen",
            "missive.agent.added",
        ];
        let events = self.events().await;
        let names = events.iter().map(|event| event.kind.name().to_owned());
        names
            .filter(|name| !setup.contains(&name.as_str()))
            .collect()
    }

    /// Everything that the log stores, as one text.
    pub(super) async fn stored(&self) -> String {
        let records = self.log.read(Seq::ZERO, 4_096).await.unwrap();
        let mut all = String::new();
        for record in &records {
            all.push_str(&record.body);
            all.push('\n');
        }
        let head = self.log.head().borrow().seq;
        let mut after = (Seq::ZERO, u16::MAX);
        loop {
            let rows = self.log.payload_rows(after, head).await.unwrap();
            let Some(last) = rows.last() else {
                return all;
            };
            after = (last.seq, last.index);
            for row in &rows {
                let row = missive_log::payload::row::decode(&row.row).unwrap();
                all.push_str(&String::from_utf8_lossy(&row.bytes));
                all.push('\n');
            }
        }
    }
}

pub(super) fn alias(text: &str) -> Alias {
    Alias::new(text).unwrap()
}

/// The agent that [`World::with_agent`] registers.
pub(super) fn py() -> Target {
    Target::Alias(alias("py"))
}

pub(super) fn patient() -> Interrupt {
    Interrupt::never()
}

/// `exit code, missive's words`.
pub(super) fn told(error: &CommandError) -> String {
    format!(
        "{} {} {error}",
        error.exit().number(),
        error.detail().unwrap_or("-")
    )
}
