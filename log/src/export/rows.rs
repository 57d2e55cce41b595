//! Payload rows in the order of the log, read by the page: one question for each of them would cost an
//! attached process more than the export itself.

use super::{Shown, open};
use crate::contract::{IntegrityFault, Log, ReadError, StoredPayload};
use crate::event::Seq;
use crate::payload::{PayloadRef, row};
use std::collections::VecDeque;
use std::sync::Arc;

/// A page of rows, and where the next one begins.
pub(super) struct Rows {
    page: VecDeque<StoredPayload>,
    after: (Seq, u16),
    through: Seq,
    is_last: bool,
}

impl Rows {
    pub(super) fn new(through: Seq) -> Self {
        Self {
            page: VecDeque::new(),
            after: (Seq::ZERO, u16::MAX),
            through,
            is_last: false,
        }
    }

    /// Opens a payload; the order of the calls must be the order of the log.
    pub(super) async fn open(
        &mut self,
        log: &impl Log,
        of: PayloadRef,
    ) -> Result<Shown, ReadError> {
        let wanted = (of.seq, of.index);
        loop {
            while self.page.front().is_some_and(|row| place(row) <= wanted) {
                if let Some(row) = self.page.pop_front()
                    && place(&row) == wanted
                {
                    return shown(&row, of);
                }
            }
            if !self.page.is_empty() || self.is_last {
                // Only the log itself knows whether what is not there was erased.
                return open(log, of).await;
            }
            self.page = log.payload_rows(self.after, self.through).await?.into();
            match self.page.back() {
                Some(last) => self.after = place(last),
                None => self.is_last = true,
            }
        }
    }
}

fn place(row: &StoredPayload) -> (Seq, u16) {
    (row.seq, row.index)
}

fn shown(stored: &StoredPayload, of: PayloadRef) -> Result<Shown, ReadError> {
    row::open(&stored.row, &of)
        .map(Shown::Present)
        .map_err(|_| {
            let (seq, index) = (of.seq, of.index);
            ReadError::Integrity(Arc::new(IntegrityFault::PayloadChanged { seq, index }))
        })
}
