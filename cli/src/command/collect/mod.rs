//! `missive bcast`, `barrier`, `gather` and `reduce`: many agents at once.

pub(super) mod barrier;
pub(super) mod bcast;
mod files;
pub(super) mod gather;
mod proof;
pub(super) mod reduce;
mod shown;

use super::acting::{self, OnLog, Told};
use super::{Setting, moment, no_log};
use crate::failure::Failure;
use crate::open::Session;
use crate::render::Output;
use missive_log::event::{ContextId, GroupName};
use missive_projections::{Scope, Views};

/// The log that is there: a group is in one, or nowhere.
async fn session(setting: &Setting<'_>) -> Result<Session, Failure> {
    setting.home.read().await?.ok_or_else(no_log)
}

/// The acting room for requests to the members of a group, each with its own credentials. One that cannot
/// be resolved ends the command before any request.
fn for_members(
    setting: &Setting<'_>,
    session: &Session,
    group: &GroupName,
) -> Result<OnLog, Failure> {
    let aliases = acting::members(setting, session, group)?;
    acting::for_requests_to(setting, session, &aliases)
}

/// Views of a context that stand still, at the place where these stand now.
fn still(views: &Views, session: &Session, context: &ContextId) -> Result<Views, Failure> {
    let broken = |error| session.views_failure(&error);
    let place = views.status().map_err(broken)?.position;
    let records = moment::records(session);
    let scope = Scope::Context(context.clone());
    views
        .at(place, &scope, &records, &mut |_| {})
        .map_err(broken)
}

/// Says whose answers may not be the newest: a message to them may have arrived.
fn warn_of_doubts(
    missive: &OnLog,
    context: &ContextId,
    setting: &Setting<'_>,
    output: &Output,
) -> Result<(), Failure> {
    let doubts = missive.doubts_in(context);
    for doubt in doubts.map_err(|error| Told::of(setting).failure(error))? {
        let (agent, operation) = (doubt.agent, doubt.operation);
        output.warn(&format!(
            "whether {agent} got a message of this context is not known; `missive retry {operation}` asks"
        ));
    }
    Ok(())
}
