//! Public keys in files: who may sign the cards of an agent.

use crate::environment::shown;
use crate::failure::Failure;
use missive_commands::Exit;
use missive_commands::wire::signature::{KEYS_BYTES_MAX, Key, KeyError, read_keys};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The keys of a file that a flag or an argument names.
pub(crate) fn of_file(path: &Path, named_by: &str) -> Result<Vec<Key>, Failure> {
    let bytes = bytes_of(path).map_err(|error| {
        Failure::io(format!("{} cannot be read", shown(path)), &error).detail("card_key")
    })?;
    read_keys(&bytes).map_err(|error| {
        let what = format!("{named_by} {} holds {error}", shown(path));
        let failure = Failure::new(Exit::Data, what).detail("card_key");
        failure.hint_if(hint(&error).map(str::to_owned))
    })
}

/// The same for a file that the configuration names; words instead of a failure.
pub(crate) fn of_configured(path: &Path) -> Result<Vec<Key>, String> {
    let bytes =
        bytes_of(path).map_err(|error| format!("{} cannot be read: {error}", shown(path)))?;
    read_keys(&bytes).map_err(|error| format!("{} holds {error}", shown(path)))
}

/// At most one byte more than what is too much.
fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let bytes_max = u64::try_from(KEYS_BYTES_MAX).unwrap_or(u64::MAX);
    File::open(path)?
        .take(bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn hint(error: &KeyError) -> Option<&'static str> {
    match error {
        KeyError::Json(_) | KeyError::NotAKey(_) => Some(
            "a JWK looks like {\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"...\",\"kid\":\"...\"}",
        ),
        KeyError::Private => {
            Some("leave the members out that only the owner may know, such as `d`")
        }
        KeyError::Symmetric
        | KeyError::Unusable(_)
        | KeyError::TooMany
        | KeyError::NothingUsable => None,
    }
}
