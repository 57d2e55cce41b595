//! Cards as calls go by them: what they hide, forbid, move and get wrong.

use std::time::Duration;

use missive_fixtures::{Answer, EchoAgent, ScriptedPeer, Setup};
use serde_json::json;

use super::{World, alias, patient, py, told};
use crate::doubt::in_doubt;
use crate::report::send::Resolution;
use crate::{Retry, Send};

const WELL_KNOWN: &str = "/.well-known/agent-card.json";
/// Looks like a credential wherever it stands.
const SECRET: &str = "token=abcdef1234";

/// An agent whose card names everything that a call repeats with a secret in it.
fn secretive() -> EchoAgent {
    let agent = EchoAgent::with(Setup {
        tenant: Some(SECRET.to_owned()),
        required_extension: Some(format!("https://x.example/e?{SECRET}")),
        cache_control: Some("max-age=60".to_owned()),
        ..Setup::default()
    });
    agent.change_card(&json!({"supportedInterfaces": [{
        "url": format!("{}/rpc?{SECRET}", agent.url()),
        "protocolBinding": "JSONRPC",
        "protocolVersion": "1.0",
        "tenant": SECRET,
    }]}));
    agent
}

/// A world that knows the agent and declares its extension.
async fn world_of(agent: &EchoAgent) -> World {
    let mut world = World::new();
    world.requests.extensions = vec![format!("https://x.example/e?{SECRET}")];
    world.with_agent(&agent.url()).await
}

fn hi() -> Send {
    Send::text(py(), "echo hi")
}

#[tokio::test]
async fn calls_go_by_what_a_card_really_says_although_its_secrets_are_not_stored() {
    let agent = secretive();
    let world = world_of(&agent).await;
    let missive = world.missive();

    let mut said = Vec::new();
    for _ in 0..3 {
        let sent = missive.send(&hi(), &mut patient()).await.unwrap();
        said.push(serde_json::to_string(&sent.report.interface).unwrap());
    }

    let posts = agent.peer().requests_to("POST", "/rpc");
    assert_eq!(posts.len(), 3);
    for post in posts {
        assert_eq!(post.query_value("token"), Some("abcdef1234"));
        assert_eq!(post.json()["params"]["tenant"], SECRET);
    }
    let cards = agent.peer().requests_to("GET", WELL_KNOWN);
    let tags: Vec<_> = cards
        .iter()
        .map(|seen| seen.header("if-none-match"))
        .collect();
    assert_eq!(tags, [None, None, None]);
    assert!(!world.stored().await.contains("abcdef1234"));
    assert!(!said.concat().contains("abcdef1234"), "{said:?}");
}

#[tokio::test]
async fn no_call_is_made_by_a_card_whose_secrets_cannot_be_asked_for_again() {
    let agent = secretive();
    let world = world_of(&agent).await;
    let missive = world.missive();
    missive.send(&hi(), &mut patient()).await.unwrap();
    agent.peer().on("GET", WELL_KNOWN, Answer::unavailable());

    let refused = missive.send(&hi(), &mut patient()).await.unwrap_err();

    insta::assert_snapshot!(told(&refused).replace(&agent.url(), "<agent>"), @"69 http_status no card from <agent>/.well-known/agent-card.json: the agent answered HTTP 503 with a web page");
    let notes: Vec<String> = missive
        .take_notes()
        .iter()
        .map(ToString::to_string)
        .collect();
    insta::assert_snapshot!(notes.join("\n"), @"the known card is not used, since what a call needs of it looks like a secret, and secrets are not stored");
    assert_eq!(agent.messages().len(), 1);
}

#[tokio::test]
async fn a_doubt_is_asked_about_where_the_message_really_went() {
    let agent = secretive();
    let world = world_of(&agent).await;
    agent.next_send_answers(Answer::close());
    let missive = world.missive();
    let task = Send::text(py(), "task report");
    missive.send(&task, &mut patient()).await.unwrap_err();
    let open = in_doubt(&world.newest(), world.run()).unwrap();
    let retry = Retry {
        operation: open[0].operation.clone().unwrap(),
        resend: false,
    };

    agent.peer().on("GET", WELL_KNOWN, Answer::unavailable());
    let shut = missive.retry(&retry, &mut patient()).await.unwrap_err();
    let asked = agent.peer().requests_to("POST", "/rpc").len();
    agent.peer().on(
        "GET",
        WELL_KNOWN,
        Answer::json(200, &ScriptedPeer::start().card_value()),
    );
    let moved = missive.retry(&retry, &mut patient()).await.unwrap_err();
    let still_asked = agent.peer().requests_to("POST", "/rpc").len();
    agent.peer().on(
        "GET",
        WELL_KNOWN,
        Answer::json(
            200,
            &json!({"name": "n", "supportedInterfaces": [{
                "url": format!("{}/rpc?{SECRET}", agent.url()),
                "protocolBinding": "JSONRPC",
                "protocolVersion": "1.0",
                "tenant": SECRET,
            }]}),
        ),
    );
    let found = missive.retry(&retry, &mut patient()).await.unwrap();

    assert_eq!((shut.exit().number(), asked), (86, 1));
    assert_eq!((moved.exit().number(), still_asked), (69, 1));
    insta::assert_snapshot!(moved.to_string().replace(&retry.operation.to_string(), "<operation>"), @"the interface of operation <operation> cannot be asked: it is named by a secret, which is not stored, and the agent's card does not name it any more");
    assert_eq!(found.report.resolution, Resolution::Found);
    assert!(!world.stored().await.contains("abcdef1234"));
}

#[tokio::test]
async fn a_card_that_may_not_be_stored_is_not_used_again_when_the_next_one_does_not_come() {
    let agent = EchoAgent::with(Setup {
        cache_control: Some("no-store".to_owned()),
        ..Setup::default()
    });
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();
    missive.send(&hi(), &mut patient()).await.unwrap();
    agent.peer().on("GET", WELL_KNOWN, Answer::unavailable());

    let refused = missive.send(&hi(), &mut patient()).await.unwrap_err();

    assert_eq!(refused.exit().number(), 69);
    assert_eq!(agent.messages().len(), 1);
    let notes: Vec<String> = missive
        .take_notes()
        .iter()
        .map(ToString::to_string)
        .collect();
    insta::assert_snapshot!(notes.join("\n"), @"the known card is not used again, since the agent answered `no-store` with it");
}

#[tokio::test]
async fn a_refresh_asks_where_the_card_should_be_and_a_revalidation_where_it_was() {
    let peer = ScriptedPeer::start();
    let card = |name: &str| {
        let mut card = peer.card_value();
        card["name"] = json!(name);
        Answer::json(200, &card).header("cache-control", "max-age=60")
    };
    peer.on("GET", WELL_KNOWN, card("at the root"));
    let world = World::new()
        .with_agent(&format!("{}/team", peer.url()))
        .await;
    let missive = world.missive();
    let name = alias("py");
    missive.agent_refresh(&name, &mut patient()).await.unwrap();
    peer.on("GET", &format!("/team{WELL_KNOWN}"), card("of the team"));
    let before = peer.requests().len();

    world.later(Duration::from_secs(61));
    let looked = missive
        .agent_inspect(&name, false, None, &mut patient())
        .await
        .unwrap();
    let revalidation: Vec<String> = peer.requests()[before..]
        .iter()
        .map(|seen| seen.path.clone())
        .collect();
    let refreshed = missive.agent_refresh(&name, &mut patient()).await.unwrap();

    assert_eq!(revalidation, [WELL_KNOWN]);
    assert_eq!(looked.report.agent.card.unwrap().name, "at the root");
    assert_eq!(refreshed.report.agent.card.unwrap().name, "of the team");
}

#[tokio::test]
async fn defects_of_a_card_are_told_whenever_it_was_asked_for_and_kept_for_later() {
    let peer = ScriptedPeer::start();
    let mut card = peer.card_value();
    let good = card["supportedInterfaces"][0].clone();
    let url = good["url"].clone();
    card["supportedInterfaces"] = json!([
        {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        {"url": url, "protocolBinding": "JSONRPC"},
        {"url": url, "protocolBinding": "jsonrpc", "protocolVersion": "1.0"},
        {"url": "h.example:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
        {"url": "http://10.1.2.3/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        good,
    ]);
    let page = Answer::text(200, &card.to_string()).header("cache-control", "max-age=60");
    peer.on("GET", WELL_KNOWN, page);
    let world = World::new().with_agent(&peer.url()).await;
    let missive = world.missive();

    missive
        .agent_refresh(&alias("py"), &mut patient())
        .await
        .unwrap();
    let told = missive.take_notes();
    let cached = missive
        .agent_inspect(&alias("py"), false, None, &mut patient())
        .await
        .unwrap();

    let told: Vec<String> = told.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    the agent's card is defective: content_type: the card is not sent as JSON
    the agent's card is defective: interface 2: the entry has no protocolVersion
    the agent's card is defective: interface 3: `jsonrpc` is no binding name; `JSONRPC` is probably meant
    the agent's card is defective: interface 5: 10.1.2.3 is a private address, and the card came from 127.0.0.1
    ");
    assert_eq!(missive.take_notes(), []);
    insta::assert_snapshot!(cached.report.violations.join("\n"), @"content_type: the card is not sent as JSON");
}
