//! What must be there before fjall may touch an existing database.
//!
//! fjall takes a keyspace without its file `current` for one whose making was interrupted, and deletes
//! it; and some damage in the file that `current` names makes it abort the process. So both are looked
//! at first, and where one of them is not as it was written, the database stays as it is.
//!
//! `current` holds le64 the number of the version file `vN` ‖ its XXH3-128, little-endian ‖ 0.

use super::folder::read_bounded;
use std::io;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128;

/// fjall's own keyspace and the five of the log, by the numbers that they get when they are made.
const KEYSPACES: std::ops::RangeInclusive<u32> = 0..=5;

/// A version file names the tables of one keyspace; it is far smaller.
const VERSION_BYTES_MAX: u64 = 64 << 20;

/// What is missing or changed, in words; `None`: nothing.
pub(super) fn lacking(database: &Path) -> io::Result<Option<String>> {
    for number in KEYSPACES {
        let folder = database.join("keyspaces").join(number.to_string());
        let name = |file: &str| format!("keyspaces/{number}/{file}");
        let Some(current) = read_bounded(&folder.join("current"), 64)? else {
            return Ok(Some(format!("{} is missing", name("current"))));
        };
        let Some((version, sum)) = parts(&current) else {
            return Ok(Some(format!("{} was changed", name("current"))));
        };
        let file = format!("v{version}");
        let Some(bytes) = read_bounded(&folder.join(&file), VERSION_BYTES_MAX)? else {
            return Ok(Some(format!("{} is missing", name(&file))));
        };
        if xxh3_128(&bytes) != sum {
            return Ok(Some(format!("{} was changed", name(&file))));
        }
    }
    Ok(None)
}

fn parts(current: &[u8]) -> Option<(u64, u128)> {
    let (version, rest) = current.split_first_chunk::<8>()?;
    let (sum, rest) = rest.split_first_chunk::<16>()?;
    let known = rest == [0];
    known.then(|| (u64::from_le_bytes(*version), u128::from_le_bytes(*sum)))
}
