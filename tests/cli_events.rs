//! What `missive events` shows of a log, and of a home that has none.

use crate::TestWorld;
use crate::history::{Writer, recorded};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

fn world() -> TestWorld {
    let world = TestWorld::new();
    recorded(&world);
    world
}

#[test]
fn reading_an_empty_home_creates_nothing() {
    let world = TestWorld::new();

    insta::assert_snapshot!(world.missive(["events", "list"]), @r"
    exit 0
    ------- stderr -------
    no events
    ");
    insta::assert_snapshot!(world.missive(["events", "list", "--json"]), @r#"
    exit 0
    ------- stdout -------
    {"schema_version":"missive.output.v1","ok":true,"kind":"events_list","data":{"events":[],"head":null}}
    "#);
    insta::assert_snapshot!(world.missive(["events", "list", "--agent", "ada"]), @r"
    exit 66
    ------- stderr -------
    missive: no agent is called `ada`
    ");
    insta::assert_snapshot!(world.missive(["events", "show", "1"]), @r"
    exit 66
    ------- stderr -------
    missive: there is no event `1`
    hint: there is no log yet
    ");
    insta::assert_snapshot!(world.missive(["events", "export"]), @r"
    exit 66
    ------- stderr -------
    missive: there is no log yet
    hint: the first command that records something begins it, such as `missive agent add`
    ");
    insta::assert_snapshot!(world.missive(["log", "head"]), @r"
    exit 66
    ------- stderr -------
    missive: there is no log yet
    hint: the first command that records something begins it, such as `missive agent add`
    ");
    insta::assert_snapshot!(world.missive(["doctor"]).without_sizes(), @r"
    exit 0
    ------- stdout -------
    pass  configuration  no file at missive/config.toml; the defaults hold
    pass  state          missive/profiles/default is not there yet
    pass  space          [N] MiB free
    pass  log            there is none yet; nothing was recorded
    ");
    assert!(!world.missive_home().exists());
}

#[test]
fn events_are_listed_oldest_first_and_the_newest_are_kept() {
    let world = world();

    insta::assert_snapshot!(world.missive(["events", "list"]), @r"
    exit 0
    ------- stdout -------
    1  2026-12-01T09:00:00Z  missive.log.created
    2  2026-12-01T09:00:00Z  missive.actor.seen      actor:4a1ef4f13930f18f131c86ee12637fcc
    3  2026-12-01T09:00:00Z  missive.agent.added     ada
    4  2026-12-01T09:00:00Z  a2a.card.requested      ada
    5  2026-12-01T09:00:00Z  a2a.card.fetched        ada
    6  2026-12-01T09:00:00Z  a2a.send.requested      ada  context c-1  operation op-1
    7  2026-12-01T09:00:00Z  a2a.send.responded      ada  context c-1  task t-1
    8  2026-12-01T09:00:00Z  a2a.send.requested      ada  context c-1  operation op-2
    9  2026-12-01T09:00:00Z  a2a.send.in_doubt       ada  context c-1  (connection_lost)
    ");
    insta::assert_snapshot!(world.missive(["events", "list", "--limit", "2"]), @r"
    exit 0
    ------- stdout -------
    8  2026-12-01T09:00:00Z  a2a.send.requested      ada  context c-1  operation op-2
    9  2026-12-01T09:00:00Z  a2a.send.in_doubt       ada  context c-1  (connection_lost)
    ");
    insta::assert_snapshot!(world.missive(["events", "list", "--limit", "2", "--reverse"]), @r"
    exit 0
    ------- stdout -------
    9  2026-12-01T09:00:00Z  a2a.send.in_doubt       ada  context c-1  (connection_lost)
    8  2026-12-01T09:00:00Z  a2a.send.requested      ada  context c-1  operation op-2
    ");
}

#[test]
fn every_filter_narrows_the_list() {
    let world = world();
    let listed = |filter: &[&str]| {
        let arguments = ["events", "list", "--ndjson"]
            .into_iter()
            .chain(filter.iter().copied());
        let run = world.missive(arguments);
        let places = run.stdout.lines().map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["data"]["event"]["sequence"].as_u64().unwrap()
        });
        (run.code, places.collect::<Vec<_>>())
    };

    let found = [
        listed(&["--agent", "ada"]),
        listed(&["--context", "c-1"]),
        listed(&["--task", "t-1"]),
        listed(&["--operation", "op-2"]),
        listed(&["--type", "a2a.send.*"]),
        listed(&["--type", "a2a.card.fetched"]),
        listed(&["--origin", "cli", "--after-sequence", "7"]),
        listed(&["--source", "gateway"]),
        listed(&["--since", "2026-12-01T09:00:00.008Z"]),
        listed(&["--until", "2026-12-01T09:00:00.001Z"]),
        listed(&["--type", "a2a.*", "--context", "c-1", "--reverse"]),
    ];

    let codes: Vec<Option<i32>> = found.iter().map(|(code, _)| *code).collect();
    let expected: [&[u64]; 11] = [
        &[6, 7, 8, 9],
        &[6, 7, 8, 9],
        &[7],
        &[8, 9],
        &[6, 7, 8, 9],
        &[5],
        &[8, 9],
        &[],
        &[9],
        &[1, 2],
        &[9, 8, 7, 6],
    ];
    assert_eq!(
        found.map(|(_, places)| places),
        expected.map(<[u64]>::to_vec)
    );
    assert!(codes.iter().all(|code| *code == Some(0)), "{codes:?}");
}

#[test]
fn names_that_the_log_never_heard_of_are_refused_with_the_nearest_one() {
    let world = world();

    insta::assert_snapshot!(world.missive(["events", "list", "--agent", "adda"]), @r"
    exit 66
    ------- stderr -------
    missive: no agent is called `adda`
    hint: did you mean `ada`?
    ");
    insta::assert_snapshot!(world.missive(["events", "list", "--context", "c-2"]), @r"
    exit 66
    ------- stderr -------
    missive: no event has the context `c-2`
    hint: did you mean `c-1`?
    ");
    insta::assert_snapshot!(world.missive(["events", "list", "--task", "t-2"]), @r"
    exit 66
    ------- stderr -------
    missive: no event has the task `t-2`
    hint: did you mean `t-1`?
    ");
    insta::assert_snapshot!(world.missive(["events", "export", "--operation", "op-9"]), @r"
    exit 66
    ------- stderr -------
    missive: no event has the operation `op-9`
    hint: `missive events list --type 'a2a.*.requested'` shows the operation of each request
    ");
    insta::assert_snapshot!(world.missive(["events", "show", "99"]), @r"
    exit 66
    ------- stderr -------
    missive: there is no event `99`
    hint: the log has the events 1 to 9
    ");
}

#[test]
fn a_list_for_programs_holds_every_event_and_the_head() {
    let world = world();

    insta::assert_snapshot!(world.missive(["events", "list", "--limit", "1", "--json"]), @r#"
    exit 0
    ------- stdout -------
    {"schema_version":"missive.output.v1","ok":true,"kind":"events_list","data":{"events":[{"sequence":9,"event_id":"01a230d512807f358ccfc4e620c87bd8","timestamp":"2026-12-01T09:00:00.008000Z","type":"a2a.send.in_doubt","origin":"cli","actor":null,"operation_id":"op-2","cause":8,"subject":"operation:op-2","agent":"ada","context_id":"c-1","facts":{"failure":"connection_lost"},"payloads":[],"prev":8,"digest":"05aebd5758be5f68b7837c910bfb58b31f061ed35f52211623e7ece4314dbab6","link":"fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9"}],"head":"3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9"}}
    "#);
    insta::assert_snapshot!(world.missive(["events", "list", "--task", "t-1", "--ndjson"]), @r#"
    exit 0
    ------- stdout -------
    {"schema_version":"missive.output.v1","ok":true,"kind":"event_record","sequence":0,"data":{"event":{"sequence":7,"event_id":"01a230d5128077e5b8b8c19eeb596caa","timestamp":"2026-12-01T09:00:00.006000Z","type":"a2a.send.responded","origin":"cli","actor":null,"operation_id":"op-1","cause":6,"subject":"operation:op-1","agent":"ada","context_id":"c-1","task_id":"t-1","facts":{"status":200,"shape":"task","task":{"task":"t-1","context":"c-1","state":"completed","history":2,"artifacts":[{"artifact":"a-1","parts":1}]}},"payloads":[{"role":"response","media":"json","redacted":0,"text":"{\"task\": {\"id\":\"t-1\",\"contextId\":\"c-1\",\"status\":{\"state\":\"TASK_STATE_COMPLETED\"},\"artifacts\":[{\"artifactId\":\"a-1\",\"parts\":[{\"text\":\"sunny\"}]}],\"history\":[{\"messageId\":\"m-1\",\"role\":\"ROLE_USER\",\"parts\":[{\"text\":\"weather?\"}]},{\"messageId\":\"m-2\",\"role\":\"ROLE_AGENT\",\"parts\":[{\"text\":\"wait\"}]}],\"metadata\":{\"n\":9007199254740993}}}"}],"prev":6,"digest":"d1eedbf4c105ffb672cf09e0845cc380d7874b962c0d9a949f41ed71c0229c99","link":"7578fb9ea8470c749ceedd6854fba5818a15c16101ec57f49e561d2f5d2f5a7a"}}}
    "#);
    let all = world.missive(["events", "list", "--json"]).json();
    assert_eq!(all["data"]["events"].as_array().unwrap().len(), 9);
    assert_eq!(
        all["data"]["head"],
        world.missive(["log", "head"]).stdout.trim_end()
    );
}

#[test]
fn one_event_is_shown_with_its_payloads() {
    let world = world();

    insta::assert_snapshot!(world.missive(["events", "show", "6"]), @r#"
    exit 0
    ------- stdout -------
    sequence   6
    type       a2a.send.requested
    time       2026-12-01T09:00:00.005000Z
    event id   01a230d51280734b9506aee8c153db22
    subject    operation:op-1
    origin     cli
    operation  op-1
    agent      ada
    context    c-1
    facts      {"instance":"0707070707070707","message":"m-1","binding":"http+json","url":"http://ada.test/v1","source":"card","version":"1.0","parts":1,"attempt":1}
    digest     9f2f7d64508c830efe62dfff8b6306ca6803b19ae7105803f197297f808dcea9
    link       47b490db036dd03d0074dbc5589815fc13626e3aa97b211041c94b72addbb259

    request (json, 54 bytes, 1 redacted)
    {"parts":[{"text":"weather?"}],"token":"[redacted:1]"}
    "#);
    insta::assert_snapshot!(world.missive(["events", "show", "3"]), @r#"
    exit 0
    ------- stdout -------
    sequence  3
    type      missive.agent.added
    time      2026-12-01T09:00:00.002000Z
    event id  01a230d5128078e9944237fe2b32f527
    subject   agent:ada
    origin    cli
    facts     {"url":"http://ada.test","tags":["weather"]}
    digest    67b7c62c9f3676b6d21876929f9047db6622d86a913d2552742d7e10f548aebe
    link      56c96a15f965b029f0db3b0e593db15202af88670d5e2de411988937924ee170

    note (json, 15 bytes)
    speaks \u{1b}[31mred
    "#);
    let by_place = world.missive(["events", "show", "7", "--json"]).json();
    let id = by_place["data"]["event"]["event_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let by_id = world.missive(["events", "show", &id, "--json"]).json();
    assert_eq!(by_place, by_id);
}

#[test]
fn everything_is_counted() {
    let world = world();

    let mut stats = world.missive(["events", "stats", "--json"]).json();
    let bytes = stats["data"]["bytes"].take();

    assert!(bytes["log"].as_u64() > Some(1_000), "{bytes}");
    insta::assert_snapshot!(stats["data"], @r#"{"agents":[{"agent":"ada","count":4}],"bytes":null,"count":9,"first":{"sequence":1,"timestamp":"2026-12-01T09:00:00.000000Z"},"head":"3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9","last":{"sequence":9,"timestamp":"2026-12-01T09:00:00.008000Z"},"types":[{"count":2,"type":"a2a.send.requested"},{"count":1,"type":"a2a.card.fetched"},{"count":1,"type":"a2a.card.requested"},{"count":1,"type":"a2a.send.in_doubt"},{"count":1,"type":"a2a.send.responded"},{"count":1,"type":"missive.actor.seen"},{"count":1,"type":"missive.agent.added"},{"count":1,"type":"missive.log.created"}]}"#);
    let some = world
        .missive(["events", "stats", "--type", "a2a.send.*", "--json"])
        .json();
    insta::assert_snapshot!(some["data"]["types"], @r#"[{"count":2,"type":"a2a.send.requested"},{"count":1,"type":"a2a.send.in_doubt"},{"count":1,"type":"a2a.send.responded"}]"#);
}

#[test]
fn following_shows_what_was_and_what_comes() {
    let world = world();
    let arguments = [
        "events",
        "tail",
        "--from-sequence",
        "9",
        "--limit",
        "2",
        "--ndjson",
    ];
    let mut tail = world
        .command(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();

    // It hosts the log by now, so this one is attached to it.
    let exported = world.missive(["events", "export"]);
    let second = lines.next().unwrap().unwrap();

    assert_eq!(exported.code, Some(0));
    assert!(first.contains("\"sequence\":9"), "{first}");
    assert!(second.contains("missive.actor.seen"), "{second}");
    insta::assert_snapshot!(world.ended(tail), @"exit 0");
}

#[test]
fn an_interruption_ends_following() {
    let world = world();
    for (signal, code) in [
        (rustix::process::Signal::INT, 130),
        (rustix::process::Signal::TERM, 143),
    ] {
        let mut tail = world
            .command(["events", "tail", "--from-sequence", "9"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
        lines.next().unwrap().unwrap();

        let id = rustix::process::Pid::from_child(&tail);
        rustix::process::kill_process(id, signal).unwrap();

        assert_eq!(tail.wait().unwrap().code(), Some(code));
    }
}

#[test]
fn a_long_list_is_written_as_it_is_read() {
    let world = TestWorld::new();
    let writer = Writer::open(&world);
    writer.append_many(1_500);
    writer.close();

    let all = world.missive(["events", "list", "--json"]).json();

    let events = all["data"]["events"].as_array().unwrap();
    let places: Vec<u64> = events
        .iter()
        .map(|event| event["sequence"].as_u64().unwrap())
        .collect();
    assert_eq!(places, (1..=1_501).collect::<Vec<u64>>());
}

#[test]
fn a_tail_with_a_timeout_ends_when_it_is_over() {
    let world = world();

    let all = world.missive(["events", "tail", "--from-sequence", "9", "--timeout", "1s"]);
    let none = world.missive(["events", "tail", "--timeout", "1ms"]);

    assert_eq!((all.code, none.code), (Some(82), Some(82)), "{all}{none}");
    assert!(
        all.stdout.starts_with("9  ") && none.stdout.is_empty(),
        "{all}{none}"
    );
}

#[test]
fn a_type_that_no_event_can_have_is_told_with_the_nearest_one() {
    let world = TestWorld::new();
    let empty = world.missive(["events", "list", "--type", "a2a.send.request"]);
    recorded(&world);
    let list = |kind| world.missive(["events", "list", "--type", kind]);

    insta::assert_snapshot!(list("a2a.send.request"), @r"
    exit 66
    ------- stderr -------
    missive: there is no event type `a2a.send.request`
    hint: did you mean `a2a.send.requested`?
    ");
    insta::assert_snapshot!(list("a2a.sent.*"), @r"
    exit 66
    ------- stderr -------
    missive: there is no event type `a2a.sent.*`
    hint: did you mean `a2a.send.*`?
    ");
    insta::assert_snapshot!(list("nothing"), @r"
    exit 66
    ------- stderr -------
    missive: there is no event type `nothing`
    hint: types begin with a2a.call.*, a2a.card.*, a2a.push.*, a2a.send.*, a2a.stream.*, a2a.subscription.*, a2a.task.*, missive.actor.*, missive.agent.*, missive.artifact.*, missive.barrier.*, missive.bcast.*, missive.context.*, missive.gather.*, missive.group.*, missive.log.*, missive.reduce.*, missive.round.*, missive.webhook.*; `missive events stats` counts those of this log
    ");
    assert_eq!(empty.code, Some(66), "{empty}");
    for command in ["stats", "export"] {
        let run = world.missive(["events", command, "--type", "a2a.send.request"]);
        assert_eq!(run.code, Some(66), "{run}");
    }
    // A type that is known and did not happen is no slip.
    assert_eq!(list("a2a.task.updated").code, Some(0));
    assert_eq!(list("*.failed").code, Some(0));
}

#[test]
fn a_request_names_its_operation_and_what_failed_says_why() {
    let world = TestWorld::new();
    recorded(&world);

    insta::assert_snapshot!(world.missive(["events", "list", "--type", "a2a.send.*"]), @r"
    exit 0
    ------- stdout -------
    6  2026-12-01T09:00:00Z  a2a.send.requested      ada  context c-1  operation op-1
    7  2026-12-01T09:00:00Z  a2a.send.responded      ada  context c-1  task t-1
    8  2026-12-01T09:00:00Z  a2a.send.requested      ada  context c-1  operation op-2
    9  2026-12-01T09:00:00Z  a2a.send.in_doubt       ada  context c-1  (connection_lost)
    ");
    let undashed = "01a230f089c0706f82204a36d8294643";
    insta::assert_snapshot!(world.missive(["retry", undashed]), @r"
    exit 66
    ------- stderr -------
    missive: there is no operation 01a230f0-89c0-706f-8220-4a36d8294643
    hint: in doubt is op-2; `missive doctor` lists all
    ");
}
