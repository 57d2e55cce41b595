//! The rules say no, and nothing was recorded.
//!
//! A refusal is no failure: it is decided from what is known, before anything happens. Its fields
//! are what the command line needs for its hints.

use missive_log::event::{Alias, ContextId, GroupName, OperationId, TaskId};

use crate::exit::Exit;
use crate::groups::GroupRefusal;
use crate::wire::negotiate::NoChoice;
use crate::wire::request::BuildError;

/// Why a command is not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The alias is taken.
    #[error("an agent is already called {alias}")]
    AliasTaken {
        /// The alias.
        alias: Alias,
        /// Whether the configuration, and not the log, holds it.
        configured: bool,
    },
    /// No agent has that alias.
    #[error("no agent is called {alias}")]
    NoAgent {
        /// The alias.
        alias: Alias,
        /// What may have been meant, nearest first.
        nearest: Vec<Alias>,
        /// Every alias that there is, sorted.
        known: Vec<Alias>,
        /// What it was renamed to, if it was.
        renamed_to: Option<Alias>,
        /// Whether a group is called so.
        is_group: bool,
    },
    /// No group has that name.
    #[error("no group is called {name}")]
    NoGroup {
        /// The name.
        name: GroupName,
        /// What may have been meant, nearest first.
        nearest: Vec<GroupName>,
        /// What it was renamed to, if it was.
        renamed_to: Option<GroupName>,
        /// Whether it was deleted.
        deleted: bool,
        /// Whether an agent is called so.
        is_agent: bool,
    },
    /// Nobody has asked for the agent's card yet, and this does not.
    #[error("no card of {alias} is known")]
    NoCardKnown {
        /// The alias.
        alias: Alias,
    },
    /// Nobody is a member of the group.
    #[error("the group {name} has no members")]
    EmptyGroup {
        /// The name.
        name: GroupName,
    },
    /// The log has no such broadcast.
    #[error("this log has no broadcast {operation} to {group}")]
    NoBroadcast {
        /// The operation.
        operation: OperationId,
        /// The group.
        group: GroupName,
    },
    /// No member of the group has said anything in the context.
    #[error("nobody of {group} has answered in context {context}")]
    NothingToReduce {
        /// The group.
        group: GroupName,
        /// The context.
        context: ContextId,
    },
    /// No reduction has that id.
    #[error("no reduction has the id {operation}")]
    NoReduction {
        /// The id.
        operation: OperationId,
    },
    /// Something about a group or its members.
    #[error(transparent)]
    Group(#[from] GroupRefusal),
    /// The agent comes from the configuration.
    #[error("the agent {alias} comes from the configuration and cannot be changed here")]
    Configured {
        /// The alias.
        alias: Alias,
    },
    /// Not an address that an agent can be registered with.
    #[error("the URL {what}")]
    BadUrl {
        /// What is wrong with it; never quotes a credential.
        what: String,
    },
    /// The configuration has no such credential.
    #[error("the configuration has no [auth_refs.{name}]")]
    NoAuthRef {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A name that would stay in the log is not one.
    #[error("`{text}` is no {what}")]
    BadName {
        /// What was given, as an excerpt.
        text: String,
        /// What it should be.
        what: &'static str,
    },
    /// More than one fact holds.
    #[error("at most {count_max} {what} can be given")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many are allowed.
        count_max: usize,
    },
    /// There is nothing to send.
    #[error("a message needs at least one part")]
    NoParts,
    /// The task takes no more messages.
    #[error("task {task} is {state} and takes no more messages")]
    TaskEnded {
        /// The task.
        task: TaskId,
        /// Its state.
        state: &'static str,
        /// Its context, where a new task can be opened.
        context: Option<ContextId>,
    },
    /// Task and context do not belong together.
    #[error("task {task} belongs to context {belongs_to}, not to {asked}")]
    ContextMismatch {
        /// The task.
        task: TaskId,
        /// The context that was asked for.
        asked: ContextId,
        /// The context of the task.
        belongs_to: ContextId,
    },
    /// The log knows no such task.
    #[error("the log knows no task `{task}`{}", agent.as_ref().map(|agent| format!(" of {agent}")).unwrap_or_default())]
    NoTask {
        /// The task.
        task: TaskId,
        /// Whose it should be.
        agent: Option<String>,
        /// Ids that there are.
        known: Vec<String>,
    },
    /// Several agents have a task with that id.
    #[error("several agents have a task `{task}`")]
    SeveralTasks {
        /// The task.
        task: TaskId,
        /// The agents.
        agents: Vec<String>,
    },
    /// The agent of a task was only named by its address, which is not kept.
    #[error("the agent of task {task} is not registered")]
    TaskOfUrl {
        /// The task.
        task: TaskId,
    },
    /// The task has no such artifact.
    #[error("task {task} has no artifact `{artifact}`")]
    NoArtifact {
        /// The task.
        task: TaskId,
        /// The artifact.
        artifact: String,
        /// Ids that there are.
        known: Vec<String>,
    },
    /// No context is called so, and the text cannot become the id of a new one.
    #[error("no context is called {name}")]
    NoContext {
        /// The text as an excerpt.
        name: String,
        /// What may have been meant, nearest first.
        nearest: Vec<String>,
    },
    /// A context has that id or that name.
    #[error("a context is already called {name}")]
    ContextTaken {
        /// The id or the name, as an excerpt.
        name: String,
        /// The context that it means.
        context: ContextId,
    },
    /// The context was closed before.
    #[error("context {context} is closed already")]
    ContextClosed {
        /// The context.
        context: ContextId,
    },
    /// The agent needs extensions that the message would not declare.
    #[error("the agent requires the extension {}", missing.join(", "))]
    ExtensionsRequired {
        /// Their URIs.
        missing: Vec<String>,
    },
    /// The card says that there is no extended one.
    #[error("the agent's card does not offer an extended card")]
    NoExtendedCard,
    /// An extended card is shown only to whom the agent knows.
    #[error("an extended card is shown only to who authenticates, and there are no credentials")]
    NoCredentials,
    /// The agent's card says that it does not push.
    #[error("{agent} does not push notifications, says its card{}", card.as_deref().map(|url| format!(" at {url}")).unwrap_or_default())]
    NoPush {
        /// The alias, or the URL that was named.
        agent: String,
        /// Where the card came from.
        card: Option<String>,
    },
    /// No interface of the agent can be used.
    #[error(transparent)]
    NoInterface(#[from] NoChoice),
    /// Not a protocol version.
    #[error("`{text}` is no protocol version (Major.Minor)")]
    BadVersion {
        /// The text as an excerpt.
        text: String,
    },
    /// The request cannot be formed.
    #[error(transparent)]
    Request(#[from] BuildError),
    /// The request is larger than the configuration allows.
    #[error("the request of {bytes} bytes is larger than the {bytes_max} allowed")]
    RequestTooLarge {
        /// Its bytes.
        bytes: usize,
        /// The bound.
        bytes_max: usize,
    },
    /// An address that no fact can hold.
    #[error("the interface address `{url}` cannot be recorded")]
    Address {
        /// The address as an excerpt.
        url: String,
    },
    /// No such operation.
    #[error("there is no operation {operation}")]
    NoOperation {
        /// The operation.
        operation: OperationId,
        /// Operations that are in doubt, oldest first.
        in_doubt: Vec<OperationId>,
    },
    /// Nothing of the operation is open.
    #[error("operation {operation} is finished")]
    Finished {
        /// The operation.
        operation: OperationId,
    },
    /// The process that carries the operation out is alive.
    #[error("operation {operation} is still running in another process")]
    StillRunning {
        /// The operation.
        operation: OperationId,
    },
    /// The stored message is not what was sent, since it held secrets.
    #[error("the message of operation {operation} cannot be sent again: parts of it were redacted")]
    Redacted {
        /// The operation.
        operation: OperationId,
        /// Its message id.
        message_id: String,
    },
    /// An interface whose address or tenant holds a secret, and which no card names any more.
    #[error(
        "the interface of operation {operation} cannot be asked: it is named by a secret, which is not \
         stored, and the agent's card does not name it any more"
    )]
    HiddenInterface {
        /// The operation.
        operation: OperationId,
    },
    /// The stored message is gone.
    #[error("the message of operation {operation} cannot be sent again: it was erased")]
    Erased {
        /// The operation.
        operation: OperationId,
    },
    /// There is no fault that a re-anchoring would answer.
    #[error("there is nothing to re-anchor: no fault of the log is known")]
    NothingToReanchor,
    /// A re-anchoring needs a reason.
    #[error("a re-anchoring needs a reason")]
    NoReason,
}

impl Refusal {
    /// How the command ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::AliasTaken { .. }
            | Self::Configured { .. }
            | Self::BadUrl { .. }
            | Self::NoAuthRef { .. }
            | Self::BadName { .. }
            | Self::TooMany { .. }
            | Self::NoParts
            | Self::TaskEnded { .. }
            | Self::ContextMismatch { .. }
            | Self::ContextTaken { .. }
            | Self::ContextClosed { .. }
            | Self::SeveralTasks { .. }
            | Self::TaskOfUrl { .. }
            | Self::BadVersion { .. }
            | Self::Request(_)
            | Self::Finished { .. }
            | Self::Redacted { .. }
            | Self::Erased { .. }
            | Self::NothingToReanchor
            | Self::EmptyGroup { .. }
            | Self::NoReason => Exit::Usage,
            Self::Group(why) => why.exit(),
            Self::NoAgent { .. }
            | Self::NoGroup { .. }
            | Self::NothingToReduce { .. }
            | Self::NoReduction { .. }
            | Self::NoBroadcast { .. }
            | Self::NoContext { .. }
            | Self::NoTask { .. }
            | Self::NoArtifact { .. }
            | Self::NoCardKnown { .. }
            | Self::NoOperation { .. } => Exit::NotFound,
            Self::ExtensionsRequired { .. } | Self::NoExtendedCard | Self::NoPush { .. } => {
                Exit::Protocol
            }
            Self::NoCredentials => Exit::Auth,
            Self::NoInterface(why) => match why {
                NoChoice::OnlyOldVersions { .. } => Exit::Protocol,
                NoChoice::NotSpoken { .. } => Exit::Usage,
                NoChoice::NothingFits { .. } | NoChoice::WrongHost { .. } | NoChoice::Nothing => {
                    Exit::Transport
                }
            },
            Self::RequestTooLarge { .. } => Exit::Data,
            Self::Address { .. } | Self::HiddenInterface { .. } => Exit::Transport,
            Self::StillRunning { .. } => Exit::Busy,
        }
    }

    /// The last part of `missive::<category>::<detail>`.
    pub fn detail(&self) -> &'static str {
        match self {
            Self::AliasTaken { .. } => "alias_taken",
            Self::NoAgent { .. } => "agent",
            Self::NoGroup { .. } => "group",
            Self::NoCardKnown { .. } => "card",
            Self::EmptyGroup { .. } => "empty_group",
            Self::NoBroadcast { .. } => "broadcast",
            Self::NothingToReduce { .. } => "nothing_to_reduce",
            Self::NoReduction { .. } => "reduction",
            Self::Group(why) => why.detail(),
            Self::Configured { .. } => "configured",
            Self::BadUrl { .. } => "url",
            Self::NoAuthRef { .. } => "auth_ref",
            Self::BadName { .. } => "name",
            Self::TooMany { .. } => "too_many",
            Self::NoParts => "no_parts",
            Self::TaskEnded { .. } => "task_ended",
            Self::ContextMismatch { .. } => "context_mismatch",
            Self::NoContext { .. } => "context",
            Self::ContextTaken { .. } => "context_taken",
            Self::ContextClosed { .. } => "context_closed",
            Self::NoTask { .. } => "task",
            Self::SeveralTasks { .. } => "ambiguous_task",
            Self::TaskOfUrl { .. } => "agent_of_task",
            Self::NoArtifact { .. } => "artifact",
            Self::ExtensionsRequired { .. } => "extension_required",
            Self::NoExtendedCard => "extended_card",
            Self::NoCredentials => "credentials",
            Self::NoPush { .. } => "push_not_supported",
            Self::NoInterface(why) => match why {
                NoChoice::NothingFits { .. } => "no_mutual_binding",
                NoChoice::OnlyOldVersions { .. } | NoChoice::NotSpoken { .. } => "version",
                NoChoice::WrongHost { .. } => "wrong_host",
                NoChoice::Nothing => "no_interface",
            },
            Self::BadVersion { .. } => "version",
            Self::Request(_) => "request",
            Self::RequestTooLarge { .. } => "too_large",
            Self::Address { .. } => "address",
            Self::NoOperation { .. } => "operation",
            Self::Finished { .. } => "finished",
            Self::StillRunning { .. } => "still_running",
            Self::Redacted { .. } => "redacted",
            Self::HiddenInterface { .. } => "hidden_interface",
            Self::Erased { .. } => "erased",
            Self::NothingToReanchor => "nothing_to_reanchor",
            Self::NoReason => "no_reason",
        }
    }
}
