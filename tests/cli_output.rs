//! Readers that go away, disks that are full, and streams that are closed.

use crate::TestWorld;
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

#[test]
fn errors_survive_a_standard_error_that_takes_nothing() {
    let world = TestWorld::new();
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return;
    };

    let output = world.command(["sned"]).stderr(full).output().unwrap();

    assert_eq!(output.status.code(), Some(64));
}
