//! The rows of another process: requests as bytes, answers as bytes.
//!
//! The log's socket carries them (`Companion`), and both sides have checked by then that their views
//! are of the same versions. One request names the least place that it needs; the host waits until its
//! views stand there. Answers are bounded, and longer ones are asked for page by page.

use super::{Index, KeyRange, Order, Places, Read, Row, Table};
use crate::error::ViewsError;
use crate::host::{Status, ViewsHost};
use crate::select::Filter;
use crate::verify::Comparison;
use missive_log::backend::companion::Companion;
use missive_log::event::Seq;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt;

/// The most rows and the most bytes of rows in one answer.
const PAGE_ROWS_MAX: usize = 1_024;
const PAGE_BYTES_MAX: usize = 1 << 20;
/// So many rows or places are found at once.
const SMALL_ROWS_MAX: usize = 256;
/// The most places in one answer.
const PAGE_PLACES_MAX: usize = 65_536;

/// What an attached process asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    Get(Table, Vec<u8>),
    Scan(Table, KeyRange, Order, u32),
    Postings(Index, Vec<u8>, Places, Order, u32),
    Select(Filter),
    Status,
    Verify,
    Rebuild,
}

/// What the host answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Value(Option<Vec<u8>>),
    /// Rows, and whether there may be more in the range.
    Rows(Vec<Row>, bool),
    Places(Vec<Seq>),
    Status(Status),
    Comparison(Comparison),
}

impl Answer {
    pub(crate) fn into_places(self) -> Result<Vec<Seq>, ViewsError> {
        if let Self::Places(places) = self {
            Ok(places)
        } else {
            Err(ViewsError::Foreign)
        }
    }

    pub(crate) fn into_status(self) -> Result<Status, ViewsError> {
        if let Self::Status(status) = self {
            Ok(status)
        } else {
            Err(ViewsError::Foreign)
        }
    }

    pub(crate) fn into_comparison(self) -> Result<Comparison, ViewsError> {
        if let Self::Comparison(comparison) = self {
            Ok(comparison)
        } else {
            Err(ViewsError::Foreign)
        }
    }
}

impl Request {
    /// Whether the answer is a few rows that lie where they are looked for.
    fn is_small(&self) -> bool {
        match self {
            Self::Get(..) | Self::Status => true,
            Self::Scan(_, _, _, limit) | Self::Postings(_, _, _, _, limit) => {
                count(*limit) <= SMALL_ROWS_MAX
            }
            Self::Select(filter) => filter.is_small(SMALL_ROWS_MAX),
            Self::Verify | Self::Rebuild => false,
        }
    }
}

impl Companion for ViewsHost {
    fn fingerprint(&self) -> String {
        crate::views::fingerprint()
    }

    fn answer_now(&self, least: Seq, request: &[u8]) -> Option<Result<Vec<u8>, String>> {
        if !self.stands_at(least) {
            return None;
        }
        let request: Request = super::decode_row(request)?;
        if !request.is_small() {
            return None;
        }
        let answer = serve(self, request).map_err(|error| chain(&error));
        Some(answer.and_then(|answer| encode(&answer)))
    }

    fn answer(&self, least: Seq, request: &[u8]) -> Result<Vec<u8>, String> {
        let request = super::decode_row(request).ok_or_else(|| ViewsError::Foreign.to_string())?;
        let answer = self
            .ensure(least)
            .and_then(|()| serve(self, request))
            .map_err(|error| chain(&error))?;
        encode(&answer)
    }
}

fn encode(answer: &Answer) -> Result<Vec<u8>, String> {
    postcard::to_stdvec(answer).map_err(|error| error.to_string())
}

/// An error with its causes, in one line: only text crosses the socket.
fn chain(error: &ViewsError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn serve(host: &ViewsHost, request: Request) -> Result<Answer, ViewsError> {
    Ok(match request {
        Request::Get(table, key) => Answer::Value(host.get(table, &key)?),
        Request::Scan(table, range, order, limit) => page(host, table, &range, order, limit)?,
        Request::Postings(index, term, places, order, limit) => {
            let limit = count(limit).min(PAGE_PLACES_MAX);
            Answer::Places(host.postings(index, &term, places, order, limit)?)
        }
        Request::Select(filter) => Answer::Places(host.select(&filter)?),
        Request::Status => Answer::Status(host.status()),
        Request::Verify => Answer::Comparison(host.verify()?),
        Request::Rebuild => Answer::Status(host.rebuild()?),
    })
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn page(
    host: &ViewsHost,
    table: Table,
    range: &KeyRange,
    order: Order,
    limit: u32,
) -> Result<Answer, ViewsError> {
    let wanted = count(limit).min(PAGE_ROWS_MAX);
    let mut rows = host.scan(table, range, order, wanted)?;
    let mut more = rows.len() == wanted && wanted < count(limit);
    let mut bytes = 0;
    let fitting = rows.iter().take_while(|(key, value)| {
        bytes += key.len() + value.len();
        bytes <= PAGE_BYTES_MAX
    });
    // One row at least, or the other side would ask for ever.
    let fitting = fitting.count().max(1);
    if fitting < rows.len() {
        rows.truncate(fitting);
        more = true;
    }
    Ok(Answer::Rows(rows, more))
}

/// What carries a request to the host and its answer back; blocks until then.
pub type Call =
    Box<dyn Fn(Seq, &[u8]) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// Rows that another process hosts.
pub struct Attached {
    call: Call,
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attached")
    }
}

impl Attached {
    /// Rows behind this call.
    pub fn new(call: Call) -> Self {
        Self { call }
    }

    pub(crate) fn ask(&self, least: Seq, request: &Request) -> Result<Answer, ViewsError> {
        let bytes = postcard::to_stdvec(request).map_err(|_| ViewsError::Foreign)?;
        let answer =
            (self.call)(least, &bytes).map_err(|error| ViewsError::Unreachable(error.into()))?;
        super::decode_row(&answer).ok_or(ViewsError::Foreign)
    }
}

/// The same, as of at least a place.
#[derive(Debug)]
pub(crate) struct AttachedAt<'a> {
    pub(crate) rows: &'a Attached,
    pub(crate) least: Seq,
}

impl Read for AttachedAt<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, ViewsError> {
        let request = Request::Get(table, key.to_vec());
        if let Answer::Value(value) = self.rows.ask(self.least, &request)? {
            Ok(value)
        } else {
            Err(ViewsError::Foreign)
        }
    }

    fn scan(
        &self,
        table: Table,
        range: &KeyRange,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Row>, ViewsError> {
        let mut found: Vec<Row> = Vec::new();
        let mut range = range.clone();
        while found.len() < limit {
            let wanted = u32::try_from(limit - found.len()).unwrap_or(u32::MAX);
            let request = Request::Scan(table, range.clone(), order, wanted);
            let Answer::Rows(rows, more) = self.rows.ask(self.least, &request)? else {
                return Err(ViewsError::Foreign);
            };
            let last = rows.last().map(|(key, _)| key.clone());
            found.extend(rows);
            let (true, Some(last)) = (more, last) else {
                break;
            };
            match order {
                Order::Forward => range.from = [last.as_slice(), &[0]].concat(),
                Order::Reverse => range.to = Some(last),
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    fn postings(
        &self,
        index: Index,
        term: &[u8],
        places: Places,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Seq>, ViewsError> {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let request = Request::Postings(index, term.to_vec(), places, order, limit);
        self.rows.ask(self.least, &request)?.into_places()
    }
}
