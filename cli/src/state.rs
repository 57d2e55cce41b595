//! Where missive keeps things, and who may read them.
//!
//! Nothing is created before a command needs it. Folders are 0700 and files 0600, whatever the
//! umask says. A folder that belongs to someone else, that others can write to, or that holds
//! something else than a profile of missive, is refused and left alone.

use crate::environment::Environment;
use crate::failure::Failure;
use missive_commands::Exit;
use std::fs;
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

/// The profile that is used when none is named.
pub(crate) const DEFAULT_PROFILE: &str = "default";

/// Marks a profile folder as ours, and says which layout it has.
const MARK: &str = "FORMAT";
const MARK_TEXT: &str = "missive profile 1\n";
/// Whatever lies there under that name, no more of it is read.
const MARK_BYTES_MAX: u64 = 256;
const MARK_UNFINISHED: &str = "FORMAT.new";

/// The folders of this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    /// Holds `profiles/`.
    pub(crate) data: PathBuf,
    /// Holds `witness/`, which must not lie in a profile.
    pub(crate) state: PathBuf,
    /// Holds `config.toml`.
    pub(crate) config: PathBuf,
    /// The user's folder for sockets whose path would be too long otherwise, if the system has one.
    pub(crate) runtime: Option<PathBuf>,
}

impl Folders {
    /// `MISSIVE_HOME`, or else the XDG folders.
    pub(crate) fn of(environment: &Environment<'_>) -> Result<Self, Failure> {
        let runtime = environment
            .get("XDG_RUNTIME_DIR")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        if let Some(home) = environment.get("MISSIVE_HOME").map(PathBuf::from) {
            if !home.is_absolute() {
                return Err(Failure::config(format!(
                    "MISSIVE_HOME is `{}`, which is not an absolute path",
                    home.display()
                ))
                .detail("home")
                .hint("set it to an absolute path, or unset it"));
            }
            return Ok(Self {
                data: home.clone(),
                state: home.clone(),
                config: home,
                runtime,
            });
        }
        let folder = |variable, below_home| {
            environment.xdg(variable, below_home).ok_or_else(|| {
                Failure::config(format!(
                    "neither MISSIVE_HOME nor {variable} nor HOME is set"
                ))
                .detail("home")
                .hint("set MISSIVE_HOME to an absolute path")
            })
        };
        Ok(Self {
            data: folder("XDG_DATA_HOME", ".local/share")?,
            state: folder("XDG_STATE_HOME", ".local/state")?,
            config: folder("XDG_CONFIG_HOME", ".config")?,
            runtime,
        })
    }

    /// The folders of one profile. Its name was checked where it came in.
    pub(crate) fn profile(&self, name: &str) -> Profile {
        Profile {
            name: name.to_owned(),
            folder: self.data.join("profiles").join(name),
            witness: self.state.join("witness"),
        }
    }
}

/// The folders of one profile; they need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Profile {
    /// The profile's name.
    pub(crate) name: String,
    folder: PathBuf,
    witness: PathBuf,
}

impl Profile {
    /// Where the log lives.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Where the views live: beside the log, and losing them loses only time.
    pub(crate) fn views(&self) -> PathBuf {
        self.folder.join("views")
    }

    /// Who acts in this profile, as a random identifier.
    pub(crate) fn actor(&self) -> PathBuf {
        self.folder.join("actor")
    }

    /// Where running processes leave their locks.
    pub(crate) fn run(&self) -> PathBuf {
        self.folder.join("run")
    }

    /// Where the second copy of every head is kept: outside of the profile.
    pub(crate) fn witness(&self) -> PathBuf {
        self.witness.clone()
    }

    /// Whether there is anything of this profile yet. Creates nothing.
    pub(crate) fn exists(&self) -> Result<bool, Failure> {
        match fs::symlink_metadata(&self.folder) {
            Ok(_) => self.check(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(unreadable(&self.folder, &error)),
        }
    }

    /// The names of all profiles that are there, this one or not.
    pub(crate) fn known(&self) -> Vec<String> {
        let folders = self.folder.parent().map(fs::read_dir);
        let entries = folders.and_then(Result::ok).into_iter().flatten().flatten();
        let marked = entries.filter(|entry| entry.path().join(MARK).is_file());
        let mut names: Vec<String> = marked
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// Makes the profile's folders, if they are not there yet and nothing else is.
    pub(crate) fn create(&self) -> Result<(), Failure> {
        if !self.exists()? {
            create_folder(&self.folder)?;
            // Of several processes that begin at once, one makes the mark and the others find it.
            let _turn = self
                .turn()
                .map_err(|error| uncreatable(&self.folder, &error))?;
            if !self.check()? {
                self.mark()
                    .map_err(|error| uncreatable(&self.folder, &error))?;
            }
        }
        for folder in [self.log(), self.views(), self.run(), self.witness()] {
            create_folder(&folder)?;
            own(&folder)?;
        }
        Ok(())
    }

    /// True for a profile, false for an empty folder of ours, an error for everything else.
    fn check(&self) -> Result<bool, Failure> {
        own(&self.folder)?;
        if self.is_marked()? {
            return Ok(true);
        }
        let entries =
            fs::read_dir(&self.folder).map_err(|error| unreadable(&self.folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&self.folder, &error))?;
            if entry.file_name() != MARK_UNFINISHED {
                // Another process may have made the mark between the two looks.
                return if self.is_marked()? {
                    Ok(true)
                } else {
                    Err(self.not_ours())
                };
            }
        }
        Ok(false)
    }

    fn is_marked(&self) -> Result<bool, Failure> {
        let mark = fs::File::open(self.folder.join(MARK)).and_then(|file| {
            let mut found = Vec::new();
            io::Read::read_to_end(&mut io::Read::take(file, MARK_BYTES_MAX), &mut found)?;
            Ok(found)
        });
        match mark {
            Ok(found) if found == MARK_TEXT.as_bytes() => Ok(true),
            Ok(found) if found.starts_with(b"missive profile ") => Err(Failure::config(format!(
                "the profile in `{}` was written by a newer missive",
                self.folder.display()
            ))
            .detail("newer_format")
            .hint("use that version, or another profile with --profile")),
            Ok(_) => Err(self.not_ours()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(unreadable(&self.folder.join(MARK), &error)),
        }
    }

    /// Waits for the turn to make the mark; it ends with the handle, also when the process dies.
    fn turn(&self) -> io::Result<fs::File> {
        let folder = fs::File::open(&self.folder)?;
        rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive)?;
        Ok(folder)
    }

    /// The mark appears whole or not at all: a process may die at any line.
    fn mark(&self) -> io::Result<()> {
        let unfinished = self.folder.join(MARK_UNFINISHED);
        let mut file = private_file(&unfinished)?;
        io::Write::write_all(&mut file, MARK_TEXT.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, self.folder.join(MARK))?;
        fs::File::open(&self.folder)?.sync_all()
    }

    fn not_ours(&self) -> Failure {
        Failure::config(format!(
            "`{}` holds something that is not a profile of missive",
            self.folder.display()
        ))
        .detail("foreign_folder")
        .hint("set MISSIVE_HOME to another folder, or use another profile with --profile")
    }
}

/// Creates a folder and what is missing above it, all 0700 regardless of the umask.
pub(crate) fn create_folder(folder: &Path) -> Result<(), Failure> {
    let mut missing: Vec<&Path> = Vec::new();
    let mut next = Some(folder);
    while let Some(path) = next.filter(|path| !path.as_os_str().is_empty()) {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => break,
            Ok(_) => {
                return Err(
                    Failure::config(format!("`{}` is not a folder", path.display()))
                        .detail("not_a_folder"),
                );
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(path),
            Err(error) => return Err(unreadable(path, &error)),
        }
        next = path.parent();
    }
    for path in missing.into_iter().rev() {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            // The umask can only take bits away, and even those must be there.
            Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(0o700))
                .map_err(|error| uncreatable(path, &error))?,
            // Another process was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(uncreatable(path, &error)),
        }
    }
    Ok(())
}

/// Creates or empties a file that only its owner can read or write.
pub(crate) fn private_file(path: &Path) -> io::Result<fs::File> {
    let file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default())
        .open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Refuses a folder that belongs to another user, or that others can write to.
fn own(folder: &Path) -> Result<(), Failure> {
    let found = fs::metadata(folder).map_err(|error| unreadable(folder, &error))?;
    let why = if !found.is_dir() {
        "is not a folder"
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        "belongs to another user"
    } else if found.mode() & 0o022 != 0 {
        "can be written to by other users"
    } else {
        return Ok(());
    };
    Err(Failure::config(format!("`{}` {why}", folder.display()))
        .detail("foreign_folder")
        .hint("set MISSIVE_HOME to a folder of your own, with mode 0700"))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::io(format!("`{}` cannot be read", path.display()), error).detail("state")
}

fn uncreatable(path: &Path, error: &io::Error) -> Failure {
    let failure =
        Failure::io(format!("`{}` cannot be created", path.display()), error).detail("state");
    debug_assert_eq!(failure.exit(), Exit::Io);
    if error.kind() == io::ErrorKind::StorageFull {
        return failure.hint("the disk is full: free some space and run the command again");
    }
    failure.hint("set MISSIVE_HOME to a folder that you can write to")
}

#[cfg(test)]
mod tests {
    use super::{Folders, Profile};
    use crate::environment::Environment;
    use missive_commands::Exit;
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::path::Path;

    fn folders(pairs: &[(&str, &str)]) -> Result<Folders, crate::failure::Failure> {
        let lookup = |name: &str| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| OsString::from(value))
        };
        Folders::of(&Environment::from_lookup(&lookup))
    }

    fn profile(home: &Path) -> Profile {
        folders(&[("MISSIVE_HOME", home.to_str().unwrap())])
            .unwrap()
            .profile("default")
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn missive_home_holds_everything_and_must_be_absolute() {
        let found = folders(&[("MISSIVE_HOME", "/h"), ("XDG_DATA_HOME", "/d")]).unwrap();

        let profile = found.profile("work");
        assert_eq!(profile.log(), Path::new("/h/profiles/work/log"));
        assert_eq!(profile.views(), Path::new("/h/profiles/work/views"));
        assert_eq!(profile.witness(), Path::new("/h/witness"));
        assert_eq!(
            folders(&[("MISSIVE_HOME", "h")]).unwrap_err().exit(),
            Exit::Config
        );
    }

    #[test]
    fn without_it_the_xdg_folders_are_used_and_relative_ones_ignored() {
        let found = folders(&[
            ("XDG_DATA_HOME", "/d"),
            ("XDG_STATE_HOME", "x"),
            ("HOME", "/u"),
        ])
        .unwrap();

        assert_eq!(found.data, Path::new("/d/missive"));
        assert_eq!(found.state, Path::new("/u/.local/state/missive"));
        assert_eq!(found.config, Path::new("/u/.config/missive"));
        assert_eq!(folders(&[]).unwrap_err().exit(), Exit::Config);
    }

    #[test]
    fn a_profile_is_made_once_and_only_for_its_owner() {
        let home = tempfile::tempdir().unwrap();
        let profile = profile(&home.path().join("deep").join("home"));
        assert!(!profile.exists().unwrap());
        assert!(!home.path().join("deep").exists());

        profile.create().unwrap();
        profile.create().unwrap();

        assert!(profile.exists().unwrap());
        for folder in [
            profile.log(),
            profile.views(),
            profile.run(),
            profile.witness(),
        ] {
            assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        }
        assert_eq!(mode(&home.path().join("deep")), 0o700);
        assert_eq!(mode(&profile.log().with_file_name("FORMAT")), 0o600);
    }

    #[test]
    fn a_creation_that_died_half_way_is_finished_by_the_next_one() {
        let home = tempfile::tempdir().unwrap();
        let profile = profile(home.path());
        let folder = home.path().join("profiles/default");
        super::create_folder(&folder).unwrap();
        fs::write(folder.join("FORMAT.new"), "miss").unwrap();

        profile.create().unwrap();

        assert!(profile.exists().unwrap());
        assert!(!folder.join("FORMAT.new").exists());
    }

    #[test]
    fn a_folder_with_something_else_in_it_is_refused_and_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let profile = profile(home.path());
        let folder = home.path().join("profiles/default");
        super::create_folder(&folder).unwrap();
        fs::write(folder.join("thesis.txt"), "mine").unwrap();

        let refused = profile.create().unwrap_err();

        assert_eq!(refused.exit(), Exit::Config);
        assert!(!folder.join("log").exists());
    }

    #[test]
    fn many_that_begin_at_once_all_find_one_profile() {
        for _ in 0..20 {
            let home = tempfile::tempdir().unwrap();
            let together = std::sync::Barrier::new(16);
            let begin = || {
                together.wait();
                profile(home.path())
                    .create()
                    .map_err(|failure| failure.code())
            };

            let ends: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..16).map(|_| scope.spawn(begin)).collect();
                threads.into_iter().map(|one| one.join().unwrap()).collect()
            });

            assert_eq!(ends, vec![Ok(()); 16]);
        }
    }

    #[test]
    fn a_newer_profile_and_one_that_others_can_write_to_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let profile = profile(home.path());
        profile.create().unwrap();
        let folder = home.path().join("profiles/default");

        fs::write(folder.join("FORMAT"), "missive profile 2\n").unwrap();
        assert_eq!(
            profile.exists().unwrap_err().code(),
            "missive::config::newer_format"
        );

        fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
        assert_eq!(
            profile.exists().unwrap_err().code(),
            "missive::config::foreign_folder"
        );
    }
}
