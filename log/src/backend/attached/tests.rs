//! The attached side against hosts that are honest, silent, gone or of another kind.

use super::*;
use crate::backend::companion::{Companion, NoCompanion};
use crate::backend::host::{self, Served};
use crate::backend::memory::MemoryLog;
use crate::conformance::{batch, within_reason};
use crate::seam::Ids;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixListener;

/// A host on the runtime of the test.
struct Host {
    folder: TempDir,
    log: Arc<MemoryLog>,
    opened: watch::Sender<Option<Served<MemoryLog, NoCompanion>>>,
    stop: watch::Sender<bool>,
    serving: tokio::task::JoinHandle<()>,
}

impl Host {
    fn opening() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(MemoryLog::new(Arc::new(Ids::from_system())).unwrap());
        let (opened, hears_opened) = watch::channel(None);
        let (stop, hears_stop) = watch::channel(false);
        let listener = host::listen(&folder.path().join("socket")).unwrap();
        let serving = tokio::spawn(host::serve(listener, hears_opened, hears_stop));
        Self {
            folder,
            log,
            opened,
            stop,
            serving,
        }
    }

    fn open(&self) {
        self.opened.send_replace(Some(Served {
            log: Arc::clone(&self.log),
            companion: Arc::new(NoCompanion),
        }));
    }

    async fn attach(&self) -> Result<Attached, ConnectError> {
        attach(&self.folder, &Agreement::of_this_build(String::new()), None).await
    }
}

async fn attach(
    folder: &TempDir,
    ours: &Agreement,
    log: Option<LogId>,
) -> Result<Attached, ConnectError> {
    let deadline = Instant::now() + PATIENCE;
    Attached::connect(&folder.path().join("socket"), ours, log, deadline).await
}

async fn make() -> (Arc<Attached>, Host) {
    let host = Host::opening();
    host.open();
    (Arc::new(host.attach().await.unwrap()), host)
}

crate::conformance::conformance!(make);

#[tokio::test]
async fn whoever_comes_while_the_log_is_opened_waits_and_gets_in() {
    let host = Host::opening();
    let attaching = async {
        let (attached, ()) = tokio::join!(host.attach(), async { host.open() });
        attached.unwrap().append(batch(&["a"])).await
    };

    let appended = within_reason(attaching).await.unwrap();

    assert_eq!(appended.last, Seq(2));
}

#[tokio::test]
async fn two_that_do_not_fit_together_do_not_work_together() {
    let (_attached, host) = make().await;
    let views = Agreement::of_this_build("views 2".to_owned());
    let ours = Agreement::of_this_build(String::new());

    let by_views = attach(&host.folder, &views, None).await.unwrap_err();
    let by_log = attach(&host.folder, &ours, Some(LogId([7; 32])))
        .await
        .unwrap_err();

    let ConnectError::Mismatch(by_views) = by_views else {
        panic!("{by_views:?}")
    };
    let ConnectError::Mismatch(by_log) = by_log else {
        panic!("{by_log:?}")
    };
    assert_eq!(
        (by_views.what, by_views.pid),
        ("the views", Some(std::process::id()))
    );
    assert_eq!(by_log.what, "the logs");
}

#[tokio::test]
async fn a_host_that_ends_finishes_what_was_asked_and_then_loses_its_peers() {
    let (attached, host) = make().await;
    attached.append(batch(&["a"])).await.unwrap();

    host.stop.send_replace(true);
    within_reason(host.serving).await.unwrap();

    within_reason(attached.ended()).await;
    let lost = attached.append(batch(&["a"])).await.unwrap_err();
    assert!(matches!(lost, AppendError::HostLost), "{lost:?}");
    assert!(matches!(
        attached.read(Seq(0), 1).await,
        Err(ReadError::HostLost)
    ));
    assert!(matches!(
        attached.call_companion(Seq(0), b""),
        Err(CallError::HostLost)
    ));
    assert_eq!(host.log.head().borrow().seq, Seq(2));
}

#[tokio::test]
async fn a_frame_that_makes_no_sense_ends_its_own_connection_only() {
    let (attached, host) = make().await;
    let mut rogue = rogue(&host).await;

    rogue.write_all(&[0xff; 4]).await.unwrap();
    let mut heard = Vec::new();
    let ended = within_reason(rogue.read_to_end(&mut heard)).await;

    // A reset says the same as an end: the host did not read on.
    assert!(ended.is_ok() || ended.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionReset));
    assert!(attached.append(batch(&["a"])).await.is_ok());
}

#[tokio::test]
async fn a_stranger_at_the_socket_is_not_spoken_to() {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n")
            .await
            .unwrap();
    });

    let refused = attach(&folder, &Agreement::of_this_build(String::new()), None).await;

    assert!(
        matches!(refused, Err(ConnectError::Nobody(FrameError::Magic))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_host_of_another_protocol_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let other = (frame::PROTOCOL + 1).to_be_bytes();
        let hello = [b"missive\0".as_slice(), &other].concat();
        stream.write_all(&hello).await.unwrap();
    });

    let refused = attach(&folder, &Agreement::of_this_build(String::new()), None)
        .await
        .unwrap_err();

    let ConnectError::Mismatch(refused) = refused else {
        panic!("{refused:?}")
    };
    let pid = std::process::id();
    assert_eq!(
        refused.to_string(),
        format!(
            "the log is hosted by process {pid}, and the versions of the socket differ: {} there, {} here",
            frame::PROTOCOL + 1,
            frame::PROTOCOL
        )
    );
}

async fn rogue(host: &Host) -> UnixStream {
    let mut rogue = UnixStream::connect(host.folder.path().join("socket"))
        .await
        .unwrap();
    let hello = ToHost::Hello {
        agreement: Agreement::of_this_build(String::new()),
        log: None,
        pid: 1,
    };
    rogue.write_all(&preamble()).await.unwrap();
    rogue.write_all(&encode(&hello).unwrap()).await.unwrap();
    rogue
}

#[tokio::test]
async fn a_peer_that_asks_much_and_never_reads_stops_nobody_else() {
    let (attached, host) = make().await;
    // More than the socket and the queue of answers hold.
    attached.append(batch(&vec!["a"; 1_000])).await.unwrap();
    let mut rogue = rogue(&host).await;
    for id in 1..=30 {
        let (after, limit) = (0, 4_096);
        let request = Request::Read { after, limit };
        rogue
            .write_all(&encode(&ToHost::Ask { id, request }).unwrap())
            .await
            .unwrap();
    }

    let appended = within_reason(attached.append(batch(&["a"]))).await;

    assert!(appended.is_ok());
}

#[tokio::test]
async fn one_connection_too_many_is_closed_and_the_others_stay() {
    let (attached, host) = make().await;
    let mut others = Vec::new();
    for _ in 0..255 {
        others.push(rogue(&host).await);
    }
    // So many are in, if this one is: they are taken in the order in which they came.
    let mut last = others.pop().unwrap();
    last.read_exact(&mut [0; 12]).await.unwrap();

    let socket = host.folder.path().join("socket");
    let mut further = UnixStream::connect(socket).await.unwrap();
    let heard = within_reason(further.read(&mut [0; 1])).await;

    assert_eq!(heard.unwrap(), 0);
    assert!(attached.append(batch(&["a"])).await.is_ok());
}

/// Says what it was asked, and as of where.
struct Echo;

impl Companion for Echo {
    fn fingerprint(&self) -> String {
        String::new()
    }

    fn greeting(&self) -> Vec<u8> {
        b"welcome".to_vec()
    }

    fn answer_now(&self, _least: Seq, request: &[u8]) -> Option<Result<Vec<u8>, String>> {
        (request == b"now").then(|| Ok(b"at once".to_vec()))
    }

    fn answer(&self, least: Seq, request: &[u8]) -> Result<Vec<u8>, String> {
        if request.is_empty() {
            return Err("nothing was asked".to_owned());
        }
        Ok([&least.to_key(), request].concat())
    }
}

#[tokio::test]
async fn what_is_served_beside_the_log_answers_or_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(MemoryLog::new(Arc::new(Ids::from_system())).unwrap());
    let companion = Arc::new(Echo);
    let (_opened, hears_opened) = watch::channel(Some(Served { log, companion }));
    let (_stop, hears_stop) = watch::channel(false);
    let listener = host::listen(&folder.path().join("socket")).unwrap();
    tokio::spawn(host::serve(listener, hears_opened, hears_stop));
    let attached = attach(&folder, &Agreement::of_this_build(String::new()), None)
        .await
        .unwrap();

    assert_eq!(attached.greeting(), b"welcome");

    let ask = move || {
        let answered = attached.call_companion(Seq(7), b"rows").unwrap();
        let now = attached.call_companion(Seq(7), b"now").unwrap();
        (answered, now, attached.call_companion(Seq(7), b""))
    };
    let (answered, now, refused) = tokio::task::spawn_blocking(ask).await.unwrap();

    assert_eq!(answered, b"\0\0\0\0\0\0\0\x07rows");
    assert_eq!(now, b"at once");
    assert!(matches!(refused, Err(CallError::Refused(text)) if text == "nothing was asked"));
}
