//! Where a reading command looks from: now, or as of `--at`.
//!
//! A command that reads asks here for its views and says what it is going to read; everything else is the same
//! at any moment. What depends on the configuration is as it is configured now: the log does not hold it.

use super::Setting;
use crate::args::agent::Agent;
use crate::args::context::Context;
use crate::args::events::{Events, Projection};
use crate::args::global::Globals;
use crate::args::group::Group;
use crate::args::route::Route;
use crate::args::task::{Artifact, Task};
use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Output, Progress};
use missive_commands::Exit;
use missive_commands::contexts::find_context;
use missive_log::Log as _;
use missive_log::event::{ContextId, Seq};
use missive_projections::{At, Records, Scope, Views};

/// What is told where it takes long.
pub(super) const BACK: &str = "going back to that moment";

/// Refuses `--at` where something is done, or asked of somebody, who can only be asked now.
pub(super) fn check(cli: &Cli) -> Result<(), Failure> {
    if cli.globals.at.is_none() || looks_back(&cli.command) {
        return Ok(());
    }
    let failure =
        Failure::usage("--at reads what was known at an earlier moment, and this acts now");
    let hint = match &cli.command {
        Command::Events(Events::Diff(_)) => "--from and --to are the two moments",
        Command::Events(_) => "`--until TIME` leaves out later events",
        Command::Agent(_) | Command::Task(_) | Command::Group(_) | Command::Route(_) => {
            "leave out --remote, --refresh and --extended: nobody can be asked about the past"
        }
        Command::Gather(_) => "leave out --output-dir and --record: what they do is noted now",
        Command::Context(_)
        | Command::Send(_)
        | Command::Stream(_)
        | Command::Bcast(_)
        | Command::Barrier(_)
        | Command::Reduce(_)
        | Command::Retry(_)
        | Command::Push(_)
        | Command::Webhook(_)
        | Command::Projection(_)
        | Command::Log(_)
        | Command::Doctor(_)
        | Command::Demo(_)
        | Command::Logs(_)
        | Command::Manpage(_)
        | Command::Completion(_) => {
            "it goes with `agent`, `group`, `task` and `context` where they read, `gather`, `route explain`, `reduce show`, `events stats` and \
             `projection list`"
        }
    };
    Err(failure.detail("at").hint(hint))
}

/// Says of what was not there at an earlier moment that it may be there now.
pub(super) fn told(failure: Failure, globals: &Globals) -> Failure {
    let is_about_the_moment = failure.code() == "missive::not_found::moment";
    if globals.at.is_none() || failure.exit() != Exit::NotFound || is_about_the_moment {
        return failure;
    }
    failure.hint("that is as of --at; without it, it is looked for as of now")
}

/// Whether a command only reads what is on record.
fn looks_back(command: &Command) -> bool {
    match command {
        Command::Agent(Agent::Inspect(command)) => !command.refresh && !command.extended,
        Command::Agent(Agent::Capabilities(command)) => !command.refresh,
        Command::Group(Group::Capabilities(command)) => !command.refresh,
        Command::Route(Route::Explain(command)) => !command.needs.refresh_capabilities,
        Command::Gather(command) => command.output_dir.is_none() && !command.record,
        Command::Reduce(command) => command.look.is_some(),
        Command::Task(Task::Get(command)) => !command.remote,
        Command::Task(Task::List(command)) => !command.remote,
        Command::Agent(Agent::List | Agent::Show(_))
        | Command::Task(Task::Artifact(Artifact::List(_) | Artifact::Show(_)))
        | Command::Context(Context::List | Context::Show(_))
        | Command::Group(Group::List | Group::Show(_))
        | Command::Events(Events::Stats(_))
        | Command::Projection(Projection::List) => true,
        Command::Agent(
            Agent::Add(_) | Agent::Refresh(_) | Agent::Pin(_) | Agent::Rename(_) | Agent::Remove(_),
        )
        | Command::Task(
            Task::Wait(_)
            | Task::Subscribe(_)
            | Task::Cancel(_)
            | Task::Artifact(Artifact::Save(_) | Artifact::Export(_)),
        )
        | Command::Context(
            Context::Create(_) | Context::Fork(_) | Context::Close(_) | Context::Export(_),
        )
        | Command::Group(
            Group::Create(_)
            | Group::Add(_)
            | Group::Remove(_)
            | Group::Rename(_)
            | Group::Delete(_),
        )
        | Command::Events(
            Events::List(_)
            | Events::Show(_)
            | Events::Tail(_)
            | Events::Export(_)
            | Events::Replay(_)
            | Events::Diff(_)
            | Events::Verify(_),
        )
        | Command::Projection(Projection::Verify | Projection::Rebuild)
        | Command::Send(_)
        | Command::Stream(_)
        | Command::Bcast(_)
        | Command::Barrier(_)
        | Command::Retry(_)
        | Command::Push(_)
        | Command::Webhook(_)
        | Command::Log(_)
        | Command::Doctor(_)
        | Command::Demo(_)
        | Command::Logs(_)
        | Command::Manpage(_)
        | Command::Completion(_) => false,
    }
}

/// The views that a command reads, as far as `scope` goes. From here on every result names the position, if
/// `--at` gave one.
pub(super) fn views(
    setting: &Setting<'_>,
    session: &Session,
    scope: &Scope,
    output: &mut Output,
) -> Result<Views, Failure> {
    let (views, _) = look(setting, session, scope, output)?;
    if setting.globals.at.is_some() {
        output.stand_at(views.least().0);
    }
    Ok(views)
}

/// The same for a result that names its position itself: the place of `--at`, or the newest one.
pub(super) fn look(
    setting: &Setting<'_>,
    session: &Session,
    scope: &Scope,
    output: &Output,
) -> Result<(Views, Seq), Failure> {
    let live = session
        .views()
        .map_err(|error| session.views_failure(&error))?;
    let Some(place) = place(setting, session)? else {
        let newest = live.least();
        return Ok((live, newest));
    };
    let records = records(session);
    let progress = output.progress(BACK);
    let views = live.at(place, scope, &records, &mut back(&progress, place));
    drop(progress);
    let views = views.map_err(|error| session.views_failure(&error))?;
    Ok((views, place))
}

/// What is told of a fold of the whole log up to a place.
pub(super) fn back(progress: &Progress, place: Seq) -> impl FnMut(Seq) {
    let mut said = 0;
    move |seen| {
        let percent = seen.0.saturating_mul(100) / place.0.max(1);
        if percent != said {
            said = percent;
            progress.say(&format!("{BACK}: {percent} %"));
        }
    }
}

/// The place that `--at` means.
pub(super) fn place(setting: &Setting<'_>, session: &Session) -> Result<Option<Seq>, Failure> {
    setting
        .globals
        .at
        .map(|at| place_of(at, "--at", session))
        .transpose()
}

/// The place that a moment means, which a flag gave.
pub(super) fn place_of(at: At, flag: &str, session: &Session) -> Result<Seq, Failure> {
    let found = session.views().and_then(|views| views.place_of(at));
    let found = found.map_err(|error| session.views_failure(&error))?;
    found.ok_or_else(|| {
        let head = session.head().seq;
        let what = match at {
            At::Place(place) if place > head => {
                format!("{flag} names event {place}, and the newest is {head}")
            }
            At::Place(_) => format!("{flag} names a place before the first event"),
            At::Time(moment) => format!("{flag} names {moment}, and the first event came later"),
        };
        Failure::new(Exit::NotFound, what)
            .detail("moment")
            .hint("`missive events list` shows the place and the time of each event")
    })
}

/// The records of the log, for looks at earlier moments.
pub(super) fn records(session: &Session) -> Records {
    Records::of(std::sync::Arc::clone(session.log()))
}

/// What is read of a context that a person named: names are never given to another context.
pub(super) fn of_context(session: &Session, text: &str) -> Result<Scope, Failure> {
    let known = session.views().and_then(|views| find_context(&views, text));
    let known = known.map_err(|error| session.views_failure(&error))?;
    let context = match known {
        Some(known) => known.context,
        None => ContextId::new(text).map_err(|_| {
            Failure::new(Exit::NotFound, format!("no context is called {text}")).detail("context")
        })?,
    };
    Ok(Scope::Context(context))
}

/// Says for people which moment they look at.
pub(super) async fn tell(setting: &Setting<'_>, session: &Session, output: &Output) {
    let Ok(Some(place)) = place(setting, session) else {
        return;
    };
    // The time is an extra: whoever reads the log knows what cannot be read of it.
    let records = session.log().pick(&[place]).await.unwrap_or_default();
    let event = records.first().and_then(|record| record.decode().ok());
    let time = event.map_or_else(String::new, |event| {
        format!(", {}", super::seconds(&event.at.to_string()))
    });
    output.note(&format!("as of event {place}{time}"));
}
