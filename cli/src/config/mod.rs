//! The configuration file: where it is looked for, and what it may say.
//!
//! The first of these that is there is read, and no other: `--config`, `MISSIVE_CONFIG`, with
//! `MISSIVE_REPO_CONFIG=1` a `missive.toml` or `.missive.toml` in the working folder or above it,
//! and the user's own file. A repository cannot slip its configuration under a user who did not ask
//! for it. Every error names file, line and key, and ends with exit code 78.

mod read;
mod walk;

use crate::args::global::Globals;
use crate::environment::{Environment, shown};
use crate::failure::Failure;
use crate::state::{DEFAULT_PROFILE, Folders};
use missive_commands::Exit;
use missive_commands::config::Config;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// A configuration file is at most this long.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The configuration of this run.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// What holds.
    pub(crate) config: Config,
    /// The file that said so, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// The profile that this run uses.
    pub(crate) profile: String,
}

/// Finds and reads the configuration.
pub(crate) fn load(globals: &Globals, environment: &Environment<'_>) -> Result<Loaded, Failure> {
    let here = || std::env::current_dir().ok();
    let (config, file) = match find(globals, environment, here)? {
        Some(path) => (parse(&path)?, Some(path)),
        None => (Config::default(), None),
    };
    let profile = globals
        .profile
        .clone()
        .or_else(|| config.default_profile.clone())
        .unwrap_or_else(|| DEFAULT_PROFILE.to_owned());
    Ok(Loaded {
        config,
        file,
        profile,
    })
}

/// The file to read. One that was named must be there; the others may be absent.
fn find(
    globals: &Globals,
    environment: &Environment<'_>,
    here: impl FnOnce() -> Option<PathBuf>,
) -> Result<Option<PathBuf>, Failure> {
    if let Some(path) = &globals.config {
        return Ok(Some(path.clone()));
    }
    if let Some(path) = environment.get("MISSIVE_CONFIG") {
        return Ok(Some(path.into()));
    }
    if environment.is_on("MISSIVE_REPO_CONFIG") {
        let here = here().unwrap_or_default();
        for folder in here.ancestors() {
            for name in ["missive.toml", ".missive.toml"] {
                let path = folder.join(name);
                if is_there(&path)? {
                    return Ok(Some(path));
                }
            }
        }
    }
    let path = usual(environment)?;
    Ok(is_there(&path)?.then_some(path))
}

/// Where the user's own file would be.
pub(crate) fn usual(environment: &Environment<'_>) -> Result<PathBuf, Failure> {
    Ok(Folders::of(environment)?.config.join("config.toml"))
}

fn is_there(path: &Path) -> Result<bool, Failure> {
    path.try_exists().map_err(|error| unreadable(path, &error))
}

fn parse(path: &Path) -> Result<Config, Failure> {
    let text = text_of(path)?;
    read::config(&walk::Source {
        name: shown(path),
        text: &text,
        folder: path.parent().map(Path::to_owned).unwrap_or_default(),
    })
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| unreadable(path, &error))?;
    file.take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| unreadable(path, &error))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let what = format!("{} is longer than {FILE_BYTES_MAX} bytes", shown(path));
        return Err(Failure::config(what).detail("file"));
    }
    Ok(text)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::new(Exit::Config, format!("{} cannot be read", shown(path)))
        .detail("file")
        .caused_by(Some(error));
    if error.kind() == ErrorKind::NotFound {
        return failure
            .hint("the file was named with --config or MISSIVE_CONFIG, so it must exist");
    }
    failure
}

#[cfg(test)]
mod tests;
