//! What an operator asks of the record: what an agent knew, who changed a group, why a reduction says so.

use crate::TestWorld;
use crate::cli_group::seen;
use crate::cli_round::{board, data};
use missive_fixtures::EchoAgent;
use serde_json::Value;

/// Two agents that were asked as the group `board`, a reduction of what they said; and afterwards another
/// question, another member and another policy. The agents are gone.
fn afternoon() -> TestWorld {
    let agents = [EchoAgent::start(), EchoAgent::start()];
    let world = board(&[("ada", &agents[0].url()), ("bob", &agents[1].url())]);
    let run = |words: &[&str]| {
        let run = world.missive(words.iter().copied());
        assert!(matches!(run.code, Some(0 | 83)), "{run}");
    };
    run(&["send", "ada", "task ship it", "--context", "talk"]);
    run(&["send", "bob", "task wait", "--context", "talk"]);
    run(&[
        "reduce",
        "board",
        "--context",
        "talk",
        "--strategy",
        "merge",
    ]);
    run(&["send", "ada", "task wait as well", "--context", "talk"]);
    run(&["group", "remove", "board", "bob"]);
    run(&["agent", "rename", "ada", "grace"]);
    world
}

/// The place of the newest event of a type.
fn newest(world: &TestWorld, kind: &str) -> (String, Value) {
    let found = data(world, &["events", "list", "--type", kind, "--limit", "1"]);
    let event = &found["events"][0];
    (event["sequence"].to_string(), event.clone())
}

#[test]
fn what_an_agent_knew_at_a_moment_is_shown() {
    let world = afternoon();
    let (_, reduced) = newest(&world, "missive.reduce.completed");
    let moment = reduced["timestamp"].as_str().unwrap();

    let known = seen(
        &world,
        &["task", "list", "--context", "talk", "--at", moment],
    );
    let said = data(&world, &["context", "show", "talk", "--at", moment]);
    let later = data(&world, &["context", "show", "talk"]);

    assert!(known.contains("ada") && !known.contains("grace"), "{known}");
    let texts = |shown: &Value| shown["turns"].to_string().matches("wait as well").count();
    assert_eq!(texts(&said), 0, "{said}");
    assert!(texts(&later) > 0, "{later}");
}

#[test]
fn who_changed_a_group_and_what_it_was_is_shown() {
    let world = afternoon();
    let (removed, event) = newest(&world, "missive.group.member_removed");
    let before = (removed.parse::<u64>().unwrap() - 1).to_string();

    let was = data(&world, &["group", "show", "board", "--at", &before]);
    let is = data(&world, &["group", "show", "board"]);
    let changed = seen(
        &world,
        &["events", "diff", "--from", &before, "--to", &removed],
    );

    assert!(event["actor"].is_string(), "{event}");
    assert_eq!(event["group"], "board");
    assert_eq!(was["members"].as_array().unwrap().len(), 2, "{was}");
    assert_eq!(is["members"].as_array().unwrap().len(), 1, "{is}");
    insta::assert_snapshot!(changed, @r"
    exit 0
    ------- stdout -------
    from    19 at 2026-12-01T09:30:00Z
    to      20 at 2026-12-01T09:30:00Z
    events  1

    view     id         change   field    from    to
    groups   board      changed  members  2       1
    members  board bob  removed  rank     rank-2
    members  board bob  removed  weight   1
    ");
}

#[test]
fn why_a_reduction_says_what_it_says_is_shown() {
    let world = afternoon();
    let (place, reduced) = newest(&world, "missive.reduce.completed");
    let id = reduced["operation_id"].as_str().unwrap();
    let then = data(&world, &["reduce", "show", id, "--at", &place]);
    let made_of = then["position"].to_string();

    let gathered = data(
        &world,
        &["gather", "board", "--context", "talk", "--at", &made_of],
    );
    let now = data(&world, &["reduce", "show", id]);

    let said = |row: &Value| row["text"].as_str().unwrap().to_owned();
    let members = gathered["members"].as_array().unwrap();
    let texts: Vec<String> = members.iter().map(said).collect();
    assert_eq!(texts, ["ship it", "wait"], "{gathered}");
    assert_eq!(gathered["position"].to_string(), made_of);
    for text in texts {
        let reduced = then["reduced_text"].as_str().unwrap();
        assert!(reduced.contains(&text), "{then}");
    }
    assert_eq!(now["reduced_text"], then["reduced_text"]);
    let changed = |shown: &Value| {
        shown["provenance"]
            .to_string()
            .matches("\"changed_since\":true")
            .count()
    };
    assert_eq!((changed(&then), changed(&now)), (0, 1), "{now}");
}

/// Replaying sends nothing again and makes no new values (C122).
#[test]
fn looking_back_asks_nobody_writes_nothing_and_says_the_same_twice() {
    let world = afternoon();
    let (place, reduced) = newest(&world, "missive.reduce.completed");
    let id = reduced["operation_id"].as_str().unwrap();
    let looks: [&[&str]; 14] = [
        &["agent", "list", "--at", &place],
        &["agent", "inspect", "ada", "--at", &place],
        &["agent", "capabilities", "--at", &place],
        &["task", "list", "--at", &place],
        &["context", "list", "--at", &place],
        &["context", "show", "talk", "--at", &place],
        &["group", "list", "--at", &place],
        &["group", "capabilities", "board", "--at", &place],
        &["route", "explain", "--group", "board", "--at", &place],
        &["gather", "board", "--context", "talk", "--at", &place],
        &["reduce", "show", id, "--at", &place],
        &["events", "stats", "--at", &place],
        &["events", "replay"],
        &["events", "diff", "--from", &place],
    ];
    let head = data(&world, &["log", "head"]);

    for look in looks {
        let once = world.missive(look.iter().copied().chain(["--json"]));
        let again = world.missive(look.iter().copied().chain(["--json"]));

        assert_eq!(once.code, Some(0), "{look:?}: {once}");
        assert_eq!(once.stdout, again.stdout, "{look:?}");
    }
    assert_eq!(data(&world, &["log", "head"]), head);
    let verified = world.missive(["projection", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified}");
}
