//! What the user is told when the log or its views do not do what they should.
//!
//! One place decides exit codes and hints for everything that comes from below: 74 what the disk refuses,
//! 75 what somebody holds, 78 what is not ours to use, 79 what does not verify.

use super::{Home, shown};
use crate::failure::Failure;
use missive_commands::Exit;
use missive_log::backend::StationError;
use missive_log::backend::lock;
use missive_log::backend::station::CompanionError;
use missive_log::contract::IntegrityFault;
use missive_log::{AppendError, ReadError};
use missive_projections::ViewsError;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::path::Path;

const REPEAT: &str = "the event log itself is not affected; run the command again";

/// A file or folder of ours that cannot be used.
pub(crate) fn io(path: &Path, error: &io::Error) -> Failure {
    let what = format!("`{}` cannot be used", shown(path));
    hinted(Failure::io(what, error).detail("state"), error)
}

/// What to do about an error of the file system.
fn hinted(failure: Failure, error: &io::Error) -> Failure {
    let kind = error.kind();
    if matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
        return failure.hint(
            "the disk is full: free some space and run the command again; what was recorded is not lost",
        );
    }
    if kind == ErrorKind::ReadOnlyFilesystem {
        return failure.hint(
            "the file system is read-only, and missive takes a lock even to read: mount it writable, or \
             copy the folder and set MISSIVE_HOME to the copy",
        );
    }
    if kind == ErrorKind::Other && error.to_string() == lock::LOST {
        return failure.hint(
            "nothing was written, and nothing is lost: end the missive that runs on this home, such as `missive \
             webhook run`, and run the command again. The lock file is never in the way: leave it where it is",
        );
    }
    if kind == ErrorKind::PermissionDenied {
        return failure.hint("set MISSIVE_HOME to a folder that you can read and write");
    }
    failure
}

/// The error of the operating system under another one.
fn io_under<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<io::Error>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

fn told_io(home: &Home, message: &str, error: &(dyn Error + 'static)) -> Failure {
    let failure = Failure::new(
        Exit::Io,
        format!("{message} (`{}`)", shown(&home.profile.log())),
    )
    .detail("log")
    .caused_by(Some(error));
    match io_under(error) {
        Some(error) => hinted(failure, error),
        None => failure,
    }
}

/// The log does not verify.
pub(crate) fn integrity(home: &Home, message: &str, fault: &IntegrityFault) -> Failure {
    let failure = Failure::new(Exit::Integrity, message)
        .detail(detail(fault))
        .caused_by(Some(fault));
    if let IntegrityFault::Gone { witnessed } = fault {
        let log = shown(&home.profile.log());
        let mut left = vec![home.profile.log(), home.profile.views()];
        let mut reaches = String::new();
        if let Some(head) = witnessed {
            left.push(home.profile.witness().join(head.log.to_string()));
            reaches = format!(" that reaches event {}", head.seq);
        }
        left.retain(|path| path.exists());
        let left: Vec<String> = left
            .iter()
            .map(|path| format!("`{}`", shown(path)))
            .collect();
        return failure
            .hint(format!("restore `{log}` from a backup{reaches}"))
            .hint(format!(
                "if it is lost for good, move what is left of it away ({}): the next command begins a new log",
                left.join(", ")
            ));
    }
    failure
        .hint("`missive events verify` says how far the log still holds")
        .hint("restore the log from a backup, or accept the loss for good with `missive log re-anchor --reason TEXT`")
}

/// A log whose store does not even open.
fn closed(home: &Home, fault: &IntegrityFault) -> Failure {
    if let IntegrityFault::Gone { .. } = fault {
        return integrity(home, "the log is gone", fault);
    }
    Failure::new(Exit::Integrity, "the log does not open")
        .detail(detail(fault))
        .caused_by(Some(fault))
        .hint(format!(
            "restore `{}` from a backup; an export that you kept still proves what it holds",
            shown(&home.profile.log())
        ))
        .hint(format!(
            "journals as they were before the last open are in `{}`, if there are any",
            shown(&home.profile.log().join("kept"))
        ))
}

fn detail(fault: &IntegrityFault) -> &'static str {
    match fault {
        IntegrityFault::Chain(_) => "chain",
        IntegrityFault::Shorter { .. } => "shorter",
        IntegrityFault::OtherLink { .. } => "other_link",
        IntegrityFault::OtherLog { .. } => "other_log",
        IntegrityFault::Gone { .. } => "gone",
        IntegrityFault::Unreadable { .. } => "unreadable",
        IntegrityFault::Thread { .. } => "thread",
        IntegrityFault::Time { .. } => "time",
        IntegrityFault::PayloadMissing { .. } => "payload_missing",
        IntegrityFault::PayloadChanged { .. } => "payload_changed",
        IntegrityFault::Store { .. } => "store",
    }
}

fn busy(home: &Home, message: String) -> Failure {
    Failure::new(Exit::Busy, message)
        .detail("log")
        .hint(format!(
            "another missive holds `{}` and does not answer: end it, or wait and run the command again",
            shown(&home.profile.log())
        ))
}

fn newer(message: String) -> Failure {
    Failure::config(message)
        .detail("newer_format")
        .hint("use the version of missive that wrote it, or another profile with --profile")
}

/// Why there is no log to work with.
pub(crate) fn station(home: &Home, error: StationError) -> Failure {
    let message = error.to_string();
    match error {
        StationError::Busy { .. } => busy(home, message),
        StationError::Integrity(fault) => closed(home, &fault),
        StationError::NewerFormat { .. } => newer(message),
        StationError::FileSystem { .. } => Failure::config(message)
            .detail("file_system")
            .hint("set MISSIVE_HOME to a folder on a local disk"),
        StationError::Mismatch(_) => Failure::new(Exit::Busy, message)
            .detail("other_version")
            .hint("end the other missive on this profile, or use the same version"),
        StationError::Io(error) => told_io(home, &message, &*error),
        StationError::Store(error) => told_io(home, &message, &*error),
        StationError::Closed => Failure::new(Exit::Io, message).detail("log"),
    }
}

/// Why nothing was appended.
pub(crate) fn append(home: &Home, error: AppendError) -> Failure {
    let message = error.to_string();
    match error {
        AppendError::Integrity(fault) => integrity(
            home,
            "the log does not verify, so nothing is recorded",
            &fault,
        ),
        AppendError::NewerFormat { .. } => newer(message),
        AppendError::Busy { .. } | AppendError::HostLost => busy(home, message),
        AppendError::Conflict { .. } => Failure::new(Exit::Busy, message)
            .detail("conflict")
            .hint("run the command again"),
        AppendError::Empty => Failure::new(Exit::Internal, message),
        AppendError::TooLarge { .. } | AppendError::Encode(_) => {
            Failure::from_error(Exit::Data, &error).detail("too_large")
        }
        AppendError::Io(error) | AppendError::Poisoned(Some(error)) => {
            told_io(home, &message, &*error)
        }
        AppendError::Poisoned(None) => Failure::new(Exit::Io, message).detail("log"),
        AppendError::Store(error) => told_io(home, &message, &*error),
    }
}

/// Why nothing could be read.
pub(crate) fn read(home: &Home, error: ReadError) -> Failure {
    let message = error.to_string();
    match error {
        ReadError::Integrity(fault) => integrity(home, "the log does not verify", &fault),
        ReadError::Store(source) => {
            let what = source.to_string();
            integrity(home, &message, &IntegrityFault::Store { what })
        }
        ReadError::Io(error) => told_io(home, &message, &*error),
        ReadError::HostLost | ReadError::Busy => busy(home, message),
    }
}

/// Why the views gave no answer.
pub(crate) fn views(home: &Home, error: &ViewsError) -> Failure {
    if let ViewsError::Log(inner) = error {
        let failure = match &**inner {
            ReadError::Integrity(fault) => integrity(home, "the log does not verify", fault),
            ReadError::Store(source) => {
                let what = source.to_string();
                integrity(
                    home,
                    "the log's store is damaged",
                    &IntegrityFault::Store { what },
                )
            }
            other @ (ReadError::Io(_) | ReadError::HostLost | ReadError::Busy) => {
                told_io(home, &error.to_string(), other)
            }
        };
        return failure;
    }
    let failure = Failure::from_error(Exit::Io, error).detail("views");
    match io_under(error) {
        Some(error) => hinted(failure, error),
        None => failure.hint(format!(
            "{REPEAT}, or fold the views again with `missive projection rebuild`"
        )),
    }
}

/// Why whoever hosts the log gave no answer beside it.
pub(super) fn companion(error: &CompanionError) -> Failure {
    Failure::from_error(Exit::Busy, error)
        .detail("log")
        .hint("run the command again")
}
