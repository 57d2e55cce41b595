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
    round-robin chooses ada (after it turn 4 comes)

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

/// A group of agents that answer, `a1`, `a2`, ... behind a first one, `a0`, that nobody reaches.
fn with_agents_behind_a_gap(agents: &[&EchoAgent]) -> TestWorld {
    let world = with_board(&[("a0", "0")]);
    for (number, agent) in (1..).zip(agents) {
        let (alias, rank) = (format!("a{number}"), format!("{number}"));
        world.missive(["agent", "add", &alias, &agent.url()]);
        world.missive(["group", "add", "board", &alias, "--rank", &rank]);
    }
    world
}

fn send(world: &TestWorld, rest: &[&str]) -> String {
    seen(world, &[&["send", "--group", "board"], rest].concat())
}

#[test]
fn a_message_to_a_group_tells_who_answers_and_who_did_not() {
    let agent = EchoAgent::start();
    let world = with_agents_behind_a_gap(&[&agent]);

    insta::assert_snapshot!(send(&world, &["--policy", "fallback", "echo hi"]), @r"
    exit 0
    ------- stdout -------
    hi
    ------- stderr -------
    note: a0 was tried: the card of http://127.0.0.1:[PORT]/.well-known/agent-card.json cannot be fetched; a1 is tried next
    a1 of board (fallback)
    ");
    insta::assert_snapshot!(send(&world, &["echo hi"]), @r"
    exit 69
    ------- stderr -------
    a0 of board (direct)
    missive: the card of http://127.0.0.1:[PORT]/.well-known/agent-card.json cannot be fetched
    caused by: 127.0.0.1:[PORT] refuses connections
    caused by: Connection refused (os error 111)
    hint: is the agent running, and is its address right?
    ");
    let preferred = ["--preferred-agent", "a1", "--json", "--", "echo hi"];
    let told = world.missive([&["send", "--group", "board"][..], &preferred].concat());
    assert_eq!(told.json()["data"]["route"]["agent"], "a1", "{told}");
    let streamed = [
        "stream", "--group", "board", "--policy", "fallback", "task hi", "--json",
    ];
    let streamed = world.missive(streamed).json();
    assert_eq!(
        streamed["data"]["route"]["attempts"][1]["status"],
        "succeeded"
    );
    let kinds = [
        "events",
        "list",
        "--type",
        "missive.group.member_tried",
        "--ndjson",
    ];
    assert_eq!(world.missive(kinds).stdout.lines().count(), 4);
}

#[test]
fn what_cannot_be_sent_to_a_group_says_what_can() {
    let world = with_board(&[("ada", "1"), ("bob", "2")]);

    insta::assert_snapshot!(send(&world, &["ada", "hi"]), @r"
    exit 64
    ------- stderr -------
    missive: with --group the only positional is the message
    hint: see `missive send --help`
    ");
    insta::assert_snapshot!(send(&world, &["--policy", "broadcast", "hi"]), @r"
    exit 64
    ------- stderr -------
    missive: broadcast sends a message to several members of board at once
    hint: `missive bcast board ...` sends it to all, and `missive barrier board --required N` waits for a quorum; --policy chooses one for this message
    ");
    insta::assert_snapshot!(send(&world, &["--tag", "eu", "hi"]), @r"
    exit 66
    ------- stderr -------
    missive: direct chooses nobody of board
    hint: ada: it does not meet every requirement; bob: it does not meet every requirement; `missive route explain --group board` with the same flags says more
    ");
    insta::assert_snapshot!(send(&world, &["--task", "t-1", "hi"]), @r"
    exit 64
    ------- stderr -------
    missive: --group <GROUP> cannot be used together with --task <ID>
    hint: see `missive send --help`
    ");
    insta::assert_snapshot!(seen(&world, &["send", "ada", "hi", "--policy", "direct"]), @r"
    exit 64
    ------- stderr -------
    missive: an agent is named, and a policy or requirements choose one out of several
    hint: name a group with --group instead of the agent
    ");
    insta::assert_snapshot!(seen(&world, &["send", "Not an agent", "hi"]), @r"
    exit 64
    ------- stderr -------
    missive: <AGENT> does not take `Not an agent`: an agent is an alias (a-z, 0-9, `.`, `_`, `-`) or an absolute http or https URL
    hint: see `missive send --help`
    ");
    insta::assert_snapshot!(seen(&world, &["send", "--group", "board"]), @r"
    exit 64
    ------- stderr -------
    missive: there is nothing to send: no message, no --stdin, no part, no file
    hint: see `missive send --help`
    ");
}

#[test]
fn of_many_processes_no_two_get_the_same_turn() {
    let (one, two) = (EchoAgent::start(), EchoAgent::start());
    let world = with_board(&[]);
    for (agent, rank) in [(&one, "1"), (&two, "2")] {
        world.missive(["agent", "add", &format!("a{rank}"), &agent.url()]);
        world.missive(["group", "add", "board", &format!("a{rank}"), "--rank", rank]);
    }
    let message = [
        "send",
        "--group",
        "board",
        "--policy",
        "round-robin",
        "echo hi",
        "--json",
    ];

    let begun: Vec<_> = (0..8)
        .map(|_| {
            let mut command = world.command(message);
            command
                .env_remove("MISSIVE_TEST_SEED")
                .env_remove("MISSIVE_TEST_CLOCK")
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let mut turns: Vec<u64> = begun
        .into_iter()
        .map(|child| {
            let told = world.ended(child);
            let turn = &told.json()["data"]["route"]["turn"];
            turn.as_u64().unwrap_or_else(|| panic!("{told}"))
        })
        .collect();

    turns.sort_unstable();
    assert_eq!(turns, (0..8).collect::<Vec<_>>());
    assert_eq!((one.messages().len(), two.messages().len()), (4, 4));
}
