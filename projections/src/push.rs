//! Push notification configurations of tasks, as their agents confirmed them
//! (A2A 1.0 sections 3.1.7 to 3.1.10).
//!
//! A configuration is known by its task and its id. Its secrets are nowhere.

use crate::outbox::agent_of;
use crate::rows::{Rows, Table, key_of, micros, save};
use crate::source::Source;
use crate::task;
use crate::view::Projection;
use missive_log::event::facts::BareUrl;
use missive_log::event::{EventKind, PushConfigId, Seq, TaskId};
use missive_log::{Event, Role, Timestamp};
use serde::{Deserialize, Serialize};

/// A configuration, as its agent confirmed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushConfig {
    /// Its id.
    pub config: PushConfigId,
    /// The task.
    pub task: TaskId,
    /// Where deliveries go.
    pub url: BareUrl,
    /// Whether they carry a token.
    pub token: bool,
    /// Whether they carry credentials.
    pub authentication: bool,
    /// The answer that confirmed it.
    pub source: Source,
    /// The event that confirmed it.
    pub seq: Seq,
    /// When that was.
    #[serde(with = "micros")]
    pub at: Timestamp,
}

/// What stands in front of the ids of a task's configurations.
pub(crate) fn prefix(task: &[u8]) -> Vec<u8> {
    key_of(&[task], &[])
}

pub(crate) struct PushConfigs;

impl Projection for PushConfigs {
    const NAME: &'static str = "push";
    const VERSION: u32 = 1;
    const TABLES: &'static [Table] = &[Table::PushConfigs];

    fn apply(rows: &mut impl Rows, event: &Event) {
        if let EventKind::PushConfigured(facts) = &event.kind {
            let row = PushConfig {
                config: facts.config.clone(),
                task: facts.task.clone(),
                url: facts.url.clone(),
                token: facts.token,
                authentication: facts.authentication,
                source: Source::of(event, &[Role::Response]),
                seq: event.seq,
                at: event.at,
            };
            let key = key(rows, event, &facts.task, &facts.config);
            save(rows, Table::PushConfigs, &key, &row);
        }
        if let EventKind::PushRemoved(facts) = &event.kind {
            let key = key(rows, event, &facts.task, &facts.config);
            rows.delete(Table::PushConfigs, &key);
        }
    }
}

fn key(rows: &mut impl Rows, event: &Event, task: &TaskId, config: &PushConfigId) -> Vec<u8> {
    let mut key = prefix(&task::key(rows, agent_of(event).as_ref(), task));
    key.extend_from_slice(config.as_str().as_bytes());
    key
}
