//! Deliveries that came before anybody here had heard of their task: an agent may push before it answers the
//! message that began it (C095).
//!
//! They are kept as what they are, unlinked events that make no task. Once the task is known they are counted: each is
//! recorded again as a linked event whose `cause` is the first one, so that every view folds it like any other
//! delivery. Whoever makes the task known looks for them, and so does a receiver, every second,
//! since a delivery may be recorded a moment after that, and whoever should have looked may have died.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use missive_log::contract::Expect;
use missive_log::event::{OperationId, Seq, Subject, TaskId};
use missive_log::payload::About;
use missive_log::{Draft, Event, Log, Opened, Origin, Payload, Role};
use missive_projections::{Filter, KindPattern, Views};

use super::delivery::Delivery;
use super::known::Known;
use super::seen::{DELIVERIES, Marks, marks};
use crate::decide::{Decide, Decision, Moment, Undecided};
use crate::failure::{CommandError, Failure};
use crate::run::{Missive, TRIES_MAX};

/// How many early deliveries of a task are counted, the newest. What came before them stays unlinked: nobody pushes
/// that much before it answers.
const EARLY_MAX: usize = 64;
/// Among how many deliveries of a known task those are looked for that were counted.
const LATER_MAX: usize = 1_024;

/// How many tasks with early deliveries a receiver looks after, the newest.
const WAITING_MAX: usize = 64;

/// The tasks that a receiver has early deliveries of, and that nobody knows yet.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<VecDeque<TaskId>>);

impl Waiting {
    pub(super) fn add(&self, task: &TaskId) {
        let mut tasks = self.tasks();
        if !tasks.contains(task) {
            tasks.push_back(task.clone());
            if tasks.len() > WAITING_MAX {
                tasks.pop_front();
            }
        }
    }

    pub(super) fn remove(&self, task: &TaskId) {
        self.tasks().retain(|waiting| waiting != task);
    }

    pub(super) fn all(&self) -> Vec<TaskId> {
        self.tasks().iter().cloned().collect()
    }

    fn tasks(&self) -> MutexGuard<'_, VecDeque<TaskId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of the early deliveries of one task.
struct Early {
    /// The newest event about the task.
    last: Option<Seq>,
    /// Those that were counted.
    counted: BTreeSet<Seq>,
    /// Those that were not, oldest first.
    waiting: Vec<Event>,
}

impl<L: Log> Missive<L> {
    /// Counts what was delivered of a task before it was known; gives the places of all that were ever counted.
    pub(crate) async fn count_early(&self, task: &TaskId) -> Result<BTreeSet<Seq>, CommandError> {
        let subject = Subject::Task(task.clone());
        for _ in 0..TRIES_MAX {
            let Some(mut early) = self.early(task).await? else {
                return Ok(BTreeSet::new());
            };
            let drafts = self.counting(&early).await?;
            if drafts.is_empty() {
                return Ok(early.counted);
            }
            let count = Count {
                subject: &subject,
                last: early.last,
                drafts: &drafts,
            };
            match self.record(&count).await {
                Ok(_) => {
                    let counted = drafts.iter().filter_map(|draft| draft.cause);
                    early.counted.extend(counted);
                    return Ok(early.counted);
                }
                // Somebody else was quicker, perhaps with the same.
                Err(CommandError::Failed(Failure::Superseded { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Failure::Contended { tries: TRIES_MAX }.into())
    }

    /// The same for whoever made a task known and has more to do: what goes wrong is only told to the trace, since
    /// the deliveries stay where they are.
    pub(crate) async fn count_early_of(&self, task: Option<&TaskId>) {
        let Some(task) = task else { return };
        match self.count_early(task).await {
            Ok(counted) if counted.is_empty() => {}
            Ok(counted) => {
                tracing::info!(%task, deliveries = counted.len(), "early deliveries count");
            }
            Err(error) => tracing::warn!(%task, %error, "early deliveries were not looked for"),
        }
    }

    /// What is known of early deliveries, if there are any.
    async fn early(&self, task: &TaskId) -> Result<Option<Early>, CommandError> {
        let views = self.views();
        let subject = Subject::Task(task.clone());
        // Before the rest, so that what is read is not older than the condition.
        let last = views.last_of(&subject)?;
        let mut places = views.told_of(task, EARLY_MAX)?;
        places.reverse();
        let mut waiting = Vec::new();
        for record in self.log().pick(&places).await? {
            waiting.extend(record.decode().ok().filter(|event| {
                let is_early = |marks: Marks| !marks.linked && !marks.duplicate;
                event.subject.as_ref() == Some(&subject) && marks(event).is_some_and(is_early)
            }));
        }
        if waiting.is_empty() {
            return Ok(None);
        }
        let filter = Filter {
            task: Some(task.clone()),
            kinds: DELIVERIES.into_iter().map(KindPattern::new).collect(),
            reverse: true,
            limit: Some(LATER_MAX),
            ..Filter::default()
        };
        let mut counted = BTreeSet::new();
        for record in self.log().pick(&views.select(&filter)?).await? {
            counted.extend(record.decode().ok().and_then(|event| event.cause));
        }
        waiting.retain(|event| !counted.contains(&event.seq));
        Ok(Some(Early {
            last,
            counted,
            waiting,
        }))
    }

    /// What is to be recorded of those that wait.
    async fn counting(&self, early: &Early) -> Result<Vec<Draft>, CommandError> {
        let known = Known::default();
        let mut drafts = Vec::new();
        for event in &early.waiting {
            let Some((delivery, payload)) = self.delivered(event).await? else {
                continue;
            };
            let links = self.link(&known, &delivery.about).await?;
            if !delivery.is_linked(links.as_ref()) {
                continue;
            }
            let Some(kind) = delivery.fact(links.as_ref(), false) else {
                continue;
            };
            let mut draft = self.moment().draft(delivery.subject(), kind, vec![payload]);
            draft.actor = None;
            draft.origin = Some(Origin::Webhook);
            draft.trace.clone_from(&event.trace);
            draft.operation.clone_from(&event.operation);
            draft.cause = Some(event.seq);
            draft.links = links.unwrap_or_default();
            drafts.push(draft);
        }
        Ok(drafts)
    }

    /// A delivery as it is stored; `None` if it was erased.
    async fn delivered(&self, event: &Event) -> Result<Option<(Delivery, Payload)>, CommandError> {
        let mut payloads = event.payloads.iter();
        let Some(of) = payloads.find(|payload| payload.role == Role::Delivery) else {
            return Ok(None);
        };
        let Opened::Present(row) = self.log().payload(*of).await? else {
            return Ok(None);
        };
        let Ok(delivery) = Delivery::read(&row.bytes) else {
            return Ok(None);
        };
        let moment = self.moment();
        let about = About {
            media_type: row.about.media_type.clone(),
            name: None,
        };
        let payload = moment.redactor.again(
            moment.ids,
            (of.role, of.media),
            about,
            (&row.bytes, of.redacted),
        );
        Ok(Some((delivery, payload)))
    }
}

/// Facts that stand as long as nothing else was recorded of their task.
struct Count<'a> {
    subject: &'a Subject,
    last: Option<Seq>,
    drafts: &'a [Draft],
}

impl Decide for Count<'_> {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        if views.last_of(self.subject)? != self.last {
            let operation = self
                .drafts
                .first()
                .and_then(|draft| draft.operation.clone());
            let operation: OperationId = operation.unwrap_or_else(|| moment.ids.operation());
            return Err(Undecided::Superseded(operation));
        }
        Ok(Decision {
            expect: vec![Expect::Unchanged {
                subject: self.subject.clone(),
                last: self.last,
            }],
            drafts: self.drafts.to_vec(),
        })
    }
}
