//! State folders that are not ours, that cannot be written, or that are full.

use crate::TestWorld;
use crate::history::{profile, recorded};
use missive_log::backend::lock::LockGuard;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

#[test]
fn a_folder_with_something_else_in_it_is_refused() {
    let world = TestWorld::new();
    world.file("missive/profiles/default/thesis.txt", "mine");
    let profile = world.missive_home().join("profiles/default");
    fs::set_permissions(&profile, fs::Permissions::from_mode(0o700)).unwrap();

    insta::assert_snapshot!(world.missive(["events", "list"]), @r"
    exit 78
    ------- stderr -------
    missive: `[HOME]/missive/profiles/default` holds something that is not a profile of missive
    hint: set MISSIVE_HOME to another folder, or use another profile with --profile
    ");
    assert_eq!(fs::read_dir(profile).unwrap().count(), 1);
}

#[test]
fn a_folder_that_others_can_write_to_and_one_of_a_newer_version_are_refused() {
    let world = TestWorld::new();
    recorded(&world);
    let profile = world.missive_home().join("profiles/default");

    fs::set_permissions(&profile, fs::Permissions::from_mode(0o777)).unwrap();
    insta::assert_snapshot!(world.missive(["events", "list"]), @r"
    exit 78
    ------- stderr -------
    missive: `[HOME]/missive/profiles/default` can be written to by other users
    hint: set MISSIVE_HOME to a folder of your own, with mode 0700
    ");

    fs::set_permissions(&profile, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(profile.join("FORMAT"), "missive profile 9\n").unwrap();
    insta::assert_snapshot!(world.missive(["events", "list"]), @r"
    exit 78
    ------- stderr -------
    missive: the profile in `[HOME]/missive/profiles/default` was written by a newer missive
    hint: use that version, or another profile with --profile
    ");
}

#[test]
fn a_log_that_somebody_holds_without_answering_is_busy() {
    let world = TestWorld::new();
    recorded(&world);
    let folder = profile(&world);
    let held = LockGuard::try_take(folder.root()).unwrap();

    let run = world.missive(["log", "head"]);
    drop(held);

    let shown = run.to_string();
    let shown = shown.replace(&std::process::id().to_string(), "[PID]");
    insta::assert_snapshot!(shown, @r"
    exit 75
    ------- stderr -------
    missive: the log is held by something that does not answer (perhaps process [PID] (missive 0.1.0))
    hint: another missive holds `missive/profiles/default/log` and does not answer: end it, or wait and run the command again
    ");
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests should know")]
fn skip(why: &str) -> Option<String> {
    eprintln!("skipped: {why}");
    None
}

/// Runs a script in a mount namespace of its own; `None`, with a message, where there is none to be had.
pub(crate) fn mounted(world: &TestWorld, script: &str) -> Option<String> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c"]);
    command.arg(format!(
        "set -e\nmount -t tmpfs tmpfs /mnt || exit 99\numount /mnt\nset +e\n{script}"
    ));
    let missive = world.command([]);
    command.envs(
        missive
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("MISSIVE", missive.get_program());
    let output = command.current_dir(world.folder()).output();
    match output {
        Ok(output) if output.status.code() == Some(0) => Some(world.seen(output).to_string()),
        Ok(output) => skip(&format!(
            "nothing can be mounted here: {}",
            world.seen(output)
        )),
        Err(error) => skip(&format!("there is no unshare here: {error}")),
    }
}

#[test]
fn a_home_on_a_read_only_file_system_is_refused_with_what_to_do() {
    let world = TestWorld::new();
    recorded(&world);
    let script = r#"
        mount --bind "$MISSIVE_HOME" "$MISSIVE_HOME"
        mount -o remount,bind,ro "$MISSIVE_HOME"
        for command in "events list" "events export" "events verify" "doctor"; do
            "$MISSIVE" $command 2>&1 | grep -v -e 'test seams' -e 'MiB free'
        done
        "$MISSIVE" events list > /dev/null 2>&1
        echo "exit $?"
        exit 0
    "#;

    let Some(shown) = mounted(&world, script) else {
        return;
    };

    insta::assert_snapshot!(shown, @r"
    exit 0
    ------- stdout -------
    missive: the log's folder cannot be used (`missive/profiles/default/log`)
    caused by: Read-only file system (os error 30)
    hint: the file system is read-only, and missive takes a lock even to read: mount it writable, or copy the folder and set MISSIVE_HOME to the copy
    missive: the log's folder cannot be used (`missive/profiles/default/log`)
    caused by: Read-only file system (os error 30)
    hint: the file system is read-only, and missive takes a lock even to read: mount it writable, or copy the folder and set MISSIVE_HOME to the copy
    missive: the log's folder cannot be used (`missive/profiles/default/log`)
    caused by: Read-only file system (os error 30)
    hint: the file system is read-only, and missive takes a lock even to read: mount it writable, or copy the folder and set MISSIVE_HOME to the copy
    pass  configuration  no file at missive/config.toml; the defaults hold
    fail  state          `missive/profiles/default` cannot be used: Read-only file system (os error 30)
                         hint: the file system is read-only, and missive takes a lock even to read: mount it writable, or copy the folder and set MISSIVE_HOME to the copy
    fail  log            the log's folder cannot be used (`missive/profiles/default/log`): Read-only file system (os error 30)
                         hint: the file system is read-only, and missive takes a lock even to read: mount it writable, or copy the folder and set MISSIVE_HOME to the copy
    exit 74
    ");
}

#[test]
fn a_full_disk_takes_no_event_and_loses_none() {
    let world = TestWorld::new();
    recorded(&world);
    let script = r#"
        "$MISSIVE" events list > /dev/null 2>&1
        cp -a "$MISSIVE_HOME" whole
        mount -t tmpfs -o size=16m,mode=700 tmpfs "$MISSIVE_HOME"
        cp -a whole/. "$MISSIVE_HOME"
        dd if=/dev/zero of="$MISSIVE_HOME/filler" bs=4k 2> /dev/null
        taken=0
        while [ $taken -lt 200 ] && "$MISSIVE" events export > /dev/null 2> errors; do
            taken=$((taken + 1))
        done
        grep -v 'test seams' errors
        # A command that fails may leave room for the next one: what is free is taken before each try.
        for try in $(seq 20); do
            dd if=/dev/zero of="$MISSIVE_HOME/filler-$try" bs=512 2> /dev/null
            "$MISSIVE" events export > /dev/null 2> errors
            code=$?
            [ $code -eq 0 ] || break
            taken=$((taken + 1))
        done
        echo "missive events export: $code"
        grep -v -e 'test seams' -e hint -e caused errors
        for command in "events list" "events verify" "log head"; do
            "$MISSIVE" $command > /dev/null 2> errors
            echo "missive $command: $?"
            grep -v -e 'test seams' -e hint -e caused errors
        done
        rm "$MISSIVE_HOME"/filler*
        echo "\$ rm filler"
        for command in "events export" "events verify" "projection verify"; do
            "$MISSIVE" $command > /dev/null 2>&1
            echo "missive $command: $?"
        done
        # Every export that was acknowledged is on record, and the last one.
        found=$("$MISSIVE" events list --type missive.log.exported 2> /dev/null | wc -l)
        [ "$found" -eq $((taken + 1)) ] && echo "all are there"
        exit 0
    "#;

    let Some(shown) = mounted(&world, script) else {
        return;
    };

    insta::assert_snapshot!(shown, @r"
    exit 0
    ------- stdout -------
    missive: the log could not be written (`missive/profiles/default/log`)
    caused by: No space left on device (os error 28)
    hint: the disk is full: free some space and run the command again; what was recorded is not lost
    missive events export: 74
    missive: the log could not be written (`missive/profiles/default/log`)
    missive events list: 0
    missive events verify: 0
    missive log head: 0
    $ rm filler
    missive events export: 0
    missive events verify: 0
    missive projection verify: 0
    all are there
    ");
}

#[test]
fn a_disk_that_is_too_full_for_a_checkpoint_ends_no_command_late() {
    let world = TestWorld::new();
    // Notes that do not compress, until the journal takes all of the disk: a close would empty it
    // into tables for which there is no room.
    let script = r#"
        mkdir -p "$MISSIVE_HOME"
        mount -t tmpfs -o size=2m,mode=700 tmpfs "$MISSIVE_HOME"
        note() { head -c 72000 /dev/urandom | base64 -w 0; }
        taken=0
        while [ $taken -lt 40 ]; do
            timeout -k 1 20 "$MISSIVE" agent add "a$taken" http://127.0.0.1:9 --notes "$(note)" > /dev/null 2> errors
            refused=$?
            [ $refused -eq 0 ] || break
            taken=$((taken + 1))
        done
        echo "the first refusal: $refused"
        [ $taken -gt 5 ] && echo "some were taken"
        grep -v -e 'test seams' -e hint -e caused errors
        for command in "events verify" "agent list"; do
            timeout -k 1 20 "$MISSIVE" $command > out 2>&1
            echo "missive $command: $?"
        done
        [ "$(grep -c 127.0.0.1 out)" -eq "$taken" ] && echo "all are there"
        exit 0
    "#;

    let Some(shown) = mounted(&world, script) else {
        return;
    };

    insta::assert_snapshot!(shown, @r"
    exit 0
    ------- stdout -------
    the first refusal: 74
    some were taken
    missive: the log could not be written (`missive/profiles/default/log`)
    missive events verify: 0
    missive agent list: 0
    all are there
    ");
}
