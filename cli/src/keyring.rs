//! Credentials that the system keeps: the login keychain on macOS, the kernel's key retention on Linux.
//!
//! An entry is read when a command needs it and never written. What goes wrong is told in words of our
//! own, since the errors of the library may hold the bytes that they are about.

use missive_commands::secret::Secret;

/// Why an entry gives no credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// There is no such entry.
    Absent,
    /// The keyring is locked, forbidden or not there; on a system without one, always.
    Closed,
    /// What it holds is no text.
    NoText,
}

impl Unread {
    /// What follows the name of the reference.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Absent => "is not in the keyring",
            Self::Closed => "cannot be read: the keyring is locked, or not there",
            Self::NoText => "holds no text",
        }
    }
}

/// Reads entries by service and account; a test passes its own.
#[derive(Clone, Copy)]
pub(crate) struct Keyring<'a>(&'a dyn Fn(&str, &str) -> Result<Secret, Unread>);

#[cfg(test)]
impl<'a> Keyring<'a> {
    /// Entries that come from somewhere else than the system.
    pub(crate) fn from_lookup(lookup: &'a dyn Fn(&str, &str) -> Result<Secret, Unread>) -> Self {
        Self(lookup)
    }
}

impl Keyring<'_> {
    /// The credential of an account within a service.
    pub(crate) fn get(&self, service: &str, account: &str) -> Result<Secret, Unread> {
        (self.0)(service, account)
    }
}

impl Keyring<'static> {
    /// The keyring of the system.
    pub(crate) fn of_system() -> Self {
        Self(&read)
    }
}

impl std::fmt::Debug for Keyring<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keyring(..)")
    }
}

#[cfg(target_os = "linux")]
use linux_keyutils_keyring_store::Store;

#[cfg(target_os = "macos")]
use apple_native_keyring_store::keychain::Store;

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn read(service: &str, account: &str) -> Result<Secret, Unread> {
    use keyring_core::api::CredentialStoreApi as _;

    let store = Store::new().map_err(|error| unread(&error))?;
    let entry = store.build(service, account, None);
    let entry = entry.map_err(|error| unread(&error))?;
    let text = entry.get_password().map_err(|error| unread(&error))?;
    Ok(Secret::new(text))
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn unread(error: &keyring_core::Error) -> Unread {
    use keyring_core::Error;
    if matches!(error, Error::NoEntry) {
        return Unread::Absent;
    }
    if matches!(error, Error::BadEncoding(_) | Error::BadDataFormat(..)) {
        return Unread::NoText;
    }
    Unread::Closed
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn read(_service: &str, _account: &str) -> Result<Secret, Unread> {
    Err(Unread::Closed)
}
