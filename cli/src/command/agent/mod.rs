//! `missive agent`: who can be talked to.
//!
//! Looking agents up creates nothing where there is no log; only what is recorded, or asked of an agent,
//! begins one.

mod shown;

use super::{Setting, acting, warn_of_fault};
use crate::args::agent::{Add, Agent, Inspect, Rename};
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output};
use acting::{Nothing, Told, Wish};
use missive_commands::Exit;
use missive_commands::decide::agent_add::AgentAdd;
use missive_commands::decide::agent_remove::AgentRemove;
use missive_commands::decide::agent_rename::AgentRename;
use missive_commands::peer::agent_url;
use missive_commands::wire::version::Binding;
use missive_commands::{Missive, Target};
use missive_log::Log;
use missive_log::event::Alias;
use shown::Shown;

pub(super) async fn run(
    command: &Agent,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match command {
        Agent::Add(command) => add(command, setting, output).await,
        Agent::List => look_up(None, setting, output).await,
        Agent::Show(command) => look_up(Some(&command.alias), setting, output).await,
        Agent::Inspect(command) => {
            let target = Target::Alias(command.alias.clone());
            let session = acting::session_for(&target, setting).await?;
            session
                .used(async |session| inspect(command, setting, session, output).await)
                .await
        }
        Agent::Refresh(command) => {
            let target = Target::Alias(command.alias.clone());
            let session = acting::session_for(&target, setting).await?;
            session
                .used(async |session| refresh(&command.alias, setting, session, output).await)
                .await
        }
        Agent::Rename(command) => rename(command, setting, output).await,
        Agent::Remove(command) => remove(&command.alias, setting, output).await,
    }
}

async fn add(command: &Add, setting: &Setting<'_>, output: &mut Output) -> Result<Exit, Failure> {
    let told = Told::of(setting).about(&Target::Alias(command.alias.clone()));
    // A wrong address is no reason to begin a log.
    agent_url(&command.url).map_err(|refusal| told.failure(refusal.into()))?;
    let mut interfaces = Vec::new();
    for pair in &command.interface {
        interfaces.push((binding(&pair.key)?, pair.value.clone()));
    }
    let metadata = command.metadata.iter();
    let wanted = AgentAdd {
        alias: command.alias.clone(),
        url: command.url.clone(),
        interfaces,
        binding_preference: command.binding_preference.clone(),
        auth_ref: command.auth_ref.as_ref().map(Alias::to_string),
        tags: command.tag.iter().map(Alias::to_string).collect(),
        notes: command.notes.clone(),
        metadata: metadata
            .map(|pair| (pair.key.clone(), pair.value.clone()))
            .collect(),
    };
    let session = setting.home.write().await?;
    session
        .used(async |session| {
            let missive = acting::for_records(setting, session)?;
            let done = missive.agent_add(&wanted).await;
            let done = acting::concluded(&missive, output, &told, done)?;
            output.report(&Shown(Kind::AgentAdd, done.report)).await?;
            let interfaces = wanted.interfaces.iter().map(|(binding, _)| binding);
            if interfaces
                .chain(&wanted.binding_preference)
                .any(|one| *one == Binding::Grpc)
            {
                output.note(
                    "note: gRPC is not spoken yet: `grpc` is kept, and passed over until then",
                );
            }
            Ok(Exit::Done)
        })
        .await
}

/// The part of `--interface` before the `=`.
fn binding(name: &str) -> Result<Binding, Failure> {
    Binding::parse(name).ok_or_else(|| {
        let known = Binding::ALL.map(Binding::name);
        Failure::usage(format!("--interface does not take the binding `{name}`"))
            .detail("binding")
            .hint_if(crate::suggest::hint(name, "binding", &known))
    })
}

/// One agent, or all.
async fn look_up(
    alias: Option<&Alias>,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let Some(session) = setting.home.read().await? else {
        let nothing = Nothing::of(setting)?;
        return found(&nothing.missive, alias, setting, output).await;
    };
    session
        .used(async |session| {
            warn_of_fault(session, output);
            let missive = acting::for_records(setting, session)?;
            found(&missive, alias, setting, output).await
        })
        .await
}

async fn found<L: Log>(
    missive: &Missive<L>,
    alias: Option<&Alias>,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let told = Told::of(setting);
    let Some(alias) = alias else {
        let done = missive.agent_list().await;
        let done = acting::concluded(missive, output, &told, done)?;
        if done.report.agents.is_empty() {
            output.note("no agent is registered; `missive agent add ALIAS URL` registers one");
        }
        output.report(&done.report).await?;
        return Ok(Exit::Done);
    };
    let done = missive.agent_show(alias).await;
    let done = acting::concluded(missive, output, &told, done)?;
    output.report(&Shown(Kind::AgentShow, done.report)).await?;
    Ok(Exit::Done)
}

async fn inspect(
    command: &Inspect,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let target = Target::Alias(command.alias.clone());
    let missive = acting::for_requests(setting, session, Some(&target))?;
    let wish = Wish::listen()?;
    let progress = acting::progress(output, "asking for the card");
    let mut interrupt = wish.interrupt();
    let done = missive
        .agent_inspect(
            &command.alias,
            command.refresh,
            command.binding,
            &mut interrupt,
        )
        .await;
    drop(progress);
    let told = Told::of(setting).about(&target).ended_by(wish.ending());
    let done = acting::concluded(&missive, output, &told, done)?;
    output.report(&done.report).await?;
    Ok(wish.exit(done.exit))
}

async fn refresh(
    alias: &Alias,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let target = Target::Alias(alias.clone());
    let missive = acting::for_requests(setting, session, Some(&target))?;
    let wish = Wish::listen()?;
    let progress = acting::progress(output, "asking for the card");
    let done = missive.agent_refresh(alias, &mut wish.interrupt()).await;
    drop(progress);
    let told = Told::of(setting).about(&target).ended_by(wish.ending());
    let done = acting::concluded(&missive, output, &told, done)?;
    output
        .report(&Shown(Kind::AgentRefresh, done.report))
        .await?;
    Ok(wish.exit(done.exit))
}

async fn rename(
    command: &Rename,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let target = Target::Alias(command.old.clone());
    let session = acting::session_for(&target, setting).await?;
    let wanted = AgentRename {
        old: command.old.clone(),
        new: command.new.clone(),
    };
    session
        .used(async |session| {
            let missive = acting::for_records(setting, session)?;
            let done = missive.agent_rename(&wanted).await;
            let told = Told::of(setting).about(&target);
            let done = acting::concluded(&missive, output, &told, done)?;
            output
                .report(&Shown(Kind::AgentRename, done.report))
                .await?;
            Ok(Exit::Done)
        })
        .await
}

async fn remove(
    alias: &Alias,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let target = Target::Alias(alias.clone());
    let session = acting::session_for(&target, setting).await?;
    let wanted = AgentRemove {
        alias: alias.clone(),
    };
    session
        .used(async |session| {
            let missive = acting::for_records(setting, session)?;
            let done = missive.agent_remove(&wanted).await;
            let told = Told::of(setting).about(&target);
            let done = acting::concluded(&missive, output, &told, done)?;
            output
                .report(&Shown(Kind::AgentRemove, done.report))
                .await?;
            Ok(Exit::Done)
        })
        .await
}
