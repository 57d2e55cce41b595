//! Registrations, renames, removals, and the cards that go with them.

use super::*;
use crate::{Entry, Filter, Views, ViewsHost};
use std::ops::ControlFlow;

fn views(world: &World) -> Views {
    let head = world.head();
    let host = Arc::new(ViewsHost::in_memory(head.log, world.source()));
    Views::hosted(host, head.seq)
}

#[test]
fn a_rename_carries_registration_card_tasks_and_history_to_the_new_alias() {
    let mut world = World::new();
    let first = world.append(about("ada", added("http://one.test")));
    let asked = world.append(about("ada", card_requested("http://one.test")));
    let body = world.append(about("ada", card_fetched(200, BEGIN + 60)));
    world.append(about("ada", updated(seen("t", TaskState::Working, None))));
    let rename = world.append(about("ada", renamed("eve")));
    let after = world.append(about("eve", updated(seen("t", TaskState::Completed, None))));
    let late = world.append(about("ada", card_fetched(304, BEGIN + 90)));

    let views = views(&world);
    let eve = views.agent(&alias("eve")).unwrap().unwrap();
    let card = views.card(&alias("eve")).unwrap().unwrap().body.unwrap();
    let task = views
        .task(&task("t"), Some(&alias("eve")))
        .unwrap()
        .unwrap();
    let found = views.select(&Filter {
        agent: Some(alias("eve")),
        ..Filter::default()
    });

    assert_eq!(eve.added, first);
    assert_eq!(eve.former[0].alias, alias("ada"));
    assert_eq!(views.agent(&alias("ada")).unwrap(), None);
    assert_eq!(views.present_alias(&alias("ada")).unwrap(), alias("eve"));
    assert_eq!(
        views.entry(&alias("ada")).unwrap(),
        Some(Entry::Renamed {
            to: alias("eve"),
            at: rename
        })
    );
    assert_eq!(
        (card.source.seq, card.validated, card.fresh_until),
        (body, late, at(BEGIN + 90))
    );
    assert_eq!(views.card(&alias("ada")).unwrap(), None);
    assert_eq!(
        (task.state, task.agent),
        (TaskState::Completed, Some(alias("eve")))
    );
    assert_eq!(views.tasks().unwrap().len(), 1);
    let history: Vec<Seq> = (first.0..=after.0).map(Seq).collect();
    assert_eq!(found.unwrap(), history);
    assert_eq!(asked, Seq(3));
}

#[test]
fn an_alias_that_was_renamed_may_be_registered_anew_and_shares_nothing() {
    let mut world = World::new();
    world.append(about("ada", added("http://one.test")));
    let old = world.append(about("ada", updated(seen("t", TaskState::Completed, None))));
    world.append(about("ada", renamed("eve")));
    world.append(about("ada", added("http://two.test")));
    let new = world.append(about("ada", updated(seen("t", TaskState::Working, None))));

    let views = views(&world);
    let of_ada = views
        .task(&task("t"), Some(&alias("ada")))
        .unwrap()
        .unwrap();

    assert_eq!(views.agents().unwrap().len(), 2);
    assert_eq!((of_ada.state, of_ada.source.seq), (TaskState::Working, new));
    assert_eq!(views.tasks_named(&task("t")).unwrap().len(), 2);
    let of_eve = views
        .task(&task("t"), Some(&alias("eve")))
        .unwrap()
        .unwrap();
    assert_eq!(
        (of_eve.state, of_eve.source.seq),
        (TaskState::Completed, old)
    );
    assert_eq!(views.agent_of(&of_eve).unwrap(), Some(alias("eve")));
    assert_eq!(views.agent_of(&of_ada).unwrap(), Some(alias("ada")));
    let eves = views.select(&Filter {
        agent: Some(alias("eve")),
        ..Filter::default()
    });
    assert!(eves.as_ref().unwrap().contains(&old));
    assert!(!eves.unwrap().contains(&new));
    let tasks_of = |agent: &str| tasks_of(&views, Some(agent));
    assert_eq!((tasks_of("ada"), tasks_of("eve")), (vec![new], vec![old]));
}

/// Where the tasks of an agent, or of bare URLs, were last heard of.
fn tasks_of(views: &Views, agent: Option<&str>) -> Vec<Seq> {
    let mut found = Vec::new();
    let agent = agent.map(alias);
    views
        .each_task_of(agent.as_ref(), &mut |task| {
            found.push(task.last);
            ControlFlow::Continue(())
        })
        .unwrap();
    found.sort();
    found
}

#[test]
fn the_tasks_of_an_agent_are_found_by_every_alias_that_is_its_own_and_nobody_elses() {
    let mut world = World::new();
    let report = |id: &str| updated(seen(id, TaskState::Working, None));
    // Known by the configuration only, then registered, then renamed.
    let before = world.append(about("ada", report("a")));
    world.append(about("ada", added("http://one.test")));
    let registered = world.append(about("ada", report("b")));
    let other = world.append(about("bob", report("a")));
    let mut bare = about("bob", report("c"));
    (bare.links.agent, bare.subject) = (None, Subject::Task(task("c")));
    let bare = world.append(bare);
    world.append(about("ada", renamed("eve")));
    let late = world.append(about("ada", report("b")));

    let views = views(&world);

    assert!(registered < late);
    assert_eq!(tasks_of(&views, Some("eve")), [before, late]);
    assert_eq!(tasks_of(&views, Some("ada")), [before, late]);
    assert_eq!(tasks_of(&views, Some("bob")), [other]);
    assert_eq!(tasks_of(&views, Some("cyd")), []);
    assert_eq!(tasks_of(&views, None), [bare]);
    let named = views.task(&task("a"), Some(&alias("eve"))).unwrap();
    assert_eq!(named.unwrap().last, before);
}

#[test]
fn odd_renames_and_removals_leave_the_rest_alone() {
    let mut world = World::new();
    world.append(about("ada", added("http://one.test")));
    world.append(about("ada", renamed("ada")));
    world.append(about("bob", renamed("cyd")));
    world.append(about("bob", removed()));

    let views = views(&world);

    assert!(views.agent(&alias("ada")).unwrap().is_some());
    assert_eq!(views.agents().unwrap().len(), 1);
    assert_eq!(views.entry(&alias("bob")).unwrap(), None);
}

#[test]
fn renames_in_a_circle_end_where_the_agent_is() {
    let mut world = World::new();
    world.append(about("ada", added("http://one.test")));
    world.append(about("ada", renamed("bob")));
    world.append(about("bob", renamed("ada")));

    let views = views(&world);

    assert_eq!(views.present_alias(&alias("bob")).unwrap(), alias("ada"));
    assert_eq!(views.agents().unwrap()[0].former.len(), 2);
}

#[test]
fn a_removed_agent_is_history_and_its_card_is_gone() {
    let mut world = World::new();
    world.append(about("ada", added("http://one.test")));
    world.append(about("ada", card_fetched(200, BEGIN)));
    let gone = world.append(about("ada", removed()));

    let views = views(&world);

    assert_eq!(views.agent(&alias("ada")).unwrap(), None);
    assert_eq!(views.card(&alias("ada")).unwrap(), None);
    let entry = views.entry(&alias("ada")).unwrap();
    assert!(matches!(entry, Some(Entry::Removed { at, .. }) if at == gone));
}

#[test]
fn a_failure_leaves_the_cached_card_and_a_success_clears_the_failure() {
    let mut world = World::new();
    let card_of = |world: &World| views(world).card(&alias("seed")).unwrap().unwrap();
    world.append(about("seed", card_requested("http://one.test")));
    let body = world.append(about("seed", card_fetched(200, BEGIN)));
    let failed = world.append(about("seed", card_failed()));
    let after_failure = card_of(&world);
    let confirmed = world.append(about("seed", card_fetched(304, BEGIN + 5)));
    let after_success = card_of(&world);

    assert_eq!(after_failure.failure.unwrap().seq, failed);
    assert_eq!(after_failure.body.as_ref().unwrap().source.seq, body);
    assert_eq!(
        after_failure.body.unwrap().base,
        Some(url("http://one.test"))
    );
    assert_eq!(after_success.failure, None);
    assert_eq!(after_success.body.unwrap().validated, confirmed);
}

#[test]
fn a_card_from_another_base_is_not_kept_for_a_new_registration() {
    let mut world = World::new();
    world.append(about("seed", card_requested("http://one.test")));
    world.append(about("seed", card_fetched(200, BEGIN)));
    world.append(about("seed", added("http://two.test")));

    assert_eq!(views(&world).card(&alias("seed")).unwrap(), None);
}

#[test]
fn the_newest_event_of_a_subject_is_what_a_condition_names() {
    let mut world = World::new();
    world.append(about("ada", added("http://one.test")));
    let last = world.append(about("ada", unknown("missive.later.kind")));
    world.append(of("op", "ada", None, send("m", 1)));

    let views = views(&world);

    assert_eq!(
        views.last_of(&Subject::Agent(alias("ada"))).unwrap(),
        Some(last)
    );
    assert_eq!(views.last_of(&Subject::Agent(alias("bob"))).unwrap(), None);
    assert_eq!(
        views.last_of_operation(&operation("op")).unwrap(),
        Some(last.next())
    );
    assert_eq!(views.nearest_aliases("adda", 3).unwrap(), [alias("ada")]);
}

#[test]
fn a_given_card_is_fresh_until_the_agent_shows_one_and_a_failure_does_not_undo_it() {
    let mut world = World::new();
    world.append(about("ada", added("http://one.test")));
    let given = world.append(about("ada", card_given()));
    let card = |world: &World| {
        let card = views(world).card(&alias("ada")).unwrap().unwrap();
        let body = card.body.unwrap();
        let fresh = body.is_fresh(at(BEGIN + 900_000));
        (
            body.source.seq,
            body.origin(),
            fresh,
            card.failure.is_some(),
        )
    };

    let first = card(&world);
    world.append(about("ada", card_requested("http://one.test")));
    world.append(about("ada", card_failed()));
    let refused = card(&world);
    world.append(about("ada", card_requested("http://one.test")));
    let came = world.append(about("ada", card_fetched(200, BEGIN + 60)));
    let shown = card(&world);

    assert_eq!(first, (given, "given", true, false));
    assert_eq!(refused, (given, "given", true, true));
    assert_eq!(shown, (came, "well_known", false, false));
}
