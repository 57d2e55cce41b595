//! `missive reduce`: one text made of what every member of a group last said.

use super::super::acting::{self, Told, Wish};
use super::super::{Setting, warn_of_fault};
use super::shown::{Heard, HeardRow, ProvenanceRow};
use super::{session, warn_of_doubts};
use crate::args::collect::{Reduce as Arguments, ReduceLook};
use crate::auth;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Report};
use missive_commands::collect::reduce::{
    PLACEHOLDERS, Reduce, ReduceEnd, Reducer, Tally, Template, sources,
};
use missive_commands::{Done, Exit};
use missive_log::event::ContextId;
use missive_log::event::facts::ReduceStrategy;
use serde::Serialize;

pub(in super::super) async fn run(
    arguments: &Arguments,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if let Some(ReduceLook::Show(show)) = &arguments.look {
        return super::proof::run(show, setting, output).await;
    }
    let command = command(arguments, setting)?;
    let session = session(setting).await?;
    session
        .used(async |session| perform(&command, setting, session, output).await)
        .await
}

fn command(arguments: &Arguments, setting: &Setting<'_>) -> Result<Reduce, Failure> {
    let (Some(group), Some(context)) = (&arguments.group, &arguments.context) else {
        return Err(Failure::usage("neither a group nor `show` is given"));
    };
    let template = arguments.template.as_deref().map(template).transpose()?;
    let by = reducer(arguments, setting)?;
    match (arguments.strategy, &template, &by) {
        (ReduceStrategy::Custom, None, _) => {
            return Err(Failure::usage("the strategy `custom` needs a template")
                .detail("template")
                .hint("--template '{{input_count}} answers: {{inputs}}'"));
        }
        (
            ReduceStrategy::Summarise
            | ReduceStrategy::Vote
            | ReduceStrategy::Merge
            | ReduceStrategy::Rank,
            Some(_),
            Reducer::Local,
        ) => {
            let what = "a template is of no use here: missive makes this reduction by itself";
            return Err(Failure::usage(what)
                .detail("template")
                .hint("`--strategy custom` fills it, and so do --reducer-agent and --command"));
        }
        (_, _, Reducer::Local | Reducer::Agent(_) | Reducer::Command { .. }) => {}
    }
    Ok(Reduce {
        group: group.clone(),
        context: context.clone(),
        strategy: arguments.strategy,
        template,
        by,
    })
}

fn template(text: &str) -> Result<Template, Failure> {
    Template::read(text).map_err(|error| {
        let known = PLACEHOLDERS.map(|name| format!("{{{{{name}}}}}"));
        Failure::usage(error.to_string())
            .detail("template")
            .hint(format!("there are {}", known.join(", ")))
    })
}

/// By whom: a command line is split into words by the rules of POSIX quoting, and nothing in it is expanded.
fn reducer(arguments: &Arguments, setting: &Setting<'_>) -> Result<Reducer, Failure> {
    if let Some(alias) = &arguments.reducer_agent {
        return Ok(Reducer::Agent(alias.clone()));
    }
    let Some(given) = &arguments.command else {
        return Ok(Reducer::Local);
    };
    let wrong = |what: &str| {
        Failure::usage(format!("--command {what}"))
            .detail("command")
            .hint("for pipes, variables and the like, add --shell")
    };
    let words = if arguments.shell {
        vec!["sh".to_owned(), "-c".to_owned(), given.clone()]
    } else {
        shlex::split(given).ok_or_else(|| wrong("has a quote that does not end"))?
    };
    let mut words = words.into_iter();
    let program = words.next().filter(|program| !program.is_empty());
    Ok(Reducer::Command {
        program: program.ok_or_else(|| wrong("names no program"))?,
        arguments: words.collect(),
        given: given.clone(),
        withheld: auth::variables(setting.globals, &setting.config),
    })
}

async fn perform(
    command: &Reduce,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let missive = match &command.by {
        Reducer::Agent(alias) => {
            acting::for_requests_to(setting, session, std::slice::from_ref(alias))?
        }
        Reducer::Local | Reducer::Command { .. } => acting::for_records(setting, session)?,
    };
    let wish = Wish::listen()?;
    let progress = output.progress("reducing");
    let done = missive.reduce(command, &mut wish.interrupt()).await;
    drop(progress);
    let told = Told::of(setting).ended_by(wish.ending());
    let Done { report, exit } = acting::concluded(&missive, output, &told, done)?;
    let shown = ReduceResult::of(report);
    output.report(&shown).await?;
    if let Ok(context) = ContextId::new(&shown.heard.context_id) {
        warn_of_doubts(&missive, &context, setting, output)?;
    }
    remark(output, &shown);
    Ok(wish.exit(exit))
}

/// `reduce_result`.
#[derive(Serialize)]
struct ReduceResult {
    reduce_id: String,
    operation_id: String,
    #[serde(flatten)]
    heard: Heard,
    /// How many members it was made of.
    inputs: u32,
    strategy: &'static str,
    method: &'static str,
    reduced_text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tallies: Vec<Tally>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tie: bool,
    members: Vec<HeardRow>,
    provenance: Vec<ProvenanceRow>,
    sequence: u64,
}

impl ReduceResult {
    fn of(end: ReduceEnd) -> Self {
        Self {
            reduce_id: end.operation.to_string(),
            operation_id: end.operation.to_string(),
            heard: Heard::of(&end.gathered),
            inputs: end.inputs,
            strategy: end.strategy.as_str(),
            method: end.method.as_str(),
            reduced_text: end.text,
            tallies: end.tallies,
            tie: end.tie,
            members: end.gathered.outputs.iter().map(HeardRow::of).collect(),
            provenance: sources(&end.gathered)
                .iter()
                .map(ProvenanceRow::of)
                .collect(),
            sequence: end.sequence.0,
        }
    }
}

impl Report for ReduceResult {
    fn kind(&self) -> Kind {
        Kind::ReduceResult
    }

    fn human(&self, page: &mut Page) {
        page.block(&self.reduced_text);
        if self.tallies.is_empty() {
            return;
        }
        page.line("");
        let rows = self.tallies.iter().map(|tally| {
            let votes = tally.votes.to_string();
            [votes, tally.answer.clone(), tally.agents.join(", ")]
        });
        page.table(["votes", "answer", "agents"], rows);
    }
}

fn remark(output: &Output, shown: &ReduceResult) {
    let (said, members) = (shown.inputs, shown.heard.counts.members);
    if shown.tie {
        output.note("several answers have as many votes: the one that was given first is taken");
    }
    output.note(&format!(
        "made of {said} of {members} members, as of event {}",
        shown.heard.position
    ));
    output.note(&format!(
        "hint: `missive reduce show {}` proves what it was made of",
        shown.reduce_id
    ));
}
