//! The rules of artifacts, snapshots and messages, on streams of the field reports.

use missive_fixtures::wire;

use super::*;
use crate::wire::json::Limits;
use crate::wire::sse::EventStream;
use crate::wire::stream::{Meaning, read_frame};
use crate::wire::version::Binding;

/// The picture after a stream, and what was wrong with its updates.
fn seen(bytes: &[u8]) -> (Picture, Vec<String>) {
    let mut picture = Picture::default();
    let mut stream = EventStream::default();
    let mut odd = Vec::new();
    let mut chunk = bytes;
    while let Some(frame) = stream.next_frame(&mut chunk).unwrap() {
        match read_frame(Binding::HttpJson, "", &frame, &Limits::default()) {
            Meaning::Update(mut update) => {
                let event = picture.take(&mut update);
                odd.extend(event.violations);
            }
            Meaning::Nothing | Meaning::Malformed(_) | Meaning::Error(_) => {}
        }
    }
    (picture, odd)
}

fn streamed(name: &str) -> (Picture, Vec<String>) {
    seen(wire(&format!("streams/{name}.sse")))
}

#[test]
fn pieces_are_appended_replaced_and_begun_without_losing_any() {
    let (picture, odd) = streamed("c067_append_rules");

    let report = picture.report();
    let artifacts: Vec<_> = report
        .artifacts
        .iter()
        .map(|artifact| (artifact.artifact_id.as_deref().unwrap(), &*artifact.text))
        .collect();
    assert_eq!(artifacts, [("a1", "again"), ("b1", "x")]);
    assert_eq!(
        odd,
        ["append_without_base: a piece is appended to an artifact that was never begun"]
    );
}

#[test]
fn a_text_that_comes_in_pieces_has_nothing_between_them() {
    let piece = |text: &str, append: bool| {
        format!(
            "data: {{\"artifactUpdate\":{{\"taskId\":\"t\",\"contextId\":\"c\",\"append\":{append},\
             \"artifact\":{{\"artifactId\":\"a\",\"parts\":[{{\"text\":\"{text}\"}}]}}}}}}\n\n"
        )
    };
    let stream = [piece("Hel", false), piece("lo", true)].concat();

    let (picture, odd) = seen(stream.as_bytes());

    assert_eq!(picture.report().text, "Hello");
    assert_eq!(odd, Vec::<String>::new());
}

#[test]
fn a_snapshot_replaces_what_was_put_together() {
    let task = "data: {\"task\":{\"id\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"TASK_STATE_WORKING\"},\
                \"artifacts\":[{\"artifactId\":\"a\",\"parts\":[{\"text\":\"whole\"}]}]}}\n\n";
    let before = String::from_utf8_lossy(wire("streams/c053_ends_while_working.sse")).into_owned();

    let (picture, _) = seen(format!("{before}{task}").as_bytes());

    let report = picture.report();
    assert_eq!(
        (report.text.as_str(), report.state),
        ("whole", Some("working"))
    );
    assert_eq!(report.artifacts.len(), 1);
}

#[test]
fn messages_in_a_task_stream_and_a_null_status_message_lose_nothing() {
    let (picture, odd) = streamed("c065_message_inside_task");
    let report = picture.report();
    assert_eq!(
        (report.text.as_str(), report.state),
        ("hi", Some("completed"))
    );
    assert!(
        odd.iter().any(|odd| odd.starts_with("unexpected_message")),
        "{odd:?}"
    );

    let (picture, _) = streamed("c066_null_status_message");
    let report = picture.report();
    assert_eq!(
        (report.text.as_str(), report.state),
        ("text", Some("completed"))
    );

    let message = |id: &str, text: &str| {
        format!(
            "data: {{\"message\":{{\"messageId\":\"{id}\",\"role\":\"ROLE_AGENT\",\"parts\":[{{\"text\":\"{text}\"}}]}}}}\n\n"
        )
    };
    let (picture, odd) = seen(
        [message("1", "one"), message("2", "two")]
            .concat()
            .as_bytes(),
    );
    assert_eq!(picture.report().text, "one\ntwo");
    assert!(picture.is_message() && odd.len() == 1, "{odd:?}");
}

#[test]
fn an_update_of_another_task_changes_nothing_and_is_flagged() {
    let stream = "data: {\"task\":{\"id\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"TASK_STATE_WORKING\"}}}\n\n\
                  data: {\"statusUpdate\":{\"taskId\":\"other\",\"contextId\":\"c\",\"status\":{\"state\":\"TASK_STATE_COMPLETED\"}}}\n\n";

    let (picture, odd) = seen(stream.as_bytes());

    assert_eq!(picture.report().state, Some("working"));
    assert_eq!(
        odd,
        ["task_mismatch: an update of another task than the stream's"]
    );
}

#[test]
fn the_first_end_of_a_task_counts_and_what_comes_after_it_is_flagged() {
    let status = |state: &str| {
        format!(
            "data: {{\"statusUpdate\":{{\"taskId\":\"t\",\"contextId\":\"c\",\"status\":{{\"state\":\
             \"TASK_STATE_{state}\"}}}}}}\n\n"
        )
    };
    let stream = [status("COMPLETED"), status("WORKING"), status("FAILED")].concat();

    let (picture, odd) = seen(stream.as_bytes());

    assert_eq!(picture.state(), Some(State::Completed));
    assert_eq!(odd.len(), 2, "{odd:?}");
}

#[test]
fn of_messages_without_end_only_some_are_held_also_if_they_are_empty() {
    let message =
        "data: {\"message\":{\"messageId\":\"m\",\"role\":\"ROLE_AGENT\",\"parts\":[]}}\n\n";

    let (picture, _) = seen(message.repeat(PARTS_MAX + 10).as_bytes());

    assert_eq!(picture.messages.len(), PARTS_MAX);
    assert!(picture.text_cut);
}
