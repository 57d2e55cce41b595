//! What `send` and `stream` share where a group is named instead of an agent.

use super::Setting;
use super::acting::{self, OnLog, Told};
use crate::args::route::Needs;
use crate::args::send::{Message, Whom};
use crate::failure::Failure;
use crate::open::Session;
use crate::render::Output;
use missive_commands::Target;
use missive_commands::report::route::RouteTaken;
use missive_commands::route::ask::{Among, Routing};
use missive_log::event::Alias;

/// How a member is chosen, if a group is named.
pub(super) fn routing(message: &Message) -> Result<Option<Routing>, Failure> {
    match &message.whom {
        Whom::Group(group) => Ok(Some(message.needs.routing(Among::Group(group.clone())))),
        Whom::Agent(_) if message.needs == Needs::default() => Ok(None),
        Whom::Agent(_) => Err(Failure::usage(
            "an agent is named, and a policy or requirements choose one out of several",
        )
        .detail("conflict")
        .hint("name a group with --group instead of the agent")),
    }
}

/// The acting room for requests to the members of a group, each with its own credentials.
pub(super) fn room(
    routing: &Routing,
    setting: &Setting<'_>,
    session: &Session,
) -> Result<OnLog, Failure> {
    let members = match &routing.among {
        Among::Group(group) => acting::members(setting, session, group)?,
        Among::Agents(agents) => agents.clone(),
    };
    acting::for_requests_to(setting, session, &members)
}

/// Says who was chosen, and makes it the one that failures are about.
pub(super) fn told<'a>(told: Told<'a>, taken: &RouteTaken, output: &Output) -> Told<'a> {
    let turn = taken.turn.map(|turn| format!(", turn {turn}"));
    output.note(&format!(
        "{} of {} ({}{})",
        taken.agent,
        taken.group,
        taken.policy,
        turn.unwrap_or_default()
    ));
    match Alias::new(&taken.agent) {
        Ok(alias) => told.about(&Target::Alias(alias)),
        Err(_) => told,
    }
}
