//! The registry, the configuration's seeds, and cards.

use std::time::Duration;

use missive_fixtures::{Answer, EchoAgent, ScriptedPeer, Setup};
use missive_log::{AppendError, Batch, Log};
use serde_json::json;

use super::{World, alias, patient, py, told};
use crate::config::AgentSeed;
use crate::decide::Decide;
use crate::decide::agent_add::AgentAdd;
use crate::decide::agent_remove::AgentRemove;
use crate::decide::agent_rename::AgentRename;
use crate::note::Note;
use crate::wire::version::Binding;
use crate::{Refusal, Send, Target};

pub(super) fn seed(url: &str) -> AgentSeed {
    AgentSeed {
        url: url.to_owned(),
        interfaces: Vec::new(),
        binding_preference: Vec::new(),
        auth_ref: None,
        tags: vec!["b".to_owned(), "a".to_owned()],
        notes: Some("from the file".to_owned()),
        metadata: [("team".to_owned(), "ops".to_owned())].into(),
    }
}

#[tokio::test]
async fn an_agent_is_registered_with_all_that_was_said_about_it() {
    let world = World::new();
    let missive = world.missive();
    let mut command = AgentAdd::new(alias("py"), "http://127.0.0.1:7101");
    command.interfaces = vec![(Binding::JsonRpc, "http://127.0.0.1:7101/rpc".to_owned())];
    command.binding_preference = vec![Binding::JsonRpc, Binding::JsonRpc];
    command.tags = vec!["local".to_owned(), "a".to_owned(), "local".to_owned()];
    command.notes = Some("mine".to_owned());
    command.metadata = vec![("team".to_owned(), "\"ops\"".to_owned())];

    let done = missive.agent_add(&command).await.unwrap();

    insta::assert_snapshot!(serde_json::to_string(&done.report).unwrap(), @r#"{"agent":{"alias":"py","base_url":"http://127.0.0.1:7101","tags":["a","local"],"notes":"mine","metadata":{"team":"\"ops\""},"source":"registered","interfaces":[{"binding":"json-rpc","url":"http://127.0.0.1:7101/rpc"}],"binding_preference":["json-rpc"]},"sequence":3}"#);
    let shown = missive.agent_show(&alias("py")).await.unwrap();
    assert_eq!(shown.report.agent.notes.as_deref(), Some("mine"));
    let kinds: Vec<String> = world
        .events()
        .await
        .iter()
        .map(|event| event.kind.name().to_owned())
        .collect();
    assert_eq!(
        kinds,
        [
            "missive.log.created",
            "missive.actor.seen",
            "missive.agent.added"
        ]
    );
}

#[tokio::test]
async fn what_cannot_be_registered_is_refused_and_nothing_is_recorded() {
    let world = World::new().with_agent("http://127.0.0.1:7101").await;
    let before = world.events().await.len();
    let missive = world.missive();
    let mut said = Vec::new();
    let add = |name: &str, url: &str| AgentAdd::new(alias(name), url);
    let mut bad_tag = add("x", "http://h.example");
    bad_tag.tags = vec!["Not a tag".to_owned()];
    let mut bad_interface = add("x", "http://h.example");
    bad_interface.interfaces = vec![(Binding::HttpJson, "h.example".to_owned())];
    let mut bad_ref = add("x", "http://h.example");
    bad_ref.auth_ref = Some("crm".to_owned());

    for command in [
        add("py", "http://127.0.0.1:7102"),
        add("x", "127.0.0.1:7101"),
        add("x", "http://u:hunter2@h.example"),
        add("x", "http://h.example?key=hunter2"),
        bad_tag,
        bad_interface,
        bad_ref,
    ] {
        said.push(told(&missive.agent_add(&command).await.unwrap_err()));
    }

    insta::assert_snapshot!(said.join("\n"), @r"
    64 alias_taken an agent is already called py
    64 url the URL `127.0.0.1:7101` is not absolute: relative URL without a base
    64 url the URL holds credentials
    64 url the URL has a query, which may hold a secret
    64 name `Not a tag` is no tag ([a-z0-9][a-z0-9._-]{0,62})
    64 url the URL `h.example` is not absolute: relative URL without a base
    64 auth_ref the configuration has no [auth_refs.crm]
    ");
    assert_eq!(world.events().await.len(), before);
}

#[tokio::test]
async fn agents_of_the_configuration_can_be_spoken_to_and_not_changed() {
    let agent = EchoAgent::start();
    let mut world = World::new();
    world
        .config
        .agents
        .insert("seed".to_owned(), seed(&agent.url()));
    let missive = world.missive();
    let target = Target::Alias(alias("seed"));

    let sent = missive
        .send(&Send::text(target, "echo hi"), &mut patient())
        .await
        .unwrap();
    let listed = missive.agent_list().await.unwrap().report.agents;
    let removed = missive
        .agent_remove(&AgentRemove {
            alias: alias("seed"),
        })
        .await
        .unwrap_err();
    let added = missive
        .agent_add(&AgentAdd::new(alias("seed"), "http://h.example"))
        .await
        .unwrap_err();

    assert_eq!(sent.report.answer.text, "hi");
    let [view] = &listed[..] else {
        panic!("{listed:?}")
    };
    assert_eq!(
        (view.source, view.tags.join(" ")),
        ("config", "a b".to_owned())
    );
    assert_eq!(view.card.as_ref().unwrap().name, "echo");
    insta::assert_snapshot!(format!("{}\n{}", told(&removed), told(&added)), @r"
    64 configured the agent seed comes from the configuration and cannot be changed here
    64 alias_taken an agent is already called seed
    ");
}

#[tokio::test]
async fn an_unknown_alias_is_answered_with_the_nearest_one() {
    let world = World::new().with_agent("http://127.0.0.1:7101").await;
    let missive = world.missive();

    let error = missive.agent_show(&alias("pz")).await.unwrap_err();

    assert_eq!(told(&error), "66 agent no agent is called pz");
    let crate::CommandError::Refused(Refusal::NoAgent { nearest, .. }) = error else {
        panic!("{error}")
    };
    assert_eq!(nearest, [alias("py")]);
}

#[tokio::test]
async fn a_renamed_agent_keeps_its_card_and_its_old_alias_says_where_it_went() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();
    missive
        .agent_refresh(&alias("py"), &mut patient())
        .await
        .unwrap();

    let command = AgentRename {
        old: alias("py"),
        new: alias("snake"),
    };
    let done = missive.agent_rename(&command).await.unwrap();

    assert_eq!(done.report.previous_alias.as_deref(), Some("py"));
    assert_eq!(done.report.agent.card.unwrap().name, "echo");
    let gone = missive.agent_show(&alias("py")).await.unwrap_err();
    assert!(
        matches!(gone, crate::CommandError::Refused(Refusal::NoAgent { renamed_to: Some(to), .. }) if to == alias("snake"))
    );
    let sent = missive
        .send(
            &Send::text(Target::Alias(alias("snake")), "echo hi"),
            &mut patient(),
        )
        .await;
    assert_eq!(sent.unwrap().report.answer.text, "hi");
    assert_eq!(
        agent
            .peer()
            .requests_to("GET", "/.well-known/agent-card.json")
            .len(),
        1
    );
}

#[tokio::test]
async fn one_alias_is_given_once_however_many_decide_at_the_same_moment() {
    let ada = || AgentRename {
        old: alias("ada"),
        new: alias("snake"),
    };
    let py = AgentRename {
        old: alias("py"),
        new: alias("snake"),
    };
    let added = AgentAdd::new(alias("snake"), "http://127.0.0.1:7103");
    let elsewhere = AgentRename {
        old: alias("ada"),
        new: alias("cobra"),
    };
    // What is decided second, on views that do not know of the first, and what it is told afterwards.
    let taken = "an agent is already called snake";
    let cases: [(&dyn Decide, &str); 3] = [
        (&py, taken),
        (&added, taken),
        (&elsewhere, "no agent is called ada"),
    ];
    for (second, told) in cases {
        for first_wins in [true, false] {
            let world = World::new().with_agent("http://127.0.0.1:7101").await;
            let missive = world.missive();
            let other = AgentAdd::new(alias("ada"), "http://127.0.0.1:7102");
            missive.agent_add(&other).await.unwrap();
            let views = missive.views();
            let (one, other) = (missive.moment(), missive.moment());
            let first = ada().decide(&views, &one).unwrap();
            let second_decision = second.decide(&views, &other).unwrap();
            let mut pair = [first, second_decision];
            if !first_wins {
                pair.reverse();
            }
            let [winner, loser] = pair.map(|decision| Batch {
                id: world.ids.batch(),
                expect: decision.expect,
                drafts: decision.drafts,
            });

            world.log.append(winner).await.unwrap();
            let lost = world.log.append(loser).await;

            assert!(
                matches!(lost, Err(AppendError::Conflict { .. })),
                "{lost:?}"
            );
            if first_wins {
                let again = second.decide(&world.newest(), &other).unwrap_err();
                assert_eq!(again.to_string(), told);
            }
        }
    }
}

#[tokio::test]
async fn a_card_is_used_while_it_is_fresh_and_then_revalidated() {
    let agent = EchoAgent::with(Setup {
        cache_control: Some("max-age=2".to_owned()),
        ..Setup::default()
    });
    let world = World::new().with_agent(&agent.url()).await;
    let hi = || Send::text(py(), "echo hi");
    let missive = world.missive();

    missive.send(&hi(), &mut patient()).await.unwrap();
    missive.send(&hi(), &mut patient()).await.unwrap();
    world.later(Duration::from_secs(3));
    missive.send(&hi(), &mut patient()).await.unwrap();
    agent.change_card(&json!({"name": "moved"}));
    world.later(Duration::from_secs(3));
    missive.send(&hi(), &mut patient()).await.unwrap();

    let asked = agent
        .peer()
        .requests_to("GET", "/.well-known/agent-card.json");
    let tags: Vec<_> = asked
        .iter()
        .map(|seen| seen.header("if-none-match"))
        .collect();
    assert_eq!(tags, [None, Some("\"v1\""), Some("\"v1\"")]);
    assert!(
        asked
            .iter()
            .all(|seen| seen.header("a2a-version") == Some("1.0"))
    );
    let shown = missive.agent_show(&alias("py")).await.unwrap().report.agent;
    assert_eq!(shown.card.unwrap().name, "moved");
    assert_eq!(world.kinds().await.len(), 8 + 6);
}

/// What the well-known path answers, how the command ends, which failure the log names.
#[tokio::test]
async fn a_card_that_cannot_be_used_is_told_and_recorded() {
    let cases: [(Answer, &str); 6] = [
        (Answer::html_labelled_json(), "protocol_violation"),
        (Answer::unauthorized("Bearer realm=\"x\""), "auth_refused"),
        (Answer::unavailable(), "http_status"),
        (Answer::text(404, "not found"), "http_status"),
        (
            Answer::redirect(302, "http://169.254.169.254/latest/"),
            "redirect_refused",
        ),
        (Answer::reset(), "connection_lost"),
    ];
    let mut said = Vec::new();
    for (answer, failure) in cases {
        let peer = ScriptedPeer::start();
        peer.on("GET", "/.well-known/agent-card.json", answer);
        let mut world = World::new().with_agent(&peer.url()).await;
        world.config.qos.retries_max = 0;
        let missive = world.missive();

        let error = missive
            .agent_refresh(&alias("py"), &mut patient())
            .await
            .unwrap_err();

        said.push(
            told(&error)
                .replace(&peer.url(), "<peer>")
                .replace(&peer.address().to_string(), "<peer>"),
        );
        assert_eq!(
            world.kinds().await,
            ["a2a.card.requested", "a2a.card.failed"]
        );
        assert!(
            world
                .stored()
                .await
                .contains(&format!("\"failure\":\"{failure}\""))
        );
    }
    insta::assert_snapshot!(said.join("\n"), @r"
    76 card_html not an Agent Card: HTML received from <peer>/.well-known/agent-card.json
    77 unauthenticated no card from <peer>/.well-known/agent-card.json: the agent answered unauthenticated (HTTP 401): unauthorized
    69 http_status no card from <peer>/.well-known/agent-card.json: the agent answered HTTP 503 with a web page
    69 no_card no Agent Card under <peer>/
    69 redirect_refused the redirect to http://169.254.169.254/latest/ is not followed: it leads to another origin
    69 connection_lost the card of <peer>/.well-known/agent-card.json cannot be fetched
    ");
}

#[tokio::test]
async fn a_stale_card_is_used_when_the_agent_cannot_serve_it_just_now() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();
    missive
        .agent_refresh(&alias("py"), &mut patient())
        .await
        .unwrap();
    agent
        .peer()
        .on("GET", "/.well-known/agent-card.json", Answer::unavailable());
    world.later(Duration::from_secs(3_600));

    let sent = missive
        .send(&Send::text(py(), "echo hi"), &mut patient())
        .await
        .unwrap();

    assert_eq!(sent.report.answer.text, "hi");
    assert!(matches!(&missive.take_notes()[..], [Note::StaleCard(_)]));
}

#[tokio::test]
async fn inspect_shows_every_interface_and_why_one_was_taken() {
    let agent = EchoAgent::start();
    let world = World::new().with_agent(&agent.url()).await;
    let missive = world.missive();

    let plain = missive
        .agent_inspect(&alias("py"), false, None, &mut patient())
        .await
        .unwrap();
    let rpc = missive
        .agent_inspect(&alias("py"), false, Some(Binding::JsonRpc), &mut patient())
        .await
        .unwrap();

    let shown = |selected: &Option<crate::report::agent::SelectedInterface>| {
        let selected = selected.as_ref().unwrap();
        format!("{}: {}", selected.interface.binding, selected.reason)
    };
    insta::assert_snapshot!(
        format!("{}\n{}", shown(&plain.report.selected_interface), shown(&rpc.report.selected_interface)),
        @r"
    http+json: first entry that missive speaks, in the card's order
    json-rpc: first entry that missive speaks, in the user's order of bindings
    "
    );
    assert_eq!(plain.report.interfaces.len(), 2);
    assert_eq!(plain.report.signature.status, "absent");
    assert_eq!(agent.peer().requests().len(), 1);
}
