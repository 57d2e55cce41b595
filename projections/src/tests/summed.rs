//! What a run of events comes to.

use super::*;
use crate::summary::{STATES_MAX, Summaries};
use std::time::Duration;

/// What a task of `ada` is reported to be, in this order, a second apart.
fn reported(states: &[TaskState]) -> Scenario {
    let scenario = Scenario::new();
    scenario.wait(Duration::from_secs(1));
    for state in states {
        let mut draft = of("op", "ada", None, updated(seen("t-1", *state, None)));
        draft.links.context = Some(context("c-9"));
        draft.links.task = Some(task("t-1"));
        scenario.given([draft]);
        scenario.wait(Duration::from_secs(1));
    }
    scenario
}

fn summed(scenario: &Scenario) -> Summaries {
    let mut summaries = Summaries::default();
    for event in scenario.then(Seq(1)) {
        summaries.add(&event, event.links.agent.as_ref());
    }
    summaries
}

#[test]
fn states_are_told_once_each_and_none_after_the_first_end() {
    use TaskState::{Completed, Failed, Submitted, Working};
    let scenario = reported(&[Submitted, Working, Working, Completed, Failed, Working]);

    let summaries = summed(&scenario);

    let told = &summaries.tasks[&(task("t-1"), Some(alias("ada")))];
    let states: Vec<_> = told
        .states
        .iter()
        .map(|mark| (mark.state, mark.from.seq.0))
        .collect();
    assert_eq!(states, [(Submitted, 2), (Working, 3), (Completed, 5)]);
    assert_eq!(told.span.events, 6);
    assert_eq!(told.context, Some(context("c-9")));
    let conversation = &summaries.contexts[&context("c-9")];
    assert_eq!((conversation.tasks, conversation.sent), (1, 0));
    assert_eq!(conversation.span.micros(), 5_000_000);
    assert_eq!(summaries.whole, conversation.span);
}

#[test]
fn an_agent_that_changes_its_mind_for_ever_fills_no_memory() {
    use TaskState::{InputRequired, Working};
    let states: Vec<TaskState> = [Working, InputRequired].repeat(STATES_MAX);

    let summaries = summed(&reported(&states));

    let told = &summaries.tasks[&(task("t-1"), Some(alias("ada")))];
    assert_eq!(told.states.len(), STATES_MAX);
    assert_eq!(told.states_more, STATES_MAX as u64);
    assert_eq!(told.state, Some(InputRequired));
}

#[test]
fn two_agents_with_the_same_task_id_have_two_tasks() {
    let scenario = Scenario::new();
    for agent in ["ada", "bob"] {
        scenario.given([of(
            "op",
            agent,
            None,
            updated(seen("t-1", TaskState::Working, None)),
        )]);
    }

    let summaries = summed(&scenario);

    assert_eq!(summaries.tasks.len(), 2);
    assert!(summaries.contexts.is_empty());
}

#[test]
fn what_began_after_those_that_are_listed_is_counted_once() {
    let scenario = Scenario::new();
    for (id, place) in [
        ("t-1", "c-1"),
        ("t-2", "c-2"),
        ("t-3", "c-1"),
        ("t-2", "c-3"),
        ("t-1", "c-2"),
    ] {
        let mut draft = of(
            "op",
            "ada",
            None,
            updated(seen(id, TaskState::Working, None)),
        );
        draft.links.context = Some(context(place));
        scenario.given([draft]);
    }
    let mut summaries = Summaries::of_first(1);

    for event in scenario.then(Seq(1)) {
        summaries.add(&event, event.links.agent.as_ref());
    }

    assert_eq!((summaries.contexts_more(), summaries.tasks_more()), (2, 2));
    let listed = &summaries.contexts[&context("c-1")];
    assert_eq!((listed.span.events, listed.tasks), (2, 2));
    let listed = &summaries.tasks[&(task("t-1"), Some(alias("ada")))];
    assert_eq!(listed.span.events, 2);
    assert_eq!((summaries.contexts.len(), summaries.tasks.len()), (1, 1));
}
