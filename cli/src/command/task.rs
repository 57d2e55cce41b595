//! `missive task`: tasks as the log knows them; nothing is requested.

use super::beside::Beside;
use super::{Setting, no_log, seconds, warn_of_fault};
use crate::args::{Task as Command, TaskGet};
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Report};
use crate::suggest;
use missive_commands::Exit;
use missive_commands::wire::facts::{self, TaskFacts};
use missive_commands::wire::json::{Document, Limits};
use missive_commands::wire::normal::normalise;
use missive_commands::wire::violation::Violations;
use missive_log::event::{Alias, ArtifactId, EventKind};
use missive_log::{Event, Log as _, Opened};
use missive_projections::{Task, Views};
use serde::Serialize;
use serde_json::value::RawValue;

/// Where the task may stand in an answer of either binding.
const PLACES: [&[&str]; 4] = [&["task"], &["result", "task"], &["result"], &[]];

pub(super) async fn run(
    command: &Command,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let Command::Get(command) = command;
    let session = setting.home.read().await?.ok_or_else(no_log)?;
    session
        .used(async |session| get(command, session, output).await)
        .await
}

async fn get(command: &TaskGet, session: &Session, output: &mut Output) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let views = session
        .views()
        .map_err(|error| session.views_failure(&error))?;
    let task = find(command, session, &views)?;
    let artifacts = views
        .artifacts(&task)
        .map_err(|error| session.views_failure(&error))?;
    let event = event_at(session, task.source.seq).await?;
    let body = match &event {
        Some(event) => payload(session, &task, event).await?,
        None => None,
    };
    let raw = body.as_deref().and_then(Raw::of);
    let version = match event.and_then(|event| event.cause) {
        Some(intent) => version_of(event_at(session, intent).await?),
        None => None,
    };
    let shown = Shown {
        task_id: task.task.to_string(),
        context_id: task.context.as_ref().map(ToString::to_string),
        agent: task.agent.as_ref().map(ToString::to_string),
        state: task.state.as_str(),
        source: "log",
        updated: task.updated.to_string(),
        status_text: raw.as_ref().and_then(|raw| raw.facts.status_text.clone()),
        text: raw.as_ref().map(|raw| raw.facts.text()).unwrap_or_default(),
        artifacts: artifacts
            .into_iter()
            .map(|artifact| KeptArtifact {
                name: raw.as_ref().and_then(|raw| raw.name(&artifact.artifact)),
                artifact_id: artifact.artifact.to_string(),
                parts: artifact.parts,
            })
            .collect(),
        history_count: task.history,
        protocol_version: version,
        sequence: task.last.0,
        raw: raw.and_then(|raw| raw.text(command.history_length)),
    };
    output.report(&TaskReport { task: shown }).await?;
    Ok(Exit::Done)
}

fn find(command: &TaskGet, session: &Session, views: &Views) -> Result<Task, Failure> {
    let broken = |error| session.views_failure(&error);
    let named = views.tasks_named(&command.task).map_err(broken)?;
    if command.agent.is_none() && named.len() > 1 {
        let agents = named
            .iter()
            .filter_map(|task| task.agent.as_ref().map(Alias::as_str));
        let agents: Vec<&str> = agents.collect();
        return Err(
            Failure::usage(format!("several agents have a task `{}`", command.task))
                .detail("ambiguous_task")
                .hint(format!("name one with --agent: {}", agents.join(", "))),
        );
    }
    if let Some(task) = views
        .task(&command.task, command.agent.as_ref())
        .map_err(broken)?
    {
        return Ok(task);
    }
    let all = views.tasks().map_err(broken)?;
    let ids: Vec<&str> = all.iter().map(|task| task.task.as_str()).collect();
    let of = command
        .agent
        .as_ref()
        .map(|agent| format!(" of {agent}"))
        .unwrap_or_default();
    let what = format!("the log knows no task `{}`{of}", command.task);
    Err(Failure::new(Exit::NotFound, what)
        .detail("task")
        .hint_if(suggest::hint(command.task.as_str(), "task", &ids)))
}

async fn event_at(
    session: &Session,
    seq: missive_log::event::Seq,
) -> Result<Option<Event>, Failure> {
    let records = session.log().pick(&[seq]).await;
    let records = records.map_err(|error| session.read_failure(error))?;
    Ok(records.first().and_then(|record| record.decode().ok()))
}

async fn payload(
    session: &Session,
    task: &Task,
    event: &Event,
) -> Result<Option<Vec<u8>>, Failure> {
    let Some(of) = task.source.find(event) else {
        return Ok(None);
    };
    let opened = session.log().payload(of).await;
    match opened.map_err(|error| session.read_failure(error))? {
        Opened::Present(row) => Ok(Some(row.bytes)),
        Opened::Erased(_) | Opened::Missing => Ok(None),
    }
}

fn version_of(intent: Option<Event>) -> Option<String> {
    match intent?.kind {
        EventKind::SendRequested(facts) => Some(facts.version.to_string()),
        EventKind::StreamRequested(facts) => Some(facts.version.to_string()),
        EventKind::LogCreated(_)
        | EventKind::LogExported(_)
        | EventKind::LogReanchored(_)
        | EventKind::ActorSeen(_)
        | EventKind::AgentAdded(_)
        | EventKind::AgentRenamed(_)
        | EventKind::AgentRemoved(_)
        | EventKind::CardRequested(_)
        | EventKind::CardFetched(_)
        | EventKind::CardFailed(_)
        | EventKind::SendResponded(_)
        | EventKind::SendFailed(_)
        | EventKind::SendInDoubt(_)
        | EventKind::SendResolved(_)
        | EventKind::CallRequested(_)
        | EventKind::CallResponded(_)
        | EventKind::CallFailed(_)
        | EventKind::TaskUpdated(_)
        | EventKind::CardChecked(_)
        | EventKind::CardChanged(_)
        | EventKind::ExtendedCardFetched(_)
        | EventKind::KeyPinned(_)
        | EventKind::SubscriptionRequested(_)
        | EventKind::StreamTask(_)
        | EventKind::StreamMessage(_)
        | EventKind::StreamStatusUpdate(_)
        | EventKind::StreamArtifactUpdate(_)
        | EventKind::StreamMalformed(_)
        | EventKind::StreamClosed(_)
        | EventKind::PushConfigured(_)
        | EventKind::PushRemoved(_)
        | EventKind::PushTask(_)
        | EventKind::PushMessage(_)
        | EventKind::PushStatusUpdate(_)
        | EventKind::PushArtifactUpdate(_)
        | EventKind::PushRejected(_)
        | EventKind::WebhookStarted(_)
        | EventKind::WebhookStopped(_)
        | EventKind::ContextCreated(_)
        | EventKind::ContextForked(_)
        | EventKind::ContextNamed(_)
        | EventKind::ContextClosed(_)
        | EventKind::ContextExported(_)
        | EventKind::ArtifactsSaved(_)
        | EventKind::Unknown(_) => None,
    }
}

/// The task as it was received.
struct Raw {
    document: Document,
    place: &'static [&'static str],
    facts: TaskFacts,
}

impl Raw {
    fn of(bytes: &[u8]) -> Option<Self> {
        let document = Document::read(bytes, &Limits::default()).ok()?;
        for place in PLACES {
            let steps = place.iter();
            let found = steps
                .copied()
                .try_fold(document.value(), |value, name| value.get(name));
            let Some(value) = found.map(normalise) else {
                continue;
            };
            if value.get("id").is_some() && value.get("status").is_some() {
                let facts = facts::task(&value, &mut Violations::default());
                return Some(Self {
                    document,
                    place,
                    facts,
                });
            }
        }
        None
    }

    /// What the peer calls an artifact.
    fn name(&self, artifact: &ArtifactId) -> Option<String> {
        let mut known = self.facts.artifacts.iter();
        let it = known.find(|one| one.artifact_id.as_deref() == Some(artifact.as_str()))?;
        it.name.clone()
    }

    /// Its exact text, with only the newest messages of its history if that is asked for.
    fn text(&self, history_length: Option<u32>) -> Option<Box<RawValue>> {
        let whole = self.document.raw(self.place)?;
        let text = history_length.and_then(|length| self.shortened(whole, length));
        RawValue::from_string(text.unwrap_or_else(|| whole.to_owned())).ok()
    }

    fn shortened(&self, whole: &str, length: u32) -> Option<String> {
        let path: Vec<&str> = self.place.iter().copied().chain(["history"]).collect();
        let history = self.document.raw(&path)?;
        let messages = self.document.raw_elements(&path);
        let first = messages.len().saturating_sub(usize::try_from(length).ok()?);
        let kept = messages.get(first..)?.join(",");
        let from = history.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
        let (before, rest) = whole.split_at_checked(from)?;
        let after = rest.get(history.len()..)?;
        Some(format!("{before}[{kept}]{after}"))
    }
}

/// `task_get`.
#[derive(Serialize)]
struct TaskReport {
    task: Shown,
}

#[derive(Serialize)]
struct Shown {
    task_id: String,
    context_id: Option<String>,
    agent: Option<String>,
    state: &'static str,
    source: &'static str,
    updated: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_text: Option<String>,
    text: String,
    artifacts: Vec<KeptArtifact>,
    history_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol_version: Option<String>,
    sequence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct KeptArtifact {
    artifact_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    parts: u32,
}

impl KeptArtifact {
    /// In a few words.
    fn words(&self) -> String {
        let parts = match self.parts {
            1 => "1 part".to_owned(),
            more => format!("{more} parts"),
        };
        match &self.name {
            Some(name) => format!("{} \"{name}\" ({parts})", self.artifact_id),
            None => format!("{} ({parts})", self.artifact_id),
        }
    }
}

impl Report for TaskReport {
    fn kind(&self) -> Kind {
        Kind::TaskGet
    }

    fn human(&self, page: &mut Page) {
        let task = &self.task;
        let artifacts: Vec<String> = task.artifacts.iter().map(KeptArtifact::words).collect();
        let history = match task.history_count {
            0 => String::new(),
            1 => "1 message".to_owned(),
            messages => format!("{messages} messages"),
        };
        page.fields(&[
            ("task", &task.task_id),
            ("state", task.state),
            ("agent", task.agent.as_deref().unwrap_or_default()),
            ("context", task.context_id.as_deref().unwrap_or_default()),
            ("updated", &seconds(&task.updated)),
            ("artifacts", &artifacts.join(", ")),
            ("history", &history),
        ]);
        let beside = Beside::of(task.raw.as_ref().map(|raw| raw.get()));
        if !task.text.is_empty() || !beside.is_empty() {
            page.line("");
        }
        if !task.text.is_empty() {
            page.block(&task.text);
        }
        beside.show(page);
    }
}
