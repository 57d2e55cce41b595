//! The log of a profile, opened: whoever hosts it at the moment.
//!
//! [`Home`] says where everything is. [`Home::read`] opens what is there and creates nothing where there is
//! nothing; [`Home::write`] makes the profile if need be. Both give a [`Session`]: the log, its views,
//! identifiers, and what is known not to verify. A session must be closed, so that the next one opens
//! quickly; one that is dropped closes as well, but tells nobody what went wrong.

pub(crate) mod failure;
mod hosting;
mod who;

pub(crate) use hosting::Host;
pub(crate) use who::Who;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::seams::Seams;
use crate::state::{Folders, Profile};
use hosting::ask;
use missive_commands::Exit;
use missive_log::backend::fjall::LogFolder;
use missive_log::backend::instance::Instance;
use missive_log::backend::{Place, Station};
use missive_log::contract::IntegrityFault;
use missive_log::event::Seq;
use missive_log::seam::{FrozenClock, KernelRandomness, SeededRandomness, SystemClock};
use missive_log::{Head, Ids, Log as _};
use missive_projections::{Attached, Views, ViewsError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where one profile is, and what replaces the world in tests.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// The profile's folders.
    pub(crate) profile: Profile,
    /// The user's folder for sockets.
    pub(crate) runtime: Option<PathBuf>,
    /// Clock and seed of a reproducible run.
    pub(crate) seams: Seams,
}

impl Home {
    /// The home of a profile.
    pub(crate) fn of(
        environment: &Environment<'_>,
        profile: &str,
        seams: Seams,
    ) -> Result<Self, Failure> {
        let folders = Folders::of(environment)?;
        Ok(Self {
            profile: folders.profile(profile),
            runtime: folders.runtime,
            seams,
        })
    }

    /// The files of the log.
    pub(crate) fn log_folder(&self) -> LogFolder {
        LogFolder::new(self.profile.log(), self.profile.witness()).with_made(self.profile.views())
    }

    /// Opens the log that is there; `None`, and nothing created, where there was never one.
    pub(crate) async fn read(&self) -> Result<Option<Session>, Failure> {
        let exists = self.profile.exists()?;
        let folder = self.log_folder();
        let refused = |error| failure::io(&self.profile.log(), &error);
        if exists && folder.is_begun().map_err(refused)? {
            return Session::open(self).await.map(Some);
        }
        let lost = folder.lost().map_err(refused)?;
        match lost {
            None => Ok(None),
            // Another process began it between the two looks.
            Some(_) if exists && folder.is_begun().map_err(refused)? => {
                Session::open(self).await.map(Some)
            }
            Some(fault) => Err(failure::integrity(self, "the log is gone", &fault)),
        }
    }

    /// Opens the log, and begins it where there is none.
    pub(crate) async fn write(&self) -> Result<Session, Failure> {
        self.profile.create()?;
        Session::open(self).await
    }

    /// Identifiers that follow from the seed and a place, or from nothing.
    fn ids(&self, place: &[u8]) -> Ids {
        match (self.seams.clock, &self.seams.seed) {
            (None, None) => Ids::from_system(),
            (Some(clock), None) => Ids::new(FrozenClock::at(clock), KernelRandomness::default()),
            (None, Some(seed)) => Ids::new(SystemClock, SeededRandomness::new(seed, place)),
            (Some(clock), Some(seed)) => {
                Ids::new(FrozenClock::at(clock), SeededRandomness::new(seed, place))
            }
        }
    }
}

/// The log and what belongs to it, for one run of the program.
#[derive(Debug)]
pub(crate) struct Session {
    home: Home,
    station: Arc<Station<Host>>,
    attached: Arc<Attached>,
    ids: Arc<Ids>,
    fault: Option<Arc<IntegrityFault>>,
    instance: Mutex<Option<Arc<Instance>>>,
    who: Mutex<Option<Who>>,
}

impl Session {
    async fn open(home: &Home) -> Result<Self, Failure> {
        let log = home.profile.log();
        let place = Place::of(&log, home.runtime.as_deref());
        let place = place.map_err(|error| failure::io(&log, &error))?;
        let host = Host {
            folder: home.log_folder(),
            views: home.profile.views(),
            // The host's own identifiers follow from the seed alone: the first event, and the host's name.
            ids: Arc::new(home.ids(b"host")),
        };
        let station = Station::open(host, place).await;
        let station = Arc::new(station.map_err(|error| failure::station(home, error))?);
        let head = *station.head().borrow();
        let mut session = Self {
            home: home.clone(),
            attached: Arc::new(attached(&station)),
            station,
            ids: Arc::new(home.ids(head.to_string().as_bytes())),
            fault: None,
            instance: Mutex::default(),
            who: Mutex::default(),
        };
        session.fault = session.ask_fault()?;
        Ok(session)
    }

    /// The log.
    pub(crate) fn log(&self) -> &Arc<Station<Host>> {
        &self.station
    }

    /// The newest durable place.
    pub(crate) fn head(&self) -> Head {
        *self.station.head().borrow()
    }

    /// The views as of now.
    pub(crate) fn views(&self) -> Result<Views, ViewsError> {
        self.views_at(self.head().seq)
    }

    /// The views as of at least a place, such as an append of one's own.
    pub(crate) fn views_at(&self, least: Seq) -> Result<Views, ViewsError> {
        match self.station.local_companion() {
            Some(beside) => Ok(Views::hosted(beside.views(least)?, least)),
            None => Ok(Views::attached(Arc::clone(&self.attached), least)),
        }
    }

    /// Clock, identifiers and salts of this run.
    pub(crate) fn ids(&self) -> &Arc<Ids> {
        &self.ids
    }

    /// What is known not to verify, since this session was opened.
    pub(crate) fn fault(&self) -> Option<&Arc<IntegrityFault>> {
        self.fault.as_ref()
    }

    /// The folder in which runs of the program show that they are alive.
    pub(crate) fn run_folder(&self) -> PathBuf {
        self.home.profile.run()
    }

    /// This run of the program, which intents name. Taken when it is asked for first.
    pub(crate) fn instance(&self) -> Result<Arc<Instance>, Failure> {
        let mut instance = self.instance.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(instance) = &*instance {
            return Ok(Arc::clone(instance));
        }
        let run = self.run_folder();
        let begun = Instance::begin(&run, &self.ids);
        let begun = Arc::new(begun.map_err(|error| failure::io(&run, &error))?);
        *instance = Some(Arc::clone(&begun));
        Ok(begun)
    }

    /// Who acts. Their identifier is made, and kept in the profile's folder, when it is asked for first.
    pub(crate) fn who(&self) -> Result<Who, Failure> {
        let mut who = self.who.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(who) = &*who {
            return Ok(who.clone());
        }
        let found = if self.home.seams.seed.is_some() {
            Who::of_test(self.home.ids(b"actor").actor())
        } else {
            Who::of_folder(&self.home.profile, &self.ids)?
        };
        *who = Some(found.clone());
        Ok(found)
    }

    /// Notes what a verification found: from here on appends refuse, also in later runs.
    pub(crate) async fn distrust(&self, fault: &IntegrityFault) -> Result<(), Failure> {
        if let Some(log) = self.station.local_log() {
            log.distrust(Arc::new(fault.clone())).await;
            return Ok(());
        }
        let mut request = vec![ask::DISTRUST];
        let encoded = serde_json::to_writer(&mut request, fault);
        encoded.map_err(|error| Failure::from_error(Exit::Internal, &error))?;
        let noted = self.station.companion(Seq::ZERO, &request);
        noted
            .map(|_| ())
            .map_err(|error| failure::companion(&error))
    }

    /// What went wrong with a read, for the user.
    pub(crate) fn read_failure(&self, error: missive_log::ReadError) -> Failure {
        failure::read(&self.home, error)
    }

    /// What went wrong with the views, for the user.
    pub(crate) fn views_failure(&self, error: &ViewsError) -> Failure {
        failure::views(&self.home, error)
    }

    /// Does something with the session and closes it, whatever came of it.
    pub(crate) async fn used<T>(
        self,
        work: impl AsyncFnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let done = work(&self).await;
        self.close().await;
        done
    }

    /// Ends: what others wait for is finished, the views catch up, the log is closed.
    pub(crate) async fn close(self) {
        self.station.close().await;
    }

    fn ask_fault(&self) -> Result<Option<Arc<IntegrityFault>>, Failure> {
        if let Some(log) = self.station.local_log() {
            return Ok(log.fault());
        }
        let answer = if let Some(greeting) = self.station.greeting() {
            greeting
        } else {
            let answer = self.station.companion(Seq::ZERO, &[ask::FAULT]);
            answer.map_err(|error| failure::companion(&error))?
        };
        let fault: Option<IntegrityFault> = serde_json::from_slice(&answer)
            .map_err(|error| Failure::from_error(Exit::Internal, &error))?;
        Ok(fault.map(Arc::new))
    }
}

/// The rows of whoever hosts the log.
fn attached(station: &Arc<Station<Host>>) -> Attached {
    let station = Arc::downgrade(station);
    Attached::new(Box::new(move |least, request| {
        let station = station.upgrade().ok_or("the log was closed")?;
        let mut bytes = Vec::with_capacity(request.len() + 1);
        bytes.push(ask::VIEWS);
        bytes.extend_from_slice(request);
        Ok(station.companion(least, &bytes)?)
    }))
}

/// The folder of a profile's log, for messages.
fn shown(path: &Path) -> String {
    crate::environment::shown(path)
}
