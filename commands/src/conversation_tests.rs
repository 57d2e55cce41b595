//! Conversations, read from events that say little and payloads that say all.

use missive_log::event::facts::{
    BareUrl, Binding, ChunkFacts, InterfaceSource, Shape, StatusFacts, TaskState, Version,
};
use missive_log::event::kind::{
    ContextClosed, SendRequested, SendResponded, StreamArtifactUpdate, StreamStatusUpdate,
};
use missive_log::event::{
    ArtifactId, ContextId, EventId, InstanceId, Links, MessageId, Seq, Subject, TaskId, Timestamp,
};

use super::*;

fn event(seq: u64, kind: EventKind) -> Event {
    Event {
        seq: Seq(seq),
        prev: Seq::ZERO,
        at: Timestamp::from_micros(1_796_083_200_000_000),
        host: None,
        id: EventId([1; 16]),
        subject: Some(Subject::Log),
        operation: None,
        cause: None,
        origin: None,
        actor: None,
        links: Links {
            agent: Alias::new("ada").ok(),
            context: ContextId::new("c").ok(),
            task: None,
            group: None,
        },
        trace: None,
        kind,
        payloads: Vec::new(),
    }
}

fn bytes(text: &str) -> Opened {
    Opened::Bytes(text.as_bytes().to_vec(), 0)
}

fn asked(seq: u64) -> Event {
    let kind = EventKind::SendRequested(SendRequested {
        instance: InstanceId([1; 8]),
        message: MessageId::new("m").unwrap(),
        binding: Binding::HttpJson,
        url: BareUrl::new("http://ada.test").unwrap(),
        source: InterfaceSource::Card,
        version: Version::new("1.0").unwrap(),
        tenant: None,
        parts: 1,
        attempt: 1,
    });
    event(seq, kind)
}

fn answered(seq: u64) -> Event {
    let kind = EventKind::SendResponded(SendResponded {
        status: 200,
        shape: Shape::Task,
        message: None,
        task: None,
        violations: Vec::new(),
    });
    event(seq, kind)
}

fn piece(seq: u64, append: bool) -> Event {
    let chunk = ChunkFacts {
        task: TaskId::new("t").unwrap(),
        context: None,
        artifact: ArtifactId::new("a").unwrap(),
        parts: 1,
        append,
        last: false,
    };
    let kind = EventKind::StreamArtifactUpdate(StreamArtifactUpdate {
        update: seq,
        chunk,
        violations: Vec::new(),
    });
    event(seq, kind)
}

fn chunk(text: &str, append: bool) -> Opened {
    bytes(&format!(
        r#"{{"artifactUpdate":{{"taskId":"t","append":{append},"artifact":{{"artifactId":"a","name":"out","parts":[{{"text":"{text}"}}]}}}}}}"#
    ))
}

/// Side, kind, state and text of each turn.
fn lines(turns: &[Turn]) -> Vec<String> {
    let line = |turn: &Turn| {
        let state = turn.state.unwrap_or_default();
        let line = format!("{:?} {} {state} {}", turn.side, turn.kind, turn.text);
        format!("{} {line}", turn.sequence)
    };
    turns.iter().map(line).collect()
}

#[test]
fn both_sides_are_read_in_order_and_a_repeated_task_says_only_what_is_new() {
    let request = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"go"}]}}"#;
    let task = |state: &str, artifacts: &str| {
        bytes(&format!(
            r#"{{"task":{{"id":"t","status":{{"state":"{state}","message":{{"messageId":"s","role":"ROLE_AGENT","parts":[{{"text":"one moment"}}]}}}},"artifacts":[{artifacts}]}}}}"#
        ))
    };
    let done = r#"{"artifactId":"a","parts":[{"text":"done"}]}"#;
    let mut conversation = Conversation::default();

    let mut turns = conversation.take(&asked(1), &bytes(request));
    turns.extend(conversation.take(&answered(2), &task("TASK_STATE_WORKING", "")));
    turns.extend(conversation.take(&answered(3), &task("TASK_STATE_WORKING", "")));
    turns.extend(conversation.take(&answered(4), &task("TASK_STATE_COMPLETED", done)));
    turns.extend(conversation.take(&answered(5), &task("TASK_STATE_COMPLETED", done)));
    turns.extend(conversation.end());

    assert_eq!(
        lines(&turns),
        [
            "1 Sent message  go",
            "2 Received status working one moment",
            "4 Received artifact  done",
            "4 Received status completed one moment",
        ]
    );
}

#[test]
fn pieces_of_an_artifact_are_one_turn_until_something_else_is_said() {
    let status = StatusFacts {
        task: TaskId::new("t").unwrap(),
        context: None,
        state: TaskState::Completed,
        state_at: None,
        message: None,
    };
    let ended = EventKind::StreamStatusUpdate(StreamStatusUpdate {
        update: 4,
        status,
        violations: Vec::new(),
    });
    let completed = r#"{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED","message":null}}}"#;
    let mut conversation = Conversation::default();

    let mut turns = conversation.take(&piece(1, false), &chunk("Hel", false));
    turns.extend(conversation.take(&piece(2, true), &chunk("lo", true)));
    assert_eq!(turns, []);
    turns.extend(conversation.take(&event(4, ended), &bytes(completed)));
    turns.extend(conversation.take(&piece(5, false), &chunk("again", false)));
    turns.extend(conversation.end());

    assert_eq!(
        lines(&turns),
        [
            "1 Received artifact  Hello",
            "4 Received status completed ",
            "5 Received artifact  again",
        ]
    );
    assert_eq!(turns[0].artifact.as_ref().unwrap().parts, 2);
}

#[test]
fn what_was_erased_or_redacted_is_said_to_be() {
    let mut conversation = Conversation::default();
    let closed = event(3, EventKind::ContextClosed(ContextClosed {}));
    let request = br#"{"message":{"messageId":"m","parts":[{"text":"[redacted:1]"}]}}"#;

    let mut turns = conversation.take(&asked(1), &Opened::Erased);
    turns.extend(conversation.take(&asked(2), &Opened::Bytes(request.to_vec(), 1)));
    turns.extend(conversation.take(&closed, &bytes("all is said")));

    let withheld: Vec<_> = turns.iter().map(|turn| turn.withheld).collect();
    assert_eq!(withheld, [Some("erased"), Some("redacted"), None]);
    assert_eq!(turns[2].text, "context closed: all is said");
}
