//! Calls about push configurations as they leave, and their answers.

use super::*;
use crate::wire::answer::{Answer, Fault, Reading, Reply, read};
use crate::wire::json::Limits;
use crate::wire::negotiate::{Choice, Source};
use crate::wire::request::{Extras, Operation, build};
use crate::wire::version::{Binding, Version};

fn choice(binding: Binding, tenant: Option<&str>) -> Choice {
    Choice {
        binding,
        url: "https://h.example/api".to_owned(),
        protocol_version: Version { major: 1, minor: 0 },
        tenant: tenant.map(str::to_owned),
        source: Source::Card,
        reason: String::new(),
        foreign_host: false,
    }
}

fn calls() -> [PushCall; 4] {
    let secret = |text: &str| Some(Secret::new(text.to_owned()));
    let task_id = || "a/b".to_owned();
    [
        PushCall::Create(NewPushConfig {
            task_id: task_id(),
            config_id: Some("c 1".to_owned()),
            url: "https://me.example/a2a/push?x=1".parse().unwrap(),
            token: secret("t0ken"),
            authentication: Some(PushAuthentication {
                scheme: "Bearer".to_owned(),
                credentials: secret("hunter2"),
            }),
            metadata: None,
        }),
        PushCall::Get {
            task_id: task_id(),
            config_id: "c 1".to_owned(),
        },
        PushCall::List {
            task_id: task_id(),
            page_size: Some(2),
            page_token: Some("p&q".to_owned()),
        },
        PushCall::Delete {
            task_id: task_id(),
            config_id: "c 1".to_owned(),
        },
    ]
}

fn sent(binding: Binding) -> String {
    let lines = calls().map(|call| {
        let chosen = choice(binding, Some("x"));
        let request = build(&chosen, &Operation::Push(call), &Extras::default(), "1").unwrap();
        let body = String::from_utf8(request.body.unwrap_or_default()).unwrap();
        format!("{:?} {} {body}", request.verb, request.url)
    });
    lines.join("\n")
}

#[test]
fn calls_over_http_have_paths_of_their_own_and_the_tenant_where_it_belongs() {
    insta::assert_snapshot!(sent(Binding::HttpJson), @r#"
    Post https://h.example/api/tasks/a%2Fb/pushNotificationConfigs {"tenant":"x","id":"c 1","taskId":"a/b","url":"https://me.example/a2a/push?x=1","token":"t0ken","authentication":{"scheme":"Bearer","credentials":"hunter2"}}
    Get https://h.example/api/x/tasks/a%2Fb/pushNotificationConfigs/c%201 
    Get https://h.example/api/x/tasks/a%2Fb/pushNotificationConfigs?pageSize=2&pageToken=p%26q 
    Delete https://h.example/api/x/tasks/a%2Fb/pushNotificationConfigs/c%201
    "#);
}

#[test]
fn calls_over_json_rpc_have_flat_parameters() {
    insta::assert_snapshot!(sent(Binding::JsonRpc), @r#"
    Post https://h.example/api {"jsonrpc":"2.0","id":"1","method":"CreateTaskPushNotificationConfig","params":{"tenant":"x","id":"c 1","taskId":"a/b","url":"https://me.example/a2a/push?x=1","token":"t0ken","authentication":{"scheme":"Bearer","credentials":"hunter2"}}}
    Post https://h.example/api {"jsonrpc":"2.0","id":"1","method":"GetTaskPushNotificationConfig","params":{"tenant":"x","id":"c 1","taskId":"a/b"}}
    Post https://h.example/api {"jsonrpc":"2.0","id":"1","method":"ListTaskPushNotificationConfigs","params":{"tenant":"x","taskId":"a/b","pageSize":2,"pageToken":"p&q"}}
    Post https://h.example/api {"jsonrpc":"2.0","id":"1","method":"DeleteTaskPushNotificationConfig","params":{"tenant":"x","id":"c 1","taskId":"a/b"}}
    "#);
}

#[test]
fn a_configuration_that_we_build_is_one_for_the_official_types() {
    let call = calls().into_iter().next().unwrap();

    let text = serde_json::to_string(&call.object(None)).unwrap();

    let read: a2a::TaskPushNotificationConfig = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (read.task_id.as_str(), read.id.as_deref()),
        ("a/b", Some("c 1"))
    );
    let authentication = read.authentication.unwrap();
    assert_eq!(authentication.credentials.as_deref(), Some("hunter2"));
}

#[test]
fn a_call_shows_no_secret() {
    let shown = format!("{:?}", calls());

    assert!(!shown.contains("t0ken") && !shown.contains("hunter2"));
}

fn answered(binding: Binding, call: &PushCall, status: u16, body: &str) -> Result<Reading, Fault> {
    let media = [("content-type", "application/json")];
    let answer = Answer {
        status,
        headers: media.into_iter().filter(|_| !body.is_empty()).collect(),
        body: body.as_bytes().to_vec(),
    };
    let operation = Operation::Push(call.clone());
    read(binding, &operation, "5", &answer, &Limits::default())
}

#[test]
fn a_configuration_is_read_from_either_binding_without_its_secrets() {
    let [create, get, ..] = calls();
    let config = r#"{"id":"c 1","taskId":"a/b","url":"https://me.example/p","token":"t","authentication":{"scheme":"Basic","credentials":"x"}}"#;
    let wrapped = format!(r#"{{"jsonrpc":"2.0","id":"5","result":{config}}}"#);

    for (binding, call, status, body) in [
        (Binding::HttpJson, &create, 201, config),
        (Binding::HttpJson, &get, 200, config),
        (Binding::JsonRpc, &create, 200, wrapped.as_str()),
    ] {
        let reading = answered(binding, call, status, body).unwrap();

        let Reply::Push(PushReply::Config(read)) = &reading.reply else {
            panic!("a configuration")
        };
        assert_eq!(reading.raw, config);
        assert_eq!(read.config_id.as_deref(), Some("c 1"));
        assert!(read.token && read.credentials && read.scheme.as_deref() == Some("Basic"));
        assert_eq!(reading.odd.as_slice(), []);
    }
}

#[test]
fn a_nested_configuration_is_read_and_flagged() {
    let [_, get, ..] = calls();

    let reading = answered(
        Binding::HttpJson,
        &get,
        200,
        r#"{"taskId":"a/b","pushNotificationConfig":{"id":"c 1","url":"https://me.example/p"}}"#,
    )
    .unwrap();

    let Reply::Push(PushReply::Config(read)) = &reading.reply else {
        panic!("a configuration")
    };
    assert_eq!(read.url.as_deref(), Some("https://me.example/p"));
    assert_eq!(reading.odd.as_slice()[0].code, "missing_field");
}

#[test]
fn a_configuration_of_another_task_is_flagged_and_something_else_is_none() {
    let [_, get, ..] = calls();
    let other = r#"{"id":"c 1","taskId":"z","url":"https://me.example/p"}"#;

    let reading = answered(Binding::HttpJson, &get, 200, other).unwrap();

    assert_eq!(reading.odd.as_slice()[0].code, "task_mismatch");
    for body in ["{}", "[]", "null"] {
        assert!(answered(Binding::HttpJson, &get, 200, body).is_err());
    }
}

#[test]
fn a_list_keeps_the_exact_texts_and_knows_its_next_page() {
    let [_, _, list, _] = calls();
    let body = r#"{"configs":[{"id":"1","taskId":"a/b","url":"https://me.example/p" , "n":1.0}],"nextPageToken":"2"}"#;

    let reading = answered(Binding::HttpJson, &list, 200, body).unwrap();
    let empty = answered(Binding::HttpJson, &list, 200, "{}").unwrap();

    let Reply::Push(PushReply::Configs {
        configs,
        next_page_token,
    }) = &reading.reply
    else {
        panic!("a list")
    };
    assert_eq!(
        configs[0].1,
        r#"{"id":"1","taskId":"a/b","url":"https://me.example/p" , "n":1.0}"#
    );
    assert_eq!(next_page_token.as_deref(), Some("2"));
    assert!(matches!(
        empty.reply,
        Reply::Push(PushReply::Configs { configs, next_page_token: None }) if configs.is_empty()
    ));
}

#[test]
fn every_answer_that_real_agents_give_to_a_deletion_means_that_it_is_gone() {
    let [.., delete] = calls();
    let deleted = |binding, status, body: &str| {
        let reading = answered(binding, &delete, status, body);
        matches!(
            reading.map(|reading| reading.reply),
            Ok(Reply::Push(PushReply::Deleted))
        )
    };

    for (status, body) in [(200, "{}"), (200, ""), (204, ""), (200, "null")] {
        assert!(deleted(Binding::HttpJson, status, body), "{status} {body}");
    }
    for result in ["{}", "null"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":"5","result":{result}}}"#);
        assert!(deleted(Binding::JsonRpc, 200, &body), "{body}");
    }
    let refused = r#"{"error":{"code":404,"message":"no"}}"#;
    assert!(!deleted(Binding::HttpJson, 404, refused));
    assert!(!deleted(Binding::JsonRpc, 200, ""));
}
