//! What was known at an earlier moment: `--at`.

use crate::cli_send::world_with;
use crate::{TestWorld, ids_hidden};
use missive_fixtures::EchoAgent;
use serde_json::{Value, json};

/// An agent with a card, a named context with a question and its answer, and a new alias for the agent.
fn lived() -> (EchoAgent, TestWorld) {
    let agent = EchoAgent::start();
    let world = world_with(&agent.url());
    let begin = ["context", "create", "--id", "r-7", "--name", "Release 7"];
    assert_eq!(world.missive(begin).code, Some(0));
    let asked = world.missive(["send", "py", "ask", "--context", "r-7"]);
    assert_eq!(asked.code, Some(83), "{asked}");
    let task = place_of(&world, "a2a.send.responded").1;
    let answer = ["send", "py", "Ada", "--task", &task];
    assert_eq!(world.missive(answer).code, Some(0));
    let rename = ["agent", "rename", "py", "python"];
    assert_eq!(world.missive(rename).code, Some(0));
    (agent, world)
}

/// The place of the first event of a type, and its task.
fn place_of(world: &TestWorld, kind: &str) -> (String, String) {
    let found = world
        .missive(["events", "list", "--type", kind, "--json"])
        .json();
    let event = &found["data"]["events"][0];
    let task = event["task_id"].as_str().unwrap_or_default();
    (event["sequence"].to_string(), task.to_owned())
}

#[test]
fn a_task_a_context_and_an_agent_are_shown_as_they_stood_then() {
    let (_agent, world) = lived();
    let (place, task) = place_of(&world, "a2a.send.responded");

    let task_then = world.missive(["task", "get", &task, "--at", &place]);
    let task_now = world.missive(["task", "get", &task, "--json"]).json();
    let context_then = world.missive(["context", "show", "r-7", "--at", &place]);
    let agents_then = world.missive(["--at", &place, "agent", "list"]);

    assert_eq!(task_now["data"]["task"]["state"], "completed");
    assert_eq!(task_now["data"]["position"], Value::Null);
    insta::assert_snapshot!(ids_hidden(&task_then.to_string()), @r"
    exit 0
    ------- stdout -------
    task     task-1
    state    input_required
    agent    py
    context  r-7
    updated  2026-12-01T09:30:00Z
    history  1 message

    which name?
    ------- stderr -------
    as of event 9, 2026-12-01T09:30:00Z
    ");
    insta::assert_snapshot!(ids_hidden(&context_then.to_string()), @r"
    exit 0
    ------- stdout -------
    context   r-7
    name      Release 7
    status    open
    agents    py
    tasks     1
    messages  1
    began     2026-12-01T09:30:00Z
    updated   2026-12-01T09:30:00Z

        4  2026-12-01T09:30:00Z  here
           context created

        5  2026-12-01T09:30:00Z  here
           context named Release 7

        8  2026-12-01T09:30:00Z  to py
           ask

        9  2026-12-01T09:30:00Z  from py  task task-1  input_required
           which name?
    ------- stderr -------
    as of event 9, 2026-12-01T09:30:00Z
    ");
    insta::assert_snapshot!(ids_hidden(&agents_then.to_string()), @r"
    exit 0
    ------- stdout -------
    alias  url                     card        tags  source
    py     http://127.0.0.1:[PORT]  echo 1.0.0        registered
    ------- stderr -------
    as of event 9, 2026-12-01T09:30:00Z
    ");
}

#[test]
fn programs_are_told_the_position_of_an_earlier_moment() {
    let (_agent, world) = lived();
    let (place, task) = place_of(&world, "a2a.send.responded");
    let at = |words: &[&str]| {
        let words = words.iter().copied().chain(["--at", &place, "--json"]);
        world.missive(words).json()["data"].clone()
    };

    let answers = [
        at(&["task", "get", &task]),
        at(&["task", "list"]),
        at(&["task", "list", "--context", "Release 7"]),
        at(&["task", "artifact", "list", &task]),
        at(&["context", "list"]),
        at(&["context", "show", "Release 7"]),
        at(&["agent", "show", "py"]),
        at(&["agent", "inspect", "py"]),
        at(&["agent", "capabilities"]),
        at(&["events", "stats"]),
        at(&["projection", "list"]),
    ];

    for answer in &answers {
        assert_eq!(answer["position"].to_string(), place, "{answer}");
    }
    assert_eq!(answers[0]["task"]["state"], "input_required");
    assert_eq!(answers[1]["tasks"][0]["state"], "input_required");
    assert_eq!(answers[2]["tasks"], answers[1]["tasks"]);
    assert_eq!(answers[3]["artifacts"], json!([]));
    assert_eq!(answers[6]["agent"]["alias"], "py");
    assert_eq!(answers[9]["count"].to_string(), place);
    assert_eq!(answers[9]["bytes"], Value::Null);
    assert_eq!(answers[9]["agents"][0]["agent"], "py");
    let lines = world.missive(["task", "list", "--at", &place, "--ndjson"]);
    assert_eq!(
        lines.json()["data"]["position"].to_string(),
        place,
        "{lines}"
    );
}

#[test]
fn the_counts_of_an_earlier_moment_are_those_of_that_moment() {
    let (_agent, world) = lived();
    let (place, _) = place_of(&world, "a2a.send.responded");
    let stats = |more: &[&str]| {
        let words = ["events", "stats", "--json", "--at", &place].into_iter();
        world.missive(words.chain(more.iter().copied())).json()["data"].clone()
    };

    let all = stats(&[]);
    let some = stats(&["--agent", "py"]);
    let later = world.missive([
        "events", "stats", "--agent", "python", "--at", &place, "--json",
    ]);

    assert_eq!(all["last"]["sequence"].to_string(), place);
    assert!(
        all["head"]
            .as_str()
            .unwrap()
            .contains(&format!(":{place}:")),
        "{all}"
    );
    assert_eq!(all["agents"][0]["count"], some["count"]);
    assert_eq!(later.json()["data"]["count"], 0, "{later}");
}

#[test]
fn a_moment_is_a_time_too_and_one_that_is_not_there_is_not_found() {
    let (_agent, world) = lived();

    let now = world.missive(["agent", "list", "--at", "2026-12-01T10:00:00Z", "--json"]);
    let before = world.missive(["agent", "list", "--at", "2025-12-01T09:30:00Z"]);
    let beyond = world.missive(["agent", "list", "--at", "999"]);
    let neither = world.missive(["agent", "list", "--at", "yesterday"]);

    assert_eq!(now.json()["data"]["agents"][0]["alias"], "python", "{now}");
    insta::assert_snapshot!(before, @r"
    exit 66
    ------- stderr -------
    missive: --at names 2025-12-01T09:30:00.999999Z, and the first event came later
    hint: `missive events list` shows the place and the time of each event
    ");
    insta::assert_snapshot!(beyond, @r"
    exit 66
    ------- stderr -------
    missive: --at names event 999, and the newest is 13
    hint: `missive events list` shows the place and the time of each event
    ");
    insta::assert_snapshot!(neither, @r"
    exit 64
    ------- stderr -------
    missive: --at <SEQ|TIME> does not take `yesterday`: a moment is the place of an event, such as 42, a time in RFC 3339, such as 2026-12-01T09:30:00Z, or how long ago it is, such as 5m
    hint: see `missive agent list --help`
    ");
}

#[test]
fn what_acts_refuses_an_earlier_moment() {
    let (agent, world) = lived();
    let before = agent.messages().len();
    let head = world.missive(["log", "head"]).stdout;

    let send = world.missive(["send", "python", "hello", "--at", "3"]);
    let remote = world.missive(["task", "list", "--remote", "--agent", "python", "--at", "3"]);
    let listed = world.missive(["events", "list", "--at", "3"]);
    let others = [
        vec!["agent", "inspect", "python", "--refresh"],
        vec!["context", "close", "r-7"],
        vec!["context", "export", "r-7"],
        vec!["projection", "verify"],
        vec!["doctor"],
        vec!["log", "head"],
    ];

    for words in others {
        let run = world.missive(words.into_iter().chain(["--at", "3"]));
        assert_eq!(run.code, Some(64), "{run}");
    }
    insta::assert_snapshot!(send, @r"
    exit 64
    ------- stderr -------
    missive: --at reads what was known at an earlier moment, and this acts now
    hint: it goes with `agent`, `group`, `task` and `context` where they read, `gather`, `route explain`, `reduce show`, `events stats` and `projection list`
    ");
    insta::assert_snapshot!(remote, @r"
    exit 64
    ------- stderr -------
    missive: --at reads what was known at an earlier moment, and this acts now
    hint: leave out --remote, --refresh and --extended: nobody can be asked about the past
    ");
    insta::assert_snapshot!(listed, @r"
    exit 64
    ------- stderr -------
    missive: --at reads what was known at an earlier moment, and this acts now
    hint: `--until TIME` leaves out later events
    ");
    assert_eq!(agent.messages().len(), before);
    assert_eq!(world.missive(["log", "head"]).stdout, head);
}

#[test]
fn a_card_is_shown_as_it_was_known_and_nobody_is_asked() {
    let (agent, world) = lived();
    drop(agent);
    let (fetched, _) = place_of(&world, "a2a.card.fetched");

    let known = world.missive(["agent", "inspect", "py", "--at", &fetched, "--json"]);
    let unknown = world.missive(["agent", "inspect", "py", "--at", "3"]);
    let unlisted = world.missive(["agent", "capabilities", "--at", "3", "--json"]);

    assert_eq!(known.json()["data"]["agent"]["alias"], "py", "{known}");
    assert_eq!(unlisted.code, Some(0), "{unlisted}");
    insta::assert_snapshot!(unknown, @r"
    exit 66
    ------- stderr -------
    as of event 3, 2026-12-01T09:30:00Z
    missive: no card of py is known
    hint: `missive events list --agent py --type 'a2a.card.*'` shows when one was fetched
    hint: that is as of --at; without it, it is looked for as of now
    ");
}

#[test]
fn what_happened_is_summed_up_by_context_and_task() {
    let (_agent, world) = lived();

    let shown = world.missive(["events", "replay", "--context", "Release 7"]);
    let json = world.missive(["events", "replay", "--json"]).json();
    let again = world.missive(["events", "replay", "--json"]).json();
    let lines = world.missive(["events", "replay", "--agent", "py", "--ndjson"]);
    let none = world.missive(["events", "replay", "--rows", "0"]);
    let none_json = world.missive(["events", "replay", "--rows", "0", "--json"]);
    let none_lines = world.missive(["events", "replay", "--rows", "0", "--ndjson"]);

    assert_eq!(json, again);
    assert_eq!(json["data"].get("tasks_more"), None);
    assert!(
        none.stderr
            .starts_with("1 more contexts and 1 more tasks: `--rows` lists more"),
        "{none}"
    );
    let data = &none_json.json()["data"];
    assert_eq!([&data["contexts_more"], &data["tasks_more"]], [1, 1]);
    assert!(
        none_lines
            .stdout
            .ends_with("\"data\":{\"contexts_more\":1,\"tasks_more\":1}}\n"),
        "{none_lines}"
    );
    assert_eq!(json["kind"], "events_replay");
    let task = &json["data"]["tasks"][0];
    assert_eq!(task["agent"], "python");
    assert_eq!(task["states"][0]["state"], "input_required");
    assert!(task["states"][0]["duration_ms"].is_number(), "{task}");
    assert_eq!(task["states"][1]["duration_ms"], Value::Null);
    assert_eq!(task["state"], "completed");
    assert_eq!(lines.stdout.lines().count(), 2, "{lines}");
    insta::assert_snapshot!(ids_hidden(&shown.to_string()), @r"
    exit 0
    ------- stdout -------
    events  6
    first   4 at 2026-12-01T09:30:00Z
    last    11 at 2026-12-01T09:30:00Z

    context  events  sent  tasks  members  first                      lasted
    r-7      6       2     1      python   4 at 2026-12-01T09:30:00Z  7 ms

    task    agent   context  events  states                      first                      lasted
    task-1  python  r-7      3       input_required > completed  9 at 2026-12-01T09:30:00Z  2 ms
    ");
}

#[test]
fn a_context_is_watched_again_without_its_pauses() {
    let (_agent, world) = lived();

    let watched = world.missive(["events", "replay", "--context", "r-7", "--watch", "max"]);
    let unknown = world.missive(["events", "replay", "--context", "r-8", "--watch", "max"]);
    let slower = world.missive(["events", "replay", "--context", "r-7", "--watch", "0"]);
    let which = world.missive(["events", "replay", "--watch", "2"]);
    let json = world.missive([
        "events",
        "replay",
        "--context",
        "r-7",
        "--watch",
        "max",
        "--ndjson",
    ]);

    insta::assert_snapshot!(ids_hidden(&watched.to_string()), @r#"
    exit 0
    ------- stdout -------

        4  2026-12-01T09:30:00Z  here
           context created

        5  2026-12-01T09:30:00Z  here
           context named Release 7

        8  2026-12-01T09:30:00Z  to py
           ask

        9  2026-12-01T09:30:00Z  from py  task task-1  input_required
           which name?

       10  2026-12-01T09:30:00Z  to py  task task-1
           Ada

       11  2026-12-01T09:30:00Z  from py  task task-1  artifact artifact-5 "task"
           you said: Ada

       11  2026-12-01T09:30:00Z  from py  task task-1  completed
    "#);
    insta::assert_snapshot!(slower, @r"
    exit 64
    ------- stderr -------
    missive: --watch <SPEED> does not take `0`: a speed is a whole number from 1 on, such as 1 or 20x, or max
    hint: see `missive events replay --help`
    ");
    assert_eq!(unknown.code, Some(66), "{unknown}");
    assert_eq!(which.code, Some(64), "{which}");
    assert!(
        json.stdout.contains(r#""data":{"turn":{"sequence":4,"#),
        "{json}"
    );
}

#[test]
fn two_moments_are_compared_view_by_view() {
    let (_agent, world) = lived();
    let (place, _) = place_of(&world, "a2a.send.responded");

    let shown = world.missive(["events", "diff", "--from", &place]);
    let json = world.missive(["events", "diff", "--from", "2", "--to", &place, "--json"]);
    let none = world.missive(["events", "diff", "--from", &place, "--to", &place]);
    let swapped = world.missive(["events", "diff", "--from", &place, "--to", "2"]);
    let beyond = world.missive(["events", "diff", "--from", "999"]);
    let first = world.missive(["events", "diff", "--from", &place, "--limit", "1"]);
    let lines = world.missive([
        "events", "diff", "--from", &place, "--limit", "1", "--ndjson",
    ]);

    insta::assert_snapshot!(ids_hidden(&shown.to_string()), @r"
    exit 0
    ------- stdout -------
    from    9 at 2026-12-01T09:30:00Z
    to      13 at 2026-12-01T09:30:00Z
    events  4

    view       id                 change   field      from            to
    agents     python             changed  alias      py              python
    contexts   r-7                changed  messages   1               2
    tasks      task-1             changed  state      input_required  completed
    tasks      task-1             changed  artifacts  0               1
    tasks      task-1             changed  history    1               2
    artifacts  task-1 artifact-5  added    parts                      1
    artifacts  task-1 artifact-5  added    pieces                     0
    artifacts  task-1 artifact-5  added    complete                   true
    artifacts  task-1 artifact-5  added    said                       event 11
    ");
    insta::assert_snapshot!(none, @r"
    exit 0
    ------- stdout -------
    from    9 at 2026-12-01T09:30:00Z
    to      9 at 2026-12-01T09:30:00Z
    events  0
    ------- stderr -------
    nothing changed that a view shows
    ");
    insta::assert_snapshot!(first, @r"
    exit 0
    ------- stdout -------
    from    9 at 2026-12-01T09:30:00Z
    to      13 at 2026-12-01T09:30:00Z
    events  4

    view    id      change   field  from  to
    agents  python  changed  alias  py    python
    ------- stderr -------
    3 more changed: `--limit` lists more of them
    ");
    assert!(
        lines.stdout.ends_with("\"data\":{\"changes_more\":3}}\n"),
        "{lines}"
    );
    assert_eq!(swapped.code, Some(64), "{swapped}");
    assert_eq!(beyond.code, Some(66), "{beyond}");
    let data = &json.json()["data"];
    assert_eq!(data.get("changes_more"), None);
    assert_eq!(data["from"]["sequence"], 2);
    let changes = data["changes"].as_array().unwrap();
    let of = |view: &str| {
        changes
            .iter()
            .filter(|change| change["view"] == view)
            .count()
    };
    assert_eq!(
        [of("contexts"), of("tasks"), of("outputs")],
        [1, 1, 1],
        "{data}"
    );
}
