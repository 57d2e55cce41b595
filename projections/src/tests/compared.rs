//! What changed between two moments.

use super::moments::{place_in, whole};
use super::streamed::views;
use super::*;
use crate::rows::fold::Fold;
use crate::rows::{Bytes, Rows, Table};
use crate::verify::compare;
use crate::{Change, Records};

/// What changed, with so many things folded at once. How many messages a context has is left out: see the
/// module of moments.
fn changes(world: &World, from: Seq, to: Seq, together: usize) -> Vec<Change> {
    let records = Records::of(Arc::clone(&world.log));
    let found = views(world).changes_by(together, (from, to), usize::MAX, &records, &mut |_| {});
    without_messages(found.unwrap().changes)
}

fn without_messages(mut changes: Vec<Change>) -> Vec<Change> {
    for change in &mut changes {
        change.fields.retain(|field| field.name != "messages");
    }
    changes.retain(|change| !change.fields.is_empty());
    changes
}

proptest! {
    #![proptest_config(cases())]

    /// Folding each thing from its own events finds what folding the whole log finds.
    #[test]
    fn things_compared_apart_are_what_the_whole_log_says(
        world in histories(), one in any::<prop::sample::Index>(), other in any::<prop::sample::Index>(),
    ) {
        let (one, other) = (place_in(&world, one), place_in(&world, other));
        let (from, to) = (one.min(other), one.max(other));

        let records = Records::of(Arc::clone(&world.log));
        let whole = views(&world).changes_of_whole((from, to), &records);
        let whole = without_messages(whole.unwrap().changes);

        for together in [1, 2, usize::MAX] {
            prop_assert_eq!(&changes(&world, from, to, together), &whole, "{}", together);
        }
    }

    /// Whatever is different afterwards is told, and nothing else.
    #[test]
    fn a_task_or_agent_is_told_exactly_if_it_is_not_what_it_was(
        world in histories(), one in any::<prop::sample::Index>(), other in any::<prop::sample::Index>(),
    ) {
        let (one, other) = (place_in(&world, one), place_in(&world, other));
        let (from, to) = (one.min(other), one.max(other));
        let (before, after) = (whole(&world, from), whole(&world, to));
        let told = changes(&world, from, to, 64);
        let is_told = |view: &str, id: &str| {
            told.iter().any(|change| change.view == view && change.id == id)
        };

        for id in IDS {
            let states = |views: &crate::Views| -> Vec<_> {
                let named = views.tasks_named(&task(id)).unwrap().into_iter();
                named
                    .map(|row| {
                        let counts = (row.artifacts, row.history, row.refused, row.contradicted);
                        (row.identity, row.agent, row.context, row.state, counts)
                    })
                    .collect()
            };
            prop_assert_eq!(is_told("tasks", id), states(&before) != states(&after), "task {}", id);
        }
        let aliases = |views: &crate::Views| -> Vec<_> {
            views.agents().unwrap().into_iter().map(|agent| (agent.added, agent.alias)).collect()
        };
        if aliases(&before) != aliases(&after) {
            prop_assert!(told.iter().any(|change| change.view == "agents"));
        }
    }
}

#[test]
fn a_renamed_agent_is_the_same_agent() {
    let mut world = World::new();
    world.append(about("one", added("http://one.test")));
    let from = world.head().seq;
    world.append(about("one", renamed("two")));

    let told = changes(&world, from, world.head().seq, 64);

    let [change] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert_eq!((change.view, change.id.as_str()), ("agents", "two"));
    let [field] = change.fields.as_slice() else {
        panic!("{change:?}");
    };
    assert_eq!(
        (field.name, field.from.as_str(), field.to.as_str()),
        ("alias", "one", "two")
    );
}

/// What is asked for are the first ones, in the order in which all are told.
#[test]
fn of_many_changes_the_first_are_told_and_the_others_counted() {
    let mut world = World::new();
    for name in ["c", "a", "d", "b"] {
        world.append(about(name, added("http://one.test")));
    }
    let records = Records::of(Arc::clone(&world.log));
    let to = world.head().seq;

    let found = views(&world).changes(Seq::ZERO, to, 2, &records, &mut |_| {});

    let found = found.unwrap();
    let ids: Vec<_> = found
        .changes
        .iter()
        .map(|change| change.id.as_str())
        .collect();
    assert_eq!((ids, found.more), (vec!["a", "b"], 2));
}

/// Verification looks at every table, whichever view writes it.
#[test]
fn a_row_that_no_event_made_is_found_in_every_table() {
    let tables = Table::ALL
        .into_iter()
        .filter(|table| !matches!(table, Table::Meta | Table::Postings));
    for table in tables {
        let (sound, strange) = (memory(), memory());
        let mut rows = Fold::new(&strange);
        rows.put(table, b"key", Bytes::from(b"row".as_slice()));
        strange.commit(rows.into_seen().unwrap()).unwrap();

        let found = compare(&strange, &sound, Seq(1)).unwrap().difference;

        assert_eq!(found.unwrap().table, table.name());
    }
}
