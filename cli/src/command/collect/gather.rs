//! `missive gather`: what every member of a group last said in a context.
//!
//! A pure read, unless it writes files or is told to be recorded.

use super::super::acting::{self, OnLog, Told, word};
use super::super::{Setting, moment, warn_of_fault};
use super::files::Folder;
use super::shown::{Heard, HeardRow, in_words};
use super::{session, still, warn_of_doubts};
use crate::args::collect::Gather as Arguments;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Report};
use missive_commands::Exit;
use missive_commands::collect::gather::{Gathered, gather};
use missive_commands::collect::roster;
use missive_commands::decide::gather::RecordGather;
use serde::Serialize;

pub(in super::super) async fn run(
    arguments: &Arguments,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = session(setting).await?;
    session
        .used(async |session| perform(arguments, setting, session, output).await)
        .await
}

async fn perform(
    arguments: &Arguments,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let scope = moment::of_context(session, &arguments.context)?;
    // The result names its position by itself.
    let (views, _) = moment::look(setting, session, &scope, output)?;
    let missive = acting::for_reading(setting, session, views)?;
    let told = Told::of(setting);
    let context = missive.known_context(&arguments.context);
    let context = context.map_err(|error| told.failure(error))?.context;
    let shown = if let Some(folder) = &arguments.output_dir {
        // Files are planned and then written: both from views that stand still.
        let views = match setting.globals.at {
            Some(_) => missive.views(),
            None => still(&missive.views(), session, &context)?,
        };
        let roster = roster(&views, &setting.config, &arguments.group);
        let roster = roster.map_err(|error| told.failure(error.into()))?;
        let gathered = gather(missive.log(), &views, roster, &context).await;
        let gathered = gathered.map_err(|error| told.failure(error))?;
        let reading = (setting, &**session.log(), &views);
        let folder = Folder::plan(folder, &gathered, reading).await?;
        folder.make(arguments.force)?;
        let mut shown = GatherResult::of(&gathered);
        folder.fill(&mut shown.members);
        record(&missive, &gathered, &mut shown, (setting, session, output)).await?;
        for doubt in folder.doubts() {
            output.warn(&doubt);
        }
        folder.write(&gathered, reading, arguments.force).await?;
        shown.output_dir = Some(folder.path);
        shown
    } else {
        let gathered = missive.gathered(&arguments.group, &context).await;
        let gathered = gathered.map_err(|error| told.failure(error))?;
        let mut shown = GatherResult::of(&gathered);
        if arguments.record {
            record(&missive, &gathered, &mut shown, (setting, session, output)).await?;
        }
        shown
    };
    output.report(&shown).await?;
    if setting.globals.at.is_none() {
        warn_of_doubts(&missive, &context, setting, output)?;
    }
    remark(output, &shown);
    Ok(Exit::Done)
}

/// Notes in the log that this was read, and which files are about to be written of it.
async fn record(
    missive: &OnLog,
    gathered: &Gathered,
    shown: &mut GatherResult,
    (setting, session, output): (&Setting<'_>, &Session, &Output),
) -> Result<(), Failure> {
    let files: Vec<_> = shown.members.iter().flat_map(|row| &row.files).collect();
    let names = serde_json::to_string(&files)
        .map_err(|error| Failure::from_error(Exit::Internal, &error))?;
    let counts = gathered.counts();
    let outputs = counts.succeeded + counts.unfinished + counts.failed;
    let gather = RecordGather {
        operation: session.ids().operation(),
        group: gathered.roster.group.name.clone(),
        context: gathered.context.clone(),
        position: gathered.roster.position,
        members: gathered.outputs.len(),
        member_ids: gathered.roster.ids(),
        outputs,
        files: files.len(),
        names,
    };
    let recorded = missive.gather_recorded(&gather).await;
    let recorded = acting::concluded(missive, output, &Told::of(setting), recorded)?;
    shown.operation_id = Some(gather.operation.to_string());
    shown.sequence = Some(recorded.last.0);
    Ok(())
}

/// `gather_result`.
#[derive(Serialize)]
struct GatherResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    operation_id: Option<String>,
    #[serde(flatten)]
    heard: Heard,
    members: Vec<HeardRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_dir: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
}

impl GatherResult {
    fn of(gathered: &Gathered) -> Self {
        Self {
            operation_id: None,
            heard: Heard::of(gathered),
            members: gathered.outputs.iter().map(HeardRow::of).collect(),
            output_dir: None,
            sequence: None,
        }
    }
}

impl Report for GatherResult {
    fn kind(&self) -> Kind {
        Kind::GatherResult
    }

    /// Markdown; what agents said is quoted, so that none of it passes for a heading of ours.
    fn human(&self, page: &mut Page) {
        let Heard {
            group,
            context_id,
            position,
            ..
        } = &self.heard;
        if self.output_dir.is_some() {
            let rows = self.members.iter().flat_map(|member| {
                let of = |file: &super::shown::MemberFile| {
                    let (rank, agent) = (member.row.rank.clone(), member.row.agent.clone());
                    [rank, agent, file.path.clone(), file.bytes.to_string()]
                };
                member.files.iter().map(of).collect::<Vec<_>>()
            });
            page.wide_table(["rank", "agent", "file", "bytes"], rows);
            return;
        }
        page.line(&format!(
            "# {group} in context {context_id}, as of event {position}"
        ));
        for member in &self.members {
            let row = &member.row;
            let state = row.state.unwrap_or(row.status).replace('_', " ");
            page.line("");
            page.line(&format!("## {} {} ({state})", row.rank, row.agent));
            page.line("");
            match row.text.as_deref() {
                Some(text) => {
                    for line in text.lines() {
                        page.line(format!("> {line}").trim_end());
                    }
                }
                None => page.line(&format!("({})", row.status.replace('_', " "))),
            }
            if member.cut {
                page.line("");
                page.line("(the text is longer)");
            }
        }
    }
}

fn remark(output: &Output, shown: &GatherResult) {
    let counts = &shown.heard.counts;
    if counts.succeeded < counts.members {
        let others = [
            (counts.unfinished, "still at it"),
            (counts.failed, "failed"),
            (counts.missing_task, "without a task"),
            (counts.empty_output, "without a text"),
        ];
        let others: Vec<String> = others
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        output.note(&format!(
            "{}: {} of {} have answered, {}",
            in_words(shown.heard.of),
            counts.succeeded,
            counts.members,
            others.join(", ")
        ));
    }
    if counts.empty_output > 0 && shown.output_dir.is_none() {
        output.note(
            "hint: what is no text, such as files and data, goes into files with --output-dir DIR",
        );
    }
    for member in &shown.members {
        for why in &member.gone {
            let agent = &member.row.agent;
            output.warn(&format!("a part of what {agent} said is {why}"));
        }
    }
    if counts.missing_task > 0 {
        let context = word(&shown.heard.context_id);
        output.note(&format!(
            "hint: `missive context show {context}` shows who was asked"
        ));
    }
}
