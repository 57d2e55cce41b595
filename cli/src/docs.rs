//! Compares generated pages under `docs/` with what the code says now.
//!
//! A page never changes by itself: `UPDATE_DOCS=1` rewrites it, everything else only compares, so a
//! changed page is reviewed as a changed interface.

use std::path::Path;

/// # Panics
/// If the page differs from `expected`, unless `UPDATE_DOCS` is set.
pub(crate) fn compare(page: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, expected).expect("the page can be written");
    }

    let found = std::fs::read_to_string(&path).unwrap_or_default();

    assert!(
        found == expected,
        "{page} is not what the code says; run `UPDATE_DOCS=1 cargo test -p missive` and review"
    );
}
