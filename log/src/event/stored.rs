//! The body of a record: the bytes that are hashed, and how they are read for ever.
//!
//! One JSON object: UTF-8, no white space outside strings, no duplicate keys, no null, minimal
//! escapes, integers from 0 to 2^53-1, keys in the order of `Body`. Bodies are hashed as stored and
//! never written again; for known shapes `encode(decode(body)) == body`.
//!
//! Every shape that a fact ever had stays readable here: `decode` picks the shape by kind and version
//! and carries it to the newest one. So far every kind has one shape.

use super::facts::TraceParent;
use super::id::{ActorId, Alias, ContextId, EventId, GroupName, HostId, OperationId, Seq, TaskId};
use super::kind::{EventKind, UnknownFact};
use super::subject::{Links, Subject};
use super::time::Timestamp;
use super::{Draft, Event, Origin};
use crate::chain::Commitment;
use crate::payload::{Media, PayloadRef, Role};
use memchr::memchr2;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The largest body, in bytes.
pub const BODY_BYTES_MAX: usize = 65_535;

/// Room for most bodies.
pub(crate) const BODY_BYTES_USUAL: usize = 1_024;

/// The largest integer of the stored form: every JSON reader keeps it exactly.
const INTEGER_MAX: u64 = (1 << 53) - 1;

/// A draft that cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The body would be too large.
    #[error("the event would take {bytes} bytes and the log takes at most {BODY_BYTES_MAX}")]
    TooLarge {
        /// How large it would be.
        bytes: usize,
    },
    /// A value has no JSON form.
    #[error("the event has no stored form")]
    Json(#[source] serde_json::Error),
}

/// Bytes that are no body.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Not the JSON that bodies are made of.
    #[error("not a stored event")]
    Json(#[source] serde_json::Error),
    /// A known kind and version with facts that it never had.
    #[error("{kind} version {version} does not have these facts")]
    Facts {
        /// The dotted name.
        kind: String,
        /// The version of the shape.
        version: u32,
        /// What is wrong with them.
        #[source]
        source: serde_json::Error,
    },
    /// The same event, but not spelled as the log writes it: white space, another order of keys, an
    /// escape that was not needed.
    #[error("not spelled as a stored event is")]
    Spelling,
}

/// The layout of a body; the order of the fields is the order of the keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<'a> {
    v: u32,
    id: EventId,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    at: Timestamp,
    #[serde(default)]
    host: Option<HostId>,
    #[serde(default)]
    actor: Option<ActorId>,
    #[serde(default)]
    origin: Option<Origin>,
    #[serde(default)]
    operation: Option<OperationId>,
    #[serde(default)]
    subject: Option<Subject>,
    #[serde(default)]
    cause: Option<Seq>,
    #[serde(default)]
    links: StoredLinks,
    #[serde(borrow, default)]
    facts: Option<&'a RawValue>,
    #[serde(default)]
    payloads: Vec<StoredPayloadRef>,
}

/// The same layout for writing. That the two agree is what `encode(decode(body)) == body` tests.
#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    id: EventId,
    kind: &'a str,
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<HostId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<ActorId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'a OperationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a Subject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Seq>,
    #[serde(skip_serializing_if = "WrittenLinks::is_empty")]
    links: WrittenLinks<'a>,
    #[serde(skip_serializing_if = "Facts::is_empty")]
    facts: Facts<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    payloads: Vec<StoredPayloadRef>,
}

/// What an event is linked to: the nouns, and the trace that its command was part of (decision 0009).
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredLinks {
    #[serde(default)]
    agent: Option<Alias>,
    #[serde(default)]
    context: Option<ContextId>,
    #[serde(default)]
    task: Option<TaskId>,
    #[serde(default)]
    trace: Option<TraceParent>,
    #[serde(default)]
    group: Option<GroupName>,
}

/// The same for writing.
#[derive(Serialize)]
struct WrittenLinks<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a Alias>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a ContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a TraceParent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a GroupName>,
}

impl<'a> WrittenLinks<'a> {
    fn of(links: &'a Links, trace: Option<&'a TraceParent>) -> Self {
        Self {
            agent: links.agent.as_ref(),
            context: links.context.as_ref(),
            task: links.task.as_ref(),
            trace,
            group: links.group.as_ref(),
        }
    }

    fn is_empty(&self) -> bool {
        self.agent.is_none()
            && self.context.is_none()
            && self.task.is_none()
            && self.trace.is_none()
            && self.group.is_none()
    }
}

/// The facts of a kind, without its name.
struct Facts<'a>(&'a EventKind);

impl Facts<'_> {
    fn is_empty(&self) -> bool {
        !self.0.has_facts()
    }
}

impl Serialize for Facts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_facts(serializer)
    }
}

/// How a payload stands in a body.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPayloadRef {
    role: Role,
    media: Media,
    commitment: Commitment,
    redacted: u32,
}

/// The body of a draft that is written at this moment by this host.
pub fn encode(draft: &Draft, at: Timestamp, host: Option<HostId>) -> Result<String, EncodeError> {
    write(&written(draft, at, host))
}

/// Puts the body of a draft behind what is there, with a time that is not its own yet, and says where
/// in the body that time stands: [`set_time`] writes over it once the event has its place.
pub(crate) fn encode_early(
    out: &mut Vec<u8>,
    draft: &Draft,
    host: Option<HostId>,
) -> Result<usize, EncodeError> {
    let begin = out.len();
    serde_json::to_writer(&mut *out, &written(draft, Timestamp::default(), host))
        .map_err(EncodeError::Json)?;
    let body = out.get(begin..).unwrap_or_default();
    check_size(body.len())?;
    // Quotes inside of strings are escaped, so this is the key and nothing else.
    let key = body.windows(TIME_KEY.len()).position(|w| w == TIME_KEY);
    Ok(key.unwrap_or_default() + TIME_KEY.len())
}

/// What stands before the time of a body.
const TIME_KEY: &[u8] = b"\"at\":\"";

/// Writes the time into a body that was made early; every time is spelled in as many bytes.
pub(crate) fn set_time(body: &mut [u8], place: usize, at: Timestamp) {
    let spelled = at.spell();
    if let Some(time) = body.get_mut(place..place + spelled.len()) {
        time.copy_from_slice(&spelled);
    }
}

fn written(draft: &Draft, at: Timestamp, host: Option<HostId>) -> Written<'_> {
    let payloads = draft.payloads.iter().map(|payload| StoredPayloadRef {
        role: payload.role(),
        media: payload.media(),
        commitment: payload.commitment(),
        redacted: payload.redacted(),
    });
    Written {
        v: draft.kind.version(),
        id: draft.id,
        kind: draft.kind.name(),
        at,
        host,
        actor: draft.actor,
        origin: draft.origin,
        operation: draft.operation.as_ref(),
        subject: Some(&draft.subject),
        cause: draft.cause,
        links: WrittenLinks::of(&draft.links, draft.trace.as_ref()),
        facts: Facts(&draft.kind),
        payloads: payloads.collect(),
    }
}

/// The body of an event, written again. For known shapes this is the stored body, byte for byte.
pub fn encode_again(event: &Event) -> Result<String, EncodeError> {
    let payloads = event.payloads.iter().map(|payload| StoredPayloadRef {
        role: payload.role,
        media: payload.media,
        commitment: payload.commitment,
        redacted: payload.redacted,
    });
    write(&Written {
        v: event.kind.version(),
        id: event.id,
        kind: event.kind.name(),
        at: event.at,
        host: event.host,
        actor: event.actor,
        origin: event.origin,
        operation: event.operation.as_ref(),
        subject: event.subject.as_ref(),
        cause: event.cause,
        links: WrittenLinks::of(&event.links, event.trace.as_ref()),
        facts: Facts(&event.kind),
        payloads: payloads.collect(),
    })
}

fn write(body: &Written<'_>) -> Result<String, EncodeError> {
    let mut bytes = Vec::with_capacity(BODY_BYTES_USUAL);
    serde_json::to_writer(&mut bytes, body).map_err(EncodeError::Json)?;
    check_size(bytes.len())?;
    String::from_utf8(bytes).map_err(|error| EncodeError::Json(serde::ser::Error::custom(error)))
}

fn check_size(bytes: usize) -> Result<(), EncodeError> {
    if bytes > BODY_BYTES_MAX {
        return Err(EncodeError::TooLarge { bytes });
    }
    Ok(())
}

/// Reads a body that stands at `seq`, after `prev` in its thread.
pub fn decode(seq: Seq, prev: Seq, body: &[u8]) -> Result<Event, DecodeError> {
    let body: Body<'_> = serde_json::from_slice(body).map_err(DecodeError::Json)?;
    let facts = body.facts.map(RawValue::get);
    let kind = decode_kind(&body.kind, body.v, facts)?;
    let payloads = (0..).zip(body.payloads).map(|(index, stored)| PayloadRef {
        seq,
        index,
        role: stored.role,
        media: stored.media,
        commitment: stored.commitment,
        redacted: stored.redacted,
    });
    Ok(Event {
        seq,
        prev,
        at: body.at,
        id: body.id,
        host: body.host,
        actor: body.actor,
        origin: body.origin,
        operation: body.operation,
        subject: body.subject,
        cause: body.cause,
        links: Links {
            agent: body.links.agent,
            context: body.links.context,
            task: body.links.task,
            group: body.links.group,
        },
        trace: body.links.trace,
        kind,
        payloads: payloads.collect(),
    })
}

/// Reads a body and refuses a spelling that this log would not have written.
///
/// Facts of unknown kinds and versions are text to this build: of them white space, null, floats and
/// integers out of range are refused, and duplicate keys and needless escapes are not seen.
pub fn decode_canonical(seq: Seq, prev: Seq, body: &[u8]) -> Result<Event, DecodeError> {
    let event = decode(seq, prev, body)?;
    let again = encode_again(&event).map_err(|_| DecodeError::Spelling)?;
    if again.as_bytes() == body && has_plain_values(body) {
        Ok(event)
    } else {
        Err(DecodeError::Spelling)
    }
}

/// Whether what stands outside of strings is structure, true, false, or an integer of the stored range.
fn has_plain_values(body: &[u8]) -> bool {
    let mut rest = body;
    while let Some((byte, after)) = rest.split_first() {
        rest = match byte {
            b'{' | b'}' | b'[' | b']' | b',' | b':' => after,
            b'"' => {
                let mut after = after;
                loop {
                    let Some(mark) = memchr2(b'"', b'\\', after) else {
                        return false;
                    };
                    let is_end = after.get(mark) == Some(&b'"');
                    let skip = if is_end { 1 } else { 2 };
                    after = after.get(mark + skip..).unwrap_or_default();
                    if is_end {
                        break after;
                    }
                }
            }
            _ => {
                let inside =
                    |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                let end = rest
                    .iter()
                    .position(|byte| !inside(byte))
                    .unwrap_or(rest.len());
                let (word, after) = rest.split_at_checked(end).unwrap_or_default();
                let word = std::str::from_utf8(word).unwrap_or_default();
                let number = word
                    .parse::<u64>()
                    .is_ok_and(|number| number <= INTEGER_MAX && number.to_string() == word);
                if !number && word != "true" && word != "false" {
                    return false;
                }
                after
            }
        };
    }
    true
}

/// The fact of this name and version, whose text this is.
pub(crate) fn decode_kind(
    name: &str,
    version: u32,
    facts: Option<&str>,
) -> Result<EventKind, DecodeError> {
    let known = match version {
        1 => EventKind::decode_v1(name, facts.unwrap_or("{}")),
        _ => None,
    };
    match known {
        Some(Ok(kind)) => Ok(kind),
        Some(Err(source)) => Err(DecodeError::Facts {
            kind: name.to_owned(),
            version,
            source,
        }),
        None => Ok(EventKind::Unknown(UnknownFact {
            kind: name.into(),
            version,
            facts: facts.map(Into::into),
        })),
    }
}
