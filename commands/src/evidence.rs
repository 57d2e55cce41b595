//! What crossed the wire, as payloads: the bytes as they were, except for secrets.

use missive_log::payload::About;
use missive_log::payload::redact::Redactor;
use missive_log::{Ids, Payload, Role};

use crate::decide::Moment;
use crate::wire::answer::Answer;
use crate::wire::headers::{HeaderText, Media};
use crate::wire::packed::unpack;
use crate::wire::request::Request;

/// Stands for the value of every secret header when the redactor is asked to replace it, so that also
/// a value that is too short to be looked for is never stored.
pub(crate) const STAND_IN: &str = "missive-stands-in-for-a-secret-header";

/// The body and the header lines of a request.
pub(crate) fn of_request(moment: &Moment<'_>, request: &Request) -> Vec<Payload> {
    let (ids, redactor) = (moment.ids, moment.redactor);
    let mut payloads = Vec::new();
    if let Some(body) = &request.body {
        let media_type = request.headers.iter().find_map(|(name, text)| match text {
            HeaderText::Plain(text) if name.eq_ignore_ascii_case("content-type") => {
                Some(text.clone())
            }
            HeaderText::Plain(_) | HeaderText::Secret(_) => None,
        });
        let about = About {
            media_type,
            name: None,
        };
        payloads.push(redactor.json(ids, Role::Request, about, body));
    }
    let redacted = payloads.iter().any(|payload| payload.redacted() > 0);
    let lines = request.headers.iter().map(|(name, text)| {
        let value = match text {
            HeaderText::Plain(text) => text.as_str(),
            HeaderText::Secret(_) => STAND_IN,
        };
        (name.as_str(), value.as_bytes())
    });
    payloads.push(redactor.headers(ids, Role::RequestHeaders, lines, redacted));
    payloads
}

/// The body and the header lines of an answer, whole or not.
pub(crate) fn of_answer(moment: &Moment<'_>, answer: &Answer) -> Vec<Payload> {
    let (ids, redactor) = (moment.ids, moment.redactor);
    let mut payloads = Vec::new();
    if !answer.body.is_empty() {
        let about = About {
            media_type: answer.headers.get("content-type").map(str::to_owned),
            name: None,
        };
        let redacted = |about: About, body: &[u8]| match answer.headers.media() {
            Media::Json => redactor.json(ids, Role::Response, about, body),
            Media::EventStream | Media::Other | Media::Missing => {
                redactor.bytes(ids, Role::Response, about, body)
            }
        };
        // Nobody sees a secret in packed bytes: if there is one, the text is kept instead of them.
        let with_secret = unpack(&answer.body)
            .filter(|unpacked| unpacked.whole)
            .map(|unpacked| redacted(about.clone(), &unpacked.bytes))
            .filter(|payload| payload.redacted() > 0);
        payloads.push(with_secret.unwrap_or_else(|| redacted(about, &answer.body)));
    }
    let redacted = payloads.iter().any(|payload| payload.redacted() > 0);
    let lines = answer.headers.0.iter();
    let lines = lines.map(|(name, value)| (name.as_str(), value.as_slice()));
    payloads.push(redactor.headers(ids, Role::ResponseHeaders, lines, redacted));
    payloads
}

/// An A2A object exactly as received.
pub(crate) fn of_object(ids: &Ids, redactor: &Redactor, role: Role, raw: &str) -> Payload {
    let about = About {
        media_type: Some("application/json".to_owned()),
        name: None,
    };
    redactor.json(ids, role, about, raw.as_bytes())
}

/// The words of an error.
pub(crate) fn of_error(moment: &Moment<'_>, text: &str) -> Payload {
    moment
        .redactor
        .text(moment.ids, Role::Error, About::default(), text)
}

/// The data of a frame, exactly, and the whole frame beside it if more than that was in it.
pub(crate) fn of_frame(
    moment: &Moment<'_>,
    data: Option<&str>,
    frame: Option<&[u8]>,
) -> Vec<Payload> {
    let (ids, redactor) = (moment.ids, moment.redactor);
    let data = data.map(|data| of_object(ids, redactor, Role::Frame, data));
    let frame = frame.map(|frame| {
        let about = About {
            media_type: Some("text/event-stream".to_owned()),
            name: None,
        };
        redactor.bytes(ids, Role::Frame, about, frame)
    });
    data.into_iter().chain(frame).collect()
}
