//! The environment variables of this run, read one by one and only when they are needed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Looks variables up; a test passes its own.
#[derive(Clone, Copy)]
pub(crate) struct Environment<'a>(&'a dyn Fn(&str) -> Option<OsString>);

impl<'a> Environment<'a> {
    /// Variables that come from somewhere else than the process.
    pub(crate) fn from_lookup(lookup: &'a dyn Fn(&str) -> Option<OsString>) -> Self {
        Self(lookup)
    }

    /// The value of a variable; an empty one counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// Whether a variable is set to `1`.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value == "1")
    }

    /// A folder of the XDG base directory specification: the variable if it is absolute, else the
    /// default below the home folder.
    pub(crate) fn xdg(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let set = self
            .get(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        set.or_else(|| {
            let home = self
                .get("HOME")
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())?;
            Some(home.join(below_home))
        })
        .map(|path| path.join("missive"))
    }
}

impl Environment<'static> {
    /// The variables of the process.
    pub(crate) fn of_process() -> Self {
        Self(&|name| std::env::var_os(name))
    }
}

impl std::fmt::Debug for Environment<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment(..)")
    }
}

/// The name under which a path is shown: relative to the working folder where that is shorter.
pub(crate) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let relative = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    match relative {
        Some(relative) if !relative.as_os_str().is_empty() => relative.display().to_string(),
        Some(_) | None => path.display().to_string(),
    }
}
