//! A panic is a bug: it is told in one line with how to report it, and ends with exit code 70.

use crate::failure::Failure;
use crate::render::{self, Mode};
use missive_commands::Exit;
use missive_log::backend::fjall::opens_a_store;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by the hook on whatever thread panics, so that a bug in the background also counts.
static HAPPENED: AtomicBool = AtomicBool::new(false);

/// Runs the program; any panic, on any thread, ends it with 70.
pub(crate) fn guard(mode: Mode, program: impl FnOnce() -> Exit) -> Exit {
    std::panic::set_hook(Box::new(move |panic| {
        // Some damage makes the store below panic instead of reporting it; the log reports it as damage.
        if opens_a_store() {
            return;
        }
        HAPPENED.store(true, Ordering::SeqCst);
        render::output::to_stderr(&render::failure(&told(panic), mode, 0, false));
    }));
    let ended = catch_unwind(AssertUnwindSafe(program));
    match ended {
        Ok(code) if !HAPPENED.load(Ordering::SeqCst) => code,
        Ok(_) | Err(_) => Exit::Internal,
    }
}

fn told(panic: &PanicHookInfo<'_>) -> Failure {
    let payload = panic.payload();
    let what = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("something impossible happened");
    let place = panic
        .location()
        .map(|at| format!(" ({}:{})", at.file(), at.line()));
    Failure::new(
        Exit::Internal,
        format!("a bug: {what}{}", place.unwrap_or_default()),
    )
    .detail("panic")
    .hint(format!(
        "please report this line, with the command and version {}, at {}",
        env!("CARGO_PKG_VERSION"),
        env!("CARGO_PKG_REPOSITORY")
    ))
}

#[cfg(test)]
mod tests {
    use super::guard;
    use crate::render::Mode;
    use missive_commands::Exit;

    #[test]
    fn a_panic_ends_with_70() {
        let code = guard(Mode::Human, || panic!("a test of the panic hook"));
        drop(std::panic::take_hook());

        assert_eq!(code, Exit::Internal);
    }
}
