//! The forms for tools: one JSON document, CSV, CloudEvents. None of them is evidence.

use super::shape::ShownEvent;
use crate::chain::Anchor;
use crate::event::Timestamp;
use crate::event::facts::TraceParent;
use serde::Serialize;
use std::io::{self, Write};

/// The columns of the CSV form.
const COLUMNS: &str = "sequence,event_id,timestamp,type,origin,actor,operation_id,cause,subject,\
                       agent,context_id,task_id,facts,payloads,prev,digest,link\r\n";

/// `{"log","filtered","events":[..],"head"}`, with one event a line.
pub(super) struct Document {
    is_empty: bool,
}

impl Document {
    pub(super) fn begin(out: &mut impl Write, log: &str, filtered: bool) -> io::Result<Self> {
        write!(
            out,
            "{{\"log\":\"{log}\",\"filtered\":{filtered},\"events\":["
        )?;
        Ok(Self { is_empty: true })
    }

    pub(super) fn event(&mut self, out: &mut impl Write, event: &ShownEvent<'_>) -> io::Result<()> {
        let before: &[u8] = if self.is_empty { b"\n" } else { b",\n" };
        self.is_empty = false;
        out.write_all(before)?;
        Ok(serde_json::to_writer(out, event)?)
    }

    pub(super) fn end(out: &mut impl Write, head: Anchor) -> io::Result<()> {
        writeln!(out, "\n],\"head\":\"{head}\"}}")
    }
}

/// The line of column names (RFC 4180).
pub(super) fn csv_begin(out: &mut impl Write) -> io::Result<()> {
    out.write_all(COLUMNS.as_bytes())
}

/// One line of the CSV form.
pub(super) fn csv_event(out: &mut impl Write, event: &ShownEvent<'_>) -> io::Result<()> {
    fn optional<T: ToString>(value: Option<T>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    let cells = [
        event.sequence.to_string(),
        event.event_id.to_string(),
        event.timestamp.to_string(),
        event.kind.to_owned(),
        event
            .origin
            .map(|origin| origin.as_str().to_owned())
            .unwrap_or_default(),
        optional(event.actor),
        optional(event.operation_id),
        optional(event.cause),
        optional(event.subject),
        optional(event.agent),
        optional(event.context_id),
        optional(event.task_id),
        event.facts.get().to_owned(),
        serde_json::to_string(&event.payloads)?,
        event.prev.to_string(),
        event.digest.to_string(),
        event.link.to_string(),
    ];
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        csv_cell(out, cell)?;
    }
    out.write_all(b"\r\n")
}

fn csv_cell(out: &mut impl Write, cell: &str) -> io::Result<()> {
    // A spreadsheet would take such a cell for a formula, and peers choose what stands in it.
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    let cell = if formula {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if cell.contains([',', '"', '\r', '\n']) {
        write!(out, "\"{}\"", cell.replace('"', "\"\""))
    } else {
        out.write_all(cell.as_bytes())
    }
}

/// A cloud event (CloudEvents 1.0, JSON format), one a line.
#[derive(Serialize)]
struct CloudEvent<'a> {
    specversion: &'static str,
    id: String,
    source: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    time: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    datacontenttype: &'static str,
    /// The extension attribute of distributed tracing.
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a TraceParent>,
    data: &'a ShownEvent<'a>,
}

/// One line of the CloudEvents form; `source` names the log.
pub(super) fn cloud_event(
    out: &mut impl Write,
    source: &str,
    event: &ShownEvent<'_>,
) -> io::Result<()> {
    let line = CloudEvent {
        specversion: "1.0",
        id: event.event_id.to_string(),
        source,
        kind: event.kind,
        time: event.timestamp,
        subject: event.subject.map(ToString::to_string),
        datacontenttype: "application/json",
        traceparent: event.trace,
        data: event,
    };
    super::line::write(out, &line)
}

#[cfg(test)]
mod tests {
    use super::csv_cell;

    #[test]
    fn cells_are_quoted_and_are_no_formulas() {
        let shown = |cell: &str| {
            let mut out = Vec::new();
            csv_cell(&mut out, cell).unwrap();
            String::from_utf8(out).unwrap()
        };

        assert_eq!(shown("plain"), "plain");
        assert_eq!(shown("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(shown("=1+1"), "'=1+1");
        assert_eq!(shown("@x,y"), "\"'@x,y\"");
        assert_eq!(shown("-1"), "'-1");
    }
}
