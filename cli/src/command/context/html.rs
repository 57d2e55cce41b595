//! A context as one page: it needs no network, and nothing in it runs.
//!
//! Every text may come from a stranger. It is made visible like text for a terminal and then escaped for
//! HTML, and it stands between tags only, never inside of one.

use super::super::seconds;
use super::list::fields;
use super::rest::{TaskRow, Withheld};
use crate::render::escape;
use missive_commands::conversation::{Side, Turn};
use missive_commands::report::context::ContextView;
use missive_log::{Event, Head};

/// What the page looks like. It refers to nothing outside.
const STYLE: &str = "\
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2.5rem}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0;overflow-wrap:anywhere}th{font-weight:600}\
.line{border-left:2px solid #8886;padding-left:1.2rem}.turn{position:relative;margin:1.2rem 0}\
.turn:before{content:\"\";position:absolute;left:-1.6rem;top:.45rem;width:.7rem;height:.7rem;border-radius:50%;background:#888}\
.sent:before{background:#2a6fdb}.received:before{background:#1a8f4c}.turn p{margin:0;color:#888;font-size:.85rem}\
.turn p b{color:inherit}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.2rem 0;font:inherit}\
.artifact pre{font:13px/1.45 ui-monospace,monospace;background:#8881;padding:.6rem .8rem;border-radius:.4rem}\
code{font:13px ui-monospace,monospace}.withheld{color:#b3261e}";

/// The beginning of the page, up to the first task, or to where tasks would be.
pub(super) fn begin(context: &ContextView, has_tasks: bool) -> Vec<u8> {
    let title = context.name.as_ref().unwrap_or(&context.context_id);
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>",
    );
    push(&mut page, &[&text(title), "</title>\n<style>", STYLE]);
    push(&mut page, &["</style></head><body>\n<h1>", &text(title)]);
    page.push_str("</h1>\n<table>\n");
    let shown = fields(context);
    for (name, value) in shown.iter().filter(|(_, value)| !value.is_empty()) {
        let value = text(value);
        push(&mut page, &["<tr><th>", name, "</th><td>", &value]);
        page.push_str("</td></tr>\n");
    }
    page.push_str("</table>\n");
    if has_tasks {
        page.push_str(
            "<h2>Tasks</h2>\n<table>\n<tr><th>task</th><th>agent</th><th>state</th><th>artifacts</th>\
             <th>updated</th></tr>\n",
        );
    }
    page.into_bytes()
}

/// One task.
pub(super) fn task(bytes: &mut Vec<u8>, task: &TaskRow) {
    let artifacts = task.artifacts.iter();
    let artifacts: Vec<&str> = artifacts.map(|one| one.artifact_id.as_str()).collect();
    let cells = [
        text(&task.task_id),
        text(task.agent.as_deref().unwrap_or_default()),
        task.state.to_owned(),
        text(&artifacts.join(" ")),
        seconds(&task.updated),
    ];
    let mut row = String::from("<tr>");
    for cell in &cells {
        push(&mut row, &["<td>", cell, "</td>"]);
    }
    row.push_str("</tr>\n");
    bytes.extend_from_slice(row.as_bytes());
}

/// Between the tasks and the turns.
pub(super) fn timeline(has_tasks: bool) -> Vec<u8> {
    let table = if has_tasks { "</table>\n" } else { "" };
    [table, "<h2>Timeline</h2>\n<div class=\"line\">\n"]
        .concat()
        .into_bytes()
}

/// One turn.
pub(super) fn turn(bytes: &mut Vec<u8>, turn: &Turn) {
    let (side, who) = match turn.side {
        Side::Sent => ("sent", "to "),
        Side::Received => ("received", "from "),
        Side::Local => ("local", "here"),
    };
    let agent = match turn.side {
        Side::Sent | Side::Received => turn.agent.as_deref().unwrap_or_default(),
        Side::Local => "",
    };
    let mut page = String::new();
    push(
        &mut page,
        &["<div class=\"turn ", side, " ", turn.kind, "\"><p>"],
    );
    let at = format!(
        "{} · {} · <b>{who}",
        turn.sequence,
        seconds(&turn.timestamp)
    );
    push(&mut page, &[&at, &text(agent), "</b>"]);
    if let Some(task) = &turn.task_id {
        push(&mut page, &[" · task ", &text(task)]);
    }
    if let Some(artifact) = &turn.artifact {
        push(&mut page, &[" · artifact ", &text(&artifact.artifact_id)]);
        if let Some(name) = &artifact.name {
            push(&mut page, &[" “", &text(name), "”"]);
        }
    }
    if let Some(state) = turn.state {
        push(&mut page, &[" · <b>", state, "</b>"]);
    }
    if let Some(withheld) = turn.withheld {
        push(
            &mut page,
            &[" · <span class=\"withheld\">", withheld, "</span>"],
        );
    }
    page.push_str("</p>");
    if !turn.text.is_empty() {
        push(&mut page, &["<pre>", &text(&turn.text), "</pre>"]);
    }
    page.push_str("</div>\n");
    bytes.extend_from_slice(page.as_bytes());
}

/// Between the turns and the events.
pub(super) fn between() -> Vec<u8> {
    b"</div>\n<h2>Events</h2>\n<details><summary>Every event, with its digest</summary>\n<table>\n\
      <tr><th>event</th><th>time</th><th>type</th><th>digest</th></tr>\n"
        .to_vec()
}

/// One event.
pub(super) fn event(bytes: &mut Vec<u8>, event: &Event, digest: &str) {
    let mut row = format!("<tr><td>{}</td><td>", event.seq);
    push(&mut row, &[&seconds(&event.at.to_string()), "</td><td>"]);
    push(&mut row, &[&text(event.kind.name()), "</td><td><code>"]);
    push(&mut row, &[digest, "</code></td></tr>\n"]);
    bytes.extend_from_slice(row.as_bytes());
}

/// The rest of the page.
pub(super) fn end(withheld: &Withheld, head: Head) -> Vec<u8> {
    let mut page = String::from("</table></details>\n<h2>What is not here</h2>\n");
    let none = withheld.redacted + withheld.erased + withheld.missing == 0;
    if none {
        page.push_str("<p>Nothing was redacted, erased or missing.</p>\n");
    } else {
        let counts = format!(
            "<p>{} payloads with redacted places, {} erased, {} missing.</p>\n<table>\n\
             <tr><th>event</th><th>payload</th><th>role</th><th></th></tr>\n",
            withheld.redacted, withheld.erased, withheld.missing
        );
        page.push_str(&counts);
        for one in &withheld.payloads {
            let row = format!(
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                one.sequence, one.index, one.role, one.why
            );
            page.push_str(&row);
        }
        page.push_str("</table>\n");
    }
    let head = format!(
        "<h2>Where it comes from</h2>\n<p>The log up to its head <code>{head}</code>. This page is for \
         reading; <code>missive context export --format jsonl</code> is the form that verifies to that \
         head.</p>\n</body></html>\n"
    );
    page.push_str(&head);
    page.into_bytes()
}

fn push(page: &mut String, pieces: &[&str]) {
    page.extend(pieces.iter().copied());
}

/// Text of a stranger, visible and without meaning for a browser.
fn text(raw: &str) -> String {
    let visible = escape::block(raw);
    let mut safe = String::with_capacity(visible.len());
    for letter in visible.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn nothing_that_a_stranger_wrote_means_anything_to_a_browser() {
        let shown = text("<img src=x onerror='alert(1)'>&\u{202e}\u{1b}[2J\"");

        assert_eq!(
            shown,
            "&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&amp;\\u{202e}\\u{1b}[2J&quot;"
        );
    }
}
