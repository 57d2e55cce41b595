//! Answers, good, odd and unusable.

use super::*;
use crate::wire::message::SendMessage;
use crate::wire::packed::tests::packed;
use crate::wire::request::ListTasks;

fn answer(status: u16, media: &str, body: &[u8]) -> Answer {
    let headers = [("content-type", media)].into_iter().collect();
    Answer {
        status,
        headers,
        body: body.to_vec(),
    }
}

fn send() -> Operation {
    Operation::SendMessage(SendMessage::default())
}

fn rpc(body: &str) -> Result<Reading, Fault> {
    let answer = answer(200, "application/json", body.as_bytes());
    read(Binding::JsonRpc, &send(), "5", &answer, &Limits::default())
}

fn http(body: &str) -> Result<Reading, Fault> {
    let answer = answer(200, "application/a2a+json", body.as_bytes());
    read(Binding::HttpJson, &send(), "5", &answer, &Limits::default())
}

#[test]
fn both_bindings_give_the_same_facts_and_the_exact_text() {
    let task = r#"{ "id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"metadata":{"n":9007199254740993} }"#;

    let over_http = http(&format!("{{\"task\":{task}}}")).unwrap();
    let over_rpc = rpc(&format!(
        r#"{{"jsonrpc":"2.0","id":"5","result":{{"task":{task}}}}}"#
    ))
    .unwrap();

    for reading in [over_http, over_rpc] {
        assert_eq!(reading.raw, task);
        let Reply::Task(facts) = reading.reply else {
            panic!("a task")
        };
        assert_eq!(
            (facts.task_id.as_deref(), facts.context_id.as_deref()),
            (Some("t"), Some("c"))
        );
        assert_eq!(reading.odd.as_slice(), []);
    }
}

#[test]
fn an_envelope_that_is_not_an_answer_to_the_question_is_refused() {
    let message = r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#;
    let cases = [
        (
            format!(r#"{{"jsonrpc":"2.0","id":"6","result":{message}}}"#),
            "its JSON-RPC id is not the one that was sent",
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":5,"result":{message}}}"#),
            "its JSON-RPC id is not the one that was sent",
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":null,"result":{message}}}"#),
            "its JSON-RPC id is not the one that was sent",
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","result":{message}}}"#),
            "its JSON-RPC id is not the one that was sent",
        ),
        (
            format!(r#"{{"id":"5","result":{message}}}"#),
            "it does not say jsonrpc 2.0",
        ),
        (
            format!(r#"{{"jsonrpc":"1.0","id":"5","result":{message}}}"#),
            "it does not say jsonrpc 2.0",
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":"5","result":{message},"error":{{"code":1}}}}"#),
            "it holds a result and an error",
        ),
        (
            r#"{"jsonrpc":"2.0","id":"5"}"#.to_owned(),
            "it holds neither a result nor an error",
        ),
        ("[]".to_owned(), "it is no JSON-RPC object"),
    ];

    for (body, why) in cases {
        assert_eq!(rpc(&body).unwrap_err(), broken(why), "{body}");
    }
}

#[test]
fn an_error_without_an_id_counts_only_when_the_request_was_not_read() {
    let unread = rpc(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#);
    let foreign = rpc(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"m"}}"#);
    let ours =
        rpc(r#"{"jsonrpc":"2.0","id":"5","result":null,"error":{"code":-32001,"message":"m"}}"#);

    assert!(matches!(unread, Err(Fault::Peer(_))));
    assert_eq!(
        foreign.unwrap_err(),
        broken("its JSON-RPC id is not the one that was sent")
    );
    assert_eq!(
        ours.unwrap_err().to_string(),
        "the agent answered TASK_NOT_FOUND: m"
    );
}

#[test]
fn a_send_answer_holds_exactly_one_of_task_and_message() {
    let cases = [
        (
            r#"{"task":{"id":"t"},"message":{"messageId":"m"}}"#,
            "it holds a task and a message",
        ),
        ("{}", "it holds neither a task nor a message"),
        ("7", "it holds neither a task nor a message"),
        (
            r#"{"task":null,"message":null}"#,
            "it holds neither a task nor a message",
        ),
        (
            r#"{"kind":"message","messageId":"m"}"#,
            "it has the shape of A2A 0.3, not of 1.0",
        ),
        (
            r#"{"task":{"status":{"state":"TASK_STATE_WORKING"}}}"#,
            "its task has no usable id",
        ),
    ];

    for (body, why) in cases {
        assert_eq!(http(body).unwrap_err(), broken(why), "{body}");
    }
    assert!(
        http(r#"{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}},"message":null}"#)
            .is_ok()
    );
}

#[test]
fn the_status_decides_before_the_type_of_the_body() {
    let status_error = br#"{"error":{"code":404,"status":"NOT_FOUND","message":"m","details":[{"reason":"TASK_NOT_FOUND"}]}}"#;
    for media in [
        "application/a2a+json; charset=utf-8",
        "text/event-stream",
        "text/html",
        "",
    ] {
        let answer = answer(400, media, status_error);

        let fault = read(Binding::HttpJson, &send(), "1", &answer, &Limits::default()).unwrap_err();

        assert_eq!(fault.to_string(), "the agent answered TASK_NOT_FOUND: m");
    }
}

#[test]
fn bodies_that_are_no_answer_say_why() {
    let limits = Limits::default();
    let why = |answer: &Answer| read(Binding::HttpJson, &send(), "1", answer, &limits).unwrap_err();
    let mut gzip = answer(200, "application/json", b"\x1f\x8b");
    gzip.headers
        .0
        .push(("content-encoding".to_owned(), b"gzip".to_vec()));
    let json = |error| Fault::Broken {
        why: "it is no usable JSON",
        json: Some(error),
    };

    assert_eq!(
        why(&gzip),
        broken("its body is compressed, which was not asked for")
    );
    assert_eq!(
        why(&answer(200, "application/json", b"<!doctype html>")),
        broken("it is a web page")
    );
    assert_eq!(
        why(&answer(200, "text/event-stream", b"data: {}\n\n")),
        broken("it is an event stream where one answer was asked for")
    );
    assert_eq!(
        why(&answer(200, "application/json", b"")),
        json(JsonError::Empty)
    );
    assert_eq!(
        why(&answer(200, "application/json", b"{\"a\":\xff}")),
        json(JsonError::NotUtf8 { offset: 5 })
    );
    assert!(matches!(
        why(&answer(
            200,
            "application/json",
            "[".repeat(5_000).as_bytes()
        )),
        Fault::Broken {
            json: Some(JsonError::TooDeep { .. }),
            ..
        }
    ));
}

#[test]
fn odd_answers_are_used_and_flagged() {
    let body = br#"{"task":{"id":"t","id":"u","contextId":"d","status":{"state":"completed"}}}"#;
    let sent = SendMessage {
        context_id: Some("c".to_owned()),
        ..SendMessage::default()
    };

    let reading = read(
        Binding::HttpJson,
        &Operation::SendMessage(sent),
        "1",
        &answer(200, "text/plain", body),
        &Limits::default(),
    )
    .unwrap();

    let codes: Vec<_> = reading
        .odd
        .as_slice()
        .iter()
        .map(|violation| violation.code)
        .collect();
    assert_eq!(
        codes,
        [
            "content_type",
            "duplicate_key",
            "unknown_state",
            "context_mismatch"
        ]
    );
}

#[test]
fn lists_may_leave_out_what_is_empty_and_give_each_task_its_text() {
    let list = Operation::ListTasks(ListTasks::default());
    let read_list = |body: &str| {
        let answer = answer(200, "application/json", body.as_bytes());
        read(Binding::HttpJson, &list, "1", &answer, &Limits::default())
            .unwrap()
            .reply
    };

    let Reply::Tasks {
        tasks,
        next_page_token,
    } = read_list(
        r#"{"tasks":[{"id":"a","status":{"state":"TASK_STATE_WORKING"}}, {"id" : "b"}],"next_page_token":"n"}"#,
    )
    else {
        panic!("a list")
    };
    let empty = read_list(r#"{"nextPageToken":"","pageSize":50}"#);

    assert_eq!(tasks[1].1, r#"{"id" : "b"}"#);
    assert_eq!(tasks[1].0.task_id.as_deref(), Some("b"));
    assert_eq!(next_page_token.as_deref(), Some("n"));
    assert!(matches!(empty, Reply::Tasks { tasks, next_page_token: None } if tasks.is_empty()));
}

#[test]
fn a_compressed_error_of_json_rpc_is_told_and_a_compressed_result_is_not_used() {
    let error =
        r#"{"jsonrpc":"2.0","id":"5","error":{"code":-32001,"message":"never heard of it"}}"#;
    let result = r#"{"jsonrpc":"2.0","id":"5","result":{"message":{}}}"#;
    for headers in [vec![("content-encoding", "gzip")], Vec::new()] {
        for (text, told) in [
            (
                error,
                "the agent answered TASK_NOT_FOUND: never heard of it",
            ),
            (
                result,
                "the agent's answer is unusable: its body is compressed, which was not asked for",
            ),
        ] {
            let answer = Answer {
                status: 200,
                headers: headers.clone().into_iter().collect(),
                body: packed(text.as_bytes()),
            };

            let read = read(Binding::JsonRpc, &send(), "5", &answer, &Limits::default());

            assert_eq!(read.unwrap_err().to_string(), told);
        }
    }
}
