//! `missive completion SHELL`: a script that is made from the clap tree alone.
//!
//! It opens no state, reads no configuration and prints no warning, so it works with a home folder
//! that is missing or read-only.

use clap_complete::Shell;

/// The script for one shell.
pub(crate) fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::args::tree(), "missive", &mut script);
    script
}
