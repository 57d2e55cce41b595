//! `missive send`: a message, and what came back.
//!
//! What is sent is read and checked before a log is opened. People get the text of the answer alone on
//! standard output; what else there is to say goes to stderr.

use super::beside::Beside;
use super::{Setting, acting, no_log, to_group};
use crate::args::send::{Message, Send as Arguments, Whom};
use crate::args::value::Pair;
use crate::failure::Failure;
use crate::input;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Report};
use acting::{Told, Wish, word};
use missive_commands::report::send::{AnswerReport, RequestReport, SendReport};
use missive_commands::route::ask::Routing;
use missive_commands::wire::json::{JsonText, Limits};
use missive_commands::wire::text::excerpt;
use missive_commands::{Done, Exit, Send, SendPart, Target};
use serde_json::{Map, Value};

pub(super) async fn run(
    arguments: &Arguments,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let bytes_max = setting.config.qos_of(&setting.profile).request_bytes_max;
    let inputs = input::read(&arguments.message.parts, bytes_max, std::io::stdin().lock())?;
    let command = Send {
        return_immediately: arguments.return_immediately,
        wait: arguments.wait,
        ..command(&arguments.message, inputs)?
    };
    if let Some(routing) = to_group::routing(&arguments.message)? {
        let session = setting.home.read().await?.ok_or_else(no_log)?;
        return session
            .used(async |session| {
                perform_routed(&routing, &command, setting, session, output).await
            })
            .await;
    }
    let session = acting::session_for(&command.target, setting).await?;
    session
        .used(async |session| perform(&command, setting, session, output).await)
        .await
}

async fn perform(
    command: &Send,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let missive = acting::for_requests(setting, session, Some(&command.target))?;
    let wish = Wish::listen()?;
    let progress = acting::progress(output, "waiting for the agent");
    let sent = missive.send(command, &mut wish.interrupt()).await;
    drop(progress);
    let told = Told::of(setting).about(&command.target);
    let told = told.continuing(command.task.as_ref());
    let told = told.ended_by(wish.ending());
    let done = acting::concluded(&missive, output, &told, sent)?;
    conclude(&done, command, output).await?;
    Ok(wish.exit(done.exit))
}

/// A message to a member of a group.
async fn perform_routed(
    routing: &Routing,
    command: &Send,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let missive = to_group::room(routing, setting, session)?;
    let wish = Wish::listen()?;
    let progress = acting::progress(output, "waiting for the agent");
    let routed = missive
        .send_routed(routing, command, &mut wish.interrupt())
        .await;
    drop(progress);
    let told = Told::of(setting).ended_by(wish.ending());
    let routed = acting::concluded(&missive, output, &told, routed)?;
    let told = to_group::told(told, &routed.taken, output);
    let done = acting::concluded(&missive, output, &told, routed.ended)?;
    conclude(&done, command, output).await?;
    Ok(wish.exit(done.exit))
}

/// The result, and what people must know beside it.
async fn conclude(
    done: &Done<SendReport>,
    command: &Send,
    output: &mut Output,
) -> Result<(), Failure> {
    output.report(&done.report).await?;
    let report = &done.report;
    remark(output, &report.agent, &report.answer, done.exit);
    tell_files(output, &report.agent, &report.answer, report.sequence);
    tell_context(output, &report.request, &report.answer);
    remark_addresses(output, command);
    Ok(())
}

/// What people may not expect of `--file`.
pub(super) fn remark_addresses(output: &Output, command: &Send) {
    if command.parts.iter().any(|part| part.source == "file") {
        output.note("note: --file sent the address of the file; --file-bytes sends its content");
    }
}

/// What the arguments ask for.
pub(super) fn command(arguments: &Message, inputs: Vec<input::Input>) -> Result<Send, Failure> {
    let parts = inputs.into_iter().map(|input| SendPart {
        part: input.part,
        source: input.source.to_owned(),
        bytes: input.bytes,
    });
    Ok(Send {
        target: match &arguments.whom {
            Whom::Agent(agent) => acting::target(agent),
            // Each attempt names its member.
            Whom::Group(_) => Target::Url(String::new()),
        },
        parts: parts.collect(),
        metadata: metadata(&arguments.metadata)?,
        context: arguments.context.clone(),
        task: arguments.task.clone(),
        reference_tasks: arguments.reference_task.clone(),
        accepted_output_modes: arguments.accepted_output_mode.clone(),
        history_length: arguments.history_length,
        return_immediately: false,
        message_id: arguments.message_id.clone(),
        group: None,
        binding: arguments.binding,
        wait: false,
    })
}

/// Pairs as a JSON object of strings; of the same key twice the last one counts.
pub(super) fn metadata(pairs: &[Pair]) -> Result<Option<JsonText>, Failure> {
    if pairs.is_empty() {
        return Ok(None);
    }
    let entries = pairs.iter();
    let object: Map<String, Value> = entries
        .map(|pair| (pair.key.clone(), Value::from(pair.value.as_str())))
        .collect();
    let text = Value::Object(object).to_string();
    let json = JsonText::parse(&text, &Limits::default());
    json.map(Some)
        .map_err(|error| Failure::from_error(Exit::Data, &error).detail("metadata"))
}

impl Report for SendReport {
    fn kind(&self) -> Kind {
        Kind::SendResult
    }

    fn human(&self, page: &mut Page) {
        answer(page, &self.answer);
    }
}

/// The text of an answer and what else it holds, and nothing if it is empty.
pub(super) fn answer(page: &mut Page, answer: &AnswerReport) {
    if !answer.text.is_empty() {
        page.block(&answer.text);
    }
    beside(answer).show(page);
}

fn beside(answer: &AnswerReport) -> Beside {
    Beside::of(answer.raw.as_ref().map(|raw| raw.get()))
}

/// How to get the bytes of a file, which people are not shown. `at` is the event that holds the answer.
pub(super) fn tell_files(output: &Output, agent: &str, answer: &AnswerReport, at: u64) {
    // Of a stream the whole task may never have come: its artifacts are put together from pieces.
    if let Some(task) = &answer.task_id
        && let Some(artifact) = with_file(answer)
    {
        let (task, artifact) = (word(task), word(artifact));
        let of = acting::of_agent(agent);
        output.note(&format!(
            "hint: `missive task artifact save {task} {artifact}{of}` writes it to a file"
        ));
        return;
    }
    let beside = beside(answer);
    let Some(place) = beside.first_file() else {
        return;
    };
    let (command, jq) = match &answer.task_id {
        Some(task) if !place.starts_with("parts") => (
            format!("missive task get {} --json", word(task)),
            format!(".data.task.raw.{place}.raw"),
        ),
        Some(_) | None => (
            format!("missive events show {at} --json"),
            ".data.event.payloads[0].text | fromjson | first(.. | .raw? // empty)".to_owned(),
        ),
    };
    output.note(&format!(
        "hint: to get its bytes: `{command} | jq -r '{jq}' | base64 -d > FILE`"
    ));
}

/// The first artifact that holds a file.
fn with_file(answer: &AnswerReport) -> Option<&str> {
    let mut artifacts = answer.artifacts.iter();
    let found = artifacts.find(|artifact| artifact.parts.iter().any(|part| part.kind == "raw"));
    found?.artifact_id.as_deref()
}

/// Where to look for an answer that is not in the context that was asked.
pub(super) fn tell_context(output: &Output, request: &RequestReport, answer: &AnswerReport) {
    if let (Some(asked), Some(told)) = (&request.context_id, &answer.context_id)
        && asked != told
    {
        let told = word(told);
        output.note(&format!(
            "hint: the exchange goes on in context {told}: `missive context show {told}`"
        ));
    }
}

/// What people must know beside the text: how the task stands, and what can be done now.
pub(super) fn remark(output: &Output, agent: &str, answer: &AnswerReport, exit: Exit) {
    remark_task(output, agent, answer, exit);
    let is_over = matches!(answer.state, None | Some("completed"));
    if answer.text.is_empty() && is_over && beside(answer).is_empty() {
        output.note("the answer has no text; --json shows all of it");
    }
}

/// How the task stands, and what can be done now.
pub(super) fn remark_task(output: &Output, agent: &str, answer: &AnswerReport, exit: Exit) {
    let state = answer.state.unwrap_or_default();
    let task = answer.task_id.as_deref().unwrap_or_default();
    let named = format!("task {task} of {agent}");
    let why = if exit == Exit::Timeout {
        Some("the time ran out")
    } else if exit == Exit::Interrupted {
        Some("interrupted")
    } else {
        None
    };
    if let Some(why) = why {
        let state = in_words(answer);
        output.note(&format!("{why} while {named} was {state}"));
        output.note(&format!("hint: {}", acting::follow(task, agent)));
    } else {
        remark_state(output, agent, answer, state, &named);
    }
}

/// A task that is over as it should be needs no words.
fn remark_state(output: &Output, agent: &str, answer: &AnswerReport, state: &str, named: &str) {
    match state {
        "" | "completed" => {}
        "failed" => output.note(&format!("{named} failed")),
        "canceled" | "rejected" => output.note(&format!("{named} was {state}")),
        "input_required" => {
            output.note(&format!("{named} needs input"));
            let again = go_on(agent, answer);
            output.note(&format!("hint: answer with `{again}`"));
        }
        "auth_required" => {
            output.note(&format!("{named} needs authentication"));
            let again = go_on(agent, answer);
            output.note(&format!("hint: when that is done, go on with `{again}`"));
        }
        _ => {
            output.note(&format!("{named} is {}", in_words(answer)));
            let task = answer.task_id.as_deref().unwrap_or_default();
            output.note(&format!("hint: {}", acting::follow(task, agent)));
        }
    }
}

/// A state for a sentence. One that A2A does not know is quoted: it may be spelled like one of ours.
fn in_words(answer: &AnswerReport) -> String {
    match &answer.unrecognized_state {
        Some(name) => format!("in the unrecognized state `{}`", excerpt(name)),
        None => answer.state.unwrap_or_default().to_owned(),
    }
}

/// The command that continues a task.
fn go_on(agent: &str, answer: &AnswerReport) -> String {
    let mut words = format!("missive send {}", word(agent));
    for (flag, id) in [
        ("--task", &answer.task_id),
        ("--context", &answer.context_id),
    ] {
        if let Some(id) = id {
            words.extend([" ", flag, " ", &word(id)]);
        }
    }
    words.push_str(" \"...\"");
    words
}
