//! `missive events export`: the record leaves the house, and the log says so first.
//!
//! The export is written on a thread of its own with memory for one event at a time, so that a reader
//! that stands still stops neither the log nor those who are attached to it.

use super::super::acting::{self, Told};
use super::super::{Setting, no_log, warn_of_fault};
use super::chosen::{Indexed, check_names, filter, typed};
use super::verify::known;
use crate::args::events::{Export, ExportFormat as Format};
use crate::failure::Failure;
use crate::open::Session;
use crate::render::Output;
use missive_commands::Exit;
use missive_commands::decide::export::Export as Recorded;
use missive_log::ReadError;
use missive_log::event::Seq;
use missive_log::event::facts::{ExportFormat, Program};
use missive_log::export::{ExportError, Exported, Plan, export};
use missive_projections::{Filter, KindPattern, SELECT_MAX, Views, ViewsError, block_on};
use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use tokio::sync::oneshot;

pub(super) async fn run(
    command: &Export,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = setting.home.read().await?.ok_or_else(no_log)?;
    session
        .used(async |session| write(command, setting, session, output).await)
        .await
}

async fn write(
    command: &Export,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    warn_of_fault(session, output);
    let typed = typed(&command.filter);
    let through = session.head();
    let plan = Plan {
        format: format(command.format),
        through,
        filtered: !typed.is_empty(),
        withhold: false,
        program: Program::new(concat!("missive/", env!("CARGO_PKG_VERSION")))
            .map_err(|error| Failure::from_error(Exit::Internal, &error))?,
        known: known(session).await?,
    };
    let views = session
        .views()
        .map_err(|error| session.views_failure(&error))?;
    let filter = filter(&command.filter, session)?;
    check_names(&filter, setting, &views).map_err(|error| session.views_failure(&error))??;
    let events = count(&views, &filter, &plan).map_err(|error| session.views_failure(&error))?;
    // First the fact, then the effect: what left the house is on record even if the writing is cut short.
    let fact = Recorded {
        format: plan.format,
        through: plan.through.seq,
        events,
        filter: plan.filtered.then_some(typed),
    };
    let missive = acting::for_records(setting, session)?;
    let recorded = missive.export_recorded(&fact).await;
    acting::concluded(&missive, output, &Told::of(setting), recorded)?;
    let progress = output.progress("exporting");
    let written = write_out(session, &filter, plan, output.writer()?).await?;
    drop(progress);
    // The reader may have had enough.
    if let Some((exported, _)) = written {
        output.note(&format!(
            "exported {} of {} events, up to {through}",
            exported.events, through.seq
        ));
    }
    Ok(Exit::Done)
}

/// How many events a filter means, with what the evidence form holds whatever it says.
pub(in crate::command) fn count(
    views: &Views,
    filter: &Filter,
    plan: &Plan,
) -> Result<u64, ViewsError> {
    Kept::new(views, filter, plan)?.count()
}

/// Writes the events that a filter means, and gives the writer back; nothing if its reader is gone.
pub(in crate::command) async fn write_out<W: Write + Send + 'static>(
    session: &Session,
    filter: &Filter,
    plan: Plan,
    writer: W,
) -> Result<Option<(Exported, W)>, Failure> {
    let broken = |error: ViewsError| session.views_failure(&error);
    let kept = Kept::new(&session.views().map_err(broken)?, filter, &plan).map_err(broken)?;
    let (exported, writer) = on_a_thread(session, plan, kept, writer).await?;
    let exported = match exported {
        Err(ExportError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => {
            return Ok(None);
        }
        Err(ExportError::Write(error)) => {
            return Err(Failure::io("the export cannot be written", &error).detail("stdout"));
        }
        Err(ExportError::Read(error)) => {
            if let ReadError::Integrity(fault) = &error {
                session.distrust(fault).await?;
            }
            return Err(session.read_failure(error));
        }
        Ok(exported) => exported,
    };
    if exported.payloads_missing > 0 {
        return Err(Failure::new(
            Exit::Integrity,
            format!(
                "{} payloads are missing from the log",
                exported.payloads_missing
            ),
        )
        .detail("payload_missing")
        .hint(
            "the export is complete otherwise and says which; `missive events verify` says more",
        ));
    }
    Ok(Some((exported, writer)))
}

fn format(format: Format) -> ExportFormat {
    match format {
        Format::Jsonl => ExportFormat::Jsonl,
        Format::Json => ExportFormat::Json,
        Format::Csv => ExportFormat::Csv,
        Format::CloudEvents => ExportFormat::CloudEvents,
    }
}

async fn on_a_thread<W: Write + Send + 'static>(
    session: &Session,
    plan: Plan,
    kept: Kept,
    mut writer: W,
) -> Result<(Result<Exported, ExportError>, W), Failure> {
    let (done, exported) = oneshot::channel();
    let log = std::sync::Arc::clone(session.log());
    let mut kept = kept;
    let work = move || {
        let mut broken = None;
        let keep = |event: &missive_log::Event| match kept.is_next(event.seq) {
            Ok(is_next) => is_next,
            Err(error) => {
                broken.get_or_insert(error);
                false
            }
        };
        let exported = block_on(export(&*log, &plan, keep, &mut writer));
        // The receiver is gone only if the process ends.
        done.send((exported, broken, writer)).ok();
    };
    std::thread::Builder::new()
        .name("export".to_owned())
        .spawn(work)
        .map_err(|error| Failure::io("a thread cannot be started", &error))?;
    let (exported, broken, writer) = exported
        .await
        .map_err(|_| Failure::new(Exit::Internal, "the export ended early"))?;
    match broken {
        Some(error) => Err(session.views_failure(&error)),
        None => Ok((exported, writer)),
    }
}

/// The places that are written out in full, in order.
struct Kept {
    filtered: Option<Indexed>,
    page: VecDeque<Seq>,
    /// What the evidence form holds whatever the filter says.
    chain: Vec<Seq>,
    through: Seq,
}

impl Kept {
    fn new(views: &Views, filter: &Filter, plan: &Plan) -> Result<Self, ViewsError> {
        let mut kept = Self {
            filtered: None,
            page: VecDeque::new(),
            chain: Vec::new(),
            through: plan.through.seq,
        };
        if !plan.filtered {
            return Ok(kept);
        }
        if plan.format == ExportFormat::Jsonl {
            let kinds = ["missive.log.created", "missive.log.reanchored"].map(KindPattern::new);
            let through = Some(plan.through.seq);
            let chain = Filter {
                kinds: kinds.into(),
                through,
                ..Filter::default()
            };
            kept.chain = views.select(&chain)?;
        }
        let mut filter = filter.clone();
        if let Some(limit) = filter.limit.take() {
            // The newest N: those after the place of the one before them.
            let newest = Filter {
                reverse: true,
                limit: Some(limit),
                ..filter.clone()
            };
            let mut newest = Indexed::new(views.clone(), newest);
            let mut first = None;
            loop {
                let page = newest.page(SELECT_MAX)?;
                let Some(last) = page.last() else { break };
                first = Some(*last);
            }
            filter.after = match first {
                Some(first) => Seq(first.0.saturating_sub(1)),
                None => plan.through.seq,
            };
        }
        kept.filtered = Some(Indexed::new(views.clone(), filter));
        Ok(kept)
    }

    /// How many they are. Uses them up.
    fn count(&mut self) -> Result<u64, ViewsError> {
        let Some(filtered) = &mut self.filtered else {
            return Ok(self.through.0);
        };
        let mut chain = self.chain.clone();
        let mut count = 0;
        loop {
            let page = filtered.page(SELECT_MAX)?;
            if page.is_empty() {
                return Ok(count + chain.len() as u64);
            }
            chain.retain(|seq| page.binary_search(seq).is_err());
            count += page.len() as u64;
        }
    }

    /// Whether an event is the next one of them; events are asked for in order.
    fn is_next(&mut self, seq: Seq) -> Result<bool, ViewsError> {
        let Some(filtered) = &mut self.filtered else {
            return Ok(true);
        };
        loop {
            match self.page.front() {
                Some(next) if *next < seq => {
                    self.page.pop_front();
                }
                Some(next) => return Ok(*next == seq),
                None => {
                    self.page = filtered.page(SELECT_MAX)?.into();
                    if self.page.is_empty() {
                        return Ok(false);
                    }
                }
            }
        }
    }
}
