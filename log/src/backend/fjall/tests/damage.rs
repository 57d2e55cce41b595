//! What is still read of a log whose files were damaged, and what is left as it is.

use super::*;

/// How many bytes of a journal are written.
fn used(journal: &Path) -> usize {
    let bytes = fs::read(journal).unwrap();
    bytes.iter().rposition(|byte| *byte != 0).unwrap()
}

#[tokio::test]
async fn every_flipped_byte_of_a_journal_is_noticed_or_harmless() {
    let world = World::new();
    let log = world.open("a");
    world.killed("a", "begun");
    let begun = used(&world.journals("begun")[0]);
    for _ in 0..3 {
        log.append(world.batch(2)).await.unwrap();
    }
    let before = head(&log);
    let whole = log.read_now(Seq::ZERO, 100).unwrap();
    world.killed("a", "template");
    drop(log);
    let journal = world.journals("template").pop().unwrap();
    let bytes = fs::read(&journal).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let step = (used / 24).max(1);

    for place in (0..used).step_by(step) {
        let name = format!("flip-{place}");
        world.killed("template", &name);
        let mut flipped = bytes.clone();
        flipped[place] ^= 0x41;
        let target = world.journals(&name).pop().unwrap();
        fs::write(&target, &flipped).unwrap();
        match world.try_open(&name) {
            Err(OpenError::Integrity(_)) if place < begun => {} // Not even the first event is whole.
            Err(other) => panic!("byte {place}: {other}"),
            Ok(log) if log.fault().is_some() => {
                let of_the_damaged = target.with_file_name("kept");
                let kept = world.folder(&name).kept().exists() || of_the_damaged.exists();
                assert!(kept, "byte {place}");
                let read = log.read_now(Seq::ZERO, 100).unwrap();
                assert_eq!(read, whole[..read.len()], "byte {place}");
                assert!(matches!(
                    log.append(world.batch(1)).await,
                    Err(AppendError::Integrity(_))
                ));
            }
            Ok(log) => {
                assert_eq!(head(&log), before, "byte {place}");
                assert_eq!(log.read_now(Seq::ZERO, 100).unwrap(), whole, "byte {place}");
                assert_eq!(fault_of(&log).await, None, "byte {place}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_whole_before_a_damaged_byte_is_read_and_goes_on_after_a_re_anchoring() {
    let world = World::new();
    let log = world.open("a");
    log.append(world.batch(3)).await.unwrap();
    let whole = log.read_now(Seq::ZERO, 100).unwrap();
    world.killed("a", "before");
    log.append(world.batch(2)).await.unwrap();
    let lost = head(&log);
    world.killed("a", "b");
    drop(log);
    let journal = world.journals("b").pop().unwrap();
    let mut bytes = fs::read(&journal).unwrap();
    bytes[used(&world.journals("before")[0]) + 120] ^= 1;
    fs::write(&journal, &bytes).unwrap();

    let opened = world.open("b");
    let fault = opened.fault().unwrap();
    let read = opened.read_now(Seq::ZERO, 100).unwrap();
    drop(opened);
    let again = world.open("b");
    let facts = LogReanchored {
        found: Seq(4),
        found_link: whole[3].link,
        witnessed: lost.seq,
        witnessed_link: lost.link,
    };
    let draft = Draft::new(
        world.ids.event(),
        Subject::Log,
        EventKind::LogReanchored(facts),
    );
    let anchored = again
        .append(Batch::new(world.ids.batch(), vec![draft]))
        .await
        .unwrap();

    assert_eq!(read, whole);
    assert!(matches!(*fault, IntegrityFault::Shorter { witnessed, .. } if witnessed == lost));
    assert_eq!(anchored.first, Seq(7));
    assert_eq!(fault_of(&again).await, None);
    assert!(journal.exists(), "the damaged database stays as evidence");
    let kept = journal.with_file_name("kept");
    let kept = kept.join(journal.file_name().unwrap());
    assert_eq!(fs::read(kept).unwrap(), bytes);
}

#[tokio::test]
async fn the_lock_file_of_the_store_may_be_gone() {
    let world = World::new();
    let log = world.open("a");
    log.append(world.batch(1)).await.unwrap();
    let before = head(&log);
    drop(log);
    let database = world.folder("a").current().unwrap().unwrap();
    fs::remove_file(database.join("lock")).unwrap();

    let log = world.open("a");

    assert_eq!((head(&log), log.fault()), (before, None));
}

#[tokio::test]
async fn a_store_that_lost_a_small_file_is_left_as_it_is() {
    let world = World::new();
    let log = world.open("a");
    log.append(world.batch(3)).await.unwrap();
    let whole = log.read_now(Seq::ZERO, 100).unwrap();
    drop(log);
    let database = world.folder("a").current().unwrap().unwrap();
    let files = |number: u32| {
        let folder = database.join("keyspaces").join(number.to_string());
        let version = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with('v'))
            .unwrap();
        [folder.join("current"), version]
    };

    for file in (0..=5).flat_map(files) {
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert!(matches!(world.try_open("a"), Err(OpenError::Integrity(_))));
        for place in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[place] ^= 4;
            fs::write(&file, &flipped).unwrap();
            assert!(whole::lacking(&database).unwrap().is_some(), "{place}");
        }
        fs::write(&file, &bytes).unwrap();
    }

    assert_eq!(world.open("a").read_now(Seq::ZERO, 100).unwrap(), whole);
}

#[tokio::test]
async fn a_batch_that_was_torn_before_it_was_acknowledged_is_as_if_it_had_never_been() {
    let world = World::new();
    let log = world.open("a");
    log.append(world.batch(2)).await.unwrap();
    let acknowledged = head(&log);
    world.killed("a", "before");
    log.append(world.batch(1)).await.unwrap();
    world.killed("a", "after");
    drop(log);
    let whole = fs::read(&world.journals("after")[0]).unwrap();
    let (from, to) = (
        used(&world.journals("before")[0]) + 1,
        used(&world.journals("after")[0]),
    );

    for cut in (from..to).step_by(((to - from) / 12).max(1)) {
        let name = format!("torn-{cut}");
        world.killed("before", &name);
        // The witness is the one of the acknowledged head.
        fs::write(&world.journals(&name)[0], &whole[..cut]).unwrap();

        let log = world.open(&name);
        let found = (head(&log), log.fault());
        let appended = log.append(world.batch(1)).await.unwrap();
        drop(log);

        assert_eq!(found, (acknowledged, None), "cut at {cut}");
        assert_eq!(appended.first, acknowledged.seq.next());
        assert_eq!(fault_of(&world.open(&name)).await, None, "cut at {cut}");
    }
}

/// Flips a bit in the newest journal, so far behind its end.
fn flip(world: &World, name: &str, from_end: usize) {
    let journal = world.journals(name).pop().unwrap();
    let mut bytes = fs::read(&journal).unwrap();
    let place = used(&journal) - from_end;
    bytes[place] ^= 1;
    fs::write(&journal, &bytes).unwrap();
}

#[tokio::test]
async fn a_log_that_is_damaged_twice_is_re_anchored_where_it_ends() {
    let world = World::new();
    let log = world.open("a");
    for _ in 0..6 {
        log.append(world.batch(1)).await.unwrap();
    }
    let witnessed = head(&log);
    world.killed("a", "b");
    drop(log);
    flip(&world, "b", 150);
    let first = head(&world.open("b"));
    flip(&world, "b", 150);

    let twice = world.open("b");

    let found = head(&twice);
    assert!(found.seq < first.seq && first.seq < witnessed.seq);
    let fault = twice.fault().unwrap();
    assert_eq!(*fault, IntegrityFault::Shorter { witnessed, found });
    let facts = LogReanchored {
        witnessed: witnessed.seq,
        witnessed_link: witnessed.link,
        found: found.seq,
        found_link: found.link,
    };
    let kind = EventKind::LogReanchored(facts);
    let draft = Draft::new(world.ids.event(), Subject::Log, kind);
    let anchored = Batch::new(world.ids.batch(), vec![draft]);
    let anchored = twice.append(anchored).await.unwrap();
    assert_eq!(anchored.first, witnessed.seq.next());
    assert_eq!(fault_of(&twice).await, None);
    assert!(!world.folder("b").kept().exists());
}

#[tokio::test]
async fn a_backup_that_is_put_back_ends_the_fault() {
    let world = World::new();
    let log = world.open("a");
    for _ in 0..3 {
        log.append(world.batch(1)).await.unwrap();
    }
    let whole = head(&log);
    world.killed("a", "b");
    drop(log);
    let folder = world.folder("b");
    copy(folder.root(), &world.temporary.path().join("backup"));
    flip(&world, "b", 150);
    assert!(world.open("b").fault().is_some());

    copy(&world.temporary.path().join("backup"), folder.root());
    let again = world.open("b");

    assert_eq!((head(&again), again.fault()), (whole, None));
    assert!(!folder.fault().exists());
    again.append(world.batch(1)).await.unwrap();
}

#[tokio::test]
async fn a_death_before_the_readable_database_is_named_is_made_up_for() {
    let world = World::new();
    let log = world.open("a");
    for _ in 0..3 {
        log.append(world.batch(1)).await.unwrap();
    }
    world.killed("a", "b");
    drop(log);
    flip(&world, "b", 150);
    let found = head(&world.open("b"));
    // As if the process had died between the two steps: the folder has its name, and CURRENT the old one.
    let folder = world.folder("b");
    fs::write(folder.root().join("CURRENT"), "db-1\n").unwrap();
    fs::remove_file(folder.fault()).unwrap();

    let again = world.open("b");

    assert_eq!(head(&again), found);
    assert!(again.fault().is_some());
    assert!(folder.current().unwrap().unwrap().ends_with("db-2"));
}
