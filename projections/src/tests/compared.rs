//! What changed between two moments.

use super::moments::{place_in, whole};
use super::streamed::views;
use super::*;
use crate::rows::fold::Fold;
use crate::rows::{Bytes, Rows, Table};
use crate::verify::compare;
use crate::{Change, Records};

/// What changed, with at most so many things folded apart. How many messages a context has is left out: see
/// the module of moments.
fn changes(world: &World, from: Seq, to: Seq, apart_max: usize) -> Vec<Change> {
    let records = Records::of(Arc::clone(&world.log));
    let found = views(world).changes_apart(from, to, &records, apart_max, &mut |_| {});
    let mut changes = found.unwrap().changes;
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

        let apart = changes(&world, from, to, usize::MAX);
        let together = changes(&world, from, to, 0);

        prop_assert_eq!(apart, together);
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
