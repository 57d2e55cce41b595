//! `missive events`: reading the record.

mod chosen;
mod diff;
mod export;
mod kinds;
mod list;
mod replay;
mod show;
mod shown;
mod stats;
mod tail;
mod verify;

pub(super) use chosen::{Indexed, picked};
pub(super) use export::{count, write_out};
pub(super) use shown::{Payloads, held};
pub(super) use verify::{check, fault_of, known};

use super::Setting;
use crate::args::events::Events;
use crate::failure::Failure;
use crate::render::Output;
use missive_commands::Exit;
use missive_log::ReadError;

pub(super) async fn run(
    command: &Events,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match command {
        Events::List(command) => list::run(command, setting, output).await,
        Events::Show(command) => show::run(command, setting, output).await,
        Events::Tail(command) => tail::run(command, setting, output).await,
        Events::Export(command) => export::run(command, setting, output).await,
        Events::Verify(command) => verify::run(command, setting, output).await,
        Events::Replay(command) => replay::run(command, setting, output).await,
        Events::Diff(command) => diff::run(command, setting, output).await,
        Events::Stats(filter) => stats::run(filter, setting, output).await,
    }
}

/// Whether a read failed because of damage, so that reading around it may help.
fn is_damage(error: &ReadError) -> bool {
    match error {
        ReadError::Integrity(_) | ReadError::Store(_) => true,
        ReadError::Io(_) | ReadError::HostLost | ReadError::Busy => false,
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
