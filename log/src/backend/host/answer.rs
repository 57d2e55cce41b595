//! What the host answers to each question.

use super::Served;
use super::connection::Limits;
use crate::backend::companion::Companion;
use crate::backend::frame::FrameError;
use crate::backend::frame::message::{Request, Response};
use crate::backend::frame::wire::{Bytes, WireAppended, WireRecords};
use crate::contract::{BATCH_BYTES_MAX, Batch, Log, READ_RECORDS_MAX, ReadError, Record};
use crate::event::Seq;
use std::sync::Arc;

/// An answer ends with the piece that reaches this size; the rest is asked for again.
const ANSWER_BYTES: usize = 4 << 20;
/// How many records are read from the log at a time.
const PIECE_RECORDS: usize = 32;

/// The work that a question makes. An error means that it makes no sense.
pub(super) fn answer<L: Log, C: Companion>(
    served: Served<L, C>,
    limits: Arc<Limits>,
    request: Request,
) -> Result<impl Future<Output = Response> + Send, FrameError> {
    // Here and not in the task, because a batch that makes no sense ends the connection.
    let question = match request {
        Request::Append(batch) => Question::Append(batch.into_batch()?),
        Request::Read { after, limit } => Question::Read(Seq(after), limit),
        Request::Pick(places) => Question::Pick(places.into_iter().map(Seq).collect()),
        Request::Payload(of) => Question::Payload(of.into()),
        Request::PayloadRows { after, through } => {
            Question::PayloadRows((Seq(after.0), after.1), Seq(through))
        }
        Request::Companion { least, bytes } => Question::Companion(Seq(least), bytes.0),
        Request::Head => Question::Head,
    };
    Ok(async move {
        match question {
            Question::Append(batch) => append(&*served.log, batch).await,
            Question::Read(after, limit) => {
                let records = read(&*served.log, after, limit).await;
                Response::Records(records.map_err(Into::into))
            }
            Question::Pick(places) => {
                let records = pick(&*served.log, &places).await;
                Response::Records(records.map_err(Into::into))
            }
            Question::Payload(of) => {
                // Never closed, so this only waits.
                let _turn = limits.payloads.acquire().await;
                let opened = served.log.payload(of).await;
                Response::Payload(opened.map(Into::into).map_err(Into::into))
            }
            Question::PayloadRows(after, through) => {
                let _turn = limits.payloads.acquire().await;
                let rows = served.log.payload_rows(after, through).await;
                let rows = rows.map(|rows| rows.into_iter().map(Into::into).collect());
                Response::PayloadRows(rows.map_err(Into::into))
            }
            Question::Companion(least, bytes) => {
                let _turn = limits.companions.acquire().await;
                companion(served.companion, least, bytes).await
            }
            Question::Head => Response::Head((*served.log.head().borrow()).into()),
        }
    })
}

enum Question {
    Append(Batch),
    Read(Seq, u64),
    Pick(Vec<Seq>),
    Payload(crate::payload::PayloadRef),
    PayloadRows((Seq, u16), Seq),
    Companion(Seq, Vec<u8>),
    Head,
}

async fn append<L: Log>(log: &L, batch: Batch) -> Response {
    let appended = log.append(batch).await;
    let head = *log.head().borrow();
    Response::Append(match appended {
        Ok(appended) => Ok(WireAppended::of(appended, head)),
        Err(error) => Err(error.into()),
    })
}

async fn read<L: Log>(log: &L, after: Seq, limit: u64) -> Result<WireRecords, ReadError> {
    let limit = usize::try_from(limit).map_or(READ_RECORDS_MAX, |n| n.min(READ_RECORDS_MAX));
    let mut answer = Answer::default();
    let mut after = after;
    while answer.records.len() < limit && answer.bytes < ANSWER_BYTES {
        let piece = PIECE_RECORDS.min(limit - answer.records.len());
        let records = log.read(after, piece).await?;
        let Some(last) = records.last() else {
            return Ok(answer.leaving(0));
        };
        after = last.seq;
        answer.extend(records);
    }
    let left = limit - answer.records.len();
    Ok(answer.leaving(left))
}

async fn pick<L: Log>(log: &L, places: &[Seq]) -> Result<WireRecords, ReadError> {
    let mut answer = Answer::default();
    let asked = places.get(..READ_RECORDS_MAX).unwrap_or(places);
    let mut left = asked.len();
    for piece in asked.chunks(PIECE_RECORDS) {
        if answer.bytes >= ANSWER_BYTES {
            break;
        }
        answer.extend(log.pick(piece).await?);
        left -= piece.len();
    }
    Ok(answer.leaving(left))
}

/// Records on their way into an answer.
#[derive(Default)]
struct Answer {
    records: Vec<Record>,
    bytes: usize,
}

impl Answer {
    fn extend(&mut self, records: Vec<Record>) {
        self.bytes += records
            .iter()
            .map(|record| record.body.len())
            .sum::<usize>();
        self.records.extend(records);
    }

    fn leaving(self, left: usize) -> WireRecords {
        WireRecords {
            records: self.records.into_iter().map(Into::into).collect(),
            left: u64::try_from(left).unwrap_or(u64::MAX),
        }
    }
}

/// On a thread of its own, unless it is quick: it may wait until the views have caught up.
async fn companion<C: Companion>(companion: Arc<C>, least: Seq, bytes: Vec<u8>) -> Response {
    let answer = if let Some(answer) = companion.answer_now(least, &bytes) {
        answer
    } else {
        let work = move || companion.answer(least, &bytes);
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|_| Err("the hosting process failed to answer".to_owned()))
    };
    Response::Companion(match answer {
        Ok(answer) if answer.len() > BATCH_BYTES_MAX => {
            Err(format!("an answer of {} bytes is too long", answer.len()))
        }
        answer => answer.map(Bytes),
    })
}
