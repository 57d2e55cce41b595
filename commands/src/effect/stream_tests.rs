//! Streams as the outside brings them, whole and broken.

use std::time::Duration;

use missive_fixtures::{Answer as Scripted, Gate, Piece, ScriptedPeer, Step};

use super::super::http::Settings;
use super::*;
use crate::wire::message::{Part, SendMessage};
use crate::wire::negotiate::{Choice, Source};
use crate::wire::request::{Extras, build};
use crate::wire::sse::SseLimits;
use crate::wire::version::Version;

const TASK: &str = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
const DONE: &str =
    r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

async fn opened(peer: &ScriptedPeer, settings: Settings) -> Opened {
    let choice = Choice {
        binding: Binding::HttpJson,
        url: format!("{}/rest", peer.url()),
        protocol_version: Version { major: 1, minor: 0 },
        tenant: None,
        source: Source::Card,
        reason: String::new(),
        foreign_host: false,
    };
    let operation = Operation::SendStreamingMessage(SendMessage {
        message_id: "m".to_owned(),
        parts: vec![Part::text("hi")],
        ..SendMessage::default()
    });
    let request = build(&choice, &operation, &Extras::default(), "1").unwrap();
    let caller = HttpCaller::new(settings);
    let sent = Sent::default();
    open(
        &caller,
        choice.binding,
        &operation,
        &request,
        "1",
        None,
        &sent,
    )
    .await
}

/// Everything that comes, in words.
async fn story(answer: Scripted, settings: Settings) -> String {
    let peer = ScriptedPeer::start();
    peer.on_stream(&answer);
    let mut incoming = match opened(&peer, settings).await {
        Opened::Stream(incoming) => incoming,
        Opened::Plain { call, meaning } => {
            let meant = match *meaning {
                Ok(reading) => format!("answer {:?}", reading.raw),
                Err(error) => format!("{error}"),
            };
            let cause = match &call.reach {
                Reach::Answered(_) => String::new(),
                Reach::NotSent(error)
                | Reach::NothingBack(error)
                | Reach::Partial { error, .. } => {
                    format!(": {:?}", error.kind)
                }
            };
            return format!("plain: {meant}{cause}");
        }
    };
    let mut told = Vec::new();
    loop {
        let word = match incoming.next().await {
            Next::Frame(frame) => {
                told.push(format!("frame of {}", frame.raw().len()));
                continue;
            }
            Next::End(rest) => format!("end +{}", rest.map_or(0, |rest| rest.raw.len())),
            Next::Cut(error) => format!("cut {:?}", error.kind),
            Next::TooLarge(error) => format!("{error}"),
        };
        told.push(word);
        return told.join(", ");
    }
}

fn quick() -> Settings {
    Settings {
        idle: Some(Duration::from_millis(150)),
        ..Settings::default()
    }
}

fn gzipped(text: &[u8]) -> Vec<u8> {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

#[tokio::test]
async fn a_stream_is_told_frame_by_frame_with_its_end() {
    let both = format!("data: {TASK}\n\ndata: {DONE}\n\n");
    let stream = |body: Vec<u8>| Scripted::event_stream(body);
    let cut = |by: Piece| Scripted::a2a_stream([Step::from(TASK), Step::from(by)]);
    let small = || Settings {
        stream: SseLimits {
            line_bytes_max: 90,
            event_bytes_max: 90,
        },
        ..Settings::default()
    };

    let stories = [
        story(Scripted::a2a_stream([TASK, DONE]), quick()).await,
        story(
            stream(both.clone().into()).slow_drip(Duration::ZERO),
            quick(),
        )
        .await,
        story(
            stream(both.clone().into()).without_header("content-type"),
            quick(),
        )
        .await,
        story(
            stream(gzipped(both.as_bytes())).header("content-encoding", "gzip"),
            quick(),
        )
        .await,
        story(
            stream(both.clone().into()).header("content-encoding", "gzip"),
            quick(),
        )
        .await,
        story(
            stream(both.into()).header("content-encoding", "br"),
            quick(),
        )
        .await,
        story(stream(format!("data: {TASK}\n\ndata: {{").into()), quick()).await,
        story(cut(Piece::Close), quick()).await,
        story(cut(Piece::Reset), quick()).await,
        story(cut(Piece::Never), quick()).await,
        story(Scripted::a2a_stream([TASK, DONE]), small()).await,
    ];

    insta::assert_snapshot!(stories.join("\n"), @r"
    frame of 83, frame of 97, end +0
    frame of 83, frame of 97, end +0
    frame of 83, frame of 97, end +0
    frame of 83, frame of 97, end +0
    cut BadHttp
    plain: the agent's answer is unusable: its body is compressed, which was not asked for
    frame of 83, end +7
    frame of 83, cut AnswerCut
    frame of 83, cut AnswerCut
    frame of 83, cut IdleTimeout
    frame of 83, the line at byte 83 of the event stream is longer than the 90 bytes allowed
    ");
}

#[tokio::test]
async fn what_is_no_stream_is_read_as_what_it_is() {
    let ndjson = format!("{TASK}\n{DONE}\n");
    let json = |text: &str| Scripted::bytes(200, "application/a2a+json", text);

    let stories = [
        story(json(TASK), quick()).await,
        story(
            json(r#"{"error":{"code":-32004,"message":"no streaming"}}"#),
            quick(),
        )
        .await,
        story(Scripted::a2a_error("unsupported_operation"), quick()).await,
        story(
            Scripted::bytes(200, "application/x-ndjson", ndjson),
            quick(),
        )
        .await,
        story(Scripted::html(), quick()).await,
        story(Scripted::unavailable(), quick()).await,
        story(Scripted::close(), quick()).await,
    ];

    insta::assert_snapshot!(stories.join("\n"), @r#"
    plain: answer "{\"id\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"TASK_STATE_WORKING\"}}"
    plain: the agent answered UNSUPPORTED_OPERATION: no streaming
    plain: the agent answered UNSUPPORTED_OPERATION: unsupported operation
    plain: the agent's answer is unusable: it is no usable JSON
    plain: the agent's answer is unusable: it is a web page
    plain: the agent answered HTTP 503 with a web page
    plain: whether the message arrived is not known: ConnectionLost
    "#);
}

#[tokio::test]
async fn a_frame_is_there_before_the_next_one_is_sent_and_a_dropped_wait_loses_nothing() {
    let peer = ScriptedPeer::start();
    let gate = Gate::new("between two updates");
    let steps = [
        Step::from(TASK),
        Step::from(Piece::Gate(gate.clone())),
        Step::from(DONE),
    ];
    peer.on_stream(&Scripted::a2a_stream(steps));
    let Opened::Stream(mut incoming) = opened(&peer, Settings::default()).await else {
        panic!("a stream")
    };

    assert!(matches!(incoming.next().await, Next::Frame(_)));
    for _ in 0..3 {
        tokio::select! {
            biased;
            next = incoming.next() => panic!("{next:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    gate.open();

    assert!(matches!(incoming.next().await, Next::Frame(_)));
    assert!(matches!(incoming.next().await, Next::End(None)));
}
