//! `missive bcast`: one message to every member of a group, and what came of each.

use super::super::acting::{self, Told, Wish, word};
use super::super::send::{metadata, remark_addresses};
use super::super::{Setting, warn_of_fault};
use super::shown::{MemberRow, in_words, table, tint};
use super::{for_members, session};
use crate::args::collect::Bcast as Arguments;
use crate::failure::Failure;
use crate::input;
use crate::open::Session;
use crate::render::{Kind, Mode, Output, Page, Report};
use missive_commands::collect::Seat;
use missive_commands::collect::bcast::{Bcast, BcastEnd, MemberEnd, Watch};
use missive_commands::report::stream::StreamEvent;
use missive_commands::{Done, Exit, Send, SendPart, Target};
use missive_log::event::facts::{MemberStatus, RoundStatus};
use serde::Serialize;
use std::collections::BTreeMap;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// How many updates of members wait to be shown: a member whose update finds no room waits.
const WAITING_MAX: usize = 64;

pub(in super::super) async fn run(
    arguments: &Arguments,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let bytes_max = setting.config.qos_of(&setting.profile).request_bytes_max;
    let inputs = input::read(&arguments.parts, bytes_max, std::io::stdin().lock())?;
    let command = command(arguments, inputs)?;
    let session = session(setting).await?;
    session
        .used(async |session| perform(&command, setting, session, output).await)
        .await
}

fn command(arguments: &Arguments, inputs: Vec<input::Input>) -> Result<Bcast, Failure> {
    let parts = inputs.into_iter().map(|input| SendPart {
        part: input.part,
        source: input.source.to_owned(),
        bytes: input.bytes,
    });
    Ok(Bcast {
        group: arguments.group.clone(),
        send: Send {
            // Each member takes its place.
            target: Target::Url(String::new()),
            parts: parts.collect(),
            metadata: metadata(&arguments.metadata)?,
            context: arguments.context.clone(),
            task: None,
            reference_tasks: arguments.reference_task.clone(),
            accepted_output_modes: arguments.accepted_output_mode.clone(),
            history_length: arguments.history_length,
            return_immediately: arguments.return_immediately,
            message_id: None,
            group: Some(arguments.group.clone()),
            binding: arguments.binding,
            wait: arguments.wait,
        },
        execution: arguments.execution,
        failure_policy: arguments.failure_policy,
        stream: arguments.stream,
    })
}

async fn perform(
    command: &Bcast,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let missive = for_members(setting, session, &command.group)?;
    let wish = Wish::listen()?;
    let (send, mut receive) = channel(WAITING_MAX);
    let live = Live(send);
    let mut interrupt = wish.interrupt();
    let sending = async {
        let done = missive.bcast(command, &live, &mut interrupt).await;
        drop(live);
        done
    };
    let (done, shown) = tokio::join!(sending, show(&mut receive, output));
    shown?;
    let told = Told::of(setting).ended_by(wish.ending());
    let Done { report, exit } = acting::concluded(&missive, output, &told, done)?;
    let shown = Broadcast::of(report, setting);
    output.report(&shown).await?;
    remark(output, &shown);
    remark_addresses(output, &command.send);
    Ok(wish.exit(exit))
}

/// What happens to members, on its way to be shown.
struct Live(Sender<News>);

/// Something that happened to a member.
enum News {
    Update(String, String, Box<StreamEvent>),
    Ended(String, MemberStatus, Option<&'static str>),
}

impl Watch for Live {
    async fn update(&self, seat: &Seat, event: StreamEvent) {
        let (agent, rank) = (seat.agent().to_string(), seat.rank().to_string());
        // Nobody listens any more if the output failed, and that ends the command by itself.
        let _heard = self
            .0
            .send(News::Update(agent, rank, Box::new(event)))
            .await;
    }

    async fn ended(&self, end: &MemberEnd) {
        let agent = end.seat.agent().to_string();
        let state = end.answer.as_ref().and_then(|answer| answer.state);
        let _heard = self.0.send(News::Ended(agent, end.status, state)).await;
    }
}

/// One update of one member.
#[derive(Serialize)]
struct Update {
    agent: String,
    rank: String,
    #[serde(flatten)]
    event: Box<StreamEvent>,
}

impl Report for Update {
    fn kind(&self) -> Kind {
        Kind::StreamEvent
    }

    fn human(&self, _: &mut Page) {}
}

async fn show(news: &mut Receiver<News>, output: &mut Output) -> Result<(), Failure> {
    let is_ndjson = output.style().mode == Mode::Ndjson;
    let mut shown = States::default();
    while let Some(news) = news.recv().await {
        match news {
            News::Update(agent, rank, event) if is_ndjson => {
                output.report(&Update { agent, rank, event }).await?;
            }
            News::Update(agent, _, event) => {
                if let Some(state) = event.state {
                    shown.tell(output, &agent, state);
                }
                for line in event.text.iter().flat_map(|text| text.lines()) {
                    output.note(&format!("{agent} | {line}"));
                }
            }
            News::Ended(agent, status, state) => {
                shown.tell(output, &agent, state.unwrap_or(status.as_str()));
            }
        }
    }
    Ok(())
}

/// How members stand, as it was told last: only what changes is told.
#[derive(Default)]
struct States(BTreeMap<String, &'static str>);

impl States {
    fn tell(&mut self, output: &Output, agent: &str, now: &'static str) {
        if self.0.insert(agent.to_owned(), now) != Some(now) {
            output.note(&format!("{agent}: {}", now.replace('_', " ")));
        }
    }
}

/// `bcast_result`.
#[derive(Serialize)]
struct Broadcast {
    operation_id: String,
    group: String,
    context_id: String,
    status: &'static str,
    position: u64,
    counts: Counts,
    members: Vec<MemberRow>,
    sequence: u64,
    #[serde(skip)]
    of: RoundStatus,
    #[serde(skip)]
    in_doubt: Vec<String>,
}

#[derive(Serialize)]
struct Counts {
    members: usize,
    succeeded: usize,
    failed: usize,
    unfinished: usize,
}

impl Broadcast {
    fn of(end: BcastEnd, setting: &Setting<'_>) -> Self {
        let [succeeded, failed, unfinished] = end.counts();
        let in_doubt = end
            .members
            .iter()
            .filter(|member| member.status == MemberStatus::InDoubt);
        let in_doubt = in_doubt.filter_map(|member| Some(member.operation.as_ref()?.to_string()));
        Self {
            operation_id: end.operation.to_string(),
            group: end.roster.group.name.to_string(),
            context_id: end.context.to_string(),
            status: end.status.as_str(),
            position: end.roster.position.0,
            counts: Counts {
                members: end.members.len(),
                succeeded,
                failed,
                unfinished,
            },
            of: end.status,
            in_doubt: in_doubt.collect(),
            members: end
                .members
                .into_iter()
                .map(|member| row(member, setting))
                .collect(),
            sequence: end.sequence.0,
        }
    }
}

fn row(end: MemberEnd, setting: &Setting<'_>) -> MemberRow {
    let mut row = MemberRow::of(&end.seat, end.status);
    row.operation_id = end.operation.map(|operation| operation.to_string());
    if let Some((task, state)) = &end.known {
        row.task_id = Some(task.to_string());
        row.state = Some(state.as_str());
    }
    if let Some(answer) = end.answer {
        row.task_id = answer.task_id;
        row.context_id = answer.context_id;
        row.state = answer.state;
        row.text = Some(answer.text);
    }
    row.failed(end.error, setting)
}

impl Report for Broadcast {
    fn kind(&self) -> Kind {
        Kind::BcastResult
    }

    fn human(&self, page: &mut Page) {
        table(page, &self.members);
        let counts = &self.counts;
        let rest = format!(
            ": {} of {} took it, {} failed, {} unfinished",
            counts.succeeded, counts.members, counts.failed, counts.unfinished
        );
        page.spans(&[
            (tint(self.of), &in_words(self.of)),
            (crate::render::Tint::Plain, &rest),
        ]);
    }
}

/// What can be done now.
fn remark(output: &Output, shown: &Broadcast) {
    let (group, context) = (&shown.group, word(&shown.context_id));
    output.note(&format!("context {}", shown.context_id));
    for operation in &shown.in_doubt {
        output.note(&format!(
            "hint: `missive retry {operation}` asks what became of it"
        ));
    }
    if shown
        .members
        .iter()
        .any(|member| member.status == "accepted")
    {
        output.note(&format!(
            "hint: `missive barrier {group} --context {context}` waits for those that are at work"
        ));
    } else if shown.counts.succeeded > 0 {
        output.note(&format!(
            "hint: `missive gather {group} --context {context}` shows what everyone said"
        ));
    }
}
