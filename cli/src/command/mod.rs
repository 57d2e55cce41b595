//! What every subcommand does: arguments to Command, Command to Report.

pub(crate) mod completion;

use crate::args::{Cli, Command};
use crate::config;
use crate::environment::Environment;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::render::Output;
use crate::seams::{self, Seams};

/// Runs one command to its end.
pub(crate) fn run(cli: &Cli, output: &mut Output) -> Result<ExitCode, Failure> {
    if let Command::Completion(completion) = &cli.command {
        output.bytes_blocking(completion::script(completion.shell))?;
        return Ok(ExitCode::Done);
    }
    let environment = Environment::of_process();
    if Seams::of(&environment)?.are_open() {
        output.warn(seams::WARNING);
    }
    let loaded = config::load(&cli.globals, &environment)?;
    output.configure(loaded.config.output);
    tracing::debug!(file = ?loaded.file, "configuration read");
    Err(Failure::new(
        ExitCode::Internal,
        "this command is not connected to the log yet",
    ))
}
