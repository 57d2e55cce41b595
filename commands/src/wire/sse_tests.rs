//! Event streams, rule by rule.

use std::borrow::Cow;

use missive_fixtures::wire;

use super::*;

/// All that was told of a stream.
#[derive(Debug, PartialEq)]
pub(super) struct Told {
    pub(super) frames: Vec<Frame>,
    pub(super) error: Option<SseError>,
    pub(super) last: Option<Last>,
}

impl Told {
    pub(super) fn of<'a>(limits: SseLimits, chunks: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut stream = EventStream::new(limits);
        let mut frames = Vec::new();
        let mut error = None;
        for mut chunk in chunks {
            loop {
                match stream.next_frame(&mut chunk) {
                    Ok(Some(frame)) => frames.push(frame),
                    Ok(None) => break assert!(chunk.is_empty()),
                    Err(found) => break error = Some(found),
                }
            }
            assert!(stream.raw.capacity() <= limits.event_bytes_max);
        }
        let last = stream.finish();
        Self {
            frames,
            error,
            last,
        }
    }

    pub(super) fn whole(bytes: &[u8]) -> Self {
        Self::of(SseLimits::default(), [bytes])
    }

    pub(super) fn bytewise(bytes: &[u8]) -> Self {
        Self::of(SseLimits::default(), bytes.chunks(1))
    }

    /// The frames, the one that only the end completes included.
    pub(super) fn all(&self) -> impl Iterator<Item = &Frame> {
        let last = match &self.last {
            Some(Last::Frame(frame)) => Some(frame),
            Some(Last::Unterminated(_)) | None => None,
        };
        self.frames.iter().chain(last)
    }

    pub(super) fn data(&self) -> Vec<String> {
        self.all()
            .filter_map(|frame| frame.data().unwrap().map(Cow::into_owned))
            .collect()
    }

    pub(super) fn raw(&self) -> Vec<u8> {
        let mut raw: Vec<u8> = self.all().flat_map(|frame| frame.raw().to_vec()).collect();
        if let Some(Last::Unterminated(rest)) = &self.last {
            raw.extend_from_slice(&rest.raw);
        }
        raw
    }

    pub(super) fn unterminated(&self) -> Option<&Unterminated> {
        match &self.last {
            Some(Last::Unterminated(rest)) => Some(rest),
            Some(Last::Frame(_)) | None => None,
        }
    }
}

/// The only frame of `bytes`.
fn one(bytes: &[u8]) -> Frame {
    let told = Told::whole(bytes);
    assert_eq!((told.frames.len(), &told.last), (1, &None));
    told.frames.into_iter().next().unwrap()
}

/// After how many bytes each frame was told.
fn told_after(bytes: &[u8]) -> Vec<usize> {
    let mut stream = EventStream::default();
    let mut places = Vec::new();
    for (count, mut chunk) in (1..).zip(bytes.chunks(1)) {
        while stream.next_frame(&mut chunk).unwrap().is_some() {
            places.push(count);
        }
    }
    places
}

pub(super) fn limits(line_bytes_max: usize, event_bytes_max: usize) -> SseLimits {
    SseLimits {
        line_bytes_max,
        event_bytes_max,
    }
}

#[test]
fn lines_end_with_lf_with_crlf_or_with_cr_also_mixed() {
    let expected = ["A", "B\nC", "D"];

    for stream in [
        "data: A\n\ndata: B\ndata: C\n\ndata: D\n\n",
        "data: A\r\n\r\ndata: B\r\ndata: C\r\n\r\ndata: D\r\n\r\n",
        "data: A\r\rdata: B\rdata: C\r\rdata: D\r\r",
        "data: A\r\n\ndata: B\rdata: C\n\r\ndata: D\r\r\n",
    ] {
        assert_eq!(
            Told::whole(stream.as_bytes()).data(),
            expected,
            "{stream:?}"
        );
        assert_eq!(
            Told::bytewise(stream.as_bytes()).data(),
            expected,
            "{stream:?}"
        );
    }
}

#[test]
fn an_event_is_told_as_soon_as_its_blank_line_is_there() {
    assert_eq!(told_after(b"data: A\n\ndata: B\n\n"), [9, 18]);
    assert_eq!(told_after(b"data: A\r\n\r\ndata: B\r\n\r\n"), [11, 22]);
    assert_eq!(told_after(b"data: A\r\rdata: B\r\r"), [9, 18]);
    assert_eq!(told_after(b"data: A\n\rdata: B\n\r"), [9, 18]);
}

#[test]
fn a_pair_that_two_chunks_share_ends_one_line() {
    let told = Told::of(
        SseLimits::default(),
        [&b"data: A\r"[..], b"\ndata: B\r\n\r", b"", b"\n"],
    );

    assert_eq!(told.data(), ["A\nB"]);
    assert_eq!(told.frames[0].raw(), b"data: A\r\ndata: B\r\n\r\n");
    assert_eq!(told.last, None);
}

#[test]
fn the_lf_after_a_bare_cr_that_ended_a_frame_begins_the_bytes_of_the_next_and_no_line() {
    let told = Told::bytewise(b"data: A\r\r\ndata: B\n\n");

    assert_eq!(told.data(), ["A", "B"]);
    assert_eq!(told.frames[0].raw(), b"data: A\r\r");
    assert_eq!(told.frames[1].raw(), b"\ndata: B\n\n");
    assert_eq!(Told::bytewise(b"data: A\r\r\n").last, None);
}

#[test]
fn a_frame_of_crlf_lines_that_ends_with_cr_is_whole_with_the_next_byte_or_at_the_end() {
    let told = Told::bytewise(b"data: A\r\n\rdata: B\r\n\r");

    assert_eq!(told.frames[0].raw(), b"data: A\r\n\r");
    assert!(matches!(&told.last, Some(Last::Frame(frame)) if frame.raw() == b"data: B\r\n\r"));
    assert_eq!(told.data(), ["A", "B"]);
}

#[test]
fn a_frame_keeps_its_bytes_and_its_place() {
    let told = Told::whole(b": hi\nx: y\ndata:A\n\nevent: e\r\ndata: B\r\n\r\n");

    let (first, second) = (&told.frames[0], &told.frames[1]);
    assert_eq!((first.offset(), second.offset()), (0, 18));
    assert_eq!(first.raw(), b": hi\nx: y\ndata:A\n\n");
    assert_eq!(second.clone().into_raw(), b"event: e\r\ndata: B\r\n\r\n");
}

#[test]
fn one_byte_order_mark_at_the_start_is_no_part_of_a_field_however_it_is_cut() {
    let told = Told::of(
        SseLimits::default(),
        [&b""[..], b"\xef", b"\xbb\xbf", b"data: 1\n\n"],
    );

    assert_eq!(told.data(), ["1"]);
    assert_eq!(told.frames[0].raw(), b"\xef\xbb\xbfdata: 1\n\n");
}

#[test]
fn a_second_byte_order_mark_and_a_later_one_are_what_they_are() {
    let twice = Told::whole(b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\n");
    let later = Told::whole(b"data: 1\n\n\xef\xbb\xbfdata: 2\n\ndata: \xef\xbb\xbf3\n\n");

    assert!(twice.data().is_empty());
    assert_eq!(later.data(), ["1", "\u{feff}3"]);
    assert_eq!(
        Told::whole(wire("streams/c049_bom.sse")).data()[1],
        "{\"x\":\"\u{feff}\"}"
    );
}

#[test]
fn comments_and_blocks_without_data_are_no_events() {
    let told = Told::whole(wire("streams/c050_comments_and_empty_events.sse"));

    let data: Vec<_> = told
        .frames
        .iter()
        .map(|frame| frame.data().unwrap())
        .collect();
    assert_eq!(data.len(), 5);
    assert_eq!(data[..4], [None, Some("".into()), None, None]);
    assert!(data[4].as_ref().unwrap().contains("TASK_STATE_WORKING"));
    assert_eq!(told.frames[1].event().as_deref(), Some("ping"));
    assert_eq!(told.frames[2].id().as_deref(), Some("7"));
}

#[test]
fn several_data_lines_are_joined_with_a_line_feed() {
    let frame = one(b"data: a\ndata\ndata:\ndata: b\n\n");

    assert_eq!(frame.data().unwrap().unwrap(), "a\n\n\nb");
    assert_eq!(one(b"data\ndata\n\n").data().unwrap().unwrap(), "\n");
}

#[test]
fn at_most_one_space_after_the_colon_goes() {
    assert_eq!(one(b"data:a\n\n").data().unwrap().unwrap(), "a");
    assert_eq!(one(b"data:  a: b \n\n").data().unwrap().unwrap(), " a: b ");
    assert_eq!(one(b"data:\ta\n\n").data().unwrap().unwrap(), "\ta");
}

#[test]
fn unknown_fields_and_other_spellings_are_ignored() {
    let frame = one(b"Data: a\n data: b\ndata : c\nfoo: bar\nfoo\ndatax\n\n");

    assert_eq!(frame.data(), Ok(None));
    assert_eq!(
        (frame.event(), frame.id(), frame.retry_ms()),
        (None, None, None)
    );
}

#[test]
fn pretty_printed_json_without_a_space_is_one_event() {
    let told = Told::whole(wire("streams/c051_multi_line_data.sse"));

    let text = &told.data()[0];
    assert!(
        serde_json::from_str::<serde_json::Value>(text).is_ok(),
        "{text}"
    );
    assert_eq!(told.frames[0].retry_ms(), None);
}

#[test]
fn the_last_event_name_counts_and_an_empty_one_is_none() {
    assert_eq!(
        one(b"event: a\nevent: error\ndata\n\n").event().unwrap(),
        "error"
    );
    assert_eq!(one(b"event: a\nevent\ndata\n\n").event(), None);
    assert_eq!(one(b"event: a\nevent:\ndata\n\n").event(), None);
}

#[test]
fn an_id_with_nul_is_ignored_and_an_empty_one_is_told() {
    assert_eq!(one(b"id: 7\nid: 8\n\n").id().unwrap(), "8");
    assert_eq!(one(b"id: 7\nid: 8\x009\n\n").id().unwrap(), "7");
    assert_eq!(one(b"id: 7\nid\n\n").id().unwrap(), "");
    assert_eq!(one(b"data: 7\n\n").id(), None);
}

#[test]
fn a_retry_is_digits_only() {
    assert_eq!(one(b"retry: 3000\n\n").retry_ms(), Some(3000));
    for odd in [
        "3s",
        "",
        "+3",
        "-3",
        " 3",
        "3 ",
        "3.0",
        "\u{0663}",
        "99999999999999999999",
    ] {
        let frame = one(format!("retry: 5\nretry: {odd}\n\n").as_bytes());
        assert_eq!(frame.retry_ms(), Some(5), "{odd:?}");
    }
}

#[test]
fn an_event_that_the_end_cuts_is_told_as_such_and_not_as_an_event() {
    for (rest, has_data) in [
        ("data: B\n", true),
        ("data: B", true),
        ("data: B\r\n", true),
        ("event: error\ndata", true),
        ("event: error\ndat", false),
        (": ping\n", false),
    ] {
        let told = Told::bytewise(format!("data: A\n\n{rest}").as_bytes());

        assert_eq!(told.data(), ["A"], "{rest:?}");
        let expected = Unterminated {
            offset: 9,
            raw: rest.as_bytes().to_vec(),
            has_data,
        };
        assert_eq!(told.unterminated(), Some(&expected), "{rest:?}");
    }
}

#[test]
fn a_stream_that_ends_after_a_blank_line_leaves_nothing() {
    assert_eq!(Told::whole(b"").last, None);
    assert_eq!(Told::whole(b"data: A\n\n").last, None);
    assert_eq!(Told::whole(b"data: A\r\n\r\n").last, None);
}

#[test]
fn json_where_a_stream_was_expected_is_left_as_it_is() {
    let json = wire("streams/c054_bare_json_error.sse");
    let told = Told::whole(json);

    assert!(told.frames.is_empty());
    let rest = told.unterminated().unwrap();
    assert_eq!((rest.raw.as_slice(), rest.has_data), (json, false));
}

#[test]
fn a_line_beyond_its_bound_ends_the_stream_and_what_came_before_is_told() {
    let told = Told::of(
        limits(8, 99),
        [&b"data: 12\n\nid: 1\ndata: 123\n\nid: 2\n\n"[..]],
    );

    assert_eq!(told.data(), ["12"]);
    let error = told.error.unwrap();
    assert_eq!(
        error,
        SseError::LineTooLong {
            offset: 16,
            bytes_max: 8
        }
    );
    assert_eq!(
        error.to_string(),
        "the line at byte 16 of the event stream is longer than the 8 bytes allowed"
    );
    assert_eq!(told.unterminated().unwrap().raw, b"id: 1\ndata: 12");
}

#[test]
fn an_event_beyond_its_bound_ends_the_stream_whatever_it_is_made_of() {
    for event in [
        "data: 12\n\n",
        "data: 12\r\n",
        ": 12345678",
        "a\nb\nc\nd\ne\n",
    ] {
        let stream = format!("data: 1\n\n{event}");
        let told = Told::of(limits(99, 9), [stream.as_bytes()]);

        assert_eq!(told.data(), ["1"], "{event:?}");
        let error = told.error.unwrap();
        assert_eq!(
            error,
            SseError::EventTooLong {
                offset: 9,
                bytes_max: 9
            },
            "{event:?}"
        );
        assert_eq!(
            error.to_string(),
            "the event at byte 9 of the event stream is longer than the 9 bytes allowed"
        );
        assert_eq!(
            told.unterminated().unwrap().raw,
            event.as_bytes()[..9],
            "{event:?}"
        );
    }
}

#[test]
fn after_a_bound_nothing_is_taken_any_more() {
    let mut stream = EventStream::new(limits(4, 99));
    let first = stream.next_frame(&mut &b"data: A\n\n"[..]).unwrap_err();

    let mut more = &b"id:1\n\n"[..];
    assert_eq!(stream.next_frame(&mut more), Err(first));
    assert_eq!(more, b"id:1\n\n");
}

#[test]
fn a_bound_that_is_just_reached_is_kept_and_the_default_is_16_mebibytes() {
    let exact = Told::of(limits(7, 9), [&b"data: A\n\ndata: B\n\n"[..]]);
    let line = "x".repeat((16 << 20) + 1);

    assert_eq!(exact.data(), ["A", "B"]);
    assert_eq!(exact.error, None);
    let error = SseError::LineTooLong {
        offset: 0,
        bytes_max: 16 << 20,
    };
    assert_eq!(Told::whole(line.as_bytes()).error, Some(error));
    assert_eq!(Told::whole(&line.as_bytes()[1..]).error, None);
}

#[test]
fn data_that_are_no_utf_8_are_told_with_their_place_and_nothing_else_is_lost() {
    let stream = b"data: A\n\nid: 1\ndata: B\ndata: \xc3\n\ndata: x\xff\n\ndata: C\n\n";
    let told = Told::bytewise(stream);

    let data: Vec<_> = told.frames.iter().map(Frame::data).collect();
    assert_eq!(data[0], Ok(Some("A".into())));
    assert_eq!(data[1], Err(NotUtf8 { offset: 29 }));
    assert_eq!(data[2], Err(NotUtf8 { offset: 39 }));
    assert_eq!(data[3], Ok(Some("C".into())));
    assert_eq!(told.frames[1].raw(), b"id: 1\ndata: B\ndata: \xc3\n\n");
    assert_eq!(
        data[1].as_ref().unwrap_err().to_string(),
        "not UTF-8 at byte 29 of the event stream"
    );
}

#[test]
fn names_and_ids_that_are_no_utf_8_do_not_touch_the_data() {
    let frame = one(b": \xff\nevent: a\xff\nid: b\xff\ndata: C\n\n");

    assert_eq!(frame.data().unwrap().unwrap(), "C");
    assert_eq!(frame.event().unwrap(), "a\u{fffd}");
    assert_eq!(frame.id().unwrap(), "b\u{fffd}");
}

#[test]
fn a_character_that_chunks_cut_is_one_character() {
    let told = Told::bytewise(wire("streams/c048_multibyte.sse"));

    assert_eq!(told.data(), ["{\"x\":\"é€😀\"}"]);
}

#[test]
fn a_large_event_in_single_bytes_is_one_event() {
    let text = "x".repeat(1 << 20);
    let told = Told::bytewise(format!("data: {text}\n\n").as_bytes());

    assert_eq!(told.data(), [text]);
}
