//! The fields by which the things of each view are compared.

use super::Scope;
use super::diff::Thing;
use crate::error::ViewsError;
use crate::read::Views;
use crate::rows::key_of;
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

/// The things of a scope as the views show them; none for scopes that are not compared.
pub(super) fn of(scope: &Scope, views: &Views) -> Result<Vec<Thing>, ViewsError> {
    let mut things = Vec::new();
    match scope {
        Scope::Registry => {
            agents(views, &mut things)?;
            groups(views, &mut things)?;
        }
        Scope::Context(id) => context(id, views, &mut things)?,
        Scope::Task(id) => tasks(id, views, &mut things)?,
        Scope::Round(id) => round(id, views, &mut things)?,
        Scope::Everything | Scope::Tasks | Scope::Contexts | Scope::Groups | Scope::Agent(_) => {}
    }
    Ok(things)
}

fn agents(views: &Views, things: &mut Vec<Thing>) -> Result<(), ViewsError> {
    for agent in views.agents()? {
        let card = views.card(&agent.alias)?.unwrap_or_default();
        let interfaces = agent.interfaces.iter().map(|given| given.url.as_str());
        let failure = card.failure.as_ref().map(|failed| failed.failure.as_str());
        let signature = card.signature.as_ref();
        let signature = signature.map(|signature| signature.outcome.as_str());
        things.push(Thing {
            view: "agents",
            key: agent.added.to_key().to_vec(),
            id: agent.alias.to_string(),
            fields: vec![
                ("alias", agent.alias.to_string()),
                ("url", agent.url.to_string()),
                ("interfaces", joined(interfaces)),
                (
                    "bindings",
                    joined(agent.bindings.iter().map(|b| b.as_str())),
                ),
                ("auth_ref", named(agent.auth_ref.as_ref())),
                ("tags", joined(&agent.tags)),
                ("notes", event(agent.note.map(|note| note.seq))),
                ("metadata", event(agent.metadata.map(|body| body.seq))),
                ("pinned_keys", agent.keys.len().to_string()),
                (
                    "card",
                    event(card.body.as_ref().map(|body| body.source.seq)),
                ),
                ("card_failure", named(failure)),
                ("signature", named(signature)),
            ],
        });
    }
    Ok(())
}

fn groups(views: &Views, things: &mut Vec<Thing>) -> Result<(), ViewsError> {
    for group in views.groups()? {
        let created = group.created.to_key();
        for member in views.members(&group)? {
            things.push(Thing {
                view: "members",
                key: key_of(&[&created], &member.identity),
                id: format!("{} {}", group.name, member.agent),
                fields: vec![
                    ("rank", member.rank.to_string()),
                    ("tags", joined(&member.tags)),
                    ("weight", member.weight.to_string()),
                    ("metadata", event(member.metadata.map(|body| body.seq))),
                ],
            });
        }
        things.push(Thing {
            view: "groups",
            key: created.to_vec(),
            id: group.name.to_string(),
            fields: vec![
                ("name", group.name.to_string()),
                ("policy", named(group.policy.map(RoutingPolicy::as_str))),
                ("members", group.members.to_string()),
                ("turn", group.turn.to_string()),
                ("notes", event(group.note.map(|note| note.seq))),
                ("metadata", event(group.metadata.map(|body| body.seq))),
            ],
        });
    }
    Ok(())
}

fn context(id: &ContextId, views: &Views, things: &mut Vec<Thing>) -> Result<(), ViewsError> {
    if let Some(row) = views.context(id)? {
        let status = if row.closed.is_some() {
            "closed"
        } else {
            "open"
        };
        things.push(Thing {
            view: "contexts",
            key: Vec::new(),
            id: id.to_string(),
            fields: vec![
                ("name", named(row.name.as_ref())),
                ("parent", named(row.parent.as_ref())),
                ("status", status.to_owned()),
                ("agents", joined(views.agents_in(id)?)),
                ("tasks", row.tasks.to_string()),
                ("messages", row.messages.to_string()),
            ],
        });
    }
    for output in views.outputs(id)? {
        let said = output.message.as_ref().map(|said| said.source.seq);
        things.push(Thing {
            view: "outputs",
            id: match &output.agent {
                Some(agent) => format!("{id} {agent}"),
                None => id.to_string(),
            },
            fields: vec![
                ("task", named(output.task.as_ref())),
                ("message", event(said)),
            ],
            key: output.identity,
        });
    }
    Ok(())
}

/// The tasks with an id: agents choose ids, and several may have chosen this one.
fn tasks(id: &TaskId, views: &Views, things: &mut Vec<Thing>) -> Result<(), ViewsError> {
    for task in views.tasks_named(id)? {
        parts(&task, views, things)?;
        things.push(Thing {
            view: "tasks",
            id: task.task.to_string(),
            fields: vec![
                ("agent", named(task.agent.as_ref())),
                ("context", named(task.context.as_ref())),
                ("state", task.state.as_str().to_owned()),
                ("artifacts", task.artifacts.to_string()),
                ("history", task.history.to_string()),
                ("refused", task.refused.to_string()),
                ("contradicted", task.contradicted.to_string()),
            ],
            key: task.identity,
        });
    }
    Ok(())
}

/// The artifacts of a task, and where it is to be told of.
fn parts(task: &Task, views: &Views, things: &mut Vec<Thing>) -> Result<(), ViewsError> {
    for artifact in views.artifacts(task)? {
        things.push(Thing {
            view: "artifacts",
            key: key_of(&[&task.identity], artifact.artifact.as_str().as_bytes()),
            id: format!("{} {}", task.task, artifact.artifact),
            fields: vec![
                ("parts", artifact.parts.to_string()),
                ("pieces", artifact.pieces.to_string()),
                ("complete", artifact.complete.to_string()),
                ("said", event(Some(artifact.source.seq))),
            ],
        });
    }
    for config in views.push_configs(task)? {
        things.push(Thing {
            view: "push_configs",
            key: key_of(&[&task.identity], config.config.as_str().as_bytes()),
            id: format!("{} {}", task.task, config.config),
            fields: vec![
                ("url", config.url.to_string()),
                ("set", event(Some(config.seq))),
            ],
        });
    }
    Ok(())
}

fn round(id: &OperationId, views: &Views, things: &mut Vec<Thing>) -> Result<(), ViewsError> {
    if let Some(round) = views.round(id)? {
        things.push(Thing {
            view: "rounds",
            key: Vec::new(),
            id: id.to_string(),
            fields: vec![
                ("what", round.what.name().to_owned()),
                ("group", named(round.group.as_ref())),
                ("context", named(round.context.as_ref())),
                ("status", named(round.status.map(RoundStatus::as_str))),
                ("members", round.members.to_string()),
            ],
        });
    }
    for member in views.round_members(id)? {
        things.push(Thing {
            view: "round_members",
            key: key_of(
                &[member.rank.to_string().as_bytes()],
                member.agent.as_str().as_bytes(),
            ),
            id: format!("{id} {}", member.agent),
            fields: vec![
                ("rank", member.rank.to_string()),
                ("status", member.status.as_str().to_owned()),
                ("task", named(member.task.as_ref())),
                ("state", named(member.state.map(TaskState::as_str))),
            ],
        });
    }
    Ok(())
}
