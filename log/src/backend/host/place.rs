//! Where the lock and the socket of a log are.
//!
//! Both lie in the log's folder, which nobody but its owner can enter. Where the path would be too long for a
//! socket, the socket lies in the runtime folder of the user, or in a folder of our own under the folder for
//! temporary files, whose owner is verified; its name follows from the log's folder.

use crate::chain;
use crate::event::id::Hex;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The longest path that a socket can have on every system that we know, without the final NUL.
const SOCKET_PATH_BYTES_MAX: usize = 103;

/// Where the lock and the socket of one log are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    folder: PathBuf,
    socket: PathBuf,
}

impl Place {
    /// The place of the log in `folder`, which is created (for its owner only) if it is not there.
    ///
    /// `runtime` is the user's runtime folder (`$XDG_RUNTIME_DIR`), if there is one. All processes that
    /// use a log must be told the same one.
    pub fn of(folder: &Path, runtime: Option<&Path>) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let folder = folder.canonicalize()?;
        let found = fs::metadata(&folder)?;
        if found.uid() == own_uid() && found.mode() & 0o077 != 0 {
            fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        }
        let beside = folder.join("socket");
        let socket = if beside.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
            beside
        } else {
            elsewhere(&folder, runtime)?
        };
        Ok(Self { folder, socket })
    }

    /// The log's folder, without links in its path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of the socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

fn elsewhere(folder: &Path, runtime: Option<&Path>) -> io::Result<PathBuf> {
    let sum = chain::checksum(&[b"socket of ", folder.as_os_str().as_bytes()]);
    let name = format!(
        "{}.sock",
        Hex::of(sum.first_chunk::<16>().unwrap_or(&[0; 16])).as_str()
    );
    let in_temporary = std::env::temp_dir().join(format!("missive-{}", own_uid()));
    let candidates = [
        runtime.map(|runtime| runtime.join("missive")),
        Some(in_temporary),
    ];
    let parent = candidates
        .into_iter()
        .flatten()
        .find(|parent| parent.join(&name).as_os_str().len() <= SOCKET_PATH_BYTES_MAX)
        .ok_or_else(|| {
            io::Error::other("no folder has a path that is short enough for a socket")
        })?;
    make_private(&parent)?;
    Ok(parent.join(name))
}

/// Makes a folder that nobody else can enter, in a place where others may have been before.
fn make_private(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != own_uid() {
        let text = format!("{} belongs to somebody else", folder.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// The user for whom this process acts.
pub(crate) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_and_socket_lie_in_a_folder_that_only_its_owner_can_enter() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("log");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();

        let place = Place::of(&folder, None).unwrap();

        assert_eq!(place.socket().parent(), Some(place.folder()));
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_path_that_is_too_long_moves_the_socket_to_the_runtime_folder() {
        let state = tempfile::tempdir().unwrap();
        let runtime = tempfile::tempdir().unwrap();
        let folder = state.path().join("x".repeat(100));

        let place = Place::of(&folder, Some(runtime.path())).unwrap();
        let again = Place::of(&folder.join("."), Some(runtime.path())).unwrap();

        let parent = runtime.path().join("missive");
        assert_eq!(place.socket().parent(), Some(parent.as_path()));
        assert_eq!(fs::metadata(parent).unwrap().mode() & 0o777, 0o700);
        assert_eq!(again, place);
    }

    #[test]
    fn a_link_in_the_place_of_the_socket_folder_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let runtime = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/", runtime.path().join("missive")).unwrap();

        let refused = Place::of(&state.path().join("x".repeat(100)), Some(runtime.path()));

        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
