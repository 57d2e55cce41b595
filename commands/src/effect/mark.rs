//! Knowing whether a request may have left this machine.
//!
//! After a cut connection or a timeout, one question decides between "not sent" and "in doubt": did
//! the transport begin to write? It asks the body for bytes only once it is connected and the head
//! stands in its buffer, so a body that notices the question gives a safe answer: not asked means
//! that the message cannot have arrived.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::Notify;

/// Shared with a running call: tells whether request bytes may have left, also after the call was
/// dropped by an interrupt.
#[derive(Clone, Debug, Default)]
pub struct Sent(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    begun: AtomicBool,
    notify: Notify,
}

impl Sent {
    /// Whether any byte of the request may have left. `false` is certain, `true` is not.
    pub fn may_have_left(&self) -> bool {
        self.0.begun.load(Ordering::SeqCst)
    }

    pub(super) fn begin(&self) {
        self.0.begun.store(true, Ordering::SeqCst);
        self.0.notify.notify_one();
    }

    pub(super) fn reset(&self) {
        self.0.begun.store(false, Ordering::SeqCst);
    }

    /// Returns once writing has begun.
    pub(super) async fn begun(&self) {
        while !self.may_have_left() {
            self.0.notify.notified().await;
        }
    }
}

/// A request body of known bytes that sets the mark when the transport asks for them.
pub(super) struct MarkedBody {
    bytes: Option<Bytes>,
    sent: Sent,
}

impl MarkedBody {
    pub(super) fn new(bytes: Bytes, sent: Sent) -> Self {
        Self {
            bytes: Some(bytes),
            sent,
        }
    }
}

impl Body for MarkedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.sent.begin();
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
