//! Requests as the bytes and addresses that leave.

use proptest::prelude::*;
use serde_json::Value;

use super::super::json::{JsonText, Limits};
use super::super::message::{Content, Part};
use super::super::negotiate::Source;
use super::super::version::Version;
use super::*;

fn choice(binding: Binding, url: &str, tenant: Option<&str>) -> Choice {
    Choice {
        binding,
        url: url.to_owned(),
        protocol_version: Version { major: 1, minor: 0 },
        tenant: tenant.map(str::to_owned),
        source: Source::Card,
        reason: String::new(),
        foreign_host: false,
    }
}

fn shown(request: &Request) -> String {
    let mut lines = vec![format!("{:?} {}", request.verb, request.url)];
    lines.extend(request.headers.iter().map(|(name, value)| match value {
        HeaderText::Plain(text) => format!("{name}: {text}"),
        HeaderText::Secret(secret) => format!("{name}: {secret:?}"),
    }));
    let body = request.body.clone().unwrap_or_default();
    lines.push(String::from_utf8(body).unwrap());
    lines.join("\n")
}

fn json(text: &str) -> JsonText {
    JsonText::parse(text, &Limits::default()).unwrap()
}

fn full_message() -> SendMessage {
    let part = |content| Part {
        content,
        filename: None,
        media_type: None,
        metadata: None,
    };
    SendMessage {
        message_id: "m-1".to_owned(),
        context_id: Some("c".to_owned()),
        task_id: Some("t".to_owned()),
        reference_task_ids: vec!["r".to_owned()],
        parts: vec![
            Part::text("hi \"you\""),
            Part {
                filename: Some("a.bin".to_owned()),
                media_type: Some("x/y".to_owned()),
                ..part(Content::Raw(vec![255, 0]))
            },
            part(Content::Url("https://f.example/x".to_owned())),
            part(Content::Data(json("{\"id\":9007199254740993, \"f\":1.0}"))),
            Part {
                metadata: Some(json("{}")),
                ..part(Content::Data(json("null")))
            },
        ],
        metadata: Some(json("{\"k\":\"v\"}")),
        accepted_output_modes: vec!["text/plain".to_owned()],
        history_length: Some(0),
        return_immediately: true,
    }
}

#[test]
fn every_message_that_we_build_is_one_for_the_official_types() {
    let least = SendMessage {
        message_id: "m-2".to_owned(),
        parts: vec![Part::text("hi")],
        ..SendMessage::default()
    };
    for message in [full_message(), least] {
        for (binding, tenant) in [
            (Binding::HttpJson, None),
            (Binding::HttpJson, Some("t")),
            (Binding::JsonRpc, Some("t")),
        ] {
            let chosen = choice(binding, "https://h.example/api", tenant);
            let operation = Operation::SendMessage(message.clone());

            let request = build(&chosen, &operation, &Extras::default(), "1").unwrap();

            let body: Value = serde_json::from_slice(&request.body.unwrap()).unwrap();
            let object = body.get("params").unwrap_or(&body).clone();
            let read: a2a::SendMessageRequest = serde_json::from_value(object).unwrap();
            assert_eq!(read.message.message_id, message.message_id);
            assert_eq!(read.message.context_id, message.context_id);
            assert_eq!(read.message.task_id, message.task_id);
            assert_eq!(read.message.parts.len(), message.parts.len());
            assert_eq!(read.tenant.as_deref(), tenant);
        }
    }
}

#[test]
fn a_message_leaves_over_http_as_a_bare_object_with_the_tenant_in_it() {
    let chosen = choice(Binding::HttpJson, "https://h.example/api/", Some("a/b é"));
    let extras = Extras {
        extensions: vec!["https://x.example/e".to_owned(), "urn:two".to_owned()],
        service_params: vec![("X-Trace".to_owned(), "7".to_owned())],
        headers: vec![("X-Api-Key".to_owned(), Secret::new("hunter2".to_owned()))],
        bearer: Some(Secret::new("t0ken".to_owned())),
    };

    let request = build(
        &chosen,
        &Operation::SendMessage(full_message()),
        &extras,
        "1",
    )
    .unwrap();

    insta::assert_snapshot!(shown(&request), @r#"
    Post https://h.example/api/message:send
    Accept: application/a2a+json, application/json;q=0.9
    Content-Type: application/a2a+json
    A2A-Version: 1.0
    A2A-Extensions: https://x.example/e, urn:two
    X-Trace: 7
    X-Api-Key: Secret(..)
    Authorization: Secret(..)
    {"tenant":"a/b é","message":{"messageId":"m-1","contextId":"c","taskId":"t","role":"ROLE_USER","parts":[{"text":"hi \"you\""},{"raw":"/wA=","filename":"a.bin","mediaType":"x/y"},{"url":"https://f.example/x"},{"data":{"id":9007199254740993, "f":1.0}},{"data":null,"metadata":{}}],"metadata":{"k":"v"},"referenceTaskIds":["r"]},"configuration":{"acceptedOutputModes":["text/plain"],"historyLength":0,"returnImmediately":true}}
    "#);
}

#[test]
fn a_message_leaves_over_json_rpc_at_the_declared_address_with_nothing_invented() {
    let chosen = choice(Binding::JsonRpc, "https://h.example/team?key=1", None);
    let message = SendMessage {
        message_id: "m".to_owned(),
        parts: vec![Part::text("hi")],
        ..SendMessage::default()
    };

    let request = build(
        &chosen,
        &Operation::SendMessage(message),
        &Extras::default(),
        "op-7",
    )
    .unwrap();

    insta::assert_snapshot!(shown(&request), @r#"
    Post https://h.example/team?key=1
    Accept: application/json
    Content-Type: application/json
    A2A-Version: 1.0
    {"jsonrpc":"2.0","id":"op-7","method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}
    "#);
}

#[test]
fn ids_and_tenants_are_single_path_segments_and_every_request_names_its_version() {
    let get = Operation::GetTask {
        task_id: "../a:b?c#d/é".to_owned(),
        history_length: Some(3),
    };
    let list = Operation::ListTasks(ListTasks {
        context_id: Some("c&d".to_owned()),
        page_size: Some(50),
        page_token: Some("a+b=".to_owned()),
        ..ListTasks::default()
    });
    let address = |operation: &Operation, tenant| {
        let chosen = choice(Binding::HttpJson, "https://h.example/api?k=v", tenant);
        let request = build(&chosen, operation, &Extras::default(), "1").unwrap();
        assert!(
            request
                .headers
                .iter()
                .any(|(name, _)| name == "A2A-Version")
        );
        request.url.to_string()
    };

    assert_eq!(
        address(&get, Some("a/b é")),
        "https://h.example/api/a%2Fb%20%C3%A9/tasks/..%2Fa%3Ab%3Fc%23d%2F%C3%A9?k=v&historyLength=3"
    );
    assert_eq!(
        address(&list, None),
        "https://h.example/api/tasks?k=v&contextId=c%26d&pageSize=50&pageToken=a%2Bb%3D"
    );
}

#[test]
fn reading_operations_carry_the_tenant_in_json_rpc() {
    let chosen = choice(Binding::JsonRpc, "https://h.example", Some("x"));
    let body = |operation: &Operation| {
        let request = build(&chosen, operation, &Extras::default(), "1").unwrap();
        String::from_utf8(request.body.unwrap()).unwrap()
    };

    let get = body(&Operation::GetTask {
        task_id: "t".to_owned(),
        history_length: None,
    });
    let list = body(&Operation::ListTasks(ListTasks::default()));
    let filtered = Operation::ListTasks(ListTasks {
        status: Some(TaskState::InputRequired),
        status_timestamp_after: Some("2026-12-01T00:00:00Z".to_owned()),
        include_artifacts: true,
        ..ListTasks::default()
    });

    assert_eq!(
        get,
        r#"{"jsonrpc":"2.0","id":"1","method":"GetTask","params":{"tenant":"x","id":"t"}}"#
    );
    assert_eq!(
        list,
        r#"{"jsonrpc":"2.0","id":"1","method":"ListTasks","params":{"tenant":"x"}}"#
    );
    assert_eq!(
        body(&filtered),
        r#"{"jsonrpc":"2.0","id":"1","method":"ListTasks","params":{"tenant":"x","status":"TASK_STATE_INPUT_REQUIRED","statusTimestampAfter":"2026-12-01T00:00:00Z","includeArtifacts":true}}"#
    );
    let over_http = choice(Binding::HttpJson, "https://h.example", None);
    let request = build(&over_http, &filtered, &Extras::default(), "1").unwrap();
    assert_eq!(
        request.url.as_str(),
        "https://h.example/tasks?status=TASK_STATE_INPUT_REQUIRED&statusTimestampAfter=2026-12-01T00%3A00%3A00Z&includeArtifacts=true"
    );
}

#[test]
fn streams_and_cancellations_leave_by_their_own_addresses_and_methods() {
    let task_id = || "a/b".to_owned();
    let subscribe = |verb| Operation::SubscribeToTask {
        task_id: task_id(),
        verb,
    };
    let operations = [
        Operation::SendStreamingMessage(SendMessage::default()),
        subscribe(Verb::Post),
        subscribe(Verb::Get),
        Operation::CancelTask { task_id: task_id() },
    ];
    let sent = |binding| {
        let chosen = choice(binding, "https://h.example/api", Some("x"));
        let requests = operations
            .iter()
            .map(|operation| build(&chosen, operation, &Extras::default(), "1").unwrap());
        requests
            .map(|request| {
                let body = request.body.clone().unwrap_or_default();
                let (_, accept) = &request.headers[0];
                let (url, body) = (&request.url, String::from_utf8(body).unwrap());
                format!("{:?} {url} {} {body}", request.verb, accept.expose())
            })
            .collect::<Vec<_>>()
            .join("\n")
    };

    insta::assert_snapshot!(sent(Binding::HttpJson), @r#"
    Post https://h.example/api/message:stream text/event-stream, application/a2a+json;q=0.9, application/json;q=0.8 {"tenant":"x","message":{"messageId":"","role":"ROLE_USER","parts":[]}}
    Post https://h.example/api/tasks/a%2Fb:subscribe text/event-stream, application/a2a+json;q=0.9, application/json;q=0.8 {"tenant":"x"}
    Get https://h.example/api/x/tasks/a%2Fb:subscribe text/event-stream, application/a2a+json;q=0.9, application/json;q=0.8 
    Post https://h.example/api/tasks/a%2Fb:cancel application/a2a+json, application/json;q=0.9 {"tenant":"x"}
    "#);
    insta::assert_snapshot!(sent(Binding::JsonRpc), @r#"
    Post https://h.example/api text/event-stream, application/json;q=0.9 {"jsonrpc":"2.0","id":"1","method":"SendStreamingMessage","params":{"tenant":"x","message":{"messageId":"","role":"ROLE_USER","parts":[]}}}
    Post https://h.example/api text/event-stream, application/json;q=0.9 {"jsonrpc":"2.0","id":"1","method":"SubscribeToTask","params":{"tenant":"x","id":"a/b"}}
    Post https://h.example/api text/event-stream, application/json;q=0.9 {"jsonrpc":"2.0","id":"1","method":"SubscribeToTask","params":{"tenant":"x","id":"a/b"}}
    Post https://h.example/api application/json {"jsonrpc":"2.0","id":"1","method":"CancelTask","params":{"tenant":"x","id":"a/b"}}
    "#);
}

#[test]
fn what_must_not_be_sent_is_refused_before_any_request() {
    let chosen = choice(Binding::HttpJson, "https://h.example", None);
    let get = |id: &str| Operation::GetTask {
        task_id: id.to_owned(),
        history_length: None,
    };
    let secret = |text: &str| Secret::new(text.to_owned());
    let refused = |operation: &Operation, extras: Extras| {
        build(&chosen, operation, &extras, "1")
            .unwrap_err()
            .to_string()
    };
    let header = |name: &str, value: &str| Extras {
        headers: vec![(name.to_owned(), secret(value))],
        ..Extras::default()
    };

    assert_eq!(
        refused(&get(".."), Extras::default()),
        "the id `..` cannot stand in a URL path"
    );
    assert_eq!(
        refused(&get("t"), header("A2A-Version", "9")),
        "the header `A2A-Version` is set by missive itself"
    );
    assert_eq!(
        refused(&get("t"), header("X-A", "a\nb")),
        "the value of the header `X-A` holds a control character"
    );
    let twice = Extras {
        bearer: Some(secret("a")),
        ..header("authorization", "Basic b")
    };
    assert_eq!(
        refused(&get("t"), twice),
        "the Authorization header is given twice"
    );
    let split = Extras {
        extensions: vec!["a,b".to_owned()],
        ..Extras::default()
    };
    assert_eq!(refused(&get("t"), split), "`a,b` is no extension URI");
    let token = Extras {
        bearer: Some(secret("a\r\nX: y")),
        ..Extras::default()
    };
    assert_eq!(
        refused(&get("t"), token),
        "the value of the header `Authorization` holds a control character"
    );
}

proptest! {
    /// Any id stays one segment below the declared path, and decodes to itself.
    #[test]
    fn an_id_is_one_segment_that_decodes_to_itself(id in ".{1,40}", path in "(/[a-z0-9]{1,8}){0,3}/?") {
        prop_assume!(id != "." && id != "..");
        let declared = format!("https://h.example{path}");

        let url = below(&declared, &format!("/tasks/{}", segment(&id).unwrap())).unwrap();

        let expected = format!("{}/tasks/", path.trim_end_matches('/'));
        let tail = url.path().strip_prefix(&expected).unwrap();
        prop_assert!(!tail.contains(['/', '?', '#', ':']));
        prop_assert_eq!(decode(tail), id);
        prop_assert_eq!(url.query(), None);
        prop_assert_eq!(url.host_str(), Some("h.example"));
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}
