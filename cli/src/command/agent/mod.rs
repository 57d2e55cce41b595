//! `missive agent`: who can be talked to.
//!
//! Looking agents up creates nothing where there is no log; only what is recorded, or asked of an agent,
//! begins one.

mod shown;

use super::{Setting, acting, moment, no_log, warn_of_fault};
use crate::args::agent::{Add, Agent, Capabilities, Inspect, Pin, Rename};
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output, Report};
use acting::{Nothing, Told, Wish};
use missive_commands::Exit;
use missive_commands::decide::agent_add::{AgentAdd, GivenCard};
use missive_commands::decide::agent_pin::AgentPin;
use missive_commands::decide::agent_remove::AgentRemove;
use missive_commands::decide::agent_rename::AgentRename;
use missive_commands::peer::agent_url;
use missive_commands::report::agent::AbilitiesReport;
use missive_commands::wire::version::Binding;
use missive_commands::{CommandError, Done, Missive, Target};
use missive_log::Log;
use missive_log::event::Alias;
use missive_projections::Scope;
use shown::Shown;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

const NO_AGENT: &str = "no agent is registered; `missive agent add ALIAS URL` registers one";

pub(super) async fn run(
    command: &Agent,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match command {
        Agent::Add(command) => add(command, setting, output).await,
        Agent::List => look_up(None, setting, output).await,
        Agent::Show(command) => look_up(Some(&command.alias), setting, output).await,
        Agent::Inspect(command) if setting.globals.at.is_some() => {
            let scope = Scope::Agent(command.alias.clone());
            recalled(&scope, setting, output, async |missive| {
                missive
                    .agent_inspect_known(&command.alias, command.binding)
                    .await
            })
            .await
        }
        Agent::Capabilities(command) if setting.globals.at.is_some() => {
            let alias = command.alias.as_ref();
            let scope = alias.map_or(Scope::Registry, |alias| Scope::Agent(alias.clone()));
            recalled(&scope, setting, output, async |missive| {
                missive.agent_capabilities_known(alias).await
            })
            .await
        }
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
        Agent::Capabilities(command) => capabilities(command, setting, output).await,
        Agent::Pin(command) => pin(command, setting, output).await,
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
    let mut card_keys = Vec::new();
    for path in &command.card_key {
        card_keys.extend(crate::keys::of_file(path, "--card-key")?);
    }
    let card = match &command.card_file {
        Some(path) => Some(card_of(path, setting)?),
        None => None,
    };
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
        card_keys,
        card,
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

/// The card in a file: bounded and judged as one that an agent sends.
fn card_of(path: &Path, setting: &Setting<'_>) -> Result<GivenCard, Failure> {
    let shown = crate::environment::shown(path);
    let bytes_max = setting.config.qos_of(&setting.profile).card_bytes_max;
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| {
        file.take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)
    });
    read.map_err(|error| {
        Failure::io(format!("{shown} cannot be read"), &error).detail("card_file")
    })?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > bytes_max {
        let what = format!("the card in {shown} is longer than {bytes_max} bytes");
        return Err(Failure::new(Exit::Data, what)
            .detail("card_file")
            .hint("raise `max_card_bytes` in [qos]"));
    }
    GivenCard::read(&bytes, &shown).map_err(|error| {
        Failure::from_error(Exit::Data, &error)
            .detail("card_file")
            .hint("--card-file takes the JSON of an A2A 1.0 agent card, as agents serve it at /.well-known/agent-card.json")
    })
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
            let scope = alias.map_or(Scope::Registry, |alias| Scope::Agent(alias.clone()));
            let views = moment::views(setting, session, &scope, output)?;
            let missive = acting::for_reading(setting, session, views)?;
            moment::tell(setting, session, output).await;
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
            output.note(NO_AGENT);
        }
        output.report(&done.report).await?;
        return Ok(Exit::Done);
    };
    let done = missive.agent_show(alias).await;
    let done = acting::concluded(missive, output, &told, done)?;
    output.report(&Shown(Kind::AgentShow, done.report)).await?;
    Ok(Exit::Done)
}

/// What was known of cards at an earlier moment: nobody is asked.
async fn recalled<R: Report>(
    scope: &Scope,
    setting: &Setting<'_>,
    output: &mut Output,
    read: impl AsyncFnOnce(&acting::OnLog) -> Result<Done<R>, CommandError>,
) -> Result<Exit, Failure> {
    let session = setting.home.read().await?.ok_or_else(no_log)?;
    session
        .used(async |session| {
            warn_of_fault(session, output);
            let views = moment::views(setting, session, scope, output)?;
            let missive = acting::for_reading(setting, session, views)?;
            moment::tell(setting, session, output).await;
            let done = read(&missive).await;
            let done = acting::concluded(&missive, output, &Told::of(setting), done)?;
            output.report(&done.report).await?;
            Ok(Exit::Done)
        })
        .await
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
    let (alias, refresh, binding) = (&command.alias, command.refresh, command.binding);
    let done = if command.extended {
        missive
            .agent_inspect_extended(alias, refresh, binding, &mut interrupt)
            .await
    } else {
        missive
            .agent_inspect(alias, refresh, binding, &mut interrupt)
            .await
    };
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

async fn capabilities(
    command: &Capabilities,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let told = Told::of(setting);
    let (told, session) = match &command.alias {
        Some(alias) => {
            let target = Target::Alias(alias.clone());
            let session = acting::session_for(&target, setting).await?;
            (told.about(&target), Some(session))
        }
        None if setting.config.agents.is_empty() => (told, setting.home.read().await?),
        None => (told, Some(setting.home.write().await?)),
    };
    let Some(session) = session else {
        output.note(NO_AGENT);
        output
            .report(&AbilitiesReport { agents: Vec::new() })
            .await?;
        return Ok(Exit::Done);
    };
    session
        .used(async |session| {
            warn_of_fault(session, output);
            let missive = match &command.alias {
                Some(alias) => {
                    let target = Target::Alias(alias.clone());
                    acting::for_requests(setting, session, Some(&target))?
                }
                None => acting::for_requests_to_all(setting, session)?,
            };
            let wish = Wish::listen()?;
            let progress = acting::progress(output, "asking for cards");
            let mut interrupt = wish.interrupt();
            let alias = command.alias.as_ref();
            let done = missive
                .agent_capabilities(alias, command.refresh, &mut interrupt)
                .await;
            drop(progress);
            let told = told.ended_by(wish.ending());
            let done = acting::concluded(&missive, output, &told, done)?;
            if done.report.agents.is_empty() {
                output.note(NO_AGENT);
            }
            output.report(&done.report).await?;
            Ok(wish.exit(done.exit))
        })
        .await
}

async fn pin(command: &Pin, setting: &Setting<'_>, output: &mut Output) -> Result<Exit, Failure> {
    let target = Target::Alias(command.alias.clone());
    let wanted = AgentPin {
        alias: command.alias.clone(),
        keys: crate::keys::of_file(&command.key, "the key")?,
    };
    let session = acting::session_for(&target, setting).await?;
    session
        .used(async |session| {
            let missive = acting::for_records(setting, session)?;
            let done = missive.agent_pin(&wanted).await;
            let told = Told::of(setting).about(&target);
            let done = acting::concluded(&missive, output, &told, done)?;
            output.report(&Shown(Kind::AgentPin, done.report)).await?;
            Ok(Exit::Done)
        })
        .await
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
