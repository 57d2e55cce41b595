//! Who acts: a random identifier that is kept in the profile's folder, and the names behind it.

use super::failure;
use crate::failure::Failure;
use crate::state::{Profile, private_file};
use missive_log::Ids;
use missive_log::event::ActorId;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

/// Longer names of users and hosts are cut.
const NAME_CHARS_MAX: usize = 128;

/// Somebody who acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Who {
    /// What events name.
    pub(crate) id: ActorId,
    /// Names of user and host.
    pub(crate) names: String,
}

impl Who {
    /// The one of reproducible runs.
    pub(super) fn of_test(id: ActorId) -> Self {
        Self {
            id,
            names: "test@test".to_owned(),
        }
    }

    /// The one of this profile, who is made up if there is none yet.
    pub(super) fn of_folder(profile: &Profile, ids: &Ids) -> Result<Self, Failure> {
        let path = profile.actor();
        let kept = keep(&path, ids).map_err(|error| failure::io(&path, &error))?;
        let id = kept.trim_end().parse().map_err(|_| {
            Failure::config(format!(
                "`{}` does not hold an actor's id",
                super::shown(&path)
            ))
            .detail("actor")
            .hint("move the file away: a new actor is made up, and past events keep theirs")
        })?;
        Ok(Self { id, names: names() })
    }
}

/// The text of the file, which appears whole or not at all, and once.
fn keep(path: &Path, ids: &Ids) -> io::Result<String> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    let id = ids.actor();
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = private_file(&beside)?;
    writeln!(file, "{id}")?;
    file.sync_all()?;
    let linked = fs::hard_link(&beside, path);
    fs::remove_file(&beside)?;
    match linked {
        // Another process was quicker: the actor is theirs.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => read(path),
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(256).read_to_string(&mut text)?;
    Ok(text)
}

/// `user@host`, as far as the system says.
fn names() -> String {
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let user = variable("USER").or_else(|| variable("LOGNAME"));
    let host = fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| variable("HOSTNAME"));
    let named = |name: Option<String>| -> String {
        let name = name.unwrap_or_else(|| "unknown".to_owned());
        let letters = name.trim().chars().filter(|letter| !letter.is_control());
        letters.take(NAME_CHARS_MAX).collect()
    };
    format!("{}@{}", named(user), named(host))
}

#[cfg(test)]
mod tests {
    use super::keep;
    use missive_log::Ids;

    #[test]
    fn an_actor_is_made_up_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("actor");
        let ids = Ids::from_system();

        let first = keep(&path, &ids).unwrap();

        assert_eq!(keep(&path, &ids).unwrap(), first);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
