//! `missive route explain`: whom a policy would choose, and why.

use super::acting::{self, Nothing, OnLog, Told, Wish};
use super::{Setting, moment, warn_of_fault};
use crate::args::route::{Explain, Route};
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Output, Page, Report, Tint};
use missive_commands::report::route::{CandidateView, RouteReport};
use missive_commands::route::ask::{Among, Routing};
use missive_commands::{Exit, Missive};
use missive_log::Log;
use missive_projections::Scope;

pub(super) async fn run(
    command: &Route,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let Route::Explain(command) = command;
    let routing = command.routing();
    let session = if asks_first(command, setting) {
        Some(setting.home.write().await?)
    } else {
        setting.home.read().await?
    };
    let Some(session) = session else {
        let nothing = Nothing::of(setting)?;
        return explain(&nothing.missive, &routing, setting, output).await;
    };
    session
        .used(async |session| {
            let missive = room(&routing, setting, session, output).await?;
            explain(&missive, &routing, setting, output).await
        })
        .await
}

/// Whether agents of the configuration are asked, whose cards may begin a log.
fn asks_first(command: &Explain, setting: &Setting<'_>) -> bool {
    let configured =
        |alias: &missive_log::event::Alias| setting.config.agents.contains_key(alias.as_str());
    command.needs.refresh_capabilities && command.agent.iter().any(configured)
}

async fn room(
    routing: &Routing,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<OnLog, Failure> {
    warn_of_fault(session, output);
    if routing.refresh {
        let agents = match &routing.among {
            Among::Group(group) => acting::members(setting, session, group)?,
            Among::Agents(agents) => agents.clone(),
        };
        return acting::for_requests_to(setting, session, &agents);
    }
    let views = moment::views(setting, session, &Scope::Registry, output)?;
    let missive = acting::for_reading(setting, session, views)?;
    moment::tell(setting, session, output).await;
    Ok(missive)
}

async fn explain<L: Log>(
    missive: &Missive<L>,
    routing: &Routing,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let wish = Wish::listen()?;
    let asking = routing
        .refresh
        .then(|| acting::progress(output, "asking for cards"));
    let done = missive.route_explain(routing, &mut wish.interrupt()).await;
    drop(asking);
    let told = Told::of(setting).ended_by(wish.ending());
    let done = acting::concluded(missive, output, &told, done)?;
    output.report(&done.report).await?;
    let unknown = |one: &CandidateView| one.reason.contains("card is not known");
    if done.report.candidates.iter().any(unknown) && !routing.refresh {
        output.note("hint: --refresh-capabilities asks the agents for their cards");
    }
    Ok(wish.exit(done.exit))
}

impl Report for RouteReport {
    fn kind(&self) -> Kind {
        Kind::RouteExplain
    }

    fn human(&self, page: &mut Page) {
        let chosen = if self.selected.is_empty() {
            "nobody".to_owned()
        } else {
            self.selected.join(", ")
        };
        let rest = match (self.quorum, self.next_cursor) {
            (Some(quorum), _) => format!(" (a quorum of {quorum})"),
            (None, Some(next)) => format!(" (after it turn {next} comes)"),
            (None, None) => String::new(),
        };
        page.spans(&[
            (Tint::Plain, self.policy),
            (Tint::Plain, " chooses "),
            (Tint::Strong, &chosen),
            (Tint::Plain, &rest),
        ]);
        page.line("");
        let rows = self.candidates.iter().map(|one| {
            [
                one.rank.clone().unwrap_or_default(),
                one.agent.clone(),
                if one.selected { "yes" } else { "no" }.to_owned(),
                one.reason.clone(),
                one.matched_requirements.join(", "),
                one.missing_requirements.join(", "),
            ]
        });
        let header = ["rank", "agent", "chosen", "why", "meets", "lacks"];
        page.table(header, rows);
    }
}
