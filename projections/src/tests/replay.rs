//! The same events give the same rows, however they come.

use super::*;
use crate::ViewsHost;
use crate::rows::{KeyRange, Order, Read, Row, Table};
use crate::verify::compare;

/// Everything but what is found by the envelope alone.
fn nouns(store: &Store) -> Vec<(Table, Vec<Row>)> {
    let by_envelope = [
        Table::Meta,
        Table::Postings,
        Table::Times,
        Table::Kinds,
        Table::Subjects,
    ];
    let tables = Table::ALL
        .into_iter()
        .filter(|table| !by_envelope.contains(table));
    tables
        .map(|table| {
            let rows = Read::scan(store, table, &KeyRange::all(), Order::Forward, usize::MAX);
            (table, rows.unwrap())
        })
        .collect()
}

proptest! {
    #![proptest_config(cases())]

    /// Whole, in pieces, one by one: the rows are the same.
    #[test]
    fn replay_equals_incremental_folding_with_any_chunking(
        world in histories(), sizes in proptest::collection::vec(1_usize..9, 1..6),
    ) {
        let records = world.records();
        let (whole, end) = fold_in(world.head().log, &records, &[records.len()]);

        let (pieces, piecewise) = fold_in(world.head().log, &records, &sizes);

        let comparison = compare(&whole, &pieces, end.position).unwrap();
        prop_assert_eq!(comparison.difference, None);
        prop_assert_eq!(end, piecewise);
    }

    /// Views that stopped anywhere, plus the rest of the log, are the whole log.
    #[test]
    fn resuming_from_any_position_equals_replaying_everything(
        world in histories(), cut in any::<prop::sample::Index>(),
    ) {
        let head = world.head();
        let cut = Seq(cut.index(usize::try_from(head.seq.0).unwrap() + 1) as u64);
        let resumed = ViewsHost::at(head.log, cut, world.source()).unwrap();
        prop_assert_eq!(resumed.position(), cut);

        resumed.ensure(head.seq).unwrap();

        prop_assert_eq!(resumed.verify().unwrap().difference, None);
    }

    /// An event of a kind that this build does not know is found by its envelope, and is nothing else.
    #[test]
    fn unknown_events_change_no_noun(world in histories()) {
        let store = memory();
        let mut state = State::new(world.head().log);
        for record in world.records() {
            let is_unknown = matches!(record.decode().unwrap().kind, EventKind::Unknown(_));
            let before = is_unknown.then(|| nouns(&store));

            state = views::fold(&store, &state, views::Prepared::of(vec![record])).unwrap();

            if let Some(before) = before {
                prop_assert_eq!(before, nouns(&store));
            }
        }
    }
}

#[test]
fn an_event_that_cannot_be_read_is_passed_by_and_counted() {
    let mut world = World::new();
    world.append(about("ada", added("http://one.test")));
    world.append(about("bob", added("http://one.test")));
    let mut records = world.records();
    records[1].body = r#"{"v":1,"kind":"missive.agent.added"}"#.into();

    let (_, state) = fold_in(world.head().log, &records, &[9]);

    assert_eq!(state.position, Seq(3));
    assert_eq!(
        (state.unreadable, state.unreadable_first),
        (1, Some(Seq(2)))
    );
}

#[test]
fn a_gap_in_the_log_is_refused_before_anything_is_kept() {
    let mut world = World::new();
    world.append(about("ada", added("http://one.test")));
    let mut records = world.records();
    records.remove(0);

    let store = memory();
    let state = State::new(world.head().log);
    let refused = views::fold(&store, &state, views::Prepared::of(records)).unwrap_err();

    assert_eq!(
        refused.to_string(),
        "the views stand at event 0 and the log went on with event 2"
    );
    assert!(
        compare(&store, &memory(), Seq(0))
            .unwrap()
            .difference
            .is_none()
    );
}

/// A log whose events 3 to 5 were lost, and that was re-anchored at 6.
pub(super) fn reanchored() -> (LogId, Vec<Record>) {
    let mut world = World::new();
    for _ in 0..4 {
        world.append(about("ada", in_doubt()));
    }
    let facts = LogReanchored {
        witnessed: Seq(5),
        witnessed_link: Link([1; 32]),
        found: Seq(2),
        found_link: Link([2; 32]),
    };
    let draft = Draft::new(
        EventId([1; 16]),
        Subject::Log,
        EventKind::LogReanchored(facts),
    );
    world.append(draft);
    world.append(about("ada", in_doubt()));
    let mut records = world.records();
    records.drain(2..5);
    (world.head().log, records)
}

pub(super) fn source_from(records: Vec<Record>) -> Source {
    Box::new(move |after, limit| {
        let later = records.iter().filter(|record| record.seq > after);
        Ok(later.take(limit).cloned().collect())
    })
}

#[test]
fn places_that_a_reanchoring_gave_up_are_no_events() {
    let (log, records) = reanchored();
    let host = ViewsHost::in_memory(log, source_from(records.clone()));
    host.ensure(Seq(4)).unwrap();

    let all = |reverse| {
        let filter = crate::Filter {
            reverse,
            limit: Some(3),
            ..crate::Filter::default()
        };
        host.select(&filter).unwrap()
    };
    assert_eq!(all(false), [Seq(1), Seq(2), Seq(6)]);
    assert_eq!(all(true), [Seq(7), Seq(6), Seq(2)]);
    assert_eq!(host.verify().unwrap().difference, None);
    let within = ViewsHost::at(log, Seq(4), source_from(records)).unwrap();
    assert_eq!(within.position(), Seq(2));
}

#[test]
fn a_place_beyond_the_log_is_an_error_and_not_a_wait() {
    let world = World::new();
    let host = ViewsHost::in_memory(world.head().log, world.source());

    let refused = host.ensure(Seq(5)).unwrap_err();

    assert_eq!(
        refused.to_string(),
        "the views stand at event 1, and event 5 is not in the log"
    );
}

#[test]
fn two_threads_fold_a_log_of_several_chunks_with_the_same_result() {
    let mut world = World::new();
    for n in 0..2_u32 {
        let draft = |m: u32| about(AGENTS[(m % 4) as usize], send(&format!("m-{n}-{m}"), 1));
        world.append_all((0..2_100).map(draft).collect());
    }
    let head = world.head();
    let store = memory();
    let mut stops = Vec::new();

    let state = views::fold_beside(
        &store,
        State::new(head.log),
        &world.source(),
        views::Until::Exactly(head.seq),
        &mut |state| stops.push(state.position),
    );

    let (in_line, _) = fold_in(head.log, &world.records(), &[1_000]);
    assert_eq!(state.unwrap().link, Some(head.link));
    assert_eq!(stops, [Seq(4_096), head.seq]);
    assert_eq!(
        compare(&store, &in_line, head.seq).unwrap().difference,
        None
    );
}

#[test]
fn a_log_that_cannot_be_read_ends_both_threads_with_its_error() {
    let mut world = World::new();
    world.append_all((0..3_000).map(|_| about("ada", in_doubt())).collect());
    let sound = world.source();
    let broken: Source = Box::new(move |after, limit| match after {
        Seq(0) => sound(after, limit),
        _ => Err(missive_log::ReadError::HostLost),
    });
    let state = State::new(world.head().log);
    let until = views::Until::Least(Seq(9_000));

    let failed = views::fold_beside(&memory(), state, &broken, until, &mut |_| {});

    assert!(matches!(failed, Err(crate::ViewsError::Log(_))));
}

#[test]
fn a_follower_keeps_the_views_behind_the_log_without_being_asked() {
    let mut world = World::new();
    let host = Arc::new(ViewsHost::in_memory(world.head().log, world.source()));
    let follower = host.follow(world.log.head()).unwrap();

    let last = world.append(about("ada", added("http://one.test")));
    while host.position() < last {
        std::thread::yield_now();
    }

    drop(follower);
    assert_eq!(Arc::strong_count(&host), 1);
}
