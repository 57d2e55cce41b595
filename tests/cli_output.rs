//! Readers that go away, disks that are full, and streams that are closed.

use crate::TestWorld;
use crate::cli_send::world_with;
use missive_fixtures::EchoAgent;
use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

#[test]
fn a_reader_that_goes_away_ends_the_output_quietly() {
    let world = TestWorld::new();
    for arguments in [&["completion", "bash"][..], &["send", "--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);

        let output = world
            .command(arguments.iter().copied())
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();

        insta::allow_duplicates! {
            insta::assert_snapshot!(world.seen(output), @"exit 0");
        }
    }
}

#[test]
fn a_reader_that_takes_one_byte_is_enough() {
    let world = TestWorld::new();
    let mut child = world
        .command(["completion", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();

    stdout.read_exact(&mut [0]).unwrap();
    drop(stdout);

    insta::assert_snapshot!(world.ended(child), @"exit 0");
}

#[test]
fn a_full_disk_under_standard_output_is_an_error() {
    let world = TestWorld::new();
    let full = File::options().write(true).open("/dev/full");
    let Ok(full) = full else { return };

    let output = world
        .command(["completion", "bash"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();

    insta::assert_snapshot!(world.seen(output), @r"
    exit 74
    ------- stderr -------
    missive: standard output cannot be written
    caused by: No space left on device (os error 28)
    ");
}

/// The runtime of Rust opens `/dev/null` for reading and writing in place of a closed stream before the
/// first line of missive runs, and many parents hand over just that as "no output": the two cannot be told
/// apart, and output that nobody wants is no error.
#[test]
fn a_closed_standard_output_is_one_that_nobody_reads() {
    let world = TestWorld::new();
    let run = world.command(["completion", "bash"]);
    let program = run.get_program().to_owned();
    let mut closing = std::process::Command::new("sh");
    closing
        .args(["-c", "exec \"$0\" completion bash >&-"])
        .arg(program);
    let null = File::options().read(true).write(true).open("/dev/null");

    let closed = closing.output().unwrap();
    let nothing = world
        .command(["completion", "bash"])
        .stdout(null.unwrap())
        .output()
        .unwrap();

    assert_eq!(
        (closed.status.code(), nothing.status.code()),
        (Some(0), Some(0))
    );
    assert!(closed.stderr.is_empty() && nothing.stderr.is_empty());
}

#[test]
fn errors_survive_a_standard_error_that_takes_nothing() {
    let world = TestWorld::new();
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return;
    };

    let output = world.command(["sned"]).stderr(full).output().unwrap();

    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn json_that_goes_into_a_pipe_could_act_on_no_terminal_later() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());

    let sent = world.missive(["send", "py", "echo a\u{9b}31m\u{202e}\u{7f}z", "--json"]);

    assert!(
        !sent.stdout.contains(['\u{9b}', '\u{202e}', '\u{7f}']),
        "{sent}"
    );
    assert_eq!(sent.json()["data"]["text"], "a\u{9b}31m\u{202e}\u{7f}z");
}
