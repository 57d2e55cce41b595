//! An event stream of a hostile peer, in chunks of its choice: the same frames, no byte lost, no panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missive_commands::wire::sse::{EventStream, Frame, Last, SseError, SseLimits};

type Told = (Vec<Frame>, Option<SseError>, Option<Last>);

fn told<'a>(limits: SseLimits, chunks: impl Iterator<Item = &'a [u8]>) -> Told {
    let mut stream = EventStream::new(limits);
    let (mut frames, mut error) = (Vec::new(), None);
    for mut chunk in chunks {
        loop {
            match stream.next_frame(&mut chunk) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break assert!(chunk.is_empty(), "a chunk is taken whole"),
                Err(found) => break error = Some(found),
            }
        }
    }
    (frames, error, stream.finish())
}

fuzz_target!(|bytes: &[u8]| {
    // The first bytes are the bounds and the size of chunks.
    let Some(([line, event, size], stream)) = bytes.split_first_chunk() else {
        return;
    };
    let limits = SseLimits {
        line_bytes_max: usize::from(*line) * 8,
        event_bytes_max: usize::from(*event) * 8,
    };

    let whole = told(limits, [stream].into_iter());
    let in_chunks = told(limits, stream.chunks(usize::from(*size).max(1)));
    assert_eq!(whole, in_chunks, "chunks change nothing");

    let (frames, error, last) = whole;
    let mut raw = Vec::new();
    for frame in &frames {
        assert_eq!(frame.offset(), raw.len() as u64, "a frame knows its place");
        raw.extend_from_slice(frame.raw());
        assert!(
            frame.raw().len() <= limits.event_bytes_max,
            "a frame keeps its bound"
        );
        assert!(!format!("{:?}", (frame.data(), frame.event(), frame.id())).is_empty());
    }
    match &last {
        Some(Last::Frame(frame)) => raw.extend_from_slice(frame.raw()),
        Some(Last::Unterminated(rest)) => raw.extend_from_slice(&rest.raw),
        None => {}
    }
    let rest = stream
        .strip_prefix(&*raw)
        .expect("bytes are kept as they came");
    // The LF whose CR ended the last frame is no rest.
    assert!(
        error.is_some() || rest.is_empty() || (last.is_none() && rest == b"\n"),
        "a byte is lost"
    );
});
