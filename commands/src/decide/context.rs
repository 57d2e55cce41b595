//! Contexts that are begun, forked and closed here. Agents are told nothing: A2A has no such call.

use missive_log::event::facts::ContextName;
use missive_log::event::kind::{ContextClosed, ContextCreated, ContextForked, ContextNamed};
use missive_log::event::{Alias, ContextId, EventKind, Subject};
use missive_log::payload::About;
use missive_log::{Payload, Role};
use missive_projections::Views;
use serde_json::{Map, Value};

use super::{Decide, Decision, Moment, Undecided, unchanged};
use crate::peer::{Target, resolve};
use crate::refusal::Refusal;
use crate::wire::text::excerpt;

/// `context create`, and `context fork` with a parent.
#[derive(Clone, Debug)]
pub struct ContextBegin {
    /// The id of the new context.
    pub context: ContextId,
    /// The context that it is forked from.
    pub parent: Option<ContextId>,
    /// What people call it.
    pub name: Option<String>,
    /// The agent that it is meant for.
    pub agent: Option<Alias>,
    /// What it is about.
    pub summary: Option<String>,
    /// A JSON object.
    pub metadata: Option<Map<String, Value>>,
}

impl ContextBegin {
    fn payloads(&self, moment: &Moment<'_>) -> Vec<Payload> {
        let (ids, redactor) = (moment.ids, moment.redactor);
        let mut payloads = Vec::new();
        if let Some(summary) = &self.summary {
            payloads.push(redactor.text(ids, Role::Summary, About::default(), summary));
        }
        if let Some(metadata) = &self.metadata {
            let json = Value::Object(metadata.clone()).to_string();
            payloads.push(redactor.json(ids, Role::Metadata, About::default(), json.as_bytes()));
        }
        payloads
    }

    /// Refuses an id or a name by which something else is found already.
    fn check(&self, views: &Views, name: Option<&ContextName>) -> Result<(), Undecided> {
        if views.context(&self.context)?.is_some() {
            return Err(taken(self.context.as_str(), &self.context));
        }
        // Whoever says `--context TEXT` must never have two contexts to choose from.
        let as_name = ContextName::new(self.context.as_str()).ok();
        let as_id = name.and_then(|name| ContextId::new(name.as_str()).ok());
        for called in [name, as_name.as_ref()].into_iter().flatten() {
            if let Some(context) = views.context_named(called)? {
                return Err(taken(called.as_str(), &context));
            }
        }
        if let Some(id) = as_id
            && views.context(&id)?.is_some()
        {
            return Err(taken(id.as_str(), &id));
        }
        Ok(())
    }
}

fn taken(name: &str, context: &ContextId) -> Undecided {
    Refusal::ContextTaken {
        name: excerpt(name),
        context: context.clone(),
    }
    .into()
}

impl Decide for ContextBegin {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let subject = Subject::Context(self.context.clone());
        let mut expect = vec![unchanged(views, subject.clone())?];
        let name = self.name.as_deref().map(context_name).transpose()?;
        if let Some(name) = &name {
            expect.push(unchanged(views, Subject::ContextName(name.clone()))?);
        }
        self.check(views, name.as_ref())?;
        if let Some(agent) = &self.agent {
            resolve(views, moment.config, &Target::Alias(agent.clone()))?;
        }
        let kind = match &self.parent {
            None => EventKind::ContextCreated(ContextCreated {}),
            Some(from) => EventKind::ContextForked(ContextForked { from: from.clone() }),
        };
        let operation = moment.ids.operation();
        let mut drafts = vec![moment.draft(subject, kind, self.payloads(moment))];
        if let Some(name) = name {
            let subject = Subject::ContextName(name.clone());
            let kind = EventKind::ContextNamed(ContextNamed { name });
            drafts.push(moment.draft(subject, kind, Vec::new()));
        }
        for draft in &mut drafts {
            draft.operation = Some(operation.clone());
            draft.links.context = Some(self.context.clone());
            draft.links.agent.clone_from(&self.agent);
        }
        Ok(Decision { expect, drafts })
    }
}

/// A name that people may give to a context.
pub(crate) fn context_name(text: &str) -> Result<ContextName, Refusal> {
    ContextName::new(text).map_err(|_| Refusal::BadName {
        text: excerpt(text),
        what: "context name (1 to 100 printable characters)",
    })
}

/// `context close`.
#[derive(Clone, Debug)]
pub struct ContextClose {
    /// Which one.
    pub context: ContextId,
    /// What came of it.
    pub summary: Option<String>,
}

impl Decide for ContextClose {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let subject = Subject::Context(self.context.clone());
        let expect = unchanged(views, subject.clone())?;
        let known = views.context(&self.context)?;
        if known.is_some_and(|known| known.closed.is_some()) {
            return Err(Refusal::ContextClosed {
                context: self.context.clone(),
            }
            .into());
        }
        let (ids, redactor) = (moment.ids, moment.redactor);
        let summary = self.summary.iter();
        let payloads = summary
            .map(|text| redactor.text(ids, Role::Summary, About::default(), text))
            .collect();
        let kind = EventKind::ContextClosed(ContextClosed {});
        let mut draft = moment.draft(subject, kind, payloads);
        draft.operation = Some(moment.ids.operation());
        draft.links.context = Some(self.context.clone());
        Ok(Decision {
            expect: vec![expect],
            drafts: vec![draft],
        })
    }
}
