//! What a user should know although the command goes on.
//!
//! Notes are words for stderr. They quote peers only as excerpts.

use std::fmt;

use missive_log::event::{Alias, ContextId, TaskId};

/// Something worth a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The context was not known and begins with this message.
    NewContext(ContextId),
    /// Tasks of the context wait for an answer, and the message is none, since it names no task.
    Waiting(Vec<TaskId>),
    /// The context was closed here; agents know nothing of that.
    ClosedContext(ContextId),
    /// The card was found elsewhere than it should be.
    CardPlace(String),
    /// The card could not be revalidated, so the one that is known is used.
    StaleCard(String),
    /// The card could not be fetched, and the one that is known is not one to go by.
    UnusableCard {
        /// Since its answer said so; else since places in it are secrets, which are not stored.
        no_store: bool,
    },
    /// The card, or an entry of it, is broken.
    CardDefect(String),
    /// The card is not signed by a key that is trusted for the agent.
    Unverified(String),
    /// A signature of the card is wrong.
    Signature(String),
    /// The card is signed by another key than the one before it.
    OtherKey,
    /// The card names interfaces on hosts that the one before it did not name.
    NewHosts(String),
    /// The interface is on another host than the card.
    ForeignHost {
        /// The interface's address, without a query.
        url: String,
    },
    /// The card was fetched again, since the interface that it named is not there any more.
    CardRefreshed,
    /// The peer refused A2A's own media type, so the message was sent once more under the old one.
    PlainJson,
    /// The peer says that the task cannot be canceled, so its state was asked for.
    NotCancelable,
    /// The agent has more pages than are asked for.
    MorePages {
        /// How many were asked for.
        pages: usize,
    },
    /// The peer broke A2A, and its answer could be used all the same.
    Violation(String),
    /// Something in a stream should be an update and is none.
    Malformed(String),
    /// The card says that there are no streams, so the message was sent without one.
    NoStreaming,
    /// The card says that there are no streams, so the task is asked for.
    NoSubscription,
    /// One whole answer came where a stream was asked for.
    NotStreamed,
    /// A stream broke, by this, while its task went on, and the task was subscribed to.
    Resumed(String),
    /// The user interrupted, and the task is asked to stop.
    Canceling(TaskId),
    /// The peer tells another state of a task that has ended.
    OtherEnd {
        /// What it tells.
        told: String,
        /// How the task ended first.
        end: &'static str,
    },
    /// A member of a group did not do, and the next one is tried.
    NextTried {
        /// Who was tried.
        agent: Alias,
        /// What came of it.
        why: String,
        /// Who is tried now.
        next: Alias,
    },
    /// An agent could not be asked for its card, so what is known of it counts.
    NotAsked {
        /// The agent.
        alias: Alias,
        /// Why not.
        why: String,
    },
    /// A task could not be followed, and is asked for.
    NotFollowed(String),
    /// A stream ended with an error, and its task is over all the same.
    StreamError(String),
    /// One of these, about one of several agents.
    About {
        /// The agent.
        alias: Alias,
        /// What is to be known of it.
        note: Box<Note>,
    },
}

tokio::task_local! {
    /// The agent that is asked, where several are at once.
    pub(crate) static ASKED: Alias;
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewContext(context) => write!(f, "context {context} is new"),
            Self::ClosedContext(context) => write!(f, "context {context} was closed here"),
            Self::CardPlace(text) => f.write_str(text),
            Self::StaleCard(why) => write!(
                f,
                "the card could not be revalidated, so the known one is used: {why}"
            ),
            Self::UnusableCard { no_store: true } => f.write_str(
                "the known card is not used again, since the agent answered `no-store` with it",
            ),
            Self::UnusableCard { no_store: false } => f.write_str(
                "the known card is not used, since what a call needs of it looks like a secret, and secrets \
                 are not stored",
            ),
            Self::CardDefect(what) => write!(f, "the agent's card is defective: {what}"),
            Self::Unverified(why) => {
                write!(f, "the agent's card is not signed by a key that is trusted: {why}")
            }
            Self::Signature(why) => write!(f, "the signature of the agent's card is wrong: {why}"),
            Self::OtherKey => f.write_str(
                "the agent's card is not signed by the key that signed the one before it: ask its owner \
                 before you trust it",
            ),
            Self::NewHosts(hosts) => write!(
                f,
                "the agent's card names interfaces on hosts that the one before it did not name: {hosts}"
            ),
            Self::ForeignHost { url } => {
                write!(f, "the interface {url} is on another host than the card")
            }
            Self::CardRefreshed => f.write_str(
                "the card was fetched again, since the interface that it named is not there any more",
            ),
            Self::PlainJson => f.write_str(
                "the agent does not take application/a2a+json; it was sent again as \
                 application/json",
            ),
            Self::NotCancelable => {
                f.write_str("the agent says that the task cannot be canceled; this is how it stands")
            }
            Self::MorePages { pages } => {
                write!(f, "the agent has more than the {pages} pages that were asked for")
            }
            Self::Violation(what) => write!(f, "the agent breaks A2A: {what}"),
            Self::Malformed(what) => {
                write!(f, "the agent breaks A2A: an event of the stream is no update: {what}")
            }
            Self::NoStreaming => f.write_str(
                "the agent's card offers no streams, so the message is sent without one and its task asked for",
            ),
            Self::NoSubscription => {
                f.write_str("the agent's card offers no streams, so the task is asked for")
            }
            Self::NotStreamed => f.write_str("the agent answered without a stream"),
            Self::OtherEnd { told, end } => write!(
                f,
                "the agent now says that the task is {told}; it is {end} since its first end, which counts"
            ),
            Self::NotAsked { .. } | Self::NextTried { .. } => self.of_group(f),
            Self::Waiting(_) | Self::Resumed(_) | Self::Canceling(_) => self.of_task(f),
            Self::NotFollowed(why) => write!(
                f,
                "the task cannot be followed, so it is asked for again and again: {why}"
            ),
            Self::StreamError(what) => write!(f, "the stream ended with an error: {what}"),
            Self::About { alias, note } => write!(f, "{alias}: {note}"),
        }
    }
}

/// How many waiting tasks are named.
const NAMED_MAX: usize = 3;

fn waiting(tasks: &[TaskId], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let named: Vec<String> = tasks
        .iter()
        .take(NAMED_MAX)
        .map(ToString::to_string)
        .collect();
    let more = tasks.len().saturating_sub(NAMED_MAX);
    let beyond = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let (noun, verb) = if tasks.len() == 1 {
        ("task", "waits")
    } else {
        ("tasks", "wait")
    };
    write!(
        f,
        "{noun} {}{beyond} of this context {verb} for an answer, and this message is none: --task says \
         which it answers",
        named.join(", ")
    )
}

impl Note {
    /// The same with the agent that is asked, where several are at once. What is said of contexts is about none.
    pub(crate) fn about_who_is_asked(self) -> Self {
        if matches!(self, Self::NewContext(_) | Self::ClosedContext(_)) {
            return self;
        }
        match ASKED.try_with(Clone::clone) {
            Ok(alias) => Self::About {
                alias,
                note: Box::new(self),
            },
            Err(_) => self,
        }
    }

    /// The words about tasks that go on; nothing for other notes.
    fn of_task(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Waiting(tasks) = self {
            return waiting(tasks, f);
        }
        if let Self::Resumed(why) = self {
            return write!(
                f,
                "the stream broke while the task went on, and was resumed: {why}"
            );
        }
        if let Self::Canceling(task) = self {
            return write!(
                f,
                "task {task} is asked to stop; a second interruption ends this command at once"
            );
        }
        Ok(())
    }

    /// Whether it says that the peer broke A2A in something that could be used all the same.
    pub fn breaks_a2a(&self) -> bool {
        if let Self::About { note, .. } = self {
            return note.breaks_a2a();
        }
        matches!(
            self,
            Self::Violation(_) | Self::Malformed(_) | Self::StreamError(_) | Self::OtherEnd { .. }
        )
    }

    /// The words about members of groups; nothing for other notes.
    fn of_group(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::NotAsked { alias, why } = self {
            return write!(f, "{alias} could not be asked for its card: {why}");
        }
        if let Self::NextTried { agent, why, next } = self {
            return write!(f, "{agent} was tried: {why}; {next} is tried next");
        }
        Ok(())
    }
}
