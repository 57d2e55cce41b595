//! Sending, when the peer does not behave: one row per fault.
//!
//! Each row shows how the command ends, what the log says, and how often the peer saw the message:
//! never more than once, whatever happened.

use std::time::Duration;

use missive_fixtures::{Answer, Connect, ScriptedPeer, refused_url, wire};
use missive_log::event::EventKind;
use serde_json::json;

use super::{World, alias, patient, py, told};
use crate::wire::version::Binding;
use crate::{CommandError, Send};

/// A secret that every request carries, and that no peer may bring into the log.
const TOKEN: &str = "hunter2-token";

struct Case {
    name: &'static str,
    bindings: &'static [Binding],
    prepare: fn(&ScriptedPeer),
    adjust: fn(&mut World),
}

const BOTH: &[Binding] = &[Binding::HttpJson, Binding::JsonRpc];
const RPC: &[Binding] = &[Binding::JsonRpc];

fn answers(name: &'static str, prepare: fn(&ScriptedPeer)) -> Case {
    Case {
        name,
        bindings: BOTH,
        prepare,
        adjust: |_| {},
    }
}

fn task() -> Answer {
    Answer::a2a(wire("send/task_completed.json"))
}

/// What one row comes to, in one line.
async fn row(case: &Case, binding: Binding) -> String {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    let mut world = World::new().with_token(TOKEN).with_agent(&peer.url()).await;
    (case.adjust)(&mut world);
    // The card is known before the fault is set up, so that the fault meets the message.
    let patience = world.requests.timeout.take();
    let ready = world.missive();
    ready
        .agent_refresh(&alias("py"), &mut patient())
        .await
        .unwrap();
    world.requests.timeout = patience;
    (case.prepare)(&peer);
    let before = world.events().await.len();
    let missive = world.missive();
    let mut command = Send::text(py(), "hello");
    command.binding = Some(binding);

    let ended = missive.send(&command, &mut patient()).await;

    let shown = match &ended {
        Ok(done) => format!("{} {:?}", done.exit.number(), done.report.answer.text),
        Err(error) => with_cause(error),
    };
    let events = world.events().await;
    let facts: Vec<String> = events[before..].iter().map(|e| fact(&e.kind)).collect();
    let posts = peer
        .requests()
        .iter()
        .filter(|seen| seen.method == "POST")
        .count();
    assert!(
        posts <= 1,
        "{}: the message was sent {posts} times",
        case.name
    );
    let stored = world.stored().await;
    assert!(
        !stored.contains("hunter2"),
        "{}: a secret is stored",
        case.name
    );
    assert!(
        !shown.contains("hunter2"),
        "{}: a secret is shown",
        case.name
    );
    let address = peer.address().to_string();
    format!(
        "{} {}: {} | {} | seen {posts}",
        case.name,
        binding.name(),
        shown.replace(&address, "<peer>"),
        facts.join(" ")
    )
}

/// The error with the first cause that says more; what the transport says below that differs from run
/// to run.
fn with_cause(error: &CommandError) -> String {
    let shown = told(error);
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let text = error.to_string();
        if !shown.ends_with(&text) {
            return format!("{shown}: {text}");
        }
        cause = match error.downcast_ref::<crate::effect::reach::CallError>() {
            Some(_) => None,
            None => error.source(),
        };
    }
    shown
}

fn fact(kind: &EventKind) -> String {
    let name = kind.name().trim_start_matches("a2a.").to_owned();
    if let EventKind::SendFailed(facts) = kind {
        return match facts.error {
            Some(error) => format!("{name}({}: {error})", facts.failure),
            None => format!("{name}({})", facts.failure),
        };
    }
    if let EventKind::SendInDoubt(facts) = kind {
        return format!("{name}({})", facts.failure);
    }
    if let EventKind::SendResponded(facts) = kind {
        let odd: Vec<&str> = facts.violations.iter().map(|v| v.as_str()).collect();
        return format!("{name}({})", odd.join(","));
    }
    name
}

async fn table(cases: &[Case]) -> String {
    let mut rows = Vec::new();
    for case in cases {
        for binding in case.bindings {
            rows.push(row(case, *binding).await);
        }
    }
    rows.join("\n")
}

#[tokio::test]
async fn a_message_that_gets_no_whole_answer_is_failed_or_in_doubt_and_never_sent_again() {
    let quick =
        |world: &mut World| world.config.qos.first_byte_timeout = Some(Duration::from_millis(150));
    let cases = [
        answers("closed after reading", |peer| {
            peer.on_send(&Answer::close());
        }),
        answers("reset after reading", |peer| {
            peer.on_send(&Answer::reset());
        }),
        Case {
            adjust: |world| world.requests.timeout = Some(Duration::from_millis(150)),
            ..answers("silent, total timer", |peer| {
                peer.on_send(&Answer::never());
            })
        },
        Case {
            adjust: quick,
            ..answers("silent, first-byte timer", |peer| {
                peer.on_send(&Answer::never());
            })
        },
        Case {
            adjust: |world| world.config.qos.idle_timeout = Duration::from_millis(150),
            ..answers("falls silent, idle timer", |peer| {
                peer.on_send(&task().stall_after(20));
            })
        },
        answers("cut", |peer| {
            peer.on_send(&task().cut_after(20));
        }),
        answers("reset in the answer", |peer| {
            peer.on_send(&task().reset_after(20));
        }),
        Case {
            adjust: |world| world.config.qos.response_bytes_max = 100_000,
            ..answers("huge", |peer| {
                peer.on_send(&Answer::huge(1_000_000));
            })
        },
        answers("no HTTP", |peer| {
            peer.on_send(&Answer::raw("hello there\r\n\r\n"));
        }),
        Case {
            adjust: |world| world.requests.timeout = Some(Duration::from_nanos(1)),
            ..answers("no time at all", |_| {})
        },
    ];

    insta::assert_snapshot!(table(&cases).await, @r"
    closed after reading http+json: 86 connection_lost it is not known whether the message arrived: the connection to <peer> ended before an answer began | send.requested send.in_doubt(connection_lost) | seen 1
    closed after reading json-rpc: 86 connection_lost it is not known whether the message arrived: the connection to <peer> ended before an answer began | send.requested send.in_doubt(connection_lost) | seen 1
    reset after reading http+json: 86 connection_lost it is not known whether the message arrived: the connection to <peer> ended before an answer began | send.requested send.in_doubt(connection_lost) | seen 1
    reset after reading json-rpc: 86 connection_lost it is not known whether the message arrived: the connection to <peer> ended before an answer began | send.requested send.in_doubt(connection_lost) | seen 1
    silent, total timer http+json: 86 total_timeout it is not known whether the message arrived: no full answer within 150ms (total timeout) | send.requested send.in_doubt(total_timeout) | seen 1
    silent, total timer json-rpc: 86 total_timeout it is not known whether the message arrived: no full answer within 150ms (total timeout) | send.requested send.in_doubt(total_timeout) | seen 1
    silent, first-byte timer http+json: 86 first_byte_timeout it is not known whether the message arrived: no byte of the answer within 150ms (first-byte timeout) | send.requested send.in_doubt(first_byte_timeout) | seen 1
    silent, first-byte timer json-rpc: 86 first_byte_timeout it is not known whether the message arrived: no byte of the answer within 150ms (first-byte timeout) | send.requested send.in_doubt(first_byte_timeout) | seen 1
    falls silent, idle timer http+json: 86 idle_timeout it is not known whether the message arrived: the answer fell silent for 150ms (idle timeout) | send.requested send.in_doubt(idle_timeout) | seen 1
    falls silent, idle timer json-rpc: 86 idle_timeout it is not known whether the message arrived: the answer fell silent for 150ms (idle timeout) | send.requested send.in_doubt(idle_timeout) | seen 1
    cut http+json: 86 answer_cut it is not known whether the message arrived: the answer of <peer> broke off | send.requested send.in_doubt(answer_cut) | seen 1
    cut json-rpc: 86 answer_cut it is not known whether the message arrived: the answer of <peer> broke off | send.requested send.in_doubt(answer_cut) | seen 1
    reset in the answer http+json: 86 answer_cut it is not known whether the message arrived: the answer of <peer> broke off | send.requested send.in_doubt(answer_cut) | seen 1
    reset in the answer json-rpc: 86 answer_cut it is not known whether the message arrived: the answer of <peer> broke off | send.requested send.in_doubt(answer_cut) | seen 1
    huge http+json: 86 answer_too_large it is not known whether the message arrived: the answer is larger than the 100000 bytes allowed | send.requested send.in_doubt(answer_too_large) | seen 1
    huge json-rpc: 86 answer_too_large it is not known whether the message arrived: the answer is larger than the 100000 bytes allowed | send.requested send.in_doubt(answer_too_large) | seen 1
    no HTTP http+json: 86 protocol_violation it is not known whether the message arrived: <peer> sent something that is no HTTP | send.requested send.in_doubt(protocol_violation) | seen 1
    no HTTP json-rpc: 86 protocol_violation it is not known whether the message arrived: <peer> sent something that is no HTTP | send.requested send.in_doubt(protocol_violation) | seen 1
    no time at all http+json: 82 total_timeout no full answer within 1ns (total timeout) | send.requested send.failed(total_timeout) | seen 0
    no time at all json-rpc: 82 total_timeout no full answer within 1ns (total timeout) | send.requested send.failed(total_timeout) | seen 0
    ");
}

/// The client may notice the reset before or after it began to write, and both are told as they are.
#[tokio::test]
async fn a_connection_that_is_reset_before_anything_was_read_is_no_success_and_no_second_try() {
    let case = answers("reset before reading", |peer| {
        peer.next_connection(Connect::Reset);
    });

    for binding in BOTH {
        let row = row(&case, *binding).await;

        let failed = row.contains(": 69 ") && row.contains("send.failed(");
        let in_doubt = row.contains(": 86 ") && row.contains("send.in_doubt(");
        assert!((failed || in_doubt) && row.ends_with("seen 0"), "{row}");
    }
}

#[tokio::test]
async fn answers_that_break_a2a_end_as_the_product_says() {
    let cases = [
        answers("html", |peer| {
            peer.on_send(&Answer::html());
        }),
        Case {
            bindings: RPC,
            ..answers("wrong id", |peer| {
                peer.on_send(&Answer::rpc_wrong_id(wire("send/task_completed.json")));
            })
        },
        Case {
            bindings: RPC,
            ..answers("retyped id", |peer| {
                peer.on_send(&Answer::rpc_retyped_id(wire("send/task_completed.json")));
            })
        },
        Case {
            bindings: RPC,
            ..answers("result and error", |peer| {
                peer.on_send(&Answer::rpc_result_and_error(wire(
                    "send/task_completed.json",
                )));
            })
        },
        answers("gzip", |peer| {
            peer.on_send(&Answer::gzip());
        }),
        answers("invalid UTF-8", |peer| {
            peer.on_send(&Answer::invalid_utf8());
        }),
        answers("deep", |peer| {
            peer.on_send(&Answer::nested(5_000));
        }),
    ];

    insta::assert_snapshot!(table(&cases).await, @r"
    html http+json: 76 broken_answer the agent's answer is unusable: it is a web page | send.requested send.failed(protocol_violation) | seen 1
    html json-rpc: 76 broken_answer the agent's answer is unusable: it is a web page | send.requested send.failed(protocol_violation) | seen 1
    wrong id json-rpc: 76 broken_answer the agent's answer is unusable: its JSON-RPC id is not the one that was sent | send.requested send.failed(protocol_violation) | seen 1
    retyped id json-rpc: 76 broken_answer the agent's answer is unusable: its JSON-RPC id is not the one that was sent | send.requested send.failed(protocol_violation) | seen 1
    result and error json-rpc: 76 broken_answer the agent's answer is unusable: it holds a result and an error | send.requested send.failed(protocol_violation) | seen 1
    gzip http+json: 76 broken_answer the agent's answer is unusable: its body is compressed, which was not asked for | send.requested send.failed(protocol_violation) | seen 1
    gzip json-rpc: 76 broken_answer the agent's answer is unusable: its body is compressed, which was not asked for | send.requested send.failed(protocol_violation) | seen 1
    invalid UTF-8 http+json: 76 broken_answer the agent's answer is unusable: it is no usable JSON: not UTF-8 at byte 69 | send.requested send.failed(protocol_violation) | seen 1
    invalid UTF-8 json-rpc: 76 broken_answer the agent's answer is unusable: it is no usable JSON: not UTF-8 at byte 69 | send.requested send.failed(protocol_violation) | seen 1
    deep http+json: 76 broken_answer the agent's answer is unusable: it is no usable JSON: JSON nested deeper than 120 levels at byte 181 | send.requested send.failed(protocol_violation) | seen 1
    deep json-rpc: 76 broken_answer the agent's answer is unusable: it is no usable JSON: JSON nested deeper than 120 levels at byte 250 | send.requested send.failed(protocol_violation) | seen 1
    ");
}

#[tokio::test]
async fn answers_that_refuse_end_as_the_product_says() {
    let cases = [
        answers("401", |peer| {
            let echo = format!("your token {TOKEN} is not known");
            peer.on_send(
                &Answer::text(401, &echo).header("www-authenticate", "Bearer realm=\"x\""),
            );
        }),
        answers("403", |peer| {
            peer.on_send(&Answer::forbidden());
        }),
        answers("429", |peer| {
            peer.on_send(&Answer::too_many_requests("7"));
        }),
        answers("503", |peer| {
            peer.on_send(&Answer::unavailable());
        }),
        answers("302", |peer| {
            peer.on_send(&Answer::redirect(302, "/elsewhere"));
        }),
        answers("307 away", |peer| {
            peer.on_send(&Answer::redirect(307, "http://h.example/x"));
        }),
    ];

    insta::assert_snapshot!(table(&cases).await, @r"
    401 http+json: 77 unauthenticated the agent answered unauthenticated (HTTP 401): your token [redacted:1] is not known | send.requested send.failed(auth_refused) | seen 1
    401 json-rpc: 77 unauthenticated the agent answered unauthenticated (HTTP 401): your token [redacted:1] is not known | send.requested send.failed(auth_refused) | seen 1
    403 http+json: 77 forbidden the agent answered forbidden (HTTP 403): forbidden | send.requested send.failed(auth_refused) | seen 1
    403 json-rpc: 77 forbidden the agent answered forbidden (HTTP 403): forbidden | send.requested send.failed(auth_refused) | seen 1
    429 http+json: 69 rate_limited the agent answered rate limited (HTTP 429) | send.requested send.failed(rate_limited) | seen 1
    429 json-rpc: 69 rate_limited the agent answered rate limited (HTTP 429) | send.requested send.failed(rate_limited) | seen 1
    503 http+json: 69 http_status the agent answered HTTP 503 with a web page | send.requested send.failed(http_status) | seen 1
    503 json-rpc: 69 http_status the agent answered HTTP 503 with a web page | send.requested send.failed(http_status) | seen 1
    302 http+json: 69 redirect_refused the redirect to http://<peer>/elsewhere is not followed: it would turn the message into a GET | send.requested send.failed(redirect_refused) | seen 1
    302 json-rpc: 69 redirect_refused the redirect to http://<peer>/elsewhere is not followed: it would turn the message into a GET | send.requested send.failed(redirect_refused) | seen 1
    307 away http+json: 69 redirect_refused the redirect to http://h.example/x is not followed: it leads to another origin | send.requested send.failed(redirect_refused) | seen 1
    307 away json-rpc: 69 redirect_refused the redirect to http://h.example/x is not followed: it leads to another origin | send.requested send.failed(redirect_refused) | seen 1
    ");
}

#[tokio::test]
async fn a2a_errors_end_by_their_names() {
    let cases = [
        answers("task_not_found", |peer| {
            peer.on_send(&Answer::a2a_error("task_not_found"));
        }),
        answers("content_type_not_supported", |peer| {
            peer.on_send(&Answer::a2a_error("content_type_not_supported"));
        }),
        answers("invalid_params", |peer| {
            peer.on_send(&Answer::a2a_error("invalid_params"));
        }),
        answers("unsupported_operation", |peer| {
            peer.on_send(&Answer::a2a_error("unsupported_operation"));
        }),
        answers("version_not_supported", |peer| {
            peer.on_send(&Answer::a2a_error("version_not_supported"));
        }),
    ];

    insta::assert_snapshot!(table(&cases).await, @r"
    task_not_found http+json: 66 task_not_found the agent answered TASK_NOT_FOUND: task not found | send.requested send.failed(a2a_error: task_not_found) | seen 1
    task_not_found json-rpc: 66 task_not_found the agent answered TASK_NOT_FOUND: task not found | send.requested send.failed(a2a_error: task_not_found) | seen 1
    content_type_not_supported http+json: 65 content_type_not_supported the agent answered CONTENT_TYPE_NOT_SUPPORTED: content type not supported | send.requested send.failed(a2a_error: content_type_not_supported) | seen 1
    content_type_not_supported json-rpc: 65 content_type_not_supported the agent answered CONTENT_TYPE_NOT_SUPPORTED: content type not supported | send.requested send.failed(a2a_error: content_type_not_supported) | seen 1
    invalid_params http+json: 65 invalid_params the agent answered INVALID_PARAMS: message.parts must not be empty [message.parts: must not be empty] | send.requested send.failed(a2a_error: invalid_params) | seen 1
    invalid_params json-rpc: 65 invalid_params the agent answered INVALID_PARAMS: invalid params | send.requested send.failed(a2a_error: invalid_params) | seen 1
    unsupported_operation http+json: 76 unsupported_operation the agent answered UNSUPPORTED_OPERATION: unsupported operation | send.requested send.failed(a2a_error: unsupported_operation) | seen 1
    unsupported_operation json-rpc: 76 unsupported_operation the agent answered UNSUPPORTED_OPERATION: unsupported operation | send.requested send.failed(a2a_error: unsupported_operation) | seen 1
    version_not_supported http+json: 76 version_not_supported the agent answered VERSION_NOT_SUPPORTED: version not supported | send.requested send.failed(a2a_error: version_not_supported) | seen 1
    version_not_supported json-rpc: 76 version_not_supported the agent answered VERSION_NOT_SUPPORTED: version not supported | send.requested send.failed(a2a_error: version_not_supported) | seen 1
    ");
}

#[tokio::test]
async fn odd_answers_are_used_flagged_and_kept_exactly() {
    let cases = [
        answers("wrong content type", |peer| {
            peer.on_send(
                &task()
                    .without_header("content-type")
                    .header("content-type", "text/plain"),
            );
        }),
        answers("duplicate keys", |peer| {
            peer.on_send(&Answer::duplicate_keys());
        }),
        answers("data null", |peer| {
            peer.on_send(&Answer::data_null());
        }),
        answers("big integers", |peer| {
            peer.on_send(&Answer::big_integers());
        }),
    ];

    insta::assert_snapshot!(table(&cases).await, @r#"
    wrong content type http+json: 0 "" | send.requested send.responded(content_type) | seen 1
    wrong content type json-rpc: 0 "" | send.requested send.responded(content_type) | seen 1
    duplicate keys http+json: 0 "two" | send.requested send.responded(duplicate_key) | seen 1
    duplicate keys json-rpc: 0 "two" | send.requested send.responded(duplicate_key) | seen 1
    data null http+json: 0 "" | send.requested send.responded() | seen 1
    data null json-rpc: 0 "" | send.requested send.responded() | seen 1
    big integers http+json: 0 "" | send.requested send.responded() | seen 1
    big integers json-rpc: 0 "" | send.requested send.responded() | seen 1
    "#);
}

#[tokio::test]
async fn integers_beyond_a_double_are_shown_and_stored_as_they_came() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    peer.on_send(&Answer::big_integers());
    let world = World::new().with_agent(&peer.url()).await;

    let done = world
        .missive()
        .send(&Send::text(py(), "x"), &mut patient())
        .await
        .unwrap();

    let raw = done.report.answer.raw.unwrap();
    assert!(raw.get().contains("9007199254740993"));
    assert!(world.stored().await.contains("9007199254740993"));
}

#[tokio::test]
async fn an_interface_that_nobody_listens_at_is_a_failure_and_nothing_was_sent() {
    let peer = ScriptedPeer::start();
    let interface = json!([{
        "url": refused_url(), "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
    }]);
    peer.card(&json!({"supportedInterfaces": interface}));
    let world = World::new().with_agent(&peer.url()).await;

    let error = world
        .missive()
        .send(&Send::text(py(), "x"), &mut patient())
        .await
        .unwrap_err();

    assert_eq!(
        (error.exit().number(), error.detail()),
        (69, Some("connect_refused"))
    );
    // The card had just been fetched, so it is not asked for again.
    assert_eq!(
        world.kinds().await,
        [
            "a2a.card.requested",
            "a2a.card.fetched",
            "a2a.send.requested",
            "a2a.send.failed"
        ]
    );
}

#[tokio::test]
async fn a_cached_interface_that_is_gone_is_looked_up_again_exactly_once() {
    let old = ScriptedPeer::start();
    old.card(&json!({}));
    let world = World::new().with_agent(&old.url()).await;
    let missive = world.missive();
    missive
        .agent_refresh(&alias("py"), &mut patient())
        .await
        .unwrap();
    let new = ScriptedPeer::start();
    new.on_send(&task());
    old.card(&json!({"supportedInterfaces": new.interfaces(&["JSONRPC"])}));

    let done = missive
        .send(&Send::text(py(), "x"), &mut patient())
        .await
        .unwrap();

    assert_eq!(done.report.interface.url, format!("{}/rpc", new.url()));
    assert_eq!(
        world.kinds().await[2..],
        [
            "a2a.send.requested",
            "a2a.send.failed",
            "a2a.card.requested",
            "a2a.card.fetched",
            "a2a.send.requested",
            "a2a.send.responded"
        ]
    );
    let sent = [old.requests(), new.requests()].concat();
    let ids: Vec<_> = sent
        .iter()
        .filter(|seen| seen.method == "POST")
        .map(|seen| {
            seen.json()
                .to_string()
                .contains(&done.report.request.message_id)
        })
        .collect();
    assert_eq!(ids, [true, true]);
}

#[tokio::test]
async fn what_can_be_known_to_be_wrong_is_refused_before_anything_is_sent_or_recorded() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"extensions": [{"uri": "https://x.example/e", "required": true}]}}));
    peer.on_send(&task());
    let mut world = World::new().with_agent(&peer.url()).await;
    let missive = world.missive();
    missive
        .agent_refresh(&alias("py"), &mut patient())
        .await
        .unwrap();
    let before = world.events().await.len();
    let plain = || Send::text(py(), "x");
    let mut said = Vec::new();

    said.push(told(
        &missive.send(&plain(), &mut patient()).await.unwrap_err(),
    ));
    world.requests.extensions = vec!["https://x.example/e".to_owned()];
    let mut empty = plain();
    empty.parts.clear();
    let mut odd_context = plain();
    odd_context.context = Some("not a context".to_owned());
    let mut grpc = plain();
    grpc.binding = Some(Binding::Grpc);
    let missive = world.missive();
    for command in [empty, odd_context, grpc] {
        said.push(told(
            &missive.send(&command, &mut patient()).await.unwrap_err(),
        ));
    }
    world.config.qos.request_bytes_max = 10;
    let missive = world.missive();
    said.push(told(
        &missive.send(&plain(), &mut patient()).await.unwrap_err(),
    ));
    world.requests.protocol_version = Some("0.3".to_owned());
    let missive = world.missive();
    said.push(told(
        &missive.send(&plain(), &mut patient()).await.unwrap_err(),
    ));

    insta::assert_snapshot!(said.join("\n"), @r"
    76 extension_required the agent requires the extension https://x.example/e
    64 no_parts a message needs at least one part
    66 context no context is called not a context
    69 no_mutual_binding no interface of the agent can be used: only grpc was asked for
    65 too_large the request of 106 bytes is larger than the 10 allowed
    64 version A2A 0.3 is not spoken here
    ");
    assert_eq!(world.events().await.len(), before);
    assert!(peer.requests().iter().all(|seen| seen.method == "GET"));
}
