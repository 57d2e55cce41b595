//! A folder of views may be killed, copied, cut, replaced or deleted: nothing but time is lost.

use super::*;
use crate::rows::disk::DiskStore;
use crate::rows::pending::{Cell, Seen};
use crate::rows::{Order, Table};
use crate::{Views, ViewsError, ViewsHost};
use std::fs;
use std::path::Path;

fn world_of(events: u32) -> World {
    let mut world = World::new();
    for n in 0..events {
        world.wait(10_000);
        let sent = world.append(of(
            &format!("op-{n}"),
            "ada",
            None,
            send(&format!("m{n}"), 1),
        ));
        let task = seen(&format!("t{n}"), TaskState::Completed, None);
        world.append(of(
            &format!("op-{n}"),
            "ada",
            Some(sent),
            responded(None, Some(task)),
        ));
    }
    world
}

fn open(folder: &Path, world: &World) -> ViewsHost {
    ViewsHost::open(folder, world.head(), world.source()).unwrap()
}

/// Opens, catches up, and holds everything against a fold in memory.
fn check(folder: &Path, world: &World) -> Seq {
    let host = open(folder, world);
    let found = host.position();
    host.ensure(world.head().seq).unwrap();
    let comparison = host.verify().unwrap();
    assert_eq!(comparison.difference, None);
    assert!(comparison.equal > 0);
    host.close().unwrap();
    found
}

fn written(key: Vec<u8>, value: Vec<u8>) -> Seen {
    (key.into(), Cell::written(Some(value.into()), false))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_closed_folder_opens_where_it_was_left() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("views");
    let world = world_of(30);
    assert_eq!(check(&folder, &world), Seq::ZERO);

    assert_eq!(check(&folder, &world), world.head().seq);
}

#[test]
fn a_long_journal_is_emptied_at_close_and_every_row_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("views");
    let world = world_of(700);
    check(&folder, &world);

    let journals: Vec<u64> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "jnl"))
        .map(|entry| entry.metadata().unwrap().len())
        .collect();
    assert_eq!(journals, [0]);
    assert_eq!(check(&folder, &world), world.head().seq);
}

#[test]
fn rows_that_gather_and_rows_that_were_handed_over_are_read_as_one() {
    let home = tempfile::tempdir().unwrap();
    let key = |n: u16| [&[Table::Contexts as u8], n.to_be_bytes().as_slice()].concat();
    let store = DiskStore::open(&home.path().join("views")).unwrap();
    // More than one batch takes, so that they lie in a table; then others that stay in memory.
    store
        .commit((0..5_000).map(|n| written(key(n), vec![1])).collect())
        .unwrap();
    store.commit(vec![written(key(4_999), vec![1])]).unwrap();
    let mut newer: Vec<Seen> = (4_900..5_100).map(|n| written(key(n), vec![2])).collect();
    newer.extend((0..4_800).map(|n| (key(n).into(), Cell::written(None, false))));
    store.commit(newer).unwrap();
    let all = |order| {
        let mut found = Vec::new();
        let each = &mut |key: &[u8], value: &[u8]| {
            found.push((u16::from_be_bytes(key[1..].try_into().unwrap()), value[0]));
            std::ops::ControlFlow::Continue(())
        };
        store.scan(&key(0), None, order, each).unwrap();
        found
    };

    let ones = (4_800..4_900).map(|n| (n, 1));
    let expected: Vec<(u16, u8)> = ones.chain((4_900..5_100).map(|n| (n, 2))).collect();
    assert_eq!(all(Order::Forward), expected);
    let backwards: Vec<_> = expected.into_iter().rev().collect();
    assert_eq!(all(Order::Reverse), backwards);
    assert_eq!(store.get(&key(4_799)).unwrap(), None);
    assert_eq!(store.get(&key(4_950)).unwrap().unwrap(), [2]);

    store.close().unwrap();
    let store = DiskStore::open(&home.path().join("views")).unwrap();
    assert_eq!(store.get(&key(4_799)).unwrap(), None);
    assert_eq!(store.get(&key(4_950)).unwrap().unwrap(), [2]);
}

#[test]
fn a_process_that_dies_without_closing_leaves_an_earlier_state_that_catches_up() {
    let home = tempfile::tempdir().unwrap();
    let mut world = world_of(20);
    let folder = home.path().join("views");
    let host = open(&folder, &world);
    host.ensure(Seq(21)).unwrap();
    world.append(about("ada", added("http://one.test")));
    host.ensure(world.head().seq).unwrap();

    // What the operating system has at this moment is what a killed process leaves behind.
    let killed = home.path().join("killed");
    copy(&folder, &killed);
    drop(host);

    assert_eq!(check(&killed, &world), world.head().seq);
    assert_eq!(check(&folder, &world), world.head().seq);
}

#[test]
fn a_deleted_folder_is_folded_again() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("views");
    let world = world_of(5);
    check(&folder, &world);

    fs::remove_dir_all(&folder).unwrap();

    assert_eq!(check(&folder, &world), Seq::ZERO);
}

#[test]
fn a_folder_of_other_versions_is_folded_again() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("views");
    let world = world_of(5);
    check(&folder, &world);
    let store = DiskStore::open(&folder).unwrap();
    let mut state = State::load(&store).unwrap().unwrap();
    state.fingerprint = state.fingerprint.replace(" task.", " task.0");
    let row = postcard::to_stdvec(&state).unwrap();
    store
        .commit(vec![written(Table::Meta.key(b"state"), row)])
        .unwrap();
    store.close().unwrap();

    assert_eq!(check(&folder, &world), Seq::ZERO);
}

#[test]
fn a_folder_of_another_log_or_of_a_lost_end_is_folded_again() {
    let home = tempfile::tempdir().unwrap();
    let long = world_of(9);
    let mut shorter = world_of(4);
    let other = World::seeded(b"other");

    let ahead = home.path().join("ahead");
    check(&ahead, &long);
    // The views tell once what they have seen: the log's own witness may be gone as well.
    let lost = open(&ahead, &shorter).lost();
    assert_eq!(lost, Some(long.head()));
    assert_eq!(open(&ahead, &shorter).lost(), None);
    assert_eq!(check(&ahead, &shorter), Seq::ZERO);

    // The log lost its end and went on with other events: same log, same length, other links.
    let forked = home.path().join("forked");
    check(&forked, &long);
    while shorter.head().seq < long.head().seq {
        shorter.append(about("bob", added("http://two.test")));
    }
    assert_eq!(open(&forked, &shorter).lost(), Some(long.head()));
    assert_eq!(check(&forked, &shorter), Seq::ZERO);

    let strange = home.path().join("strange");
    check(&strange, &world_of(0));
    assert_eq!(check(&strange, &other), Seq::ZERO);
}

#[test]
fn a_damaged_folder_is_folded_again_whatever_is_damaged() {
    let home = tempfile::tempdir().unwrap();
    let world = world_of(40);
    let sound = home.path().join("sound");
    let host = open(&sound, &world);
    host.ensure(world.head().seq).unwrap();
    drop(host);
    let mut files = vec![sound.clone()];
    let mut damaged = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        for cut in [true, false] {
            let victim = home.path().join(format!("victim-{damaged}"));
            copy(&sound, &victim);
            let file = victim.join(path.strip_prefix(&sound).unwrap());
            let mut bytes = fs::read(&file).unwrap();
            let half = bytes.len() / 2;
            if cut {
                bytes.truncate(half);
            } else {
                bytes[half..].fill(0xa5);
            }
            fs::write(&file, bytes).unwrap();

            check(&victim, &world);
            damaged += 1;
        }
    }
    assert!(damaged > 4);
}

#[test]
fn a_rebuild_that_was_interrupted_leaves_nothing_behind_it() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("views");
    let world = world_of(5);
    check(&folder, &world);
    // Died after the old folder was removed and before the new one took its place.
    fs::rename(&folder, home.path().join("views.new")).unwrap();

    assert_eq!(check(&folder, &world), Seq::ZERO);

    assert!(!home.path().join("views.new").exists());
}

#[test]
fn a_rebuild_gives_the_same_rows_and_serves_on() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("views");
    let mut world = world_of(5);
    let host = Arc::new(open(&folder, &world));
    host.ensure(world.head().seq).unwrap();

    let status = host.rebuild().unwrap();
    let last = world.append(about("ada", added("http://one.test")));

    assert_eq!(status.position.next(), last);
    assert_eq!(
        Views::hosted(Arc::clone(&host), last)
            .agents()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(host.verify().unwrap().difference, None);
}

#[test]
fn a_wrong_row_is_found_named_and_healed_by_a_rebuild() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("views");
    let mut world = World::new();
    world.append(about("ada", added("http://one.test")));
    check(&folder, &world);
    let store = DiskStore::open(&folder).unwrap();
    store
        .commit(vec![written(Table::MessageCounts.key(b"c"), vec![7])])
        .unwrap();
    store.close().unwrap();
    let host = open(&folder, &world);

    let found = host.verify().unwrap().difference.unwrap();
    host.rebuild().unwrap();

    insta::assert_snapshot!(found, @"view message, message counts c: live 7, rebuilt nothing");
    assert_eq!(host.verify().unwrap().difference, None);
}

#[test]
fn a_row_that_cannot_be_read_is_an_error_once_and_then_healed() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("views");
    let mut world = World::new();
    let last = world.append(about("ada", added("http://one.test")));
    check(&folder, &world);
    let store = DiskStore::open(&folder).unwrap();
    store
        .commit(vec![written(Table::Agents.key(b"ada"), vec![0xff; 3])])
        .unwrap();
    store.close().unwrap();
    let views = Views::hosted(Arc::new(open(&folder, &world)), last);

    let refused = views.agents().unwrap_err();

    assert_eq!(
        refused.to_string(),
        "a row of the view table `agents` is damaged"
    );
    assert_eq!(views.agents().unwrap().len(), 1);
}

#[test]
fn closed_views_say_so() {
    let home = tempfile::tempdir().unwrap();
    let world = world_of(1);
    let host = open(&home.path().join("views"), &world);
    host.close().unwrap();

    assert!(matches!(host.ensure(Seq(1)), Err(ViewsError::Closed)));
    assert!(matches!(host.verify(), Err(ViewsError::Closed)));
    host.close().unwrap();
}
