//! The acting room for one run: the log, the configuration, credentials and the wish to end, joined.
//!
//! A command that needs an agent does not begin a log to find out that there is none: where nothing was
//! ever recorded, only agents of the configuration can be spoken to.

mod agent;
mod failure;
mod group;
mod quote;

pub(super) use failure::{Told, follow, of_agent};
pub(super) use quote::word;

use super::Setting;
use crate::args::value;
use crate::auth::{self, Places};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::keyring::Keyring;
use crate::open::{Host, Session};
use crate::render::Output;
use crate::render::progress::Progress;
use missive_commands::groups::{find_group, seats};
use missive_commands::peer::{agent_url, known_aliases, resolve};
use missive_commands::secret::Secret;
use missive_commands::{
    Actor, CommandError, Credentials, Exit, Missive, Parts, Refusal, Requests, Target,
};
use missive_log::backend::Station;
use missive_log::backend::instance::Instance;
use missive_log::backend::memory::MemoryLog;
use missive_log::event::{Alias, GroupName};
use missive_log::payload::redact::Redactor;
use missive_log::{Ids, Log, Origin};
use missive_projections::{Views, ViewsHost, source_of};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The acting room on the log of this profile.
pub(super) type OnLog = Missive<Station<Host>>;

/// Whom the words of the command line name.
pub(super) fn target(typed: &value::Target) -> Target {
    match typed {
        value::Target::Alias(alias) => Target::Alias(alias.clone()),
        value::Target::Url(url) => Target::Url(url.clone()),
    }
}

/// The log that a command about an agent needs: the one that is there, or a new one if the agent is known
/// without it. An address is checked before a log begins because of it.
pub(super) async fn session_for(
    target: &Target,
    setting: &Setting<'_>,
) -> Result<Session, Failure> {
    let told = Told::of(setting);
    let alias = match target {
        Target::Url(url) => {
            agent_url(url).map_err(|refusal| told.failure(refusal.into()))?;
            return setting.home.write().await;
        }
        Target::Alias(alias) => alias,
    };
    if setting.config.agents.contains_key(alias.as_str()) {
        return setting.home.write().await;
    }
    match setting.home.read().await? {
        Some(session) => Ok(session),
        None => Err(told.failure(no_agent(setting, alias).into())),
    }
}

/// What is known of an alias where there is no log.
fn no_agent(setting: &Setting<'_>, alias: &Alias) -> Refusal {
    let known = setting.config.agents.keys();
    Refusal::NoAgent {
        alias: alias.clone(),
        nearest: Vec::new(),
        known: known.filter_map(|name| Alias::new(name).ok()).collect(),
        renamed_to: None,
        is_group: false,
    }
}

/// The acting room, with what the user gave to prove who asks. A secret that cannot be resolved ends the
/// command here, before any request.
pub(super) fn for_requests(
    setting: &Setting<'_>,
    session: &Session,
    target: Option<&Target>,
) -> Result<OnLog, Failure> {
    for_requests_with(setting, session, target, Vec::new())
}

/// The same with further secrets that must be stored nowhere.
pub(super) fn for_requests_with(
    setting: &Setting<'_>,
    session: &Session,
    target: Option<&Target>,
    further: Vec<Secret>,
) -> Result<OnLog, Failure> {
    let views = views(session)?;
    let auth_ref = match target {
        Some(target) => {
            let peer = resolve(&views, &setting.config, target);
            let peer = peer.map_err(|error| Told::of(setting).failure(error.into()))?;
            peer.auth_ref
        }
        None => None,
    };
    let credentials = credentials(setting, auth_ref.as_deref())?;
    on_log(
        setting,
        session,
        views,
        credentials,
        BTreeMap::new(),
        further,
    )
}

/// The same for requests to every agent that is known, each with the credentials of its own; what the
/// flags give goes to all of them.
pub(super) fn for_requests_to_all(
    setting: &Setting<'_>,
    session: &Session,
) -> Result<OnLog, Failure> {
    let views = views(session)?;
    let known = known_aliases(&views, &setting.config);
    let known = known.map_err(|error| Told::of(setting).failure(error.into()))?;
    for_requests_to(setting, session, &known)
}

/// The same for requests to these agents alone.
pub(super) fn for_requests_to(
    setting: &Setting<'_>,
    session: &Session,
    aliases: &[Alias],
) -> Result<OnLog, Failure> {
    let views = views(session)?;
    let mut of_agents = BTreeMap::new();
    for alias in aliases {
        let target = Target::Alias(alias.clone());
        // An agent that cannot be spoken to is told when its turn comes.
        let peer = resolve(&views, &setting.config, &target).ok();
        if let Some(auth_ref) = peer.and_then(|peer| peer.auth_ref) {
            of_agents.insert(alias.clone(), credentials(setting, Some(&auth_ref))?);
        }
    }
    let flags = credentials(setting, None)?;
    on_log(setting, session, views, flags, of_agents, Vec::new())
}

/// The members of a group that can be spoken to, as they are called now.
pub(super) fn members(
    setting: &Setting<'_>,
    session: &Session,
    group: &GroupName,
) -> Result<Vec<Alias>, Failure> {
    let views = views(session)?;
    let told = |error: CommandError| Told::of(setting).failure(error);
    let group = find_group(&views, group).map_err(|error| told(error.into()))?;
    let seats = seats(&views, &setting.config, &group).map_err(|error| told(error.into()))?;
    Ok(seats.into_iter().filter_map(|seat| seat.alias).collect())
}

fn credentials(setting: &Setting<'_>, auth_ref: Option<&str>) -> Result<Credentials, Failure> {
    let places = Places {
        environment: &Environment::of_process(),
        keyring: Keyring::of_system(),
    };
    let found = auth::Credentials::resolve(setting.globals, &setting.config, auth_ref, places)?;
    Ok(Credentials {
        bearer: found.bearer,
        headers: found.headers,
    })
}

/// The acting room for what is only recorded or looked up.
pub(super) fn for_records(setting: &Setting<'_>, session: &Session) -> Result<OnLog, Failure> {
    for_records_with(setting, session, Vec::new())
}

/// The acting room over views that may be of an earlier moment, for what is only looked up.
pub(super) fn for_reading(
    setting: &Setting<'_>,
    session: &Session,
    views: Views,
) -> Result<OnLog, Failure> {
    let credentials = Credentials::default();
    on_log(
        setting,
        session,
        views,
        credentials,
        BTreeMap::new(),
        Vec::new(),
    )
}

/// The same with further secrets that must be stored nowhere.
pub(super) fn for_records_with(
    setting: &Setting<'_>,
    session: &Session,
    further: Vec<Secret>,
) -> Result<OnLog, Failure> {
    let credentials = Credentials::default();
    let views = views(session)?;
    on_log(
        setting,
        session,
        views,
        credentials,
        BTreeMap::new(),
        further,
    )
}

/// Knows every secret of this run, for what is recorded without the acting room.
pub(super) fn redactor(setting: &Setting<'_>) -> Redactor {
    let secrets = secrets(setting);
    Redactor::new(&secrets.iter().map(Secret::expose).collect())
}

fn secrets(setting: &Setting<'_>) -> Vec<Secret> {
    let environment = Environment::of_process();
    auth::resolvable(setting.globals, &setting.config, &environment)
}

fn views(session: &Session) -> Result<Views, Failure> {
    session
        .views()
        .map_err(|error| session.views_failure(&error))
}

fn on_log(
    setting: &Setting<'_>,
    session: &Session,
    views: Views,
    credentials: Credentials,
    credentials_of: BTreeMap<Alias, Credentials>,
    further: Vec<Secret>,
) -> Result<OnLog, Failure> {
    let who = session.who()?;
    let actor = Actor {
        id: who.id,
        names: who.names,
    };
    let world = World {
        log: Arc::clone(session.log()),
        views,
        ids: Arc::clone(session.ids()),
        actor,
        instance: session.instance()?,
        run: session.run_folder(),
    };
    Ok(world.acting(setting, credentials, credentials_of, further))
}

/// The acting room where there is no log: it knows what the configuration says, in memory alone.
#[derive(Debug)]
pub(super) struct Nothing {
    pub(super) missive: Missive<MemoryLog>,
    /// The run that `missive` names; gone with it.
    _run: tempfile::TempDir,
}

impl Nothing {
    pub(super) fn of(setting: &Setting<'_>) -> Result<Self, Failure> {
        let io = |error: &std::io::Error| Failure::io("no temporary folder can be made", error);
        let run = tempfile::tempdir().map_err(|error| io(&error))?;
        let ids = Arc::new(Ids::from_system());
        let log = MemoryLog::new(Arc::clone(&ids));
        let log = Arc::new(log.map_err(|error| Failure::from_error(Exit::Internal, &error))?);
        let head = *log.head().borrow();
        let host = ViewsHost::in_memory(head.log, source_of(Arc::clone(&log)));
        let instance = Instance::begin(run.path(), &ids).map_err(|error| io(&error))?;
        let world = World {
            log,
            views: Views::hosted(Arc::new(host), head.seq),
            actor: Actor {
                id: ids.actor(),
                names: String::new(),
            },
            ids,
            instance: Arc::new(instance),
            run: run.path().to_owned(),
        };
        Ok(Self {
            missive: world.acting(setting, Credentials::default(), BTreeMap::new(), Vec::new()),
            _run: run,
        })
    }
}

/// What differs between a log on disk and one in memory.
struct World<L> {
    log: Arc<L>,
    views: Views,
    ids: Arc<Ids>,
    actor: Actor,
    instance: Arc<Instance>,
    run: PathBuf,
}

impl<L: Log> World<L> {
    fn acting(
        self,
        setting: &Setting<'_>,
        credentials: Credentials,
        credentials_of: BTreeMap<Alias, Credentials>,
        mut further: Vec<Secret>,
    ) -> Missive<L> {
        further.extend(secrets(setting));
        let globals = setting.globals;
        let pairs = globals.service_param.iter();
        Missive::new(Parts {
            log: self.log,
            views: self.views,
            ids: self.ids,
            config: Arc::new(setting.config.clone()),
            profile: setting.profile.clone(),
            actor: self.actor,
            instance: self.instance,
            run: self.run,
            origin: Origin::Cli,
            requests: Requests {
                protocol_version: globals.protocol_version.clone(),
                extensions: globals.a2a_extension.clone(),
                service_params: pairs
                    .map(|pair| (pair.key.clone(), pair.value.clone()))
                    .collect(),
                timeout: globals.timeout,
                trace: setting.trace.clone(),
            },
            credentials,
            credentials_of,
            further_secrets: further,
        })
    }
}

/// The user's wish to end, while something is under way on the other side.
#[derive(Debug)]
pub(super) struct Wish(Interrupt);

impl Wish {
    /// From here on the first signal no longer ends the process by itself.
    pub(super) fn listen() -> Result<Self, Failure> {
        Interrupt::listen()
            .map(Self)
            .map_err(|error| Failure::io("signals cannot be awaited", &error))
    }

    /// The same for the acting room.
    pub(super) fn interrupt(&self) -> missive_commands::Interrupt {
        let mut signals = self.0.clone();
        missive_commands::Interrupt::when(async move {
            signals.came().await;
        })
    }

    /// The same, or that nobody reads standard output any more.
    pub(super) fn interrupt_or(
        &self,
        gone: impl Future<Output = ()> + Send + 'static,
    ) -> missive_commands::Interrupt {
        let mut signals = self.0.clone();
        missive_commands::Interrupt::when(async move {
            tokio::select! {
                biased;
                _ = signals.came() => {}
                () = gone => {}
            }
        })
    }

    /// Whether a command was ended by the reader of standard output, who went away.
    pub(super) fn is_unread(&self, exit: Exit) -> bool {
        exit == Exit::Interrupted && self.0.has_come().is_none()
    }

    /// How a command ends that was ended by a signal: the acting room does not know which one.
    pub(super) fn ending(&self) -> Exit {
        self.0.has_come().unwrap_or(Exit::Interrupted)
    }

    /// How a command ends.
    pub(super) fn exit(&self, exit: Exit) -> Exit {
        if exit == Exit::Interrupted {
            return self.ending();
        }
        exit
    }
}

/// A line on stderr while an agent is waited for.
pub(super) fn progress(output: &Output, doing: &str) -> Progress {
    let style = output.style();
    Progress::start(style.terminal_errors && !style.quiet, doing)
}

/// What the user should know although the command went on.
pub(super) fn notes<L: Log>(missive: &Missive<L>, output: &Output) {
    for note in missive.take_notes() {
        if note.breaks_a2a() {
            output.saw_violation();
        }
        output.note(&format!("note: {note}"));
    }
}

/// Says what came of it, with the notes in front.
pub(super) fn concluded<L: Log, T>(
    missive: &Missive<L>,
    output: &Output,
    told: &Told<'_>,
    done: Result<T, CommandError>,
) -> Result<T, Failure> {
    notes(missive, output);
    done.map_err(|error| told.failure(error))
}
