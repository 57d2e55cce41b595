//! Event streams in any chunks, and what `sse-core` says of the same bytes.

use std::borrow::Cow;

use missive_fixtures::{captures, wire, wire_names};
use proptest::prelude::*;
use sse_core::{SseDecoder, SseEvent};

use super::tests::{Told, limits};
use super::*;

/// What `sse-core` says: name, data and the id in force of each event, and every wish to wait.
fn oracle(bytes: &[u8]) -> (Vec<(String, String, String)>, Vec<u64>) {
    let mut decoder = SseDecoder::with_limit((16 << 20).try_into().unwrap());
    let (mut events, mut waits) = (Vec::new(), Vec::new());
    let mut rest = bytes;
    while let Some(event) = decoder.next(&mut rest) {
        match event.unwrap() {
            SseEvent::Message(event) => events.push((
                event.event.into_owned(),
                event.data,
                event
                    .last_event_id
                    .as_deref()
                    .unwrap_or_default()
                    .to_owned(),
            )),
            SseEvent::Retry(wait) => waits.push(u64::from(wait)),
        }
    }
    (events, waits)
}

/// The same in our words. A frame tells only its last wish to wait.
fn ours(told: &Told) -> (Vec<(String, String, String)>, Vec<u64>) {
    let (mut events, mut waits) = (Vec::new(), Vec::new());
    let mut id = String::new();
    for frame in told.all() {
        waits.extend(frame.retry_ms());
        id = frame.id().map_or(id, Cow::into_owned);
        if let Some(data) = frame.data().unwrap() {
            let name = frame.event().unwrap_or("message".into());
            events.push((name.into_owned(), data.into_owned(), id.clone()));
        }
    }
    (events, waits)
}

#[test]
fn every_captured_stream_is_read_as_sse_core_reads_it_and_its_bytes_are_kept() {
    let captured = captures();
    let real = captured
        .iter()
        .filter(|one| one.is_stream())
        .map(|one| one.body);
    let written = wire_names("streams/").into_iter().map(wire);
    let streams: Vec<&[u8]> = real.chain(written).collect();

    assert!(streams.len() > 25, "{} streams", streams.len());
    for bytes in streams {
        let told = Told::whole(bytes);
        assert_eq!(ours(&told), oracle(bytes));
        assert_eq!(told, Told::bytewise(bytes));
        assert!(bytes.starts_with(&told.raw()));
    }
}

/// Streams that are mostly well made, with every line end and the odd things of the field reports.
fn streams() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        8 => Just("data"), 2 => Just("event"), 2 => Just("id"), 1 => Just(""), 1 => Just("\u{feff}"),
        1 => Just("dat"), 1 => Just("datax"), 1 => Just("Data"), 1 => Just("retry:7\ndata"),
    ];
    let colon = prop_oneof![6 => Just(": "), 3 => Just(":"), 1 => Just(":  "), 1 => Just("")];
    let value = prop_oneof![4 => "[a-z:é€😀\u{feff} ]{0,9}", 1 => Just("a\0b".to_owned()), 1 => Just(String::new())];
    let end = || prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    let line = (
        field,
        colon,
        value,
        end(),
        proptest::option::weighted(0.4, end()),
    )
        .prop_map(|(a, b, c, d, e)| format!("{a}{b}{c}{d}{}", e.unwrap_or_default()));
    let lines = proptest::collection::vec(line, 0..12).prop_map(|lines| lines.concat());
    (prop::bool::weighted(0.2), lines)
        .prop_map(|(mark, lines)| format!("{}{lines}", if mark { "\u{feff}" } else { "" }))
}

/// Bytes of which many mean something.
fn hostile_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![&b"\r"[..], b"\n", b"\r\n", b"data:", b"data", b"id: ", b":", b"\xef\xbb\xbf", b"retry: 1"])
            .prop_map(<[u8]>::to_vec),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn cut<'a>(mut bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    for size in sizes {
        let (chunk, rest) = bytes.split_at((*size).min(bytes.len()));
        chunks.push(chunk);
        bytes = rest;
    }
    chunks.push(bytes);
    chunks
}

proptest! {
    #[test]
    fn any_chunking_of_any_bytes_tells_the_same(
        bytes in prop_oneof![hostile_bytes(), streams().prop_map(String::into_bytes)],
        sizes in proptest::collection::vec(0_usize..9, 0..40),
        line_bytes_max in 0_usize..40,
        event_bytes_max in 0_usize..80,
    ) {
        for limits in [SseLimits::default(), limits(line_bytes_max, event_bytes_max)] {
            let whole = Told::of(limits, [bytes.as_slice()]);

            prop_assert_eq!(&whole, &Told::of(limits, cut(&bytes, &sizes)));
            prop_assert_eq!(&whole, &Told::of(limits, bytes.chunks(1)));
        }
    }

    #[test]
    fn all_frames_and_the_rest_put_together_are_the_stream(bytes in hostile_bytes()) {
        let told = Told::whole(&bytes);

        // Only the LF of a pair whose CR ended the last frame is nobody's.
        let mut raw = told.raw();
        if told.last.is_none() && raw.len() < bytes.len() {
            raw.push(b'\n');
        }
        prop_assert_eq!(raw, bytes);
        let mut offset = 0;
        for frame in told.all() {
            prop_assert_eq!(frame.offset(), offset);
            offset += frame.raw().len() as u64;
        }
    }

    #[test]
    fn generated_streams_mean_what_sse_core_says(stream in streams()) {
        let told = Told::whole(stream.as_bytes());

        let (events, _) = ours(&told);
        let (expected, _) = oracle(stream.as_bytes());
        prop_assert_eq!(events, expected);
    }
}
