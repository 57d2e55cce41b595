//! The verifier that needs no missive agrees with ours. It runs where Python and `blake3` are.

use super::export::{plan, re_anchored_export, small_log, written};
use super::histories::{later_draft, log_of};
use missive_log::Log as _;
use missive_log::event::facts::ExportFormat;
use missive_log::export::{Plan, verify_export};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::io::Write as _;
use std::process::{Command, Output};

fn python() -> String {
    std::env::var("MISSIVE_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Whether the program can run here; says so if not.
#[expect(clippy::print_stderr, reason = "a skipped test must say why")]
fn can_run() -> bool {
    let probe = Command::new(python())
        .args(["-c", "import blake3"])
        .output();
    let can = probe.is_ok_and(|probe| probe.status.success());
    if !can {
        eprintln!("skipped: no python3 with blake3 here (MISSIVE_TEST_PYTHON names another one)");
    }
    can
}

fn run(export: &[u8], head: Option<&str>) -> Output {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(export).unwrap();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/verify.py");
    let mut command = Command::new(python());
    command.arg(program).arg(file.path()).args(head);
    command.output().unwrap()
}

#[test]
fn the_program_verifies_whole_and_filtered_exports_to_the_head() {
    if !can_run() {
        return;
    }
    let log = small_log();
    let head = log.head().borrow().to_string();
    let plan = plan(&log, ExportFormat::Jsonl);
    let filtered = Plan {
        filtered: true,
        ..plan.clone()
    };

    let whole = run(&written(&log, &plan, |_| true).0, Some(&head));
    let part = run(&written(&log, &filtered, |event| event.seq.0 == 2).0, None);

    let text = |output: Output| {
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr)
    };
    assert_eq!(
        text(whole),
        format!(
            "ok {head}\n4 events, 0 left out, 2 payloads verified, 0 not opened\nunchanged up to {head}\n"
        )
    );
    assert_eq!(
        text(part),
        format!(
            "ok {head}\n2 events, 2 left out, 2 payloads verified, 0 not opened\nconsistent; completeness unproven\n"
        )
    );
}

#[test]
fn the_program_crosses_a_gap_only_if_a_re_anchoring_names_it() {
    if !can_run() {
        return;
    }
    let (named, unnamed) = re_anchored_export();

    let named = run(&named, None);
    let unnamed = run(&unnamed, None);

    let said = String::from_utf8(named.stdout).unwrap();
    assert!(said.contains("lost"), "{said}");
    assert!(!unnamed.status.success());
}

/// On generated logs with a changed byte, both say the same.
#[test]
fn the_program_and_ours_agree_on_changed_exports() {
    if !can_run() {
        return;
    }
    let mut runner = TestRunner::new(Config::with_cases(24));
    let strategy = (
        vec(later_draft(), 0..4),
        any::<prop::sample::Index>(),
        0..8_u32,
    );

    let agreed = runner.run(&strategy, |(drafts, at, bit)| {
        let log = log_of(drafts);
        let (mut export, _) = written(&log, &plan(&log, ExportFormat::Jsonl), |_| true);
        prop_assert!(run(&export, None).status.success());
        let digits = export
            .windows(8)
            .position(|text| text == b"\"link\":\"")
            .unwrap();
        let at = digits + 8 + at.index(export.len() - digits - 9);
        export[at] ^= 1 << bit;
        let ours = verify_export(&*export, None).unwrap().fault;
        let theirs = run(&export, None).status.success();
        // Ours also knows the one spelling of a line; the program must at least find what the chain binds.
        prop_assert!(ours.is_some());
        let spelling = matches!(ours.unwrap().what, missive_log::export::What::Spelling);
        prop_assert!(!theirs || spelling);
        Ok(())
    });

    agreed.unwrap();
}
