//! Whole operations against a little agent: card, choice, request, call and reading.

use std::time::Duration;

use missive_fixtures::{Answer as Scripted, EchoAgent, Setup};
use url::Url;

use super::super::fetch::{Fetched, fetch_card};
use super::super::http::Settings;
use super::*;
use crate::secret::Secret;
use crate::wire::answer::Reply;
use crate::wire::card::missing_extensions;
use crate::wire::message::{Part, SendMessage};
use crate::wire::negotiate::{Choice, Wishes, choose};
use crate::wire::request::{Extras, ListTasks, build};

async fn interface(agent: &EchoAgent, binding: Binding) -> Choice {
    let base = Url::parse(&agent.url()).unwrap();
    let fetch = fetch_card(
        &HttpCaller::default(),
        &base,
        None,
        &Extras::default(),
        None,
    )
    .await;
    let Ok(Fetched::New { card, .. }) = fetch.outcome else {
        panic!("{:?}", fetch.outcome)
    };
    let wishes = Wishes {
        only: Some(binding),
        ..Wishes::default()
    };
    choose(&base, Some((&card, &fetch.url)), &wishes)
        .unwrap()
        .choice
}

async fn perform(choice: &Choice, operation: &Operation, extras: &Extras) -> Asked {
    let request = build(choice, operation, extras, "op-1").unwrap();
    let settings = Settings {
        first_byte: Some(Duration::from_secs(5)),
        ..Settings::default()
    };
    let caller = HttpCaller::new(settings);
    ask(
        &caller,
        choice.binding,
        operation,
        &request,
        "op-1",
        None,
        &Sent::default(),
    )
    .await
}

fn message(text: &str) -> Operation {
    Operation::SendMessage(SendMessage {
        message_id: "m-1".to_owned(),
        parts: vec![Part::text(text)],
        return_immediately: true,
        ..SendMessage::default()
    })
}

const BINDINGS: [Binding; 2] = [Binding::HttpJson, Binding::JsonRpc];

#[tokio::test]
async fn a_message_is_sent_a_task_followed_and_found_again_in_both_bindings() {
    for binding in BINDINGS {
        let agent = EchoAgent::with(Setup {
            tenant: Some("a/b é".to_owned()),
            ..Setup::default()
        });
        let choice = interface(&agent, binding).await;
        let extras = Extras::default();

        let hello = perform(&choice, &message("echo hi"), &extras).await;
        let slow = perform(&choice, &message("slow 1"), &extras).await;
        let Ok(Reading {
            reply: Reply::Task(task),
            ..
        }) = slow.meaning
        else {
            panic!("{:?}", slow.meaning)
        };
        let get = Operation::GetTask {
            task_id: task.task_id.clone().unwrap(),
            history_length: None,
        };
        let later = perform(&choice, &get, &extras).await;
        let list = Operation::ListTasks(ListTasks {
            context_id: task.context_id,
            ..ListTasks::default()
        });
        let listed = perform(&choice, &list, &extras).await;

        assert!(
            matches!(&hello.meaning, Ok(Reading { reply: Reply::Message(facts), .. }) if facts.text == "hi"),
            "{:?}",
            hello.meaning
        );
        assert_eq!(task.state.unwrap().name(), "working");
        assert!(
            matches!(
                later.meaning,
                Ok(Reading {
                    reply: Reply::Task(_),
                    ..
                })
            ),
            "{:?}",
            later.meaning
        );
        let Ok(Reading {
            reply: Reply::Tasks { tasks, .. },
            ..
        }) = listed.meaning
        else {
            panic!("{:?}", listed.meaning)
        };
        assert_eq!(tasks.len(), 1);
        assert_eq!(tasks[0].0.message_ids, ["m-1"]);
    }
}

#[tokio::test]
async fn credentials_and_required_extensions_reach_the_agent() {
    let setup = Setup {
        bearer: Some("t0ken".to_owned()),
        required_extension: Some("https://x.example/e".to_owned()),
        ..Setup::default()
    };
    let agent = EchoAgent::with(setup);
    let extras = Extras {
        bearer: Some(Secret::new("t0ken".to_owned())),
        extensions: vec!["https://x.example/e".to_owned()],
        ..Extras::default()
    };
    for binding in BINDINGS {
        let choice = interface(&agent, binding).await;

        let allowed = perform(&choice, &message("hi"), &extras).await;
        let stranger = perform(&choice, &message("hi"), &Extras::default()).await;
        let undeclared = Extras {
            extensions: Vec::new(),
            ..extras.clone()
        };
        let refused = perform(&choice, &message("hi"), &undeclared).await;

        assert!(allowed.meaning.is_ok(), "{:?}", allowed.meaning);
        let error = stranger.meaning.unwrap_err();
        assert_eq!(error.exit(false).number(), 77);
        let AskError::Fault(Fault::Peer(error)) = error else {
            panic!("{error:?}")
        };
        assert_eq!(error.challenges, ["Bearer realm=\"scripted\""]);
        let error = refused.meaning.unwrap_err();
        assert_eq!(error.exit(false).number(), 76);
        assert!(
            error
                .to_string()
                .starts_with("the agent answered EXTENSION_SUPPORT_REQUIRED")
        );
    }
}

#[tokio::test]
async fn the_card_tells_which_extensions_would_be_missing_before_anything_is_sent() {
    let setup = Setup {
        required_extension: Some("https://x.example/e".to_owned()),
        ..Setup::default()
    };
    let agent = EchoAgent::with(setup);
    let base = Url::parse(&agent.url()).unwrap();

    let fetch = fetch_card(
        &HttpCaller::default(),
        &base,
        None,
        &Extras::default(),
        None,
    )
    .await;

    let Ok(Fetched::New { card, .. }) = fetch.outcome else {
        panic!("{:?}", fetch.outcome)
    };
    assert_eq!(missing_extensions(&card, &[]), ["https://x.example/e"]);
    assert!(agent.messages().is_empty());
}

#[tokio::test]
async fn a_message_that_was_taken_without_an_answer_is_in_doubt() {
    let faults = [
        Scripted::close(),
        Scripted::reset(),
        Scripted::text(200, "{}").cut_after(1),
    ];
    for fault in faults {
        for binding in BINDINGS {
            let agent = EchoAgent::start();
            let choice = interface(&agent, binding).await;
            agent.next_send_answers(fault.clone());

            let asked = perform(&choice, &message("hi"), &Extras::default()).await;

            assert_eq!(agent.messages().len(), 1);
            assert!(asked.call_error().is_some());
            let error = asked.meaning.unwrap_err();
            assert_eq!(
                (error.exit(false).number(), error.exit(true).number()),
                (86, 69)
            );
        }
    }
}

/// The answer, the exit code, and what the message holds.
fn bad_answers() -> Vec<(Scripted, u8, &'static str)> {
    vec![
        (
            Scripted::html(),
            76,
            "the agent's answer is unusable: it is a web page",
        ),
        (
            Scripted::html_labelled_json(),
            76,
            "the agent's answer is unusable: it is a web page",
        ),
        (
            Scripted::gzip(),
            76,
            "the agent's answer is unusable: its body is compressed, which was not asked for",
        ),
        (
            Scripted::invalid_utf8(),
            76,
            "the agent's answer is unusable: it is no usable JSON",
        ),
        (
            Scripted::a2a("[".repeat(5_000)),
            76,
            "the agent's answer is unusable: it is no usable JSON",
        ),
        (
            Scripted::nested(5_000),
            76,
            "the agent's answer is unusable: it is no usable JSON",
        ),
        (
            Scripted::forbidden(),
            77,
            "the agent answered forbidden (HTTP 403): forbidden",
        ),
        (
            Scripted::too_many_requests("7"),
            69,
            "the agent answered rate limited (HTTP 429)",
        ),
        (
            Scripted::unavailable(),
            69,
            "the agent answered HTTP 503 with a web page",
        ),
        (
            Scripted::a2a_error("task_not_found"),
            66,
            "the agent answered TASK_NOT_FOUND: task not found",
        ),
        (
            Scripted::a2a_error("invalid_params"),
            65,
            "the agent answered INVALID_PARAMS",
        ),
        (
            Scripted::redirect(302, "/x"),
            69,
            "is not followed: it would turn the message into a GET",
        ),
        (
            Scripted::redirect(307, "http://h.example/x"),
            69,
            "the redirect to http://h.example/x is not followed",
        ),
    ]
}

#[tokio::test]
async fn bad_answers_end_as_the_product_says() {
    for (answer, exit, message_of) in bad_answers() {
        for binding in BINDINGS {
            let agent = EchoAgent::start();
            let choice = interface(&agent, binding).await;
            agent.peer().on_send(&answer);

            let asked = perform(&choice, &message("hi"), &Extras::default()).await;

            let error = asked.meaning.unwrap_err();
            assert!(error.to_string().contains(message_of), "{error}");
            assert_eq!(error.exit(false).number(), exit, "{error}");
            assert!(
                matches!(asked.call.reach, Reach::Answered(_)),
                "the bytes are kept"
            );
        }
    }
}

#[tokio::test]
async fn odd_but_usable_answers_are_used() {
    let cases = [
        (Scripted::duplicate_keys(), "duplicate_key duplicate_key"),
        (Scripted::data_null(), ""),
        (Scripted::big_integers(), ""),
    ];
    for (answer, odd) in cases {
        for binding in BINDINGS {
            let agent = EchoAgent::start();
            let choice = interface(&agent, binding).await;
            agent.peer().on_send(&answer);

            let asked = perform(&choice, &message("hi"), &Extras::default()).await;

            let reading = asked.meaning.unwrap();
            let codes: Vec<_> = reading.odd.as_slice().iter().map(|one| one.code).collect();
            assert_eq!(codes.join(" "), odd);
            let Reach::Answered(answer) = &asked.call.reach else {
                panic!("answered")
            };
            assert!(String::from_utf8_lossy(&answer.body).contains(&reading.raw));
        }
    }
}

#[tokio::test]
async fn envelopes_that_answer_another_question_are_refused() {
    let message_answer =
        r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#;
    let cases = [
        Scripted::rpc_wrong_id(message_answer),
        Scripted::rpc_retyped_id(message_answer),
        Scripted::rpc_without_version(message_answer),
        Scripted::rpc_result_and_error(message_answer),
    ];
    for answer in cases {
        let agent = EchoAgent::start();
        let choice = interface(&agent, Binding::JsonRpc).await;
        agent.peer().on_send(&answer);

        let asked = perform(&choice, &message("hi"), &Extras::default()).await;

        assert_eq!(asked.meaning.unwrap_err().exit(false).number(), 76);
    }
}
