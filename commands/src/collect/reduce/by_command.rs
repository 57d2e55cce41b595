//! A reduction that a command makes of a prompt.

use missive_log::Log;
use missive_log::event::facts::ReduceFailure;

use super::made::Made;
use super::{Outcome, Unmade};
use crate::effect::local::{Ran, RanEnd, run};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::run::Missive;
use crate::wire::text::cut_at;

/// How much of what a command complained about is told, in bytes.
const SAID_BYTES_MAX: usize = 400;

/// Why a command made nothing.
struct Nothing {
    failure: ReduceFailure,
    code: Option<u8>,
    why: String,
    exit: Exit,
}

impl<L: Log> Missive<L> {
    /// Has a command make it, within the time that the user gives, else within the idle timeout.
    pub(super) async fn by_command(
        &self,
        (program, arguments, withheld): (&str, &[String], &[String]),
        made: &Made<'_>,
        prompt: &str,
        interrupt: &mut Interrupt,
    ) -> Result<Outcome, Unmade> {
        let limit = match self.deadline() {
            Some(deadline) => deadline.left(),
            None => self.qos().idle_timeout,
        };
        let bytes_max = self.calls().settings().response_bytes_max;
        let bounds = (limit, bytes_max);
        let Ran {
            output,
            errors,
            end,
        } = run(
            program,
            arguments,
            withheld,
            prompt.as_bytes(),
            bounds,
            interrupt,
        )
        .await;
        let nothing = match text_of(output, end, program, bytes_max) {
            // What is shown is what is recorded.
            Ok(text) => return Ok(Outcome::of(self.redactor().clean(&text))),
            Err(nothing) => nothing,
        };
        let errors = String::from_utf8_lossy(&errors).into_owned();
        let said = errors.trim();
        let said = said.get(..cut_at(said, SAID_BYTES_MAX)).unwrap_or_default();
        let why = if said.is_empty() {
            nothing.why
        } else {
            format!("{}: {said}", nothing.why)
        };
        Err(Unmade {
            failure: nothing.failure,
            exit: nothing.code,
            asked: None,
            error: Failure::Reducer {
                operation: made.operation.clone(),
                why: self.redactor().clean(&why),
                exit: nothing.exit,
            }
            .into(),
            said: errors,
        })
    }
}

fn text_of(
    output: Vec<u8>,
    end: RanEnd,
    program: &str,
    bytes_max: usize,
) -> Result<String, Nothing> {
    let nothing = |failure, why: String, exit| Nothing {
        failure,
        code: None,
        why,
        exit,
    };
    Err(match end {
        RanEnd::Exited(0) => {
            return String::from_utf8(output).map_err(|_| {
                let why = "the command wrote something that is not UTF-8".to_owned();
                nothing(ReduceFailure::NotText, why, Exit::Data)
            });
        }
        RanEnd::Exited(code) => {
            let why = format!("the command ended with {code}");
            Nothing {
                code: Some(code),
                ..nothing(ReduceFailure::ExitCode, why, Exit::TaskFailed)
            }
        }
        RanEnd::Signal(signal) => {
            let why = format!("the command was ended by signal {signal}");
            nothing(ReduceFailure::Signal, why, Exit::TaskFailed)
        }
        RanEnd::Timeout => {
            let why = "the command did not end in time".to_owned();
            nothing(ReduceFailure::Timeout, why, Exit::Timeout)
        }
        RanEnd::TooLarge => {
            let why = format!("the command wrote more than {bytes_max} bytes");
            nothing(ReduceFailure::TooLarge, why, Exit::Data)
        }
        RanEnd::Interrupted => {
            let why = "interrupted; the command was ended".to_owned();
            nothing(ReduceFailure::Interrupted, why, Exit::Interrupted)
        }
        RanEnd::NotStarted(error) => {
            let why = format!("the command `{program}` cannot be started: {error}");
            nothing(ReduceFailure::NotStarted, why, Exit::Io)
        }
    })
}
