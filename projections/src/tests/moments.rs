//! An earlier moment, folded from a few events, is what a fold of the whole log up to there gives.

use super::streamed::views;
use super::*;
use crate::{At, Records, Scope, Task, Views, ViewsError, ViewsHost};
use missive_log::event::GroupName;
use std::fmt::Debug;

/// The views of the whole log up to a place.
pub(super) fn whole(world: &World, place: Seq) -> Views {
    let host = ViewsHost::at(world.head().log, place, world.source()).unwrap();
    Views::hosted(Arc::new(host), place)
}

fn at_place(world: &World, place: Seq, scope: &Scope) -> Views {
    let records = Records::of(Arc::clone(&world.log));
    views(world)
        .at(place, scope, &records, &mut |_| {})
        .unwrap()
}

/// A place of a history, from its first event on.
pub(super) fn place_in(world: &World, cut: prop::sample::Index) -> Seq {
    Seq(cut.index(usize::try_from(world.head().seq.0).unwrap()) as u64 + 1)
}

/// Everything that views say of a task.
fn of_task(views: &Views, task: &Task) -> impl Debug + PartialEq + use<> {
    let artifacts = views.artifacts(task).unwrap();
    let pieces: Vec<_> = artifacts
        .iter()
        .map(|artifact| views.pieces(task, artifact).unwrap())
        .collect();
    let push = views.push_configs(task).unwrap();
    let agent = views.agent_of(task).unwrap();
    (task.clone(), artifacts, pieces, push, agent)
}

/// Everything that views say of a context. How many messages it has is left out: see the module.
fn of_context(views: &Views, id: &str) -> impl Debug + PartialEq + use<> {
    let id = context(id);
    let row = views
        .context(&id)
        .unwrap()
        .map(|row| crate::Context { messages: 0, ..row });
    let tasks = views.tasks_in(&id).unwrap();
    let tasks: Vec<_> = tasks.iter().map(|task| of_task(views, task)).collect();
    let outputs = views.outputs(&id).unwrap();
    let latest: Vec<_> = outputs
        .iter()
        .map(|output| views.task_of(output).unwrap())
        .collect();
    let rest = (
        views.agents_in(&id).unwrap(),
        views.children_of(&id).unwrap(),
    );
    (row, tasks, outputs, latest, rest)
}

fn of_groups(views: &Views) -> impl Debug + PartialEq + use<> {
    let groups = views.groups().unwrap();
    let members: Vec<_> = groups
        .iter()
        .map(|group| views.members(group).unwrap())
        .collect();
    let standings: Vec<_> = members
        .iter()
        .map(|members| views.standings(members).unwrap())
        .collect();
    let entry = views.group_entry(&GroupName::new("one").unwrap()).unwrap();
    (groups, members, standings, entry)
}

fn of_agent(views: &Views, name: &str) -> impl Debug + PartialEq + use<> {
    let alias = alias(name);
    (
        views.entry(&alias).unwrap(),
        views.card(&alias).unwrap(),
        views.present_alias(&alias).unwrap(),
    )
}

fn of_round(views: &Views, op: &str) -> impl Debug + PartialEq + use<> {
    let op = operation(op);
    (
        views.round(&op).unwrap(),
        views.round_members(&op).unwrap(),
        views.reduce_sources(&op).unwrap(),
    )
}

proptest! {
    #![proptest_config(cases())]

    /// A context from its own events and those that they hang on.
    #[test]
    fn a_context_at_a_place_is_what_the_whole_log_says(
        world in histories(), cut in any::<prop::sample::Index>(),
    ) {
        let place = place_in(&world, cut);
        let whole = whole(&world, place);
        for id in IDS {
            let alone = at_place(&world, place, &Scope::Context(context(id)));

            prop_assert_eq!(of_context(&alone, id), of_context(&whole, id));
            prop_assert_eq!(of_groups(&alone), of_groups(&whole));
        }
    }

    /// A task from the events that report of it.
    #[test]
    fn a_task_at_a_place_is_what_the_whole_log_says(
        world in histories(), cut in any::<prop::sample::Index>(),
    ) {
        let place = place_in(&world, cut);
        let whole = whole(&world, place);
        for id in IDS {
            let alone = at_place(&world, place, &Scope::Task(task(id)));

            let all = |views: &Views| -> Vec<_> {
                let named = views.tasks_named(&task(id)).unwrap();
                named.iter().map(|task| of_task(views, task)).collect()
            };
            prop_assert_eq!(all(&alone), all(&whole));
        }
    }

    /// An agent from the register and its cards, by every alias.
    #[test]
    fn an_agent_at_a_place_is_what_the_whole_log_says(
        world in histories(), cut in any::<prop::sample::Index>(),
    ) {
        let place = place_in(&world, cut);
        let whole = whole(&world, place);
        let registry = at_place(&world, place, &Scope::Registry);
        for name in AGENTS {
            let alone = at_place(&world, place, &Scope::Agent(alias(name)));

            prop_assert_eq!(of_agent(&alone, name), of_agent(&whole, name));
            prop_assert_eq!(of_agent(&registry, name), of_agent(&whole, name));
        }
        prop_assert_eq!(registry.agents().unwrap(), whole.agents().unwrap());
        prop_assert_eq!(of_groups(&registry), of_groups(&whole));
    }

    /// Whole-log scopes leave out what nobody reads, and a round needs its operation alone.
    #[test]
    fn lists_and_rounds_at_a_place_are_what_the_whole_log_says(
        world in histories(), cut in any::<prop::sample::Index>(),
    ) {
        let place = place_in(&world, cut);
        let whole = whole(&world, place);

        let tasks = at_place(&world, place, &Scope::Tasks);
        let contexts = at_place(&world, place, &Scope::Contexts);
        let everything = at_place(&world, place, &Scope::Everything);
        let groups = at_place(&world, place, &Scope::Groups);

        prop_assert_eq!(tasks.tasks().unwrap(), whole.tasks().unwrap());
        prop_assert_eq!(contexts.contexts().unwrap(), whole.contexts().unwrap());
        prop_assert_eq!(everything.outbox().unwrap(), whole.outbox().unwrap());
        prop_assert_eq!(everything.contexts().unwrap(), whole.contexts().unwrap());
        prop_assert_eq!(everything.kinds().unwrap(), whole.kinds().unwrap());
        prop_assert_eq!(of_groups(&groups), of_groups(&whole));
        for op in ["op-0", "op-1", "op-2", "op-3"] {
            let round = at_place(&world, place, &Scope::Round(operation(op)));
            prop_assert_eq!(of_round(&round, op), of_round(&whole, op));
        }
    }

    /// What is found of an earlier moment is what would have been found then.
    #[test]
    fn events_of_an_earlier_moment_are_those_that_were_there(
        world in histories(), cut in any::<prop::sample::Index>(), name in 0_usize..4,
    ) {
        let place = place_in(&world, cut);
        let (whole, then) = (whole(&world, place), at_place(&world, place, &Scope::Registry));
        for agent in [None, Some(alias(AGENTS[name]))] {
            let filter = crate::Filter {
                agent,
                since: Some(at(BEGIN + 1_000_000)),
                reverse: true,
                limit: Some(5),
                ..crate::Filter::default()
            };

            prop_assert_eq!(then.select(&filter).unwrap(), whole.select(&filter).unwrap());
        }
    }
}

#[test]
fn a_moment_means_the_last_event_that_is_not_later() {
    let mut world = World::new();
    world.wait(300_000);
    let first = world.append(about("ada", in_doubt()));
    world.wait(300_000);
    world.append_all(vec![about("ada", in_doubt()), about("ada", in_doubt())]);
    let views = views(&world);
    let time = |micros| At::Time(at(BEGIN + micros));

    let found: Vec<_> = [
        time(300_000),
        time(599_999),
        // A seeded clock steps by a millisecond from event to event.
        time(600_999),
        time(601_000),
        time(u64::from(u32::MAX)),
        At::Time(at(BEGIN - 1)),
        At::Place(Seq(3)),
        At::Place(Seq(5)),
        At::Place(Seq::ZERO),
    ]
    .into_iter()
    .map(|moment| views.place_of(moment).unwrap())
    .collect();

    let [third, head] = [Some(Seq(3)), Some(Seq(4))];
    assert_eq!(
        found,
        [
            Some(first),
            Some(first),
            third,
            head,
            head,
            None,
            third,
            None,
            None
        ]
    );
}

#[test]
fn a_place_that_a_reanchoring_gave_up_means_the_event_before_it() {
    let (log, records) = replay::reanchored();
    let head = records.last().unwrap().seq;
    let host = ViewsHost::in_memory(log, replay::source_from(records));
    let views = Views::hosted(Arc::new(host), head);

    assert_eq!(views.place_of(At::Place(Seq(4))).unwrap(), Some(Seq(2)));
}

#[test]
fn an_answer_counts_the_message_that_went_out_without_its_context() {
    let mut world = World::new();
    let asked = world.append(of("op-1", "ada", None, send("m-1", 1)));
    let mut answer = of("op-1", "ada", Some(asked), responded(Some("m-2"), None));
    answer.links.context = Some(context("one"));
    let last = world.append(answer);

    let then = at_place(&world, last, &Scope::Context(context("one")));

    let row = then.context(&context("one")).unwrap().unwrap();
    assert_eq!((row.messages, row.first), (2, last));
}

#[test]
fn what_was_not_folded_for_a_moment_is_an_error_and_not_an_empty_answer() {
    let mut world = World::new();
    let last = world.append(about("ada", added("http://one.test")));
    let then = at_place(&world, last, &Scope::Agent(alias("ada")));

    let refused = then.contexts().unwrap_err();

    assert_eq!(
        refused.to_string(),
        "the view table `contexts` was not folded for this moment"
    );
    assert!(matches!(then.verify(), Err(ViewsError::OutOfScope { .. })));
}

#[test]
fn a_read_names_the_place_that_all_of_it_stands_at() {
    let mut world = World::new();
    world.append(about("ada", added("http://one.test")));
    let live = views(&world);
    let records = Records::of(Arc::clone(&world.log));
    let mut tries = 0;

    // The log moves on under every try: between two answers, and after the last of them.
    let (found, place) = live
        .consistent(&Scope::Registry, &records, |views| {
            tries += 1;
            let before = views.agents()?.len();
            let name = format!("agent-{tries}");
            let newest = world.append(about(&name, added("http://one.test")));
            live.at_least(newest).agents()?;
            Ok::<_, ViewsError>((before, views.agents()?.len()))
        })
        .unwrap();

    assert_eq!(found, (5, 5));
    assert_eq!((tries, place), (5, Seq(6)));
}

/// Every shape that was ever written, from the files that fix them.
fn golden() -> Vec<Record> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../log/tests/golden");
    let mut records = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for body in text.lines().filter(|line| line.starts_with("{\"v\"")) {
            records.push(Record {
                seq: Seq(9),
                prev: Seq(8),
                link: Link([1; 32]),
                body: body.into(),
            });
        }
    }
    records
}

#[test]
fn the_kinds_that_a_fold_looks_for_by_name_are_those_that_it_knows_by_type() {
    use crate::moment::reach::{CARDS, GROUPS, REGISTER, REPORTS, Reach, reach};
    let golden = golden();
    assert!(golden.len() >= EventKind::NAMES.len());

    for record in golden {
        let event = record.decode().unwrap();
        let name = event.kind.name();
        assert_eq!(record.kind(), Some(name));
        let listed = [&REGISTER[..], &CARDS, &GROUPS].map(|list| list.contains(&name));
        let reached = reach(&event.kind);

        let known = [Reach::Register, Reach::Card, Reach::Group].map(|known| reached == known);
        assert_eq!(listed, known, "{name}");
        assert!(
            crate::task::report(&event.kind).is_none() || REPORTS.contains(&name),
            "{name}"
        );
    }
}
