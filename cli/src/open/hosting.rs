//! What this process does when it is the one that hosts the log: opens it, keeps the views beside it in
//! step, and answers for both.
//!
//! The views are the third witness of the log's head: where they have seen an event that the log does not
//! have, that is noted as a fault before they are folded again. Views that cannot be kept on disk, because
//! it is full or cannot be written, are folded in memory for this run: reading goes on.

use missive_log::backend::companion::Companion;
use missive_log::backend::fjall::{Fence, FjallLog, LogFolder, OpenError};
use missive_log::backend::lock::LockGuard;
use missive_log::backend::station::Opening;
use missive_log::backend::{Hosting, StationError};
use missive_log::contract::IntegrityFault;
use missive_log::event::Seq;
use missive_log::{Head, Ids, Log as _, ReadError};
use missive_projections::{Source, ViewsError, ViewsFolder, ViewsHost, block_on, fingerprint};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// The word that must be the same in all processes on one log: the views', and the version of [`ask`].
fn word() -> String {
    format!("{} beside.1", fingerprint())
}

/// What an attached process may ask; the first byte of a request.
pub(super) mod ask {
    /// The rest is a question to the views.
    pub(crate) const VIEWS: u8 = 0;
    /// What does not verify, as JSON.
    pub(crate) const FAULT: u8 = 1;
    /// The rest is a fault that a verification found, as JSON.
    pub(crate) const DISTRUST: u8 = 2;
}

/// How to open the log of one profile.
#[derive(Debug)]
pub(crate) struct Host {
    pub(super) folder: LogFolder,
    pub(super) views: PathBuf,
    pub(super) ids: Arc<Ids>,
}

impl Hosting for Host {
    type Log = FjallLog;
    type Companion = Beside;

    fn fingerprint(&self) -> String {
        word()
    }

    fn open(&self, guard: Arc<LockGuard>) -> Result<Opening<Self>, StationError> {
        let fence = Box::new(move || guard.still_held());
        let (log, views) = self.open_both(fence);
        let log = Arc::new(log?);
        let head = *log.head().borrow();
        let views = views.and_then(|views| views.of_log(head, source(&log)));
        let kept = match views {
            Ok(views) => {
                // A fault that is known already says more, and is the one that a re-anchoring answers.
                if let (Some(seen), None) = (views.lost(), log.fault()) {
                    block_on(log.distrust(Arc::new(lost(&log, seen, head)?)));
                }
                Some(Arc::new(views))
            }
            Err(error) => {
                tracing::warn!(%error, "the views cannot be kept on disk");
                None
            }
        };
        let beside = Beside {
            log: Arc::clone(&log),
            kept,
            spare: OnceLock::new(),
        };
        Ok((log, Arc::new(beside)))
    }

    fn close(&self, log: Arc<FjallLog>, companion: Arc<Beside>) {
        if let Some(views) = &companion.kept {
            let newest = log.head().borrow().seq;
            if let Err(error) = views.ensure(newest).and_then(|()| views.close()) {
                tracing::warn!(%error, "the views do not stand at the end of the log");
            }
        }
        if let Err(error) = log.close() {
            tracing::warn!(%error, "the log was not closed cleanly; the next open checks it");
        }
    }
}

impl Host {
    /// Opens log and views, which takes about as long for one as for the other: side by side, unless the views
    /// would have to be made for a log that may not open.
    fn open_both(
        &self,
        fence: Fence,
    ) -> (Result<FjallLog, OpenError>, Result<ViewsFolder, ViewsError>) {
        let views = || ViewsFolder::open(&self.views);
        let log = || FjallLog::open(&self.folder, Arc::clone(&self.ids), fence);
        // Views in an empty folder would look as if they had been made from a log that is gone.
        if !holds_something(&self.views) {
            return (log(), views());
        }
        std::thread::scope(|scope| {
            let beside = scope.spawn(views);
            let log = log();
            let views = beside.join();
            (log, views.unwrap_or_else(|panic| resume_unwind(panic)))
        })
    }
}

fn holds_something(folder: &std::path::Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// What the views' testimony means for a log that stands at `head`.
fn lost(log: &FjallLog, seen: Head, head: Head) -> Result<IntegrityFault, StationError> {
    if seen.seq > head.seq {
        return Ok(IntegrityFault::Shorter {
            witnessed: seen,
            found: head,
        });
    }
    let before = Seq(seen.seq.0.saturating_sub(1));
    let there = log.read_now(before, 1).map_err(|error| match error {
        ReadError::Io(error) => StationError::Io(error),
        ReadError::Integrity(fault) => StationError::Integrity(fault),
        other @ (ReadError::Store(_) | ReadError::HostLost | ReadError::Busy) => {
            StationError::Store(Arc::new(other))
        }
    })?;
    Ok(IntegrityFault::OtherLink {
        witnessed: seen,
        found: there.first().map_or(head.link, |record| record.link),
        head,
    })
}

fn source(log: &Arc<FjallLog>) -> Source {
    let log = Arc::clone(log);
    Box::new(move |after, limit| log.read_now(after, limit))
}

/// What is served beside the log.
#[derive(Debug)]
pub(crate) struct Beside {
    log: Arc<FjallLog>,
    kept: Option<Arc<ViewsHost>>,
    spare: OnceLock<Arc<ViewsHost>>,
}

impl Beside {
    /// The views, as of at least a place.
    pub(super) fn views(&self, least: Seq) -> Result<Arc<ViewsHost>, ViewsError> {
        if let Some(kept) = &self.kept {
            match kept.ensure(least) {
                Ok(()) => return Ok(Arc::clone(kept)),
                Err(error @ (ViewsError::Store(_) | ViewsError::Io(_))) => {
                    tracing::warn!(%error, "the views cannot be kept on disk");
                }
                Err(other) => return Err(other),
            }
        }
        let spare = self.spare.get_or_init(|| {
            let id = self.log.head().borrow().log;
            Arc::new(ViewsHost::in_memory(id, source(&self.log)))
        });
        spare.ensure(least)?;
        Ok(Arc::clone(spare))
    }

    /// What does not verify, as JSON.
    fn fault(&self) -> Result<Vec<u8>, String> {
        let fault = self.log.fault();
        serde_json::to_vec(&fault.as_deref()).map_err(|error| error.to_string())
    }

    fn distrust(&self, fault: &[u8]) -> Result<Vec<u8>, String> {
        let fault = serde_json::from_slice(fault).map_err(|error| error.to_string())?;
        block_on(self.log.distrust(Arc::new(fault)));
        Ok(Vec::new())
    }
}

impl Companion for Beside {
    fn fingerprint(&self) -> String {
        word()
    }

    fn greeting(&self) -> Vec<u8> {
        // What cannot be said here is asked for.
        self.fault().unwrap_or_default()
    }

    fn answer_now(&self, least: Seq, request: &[u8]) -> Option<Result<Vec<u8>, String>> {
        match (request.split_first()?, &self.kept) {
            ((&ask::VIEWS, rest), Some(kept)) => kept.answer_now(least, rest),
            ((&ask::FAULT, _), _) => Some(self.fault()),
            _ => None,
        }
    }

    fn answer(&self, least: Seq, request: &[u8]) -> Result<Vec<u8>, String> {
        match request.split_first() {
            Some((&ask::VIEWS, rest)) => self
                .views(least)
                .map_err(|error| error.to_string())?
                .answer(least, rest),
            Some((&ask::FAULT, _)) => self.fault(),
            Some((&ask::DISTRUST, fault)) => self.distrust(fault),
            Some(_) | None => Err("nothing like that is served beside the log".to_owned()),
        }
    }
}
