//! What changed between two earlier moments, view by view.
//!
//! Only events between the two can have changed anything: they say which things to look at, and these are
//! folded at both moments and compared. A few things are folded each from their own events; for many, the
//! whole log is folded twice. Intents without an outcome, messages and indexes are not compared: they follow
//! from the events between, which `events list` shows.

use super::reach::{Reach, reach};
use super::{Records, Scope};
use crate::agent::Agent;
use crate::error::ViewsError;
use crate::group::Group;
use crate::read::Views;
use crate::task::Task;
use crate::views::CHUNK_EVENTS_MAX;
use missive_log::Event;
use missive_log::event::{ContextId, OperationId, Seq, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// Up to this number of things, each is folded from its own events.
const APART_MAX: usize = 64;

/// What happened to a thing between two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It is there only afterwards.
    Added,
    /// It was there only before.
    Removed,
    /// It was there before and afterwards, with other fields.
    Altered,
}

impl Changed {
    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Altered => "changed",
        }
    }
}

/// A field with what it said before and afterwards; empty where it said nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// Its name.
    pub name: &'static str,
    /// Before.
    pub from: String,
    /// Afterwards.
    pub to: String,
}

/// A thing of a view that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The view.
    pub view: &'static str,
    /// The thing, by the id or name that it has afterwards, or had last.
    pub id: String,
    /// What happened.
    pub changed: Changed,
    /// Its fields, in a fixed order; only those that differ.
    pub fields: Vec<FieldChange>,
}

/// Everything that changed between two moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// How many events lie between.
    pub events: u64,
    /// How many of them cannot be read.
    pub unreadable: u64,
    /// What changed, by view and then by thing.
    pub changes: Vec<Change>,
}

type Fields = Vec<(&'static str, String)>;

/// What the events between name.
#[derive(Debug, Default)]
struct Touched {
    registry: bool,
    contexts: BTreeSet<ContextId>,
    tasks: BTreeSet<TaskId>,
    rounds: BTreeSet<OperationId>,
}

impl Touched {
    fn note(&mut self, event: &Event) {
        self.contexts.extend(event.links.context.clone());
        self.tasks.extend(event.links.task.clone());
        match reach(&event.kind) {
            Reach::Links => {}
            Reach::Register | Reach::Card | Reach::Group => self.registry = true,
            Reach::Round => self.rounds.extend(event.operation.clone()),
            Reach::Told { context, task } => {
                self.contexts.extend(context.cloned());
                self.tasks.extend(task.cloned());
            }
        }
    }
}

/// The two moments.
struct Moments<'a> {
    live: &'a Views,
    records: &'a Records,
    from: Seq,
    to: Seq,
    whole: Option<(Views, Views)>,
}

impl Moments<'_> {
    /// Both views as far as a thing goes.
    fn of(&self, scope: &Scope) -> Result<(Views, Views), ViewsError> {
        if let Some((before, after)) = &self.whole {
            return Ok((before.clone(), after.clone()));
        }
        let at = |place| self.live.at(place, scope, self.records, &mut |_| {});
        Ok((at(self.from)?, at(self.to)?))
    }
}

impl Views {
    /// What changed after the event at `from`, up to the one at `to`. `seen` is told how far a fold of the
    /// whole log has come, from 0 up to `to` and, where it is needed, once more.
    ///
    /// # Errors
    /// [`ViewsError::Beyond`] if the log has no such place.
    pub fn changes(
        &self,
        from: Seq,
        to: Seq,
        records: &Records,
        seen: &mut dyn FnMut(Seq),
    ) -> Result<Changes, ViewsError> {
        self.changes_apart(from, to, records, APART_MAX, seen)
    }

    /// The same with another number of things that are folded each from its own events.
    pub(crate) fn changes_apart(
        &self,
        from: Seq,
        to: Seq,
        records: &Records,
        apart_max: usize,
        seen: &mut dyn FnMut(Seq),
    ) -> Result<Changes, ViewsError> {
        let mut found = Changes::default();
        let touched = touched(from, to, records, &mut found)?;
        let things = touched.contexts.len() + touched.tasks.len() + touched.rounds.len();
        let whole = if things > apart_max {
            let mut at = |place| self.at(place, &Scope::Everything, records, seen);
            Some((at(from)?, at(to)?))
        } else {
            None
        };
        let moments = Moments {
            live: self,
            records,
            from,
            to,
            whole,
        };
        let changes = &mut found.changes;
        if touched.registry {
            let (before, after) = moments.of(&Scope::Registry)?;
            agents(&before, &after, changes)?;
            groups(&before, &after, changes)?;
        }
        for context in &touched.contexts {
            let (before, after) = moments.of(&Scope::Context(context.clone()))?;
            self::context(context, &before, &after, changes)?;
        }
        for task in &touched.tasks {
            let (before, after) = moments.of(&Scope::Task(task.clone()))?;
            tasks(task, &before, &after, changes)?;
        }
        for round in &touched.rounds {
            let (before, after) = moments.of(&Scope::Round(round.clone()))?;
            self::round(round, &before, &after, changes)?;
        }
        let order = |change: &Change| VIEWS.iter().position(|view| *view == change.view);
        changes.sort_by(|left, right| (order(left), &left.id).cmp(&(order(right), &right.id)));
        Ok(found)
    }
}

/// The views that are compared, in the order in which they are told.
const VIEWS: [&str; 10] = [
    "agents",
    "groups",
    "members",
    "contexts",
    "outputs",
    "tasks",
    "artifacts",
    "push_configs",
    "rounds",
    "round_members",
];

fn touched(
    from: Seq,
    to: Seq,
    records: &Records,
    found: &mut Changes,
) -> Result<Touched, ViewsError> {
    let mut touched = Touched::default();
    let mut place = from;
    while place < to {
        let page = records.after(place, CHUNK_EVENTS_MAX)?;
        let Some(last) = page.last() else {
            break;
        };
        place = last.seq;
        for record in page.iter().filter(|record| record.seq <= to) {
            found.events += 1;
            match record.decode() {
                Ok(event) => touched.note(&event),
                Err(_) => found.unreadable += 1,
            }
        }
    }
    Ok(touched)
}

/// Notes a thing that is not what it was.
fn compare(
    view: &'static str,
    id: String,
    before: Option<Fields>,
    after: Option<Fields>,
    changes: &mut Vec<Change>,
) {
    let changed = match (&before, &after) {
        (None, None) => return,
        (None, Some(_)) => Changed::Added,
        (Some(_), None) => Changed::Removed,
        (Some(_), Some(_)) => Changed::Altered,
    };
    let mut then: BTreeMap<&str, String> = before.iter().flatten().cloned().collect();
    let names = after.as_ref().or(before.as_ref());
    let names: Vec<&'static str> = names.into_iter().flatten().map(|(name, _)| *name).collect();
    let mut now: BTreeMap<&str, String> = after.into_iter().flatten().collect();
    let fields = names.into_iter().map(|name| FieldChange {
        name,
        from: then.remove(name).unwrap_or_default(),
        to: now.remove(name).unwrap_or_default(),
    });
    let fields: Vec<FieldChange> = fields.filter(|field| field.from != field.to).collect();
    if changed == Changed::Altered && fields.is_empty() {
        return;
    }
    changes.push(Change {
        view,
        id,
        changed,
        fields,
    });
}

/// Compares two lists of things by what makes each of them one thing.
fn compare_all<K: Ord, T>(
    view: &'static str,
    (before, after): (Vec<T>, Vec<T>),
    key: impl Fn(&T) -> K,
    id: impl Fn(&T) -> String,
    mut fields: impl FnMut(&T, bool) -> Result<Fields, ViewsError>,
    changes: &mut Vec<Change>,
) -> Result<(), ViewsError> {
    let mut then: BTreeMap<K, T> = before.into_iter().map(|row| (key(&row), row)).collect();
    for row in &after {
        let before = then.remove(&key(row));
        let before = before.map(|row| fields(&row, false)).transpose()?;
        compare(view, id(row), before, Some(fields(row, true)?), changes);
    }
    for row in then.values() {
        compare(view, id(row), Some(fields(row, false)?), None, changes);
    }
    Ok(())
}

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

fn agents(before: &Views, after: &Views, changes: &mut Vec<Change>) -> Result<(), ViewsError> {
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

fn groups(before: &Views, after: &Views, changes: &mut Vec<Change>) -> Result<(), ViewsError> {
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
                ("policy", named(group.policy.map(|policy| policy.as_str()))),
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

fn context(
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
fn tasks(
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

fn round(
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
                ("status", named(round.status.map(|status| status.as_str()))),
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
                ("state", named(member.state.map(|state| state.as_str()))),
            ])
        },
        changes,
    )
}
