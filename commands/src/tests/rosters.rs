//! Who was a member when a round began, whatever it is called afterwards.

use missive_fixtures::EchoAgent;
use missive_log::event::kind::{GroupMemberAdded, RoundFact};
use missive_log::event::{EventKind, Rank, Seq, Subject};
use missive_projections::Views;

use super::rounds::{rename, take_out, team, to_team, world_of};
use super::{World, alias, patient};
use crate::decide::agent_add::AgentAdd;
use crate::decide::{Decision, Moment, Undecided};

/// Another agent under that name, in the second place of the group.
async fn put_in(world: &World, name: &str, url: &str) {
    let command = AgentAdd::new(alias(name), url);
    world.missive().agent_add(&command).await.unwrap();
    let added = |_: &Views, moment: &Moment<'_>| -> Result<Decision, Undecided> {
        let facts = GroupMemberAdded {
            agent: alias(name),
            rank: Rank::new("rank-2").unwrap(),
            tags: Vec::new(),
            weight: None,
        };
        let mut draft = moment.draft(Subject::Group(team()), facts.into(), Vec::new());
        draft.links.group = Some(team());
        draft.links.agent = Some(alias(name));
        Ok(Decision {
            expect: Vec::new(),
            drafts: vec![draft],
        })
    };
    world.missive().record(&added).await.unwrap();
}

/// The members of every broadcast, as it began.
async fn members(world: &World) -> Vec<Vec<Seq>> {
    let events = world.events().await;
    let begun = events.into_iter().filter_map(|event| {
        if let EventKind::Round(RoundFact::BcastStarted(facts)) = event.kind {
            return Some(facts.member_ids);
        }
        None
    });
    begun.collect()
}

#[tokio::test]
async fn a_round_names_its_members_by_ids_that_no_rename_changes_and_no_namesake_gets() {
    let agents = [EchoAgent::start(), EchoAgent::start()];
    let world = world_of(&[("one", agents[0].url()), ("two", agents[1].url())]).await;
    let missive = world.missive();
    let command = to_team("echo hi");

    missive.bcast(&command, &(), &mut patient()).await.unwrap();
    rename(&world, "two", "zwei").await;
    let missive = world.missive();
    missive.bcast(&command, &(), &mut patient()).await.unwrap();
    take_out(&world, "two", "rank-2").await;
    put_in(&world, "two", &agents[1].url()).await;
    let missive = world.missive();
    missive.bcast(&command, &(), &mut patient()).await.unwrap();

    let rounds = members(&world).await;
    let [first, renamed, replaced] = &rounds[..] else {
        panic!("{rounds:?}")
    };
    assert_eq!((first.len(), first), (2, renamed));
    assert_eq!(first[0], replaced[0]);
    assert_ne!(first[1], replaced[1]);
    // The id leads to the event that says who it was.
    let events = world.events().await;
    let made = events.iter().find(|event| event.seq == first[1]).unwrap();
    assert_eq!(made.links.agent, Some(alias("two")));
}
