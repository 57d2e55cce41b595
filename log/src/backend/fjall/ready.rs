//! What whoever appends does before the one writer is asked: everything that needs neither the place
//! nor the time of an event. There are many of them and one writer.

use super::store::{HEADER, seal};
use crate::backend::sequencer::{Sequencer, thread_keys};
use crate::contract::{AppendError, Batch};
use crate::event::{HostId, Seq, Timestamp, stored};
use crate::payload::row;

/// A batch whose events lack their places and times only.
pub(super) struct Ready {
    pub(super) batch: Batch,
    pub(super) events: Vec<ReadyEvent>,
}

/// An event without its place and its time.
pub(super) struct ReadyEvent {
    /// The stored value, with zeros where link and predecessor belong.
    pub(super) value: Vec<u8>,
    /// Where in the body the time stands.
    time: usize,
    pub(super) thread: String,
    pub(super) subject: String,
    /// The rows of its payloads.
    pub(super) rows: Vec<Vec<u8>>,
}

impl Ready {
    /// Encodes what can be encoded.
    ///
    /// # Errors
    /// A batch out of bounds, or an event that has no stored form.
    pub(super) fn new(batch: Batch, host: Option<HostId>) -> Result<Self, AppendError> {
        batch.check_bounds()?;
        let mut events = Vec::with_capacity(batch.drafts.len());
        for draft in &batch.drafts {
            let mut value = Vec::with_capacity(HEADER + stored::BODY_BYTES_USUAL);
            value.resize(HEADER, 0);
            let time = stored::encode_early(&mut value, draft, host)?;
            let (thread, subject) = thread_keys(draft);
            events.push(ReadyEvent {
                value,
                time,
                thread,
                subject,
                rows: draft.payloads.iter().map(row::encode).collect(),
            });
        }
        Ok(Self { batch, events })
    }

    /// About how many bytes it brings.
    pub(super) fn bytes(&self) -> usize {
        let rows = self.events.iter().flat_map(|event| &event.rows);
        rows.map(Vec::len).sum()
    }
}

impl ReadyEvent {
    /// Gives the event the next place; its value is whole then.
    pub(super) fn place(&mut self, sequencer: &mut Sequencer, prev: Seq, now: Timestamp) {
        let (_, body) = self.value.split_at_mut(HEADER);
        let link = sequencer.place_body(body, self.time, prev, now);
        seal(&mut self.value, link, prev);
    }
}
