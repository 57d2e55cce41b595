//! `missive doctor`: whether everything that missive relies on is as it should be.
//!
//! It changes nothing, creates nothing and asks nobody: what it knows of agents is what was last
//! recorded of them, and whether their endpoints take a connection. Its exit code is that of the first
//! check that fails; a warning fails nothing.

mod agents;
mod log;
mod state;

use super::Setting;
use crate::args::Doctor;
use crate::failure::Failure;
use crate::render::{Kind, Lines, Output, Page, Report, Tint};
use missive_commands::Exit;
use serde::Serialize;

pub(super) async fn run(
    command: &Doctor,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut checks = vec![state::configuration(setting)];
    checks.extend(state::folders(setting));
    match setting.home.read().await {
        Err(failure) => checks.push(Check::failed("log", &failure)),
        Ok(None) => checks.push(Check::passed(
            "log",
            "there is none yet; nothing was recorded",
        )),
        Ok(Some(session)) => {
            let found = session
                .used(async |session| log::checks(command, setting, session, output).await)
                .await?;
            checks.extend(found);
        }
    }
    let failing = checks.iter().find_map(|check| check.exit);
    output.report(&Checks { checks }).await?;
    Ok(failing.unwrap_or(Exit::Done))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pass,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    id: String,
    status: Status,
    summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<serde_json::Value>,
    #[serde(skip)]
    exit: Option<Exit>,
}

impl Check {
    fn new(id: impl Into<String>, status: Status, summary: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            status,
            summary: summary.into(),
            hint: None,
            data: None,
            exit: None,
        }
    }

    fn passed(id: impl Into<String>, summary: impl Into<String>) -> Self {
        Self::new(id, Status::Pass, summary)
    }

    fn warned(id: impl Into<String>, summary: impl Into<String>, hint: impl Into<String>) -> Self {
        let mut check = Self::new(id, Status::Warn, summary);
        check.hint = Some(hint.into());
        check
    }

    fn failed(id: impl Into<String>, failure: &Failure) -> Self {
        let mut summary = failure.message().to_owned();
        for source in failure.sources() {
            summary = format!("{summary}: {source}");
        }
        let mut check = Self::new(id, Status::Fail, summary);
        check.hint = (!failure.hints().is_empty()).then(|| failure.hints().join("\n"));
        check.exit = Some(failure.exit());
        check
    }

    fn with(mut self, found: serde_json::Value) -> Self {
        self.data = Some(found);
        self
    }
}

/// `doctor`.
#[derive(Serialize)]
struct Checks {
    checks: Vec<Check>,
}

impl Report for Checks {
    fn kind(&self) -> Kind {
        Kind::Doctor
    }

    fn ok(&self) -> bool {
        self.checks.iter().all(|check| check.status != Status::Fail)
    }

    fn human(&self, page: &mut Page) {
        let width = self
            .checks
            .iter()
            .map(|check| check.id.chars().count())
            .max();
        let width = width.unwrap_or_default();
        for check in &self.checks {
            let (tint, word) = match check.status {
                Status::Pass => (Tint::Good, "pass"),
                Status::Warn => (Tint::Warning, "warn"),
                Status::Fail => (Tint::Bad, "fail"),
            };
            let id = format!("  {:width$}  ", check.id);
            page.spans(&[
                (tint, word),
                (Tint::Faint, &id),
                (Tint::Plain, &check.summary),
            ]);
            for hint in check.hint.iter().flat_map(|hint| hint.lines()) {
                let before = format!("      {:width$}  hint: ", "");
                page.spans(&[(Tint::Faint, &before), (Tint::Plain, hint)]);
            }
        }
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        #[derive(Serialize)]
        struct One<'a> {
            check: &'a Check,
        }
        let mut checks = self.checks.iter();
        checks.try_for_each(|check| {
            lines.push(Kind::Doctor, check.status != Status::Fail, &One { check })
        })
    }
}
