//! `missive stream` and `missive task subscribe`, as people and scripts see them.

use crate::cli_send::world_with;
use crate::{Run, TestWorld};
use missive_fixtures::{Answer, EchoAgent, Gate, Piece, ScriptedPeer, Setup, Step};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::process::Stdio;

fn agent() -> EchoAgent {
    EchoAgent::with(Setup {
        streaming: true,
        ..Setup::default()
    })
}

fn streamed(world: &TestWorld, arguments: &[&str]) -> String {
    let words = ["stream", "py"].iter().chain(arguments).copied();
    world.missive(words).to_string()
}

#[test]
fn people_see_the_text_as_it_comes_and_a_line_per_change_of_the_task() {
    let agent = agent();
    let world = world_with(&agent.url());

    insta::assert_snapshot!(streamed(&world, &["task hello, world"]), @r"
    exit 0
    ------- stdout -------
    hello, world
    ------- stderr -------
    submitted
    working
    completed
    task task-2 of py completed: 7 updates
    ");
    insta::assert_snapshot!(streamed(&world, &["echo hi"]), @r"
    exit 0
    ------- stdout -------
    hi
    ");
    insta::assert_snapshot!(streamed(&world, &["ask"]), @r#"
    exit 83
    ------- stdout -------
    which name?
    ------- stderr -------
    submitted
    working
    input required
    task task-12 of py needs input
    hint: answer with `missive send py --task task-12 --context context-11 "..."`
    "#);
    insta::assert_snapshot!(streamed(&world, &["file"]), @r"
    exit 0
    ------- stdout -------
    output.txt (text/plain, 13 bytes)
    ------- stderr -------
    submitted
    working
    completed
    task task-20 of py completed: 4 updates
    hint: `missive task artifact save task-20 artifact-22` writes it to a file
    ");
    agent.next_stream_is_cut(3, Piece::Reset);
    insta::assert_snapshot!(streamed(&world, &["task hello, world"]), @r"
    exit 0
    ------- stdout -------
    hel
    hello, world
    ------- stderr -------
    submitted
    working
    note: the stream broke while the task went on, and was resumed: the answer of 127.0.0.1:[PORT] broke off
    completed
    task task-28 of py completed: 9 updates, 1 resumption
    ");
}

fn lines(run: &Run) -> Vec<Value> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

#[test]
fn scripts_get_a_line_per_update_and_then_the_result() {
    let agent = agent();
    let world = world_with(&agent.url());

    let run = world.missive(["stream", "py", "task hello", "--ndjson"]);

    let lines = lines(&run);
    let kinds: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["kind"].as_str())
        .collect();
    assert_eq!(kinds[..kinds.len() - 1], ["stream_event"; 6]);
    let texts: String = lines
        .iter()
        .filter_map(|line| line["data"]["text"].as_str())
        .collect();
    assert_eq!(texts, "hellohello");
    let result = lines.last().expect("a result");
    assert_eq!(result["kind"], "stream_result");
    assert_eq!(result["data"]["text"], "hello");
    assert_eq!(result["data"]["updates"], 6);
    assert_eq!(
        lines[0]["data"]["raw"]["status"]["state"],
        "TASK_STATE_SUBMITTED"
    );
    let json = world.missive(["stream", "py", "task hello", "--json"]);
    assert_eq!((json.code, lines_of(&json)), (Some(0), 1), "{json}");
    assert_eq!(json.json()["data"]["state"], "completed");
}

fn lines_of(run: &Run) -> usize {
    run.stdout.lines().count()
}

#[test]
fn a_subscription_shows_what_became_of_a_task_that_was_left_at_work() {
    let agent = agent();
    let world = world_with(&agent.url());
    let sent = world.missive(["send", "py", "slow 5", "--return-immediately"]);
    assert_eq!(sent.code, Some(0), "{sent}");
    let task = agent.tasks()[0]["id"].as_str().expect("an id").to_owned();

    insta::assert_snapshot!(world.missive(["task", "subscribe", &task]).to_string(), @r"
    exit 0
    ------- stdout -------
    slow work
    ------- stderr -------
    working
    completed
    task task-2 of py completed: 5 updates
    ");
    let again = world.missive(["task", "subscribe", &task, "--json"]);

    let data = &again.json()["data"];
    assert_eq!(
        (&data["task"]["state"], &data["end"]),
        (&json!("completed"), &json!("polled"))
    );
    let missing = world.missive(["task", "subscribe", "nobody"]);
    assert_eq!(missing.code, Some(66), "{missing}");
}

#[test]
fn an_interruption_detaches_with_130_or_cancels_the_task() {
    let task = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let mut told = Vec::new();
    for cancel in [false, true] {
        let peer = ScriptedPeer::start();
        peer.card(&json!({"capabilities": {"streaming": true}}));
        let gate = Gate::new("after the first update");
        let steps = [Step::from(task), Step::from(Piece::Gate(gate.clone()))];
        peer.on_stream(&Answer::a2a_stream(steps));
        let canceled = task.replace("WORKING", "CANCELED");
        let canceled = &canceled["{\"task\":".len()..canceled.len() - 1];
        peer.on_cancel("t", &Answer::a2a(canceled));
        let world = world_with(&peer.url());
        let mut words = vec!["stream", "py", "hi", "--ndjson"];
        words.extend(cancel.then_some("--cancel-on-interrupt"));
        let mut command = world.command(words);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("missive starts");
        // The first line is there before the peer goes on.
        let mut first = String::new();
        let mut stdout = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
        std::io::BufRead::read_line(&mut stdout, &mut first).expect("a line");
        let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        kill_process(process.expect("a process"), Signal::INT).expect("a signal");
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut stdout, &mut rest).expect("the result");
        let ended = child.wait().expect("missive ends");
        gate.open();

        let result: Value = serde_json::from_str(rest.trim()).expect("a result");
        let data = &result["data"];
        told.push(format!(
            "{:?} {} {} {} {}",
            ended.code(),
            first.contains("stream_event"),
            data["end"],
            data["state"],
            data["canceled"]
        ));
    }

    insta::assert_snapshot!(told.join("\n"), @r#"
    Some(130) true "detached" "working" null
    Some(130) true "detached" "canceled" "canceled"
    "#);
}

#[test]
fn a_second_interruption_does_not_wait_for_the_cancellation_and_the_task_was_named() {
    let task = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"streaming": true}}));
    let steps = [Step::from(task), Step::from(Piece::Never)];
    peer.on_stream(&Answer::a2a_stream(steps));
    peer.on_cancel("t", &Answer::a2a("").then(Piece::Never));
    let world = world_with(&peer.url());
    let mut command = world.command(["stream", "py", "hi", "--cancel-on-interrupt"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("missive starts");
    let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let process = process.expect("a process");
    let stderr = std::io::BufReader::new(child.stderr.take().expect("a pipe"));
    let mut told = Vec::new();
    for line in std::io::BufRead::lines(stderr) {
        let line = line.expect("a line");
        if line == "working" || line.contains("is asked to stop") {
            kill_process(process, Signal::INT).expect("a signal");
        }
        told.push(line);
    }

    let ended = child.wait().expect("missive ends");

    assert_eq!(ended.code(), Some(130), "{told:?}");
    let named = "note: task t is asked to stop; a second interruption ends this command at once";
    assert!(told.iter().any(|line| line == named), "{told:?}");
}

#[test]
fn a_reader_that_goes_away_ends_a_stream_quietly_and_the_log_says_that_it_was_left() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"streaming": true}}));
    let update = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let gate = Gate::new("after the first update");
    peer.on_stream(&Answer::a2a_stream([
        Step::from(update),
        Step::from(Piece::Gate(gate.clone())),
        Step::from(update),
        Step::from(Piece::Never),
    ]));
    let world = world_with(&peer.url());
    let mut command = world.command(["stream", "py", "hi", "--ndjson"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("missive starts");

    let mut first = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    std::io::BufRead::read_line(&mut stdout, &mut first).expect("a line");
    drop(stdout);
    gate.open();
    let ended = child.wait_with_output().expect("missive ends");

    // The one line is the warning about the clock of tests.
    let told = String::from_utf8_lossy(&ended.stderr).lines().count();
    assert_eq!((ended.status.code(), told), (Some(0), 1));
    let closed = world.missive(["events", "list", "--type", "a2a.stream.closed", "--json"]);
    assert!(closed.stdout.contains("\"detached\""), "{closed}");
}

#[test]
fn an_agent_without_streams_is_asked_and_a_lost_stream_says_how_to_follow_its_task() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    insta::assert_snapshot!(streamed(&world, &["task hello"]), @r"
    exit 0
    ------- stdout -------
    hello
    ------- stderr -------
    completed
    note: the agent's card offers no streams, so the message is sent without one and its task asked for
    task task-2 of py completed: 1 update
    ");
    insta::assert_snapshot!(streamed(&world, &["task hello", "--force"]), @r"
    exit 76
    ------- stderr -------
    missive: the agent answered UNSUPPORTED_OPERATION: SendStreamingMessage is not offered by the card
    hint: `missive send` sends it without a stream; --wait waits for the task
    ");

    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"streaming": true}}));
    let task = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
    peer.on_stream(&Answer::a2a_stream([
        Step::from(task),
        Step::from(Piece::Reset),
    ]));
    let world = world_with(&peer.url());
    world.file(
        "missive.toml",
        "schema_version = \"missive.config.v1\"\n[qos]\nstream_resumes = 0\nretries = 0\n",
    );
    let run = world.missive(["stream", "py", "hi", "--config", "missive.toml"]);
    insta::assert_snapshot!(run.to_string(), @r"
    exit 86
    ------- stderr -------
    working
    missive: the stream ended while the task was working: the answer of 127.0.0.1:[PORT] broke off; then the agent answered HTTP 404: not found
    hint: the task goes on at the agent: `missive task subscribe t` follows it, `missive task wait t` waits for its end, and `missive task cancel t` cancels it
    ");
    let json = world.missive(["stream", "py", "hi", "--config", "missive.toml", "--json"]);
    let data = &json.error()["data"];
    assert_eq!(
        (&data["task_id"], &data["context_id"], &data["state"]),
        (&json!("t"), &json!("c"), &json!("working"))
    );
}

#[test]
fn a_stream_that_broke_before_it_said_anything_is_listed_by_the_doctor() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"streaming": true}}));
    peer.on_stream(&Answer::a2a_stream([Step::from(Piece::Reset)]));
    let world = world_with(&peer.url());

    let run = world.missive(["stream", "py", "hi"]);
    let doctor = world.missive(["doctor"]);

    assert_eq!(run.code, Some(86), "{run}");
    assert!(doctor.stdout.contains("is in doubt"), "{doctor}");
}

#[test]
fn what_a_stream_tells_of_another_task_names_that_task() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"streaming": true}}));
    let status = |task: &str, state: &str| {
        json!({"statusUpdate": {"taskId": task, "contextId": "c", "status": {"state": state}}})
            .to_string()
    };
    peer.on_stream(&Answer::a2a_stream([
        r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#.to_owned(),
        status("o\u{1b}[2J", "TASK_STATE_FAILED"),
        status("o\u{1b}[2J", "TASK_STATE_FAILED"),
        status("t", "TASK_STATE_COMPLETED"),
    ]));
    let world = world_with(&peer.url());

    insta::assert_snapshot!(streamed(&world, &["hi"]), @r"
    exit 0
    ------- stderr -------
    working
    task o [2J: failed
    note: the agent breaks A2A: task_mismatch: an update of another task than the stream's
    completed
    task t of py completed: 4 updates
    ");
}
