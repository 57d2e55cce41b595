//! `missive events tail`: the log as it grows, without polling, until somebody interrupts or `--timeout` is
//! over.

use super::super::{Setting, no_log, warn_of_fault};
use super::chosen::{check_names, filter};
use super::shown::{Item, Payloads};
use crate::args::events::Tail;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::open::Session;
use crate::render::{Mode, Output, Reader};
use missive_commands::Exit;
use missive_log::event::Seq;
use missive_log::{Log as _, Record};
use missive_projections::Filter;

pub(super) async fn run(
    command: &Tail,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let session = setting.home.read().await?.ok_or_else(no_log)?;
    session
        .used(async |session| tail(command, setting, session, output).await)
        .await
}

async fn tail(
    command: &Tail,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let listening = Interrupt::listen();
    let mut interrupt =
        listening.map_err(|error| Failure::io("signals cannot be listened for", &error))?;
    warn_of_fault(session, output);
    let filter = Filter {
        through: None,
        limit: None,
        ..filter(&command.filter, session)?
    };
    match session
        .views()
        .and_then(|views| check_names(&filter, setting, &views))
    {
        Ok(known) => known?,
        // What can be read of a damaged log is followed all the same.
        Err(error) => tracing::warn!(%error, "the views cannot be asked"),
    }
    let mut left = command.filter.limit.unwrap_or(usize::MAX);
    let limit = setting.globals.timeout;
    let time_is_up = async move {
        match limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    let mut time_is_up = std::pin::pin!(time_is_up);
    let mut following = session.log().subscribe(begin(command, session));
    while left > 0 {
        let records = tokio::select! {
            biased;
            code = interrupt.came() => return Ok(code),
            () = &mut time_is_up => return Ok(Exit::Timeout),
            records = following.next() => records.map_err(|error| session.read_failure(error))?,
        };
        for record in &records {
            if left == 0 || !is_meant(&filter, record) {
                continue;
            }
            left -= 1;
            if show(session, record, output).await? == Reader::Gone {
                return Ok(Exit::Done);
            }
        }
    }
    Ok(Exit::Done)
}

/// The place after which it begins.
fn begin(command: &Tail, session: &Session) -> Seq {
    match (command.from_sequence, command.filter.after_sequence) {
        (Some(from), _) => Seq(from.saturating_sub(1)),
        (None, Some(after)) => Seq(after),
        (None, None) => session.head().seq,
    }
}

fn is_meant(filter: &Filter, record: &Record) -> bool {
    record.decode().is_ok_and(|event| filter.matches(&event))
}

async fn show(session: &Session, record: &Record, output: &mut Output) -> Result<Reader, Failure> {
    let payloads = match output.style().mode {
        Mode::Human => Payloads::None,
        Mode::Json | Mode::Ndjson => Payloads::Small,
    };
    match Item::of(session, record, payloads).await {
        Some(item) => output.report(&item).await,
        None => Ok(Reader::Listening),
    }
}
