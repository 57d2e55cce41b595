//! Following a log: where records come from, and a thread that keeps the views close behind.

use crate::host::ViewsHost;
use crate::views::Source;
use missive_log::event::Seq;
use missive_log::{Head, Log};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{JoinHandle, Thread};
use tokio::sync::watch;

/// Records straight from a log of this process, whose reads never wait for anybody else.
pub fn source_of<L: Log>(log: Arc<L>) -> Source {
    Box::new(move |after, limit| block_on(log.read(after, limit)))
}

/// Runs a future on this thread, which sleeps in between.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A thread that folds behind the log, so that readers need not wait. Ends when it is dropped.
#[derive(Debug)]
pub struct Follower {
    stop: Option<watch::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ViewsHost {
    /// Folds whatever is appended from now on, as it comes. For a host that stays; a command that ends
    /// soon is quicker without. A fault ends the following; the next reader meets it itself.
    pub fn follow(
        self: &Arc<Self>,
        head: watch::Receiver<Head>,
    ) -> Result<Follower, std::io::Error> {
        let host = Arc::clone(self);
        let (stop, stopped) = watch::channel(());
        let thread = std::thread::Builder::new()
            .name("views".to_owned())
            .spawn(move || block_on(run(&host, head, stopped)))?;
        Ok(Follower {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

async fn run(host: &ViewsHost, mut head: watch::Receiver<Head>, mut stopped: watch::Receiver<()>) {
    loop {
        let newest = head.borrow_and_update().seq;
        while host.position() < newest {
            // One chunk at a time, or a stop in the middle of a bulk import would wait for its end.
            let step = Seq(host.position().0 + 1);
            if let Err(error) = host.ensure(step) {
                tracing::warn!(%error, "the views no longer follow the log");
                return;
            }
            if stopped.has_changed().is_err() {
                return;
            }
        }
        tokio::select! {
            changed = head.changed() => if changed.is_err() { return },
            _ = stopped.changed() => return,
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that folds the views has panicked");
        }
    }
}
