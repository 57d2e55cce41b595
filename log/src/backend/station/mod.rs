//! The log of this machine, whoever hosts it at the moment: this process, or another one.
//!
//! A station finds the host's socket, or takes the lock and becomes the host itself, and keeps doing so for as
//! long as it lives: when the host goes away, those attached to it elect again, and repeat what they had
//! asked. Nothing is lost by that and nothing happens twice, because `Ok` means durable and a repeated append
//! carries the same batch id. All of it runs on one thread of its own, which does nothing else, so that
//! neither a busy command nor a blocked terminal stops the serving.

mod elect;
mod life;
mod role;

use super::attached::{CallError, Mismatch};
use super::companion::Companion;
use super::host::Place;
use super::lock::{LockError, LockGuard};
use crate::contract::{
    AppendError, Appended, Batch, Head, IntegrityFault, Log, Opened, ReadError, Record,
    StoredPayload,
};
use crate::event::Seq;
use crate::payload::PayloadRef;
use life::{Shared, advance};
use role::Live;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::{oneshot, watch};

/// How often one call may lose its host before it gives up; each time costs an election.
const HOSTS_LOST_MAX: u32 = 32;

/// What it takes to host a log: opening it, and what is served beside it.
pub trait Hosting: Send + Sync + 'static {
    /// The log.
    type Log: Log;
    /// What is served beside it.
    type Companion: Companion;

    /// The same word as [`Companion::fingerprint`] of the companion that `open` gives; known before.
    fn fingerprint(&self) -> String;

    /// Opens the log whose lock this is. May block. What is opened keeps the guard for as long as it writes, and
    /// asks [`LockGuard::still_held`] before every group of appends.
    fn open(&self, guard: Arc<LockGuard>) -> Result<Opening<Self>, StationError>;

    /// Closes what was opened. May block. All appends have ended, and the lock is given back afterwards.
    fn close(&self, log: Arc<Self::Log>, companion: Arc<Self::Companion>);
}

/// What [`Hosting::open`] gives.
pub type Opening<H> = (Arc<<H as Hosting>::Log>, Arc<<H as Hosting>::Companion>);

/// Why there is no log to work with.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StationError {
    /// Somebody holds the lock and does not answer.
    #[error("the log is held by something that does not answer{}", holder.as_deref().map(|h| format!(" (perhaps {h})")).unwrap_or_default())]
    Busy {
        /// What the lock file says; not to be trusted.
        holder: Option<String>,
    },
    /// The host is another version, or has another log.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The file system is none that a log can be kept on.
    #[error("{} is on a {kind} file system, where a log cannot be kept safely", folder.display())]
    FileSystem {
        /// The log's folder.
        folder: PathBuf,
        /// The type of the file system.
        kind: &'static str,
    },
    /// The log does not verify, or is not the one that it was a moment ago.
    #[error("the log does not verify")]
    Integrity(#[source] Arc<IntegrityFault>),
    /// The log has a format that this version cannot read.
    #[error("the log has format {found}, and this version reads up to {ours}")]
    NewerFormat {
        /// What it has.
        found: u32,
        /// What we read.
        ours: u32,
    },
    /// The disk, or the file system, said no.
    #[error("the log's folder cannot be used")]
    Io(#[source] Arc<io::Error>),
    /// What was to be opened reports a fault of its own.
    #[error("the log could not be opened")]
    Store(#[source] Arc<dyn Error + Send + Sync>),
    /// This process is ending.
    #[error("the log was closed")]
    Closed,
}

impl From<io::Error> for StationError {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

impl From<LockError> for StationError {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Held { holder } => Self::Busy { holder },
            LockError::FileSystem { folder, kind } => Self::FileSystem { folder, kind },
            LockError::Io(error) => Self::Io(error),
        }
    }
}

impl From<super::fjall::OpenError> for StationError {
    fn from(error: super::fjall::OpenError) -> Self {
        use super::fjall::OpenError as E;
        match error {
            E::Io(error) => error.into(),
            E::Locked => Self::Busy { holder: None },
            E::Integrity(fault) => Self::Integrity(fault),
            E::NewerFormat { found, ours } => Self::NewerFormat { found, ours },
            E::Store(_) | E::Create(_) => Self::Store(Arc::new(error)),
        }
    }
}

impl From<StationError> for AppendError {
    fn from(error: StationError) -> Self {
        match error {
            StationError::Busy { holder } => Self::Busy { holder },
            StationError::Integrity(fault) => Self::Integrity(fault),
            StationError::NewerFormat { found, ours } => Self::NewerFormat {
                needed: found,
                ours,
            },
            StationError::Io(error) => Self::Io(error),
            StationError::Closed => Self::HostLost,
            StationError::Mismatch(_)
            | StationError::FileSystem { .. }
            | StationError::Store(_) => Self::Store(Arc::new(error)),
        }
    }
}

impl From<StationError> for ReadError {
    fn from(error: StationError) -> Self {
        match error {
            StationError::Busy { .. } => Self::Busy,
            StationError::Integrity(fault) => Self::Integrity(fault),
            StationError::Io(error) => Self::Io(error),
            StationError::Closed => Self::HostLost,
            StationError::NewerFormat { .. }
            | StationError::Mismatch(_)
            | StationError::FileSystem { .. }
            | StationError::Store(_) => Self::Store(Arc::new(error)),
        }
    }
}

/// Why there is no answer from beside the log.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CompanionError {
    /// It answered that it cannot answer.
    #[error("{0}")]
    Refused(String),
    /// There is nobody to ask.
    #[error("nobody can answer for the log")]
    Station(#[source] StationError),
    /// One host after the other went away.
    #[error("the processes that host the log go away one after the other")]
    HostLost,
}

/// The log of this machine. Dropping a station closes it, and blocks until that is done.
pub struct Station<H: Hosting> {
    shared: Arc<Shared<H>>,
    head: watch::Sender<Head>,
    stop: watch::Sender<bool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<H: Hosting> fmt::Debug for Station<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = self.shared.post.role_name();
        f.debug_struct("Station")
            .field("role", &role)
            .finish_non_exhaustive()
    }
}

impl<H: Hosting> Station<H> {
    /// Finds the log's host or becomes it.
    ///
    /// # Errors
    /// [`StationError::Busy`] if for ten seconds nobody answers and the lock stays held; longer only while the
    /// host says that it is opening the log. Whatever [`Hosting::open`] returns.
    pub async fn open(hosting: H, place: Place) -> Result<Self, StationError> {
        let shared = Arc::new(Shared::new(hosting, place));
        let (first, opened) = oneshot::channel();
        let (stop, hears_stop) = watch::channel(false);
        let life = life::run(Arc::clone(&shared), first, hears_stop);
        let thread = std::thread::Builder::new()
            .name("missive-host".to_owned())
            .spawn(life)?;
        let thread = Mutex::new(Some(thread));
        let head = opened.await.unwrap_or(Err(StationError::Closed))?;
        Ok(Self {
            shared,
            head,
            stop,
            thread,
        })
    }

    /// What it was opened with.
    pub fn hosting(&self) -> &H {
        &self.shared.hosting
    }

    /// Whether this process hosts the log at the moment.
    pub fn is_host(&self) -> bool {
        self.shared.post.local().is_some()
    }

    /// The log, while this process hosts it. Nothing that outlives the station may keep it.
    pub fn local_log(&self) -> Option<Arc<H::Log>> {
        self.shared
            .post
            .local()
            .map(|hosted| Arc::clone(&hosted.log))
    }

    /// What is served beside the log, while this process hosts it. Nothing that outlives the station may keep it.
    pub fn local_companion(&self) -> Option<Arc<H::Companion>> {
        self.shared
            .post
            .local()
            .map(|hosted| Arc::clone(&hosted.companion))
    }

    /// What is served beside the log of another process said when it let this one in; `None` if this process
    /// hosts the log, or if nothing was said.
    pub fn greeting(&self) -> Option<Vec<u8>> {
        let attached = self.shared.post.attached()?;
        let greeting = attached.greeting();
        (!greeting.is_empty()).then(|| greeting.to_vec())
    }

    /// Asks what is served beside the log, as of at least the place `least`; blocks until it answers. It may
    /// be called inside of a runtime, whose thread it holds up for so long.
    pub fn companion(&self, least: Seq, request: &[u8]) -> Result<Vec<u8>, CompanionError> {
        let mut lost = None;
        for _ in 0..HOSTS_LOST_MAX {
            let (number, live) = self
                .shared
                .post
                .settled_blocking(lost)
                .map_err(CompanionError::Station)?;
            let attached = match live {
                Live::Local(hosted) => {
                    let answer = hosted.companion.answer(least, request);
                    return answer.map_err(CompanionError::Refused);
                }
                Live::Attached(attached) => attached,
            };
            match attached.call_companion(least, request) {
                Ok(answer) => return Ok(answer),
                Err(CallError::Refused(why)) => return Err(CompanionError::Refused(why)),
                Err(CallError::HostLost) => {
                    attached.hang_up();
                    lost = Some(number);
                }
            }
        }
        Err(CompanionError::HostLost)
    }

    /// Closes the station: appends of others are finished, the log is closed, the lock is given back. Calls that
    /// come later fail.
    pub async fn close(&self) {
        self.stop.send_replace(true);
        self.shared.post.closed().await;
        self.join();
    }

    fn join(&self) {
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that serves the log ended unexpectedly");
        }
    }

    /// Makes a call to whoever hosts the log, again and again until it does not lose its host.
    async fn call<T, E: From<StationError>, F>(
        &self,
        is_lost: fn(&E) -> bool,
        call: impl Fn(Live<H>) -> F + Send + Sync,
    ) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>> + Send,
    {
        let mut lost = None;
        for _ in 0..HOSTS_LOST_MAX {
            let (number, live) = self.shared.post.settled(lost).await?;
            let done = call(live.clone()).await;
            match (live, done) {
                (Live::Attached(attached), Err(error)) if is_lost(&error) => {
                    // It may be the host that lost its log and not we who lost the host. In either case the
                    // next election must be a new one.
                    attached.hang_up();
                    lost = Some(number);
                }
                // A log of our own that is gone does not come back.
                (_, done) => return done,
            }
        }
        Err(StationError::Busy { holder: None }.into())
    }
}

fn append_is_lost(error: &AppendError) -> bool {
    matches!(error, AppendError::HostLost)
}

fn read_is_lost(error: &ReadError) -> bool {
    matches!(error, ReadError::HostLost)
}

impl<H: Hosting> Log for Station<H> {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        batch.check_bounds()?;
        let append = |live: Live<H>| {
            let batch = batch.clone();
            async move {
                let (appended, head) = match &live {
                    Live::Local(hosted) => (hosted.log.append(batch).await?, hosted.log.head()),
                    Live::Attached(host) => (host.append(batch).await?, host.head()),
                };
                // Who appends and then looks must see what was appended.
                advance(&self.head, *head.borrow());
                Ok(appended)
            }
        };
        self.call(append_is_lost, append).await
    }

    async fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, ReadError> {
        let read = |live: Live<H>| async move {
            match &live {
                Live::Local(hosted) => hosted.log.read(after, limit).await,
                Live::Attached(host) => host.read(after, limit).await,
            }
        };
        self.call(read_is_lost, read).await
    }

    async fn pick(&self, places: &[Seq]) -> Result<Vec<Record>, ReadError> {
        let pick = |live: Live<H>| async move {
            match &live {
                Live::Local(hosted) => hosted.log.pick(places).await,
                Live::Attached(host) => host.pick(places).await,
            }
        };
        self.call(read_is_lost, pick).await
    }

    fn head(&self) -> watch::Receiver<Head> {
        self.head.subscribe()
    }

    async fn payload(&self, of: PayloadRef) -> Result<Opened, ReadError> {
        let payload = |live: Live<H>| async move {
            match &live {
                Live::Local(hosted) => hosted.log.payload(of).await,
                Live::Attached(host) => host.payload(of).await,
            }
        };
        self.call(read_is_lost, payload).await
    }

    async fn payload_rows(
        &self,
        after: (Seq, u16),
        through: Seq,
    ) -> Result<Vec<StoredPayload>, ReadError> {
        let rows = |live: Live<H>| async move {
            match &live {
                Live::Local(hosted) => hosted.log.payload_rows(after, through).await,
                Live::Attached(host) => host.payload_rows(after, through).await,
            }
        };
        self.call(read_is_lost, rows).await
    }
}

impl<H: Hosting> Drop for Station<H> {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        self.join();
    }
}

#[cfg(test)]
mod tests;
