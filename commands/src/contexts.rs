//! The commands about contexts: what belongs together, by id or by the name that people gave it.

use missive_log::Log;
use missive_log::event::facts::ContextName;
use missive_log::event::{Alias, ContextId};
use missive_projections::{Context, Views, ViewsError, nearest};
use serde_json::{Map, Value};

use crate::Done;
use crate::decide::Undecided;
use crate::decide::context::{ContextBegin, ContextClose};
use crate::exit::Exit;
use crate::failure::{CommandError, Failure};
use crate::refusal::Refusal;
use crate::report::context::{ContextReport, ContextView, ContextsReport};
use crate::run::Missive;
use crate::wire::text::excerpt;
use missive_log::Role;

/// How many suggestions a refusal carries.
const NEAREST_MAX: usize = 3;

/// The context with this id, else with this name.
///
/// # Errors
/// The views gave no answer.
pub fn find_context(views: &Views, text: &str) -> Result<Option<Context>, ViewsError> {
    if let Ok(id) = ContextId::new(text)
        && let Some(found) = views.context(&id)?
    {
        return Ok(Some(found));
    }
    let Ok(name) = ContextName::new(text) else {
        return Ok(None);
    };
    match views.context_named(&name)? {
        Some(id) => views.context(&id),
        None => Ok(None),
    }
}

/// Ids and names that a mistyped one may mean, nearest first.
pub(crate) fn nearest_contexts(views: &Views, text: &str) -> Result<Vec<String>, ViewsError> {
    let mut known = Vec::new();
    for context in views.contexts()? {
        known.extend(context.name.map(|name| name.to_string()));
        known.push(context.context.to_string());
    }
    Ok(nearest::nearest(text, known, NEAREST_MAX))
}

pub(crate) fn no_context(text: &str, nearest: Vec<String>) -> Refusal {
    Refusal::NoContext {
        name: excerpt(text),
        nearest,
    }
}

/// `[A-Za-z0-9._:-]{1,256}`: what may become the id of a new context.
pub fn can_be_new(text: &str) -> bool {
    (1..=256).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
}

/// `context create`.
#[derive(Clone, Debug, Default)]
pub struct ContextCreate {
    /// Instead of a new id.
    pub id: Option<ContextId>,
    /// What people call it.
    pub name: Option<String>,
    /// The agent that it is meant for.
    pub agent: Option<Alias>,
    /// What it is about.
    pub summary: Option<String>,
    /// Further facts; of the same key twice the last one counts.
    pub metadata: Vec<(String, String)>,
}

impl<L: Log> Missive<L> {
    /// Begins a context here. Nothing is requested.
    ///
    /// # Errors
    /// A refusal if the id or the name is taken.
    pub async fn context_create(
        &self,
        command: &ContextCreate,
    ) -> Result<Done<ContextReport>, CommandError> {
        let metadata: Map<String, Value> = command
            .metadata
            .iter()
            .map(|(key, value)| (key.clone(), Value::from(value.as_str())))
            .collect();
        let begin = ContextBegin {
            context: match &command.id {
                Some(id) => id.clone(),
                None => self.new_context_id()?,
            },
            parent: None,
            name: command.name.clone(),
            agent: command.agent.clone(),
            summary: command.summary.clone(),
            metadata: (!metadata.is_empty()).then_some(metadata),
        };
        let recorded = self.record(&begin).await?;
        self.context_done(&begin.context, Some(recorded.last.0))
            .await
    }

    /// Begins a context here as the child of another one, with that one's metadata.
    ///
    /// # Errors
    /// A refusal if there is no such context, or the name is taken.
    pub async fn context_fork(
        &self,
        parent: &str,
        name: Option<&str>,
    ) -> Result<Done<ContextReport>, CommandError> {
        let parent = self.known_context(parent)?;
        let mut metadata = match parent.begun {
            Some(seq) => self.metadata_of(seq).await?.unwrap_or_default(),
            None => Map::new(),
        };
        let id = Value::from(parent.context.as_str());
        metadata.insert("parent_context_id".to_owned(), id);
        let begin = ContextBegin {
            context: self.new_context_id()?,
            parent: Some(parent.context),
            name: name.map(str::to_owned),
            agent: None,
            summary: None,
            metadata: Some(metadata),
        };
        let recorded = self.record(&begin).await?;
        self.context_done(&begin.context, Some(recorded.last.0))
            .await
    }

    /// Declares a context finished, here only.
    ///
    /// # Errors
    /// A refusal if there is no such context, or it is closed already.
    pub async fn context_close(
        &self,
        context: &str,
        summary: Option<&str>,
    ) -> Result<Done<ContextReport>, CommandError> {
        let context = self.known_context(context)?.context;
        let close = ContextClose {
            context: context.clone(),
            summary: summary.map(str::to_owned),
        };
        let recorded = self.record(&close).await?;
        self.context_done(&context, Some(recorded.last.0)).await
    }

    /// Every context, the most recently active first.
    ///
    /// # Errors
    /// The log or its views gave no answer.
    pub fn context_list(&self) -> Result<Done<ContextsReport>, CommandError> {
        let views = self.views();
        let mut contexts = Vec::new();
        for context in views.contexts()? {
            contexts.push(ContextView::short(&context));
        }
        Ok(Done {
            report: ContextsReport { contexts },
            exit: Exit::Done,
        })
    }

    /// Everything that is known of a context but its conversation.
    ///
    /// # Errors
    /// A refusal if there is no such context.
    pub async fn context_view(&self, context: &str) -> Result<ContextView, CommandError> {
        let context = self.known_context(context)?;
        self.view_of(&context).await
    }

    /// The context that a text names.
    ///
    /// # Errors
    /// A refusal if there is none.
    pub fn known_context(&self, text: &str) -> Result<Context, CommandError> {
        let views = self.views();
        let found = find_context(&views, text).map_err(Undecided::from)?;
        match found {
            Some(found) => Ok(found),
            None => Err(no_context(text, nearest_contexts(&views, text)?).into()),
        }
    }

    async fn context_done(
        &self,
        context: &ContextId,
        sequence: Option<u64>,
    ) -> Result<Done<ContextReport>, CommandError> {
        let mut context = self.context_view(context.as_str()).await?;
        context.sequence = sequence;
        Ok(Done {
            report: ContextReport { context },
            exit: Exit::Done,
        })
    }

    async fn view_of(&self, context: &Context) -> Result<ContextView, CommandError> {
        let views = self.views();
        let mut view = ContextView::short(context);
        let agents = views.agents_in(&context.context)?;
        view.agents = agents.iter().map(Alias::to_string).collect();
        let children = views.children_of(&context.context)?;
        view.children = children.iter().map(ContextId::to_string).collect();
        for seq in [context.closed, context.begun].into_iter().flatten() {
            if view.summary.is_none() {
                let found = self.stored_bytes(seq, Role::Summary).await?;
                view.summary = found.and_then(|found| String::from_utf8(found.bytes).ok());
            }
        }
        if let Some(seq) = context.begun {
            view.metadata = self.metadata_of(seq).await?;
        }
        Ok(view)
    }

    async fn metadata_of(
        &self,
        seq: missive_log::event::Seq,
    ) -> Result<Option<Map<String, Value>>, CommandError> {
        let found = self.stored_bytes(seq, Role::Metadata).await?;
        Ok(found.and_then(|found| serde_json::from_slice(&found.bytes).ok()))
    }

    pub(crate) fn new_context_id(&self) -> Result<ContextId, CommandError> {
        ContextId::new(&self.ids().uuid().to_string()).map_err(|_| {
            Failure::Internal {
                what: "a UUID is no context id",
            }
            .into()
        })
    }
}
