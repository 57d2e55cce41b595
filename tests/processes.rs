//! Many processes on one log, while the one that hosts it is killed.

use crate::TestWorld;
use crate::history::{profile, recorded};
use missive_log::backend::fjall::forge::change_a_letter;
use missive_log::event::Seq;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

const WRITERS: usize = 8;
const APPENDS_EACH: usize = 4;

/// Without a fixed seed: identifiers of concurrent runs must differ.
fn unseeded(world: &TestWorld, arguments: &[&str]) -> Command {
    let mut command = world.command(arguments.iter().copied());
    command
        .env_remove("MISSIVE_TEST_SEED")
        .env_remove("MISSIVE_TEST_CLOCK");
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Follows the log, and hosts it if nobody else does.
fn following(world: &TestWorld) -> Child {
    let mut command = unseeded(world, &["events", "tail", "--from-sequence", "1"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // It works once it shows something.
    lines.next().unwrap().unwrap();
    std::thread::spawn(move || lines.for_each(drop));
    child
}

#[test]
fn a_lock_file_that_is_removed_stops_its_holder_and_lets_nobody_else_write_meanwhile() {
    let world = TestWorld::new();
    assert_eq!(
        world
            .missive(["agent", "add", "py", "http://127.0.0.1:9"])
            .code,
        Some(0)
    );
    let mut holder = following(&world);
    let lock = world.missive_home().join("profiles/default/log/lock");
    std::fs::remove_file(&lock).unwrap();
    let add = ["agent", "add", "rs", "http://127.0.0.1:9"];

    let refused = world.missive(add);
    holder.kill().unwrap();
    holder.wait().unwrap();
    let added = world.missive(add);

    assert_eq!(
        (refused.code, added.code),
        (Some(74), Some(0)),
        "{refused}{added}"
    );
    let why = "caused by: the lock file was removed or replaced while this process held it";
    assert!(refused.stderr.contains(why), "{refused}");
    assert!(
        refused.stderr.contains("hint: nothing was written"),
        "{refused}"
    );
    assert_eq!(world.missive(["events", "verify"]).code, Some(0));
}

#[test]
fn a_storm_on_an_empty_home_makes_one_log_that_holds_everything() {
    let world = TestWorld::new();
    let aliases: Vec<String> = (0..12).map(|number| format!("agent-{number}")).collect();

    let begun: Vec<Child> = aliases
        .iter()
        .map(|alias| {
            let add = ["agent", "add", alias, "http://127.0.0.1:9"];
            unseeded(&world, &add).spawn().unwrap()
        })
        .collect();
    let ends: Vec<_> = begun
        .into_iter()
        .map(|child| world.ended(child))
        .filter(|run| run.code != Some(0))
        .map(|run| run.to_string())
        .collect();

    assert_eq!(ends, Vec::<String>::new());
    let listed = world.missive(["agent", "list", "--json"]).stdout;
    assert!(
        aliases.iter().all(|alias| listed.contains(alias)),
        "{listed}"
    );
    assert_eq!(world.missive(["events", "verify"]).code, Some(0));
}

#[test]
fn of_many_that_take_one_name_at_once_one_gets_it() {
    let world = TestWorld::new();
    recorded(&world);
    for round in 0..3 {
        let begun: Vec<Child> = (0..8)
            .map(|number| {
                let (name, url) = (
                    format!("name-{round}"),
                    format!("http://127.0.0.1:{}", 9 + number),
                );
                let add = ["agent", "add", &name, &url];
                unseeded(&world, &add).spawn().unwrap()
            })
            .collect();
        let ends: Vec<_> = begun
            .into_iter()
            .map(|child| world.ended(child).code)
            .collect();

        assert_eq!(
            ends.iter().filter(|code| **code == Some(0)).count(),
            1,
            "{ends:?}"
        );
        assert_eq!(
            ends.iter().filter(|code| **code == Some(64)).count(),
            7,
            "{ends:?}"
        );
    }
}

#[test]
fn eight_processes_append_while_their_host_is_killed_and_nothing_is_lost() {
    let world = TestWorld::new();
    recorded(&world);
    let mut host = following(&world);
    let (begun, first_ones) = mpsc::channel();

    let failed: Vec<String> = std::thread::scope(|scope| {
        let append = |begun: mpsc::Sender<()>| {
            let mut failed = Vec::new();
            for _ in 0..APPENDS_EACH {
                let output = unseeded(&world, &["events", "export"]).output().unwrap();
                if output.status.code() != Some(0) {
                    failed.push(world.seen(output).to_string());
                }
                begun.send(()).ok();
            }
            failed
        };
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let begun = begun.clone();
                scope.spawn(move || append(begun))
            })
            .collect();
        for _ in 0..WRITERS {
            first_ones.recv().unwrap();
        }
        host.kill().unwrap();
        host.wait().unwrap();
        writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect()
    });

    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let exports = world.missive([
        "events",
        "list",
        "--type",
        "missive.log.exported",
        "--ndjson",
    ]);
    assert_eq!(exports.stdout.lines().count(), WRITERS * APPENDS_EACH);
    for command in [["events", "verify"], ["projection", "verify"]] {
        let run = world.missive(command);
        assert_eq!(run.code, Some(0), "{run}");
    }
}

#[test]
fn an_attached_process_is_told_the_same_as_one_that_hosts() {
    let world = TestWorld::new();
    recorded(&world);
    let commands: [&[&str]; 7] = [
        &["events", "list", "--json"],
        &["events", "list", "--agent", "ada", "--reverse"],
        &["events", "stats", "--json"],
        &["events", "verify"],
        &["projection", "verify"],
        &["projection", "list"],
        &["task", "get", "t-1", "--json"],
    ];
    let ask = || commands.map(|command| told(&world, command));
    let hosting = ask();

    let mut host = following(&world);
    let attached = ask();
    host.kill().unwrap();
    host.wait().unwrap();

    assert_eq!(hosting, attached);
    assert!(
        hosting.iter().all(|told| told.starts_with("exit 0")),
        "{hosting:?}"
    );
}

/// What a run says, without the sizes of files that are being written.
fn told(world: &TestWorld, command: &[&str]) -> String {
    let shown = world.missive(command.iter().copied()).to_string();
    match shown.split_once("\"bytes\":") {
        Some((before, after)) => {
            let after = after.split_once('}').map_or("", |(_, after)| after);
            format!("{before}{after}")
        }
        None => shown,
    }
}

#[test]
fn a_fault_that_an_attached_process_finds_is_noted_by_the_host() {
    let world = TestWorld::new();
    recorded(&world);
    let changed = change_a_letter(&profile(&world), Seq(6)).unwrap();
    let mut host = following(&world);
    let add = ["agent", "add", "grace", "http://grace.test"];

    let found = world.missive(["events", "verify"]);
    let refused = world.missive(add);
    host.kill().unwrap();
    host.wait().unwrap();
    let later = world.missive(add);

    assert!(changed);
    assert_eq!(
        (found.code, refused.code, later.code),
        (Some(79), Some(79), Some(79)),
        "{refused}"
    );
}
