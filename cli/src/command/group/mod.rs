//! `missive group`: agents that belong together.
//!
//! A group is in a log or nowhere: only `group create` begins one.

mod shown;

use super::acting::{self, Nothing, OnLog, Told, Wish};
use super::{Setting, moment, no_log, warn_of_fault};
use crate::args::group::{Add, Capabilities, Create, Group, Remove};
use crate::args::value::Pair;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output};
use missive_commands::decide::group::{GroupCreate, GroupDelete, GroupRename};
use missive_commands::decide::member::{GroupAdd, GroupRemove};
use missive_commands::{Exit, Missive};
use missive_log::Log;
use missive_log::event::Alias;
use missive_projections::Scope;
use shown::{Shown, Whole};

const NO_GROUP: &str = "no groups; `missive group create NAME` makes one";

pub(super) async fn run(
    command: &Group,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match command {
        Group::Create(command) => create(command, setting, output).await,
        Group::List => list(setting, output).await,
        Group::Capabilities(command) => capabilities(command, setting, output).await,
        Group::Show(_) | Group::Add(_) | Group::Remove(_) | Group::Rename(_) | Group::Delete(_) => {
            let session = setting.home.read().await?.ok_or_else(no_log)?;
            session
                .used(async |session| on_one(command, setting, session, output).await)
                .await
        }
    }
}

async fn create(
    command: &Create,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let wanted = GroupCreate {
        name: command.name.clone(),
        policy: command.routing_policy,
        notes: command.notes.clone(),
        metadata: pairs(&command.metadata),
    };
    let session = setting.home.write().await?;
    session
        .used(async |session| {
            let missive = acting::for_records(setting, session)?;
            let done = missive.group_create(&wanted).await;
            let done = acting::concluded(&missive, output, &Told::of(setting), done)?;
            output
                .report(&Shown(Kind::GroupCreate, done.report))
                .await?;
            Ok(Exit::Done)
        })
        .await
}

async fn list(setting: &Setting<'_>, output: &mut Output) -> Result<Exit, Failure> {
    let Some(session) = setting.home.read().await? else {
        let nothing = Nothing::of(setting)?;
        return listed(&nothing.missive, setting, output).await;
    };
    session
        .used(async |session| {
            let missive = reading(&Scope::Groups, setting, session, output).await?;
            listed(&missive, setting, output).await
        })
        .await
}

async fn listed<L: Log>(
    missive: &Missive<L>,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let done = missive.group_list().await;
    let done = acting::concluded(missive, output, &Told::of(setting), done)?;
    if done.report.groups.is_empty() {
        output.note(NO_GROUP);
    }
    output.report(&done.report).await?;
    Ok(Exit::Done)
}

/// The acting room for a look, at the moment of `--at` if there is one.
async fn reading(
    scope: &Scope,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<OnLog, Failure> {
    warn_of_fault(session, output);
    let views = moment::views(setting, session, scope, output)?;
    let missive = acting::for_reading(setting, session, views)?;
    moment::tell(setting, session, output).await;
    Ok(missive)
}

async fn on_one(
    command: &Group,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let missive = reading(&Scope::Groups, setting, session, output).await?;
    let told = Told::of(setting);
    match command {
        Group::Show(named) => {
            let done = missive.group_show(&named.name).await;
            let done = acting::concluded(&missive, output, &told, done)?;
            if done.report.members.is_empty() {
                let name = &named.name;
                output.note(&format!(
                    "no members; `missive group add {name} ALIAS --rank 1` makes an agent one"
                ));
            }
            output.report(&Whole(Kind::GroupShow, done.report)).await?;
        }
        Group::Add(command) => add(command, &missive, setting, output).await?,
        Group::Remove(command) => remove(command, &missive, setting, output).await?,
        Group::Rename(command) => {
            let wanted = GroupRename {
                old: command.old.clone(),
                new: command.new.clone(),
            };
            let done = missive.group_rename(&wanted).await;
            let done = acting::concluded(&missive, output, &told, done)?;
            output
                .report(&Shown(Kind::GroupRename, done.report))
                .await?;
        }
        Group::Delete(named) => {
            let wanted = GroupDelete {
                name: named.name.clone(),
            };
            let done = missive.group_delete(&wanted).await;
            let done = acting::concluded(&missive, output, &told, done)?;
            output
                .report(&Whole(Kind::GroupDelete, done.report))
                .await?;
        }
        Group::Create(_) | Group::List | Group::Capabilities(_) => {}
    }
    Ok(Exit::Done)
}

async fn add(
    command: &Add,
    missive: &OnLog,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let wanted = GroupAdd {
        group: command.group.clone(),
        agent: command.agent.clone(),
        rank: command.rank.clone(),
        tags: command.tag.iter().map(Alias::to_string).collect(),
        weight: command.weight,
        metadata: pairs(&command.routing_metadata),
    };
    let done = missive.group_add(&wanted).await;
    let done = acting::concluded(missive, output, &Told::of(setting), done)?;
    output.report(&Shown(Kind::GroupAdd, done.report)).await?;
    Ok(())
}

async fn remove(
    command: &Remove,
    missive: &OnLog,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let wanted = GroupRemove {
        group: command.group.clone(),
        agent: command.agent.clone(),
        rank: command.rank.clone(),
    };
    let done = missive.group_remove(&wanted).await;
    let done = acting::concluded(missive, output, &Told::of(setting), done)?;
    output
        .report(&Shown(Kind::GroupRemove, done.report))
        .await?;
    Ok(())
}

async fn capabilities(
    command: &Capabilities,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = setting.home.read().await?.ok_or_else(no_log)?;
    session
        .used(async |session| {
            let missive = if command.refresh {
                warn_of_fault(session, output);
                let members = acting::members(setting, session, &command.group)?;
                acting::for_requests_to(setting, session, &members)?
            } else {
                reading(&Scope::Registry, setting, session, output).await?
            };
            let wish = Wish::listen()?;
            let asking = command
                .refresh
                .then(|| acting::progress(output, "asking for cards"));
            let done = missive
                .group_capabilities(&command.group, command.refresh, &mut wish.interrupt())
                .await;
            drop(asking);
            let told = Told::of(setting).ended_by(wish.ending());
            let done = acting::concluded(&missive, output, &told, done)?;
            output.report(&done.report).await?;
            if done
                .report
                .members
                .iter()
                .any(|member| member.error.is_some())
                && !command.refresh
            {
                output.note("hint: --refresh asks the members for their cards");
            }
            Ok(wish.exit(done.exit))
        })
        .await
}

fn pairs(pairs: &[Pair]) -> Vec<(String, String)> {
    let pair = |pair: &Pair| (pair.key.clone(), pair.value.clone());
    pairs.iter().map(pair).collect()
}
