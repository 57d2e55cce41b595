//! Extended cards, and the trace that commands are part of.

use missive_fixtures::{Answer, Gate, ScriptedPeer};
use missive_log::event::facts::TraceParent;
use serde_json::{Value, json};

use super::{World, alias, patient, py, told};
use crate::doubt::in_doubt;
use crate::report::agent::InspectReport;
use crate::wire::version::Binding;
use crate::{CommandError, Done, Exit, Retry, Send};

const EXTENDED: &str = "/rest/extendedAgentCard";
const TOKEN: &str = "s3cret-token-of-tests";
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A peer that has an extended card, over both bindings.
fn peer() -> ScriptedPeer {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"extendedAgentCard": true}}));
    let mut extended = peer.card_value();
    extended["skills"] =
        json!([{"id": "secret-skill", "name": "S", "description": "d", "tags": ["t"]}]);
    peer.on("GET", EXTENDED, Answer::a2a_value(&extended));
    peer.on("POST", "/rpc", Answer::a2a_value(&extended));
    peer
}

async fn inspected(
    world: &World,
    binding: Option<Binding>,
) -> Result<Done<InspectReport>, CommandError> {
    let missive = world.missive();
    missive
        .agent_inspect_extended(&alias("py"), false, binding, &mut patient())
        .await
}

#[tokio::test]
async fn an_extended_card_comes_over_both_bindings_with_the_credentials_and_is_on_record() {
    let peer = peer();
    let world = World::new().with_token(TOKEN).with_agent(&peer.url()).await;

    for binding in [Binding::HttpJson, Binding::JsonRpc] {
        let done = inspected(&world, Some(binding)).await.unwrap();

        assert!(done.report.extended);
        assert_eq!(done.report.skills[0].id, "secret-skill");
        assert!(done.report.raw.unwrap().get().contains("secret-skill"));
    }

    let get = &peer.requests_to("GET", EXTENDED)[0];
    let post = &peer.requests_to("POST", "/rpc")[0];
    for seen in [get, post] {
        assert_eq!(
            seen.header("authorization"),
            Some(&*format!("Bearer {TOKEN}"))
        );
        assert_eq!(seen.header("a2a-version"), Some("1.0"));
    }
    assert_eq!(post.rpc_method().as_deref(), Some("GetExtendedAgentCard"));
    assert_eq!(
        world.kinds().await[2..],
        [
            "a2a.call.requested",
            "a2a.call.responded",
            "a2a.card.extended",
            "a2a.call.requested",
            "a2a.call.responded",
            "a2a.card.extended",
        ]
    );
    // The public card stays what calls go by.
    let public = world
        .missive()
        .agent_inspect(&alias("py"), false, None, &mut patient())
        .await;
    assert_eq!(public.unwrap().report.skills[0].id, "s");
}

#[tokio::test]
async fn without_credentials_or_where_there_is_none_no_extended_card_is_asked_for() {
    let peer = peer();
    let world = World::new().with_agent(&peer.url()).await;

    let nobody = inspected(&world, None).await.unwrap_err();
    peer.card(&json!({"capabilities": {}}));
    let world = world.with_token(TOKEN);
    let none = inspected(&world, None).await.unwrap_err();

    insta::assert_snapshot!(told(&nobody), @"77 credentials an extended card is shown only to who authenticates, and there are no credentials");
    insta::assert_snapshot!(told(&none), @"76 extended_card the agent's card does not offer an extended card");
    assert_eq!(peer.requests_to("GET", EXTENDED).len(), 0);
}

#[tokio::test]
async fn an_extended_card_whose_process_died_is_asked_for_again_by_a_retry() {
    let peer = peer();
    let world = World::new().with_token(TOKEN).with_agent(&peer.url()).await;
    let gate = Gate::new("after the question was read");
    peer.once("GET", EXTENDED, Answer::unavailable().gated(&gate));
    {
        let missive = world.missive();
        let mut interrupt = patient();
        let py = alias("py");
        let asking = missive.agent_inspect_extended(&py, false, None, &mut interrupt);
        tokio::select! {
            _ = asking => panic!("nobody opened the gate"),
            () = gate.arrived() => {}
        }
    }
    gate.open();
    let open = in_doubt(&world.newest(), world.run()).unwrap();
    let operation = open[0].operation.clone().unwrap();

    let retry = Retry {
        operation,
        resend: false,
    };
    let done = world.missive().retry(&retry, &mut patient()).await.unwrap();

    assert_eq!(done.exit, Exit::Done);
    assert_eq!(in_doubt(&world.newest(), world.run()).unwrap(), []);
    let kinds = world.kinds().await;
    assert_eq!(kinds.last().unwrap(), "a2a.card.extended");
    assert_eq!(peer.requests_to("GET", EXTENDED).len(), 2);
}

#[tokio::test]
async fn a_refused_extended_card_is_told_with_its_challenge() {
    let peer = peer();
    peer.on(
        "GET",
        EXTENDED,
        Answer::unauthorized("Bearer realm=\"x\", scope=\"a2a\""),
    );
    let world = World::new().with_token(TOKEN).with_agent(&peer.url()).await;

    let refused = inspected(&world, None).await.unwrap_err();

    assert_eq!(refused.exit().number(), 77);
    let CommandError::Failed(crate::Failure::Peer { error, .. }) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(error.challenges, ["Bearer realm=\"x\", scope=\"a2a\""]);
}

#[tokio::test]
async fn an_extended_card_that_is_none_is_a_fault_of_the_agent() {
    let peer = peer();
    peer.on("GET", EXTENDED, Answer::a2a_value(&json!({"name": "x"})));
    let world = World::new().with_token(TOKEN).with_agent(&peer.url()).await;

    let refused = inspected(&world, None).await.unwrap_err();

    insta::assert_snapshot!(told(&refused), @"76 broken_answer the agent's answer is unusable: it holds no agent card of A2A 1.0");
}

#[tokio::test]
async fn what_agents_can_do_is_told_of_one_and_of_all_with_those_that_are_silent() {
    let peer = peer();
    let mut world = World::new();
    let silent = crate::config::AgentSeed {
        url: missive_fixtures::refused_url(),
        interfaces: Vec::new(),
        binding_preference: Vec::new(),
        auth_ref: None,
        tags: Vec::new(),
        notes: None,
        metadata: std::collections::BTreeMap::new(),
    };
    world.config.agents.insert("silent".to_owned(), silent);
    let world = world.with_agent(&peer.url()).await;
    let missive = world.missive();

    let one = missive
        .agent_capabilities(Some(&alias("py")), false, &mut patient())
        .await
        .unwrap();
    let all = missive
        .agent_capabilities(None, false, &mut patient())
        .await
        .unwrap();

    assert!(one.report.agents[0].capabilities.extended_agent_card);
    let seen: Vec<(&str, bool)> = all
        .report
        .agents
        .iter()
        .map(|agent| (agent.agent.as_str(), agent.error.is_some()))
        .collect();
    assert_eq!(seen, [("py", false), ("silent", true)]);
    assert!(
        missive
            .agent_capabilities(Some(&alias("silent")), false, &mut patient())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn the_trace_of_the_environment_goes_with_every_request_and_stands_in_every_event() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    peer.on_send(&Answer::a2a(missive_fixtures::wire(
        "send/task_completed.json",
    )));
    let mut world = World::new();
    world.requests.trace = Some(TraceParent::new(TRACE).unwrap());
    let world = world.with_agent(&peer.url()).await;

    world
        .missive()
        .send(&Send::text(py(), "hi"), &mut patient())
        .await
        .unwrap();

    for seen in peer.requests() {
        assert_eq!(seen.header_values("traceparent"), [TRACE], "{}", seen.path);
    }
    for event in world.events().await.into_iter().skip(1) {
        let trace = event.trace.map(|trace| trace.to_string());
        assert_eq!(trace.as_deref(), Some(TRACE), "{}", event.kind.name());
    }
}

#[tokio::test]
async fn a_trace_that_the_user_gives_as_a_header_is_not_sent_twice() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    let mut world = World::new();
    world.requests.trace = Some(TraceParent::new(TRACE).unwrap());
    let own = ("TraceParent".to_owned(), TRACE.replace("-01", "-00"));
    world.requests.service_params = vec![own.clone()];
    let world = world.with_agent(&peer.url()).await;

    let shown = world
        .missive()
        .agent_inspect(&alias("py"), false, None, &mut patient())
        .await;

    let card: Value = serde_json::from_str(shown.unwrap().report.raw.unwrap().get()).unwrap();
    assert_eq!(card["name"], "scripted");
    assert_eq!(peer.requests()[0].header_values("traceparent"), [&*own.1]);
}
