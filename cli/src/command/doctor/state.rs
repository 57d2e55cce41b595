//! What missive stands on: its configuration, its folders, the disk.

use super::{Check, Setting};
use crate::environment::{Environment, shown};
use crate::failure::Failure;
use missive_commands::Exit;
use rustix::fs::{Access, access, statvfs};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Below this, a command may find the disk full while it writes.
const FREE_BYTES_WARN: u64 = 64 << 20;
/// Below this, the log cannot be relied on to take anything.
const FREE_BYTES_FAIL: u64 = 1 << 20;

/// It was read before any check: what is wrong with it ended the command.
pub(super) fn configuration(setting: &Setting<'_>) -> Check {
    let summary = match &setting.file {
        Some(file) => shown(file),
        None => match crate::config::usual(&Environment::of_process()) {
            Ok(usual) => format!("no file at {}; the defaults hold", shown(&usual)),
            Err(_) => "no file; the defaults hold".to_owned(),
        },
    };
    Check::passed("configuration", summary)
        .with(json!({"file": setting.file, "profile": setting.profile}))
}

/// The folders of the profile, and the room that is left for them.
pub(super) fn folders(setting: &Setting<'_>) -> Vec<Check> {
    let log = setting.home.profile.log();
    let folder = log.parent().unwrap_or(&log);
    vec![state(setting, folder), space(folder)]
}

fn state(setting: &Setting<'_>, folder: &Path) -> Check {
    match setting.home.profile.exists() {
        Err(failure) => Check::failed("state", &failure),
        Ok(false) => Check::passed("state", format!("{} is not there yet", shown(folder))),
        Ok(true) => match access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => Check::passed("state", shown(folder)),
            Err(errno) => {
                let failure = crate::open::failure::io(folder, &errno.into());
                Check::failed("state", &failure)
            }
        },
    }
}

fn space(folder: &Path) -> Check {
    let there = nearest(folder);
    let found = match statvfs(&there) {
        Ok(found) => found,
        Err(errno) => {
            return Check::failed("space", &crate::open::failure::io(&there, &errno.into()));
        }
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let summary = format!("{} MiB free", free >> 20);
    let data = json!({"free_bytes": free});
    if free < FREE_BYTES_FAIL {
        let failure = Failure::new(Exit::Io, "the disk is full")
            .hint("free some space; what was recorded is not lost");
        return Check::failed("space", &failure).with(data);
    }
    if free < FREE_BYTES_WARN {
        return Check::warned(
            "space",
            summary,
            "free some space before the log can take no more",
        )
        .with(data);
    }
    Check::passed("space", summary).with(data)
}

/// The folder, or what is there of the path to it.
fn nearest(folder: &Path) -> PathBuf {
    let there = folder.ancestors().find(|path| path.exists());
    there.unwrap_or(Path::new("/")).to_owned()
}
