//! Serves a log, and what goes with it, to the other processes of the same user.
//!
//! Everything here runs on the thread of [`super::station`], which does nothing else: neither the work of the
//! command nor a slow reader of its output can hold it up. Every peer is bounded: in the connections that it
//! may have, in the questions that it may have open, in the memory that its frames take, and in the time for
//! which it may leave a frame half read or half written. A frame that makes no sense ends its own connection.

mod answer;
mod connection;
mod place;

pub(crate) use connection::QUESTIONS_MAX;
pub use place::Place;
pub(crate) use place::own_uid;

use super::companion::Companion;
use crate::contract::Log;
use connection::Limits;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The most connections at the same time; a further one is closed at once, and tries again.
const CONNECTIONS_MAX: usize = 256;
/// How long connections may take to finish what they are at when the host ends.
const FAREWELL: Duration = Duration::from_secs(15);

/// What is served once it is open.
pub(crate) struct Served<L, C> {
    pub(crate) log: Arc<L>,
    pub(crate) companion: Arc<C>,
}

impl<L, C> Clone for Served<L, C> {
    fn clone(&self) -> Self {
        Self {
            log: Arc::clone(&self.log),
            companion: Arc::clone(&self.companion),
        }
    }
}

/// Listens at this path. Only who holds the log's lock may call this: a socket that is there already is a
/// stale one, and removed.
pub(crate) fn listen(path: &Path) -> io::Result<UnixListener> {
    remove(path)?;
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Removes the socket, under the lock.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Serves until `stop` is set or its sender gone: accepts no more then, finishes what was asked, and lets
/// the peers see the end.
pub(crate) async fn serve<L: Log, C: Companion>(
    listener: UnixListener,
    opened: watch::Receiver<Option<Served<L, C>>>,
    mut stop: watch::Receiver<bool>,
) {
    let limits = Arc::new(Limits::default());
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stopped(&mut stop) => break,
            accepted = listener.accept() => accepted,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) if connections.len() < CONNECTIONS_MAX && is_ours(&stream) => {
                let limits = Arc::clone(&limits);
                connections.spawn(connection::serve(
                    stream,
                    opened.clone(),
                    stop.clone(),
                    limits,
                ));
            }
            Ok(_) => tracing::debug!("a connection was refused"),
            Err(error) => {
                // Out of descriptors, mostly: the ones that are open will be closed in time.
                tracing::warn!(%error, "no connection can be accepted");
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    drop(opened);
    let finish = async { while connections.join_next().await.is_some() {} };
    if timeout(FAREWELL, finish).await.is_err() {
        connections.shutdown().await;
    }
}

/// Whether the other end belongs to the user for whom this process acts.
pub(crate) fn is_ours(stream: &tokio::net::UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own_uid())
}

/// Waits until it is set, or until nobody is left who could set it.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error says that the sender is gone, which is the same.
    drop(stop.wait_for(|stop| *stop).await);
}
