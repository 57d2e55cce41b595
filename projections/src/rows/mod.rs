//! Rows: what views are kept in.
//!
//! Folds see [`Rows`], which cannot fail: what goes wrong below is kept and surfaces when the chunk is
//! committed. Readers see [`Read`]. Tables are keyed by bytes and sorted by them. Postings are rows of
//! a kind of their own, (index, term) -> places, and lie in blocks (`postings.rs`).
//!
//! Three backends: memory, a fjall folder, and a process that hosts one of these (`attached.rs`).

pub mod attached;
pub(crate) mod disk;
pub(crate) mod fold;
pub(crate) mod keyed;
pub(crate) mod memory;
pub(crate) mod pending;
pub(crate) mod postings;
pub(crate) mod store;
mod written;

use crate::error::ViewsError;
use missive_log::event::Seq;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A named table. The number is the first byte of its keys, and is never given to another table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Table {
    /// Position, link, log and versions of the views themselves.
    Meta = 0,
    /// Blocks of places by index and term.
    Postings = 1,
    /// First place of each second.
    Times = 2,
    /// Kinds that occur, with their counts.
    Kinds = 3,
    /// Newest place of each subject.
    Subjects = 4,
    /// Intents without outcome.
    Outbox = 5,
    /// The same by operation.
    OutboxByOperation = 6,
    /// Registrations by alias.
    Agents = 7,
    /// Cached cards by alias.
    Cards = 8,
    /// Tasks by task id and agent.
    Tasks = 9,
    /// Contexts.
    Contexts = 10,
    /// Agents of a context.
    ContextAgents = 11,
    /// Tasks of a context.
    ContextTasks = 12,
    /// Messages by message id.
    Messages = 13,
    /// Message of each send that may still be answered.
    Sends = 14,
    /// Artifacts by task.
    Artifacts = 15,
    /// How many messages each context has.
    MessageCounts = 16,
    /// What stands for an agent in the keys of other tables, by alias.
    Identities = 17,
    /// Artifacts as each stream or the deliveries tell of them.
    Assemblies = 18,
    /// Pieces of artifacts.
    Pieces = 19,
    /// Contexts by the names that people gave them.
    ContextNames = 20,
    /// Children of a context.
    ContextChildren = 21,
    /// Push notification configurations by task.
    PushConfigs = 22,
    /// Groups by name.
    Groups = 23,
    /// Members of groups, in the order of ranks.
    GroupMembers = 24,
    /// Rounds by operation.
    Rounds = 25,
    /// Members of rounds.
    RoundMembers = 26,
    /// Rounds without an end.
    OpenRounds = 27,
    /// What reductions were made of.
    ReduceSources = 28,
    /// The latest output of each agent in each context.
    Outputs = 29,
    /// Messages of a context.
    ContextMessages = 30,
    /// Tasks of an agent.
    AgentTasks = 31,
}

impl Table {
    /// Every table, in the order of their numbers.
    pub const ALL: [Self; 32] = [
        Self::Meta,
        Self::Postings,
        Self::Times,
        Self::Kinds,
        Self::Subjects,
        Self::Outbox,
        Self::OutboxByOperation,
        Self::Agents,
        Self::Cards,
        Self::Tasks,
        Self::Contexts,
        Self::ContextAgents,
        Self::ContextTasks,
        Self::Messages,
        Self::Sends,
        Self::Artifacts,
        Self::MessageCounts,
        Self::Identities,
        Self::Assemblies,
        Self::Pieces,
        Self::ContextNames,
        Self::ContextChildren,
        Self::PushConfigs,
        Self::Groups,
        Self::GroupMembers,
        Self::Rounds,
        Self::RoundMembers,
        Self::OpenRounds,
        Self::ReduceSources,
        Self::Outputs,
        Self::ContextMessages,
        Self::AgentTasks,
    ];

    /// Its name, as people see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Postings => "postings",
            Self::Times => "times",
            Self::Kinds => "kinds",
            Self::Subjects => "subjects",
            Self::Outbox => "outbox",
            Self::OutboxByOperation => "outbox by operation",
            Self::Agents => "agents",
            Self::Cards => "cards",
            Self::Tasks => "tasks",
            Self::Contexts => "contexts",
            Self::ContextAgents => "agents of contexts",
            Self::ContextTasks => "tasks of contexts",
            Self::Messages => "messages",
            Self::Sends => "sends",
            Self::Artifacts => "artifacts",
            Self::MessageCounts => "message counts",
            Self::Identities => "identities",
            Self::Assemblies => "assembled artifacts",
            Self::Pieces => "pieces of artifacts",
            Self::ContextNames => "context names",
            Self::ContextChildren => "children of contexts",
            Self::PushConfigs => "push configurations",
            Self::Groups => "groups",
            Self::GroupMembers => "members of groups",
            Self::Rounds => "rounds",
            Self::RoundMembers => "members of rounds",
            Self::OpenRounds => "open rounds",
            Self::ReduceSources => "sources of reductions",
            Self::Outputs => "outputs",
            Self::ContextMessages => "messages of contexts",
            Self::AgentTasks => "tasks of agents",
        }
    }

    /// The bytes under which a row lies in the store.
    pub(crate) fn key(self, key: &[u8]) -> Vec<u8> {
        let mut whole = Vec::with_capacity(key.len() + 1);
        whole.push(self as u8);
        whole.extend_from_slice(key);
        whole
    }

    /// The table of a stored key.
    pub(crate) fn of(key: &[u8]) -> Option<Self> {
        let first = *key.first()?;
        Self::ALL.get(usize::from(first)).copied()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// By what events are looked up. The number is part of stored keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Index {
    /// The dotted name of the kind.
    Kind = 0,
    /// The alias that the agent had then.
    Agent = 1,
    /// The A2A context.
    Context = 2,
    /// The A2A task.
    Task = 3,
    /// The operation.
    Operation = 4,
    /// The door by which it entered.
    Origin = 5,
    /// The name that the group had then.
    Group = 6,
    /// The context that its facts name, where its links do not.
    ToldContext = 7,
    /// The task that its facts name, where its links do not.
    ToldTask = 8,
}

impl Index {
    /// Every index, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Kind,
        Self::Agent,
        Self::Context,
        Self::Task,
        Self::Operation,
        Self::Origin,
        Self::Group,
        Self::ToldContext,
        Self::ToldTask,
    ];

    /// Its name, as people see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Agent => "agent",
            Self::Context => "context",
            Self::Task => "task",
            Self::Operation => "operation",
            Self::Origin => "origin",
            Self::Group => "group",
            Self::ToldContext => "told context",
            Self::ToldTask => "told task",
        }
    }
}

/// In which order rows and places come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Smallest first.
    #[default]
    Forward,
    /// Largest first.
    Reverse,
}

/// A range of keys: from (included) to (not included).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRange {
    /// The first key.
    pub from: Vec<u8>,
    /// The key after the last one; `None`: to the end of the table.
    pub to: Option<Vec<u8>>,
}

impl KeyRange {
    /// A whole table.
    pub fn all() -> Self {
        Self::default()
    }

    /// Everything that begins with these bytes.
    pub fn prefix(prefix: &[u8]) -> Self {
        Self {
            from: prefix.to_vec(),
            to: after_prefix(prefix),
        }
    }
}

/// The smallest key that sorts after every key with this prefix; `None` if there is none.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut next = prefix.to_vec();
    while let Some(last) = next.pop() {
        if last < u8::MAX {
            next.push(last + 1);
            return Some(next);
        }
    }
    None
}

/// A range of places, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// The first place.
    pub first: Seq,
    /// The last place.
    pub last: Seq,
}

impl Places {
    /// Every place.
    pub const ALL: Self = Self {
        first: Seq(1),
        last: Seq(u64::MAX),
    };

    /// Whether there is no place in it.
    pub fn is_empty(self) -> bool {
        self.first > self.last
    }

    /// Whether it holds this place.
    pub fn contains(self, seq: Seq) -> bool {
        self.first <= seq && seq <= self.last
    }
}

/// The bytes of a key or a value, as the store keeps them: short ones in place, longer ones shared.
pub use fjall::Slice as Bytes;

/// How long most rows are at most, in bytes.
const ROW_BYTES: usize = 512;

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// What a fold may do. Nothing here fails: see the module.
pub trait Rows {
    /// The value of a key.
    fn get(&mut self, table: Table, key: &[u8]) -> Option<Bytes>;
    /// Sets a value.
    fn put(&mut self, table: Table, key: &[u8], value: Bytes);
    /// Sets a value under a key that no earlier event can have set, such as the event's own place.
    fn put_new(&mut self, table: Table, key: &[u8], value: Bytes);
    /// Removes a key, if it is there.
    fn delete(&mut self, table: Table, key: &[u8]);
    /// Rows of a range, at most `limit` of them.
    fn scan(&mut self, table: Table, range: &KeyRange, order: Order, limit: usize) -> Vec<Row>;
    /// A stored value is not what a view wrote there: kept, and reported at the commit.
    fn damaged(&mut self, table: Table);
}

/// What an index may do.
pub trait Posts {
    /// Notes a place under a term. Places of a term must come in order; one that came is ignored.
    fn post(&mut self, index: Index, term: &[u8], seq: Seq);
}

/// What a reader may do.
pub trait Read {
    /// The value of a key.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, ViewsError>;
    /// Rows of a range, at most `limit` of them.
    fn scan(
        &self,
        table: Table,
        range: &KeyRange,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Row>, ViewsError>;
    /// Places of a term within a range, at most `limit` of them.
    fn postings(
        &self,
        index: Index,
        term: &[u8],
        places: Places,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Seq>, ViewsError>;
}

/// Reads a typed row in a fold; one that cannot be read counts as absent and is reported later.
pub(crate) fn load<T: DeserializeOwned>(
    rows: &mut impl Rows,
    table: Table,
    key: &[u8],
) -> Option<T> {
    let bytes = rows.get(table, key)?;
    let row = decode_row(&bytes);
    if row.is_none() {
        rows.damaged(table);
    }
    row
}

/// Writes a typed row in a fold.
pub(crate) fn save<T: Serialize>(rows: &mut impl Rows, table: Table, key: &[u8], row: &T) {
    match encode_row(row) {
        Ok(bytes) => rows.put(table, key, bytes),
        // Our rows have no shape that postcard refuses; if one did, the commit must say so.
        Err(_) => rows.damaged(table),
    }
}

/// The same under a key that no earlier event can have set.
pub(crate) fn save_new<T: Serialize>(rows: &mut impl Rows, table: Table, key: &[u8], row: &T) {
    match encode_row(row) {
        Ok(bytes) => rows.put_new(table, key, bytes),
        Err(_) => rows.damaged(table),
    }
}

/// Writes a typed row: on the stack where it fits, so that there is one allocation of the right size.
pub(crate) fn encode_row<T: Serialize>(row: &T) -> Result<Bytes, postcard::Error> {
    match postcard::to_slice(row, &mut [0; ROW_BYTES]) {
        Ok(bytes) => Ok((&*bytes).into()),
        Err(postcard::Error::SerializeBufferFull) => Ok(postcard::to_stdvec(row)?.into()),
        Err(error) => Err(error),
    }
}

/// Reads a typed row.
pub(crate) fn decode_row<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((row, [])) => Some(row),
        Ok(_) | Err(_) => None,
    }
}

/// Reads a typed row for a reader.
pub(crate) fn fetch<T: DeserializeOwned>(
    rows: &(impl Read + ?Sized),
    table: Table,
    key: &[u8],
) -> Result<Option<T>, ViewsError> {
    let Some(bytes) = rows.get(table, key)? else {
        return Ok(None);
    };
    decode_row(&bytes)
        .map(Some)
        .ok_or(ViewsError::Damaged { table })
}

/// A key of parts: all but the last carry their length, so that no two lists of parts are one key
/// and a list of leading parts is a prefix.
pub(crate) fn key_of(leading: &[&[u8]], last: &[u8]) -> Vec<u8> {
    let mut key =
        Vec::with_capacity(last.len() + leading.iter().map(|p| p.len() + 2).sum::<usize>());
    for part in leading {
        extend_counted(&mut key, part);
    }
    key.extend_from_slice(last);
    key
}

/// Appends a part with its length in front. Identifiers are at most 2 KB; a part of more than 64 KB would
/// be cut, and could only collide with its like.
pub(crate) fn extend_counted(key: &mut Vec<u8>, part: &[u8]) {
    let length = u16::try_from(part.len()).unwrap_or(u16::MAX);
    key.extend_from_slice(&length.to_be_bytes());
    key.extend_from_slice(part.get(..usize::from(length)).unwrap_or_default());
}

/// `Timestamp` as a number: its own form is text of 27 bytes.
pub(crate) mod micros {
    use missive_log::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature that serde calls"
    )]
    pub(crate) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(at.as_micros())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        u64::deserialize(from).map(Timestamp::from_micros)
    }
}

/// The same for one that may be absent.
pub(crate) mod micros_option {
    use missive_log::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(crate) fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        at.map(Timestamp::as_micros).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Timestamp::from_micros))
    }
}
