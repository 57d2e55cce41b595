//! `missive context`: what belongs together, by id or by the name that people gave it.

mod export;
mod html;
mod list;
mod rest;
mod show;
mod story;
mod watch;

pub(super) use watch::watch;

use super::{Setting, acting, moment, no_log, warn_of_fault};
use crate::args::context::{Context, Create};
use crate::args::value::Pair;
use crate::failure::Failure;
use crate::render::{Kind, Output};
use acting::Told;
use list::Shown;
use missive_commands::Exit;
use missive_commands::contexts::ContextCreate;
use missive_projections::Scope;

pub(super) async fn run(
    command: &Context,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if let Context::Create(command) = command {
        return create(command, setting, output).await;
    }
    let session = setting.home.read().await?.ok_or_else(no_log)?;
    session
        .used(async |session| {
            warn_of_fault(session, output);
            let scope = match command {
                Context::Show(named) => moment::of_context(session, &named.context)?,
                Context::List
                | Context::Create(_)
                | Context::Fork(_)
                | Context::Close(_)
                | Context::Export(_) => Scope::Contexts,
            };
            let views = moment::views(setting, session, &scope, output)?;
            let missive = acting::for_reading(setting, session, views)?;
            moment::tell(setting, session, output).await;
            let told = Told::of(setting);
            match command {
                Context::List => {
                    let done = missive.context_list();
                    let done = acting::concluded(&missive, output, &told, done)?;
                    if done.report.contexts.is_empty() {
                        output.note("no contexts; the first message of one begins it");
                    }
                    output.report(&done.report).await?;
                }
                Context::Fork(fork) => {
                    let done = missive
                        .context_fork(&fork.context, fork.name.as_deref())
                        .await;
                    let done = acting::concluded(&missive, output, &told, done)?;
                    output
                        .report(&Shown(Kind::ContextFork, done.report))
                        .await?;
                }
                Context::Close(close) => {
                    let done = missive
                        .context_close(&close.context, close.summary.as_deref())
                        .await;
                    let done = acting::concluded(&missive, output, &told, done)?;
                    output
                        .report(&Shown(Kind::ContextClose, done.report))
                        .await?;
                }
                Context::Show(named) => {
                    let view = missive.context_view(&named.context).await;
                    let view = acting::concluded(&missive, output, &told, view)?;
                    show::show(view, setting, session, output).await?;
                }
                Context::Export(command) => {
                    let known = missive.known_context(&command.context);
                    let known = acting::concluded(&missive, output, &told, known)?;
                    export::export(command, &known, &missive, setting, session, output).await?;
                }
                Context::Create(_) => {}
            }
            Ok(Exit::Done)
        })
        .await
}

async fn create(
    command: &Create,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let pair = |pair: &Pair| (pair.key.clone(), pair.value.clone());
    let wanted = ContextCreate {
        id: command.id.clone(),
        name: command.name.clone(),
        agent: command.agent.clone(),
        summary: command.summary.clone(),
        metadata: command.metadata.iter().map(pair).collect(),
    };
    let session = setting.home.write().await?;
    session
        .used(async |session| {
            let missive = acting::for_records(setting, session)?;
            let done = missive.context_create(&wanted).await;
            let done = acting::concluded(&missive, output, &Told::of(setting), done)?;
            output
                .report(&Shown(Kind::ContextCreate, done.report))
                .await?;
            Ok(Exit::Done)
        })
        .await
}
