//! Frames of an event stream, from the bytes of a connection (WHATWG HTML, section 9.2.6).
//!
//! Promises: the same frames however the bytes were cut into chunks; each frame as soon as its blank
//! line is there, with its bytes exactly as they came; all frames and the rest put together are the
//! whole stream; time linear in its length; memory for one frame, which is bounded. Refuses: to open
//! connections or to wait, to take the rest of a stream that was cut for an event, to guess at bytes
//! that are no UTF-8, and to go on after a bound, since an update would be missing then.

use memchr::memchr2;

use super::sse_frame::begins_data;
pub use super::sse_frame::{Frame, NotUtf8};

/// Bounds on what is held of an event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseLimits {
    /// Most bytes of a line, its end not counted.
    pub line_bytes_max: usize,
    /// Most bytes of a frame: all of its lines, comments too, their ends and the blank line.
    pub event_bytes_max: usize,
}

impl Default for SseLimits {
    /// 16 MiB each.
    fn default() -> Self {
        Self {
            line_bytes_max: 16 << 20,
            event_bytes_max: 16 << 20,
        }
    }
}

/// Why an event stream is not read further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// [`SseLimits::line_bytes_max`].
    #[error(
        "the line at byte {offset} of the event stream is longer than the {bytes_max} bytes allowed"
    )]
    LineTooLong {
        /// Where the line begins in the stream, counted from 0.
        offset: u64,
        /// Bytes that are allowed.
        bytes_max: usize,
    },
    /// [`SseLimits::event_bytes_max`].
    #[error(
        "the event at byte {offset} of the event stream is longer than the {bytes_max} bytes allowed"
    )]
    EventTooLong {
        /// Where the frame begins in the stream, counted from 0.
        offset: u64,
        /// Bytes that are allowed.
        bytes_max: usize,
    },
}

/// What stood at the end of a stream without a blank line after it. It is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unterminated {
    /// Where it begins in the stream, in bytes, counted from 0.
    pub offset: u64,
    /// The bytes; after a bound, those that kept it.
    pub raw: Vec<u8>,
    /// Whether a `data` field was begun: an event is lost, and not only a comment.
    pub has_data: bool,
}

impl Unterminated {
    /// The same bytes read as if their blank line had come, for whoever can tell by the data alone whether
    /// they are whole; `None` if there are no data.
    pub fn as_frame(&self) -> Option<Frame> {
        self.has_data
            .then(|| Frame::new(self.offset, self.raw.clone()))
    }
}

/// What the end of a stream brings to light.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Last {
    /// A whole frame, whose CR could have been the first half of a CRLF.
    Frame(Frame),
    /// A frame that was cut.
    Unterminated(Unterminated),
}

/// An event stream as it comes in.
///
/// ```
/// use missive_commands::wire::sse::EventStream;
///
/// let mut stream = EventStream::default();
/// for mut chunk in [&b"data: he"[..], b"llo\n\ndata: cut"] {
///     while let Some(frame) = stream.next_frame(&mut chunk)? {
///         assert_eq!(frame.data()?.as_deref(), Some("hello"));
///         assert_eq!(frame.raw(), b"data: hello\n\n");
///     }
/// }
/// assert!(stream.finish().is_some(), "the end is no event");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct EventStream {
    limits: SseLimits,
    /// What is here of the frame that is being received.
    raw: Vec<u8>,
    /// Where `raw` begins in the stream.
    offset: u64,
    /// How many bytes at the end of `raw` belong to a line without its end.
    line_bytes: usize,
    at: Place,
    /// Whether the last line ended with CRLF.
    crlf: bool,
    failed: Option<SseError>,
}

/// Where the next byte stands.
#[derive(Clone, Copy, Debug, Default)]
enum Place {
    /// In a line, perhaps at its start.
    #[default]
    Line,
    /// After a CR: an LF belongs to it.
    AfterCr,
    /// After the CR of the blank line, in a frame with CRLF: whole, but for the LF.
    AfterLastCr,
}

/// The next bytes that belong together.
struct Step {
    /// How many they are.
    bytes: usize,
    /// How many of them are the line before its end.
    line_bytes: usize,
    /// Whether the frame is whole with them.
    is_last: bool,
}

impl Step {
    fn new(bytes: usize, line_bytes: usize, is_last: bool) -> Self {
        Self {
            bytes,
            line_bytes,
            is_last,
        }
    }
}

impl EventStream {
    /// A stream of which nothing was received.
    pub fn new(limits: SseLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Takes bytes from the front of `chunk` until a frame is whole; `None` once `chunk` is empty and
    /// more is needed.
    ///
    /// # Errors
    /// If a bound is exceeded. Every later call says so again and takes nothing.
    pub fn next_frame(&mut self, chunk: &mut &[u8]) -> Result<Option<Frame>, SseError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut taken = 0;
        let mut is_whole = false;
        while !is_whole {
            let rest = chunk.get(taken..).unwrap_or_default();
            let Some(first) = rest.first() else { break };
            let step = self.step(*first, rest);
            if let Err((error, fitting)) = self.check(self.raw.len() + taken, &step) {
                self.keep(chunk.get(..taken + fitting).unwrap_or_default());
                self.failed = Some(error);
                return Err(error);
            }
            let has_end = step.line_bytes < step.bytes;
            self.line_bytes = if has_end {
                0
            } else {
                self.line_bytes + step.bytes
            };
            taken += step.bytes;
            is_whole = step.is_last;
        }
        let (ours, rest) = chunk.split_at_checked(taken).unwrap_or((chunk, &[]));
        self.keep(ours);
        *chunk = rest;
        Ok(is_whole.then(|| self.frame()))
    }

    /// What is left when the peer has ended the stream; `None` if it ended after a blank line.
    pub fn finish(mut self) -> Option<Last> {
        if matches!(self.at, Place::AfterLastCr) && self.failed.is_none() {
            return Some(Last::Frame(self.frame()));
        }
        // The second half of a pair whose first half ended the last frame.
        if self.raw.is_empty() || self.raw == b"\n" {
            return None;
        }
        Some(Last::Unterminated(Unterminated {
            has_data: begins_data(self.offset, &self.raw),
            offset: self.offset,
            raw: self.raw,
        }))
    }

    /// Looks at `rest`, which begins with `first`, up to the next line end and at no byte twice.
    fn step(&mut self, first: u8, rest: &[u8]) -> Step {
        let is_last = matches!(self.at, Place::AfterLastCr);
        if is_last || matches!(self.at, Place::AfterCr) {
            self.crlf = first == b'\n';
            self.at = Place::Line;
            return Step::new(usize::from(self.crlf), 0, is_last);
        }
        let Some(end) = memchr2(b'\r', b'\n', rest) else {
            return Step::new(rest.len(), rest.len(), false);
        };
        let is_blank = end == 0 && self.line_bytes == 0;
        let is_cr = rest.get(end) == Some(&b'\r');
        // A bare CR must not wait for an LF that may never come; a stream with CRLF will send it, and
        // its frames shall not be torn in the middle of a pair.
        let waits = is_blank && is_cr && self.crlf;
        match (is_cr, waits) {
            (true, true) => self.at = Place::AfterLastCr,
            (true, false) => self.at = Place::AfterCr,
            (false, _) => self.crlf = false,
        }
        Step::new(end + 1, end, is_blank && !waits)
    }

    /// Which bound comes first, so that it does not depend on chunks, and how many bytes still keep it.
    fn check(&self, held: usize, step: &Step) -> Result<(), (SseError, usize)> {
        let offset = self.offset;
        let SseLimits {
            line_bytes_max,
            event_bytes_max,
        } = self.limits;
        let line_room = line_bytes_max.saturating_sub(self.line_bytes);
        let event_room = event_bytes_max.saturating_sub(held);
        if step.line_bytes > line_room && line_room <= event_room {
            let (offset, bytes_max) = (offset + (held - self.line_bytes) as u64, line_bytes_max);
            Err((SseError::LineTooLong { offset, bytes_max }, line_room))
        } else if step.bytes > event_room {
            let bytes_max = event_bytes_max;
            Err((SseError::EventTooLong { offset, bytes_max }, event_room))
        } else {
            Ok(())
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let (held, capacity) = (self.raw.len(), self.raw.capacity());
        if held + bytes.len() > capacity {
            // Doubled, so that many chunks are copied few times, but never beyond the bound.
            let doubled = capacity.saturating_mul(2).min(self.limits.event_bytes_max);
            let wanted = doubled.max(held + bytes.len());
            self.raw.reserve_exact(wanted - held);
        }
        self.raw.extend_from_slice(bytes);
    }

    fn frame(&mut self) -> Frame {
        let frame = Frame::new(self.offset, std::mem::take(&mut self.raw));
        self.offset += frame.raw().len() as u64;
        frame
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "sse_property_tests.rs"]
mod property_tests;
