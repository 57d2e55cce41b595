//! One peer of the host: greeting, questions in, answers and heads out.

use super::answer::answer;
use super::{Served, stopped};
use crate::backend::companion::Companion;
use crate::backend::frame::message::{Agreement, ToAttached, ToHost};
use crate::backend::frame::wire::Bytes;
use crate::backend::frame::{
    self, FRAME_BYTES_MAX, FrameError, HELLO_BYTES_MAX, PATIENCE, encode, preamble, read_preamble,
};
use crate::contract::{Head, Log};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

/// The most questions of one peer that are open at the same time.
pub(crate) const QUESTIONS_MAX: usize = 64;
/// The most answers that wait for one peer to read.
const ANSWERS_MAX: usize = 16;
/// Frames up to this size are not counted against the memory of all peers.
const SMALL_BYTES: usize = 64 << 10;
/// The longest greeting, which must fit into a welcome.
const GREETING_BYTES_MAX: usize = 1 << 10;
/// How often a peer is told that the log is still being opened.
const OPENING_EVERY: Duration = Duration::from_millis(500);

/// What all peers share.
pub(super) struct Limits {
    /// Memory for large questions, in KiB.
    incoming: Arc<Semaphore>,
    /// Memory for large answers, in KiB.
    outgoing: Arc<Semaphore>,
    /// How many payloads are read at a time, each of which may be as large as a frame.
    pub(super) payloads: Semaphore,
    /// How many threads work for peers beside the one that serves.
    pub(super) companions: Semaphore,
}

impl Default for Limits {
    fn default() -> Self {
        const BUDGET_KIB: usize = 2 * FRAME_BYTES_MAX / 1_024;
        Self {
            incoming: Arc::new(Semaphore::new(BUDGET_KIB)),
            outgoing: Arc::new(Semaphore::new(BUDGET_KIB)),
            payloads: Semaphore::new(4),
            companions: Semaphore::new(4),
        }
    }
}

/// Waits for memory; `None` for what is small.
async fn reserve(budget: &Arc<Semaphore>, bytes: usize) -> Option<OwnedSemaphorePermit> {
    if bytes <= SMALL_BYTES {
        return None;
    }
    // A frame is bounded, and the budget is never closed.
    let kib = u32::try_from(bytes / 1_024).unwrap_or(u32::MAX);
    Arc::clone(budget).acquire_many_owned(kib).await.ok()
}

/// A frame on its way out, with the memory that it takes.
struct Outgoing(Vec<u8>, Option<OwnedSemaphorePermit>);

/// Serves one peer until it goes, misbehaves, or the host stops.
pub(super) async fn serve<L: Log, C: Companion>(
    stream: UnixStream,
    opened: watch::Receiver<Option<Served<L, C>>>,
    mut stop: watch::Receiver<bool>,
    limits: Arc<Limits>,
) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let greeted = tokio::select! {
        biased;
        () = stopped(&mut stop) => return,
        greeted = greet(&mut reader, &mut writer, opened) => greeted,
    };
    let served = match greeted {
        Ok(Some(served)) => served,
        Ok(None) => return,
        Err(error) => return tracing::debug!(%error, "a peer did not get in"),
    };
    let (answers, queue) = mpsc::channel(ANSWERS_MAX);
    let mut writing = tokio::spawn(write_out(writer, queue, served.log.head()));
    let mut working = JoinSet::new();
    let listening = listen(&mut reader, &served, &limits, &answers, &mut working);
    let ended = tokio::select! {
        biased;
        () = stopped(&mut stop) => Ok(()),
        () = answers.closed() => Ok(()),
        ended = listening => ended,
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection was closed");
    }
    // What was asked is finished even if nobody is left to hear of it.
    while working.join_next().await.is_some() {}
    drop(answers);
    if timeout(PATIENCE, &mut writing).await.is_err() {
        writing.abort();
    }
}

/// Says and hears who is there; `None` if the two must not work together.
async fn greet<L: Log, C: Companion>(
    reader: &mut BufReader<OwnedReadHalf>,
    writer: &mut OwnedWriteHalf,
    mut opened: watch::Receiver<Option<Served<L, C>>>,
) -> Result<Option<Served<L, C>>, FrameError> {
    frame::write(writer, &preamble()).await?;
    let hello = async {
        read_preamble(reader).await?;
        frame::read(reader, HELLO_BYTES_MAX).await
    };
    let hello = timeout(PATIENCE, hello)
        .await
        .map_err(|_| FrameError::Slow)??;
    let Some(ToHost::Hello { agreement, log, .. }) = hello else {
        return Err(FrameError::Malformed);
    };
    let mut patience = interval(OPENING_EVERY);
    let served = loop {
        // Copied, since a guard must not be held while waiting.
        let known = opened.borrow_and_update().clone();
        if let Some(served) = known {
            break served;
        }
        tokio::select! {
            biased;
            changed = opened.changed() => {
                if changed.is_err() {
                    // The log could not be opened: the peer sees the end and finds out for itself.
                    return Ok(None);
                }
            }
            _ = patience.tick() => frame::write(writer, &encode(&ToAttached::Opening)?).await?,
        }
    };
    let head = *served.log.head().borrow();
    let ours = Agreement::of_this_build(served.companion.fingerprint());
    let agrees = ours.differs(&agreement).is_none() && log.is_none_or(|log| log == head.log);
    // A long one is no greeting; the peer asks for what it lacks.
    let greeting = served.companion.greeting();
    let greeting = if greeting.len() <= GREETING_BYTES_MAX {
        greeting
    } else {
        Vec::new()
    };
    let welcome = ToAttached::Welcome {
        agreement: ours,
        head: head.into(),
        pid: std::process::id(),
        greeting: Bytes(greeting),
    };
    frame::write(writer, &encode(&welcome)?).await?;
    Ok(agrees.then_some(served))
}

/// Takes questions until the peer ends. Each is answered by a task of its own, so that the appends of all
/// peers wait for the same sync.
async fn listen<L: Log, C: Companion>(
    reader: &mut BufReader<OwnedReadHalf>,
    served: &Served<L, C>,
    limits: &Arc<Limits>,
    answers: &mpsc::Sender<Outgoing>,
    working: &mut JoinSet<()>,
) -> Result<(), FrameError> {
    let open = Arc::new(Semaphore::new(QUESTIONS_MAX));
    loop {
        // Never closed, so this only waits.
        let turn = Arc::clone(&open).acquire_owned().await;
        while working.try_join_next().is_some() {}
        let Some(length) = frame::read_length(reader, FRAME_BYTES_MAX).await? else {
            return Ok(());
        };
        let memory = reserve(&limits.incoming, length).await;
        let body = frame::read_body(reader, length).await?;
        let ToHost::Ask { id, request } = frame::decode(&body)? else {
            return Err(FrameError::Malformed);
        };
        drop(body);
        let work = answer(served.clone(), Arc::clone(limits), request)?;
        let (limits, answers) = (Arc::clone(limits), answers.clone());
        working.spawn(async move {
            let response = work.await;
            drop(memory);
            let Ok(frame) = encode(&ToAttached::Answer { id, response }) else {
                return tracing::warn!("an answer is longer than a frame");
            };
            let memory = reserve(&limits.outgoing, frame.len()).await;
            // An error says that the peer is gone.
            drop(answers.send(Outgoing(frame, memory)).await);
            drop(turn);
        });
    }
}

/// Writes answers, and every new head that there is time for.
async fn write_out(
    mut writer: OwnedWriteHalf,
    mut queue: mpsc::Receiver<Outgoing>,
    mut head: watch::Receiver<Head>,
) {
    head.mark_changed();
    loop {
        let (frame, _memory) = tokio::select! {
            biased;
            outgoing = queue.recv() => match outgoing {
                Some(Outgoing(frame, memory)) => (frame, memory),
                None => return,
            },
            Ok(()) = head.changed() => {
                let newest = *head.borrow_and_update();
                match encode(&ToAttached::Head(newest.into())) {
                    Ok(frame) => (frame, None),
                    Err(_) => return,
                }
            }
        };
        if let Err(error) = frame::write(&mut writer, &frame).await {
            return tracing::debug!(%error, "a peer does not read");
        }
    }
}
