//! What a fact is about, and the nouns that it can be looked up by.

use super::facts::ContextName;
use super::id::{
    ActorId, Alias, ContextId, GroupName, Hex, NotAnId, OperationId, TaskId, deserialize_text,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The thing that a fact is about. Appends can be made conditional on it being unchanged.
///
/// Stored as `kind:identifier`; a kind that this build does not know stays readable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The log itself.
    Log,
    /// Somebody who acts.
    Actor(ActorId),
    /// A registered agent.
    Agent(Alias),
    /// One command and its outcome.
    Operation(OperationId),
    /// An A2A context.
    Context(ContextId),
    /// An A2A task.
    Task(TaskId),
    /// What people call a context.
    ContextName(ContextName),
    /// A group of agents.
    Group(GroupName),
    /// Something that only a newer build knows.
    Other(OtherSubject),
}

/// A subject of a kind that this build does not know, kept to the letter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OtherSubject(Box<str>);

impl Subject {
    /// The stored spelling, `kind:identifier`, behind a prefix.
    pub(crate) fn spell(&self, prefix: &str) -> String {
        let actor;
        let (kind, id) = match self {
            Self::Log => ("log", ""),
            Self::Actor(id) => {
                actor = Hex::of(&id.0);
                ("actor:", actor.as_str())
            }
            Self::Agent(alias) => ("agent:", alias.as_str()),
            Self::Operation(id) => ("operation:", id.as_str()),
            Self::Context(id) => ("context:", id.as_str()),
            Self::Task(id) => ("task:", id.as_str()),
            Self::ContextName(name) => ("context_name:", name.as_str()),
            Self::Group(name) => ("group:", name.as_str()),
            Self::Other(OtherSubject(text)) => ("", &**text),
        };
        [prefix, kind, id].concat()
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.spell(""))
    }
}

impl std::str::FromStr for Subject {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let (kind, id) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "log" if text == "log" => Ok(Self::Log),
            "actor" => id.parse().map(Self::Actor),
            "agent" => Alias::new(id).map(Self::Agent),
            "operation" => OperationId::new(id).map(Self::Operation),
            "context" => ContextId::new(id).map(Self::Context),
            "task" => TaskId::new(id).map(Self::Task),
            "context_name" => ContextName::new(id).map(Self::ContextName),
            "group" => GroupName::new(id).map(Self::Group),
            _ if !text.is_empty() && text.len() <= 2_048 => {
                Ok(Self::Other(OtherSubject(text.into())))
            }
            _ => Err(NotAnId::new("a subject (1 to 2048 bytes)", text)),
        }
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.spell(""))
    }
}

impl<'de> Deserialize<'de> for Subject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, str::parse)
    }
}

/// The nouns that an event concerns; the columns of the indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The agent, by the alias that it had then.
    pub agent: Option<Alias>,
    /// The A2A context. It names the event's thread.
    pub context: Option<ContextId>,
    /// The A2A task.
    pub task: Option<TaskId>,
    /// The group, by the name that it had then.
    pub group: Option<GroupName>,
}
