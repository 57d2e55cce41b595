//! Signed cards, extended cards, the keyring and the trace, as a user meets them.

use crate::{Run, TestWorld};
use missive_fixtures::{Answer, CardSigner, ScriptedPeer};
use serde_json::{Value, json};

const WELL_KNOWN: &str = "/.well-known/agent-card.json";

/// A peer whose card is signed by this key.
fn signed_by(signer: &CardSigner) -> ScriptedPeer {
    let peer = ScriptedPeer::start();
    let card = signer.sign(&peer.card_value());
    peer.on("GET", WELL_KNOWN, Answer::json(200, &card));
    peer
}

/// The line of a page that begins with this word.
fn line(run: &Run, word: &str) -> String {
    let mut lines = run.stdout.lines();
    let found = lines.find(|line| line.starts_with(word));
    found.unwrap_or_else(|| panic!("{run}")).to_owned()
}

#[test]
fn a_card_is_verified_by_the_key_that_the_agent_was_added_with() {
    let signer = CardSigner::new(1, "k1");
    let peer = signed_by(&signer);
    let world = TestWorld::new();
    world.file("py.jwk", &signer.jwk().to_string());
    let url = peer.url();

    let added = world.missive(["agent", "add", "py", &url, "--card-key", "py.jwk"]);
    let inspected = world.missive(["agent", "inspect", "py"]);
    let machine = world.missive(["agent", "inspect", "py", "--json"]);

    assert_eq!(added.code, Some(0), "{added}");
    insta::assert_snapshot!(line(&inspected, "signature"), @"signature     verified (EdDSA, key k1, pinned)");
    insta::assert_snapshot!(line(&inspected, "card keys"), @"card keys     k1 (EdDSA, UDDReOZl1ipXAfp9wYsm13sDBMK5og--QWdBjzuf6o4)");
    insta::assert_json_snapshot!(machine.json()["data"]["signature"], @r#"
    {
      "algorithm": "EdDSA",
      "count": 1,
      "form": "strict",
      "key": "k1",
      "signatures": [
        {
          "algorithm": "EdDSA",
          "form": "strict",
          "key": "k1",
          "source": "pinned",
          "status": "verified",
          "thumbprint": "UDDReOZl1ipXAfp9wYsm13sDBMK5og--QWdBjzuf6o4"
        }
      ],
      "source": "pinned",
      "status": "verified",
      "thumbprint": "UDDReOZl1ipXAfp9wYsm13sDBMK5og--QWdBjzuf6o4"
    }
    "#);
}

#[test]
fn a_key_is_pinned_beside_the_others_and_the_card_of_another_is_told() {
    let (old, new) = (CardSigner::new(1, "k1"), CardSigner::new(2, "k2"));
    let peer = signed_by(&old);
    let world = TestWorld::new();
    world.missive(["agent", "add", "py", &peer.url()]);
    world.file("old.jwk", &old.jwk().to_string());
    world.file("new.json", &json!({"keys": [new.jwk()]}).to_string());

    let pinned = world.missive(["agent", "pin", "py", "old.jwk"]);
    world.missive(["agent", "refresh", "py"]);
    let card = new.sign(&peer.card_value());
    peer.on("GET", WELL_KNOWN, Answer::json(200, &card));
    let changed = world.missive(["agent", "refresh", "py"]);
    world.missive(["agent", "pin", "py", "new.json"]);
    let inspected = world.missive(["agent", "inspect", "py"]);

    insta::assert_snapshot!(pinned, @r"
    exit 0
    ------- stdout -------
    the cards of py must be signed by
    key  algorithm  thumbprint
    k1   EdDSA      UDDReOZl1ipXAfp9wYsm13sDBMK5og--QWdBjzuf6o4
    ");
    insta::assert_snapshot!(changed.stderr, @r"
    note: the agent's card is not signed by the key that signed the one before it: ask its owner before you trust it
    note: the agent's card is not signed by a key that is trusted: no key called `k2` is pinned for this agent
    ");
    insta::assert_snapshot!(line(&inspected, "signature"), @"signature     verified (EdDSA, key k2, pinned)");
}

#[test]
fn the_configuration_says_who_may_sign_and_a_wrong_key_file_is_named() {
    let signer = CardSigner::new(1, "k1");
    let peer = signed_by(&signer);
    let world = TestWorld::new();
    world.file("keys/py.jwk", &signer.jwk().to_string());
    let mut private = signer.jwk();
    private["d"] = json!("AAAA");
    world.file("keys/private.jwk", &private.to_string());
    let trust = |key: &str| {
        format!(
            "schema_version = \"missive.config.v1\"\n[agents.py]\nurl = \"{}\"\n[trust.py]\ncard_keys = [\"{key}\"]\n",
            peer.url()
        )
    };
    world.file("keys/c.toml", &trust("py.jwk"));
    world.file("keys/wrong.toml", &trust("private.jwk"));

    let inspected = world.missive(["agent", "inspect", "py", "--config", "keys/c.toml"]);

    insta::assert_snapshot!(line(&inspected, "signature"), @"signature     verified (EdDSA, key k1, pinned)");
    insta::assert_snapshot!(world.missive(["agent", "list", "--config", "keys/wrong.toml"]), @r"
    exit 78
    ------- stderr -------
    missive: keys/wrong.toml:5: `trust.py.card_keys`: keys/private.jwk holds a private key: only the public half is needed here
    ");
    insta::assert_snapshot!(world.missive(["agent", "add", "b", &peer.url(), "--card-key", "keys/private.jwk"]), @r"
    exit 65
    ------- stderr -------
    missive: --card-key keys/private.jwk holds a private key: only the public half is needed here
    hint: leave the members out that only the owner may know, such as `d`
    ");
}

#[test]
fn an_extended_card_is_shown_to_who_proves_it_and_the_challenge_to_who_does_not() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"extendedAgentCard": true}}));
    let mut extended = peer.card_value();
    extended["name"] = json!("for friends");
    peer.on(
        "GET",
        "/rest/extendedAgentCard",
        Answer::by(move |seen| match seen.header("authorization") {
            Some("Bearer s3cret-of-the-flag") => Answer::json(200, &extended),
            _ => Answer::unauthorized("Bearer realm=\"friends\""),
        }),
    );
    let world = TestWorld::new()
        .with_variable("TOKEN", "s3cret-of-the-flag")
        .with_variable("OTHER", "s3cret-of-another");
    world.missive(["agent", "add", "py", &peer.url()]);
    let inspect = ["agent", "inspect", "py", "--extended"];

    let shown = world.missive(
        inspect
            .into_iter()
            .chain(["--bearer-token-env", "TOKEN", "--json"]),
    );
    let refused = world.missive(inspect.into_iter().chain(["--bearer-token-env", "OTHER"]));
    let nobody = world.missive(inspect);

    let report = shown.json();
    assert_eq!(report["data"]["raw"]["name"], "for friends", "{shown}");
    assert_eq!(report["data"]["extended"], true);
    assert_eq!(
        (refused.code, nobody.code),
        (Some(77), Some(77)),
        "{refused}{nobody}"
    );
    assert!(
        refused
            .stderr
            .contains("the agent asks for `Bearer realm=\"friends\"`"),
        "{refused}"
    );
    assert_eq!(peer.requests_to("GET", "/rest/extendedAgentCard").len(), 2);
}

#[test]
fn a_credential_that_the_keyring_does_not_have_ends_the_command_before_any_request() {
    let peer = ScriptedPeer::start();
    let world = TestWorld::new();
    let config = format!(
        "schema_version = \"missive.config.v1\"\n[auth_refs.crm]\nkind = \"keyring\"\nservice = \"missive-of-no-test\"\naccount = \"nobody\"\n[agents.crm]\nurl = \"{}\"\nauth_ref = \"crm\"\n",
        peer.url()
    );
    world.file("c.toml", &config);

    let refused = world.missive(["send", "crm", "hi", "--config", "c.toml", "--json"]);

    assert_eq!(refused.code, Some(77), "{refused}");
    assert_eq!(refused.error()["data"]["code"], "missive::auth::keyring");
    assert_eq!(peer.connections(), 0);
}

#[test]
fn what_agents_can_do_is_one_line_each() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"streaming": true}}));
    let world = TestWorld::new();
    world.missive(["agent", "add", "py", &peer.url()]);

    let one = world.missive(["agent", "capabilities", "py", "--ndjson"]);

    let agent: Value = serde_json::from_str(one.stdout.trim()).unwrap();
    assert_eq!(agent["kind"], "agent_capabilities");
    assert_eq!(agent["data"]["agent"]["capabilities"]["streaming"], true);
    insta::assert_snapshot!(world.missive(["agent", "capabilities"]), @r"
    exit 0
    ------- stdout -------
    agent  can        skills  takes       gives
    py     streaming  s       text/plain  text/plain
    ");
}

#[test]
fn the_trace_of_the_environment_is_in_the_events_and_a_broken_one_is_passed_over() {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let world = TestWorld::new().with_variable("TRACEPARENT", trace);
    let add = |alias| ["agent", "add", alias, "http://127.0.0.1:1"];

    let good = world.missive(add("a"));
    let broken = world.with_variable("TRACEPARENT", "00-xyz");
    let passed = broken.missive(add("b"));
    let events = broken.missive(["events", "list", "--type", "missive.agent.added", "--json"]);
    let exported = broken.missive(["events", "export", "--format", "cloudevents"]);

    assert_eq!(good.stderr, "", "{good}");
    assert!(
        passed
            .stderr
            .contains("note: the variable TRACEPARENT holds no W3C traceparent"),
        "{passed}"
    );
    let events = events.json();
    assert_eq!(events["data"]["events"][0]["trace"], trace);
    assert_eq!(events["data"]["events"][1]["trace"], Value::Null);
    assert!(
        exported
            .stdout
            .contains(&format!("\"traceparent\":\"{trace}\"")),
        "{exported}"
    );
}
