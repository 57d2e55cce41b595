//! `docs/verify.py` accepts a true export and finds each way in which a false one differs.
//!
//! The export is made by hand from the worked example of docs/format.md, so it holds for every
//! implementation. Without Python and its package `blake3` the tests say so and end.

use super::top;
use std::process::{Command, Output};

const LOG: &str = "dda948581309fdda4aefc377a1b2dd6d6ddafef7b06c6534753d886dff0c6780";
const LINK_1: &str = "99be458036b491fc62ea5aa2c1b9ee40c354d882982ca791be344fcb794f0a43";
const LINK_2: &str = "554715dbacd7a84c8b6f6edc4ee8bcb56a6e1f7e1c1eb15a9851455768ac6973";
/// The digest of event 2 in base64, as a gap carries it.
const DIGEST_2: &str = "ujLlbqbsNmTNXPTfWc4l8Sa3KPkN5wgxTutiCKUdlNg=";

const EVENT_1: &str = r#"{"seq":1,"prev":0,"body":"{\"v\":1,\"id\":\"000102030405060708090a0b0c0d0e0f\",\"kind\":\"missive.log.created\",\"at\":\"2026-12-01T00:00:00.000000Z\",\"facts\":{\"format\":1,\"suite\":\"blake3-2026-12\",\"origin\":\"missive.example/demo\",\"keys\":[],\"test\":true}}","link":"99be458036b491fc62ea5aa2c1b9ee40c354d882982ca791be344fcb794f0a43","payloads":[]}"#;
const EVENT_2: &str = r#"{"seq":2,"prev":0,"body":"{\"v\":1,\"id\":\"101112131415161718191a1b1c1d1e1f\",\"kind\":\"a2a.send.requested\",\"at\":\"2026-12-01T00:00:01.000000Z\",\"subject\":\"operation:1\",\"payloads\":[{\"role\":\"request\",\"commitment\":\"6ce8520cea9ee32a76a39a1b11177c506ed0db4ab3a6844792fed233f9bf9dcf\"}]}","link":"554715dbacd7a84c8b6f6edc4ee8bcb56a6e1f7e1c1eb15a9851455768ac6973","payloads":[{"salt":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f","text":"hi"}]}"#;

fn export() -> String {
    let head = format!(r#"{{"head":{{"log":"{LOG}","seq":2,"link":"{LINK_2}"}}}}"#);
    ["{\"export\":{\"format\":1}}", EVENT_1, EVENT_2, &head]
        .map(|line| format!("{line}\n"))
        .concat()
}

/// The interpreter that has `blake3`: `MISSIVE_TEST_PYTHON`, else `python3`.
fn python() -> Option<String> {
    let python = std::env::var("MISSIVE_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_blake3 = Command::new(&python).args(["-c", "import blake3"]).output();
    if has_blake3.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    writeln_to_stderr("skipped: no Python with the package `blake3` (set MISSIVE_TEST_PYTHON)");
    None
}

fn writeln_to_stderr(text: &str) {
    use std::io::Write as _;
    writeln!(std::io::stderr(), "{text}").expect("stderr is open");
}

fn verify(python: &str, export: &str, against: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("log.jsonl");
    std::fs::write(&file, export).expect("a temporary file can be written");
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(python)
        .arg(top().join("docs/verify.py"))
        .arg(&file)
        .args(against)
        .output()
        .expect("the interpreter ran a moment ago");
    (
        status.code(),
        String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned(),
    )
}

#[test]
fn the_python_verifier_takes_a_kept_head_or_its_file_and_never_ends_in_a_traceback() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let kept = folder.path().join("head.txt");
    let head = format!("{LOG}:2:{LINK_2}");
    std::fs::write(&kept, format!("{head}\n")).expect("a temporary file can be written");
    let kept = kept.to_str().expect("a plain path");

    for given in [kept, &head] {
        let (code, said) = verify(&python, &export(), &[given]);
        assert_eq!(code, Some(0), "{said}");
        assert!(
            said.ends_with(&format!("\nunchanged up to {head}\n")),
            "{said}"
        );
    }
    let (code, said) = verify(&python, &export(), &["log:3:ff"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        said,
        "fault after event 2: the head kept elsewhere is not in this log: log:3:ff\n"
    );
    for (export, rest, told) in [
        ("", ["x", "y"].as_slice(), "verify.py EXPORT [HEAD]"),
        (
            "no JSON\n",
            &[],
            "not verified: JSONDecodeError: Expecting value",
        ),
    ] {
        let (code, said) = verify(&python, export, rest);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(told) && !said.contains("Traceback"), "{said}");
    }
}

#[test]
fn the_python_verifier_accepts_the_worked_example() {
    let Some(python) = python() else { return };

    let (code, said) = verify(&python, &export(), &[]);

    let counts = "2 events, 0 left out, 1 payloads verified, 0 not opened";
    assert_eq!(
        said,
        format!("ok {LOG}:2:{LINK_2}\n{counts}\nconsistent; completeness unproven\n")
    );
    assert_eq!(code, Some(0));
}

#[test]
fn the_python_verifier_follows_the_chain_over_events_that_were_left_out() {
    let Some(python) = python() else { return };
    let filtered = export().replace(EVENT_2, &format!(r#"{{"gap":"{DIGEST_2}"}}"#));
    let kept = format!("{LOG}:1:{LINK_1}");

    let (code, said) = verify(&python, &filtered, &[&kept]);

    let counts = "1 events, 1 left out, 0 payloads verified, 0 not opened";
    assert_eq!(
        said,
        format!("ok {LOG}:2:{LINK_2}\n{counts}\nunchanged up to {kept}\n")
    );
    assert_eq!(code, Some(0));
}

#[test]
fn the_python_verifier_counts_what_it_could_not_open() {
    let Some(python) = python() else { return };
    let salt = r#"{"salt":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f","text":"hi"}"#;

    for closed in [r#"{"withheld":true}"#, r#"{"erased":2}"#] {
        let (code, said) = verify(&python, &export().replace(salt, closed), &[]);

        assert!(
            said.contains("0 payloads verified, 1 not opened"),
            "{closed}: {said}"
        );
        assert_eq!(code, Some(0), "{closed}");
    }
}

#[test]
fn the_python_verifier_names_what_differs_in_a_false_export() {
    let Some(python) = python() else { return };
    let two_heads = format!("{}{}", export(), export().lines().last().unwrap());
    let truth = export();
    // what is wrong, what it says
    let table = [
        (
            truth.replace("\"hi\"", "\"ho\""),
            "fault after event 1: another payload",
        ),
        (
            truth.replace("operation:1", "operation:2"),
            "fault after event 2: another link",
        ),
        (
            truth.replace("demo", "dome"),
            "fault after event 1: another link",
        ),
        (
            truth.replace("\"seq\":2,\"prev\":0", "\"seq\":2,\"prev\":1"),
            "fault after event 2: another link",
        ),
        (
            truth.replace("\"seq\":2,\"prev\":0", "\"seq\":3,\"prev\":0"),
            "fault after event 1: not the next event",
        ),
        (
            truth.replace("\"prev\":0", "\"note\":0,\"prev\":0"),
            "fault after event 0: not the next event",
        ),
        (
            truth.replace("\"seq\":2,\"prev\"", "\"seq\":1,\"seq\":2,\"prev\""),
            "fault after event 1: a key stands twice",
        ),
        (
            truth.replace(&format!("{EVENT_2}\n"), ""),
            "fault after event 1: no head, another head",
        ),
        (
            truth.replace(&format!("{EVENT_1}\n"), ""),
            "fault after event 0: not the next event",
        ),
        (
            truth.split_inclusive('\n').take(3).collect(),
            "fault after event 2: no head",
        ),
        (
            two_heads,
            "fault after event 2: no head, another head, or more after it",
        ),
        (
            truth.replace(EVENT_2, r#"{"gap":"AAAA"}"#),
            "fault after event 1: a gap",
        ),
        (String::new(), "fault after event 0: no header"),
    ];

    for (export, expected) in table {
        let (code, said) = verify(&python, &export, &[]);

        assert!(
            said.starts_with(expected),
            "expected `{expected}`, said `{said}`"
        );
        assert_eq!(code, Some(1), "{expected}");
    }
}

#[test]
fn the_python_verifier_refuses_a_head_that_is_not_in_the_log() {
    let Some(python) = python() else { return };

    let (code, said) = verify(&python, &export(), &[&format!("{LOG}:1:{LINK_2}")]);

    assert!(
        said.starts_with("fault after event 2: the head kept elsewhere is not in this log"),
        "{said}"
    );
    assert_eq!(code, Some(1));
}
