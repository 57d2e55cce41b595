//! One frame of an event stream: its bytes, and what its fields say (WHATWG HTML, section 9.2.6).
//!
//! Promises: the bytes exactly as they came, and no second copy of them unless several `data` lines are
//! asked for as one text. Refuses: to alter data that are no UTF-8, and to know what A2A says.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2_iter};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Data that are no text. The bytes are in [`Frame::raw`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not UTF-8 at byte {offset} of the event stream")]
pub struct NotUtf8 {
    /// The first wrong byte, counted from 0 at the start of the stream.
    pub offset: u64,
}

/// All lines up to a blank one: an event if it has [data](Self::data), else a keep-alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    offset: u64,
    raw: Vec<u8>,
    fields: Fields,
}

impl Frame {
    /// Reads the fields of the frame that begins at `offset` of its stream.
    pub(super) fn new(offset: u64, raw: Vec<u8>) -> Self {
        let fields = Fields::read(offset, &raw);
        Self {
            offset,
            raw,
            fields,
        }
    }

    /// Where the frame begins in the stream, in bytes, counted from 0.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The frame as it was received: byte order mark, comments, line ends and blank line included.
    ///
    /// Where a frame ended with a bare CR and an LF came after all, that LF begins the next frame.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// [`raw`](Self::raw), to keep.
    pub fn into_raw(self) -> Vec<u8> {
        self.raw
    }

    /// The text of all `data` lines, joined with LF; `None` if there is none, and so no event.
    ///
    /// # Errors
    /// If the data are no UTF-8. Later frames are not touched by it.
    pub fn data(&self) -> Result<Option<Cow<'_, str>>, NotUtf8> {
        match &self.fields.data {
            DataLines::None => Ok(None),
            DataLines::One(line) => Ok(Some(Cow::Borrowed(self.text(line)?))),
            DataLines::Several => {
                let mut joined = String::new();
                for (name, value) in fields(self.offset, &self.raw) {
                    if name == b"data" {
                        joined.push_str(self.text(&value)?);
                        joined.push('\n');
                    }
                }
                joined.pop();
                Ok(Some(Cow::Owned(joined)))
            }
        }
    }

    /// The last `event` of the frame; `None`, which means `message`, if there is none or it is empty.
    /// What is no UTF-8 in it is replaced, since no known name has such bytes.
    pub fn event(&self) -> Option<Cow<'_, str>> {
        let name = String::from_utf8_lossy(at(&self.raw, self.fields.event.as_ref()?));
        (!name.is_empty()).then_some(name)
    }

    /// The last `id` of the frame that has no NUL; an empty one forgets the ids of earlier frames.
    /// What is no UTF-8 in it is replaced.
    pub fn id(&self) -> Option<Cow<'_, str>> {
        let id = self.fields.id.as_ref()?;
        Some(String::from_utf8_lossy(at(&self.raw, id)))
    }

    /// The last `retry` of the frame that is all digits: milliseconds to wait before a reconnection.
    /// Whatever the peer wishes; the caller bounds it.
    pub fn retry_ms(&self) -> Option<u64> {
        self.fields.retry_ms
    }

    fn text(&self, value: &Range<usize>) -> Result<&str, NotUtf8> {
        std::str::from_utf8(at(&self.raw, value)).map_err(|error| NotUtf8 {
            offset: self.offset + (value.start + error.valid_up_to()) as u64,
        })
    }
}

/// Whether a `data` field is begun in what is here of a frame.
pub(super) fn begins_data(offset: u64, raw: &[u8]) -> bool {
    fields(offset, raw).any(|(name, _)| name == b"data")
}

/// What the lines of a frame say. Ranges, since the bytes are in the frame already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Fields {
    data: DataLines,
    event: Option<Range<usize>>,
    id: Option<Range<usize>>,
    retry_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum DataLines {
    #[default]
    None,
    One(Range<usize>),
    Several,
}

impl Fields {
    fn read(offset: u64, raw: &[u8]) -> Self {
        let mut read = Self::default();
        for (name, value) in fields(offset, raw) {
            match name {
                b"data" if read.data == DataLines::None => read.data = DataLines::One(value),
                b"data" => read.data = DataLines::Several,
                b"event" => read.event = Some(value),
                b"id" if memchr(0, at(raw, &value)).is_none() => read.id = Some(value),
                b"retry" => read.retry_ms = digits(at(raw, &value)).or(read.retry_ms),
                // An unknown field, or a comment, whose name is empty.
                _ => {}
            }
        }
        read
    }
}

/// The names of all lines and the places of their values, the line that has no end included. The empty
/// line between the two bytes of a CRLF has an empty name, as a comment has.
fn fields(offset: u64, raw: &[u8]) -> impl Iterator<Item = (&[u8], Range<usize>)> {
    let has_mark = offset == 0 && raw.starts_with(BYTE_ORDER_MARK);
    let mut start = if has_mark { BYTE_ORDER_MARK.len() } else { 0 };
    let ends = memchr2_iter(b'\r', b'\n', raw).chain([raw.len()]);
    ends.map(move |end| {
        let line = at(raw, &(start..end));
        let colon = memchr(b':', line);
        let (name, value) = line
            .split_at_checked(colon.unwrap_or(line.len()))
            .unwrap_or_default();
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        start = end + 1;
        (name, end - value.len()..end)
    })
}

/// A number of ASCII digits; `None` for anything else, and for one beyond 64 bits.
fn digits(value: &[u8]) -> Option<u64> {
    let is_number = value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value)
        .ok()
        .filter(|_| is_number)?
        .parse()
        .ok()
}

fn at<'a>(raw: &'a [u8], place: &Range<usize>) -> &'a [u8] {
    raw.get(place.clone()).unwrap_or_default()
}
