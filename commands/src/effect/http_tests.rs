//! Every way in which a call can fail, against a peer that fails as told.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use missive_fixtures::{Answer as Scripted, Connect, Framing, Gate, ScriptedPeer, refused_url};
use rustls::pki_types::PrivatePkcs8KeyDer;

use super::*;
use crate::secret::Secret;
use crate::wire::request::Bounds;

const BODY: &str = r#"{"message":{"messageId":"m-1"}}"#;
const SHORT: Duration = Duration::from_millis(150);

fn post(base: &str) -> Request {
    request(Verb::Post, &format!("{base}/message:send"), Some(BODY))
}

fn request(verb: Verb, url: &str, body: Option<&str>) -> Request {
    Request {
        verb,
        url: Url::parse(url).unwrap(),
        headers: vec![
            ("X-Plain".to_owned(), HeaderText::Plain("p".to_owned())),
            (
                "X-Api-Key".to_owned(),
                HeaderText::Secret(Secret::new("hunter2".to_owned())),
            ),
        ],
        body: body.map(|text| text.as_bytes().to_vec()),
        bounds: Bounds::default(),
    }
}

fn impatient() -> Settings {
    Settings {
        first_byte: Some(SHORT),
        idle: Some(SHORT),
        response_bytes_max: 65_536,
        ..Settings::default()
    }
}

async fn call(settings: Settings, request: &Request) -> Call {
    HttpCaller::new(settings)
        .call(request, None, &Sent::default())
        .await
}

fn label(call: &Call) -> String {
    match &call.reach {
        Reach::NotSent(error) => format!("not sent: {}", error.kind.name()),
        Reach::NothingBack(error) => format!("nothing back: {}", error.kind.name()),
        Reach::Partial { answer, error } => {
            format!(
                "{} and {} bytes: {}",
                answer.status,
                answer.body.len(),
                error.kind.name()
            )
        }
        Reach::Answered(answer) => {
            format!("answered {}, {} bytes", answer.status, answer.body.len())
        }
    }
}

type Case = (&'static str, Scripted, &'static str);

/// What may happen between the question and the end of the answer.
fn breaks() -> Vec<Case> {
    let text = || Scripted::text(200, "0123456789");
    vec![
        ("whole", text(), "answered 200, 10 bytes"),
        ("chunked", text().chunked(), "answered 200, 10 bytes"),
        ("until close", text().http10(), "answered 200, 10 bytes"),
        (
            "closed after reading",
            Scripted::close(),
            "nothing back: connection_lost",
        ),
        (
            "reset after reading",
            Scripted::reset(),
            "nothing back: connection_lost",
        ),
        (
            "silent",
            Scripted::never(),
            "nothing back: first_byte_timeout",
        ),
        (
            "stalled",
            text().stall_after(4),
            "200 and 4 bytes: idle_timeout",
        ),
        ("cut", text().cut_after(4), "200 and 4 bytes: answer_cut"),
        (
            "cut at once",
            text().cut_after(0),
            "200 and 0 bytes: answer_cut",
        ),
        (
            "broken chunk",
            text().broken_chunk(),
            "200 and 10 bytes: answer_cut",
        ),
    ]
}

/// What may be wrong with the answer itself.
fn oddities() -> Vec<Case> {
    let text = || Scripted::text(200, "0123456789");
    vec![
        (
            "promises too much",
            text().framing(Framing::Declared(99)),
            "200 and 10 bytes: answer_cut",
        ),
        (
            "promises too little",
            text().framing(Framing::Declared(3)),
            "answered 200, 3 bytes",
        ),
        (
            "huge",
            Scripted::huge(10 << 20),
            "200 and 65536 bytes: answer_too_large",
        ),
        (
            "huge and chunked",
            Scripted::huge(10 << 20).chunked(),
            "200 and 65536 bytes: answer_too_large",
        ),
        (
            "huge head",
            text().huge_head(1 << 20),
            "nothing back: protocol_violation",
        ),
        (
            "no HTTP",
            Scripted::raw("SSH-2.0-x\r\n\r\n"),
            "nothing back: protocol_violation",
        ),
        (
            "401",
            Scripted::unauthorized("Bearer"),
            "answered 401, 24 bytes",
        ),
        (
            "429",
            Scripted::too_many_requests("7"),
            "answered 429, 0 bytes",
        ),
        (
            "503",
            Scripted::unavailable().body("<html>"),
            "answered 503, 6 bytes",
        ),
    ]
}

#[tokio::test]
async fn what_the_peer_does_decides_how_far_the_call_got() {
    for (name, answer, expected) in breaks().into_iter().chain(oddities()) {
        let peer = ScriptedPeer::start();
        peer.on("POST", "/message:send", answer);

        let called = call(impatient(), &post(&peer.url())).await;

        assert_eq!(label(&called), expected, "{name}: {:?}", called.reach);
        assert_eq!(peer.requests().len(), 1, "{name}: nothing is repeated");
        assert_eq!(peer.requests()[0].text(), BODY);
    }
}

#[tokio::test]
async fn a_reset_in_the_middle_of_an_answer_keeps_its_status() {
    let peer = ScriptedPeer::start();
    peer.on(
        "POST",
        "/message:send",
        Scripted::text(200, "0123456789").reset_after(4),
    );

    let called = call(impatient(), &post(&peer.url())).await;

    // How many bytes a reset lets through is up to the system.
    let Reach::Partial { answer, error } = called.reach else {
        panic!("{:?}", called.reach)
    };
    assert_eq!((answer.status, error.kind), (200, CallErrorKind::AnswerCut));
}

#[tokio::test]
async fn what_never_left_is_known_not_to_be_sent() {
    let silent = ScriptedPeer::start();
    silent.every_connection(Connect::Ignore);
    let https = silent.url().replace("http:", "https:");
    let closing = ScriptedPeer::start();
    closing.every_connection(Connect::Close);
    let closed = closing.url().replace("http:", "https:");
    let quick = Settings {
        connect: SHORT,
        ..Settings::default()
    };
    let large = Settings {
        request_bytes_max: 10,
        ..Settings::default()
    };
    let cases = [
        (
            Settings::default(),
            refused_url(),
            "not sent: connect_refused",
        ),
        (
            Settings::default(),
            "http://a..b".to_owned(),
            "not sent: dns",
        ),
        (Settings::default(), closed, "not sent: tls"),
        (Settings::default(), not_tls(), "not sent: tls"),
        (quick, https, "not sent: connect_timeout"),
        (large, silent.url(), "not sent: request_too_large"),
    ];

    for (settings, base, expected) in cases {
        let sent = Sent::default();

        let called = HttpCaller::new(settings)
            .call(&post(&base), None, &sent)
            .await;

        assert_eq!(label(&called), expected, "{base}: {:?}", called.reach);
        assert!(!sent.may_have_left());
    }
}

#[tokio::test]
async fn the_users_deadline_says_not_sent_only_while_nothing_left() {
    let peer = ScriptedPeer::start();
    peer.on("POST", "/message:send", Scripted::never());
    peer.on(
        "POST",
        "/cut",
        Scripted::text(200, "0123456789").stall_after(4),
    );
    let ignoring = ScriptedPeer::start();
    ignoring.every_connection(Connect::Ignore);
    let connecting = ignoring.url().replace("http:", "https:");
    let within = |request: Request| async move {
        let caller = HttpCaller::new(Settings::default());
        // A mark of an earlier call must not make this one doubtful.
        let sent = Sent::default();
        sent.begin();
        label(
            &caller
                .call(&request, Some(Deadline::after(SHORT)), &Sent::default())
                .await,
        )
    };

    assert_eq!(within(post(&connecting)).await, "not sent: total_timeout");
    assert_eq!(
        within(post(&peer.url())).await,
        "nothing back: total_timeout"
    );
    assert_eq!(
        within(request(
            Verb::Post,
            &format!("{}/cut", peer.url()),
            Some(BODY)
        ))
        .await,
        "200 and 4 bytes: total_timeout"
    );
}

#[tokio::test]
async fn each_timer_is_named_in_its_error() {
    let limit = Duration::from_secs(30);

    let shown = [
        CallError::connect_timeout(limit),
        CallError::first_byte_timeout(limit),
        CallError::idle_timeout(limit),
        CallError::total_timeout(limit),
    ]
    .map(|error| error.to_string());

    assert_eq!(
        shown,
        [
            "no connection within 30s (connect timeout)",
            "no byte of the answer within 30s (first-byte timeout)",
            "the answer fell silent for 30s (idle timeout)",
            "no full answer within 30s (total timeout)",
        ]
    );
}

#[tokio::test]
async fn a_request_may_have_tighter_bounds_than_its_caller() {
    let peer = ScriptedPeer::start();
    peer.on("POST", "/message:send", Scripted::text(200, "0123456789"));
    peer.on("POST", "/silent", Scripted::never());
    let mut small = post(&peer.url());
    small.bounds.response_bytes_max = Some(4);
    let mut hasty = request(Verb::Post, &format!("{}/silent", peer.url()), Some(BODY));
    hasty.bounds.first_byte = Some(SHORT);

    let large = call(Settings::default(), &small).await;
    let silent = call(Settings::default(), &hasty).await;

    assert_eq!(label(&large), "200 and 4 bytes: answer_too_large");
    assert_eq!(label(&silent), "nothing back: first_byte_timeout");
}

#[tokio::test]
async fn an_interrupted_call_still_knows_whether_anything_left() {
    let peer = ScriptedPeer::start();
    let gate = Gate::new("the request was read");
    peer.on(
        "POST",
        "/message:send",
        Scripted::text(200, "x").gated(&gate),
    );
    let sent = Sent::default();
    let caller = HttpCaller::new(Settings::default());
    let request = post(&peer.url());

    tokio::select! {
        call = caller.call(&request, None, &sent) => panic!("answered: {call:?}"),
        () = sent.begun() => {}
    }

    assert!(sent.may_have_left());
}

#[tokio::test]
async fn the_bytes_of_an_answer_are_exact_and_no_coding_is_asked_for() {
    let peer = ScriptedPeer::start();
    peer.on("POST", "/message:send", Scripted::gzip());

    let called = call(Settings::default(), &post(&peer.url())).await;

    let Reach::Answered(answer) = called.reach else {
        panic!("{:?}", called.reach)
    };
    assert_eq!(
        answer.body,
        missive_fixtures::wire("bodies/message.json.gz")
    );
    assert_eq!(answer.headers.coding(), Some("gzip"));
    let seen = &peer.requests()[0];
    assert_eq!(seen.header("accept-encoding"), Some("identity"));
    assert_eq!(
        seen.header("content-length"),
        Some(BODY.len().to_string().as_str())
    );
    assert_eq!(seen.header("x-api-key"), Some("hunter2"));
}

#[tokio::test]
async fn a_redirect_within_the_origin_keeps_method_body_and_credentials() {
    let peer = ScriptedPeer::start();
    peer.on(
        "POST",
        "/message:send",
        Scripted::redirect(307, "/v2/message:send"),
    );
    peer.on("POST", "/v2/message:send", Scripted::text(200, "ok"));

    let called = call(Settings::default(), &post(&peer.url())).await;

    assert_eq!(label(&called), "answered 200, 2 bytes");
    assert_eq!(called.hops.len(), 1);
    assert_eq!(
        (called.hops[0].status, called.hops[0].to.path()),
        (307, "/v2/message:send")
    );
    let seen = &peer.requests_to("POST", "/v2/message:send")[0];
    assert_eq!(
        (seen.text().as_str(), seen.header("x-api-key")),
        (BODY, Some("hunter2"))
    );
}

#[tokio::test]
async fn a_redirect_to_another_origin_gets_neither_message_nor_credentials() {
    let other = ScriptedPeer::start();
    other.otherwise(Scripted::text(200, "stolen"));
    let peer = ScriptedPeer::start();
    let there = format!("{}/x?token=s", other.url());
    peer.otherwise(Scripted::redirect(307, &there));
    let get = request(Verb::Get, &format!("{}/card", peer.url()), None);
    let allowed = Settings {
        redirects: RedirectRules {
            cross_origin: true,
            ..RedirectRules::default()
        },
        ..Settings::default()
    };

    let message = call(allowed.clone(), &post(&peer.url())).await;
    let by_default = call(Settings::default(), &get).await;
    let seen_before = other.requests().len();
    let followed = call(allowed, &get).await;

    assert_eq!(label(&message), "answered 307, 0 bytes");
    assert_eq!(
        by_default.refused_redirect.unwrap().to_string(),
        format!(
            "the redirect to {}/x is not followed: it leads to another origin",
            other.url()
        )
    );
    assert_eq!(seen_before, 0);
    assert_eq!(label(&followed), "answered 200, 6 bytes");
    assert_eq!(other.requests()[0].header("x-api-key"), None);
    assert_eq!(other.requests()[0].header("x-plain"), Some("p"));
}

#[tokio::test]
async fn redirects_that_run_in_a_circle_end() {
    let peer = ScriptedPeer::start();
    peer.otherwise(Scripted::redirect(302, "/again"));

    let called = call(Settings::default(), &request(Verb::Get, &peer.url(), None)).await;

    assert_eq!(called.hops.len(), 5);
    assert_eq!(peer.requests().len(), 6);
    assert!(
        called
            .refused_redirect
            .unwrap()
            .to_string()
            .ends_with("there were too many already")
    );
}

#[tokio::test]
async fn a_trusted_certificate_is_accepted_and_an_unknown_one_is_not_sent_to() {
    let base = tls_server(2);
    let root = include_bytes!("../../../fixtures/tls/root.cert.der").to_vec();
    let trusting = Settings {
        extra_roots: vec![root],
        ..Settings::default()
    };

    let trusted = call(trusting, &post(&base)).await;
    let unknown = call(Settings::default(), &post(&base)).await;

    assert_eq!(
        label(&trusted),
        "answered 200, 2 bytes",
        "{:?}",
        trusted.reach
    );
    assert_eq!(label(&unknown), "not sent: tls", "{:?}", unknown.reach);
}

/// Speaks plain HTTP to one client that wants TLS.
fn not_tls() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut hello = [0_u8; 16];
        stream.read_exact(&mut hello).unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
    });
    base
}

/// Serves `ok` over TLS to so many connections.
fn tls_server(connections: usize) -> String {
    let certificate = include_bytes!("../../../fixtures/tls/localhost.cert.der").to_vec();
    let key = include_bytes!("../../../fixtures/tls/localhost.key.der").to_vec();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.into()],
            PrivatePkcs8KeyDer::from(key).into(),
        )
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!(
        "https://localhost:{}",
        listener.local_addr().unwrap().port()
    );
    std::thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            let session = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut tls = rustls::StreamOwned::new(session, stream.unwrap());
            let mut seen = Vec::new();
            let mut bytes = [0_u8; 1_024];
            // A client that does not trust us ends the handshake, which ends this loop as well.
            while !seen.ends_with(BODY.as_bytes()) {
                match tls.read(&mut bytes) {
                    Ok(count) if count > 0 => seen.extend_from_slice(&bytes[..count]),
                    Ok(_) | Err(_) => break,
                }
            }
            let _gone = tls
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
                .is_err();
        }
    });
    base
}
