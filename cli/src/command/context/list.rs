//! Contexts for people.

use super::super::seconds;
use crate::render::{Kind, Lines, Page, Report, Tint};
use missive_commands::report::context::{ContextReport, ContextView, ContextsReport};
use serde::{Serialize, Serializer};

/// What is said about one context, under the name of the command that says it.
pub(super) struct Shown(pub(super) Kind, pub(super) ContextReport);

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.serialize(serializer)
    }
}

impl Report for Shown {
    fn kind(&self) -> Kind {
        self.0
    }

    fn human(&self, page: &mut Page) {
        let Self(kind, report) = self;
        let context = &report.context;
        let id = (Tint::Strong, context.context_id.as_str());
        let called = match &context.name {
            Some(name) => format!(" \"{name}\""),
            None => String::new(),
        };
        let what = if *kind == Kind::ContextClose {
            " is closed"
        } else if *kind == Kind::ContextFork {
            " is forked"
        } else {
            " is open"
        };
        page.spans(&[id, (Tint::Plain, &called), (Tint::Plain, what)]);
    }
}

impl Report for ContextsReport {
    fn kind(&self) -> Kind {
        Kind::ContextList
    }

    fn human(&self, page: &mut Page) {
        let rows = self.contexts.iter().map(|context| {
            [
                context.context_id.clone(),
                context.name.clone().unwrap_or_default(),
                context.status.to_owned(),
                context.agent_count.to_string(),
                context.task_count.to_string(),
                context.message_count.to_string(),
                seconds(&context.updated),
            ]
        });
        let header = [
            "context", "name", "status", "agents", "tasks", "messages", "updated",
        ];
        page.table(header, rows);
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        #[derive(Serialize)]
        struct One<'a> {
            context: &'a ContextView,
        }
        self.contexts
            .iter()
            .try_for_each(|context| lines.push(self.kind(), true, &One { context }))
    }
}

/// Names and values of a context.
pub(super) fn fields(context: &ContextView) -> Vec<(&'static str, String)> {
    let metadata = context.metadata.iter().flatten();
    let metadata: Vec<String> = metadata
        .map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key}={text}"),
            None => format!("{key}={value}"),
        })
        .collect();
    vec![
        ("context", context.context_id.clone()),
        ("name", context.name.clone().unwrap_or_default()),
        ("status", context.status.to_owned()),
        (
            "parent",
            context.parent_context_id.clone().unwrap_or_default(),
        ),
        ("children", context.children.join(" ")),
        ("agents", context.agents.join(" ")),
        ("tasks", context.task_count.to_string()),
        ("messages", context.message_count.to_string()),
        ("summary", context.summary.clone().unwrap_or_default()),
        ("metadata", metadata.join(" ")),
        ("began", seconds(&context.created)),
        ("updated", seconds(&context.updated)),
    ]
}
