//! Streams that break, fall silent, or are none: one row per fault.

use std::time::Duration;

use missive_fixtures::{Answer, EchoAgent, Gate, Piece, ScriptedPeer, Setup, Step, wire};
use missive_log::Role;

use super::streams::{TASK, command, end_of, facts, piece, status, streamed, world_of};
use super::{World, patient};
use crate::doubt::in_doubt;
use crate::report::send::Resolution;
use crate::wire::version::Binding;
use crate::{Exit, Retry};

const DONE: &str = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"all of it"}]}]}"#;
const AT_WORK: &str = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}"#;

struct Case {
    name: &'static str,
    prepare: fn(&ScriptedPeer),
    adjust: fn(&mut World),
}

fn case(name: &'static str, prepare: fn(&ScriptedPeer)) -> Case {
    Case {
        name,
        prepare,
        adjust: |_| {},
    }
}

async fn row(case: &Case, binding: Binding) -> String {
    let peer = ScriptedPeer::start();
    let mut world = world_of(&peer).await;
    let missive = world.missive();
    missive
        .agent_refresh(&super::alias("py"), &mut patient())
        .await
        .unwrap();
    drop(missive);
    (case.adjust)(&mut world);
    (case.prepare)(&peer);
    let before = world.events().await.len();
    let mut command = command("hi");
    command.send.binding = Some(binding);

    let (ended, _) = streamed(&world.missive(), &command).await;

    let events = world.events().await;
    let sent = peer.requests_to("POST", "/rest/message:stream").len();
    let doubts = in_doubt(&world.newest(), world.run()).unwrap().len();
    assert!(
        sent <= 1,
        "{}: the message was sent {sent} times",
        case.name
    );
    assert_eq!(
        doubts == 1,
        ended.as_ref().is_err_and(
            |error| error.exit() == Exit::Unknown && error.detail() != Some("stream_lost")
        ),
        "{}",
        case.name
    );
    let address = peer.address().to_string();
    let end = end_of(&ended).replace(&address, "<peer>");
    format!("{}: {end} | {}", case.name, facts(&events[before..]))
}

async fn table(cases: &[Case], bindings: &[Binding]) -> String {
    let mut rows = Vec::new();
    for case in cases {
        for binding in bindings {
            rows.push(row(case, *binding).await);
        }
    }
    rows.join("\n")
}

fn cut(by: Piece) -> Answer {
    Answer::a2a_stream([
        Step::from(TASK),
        Step::from(piece("part", false)),
        Step::from(by),
    ])
}

#[tokio::test]
async fn a_stream_that_says_nothing_leaves_a_doubt_and_one_that_is_refused_does_not() {
    let cases = [
        case("closed at once", |peer| {
            peer.on_stream(&Answer::close());
        }),
        case("an empty stream", |peer| {
            peer.on_stream(&Answer::event_stream(": hello\n\n"));
        }),
        case("cut in the first event", |peer| {
            peer.on_stream(&Answer::event_stream("data: {").then(Piece::Reset));
        }),
        Case {
            adjust: |world| world.config.qos.idle_timeout = Duration::from_millis(100),
            ..case("silent", |peer| {
                peer.on_stream(&Answer::event_stream(": hello\n\n").then(Piece::Never));
            })
        },
        Case {
            adjust: |world| world.requests.timeout = Some(Duration::from_millis(150)),
            ..case("no time", |peer| {
                peer.on_stream(&Answer::event_stream(": hello\n\n").then(Piece::Never));
            })
        },
        case("refused by A2A", |peer| {
            peer.on_stream(&Answer::a2a_error("unsupported_operation"));
        }),
        case("an error as the first event", |peer| {
            let error = r#"{"code":-32603,"message":"boom"}"#.to_owned();
            peer.on_stream(&Answer::a2a_stream([Step::Error(error)]));
        }),
        case("an error without data", |peer| {
            peer.on_stream(&Answer::event_stream(wire(
                "streams/c054_bare_json_error.sse",
            )));
        }),
        case("lines of JSON", |peer| {
            let lines = format!("{TASK}\n{TASK}\n");
            peer.on_stream(&Answer::bytes(200, "application/x-ndjson", lines));
        }),
        case("a web page", |peer| {
            peer.on_stream(&Answer::html());
        }),
        case("a proxy", |peer| {
            peer.on_stream(&Answer::unavailable());
        }),
    ];

    insta::assert_snapshot!(table(&cases, &[Binding::HttpJson]).await, @r"
    closed at once: 86 connection_lost it is not known whether the message arrived | requested closed(in_doubt: connection_lost)
    an empty stream: 86 answer_cut it is not known whether the message arrived | requested closed(in_doubt: protocol_violation)
    cut in the first event: 86 answer_cut it is not known whether the message arrived | requested closed(in_doubt: answer_cut)
    silent: 86 idle_timeout it is not known whether the message arrived | requested closed(in_doubt: idle_timeout)
    no time: 86 total_timeout it is not known whether the message arrived | requested closed(in_doubt: total_timeout)
    refused by A2A: 76 unsupported_operation the agent answered UNSUPPORTED_OPERATION: unsupported operation | requested closed(error: a2a_error)
    an error as the first event: 69 internal the agent answered INTERNAL: boom | requested closed(error: a2a_error)
    an error without data: 66 task_not_found the agent answered TASK_NOT_FOUND: x | requested closed(error: a2a_error)
    lines of JSON: 76 broken_answer the agent's answer is unusable: it is no usable JSON | requested closed(error: protocol_violation)
    a web page: 76 broken_answer the agent's answer is unusable: it is a web page | requested closed(error: protocol_violation)
    a proxy: 69 http_status the agent answered HTTP 503 with a web page | requested closed(error: http_status)
    ");
}

#[tokio::test]
async fn a_stream_whose_first_event_cannot_be_used_says_why() {
    let cases = [
        Case {
            adjust: |world| world.config.qos.stream_event_bytes_max = 80,
            ..case("too large a first event", |peer| {
                peer.on_stream(&Answer::a2a_stream([TASK]));
            })
        },
        case("no update at all", |peer| {
            peer.on_stream(&Answer::event_stream("data: {}\n\ndata: [1]\n\n"));
        }),
        case("no update, and cut", |peer| {
            peer.on_stream(&Answer::event_stream("data: {}\n\n").then(Piece::Reset));
        }),
    ];

    insta::assert_snapshot!(table(&cases, &[Binding::HttpJson]).await, @r"
    too large a first event: 86 answer_too_large it is not known whether the message arrived | requested malformed(too_large) closed(in_doubt: answer_too_large)
    no update at all: 76 broken_answer the agent's answer is unusable: nothing in its stream is an update | requested malformed(not_an_update) malformed(not_an_update) closed(error: protocol_violation)
    no update, and cut: 86 answer_cut it is not known whether the message arrived | requested malformed(not_an_update) closed(in_doubt: answer_cut)
    ");
}

#[tokio::test]
async fn a_stream_that_breaks_while_its_task_goes_on_is_resumed_or_its_task_asked_for() {
    let cases = [
        case("ends early", |peer| {
            peer.on_stream(&Answer::event_stream(wire(
                "streams/c053_ends_while_working.sse",
            )));
            let steps = [TASK.to_owned(), piece("whole", false), status("COMPLETED")];
            peer.on_subscribe("t", &Answer::a2a_stream(steps));
        }),
        case("breaks twice", |peer| {
            peer.on_stream(&cut(Piece::Reset));
            peer.once_subscribe("t", &cut(Piece::Close));
            let steps = [TASK.to_owned(), piece("whole", false), status("COMPLETED")];
            peer.on_subscribe("t", &Answer::a2a_stream(steps));
        }),
        Case {
            adjust: |world| world.config.qos.idle_timeout = Duration::from_millis(100),
            ..case("falls silent", |peer| {
                peer.on_stream(&cut(Piece::Never));
                peer.on_subscribe(
                    "t",
                    &Answer::a2a_stream([TASK.to_owned(), status("COMPLETED")]),
                );
            })
        },
        case("is over meanwhile", |peer| {
            peer.on_stream(&cut(Piece::Reset));
            peer.on_subscribe("t", &Answer::a2a_error("unsupported_operation"));
            peer.on_get_task("t", &Answer::a2a(DONE));
        }),
        case("only takes GET", |peer| {
            peer.on_stream(&cut(Piece::Reset));
            let steps = [TASK.to_owned(), status("COMPLETED")];
            peer.on_subscribe("t", &Answer::a2a_stream(steps));
            peer.on("POST", "/rest/tasks/t:subscribe", Answer::status(405));
        }),
        case("cannot be subscribed to", |peer| {
            peer.on_stream(&cut(Piece::Reset));
            peer.on_get_task("t", &Answer::a2a(DONE));
        }),
        Case {
            adjust: |world| world.config.qos.stream_resumes_max = 2,
            ..case("breaks for ever", |peer| {
                peer.on_stream(&cut(Piece::Reset));
                peer.on_subscribe("t", &Answer::reset());
                peer.on_get_task("t", &Answer::a2a(DONE));
            })
        },
        Case {
            adjust: |world| {
                world.config.qos.stream_resumes_max = 0;
                world.config.qos.retries_max = 0;
            },
            ..case("is gone", |peer| {
                peer.on_stream(&cut(Piece::Reset));
                peer.on_get_task("t", &Answer::reset());
            })
        },
    ];

    insta::assert_snapshot!(table(&cases, &[Binding::HttpJson]).await, @r#"
    ends early: 0 terminal completed "whole" | requested task artifact_update closed(ended_early) subscription(1) task artifact_update status_update closed(terminal)
    breaks twice: 0 terminal completed "whole" | requested task artifact_update closed(broken: answer_cut) subscription(1) task artifact_update closed(broken: answer_cut) subscription(2) task artifact_update status_update closed(terminal)
    falls silent: 0 terminal completed "" | requested task artifact_update closed(broken: idle_timeout) subscription(1) task status_update closed(terminal)
    is over meanwhile: 0 polled completed "all of it" | requested task artifact_update closed(broken: answer_cut) subscription(1) closed(error: a2a_error) call.requested call.responded task.updated
    only takes GET: 0 terminal completed "" | requested task artifact_update closed(broken: answer_cut) subscription(1) closed(error: http_status) subscription(1 by get) task status_update closed(terminal)
    cannot be subscribed to: 0 polled completed "all of it" | requested task artifact_update closed(broken: answer_cut) subscription(1) closed(error: http_status) subscription(1 by get) closed(error: http_status) call.requested call.responded task.updated
    breaks for ever: 0 polled completed "all of it" | requested task artifact_update closed(broken: answer_cut) subscription(1) closed(broken: connection_lost) subscription(2) closed(broken: connection_lost) call.requested call.responded task.updated
    is gone: 86 stream_lost the stream ended while the task was working: the answer of <peer> broke off; then the connection to <peer> ended before an answer began | requested task artifact_update closed(broken: answer_cut) call.requested call.failed
    "#);
}

#[tokio::test]
async fn a_stream_that_ends_otherwise_is_told_as_what_it_is() {
    let cases = [
        Case {
            adjust: |world| world.requests.timeout = Some(Duration::from_millis(200)),
            ..case("no more time", |peer| {
                peer.on_stream(&cut(Piece::Never));
            })
        },
        case("an error, and still at work", |peer| {
            let error = Step::Error(r#"{"code":-32603,"message":"boom"}"#.to_owned());
            peer.on_stream(&Answer::a2a_stream([Step::from(TASK), error]));
            peer.on_get_task("t", &Answer::a2a(AT_WORK));
        }),
        case("an error, and over", |peer| {
            let error = Step::Error(r#"{"code":-32603,"message":"boom"}"#.to_owned());
            peer.on_stream(&Answer::a2a_stream([Step::from(TASK), error]));
            peer.on_get_task("t", &Answer::a2a(DONE));
        }),
        Case {
            adjust: |world| world.config.qos.stream_event_bytes_max = 300,
            ..case("too large an event", |peer| {
                let large = piece(&"x".repeat(400), false);
                peer.on_stream(&Answer::a2a_stream([TASK.to_owned(), large]));
            })
        },
        case("a plain task at work", |peer| {
            peer.on_stream(&Answer::a2a(TASK));
            peer.on_subscribe(
                "t",
                &Answer::a2a_stream([TASK.to_owned(), status("COMPLETED")]),
            );
        }),
    ];

    insta::assert_snapshot!(table(&cases, &[Binding::HttpJson]).await, @r#"
    no more time: 82 timeout working "part" | requested task artifact_update closed(broken: total_timeout)
    an error, and still at work: 69 stream_lost the stream ended while the task was working: the agent answered INTERNAL: boom | requested task closed(error: a2a_error) call.requested call.responded task.updated
    an error, and over: 0 polled completed "all of it" | requested task closed(error: a2a_error) call.requested call.responded task.updated
    too large an event: 69 stream_lost the stream ended while the task was working: the event at byte 83 of the event stream is longer than the 300 bytes allowed | requested task malformed(too_large) closed(broken: answer_too_large)
    a plain task at work: 0 terminal completed "" | requested task closed(answer) subscription(1) task status_update closed(terminal)
    "#);
}

#[tokio::test]
async fn a_last_event_without_its_blank_line_counts_if_it_is_whole() {
    let ends = ["", "\n", "\r\n", "\n\n"];
    let mut rows = Vec::new();
    for end in ends {
        let peer = ScriptedPeer::start();
        let world = world_of(&peer).await;
        let stream = format!("data: {TASK}\n\ndata: {}{end}", status("COMPLETED"));
        peer.on_stream(&Answer::event_stream(stream));

        let (ended, shown) = streamed(&world.missive(), &command("hi")).await;

        let flags = shown.last().map(|event| event.violations.clone());
        let story = facts(&world.events().await);
        rows.push(format!("{end:?}: {} | {story} | {flags:?}", end_of(&ended)));
    }

    insta::assert_snapshot!(rows.join("\n"), @r#"
    "": 0 terminal completed "" | requested task status_update closed(terminal) | Some(["unterminated_event: the last event of the stream has no blank line behind it"])
    "\n": 0 terminal completed "" | requested task status_update closed(terminal) | Some(["unterminated_event: the last event of the stream has no blank line behind it"])
    "\r\n": 0 terminal completed "" | requested task status_update closed(terminal) | Some(["unterminated_event: the last event of the stream has no blank line behind it"])
    "\n\n": 0 terminal completed "" | requested task status_update closed(terminal) | Some([])
    "#);
}

#[tokio::test]
async fn what_the_end_cuts_is_kept_and_is_neither_an_update_nor_an_end() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    let whole = status("COMPLETED");
    let stream = format!("data: {TASK}\n\ndata: {}", &whole[..whole.len() - 1]);
    peer.on_stream(&Answer::event_stream(stream));
    peer.on_subscribe("t", &Answer::a2a_stream([TASK.to_owned(), whole.clone()]));

    let (ended, _) = streamed(&world.missive(), &command("hi")).await;

    let events = world.events().await;
    insta::assert_snapshot!(format!("{} | {}", end_of(&ended), facts(&events)), @r#"0 terminal completed "" | requested task closed(ended_early) subscription(1) task status_update closed(terminal)"#);
    let closed = events
        .iter()
        .find(|event| event.kind.name() == "a2a.stream.closed");
    let at = closed.unwrap().seq;
    let kept = world
        .missive()
        .stored_bytes(at, Role::Response)
        .await
        .unwrap();
    let kept = kept.unwrap().bytes;
    assert_eq!(
        kept,
        format!("data: {}", &whole[..whole.len() - 1]).as_bytes()
    );
}

#[tokio::test]
async fn an_error_without_its_blank_line_is_an_error() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    let error = r#"{"error":{"code":500,"message":"boom","status":"INTERNAL"}}"#;
    peer.on_stream(&Answer::event_stream(format!("data: {error}\n")));

    let (ended, _) = streamed(&world.missive(), &command("hi")).await;

    insta::assert_snapshot!(end_of(&ended), @"69 internal the agent answered INTERNAL: boom");
}

#[tokio::test]
async fn a_large_artifact_comes_in_one_event() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    let large = piece(&"x".repeat(900 << 10), false);
    peer.on_stream(&Answer::a2a_stream([
        TASK.to_owned(),
        large,
        status("COMPLETED"),
    ]));

    let (ended, _) = streamed(&world.missive(), &command("hi")).await;

    assert_eq!(ended.unwrap().report.answer.text.len(), 900 << 10);
}

#[tokio::test]
async fn the_method_that_a_subscription_was_answered_by_is_remembered() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    peer.on_subscribe(
        "t",
        &Answer::a2a_stream([TASK.to_owned(), status("COMPLETED")]),
    );
    peer.on("POST", "/rest/tasks/t:subscribe", Answer::status(405));
    let command = crate::Subscribe {
        target: super::py(),
        task: missive_log::event::TaskId::new("t").unwrap(),
        context: None,
        binding: None,
    };

    for _ in 0..2 {
        let mut shown = Vec::new();
        let done = world
            .missive()
            .subscribe(&command, &mut shown, &mut patient())
            .await;
        assert_eq!(done.unwrap().exit, Exit::Done);
    }

    assert_eq!(peer.requests_to("POST", "/rest/tasks/t:subscribe").len(), 1);
    assert_eq!(peer.requests_to("GET", "/rest/tasks/t:subscribe").len(), 2);
}

#[tokio::test]
async fn a_doubt_about_a_stream_is_resolved_by_looking_for_its_task_and_resent_on_demand() {
    let agent = EchoAgent::with(Setup {
        streaming: true,
        ..Setup::default()
    });
    let world = World::new().with_agent(&agent.url()).await;
    agent.next_stream_is_cut(0, Piece::Reset);
    let (ended, _) = streamed(&world.missive(), &command("task hello")).await;
    let error = ended.unwrap_err();
    assert_eq!(error.exit(), Exit::Unknown);
    let retry = Retry {
        operation: error.operation().unwrap().clone(),
        resend: false,
    };

    let done = world.missive().retry(&retry, &mut patient()).await.unwrap();

    assert_eq!(done.report.resolution, Resolution::Found);
    assert_eq!(done.report.answer.text, "hello");
    assert_eq!(in_doubt(&world.newest(), world.run()).unwrap(), []);
    assert_eq!(agent.messages().len(), 1);
    let again = world.missive().retry(&retry, &mut patient()).await.unwrap();
    assert_eq!(again.report.resolution, Resolution::Recorded);
    assert_eq!(again.report.answer.state, Some("completed"));

    agent
        .peer()
        .once("POST", "/rest/message:stream", Answer::reset());
    let (ended, _) = streamed(&world.missive(), &command("task again")).await;
    let retry = Retry {
        operation: ended.unwrap_err().operation().unwrap().clone(),
        resend: true,
    };
    let done = world.missive().retry(&retry, &mut patient()).await.unwrap();
    assert_eq!(done.report.resolution, Resolution::Resent);
    assert_eq!(done.report.answer.text, "again");
    assert_eq!(agent.messages().len(), 2);
}

#[tokio::test]
async fn a_process_that_died_in_a_stream_leaves_its_task_to_be_asked_for() {
    let peer = ScriptedPeer::start();
    let world = world_of(&peer).await;
    let gate = Gate::new("after the first update");
    let steps = [
        Step::from(TASK),
        Step::from(Piece::Gate(gate.clone())),
        Step::from(Piece::Never),
    ];
    peer.on_stream(&Answer::a2a_stream(steps));
    peer.on_get_task("t", &Answer::a2a(DONE));
    {
        let missive = world.missive();
        let (command, mut interrupt) = (command("hi"), patient());
        let mut died = Died(tokio::sync::Notify::new().into());
        let shown = died.0.clone();
        tokio::select! {
            _ = missive.stream(&command, &mut died, &mut interrupt) => panic!("it goes on"),
            () = shown.notified() => {}
        }
    }
    let doubts = in_doubt(&world.newest(), world.run()).unwrap();
    let retry = Retry {
        operation: doubts[0].operation.clone().unwrap(),
        resend: false,
    };

    let done = world.missive().retry(&retry, &mut patient()).await.unwrap();

    assert_eq!(done.report.answer.text, "all of it");
    assert_eq!(in_doubt(&world.newest(), world.run()).unwrap(), []);
    gate.open();
}

/// Says when something was shown.
struct Died(std::sync::Arc<tokio::sync::Notify>);

impl crate::Show for Died {
    async fn show(&mut self, _: crate::report::stream::StreamEvent) {
        self.0.notify_one();
        std::future::pending::<()>().await;
    }
}
