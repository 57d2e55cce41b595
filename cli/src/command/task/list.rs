//! `missive task list`: the tasks that the log knows, or those of an agent.

use super::super::acting::{self, Told, Wish, word};
use super::super::{Setting, moment, seconds, warn_of_fault};
use super::shown::cell;
use crate::args::task::List;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Lines, Output, Page, Report};
use missive_commands::contexts::find_context;
use missive_commands::report::task::{TaskView, TasksReport};
use missive_commands::task::list::{TaskQuery, list};
use missive_commands::wire::state::TaskState;
use missive_commands::{Exit, TaskListing};
use missive_log::event::{ContextId, Seq};
use missive_projections::{Scope, Views};
use serde::Serialize;

/// How many tasks a page of the log has.
const PAGE_SIZE: u32 = 50;
/// The most that A2A 1.0 lets anybody ask for (section 3.1.4).
const PAGE_SIZE_MAX: u32 = 100;

pub(super) async fn run(
    command: &List,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if !command.remote {
        let session = super::session(setting).await?;
        return session
            .used(async |session| local(command, setting, session, output).await)
            .await;
    }
    if command.page_size.is_some_and(|size| size > PAGE_SIZE_MAX) {
        let what = format!("--page-size is at most {PAGE_SIZE_MAX} with --remote");
        return Err(Failure::usage(what).detail("page_size"));
    }
    let session = super::session_for(command.agent.as_ref(), setting).await?;
    session
        .used(async |session| remote(command, setting, session, output).await)
        .await
}

async fn local(
    command: &List,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let scope = match &command.context {
        Some(text) => moment::of_context(session, text)?,
        None => Scope::Tasks,
    };
    let views = moment::views(setting, session, &scope, output)?;
    let context = match &command.context {
        Some(text) => Some(known_context(text, session, &views)?),
        None => None,
    };
    let after = match &command.page_token {
        Some(token) => Some(token.parse().map(Seq).map_err(|_| bad_token())?),
        None => None,
    };
    let size = command.page_size.unwrap_or(PAGE_SIZE);
    let query = TaskQuery {
        agent: command.agent.as_ref().map(acting::target),
        context,
        state: command.state,
        updated_after: command.updated_after,
        source: command.source.clone(),
        after,
        page_size: (!command.all).then(|| usize::try_from(size).unwrap_or(usize::MAX)),
        include_artifacts: command.include_artifacts,
    };
    let report = list(&**session.log(), &views, &query).await;
    let report = report.map_err(|error| Told::of(setting).failure(error))?;
    moment::tell(setting, session, output).await;
    show(report, output).await
}

async fn remote(
    command: &List,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let Some(agent) = &command.agent else {
        return Err(Failure::usage("--remote needs --agent").detail("agent"));
    };
    let target = acting::target(agent);
    let views = views(session)?;
    // The agent may know a context that the log does not: then its id is meant.
    let context = match &command.context {
        Some(text) => Some(match find_context(&views, text) {
            Ok(Some(context)) => context.context,
            Ok(None) => ContextId::new(text).map_err(|_| no_context(text))?,
            Err(error) => return Err(session.views_failure(&error)),
        }),
        None => None,
    };
    let state = command
        .state
        .map(missive_log::event::facts::TaskState::as_str);
    let state = state.map(|name| TaskState::named(name).ok_or_else(|| unasked(name)));
    let state = state.transpose()?;
    let missive = acting::for_requests(setting, session, Some(&target))?;
    let listing = TaskListing {
        target,
        context,
        state,
        updated_after: command.updated_after.map(|after| after.to_string()),
        page_size: command.page_size,
        page_token: command.page_token.clone(),
        all: command.all,
        include_artifacts: command.include_artifacts,
    };
    let wish = Wish::listen()?;
    let progress = acting::progress(output, "asking the agent");
    let done = missive.task_list(&listing, &mut wish.interrupt()).await;
    drop(progress);
    let told = Told::of(setting).about(&listing.target);
    let told = told.ended_by(wish.ending());
    let done = acting::concluded(&missive, output, &told, done)?;
    show(done.report, output).await
}

async fn show(report: TasksReport, output: &mut Output) -> Result<Exit, Failure> {
    if report.tasks.is_empty() {
        output.note("no tasks");
    }
    output.report(&report).await?;
    if let Some(token) = &report.next_page_token {
        let token = word(token);
        output.note(&format!(
            "there are more: --page-token {token} goes on, --all shows them all"
        ));
    }
    Ok(Exit::Done)
}

fn views(session: &Session) -> Result<Views, Failure> {
    session
        .views()
        .map_err(|error| session.views_failure(&error))
}

fn known_context(text: &str, session: &Session, views: &Views) -> Result<ContextId, Failure> {
    let found = find_context(views, text).map_err(|error| session.views_failure(&error))?;
    found
        .map(|context| context.context)
        .ok_or_else(|| no_context(text))
}

fn no_context(text: &str) -> Failure {
    Failure::new(Exit::NotFound, format!("no context is called {text}"))
        .detail("context")
        .hint("`missive context list` shows all")
}

fn unasked(state: &str) -> Failure {
    Failure::usage(format!("no agent can be asked for tasks that are {state}")).detail("state")
}

fn bad_token() -> Failure {
    Failure::usage("--page-token takes what an earlier list named").detail("page_token")
}

/// One line of NDJSON.
#[derive(Serialize)]
struct One<'a> {
    task: &'a TaskView,
}

/// The last line of NDJSON, where there is more.
#[derive(Serialize)]
struct More<'a> {
    next_page_token: &'a str,
}

impl Report for TasksReport {
    fn kind(&self) -> Kind {
        Kind::TaskList
    }

    fn human(&self, page: &mut Page) {
        let row = |task: &TaskView| {
            [
                task.task_id.clone(),
                task.state.to_owned(),
                task.agent.clone().unwrap_or_default(),
                task.context_id.clone().unwrap_or_default(),
                seconds(&task.updated),
            ]
        };
        let header = ["task", "state", "agent", "context", "updated"];
        if self.tasks.iter().all(|task| task.artifacts.is_empty()) {
            page.table(header, self.tasks.iter().map(row));
            return;
        }
        let rows = self.tasks.iter().map(|task| {
            let [id, state, agent, context, updated] = row(task);
            [id, state, agent, context, updated, cell(task)]
        });
        let [id, state, agent, context, updated] = header;
        page.table([id, state, agent, context, updated, "artifacts"], rows);
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        for task in &self.tasks {
            lines.push(Kind::TaskList, true, &One { task })?;
        }
        match &self.next_page_token {
            Some(next_page_token) => lines.push(Kind::TaskList, true, &More { next_page_token }),
            None => Ok(()),
        }
    }
}
