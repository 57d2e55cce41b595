//! What real servers sent and what the field reports tell, read as a caller would.

use missive_fixtures::{Binding as Dialect, Capture, captures, wire, wire_names};
use proptest::prelude::*;
use serde_json::Value;
use url::Url;

use super::answer::{Answer, Fault, Reading, Reply, read};
use super::card::{Card, CardError, read_card};
use super::headers::{Headers, Media};
use super::json::{Document, Limits};
use super::message::SendMessage;
use super::negotiate::{NoChoice, Wishes, choose};
use super::request::{ListTasks, Operation};
use super::version::Binding;

pub(super) fn answer(capture: &Capture) -> Answer {
    let headers: Headers = capture
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), value.as_bytes()))
        .collect();
    Answer {
        status: capture.status,
        headers,
        body: asked_by_us(capture.body),
    }
}

/// The rig asked with the number 1; missive's own ids are strings.
fn asked_by_us(body: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(body) else {
        return body.to_vec();
    };
    text.replace("\"id\":1,\"jsonrpc\"", "\"id\":\"1\",\"jsonrpc\"")
        .replace("\"2.0\",\"id\":1,", "\"2.0\",\"id\":\"1\",")
        .into_bytes()
}

pub(super) fn operation(name: &str) -> Operation {
    if name.starts_with("list") || name.starts_with("err_page") || name == "err_bad_page_token" {
        Operation::ListTasks(ListTasks::default())
    } else if name.starts_with("get") || name == "cancel" {
        Operation::GetTask {
            task_id: "t".to_owned(),
            history_length: None,
        }
    } else {
        Operation::SendMessage(SendMessage::default())
    }
}

fn outcome(result: &Result<Reading, Fault>) -> String {
    match result {
        Ok(Reading {
            reply: Reply::Task(facts),
            ..
        }) => {
            let state = facts
                .state
                .as_ref()
                .map_or("no state", |state| state.name());
            format!(
                "task {state}, {} artifacts, {} messages",
                facts.artifacts.len(),
                facts.history_count
            )
        }
        Ok(Reading {
            reply: Reply::Message(facts),
            ..
        }) => format!("message `{}`", facts.text),
        Ok(Reading {
            reply:
                Reply::Tasks {
                    tasks,
                    next_page_token,
                },
            ..
        }) => {
            let more = if next_page_token.is_some() {
                ", more"
            } else {
                ""
            };
            format!("{} tasks{more}", tasks.len())
        }
        Ok(Reading {
            reply: Reply::Push(_),
            ..
        }) => "a push configuration".to_owned(),
        Ok(Reading {
            reply: Reply::Card(_),
            ..
        }) => "a card".to_owned(),
        Err(Fault::Peer(error)) => {
            format!("{} {}", error.kind.name(), error.kind.exit().number())
        }
        Err(broken @ Fault::Broken { .. }) => broken.to_string(),
    }
}

/// What the rig asked of missive's own operations, by capture.
pub(super) fn ours(capture: &Capture) -> Option<Binding> {
    let foreign = ["push", "extended", "stream", "subscribe"];
    let name = capture.name.trim_start_matches("err_");
    if capture.is_stream() || foreign.iter().any(|prefix| name.starts_with(prefix)) {
        return None;
    }
    match capture.binding {
        Dialect::JsonRpc => Some(Binding::JsonRpc),
        Dialect::HttpJson => Some(Binding::HttpJson),
        Dialect::Card | Dialect::JsonRpc03 => None,
    }
}

#[test]
fn answers_of_real_servers_are_understood() {
    let limits = Limits::default();
    let mut table = String::new();

    for capture in captures() {
        let Some(binding) = ours(&capture) else {
            continue;
        };
        let result = read(
            binding,
            &operation(capture.name),
            "1",
            &answer(&capture),
            &limits,
        );
        let row = [
            capture.server,
            binding.name(),
            capture.name,
            &outcome(&result),
        ]
        .join(" | ");
        table = table + &row + "\n";
    }

    insta::assert_snapshot!(table);
}

#[test]
fn captured_bodies_are_read_without_loss() {
    let mut objects = 0;
    for capture in captures() {
        if capture.is_stream() || !capture.body.starts_with(b"{") {
            continue;
        }
        let document = Document::read(capture.body, &Limits::default()).unwrap();

        assert_eq!(document.text().as_bytes(), capture.body, "{}", capture.name);

        let Some(binding) = ours(&capture) else {
            continue;
        };
        let answer = answer(&capture);
        if let Ok(reading) = read(
            binding,
            &operation(capture.name),
            "1",
            &answer,
            &Limits::default(),
        ) {
            let body = std::str::from_utf8(capture.body).unwrap();
            assert!(body.contains(&reading.raw), "{}", capture.name);
            assert!(Document::read(reading.raw.as_bytes(), &Limits::default()).is_ok());
            objects += 1;
        }
    }
    assert!(objects > 40, "only {objects} objects");
}

#[test]
fn cards_of_real_servers_are_read_and_lead_to_an_interface() {
    let found: Vec<_> = captures()
        .into_iter()
        .filter(|capture| capture.binding == Dialect::Card)
        .map(|capture| {
            let card = read_card(capture.body, Media::Json, "u", &Limits::default()).unwrap();
            let from = Url::parse("http://127.0.0.1:7/").unwrap();
            let negotiated = choose(&from, Some((&card, &from)), &Wishes::default()).unwrap();
            (
                capture.server,
                card.odd.as_slice().len(),
                negotiated.choice.url,
            )
        })
        .collect();

    assert_eq!(
        found,
        [
            (
                "py-server-compat03",
                0,
                "http://127.0.0.1:7121/rpc".to_owned()
            ),
            ("py-server", 0, "http://127.0.0.1:7101/rpc".to_owned()),
            ("rs-server", 0, "http://127.0.0.1:7103/rpc".to_owned()),
        ]
    );
}

fn card(name: &str) -> Result<Card, CardError> {
    read_card(
        wire(name),
        Media::Json,
        "https://h.example/c",
        &Limits::default(),
    )
}

/// What comes of a card that was served by `h.example`.
fn verdict(name: &str) -> String {
    let from = Url::parse("https://h.example/c").unwrap();
    match card(name) {
        Err(error) => error.to_string(),
        Ok(card) => match choose(&from, Some((&card, &from)), &Wishes::default()) {
            Ok(negotiated) => negotiated.choice.url,
            Err(error) => error.to_string(),
        },
    }
}

#[test]
fn cards_of_the_field_reports_end_as_the_reports_ask() {
    let mut table = String::new();

    for name in wire_names("cards/") {
        table = table + name + " | " + &verdict(name) + "\n";
    }

    insta::assert_snapshot!(table);
}

#[test]
fn answers_of_the_field_reports_end_as_the_reports_ask() {
    let mut table = String::new();

    for name in wire_names("send/").into_iter().chain(wire_names("errors/")) {
        let body = String::from_utf8_lossy(wire(name)).into_owned();
        let rpc = body.contains("\"jsonrpc\"") || name.contains("c035") || name.contains("rpc_");
        let binding = if rpc {
            Binding::JsonRpc
        } else {
            Binding::HttpJson
        };
        let status = if name.starts_with("errors/") && !rpc {
            400
        } else {
            200
        };
        let headers = [("content-type", "application/json")].into_iter().collect();
        let answer = Answer {
            status,
            headers,
            body: asked_by_us(wire(name)),
        };
        let asked_as = if name.starts_with("errors/") {
            "1"
        } else {
            "5"
        };
        let result = read(
            binding,
            &operation("send"),
            asked_as,
            &answer,
            &Limits::default(),
        );
        let odd: Vec<_> = result
            .iter()
            .flat_map(|reading| reading.odd.as_slice())
            .map(|violation| violation.code)
            .collect();
        table = table + name + " | " + &outcome(&result) + " | " + &odd.join(" ") + "\n";
    }

    insta::assert_snapshot!(table);
}

#[test]
fn an_agent_that_offers_only_old_versions_is_told_apart_from_one_that_offers_nothing() {
    let from = Url::parse("https://h.example/c").unwrap();
    let old = card("cards/c008_v03_interfaces_only.json").unwrap();

    let error = choose(&from, Some((&old, &from)), &Wishes::default()).unwrap_err();

    assert!(matches!(error, NoChoice::OnlyOldVersions { .. }), "{error}");
}

/// JSON made of the words that A2A uses, in any shape.
fn a2a_like() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "task",
        "message",
        "result",
        "error",
        "id",
        "status",
        "state",
        "parts",
        "text",
        "raw",
        "data",
        "artifacts",
        "history",
        "tasks",
        "jsonrpc",
        "2.0",
        "1",
        "code",
        "details",
        "reason",
        "supportedInterfaces",
        "protocolBinding",
        "protocolVersion",
        "url",
        "name",
        "skills",
        "capabilities",
        "extensions",
        "context_id",
        "TASK_STATE_WORKING",
        "http://h",
        "JSONRPC",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Whatever shape an answer or a card has, it is read or refused.
    #[test]
    fn no_shape_of_json_makes_a_reader_panic(value in a2a_like(), status in 100_u16..600) {
        let text = value.to_string();
        let headers = [("content-type", "application/json")].into_iter().collect();
        let answer = Answer { status, headers, body: text.clone().into_bytes() };
        for binding in [Binding::HttpJson, Binding::JsonRpc] {
            for name in ["send", "get", "list"] {
                let result = read(binding, &operation(name), "1", &answer, &Limits::default());
                prop_assert!(!outcome(&result).is_empty());
            }
        }
        let from = Url::parse("https://h.example/").unwrap();
        if let Ok(card) = read_card(text.as_bytes(), Media::Json, "u", &Limits::default()) {
            let negotiated = choose(&from, Some((&card, &from)), &Wishes::default());
            prop_assert!(negotiated.is_ok() || negotiated.is_err());
        }
    }
}

#[test]
fn extended_cards_of_other_servers_are_read_over_both_bindings() {
    for server in ["py-server", "rs-server"] {
        for (dialect, binding) in [
            (Dialect::HttpJson, Binding::HttpJson),
            (Dialect::JsonRpc, Binding::JsonRpc),
        ] {
            let capture = missive_fixtures::capture(server, dialect, "extended_card");
            let operation = Operation::GetExtendedCard;
            let limits = Limits::default();

            let reading = read(binding, &operation, "1", &answer(&capture), &limits).unwrap();

            let Reply::Card(card) = reading.reply else {
                panic!("no card: {}", reading.raw);
            };
            assert_eq!(card.name, server);
            assert!(reading.raw.starts_with('{') && !card.interfaces.is_empty());
        }
    }
}
