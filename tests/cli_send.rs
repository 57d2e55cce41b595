//! `missive send` to agents that behave: what people and programs see.

use crate::{TestWorld, ids_hidden};
use missive_fixtures::{Answer, EchoAgent, ScriptedPeer};
use serde_json::json;

/// A home in which `py` is registered.
pub(crate) fn world_with(url: &str) -> TestWorld {
    let world = TestWorld::new();
    assert_eq!(world.missive(["agent", "add", "py", url]).code, Some(0));
    world
}

/// What a person sees, without the identifiers that differ from run to run.
pub(crate) fn sent(world: &TestWorld, arguments: &[&str]) -> String {
    let words = ["send"].iter().chain(arguments).copied();
    ids_hidden(&world.missive(words).to_string())
}

#[test]
fn the_text_of_the_answer_is_all_that_is_printed() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());

    for binding in ["http+json", "json-rpc"] {
        let run = world.missive(["send", "py", "echo hi", "--binding", binding]);

        assert_eq!(
            (run.code, &*run.stdout, &*run.stderr),
            (Some(0), "hi\n", "")
        );
    }
    assert_eq!(agent.messages().len(), 2);
}

#[test]
fn a_url_serves_for_one_message() {
    let agent = EchoAgent::start();
    let world = TestWorld::new();

    let run = world.missive(["send", &agent.url(), "task report"]);

    assert_eq!(
        (run.code, &*run.stdout, &*run.stderr),
        (Some(0), "report\n", "")
    );
    assert_eq!(
        world.missive(["agent", "list", "--json"]).json()["data"]["agents"],
        json!([])
    );
}

#[test]
fn how_the_task_stands_is_said_beside_its_text_and_by_the_exit_code() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());

    insta::assert_snapshot!(sent(&world, &["py", "ask"]), @r#"
    exit 83
    ------- stdout -------
    which name?
    ------- stderr -------
    task task-2 of py needs input
    hint: answer with `missive send py --task task-2 --context context-1 "..."`
    "#);
    insta::assert_snapshot!(sent(&world, &["py", "--task", "task-2", "--context", "context-1", "Ada"]), @r"
    exit 0
    ------- stdout -------
    you said: Ada
    ");
    insta::assert_snapshot!(sent(&world, &["py", "auth"]), @r#"
    exit 84
    ------- stdout -------
    please authenticate
    ------- stderr -------
    task task-9 of py needs authentication
    hint: when that is done, go on with `missive send py --task task-9 --context context-8 "..."`
    "#);
    insta::assert_snapshot!(sent(&world, &["py", "fail"]), @r"
    exit 80
    ------- stdout -------
    failed on request
    ------- stderr -------
    task task-14 of py failed
    ");
    insta::assert_snapshot!(sent(&world, &["py", "reject"]), @r"
    exit 85
    ------- stdout -------
    rejected
    ------- stderr -------
    task task-19 of py was rejected
    ");
    insta::assert_snapshot!(sent(&world, &["py", "slow 3", "--return-immediately"]), @r"
    exit 0
    ------- stdout -------
    at work
    ------- stderr -------
    task task-24 of py is working
    hint: the task goes on at the agent: `missive task subscribe task-24` follows it, `missive task wait task-24` waits for its end, and `missive task cancel task-24` cancels it
    ");
    insta::assert_snapshot!(sent(&world, &["py", "file"]), @r"
    exit 0
    ------- stdout -------
    output.txt (text/plain, 13 bytes)
    ------- stderr -------
    hint: `missive task artifact save task-29 artifact-31` writes it to a file
    ");
    insta::assert_snapshot!(sent(&world, &["py", "more", "--task", "task-2"]), @r#"
    exit 64
    ------- stderr -------
    missive: task task-2 is completed and takes no more messages
    hint: open a new task in the same context with `missive send py --context context-1 "..."`
    "#);
}

#[test]
fn waiting_ends_with_the_task() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());

    let run = world.missive(["send", "py", "slow 2", "--wait"]);

    assert_eq!((run.code, &*run.stdout), (Some(0), "slow work\n"));
}

#[test]
fn every_kind_of_input_reaches_the_agent_in_the_order_typed() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    world.file("a.csv", "x;y\n");

    let run = world.missive_reading(
        [
            "send",
            "py",
            "echo hi",
            "--stdin",
            "--json-part",
            "{\"n\": 9007199254740993}",
            "--file-bytes",
            "a.csv",
            "--mime",
            "text/csv",
            "--file",
            "a.csv",
            "--part",
            "text=end",
            "--metadata",
            "k=v",
            "--reference-task",
            "t-0",
            "--accepted-output-mode",
            "text/plain",
            "--history-length",
            "3",
            "--message-id",
            "m-1",
            "--context",
            "c-new",
            "--json",
        ],
        b"from stdin",
    );

    assert_eq!(run.code, Some(0), "{run}");
    let mut request = run.json()["data"]["request"].take();
    // As long as the path of the temporary folder.
    request["parts"][4]["bytes"] = json!("[LENGTH]");
    insta::assert_snapshot!(request, @r#"{"context_id":"c-new","message_id":"m-1","parts":[{"bytes":7,"kind":"text","source":"message"},{"bytes":10,"kind":"text","source":"stdin"},{"bytes":23,"kind":"data","media_type":"application/json","source":"json-part"},{"bytes":4,"filename":"a.csv","kind":"raw","media_type":"text/csv","source":"file-bytes"},{"bytes":"[LENGTH]","filename":"a.csv","kind":"url","source":"file"},{"bytes":3,"kind":"text","source":"part"}]}"#);
    let seen = agent.peer().requests();
    let body = String::from_utf8(seen.last().unwrap().body.clone()).unwrap();
    let folder = world.folder().canonicalize().unwrap();
    insta::assert_snapshot!(body.replace(&*folder.to_string_lossy(), "[HOME]"), @r#"{"message":{"messageId":"m-1","contextId":"c-new","role":"ROLE_USER","parts":[{"text":"echo hi"},{"text":"from stdin"},{"data":{"n": 9007199254740993},"mediaType":"application/json"},{"raw":"eDt5Cg==","filename":"a.csv","mediaType":"text/csv"},{"url":"file://[HOME]/a.csv","filename":"a.csv"},{"text":"end"}],"metadata":{"k":"v"},"referenceTaskIds":["t-0"]},"configuration":{"acceptedOutputModes":["text/plain"],"historyLength":3}}"#);
}

#[test]
fn the_result_has_the_fields_that_scripts_rely_on_and_the_peers_json_as_it_came() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());

    let task = world.missive(["send", "py", "task report", "--json"]);
    agent.next_send_answers(Answer::big_integers());
    let raw = world.missive(["send", "py", "echo", "--json"]);
    let line = world.missive(["send", "py", "ask", "--ndjson"]);

    insta::assert_snapshot!(ids_hidden(&task.to_string()), @r#"
    exit 0
    ------- stdout -------
    {"schema_version":"missive.output.v1","ok":true,"kind":"send_result","data":{"operation_id":"[ID]","agent":"py","interface":{"binding":"http+json","url":"http://127.0.0.1:[PORT]/rest","protocol_version":"1.0","source":"card"},"request":{"message_id":"[ID]","parts":[{"kind":"text","source":"message","bytes":11}]},"response":{"shape":"task"},"task_id":"task-2","context_id":"context-1","state":"completed","text":"report","artifacts":[{"artifact_id":"artifact-4","name":"task","parts":[{"kind":"text","bytes":6}],"text":"report"}],"raw":{"artifacts":[{"artifactId":"artifact-4","name":"task","parts":[{"text":"report"}]}],"contextId":"context-1","history":[{"contextId":"context-1","messageId":"[ID]","parts":[{"text":"task report"}],"role":"ROLE_USER","taskId":"task-2"}],"id":"task-2","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:00:00.005Z"}},"sequence":7}}
    "#);
    assert!(
        raw.stdout.contains(
            "{\"above\":9007199254740993,\"u64\":18446744073709551615,\
             \"more\":123456789012345678901234567890,\"neg\":-9007199254740993}"
        ),
        "{raw}"
    );
    assert_eq!((line.code, line.stderr.as_str()), (Some(83), ""), "{line}");
    assert!(
        line.stdout
            .contains("\"kind\":\"send_result\",\"sequence\":0,"),
        "{line}"
    );
    assert_eq!(line.json()["data"]["state"], "input_required");
}

#[test]
fn an_unknown_context_becomes_a_new_one_if_its_id_can_be_one() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());

    insta::assert_snapshot!(sent(&world, &["py", "hi", "--context", "release:7"]), @r"
    exit 0
    ------- stdout -------
    hi
    ------- stderr -------
    note: context release:7 is new
    ");
    insta::assert_snapshot!(sent(&world, &["py", "hi", "--context", "release:7"]), @r"
    exit 0
    ------- stdout -------
    hi
    ");
    insta::assert_snapshot!(sent(&world, &["py", "hi", "--context", "release 7"]), @r"
    exit 66
    ------- stderr -------
    missive: no context is called release 7
    hint: did you mean `release:7`?
    ");
}

#[test]
fn an_answer_that_would_act_on_the_terminal_is_shown_harmless() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    let world = world_with(&peer.url());
    peer.on_send(&Answer::a2a_value(&json!({"message": {
        "messageId": "m", "role": "ROLE_AGENT",
        "parts": [{"text": "ok\u{1b}[2K\u{1b}]52;c;ZXZpbA==\u{7}\u{202e}\u{9b}31m\r$ "}],
    }})));
    insta::assert_snapshot!(sent(&world, &["py", "hi"]), @r"
    exit 0
    ------- stdout -------
    ok\u{1b}[2K\u{1b}]52;c;ZXZpbA==\u{7}\u{202e}\u{9b}31m\r$
    ");

    peer.on_send(&Answer::a2a_value(&json!({"task": {
        "id": "$(touch owned)", "contextId": "c\u{1b}[2J'", "status": {"state": "TASK_STATE_INPUT_REQUIRED"},
    }})));
    insta::assert_snapshot!(sent(&world, &["py", "hi"]), @r#"
    exit 83
    ------- stderr -------
    task $(touch owned) of py needs input
    hint: answer with `missive send py --task '$(touch owned)' --context $'c\x1b[2J\'' "..."`
    "#);
}

#[test]
fn with_v_every_step_on_the_wire_is_told_and_neither_content_nor_secrets() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url()).with_variable("PY_TOKEN", "s3cret-s3cret");
    let secret = [
        "--bearer-token-env",
        "PY_TOKEN",
        "--header",
        "X-Key: k3y-k3y",
    ];

    let first = world.missive(["send", "py", "echo hi", "-v"].into_iter().chain(secret));
    let second = world.missive(["send", "py", "echo hi", "-v"]);
    let all = world.missive(
        ["send", "py", "echo hi", "--trace"]
            .into_iter()
            .chain(secret),
    );

    insta::assert_snapshot!(ids_hidden(&first.to_string()), @r#"
    exit 0
    ------- stdout -------
    hi
    ------- stderr -------
     INFO command{command="send" operation=[ID]}: card is asked for agent=http://127.0.0.1:[PORT] revalidate=false
     INFO command{command="send" operation=[ID]}: request method="GET" to="http://127.0.0.1:[PORT]/.well-known/agent-card.json" bytes=0
     INFO command{command="send" operation=[ID]}: answer status=200 bytes=431
     INFO command{command="send" operation=[ID]}: card fetched interfaces=2
     INFO command{command="send" operation=[ID]}: interface chosen binding="http+json" url=http://127.0.0.1:[PORT]/rest version=1.0 source="card"
     INFO command{command="send" operation=[ID]}: message is sent operation=[ID] message_id=[ID] attempt=1
     INFO command{command="send" operation=[ID]}: request method="POST" to="http://127.0.0.1:[PORT]/rest/message:send" bytes=112
     INFO command{command="send" operation=[ID]}: answer status=200 bytes=105
    "#);
    insta::assert_snapshot!(ids_hidden(&second.to_string()), @r#"
    exit 0
    ------- stdout -------
    hi
    ------- stderr -------
     INFO command{command="send"}: card is known fresh_until="2026-12-01T09:35:00.000000Z"
     INFO command{command="send"}: interface chosen binding="http+json" url=http://127.0.0.1:[PORT]/rest version=1.0 source="card"
     INFO command{command="send" operation=[ID]}: message is sent operation=[ID] message_id=[ID] attempt=1
     INFO command{command="send" operation=[ID]}: request method="POST" to="http://127.0.0.1:[PORT]/rest/message:send" bytes=112
     INFO command{command="send" operation=[ID]}: answer status=200 bytes=105
    "#);
    for run in [&first, &second, &all] {
        for hidden in ["s3cret", "k3y-k3y", "echo"] {
            assert!(!run.stderr.contains(hidden), "{run}");
        }
    }
}

#[test]
fn what_is_sent_in_another_way_than_it_seems_is_said() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    world.file("a.txt", "sunny");

    let by_address = world.missive(["send", "py", "echo hi", "--file", "a.txt"]);

    insta::assert_snapshot!(by_address.stderr, @"note: --file sent the address of the file; --file-bytes sends its content");
    insta::assert_snapshot!(world.missive(["send", "py", ""]), @r"
    exit 64
    ------- stderr -------
    missive: there is nothing to send: the message is empty
    hint: see `missive send --help`
    ");
}

#[test]
fn an_agent_that_names_the_moment_to_come_back_is_quoted_with_it() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    let busy = Answer::status(429).header("retry-after", "Mon, 30 Nov 2026 14:46:07 GMT");
    peer.on("POST", "/rest/message:send", busy);
    let world = world_with(&peer.url());

    let refused = world.missive(["send", "py", "hi"]);

    let hint = "hint: the agent asks to come back at 2026-11-30T14:46:07Z";
    assert!(refused.stderr.contains(hint), "{refused}");
}
