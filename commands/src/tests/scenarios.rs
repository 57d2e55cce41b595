//! Commands that only decide, on given events: no peer, no file, no waiting.

use missive_log::payload::redact::Redactor;
use missive_log::{Event, Origin};
use missive_projections::scenario::Scenario;
use missive_projections::{Scope, Views};

use super::alias;
use super::groups::{add, create, group};
use crate::Refusal;
use crate::config::Config;
use crate::decide::agent_add::AgentAdd;
use crate::decide::group::{GroupDelete, GroupRename};
use crate::decide::{Decide, Moment, Undecided};

/// When a command decides: what it came to.
fn when(scenario: &Scenario, command: &impl Decide) -> Result<Vec<Event>, Undecided> {
    let ids = scenario.ids();
    let moment = Moment {
        ids,
        redactor: &Redactor::default(),
        config: &Config::default(),
        actor: ids.actor(),
        origin: Origin::Cli,
        instance: ids.instance(),
        trace: None,
    };
    scenario.when(|views: &Views| {
        let decision = command.decide(views, &moment)?;
        Ok((decision.expect, decision.drafts))
    })
}

fn kinds(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.kind.name()).collect()
}

#[test]
fn a_group_is_made_filled_and_renamed_and_was_what_it_was() {
    let scenario = Scenario::new();
    when(
        &scenario,
        &AgentAdd::new(alias("ada"), "http://127.0.0.1:9"),
    )
    .unwrap();
    when(&scenario, &create("board")).unwrap();

    let filled = when(&scenario, &add("ada", "1")).unwrap();
    let then = scenario.head().seq;
    let rename = GroupRename {
        old: group("board"),
        new: group("crew"),
    };
    let renamed = when(&scenario, &rename).unwrap();

    assert_eq!(kinds(&filled), ["missive.group.member_added"]);
    assert!(kinds(&renamed).contains(&"missive.group.renamed"));
    let crew = scenario.views().group(&group("crew")).unwrap().unwrap();
    assert_eq!(crew.members, 1);
    let past = scenario.views_at(then, &Scope::Groups);
    assert!(past.group(&group("board")).unwrap().is_some());
    assert!(past.group(&group("crew")).unwrap().is_none());
}

#[test]
fn what_is_refused_records_nothing() {
    let scenario = Scenario::new();
    let head = scenario.head();

    let refused = when(
        &scenario,
        &GroupDelete {
            name: group("board"),
        },
    );

    assert!(matches!(
        refused,
        Err(Undecided::Refused(Refusal::NoGroup { .. }))
    ));
    assert_eq!(scenario.head(), head);
}
