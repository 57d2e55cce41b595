//! Whether two sets of rows mean the same: what is on disk, and what the log gives when it is folded again.
//!
//! Rows are compared byte by byte in the order of their keys; postings place by place, since how they
//! lie in blocks depends on the chunks in which events came.

use crate::agent::{Card, Entry};
use crate::artifact::Artifact;
use crate::context::Context;
use crate::error::ViewsError;
use crate::group::{GroupEntry, Member};
use crate::message::Message;
use crate::outbox::Open;
use crate::output::Output;
use crate::push::PushConfig;
use crate::round::{Round, RoundMember};
use crate::rows::store::Store;
use crate::rows::{Order, Row, Table, decode_row, postings};
use crate::source::Source;
use crate::task::Task;
use crate::views::owner;
use missive_log::event::Seq;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;

/// What came of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// Where both stood.
    pub position: Seq,
    /// How many rows and places were equal.
    pub equal: u64,
    /// The first difference in the order of tables and keys; none means equal.
    pub difference: Option<Difference>,
}

/// Where two sets of rows differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The view.
    pub view: String,
    /// Its table.
    pub table: String,
    /// The key, readable.
    pub key: String,
    /// What the live view has there.
    pub live: Option<String>,
    /// What the rebuilt view has there.
    pub rebuilt: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".to_owned());
        write!(
            f,
            "view {}, {} {}: live {}, rebuilt {}",
            self.view,
            self.table,
            self.key,
            side(&self.live),
            side(&self.rebuilt)
        )
    }
}

/// How many rows are read at a time.
const PAGE_ROWS: usize = 1_024;
/// The longest text of a key or a value in a difference, in characters.
const TEXT_CHARS_MAX: usize = 400;

/// Compares two stores at the same place.
pub(crate) fn compare(
    live: &Store,
    rebuilt: &Store,
    position: Seq,
) -> Result<Comparison, ViewsError> {
    let (mut ours, mut theirs) = (Walk::new(live), Walk::new(rebuilt));
    let mut equal = 0;
    loop {
        let (left, right) = (ours.next()?, theirs.next()?);
        if left == right {
            if left.is_none() {
                return Ok(Comparison {
                    position,
                    equal,
                    difference: None,
                });
            }
            equal += 1;
            continue;
        }
        return Ok(Comparison {
            position,
            equal,
            difference: difference(left, right),
        });
    }
}

/// Goes through the rows of a store; a block of postings comes as its places, each with the term.
struct Walk<'a> {
    store: &'a Store,
    from: Option<Vec<u8>>,
    page: VecDeque<Row>,
    places: VecDeque<Row>,
}

impl<'a> Walk<'a> {
    fn new(store: &'a Store) -> Self {
        Self {
            store,
            // Everything but what the views know of themselves.
            from: Some(vec![Table::Postings as u8]),
            page: VecDeque::new(),
            places: VecDeque::new(),
        }
    }

    fn next(&mut self) -> Result<Option<Row>, ViewsError> {
        loop {
            if let Some(place) = self.places.pop_front() {
                return Ok(Some(place));
            }
            if self.page.is_empty() {
                self.turn()?;
            }
            let Some((key, value)) = self.page.pop_front() else {
                return Ok(None);
            };
            if key.first() != Some(&(Table::Postings as u8)) {
                return Ok(Some((key, value)));
            }
            let block = postings::split_key(&key)
                .and_then(|(term, first)| Some((term, postings::decode(first, &value)?)));
            let (term, places) = block.ok_or(ViewsError::Damaged {
                table: Table::Postings,
            })?;
            let row = |seq: Seq| (term.to_vec(), seq.to_key().to_vec());
            self.places.extend(places.into_iter().map(row));
        }
    }

    fn turn(&mut self) -> Result<(), ViewsError> {
        let Some(from) = self.from.take() else {
            return Ok(());
        };
        let page = &mut self.page;
        self.store
            .scan(&from, None, Order::Forward, &mut |key, value| {
                page.push_back((key.to_vec(), value.to_vec()));
                if page.len() < PAGE_ROWS {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })?;
        if page.len() == PAGE_ROWS {
            // The key after a key is that key and a zero byte.
            self.from = page.back().map(|(key, _)| [key.as_slice(), &[0]].concat());
        }
        Ok(())
    }
}

/// Describes the first of two rows that differ: the one with the smaller key, and both if it is one.
fn difference(live: Option<Row>, rebuilt: Option<Row>) -> Option<Difference> {
    let key = match (&live, &rebuilt) {
        (Some((left, _)), Some((right, _))) => left.min(right).clone(),
        (Some((key, _)), None) | (None, Some((key, _))) => key.clone(),
        (None, None) => return None,
    };
    let table = Table::of(&key)?;
    // Under one term, the smaller place is the one that the other side lacks.
    let places = [&live, &rebuilt].map(|side| side.as_ref().filter(|row| row.0 == key));
    let first = places
        .iter()
        .flatten()
        .map(|(_, value)| value.clone())
        .min();
    let alike = |value: &Vec<u8>| table != Table::Postings || Some(value) == first.as_ref();
    let value = |side: Option<Row>| {
        side.filter(|(found, value)| *found == key && alike(value))
            .map(|(_, value)| cut(describe_value(table, &value)))
    };
    Some(Difference {
        view: owner(table).to_owned(),
        table: table.name().to_owned(),
        key: cut(describe_key(table, &key)),
        live: value(live),
        rebuilt: value(rebuilt),
    })
}

fn cut(text: String) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn describe_key(table: Table, key: &[u8]) -> String {
    if table == Table::Postings {
        return postings::describe(key);
    }
    let key = key.get(1..).unwrap_or_default();
    match table {
        Table::Times | Table::Outbox | Table::Sends | Table::OpenRounds => {
            Seq::from_key(key).map_or_else(|| readable(key), |number| number.to_string())
        }
        Table::Meta
        | Table::Postings
        | Table::Kinds
        | Table::Subjects
        | Table::OutboxByOperation
        | Table::Agents
        | Table::Cards
        | Table::Tasks
        | Table::Contexts
        | Table::ContextAgents
        | Table::ContextTasks
        | Table::Messages
        | Table::Artifacts
        | Table::MessageCounts
        | Table::Identities
        | Table::Assemblies
        | Table::Pieces
        | Table::ContextNames
        | Table::ContextChildren
        | Table::PushConfigs
        | Table::Groups
        | Table::GroupMembers
        | Table::Rounds
        | Table::RoundMembers
        | Table::ReduceSources
        | Table::Outputs
        | Table::ContextMessages
        | Table::AgentTasks => readable(key),
    }
}

/// Bytes as text where they are text, else escaped; lengths and numbers inside of keys show as such.
fn readable(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

fn describe_value(table: Table, value: &[u8]) -> String {
    fn as_a<T: DeserializeOwned + fmt::Debug>(value: &[u8]) -> String {
        decode_row::<T>(value).map_or_else(|| readable(value), |row| format!("{row:?}"))
    }
    match table {
        Table::Postings => Seq::from_key(value).map_or_else(|| readable(value), |s| s.to_string()),
        Table::Times | Table::Subjects | Table::ReduceSources => as_a::<Seq>(value),
        Table::Kinds => as_a::<u64>(value),
        Table::Outbox => as_a::<Open>(value),
        Table::Agents => as_a::<Entry>(value),
        Table::Cards => as_a::<Card>(value),
        Table::Tasks => as_a::<Task>(value),
        Table::Contexts => as_a::<Context>(value),
        Table::Messages => as_a::<Message>(value),
        Table::Artifacts | Table::Assemblies => as_a::<Artifact>(value),
        Table::Pieces => as_a::<Source>(value),
        Table::PushConfigs => as_a::<PushConfig>(value),
        Table::Groups => as_a::<GroupEntry>(value),
        Table::GroupMembers => as_a::<Member>(value),
        Table::Rounds => as_a::<Round>(value),
        Table::RoundMembers => as_a::<RoundMember>(value),
        Table::Outputs => as_a::<Output>(value),
        Table::MessageCounts => as_a::<u32>(value),
        Table::OutboxByOperation => as_a::<Vec<Seq>>(value),
        Table::Meta
        | Table::ContextAgents
        | Table::ContextTasks
        | Table::Sends
        | Table::ContextNames
        | Table::ContextChildren
        | Table::ContextMessages
        | Table::AgentTasks
        | Table::OpenRounds
        | Table::Identities => readable(value),
    }
}
