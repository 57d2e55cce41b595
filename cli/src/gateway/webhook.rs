//! The HTTP side of the webhook receiver: connections, requests, answers.
//!
//! A sender gets 202 only for what is durable. Credentials are looked at before a byte of the body is read
//! (C099), and everything that a stranger can make grow has a bound: connections, heads, bodies, the time that
//! each of them takes, and what waits to be shown. When the reader of the output does not keep up, senders are
//! asked to come again instead of being forgotten.

use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use missive_commands::CommandError;
use missive_commands::receive::{NotTaken, Reception, Refused};
use missive_commands::report::push::DeliveryReport;
use missive_commands::wire::headers::Headers;
use missive_log::Log;
use missive_log::event::facts::PushRefusal;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// What a receiver gives to strangers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Most connections at a time.
    pub(crate) connections_max: usize,
    /// Longest time until a head is there whole; also how long a connection may be idle.
    pub(crate) head_within: Duration,
    /// Most bytes of a head.
    pub(crate) head_bytes_max: usize,
    /// Most bytes of all bodies that are held at a time: more than the largest one.
    pub(crate) bodies_bytes_max: usize,
    /// Longest time until a body is there whole.
    pub(crate) body_within: Duration,
    /// Longest wait for a place among the deliveries that are to be shown.
    pub(crate) wait_max: Duration,
    /// Longest time that a connection may go on once the receiver closes.
    pub(crate) close_within: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 1_024,
            head_within: Duration::from_secs(15),
            head_bytes_max: 16 << 10,
            bodies_bytes_max: 128 << 20,
            body_within: Duration::from_secs(30),
            wait_max: Duration::from_secs(10),
            close_within: Duration::from_secs(5),
        }
    }
}

/// How many fields a head may have.
const HEADERS_MAX: usize = 100;
/// How much of a connection is read ahead, in bytes.
const BUFFER_BYTES_MAX: usize = 64 << 10;
/// How long nothing is accepted after the system refused to, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How many deliveries may wait to be shown.
pub(crate) const SHOWN_MAX: usize = 1_024;

/// What is told to whoever started the receiver.
#[derive(Debug)]
pub(crate) enum Event {
    /// A delivery is durable.
    Taken(Box<DeliveryReport>),
    /// The log takes nothing more.
    Broken(CommandError),
}

/// A receiver's door.
#[derive(Debug)]
pub(crate) struct Door<L> {
    /// What becomes of a delivery.
    pub(crate) reception: Arc<Reception<L>>,
    /// The path at which deliveries are taken.
    pub(crate) path: String,
    /// The bounds.
    pub(crate) limits: Limits,
    /// Room for bodies, a permit a byte.
    pub(crate) bodies: Arc<Semaphore>,
    /// Whoever shows what came.
    pub(crate) events: mpsc::Sender<Event>,
    /// Whether the receiver is about to stop.
    pub(crate) closing: watch::Receiver<bool>,
}

/// Serves until the receiver closes, and then until the last connection ended.
pub(crate) async fn listen<L: Log>(listener: TcpListener, door: Door<L>) {
    let door = Arc::new(door);
    let places = Arc::new(Semaphore::new(door.limits.connections_max));
    let mut connections = JoinSet::new();
    let mut closing = door.closing.clone();
    loop {
        let accepted = tokio::select! {
            biased;
            () = closes(&mut closing) => break,
            accepted = listener.accept() => accepted,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) => match Arc::clone(&places).try_acquire_owned() {
                Ok(place) => {
                    let door = Arc::clone(&door);
                    connections.spawn(async move {
                        serve(stream, door).await;
                        drop(place);
                    });
                }
                Err(_) => turn_away(&stream, &door),
            },
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    if timeout(door.limits.close_within, all_ended).await.is_err() {
        connections.shutdown().await;
    }
}

/// Tells one connection too many to come again.
fn turn_away<L: Log>(stream: &TcpStream, door: &Door<L>) {
    door.reception.refuse(busy("too many connections"));
    let answer = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\
                   Connection: close\r\n\r\n";
    if let Err(error) = stream.try_write(answer) {
        tracing::debug!(%error, "a sender could not be told to come again");
    }
}

async fn serve<L: Log>(stream: TcpStream, door: Arc<Door<L>>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "answers may be delayed");
    }
    let limits = door.limits;
    let mut closing = door.closing.clone();
    let service = service_fn(move |request| {
        let door = Arc::clone(&door);
        async move { Ok::<_, Infallible>(answer(&door, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_within)
        .max_header_size(limits.head_bytes_max)
        .max_headers(HEADERS_MAX)
        .max_buf_size(BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closes(&mut closing) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}

/// Waits until the receiver closes.
async fn closes(closing: &mut watch::Receiver<bool>) {
    if closing.wait_for(|closing| *closing).await.is_err() {
        tracing::debug!("nobody is left to close the receiver");
    }
}

async fn answer<L: Log>(door: &Door<L>, request: Request<Incoming>) -> Response<Whole> {
    let path = request.uri().path();
    let asks = matches!(*request.method(), Method::GET | Method::HEAD);
    if asks && path == "/healthz" {
        return plain(StatusCode::OK, "ok\n");
    }
    if asks && path == "/readyz" {
        return if *door.closing.borrow() || door.reception.is_full() {
            plain(StatusCode::SERVICE_UNAVAILABLE, "closing\n")
        } else {
            plain(StatusCode::OK, "ready\n")
        };
    }
    if path != door.path {
        return door.refused(Refused::new(PushRefusal::NotFound, "nothing is taken here"));
    }
    if request.method() != Method::POST {
        let refused = Refused::new(PushRefusal::Method, "deliveries come by POST");
        return door.refused(refused);
    }
    match door.take(request).await {
        Ok(()) => plain(StatusCode::ACCEPTED, ""),
        Err(refused) => refusal(refused),
    }
}

impl<L: Log> Door<L> {
    /// Counts a refusal, and answers it.
    fn refused(&self, refused: Refused) -> Response<Whole> {
        self.reception.refuse(refused);
        refusal(refused)
    }

    /// Reads a body to its end, or to its bound; while it is held, so is its room.
    async fn read(&self, mut body: Incoming) -> Result<(Vec<u8>, OwnedSemaphorePermit), Refused> {
        let bytes_max = self.reception.body_bytes_max();
        let mut bytes = Vec::new();
        let mut room = room_for(&self.bodies, 0)?;
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let broken = |_| Refused::new(PushRefusal::Malformed, "the body broke off");
            let Ok(piece) = frame.map_err(broken)?.into_data() else {
                continue;
            };
            if bytes.len() + piece.len() > bytes_max {
                let words = "the body is larger than this receiver takes";
                return Err(Refused::new(PushRefusal::TooLarge, words));
            }
            room.merge(room_for(&self.bodies, piece.len())?);
            bytes.extend_from_slice(&piece);
        }
        Ok((bytes, room))
    }

    async fn take(&self, request: Request<Incoming>) -> Result<(), Refused> {
        let (head, body) = request.into_parts();
        let fields = head.headers.iter();
        let headers: Headers = fields
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        self.reception.admit(&headers, body.size_hint().exact())?;
        let read = self.read(body);
        let read = timeout(self.limits.body_within, read).await;
        // The room is given back once the delivery is durable.
        let (body, _room) = match read {
            Ok(Ok(read)) => read,
            Ok(Err(refused)) => {
                self.reception.refuse_known(refused, &headers, &[]);
                return Err(refused);
            }
            Err(_late) => {
                let refused = Refused::new(PushRefusal::Timeout, "the body did not come in time");
                self.reception.refuse_known(refused, &headers, &[]);
                return Err(refused);
            }
        };
        // The place comes first: what is durable must not wait for a reader that does not read.
        let place = timeout(self.limits.wait_max, self.events.reserve()).await;
        let Ok(Ok(place)) = place else {
            let refused = busy("deliveries come faster than they are taken");
            self.reception.refuse(refused);
            return Err(refused);
        };
        match self.reception.take(&headers, &body).await {
            Ok(report) => {
                place.send(Event::Taken(Box::new(report)));
                Ok(())
            }
            Err(NotTaken::Refused(refused)) => Err(refused),
            Err(NotTaken::Failed(error)) => {
                let refused = busy("the delivery could not be recorded");
                self.reception.refuse(refused);
                place.send(Event::Broken(error));
                Err(refused)
            }
        }
    }
}

fn busy(words: &'static str) -> Refused {
    Refused::new(PushRefusal::Busy, words)
}

/// Room for `bytes` more.
fn room_for(bodies: &Arc<Semaphore>, bytes: usize) -> Result<OwnedSemaphorePermit, Refused> {
    let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
    let room = Arc::clone(bodies).try_acquire_many_owned(permits);
    room.map_err(|_| busy("too many bodies at once"))
}

fn refusal(refused: Refused) -> Response<Whole> {
    let status = StatusCode::from_u16(refused.status()).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = plain(status, "");
    let headers = response.headers_mut();
    let field = match refused.why {
        // Without detail: neither whether a token was there nor what was wrong with it.
        PushRefusal::Unauthorized => Some((WWW_AUTHENTICATE, "Bearer")),
        PushRefusal::Method => Some((ALLOW, "POST")),
        PushRefusal::Busy => Some((RETRY_AFTER, "1")),
        PushRefusal::Malformed
        | PushRefusal::TooLarge
        | PushRefusal::ContentType
        | PushRefusal::NotFound
        | PushRefusal::Timeout => None,
    };
    if let Some((name, value)) = field {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // The words are missive's own and hold nothing that JSON would escape.
    let text = format!("{{\"error\":\"{}\"}}\n", refused.words);
    *response.body_mut() = Whole(Some(Bytes::from(text)));
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Whole> {
    let body = Some(Bytes::from_static(text.as_bytes())).filter(|bytes| !bytes.is_empty());
    let mut response = Response::new(Whole(body));
    *response.status_mut() = status;
    response
}

/// A body that is there whole, or empty.
#[derive(Debug)]
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        let bytes = self.0.as_ref().map_or(0, Bytes::len);
        hyper::body::SizeHint::with_exact(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
#[path = "webhook_tests.rs"]
mod tests;
