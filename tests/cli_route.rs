//! `missive route explain`: whom a policy would choose, as people and programs see it.

use crate::TestWorld;
use crate::cli_group::{seen, with_agents};
use missive_fixtures::EchoAgent;

/// A group of agents with these ranks, at an address where nobody listens.
fn with_board(members: &[(&str, &str)]) -> TestWorld {
    let aliases: Vec<&str> = members.iter().map(|(alias, _)| *alias).collect();
    let world = with_agents(&aliases);
    world.missive(["group", "create", "board"]);
    for (alias, rank) in members {
        world.missive(["group", "add", "board", alias, "--rank", rank]);
    }
    world
}

fn explain(world: &TestWorld, rest: &[&str]) -> String {
    seen(world, &[&["route", "explain"], rest].concat())
}

#[test]
fn people_see_who_is_chosen_and_why() {
    let world = with_board(&[("ada", "rank-10"), ("bob", "rank-2"), ("eve", "rank-3")]);
    world.missive(["agent", "remove", "eve"]);

    insta::assert_snapshot!(explain(&world, &["--group", "board"]), @r"
    exit 0
    ------- stdout -------
    direct chooses bob

    rank     agent  chosen  why                            meets  lacks
    rank-2   bob    yes     it comes first
    rank-3   eve    no      it is not registered any more
    rank-10  ada    no      another one comes before it
    ");
    let turn = [
        "--group",
        "board",
        "--policy",
        "round-robin",
        "--cursor",
        "3",
    ];
    insta::assert_snapshot!(explain(&world, &turn), @r"
    exit 0
    ------- stdout -------
    round-robin chooses ada (the next turn is 4)

    rank     agent  chosen  why                            meets  lacks
    rank-2   bob    no      turn 3 is another one's
    rank-3   eve    no      it is not registered any more
    rank-10  ada    yes     turn 3 is its turn
    ");
    let skilled = [
        "--group",
        "board",
        "--capability",
        "translate",
        "--tag",
        "eu",
    ];
    insta::assert_snapshot!(explain(&world, &skilled), @r"
    exit 0
    ------- stdout -------
    direct chooses nobody

    rank     agent  chosen  why                                                        meets  lacks
    rank-2   bob    no      its card is not known yet, and what it can do is required         capability translate, tag eu
    rank-3   eve    no      it is not registered any more                                     capability translate, tag eu
    rank-10  ada    no      its card is not known yet, and what it can do is required         capability translate, tag eu
    ------- stderr -------
    hint: --refresh-capabilities asks the agents for their cards
    ");
}

#[test]
fn programs_get_the_decision_and_nothing_moves() {
    let world = with_board(&[("ada", "1"), ("bob", "2"), ("eve", "3")]);
    let asked = [
        "route", "explain", "--group", "board", "--policy", "quorum", "--json",
    ];
    let head = world.missive(["log", "head"]).stdout;

    let told = world.missive(asked).json();
    let again = world.missive(asked).json();

    assert_eq!(told, again);
    assert_eq!(told["kind"], "route_explain");
    let data = &told["data"];
    assert_eq!(data["policy"], "quorum");
    assert_eq!(data["quorum"], 2);
    assert_eq!(data["selected"], serde_json::json!(["ada", "bob"]));
    assert_eq!(data["candidates"][2]["selected"], false);
    assert_eq!(
        data["candidates"][2]["reason"],
        "the quorum of 2 is complete without it"
    );
    assert_eq!(world.missive(["log", "head"]).stdout, head);
}

#[test]
fn agents_are_named_in_their_order_and_their_cards_are_asked_for_when_told_to() {
    let agent = EchoAgent::start();
    let world = with_agents(&["gone"]);
    world.missive(["agent", "add", "echo", &agent.url()]);
    let asked = [
        "--agent",
        "gone",
        "--agent",
        "echo",
        "--policy",
        "capability-match",
        "--capability",
        "text/plain",
        "--refresh-capabilities",
    ];

    let told = explain(&world, &asked);

    assert!(told.contains("capability-match chooses echo\n"), "{told}");
    assert!(
        told.contains("note: gone could not be asked for its card"),
        "{told}"
    );
}

#[test]
fn what_cannot_be_explained_says_what_can() {
    let world = with_board(&[("ada", "1")]);

    insta::assert_snapshot!(explain(&world, &[]), @r"
    exit 64
    ------- stderr -------
    missive: <--group <GROUP>|--agent <ALIAS>> is missing
    hint: see `missive route explain --help`
    ");
    insta::assert_snapshot!(explain(&world, &["--group", "board", "--quorum", "2"]), @r"
    exit 64
    ------- stderr -------
    missive: a quorum does not go with the policy direct
    hint: --quorum goes with `--policy quorum`
    ");
    insta::assert_snapshot!(explain(&world, &["--agent", "adda"]), @r"
    exit 66
    ------- stderr -------
    missive: no agent is called adda
    hint: did you mean `ada`?
    ");
    let earlier = ["--group", "board", "--at", "4", "--refresh-capabilities"];
    assert!(explain(&world, &earlier).starts_with("exit 64"));
    let then = explain(&world, &["--group", "board", "--at", "4"]);
    assert!(then.contains("direct chooses nobody"), "{then}");
}
