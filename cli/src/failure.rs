//! What the user is told when a command does not end well.
//!
//! A failure carries its exit code, one lower-case fragment that follows "missive: ", the causes
//! under it, and hints. Hints exist only here, at the edge, because only here is it known what the
//! user typed. A failure never holds a secret: whoever builds one passes names, not values.

use missive_commands::Exit;

/// An error as it is shown, by [`crate::render::failure`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    exit: Exit,
    detail: Option<&'static str>,
    message: String,
    sources: Vec<String>,
    hints: Vec<String>,
    operation: Option<Box<str>>,
    left_task: Option<Box<LeftTask>>,
}

/// A task that goes on at the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftTask {
    pub(crate) task: String,
    pub(crate) context: Option<String>,
    pub(crate) state: Option<&'static str>,
}

impl Failure {
    /// A failure without causes and hints.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            detail: None,
            message: message.into(),
            sources: Vec::new(),
            hints: Vec::new(),
            operation: None,
            left_task: None,
        }
    }

    /// Takes message and causes from an error and its `source` chain.
    pub(crate) fn from_error(exit: Exit, error: &dyn std::error::Error) -> Self {
        Self::new(exit, error.to_string()).caused_by(error.source())
    }

    /// Wrong arguments: exit code 64.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// An invalid configuration or state folder: exit code 78.
    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(Exit::Config, message)
    }

    /// A local file that cannot be read or written: exit code 74.
    pub(crate) fn io(message: impl Into<String>, error: &std::io::Error) -> Self {
        Self::new(Exit::Io, message).caused_by(Some(error))
    }

    /// The part of the machine-readable code after the category.
    pub(crate) fn detail(mut self, detail: &'static str) -> Self {
        self.detail = Some(detail);
        self
    }

    /// Adds an error and everything under it as causes. A cause that says the same as the line
    /// above it is left out.
    pub(crate) fn caused_by(mut self, error: Option<&dyn std::error::Error>) -> Self {
        let mut next = error;
        while let Some(cause) = next {
            let text = cause.to_string();
            if self.sources.last().unwrap_or(&self.message) != &text {
                self.sources.push(text);
            }
            next = cause.source();
        }
        self
    }

    /// Of the causes below the one that says this, only the innermost is kept: between them are the
    /// layers of the transport, which tell a user nothing.
    pub(crate) fn without_layers_below(mut self, said: Option<&str>) -> Self {
        let Some(said) = said else { return self };
        let kept = if self.message == said {
            0
        } else {
            match self.sources.iter().position(|source| source == said) {
                Some(at) => at + 1,
                None => return self,
            }
        };
        let layers = self.sources.len().saturating_sub(1);
        if kept < layers {
            self.sources.drain(kept..layers);
        }
        self
    }

    /// Adds what the user can do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a hint if there is one.
    pub(crate) fn hint_if(self, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// Names the operation that was begun.
    pub(crate) fn of_operation(mut self, operation: Option<String>) -> Self {
        self.operation = operation.map(String::into_boxed_str);
        self
    }

    /// The operation that was begun: what `retry` and `events list --operation` take.
    pub(crate) fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
    }

    /// Names the task that goes on although the command ended.
    pub(crate) fn leaving(mut self, task: Option<LeftTask>) -> Self {
        self.left_task = task.map(Box::new);
        self
    }

    /// The task that goes on although the command ended.
    pub(crate) fn left_task(&self) -> Option<&LeftTask> {
        self.left_task.as_deref()
    }

    /// How the process ends.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// The lower-case fragment that follows "missive: ".
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The causes, outermost first.
    pub(crate) fn sources(&self) -> &[String] {
        &self.sources
    }

    /// What the user can do about it.
    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// `missive::<category>` or `missive::<category>::<detail>`.
    pub(crate) fn code(&self) -> String {
        let category = self.exit.category();
        match self.detail {
            Some(detail) => format!("missive::{category}::{detail}"),
            None => format!("missive::{category}"),
        }
    }
}
