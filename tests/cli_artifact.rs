//! `missive task artifact`: what a task made becomes files, and nothing of it can do harm.

use crate::TestWorld;
use crate::cli_send::world_with;
use missive_fixtures::{Answer, ScriptedPeer};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// A world whose log knows the task `t` with these artifacts.
fn world_of(artifacts: &Value) -> (ScriptedPeer, TestWorld) {
    let peer = ScriptedPeer::start();
    peer.card(&json!({}));
    let task = json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": artifacts});
    peer.on_send(&Answer::a2a_value(&json!({ "task": task })));
    let world = world_with(&peer.url());
    assert_eq!(world.missive(["send", "py", "x"]).code, Some(0));
    (peer, world)
}

fn shown(world: &TestWorld, arguments: &[&str]) -> String {
    let words = ["task", "artifact"].iter().chain(arguments).copied();
    world.missive(words).to_string()
}

fn names_in(world: &TestWorld, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(world.folder().join(folder)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn files_with_hostile_names_stay_in_their_folder() {
    let long = format!("{}.txt", "x".repeat(300));
    let names = [
        "../../x",
        "/tmp/x",
        "a/../../b",
        ".ssh/config",
        "C:\\x",
        "CON",
        "",
        &long,
        "a\u{0}b",
        "X",
    ];
    let parts: Vec<Value> = names
        .iter()
        .map(|name| json!({"raw": "aGk=", "filename": name, "mediaType": "application/x-sh"}))
        .collect();
    let (peer, world) =
        world_of(&json!([{"artifactId": "../a", "name": "re:port", "parts": parts}]));
    let before = names_in(&world, ".");
    let requests = peer.requests().len();

    let run = world.missive([
        "task",
        "artifact",
        "export",
        "t",
        "--output-dir",
        "out/deep",
        "--json",
    ]);

    assert_eq!(run.code, Some(0), "{run}");
    let files = names_in(&world, "out/deep");
    let short = files
        .iter()
        .map(|name| name.chars().take(12).collect::<String>());
    insta::assert_snapshot!(short.collect::<Vec<_>>().join(" "), @"X-4 ab b config re_port-2.bi re_port.bin x x-2 x-3 xxxxxxxxxxxx");
    assert!(files.iter().all(|name| name.len() <= 200));
    let file = world.folder().join("out/deep/config");
    assert_eq!(fs::read(&file).unwrap(), b"hi");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let told = run.json();
    assert_eq!(told["data"]["files"].as_array().unwrap().len(), names.len());
    assert_eq!(
        told["data"]["files"][3]["blake3"],
        "85052e9aab1b67b6622d94a08441b09fd5b7aca61ee360416d70de5da67d86ca"
    );
    let mut after = names_in(&world, ".");
    after.retain(|name| name != "out");
    assert_eq!(after, before);
    assert_eq!(peer.requests().len(), requests);
    let events = world.missive([
        "events",
        "list",
        "--type",
        "missive.artifact.saved",
        "--ndjson",
    ]);
    let event: Value = serde_json::from_str(&events.stdout).unwrap();
    let event = &event["data"]["event"];
    assert_eq!(event["sequence"], told["data"]["sequence"]);
    assert_eq!(event["facts"]["files"], 10);
    assert_eq!(event["facts"]["sources_total"], 1);
}

#[test]
fn nothing_is_overwritten_and_no_link_followed() {
    let (_peer, world) = world_of(&json!([{"artifactId": "a", "parts": [{"text": "new"}]}]));
    world.file("kept.txt", "kept");
    world.file("out/a.txt", "old");
    let link = world.folder().join("link.txt");
    std::os::unix::fs::symlink(world.folder().join("kept.txt"), &link).unwrap();

    insta::assert_snapshot!(shown(&world, &["export", "t", "--output-dir", "out"]), @r"
    exit 73
    ------- stderr -------
    missive: out/a.txt is there
    hint: --force overwrites it
    ");
    insta::assert_snapshot!(shown(&world, &["save", "t", "a", "--output", "link.txt", "--force"]), @r"
    exit 73
    ------- stderr -------
    missive: link.txt is there and is no regular file
    hint: choose another place: links, folders and devices are never written to
    ");
    let events = world.missive([
        "events",
        "list",
        "--type",
        "missive.artifact.saved",
        "--ndjson",
    ]);
    assert_eq!(events.stdout, "");
    insta::assert_snapshot!(shown(&world, &["export", "t", "--output-dir", "out", "--force"]), @r"
    exit 0
    ------- stdout -------
    file       bytes  blake3
    out/a.txt  3      b20ab0a020a48d349e0c64d109c441f87c9bc43d49fc701c4a5f6f1b16aa4e32
    ");
    assert_eq!(fs::read(world.folder().join("out/a.txt")).unwrap(), b"new");
    assert_eq!(fs::read(world.folder().join("kept.txt")).unwrap(), b"kept");
}

#[test]
fn an_artifact_is_shown_and_saved_and_its_links_are_not_fetched() {
    let metadata = "http://169.254.169.254/latest/";
    let (peer, world) = world_of(&json!([
        {"artifactId": "report", "name": "The report", "parts": [{"text": "Hel"}, {"text": "lo\u{1b}[2J"}]},
        {"artifactId": "rest", "parts": [
            {"data": {"n": 1}}, {"url": metadata, "filename": "r.txt"},
            {"raw": "not base64!", "filename": "photo.png"}, {"odd": 1}]},
    ]));
    let requests = peer.requests().len();

    insta::assert_snapshot!(shown(&world, &["list", "t"]), @r"
    exit 0
    ------- stdout -------
    artifact  name        kind  bytes  type  file
    report    The report  text  9            The report.txt
    rest                  data  8            rest.json
    rest                  url   89           r.txt.url.json
    rest                  raw   11           photo.png.base64.txt
    note: 1 part of artifact rest is of no known kind and left out
    note: the bytes of photo.png.base64.txt are no base64: they are kept as they came
    ");
    insta::assert_snapshot!(shown(&world, &["show", "t", "report"]), @r"
    exit 0
    ------- stdout -------
    Hello\u{1b}[2J
    ");
    insta::assert_snapshot!(shown(&world, &["show", "t", "rest"]), @r#"
    exit 0
    ------- stdout -------
    {"n":1}
    a link to http://169.254.169.254/latest/
    a file, photo.png.base64.txt (of no known type, 11 bytes)
    ------- stderr -------
    note: 1 part of artifact rest is of no known kind and left out
    note: the bytes of photo.png.base64.txt are no base64: they are kept as they came
    "#);
    insta::assert_snapshot!(shown(&world, &["show", "t", "repor"]), @r"
    exit 66
    ------- stderr -------
    missive: task t has no artifact `repor`
    hint: did you mean `report`?
    ");
    insta::assert_snapshot!(shown(&world, &["save", "t", "rest", "--output", "x"]), @r"
    exit 64
    ------- stderr -------
    missive: artifact rest becomes 3 files
    hint: leave --output out, or `missive task artifact export t --output-dir DIR`
    ");
    let printed = world.missive(["task", "artifact", "save", "t", "report", "--output", "-"]);
    assert_eq!(printed.stdout, "Hello\u{1b}[2J");
    insta::assert_snapshot!(printed.stderr, @"9 bytes, blake3 2d12f80979620c8b25d9301e1d84989f593e96aebe466d4284513730e120cdb7");
    insta::assert_snapshot!(shown(&world, &["save", "t", "rest"]), @r"
    exit 0
    ------- stdout -------
    file                  bytes  blake3
    rest.json             8      f950f36a08134ac4263c95ed4d09c4c7cc1f37827303dbffba52d2c58b4fbb8e
    r.txt.url.json        89     ca72d246a176bba8857593ff0a6379424895804082f3072d96c10a165a8be57d
    photo.png.base64.txt  11     9279d994a23ce7b8174cad1546b9920a4c5cc7fadea53f8346a694e91801eb8c
    ------- stderr -------
    missive: warning: 1 part of artifact rest is of no known kind and left out
    missive: warning: the bytes of photo.png.base64.txt are no base64: they are kept as they came
    ");
    let link = fs::read_to_string(world.folder().join("r.txt.url.json")).unwrap();
    insta::assert_snapshot!(link, @r#"
    {
      "url": "http://169.254.169.254/latest/",
      "filename": "r.txt",
      "fetched": false
    }
    "#);
    assert_eq!(peer.requests().len(), requests);
}
