//! `missive events replay`: what happened, context by context and task by task.

use super::super::context::watch;
use super::super::{Setting, no_log, seconds, warn_of_fault};
use super::chosen::{Chosen, check_names, filter};
use super::is_zero;
use super::list::tell_unreadable;
use crate::args::events::Replay;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Lines, Output, Page, Report};
use missive_commands::Exit;
use missive_log::event::facts::TaskState;
use missive_log::event::{Alias, Seq};
use missive_projections::ViewsError;
use missive_projections::summary::{ContextSummary, Mark, Span, Summaries, TaskSummary};
use serde::Serialize;
use std::collections::BTreeMap;

pub(super) async fn run(
    command: &Replay,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = setting.home.read().await?.ok_or_else(no_log)?;
    session
        .used(async |session| {
            warn_of_fault(session, output);
            let Some(speed) = command.watch else {
                return sum_up(command, setting, session, output).await;
            };
            let wanted = filter(&command.filter, session)?;
            let known = session
                .views()
                .and_then(|views| check_names(&wanted, setting, &views));
            known.map_err(|error| session.views_failure(&error))??;
            match &wanted.context {
                Some(context) => watch(context, speed, setting, session, output).await,
                None => Err(Failure::usage(
                    "--watch shows one context: name it with --context",
                )),
            }
        })
        .await
}

async fn sum_up(
    command: &Replay,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let progress = output.progress("summing up");
    let mut chosen = Chosen::new(session, setting, &command.filter, false).await?;
    let mut names = Names {
        session,
        present: BTreeMap::new(),
    };
    let mut summaries = Summaries::of_first(command.rows);
    loop {
        let records = chosen.page().await?;
        if records.is_empty() {
            break;
        }
        for record in &records {
            let Ok(event) = record.decode() else {
                chosen.unreadable += 1;
                continue;
            };
            let agent = names.present(event.links.agent.as_ref());
            let agent = agent.map_err(|error| session.views_failure(&error))?;
            summaries.add(&event, agent.as_ref());
        }
    }
    drop(progress);
    let story = Story::of(summaries);
    output.report(&story).await?;
    if story.contexts_more > 0 || story.tasks_more > 0 {
        output.note(&format!(
            "{} more contexts and {} more tasks: `--rows` lists more of them",
            story.contexts_more, story.tasks_more
        ));
    }
    tell_unreadable(chosen.unreadable, output);
    Ok(Exit::Done)
}

/// The aliases that agents have now: what an agent did under a former one is its own.
struct Names<'s> {
    session: &'s Session,
    present: BTreeMap<Alias, Alias>,
}

impl Names<'_> {
    fn present(&mut self, alias: Option<&Alias>) -> Result<Option<Alias>, ViewsError> {
        let Some(alias) = alias else {
            return Ok(None);
        };
        if let Some(known) = self.present.get(alias) {
            return Ok(Some(known.clone()));
        }
        // Of a damaged log the aliases are those of their time.
        let now = match self.session.views() {
            Ok(views) => views.present_alias(alias)?,
            Err(_) => alias.clone(),
        };
        self.present.insert(alias.clone(), now.clone());
        Ok(Some(now))
    }
}

/// `events_replay`.
#[derive(Serialize)]
struct Story {
    count: u64,
    first: Option<Place>,
    last: Option<Place>,
    contexts: Vec<OfContext>,
    /// How many more there were than are listed.
    #[serde(skip_serializing_if = "is_zero")]
    contexts_more: u64,
    tasks: Vec<OfTask>,
    #[serde(skip_serializing_if = "is_zero")]
    tasks_more: u64,
}

#[derive(Clone, Serialize)]
struct Place {
    sequence: Seq,
    timestamp: String,
}

#[derive(Serialize)]
struct OfContext {
    context_id: String,
    #[serde(flatten)]
    lasted: Lasted,
    messages_sent: u64,
    tasks: u64,
    members: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<String>,
}

#[derive(Serialize)]
struct OfTask {
    task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(flatten)]
    lasted: Lasted,
    /// The last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    states: Vec<OfState>,
    #[serde(skip_serializing_if = "is_zero")]
    states_more: u64,
}

#[derive(Serialize)]
struct OfState {
    state: &'static str,
    sequence: Seq,
    timestamp: String,
    /// Until the next one, in milliseconds; of the last one there is no telling.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
}

#[derive(Serialize)]
struct Lasted {
    events: u64,
    first: Option<Place>,
    last: Option<Place>,
    duration_ms: u64,
}

impl Place {
    fn of(mark: Mark) -> Self {
        Self {
            sequence: mark.seq,
            timestamp: mark.at.to_string(),
        }
    }
}

impl Lasted {
    fn of(span: &Span) -> Self {
        Self {
            events: span.events,
            first: span.first.map(Place::of),
            last: span.last.map(Place::of),
            duration_ms: span.micros() / 1_000,
        }
    }
}

/// Where a span begins, for an order that does not hang on ids.
fn begin(span: &Span) -> Seq {
    span.first.map_or(Seq::ZERO, |first| first.seq)
}

impl Story {
    fn of(summaries: Summaries) -> Self {
        let (contexts_more, tasks_more) = (summaries.contexts_more(), summaries.tasks_more());
        let mut contexts: Vec<_> = summaries.contexts.into_iter().collect();
        contexts.sort_by_key(|(_, summary)| begin(&summary.span));
        let mut tasks: Vec<_> = summaries.tasks.into_iter().collect();
        tasks.sort_by_key(|(_, summary)| begin(&summary.span));
        Self {
            count: summaries.whole.events,
            first: summaries.whole.first.map(Place::of),
            last: summaries.whole.last.map(Place::of),
            contexts: contexts
                .into_iter()
                .map(|(context, summary)| OfContext::new(context.to_string(), &summary))
                .collect(),
            contexts_more,
            tasks_more,
            tasks: tasks
                .into_iter()
                .map(|((task, agent), summary)| OfTask::new(task.to_string(), agent, &summary))
                .collect(),
        }
    }
}

impl OfContext {
    fn new(context_id: String, summary: &ContextSummary) -> Self {
        Self {
            context_id,
            lasted: Lasted::of(&summary.span),
            messages_sent: summary.sent,
            tasks: summary.tasks,
            members: summary.members.iter().map(ToString::to_string).collect(),
            groups: summary.groups.iter().map(ToString::to_string).collect(),
        }
    }
}

impl OfTask {
    fn new(task_id: String, agent: Option<Alias>, summary: &TaskSummary) -> Self {
        let ends = summary.states.iter().skip(1).map(|next| Some(next.from));
        let states = summary.states.iter().zip(ends.chain([None]));
        let states = states.map(|(state, end)| OfState {
            state: state.state.as_str(),
            sequence: state.from.seq,
            timestamp: state.from.at.to_string(),
            duration_ms: end.map(|end| {
                let passed = end.at.as_micros().saturating_sub(state.from.at.as_micros());
                passed / 1_000
            }),
        });
        Self {
            task_id,
            context_id: summary.context.as_ref().map(ToString::to_string),
            agent: agent.map(|agent| agent.to_string()),
            lasted: Lasted::of(&summary.span),
            state: summary.state.map(TaskState::as_str),
            states: states.collect(),
            states_more: summary.states_more,
        }
    }
}

/// A time that passed, for people.
fn took(duration_ms: u64) -> String {
    let whole = duration_ms / 1_000;
    match whole {
        0 => format!("{duration_ms} ms"),
        1..60 => format!("{whole}.{} s", duration_ms % 1_000 / 100),
        60..3_600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
    }
}

impl Report for Story {
    fn kind(&self) -> Kind {
        Kind::EventsReplay
    }

    fn human(&self, page: &mut Page) {
        let place = |place: &Option<Place>| match place {
            Some(place) => format!("{} at {}", place.sequence, seconds(&place.timestamp)),
            None => String::new(),
        };
        page.fields(&[
            ("events", &self.count.to_string()),
            ("first", &place(&self.first)),
            ("last", &place(&self.last)),
        ]);
        if !self.contexts.is_empty() {
            page.line("");
        }
        let contexts = self.contexts.iter().map(|row| {
            [
                row.context_id.clone(),
                row.lasted.events.to_string(),
                row.messages_sent.to_string(),
                row.tasks.to_string(),
                row.members.join(", "),
                place(&row.lasted.first),
                took(row.lasted.duration_ms),
            ]
        });
        page.table(
            [
                "context", "events", "sent", "tasks", "members", "first", "lasted",
            ],
            contexts,
        );
        if !self.tasks.is_empty() {
            page.line("");
        }
        let tasks = self.tasks.iter().map(|row| {
            let states: Vec<&str> = row.states.iter().map(|state| state.state).collect();
            [
                row.task_id.clone(),
                row.agent.clone().unwrap_or_default(),
                row.context_id.clone().unwrap_or_default(),
                row.lasted.events.to_string(),
                states.join(" > "),
                place(&row.lasted.first),
                took(row.lasted.duration_ms),
            ]
        });
        page.table(
            [
                "task", "agent", "context", "events", "states", "first", "lasted",
            ],
            tasks,
        );
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        #[derive(Serialize)]
        struct Context<'a> {
            context: &'a OfContext,
        }
        #[derive(Serialize)]
        struct Task<'a> {
            task: &'a OfTask,
        }
        #[derive(Serialize)]
        struct More {
            contexts_more: u64,
            tasks_more: u64,
        }
        for context in &self.contexts {
            lines.push(self.kind(), true, &Context { context })?;
        }
        for task in &self.tasks {
            lines.push(self.kind(), true, &Task { task })?;
        }
        let more = More {
            contexts_more: self.contexts_more,
            tasks_more: self.tasks_more,
        };
        if more.contexts_more > 0 || more.tasks_more > 0 {
            lines.push(self.kind(), true, &more)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::took;

    #[test]
    fn time_that_passed_is_told_in_two_units_at_most() {
        let told = [7, 1_250, 61_000, 7_260_000].map(took);

        assert_eq!(told, ["7 ms", "1.2 s", "1 min 1 s", "2 h 1 min"]);
    }
}
