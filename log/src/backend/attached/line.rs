//! One connection to a host: questions out, answers and heads in, and its end.

use super::SILENT_TICKS_MAX;
use crate::backend::frame::message::{Request, Response, ToAttached, ToHost};
use crate::backend::frame::{self, FRAME_BYTES_MAX, FrameError, encode};
use crate::backend::host::QUESTIONS_MAX;
use crate::contract::Head;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::{Instant, interval_at};

/// How often an asked host must say something; if it does not, it is asked whether it is there.
const TICK: Duration = Duration::from_secs(5);
/// The number of that question, whose answer nobody waits for.
const PING: u64 = 0;

/// Why a question has no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// The connection ended; whether the host took the question in is not known.
    Lost,
    /// The question is longer than a frame, so it was not asked.
    TooLong,
}

/// Takes the answer, or `None` if there will be none.
type Waiter = Box<dyn FnOnce(Option<Response>) + Send>;

/// What both tasks of a connection and all askers share.
pub(super) struct Line {
    head: watch::Sender<Head>,
    lost: watch::Sender<bool>,
    next: AtomicU64,
    /// Grows with every message of the host.
    heard: AtomicU64,
    waiting: Mutex<Waiting>,
    turns: Semaphore,
}

struct Waiting {
    open: bool,
    by_id: BTreeMap<u64, Waiter>,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

impl Line {
    pub(super) fn new(head: Head) -> Self {
        Self {
            head: watch::Sender::new(head),
            lost: watch::Sender::new(false),
            next: AtomicU64::new(PING + 1),
            heard: AtomicU64::new(0),
            waiting: Mutex::new(Waiting {
                open: true,
                by_id: BTreeMap::new(),
            }),
            turns: Semaphore::new(QUESTIONS_MAX),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn head(&self) -> watch::Receiver<Head> {
        self.head.subscribe()
    }

    /// Moves the head forward; `false` if it belongs to another log.
    pub(super) fn advance(&self, head: Head) -> bool {
        self.head.send_if_modified(|known| {
            let newer = head.log == known.log && head.seq > known.seq;
            if newer {
                *known = head;
            }
            newer
        });
        self.head.borrow().log == head.log
    }

    /// Waits until the connection has ended.
    pub(super) async fn ended(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        let mut lost = self.lost.subscribe();
        drop(lost.wait_for(|lost| *lost).await);
    }

    /// Ends the connection: every open question gets no answer.
    pub(super) fn lose(&self) {
        let waiting = {
            let mut waiting = self.waiting();
            waiting.open = false;
            std::mem::take(&mut waiting.by_id)
        };
        self.lost.send_replace(true);
        for waiter in waiting.into_values() {
            waiter(None);
        }
    }

    pub(super) async fn ask(
        &self,
        outgoing: &mpsc::UnboundedSender<Vec<u8>>,
        request: Request,
    ) -> Result<Response, NoAnswer> {
        let _turn = self.turns.acquire().await.map_err(|_| NoAnswer::Lost)?;
        let (answer, answered) = oneshot::channel();
        let waiter = Box::new(|response| drop(answer.send(response)));
        self.send(outgoing, request, waiter)?;
        answered.await.ok().flatten().ok_or(NoAnswer::Lost)
    }

    /// The same for synchronous callers, who may even be inside of a runtime.
    pub(super) fn ask_blocking(
        &self,
        outgoing: &mpsc::UnboundedSender<Vec<u8>>,
        request: Request,
        patience: Duration,
    ) -> Result<Response, NoAnswer> {
        let (answer, answered) = std::sync::mpsc::sync_channel(1);
        let waiter = Box::new(move |response| drop(answer.send(response)));
        self.send(outgoing, request, waiter)?;
        answered
            .recv_timeout(patience)
            .ok()
            .flatten()
            .ok_or(NoAnswer::Lost)
    }

    fn send(
        &self,
        outgoing: &mpsc::UnboundedSender<Vec<u8>>,
        request: Request,
        waiter: Waiter,
    ) -> Result<(), NoAnswer> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let frame = encode(&ToHost::Ask { id, request }).map_err(|_| NoAnswer::TooLong)?;
        let mut waiting = self.waiting();
        if !waiting.open || outgoing.send(frame).is_err() {
            return Err(NoAnswer::Lost);
        }
        waiting.by_id.insert(id, waiter);
        Ok(())
    }

    fn answer(&self, id: u64, response: Response) {
        let waiter = self.waiting().by_id.remove(&id);
        if let Some(waiter) = waiter {
            waiter(Some(response));
        }
    }
}

/// Ends the connection for everybody, however the task that holds it ends.
struct Ending(Arc<Line>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.lose();
    }
}

/// Starts both tasks of a connection.
pub(super) fn run(
    line: &Arc<Line>,
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    queue: mpsc::UnboundedReceiver<Vec<u8>>,
) {
    let (hearing, speaking) = (Ending(Arc::clone(line)), Ending(Arc::clone(line)));
    tokio::spawn(async move { report(hear(&hearing.0, reader).await) });
    tokio::spawn(async move { report(speak(&speaking.0, writer, queue).await) });
}

fn report(ended: Result<(), FrameError>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "the connection to the host ended");
    }
}

async fn hear(line: &Line, mut reader: BufReader<OwnedReadHalf>) -> Result<(), FrameError> {
    loop {
        let message = tokio::select! {
            biased;
            () = line.ended() => return Ok(()),
            message = frame::read(&mut reader, FRAME_BYTES_MAX) => message?,
        };
        line.heard.fetch_add(1, Ordering::Relaxed);
        match message {
            Some(ToAttached::Answer { id, response }) => line.answer(id, response),
            Some(ToAttached::Head(head)) if line.advance(head.into()) => {}
            None => return Ok(()),
            Some(ToAttached::Head(_) | ToAttached::Opening | ToAttached::Welcome { .. }) => {
                return Err(FrameError::Malformed);
            }
        }
    }
}

async fn speak(
    line: &Line,
    mut writer: OwnedWriteHalf,
    mut queue: mpsc::UnboundedReceiver<Vec<u8>>,
) -> Result<(), FrameError> {
    let mut clock = interval_at(Instant::now() + TICK, TICK);
    let (mut heard_before, mut silent) = (0, 0);
    loop {
        tokio::select! {
            biased;
            () = line.ended() => return Ok(()),
            frame = queue.recv() => match frame {
                Some(frame) => frame::write(&mut writer, &frame).await?,
                // Nobody is left who could ask.
                None => return Ok(()),
            },
            _ = clock.tick() => {
                let heard = line.heard.load(Ordering::Relaxed);
                let asked = !line.waiting().by_id.is_empty();
                silent = if asked && heard == heard_before { silent + 1 } else { 0 };
                heard_before = heard;
                if silent >= SILENT_TICKS_MAX {
                    return Err(FrameError::Slow);
                }
                if asked {
                    let ping = ToHost::Ask { id: PING, request: Request::Head };
                    frame::write(&mut writer, &encode(&ping)?).await?;
                }
            }
        }
    }
}
