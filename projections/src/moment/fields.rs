//! The fields by which the things of each view are compared.

use super::diff::{Change, Fields, compare, compare_all};
use crate::agent::Agent;
use crate::error::ViewsError;
use crate::group::Group;
use crate::read::Views;
use crate::task::Task;
use missive_log::event::facts::{RoundStatus, RoutingPolicy, TaskState};
use missive_log::event::{ContextId, OperationId, Seq, TaskId};

fn joined<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    values.join(", ")
}

fn named<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Free text is told by the event that holds it.
fn event(place: Option<Seq>) -> String {
    place.map_or_else(String::new, |place| format!("event {place}"))
}

pub(super) fn agents(
    before: &Views,
    after: &Views,
    changes: &mut Vec<Change>,
) -> Result<(), ViewsError> {
    let fields = |agent: &Agent, is_after: bool| -> Result<Fields, ViewsError> {
        let views = if is_after { after } else { before };
        let card = views.card(&agent.alias)?.unwrap_or_default();
        Ok(vec![
            ("alias", agent.alias.to_string()),
            ("url", agent.url.to_string()),
            (
                "interfaces",
                joined(agent.interfaces.iter().map(|given| given.url.as_str())),
            ),
            (
                "bindings",
                joined(agent.bindings.iter().map(|b| b.as_str())),
            ),
            ("auth_ref", named(agent.auth_ref.as_ref())),
            ("tags", joined(&agent.tags)),
            ("notes", event(agent.note.map(|note| note.seq))),
            (
                "metadata",
                event(agent.metadata.map(|metadata| metadata.seq)),
            ),
            ("pinned_keys", agent.keys.len().to_string()),
            (
                "card",
                event(card.body.as_ref().map(|body| body.source.seq)),
            ),
            (
                "card_failure",
                named(
                    card.failure
                        .as_ref()
                        .map(|failure| failure.failure.as_str()),
                ),
            ),
            (
                "signature",
                named(
                    card.signature
                        .as_ref()
                        .map(|signature| signature.outcome.as_str()),
                ),
            ),
        ])
    };
    compare_all(
        "agents",
        (before.agents()?, after.agents()?),
        |agent| agent.added,
        |agent| agent.alias.to_string(),
        fields,
        changes,
    )
}

pub(super) fn groups(
    before: &Views,
    after: &Views,
    changes: &mut Vec<Change>,
) -> Result<(), ViewsError> {
    let (then, now) = (before.groups()?, after.groups()?);
    let members = |views: &Views, groups: &[Group]| -> Result<Vec<_>, ViewsError> {
        let mut all = Vec::new();
        for group in groups {
            let of_group = views.members(group)?.into_iter();
            all.extend(of_group.map(|member| (group.created, group.name.clone(), member)));
        }
        Ok(all)
    };
    let all_members = (members(before, &then)?, members(after, &now)?);
    compare_all(
        "groups",
        (then, now),
        |group| group.created,
        |group| group.name.to_string(),
        |group, _| {
            Ok(vec![
                ("name", group.name.to_string()),
                ("policy", named(group.policy.map(RoutingPolicy::as_str))),
                ("members", group.members.to_string()),
                ("turn", group.turn.to_string()),
                ("notes", event(group.note.map(|note| note.seq))),
                (
                    "metadata",
                    event(group.metadata.map(|metadata| metadata.seq)),
                ),
            ])
        },
        changes,
    )?;
    compare_all(
        "members",
        all_members,
        |(created, _, member)| (*created, member.identity.clone()),
        |(_, group, member)| format!("{group} {}", member.agent),
        |(_, _, member), _| {
            Ok(vec![
                ("rank", member.rank.to_string()),
                ("tags", joined(&member.tags)),
                ("weight", member.weight.to_string()),
                (
                    "metadata",
                    event(member.metadata.map(|metadata| metadata.seq)),
                ),
            ])
        },
        changes,
    )
}

pub(super) fn context(
    id: &ContextId,
    before: &Views,
    after: &Views,
    changes: &mut Vec<Change>,
) -> Result<(), ViewsError> {
    let fields = |views: &Views| -> Result<Option<Fields>, ViewsError> {
        let Some(row) = views.context(id)? else {
            return Ok(None);
        };
        let status = if row.closed.is_some() {
            "closed"
        } else {
            "open"
        };
        Ok(Some(vec![
            ("name", named(row.name.as_ref())),
            ("parent", named(row.parent.as_ref())),
            ("status", status.to_owned()),
            ("agents", joined(views.agents_in(id)?)),
            ("tasks", row.tasks.to_string()),
            ("messages", row.messages.to_string()),
        ]))
    };
    compare(
        "contexts",
        id.to_string(),
        fields(before)?,
        fields(after)?,
        changes,
    );
    compare_all(
        "outputs",
        (before.outputs(id)?, after.outputs(id)?),
        |output| output.identity.clone(),
        |output| match &output.agent {
            Some(agent) => format!("{id} {agent}"),
            None => id.to_string(),
        },
        |output, _| {
            let said = output.message.as_ref().map(|said| said.source.seq);
            Ok(vec![
                ("task", named(output.task.as_ref())),
                ("message", event(said)),
            ])
        },
        changes,
    )
}

/// Compares the tasks with an id: agents choose ids, and several may have chosen this one.
pub(super) fn tasks(
    id: &TaskId,
    before: &Views,
    after: &Views,
    changes: &mut Vec<Change>,
) -> Result<(), ViewsError> {
    let (then, now) = (before.tasks_named(id)?, after.tasks_named(id)?);
    for task in &now {
        let was = then.iter().find(|was| was.identity == task.identity);
        parts(was, task, before, after, changes)?;
    }
    compare_all(
        "tasks",
        (then, now),
        |task| task.identity.clone(),
        |task| task.task.to_string(),
        |task, _| Ok(fields_of_task(task)),
        changes,
    )
}

fn fields_of_task(task: &Task) -> Fields {
    vec![
        ("agent", named(task.agent.as_ref())),
        ("context", named(task.context.as_ref())),
        ("state", task.state.as_str().to_owned()),
        ("artifacts", task.artifacts.to_string()),
        ("history", task.history.to_string()),
        ("refused", task.refused.to_string()),
        ("contradicted", task.contradicted.to_string()),
    ]
}

/// The artifacts of a task, and where it is to be told of.
fn parts(
    was: Option<&Task>,
    task: &Task,
    before: &Views,
    after: &Views,
    changes: &mut Vec<Change>,
) -> Result<(), ViewsError> {
    let then = was.map(|was| before.artifacts(was)).transpose()?;
    compare_all(
        "artifacts",
        (then.unwrap_or_default(), after.artifacts(task)?),
        |artifact| artifact.artifact.clone(),
        |artifact| format!("{} {}", task.task, artifact.artifact),
        |artifact, _| {
            Ok(vec![
                ("parts", artifact.parts.to_string()),
                ("pieces", artifact.pieces.to_string()),
                ("complete", artifact.complete.to_string()),
                ("said", event(Some(artifact.source.seq))),
            ])
        },
        changes,
    )?;
    let then = was.map(|was| before.push_configs(was)).transpose()?;
    compare_all(
        "push_configs",
        (then.unwrap_or_default(), after.push_configs(task)?),
        |config| config.config.clone(),
        |config| format!("{} {}", task.task, config.config),
        |config, _| {
            Ok(vec![
                ("url", config.url.to_string()),
                ("set", event(Some(config.seq))),
            ])
        },
        changes,
    )
}

pub(super) fn round(
    id: &OperationId,
    before: &Views,
    after: &Views,
    changes: &mut Vec<Change>,
) -> Result<(), ViewsError> {
    let fields = |views: &Views| -> Result<Option<Fields>, ViewsError> {
        Ok(views.round(id)?.map(|round| {
            vec![
                ("what", round.what.name().to_owned()),
                ("group", named(round.group.as_ref())),
                ("context", named(round.context.as_ref())),
                ("status", named(round.status.map(RoundStatus::as_str))),
                ("members", round.members.to_string()),
            ]
        }))
    };
    compare(
        "rounds",
        id.to_string(),
        fields(before)?,
        fields(after)?,
        changes,
    );
    compare_all(
        "round_members",
        (before.round_members(id)?, after.round_members(id)?),
        |member| (member.rank.clone(), member.agent.clone()),
        |member| format!("{id} {}", member.agent),
        |member, _| {
            Ok(vec![
                ("rank", member.rank.to_string()),
                ("status", member.status.as_str().to_owned()),
                ("task", named(member.task.as_ref())),
                ("state", named(member.state.map(TaskState::as_str))),
            ])
        },
        changes,
    )
}
