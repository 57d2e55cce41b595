//! The receiver's door: strangers, slow ones, large ones and many at once.

use super::*;
use missive_commands::config::Config;
use missive_commands::receive::{Key, Receive};
use missive_commands::secret::Secret;
use missive_commands::{Actor, Credentials, Missive, Parts, Requests};
use missive_log::backend::instance::Instance;
use missive_log::backend::memory::MemoryLog;
use missive_log::{Ids, Origin};
use missive_projections::{Views, ViewsHost, source_of};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A receiver with small bounds, on a log in memory.
struct World {
    address: SocketAddr,
    log: Arc<MemoryLog>,
    reception: Arc<Reception<MemoryLog>>,
    events: mpsc::Receiver<Event>,
    room: Arc<Semaphore>,
    close: watch::Sender<bool>,
    serving: tokio::task::JoinHandle<()>,
    _run: tempfile::TempDir,
}

const SMALL: Limits = Limits {
    connections_max: 2,
    head_within: Duration::from_millis(200),
    head_bytes_max: 8 << 10,
    bodies_bytes_max: 4 << 10,
    body_within: Duration::from_millis(200),
    wait_max: Duration::from_millis(20),
    close_within: Duration::from_secs(5),
};

impl World {
    async fn new(limits: Limits, shown_max: usize) -> Self {
        let run = tempfile::tempdir().unwrap();
        let ids = Arc::new(Ids::from_system());
        let log = Arc::new(MemoryLog::new(Arc::clone(&ids)).unwrap());
        let head = *log.head().borrow();
        let views = ViewsHost::in_memory(head.log, source_of(Arc::clone(&log)));
        let missive = Missive::new(Parts {
            log: Arc::clone(&log),
            views: Views::hosted(Arc::new(views), head.seq),
            actor: Actor {
                id: ids.actor(),
                names: String::new(),
            },
            instance: Arc::new(Instance::begin(run.path(), &ids).unwrap()),
            ids,
            config: Arc::new(Config::default()),
            profile: "default".to_owned(),
            run: run.path().to_owned(),
            origin: Origin::Cli,
            requests: Requests::default(),
            credentials: Credentials::default(),
            credentials_of: BTreeMap::new(),
            further_secrets: Vec::new(),
        });
        let how = Receive {
            notification_token: None,
            address: String::new(),
            key: Some(Key {
                token: Secret::new("t0ken".to_owned()),
                header: "Authorization".to_owned(),
                scheme: Some("Bearer".to_owned()),
            }),
            body_bytes_max: 1 << 10,
            accepted_max: None,
            raw: false,
        };
        let reception = Reception::start(Arc::new(missive), how).await.unwrap();
        let reception = Arc::new(reception);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (close, closing) = watch::channel(false);
        let (events, shown) = mpsc::channel(shown_max);
        let room = Arc::new(Semaphore::new(limits.bodies_bytes_max));
        let door = Door {
            reception: Arc::clone(&reception),
            path: "/push".to_owned(),
            bodies: Arc::clone(&room),
            limits,
            events,
            closing,
        };
        Self {
            serving: tokio::spawn(listen(listener, door)),
            address,
            log,
            reception,
            events: shown,
            room,
            close,
            _run: run,
        }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// What a request is answered with, until the receiver hangs up.
    async fn answer(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        rest(&mut stream).await
    }

    async fn close(self) {
        self.close.send_replace(true);
        self.serving.await.unwrap();
    }
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A receiver that hangs up on bytes that it has not read resets the connection.
    stream.read_to_end(&mut bytes).await.ok();
    String::from_utf8(bytes).unwrap()
}

fn status(answer: &str) -> u16 {
    let word = answer.split(' ').nth(1).unwrap_or("0");
    word.parse().unwrap()
}

const HEAD: &str = "POST /push HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n\
                    Connection: close\r\nAuthorization: Bearer t0ken\r\n";
const UPDATE: &str =
    r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;

fn delivery() -> String {
    format!("{HEAD}Content-Length: {}\r\n\r\n{UPDATE}", UPDATE.len())
}

#[tokio::test]
async fn a_delivery_is_durable_once_it_is_answered() {
    let mut world = World::new(SMALL, 8).await;
    let before = world.log.head().borrow().seq;

    let answer = world.answer(&delivery()).await;

    assert_eq!(status(&answer), 202);
    assert_eq!(world.log.head().borrow().seq, before.next());
    let Some(Event::Taken(report)) = world.events.recv().await else {
        panic!("a delivery")
    };
    assert_eq!(report.sequence, before.next().0);
    world.close().await;
}

#[tokio::test]
async fn who_delivers_is_looked_at_before_a_byte_of_the_body_is_read() {
    let world = World::new(SMALL, 8).await;
    let stranger = "POST /push HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n\
                    Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n";

    // Nothing of the body is ever sent.
    let answer = world.answer(stranger).await;

    assert_eq!(status(&answer), 401);
    assert!(answer.contains("\r\nwww-authenticate: Bearer\r\n"));
    assert!(answer.ends_with("{\"error\":\"unauthorized\"}\n"));
    world.close().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told_by_its_status() {
    let world = World::new(SMALL, 8).await;
    let large = "x".repeat(2_000);
    let chunked = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n7d0\r\n{large}\r\n");
    let head = format!("{HEAD}X-Large: {}\r\n\r\n", "x".repeat(1 << 20));
    let zipped = format!("{HEAD}Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx");

    for (request, expected) in [
        (chunked, 413),
        (format!("{HEAD}Content-Length: 2000\r\n\r\n{large}"), 413),
        (head, 431),
        (zipped, 415),
        (format!("{HEAD}Content-Length: 2\r\n\r\n{{}}"), 400),
        ("GET /push HTTP/1.0\r\n\r\n".to_owned(), 405),
        ("POST /other HTTP/1.0\r\n\r\n".to_owned(), 404),
        ("GET /healthz HTTP/1.0\r\n\r\n".to_owned(), 200),
        ("GET /readyz HTTP/1.0\r\n\r\n".to_owned(), 200),
    ] {
        assert_eq!(status(&world.answer(&request).await), expected);
    }
    world.close().await;
}

#[tokio::test]
async fn slow_heads_and_bodies_end_and_stop_nobody_else() {
    let world = World::new(SMALL, 8).await;
    let mut slow = world.connect().await;
    slow.write_all(b"POST /push HTTP/1.1\r\nHost")
        .await
        .unwrap();

    let meanwhile = world.answer(&delivery()).await;
    let body = world
        .answer(&format!("{HEAD}Content-Length: 9\r\n\r\n{{"))
        .await;
    let head = rest(&mut slow).await;

    assert_eq!(status(&meanwhile), 202);
    assert_eq!(status(&body), 408);
    assert_eq!(head, "");
    world.close().await;
}

#[tokio::test]
async fn one_connection_too_many_is_asked_to_come_again() {
    let limits = Limits {
        head_within: Duration::from_secs(60),
        ..SMALL
    };
    let world = World::new(limits, 8).await;
    let (mut one, mut other) = (world.connect().await, world.connect().await);
    for stream in [&mut one, &mut other] {
        // Answered, so it has its place.
        let asked = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n";
        stream.write_all(asked).await.unwrap();
        stream.read_u8().await.unwrap();
    }

    let third = rest(&mut world.connect().await).await;

    assert_eq!(status(&third), 503);
    let rejections = world.reception.flush().await.unwrap();
    assert_eq!(rejections.first().unwrap().reason, "busy");
    world.close().await;
}

#[tokio::test]
async fn bodies_that_are_too_many_at_once_are_asked_to_come_again() {
    let limits = Limits {
        // A body of this receiver may have 1,024 bytes.
        bodies_bytes_max: 1 << 10,
        body_within: Duration::from_secs(60),
        ..SMALL
    };
    let world = World::new(limits, 8).await;
    let mut half = world.connect().await;
    let head = format!("{HEAD}Content-Length: 1000\r\n\r\n{{\"pad\":\"");
    half.write_all(format!("{head}{}", "x".repeat(960)).as_bytes())
        .await
        .unwrap();
    // Its bytes are held as soon as the room for them is taken.
    while world.room.available_permits() > 100 {
        tokio::task::yield_now().await;
    }

    let refused = world.answer(&delivery()).await;
    drop(half);
    while world.room.available_permits() < 1 << 10 {
        tokio::task::yield_now().await;
    }
    let taken = world.answer(&delivery()).await;

    assert_eq!([status(&refused), status(&taken)], [503, 202]);
    assert!(refused.contains("\r\nretry-after: 1\r\n"), "{refused}");
    world.close().await;
}

#[tokio::test]
async fn a_reader_that_does_not_read_makes_senders_come_again_and_loses_nothing() {
    let mut world = World::new(SMALL, 1).await;

    let first = world.answer(&delivery()).await;
    let second = world.answer(&delivery()).await;
    let shown = world.events.recv().await;
    let third = world.answer(&delivery()).await;

    assert_eq!(
        [&first, &second, &third].map(|answer| status(answer)),
        [202, 503, 202]
    );
    assert!(second.contains("\r\nretry-after: 1\r\n"));
    assert!(matches!(shown, Some(Event::Taken(_))));
    world.close().await;
}

#[tokio::test]
async fn a_receiver_that_closes_lets_go_of_idle_connections() {
    let limits = Limits {
        head_within: Duration::from_secs(60),
        ..SMALL
    };
    let world = World::new(limits, 8).await;
    let mut idle = world.connect().await;
    let asked = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n";
    idle.write_all(asked).await.unwrap();
    idle.read_u8().await.unwrap();

    world.close().await;

    assert!(rest(&mut idle).await.ends_with("ok\n"));
}
