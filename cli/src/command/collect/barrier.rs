//! `missive barrier`: wait until enough members of a group have come to a state.

use super::super::acting::{self, Told, Wish};
use super::super::{Setting, warn_of_fault};
use super::shown::{MemberRow, in_words, table, tint};
use super::{for_members, session};
use crate::args::collect::Barrier as Arguments;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::envelope::SCHEMA_VERSION;
use crate::render::{Kind, Output, Page, Report, Tint};
use missive_commands::collect::barrier::{
    Barrier, BarrierEnd, BarrierMember, FromBcast, WatchBarrier,
};
use missive_commands::{Done, Exit};
use missive_log::event::OperationId;
use missive_log::event::facts::{RoundStatus, TaskState};
use serde::{Deserialize, Serialize};
use std::io::Read as _;
use std::path::Path;
use tokio::sync::mpsc::{Sender, channel};

/// The longest result of a broadcast that is read, in bytes.
const BCAST_BYTES_MAX: usize = 256 << 20;
/// How many changes wait to be told.
const WAITING_MAX: usize = 64;

pub(in super::super) async fn run(
    arguments: &Arguments,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let command = command(arguments)?;
    let session = session(setting).await?;
    session
        .used(async |session| perform(&command, setting, session, output).await)
        .await
}

fn command(arguments: &Arguments) -> Result<Barrier, Failure> {
    let (context, bcast) = match (&arguments.context, &arguments.from_bcast) {
        (Some(context), _) => (context.clone(), None),
        (None, Some(path)) => from_bcast(path, arguments.group.as_str())?,
        (None, None) => {
            return Err(Failure::usage(
                "neither --context nor --from-bcast is given",
            ));
        }
    };
    Ok(Barrier {
        group: arguments.group.clone(),
        context,
        bcast,
        states: arguments.state.clone(),
        required: arguments.required,
        failure_policy: arguments.failure_policy,
        interval: arguments.interval,
        local: arguments.local,
    })
}

/// What of a `bcast_result` is read.
#[derive(Deserialize)]
struct Envelope {
    schema_version: String,
    kind: String,
    data: Sent,
}

/// What became of the members is read from the log: the file only says which broadcast is meant.
#[derive(Deserialize)]
struct Sent {
    operation_id: OperationId,
    group: String,
    context_id: String,
}

fn from_bcast(path: &Path, group: &str) -> Result<(String, Option<FromBcast>), Failure> {
    let named = path.display();
    let bytes =
        read(path).map_err(|error| Failure::io(format!("`{named}` cannot be read"), &error))?;
    let wrong = |why: &str| {
        Failure::new(
            Exit::Data,
            format!("`{named}` is no result of a broadcast: {why}"),
        )
        .detail("bcast_result")
        .hint("`missive bcast GROUP ... --json` prints one")
    };
    if bytes.len() > BCAST_BYTES_MAX {
        return Err(wrong(&format!("it is longer than {BCAST_BYTES_MAX} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8"))?;
    // NDJSON has its result last.
    let last = text.trim_end().rsplit('\n').next().unwrap_or_default();
    let read = serde_json::from_str::<Envelope>(&text).or_else(|_| serde_json::from_str(last));
    let envelope = read.map_err(|error| wrong(&error.to_string()))?;
    if envelope.schema_version != SCHEMA_VERSION || envelope.kind != "bcast_result" {
        let (schema, kind) = (&envelope.schema_version, &envelope.kind);
        return Err(wrong(&format!("it is `{kind}` of `{schema}`")));
    }
    let sent = envelope.data;
    if sent.group != group {
        let what = format!(
            "`{named}` is of the group {} and not of {group}",
            sent.group
        );
        return Err(Failure::usage(what).detail("other_group"));
    }
    let bcast = FromBcast {
        operation: sent.operation_id,
    };
    Ok((sent.context_id, Some(bcast)))
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One more than is taken, so that what is longer is noticed.
    let limit = u64::try_from(BCAST_BYTES_MAX).map_or(u64::MAX, |max| max.saturating_add(1));
    if path == Path::new("-") {
        let mut stdin = std::io::stdin().lock().take(limit);
        stdin.read_to_end(&mut bytes)?;
    } else {
        let mut file = std::fs::File::open(path)?.take(limit);
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

async fn perform(
    command: &Barrier,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let missive = if command.local {
        acting::for_records(setting, session)?
    } else {
        for_members(setting, session, &command.group)?
    };
    let wish = Wish::listen()?;
    let progress = acting::progress(output, "waiting for the group");
    let (send, mut receive) = channel(WAITING_MAX);
    let live = Live(send);
    let mut interrupt = wish.interrupt();
    let waiting = async {
        let done = missive.barrier(command, &live, &mut interrupt).await;
        drop(live);
        done
    };
    let telling = async {
        while let Some(line) = receive.recv().await {
            output.note(&line);
        }
    };
    let (done, ()) = tokio::join!(waiting, telling);
    drop(progress);
    let told = Told::of(setting).ended_by(wish.ending());
    let Done { report, exit } = acting::concluded(&missive, output, &told, done)?;
    let shown = Ended::of(report, setting);
    output.report(&shown).await?;
    remark(output, &shown);
    Ok(wish.exit(exit))
}

/// How members come to stand, on its way to be told.
struct Live(Sender<String>);

impl WatchBarrier for Live {
    async fn changed(&self, member: &BarrierMember, satisfied: usize, required: usize) {
        let state = member
            .state
            .map_or(member.status.as_str(), |state| state.as_str());
        let state = state.replace('_', " ");
        let line = format!(
            "{}: {state} ({satisfied} of {required})",
            member.seat.agent()
        );
        // Nobody listens any more if the command is ending by itself.
        let _heard = self.0.send(line).await;
    }
}

/// `barrier_result`.
#[derive(Serialize)]
struct Ended {
    operation_id: String,
    group: String,
    context_id: String,
    status: &'static str,
    position: u64,
    states: Vec<&'static str>,
    counts: Counts,
    members: Vec<MemberRow>,
    sequence: u64,
    #[serde(skip)]
    of: RoundStatus,
}

#[derive(Serialize)]
struct Counts {
    members: usize,
    required: u32,
    satisfied: usize,
    failed: usize,
    unfinished: usize,
}

impl Ended {
    fn of(end: BarrierEnd, setting: &Setting<'_>) -> Self {
        let [satisfied, failed, unfinished] = end.counts();
        let context = end.context.to_string();
        Self {
            operation_id: end.operation.to_string(),
            group: end.roster.group.name.to_string(),
            status: end.status.as_str(),
            position: end.roster.position.0,
            states: end.states.iter().map(|state| state.as_str()).collect(),
            counts: Counts {
                members: end.members.len(),
                required: end.required,
                satisfied,
                failed,
                unfinished,
            },
            of: end.status,
            members: end
                .members
                .into_iter()
                .map(|member| row(member, &context, setting))
                .collect(),
            context_id: context,
            sequence: end.sequence.0,
        }
    }
}

fn row(member: BarrierMember, context: &str, setting: &Setting<'_>) -> MemberRow {
    let mut row = MemberRow::of(&member.seat, member.status);
    row.task_id = member.task.map(|task| task.to_string());
    row.context_id = Some(context.to_owned());
    row.operation_id = member.doubt.as_ref().map(ToString::to_string);
    row.state = member.state.map(TaskState::as_str);
    row.failed(member.error, setting)
}

impl Report for Ended {
    fn kind(&self) -> Kind {
        Kind::BarrierResult
    }

    fn human(&self, page: &mut Page) {
        table(page, &self.members);
        let counts = &self.counts;
        let rest = format!(
            ": {} of the {} needed are {}, {} cannot be any more, {} still may",
            counts.satisfied,
            counts.required,
            self.states.join(" or ").replace('_', " "),
            counts.failed,
            counts.unfinished
        );
        page.spans(&[(tint(self.of), &in_words(self.of)), (Tint::Plain, &rest)]);
    }
}

/// Who waits for the user, and how it is answered; whose fate nobody knows, and how it is asked for.
fn remark(output: &Output, shown: &Ended) {
    let doubtful = shown.members.iter().filter_map(|member| {
        let operation = member.operation_id.as_deref()?;
        Some((&member.agent, operation))
    });
    for (agent, operation) in doubtful {
        output.note(&format!(
            "hint: whether {agent} got its message is not known; `missive retry {operation}` asks"
        ));
    }
    for member in shown
        .members
        .iter()
        .filter(|member| member.status == "waiting")
    {
        let task = member.task_id.as_deref().unwrap_or_default();
        let (agent, task) = (acting::word(&member.agent), acting::word(task));
        let context = acting::word(&shown.context_id);
        output.note(&format!(
            "hint: answer with `missive send {agent} --task {task} --context {context} \"...\"`"
        ));
    }
}
