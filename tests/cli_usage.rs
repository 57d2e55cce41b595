//! Words that missive does not understand, help, and the completion scripts.

use crate::TestWorld;
use std::process::{Command, Stdio};

#[test]
fn without_a_command_it_says_where_the_commands_are() {
    insta::assert_snapshot!(TestWorld::new().missive([]), @r"
    exit 64
    ------- stderr -------
    missive: a command is missing
    hint: commands are agent, send, stream, retry, task, context, bcast, barrier, gather, reduce, group, route, push, webhook, events, log, projection, doctor, demo, logs, manpage, completion
    hint: `missive --help` explains them; `missive demo` shows them at work
    ");
    insta::assert_snapshot!(TestWorld::new().missive(["agent"]), @r"
    exit 64
    ------- stderr -------
    missive: a command is missing
    hint: commands are add, list, show, inspect, refresh, capabilities, pin, rename, remove
    hint: `missive agent --help` explains them
    ");
}

#[test]
fn an_unknown_word_is_named_with_the_nearest_valid_one() {
    let world = TestWorld::new();

    insta::assert_snapshot!(world.missive(["sned", "ada", "hi"]), @r"
    exit 64
    ------- stderr -------
    missive: there is no command `sned`
    hint: did you mean `send`?
    ");
    insta::assert_snapshot!(world.missive(["send", "ada", "hi", "--contxt", "c"]), @r"
    exit 64
    ------- stderr -------
    missive: `--contxt` is not an argument here
    hint: did you mean `--context`?
    ");
    insta::assert_snapshot!(world.missive(["events", "export", "--format", "jsonll"]), @r"
    exit 64
    ------- stderr -------
    missive: --format <FORMAT> does not take `jsonll`
    hint: did you mean `jsonl`?
    ");
    insta::assert_snapshot!(world.missive(["events", "list", "--origin", "moon"]), @r"
    exit 64
    ------- stderr -------
    missive: --origin <ORIGIN> does not take `moon`
    hint: valid values are cli, gateway, webhook, adapter, peer
    ");
    insta::assert_snapshot!(world.missive(["completion", "tcsh"]), @r"
    exit 64
    ------- stderr -------
    missive: <SHELL> does not take `tcsh`
    hint: did you mean `zsh`?
    ");
}

#[test]
fn a_missing_or_wrong_value_is_named_with_what_is_right() {
    let world = TestWorld::new();

    insta::assert_snapshot!(world.missive(["agent", "add", "ada"]), @r"
    exit 64
    ------- stderr -------
    missive: <URL> is missing
    hint: see `missive agent add --help`
    ");
    insta::assert_snapshot!(world.missive(["agent", "add", "Ada", "http://h"]), @r"
    exit 64
    ------- stderr -------
    missive: <ALIAS> does not take `Ada`: a name has 1 to 63 of the characters a-z, 0-9, `.`, `_` and `-`, and starts with a letter or a digit
    hint: see `missive agent add --help`
    ");
    insta::assert_snapshot!(world.missive(["send", "ada"]), @r"
    exit 64
    ------- stderr -------
    missive: there is nothing to send: no message, no --stdin, no part, no file
    hint: see `missive send --help`
    ");
    insta::assert_snapshot!(world.missive(["send", "ada", "--mime", "text/csv", "--file", "x"]), @r"
    exit 64
    ------- stderr -------
    missive: --mime stands before the part that it describes
    hint: see `missive send --help`
    ");
    insta::assert_snapshot!(world.missive(["log", "head", "--timeout", "30"]), @r"
    exit 64
    ------- stderr -------
    missive: --timeout <DURATION> does not take `30`: a duration needs a unit, such as `500ms`, `30s`, `2m` or `1h`
    hint: see `missive log head --help`
    ");
    insta::assert_snapshot!(world.missive(["log", "head", "--timeout"]), @r"
    exit 64
    ------- stderr -------
    missive: --timeout <DURATION> needs a value
    hint: see `missive log head --help`
    ");
    insta::assert_snapshot!(world.missive(["events", "list", "--since", "yesterday"]), @r"
    exit 64
    ------- stderr -------
    missive: --since <TIME> does not take `yesterday`: a time is written in RFC 3339, such as 2026-12-01T09:30:00Z, or as how long ago it is, such as 2h
    hint: see `missive events list --help`
    ");
    insta::assert_snapshot!(world.missive(["events", "list", "--limit", "\u{1b}[2Jx"]), @r"
    exit 64
    ------- stderr -------
    missive: --limit <N> does not take `\u{1b}[2Jx`: invalid digit found in string
    hint: see `missive events list --help`
    ");
    insta::assert_snapshot!(world.missive(["log", "head", "--profile", "a", "--profile", "b"]), @r"
    exit 64
    ------- stderr -------
    missive: --profile <NAME> stands there more than once
    hint: see `missive log head --help`
    ");
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let world = TestWorld::new();

    insta::assert_snapshot!(world.missive(["send", "ada", "hi", "--wait", "--return-immediately"]), @r"
    exit 64
    ------- stderr -------
    missive: --wait cannot be used together with --return-immediately
    hint: see `missive send --help`
    ");
    insta::assert_snapshot!(world.missive(["--json", "log", "head", "--ndjson"]), @r#"
    exit 64
    ------- stderr -------
    {"schema_version":"missive.output.v1","ok":false,"kind":"error","data":{"code":"missive::usage::conflict","category":"usage","message":"--json cannot be used together with --ndjson","help":"choose one","exit_code":64}}
    "#);
}

#[test]
fn with_machine_output_usage_errors_are_envelopes_too() {
    let run = TestWorld::new().missive(["send", "--json", "ada", "hi", "--contxt", "c"]);

    assert_eq!(run.code, Some(64));
    assert_eq!(run.stdout, "");
    insta::assert_json_snapshot!(run.error(), @r#"
    {
      "data": {
        "category": "usage",
        "code": "missive::usage::unknown_argument",
        "exit_code": 64,
        "help": "did you mean `--context`?",
        "message": "`--contxt` is not an argument here"
      },
      "kind": "error",
      "ok": false,
      "schema_version": "missive.output.v1"
    }
    "#);
}

#[test]
fn a_header_that_is_wrong_is_not_repeated() {
    let world = TestWorld::new();

    let header = world.missive(["send", "ada", "hi", "--header", "s3cret"]);
    let token = world.missive(["send", "ada", "hi", "--bearer-token-env", "Bearer s3cret"]);

    insta::assert_snapshot!(header, @r"
    exit 64
    ------- stderr -------
    missive: --header <NAME: VALUE> has an invalid value: a header is written `Name: value`
    hint: see `missive send --help`
    ");
    insta::assert_snapshot!(token, @r"
    exit 64
    ------- stderr -------
    missive: --bearer-token-env <ENV> has an invalid value: this takes the name of an environment variable, not its value (which is not repeated)
    hint: see `missive send --help`
    ");
}

#[test]
fn help_and_version_go_to_standard_output() {
    let world = TestWorld::new();

    insta::assert_snapshot!(world.missive(["--version"]), @r"
    exit 0
    ------- stdout -------
    missive 0.1.0
    ");
    let help = world.missive(["send", "--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.contains("Examples:"), "{help}");
}

#[test]
fn completion_needs_no_home_and_touches_no_state() {
    let world = TestWorld::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = world
            .command(["completion", shell])
            .env_remove("HOME")
            .env("MISSIVE_HOME", "not/absolute")
            .env("MISSIVE_CONFIG", "not-there.toml")
            .output()
            .unwrap();

        assert_eq!(output.status.code(), Some(0), "{shell}");
        assert!(output.stderr.is_empty(), "{shell}");
        assert!(
            String::from_utf8(output.stdout)
                .unwrap()
                .contains("re-anchor"),
            "{shell}"
        );
    }
    assert!(!world.missive_home().exists());
}

#[test]
fn the_bash_script_is_one_that_bash_accepts() {
    let script = TestWorld::new().missive(["completion", "bash"]).stdout;
    let bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn();
    let Ok(mut bash) = bash else {
        // A machine without bash cannot check its scripts; the test above still ran.
        return;
    };

    std::io::Write::write_all(&mut bash.stdin.take().unwrap(), script.as_bytes()).unwrap();

    assert!(bash.wait().unwrap().success());
}

#[test]
fn a_time_may_be_said_by_how_long_ago_it_is() {
    let world = TestWorld::new();
    world.missive(["agent", "add", "py", "http://py.test"]);
    let listed = |flags: &[&str]| {
        let words = ["events", "list"].iter().chain(flags).copied();
        world.missive(words).stdout.lines().count()
    };

    let lines = [
        listed(&[]),
        listed(&["--since", "2h"]),
        listed(&["--until", "2h"]),
        listed(&["--since", "2h", "--until", "1m"]),
    ];
    let early = world.missive(["agent", "list", "--at", "5m"]);

    assert_eq!(lines, [3, 3, 0, 0]);
    assert_eq!(early.code, Some(66), "{early}");
}
