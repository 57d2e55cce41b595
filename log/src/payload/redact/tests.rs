//! What must never be stored, in every form in which it can arrive.

use super::*;
use crate::seam::{FrozenClock, SeededRandomness};
use proptest::prelude::*;

fn ids() -> Ids {
    Ids::new(
        FrozenClock::default(),
        SeededRandomness::new(b"redact", b""),
    )
}

fn json(secrets: &[&str], text: &str) -> (String, u32) {
    let redactor = Redactor::new(&secrets.iter().collect());
    let payload = redactor.json(&ids(), Role::Request, About::default(), text.as_bytes());
    let shown = String::from_utf8_lossy(payload.bytes()).into_owned();
    (shown, payload.redacted())
}

fn text(secrets: &[&str], text: &str) -> String {
    Redactor::new(&secrets.iter().collect()).clean(text)
}

#[test]
fn without_secrets_the_bytes_are_the_wire_bytes() {
    let wire = "{ \"a\" : 12345678901234567890123,\t\"a\":1.0e+2, \"nextPageToken\":\"t\",\n\
                \"max_tokens\": 5, \"token\":\"\", \"password\":null, \"x\":\"\\u00e9\\/\" }\r\n";

    assert_eq!(json(&["hunter2"], wire), (wire.to_owned(), 0));
}

#[test]
fn values_of_secret_like_keys_go_whole_and_everything_else_stays() {
    let wire = r#"{"Authorization":"x","to\u006ben" : 12,"n":[{"API-Key":["a",{"b":"}"}]}], "pwd":{"x":1},"z":"\u00e9"}"#;

    let (shown, places) = json(&[], wire);

    assert_eq!(
        shown,
        r#"{"Authorization":"[redacted:1]","to\u006ben" : "[redacted:2]","n":[{"API-Key":"[redacted:3]"}], "pwd":"[redacted:4]","z":"\u00e9"}"#
    );
    assert_eq!(places, 4);
}

#[test]
fn names_that_a_card_chose_are_no_keys_of_secrets() {
    let card = r#"{"securitySchemes":{"token":{"httpAuthSecurityScheme":{"scheme":"Bearer"}},"x":{"oauth2SecurityScheme":{"flows":{"password":{"tokenUrl":"https://a/t"}}}}},"securityRequirements":[{"schemes":{"token":{"list":[]}}}],"security":[{"apiKey":["read"]}]}"#;

    assert_eq!(json(&[], card), (card.to_owned(), 0));
    assert_eq!(json(&[], r#"{"flows":{"token":"abc"}}"#).1, 1);
}

#[test]
fn credentials_inside_strings_go() {
    for (wire, shown) in [
        (r#"["Bearer abc.def-1"]"#, r#"["Bearer [redacted:1]"]"#),
        (
            r#"["say bearer\u0020abc, please"]"#,
            r#"["say bearer\u0020[redacted:1], please"]"#,
        ),
        (r#"["Basic dXNlcjpwYXNz"]"#, r#"["Basic [redacted:1]"]"#),
        (
            r#"["http://h/p?a=1&api_key=k%201&b=2"]"#,
            r#"["http://h/p?a=1&api_key=[redacted:1]&b=2"]"#,
        ),
        (
            r#"["https:\/\/me:pw@h/p"]"#,
            r#"["https:\/\/[redacted:1]@h/p"]"#,
        ),
        (r#"["https://ghp_1@h"]"#, r#"["https://[redacted:1]@h"]"#),
        (
            r#"["A_TOKEN=abc\nHOME=/root"]"#,
            r#"["A_TOKEN=[redacted:1]\nHOME=/root"]"#,
        ),
        (
            r#"["> Authorization: ApiKey abc\r\n"]"#,
            r#"["> Authorization: [redacted:1]\r\n"]"#,
        ),
        (r#"["Cookie: a=b; c=d"]"#, r#"["Cookie: [redacted:1]"]"#),
        (
            r#"["{'token': 'a', 'b': 1}"]"#,
            r#"["{'token': '[redacted:1]', 'b': 1}"]"#,
        ),
    ] {
        assert_eq!(json(&[], wire), (shown.to_owned(), 1));
    }
}

#[test]
fn prose_about_credentials_stays() {
    for wire in [
        r#"["Send a Bearer token.", "Basic usage", "ssh://git@host/x", "secrets = none"]"#,
        r#"["Bearer realm=\"x\", scope=mail", "Bearer error=\"invalid_token\""]"#,
        r#"["mail me@example.org: http://example.org/a@b", "the cookie: a story", "Bearer ..."]"#,
    ] {
        assert_eq!(json(&[], wire), (wire.to_owned(), 0));
    }
}

#[test]
fn json_in_strings_is_read_by_its_keys_and_stays_json() {
    let wire = r#"{"a":"{\"token\":\"x\",\"b\":\"{\\\"secret\\\":7}\"}"}"#;

    let (shown, places) = json(&[], wire);

    assert_eq!(
        shown,
        r#"{"a":"{\"token\":\"[redacted:1]\",\"b\":\"{\\\"secret\\\":\\\"[redacted:2]\\\"}\"}"}"#
    );
    assert_eq!(places, 2);
}

#[test]
fn known_values_go_in_every_form() {
    let secret = "hünt/er \"2\"";
    for wire in [
        r#"{"a":"x hünt/er \"2\" y"}"#,
        r#"{"a":"h\u00fcnt\/er \u00222\""}"#,
        r#"{"hünt/er \"2\"":1}"#,
        r#"{"a":"http://h/h%C3%BCnt%2Fer%20%222%22"}"#,
        r#"{"a":"h%c3%bcnt%2fer%20%222%22"}"#,
        r#"{"a":"aMO8bnQvZXIgIjIi"}"#,
        r#"{"a":"eGjDvG50L2VyICIyIg=="}"#,
    ] {
        let (shown, places) = json(&[secret], wire);

        assert_eq!(places, 1, "{wire} {shown}");
        serde_json::from_str::<serde_json::Value>(&shown).unwrap();
    }
}

#[test]
fn of_a_whole_header_value_the_credential_is_known_too() {
    let known = ["Bearer abc123", "Basic dXNlcjpodW50ZXIy"];

    let shown = text(
        &known,
        "you sent abc123 and user:hunter2, or hunter2, or dXNlcjpodW50ZXIy",
    );

    assert_eq!(
        shown,
        "you sent [redacted:1] and [redacted:2], or [redacted:3], or [redacted:4]"
    );
    assert_eq!(text(&["keep this text"], "this text"), "this text");
}

#[test]
fn numbers_are_replaced_whole_and_no_word_of_ours_holds_a_known_pin() {
    assert_eq!(
        json(&["1234"], "[51234e2, true,\"[redacted:1234]\"]").0,
        "[\"[redacted:1]\", true,\"[redacted:[redacted:2]]\"]"
    );
}

#[test]
fn a_secret_that_is_json_goes_as_one_value() {
    let secret = r#"{"kid":1}"#;

    assert_eq!(
        json(&[secret], r#"{"k":{"kid":1}}"#).0,
        r#"{"k":"[redacted:1]"}"#
    );
}

#[test]
fn broken_json_is_read_as_far_as_it_goes_and_then_as_text() {
    for (wire, shown) in [
        (r#"{"token":"abc"#, r#"{"token":"[redacted:1]""#),
        (
            r#"{"a":"x"y","token":"abc"}"#,
            r#"{"a":"x"y","token":"[redacted:1]"}"#,
        ),
        (
            r#"<html> "password" : [1,"#,
            r#"<html> "password" : "[redacted:1]""#,
        ),
        (
            "error: Authorization: Bearer abc",
            "error: Authorization: [redacted:1]",
        ),
    ] {
        assert_eq!(json(&[], wire).0, shown);
    }
    assert_eq!(
        text(&["hunter2"], "xhunter2hunter2x"),
        "x[redacted:1][redacted:2]x"
    );
}

#[test]
fn lines_of_json_in_text_are_read_as_json() {
    for (wire, shown) in [
        (
            "event: x\ndata: {\"to\\u006ben\":\"{\",\"a\":\"{\\\"pwd\\\":1}\"}\n\n",
            "event: x\ndata: {\"to\\u006ben\":\"[redacted:1]\",\"a\":\"{\\\"pwd\\\":\\\"[redacted:2]\\\"}\"}\n\n",
        ),
        (
            "[INFO] pin 12345\n[\"n\", 12345]\n{\"a\":12345",
            "[INFO] pin [redacted:1]\n[\"n\", \"[redacted:2]\"]\n{\"a\":[redacted:3]",
        ),
    ] {
        assert_eq!(text(&["12345"], wire), shown);
    }
}

#[test]
fn a_private_key_goes_as_one_block() {
    let key = "see -----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----, and more";
    let public = "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----";

    assert_eq!(text(&[], key), "see [redacted:1], and more");
    assert_eq!(
        text(&[], "-----BEGIN PRIVATE KEY-----\nabc"),
        "[redacted:1]"
    );
    assert_eq!(text(&[], public), public);
}

#[test]
fn deep_nesting_and_long_repetitions_take_one_look_each() {
    let many = 40_000;
    for wire in [
        "[".repeat(many),
        "{\"a\":".repeat(many),
        "{\"token\":".repeat(many),
        "authorization: a ".repeat(many),
        "cookie:".repeat(many),
        "password='".repeat(many),
        "://".repeat(many),
        "\"token\" ".repeat(many),
        "\\\"".repeat(many),
        "[redacted:1]".repeat(many),
        "{\n".repeat(many),
        "data:[1]\n".repeat(many),
        "-----BEGIN PRIVATE KEY".repeat(many),
    ] {
        let (shown, _) = json(&["hunter2"], &wire);

        assert!(shown.len() <= wire.len() * 4);
    }
}

#[test]
fn headers_lose_secret_values_and_with_a_redacted_body_its_fingerprints() {
    let redactor = Redactor::new(&["hunter2"].iter().collect());
    let headers: [(&str, &[u8]); 7] = [
        ("authorization", b"Bearer abc"),
        ("X-Api-Key", b"k"),
        ("Content-Length", b"17"),
        ("etag", b"\"abc\""),
        ("X-Hub-Signature-256", b"sha256=00"),
        ("Location", b"https://h/?token=t"),
        ("x-other", b"hunter2\r\nx"),
    ];

    let shown = |body_was_redacted| {
        let payload = redactor.headers(&ids(), Role::RequestHeaders, headers, body_was_redacted);
        let lines = String::from_utf8(payload.bytes().to_vec()).unwrap();
        (lines, payload.redacted())
    };

    assert_eq!(
        shown(true),
        (
            "authorization: [redacted:1]\nX-Api-Key: [redacted:2]\n\
             Location: https://h/?token=[redacted:3]\nx-other: [redacted:4]  x\n"
                .to_owned(),
            7
        )
    );
    assert!(
        shown(false)
            .0
            .contains("Content-Length: 17\netag: \"abc\"\n")
    );
}

#[test]
fn debug_forms_show_nothing() {
    let known: KnownSecrets = ["hunter2"].iter().collect();

    let shown = format!("{known:?} {:?}", Redactor::new(&known));

    assert_eq!(shown, "KnownSecrets(..) Redactor(..)");
}

/// JSON texts with secrets in them, of every shape that JSON has.
fn documents(secret: &'static str) -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let word = prop_oneof![
        Just(secret.to_owned()),
        Just(format!("Bearer {secret}")),
        Just(format!("https://u:{secret}@h/?api_key={secret}&x={secret}")),
        Just(format!("{{\"token\":\"{secret}\",\"x\":\"{secret}\"}}")),
        Just(format!("token={secret} \"password\": \"{secret}\"")),
        "[ -~é\u{1f600}\"\\\\]{0,12}",
        Just("token".to_owned()),
        Just("password".to_owned()),
    ];
    let leaf = prop_oneof![
        word.clone().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(word.clone(), inner.clone(), 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
            inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

const SECRET: &str = "s3cr3t/Pa55 \"\u{e9}";

proptest! {
    /// No known value survives, valid JSON stays valid JSON, and twice is once.
    #[test]
    fn no_known_value_survives_in_json(document in documents(SECRET), pretty in any::<bool>()) {
        let wire = if pretty {
            serde_json::to_string_pretty(&document).unwrap()
        } else {
            document.to_string()
        };

        let (shown, places) = json(&[SECRET], &wire);

        let read: serde_json::Value = serde_json::from_str(&shown)?;
        prop_assert!(!all_text(&read).contains(SECRET), "{} -> {}", wire, shown);
        prop_assert_eq!(json(&[SECRET], &shown), (shown.clone(), 0));
        prop_assert_eq!(places == 0, shown == wire);
    }

    /// The same of text, and of headers.
    #[test]
    fn no_known_value_survives_in_text(pieces in prop::collection::vec(pieces(), 0..12)) {
        let wire = pieces.concat();

        let shown = text(&["hunter2 x"], &wire);
        let again = text(&["hunter2 x"], &shown);

        prop_assert!(!shown.contains("hunter2 x"), "{} -> {}", wire, shown);
        prop_assert_eq!(again, shown);
    }

    /// Any bytes can be redacted, as anything; and twice is once.
    #[test]
    fn any_bytes_are_redacted_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), as_json in any::<bool>()) {
        let redactor = Redactor::new(&["\u{e9}\u{e9}"].iter().collect());
        let redact = |bytes: &[u8]| {
            let about = About::default();
            if as_json {
                redactor.json(&ids(), Role::Request, about, bytes)
            } else {
                redactor.bytes(&ids(), Role::Request, about, bytes)
            }
        };

        let once = redact(&bytes);
        let twice = redact(once.bytes());

        prop_assert_eq!(twice.bytes(), once.bytes());
    }
}

fn all_text(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(values) => values.iter().map(all_text).collect(),
        Value::Object(map) => {
            let members = map
                .iter()
                .map(|(key, value)| [key, "\n", &*all_text(value)].concat());
            members.collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => format!("{value}\n"),
    }
}

/// What the rules look at, in any order, so that they meet in ways nobody thought of.
fn pieces() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "hunter2 x",
        "hunter2",
        " x",
        "token",
        "=",
        ":",
        "://",
        "@",
        "/",
        "\"",
        "'",
        "\\",
        " ",
        "\n",
        "{",
        "}",
        "[",
        "]",
        ",",
        "Bearer ",
        "Basic ",
        "dXNlcjpwYXNz",
        "Authorization",
        "Cookie",
        "[redacted:1]",
        "[redacted:",
        "password",
        "https",
        "A_TOKEN",
        "&",
        "%74oken",
        "abc",
        "1",
    ])
}
