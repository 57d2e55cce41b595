//! The one thread of a station: it elects, hosts or stays attached, and ends.

use super::elect::{Elected, PATIENCE, elect};
use super::role::{Hosted, Live, Post, Role};
use super::{Hosting, StationError};
use crate::backend::attached::Attached;
use crate::backend::frame::message::Agreement;
use crate::backend::host::{self, Place, Served, stopped};
use crate::backend::lock::LockGuard;
use crate::contract::{Head, IntegrityFault, Log};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// How many looks, a millisecond apart, closing waits for the calls of this process to end.
const LOOKS_MAX: u32 = 10_000;
/// How long to leave a host alone that did not answer, if nobody asks for it.
const BETWEEN_ELECTIONS: Duration = Duration::from_secs(1);
/// How long the end of the thread may wait for work of peers that does not end.
const WORK_MAX: Duration = Duration::from_secs(1);

/// What the thread and the callers share.
pub(super) struct Shared<H: Hosting> {
    pub(super) hosting: H,
    pub(super) post: Post<H>,
    place: Place,
}

impl<H: Hosting> Shared<H> {
    pub(super) fn new(hosting: H, place: Place) -> Self {
        Self {
            hosting,
            post: Post::new(),
            place,
        }
    }
}

/// Tells the callers that there is nobody any more, however the thread ends.
struct Ending<H: Hosting>(Arc<Shared<H>>);

impl<H: Hosting> Drop for Ending<H> {
    fn drop(&mut self) {
        self.0.post.put(Role::Closed);
    }
}

type First = oneshot::Sender<Result<watch::Sender<Head>, StationError>>;

/// The whole life of the thread.
pub(super) fn run<H: Hosting>(
    shared: Arc<Shared<H>>,
    first: First,
    stop: watch::Receiver<bool>,
) -> impl FnOnce() + Send + 'static {
    move || {
        let ending = Ending(shared);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(8)
            .build();
        match runtime {
            Ok(runtime) => {
                let life = Life {
                    shared: Arc::clone(&ending.0),
                    first: Some(first),
                    head: None,
                    stop,
                };
                runtime.block_on(life.live());
                runtime.shutdown_timeout(WORK_MAX);
            }
            // The receiver is gone only if nobody wants to know.
            Err(error) => drop(first.send(Err(error.into()))),
        }
    }
}

struct Life<H: Hosting> {
    shared: Arc<Shared<H>>,
    /// Who waits for the first election.
    first: Option<First>,
    /// The head that the station shows; there once a first election succeeded.
    head: Option<watch::Sender<Head>>,
    stop: watch::Receiver<bool>,
}

impl<H: Hosting> Life<H> {
    async fn live(mut self) {
        loop {
            let ours = Agreement::of_this_build(self.shared.hosting.fingerprint());
            let log = self.head.as_ref().map(|head| head.borrow().log);
            let elected = tokio::select! {
                biased;
                () = stopped(&mut self.stop) => return,
                elected = elect(&self.shared.place, &ours, log, PATIENCE) => elected,
            };
            let lived = match elected {
                Ok(Elected::Attached(attached)) => self.stay_attached(attached).await,
                Ok(Elected::Won(guard)) => self.host(Arc::new(guard)).await,
                Err(error) => Err(error),
            };
            match lived {
                Ok(Next::Elect) => self.shared.post.put(Role::Electing),
                Ok(Next::End) => return,
                Err(error) => {
                    if let Some(first) = self.first.take() {
                        return drop(first.send(Err(error)));
                    }
                    // A host that does not answer now may answer later; nothing else changes by itself.
                    let again = matches!(error, StationError::Busy { .. });
                    self.shared.post.put(Role::Failed(error));
                    tokio::select! {
                        biased;
                        () = stopped(&mut self.stop) => return,
                        () = self.shared.post.wanted.notified() => {}
                        () = sleep(BETWEEN_ELECTIONS), if again => {}
                    }
                    self.shared.post.put(Role::Electing);
                }
            }
        }
    }

    /// Takes over the head of whoever hosts the log now. It must go on from the one that was seen last.
    fn take_over(&mut self, found: Head) -> Result<watch::Sender<Head>, StationError> {
        let Some(head) = &self.head else {
            let head = watch::Sender::new(found);
            self.head = Some(head.clone());
            return Ok(head);
        };
        check_continues(*head.borrow(), found).map_err(|fault| {
            tracing::error!(%fault, "the log is not the one that it was");
            StationError::Integrity(fault)
        })?;
        advance(head, found);
        Ok(head.clone())
    }

    fn begin(&mut self, live: Live<H>, head: &watch::Sender<Head>) {
        self.shared.post.put(Role::Live(live));
        if let Some(first) = self.first.take() {
            // If nobody waits any more, the other end of `stop` is gone too.
            drop(first.send(Ok(head.clone())));
        }
    }

    async fn stay_attached(&mut self, attached: Attached) -> Result<Next, StationError> {
        let mut heads = attached.head();
        let found = *heads.borrow_and_update();
        let head = self.take_over(found)?;
        let attached = Arc::new(attached);
        self.begin(Live::Attached(Arc::clone(&attached)), &head);
        tokio::select! {
            biased;
            () = stopped(&mut self.stop) => Ok(Next::End),
            () = attached.ended() => Ok(Next::Elect),
            () = forward(&head, heads) => Ok(Next::Elect),
        }
    }

    /// Hosts until the station ends. Whoever comes while the log is being opened is told so.
    async fn host(&mut self, guard: Arc<LockGuard>) -> Result<Next, StationError> {
        let listener = host::listen(self.shared.place.socket())?;
        let (opened, hears_opened) = watch::channel(None);
        let (halt, hears_halt) = watch::channel(false);
        let serving = tokio::spawn(host::serve(listener, hears_opened, hears_halt));
        let (shared, held) = (Arc::clone(&self.shared), Arc::clone(&guard));
        let opening = spawn_blocking(move || shared.hosting.open(held)).await;
        let (hosted, lived) = match opening {
            Ok(Ok((log, companion))) => {
                let hosted = Arc::new(Hosted { log, companion });
                let lived = self.serve(&hosted, &opened).await;
                (Some(hosted), lived)
            }
            Ok(Err(error)) => (None, Err(error)),
            Err(panicked) => (None, Err(StationError::Store(Arc::new(panicked)))),
        };
        halt.send_replace(true);
        drop(opened);
        if serving.await.is_err() {
            tracing::error!("the host ended unexpectedly");
        }
        // If the lock is no longer ours, then the socket may not be ours either.
        if guard.still_held()
            && let Err(error) = host::remove(self.shared.place.socket())
        {
            tracing::warn!(%error, "the socket of the log could not be removed");
        }
        if let Some(hosted) = hosted {
            self.close(hosted).await;
        }
        drop(guard);
        lived
    }

    /// Lets everybody in, until the station ends.
    async fn serve(
        &mut self,
        hosted: &Arc<Hosted<H>>,
        opened: &watch::Sender<Option<Served<H::Log, H::Companion>>>,
    ) -> Result<Next, StationError> {
        let mut heads = hosted.log.head();
        let found = *heads.borrow_and_update();
        let head = self.take_over(found)?;
        opened.send_replace(Some(Served {
            log: Arc::clone(&hosted.log),
            companion: Arc::clone(&hosted.companion),
        }));
        self.begin(Live::Local(Arc::clone(hosted)), &head);
        let forwarding = async {
            forward(&head, heads).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = stopped(&mut self.stop) => {}
            () = forwarding => {}
        }
        self.shared.post.put(Role::Closing);
        Ok(Next::End)
    }

    /// Waits for the calls of this process that are under way, and closes what was opened.
    async fn close(&self, hosted: Arc<Hosted<H>>) {
        let mut looks = 0;
        while Arc::strong_count(&hosted) > 1 && looks < LOOKS_MAX {
            sleep(Duration::from_millis(1)).await;
            looks += 1;
        }
        let shared = Arc::clone(&self.shared);
        let close = move || {
            let (log, companion) = (Arc::clone(&hosted.log), Arc::clone(&hosted.companion));
            drop(hosted);
            shared.hosting.close(log, companion);
        };
        if spawn_blocking(close).await.is_err() {
            tracing::error!("the log was not closed properly");
        }
    }
}

/// What comes after a role.
enum Next {
    Elect,
    End,
}

/// Takes over every head that a log shows, until it shows no more.
async fn forward(to: &watch::Sender<Head>, mut from: watch::Receiver<Head>) {
    while from.changed().await.is_ok() {
        advance(to, *from.borrow_and_update());
    }
}

/// Moves a head forward, never back.
pub(super) fn advance(head: &watch::Sender<Head>, found: Head) {
    head.send_if_modified(|known| {
        let newer = found.seq > known.seq;
        if newer {
            *known = found;
        }
        newer
    });
}

/// Whether a log can be the one whose durable head was seen before.
fn check_continues(seen: Head, found: Head) -> Result<(), Arc<IntegrityFault>> {
    if found.log != seen.log {
        return Err(Arc::new(IntegrityFault::OtherLog {
            witnessed: seen,
            found: found.log,
        }));
    }
    if found.seq < seen.seq {
        return Err(Arc::new(IntegrityFault::Shorter {
            witnessed: seen,
            found,
        }));
    }
    if found.seq == seen.seq && found.link != seen.link {
        return Err(Arc::new(IntegrityFault::OtherLink {
            witnessed: seen,
            found: found.link,
            head: found,
        }));
    }
    Ok(())
}
