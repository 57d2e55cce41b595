//! Profiles that are named for the first time.
//!
//! A profile needs no making: what records something makes it, and says so. What only reads refuses a
//! name that nothing is known of, since "no events" would be a statement about somebody's log.

use super::Setting;
use crate::args::agent::Agent;
use crate::args::context::Context;
use crate::args::group::Group;
use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::suggest;
use missive_commands::Exit;

/// Whether `--profile` names a profile that neither the disk nor the configuration knows.
pub(super) fn is_new(setting: &Setting<'_>) -> bool {
    let home = &setting.home;
    setting.globals.profile.is_some()
        && !setting.config.profiles.contains_key(&setting.profile)
        && matches!(home.profile.exists(), Ok(false))
        // A log that is gone is missed, and not new.
        && matches!(home.log_folder().lost(), Ok(None))
}

/// Refuses to read the log of a profile that is not there.
pub(super) fn check(cli: &Cli, setting: &Setting<'_>) -> Result<(), Failure> {
    let reads = match &cli.command {
        Command::Events(_)
        | Command::Log(_)
        | Command::Projection(_)
        | Command::Task(_)
        | Command::Logs(_)
        | Command::Route(_)
        | Command::Group(
            Group::List
            | Group::Show(_)
            | Group::Add(_)
            | Group::Remove(_)
            | Group::Rename(_)
            | Group::Delete(_)
            | Group::Capabilities(_),
        )
        | Command::Context(
            Context::List
            | Context::Show(_)
            | Context::Fork(_)
            | Context::Close(_)
            | Context::Export(_),
        )
        | Command::Retry(_)
        | Command::Bcast(_)
        | Command::Barrier(_)
        | Command::Gather(_)
        | Command::Reduce(_)
        | Command::Agent(Agent::List | Agent::Show(_)) => true,
        Command::Agent(
            Agent::Add(_)
            | Agent::Inspect(_)
            | Agent::Refresh(_)
            | Agent::Capabilities(_)
            | Agent::Pin(_)
            | Agent::Rename(_)
            | Agent::Remove(_),
        )
        | Command::Context(Context::Create(_))
        | Command::Group(Group::Create(_))
        | Command::Send(_)
        | Command::Stream(_)
        | Command::Push(_)
        | Command::Webhook(_)
        | Command::Doctor(_)
        | Command::Demo(_)
        | Command::Manpage(_)
        | Command::Completion(_) => false,
    };
    if !reads || !is_new(setting) {
        return Ok(());
    }
    let mut known = setting.home.profile.known();
    known.extend(setting.config.profiles.keys().cloned());
    known.sort();
    known.dedup();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let what = format!("there is no profile `{}`", setting.profile);
    let hint = suggest::hint(&setting.profile, "profile", &known);
    Err(Failure::new(Exit::NotFound, what)
        .detail("profile")
        .hint(hint.unwrap_or_else(|| "nothing was recorded here yet".to_owned())))
}
