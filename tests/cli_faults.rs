//! `missive send` when something is wrong: words, hints and exit codes.

use crate::TestWorld;
use crate::cli_send::{sent, world_with};
use missive_fixtures::{Answer, EchoAgent, ScriptedPeer, Setup, refused_url, wire};
use serde_json::json;

#[test]
fn an_unknown_agent_is_66_with_the_nearest_and_nothing_is_created() {
    let empty = TestWorld::new();
    insta::assert_snapshot!(sent(&empty, &["py", "hi"]), @r"
    exit 66
    ------- stderr -------
    missive: no agent is called py
    hint: register it with `missive agent add py URL`
    ");
    assert!(!empty.missive_home().exists());

    let world = world_with("http://127.0.0.1:9");
    insta::assert_snapshot!(sent(&world, &["pz", "hi"]), @r"
    exit 66
    ------- stderr -------
    missive: no agent is called pz
    hint: did you mean `py`?
    ");
    insta::assert_snapshot!(sent(&world, &["weather", "hi"]), @r"
    exit 66
    ------- stderr -------
    missive: no agent is called weather
    hint: the only known agent is `py`
    ");
    world.missive(["agent", "rename", "py", "snake"]);
    insta::assert_snapshot!(sent(&world, &["py", "hi"]), @r"
    exit 66
    ------- stderr -------
    missive: no agent is called py
    hint: it was renamed to `snake`
    ");
    insta::assert_snapshot!(sent(&world, &["http://u:hunter2@127.0.0.1", "hi"]), @r"
    exit 64
    ------- stderr -------
    missive: the URL holds credentials
    hint: the address of an agent is absolute, such as https://agent.example, and holds no secret: those have --bearer-token-env and --header
    ");
}

#[test]
fn an_agent_that_cannot_be_reached_or_used_is_told_apart() {
    let nobody = world_with(&refused_url());
    insta::assert_snapshot!(sent(&nobody, &["py", "hi"]), @r"
    exit 69
    ------- stderr -------
    missive: the card of http://127.0.0.1:[PORT]/.well-known/agent-card.json cannot be fetched
    caused by: 127.0.0.1:[PORT] refuses connections
    caused by: Connection refused (os error 111)
    hint: is the agent running, and is its address right?
    ");

    let peer = ScriptedPeer::start();
    let world = world_with(&peer.url());
    let card = "/.well-known/agent-card.json";
    peer.on("GET", card, Answer::html());
    insta::assert_snapshot!(sent(&world, &["py", "hi"]), @r"
    exit 76
    ------- stderr -------
    missive: not an Agent Card: HTML received from http://127.0.0.1:[PORT]/.well-known/agent-card.json
    hint: a web page answered there: check the address of the agent
    ");
    peer.on(
        "GET",
        card,
        Answer::bytes(200, "application/json", wire("cards/c008_v03_shape.json")),
    );
    insta::assert_snapshot!(sent(&world, &["py", "hi"]), @r"
    exit 76
    ------- stderr -------
    missive: the agent at http://127.0.0.1:[PORT]/.well-known/agent-card.json offers only A2A 0.3.0, and missive speaks 1.0
    hint: missive does not fall back to an older protocol by itself
    ");
    peer.on("GET", card, Answer::text(404, "not found"));
    insta::assert_snapshot!(sent(&world, &["py", "hi"]), @r"
    exit 69
    ------- stderr -------
    missive: no Agent Card under http://127.0.0.1:[PORT]/
    hint: check the address; an agent without a card is registered with --interface BINDING=URL or --card-file FILE, or spoken to with --binding
    ");
    peer.card(&json!({}));
    peer.on_send(&Answer::too_many_requests("7"));
    insta::assert_snapshot!(sent(&world, &["py", "hi"]), @r"
    exit 69
    ------- stderr -------
    missive: the agent answered rate limited (HTTP 429)
    hint: the agent asks to come back after 7 s
    ");
    peer.on_send(&Answer::a2a_error("task_not_found"));
    insta::assert_snapshot!(sent(&world, &["py", "hi", "--task", "t-1"]), @r"
    exit 66
    ------- stderr -------
    missive: the agent answered TASK_NOT_FOUND: task not found
    hint: the agent does not know the task (any more): leave --task out to open a new one
    ");
    peer.on_send(&Answer::html());
    insta::assert_snapshot!(sent(&world, &["py", "hi"]), @r"
    exit 76
    ------- stderr -------
    missive: the agent's answer is unusable: it is a web page
    hint: the agent took the message and may act on it: `missive task list --remote --agent py` shows its tasks
    ");
}

#[test]
fn credentials_that_are_missing_or_refused_end_with_77() {
    let agent = EchoAgent::with(Setup {
        bearer: Some("hunter2-token".to_owned()),
        ..Setup::default()
    });
    let world = world_with(&agent.url());

    insta::assert_snapshot!(sent(&world, &["py", "hi", "--bearer-token-env", "PY_TOKEN"]), @r"
    exit 77
    ------- stderr -------
    missive: the variable PY_TOKEN, which --bearer-token-env names, is not set
    hint: set it in the environment of the command
    ");
    assert!(agent.peer().requests().is_empty());
    insta::assert_snapshot!(sent(&world, &["py", "hi"]), @r#"
    exit 77
    ------- stderr -------
    missive: the agent answered unauthenticated (HTTP 401): unauthorized
    hint: the agent asks for `Bearer realm="scripted"`
    hint: give credentials with --bearer-token-env ENV, with --header 'Name: value', or with an [auth_refs] entry and `missive agent add --auth-ref NAME`
    "#);
    let world = world.with_variable("PY_TOKEN", "hunter2-token");
    insta::assert_snapshot!(sent(&world, &["py", "hi", "--bearer-token-env", "PY_TOKEN"]), @r"
    exit 0
    ------- stdout -------
    hi
    ");
}

#[test]
fn input_that_cannot_be_used_is_found_before_anything_is_recorded() {
    let world = TestWorld::new();
    let file = |name: &str| sent(&world, &["http://127.0.0.1:9", "--file-bytes", name]);

    insta::assert_snapshot!(file("nope"), @r"
    exit 74
    ------- stderr -------
    missive: `nope` cannot be read
    caused by: No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(file("."), @r"
    exit 65
    ------- stderr -------
    missive: `.` is a folder
    ");
    insta::assert_snapshot!(sent(&world, &["http://127.0.0.1:9", "--json-part", "{\"a\":"]), @r#"
    exit 65
    ------- stderr -------
    missive: not JSON at byte 5: the text ends too early
    hint: quote it for the shell: --json-part '{"key": "value"}'
    "#);
    assert!(!world.missive_home().exists());
}

#[test]
fn with_json_every_failure_is_one_envelope_on_stderr() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    assert_eq!(
        world.missive(["agent", "add", "gone", &refused_url()]).code,
        Some(0)
    );
    let mut codes = Vec::new();

    for line in [
        "send nobody hi",
        "send gone hi",
        "send py",
        "send py hi --task x",
        "send py --json-part {",
        "send py hi --bearer-token-env NOT_SET",
        "agent add py http://127.0.0.1:9",
    ] {
        let run = world.missive(line.split(' ').chain(["--json"]));
        assert_eq!(run.stdout, "");
        let error = run.error();
        assert_eq!(error["ok"], false);
        assert_eq!(error["data"]["exit_code"], json!(run.code));
        codes.push(format!(
            "{} {}",
            error["data"]["exit_code"], error["data"]["code"]
        ));
    }

    insta::assert_snapshot!(codes.join("\n"), @r#"
    66 "missive::not_found::agent"
    69 "missive::transport::connect_refused"
    64 "missive::usage::invalid_value"
    66 "missive::not_found::task_not_found"
    65 "missive::data::json_part"
    77 "missive::auth::unresolved"
    64 "missive::usage::alias_taken"
    "#);
}
