//! The part of the clap tree that one command line needs.
//!
//! Building every command with all its flags costs a whole process a millisecond. So a command line is first
//! read with a tree that holds nothing but the command that it names. Whatever that tree does not take (help,
//! a version, a mistake) is read again with the whole one, which alone knows what to say: the narrow tree
//! accepts nothing that the whole one would read otherwise, since it is cut out of it.

use super::global::Globals;
use super::{Cli, tree};
use clap::{Args as _, Command, FromArgMatches as _};
use std::ffi::OsString;

/// What the words mean, if they are a command without a mistake.
pub(super) fn parse(arguments: &[OsString]) -> Option<Cli> {
    let matches = cut(arguments)?.try_get_matches_from(arguments).ok()?;
    Cli::from_arg_matches(&matches).ok()
}

/// The program with one command, which has one command below it where it has any.
fn cut(arguments: &[OsString]) -> Option<Command> {
    let mut words = arguments.iter().skip(1).take_while(|word| *word != "--");
    let mut whole = tree();
    let mut command = take(&mut whole, &mut words)?;
    // One that has arguments of its own beside commands below it is read whole.
    if command.has_subcommands() && command.get_arguments().next().is_none() {
        let below = take(&mut command, &mut words)?;
        command = Command::new(command.get_name().to_owned()).subcommand(below);
    }
    Some(Globals::augment_args(Command::new("missive")).subcommand(command))
}

/// Takes out the command that is named first. A value of a flag may look like one; then the narrow tree has
/// no place for the command that is really meant.
fn take<'a>(from: &mut Command, words: &mut impl Iterator<Item = &'a OsString>) -> Option<Command> {
    words.find_map(|word| from.find_subcommand_mut(word).map(std::mem::take))
}

#[cfg(test)]
mod tests {
    use super::{Cli, parse, tree};
    use clap::FromArgMatches as _;
    use std::ffi::OsString;

    fn words(line: &str) -> Vec<OsString> {
        std::iter::once("missive")
            .chain(line.split(' '))
            .map(Into::into)
            .collect()
    }

    #[test]
    fn a_narrow_tree_reads_a_command_as_the_whole_one_does() {
        for line in [
            "events list --agent ada --limit 20 --json",
            "--profile events --header A:1 send ada hi --mime text/csv --timeout 5s",
            "--profile send events verify --against agent",
            "agent --quiet add ada http://h --tag x -vv",
            "task get t-1 --agent task",
            "send ada -- events",
            "doctor --deep",
            "log re-anchor --reason log",
            "reduce board --context release-7 --strategy vote",
            "reduce show 0192f3a1-c6e8-7b4f-9d2e-5a6b7c8d9e0f --json",
        ] {
            let words = words(line);
            let whole = tree().try_get_matches_from(&words).unwrap();
            let whole = Cli::from_arg_matches(&whole).unwrap();

            match parse(&words) {
                Some(narrow) => assert_eq!(format!("{narrow:?}"), format!("{whole:?}"), "{line}"),
                None => assert!(line.starts_with("--profile"), "{line} was not read"),
            }
        }
    }

    #[test]
    fn what_is_no_command_is_left_to_the_whole_tree() {
        for line in [
            "--version",
            "--help",
            "events",
            "events list --help",
            "evnts list",
            "send",
            "task get",
        ] {
            assert!(parse(&words(line)).is_none(), "{line}");
        }
    }
}
