//! SIGINT and SIGTERM: the first one asks, the second one ends.
//!
//! What runs on the other side goes on when missive is interrupted; commands that started something
//! await [`Interrupt::came`] and say how to follow or cancel it.

use missive_commands::Exit;
use std::io;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// A place where an interruption can be awaited; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt(watch::Receiver<Option<Exit>>);

impl Interrupt {
    /// Listens from now on, on a thread of its own, so that busy work cannot delay it.
    pub(crate) fn listen() -> io::Result<Self> {
        let (tell, told) = watch::channel(None);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let (mut interrupts, mut terminations) = {
            let _inside = runtime.enter();
            (
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
            )
        };
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    loop {
                        let code = tokio::select! {
                            Some(()) = interrupts.recv() => Exit::Interrupted,
                            Some(()) = terminations.recv() => Exit::Terminated,
                            else => return,
                        };
                        if tell.borrow().is_some() {
                            end_now(code);
                        }
                        tell.send_replace(Some(code));
                    }
                });
            })?;
        Ok(Self(told))
    }

    /// Waits for the first signal and says how the process should end.
    pub(crate) async fn came(&mut self) -> Exit {
        loop {
            if let Some(code) = *self.0.borrow_and_update() {
                return code;
            }
            if self.0.changed().await.is_err() {
                // The thread is gone, so no signal will ever be told.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Whether a signal came already.
    pub(crate) fn has_come(&self) -> Option<Exit> {
        *self.0.borrow()
    }
}

#[expect(
    clippy::exit,
    reason = "the user asked twice; nothing may hold the process up any more"
)]
fn end_now(code: Exit) -> ! {
    std::process::exit(i32::from(code.number()))
}

#[cfg(test)]
mod tests {
    use super::Interrupt;
    use missive_commands::Exit;

    #[tokio::test]
    async fn a_termination_is_told_to_everyone_who_waits() {
        let interrupt = Interrupt::listen().unwrap();
        let (mut one, mut other) = (interrupt.clone(), interrupt.clone());
        assert_eq!(interrupt.has_come(), None);

        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM)
            .unwrap();

        assert_eq!(one.came().await, Exit::Terminated);
        assert_eq!(other.came().await, Exit::Terminated);
        assert_eq!(interrupt.has_come(), Some(Exit::Terminated));
    }
}
