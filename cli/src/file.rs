//! A file that is written beside its place and put there when it is whole.
//!
//! Nothing that is there is overwritten without being asked to, a link at the place is never followed, and
//! a process that dies half-way leaves the place as it was.

use crate::failure::Failure;
use missive_commands::Exit;
use missive_commands::wire::text::cut_at;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// How many names are tried for the file beside.
const TRIES_MAX: u32 = 64;

/// A file in the making. It is removed if it is dropped before [`NewFile::finish`].
#[derive(Debug)]
pub(crate) struct NewFile {
    place: PathBuf,
    beside: PathBuf,
    file: File,
    force: bool,
    finished: bool,
}

impl NewFile {
    /// Begins a file that will stand at `place`; `force` allows to overwrite a regular file.
    pub(crate) fn begin(place: &Path, force: bool) -> Result<Self, Failure> {
        check(place, force)?;
        let name = place
            .file_name()
            .ok_or_else(|| Failure::usage(format!("`{}` names no file", place.display())))?;
        let failed = |error: &io::Error| {
            Failure::io(format!("{} cannot be written", place.display()), error)
        };
        for number in 0..TRIES_MAX {
            let mut beside = std::ffi::OsString::from(".");
            // A name may be as long as the file system allows, and the name beside it must fit as well.
            beside.push(short(&name.to_string_lossy()));
            beside.push(format!(".missive-{}-{number}", std::process::id()));
            let beside = place.with_file_name(beside);
            let opened = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&beside);
            match opened {
                Ok(file) => {
                    return Ok(Self {
                        place: place.to_owned(),
                        beside,
                        file,
                        force,
                        finished: false,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&error)),
            }
        }
        Err(failed(&io::ErrorKind::AlreadyExists.into()))
    }

    /// Puts the whole file in its place.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let put = self.file.sync_all().and_then(|()| {
            if self.force {
                return fs::rename(&self.beside, &self.place);
            }
            // A link refuses to replace what came there meanwhile; a rename would not.
            fs::hard_link(&self.beside, &self.place)?;
            fs::remove_file(&self.beside)
        });
        self.finished = put.is_ok();
        put.map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                return exists(&self.place);
            }
            Failure::io(
                format!("{} cannot be written", self.place.display()),
                &error,
            )
        })
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.finished {
            // Nobody is left to tell; a leftover says by its name whose it is.
            fs::remove_file(&self.beside).ok();
        }
    }
}

fn short(name: &str) -> &str {
    name.get(..cut_at(name, 64)).unwrap_or_default()
}

/// Refuses a place where something is that may not be overwritten; nothing is written.
pub(crate) fn check(place: &Path, force: bool) -> Result<(), Failure> {
    match fs::symlink_metadata(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::io(
            format!("{} cannot be looked at", place.display()),
            &error,
        )),
        Ok(found) if found.is_file() && force => Ok(()),
        Ok(found) if found.is_file() => Err(exists(place)),
        Ok(_) => Err(Failure::new(
            Exit::Exists,
            format!("{} is there and is no regular file", place.display()),
        )
        .detail("not_a_file")
        .hint("choose another place: links, folders and devices are never written to")),
    }
}

fn exists(place: &Path) -> Failure {
    Failure::new(Exit::Exists, format!("{} is there", place.display()))
        .detail("file")
        .hint("--force overwrites it")
}

#[cfg(test)]
mod tests {
    use super::NewFile;
    use std::fs;
    use std::io::Write as _;

    #[test]
    fn nothing_is_overwritten_without_force_and_nothing_is_left_behind() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("out.txt");

        let mut first = NewFile::begin(&place, false).unwrap();
        first.write_all(b"one").unwrap();
        assert!(!place.exists());
        first.finish().unwrap();
        let refused = NewFile::begin(&place, false).unwrap_err();
        let mut forced = NewFile::begin(&place, true).unwrap();
        forced.write_all(b"two").unwrap();
        forced.finish().unwrap();
        drop(NewFile::begin(&home.path().join("never"), false).unwrap());

        assert_eq!(refused.exit().number(), 73);
        assert_eq!(fs::read(&place).unwrap(), b"two");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_not_followed_and_who_came_meanwhile_stays() {
        let home = tempfile::tempdir().unwrap();
        let (target, link) = (home.path().join("target"), home.path().join("link"));
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let late = home.path().join("late");

        let refused = NewFile::begin(&link, true).unwrap_err();
        let mut beaten = NewFile::begin(&late, false).unwrap();
        beaten.write_all(b"mine").unwrap();
        fs::write(&late, "theirs").unwrap();

        assert_eq!(refused.exit().number(), 73);
        assert_eq!(beaten.finish().unwrap_err().exit().number(), 73);
        assert_eq!(fs::read(&late).unwrap(), b"theirs");
        assert_eq!(fs::read(&target).unwrap(), b"kept");
    }
}
