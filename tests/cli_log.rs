//! Exports, verification and views of a sound log.

use crate::history::{TASK, recorded};
use crate::{Run, TestWorld};
use missive_log::export::verify_export;

fn world() -> TestWorld {
    let world = TestWorld::new();
    recorded(&world);
    world
}

#[test]
fn a_sound_log_verifies_and_says_what_that_proves() {
    let world = world();
    let head = world.missive(["log", "head"]).stdout;
    let file = world.file("head.txt", &head);

    insta::assert_snapshot!(world.missive(["events", "verify"]), @r"
    exit 0
    ------- stdout -------
    ok: consistent; completeness unproven
    events    9 (1 to 9)
    payloads  6 verified
    head      3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9
    hint: `missive log head` prints a head to keep elsewhere; --against it shows that nothing changed
    ");
    insta::assert_snapshot!(world.missive(["events", "verify", "--json"]), @r#"
    exit 0
    ------- stdout -------
    {"schema_version":"missive.output.v1","ok":true,"kind":"events_verify","data":{"log":"3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665","first":1,"last":9,"count":9,"head":"3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9","claim":"consistent; completeness unproven","payloads":{"verified":6,"erased":0,"missing":0},"reanchored":[]}}
    "#);
    let against = ["events", "verify", "--against", file.to_str().unwrap()];
    insta::assert_snapshot!(world.missive(against), @r"
    exit 0
    ------- stdout -------
    ok: unchanged up to event 9
    events    9 (1 to 9)
    payloads  6 verified
    head      3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9
    against   3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9
    ");
    insta::assert_snapshot!(world.missive(["log", "head", "--json"]), @r#"
    exit 0
    ------- stdout -------
    {"schema_version":"missive.output.v1","ok":true,"kind":"log_head","data":{"head":"3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9","log":"3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665","sequence":9,"link":"fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9"}}
    "#);
}

#[test]
fn a_head_that_the_log_does_not_go_through_is_told_and_noted_nowhere() {
    let world = world();
    let head = world.missive(["log", "head"]).stdout;
    let head = head.trim_end();
    let beyond = head.replace(":9:", ":12:");
    let elsewhere = head.replace('a', "b");
    let (front, last) = head.split_at(head.len() - 1);
    let mistyped = format!("{front}{}", if last == "0" { "1" } else { "0" });

    insta::assert_snapshot!(world.missive(["events", "verify", "--against", &elsewhere]), @r"
    exit 79
    ------- stdout -------
    fault: the head that you gave is of another log, 3c618359bc2842b4ecfe84872dbbb7eb0b634b1c62b3d70c0f750960c1c6c665
    events    9 (1 to 9)
    payloads  6 verified
    head      3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9
    hint: check that head first: one wrong character in it looks the same
    hint: by itself the log verifies; if the head is right, events before it were changed or lost since it was kept
    ");
    insta::assert_snapshot!(world.missive(["events", "verify", "--against", &beyond]), @r"
    exit 79
    ------- stdout -------
    fault: the log ends at event 9, before the head that you gave (event 12)
    events    9 (1 to 9)
    payloads  6 verified
    head      3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9
    hint: check that head first: one wrong character in it looks the same
    hint: by itself the log verifies; if the head is right, events before it were changed or lost since it was kept
    ");
    insta::assert_snapshot!(world.missive(["events", "verify", "--against", &mistyped]), @r"
    exit 79
    ------- stdout -------
    fault: event 9 has another link than the head that you gave
    events    9 (1 to 9)
    payloads  6 verified
    head      3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9
    hint: check that head first: one wrong character in it looks the same
    hint: by itself the log verifies; if the head is right, events before it were changed or lost since it was kept
    ");
    let told = ["events", "verify", "--json", "--against", &mistyped];
    let told = world.missive(told).json();
    assert_eq!(told["data"]["claim"], "consistent; completeness unproven");
    assert_eq!(told["data"]["fault"]["sequence"], 9);

    let later = world.missive(["events", "verify", "--against", head]);
    let recorded = world.missive(["agent", "add", "grace", "http://grace.test"]);
    assert_eq!(
        (later.code, recorded.code),
        (Some(0), Some(0)),
        "{later}{recorded}"
    );
}

#[test]
fn what_is_no_head_is_not_compared() {
    let world = world();

    insta::assert_snapshot!(world.missive(["events", "verify", "--against", "nope.txt"]), @r"
    exit 74
    ------- stderr -------
    missive: nope.txt cannot be read
    caused by: No such file or directory (os error 2)
    hint: --against takes a file that holds a head, an export, or a head itself (LOG:SEQ:LINK)
    ");
    world.file("wrong.txt", "hello\n");
    insta::assert_snapshot!(world.missive(["events", "verify", "--against", "wrong.txt"]), @r#"
    exit 65
    ------- stderr -------
    missive: not a head (log:seq:link): "hello"
    hint: `missive log head` prints the line that is kept elsewhere
    "#);
}

#[test]
fn an_export_is_evidence_and_is_itself_on_record() {
    let world = world();

    let whole = world.missive(["events", "export"]);
    let some = world.missive(["events", "export", "--task", "t-1"]);

    for (export, events, left_out) in [(&whole, 9, 0), (&some, 2, 9)] {
        let report = verify_export(export.stdout.as_bytes(), None).unwrap();
        assert_eq!(report.fault, None);
        assert_eq!((report.events, report.gaps), (events, left_out));
        assert_eq!(export.code, Some(0));
    }
    insta::assert_snapshot!(some.stderr, @"exported 2 of 11 events, up to 3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:11:973e4785e763be6c7fc9de45a48eb8c7f0071e4ff75c86efcf1133c8e9625b31");
    insta::assert_snapshot!(world.missive(["events", "list", "--after-sequence", "9"]), @r"
    exit 0
    ------- stdout -------
    10  2026-12-01T09:30:00Z  missive.actor.seen      actor:31e57cd7b0c19bb6f73951cad6ca6f4b
    11  2026-12-01T09:30:00Z  missive.log.exported
    12  2026-12-01T09:30:00Z  missive.log.exported
    ");
    insta::assert_snapshot!(world.missive(["events", "show", "12"]), @r#"
    exit 0
    ------- stdout -------
    sequence   12
    type       missive.log.exported
    time       2026-12-01T09:30:00.002000Z
    event id   01a230f089c07205b60b63db1ae10fa2
    subject    log
    origin     cli
    actor      31e57cd7b0c19bb6f73951cad6ca6f4b
    operation  01a230f0-89c0-717c-b8ed-c3a7f9f2ba48
    facts      {"format":"jsonl","through":11,"events":2,"filtered":true}
    prev       11
    digest     ea4b71de8897598774787755bf1e709e2bf2aa69f9882f9d6134287153013992
    link       d7ae8c5074738037cea38d2edd06284cebf2dbaac6fe4bfb97c26855c3683a37

    filter (text, 10 bytes)
    --task t-1
    "#);
    let file = world.file("log.jsonl", &whole.stdout);
    let against = world.missive(["events", "verify", "--against", file.to_str().unwrap()]);
    assert_eq!(against.code, Some(0), "{against}");
}

#[test]
fn every_form_of_export_is_written() {
    let world = world();
    let export = |format| world.missive(["events", "export", "--format", format, "--task", "t-1"]);

    insta::assert_snapshot!(export("csv"), @r#"
    exit 0
    ------- stdout -------
    sequence,event_id,timestamp,type,origin,actor,operation_id,cause,subject,agent,context_id,task_id,facts,payloads,prev,digest,link
    7,01a230d5128077e5b8b8c19eeb596caa,2026-12-01T09:00:00.006000Z,a2a.send.responded,cli,,op-1,6,operation:op-1,ada,c-1,t-1,"{""status"":200,""shape"":""task"",""task"":{""task"":""t-1"",""context"":""c-1"",""state"":""completed"",""history"":2,""artifacts"":[{""artifact"":""a-1"",""parts"":1}]}}","[{""role"":""response"",""media"":""json"",""redacted"":0,""text"":""{\""task\"": {\""id\"":\""t-1\"",\""contextId\"":\""c-1\"",\""status\"":{\""state\"":\""TASK_STATE_COMPLETED\""},\""artifacts\"":[{\""artifactId\"":\""a-1\"",\""parts\"":[{\""text\"":\""sunny\""}]}],\""history\"":[{\""messageId\"":\""m-1\"",\""role\"":\""ROLE_USER\"",\""parts\"":[{\""text\"":\""weather?\""}]},{\""messageId\"":\""m-2\"",\""role\"":\""ROLE_AGENT\"",\""parts\"":[{\""text\"":\""wait\""}]}],\""metadata\"":{\""n\"":9007199254740993}}}""}]",6,d1eedbf4c105ffb672cf09e0845cc380d7874b962c0d9a949f41ed71c0229c99,7578fb9ea8470c749ceedd6854fba5818a15c16101ec57f49e561d2f5d2f5a7a
    ------- stderr -------
    exported 1 of 9 events, up to 3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:9:fb7fdced363b2393a261d1b987d6d992e5b53a592f98876086e20ec287202bd9
    "#);
    insta::assert_snapshot!(export("cloudevents"), @r#"
    exit 0
    ------- stdout -------
    {"specversion":"1.0","id":"01a230d5128077e5b8b8c19eeb596caa","source":"urn:missive:log:3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665","type":"a2a.send.responded","time":"2026-12-01T09:00:00.006000Z","subject":"operation:op-1","datacontenttype":"application/json","data":{"sequence":7,"event_id":"01a230d5128077e5b8b8c19eeb596caa","timestamp":"2026-12-01T09:00:00.006000Z","type":"a2a.send.responded","origin":"cli","actor":null,"operation_id":"op-1","cause":6,"subject":"operation:op-1","agent":"ada","context_id":"c-1","task_id":"t-1","facts":{"status":200,"shape":"task","task":{"task":"t-1","context":"c-1","state":"completed","history":2,"artifacts":[{"artifact":"a-1","parts":1}]}},"payloads":[{"role":"response","media":"json","redacted":0,"text":"{\"task\": {\"id\":\"t-1\",\"contextId\":\"c-1\",\"status\":{\"state\":\"TASK_STATE_COMPLETED\"},\"artifacts\":[{\"artifactId\":\"a-1\",\"parts\":[{\"text\":\"sunny\"}]}],\"history\":[{\"messageId\":\"m-1\",\"role\":\"ROLE_USER\",\"parts\":[{\"text\":\"weather?\"}]},{\"messageId\":\"m-2\",\"role\":\"ROLE_AGENT\",\"parts\":[{\"text\":\"wait\"}]}],\"metadata\":{\"n\":9007199254740993}}}"}],"prev":6,"digest":"d1eedbf4c105ffb672cf09e0845cc380d7874b962c0d9a949f41ed71c0229c99","link":"7578fb9ea8470c749ceedd6854fba5818a15c16101ec57f49e561d2f5d2f5a7a"}}
    ------- stderr -------
    exported 1 of 11 events, up to 3c618359bc2842a4ecfe84872dbaa7eb0b634a1c62b3d70c0f750960c1c6c665:11:d5e9352846ce595e9f22ade7cf174cff405d725e7524c563f9efb6cc9880fe7b
    "#);
    let document = export("json").json();
    assert_eq!(document["events"][0]["sequence"], 7);
}

#[test]
fn a_reader_that_has_had_enough_ends_an_export_quietly() {
    let world = world();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);

    let output = world
        .command(["events", "export"])
        .stdout(writer)
        .output()
        .unwrap();

    let run = world.seen(output);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(!run.stderr.contains("missive:"), "{run}");
    assert_eq!(world.missive(["events", "verify"]).code, Some(0));
}

#[test]
fn the_views_are_listed_compared_and_folded_again() {
    let world = world();
    let rows = |run: &Run| run.json()["data"]["projections"].as_array().unwrap().len();

    let listed = world.missive(["projection", "list"]);
    let verified = world.missive(["projection", "verify", "--json"]).json();
    let rebuilt = world.missive(["projection", "rebuild", "--json"]);

    assert_eq!(
        listed.stdout.lines().count(),
        missive_projections::names().len() + 1
    );
    assert!(
        listed.stdout.starts_with("view      version  position\n"),
        "{listed}"
    );
    assert_eq!(verified["data"]["position"], 9);
    assert_eq!(verified["data"]["difference"], serde_json::Value::Null);
    assert_eq!(rows(&rebuilt), missive_projections::names().len());
}

#[test]
fn a_task_is_shown_as_it_was_received() {
    let world = world();

    insta::assert_snapshot!(world.missive(["task", "get", "t-1"]), @r"
    exit 0
    ------- stdout -------
    task       t-1
    state      completed
    agent      ada
    context    c-1
    updated    2026-12-01T09:00:00Z
    artifacts  a-1 (1 part)
    history    2 messages

    sunny
    ");
    let whole = world.missive(["task", "get", "t-1", "--json"]);
    assert!(
        whole.stdout.contains(&format!("\"raw\":{TASK}}}")),
        "{whole}"
    );
    let short = world
        .missive(["task", "get", "t-1", "--history-length", "1", "--json"])
        .json();
    insta::assert_snapshot!(short["data"]["task"]["raw"]["history"], @r#"[{"messageId":"m-2","parts":[{"text":"wait"}],"role":"ROLE_AGENT"}]"#);
    insta::assert_snapshot!(world.missive(["task", "get", "t-2"]), @r"
    exit 66
    ------- stderr -------
    missive: the log knows no task `t-2`
    hint: did you mean `t-1`?
    ");
    insta::assert_snapshot!(world.missive(["task", "get", "t-1", "--agent", "bob"]), @r"
    exit 66
    ------- stderr -------
    missive: the log knows no task `t-1` of bob
    hint: did you mean `t-1`?
    ");
}

#[test]
fn the_doctor_lists_what_is_in_doubt() {
    let world = world();

    insta::assert_snapshot!(world.missive(["doctor", "--deep"]).without_sizes(), @r"
    exit 0
    ------- stdout -------
    pass  configuration  no file at missive/config.toml; the defaults hold
    pass  state          missive/profiles/default
    pass  space          [N] MiB free
    pass  log            9 events, every event verified
    pass  views          [N] views at event 9
    warn  agent ada      its card is 29 min old, asked for again on next use, came in 1 ms, with a defect: not an Agent Card: the JSON from http://ada.test/.well-known/agent-card.json has no supportedInterfaces
                         hint: missive agent inspect ada
    warn  endpoint ada   http://ada.test cannot be reached: [WHY]
                         hint: missive agent inspect ada --refresh
    warn  operations     a message to ada at 2026-12-01T09:00:00.007000Z is in doubt: connection_lost
                         hint: missive retry op-2
    ");
}

#[test]
fn two_runs_of_one_script_give_the_same_export() {
    let script = || {
        let world = TestWorld::new();
        world.missive([
            "agent",
            "add",
            "ada",
            "http://ada.test",
            "--notes",
            "a note",
        ]);
        world.missive(["agent", "add", "bob", "http://bob.test"]);
        world.missive(["agent", "rename", "bob", "rob"]);
        for format in ["csv", "json", "cloudevents"] {
            world.missive(["events", "export", "--format", format, "--limit", "3"]);
        }
        world.missive(["events", "export"]).stdout
    };

    let (one, other) = (script(), script());

    assert_eq!(one.lines().count(), 11, "{one}");
    assert_eq!(one, other);
}
