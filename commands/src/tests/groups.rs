//! Groups, their members, and what becomes of both.

use missive_fixtures::EchoAgent;
use missive_log::event::facts::{RoutingPolicy, Weight};
use missive_log::event::{GroupName, Rank};
use serde_json::Value;

use super::agents::seed;
use super::{World, alias, patient, told};
use crate::decide::agent_add::AgentAdd;
use crate::decide::agent_remove::AgentRemove;
use crate::decide::agent_rename::AgentRename;
use crate::decide::group::{GroupCreate, GroupDelete, GroupRename};
use crate::decide::member::{GroupAdd, GroupRemove};
use crate::report::group::MemberView;

pub(super) fn group(name: &str) -> GroupName {
    GroupName::new(name).unwrap()
}

pub(super) fn rank(text: &str) -> Rank {
    Rank::new(text).unwrap()
}

pub(super) fn create(name: &str) -> GroupCreate {
    GroupCreate {
        name: group(name),
        policy: None,
        notes: None,
        metadata: Vec::new(),
    }
}

pub(super) fn add(agent: &str, at: &str) -> GroupAdd {
    GroupAdd {
        group: group("board"),
        agent: alias(agent),
        rank: rank(at),
        tags: Vec::new(),
        weight: None,
        metadata: Vec::new(),
    }
}

fn remove(agent: &str) -> GroupRemove {
    GroupRemove {
        group: group("board"),
        agent: alias(agent),
        rank: None,
    }
}

impl World {
    /// A group `board` of these agents, each with its rank. They are registered where nobody listens.
    pub(super) async fn with_board(self, members: &[(&str, &str)]) -> Self {
        let missive = self.missive();
        missive.group_create(&create("board")).await.unwrap();
        for (agent, at) in members {
            let registered = AgentAdd::new(alias(agent), "http://127.0.0.1:9");
            missive.agent_add(&registered).await.unwrap();
            missive.group_add(&add(agent, at)).await.unwrap();
        }
        drop(missive);
        self
    }

    async fn members(&self) -> Vec<MemberView> {
        let shown = self.missive().group_show(&group("board")).await.unwrap();
        shown.report.members
    }

    /// `rank agent status (added as)` of each member.
    async fn roll(&self) -> Vec<String> {
        let members = self.members().await;
        let row = |member: MemberView| {
            let then = member.added_as.map(|then| format!(" (added as {then})"));
            let then = then.unwrap_or_default();
            format!("{} {} {}{then}", member.rank, member.agent, member.status)
        };
        members.into_iter().map(row).collect()
    }
}

#[tokio::test]
async fn members_stand_in_the_natural_order_of_their_ranks_with_all_that_was_said_about_them() {
    let world = World::new()
        .with_board(&[("ada", "rank-10"), ("bob", "rank-2")])
        .await;
    let missive = world.missive();
    let agent = AgentAdd::new(alias("eve"), "http://127.0.0.1:9");
    missive.agent_add(&agent).await.unwrap();
    let mut command = add("eve", "rank-1");
    command.tags = vec!["b".to_owned(), "a".to_owned(), "b".to_owned()];
    command.weight = Some("0.5".parse().unwrap());
    command.metadata = vec![("region".to_owned(), "eu".to_owned())];

    let added = missive.group_add(&command).await.unwrap().report;

    let member = serde_json::to_value(added.member.unwrap()).unwrap();
    insta::assert_snapshot!(member, @r#"{"added":"2026-12-01T09:30:00.008000Z","agent":"eve","rank":"rank-1","routing_metadata":{"region":"eu"},"status":"registered","tags":["a","b"],"weight":0.5}"#);
    assert_eq!(
        world.roll().await,
        [
            "rank-1 eve registered",
            "rank-2 bob registered",
            "rank-10 ada registered"
        ]
    );
    let whole: Value = serde_json::to_value(world.members().await).unwrap();
    assert_eq!(whole[1]["weight"], 1);
}

#[tokio::test]
async fn who_was_renamed_or_removed_is_shown_as_such_and_never_dropped() {
    let mut world = World::new()
        .with_board(&[("ada", "1"), ("bob", "2"), ("eve", "3")])
        .await;
    world
        .config
        .agents
        .insert("seed".to_owned(), seed("http://127.0.0.1:9"));
    let missive = world.missive();
    missive.group_add(&add("seed", "4")).await.unwrap();
    let rename = AgentRename {
        old: alias("bob"),
        new: alias("rob"),
    };
    missive.agent_rename(&rename).await.unwrap();
    let gone = AgentRemove {
        alias: alias("eve"),
    };
    missive.agent_remove(&gone).await.unwrap();
    // Somebody else is called so now, and is no member.
    let another = AgentAdd::new(alias("eve"), "http://127.0.0.1:9");
    missive.agent_add(&another).await.unwrap();

    let configured = world.roll().await;
    world.config.agents.clear();
    let unregistered = world.roll().await;

    assert_eq!(
        configured,
        [
            "1 ada registered",
            "2 rob renamed (added as bob)",
            "3 eve removed",
            "4 seed config"
        ]
    );
    assert_eq!(unregistered[3], "4 seed unregistered");
}

#[tokio::test]
async fn what_cannot_be_is_refused_and_nothing_is_recorded() {
    let world = World::new().with_board(&[("ada", "1"), ("bob", "2")]).await;
    let missive = world.missive();
    missive.group_create(&create("council")).await.unwrap();
    let before = world.events().await.len();
    let mut said = Vec::new();
    let mut tagged = add("nobody", "9");
    tagged.group = group("bord");

    for command in [
        add("ada", "9"),
        add("nobody", "9"),
        tagged,
        GroupAdd {
            tags: vec!["Not a tag".to_owned()],
            agent: alias("ada"),
            group: group("council"),
            ..add("ada", "9")
        },
    ] {
        said.push(told(&missive.group_add(&command).await.unwrap_err()));
    }
    for name in ["board", "show"] {
        said.push(told(
            &missive.group_create(&create(name)).await.unwrap_err(),
        ));
    }
    for (old, new) in [("board", "council"), ("board", "show"), ("bord", "x")] {
        let (old, new) = (group(old), group(new));
        let refused = missive.group_rename(&GroupRename { old, new }).await;
        said.push(told(&refused.unwrap_err()));
    }
    said.push(told(&missive.group_remove(&remove("x")).await.unwrap_err()));
    let name = group("bord");
    said.push(told(
        &missive
            .group_delete(&GroupDelete { name })
            .await
            .unwrap_err(),
    ));

    insta::assert_snapshot!(said.join("\n"), @r"
    64 already_member ada is a member of board already, with rank 1
    66 agent no agent is called nobody
    66 group no group is called bord
    64 name `Not a tag` is no tag ([a-z0-9][a-z0-9._-]{0,62})
    64 group_taken a group is already called board
    64 name `show` is no group name, since `missive reduce show` is a command
    64 group_taken a group is already called council
    64 name `show` is no group name, since `missive reduce show` is a command
    66 group no group is called bord
    66 member x is no member of board
    66 group no group is called bord
    ");
    assert_eq!(world.events().await.len(), before);
}

#[tokio::test]
async fn a_rank_belongs_to_one_member() {
    let world = World::new().with_board(&[("ada", "1")]).await;
    let missive = world.missive();
    let agent = AgentAdd::new(alias("bob"), "http://127.0.0.1:9");
    missive.agent_add(&agent).await.unwrap();

    let refused = missive.group_add(&add("bob", "1")).await.unwrap_err();
    missive.group_remove(&remove("ada")).await.unwrap();
    missive.group_add(&add("bob", "1")).await.unwrap();

    assert_eq!(
        told(&refused),
        "64 rank_taken rank 1 of board is that of ada"
    );
    assert_eq!(world.roll().await, ["1 bob registered"]);
}

#[tokio::test]
async fn of_two_that_take_a_rank_at_once_one_gets_it() {
    let world = World::new().with_board(&[("ada", "1")]).await;
    let (one, other) = (world.missive(), world.elsewhere());
    for name in ["bob", "eve"] {
        let agent = AgentAdd::new(alias(name), "http://127.0.0.1:9");
        one.agent_add(&agent).await.unwrap();
    }
    // Both know the same state, and neither what the other is about to do.
    other.group_show(&group("board")).await.unwrap();

    let (bob, eve) = (add("bob", "2"), add("eve", "2"));
    let (bob, eve) = tokio::join!(one.group_add(&bob), other.group_add(&eve));

    assert_eq!(
        [bob.is_ok(), eve.is_ok()].iter().filter(|ok| **ok).count(),
        1
    );
    assert_eq!(world.roll().await.len(), 2);
}

#[tokio::test]
async fn a_member_is_taken_out_by_the_alias_of_now_else_by_that_of_then() {
    let world = World::new()
        .with_board(&[("ada", "1"), ("bob", "2"), ("eve", "3")])
        .await;
    let missive = world.missive();
    for (old, new) in [("bob", "rob"), ("ada", "bob")] {
        let (old, new) = (alias(old), alias(new));
        missive
            .agent_rename(&AgentRename { old, new })
            .await
            .unwrap();
    }

    let of_now = missive.group_remove(&remove("bob")).await.unwrap();
    let of_then = missive.group_remove(&remove("bob")).await.unwrap();
    let gone = AgentRemove {
        alias: alias("eve"),
    };
    missive.agent_remove(&gone).await.unwrap();
    let again = AgentAdd::new(alias("eve"), "http://127.0.0.1:9");
    missive.agent_add(&again).await.unwrap();
    missive.group_add(&add("eve", "4")).await.unwrap();
    missive.agent_remove(&gone).await.unwrap();
    let unclear = missive.group_remove(&remove("eve")).await.unwrap_err();
    let clear = GroupRemove {
        rank: Some(rank("3")),
        ..remove("eve")
    };
    missive.group_remove(&clear).await.unwrap();

    assert_eq!(of_now.report.member.unwrap().rank, "1");
    assert_eq!(of_then.report.member.unwrap().rank, "2");
    assert_eq!(
        told(&unclear),
        "64 ambiguous_member several members of board are or were called eve"
    );
    assert_eq!(world.roll().await, ["4 eve removed"]);
}

#[tokio::test]
async fn a_renamed_group_keeps_members_and_its_old_name_leads_to_it() {
    let world = World::new().with_board(&[("ada", "1")]).await;
    let missive = world.missive();
    let command = GroupCreate {
        policy: Some(RoutingPolicy::RoundRobin),
        notes: Some("mine".to_owned()),
        metadata: vec![("team".to_owned(), "ops".to_owned())],
        ..create("second")
    };
    missive.group_create(&command).await.unwrap();
    let (old, new) = (group("board"), group("council"));

    let renamed = missive
        .group_rename(&GroupRename { old, new })
        .await
        .unwrap();
    let lost = missive.group_show(&group("board")).await.unwrap_err();
    let listed = missive.group_list().await.unwrap().report;

    assert_eq!(renamed.report.group.member_count, 1);
    assert_eq!(renamed.report.previous_name.as_deref(), Some("board"));
    assert_eq!(told(&lost), "66 group no group is called board");
    insta::assert_snapshot!(serde_json::to_string(&listed).unwrap(), @r#"{"groups":[{"name":"council","metadata":{},"member_count":1,"cursor":0,"former_names":["board"],"created":"2026-12-01T09:30:00.002000Z"},{"name":"second","routing_policy":"round-robin","notes":"mine","metadata":{"team":"ops"},"member_count":0,"cursor":0,"created":"2026-12-01T09:30:00.005000Z"}]}"#);
}

#[tokio::test]
async fn a_deleted_group_is_shown_once_more_and_its_name_is_free() {
    let world = World::new().with_board(&[("ada", "1")]).await;
    let missive = world.missive();
    let name = group("board");

    let deleted = missive.group_delete(&GroupDelete { name }).await.unwrap();
    missive.group_create(&create("board")).await.unwrap();

    assert_eq!(deleted.report.members.len(), 1);
    assert_eq!(world.roll().await, Vec::<String>::new());
    let events = world.events().await;
    let of_groups = events
        .iter()
        .filter(|event| event.kind.name().starts_with("missive.group."));
    assert!(
        of_groups
            .clone()
            .all(|event| event.links.group == Some(group("board")))
    );
    assert_eq!(of_groups.count(), 4);
}

#[tokio::test]
async fn a_member_says_what_its_cached_card_says_and_asks_only_when_told_to() {
    let agent = EchoAgent::start();
    let world = World::new().with_board(&[("gone", "2")]).await;
    let missive = world.missive();
    let mut command = AgentAdd::new(alias("echo"), &agent.url());
    command.tags = vec!["local".to_owned()];
    missive.agent_add(&command).await.unwrap();
    let member = GroupAdd {
        tags: vec!["quick".to_owned()],
        weight: Weight::from_millionths(2_000_000),
        metadata: vec![("region".to_owned(), "EU".to_owned())],
        ..add("echo", "1")
    };
    missive.group_add(&member).await.unwrap();
    let before = world.events().await.len();
    let board = group("board");

    let known = missive
        .group_capabilities(&board, false, &mut patient())
        .await
        .unwrap();
    let asked = world.events().await.len() - before;
    let fresh = missive
        .group_capabilities(&board, true, &mut patient())
        .await
        .unwrap();

    assert_eq!(asked, 0);
    assert_eq!(
        known.report.members[0].error.as_deref(),
        Some("its card is not known yet")
    );
    let [echo, gone] = &fresh.report.members[..] else {
        panic!("two members")
    };
    assert_eq!(echo.tags, ["local", "quick"]);
    assert!(echo.error.is_none() && echo.fetched.is_some() && !echo.skills.is_empty());
    assert!(
        echo.labels.contains(&"region=eu".to_owned()),
        "{:?}",
        echo.labels
    );
    assert!(gone.error.is_some() && gone.labels.is_empty());
}
