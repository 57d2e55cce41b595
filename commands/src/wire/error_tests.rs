//! Error bodies of every shape that was met, and what they end as.

use super::super::error_kind::TABLE;
use super::super::packed::tests::packed;
use super::*;

fn read(status: u16, body: &str) -> PeerError {
    read_error(
        status,
        &Headers::default(),
        body.as_bytes(),
        &Limits::default(),
    )
}

fn ends(error: &PeerError) -> (ErrorKind, u8) {
    (error.kind, error.kind.exit().number())
}

#[test]
fn every_a2a_error_is_known_by_its_reason_and_by_its_code() {
    let exits = [66, 76, 76, 76, 65, 76, 76, 76, 76, 76, 76, 76, 65, 69];
    for ((kind, name, reason, code), exit) in TABLE.into_iter().zip(exits) {
        let by_reason = format!(
            r#"{{"error":{{"code":400,"status":"X","message":"m","details":[{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{reason}","domain":"a2a-protocol.org"}}]}}}}"#
        );
        let by_code =
            format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"m"}}}}"#);

        assert_eq!(ends(&read(400, &by_reason)), (kind, exit), "{name}");
        assert_eq!(ends(&read(200, &by_code)), (kind, exit), "{name}");
        assert_eq!(kind.name(), name);
    }
}

#[test]
fn the_reason_goes_before_the_code_and_the_code_before_the_status() {
    let reason_first = r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"m","data":[{"reason":"TASK_NOT_FOUND"}]}}"#;
    let code_first = r#"{"jsonrpc":"2.0","error":{"code":-32009,"message":"m"}}"#;
    let status_first = r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"m"}}"#;
    let foreign = r#"{"jsonrpc":"2.0","error":{"code":-32050,"message":"own"}}"#;

    assert_eq!(
        ends(&read(500, reason_first)),
        (ErrorKind::TaskNotFound, 66)
    );
    assert_eq!(
        ends(&read(503, code_first)),
        (ErrorKind::VersionNotSupported, 76)
    );
    assert_eq!(
        ends(&read(401, status_first)),
        (ErrorKind::Unauthenticated, 77)
    );
    assert_eq!(ends(&read(200, foreign)), (ErrorKind::Other, 76));
}

/// Status, body, kind, exit code, shape.
const SHAPES: [(u16, &str, ErrorKind, u8, ErrorShape); 13] = [
    (401, "", ErrorKind::Unauthenticated, 77, ErrorShape::Empty),
    (
        403,
        "<html>no</html>",
        ErrorKind::Forbidden,
        77,
        ErrorShape::Html,
    ),
    (429, "", ErrorKind::RateLimited, 69, ErrorShape::Empty),
    (
        503,
        "<!DOCTYPE html><h1>503</h1>",
        ErrorKind::HttpStatus,
        69,
        ErrorShape::Html,
    ),
    (
        502,
        "Bad Gateway",
        ErrorKind::HttpStatus,
        69,
        ErrorShape::Text,
    ),
    (
        404,
        "Not Found",
        ErrorKind::HttpStatus,
        69,
        ErrorShape::Text,
    ),
    (
        404,
        r#"{"error":{"code":404,"status":"NOT_FOUND","message":"m"}}"#,
        ErrorKind::TaskNotFound,
        66,
        ErrorShape::Status,
    ),
    (
        400,
        r#"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#,
        ErrorKind::InvalidParams,
        65,
        ErrorShape::Status,
    ),
    (
        415,
        "Expected request with `Content-Type: application/json`",
        ErrorKind::ContentTypeNotSupported,
        65,
        ErrorShape::Text,
    ),
    (
        404,
        r#"{"type":"https://a2a-protocol.org/errors/task-not-found","title":"Task Not Found","status":404,"detail":"gone"}"#,
        ErrorKind::TaskNotFound,
        66,
        ErrorShape::Problem,
    ),
    (
        422,
        r#"{"detail":"field required"}"#,
        ErrorKind::HttpStatus,
        69,
        ErrorShape::Json,
    ),
    (
        500,
        r#"{"error":"boom"}"#,
        ErrorKind::HttpStatus,
        69,
        ErrorShape::Json,
    ),
    (
        400,
        "\u{0}\u{1b}[31mred",
        ErrorKind::HttpStatus,
        69,
        ErrorShape::Text,
    ),
];

#[test]
fn bodies_without_a_reason_are_read_by_shape_and_status() {
    for (status, body, kind, exit, shape) in SHAPES {
        let error = read(status, body);

        assert_eq!(
            (error.kind, error.kind.exit().number(), error.shape),
            (kind, exit, shape),
            "{body}"
        );
        assert!(!error.to_string().chars().any(char::is_control));
    }
}

#[test]
fn challenges_and_retry_hints_are_kept() {
    let headers: Headers = [
        ("www-authenticate", "Bearer realm=\"x\", scope=\"a2a\""),
        ("www-authenticate", "Basic"),
        ("retry-after", "7"),
    ]
    .into_iter()
    .collect();
    let dated: Headers = [("retry-after", "Mon, 30 Nov 2026 14:46:07 GMT")]
        .into_iter()
        .collect();
    let by_detail = r#"{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3.5s"}]}}"#;

    let challenged = read_error(401, &headers, b"", &Limits::default());
    let later = read_error(429, &dated, b"", &Limits::default());

    assert_eq!(
        challenged.challenges,
        ["Bearer realm=\"x\", scope=\"a2a\"", "Basic"]
    );
    assert_eq!(challenged.retry_after, Some(RetryAfter::Seconds(7)));
    assert_eq!(later.retry_after, Some(RetryAfter::At(1_796_049_967)));
    assert_eq!(
        read(429, by_detail).retry_after,
        Some(RetryAfter::Seconds(3))
    );
}

#[test]
fn data_that_is_no_array_is_read_all_the_same() {
    let object = r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"m","data":{"reason":"TASK_NOT_CANCELABLE"}}}"#;
    let words = r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"bad","data":"no parts"}}"#;
    let violations = r#"{"error":{"code":400,"message":"Validation failed","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.parts","description":"empty"}]}]}}"#;

    assert_eq!(read(200, object).kind, ErrorKind::TaskNotCancelable);
    assert_eq!(
        read(200, words).to_string(),
        "the agent answered INVALID_PARAMS: bad: no parts"
    );
    assert_eq!(
        read(400, violations).to_string(),
        "the agent answered HTTP 400: Validation failed [message.parts: empty]"
    );
}

#[test]
fn an_error_that_was_compressed_is_read_with_and_without_the_header() {
    let body = r#"{"error":{"code":-32001,"message":"no such thing here","data":[{"reason":"TASK_NOT_FOUND"}]}}"#;
    let coded: Headers = [("content-encoding", "gzip")].into_iter().collect();
    let none = Headers::default();

    for (headers, body) in [
        (&coded, packed(body.as_bytes())),
        (&none, packed(body.as_bytes())),
        // A proxy unpacked it and left the header.
        (&coded, body.as_bytes().to_vec()),
    ] {
        let error = read_error(404, headers, &body, &Limits::default());

        assert_eq!(
            error.to_string(),
            "the agent answered TASK_NOT_FOUND: no such thing here"
        );
    }
}

#[test]
fn a_coding_that_is_not_undone_is_named_and_its_bytes_are_not_shown() {
    let headers: Headers = [("content-encoding", "br")].into_iter().collect();

    let error = read_error(
        502,
        &headers,
        b"\x8b\x02\x80boom\xff\x03",
        &Limits::default(),
    );

    assert_eq!(
        error.to_string(),
        "the agent answered HTTP 502 in a compressed form that was not asked for"
    );
}
