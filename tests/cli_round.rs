//! `missive bcast`, `barrier`, `gather` and `reduce`: many agents at once, as people and programs see them.

use crate::TestWorld;
use crate::cli_group::seen;
use missive_fixtures::{EchoAgent, refused_url};
use serde_json::{Value, json};

/// A home with these agents as members of `board`, in this order.
pub(crate) fn board(members: &[(&str, &str)]) -> TestWorld {
    let world = TestWorld::new();
    world.missive(["group", "create", "board"]);
    for (rank, (name, url)) in (1..).zip(members) {
        world.missive(["agent", "add", name, url]);
        let rank = format!("rank-{rank}");
        let added = world.missive(["group", "add", "board", name, "--rank", &rank]);
        assert_eq!(added.code, Some(0), "{added}");
    }
    world
}

/// Three agents that were each told something of their own in the context `talk`.
fn talk(agents: &[EchoAgent; 3], texts: [&str; 3]) -> TestWorld {
    let urls = [agents[0].url(), agents[1].url(), agents[2].url()];
    let names = ["one", "two", "three"];
    let world = board(&[
        (names[0], &urls[0]),
        (names[1], &urls[1]),
        (names[2], &urls[2]),
    ]);
    for (name, text) in names.into_iter().zip(texts) {
        let said = world.missive(["send", name, text, "--context", "talk"]);
        assert!(matches!(said.code, Some(0 | 83)), "{said}");
    }
    world
}

fn three() -> [EchoAgent; 3] {
    [EchoAgent::start(), EchoAgent::start(), EchoAgent::start()]
}

/// The result of a command as data, whatever its exit code.
pub(crate) fn data(world: &TestWorld, arguments: &[&str]) -> Value {
    let words = arguments.iter().copied().chain(["--json"]);
    world.missive(words).json()["data"].clone()
}

#[test]
fn a_group_is_told_something_waited_for_read_and_reduced() {
    let agents = three();
    let (one, two) = (agents[0].url(), agents[1].url());
    let world = board(&[("one", &one), ("two", &two), ("gone", &refused_url())]);

    let bcast = "bcast board hi --context talk --execution sequential";
    let bcast: Vec<&str> = bcast.split(' ').collect();
    insta::assert_snapshot!(seen(&world, &bcast), @r"
    exit 0
    ------- stdout -------
    rank    agent  status     state  task
    rank-1  one    succeeded               hi
    rank-2  two    succeeded               hi
    rank-3  gone   failed                  Connection refused (os error 111)
    partial failure: 2 of 3 took it, 1 failed, 0 unfinished
    ------- stderr -------
    one: succeeded
    two: succeeded
    gone: failed
    context talk
    hint: `missive gather board --context talk` shows what everyone said
    ");
    let barrier = ["barrier", "board", "--context", "talk", "--required", "2"];
    insta::assert_snapshot!(seen(&world, &barrier), @r"
    exit 0
    ------- stdout -------
    rank    agent  status        state  task
    rank-1  one    succeeded
    rank-2  two    succeeded
    rank-3  gone   missing_task
    succeeded: 2 of the 2 needed are completed, 1 cannot be any more, 0 still may
    ");
    insta::assert_snapshot!(seen(&world, &["gather", "board", "--context", "talk"]), @r"
    exit 0
    ------- stdout -------
    # board in context talk, as of event 29

    ## rank-1 one (succeeded)

    > hi

    ## rank-2 two (succeeded)

    > hi

    ## rank-3 gone (missing task)

    (missing task)
    ------- stderr -------
    partial failure: 2 of 3 have answered, 1 without a task
    hint: `missive context show talk` shows who was asked
    ");
    let reduce = ["reduce", "board", "--context", "talk", "--strategy", "vote"];
    insta::assert_snapshot!(seen(&world, &reduce), @r"
    exit 0
    ------- stdout -------
    hi

    votes  answer  agents
    2      hi      one, two
    ------- stderr -------
    made of 2 of 3 members, as of event 29
    hint: `missive reduce show [ID]` proves what it was made of
    ");
    let verified = world.missive(["projection", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified}");
}

#[test]
fn a_broadcast_is_told_to_programs_with_a_row_for_each_member() {
    let agents = three();
    let world = board(&[("one", &agents[0].url()), ("gone", &refused_url())]);

    let bcast = data(&world, &["bcast", "board", "task hi", "--context", "talk"]);

    assert_eq!(
        (&bcast["group"], &bcast["context_id"], &bcast["status"]),
        (&json!("board"), &json!("talk"), &json!("partial_failure"))
    );
    assert_eq!(
        bcast["counts"],
        json!({"members": 2, "succeeded": 1, "failed": 1, "unfinished": 0})
    );
    let first = &bcast["members"][0];
    assert_eq!(
        (
            &first["agent"],
            &first["rank"],
            &first["status"],
            &first["state"],
            &first["text"]
        ),
        (
            &json!("one"),
            &json!("rank-1"),
            &json!("succeeded"),
            &json!("completed"),
            &json!("hi")
        )
    );
    let error = &bcast["members"][1]["error"];
    assert_eq!(
        (&error["code"], &error["exit_code"]),
        (&json!("missive::transport::connect_refused"), &json!(69))
    );
    assert!(bcast["operation_id"].is_string() && bcast["position"].is_u64());
    let ndjson = world.missive(["bcast", "board", "hi", "--stream", "--ndjson"]);
    let last: Value = serde_json::from_str(ndjson.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["kind"], "bcast_result");
}

#[test]
fn a_barrier_takes_the_result_of_a_broadcast_and_nothing_else() {
    let agents = three();
    let world = board(&[("one", &agents[0].url()), ("two", &agents[1].url())]);
    let bcast = world.missive(["bcast", "board", "slow 2", "--return-immediately", "--json"]);
    world.file("bcast.json", &bcast.stdout);
    world.file("other.json", r#"{"kind":"send_result","data":{}}"#);

    let waits = "barrier board --from-bcast - --interval 1ms";
    let waits: Vec<&str> = waits.split(' ').collect();
    let done = world.missive_reading(waits, bcast.stdout.as_bytes());
    let from = |file: &str| seen(&world, &["barrier", "board", "--from-bcast", file]);
    world.missive(["group", "create", "other"]);
    world.missive(["group", "add", "other", "one", "--rank", "1"]);

    assert_eq!(done.code, Some(0), "{done}");
    // In which order they end is theirs.
    insta::assert_snapshot!(done.stdout, @r"
    rank    agent  status     state      task
    rank-1  one    succeeded  completed  task-1
    rank-2  two    succeeded  completed  task-1
    succeeded: 2 of the 2 needed are completed, 0 cannot be any more, 0 still may
    ");
    assert!(done.stderr.contains(": completed (2 of 2)"), "{done}");
    insta::assert_snapshot!(from("other.json"), @r"
    exit 65
    ------- stderr -------
    missive: `other.json` is no result of a broadcast: missing field `operation_id` at line 1 column 31
    hint: `missive bcast GROUP ... --json` prints one
    ");
    insta::assert_snapshot!(from("nowhere.json"), @r"
    exit 74
    ------- stderr -------
    missive: `nowhere.json` cannot be read
    caused by: No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(seen(&world, &["barrier", "other", "--from-bcast", "bcast.json"]), @r"
    exit 64
    ------- stderr -------
    missive: `bcast.json` is of the group board and not of other
    ");
    insta::assert_snapshot!(seen(&world, &["barrier", "board"]), @r"
    exit 64
    ------- stderr -------
    missive: <--context <ID|NAME>|--from-bcast <FILE>> is missing
    hint: see `missive barrier --help`
    ");
}

#[test]
fn a_barrier_ends_with_the_documented_codes() {
    let agents = three();
    let world = talk(&agents, ["done", "ask", "done"]);
    let code = |more: &str| {
        let words = format!("barrier board --context talk --interval 1ms {more}");
        world.missive(words.split(' ')).code
    };

    assert_eq!(code("--required 2"), Some(0));
    assert_eq!(code("--state input_required --required 1"), Some(0));
    assert_eq!(code("--state failed --required 2"), Some(80));
    assert_eq!(code("--timeout 150ms"), Some(82));
    let listed = world.missive(["task", "list", "--json"]).json();
    let tasks = listed["data"]["tasks"].as_array().unwrap();
    let asks = tasks
        .iter()
        .find(|task| task["state"] == "input_required")
        .unwrap();
    let task = asks["task_id"].as_str().unwrap();
    let canceled = world.missive(["task", "cancel", task, "--agent", "two"]);
    assert_eq!(canceled.code, Some(0), "{canceled}");
    assert_eq!(code("--timeout 5s"), Some(81));
}

#[test]
fn a_gather_of_an_earlier_position_gives_the_same_bytes() {
    let agents = three();
    let world = talk(&agents, ["echo one", "task two", "ask"]);
    let gather = ["gather", "board", "--context", "talk", "--json"];
    let before = world.missive(gather);
    let place = before.json()["data"]["position"].to_string();

    world.missive(["send", "one", "echo later", "--context", "talk"]);
    world.missive(["group", "remove", "board", "two"]);
    let now = world.missive(gather);
    let again = world.missive(gather.into_iter().chain(["--at", &place]));

    assert_eq!(again.stdout, before.stdout);
    assert_ne!(now.stdout, before.stdout);
    let events = world.missive(["events", "list", "--type", "missive.gather.*", "--json"]);
    assert_eq!(events.json()["data"]["events"], json!([]));
    let recorded = data(
        &world,
        &["gather", "board", "--context", "talk", "--record"],
    );
    assert!(recorded["operation_id"].is_string() && recorded["sequence"].is_u64());
}

#[test]
fn what_members_said_becomes_files_that_stay_in_their_folder() {
    let agents = three();
    let world = talk(&agents, ["file", "echo two", "fileurl"]);
    let gather = [
        "gather",
        "board",
        "--context",
        "talk",
        "--output-dir",
        "out",
    ];

    insta::assert_snapshot!(seen(&world, &gather), @r"
    exit 0
    ------- stdout -------
    rank    agent  file                                  bytes
    rank-1  one    out/rank-1-one-output.txt             13
    rank-2  two    out/rank-2-two-output.md              3
    rank-3  three  out/rank-3-three-output.txt.url.json  124
    ------- stderr -------
    partial failure: 1 of 3 have answered, 2 without a text
    ");
    insta::assert_snapshot!(seen(&world, &gather), @r"
    exit 73
    ------- stderr -------
    missive: out/rank-1-one-output.txt is there
    hint: --force overwrites it
    ");
    let forced = world.missive(gather.into_iter().chain(["--force"]));
    assert_eq!(forced.code, Some(0), "{forced}");
    let mut files: Vec<String> = std::fs::read_dir(world.folder().join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    insta::assert_snapshot!(files.join("\n"), @r"
    rank-1-one-output.txt
    rank-2-two-output.md
    rank-3-three-output.txt.url.json
    ");
    let said = std::fs::read_to_string(world.folder().join("out/rank-2-two-output.md"));
    assert_eq!(said.unwrap(), "two");
    let events = world.missive([
        "events",
        "list",
        "--type",
        "missive.gather.recorded",
        "--json",
    ]);
    let events = events.json()["data"]["events"].clone();
    assert_eq!(events.as_array().unwrap().len(), 2);
    assert_eq!(events[0]["facts"]["files"], 3);
}

#[test]
fn what_agents_say_is_quoted_and_cannot_act_on_a_terminal() {
    let agents = three();
    let world = talk(
        &agents,
        ["echo # board\u{1b}[2J\n## rank-9 evil", "echo x", "echo y"],
    );

    let gathered = world.missive(["gather", "board", "--context", "talk"]);

    assert!(!gathered.stdout.contains('\u{1b}'), "{gathered}");
    let headings = gathered.stdout.lines().filter(|line| line.starts_with('#'));
    assert_eq!(headings.count(), 1 + 3, "{gathered}");
}

#[test]
fn a_reduction_is_made_by_missive_a_command_or_an_agent_and_proved() {
    let agents = three();
    let world = talk(&agents, ["echo yes", "echo no", "echo Yes."]);
    let reduce = |more: &[&str]| {
        let head = ["reduce", "board", "--context", "talk", "--json"];
        let words = head.iter().chain(more).copied();
        world.missive(words).json()["data"].clone()
    };

    let vote = reduce(&["--strategy", "vote"]);
    let counted = reduce(&["--command", "sh -c 'grep -c yes'"]);
    let piped = reduce(&["--command", "tr a-z A-Z | tail -n 1", "--shell"]);
    let template = "echo {{input_count}} {{default_reduction}}";
    let asked = reduce(&[
        "--strategy",
        "vote",
        "--reducer-agent",
        "one",
        "--template",
        template,
    ]);

    assert_eq!(
        (&vote["reduced_text"], &vote["method"]),
        (&json!("yes"), &json!("local"))
    );
    assert_eq!(vote["tallies"][0]["agents"], json!(["one", "three"]));
    assert_eq!(counted["reduced_text"], "2\n");
    assert_eq!(
        (&piped["method"], &asked["reduced_text"]),
        (&json!("command"), &json!("3 yes"))
    );
    let provenance = &vote["provenance"][1];
    assert_eq!(
        (&provenance["agent"], &provenance["status"]),
        (&json!("two"), &json!("succeeded"))
    );
    assert!(provenance["sources"][0]["commitment"].is_string());

    let id = vote["reduce_id"].as_str().unwrap();
    let shown = data(&world, &["reduce", "show", id]);
    assert_eq!(shown["reduced_text"], "yes");
    let sources = shown["provenance"].as_array().unwrap();
    let stands: Vec<_> = sources
        .iter()
        .map(|source| {
            (
                source["sources"][0]["now"].clone(),
                source["changed_since"].clone(),
            )
        })
        .collect();
    // The first one made a reduction since: that is what it said last.
    assert_eq!(
        stands,
        [
            (json!("present"), json!(true)),
            (json!("present"), json!(false)),
            (json!("present"), json!(false))
        ]
    );
    let by_command = data(
        &world,
        &["reduce", "show", counted["reduce_id"].as_str().unwrap()],
    );
    assert_eq!(by_command["command"], "sh -c 'grep -c yes'");
    let place = vote["sequence"].to_string();
    let then = data(&world, &["reduce", "show", id, "--at", &place]);
    assert_eq!(then["provenance"][0]["changed_since"], false);
}

#[test]
fn what_cannot_be_reduced_is_refused_before_anything_is_recorded() {
    let agents = three();
    let world = talk(&agents, ["echo yes", "echo no", "echo yes"]);
    let head = world.missive(["log", "head"]).stdout;
    let reduce = |more: &[&str]| {
        let words = ["reduce", "board", "--context", "talk"];
        let words: Vec<&str> = words.iter().chain(more).copied().collect();
        seen(&world, &words)
    };

    let told = [
        reduce(&["--strategy", "custom"]),
        reduce(&["--strategy", "vote", "--template", "x"]),
        reduce(&["--strategy", "custom", "--template", "{{nothing}}"]),
        reduce(&["--command", "sh -c 'x"]),
        reduce(&["--command", " "]),
        reduce(&["--command", "cat", "--reducer-agent", "one"]),
        reduce(&["--shell"]),
        reduce(&["--reducer-agent", "nobody"]),
    ];

    insta::assert_snapshot!(told.join("\n"), @r"
    exit 64
    ------- stderr -------
    missive: the strategy `custom` needs a template
    hint: --template '{{input_count}} answers: {{inputs}}'

    exit 64
    ------- stderr -------
    missive: a template is of no use here: missive makes this reduction by itself
    hint: `--strategy custom` fills it, and so do --reducer-agent and --command

    exit 64
    ------- stderr -------
    missive: the template has the placeholder {{nothing}}, which there is not
    hint: there are {{group}}, {{context_id}}, {{strategy}}, {{input_count}}, {{inputs}}, {{default_reduction}}

    exit 64
    ------- stderr -------
    missive: --command has a quote that does not end
    hint: for pipes, variables and the like, add --shell

    exit 64
    ------- stderr -------
    missive: --command names no program
    hint: for pipes, variables and the like, add --shell

    exit 64
    ------- stderr -------
    missive: --command <COMMAND> cannot be used together with --reducer-agent <ALIAS>
    hint: see `missive reduce --help`

    exit 64
    ------- stderr -------
    missive: --command <COMMAND> is missing
    hint: see `missive reduce --help`

    exit 66
    ------- stderr -------
    missive: no agent is called nobody
    hint: known agents are `one`, `three` and `two`
    ");
    assert_eq!(world.missive(["log", "head"]).stdout, head);
}

#[test]
fn a_group_a_context_or_a_reduction_that_there_is_not_is_named() {
    let agents = three();
    let world = talk(&agents, ["echo yes", "echo no", "echo yes"]);

    let told = [
        seen(&world, &["reduce", "nobody", "--context", "talk"]),
        seen(&world, &["reduce", "board", "--context", "nowhere"]),
        seen(&world, &["reduce", "board", "show"]),
        seen(
            &world,
            &["reduce", "show", "0192f3a1-c6e8-7b4f-9d2e-5a6b7c8d9e0f"],
        ),
    ];

    insta::assert_snapshot!(told.join("\n"), @r"
    exit 66
    ------- stderr -------
    missive: no group is called nobody
    hint: `missive group list` shows the groups that there are

    exit 66
    ------- stderr -------
    missive: no context is called nowhere
    hint: `missive context list` shows the contexts that there are

    exit 64
    ------- stderr -------
    missive: <GROUP> cannot stand in front of a further command
    hint: see `missive reduce show --help`

    exit 66
    ------- stderr -------
    missive: no reduction has the id [ID]
    hint: `missive events list --type missive.reduce.completed` lists all reductions
    ");
}

#[test]
fn each_member_gets_its_own_credentials_and_none_is_stored() {
    let agents = three();
    let world = board(&[])
        .with_variable("FIRST", "first-secret")
        .with_variable("SECOND", "second-secret");
    let folder = world.missive_home().join("config.toml");
    let config = r#"schema_version = "missive.config.v1"

[auth_refs.first]
kind = "env"
env = "FIRST"

[auth_refs.second]
kind = "env"
env = "SECOND"
"#;
    std::fs::write(folder, config).unwrap();
    for (name, auth, agent) in [("one", "first", &agents[0]), ("two", "second", &agents[1])] {
        let url = agent.url();
        let added = world.missive(["agent", "add", name, &url, "--auth-ref", auth]);
        assert_eq!(added.code, Some(0), "{added}");
        world.missive(["group", "add", "board", name, "--rank", auth]);
    }

    let bcast = world.missive(["bcast", "board", "echo hi"]);

    assert_eq!(bcast.code, Some(0), "{bcast}");
    for (agent, token) in [
        (&agents[0], "Bearer first-secret"),
        (&agents[1], "Bearer second-secret"),
    ] {
        let sent = agent.peer().requests_to("POST", "/rest/message:send");
        assert_eq!(sent[0].header("authorization"), Some(token));
    }
    let exported = world
        .missive(["events", "export", "--format", "jsonl"])
        .stdout;
    assert!(!exported.contains("first-secret") && !exported.contains("second-secret"));
}

#[test]
fn a_command_gets_no_secret_of_ours_and_what_is_shown_is_what_is_recorded() {
    let agents = three();
    let world = talk(&agents, ["echo yes", "echo no", "echo yes"])
        .with_variable("TOKEN", "a-secret-of-ours")
        .with_variable("OTHER", "a-secret-of-ours");

    let words = "reduce board --context talk --command env --bearer-token-env TOKEN --json";
    let made = world.missive(words.split(' ')).json()["data"].clone();

    let text = made["reduced_text"].as_str().unwrap();
    assert!(
        !text.contains("TOKEN=") && text.contains("OTHER="),
        "{text}"
    );
    assert!(!text.contains("a-secret-of-ours"), "{text}");
    let shown = data(
        &world,
        &["reduce", "show", made["reduce_id"].as_str().unwrap()],
    );
    assert_eq!(shown["reduced_text"], text);
}

#[test]
fn the_tour_of_a_team_goes_through() {
    let tour = TestWorld::new().missive(["demo", "--team", "--json"]);

    assert_eq!(tour.code, Some(0), "{tour}");
    let steps = tour.json()["data"]["steps"].clone();
    let shows = |command: &str, text: &str| {
        let mut steps = steps.as_array().unwrap().iter();
        let step = steps.find(|step| step["command"].as_str().unwrap().starts_with(command));
        let output = step.unwrap()["output"].as_str().unwrap();
        assert!(output.contains(text), "{output}");
    };
    shows("missive reduce board", "2      wait    critic, tester");
    shows("missive reduce show", "has said something else since");
    shows("missive gather board --context release-7 --at", "> wait");
}
