//! `missive send` against agents on the loopback: what people see, and how it ends.

use crate::{TestWorld, ids_hidden};
use missive_fixtures::{Answer, EchoAgent, Gate, ScriptedPeer, Setup, refused_url, wire};
use serde_json::json;
use std::process::Stdio;

/// A home in which `py` is registered.
fn world_with(url: &str) -> TestWorld {
    let world = TestWorld::new();
    assert_eq!(world.missive(["agent", "add", "py", url]).code, Some(0));
    world
}

/// What a person sees, without the identifiers that differ from run to run.
fn sent(world: &TestWorld, arguments: &[&str]) -> String {
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
    hint: the task goes on at the agent; `missive task get task-24` shows what the log knows of it
    ");
    insta::assert_snapshot!(sent(&world, &["py", "file"]), @r"
    exit 0
    ------- stderr -------
    the answer has no text, but 1 other part; --json shows all of it
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
    caused by: error sending request
    caused by: client error (Connect)
    caused by: tcp connect error
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
    hint: check the address; an agent without a card is registered with --interface BINDING=URL, or spoken to with --binding
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
    ");
    peer.on_send(&Answer::html());
    insta::assert_snapshot!(sent(&world, &["py", "hi"]), @r"
    exit 76
    ------- stderr -------
    missive: the agent's answer is unusable: it is a web page
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
    hint: the id of a new context has 1 to 256 of the characters A-Z, a-z, 0-9, `.`, `_`, `:` and `-`
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
    hint: answer with `missive send py --task '$(touch owned)' --context 'c\u{1b}[2J'\''' "..."`
    the answer has no text; --json shows all of it
    "#);
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
        vec!["send", "nobody", "hi", "--json"],
        vec!["send", "gone", "hi", "--json"],
        vec!["send", "py", "--json"],
        vec!["send", "py", "hi", "--task", "x", "--json"],
        vec!["send", "py", "--json-part", "{", "--json"],
        vec![
            "send",
            "py",
            "hi",
            "--bearer-token-env",
            "NOT_SET",
            "--json",
        ],
        vec!["agent", "add", "py", "http://127.0.0.1:9", "--json"],
    ] {
        let run = world.missive(line);
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

#[test]
fn an_interrupted_message_is_in_doubt_and_the_way_on_is_named() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    let gate = Gate::new("before the answer");
    agent.next_send_waits(&gate);
    let child = world
        .command(["send", "py", "echo hi"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();

    gate.wait_arrived();
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let run = world.ended(child);
    gate.open();

    insta::assert_snapshot!(ids_hidden(&run.to_string()), @r"
    exit 130
    ------- stderr -------
    missive: interrupted; it is not known whether the message arrived
    hint: `missive retry [ID]` asks the agent what became of it
    hint: `missive doctor` lists everything that is in doubt
    ");
}

#[test]
fn no_secret_is_in_any_file_or_on_any_stream() {
    let agent = EchoAgent::with(Setup {
        bearer: Some("s3cret-of-the-reference".to_owned()),
        ..Setup::default()
    });
    let world = TestWorld::new()
        .with_variable("CRM_TOKEN", "s3cret-of-the-reference")
        .with_variable("PY_TOKEN", "s3cret-of-the-flag");
    let config = format!(
        "schema_version = \"missive.config.v1\"\n[auth_refs.crm]\nkind = \"env\"\nenv = \"CRM_TOKEN\"\n\
         [agents.crm]\nurl = \"{}\"\nauth_ref = \"crm\"\n",
        agent.url()
    );
    world.file("c.toml", &config);
    // An agent that says back what it was sent.
    let echoing = Answer::by(|seen| {
        let given =
            [seen.header("authorization"), seen.header("x-api-key")].map(Option::unwrap_or_default);
        Answer::json(
            401,
            &json!({"error": format!("no, {}", given.join(" and "))}),
        )
    });
    let url = agent.url();
    let with_password = url.replace("http://", "http://me:s3cret-of-the-url@");
    let with_query = format!("{url}/?api_key=s3cret-of-the-query");
    let mut shown = String::new();

    for line in [
        vec![
            "send",
            "crm",
            "echo findable-words",
            "--config",
            "c.toml",
            "--trace",
        ],
        vec![
            "send",
            "crm",
            "hi",
            "--config",
            "c.toml",
            "--header",
            "X-Api-Key: s3cret-of-a-header",
            "-vv",
        ],
        vec![
            "send",
            &url,
            "hi",
            "--bearer-token-env",
            "PY_TOKEN",
            "--json",
        ],
        vec![
            "send",
            &url,
            "hi",
            "--header",
            "Authorization: Basic s3cret-of-a-header",
        ],
        vec!["send", &with_password, "hi"],
        vec!["agent", "add", "pw", &with_password],
        vec!["agent", "add", "query", &with_query, "--json"],
    ] {
        agent
            .peer()
            .once("POST", "/rest/message:send", echoing.clone());
        shown.push_str(&world.missive(line.clone()).to_string());
        shown.push_str(&world.missive(line).to_string());
    }

    assert!(!shown.contains("s3cret"), "{shown}");
    let files = files_below(&world.missive_home());
    assert!(
        files
            .iter()
            .any(|(_, bytes)| holds(bytes, "findable-words"))
    );
    for (path, bytes) in files {
        assert!(!holds(&bytes, "s3cret"), "{path}");
    }
}

fn holds(bytes: &[u8], words: &str) -> bool {
    bytes
        .windows(words.len())
        .any(|window| window == words.as_bytes())
}

/// Every file with its content; all of them are their owner's alone.
fn files_below(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt as _;

    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    found
}
