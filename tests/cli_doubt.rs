//! A message that may have arrived: how it is told, and how `missive retry` resolves it.

use crate::cli_round::{board, data};
use crate::cli_send::{sent, world_with};
use crate::{TestWorld, ids_hidden};
use missive_fixtures::{Answer, EchoAgent, Gate, ScriptedPeer, Setup};
use serde_json::json;
use std::process::{Child, Stdio};

/// The operation that a failure in JSON names.
fn lost(world: &TestWorld, text: &str) -> String {
    let run = world.missive(["send", "py", text, "--json"]);
    assert_eq!(run.code, Some(86), "{run}");
    let error = run.error();
    error["data"]["operation_id"]
        .as_str()
        .expect("an operation")
        .to_owned()
}

fn retried(world: &TestWorld, arguments: &[&str]) -> String {
    let words = ["retry"].iter().chain(arguments).copied();
    ids_hidden(&world.missive(words).to_string())
}

#[test]
fn a_message_without_an_answer_is_86_and_a_retry_finds_its_task() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    agent.next_send_answers(Answer::close());
    insta::assert_snapshot!(sent(&world, &["py", "task one"]), @r"
    exit 86
    ------- stderr -------
    missive: it is not known whether the message arrived
    caused by: the connection to 127.0.0.1:[PORT] ended before an answer began
    caused by: connection closed before message completed
    hint: `missive retry [ID]` asks the agent what became of it
    hint: `missive doctor` lists everything that is in doubt
    ");
    agent.next_send_answers(Answer::close());
    let operation = lost(&world, "task report");
    let doctor = world.missive(["doctor", "--json"]);
    assert_eq!(doctor.code, Some(0), "{doctor}");
    assert!(doctor.stdout.contains(&operation), "{doctor}");

    insta::assert_snapshot!(retried(&world, &[&operation]), @r"
    exit 0
    ------- stdout -------
    report
    ------- stderr -------
    the agent has the message
    ");
    insta::assert_snapshot!(retried(&world, &[&operation]), @r"
    exit 0
    ------- stdout -------
    report
    ------- stderr -------
    the operation is over: this is what was recorded, and nobody was asked
    ");
    assert_eq!(agent.messages().len(), 2);
}

#[test]
fn a_message_that_the_agent_cannot_find_is_sent_again_only_when_asked_for() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    agent.next_send_answers(Answer::close());
    let operation = lost(&world, "echo hi");

    insta::assert_snapshot!(retried(&world, &[&operation]), @r"
    exit 86
    ------- stderr -------
    missive: it is still not known whether the message of operation [ID] arrived: no task of the agent holds it
    hint: `missive retry [ID] --resend` sends it again with the same message id, which a careful agent answers only once
    ");
    assert_eq!(agent.messages().len(), 1);
    insta::assert_snapshot!(retried(&world, &[&operation, "--resend"]), @r"
    exit 0
    ------- stdout -------
    hi
    ------- stderr -------
    the message was sent again, and answered
    ");
    let ids: Vec<_> = agent
        .messages()
        .iter()
        .map(|sent| sent["messageId"].clone())
        .collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids.first(), ids.last());
}

#[test]
fn a_retry_of_nothing_is_refused() {
    let nothing = "01a230f0-89c0-7e8c-91e8-57e7e064cd4c";
    let empty = TestWorld::new();
    insta::assert_snapshot!(retried(&empty, &[nothing]), @r"
    exit 66
    ------- stderr -------
    missive: there is no operation [ID]
    hint: `missive doctor` lists what is in doubt
    ");
    assert!(!empty.missive_home().exists());

    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    insta::assert_snapshot!(retried(&world, &[nothing]), @r"
    exit 66
    ------- stderr -------
    missive: there is no operation [ID]
    hint: `missive doctor` lists what is in doubt
    ");
    agent.next_send_answers(Answer::close());
    lost(&world, "echo hi");
    insta::assert_snapshot!(retried(&world, &[nothing]), @r"
    exit 66
    ------- stderr -------
    missive: there is no operation [ID]
    hint: in doubt is [ID]; `missive doctor` lists all
    ");
}

#[test]
fn a_time_that_runs_out_before_the_answer_leaves_a_doubt() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    peer.on_send(&Answer::never());
    let world = world_with(&peer.url());
    world.missive(["agent", "refresh", "py"]);

    insta::assert_snapshot!(sent(&world, &["py", "hi", "--timeout", "2s"]), @r"
    exit 86
    ------- stderr -------
    missive: it is not known whether the message arrived
    caused by: no full answer within 2s (total timeout)
    hint: `missive retry [ID]` asks the agent what became of it
    hint: `missive doctor` lists everything that is in doubt
    ");
}

#[test]
fn a_wait_that_is_interrupted_leaves_the_task_where_it_is() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    let working =
        json!({"id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"}});
    peer.on_send(&Answer::a2a_value(&json!({ "task": working })));
    let gate = Gate::new("before the task is shown");
    peer.on(
        "GET",
        "/rest/tasks/t-1",
        Answer::a2a_value(&working).gated(&gate),
    );
    let world = world_with(&peer.url());
    let child = started(&world, &["send", "py", "hi", "--wait"]);

    gate.wait_arrived();
    let run = interrupted(&world, child);

    insta::assert_snapshot!(run, @r"
    exit 130
    ------- stderr -------
    interrupted while task t-1 of py was working
    hint: the task goes on at the agent: `missive task subscribe t-1` follows it, `missive task wait t-1` waits for its end, and `missive task cancel t-1` cancels it
    ");
}

fn started(world: &TestWorld, arguments: &[&str]) -> Child {
    let mut command = world.command(arguments.iter().copied());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("missive starts")
}

/// Ends a run as Ctrl-C does, and shows what it said.
fn interrupted(world: &TestWorld, child: Child) -> String {
    let process = rustix::process::Pid::from_child(&child);
    let told = rustix::process::kill_process(process, rustix::process::Signal::INT);
    told.expect("the run is there to be told");
    ids_hidden(&world.ended(child).to_string())
}

#[test]
fn an_interrupted_message_is_in_doubt_and_the_way_on_is_named() {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    let gate = Gate::new("before the answer");
    agent.next_send_waits(&gate);
    let child = started(&world, &["send", "py", "echo hi"]);

    gate.wait_arrived();
    let run = interrupted(&world, child);
    gate.open();

    insta::assert_snapshot!(run, @r"
    exit 130
    ------- stderr -------
    missive: interrupted; it is not known whether the message arrived
    hint: `missive retry [ID]` asks the agent what became of it
    hint: `missive doctor` lists everything that is in doubt
    ");
}

#[test]
fn a_retry_proves_who_asks_with_the_credential_that_the_agent_is_registered_with() {
    let agent = EchoAgent::with(Setup {
        bearer: Some("s3cret-of-the-reference".to_owned()),
        ..Setup::default()
    });
    let world = TestWorld::new();
    let config = "schema_version = \"missive.config.v1\"\n\
                  [auth_refs.crm]\nkind = \"env\"\nenv = \"CRM_TOKEN\"\n";
    world.file("c.toml", config);
    let world = world.with_variable("MISSIVE_CONFIG", "c.toml");
    world.missive(["agent", "add", "py", &agent.url(), "--auth-ref", "crm"]);
    let world = world.with_variable("CRM_TOKEN", "s3cret-of-the-reference");
    agent.next_send_answers(Answer::close());
    let operation = lost(&world, "task report");

    let mut without = world.command(["retry", &operation]);
    let without = world.seen(without.env_remove("CRM_TOKEN").output().unwrap());
    let with = world.missive(["retry", &operation]);

    assert_eq!(
        (without.code, with.code),
        (Some(77), Some(0)),
        "{without}{with}"
    );
    assert_eq!(with.stdout, "report\n");
}

#[test]
fn a_broadcast_whose_process_was_killed_is_listed_and_closed() {
    let agent = EchoAgent::start();
    let gate = Gate::new("held");
    agent.next_send_waits(&gate);
    let world = board(&[("one", &agent.url())]);
    let mut child = world
        .command(["bcast", "board", "echo hi"])
        .spawn()
        .unwrap();
    gate.wait_arrived();
    child.kill().unwrap();
    child.wait().unwrap();

    let checks = data(&world, &["doctor"])["checks"].clone();
    let warned: Vec<&str> = checks
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["id"] == "operations")
        .map(|check| check["hint"].as_str().unwrap())
        .collect();
    let [round, message] = warned.as_slice() else {
        panic!("{checks}");
    };
    let words = |hint: &str| -> Vec<String> {
        hint.trim_start_matches("missive ")
            .split(' ')
            .map(str::to_owned)
            .collect()
    };
    let closed = world.missive(words(round).iter().map(String::as_str));
    insta::assert_snapshot!(ids_hidden(&closed.to_string()), @r"
    exit 86
    ------- stderr -------
    its process died: it is closed, and nobody carries it on
    hint: `missive retry [ID]` asks what became of a message that had left
    ");
    gate.open();
    let resend = words(message);
    let resend = resend.iter().map(String::as_str).chain(["--resend"]);
    assert_eq!(world.missive(resend).code, Some(0));
    let after = data(&world, &["doctor"])["checks"].clone();
    let sound = after
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["id"] == "operations");
    assert_eq!(sound.unwrap()["status"], "pass");
}
