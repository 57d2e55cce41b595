//! What others ran into in the field, as a person sees it. `docs/field-reports.md` lists all.

use crate::cli_send::{sent, world_with};
use crate::state_folders::mounted;
use crate::{TestWorld, ids_hidden};
use missive_fixtures::{Answer, EchoAgent, ScriptedPeer, wire};
use serde_json::json;

const WELL_KNOWN: &str = "/.well-known/agent-card.json";

#[test]
fn the_doctor_tells_of_cards_in_the_wrong_place_and_of_defects() {
    let old = ScriptedPeer::start();
    old.card_at("/.well-known/agent.json", &json!({}));
    let defective = ScriptedPeer::start();
    let entry = |binding: &str| json!({"url": defective.url(), "protocolBinding": binding});
    let mut card = defective.card_value();
    let good = card["supportedInterfaces"][0].clone();
    card["supportedInterfaces"] = json!([entry("JSONRPC"), entry("jsonrpc"), good]);
    defective.on("GET", WELL_KNOWN, Answer::text(200, &card.to_string()));
    let world = TestWorld::new();
    world.missive(["agent", "add", "old", &old.url()]);
    world.missive(["agent", "add", "odd", &defective.url()]);
    world.missive(["agent", "refresh", "old"]);

    let refreshed = world.missive(["agent", "refresh", "odd"]);
    let doctor = world.missive(["doctor"]);

    insta::assert_snapshot!(refreshed.stderr, @r"
    note: the agent's card is defective: content_type: the card is not sent as JSON
    note: the agent's card is defective: interface 1: the entry has no protocolVersion
    note: the agent's card is defective: interface 2: `jsonrpc` is no binding name; `JSONRPC` is probably meant
    ");
    let agents: Vec<&str> = doctor
        .stdout
        .lines()
        .skip_while(|line| !line.contains("agent odd"))
        .filter(|line| !line.contains("endpoint"))
        .collect();
    insta::assert_snapshot!(agents.join("\n"), @r"
    warn  agent odd      its card is 0 s old, fresh, came in 1 ms, with 3 defects, such as content_type: the card is not sent as JSON
                         hint: missive agent inspect odd
    warn  agent old      its card is 0 s old, fresh, came in 1 ms, found at the legacy path agent.json
                         hint: its owner should publish it at .well-known/agent-card.json, where A2A 1.0 looks for it
    pass  operations     none in doubt
    ");
    assert_eq!(doctor.code, Some(0), "{doctor}");
}

#[test]
fn a_state_in_an_old_spelling_is_shown_as_what_it_is() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    peer.on_send(&Answer::a2a_value(&json!({"task": {
        "id": "t", "contextId": "c", "status": {"state": "failed"},
    }})));
    let world = world_with(&peer.url());

    insta::assert_snapshot!(sent(&world, &["py", "hi"]), @r"
    exit 0
    ------- stderr -------
    note: the agent breaks A2A: unknown_state: `failed` is no task state of A2A 1.0
    task t of py is in the unrecognized state `failed`
    hint: the task goes on at the agent: `missive task subscribe t` follows it, `missive task wait t` waits for its end, and `missive task cancel t` cancels it
    ");
}

#[test]
fn what_is_too_large_is_told_with_what_to_do() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    peer.on_send(&Answer::text(413, "too large"));
    let world = world_with(&peer.url());
    let big = "x".repeat(26 << 20);
    world.file("big.bin", &big);
    let huge = std::fs::File::create(world.folder().join("huge.bin")).unwrap();
    huge.set_len(64 << 20).unwrap();

    let there = sent(&world, &["py", "hi", "--message-id", "m-1"]);
    let here = sent(&world, &["py", "--file-bytes", "big.bin"]);

    let huge = sent(&world, &["py", "--file-bytes", "huge.bin"]);

    insta::assert_snapshot!(there, @r"
    exit 69
    ------- stderr -------
    missive: the message of 74 bytes is too large for the agent: the agent answered HTTP 413: too large
    hint: a file given with --file-bytes travels in the message and grows by a third: send a reference with --file, or ask for a higher limit at the agent
    ");
    insta::assert_snapshot!(here, @r"
    exit 65
    ------- stderr -------
    missive: the request of 36350761 bytes is larger than the 33554432 allowed
    hint: raise `max_request_bytes` in [qos], or send a reference with --file
    ");
    insta::assert_snapshot!(huge, @r"
    exit 65
    ------- stderr -------
    missive: with huge.bin the message is longer than 33554432 bytes
    hint: raise `max_request_bytes` in [qos], or send a reference with --file
    ");
}

#[test]
fn a_card_behind_a_login_is_told_with_what_it_asks_for() {
    let peer = ScriptedPeer::start();
    let challenge = "Bearer realm=\"cards\"";
    peer.on("GET", WELL_KNOWN, Answer::unauthorized(challenge));
    let world = world_with(&peer.url());

    insta::assert_snapshot!(sent(&world, &["py", "hi"]), @r#"
    exit 77
    ------- stderr -------
    missive: no card from http://127.0.0.1:[PORT]/.well-known/agent-card.json: the agent answered unauthenticated (HTTP 401): unauthorized
    hint: the agent asks for `Bearer realm="cards"`
    hint: give credentials with --bearer-token-env ENV, with --header 'Name: value', or with an [auth_refs] entry and `missive agent add --auth-ref NAME`
    hint: a card that you have in a file is taken with `missive agent add ALIAS URL --card-file FILE`
    "#);
}

#[test]
fn a_retry_for_an_agent_that_does_not_answer_sends_nothing_and_says_why() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    agent.next_send_answers(Answer::close());
    let run = world.missive(["send", "py", "echo hi", "--json"]);
    let operation = run.error()["data"]["operation_id"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    agent.peer().on("GET", "/rest/tasks", Answer::unavailable());

    let retried = world.missive(["retry", &operation, "--resend"]);

    insta::assert_snapshot!(ids_hidden(&retried.to_string()), @r"
    exit 86
    ------- stderr -------
    missive: nothing was sent again, since the agent cannot be asked whether it has the message of operation [ID]: the agent answered HTTP 503 with a web page
    hint: run `missive retry [ID]` again when the agent answers: nothing is sent again before it was asked
    hint: if the agent is gone for good the doubt stays on the record, and `missive doctor` keeps listing it
    ");
    assert_eq!(agent.messages().len(), 1);
}

#[test]
fn a_message_that_cannot_be_recorded_is_not_sent() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    assert_eq!(world.missive(["send", "py", "echo hi"]).code, Some(0));
    let script = r#"
        cp -a "$MISSIVE_HOME" whole
        mount -t tmpfs -o size=16m,mode=700 tmpfs "$MISSIVE_HOME"
        cp -a whole/. "$MISSIVE_HOME"
        dd if=/dev/zero of="$MISSIVE_HOME/filler" bs=4k 2> /dev/null
        head -c 1000000 /dev/urandom | base64 -w 0 > text
        "$MISSIVE" send py --stdin < text > /dev/null 2>&1
        echo "exit $?"
        exit 0
    "#;

    let Some(shown) = mounted(&world, script) else {
        return;
    };

    insta::assert_snapshot!(shown, @r"
    exit 0
    ------- stdout -------
    exit 74
    ");
    assert_eq!(agent.messages().len(), 1);
}

#[test]
fn under_strict_a_stream_that_breaks_a2a_and_goes_on_ends_with_76() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"streaming": true}}));
    let rubbish = wire("streams/c055_not_json_in_the_middle.sse");
    peer.on_stream(&Answer::event_stream(rubbish));
    let world = world_with(&peer.url());
    let stream = |flags: &[&str]| {
        let words = ["stream", "py", "hi"].iter().chain(flags).copied();
        world.missive(words)
    };

    let lenient = stream(&[]);
    let strict = stream(&["--strict"]);
    let machine = stream(&["--strict", "--json"]);
    peer.on_stream(&Answer::event_stream(well_behaved()));
    let good = stream(&["--strict"]);

    assert_eq!((lenient.code, good.code), (Some(0), Some(0)));
    assert_eq!((strict.code, machine.code), (Some(76), Some(76)));
    assert_eq!(machine.json()["ok"], true);
    assert_eq!(machine.json()["data"]["malformed"], 1);
    insta::assert_snapshot!(format!("{}\n{}", strict.stderr, machine.stderr), @r"
    working
    note: the agent breaks A2A: an event of the stream is no update: not JSON at byte 1: a member name was expected
    completed
    task t of py completed: 2 updates
    missive: warning: the agent broke A2A once, which --strict does not pass over

    missive: warning: the agent broke A2A once, which --strict does not pass over
    ");
}

/// The stream of that report without the rubbish.
fn well_behaved() -> Vec<u8> {
    let text =
        String::from_utf8_lossy(wire("streams/c055_not_json_in_the_middle.sse")).into_owned();
    let frames = text.split_inclusive("\n\n");
    let good = frames.filter(|frame| !frame.contains("not json"));
    good.collect::<String>().into_bytes()
}

#[test]
fn updates_that_a_proxy_held_back_are_told_by_the_stream_and_by_the_doctor() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"streaming": true}}));
    let update = |second: u8, state: &str| {
        let at = format!("2026-12-01T09:29:{second:02}Z");
        let status = json!({"state": state, "timestamp": at});
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status}})
    };
    let updates = [
        update(10, "TASK_STATE_SUBMITTED"),
        update(20, "TASK_STATE_WORKING"),
        update(30, "TASK_STATE_COMPLETED"),
    ];
    // All of them in one piece, as a proxy does that waits for the end.
    let burst = updates.map(|update| format!("data: {update}\n\n")).concat();
    peer.on_stream(&Answer::event_stream(burst));
    let world = world_with(&peer.url());

    let streamed = world.missive(["stream", "py", "hi"]);
    let doctor = world.missive(["doctor"]);

    assert_eq!((streamed.code, doctor.code), (Some(0), Some(0)));
    let told = |text: &str| {
        let lines = text
            .lines()
            .skip_while(|line| !line.contains("hold them back"));
        lines.take(2).map(str::trim).collect::<Vec<_>>().join("\n")
    };
    let both = format!("{}\n{}", told(&streamed.stderr), told(&doctor.stdout));
    insta::assert_snapshot!(both, @r"
    note: updates came up to 19.9 s later than the agent made them: a proxy on the way seems to hold them back
    warn  agent py       its card is 0 s old, fresh, came in 1 ms; the first update of its newest stream in 1 ms; updates came up to 19.9 s later than the agent made them: a proxy on the way seems to hold them back
    hint: a proxy passes events on at once if it is told to (nginx: `proxy_buffering off`), or if the agent answers with `X-Accel-Buffering: no`
    ");
}
