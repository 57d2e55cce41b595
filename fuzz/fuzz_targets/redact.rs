//! Redaction of anything: no known value survives, valid JSON stays valid JSON, and twice is once.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missive_log::payload::redact::{KnownSecrets, Redactor};
use missive_log::payload::{About, Role};
use missive_log::seam::{FrozenClock, Ids, SeededRandomness};
use serde_json::Value;

const SECRET: &str = "hunter2-hunter2";

fn holds_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(SECRET),
        Value::Array(items) => items.iter().any(holds_secret),
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| key.contains(SECRET) || holds_secret(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fuzz_target!(|bytes: &[u8]| {
    let redactor = Redactor::new(&KnownSecrets::from_iter([SECRET]));
    let ids = Ids::new(
        FrozenClock::default(),
        SeededRandomness::new(b"redact", b""),
    );

    let plain = redactor.bytes(&ids, Role::Response, About::default(), bytes);
    let has_secret = |bytes: &[u8]| {
        bytes
            .windows(SECRET.len())
            .any(|at| at == SECRET.as_bytes())
    };
    assert!(!has_secret(plain.bytes()), "a known value survives");

    let json = redactor.json(&ids, Role::Response, About::default(), bytes);
    assert!(!has_secret(json.bytes()), "a known value survives in JSON");
    if json.redacted() == 0 {
        assert_eq!(json.bytes(), bytes, "untouched is untouched");
    }
    if serde_json::from_slice::<Value>(bytes).is_ok() {
        let after: Value = serde_json::from_slice(json.bytes()).expect("JSON stays JSON");
        assert!(
            !holds_secret(&after),
            "a known value survives behind an escape"
        );
    }
    let twice = redactor.json(&ids, Role::Response, About::default(), json.bytes());
    assert_eq!(twice.bytes(), json.bytes(), "twice is once");
    assert_eq!(twice.redacted(), 0, "a placeholder is no secret");
});
