//! What commands and people ask of the views.
//!
//! [`Views`] is the same over rows in memory, on disk and in another process. Every answer is as of at
//! least the place that it was made for: the head when a command began, or its own last append. Two
//! answers may stand at different places; what must not change in between is what a conditional append
//! names. Calls block on the disk, or on the socket.

use crate::agent::{self, Agent, Card, Entry};
use crate::artifact::{self, Artifact};
use crate::context::Context;
use crate::error::ViewsError;
use crate::host::{Status, ViewsHost};
use crate::index::{subject_key, term};
use crate::message::{Direction, Message};
use crate::moment::Past;
use crate::outbox::Open;
use crate::push::{self, PushConfig};
use crate::rows::attached::{Attached, AttachedAt, Request};
use crate::rows::{Index, KeyRange, Order, Places, Read, Row, Table, decode_row, fetch, key_of};
use crate::select::Filter;
use crate::source::Source;
use crate::task::Task;
use crate::verify::Comparison;
use missive_log::Subject;
use missive_log::event::facts::ContextName;
use missive_log::event::{Alias, ArtifactId, ContextId, MessageId, OperationId, Seq, TaskId};
use serde::de::DeserializeOwned;
use std::ops::ControlFlow;
use std::sync::Arc;

mod rounds;
mod tasks;

pub use tasks::TaskPlace;

/// The most rows that one list gives: longer lists are asked for by narrower questions.
pub const LIST_MAX: usize = 100_000;

/// A moment is not kept, so there is nothing to compare or to fold again.
const PAST: ViewsError = ViewsError::OutOfScope { table: Table::Meta };

/// How many rows of a long list are in memory at a time.
const PAGE_ROWS: usize = 1_024;

/// Sees the key and the value of a row, and says whether it wants another one.
type Visit<'v> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, ViewsError> + 'v;

/// Every view, as of at least one place.
#[derive(Clone, Debug)]
pub struct Views {
    rows: Kept,
    least: Seq,
}

/// Who keeps the rows. The set is closed.
#[derive(Clone, Debug)]
enum Kept {
    Hosted(Arc<ViewsHost>),
    Attached(Arc<Attached>),
    Past(Arc<Past>),
}

impl Views {
    /// The views of this process.
    pub fn hosted(host: Arc<ViewsHost>, least: Seq) -> Self {
        Self {
            rows: Kept::Hosted(host),
            least,
        }
    }

    /// The views of the process that hosts the log.
    pub fn attached(rows: Arc<Attached>, least: Seq) -> Self {
        Self {
            rows: Kept::Attached(rows),
            least,
        }
    }

    /// The views of an earlier moment.
    pub(crate) fn past(past: Past) -> Self {
        Self {
            least: past.place(),
            rows: Kept::Past(Arc::new(past)),
        }
    }

    /// The same views as of at least another place, such as an append of one's own.
    #[must_use]
    pub fn at_least(&self, least: Seq) -> Self {
        Self {
            rows: self.rows.clone(),
            least: least.max(self.least),
        }
    }

    /// The place that answers wait for.
    pub fn least(&self) -> Seq {
        self.least
    }

    /// The registration of an alias, if it is registered now.
    pub fn agent(&self, alias: &Alias) -> Result<Option<Agent>, ViewsError> {
        Ok(match self.entry(alias)? {
            Some(Entry::Present(agent)) => Some(agent),
            Some(Entry::Renamed { .. } | Entry::Removed { .. }) | None => None,
        })
    }

    /// What is known of an alias, past registrations included.
    pub fn entry(&self, alias: &Alias) -> Result<Option<Entry>, ViewsError> {
        self.fetch(Table::Agents, alias.as_str().as_bytes())
    }

    /// What an alias of some time is called now; itself if nothing else is known.
    pub fn present_alias(&self, alias: &Alias) -> Result<Alias, ViewsError> {
        let mut alias = alias.clone();
        for _ in 0..agent::RENAMES_MAX {
            let Some(Entry::Renamed { to, .. }) = self.entry(&alias)? else {
                break;
            };
            alias = to;
        }
        Ok(alias)
    }

    /// Every registered agent, by alias.
    pub fn agents(&self) -> Result<Vec<Agent>, ViewsError> {
        let entries: Vec<Entry> = self.list(Table::Agents, &KeyRange::all())?;
        let present = entries.into_iter().filter_map(|entry| match entry {
            Entry::Present(agent) => Some(agent),
            Entry::Renamed { .. } | Entry::Removed { .. } => None,
        });
        Ok(present.collect())
    }

    /// The cached card of an alias, registered here or by the configuration only.
    pub fn card(&self, alias: &Alias) -> Result<Option<Card>, ViewsError> {
        self.fetch(Table::Cards, alias.as_str().as_bytes())
    }

    /// Registered aliases that a mistyped one may mean, nearest first, at most `limit`.
    pub fn nearest_aliases(&self, wanted: &str, limit: usize) -> Result<Vec<Alias>, ViewsError> {
        let agents = self.agents()?;
        Ok(crate::nearest::nearest(
            wanted,
            agents.into_iter().map(|a| a.alias),
            limit,
        ))
    }

    /// The artifacts of a task, in the order of the raw tasks that hold them.
    pub fn artifacts(&self, task: &Task) -> Result<Vec<Artifact>, ViewsError> {
        let prefix = artifact_prefix(task);
        let mut artifacts: Vec<Artifact> =
            self.list(Table::Artifacts, &KeyRange::prefix(&prefix))?;
        artifacts.sort_by_key(|artifact| (artifact.source.seq, artifact.position));
        Ok(artifacts)
    }

    /// The pieces of an artifact behind its beginning, in their order, at most [`LIST_MAX`] of them.
    pub fn pieces(&self, task: &Task, artifact: &Artifact) -> Result<Vec<Source>, ViewsError> {
        if artifact.pieces == 0 {
            return Ok(Vec::new());
        }
        let key = artifact::key(&task_key(task), &artifact.artifact);
        let prefix = artifact::pieces_prefix(&key, artifact);
        let mut pieces = self.list(Table::Pieces, &KeyRange::prefix(&prefix))?;
        // The views may have seen more of the log since the artifact was read.
        pieces.truncate(usize::try_from(artifact.pieces).unwrap_or(usize::MAX));
        Ok(pieces)
    }

    /// The push notification configurations of a task, by id.
    pub fn push_configs(&self, task: &Task) -> Result<Vec<PushConfig>, ViewsError> {
        let prefix = push::prefix(&task_key(task));
        self.list(Table::PushConfigs, &KeyRange::prefix(&prefix))
    }

    /// The context that people call so.
    pub fn context_named(&self, name: &ContextName) -> Result<Option<ContextId>, ViewsError> {
        let found = self.with(|rows| rows.get(Table::ContextNames, name.as_str().as_bytes()))?;
        let read = |id: Vec<u8>| ContextId::new(&String::from_utf8(id).ok()?).ok();
        let damaged = ViewsError::Damaged {
            table: Table::ContextNames,
        };
        found.map(|id| read(id).ok_or(damaged)).transpose()
    }

    /// The contexts that were forked from one.
    pub fn children_of(&self, context: &ContextId) -> Result<Vec<ContextId>, ViewsError> {
        let prefix = key_of(&[context.as_str().as_bytes()], &[]);
        let keys = self.keys_after(Table::ContextChildren, &prefix)?;
        let read = |key: Vec<u8>| ContextId::new(&String::from_utf8(key).ok()?).ok();
        Ok(keys.into_iter().filter_map(read).collect())
    }

    /// One artifact of a task.
    pub fn artifact(
        &self,
        task: &Task,
        artifact: &ArtifactId,
    ) -> Result<Option<Artifact>, ViewsError> {
        let mut key = artifact_prefix(task);
        key.extend_from_slice(artifact.as_str().as_bytes());
        self.fetch(Table::Artifacts, &key)
    }

    /// A context.
    pub fn context(&self, context: &ContextId) -> Result<Option<Context>, ViewsError> {
        let key = context.as_str().as_bytes();
        let Some(mut row) = self.fetch::<Context>(Table::Contexts, key)? else {
            return Ok(None);
        };
        row.messages = self.fetch(Table::MessageCounts, key)?.unwrap_or(0);
        Ok(Some(row))
    }

    /// Every context, the most recently active first, at most [`LIST_MAX`] of them.
    pub fn contexts(&self) -> Result<Vec<Context>, ViewsError> {
        let mut contexts: Vec<Context> = self.list(Table::Contexts, &KeyRange::all())?;
        for context in &mut contexts {
            let key = context.context.as_str().as_bytes();
            context.messages = self.fetch(Table::MessageCounts, key)?.unwrap_or(0);
        }
        contexts.sort_by_key(|context| std::cmp::Reverse(context.last));
        Ok(contexts)
    }

    /// The agents of a context, by the aliases that they had then.
    pub fn agents_in(&self, context: &ContextId) -> Result<Vec<Alias>, ViewsError> {
        let prefix = key_of(&[context.as_str().as_bytes()], &[]);
        let keys = self.keys_after(Table::ContextAgents, &prefix)?;
        let aliases = keys
            .iter()
            .filter_map(|key| Alias::new(std::str::from_utf8(key).ok()?).ok());
        Ok(aliases.collect())
    }

    /// The message with this id: one that was sent from here before one that came, then the newest.
    pub fn message(&self, message: &MessageId) -> Result<Option<Message>, ViewsError> {
        let found = self.messages_named(message)?;
        let sent = |message: &Message| message.direction == Direction::Sent;
        Ok(found
            .into_iter()
            .max_by_key(|message| (sent(message), message.last)))
    }

    /// Every message with this id: whoever makes a message chooses its id.
    pub fn messages_named(&self, message: &MessageId) -> Result<Vec<Message>, ViewsError> {
        let prefix = key_of(&[message.as_str().as_bytes()], &[]);
        self.list(Table::Messages, &KeyRange::prefix(&prefix))
    }

    /// Intents without an outcome, oldest first.
    pub fn outbox(&self) -> Result<Vec<Open>, ViewsError> {
        self.list(Table::Outbox, &KeyRange::all())
    }

    /// The same of one operation.
    pub fn outbox_of(&self, operation: &OperationId) -> Result<Vec<Open>, ViewsError> {
        let key = operation.as_str().as_bytes();
        let places: Option<Vec<Seq>> = self.fetch(Table::OutboxByOperation, key)?;
        let mut open: Vec<Open> = Vec::new();
        for place in places.unwrap_or_default() {
            open.extend(self.fetch::<Open>(Table::Outbox, &place.to_key())?);
        }
        Ok(open)
    }

    /// The newest event of a subject: what `Expect::Unchanged` names. `None` at an earlier moment, where
    /// nothing is appended.
    pub fn last_of(&self, subject: &Subject) -> Result<Option<Seq>, ViewsError> {
        if let Kept::Past(_) = &self.rows {
            return Ok(None);
        }
        self.fetch(Table::Subjects, &subject_key(subject))
    }

    /// The newest event of an operation.
    pub fn last_of_operation(&self, operation: &OperationId) -> Result<Option<Seq>, ViewsError> {
        let term = term(operation.as_str());
        let found = self
            .with(|rows| rows.postings(Index::Operation, term, Places::ALL, Order::Reverse, 1))?;
        Ok(found.first().copied())
    }

    /// The newest events whose facts name a task that their links do not, newest first, such as deliveries that
    /// could not be linked. The ids of tasks may be longer than a term of an index: look at each.
    pub fn told_of(&self, task: &TaskId, limit: usize) -> Result<Vec<Seq>, ViewsError> {
        if let Kept::Past(_) = &self.rows {
            return Ok(Vec::new());
        }
        let term = term(task.as_str());
        self.with(|rows| rows.postings(Index::ToldTask, term, Places::ALL, Order::Reverse, limit))
    }

    /// The events that a filter means, by place.
    pub fn select(&self, filter: &Filter) -> Result<Vec<Seq>, ViewsError> {
        match &self.rows {
            Kept::Hosted(host) => {
                host.ensure(self.least)?;
                host.select(filter)
            }
            Kept::Attached(rows) => {
                let request = Request::Select(filter.clone());
                rows.ask(self.least, &request)?.into_places()
            }
            Kept::Past(past) => past.select(filter),
        }
    }

    /// Every kind that occurs, with the number of its events.
    pub fn kinds(&self) -> Result<Vec<(String, u64)>, ViewsError> {
        if let Kept::Past(past) = &self.rows {
            return past.kinds();
        }
        let rows =
            self.with(|rows| rows.scan(Table::Kinds, &KeyRange::all(), Order::Forward, LIST_MAX))?;
        let read = |(key, value): (Vec<u8>, Vec<u8>)| {
            let count = decode_row(&value).ok_or(ViewsError::Damaged {
                table: Table::Kinds,
            })?;
            Ok((String::from_utf8_lossy(&key).into_owned(), count))
        };
        rows.into_iter().map(read).collect()
    }

    /// Where the views stand, and their versions.
    pub fn status(&self) -> Result<Status, ViewsError> {
        match &self.rows {
            Kept::Hosted(host) => {
                host.ensure(self.least)?;
                Ok(host.status())
            }
            Kept::Attached(rows) => rows.ask(self.least, &Request::Status)?.into_status(),
            Kept::Past(past) => past.status(),
        }
    }

    /// Folds everything again into memory and compares.
    pub fn verify(&self) -> Result<Comparison, ViewsError> {
        match &self.rows {
            Kept::Hosted(host) => {
                host.ensure(self.least)?;
                host.verify()
            }
            Kept::Attached(rows) => rows.ask(self.least, &Request::Verify)?.into_comparison(),
            Kept::Past(_) => Err(PAST),
        }
    }

    /// Folds everything again and keeps that.
    pub fn rebuild(&self) -> Result<Status, ViewsError> {
        match &self.rows {
            Kept::Hosted(host) => host.rebuild(),
            Kept::Attached(rows) => rows.ask(self.least, &Request::Rebuild)?.into_status(),
            Kept::Past(_) => Err(PAST),
        }
    }

    fn with<T>(
        &self,
        ask: impl FnOnce(&dyn Read) -> Result<T, ViewsError>,
    ) -> Result<T, ViewsError> {
        match &self.rows {
            Kept::Hosted(host) => {
                host.ensure(self.least)?;
                let answer = ask(host.as_ref());
                if answer.as_ref().is_err_and(ViewsError::is_damage) {
                    host.suspect();
                }
                answer
            }
            Kept::Attached(rows) => ask(&AttachedAt {
                rows,
                least: self.least,
            }),
            Kept::Past(past) => ask(past.as_ref()),
        }
    }

    /// Places of a term.
    pub(crate) fn places(
        &self,
        index: Index,
        term: &[u8],
        places: Places,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Seq>, ViewsError> {
        self.with(|rows| rows.postings(index, term, places, order, limit))
    }

    /// Rows of a table, as they are kept.
    pub(crate) fn rows_of(
        &self,
        table: Table,
        range: &KeyRange,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Row>, ViewsError> {
        self.with(|rows| rows.scan(table, range, order, limit))
    }

    fn fetch<T: DeserializeOwned>(
        &self,
        table: Table,
        key: &[u8],
    ) -> Result<Option<T>, ViewsError> {
        self.with(|rows| fetch(rows, table, key))
    }

    fn list<T: DeserializeOwned>(
        &self,
        table: Table,
        range: &KeyRange,
    ) -> Result<Vec<T>, ViewsError> {
        self.with(|rows| {
            let rows = rows.scan(table, range, Order::Forward, LIST_MAX)?;
            let read = |(_, value): &(Vec<u8>, Vec<u8>)| decode_row(value);
            let read: Option<Vec<T>> = rows.iter().map(read).collect();
            read.ok_or(ViewsError::Damaged { table })
        })
    }

    /// Goes through a range of a table, one page of it in memory at a time.
    fn each(
        &self,
        table: Table,
        mut range: KeyRange,
        visit: &mut Visit<'_>,
    ) -> Result<(), ViewsError> {
        loop {
            let page = self.with(|rows| rows.scan(table, &range, Order::Forward, PAGE_ROWS))?;
            for (key, value) in &page {
                if visit(key, value)?.is_break() {
                    return Ok(());
                }
            }
            match page.last() {
                // The key after a key is that key and a zero byte.
                Some((key, _)) if page.len() == PAGE_ROWS => {
                    range.from = [key.as_slice(), &[0]].concat();
                }
                Some(_) | None => return Ok(()),
            }
        }
    }

    /// What follows a prefix in the keys of a table.
    fn keys_after(&self, table: Table, prefix: &[u8]) -> Result<Vec<Vec<u8>>, ViewsError> {
        let rows = self
            .with(|rows| rows.scan(table, &KeyRange::prefix(prefix), Order::Forward, LIST_MAX))?;
        let rest = |(key, _): &(Vec<u8>, Vec<u8>)| key.get(prefix.len()..).map(<[u8]>::to_vec);
        Ok(rows.iter().filter_map(rest).collect())
    }
}

fn task_key(task: &Task) -> Vec<u8> {
    key_of(&[task.task.as_str().as_bytes()], &task.identity)
}

fn artifact_prefix(task: &Task) -> Vec<u8> {
    key_of(&[&task_key(task)], &[])
}
