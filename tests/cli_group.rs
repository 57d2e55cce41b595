//! `missive group`: groups and their members, as people and programs see them.

use crate::{TestWorld, ids_hidden};
use missive_fixtures::EchoAgent;

pub(crate) fn seen(world: &TestWorld, arguments: &[&str]) -> String {
    ids_hidden(&world.missive(arguments.iter().copied()).to_string())
}

/// A home with agents at an address where nobody listens.
pub(crate) fn with_agents(aliases: &[&str]) -> TestWorld {
    let world = TestWorld::new();
    for alias in aliases {
        world.missive(["agent", "add", alias, "http://127.0.0.1:9"]);
    }
    world
}

#[test]
fn a_group_is_made_filled_shown_renamed_and_deleted() {
    let world = with_agents(&["ada", "bob"]);
    let create = [
        "group",
        "create",
        "board",
        "--routing-policy",
        "fallback",
        "--notes",
        "mine",
        "--metadata",
        "team=ops",
    ];
    let weighty = [
        "group",
        "add",
        "board",
        "bob",
        "--rank",
        "rank-2",
        "--tag",
        "careful",
        "--weight",
        "0.5",
        "--routing-metadata",
        "region=eu",
    ];

    insta::assert_snapshot!(seen(&world, &create), @r"
    exit 0
    ------- stdout -------
    board is made
    ");
    insta::assert_snapshot!(seen(&world, &["group", "show", "board"]), @r"
    exit 0
    ------- stdout -------
    group      board
    policy     fallback
    members    0
    next turn  0
    notes      mine
    metadata   team=ops
    ------- stderr -------
    no members; `missive group add board ALIAS --rank 1` makes an agent one
    ");
    insta::assert_snapshot!(seen(&world, &["group", "add", "board", "ada", "--rank", "rank-10"]), @r"
    exit 0
    ------- stdout -------
    ada is a member of board (rank rank-10)
    ");
    insta::assert_snapshot!(seen(&world, &weighty), @r"
    exit 0
    ------- stdout -------
    bob is a member of board (rank rank-2)
    ");
    insta::assert_snapshot!(seen(&world, &["group", "show", "board"]), @r"
    exit 0
    ------- stdout -------
    group      board
    policy     fallback
    members    2
    next turn  0
    notes      mine
    metadata   team=ops

    rank     agent  status      weight  tags     metadata
    rank-2   bob    registered  0.5     careful  region=eu
    rank-10  ada    registered  1
    ");
}

#[test]
fn what_became_of_members_and_groups_is_shown() {
    let world = with_agents(&["ada", "bob"]);
    world.missive(["group", "create", "board", "--routing-policy", "fallback"]);
    for (agent, rank, weight) in [("ada", "rank-10", "1"), ("bob", "rank-2", "0.5")] {
        let member = [
            "group", "add", "board", agent, "--rank", rank, "--weight", weight,
        ];
        world.missive(member);
    }
    world.missive(["agent", "rename", "bob", "rob"]);
    world.missive(["agent", "remove", "ada"]);
    insta::assert_snapshot!(seen(&world, &["group", "show", "board"]), @r"
    exit 0
    ------- stdout -------
    group      board
    policy     fallback
    members    2
    next turn  0

    rank     agent  status                 weight  tags  metadata
    rank-2   rob    renamed, added as bob  0.5
    rank-10  ada    removed                1
    ");
    insta::assert_snapshot!(seen(&world, &["group", "list"]), @r"
    exit 0
    ------- stdout -------
    group  members  policy    notes
    board  2        fallback
    ");
    insta::assert_snapshot!(seen(&world, &["group", "rename", "board", "council"]), @r"
    exit 0
    ------- stdout -------
    board is called council
    ");
    insta::assert_snapshot!(seen(&world, &["group", "remove", "council", "ada"]), @r"
    exit 0
    ------- stdout -------
    ada is no member any more of council (rank rank-10)
    ");
    insta::assert_snapshot!(seen(&world, &["group", "delete", "council"]), @r"
    exit 0
    ------- stdout -------
    council is deleted; its history stays
    ");
    insta::assert_snapshot!(seen(&world, &["group", "show", "board"]), @r"
    exit 66
    ------- stderr -------
    missive: no group is called board
    hint: it was renamed to `council`
    ");
    insta::assert_snapshot!(seen(&world, &["group", "show", "council"]), @r"
    exit 66
    ------- stderr -------
    missive: no group is called council
    hint: it was deleted; `missive events list --group NAME` shows by whom
    ");
}

#[test]
fn programs_get_groups_and_members() {
    let world = with_agents(&["ada"]);
    world.missive(["group", "create", "board"]);

    let added = world.missive(["group", "add", "board", "ada", "--rank", "1", "--json"]);
    let shown = world.missive(["group", "show", "board", "--json"]).json();
    let listed = world.missive(["group", "list", "--ndjson"]);

    let added = added.json();
    assert_eq!(added["kind"], "group_add");
    assert_eq!(added["data"]["member"]["agent"], "ada");
    assert_eq!(added["data"]["group"]["member_count"], 1);
    assert_eq!(shown["kind"], "group_show");
    assert_eq!(shown["data"]["members"][0]["status"], "registered");
    assert_eq!(shown["data"]["members"][0]["weight"], 1);
    insta::assert_snapshot!(listed, @r#"
    exit 0
    ------- stdout -------
    {"schema_version":"missive.output.v1","ok":true,"kind":"group_list","sequence":0,"data":{"group":{"name":"board","metadata":{},"member_count":1,"cursor":0,"created":"2026-12-01T09:30:00.003000Z"}}}
    "#);
    let events = world
        .missive(["events", "list", "--group", "board", "--json"])
        .json();
    let kinds: Vec<&str> = events["data"]["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["missive.group.created", "missive.group.member_added"]
    );
}

#[test]
fn what_cannot_be_says_what_can() {
    let world = with_agents(&["ada", "bob"]);
    world.missive(["group", "create", "board"]);
    world.missive(["group", "add", "board", "ada", "--rank", "1"]);
    let add = |rest: &[&str]| seen(&world, &[&["group", "add"], rest].concat());

    insta::assert_snapshot!(add(&["board", "bob", "--rank", "1"]), @r"
    exit 64
    ------- stderr -------
    missive: rank 1 of board is that of ada
    hint: taken are 1
    ");
    insta::assert_snapshot!(add(&["board", "ada", "--rank", "2"]), @r"
    exit 64
    ------- stderr -------
    missive: ada is a member of board already, with rank 1
    hint: to change its rank, tags or weight: `missive group remove board ada`, then add it again
    ");
    insta::assert_snapshot!(add(&["bord", "bob", "--rank", "2"]), @r"
    exit 66
    ------- stderr -------
    missive: no group is called bord
    hint: did you mean `board`?
    ");
    insta::assert_snapshot!(add(&["board", "bob"]), @r"
    exit 64
    ------- stderr -------
    missive: --rank <RANK> is missing
    hint: see `missive group add --help`
    ");
    for weight in ["0", "-1", "inf", "NaN", "1e3", "0.0000001", "1000000001"] {
        let refused = add(&["board", "bob", "--rank", "2", "--weight", weight]);
        assert!(refused.starts_with("exit 64"), "{refused}");
    }
    insta::assert_snapshot!(seen(&world, &["group", "remove", "board", "adda"]), @r"
    exit 66
    ------- stderr -------
    missive: adda is no member of board
    hint: did you mean `ada`?
    ");
    insta::assert_snapshot!(seen(&world, &["group", "create", "board"]), @r"
    exit 64
    ------- stderr -------
    missive: a group is already called board
    hint: choose another name; `missive group show board` shows this one
    ");
    insta::assert_snapshot!(seen(&world, &["group", "create", "x", "--routing-policy", "robin"]), @r"
    exit 64
    ------- stderr -------
    missive: --routing-policy <POLICY> does not take `robin`
    hint: valid values are direct, capability-match, tag-match, round-robin, weighted, broadcast, first-success, quorum, fallback
    ");
}

#[test]
fn looking_for_groups_in_an_empty_home_creates_nothing() {
    let world = TestWorld::new();

    insta::assert_snapshot!(seen(&world, &["group", "list"]), @r"
    exit 0
    ------- stderr -------
    no groups; `missive group create NAME` makes one
    ");
    insta::assert_snapshot!(seen(&world, &["group", "show", "board"]), @r"
    exit 66
    ------- stderr -------
    missive: there is no log yet
    hint: the first command that records something begins it, such as `missive agent add`
    ");
    assert!(!world.missive_home().exists());
}

#[test]
fn capabilities_are_those_of_cached_cards_until_they_are_refreshed() {
    let agent = EchoAgent::start();
    let world = with_agents(&["gone"]);
    world.missive(["agent", "add", "echo", &agent.url(), "--tag", "local"]);
    world.missive(["group", "create", "board"]);
    for (agent, rank) in [("gone", "2"), ("echo", "1")] {
        world.missive(["group", "add", "board", agent, "--rank", rank]);
    }

    insta::assert_snapshot!(seen(&world, &["group", "capabilities", "board"]), @r"
    exit 0
    ------- stdout -------
    rank  agent  can                                 skills  tags   takes  gives
    1     echo   unknown: its card is not known yet          local
    2     gone   unknown: its card is not known yet
    ------- stderr -------
    hint: --refresh asks the members for their cards
    ");
    let asked = world.missive(["group", "capabilities", "board", "--refresh"]);
    assert_eq!(asked.code, Some(0), "{asked}");
    assert!(asked.stdout.contains("gone   unknown: "), "{asked}");
    assert!(!asked.stdout.contains("echo   unknown"), "{asked}");
    let known = world
        .missive(["group", "capabilities", "board", "--json"])
        .json();
    assert_eq!(known["data"]["members"][0]["tags"][0], "local");
    assert_eq!(
        known["data"]["members"][1]["error"],
        "its card is not known yet"
    );
}

#[test]
fn a_group_is_shown_as_it_was() {
    let world = with_agents(&["ada", "bob"]);
    world.missive(["group", "create", "board"]);
    world.missive(["group", "add", "board", "ada", "--rank", "1"]);
    let then = world.missive(["log", "head", "--json"]).json();
    let then = then["data"]["sequence"].as_u64().unwrap().to_string();
    world.missive(["group", "add", "board", "bob", "--rank", "2"]);
    world.missive(["agent", "remove", "ada"]);

    let shown = world.missive(["group", "show", "board", "--at", &then, "--json"]);
    let acted = world.missive(["group", "delete", "board", "--at", &then]);

    let shown = shown.json();
    let members = shown["data"]["members"].as_array().unwrap();
    assert_eq!(members.len(), 1);
    assert_eq!(members[0]["status"], "registered");
    assert_eq!(acted.code, Some(64), "{acted}");
}
