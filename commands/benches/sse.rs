//! How fast an event stream is read, beside `sse-stream` and `sse-core` on the same bytes.
//!
//! Run with `cargo bench -p missive-commands --bench sse`. 100 MiB in chunks of 1,460 bytes, as a network
//! hands them out, in events of three sizes. Every contender reads every event and its data, which are
//! counted; every figure is the median of rounds taken in turn, so that a machine whose speed drifts
//! does not change the ratios.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_types,
    reason = "a benchmark measures time, prints, and ends on the first error"
)]

use std::convert::Infallible;
use std::pin::Pin;
use std::slice::Chunks;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_core::Stream;
use missive_commands::wire::sse::EventStream;
use sse_core::{SseDecoder, SseEvent};
use sse_stream::SseByteStream;

const CHUNK_BYTES: usize = 1_460;
const STREAM_BYTES: usize = 100 << 20;

/// How many events there are, and how many bytes their data have.
type Read = (usize, usize);

fn main() {
    let rounds = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok());
    println!(
        "{:>12} {:>12} {:>12} {:>12}",
        "event bytes", "missive", "sse-stream", "sse-core"
    );
    for event_bytes in [200, 2_000, 1 << 20] {
        compare(event_bytes, rounds.unwrap_or(5));
    }
}

fn compare(event_bytes: usize, rounds: usize) {
    let frame = format!("data: {{\"text\":\"{}\"}}\r\n\r\n", "x".repeat(event_bytes));
    let bytes = frame.repeat(STREAM_BYTES.div_ceil(frame.len()));
    let contenders: [fn(&[u8]) -> Read; 3] = [ours, stream_of_theirs, core_of_theirs];
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        let mut counted = Vec::new();
        for (read, times) in contenders.iter().zip(&mut times) {
            let begin = Instant::now();
            counted.push(read(bytes.as_bytes()));
            times.push(begin.elapsed());
        }
        assert!(counted.iter().all(|read| Some(read) == counted.first()));
    }
    let rates = times.map(|times| rate(bytes.len(), median(times)));
    let [ours, stream, core] = rates;
    println!("{event_bytes:>12} {ours:>12} {stream:>12} {core:>12}");
}

fn ours(bytes: &[u8]) -> Read {
    let mut stream = EventStream::default();
    let (mut events, mut data_bytes) = (0, 0);
    for mut chunk in bytes.chunks(CHUNK_BYTES) {
        while let Some(frame) = stream.next_frame(&mut chunk).unwrap() {
            if let Some(data) = frame.data().unwrap() {
                events += 1;
                data_bytes += data.len();
            }
        }
    }
    assert!(stream.finish().is_none());
    (events, data_bytes)
}

/// Chunks that are always ready.
struct Ready<'a>(Chunks<'a, u8>);

impl<'a> Stream for Ready<'a> {
    type Item = Result<&'a [u8], Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}

fn stream_of_theirs(bytes: &[u8]) -> Read {
    let mut stream = SseByteStream::new(Ready(bytes.chunks(CHUNK_BYTES)));
    let mut context = Context::from_waker(Waker::noop());
    let (mut events, mut data_bytes) = (0, 0);
    while let Poll::Ready(Some(event)) = Pin::new(&mut stream).poll_next(&mut context) {
        if let Some(data) = event.unwrap().data {
            events += 1;
            data_bytes += data.len();
        }
    }
    (events, data_bytes)
}

fn core_of_theirs(bytes: &[u8]) -> Read {
    let mut decoder = SseDecoder::with_limit((16 << 20).try_into().unwrap());
    let (mut events, mut data_bytes) = (0, 0);
    for mut chunk in bytes.chunks(CHUNK_BYTES) {
        while let Some(event) = decoder.next(&mut chunk) {
            if let SseEvent::Message(event) = event.unwrap() {
                events += 1;
                data_bytes += event.data.len();
            }
        }
    }
    (events, data_bytes)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn rate(bytes: usize, time: Duration) -> String {
    let mebibytes = u32::try_from(bytes >> 20).unwrap();
    format!("{:.0} MiB/s", f64::from(mebibytes) / time.as_secs_f64())
}
