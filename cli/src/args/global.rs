//! The flags that stand before or after every subcommand.

use super::value::{Header, Pair, at, duration, name, protocol_version, variable};
use missive_projections::At;
use std::path::PathBuf;
use std::time::Duration;

const HEADING: &str = "Global options";

/// The global flags of one run.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that the user sets or not"
)]
pub(crate) struct Globals {
    /// Print one JSON document, also for errors
    #[arg(long, global = true, conflicts_with = "ndjson")]
    pub(crate) json: bool,

    /// Print one JSON object a line, also for errors
    #[arg(long, global = true)]
    pub(crate) ndjson: bool,

    /// Print nothing but errors (and what --json or --ndjson asked for)
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    /// No colour; the variable `NO_COLOR` does the same
    #[arg(long, global = true)]
    pub(crate) no_color: bool,

    /// Read this configuration file; docs/configuration.md says what it holds and where else it is looked for
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,

    /// Use the log of this profile
    #[arg(long, global = true, value_name = "NAME", value_parser = |text: &str| name(text).map(str::to_owned))]
    pub(crate) profile: Option<String>,

    /// Read what was known then: after the event at this place, or after the last one that is not later than this
    /// moment: RFC 3339, or how long ago, such as 5m. Only for commands that read
    #[arg(long, global = true, value_name = "SEQ|TIME", value_parser = at)]
    pub(crate) at: Option<At>,

    /// Give up after this time: 500ms, 30s, 2m, 1h
    #[arg(long, global = true, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,

    /// End with 76 instead of 0 when an agent breaks A2A in something that can be used all the same
    #[arg(long, global = true)]
    pub(crate) strict: bool,

    /// Speak this version of A2A
    #[arg(long, global = true, value_name = "V", value_parser = protocol_version)]
    pub(crate) protocol_version: Option<String>,

    /// Ask for this A2A extension (repeat)
    #[arg(long, global = true, value_name = "URI")]
    pub(crate) a2a_extension: Vec<String>,

    /// Send this A2A service parameter (repeat)
    #[arg(long, global = true, value_name = "NAME=VALUE")]
    pub(crate) service_param: Vec<Pair>,

    /// Send the value of this environment variable as bearer token
    #[arg(long, global = true, value_name = "ENV", value_parser = variable)]
    pub(crate) bearer_token_env: Option<String>,

    /// Send this HTTP header, never stored (repeat)
    #[arg(long, global = true, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<Header>,

    /// Say on stderr what is being done; -vv says more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Say everything on stderr
    #[arg(long, global = true)]
    pub(crate) trace: bool,
}

/// Flags whose values clap would lose if they stood on both sides of the subcommand: it keeps only
/// the deepest occurrences of a global flag.
const HOISTED: [&str; 3] = ["--header", "--service-param", "--a2a-extension"];

/// Moves the repeatable global flags to the front, so that all of them count.
pub(crate) fn hoist(arguments: Vec<std::ffi::OsString>) -> Vec<std::ffi::OsString> {
    let mut front = Vec::new();
    let mut back = Vec::new();
    let mut rest = arguments.into_iter().peekable();
    front.extend(rest.next());
    while let Some(argument) = rest.next() {
        if argument == "--" {
            back.push(argument);
            back.extend(rest);
            break;
        }
        let text = argument.to_string_lossy();
        let joined = HOISTED.iter().any(|flag| {
            text.strip_prefix(flag)
                .is_some_and(|after| after.starts_with('='))
        });
        // Without a value the flag stays where it is, so that clap complains about the right thing.
        let followed = HOISTED.contains(&text.as_ref())
            && rest
                .peek()
                .is_some_and(|next| !next.to_string_lossy().starts_with('-'));
        drop(text);
        if joined {
            front.push(argument);
        } else if followed {
            front.push(argument);
            front.extend(rest.next());
        } else {
            back.push(argument);
        }
    }
    front.extend(back);
    front
}

#[cfg(test)]
mod tests {
    use super::hoist;

    fn hoisted(line: &str) -> String {
        let words = line.split(' ').map(Into::into).collect();
        let words: Vec<String> = hoist(words)
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect();
        words.join(" ")
    }

    #[test]
    fn repeatable_flags_move_to_the_front_with_their_values() {
        assert_eq!(
            hoisted("missive --header A:1 send x --header B:2 --header=C:3 hi"),
            "missive --header A:1 --header B:2 --header=C:3 send x hi"
        );
    }

    #[test]
    fn a_flag_without_value_and_words_after_two_dashes_stay() {
        for line in [
            "missive send x --header",
            "missive send x --header --json",
            "missive send x -- --header A:1",
        ] {
            assert_eq!(hoisted(line), line);
        }
    }
}
