//! Rows of an earlier moment: those that were folded for it, and the indexes of the live views up to there.

use super::Records;
use super::places::Unreadable;
use crate::error::ViewsError;
use crate::host::{Status, ViewsHost};
use crate::read::Views;
use crate::rows::store::Store;
use crate::rows::{Index, KeyRange, Order, Places, Read, Row, Table};
use crate::select::{Filter, select};
use crate::views::{Parts, State};
use missive_log::Timestamp;
use missive_log::event::Seq;

/// A moment, folded as far as its scope goes.
#[derive(Debug)]
pub(crate) struct Past {
    live: Views,
    place: Seq,
    parts: Parts,
    records: Records,
    rows: Option<ViewsHost>,
}

impl Past {
    pub(super) fn new(live: Views, place: Seq, parts: Parts, records: Records) -> Self {
        Self {
            live,
            place,
            parts,
            records,
            rows: None,
        }
    }

    pub(super) fn over(mut self, rows: Store, unreadable: Unreadable) -> Result<Self, ViewsError> {
        let mut state = State::new(self.live.status()?.log);
        state.position = self.place;
        state.unreadable = unreadable.count;
        state.unreadable_first = unreadable.first;
        self.rows = Some(ViewsHost::of_rows(rows, state));
        Ok(self)
    }

    /// The rows of a table, if it was folded.
    fn of(&self, table: Table) -> Result<&ViewsHost, ViewsError> {
        let folded = self.rows.as_ref().filter(|_| self.parts.write(table));
        folded.ok_or(ViewsError::OutOfScope { table })
    }

    fn time_of(&self, seq: Seq) -> Result<Timestamp, ViewsError> {
        let records = self.records.pick(&[seq])?;
        let event = records.first().and_then(|record| record.decode().ok());
        event.map_or(Err(ViewsError::Unreadable { seq }), |event| Ok(event.at))
    }

    /// The place.
    pub(crate) fn place(&self) -> Seq {
        self.place
    }

    pub(crate) fn status(&self) -> Result<Status, ViewsError> {
        Ok(self.of(Table::Agents)?.status())
    }

    /// Events up to the place. An agent means the one that had the alias then.
    pub(crate) fn select(&self, filter: &Filter) -> Result<Vec<Seq>, ViewsError> {
        let through = filter.through.map_or(self.place, |t| t.min(self.place));
        let filter = Filter {
            through: Some(through),
            ..filter.clone()
        };
        if filter.agent.is_none() {
            return self.live.select(&filter);
        }
        // Only events of the agent come into question: where none is, none is found.
        select(self, &filter, self.place, &[], &|seq| self.time_of(seq))
    }

    /// Every kind that occurs up to the place, with the number of its events.
    pub(crate) fn kinds(&self) -> Result<Vec<(String, u64)>, ViewsError> {
        let mut kinds = Vec::new();
        for (name, _) in self.live.kinds()? {
            let mut places = Places {
                first: Seq(1),
                last: self.place,
            };
            let mut count = 0;
            loop {
                let term = crate::index::term(&name);
                let page = self.live.places(
                    Index::Kind,
                    term,
                    places,
                    Order::Forward,
                    crate::select::SELECT_MAX,
                )?;
                count += page.len() as u64;
                match page.last() {
                    Some(last) => places.first = last.next(),
                    None => break,
                }
            }
            if count > 0 {
                kinds.push((name, count));
            }
        }
        Ok(kinds)
    }
}

impl Read for Past {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, ViewsError> {
        self.of(table)?.get(table, key)
    }

    fn scan(
        &self,
        table: Table,
        range: &KeyRange,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Row>, ViewsError> {
        if matches!(table, Table::Kinds | Table::Times) {
            // What events are found by: the live views know more, and whoever asks is bounded by the place.
            return self.live.rows_of(table, range, order, limit);
        }
        self.of(table)?.scan(table, range, order, limit)
    }

    fn postings(
        &self,
        index: Index,
        term: &[u8],
        places: Places,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Seq>, ViewsError> {
        let places = Places {
            last: places.last.min(self.place),
            ..places
        };
        self.live.places(index, term, places, order, limit)
    }
}
