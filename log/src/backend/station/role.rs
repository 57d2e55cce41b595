//! What a station is at the moment, for callers with and without a runtime.

use super::{Hosting, StationError};
use crate::backend::attached::Attached;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

/// A log that this process hosts. Calls hold it while they run, so that closing can wait for them.
pub(super) struct Hosted<H: Hosting> {
    pub(super) log: Arc<H::Log>,
    pub(super) companion: Arc<H::Companion>,
}

/// Whom a call can be made to.
pub(super) enum Live<H: Hosting> {
    Local(Arc<Hosted<H>>),
    Attached(Arc<Attached>),
}

impl<H: Hosting> Clone for Live<H> {
    fn clone(&self) -> Self {
        match self {
            Self::Local(hosted) => Self::Local(Arc::clone(hosted)),
            Self::Attached(attached) => Self::Attached(Arc::clone(attached)),
        }
    }
}

/// What a station is.
pub(super) enum Role<H: Hosting> {
    /// It looks for a host, or becomes one.
    Electing,
    /// It can be worked with.
    Live(Live<H>),
    /// The last election failed; the next call begins another one.
    Failed(StationError),
    /// It ends: what is under way is finished, and nothing is begun.
    Closing,
    /// It has ended.
    Closed,
}

/// Where the role is put up: numbered, so that a caller can wait for another one than that which failed it.
pub(super) struct Post<H: Hosting> {
    role: Mutex<(u64, Role<H>)>,
    changed: Condvar,
    ticks: watch::Sender<u64>,
    /// Somebody wants an election.
    pub(super) wanted: Notify,
}

/// What a waiting caller finds.
enum Found<H: Hosting> {
    Nothing,
    Live(u64, Live<H>),
    Over(StationError),
}

impl<H: Hosting> Post<H> {
    pub(super) fn new() -> Self {
        Self {
            role: Mutex::new((0, Role::Electing)),
            changed: Condvar::new(),
            ticks: watch::Sender::new(0),
            wanted: Notify::new(),
        }
    }

    fn role(&self) -> MutexGuard<'_, (u64, Role<H>)> {
        self.role.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts up another role.
    pub(super) fn put(&self, role: Role<H>) {
        let old = {
            let mut post = self.role();
            let next = post.0 + 1;
            std::mem::replace(&mut *post, (next, role))
        };
        self.ticks.send_modify(|ticks| *ticks += 1);
        self.changed.notify_all();
        // Last, and not under the lock: it may be the end of a connection.
        drop(old);
    }

    pub(super) fn local(&self) -> Option<Arc<Hosted<H>>> {
        match &self.role().1 {
            Role::Live(Live::Local(hosted)) => Some(Arc::clone(hosted)),
            Role::Live(Live::Attached(_))
            | Role::Electing
            | Role::Failed(_)
            | Role::Closing
            | Role::Closed => None,
        }
    }

    pub(super) fn attached(&self) -> Option<Arc<Attached>> {
        match &self.role().1 {
            Role::Live(Live::Attached(attached)) => Some(Arc::clone(attached)),
            Role::Live(Live::Local(_))
            | Role::Electing
            | Role::Failed(_)
            | Role::Closing
            | Role::Closed => None,
        }
    }

    pub(super) fn role_name(&self) -> &'static str {
        match &self.role().1 {
            Role::Electing => "electing",
            Role::Live(Live::Local(_)) => "host",
            Role::Live(Live::Attached(_)) => "attached",
            Role::Failed(_) => "failed",
            Role::Closing => "closing",
            Role::Closed => "closed",
        }
    }

    /// `patient` turns true as soon as an election is under way whose outcome the caller takes.
    fn look(&self, post: &(u64, Role<H>), lost: Option<u64>, patient: &mut bool) -> Found<H> {
        match &post.1 {
            Role::Live(live) if lost != Some(post.0) => Found::Live(post.0, live.clone()),
            // The host is lost and the station has not noticed yet.
            Role::Live(_) => Found::Nothing,
            Role::Electing => {
                *patient = true;
                Found::Nothing
            }
            Role::Failed(error) if *patient => Found::Over(error.clone()),
            Role::Failed(_) => {
                *patient = true;
                self.wanted.notify_one();
                Found::Nothing
            }
            Role::Closing | Role::Closed => Found::Over(StationError::Closed),
        }
    }

    /// Waits for somebody to work with, other than who had the number `lost`. Elections are bounded, so this is.
    pub(super) async fn settled(&self, lost: Option<u64>) -> Result<(u64, Live<H>), StationError> {
        let mut ticks = self.ticks.subscribe();
        let mut patient = false;
        loop {
            // Before looking, or a change between the two would go unnoticed.
            ticks.mark_unchanged();
            let found = self.look(&self.role(), lost, &mut patient);
            match found {
                Found::Live(number, live) => return Ok((number, live)),
                Found::Over(error) => return Err(error),
                Found::Nothing => ticks.changed().await.map_err(|_| StationError::Closed)?,
            }
        }
    }

    /// The same for callers who block their thread.
    pub(super) fn settled_blocking(
        &self,
        lost: Option<u64>,
    ) -> Result<(u64, Live<H>), StationError> {
        let mut patient = false;
        let mut post = self.role();
        loop {
            match self.look(&post, lost, &mut patient) {
                Found::Live(number, live) => return Ok((number, live)),
                Found::Over(error) => return Err(error),
                Found::Nothing => {
                    post = self
                        .changed
                        .wait(post)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Waits for the end.
    pub(super) async fn closed(&self) {
        let mut ticks = self.ticks.subscribe();
        loop {
            ticks.mark_unchanged();
            if matches!(self.role().1, Role::Closed) || ticks.changed().await.is_err() {
                return;
            }
        }
    }
}
