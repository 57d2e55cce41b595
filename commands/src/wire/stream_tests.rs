//! Frames of event streams, good, odd and unusable, as both bindings bring them.

use missive_fixtures::wire;

use super::super::sse::{EventStream, Last};
use super::*;

fn meanings(binding: Binding, id: &str, bytes: &[u8]) -> Vec<String> {
    let limits = Limits::default();
    let mut stream = EventStream::default();
    let mut found = Vec::new();
    let mut chunk = bytes;
    while let Some(frame) = stream.next_frame(&mut chunk).unwrap() {
        found.push(frame);
    }
    if let Some(Last::Frame(frame)) = stream.finish() {
        found.push(frame);
    }
    let read = found
        .iter()
        .map(|frame| read_frame(binding, id, frame, &limits));
    read.map(|meaning| match meaning {
        Meaning::Nothing => "nothing".to_owned(),
        Meaning::Malformed(why) => format!("malformed: {why}"),
        Meaning::Error(error) => format!("error: {error}"),
        Meaning::Update(update) => {
            let odd: Vec<String> = update
                .odd
                .as_slice()
                .iter()
                .map(ToString::to_string)
                .collect();
            let state = update.state().map_or("-", |state| state.name());
            let task = update.task_id().unwrap_or("-");
            format!("update of {task}: {state} {}", odd.join(", "))
                .trim()
                .to_owned()
        }
    })
    .collect()
}

fn rest(bytes: &[u8]) -> String {
    meanings(Binding::HttpJson, "", bytes).join("\n")
}

fn rpc(text: &str) -> String {
    meanings(Binding::JsonRpc, "7", text.as_bytes()).join("\n")
}

#[test]
fn the_streams_of_the_field_reports_are_read_whatever_their_line_ends() {
    let both = "update of t: working\nupdate of t: completed";
    for name in ["c046_crlf", "c046_cr"] {
        assert_eq!(rest(wire(&format!("streams/{name}.sse"))), both, "{name}");
    }
    insta::assert_snapshot!(rest(wire("streams/c046_mixed.sse")), @r"
    update of t: working
    update of t: working
    update of t: completed
    ");
    insta::assert_snapshot!(rest(wire("streams/c050_comments_and_empty_events.sse")), @r"
    nothing
    nothing
    nothing
    nothing
    update of t: working
    ");
    insta::assert_snapshot!(rest(wire("streams/c051_multi_line_data.sse")), @"update of t: working");
    insta::assert_snapshot!(rest(wire("streams/c049_bom.sse")), @r"
    update of t: working
    malformed: it is none of task, message, statusUpdate and artifactUpdate
    ");
    insta::assert_snapshot!(rest(wire("streams/c026_old_state_names.sse")), @r"
    update of t: completed unknown_state: `completed` is no task state of A2A 1.0
    update of t: TASK_STATE_CANCELLED unknown_state: `TASK_STATE_CANCELLED` is no task state of A2A 1.0
    update of t: TASK_STATE_PAUSED unknown_state: `TASK_STATE_PAUSED` is no task state of A2A 1.0
    ");
    insta::assert_snapshot!(rest(wire("streams/c055_not_json_in_the_middle.sse")), @r"
    update of t: working
    malformed: not JSON at byte 1: a member name was expected
    update of t: completed
    ");
}

#[test]
fn an_error_is_an_error_in_every_spelling() {
    let status = r#"{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"over","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION"}]}}"#;
    insta::assert_snapshot!([
        rpc("data: {\"jsonrpc\":\"2.0\",\"id\":\"7\",\"error\":{\"code\":-32603,\"message\":\"boom\"}}\n\n"),
        rpc("data: {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"what?\"}}\n\n"),
        rpc("data: {\"error\":{\"code\":-32001,\"message\":\"gone\"}}\n\n"),
        rest(format!("data: {status}\n\n").as_bytes()),
        rest(b"event: error\ndata: upstream gone\n\n"),
        rest(b"event: error\ndata: {\"error\":{\"code\":-32603,\"message\":\"boom\"}}\n\n"),
        rest(b"event: error\ndata:\n\n"),
    ].join("\n"), @r"
    error: the agent answered INTERNAL: boom
    error: the agent answered INVALID_REQUEST: what?
    error: the agent answered TASK_NOT_FOUND: gone
    error: the agent answered UNSUPPORTED_OPERATION: over
    error: the agent answered an error: upstream gone
    error: the agent answered INTERNAL: boom
    error: the agent answered an error
    ");
}

#[test]
fn what_is_no_update_is_told_apart_and_a_foreign_event_is_left_alone() {
    let task = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
    insta::assert_snapshot!([
        rpc(&format!("data: {{\"jsonrpc\":\"2.0\",\"id\":\"8\",\"result\":{task}}}\n\n")),
        rpc("data: {\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":null}\n\n"),
        rpc("data: {\"x\":1}\n\n"),
        rpc(&format!("data: {task}\n\n")),
        rest(format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{task}}}\n\n").as_bytes()),
        rest(b"data: [DONE]\n\n"),
        rest(b"data: \xff\n\n"),
        rest(b"event: heartbeat\ndata: {\"at\":1}\n\n"),
        rest(format!("event: task\ndata: {task}\n\n").as_bytes()),
        rest(format!("event: message\ndata: {task}\n\n").as_bytes()),
    ].join("\n"), @r"
    malformed: its JSON-RPC id is not the one that was sent
    malformed: it is none of task, message, statusUpdate and artifactUpdate
    malformed: it is no JSON-RPC envelope
    update of t: working envelope: an update of JSON-RPC has no envelope
    update of t: working envelope: an update of HTTP+JSON has a JSON-RPC envelope
    malformed: not JSON at byte 1: a value was expected
    malformed: not UTF-8 at byte 6 of the event stream
    nothing
    update of t: working
    update of t: working
    ");
}
