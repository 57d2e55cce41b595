//! `missive context`: names, conversations and what leaves the house.

use crate::cli_send::world_with;
use crate::{TestWorld, ids_hidden};
use missive_fixtures::{Answer, EchoAgent, ScriptedPeer};
use serde_json::json;

/// A context with a name and two messages, one of them answered by a question.
fn spoken() -> (EchoAgent, TestWorld) {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    let begin = ["context", "create", "--id", "r-7", "--name", "Release 7"];
    assert_eq!(world.missive(begin).code, Some(0));
    for (text, code) in [("task <b>report</b>", 0), ("ask", 83)] {
        let run = world.missive(["send", "py", text, "--context", "Release 7"]);
        assert_eq!(run.code, Some(code), "{run}");
    }
    (agent, world)
}

#[test]
fn a_conversation_is_read_in_order_with_states_and_artifacts() {
    let (agent, world) = spoken();
    let close = ["context", "close", "Release 7", "--summary", "shipped"];
    assert_eq!(world.missive(close).code, Some(0));

    let shown = world.missive(["context", "show", "Release 7"]);

    assert_eq!(agent.messages().len(), 2);
    insta::assert_snapshot!(ids_hidden(&shown.to_string()), @r#"
    exit 0
    ------- stdout -------
    context   r-7
    name      Release 7
    status    closed
    agents    py
    tasks     2
    messages  2
    summary   shipped
    began     2026-12-01T09:30:00Z
    updated   2026-12-01T09:30:00Z

        4  2026-12-01T09:30:00Z  here
           context created

        5  2026-12-01T09:30:00Z  here
           context named Release 7

        8  2026-12-01T09:30:00Z  to py
           task <b>report</b>

        9  2026-12-01T09:30:00Z  from py  task task-1  artifact artifact-3 "task"
           <b>report</b>

        9  2026-12-01T09:30:00Z  from py  task task-1  completed

       10  2026-12-01T09:30:00Z  to py
           ask

       11  2026-12-01T09:30:00Z  from py  task task-5  input_required
           which name?

       12  2026-12-01T09:30:00Z  here
           context closed: shipped
    "#);
    let json = world.missive(["context", "show", "r-7", "--json"]).json();
    assert_eq!(json["data"]["turns"].as_array().unwrap().len(), 8);
    assert_eq!(json["data"]["context"]["status"], "closed");
}

#[test]
fn a_name_means_one_context_and_a_refusal_says_which() {
    let (_agent, world) = spoken();

    let again = world.missive(["context", "create", "--name", "Release 7"]);
    let as_id = world.missive(["context", "create", "--id", "r-7"]);
    let unknown = world.missive(["context", "show", "Release 8"]);
    let listed = world.missive(["events", "list", "--context", "Release 7", "--ndjson"]);

    insta::assert_snapshot!(again, @r"
    exit 64
    ------- stderr -------
    missive: a context is already called Release 7
    hint: `missive context show r-7` shows it
    ");
    assert_eq!(as_id.code, Some(64), "{as_id}");
    insta::assert_snapshot!(unknown, @r"
    exit 66
    ------- stderr -------
    missive: no context is called Release 8
    hint: did you mean `Release 7`?
    ");
    assert_eq!(listed.stdout.lines().count(), 6, "{listed}");
}

#[test]
fn every_form_of_an_export_has_it_all_and_is_on_record() {
    let (_agent, world) = spoken();
    let page = world.folder().join("page.html");
    let page = page.to_str().unwrap();
    let export = |more: &[&str]| {
        let words = ["context", "export", "r-7"].iter().chain(more).copied();
        world.missive(words)
    };

    let document = export(&[]).json();
    let written = export(&["--format", "html", "--output", page]);
    let again = export(&["--format", "html", "--output", page]);
    let lines = export(&["--format", "jsonl"]);
    let stats = world.missive([
        "events",
        "stats",
        "--type",
        "missive.context.exported",
        "--json",
    ]);

    assert_eq!(document["turns"].as_array().unwrap().len(), 7);
    let events = document["events"].as_array().unwrap();
    let prev: Vec<_> = events.iter().map(|event| event["prev"].clone()).collect();
    let seq: Vec<_> = events.iter().map(|event| event["seq"].clone()).collect();
    assert_eq!((&prev[0], &prev[1..]), (&0.into(), &seq[..seq.len() - 1]));
    assert_eq!((written.code, again.code), (Some(0), Some(73)), "{again}");
    let html = std::fs::read_to_string(page).unwrap();
    assert!(
        html.contains("&lt;b&gt;report") && !html.contains("<b>report"),
        "{html}"
    );
    assert!(
        !html.contains("<script") && !html.contains("http-equiv=\"refresh"),
        "{html}"
    );
    assert!(
        lines
            .stdout
            .lines()
            .last()
            .unwrap()
            .starts_with(r#"{"head":"#),
        "{lines}"
    );
    assert_eq!(stats.json()["data"]["count"], 3, "{stats}");
}

#[test]
fn an_answer_in_another_context_is_told_and_the_asked_one_says_where_it_went_on() {
    let peer = ScriptedPeer::start();
    peer.card(&json!({"capabilities": {"streaming": true}}));
    let task =
        r#"{"task":{"id":"t","contextId":"theirs","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
    peer.on_stream(&Answer::a2a_stream([task]));
    peer.on_send(&Answer::a2a(task));
    let world = world_with(&peer.url());

    let streamed = world.missive(["stream", "py", "hi", "--context", "ours"]);
    let sent = world.missive(["send", "py", "hi", "--context", "ours"]);
    let shown = world.missive(["context", "show", "ours"]);

    insta::assert_snapshot!(ids_hidden(&format!("{streamed}\n{sent}\n{shown}")), @r"
    exit 0
    ------- stderr -------
    completed
    note: context ours is new
    note: the agent breaks A2A: context_mismatch: the answer is in another context than the request
    task t of py completed: 1 update
    hint: the exchange goes on in context theirs: `missive context show theirs`

    exit 0
    ------- stderr -------
    note: the agent breaks A2A: context_mismatch: the answer is in another context than the request
    the answer has no text; --json shows all of it
    hint: the exchange goes on in context theirs: `missive context show theirs`

    exit 0
    ------- stdout -------
    context   ours
    status    open
    agents    py
    tasks     0
    messages  2
    began     2026-12-01T09:30:00Z
    updated   2026-12-01T09:30:00Z

        6  2026-12-01T09:30:00Z  to py
           hi

        6  2026-12-01T09:30:00Z  here
           the agent answered in context theirs

        9  2026-12-01T09:30:00Z  to py
           hi

        9  2026-12-01T09:30:00Z  here
           the agent answered in context theirs
    ");
}
