//! Damage to any file of a log is found, or changes nothing that anybody can see.

use crate::TestWorld;
use crate::history::{Writer, recorded};
use std::fs;
use std::path::{Path, PathBuf};

/// What happens to a file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// One bit at so many hundredths of its length.
    Flip(usize),
    /// Everything from so many hundredths on is gone.
    Cut(usize),
    /// Gone altogether.
    Remove,
}

/// What every run tries, and what is added by `MISSIVE_TEST_DAMAGE=all`.
const DAMAGES: [Damage; 9] = [
    Damage::Flip(0),
    Damage::Flip(50),
    Damage::Cut(60),
    Damage::Remove,
    Damage::Flip(10),
    Damage::Flip(30),
    Damage::Flip(80),
    Damage::Flip(99),
    Damage::Cut(0),
];

fn damages() -> &'static [Damage] {
    match std::env::var_os("MISSIVE_TEST_DAMAGE") {
        Some(_) => &DAMAGES,
        None => &DAMAGES[..4],
    }
}

impl Damage {
    /// False if there is nothing to damage.
    fn strike(self, path: &Path) -> bool {
        let mut bytes = fs::read(path).unwrap();
        let place = |hundredths: usize| bytes.len() * hundredths / 100;
        match self {
            Self::Remove => {
                fs::remove_file(path).unwrap();
                return true;
            }
            _ if bytes.is_empty() => return false,
            Self::Flip(hundredths) => {
                let place = place(hundredths);
                bytes[place] ^= 0x10;
            }
            Self::Cut(hundredths) => {
                let place = place(hundredths);
                bytes.truncate(place);
            }
        }
        fs::write(path, bytes).unwrap();
        true
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(to)
        .unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

const LIST: [&str; 3] = ["events", "list", "--ndjson"];

/// Whether a list begins with all that was there before.
fn holds(listed: &str, expected: &str) -> bool {
    listed.starts_with(expected)
}

/// Strikes every file of the world's log in every way, each on a copy of the home.
fn every_damage_is_found_or_harmless(world: &TestWorld) {
    let expected = world.missive(LIST).stdout;
    let whole = world.folder().join("whole");
    copy(&world.missive_home(), &whole);
    let log = whole.join("profiles/default/log");
    let mut wrong = Vec::new();
    let (mut found, mut harmless) = (0, 0);
    for file in files(&log) {
        let name = file.strip_prefix(&whole).unwrap();
        let shown = name.display();
        for damage in damages() {
            fs::remove_dir_all(world.missive_home()).unwrap();
            copy(&whole, &world.missive_home());
            if !damage.strike(&world.missive_home().join(name)) {
                continue;
            }
            let verified = world.missive(["events", "verify"]);
            if verified.code == Some(79) {
                found += 1;
                let refused = world.missive(["events", "export"]);
                // What the store had lost it may make again from what it still has, once it said so.
                if refused.code != Some(79) && !holds(&world.missive(LIST).stdout, &expected) {
                    wrong.push(format!("{shown} {damage:?}: recorded on\n{refused}"));
                }
                continue;
            }
            let listed = world.missive(LIST);
            if verified.code == Some(0) && listed.code == Some(0) && listed.stdout == expected {
                harmless += 1;
            } else {
                wrong.push(format!("{shown} {damage:?}:\n{verified}{}", listed.stderr));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        found > 5 && harmless > 0,
        "{found} found, {harmless} harmless"
    );
}

#[test]
fn damage_to_a_young_log_is_found_or_harmless() {
    let world = TestWorld::new();
    recorded(&world);

    every_damage_is_found_or_harmless(&world);
}

#[test]
fn damage_to_a_log_that_left_its_journal_is_found_or_harmless() {
    let world = TestWorld::new();
    let writer = Writer::open(&world);
    writer.append_many(2_500);
    writer.close();

    every_damage_is_found_or_harmless(&world);
}

#[test]
fn a_log_that_lost_its_end_warns_refuses_and_goes_on_when_it_is_told_to() {
    let world = TestWorld::new();
    recorded(&world);
    let earlier = world.folder().join("earlier");
    copy(&world.missive_home().join("profiles"), &earlier);
    world.missive(["events", "export"]);
    // A backup that is older than what the witness outside of the profile saw.
    fs::remove_dir_all(world.missive_home().join("profiles")).unwrap();
    copy(&earlier, &world.missive_home().join("profiles"));

    insta::assert_snapshot!(world.missive(["events", "list", "--limit", "1"]), @r"
    exit 0
    ------- stdout -------
    9  2026-12-01T09:00:00Z  a2a.send.in_doubt       ada  context c-1  (connection_lost)
    ------- stderr -------
    missive: warning: the log does not verify: events 10 to 11 are missing: the log ends at 9
    ");
    insta::assert_snapshot!(world.missive(["events", "export"]), @r"
    exit 79
    ------- stderr -------
    missive: warning: the log does not verify: events 10 to 11 are missing: the log ends at 9
    missive: the log does not verify, so nothing is recorded
    caused by: events 10 to 11 are missing: the log ends at 9
    hint: `missive events verify` says how far the log still holds
    hint: restore the log from a backup, or accept the loss for good with `missive log re-anchor --reason TEXT`
    ");
    insta::assert_snapshot!(world.missive(["events", "verify", "--json"]), @r#"
    exit 79
    ------- stdout -------
    {"schema_version":"missive.output.v1","ok":false,"kind":"events_verify","data":{"log":"3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665","first":1,"last":9,"count":9,"head":"3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9","claim":"consistent up to event 9, and not beyond","payloads":{"verified":6,"erased":0,"missing":0},"fault":{"sequence":10,"what":"events 10 to 11 are missing: the log ends at 9"},"reanchored":[]}}
    "#);
    insta::assert_snapshot!(world.missive(["doctor"]).without_sizes(), @r"
    exit 79
    ------- stdout -------
    pass  configuration  no file at missive/config.toml; the defaults hold
    pass  state          missive/profiles/default
    pass  space          [N] MiB free
    fail  log            the log does not verify: events 10 to 11 are missing: the log ends at 9
                         hint: `missive events verify` says how far the log still holds
                         hint: restore the log from a backup, or accept the loss for good with `missive log re-anchor --reason TEXT`
    pass  views          [N] views at event 9
    warn  agent ada      its card is 29 min old, asked for again on next use, came in 1 ms, with a defect: not an Agent Card: the JSON from http://ada.test/.well-known/agent-card.json has no supportedInterfaces
                         hint: missive agent inspect ada
    warn  endpoint ada   http://ada.test cannot be reached: [WHY]
                         hint: missive agent inspect ada --refresh
    warn  operations     a message to ada at 2026-12-01T09:00:00.007000Z is in doubt: connection_lost
                         hint: missive retry op-2
    ");
    let reason = ["log", "re-anchor", "--reason", "an old backup, ticket 7"];
    insta::assert_snapshot!(world.missive(reason), @r"
    exit 0
    ------- stdout -------
    re-anchored by event 12: events 10 to 11 are missing: the log ends at 9
    new head  3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:12:d67e17d38f28ca1dd940ccdda14f28978a93af18f77d272f3aab200091760fb2
    ");
    insta::assert_snapshot!(world.missive(["events", "verify"]), @r"
    exit 0
    ------- stdout -------
    ok: consistent; completeness unproven
    events    10 (1 to 12)
    payloads  7 verified
    head      3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:12:d67e17d38f28ca1dd940ccdda14f28978a93af18f77d272f3aab200091760fb2
    re-anchored by event 12: events 10 to 11 were given up
    hint: `missive log head` prints a head to keep elsewhere; --against it shows that nothing changed
    ");
    insta::assert_snapshot!(world.missive(["events", "list", "--after-sequence", "8"]), @r"
    exit 0
    ------- stdout -------
     9  2026-12-01T09:00:00Z  a2a.send.in_doubt       ada  context c-1  (connection_lost)
    12  2026-12-01T09:30:00Z  missive.log.reanchored
    ");
}

#[test]
fn a_flipped_bit_in_the_journal_leaves_what_is_before_it_readable() {
    let world = TestWorld::new();
    recorded(&world);
    let journal = world.missive_home().join("profiles/default/log/db-1/0.jnl");
    let mut bytes = fs::read(&journal).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[used * 3 / 4] ^= 1;
    fs::write(&journal, &bytes).unwrap();

    let listed = world.missive(["events", "list", "--type", "missive.agent.added"]);
    let refused = world.missive(["events", "export"]);
    let verified = world.missive(["events", "verify"]);
    let anchored = world.missive(["log", "re-anchor", "--reason", "a bad disk"]);

    assert_eq!(listed.code, Some(0), "{listed}");
    assert!(listed.stdout.contains("missive.agent.added"), "{listed}");
    assert!(
        listed.stderr.contains("are missing: the log ends at"),
        "{listed}"
    );
    assert_eq!(
        (refused.code, verified.code),
        (Some(79), Some(79)),
        "{refused}{verified}"
    );
    assert_eq!(anchored.code, Some(0), "{anchored}");
    assert_eq!(world.missive(["events", "export"]).code, Some(0));
    let verified = world.missive(["events", "verify"]);
    assert!(verified.stdout.contains("were given up"), "{verified}");
    assert_eq!(world.missive(["projection", "verify"]).code, Some(0));
}

#[test]
fn after_a_re_anchoring_exports_verify_and_views_agree() {
    let world = TestWorld::new();
    recorded(&world);
    let earlier = world.folder().join("earlier");
    copy(&world.missive_home().join("profiles"), &earlier);
    world.missive(["events", "export"]);
    fs::remove_dir_all(world.missive_home().join("profiles")).unwrap();
    copy(&earlier, &world.missive_home().join("profiles"));
    let reason = ["log", "re-anchor", "--reason", "an old backup, ticket 7"];

    assert_eq!(world.missive(reason).code, Some(0));

    let exported = world.missive(["events", "export"]);
    let report = missive_log::export::verify_export(exported.stdout.as_bytes(), None).unwrap();
    assert_eq!((exported.code, report.fault), (Some(0), None));
    assert_eq!(world.missive(["projection", "verify"]).code, Some(0));
    insta::assert_snapshot!(world.missive(reason), @r"
    exit 64
    ------- stderr -------
    missive: there is nothing to re-anchor: no fault of the log is known
    hint: `missive events verify` looks for one
    ");
}

#[test]
fn views_that_have_seen_more_than_the_log_are_a_witness() {
    let world = TestWorld::new();
    recorded(&world);
    let home = world.missive_home();
    let log = home.join("profiles/default/log");
    world.missive(["projection", "list"]);
    copy(&log, &world.folder().join("log"));
    copy(&home.join("witness"), &world.folder().join("witness"));
    world.missive(["events", "export"]);
    fs::remove_dir_all(&log).unwrap();
    fs::remove_dir_all(home.join("witness")).unwrap();
    copy(&world.folder().join("log"), &log);
    copy(&world.folder().join("witness"), &home.join("witness"));

    insta::assert_snapshot!(world.missive(["events", "verify"]), @r"
    exit 79
    ------- stdout -------
    fault: events 10 to 11 are missing: the log ends at 9
    events    9 (1 to 9)
    payloads  6 verified
    head      3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9
    the log is consistent up to event 9, and not beyond
    nothing more is recorded until `missive log re-anchor --reason TEXT`
    ");
    insta::assert_snapshot!(world.missive(["events", "list", "--limit", "1"]), @r"
    exit 0
    ------- stdout -------
    9  2026-12-01T09:00:00Z  a2a.send.in_doubt       ada  context c-1  (connection_lost)
    ------- stderr -------
    missive: warning: the log does not verify: events 10 to 11 are missing: the log ends at 9
    ");
}

#[test]
fn a_log_that_is_gone_is_missed() {
    let world = TestWorld::new();
    recorded(&world);
    fs::remove_dir_all(world.missive_home().join("profiles")).unwrap();

    insta::assert_snapshot!(world.missive(["events", "list"]), @r"
    exit 79
    ------- stderr -------
    missive: the log is gone
    caused by: the log that ended at 3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9 is gone
    hint: restore `missive/profiles/default/log` from a backup that reaches event 9
    hint: if it is lost for good, move what is left of it away (`missive/witness/3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665`): the next command begins a new log
    ");
    insta::assert_snapshot!(world.missive(["doctor"]).without_sizes(), @r"
    exit 79
    ------- stdout -------
    pass  configuration  no file at missive/config.toml; the defaults hold
    pass  state          missive/profiles/default is not there yet
    pass  space          [N] MiB free
    fail  log            the log is gone: the log that ended at 3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9 is gone
                         hint: restore `missive/profiles/default/log` from a backup that reaches event 9
                         hint: if it is lost for good, move what is left of it away (`missive/witness/3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665`): the next command begins a new log
    ");
}

#[test]
fn a_home_that_was_moved_and_lost_its_log_is_not_taken_for_a_new_one() {
    let world = TestWorld::new();
    recorded(&world);
    assert_eq!(world.missive(["agent", "list"]).code, Some(0));
    let moved = world.folder().join("moved");
    fs::rename(world.missive_home(), &moved).unwrap();
    fs::remove_dir_all(moved.join("profiles/default/log")).unwrap();
    let told = |arguments: &[&str]| {
        let mut command = world.command(arguments.iter().copied());
        let output = command.env("MISSIVE_HOME", &moved).output().unwrap();
        world.seen(output).to_string()
    };

    let read = told(&["events", "verify"]);
    let written = told(&["agent", "add", "rs", "http://127.0.0.1:9"]);
    fs::rename(moved.join("profiles/default/views"), moved.join("views")).unwrap();
    fs::remove_dir_all(moved.join("profiles/default/log")).unwrap();
    let anew = told(&["agent", "add", "rs", "http://127.0.0.1:9", "--json"]);

    insta::assert_snapshot!(read, @r"
    exit 79
    ------- stdout -------
    fault: the log is gone: the log that the views beside it were made from is gone
    hint: restore `moved/profiles/default/log` from a backup
    hint: if it is lost for good, move what is left of it away (`moved/profiles/default/views`): the next command begins a new log
    ");
    insta::assert_snapshot!(written, @r"
    exit 79
    ------- stderr -------
    missive: the log is gone
    caused by: the log that the views beside it were made from is gone
    hint: restore `moved/profiles/default/log` from a backup
    hint: if it is lost for good, move what is left of it away (`moved/profiles/default/log`, `moved/profiles/default/views`): the next command begins a new log
    ");
    assert!(anew.starts_with("exit 0"), "{anew}");
}

#[test]
fn a_log_that_does_not_open_is_a_fault_with_what_to_do() {
    let world = TestWorld::new();
    recorded(&world);
    let log = world.missive_home().join("profiles/default/log");
    fs::remove_file(log.join("db-1/version")).unwrap();

    insta::assert_snapshot!(world.missive(["events", "verify"]), @r"
    exit 79
    ------- stdout -------
    fault: the log does not open: the store is damaged: File exists (os error 17)
    hint: restore `missive/profiles/default/log` from a backup; an export that you kept still proves what it holds
    hint: journals as they were before the last open are in `missive/profiles/default/log/kept`, if there are any
    ");
    let told = world.missive(["events", "verify", "--json"]).json();
    assert_eq!(told["ok"], false);
    assert_eq!(told["kind"], "events_verify");
    insta::assert_snapshot!(world.missive(["log", "re-anchor", "--reason", "x"]), @r"
    exit 79
    ------- stderr -------
    missive: the log does not open
    caused by: the store is damaged: File exists (os error 17)
    hint: restore `missive/profiles/default/log` from a backup; an export that you kept still proves what it holds
    hint: journals as they were before the last open are in `missive/profiles/default/log/kept`, if there are any
    ");
    insta::assert_snapshot!(world.missive(["events", "list"]), @r"
    exit 79
    ------- stderr -------
    missive: the log does not open
    caused by: the store is damaged: File exists (os error 17)
    hint: restore `missive/profiles/default/log` from a backup; an export that you kept still proves what it holds
    hint: journals as they were before the last open are in `missive/profiles/default/log/kept`, if there are any
    ");
}
