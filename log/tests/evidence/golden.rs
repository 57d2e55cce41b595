//! Golden files: one per shape ever released, never edited, read and written again byte for byte.
//!
//! Each holds two bodies, one a line: everything that the shape can say, and nothing but what it must.

use super::histories::draft;
use missive_log::event::stored::{decode, decode_canonical, encode, encode_again};
use missive_log::event::{HostId, Seq};
use missive_log::{Draft, EventKind, Subject, Timestamp};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

fn golden_files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn there_is_one_golden_file_for_every_kind() {
    let files: BTreeSet<String> = golden_files().into_iter().map(|(name, _)| name).collect();

    let wanted = EventKind::NAMES
        .iter()
        .map(|kind| format!("{kind}.v1.json"));

    assert_eq!(files, wanted.collect());
}

#[test]
fn every_golden_body_is_read_and_written_again_byte_for_byte() {
    for (file, text) in golden_files() {
        let lines: Vec<&str> = text.split_terminator('\n').collect();
        assert_eq!(lines.len(), 2, "{file}");
        for body in lines {
            let event = decode_canonical(Seq(8), Seq(0), body.as_bytes())
                .unwrap_or_else(|error| panic!("{file}: {error:?}"));

            assert_eq!(encode_again(&event).unwrap(), body);
            assert_eq!(
                format!("{}.v{}.json", event.kind.name(), event.kind.version()),
                file
            );
            assert!(!matches!(event.kind, EventKind::Unknown(_)), "{file}");
        }
    }
}

/// Spells a body in a way that says the same and is not the one that is stored.
const RESPELLED: &[(&str, &str)] = &[
    ("{\"v\":1,", "{ \"v\":1,"),
    ("}]}", "}]}\n"),
    ("\"v\":1,", "\"v\":1,\"v\":1,"),
    ("\"v\":1,", "\"v\":1.0,"),
    ("\"v\":1,", "\"v\":1e0,"),
    ("\"v\":1,", "\"v\":-1,"),
    ("\"v\":1,", "\"v\":01,"),
    ("\"v\":1,", "\"v\":1,\"later\":1,"),
    ("\"v\":1,", ""),
    ("\"kind\"", "\"k\\u0069nd\""),
    ("\"ada\"", "\"\\u0061da\""),
    ("\"acme/eu\"", "\"acme\\/eu\""),
    ("\"origin\":\"cli\",", "\"origin\":null,"),
    ("\"origin\":\"cli\",", "\"origin\":\"CLI\","),
    ("\"cause\":7", "\"cause\":null"),
    ("\"cause\":7", "\"cause\":9007199254740992"),
    ("\"cause\":7", "\"cause\":18446744073709551616"),
    ("\"parts\":4,\"attempt\":2", "\"attempt\":2,\"parts\":4"),
    (
        "\"parts\":4,\"attempt\":2",
        "\"parts\":4,\"parts\":4,\"attempt\":2",
    ),
    (
        "\"parts\":4,\"attempt\":2",
        "\"parts\":4,\"attempt\":2,\"note\":1",
    ),
    ("\"parts\":4,", "\"parts\":4.0,"),
    ("\"parts\":4,", "\"parts\":null,"),
    ("\"parts\":4,", ""),
    ("\"tenant\":\"acme/eu\",", "\"tenant\":null,"),
    (".000000Z", "Z"),
    (".000000Z", ".000000+00:00"),
    ("2026-12-01T09", "2026-12-01t09"),
    ("\"id\":\"7", "\"id\":\"77"),
    ("\"id\":\"727d", "\"id\":\"727D"),
    ("\"links\":{", "\"links\":{\"x\":1,"),
    ("\"role\":\"request\"", "\"role\":\"other\""),
    ("\"redacted\":1}", "\"redacted\":1,\"length\":3}"),
    ("\"operation:op-1\"", "\"operation:\""),
];

#[test]
fn every_other_spelling_of_a_body_is_refused() {
    let (_, text) = golden_files()
        .into_iter()
        .find(|(name, _)| name == "a2a.send.requested.v1.json")
        .unwrap();
    let body = text.lines().next().unwrap();

    for (from, to) in RESPELLED {
        let respelled = body.replacen(from, to, 1);
        assert_ne!(respelled, body, "{from}");
        let read = decode_canonical(Seq(8), Seq(0), respelled.as_bytes());

        assert!(read.is_err(), "{from} -> {to}");
    }
}

#[test]
fn what_a_later_build_wrote_is_kept_to_the_letter() {
    let later = r#"{"v":2,"id":"727d88939ea9b4bfcad5e0ebf6010c17","kind":"KIND","at":"2026-12-01T09:00:00.000000Z","subject":"swarm:7","facts":{"deep":[{"x":true},9007199254740991]}}"#;
    for kind in ["a2a.send.requested", "missive.swarm.formed"] {
        let body = later.replace("KIND", kind);

        let event = decode_canonical(Seq(8), Seq(0), body.as_bytes()).unwrap();

        assert!(matches!(&event.kind, EventKind::Unknown(_)), "{kind}");
        assert_eq!((event.kind.name(), event.kind.version()), (kind, 2));
        assert_eq!(encode_again(&event).unwrap(), body);
        for (from, to) in [
            ("true", "null"),
            ("true", "1.5"),
            ("true", " true"),
            ("true", "-1"),
            ("991]", "992]"),
        ] {
            let respelled = body.replacen(from, to, 1);
            assert!(
                decode_canonical(Seq(8), Seq(0), respelled.as_bytes()).is_err(),
                "{to}"
            );
        }
    }
}

#[test]
fn a_body_that_is_too_large_is_not_written() {
    let body = format!(
        r#"{{"v":9,"id":"727d88939ea9b4bfcad5e0ebf6010c17","kind":"x.y","at":"2026-12-01T09:00:00.000000Z","facts":"{}"}}"#,
        "x".repeat(65_000)
    );
    let event = decode(Seq(1), Seq(0), body.as_bytes()).unwrap();
    let fits = Draft::new(event.id, Subject::Log, event.kind.clone());
    let mut large = fits.clone();
    large.subject = format!("x:{}", "y".repeat(600)).parse().unwrap();

    assert!(encode(&fits, Timestamp::default(), None).is_ok());
    assert!(encode(&large, Timestamp::default(), None).is_err());
}

proptest! {
    /// What is written is read as what it was, and written again as the same bytes.
    #[test]
    fn drafts_are_read_back_as_they_were(draft in draft(), micros in any::<u64>(), host in any::<Option<[u8; 8]>>()) {
        let at = Timestamp::from_micros(micros);

        let body = encode(&draft, at, host.map(HostId)).unwrap();
        let event = decode_canonical(Seq(8), Seq(3), body.as_bytes()).unwrap();

        prop_assert_eq!(encode_again(&event).unwrap(), body);
        prop_assert_eq!((event.seq, event.prev, event.at), (Seq(8), Seq(3), at));
        prop_assert_eq!(event.host, host.map(HostId));
        prop_assert_eq!(event.subject.as_ref(), Some(&draft.subject));
        prop_assert_eq!(
            (event.id, event.actor, event.origin, event.cause),
            (draft.id, draft.actor, draft.origin, draft.cause)
        );
        prop_assert_eq!((event.operation, event.links), (draft.operation, draft.links));
        prop_assert_eq!(event.kind, draft.kind);
        let promised: Vec<_> = event.payloads.iter().map(|p| (p.role, p.media, p.commitment, p.redacted)).collect();
        let given: Vec<_> = draft.payloads.iter().map(|p| (p.role(), p.media(), p.commitment(), p.redacted())).collect();
        prop_assert_eq!(promised, given);
    }

    /// Whatever stands there, reading it is refused or gives back the same bytes, and never panics.
    #[test]
    fn any_changed_body_is_refused_or_kept(draft in draft(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut body = encode(&draft, Timestamp::default(), None).unwrap().into_bytes();
        let at = at.index(body.len());
        body[at] = byte;

        if let Ok(event) = decode_canonical(Seq(8), Seq(3), &body) {
            prop_assert_eq!(encode_again(&event).unwrap().into_bytes(), body);
        }
    }
}
