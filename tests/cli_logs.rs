//! `missive logs`, the trace and the manual page: what an operator looks at.

use crate::cli_send::world_with;
use crate::{TestWorld, ids_hidden};
use missive_fixtures::EchoAgent;

#[test]
fn operations_are_listed_with_what_came_of_them() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    for (text, code) in [("echo hi", 0), ("fail", 80)] {
        assert_eq!(world.missive(["send", "py", text]).code, Some(code));
    }

    let all = world.missive(["logs"]);
    let failed = world.missive(["logs", "--failed", "--ndjson"]);

    insta::assert_snapshot!(ids_hidden(&all.to_string()), @r"
    exit 0
    ------- stdout -------
    started               operation                             what  agent  outcome          took
    2026-12-01T09:30:00Z  [ID]  send  py     done             3 ms
    2026-12-01T09:30:00Z  [ID]  send  py     failed (failed)  1 ms
    ");
    assert_eq!(failed.stdout.lines().count(), 1, "{failed}");
    assert_eq!(failed.json()["data"]["operation"]["outcome"], "failed");
}

#[test]
fn the_trace_can_be_documents_that_name_the_operation_and_no_content() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url()).with_variable("MISSIVE_LOG_FORMAT", "json");

    let run = world.missive(["-v", "send", "py", "echo a-word-of-the-message"]);
    let bad = TestWorld::new()
        .with_variable("MISSIVE_LOG_FORMAT", "xml")
        .missive(["agent", "list"]);

    assert_eq!(run.code, Some(0), "{run}");
    assert!(!run.stderr.contains("a-word-of-the-message"), "{run}");
    let lines = run.stderr.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<serde_json::Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let last = lines.last().unwrap();
    assert_eq!(last["span"]["command"], "send", "{run}");
    assert!(last["span"]["operation"].is_string(), "{run}");
    insta::assert_snapshot!(bad, @r"
    exit 78
    ------- stderr -------
    missive: MISSIVE_LOG_FORMAT is `xml`
    hint: it may be `text` or `json`
    ");
}

#[test]
fn rounds_are_listed_with_their_group_beside_what_their_members_were_asked() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    for line in [
        "group create team",
        "group add team py --rank 1",
        "bcast team task-report --context c-1",
        "barrier team --context c-1",
        "gather team --context c-1 --record",
        "reduce team --context c-1 --strategy merge",
    ] {
        let run = world.missive(line.split(' '));
        assert_eq!(run.code, Some(0), "{line}: {run}");
    }

    let all = world.missive(["logs"]);
    let asked = world.missive(["logs", "--agent", "py", "--ndjson"]);

    insta::assert_snapshot!(ids_hidden(&all.to_string()), @r"
    exit 0
    ------- stdout -------
    started               operation                             what     agent       outcome  took
    2026-12-01T09:30:00Z  [ID]  bcast    group team  done     6 ms
    2026-12-01T09:30:00Z  [ID]  send     py          done     3 ms
    2026-12-01T09:30:00Z  [ID]  barrier  group team  done     2 ms
    2026-12-01T09:30:00Z  [ID]  gather   group team  done     0 ms
    2026-12-01T09:30:00Z  [ID]  reduce   group team  done     1 ms
    ");
    assert!(!asked.stdout.contains("barrier"), "{asked}");
}

#[test]
fn what_knows_nothing_of_the_log_is_not_asked_about_an_earlier_moment() {
    let world = TestWorld::new();

    for line in ["completion bash --at 5", "manpage --at 5", "demo --at 5"] {
        let run = world.missive(line.split(' '));

        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(64), ""),
            "{line}: {run}"
        );
    }
}
