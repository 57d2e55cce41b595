//! `missive task`: what agents work at, asked for, listed, waited for and canceled.

use crate::TestWorld;
use crate::cli_send::world_with;
use missive_fixtures::{Answer, EchoAgent, ScriptedPeer};
use serde_json::{Value, json};

fn task(state: &str) -> Value {
    json!({"id": "t-1", "contextId": "c-1", "status": {"state": state, "timestamp": "2026-11-30T10:00:00Z"}})
}

fn shown(world: &TestWorld, arguments: &[&str]) -> String {
    let words = ["task"].iter().chain(arguments).copied();
    world.missive(words).to_string()
}

#[test]
fn a_task_is_asked_for_waited_for_and_canceled() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    peer.on(
        "GET",
        "/rest/tasks/t-1",
        Answer::json(200, &task("TASK_STATE_WORKING")),
    );
    let cancel = "/rest/tasks/t-1:cancel";
    peer.once(
        "POST",
        cancel,
        Answer::json(200, &task("TASK_STATE_WORKING")),
    );
    peer.on(
        "POST",
        cancel,
        Answer::json(200, &task("TASK_STATE_CANCELED")),
    );
    let world = world_with(&peer.url());

    insta::assert_snapshot!(shown(&world, &["get", "t-1"]), @r"
    exit 66
    ------- stderr -------
    missive: the log knows no task `t-1`
    hint: `missive task list` shows all; name the agent with --agent to ask it
    ");
    insta::assert_snapshot!(shown(&world, &["get", "t-1", "--remote", "--agent", "py"]), @r"
    exit 0
    ------- stdout -------
    task     t-1
    state    working
    agent    py
    context  c-1
    updated  2026-12-01T09:30:00Z
    ");
    insta::assert_snapshot!(shown(&world, &["wait", "t-1", "--timeout", "1s"]), @r"
    exit 82
    ------- stdout -------
    task     t-1
    state    working
    agent    py
    context  c-1
    updated  2026-12-01T09:30:00Z
    ------- stderr -------
    the time ran out while task t-1 of py was working
    hint: the task goes on at the agent: `missive task subscribe t-1` follows it, `missive task wait t-1` waits for its end, and `missive task cancel t-1` cancels it
    ");
    insta::assert_snapshot!(shown(&world, &["cancel", "t-1"]), @r"
    exit 80
    ------- stdout -------
    task     t-1
    state    working
    agent    py
    context  c-1
    updated  2026-12-01T09:30:00Z
    ------- stderr -------
    task t-1 is not canceled: it is working
    hint: it may still be on its way: `missive task wait t-1` waits
    ");
    insta::assert_snapshot!(shown(&world, &["cancel", "t-1", "-q"]), @"exit 0");
    insta::assert_snapshot!(shown(&world, &["wait", "t-1", "--local", "--json"]), @r#"
    exit 81
    ------- stdout -------
    {"schema_version":"missive.output.v1","ok":true,"kind":"task_wait","data":{"task":{"task_id":"t-1","context_id":"c-1","agent":"py","state":"canceled","source":"call","updated":"2026-12-01T09:30:00.020000Z","text":"","artifacts":[],"history_count":0,"protocol_version":"1.0","sequence":21,"raw":{"contextId":"c-1","id":"t-1","status":{"state":"TASK_STATE_CANCELED","timestamp":"2026-11-30T10:00:00Z"}}}}}
    "#);
}

#[test]
fn tasks_are_listed_from_the_log_and_from_the_agent() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    for text in ["task report", "ask"] {
        world.missive(["send", "py", text]);
    }

    insta::assert_snapshot!(shown(&world, &["list"]), @r"
    exit 0
    ------- stdout -------
    task    state           agent  context    updated
    task-7  input_required  py     context-6  2026-12-01T09:30:00Z
    task-2  completed       py     context-1  2026-12-01T09:30:00Z
    ");
    insta::assert_snapshot!(shown(&world, &["list", "--page-size", "1", "--ndjson"]), @r#"
    exit 0
    ------- stdout -------
    {"schema_version":"missive.output.v1","ok":true,"kind":"task_list","sequence":0,"data":{"task":{"task_id":"task-7","context_id":"context-6","agent":"py","state":"input_required","source":"send","updated":"2026-12-01T09:30:00.008000Z","artifacts":[],"history_count":1,"protocol_version":"1.0","sequence":9}}}
    {"schema_version":"missive.output.v1","ok":true,"kind":"task_list","sequence":1,"data":{"next_page_token":"9"}}
    "#);
    insta::assert_snapshot!(shown(&world, &["list", "--remote", "--agent", "py", "--page-size", "1"]), @r"
    exit 0
    ------- stdout -------
    task    state           agent  context    updated
    task-7  input_required  py     context-6  2026-01-02T03:00:00Z
    ------- stderr -------
    there are more: --page-token after-task-7 goes on, --all shows them all
    ");
    insta::assert_snapshot!(shown(&world, &["list", "--remote", "--agent", "py", "--all", "--include-artifacts", "--state", "completed"]), @r#"
    exit 0
    ------- stdout -------
    task    state      agent  context    updated               artifacts
    task-2  completed  py     context-1  2026-01-02T03:00:00Z  artifact-4 "task" (1 part)
    "#);
    insta::assert_snapshot!(shown(&world, &["list", "--context", "nowhere"]), @r"
    exit 66
    ------- stderr -------
    missive: no context is called nowhere
    hint: `missive context list` shows all
    ");
    insta::assert_snapshot!(shown(&world, &["list", "--remote"]), @r"
    exit 64
    ------- stderr -------
    missive: --agent <AGENT> is missing
    hint: see `missive task list --help`
    ");
}

#[test]
fn a_task_that_the_agent_does_not_know_gives_advice_about_flags_that_were_given() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    peer.on_get_task("t-1", &Answer::a2a_error("task_not_found"));
    let world = world_with(&peer.url());

    insta::assert_snapshot!(shown(&world, &["get", "t-1", "--remote", "--agent", "py"]), @r"
    exit 66
    ------- stderr -------
    missive: the agent answered TASK_NOT_FOUND: task not found
    hint: `missive task list` shows the tasks that the log knows
    ");
}
