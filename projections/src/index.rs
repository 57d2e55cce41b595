//! Where events are found: kind, agent, context, task, group, operation, origin, time and subject.
//!
//! Indexes that people ask look at the envelope only, so an event of a kind that this build does not know
//! is found as well. Every other view folds such an event as nothing. Two further indexes hold what facts
//! name and links do not, for looks at earlier moments; few events need them.

use crate::moment::told_beside;
use crate::rows::postings::Blocks;
use crate::rows::{Index, Posts, Rows, Table, load, save};
use crate::view::{Indexing, Projection};
use missive_log::event::Subject;
use missive_log::{Event, Timestamp};

/// The longest term that is told from others, in bytes: no identifier is longer. Only the name of a
/// kind that a newer build invented could be.
pub const TERM_BYTES_MAX: usize = 1_024;

/// What of a text stands in an index.
pub(crate) fn term(text: &str) -> &[u8] {
    let bytes = text.as_bytes();
    bytes.get(..TERM_BYTES_MAX).unwrap_or(bytes)
}

/// Postings of the envelope.
pub(crate) struct Postings;

impl Indexing for Postings {
    const NAME: &'static str = "index";
    const VERSION: u32 = 4;
    const TABLES: &'static [Table] = &[Table::Postings, Table::Kinds];

    fn apply(posts: &mut impl Posts, event: &Event) {
        posts.post(Index::Kind, term(event.kind.name()), event.seq);
        if let Some(agent) = &event.links.agent {
            posts.post(Index::Agent, term(agent.as_str()), event.seq);
        }
        if let Some(context) = &event.links.context {
            posts.post(Index::Context, term(context.as_str()), event.seq);
        }
        if let Some(task) = &event.links.task {
            posts.post(Index::Task, term(task.as_str()), event.seq);
        }
        if let Some(group) = &event.links.group {
            posts.post(Index::Group, term(group.as_str()), event.seq);
        }
        let (context, task) = told_beside(&event.kind, &event.links);
        if let Some(context) = context {
            posts.post(Index::ToldContext, term(context.as_str()), event.seq);
        }
        if let Some(task) = task {
            posts.post(Index::ToldTask, term(task.as_str()), event.seq);
        }
        if let Some(operation) = &event.operation {
            posts.post(Index::Operation, term(operation.as_str()), event.seq);
        }
        if let Some(origin) = event.origin {
            posts.post(Index::Origin, term(origin.as_str()), event.seq);
        }
    }
}

/// Which kinds occur, and how often: what a glob can stand for. Counted once a chunk.
pub(crate) fn count_kinds(rows: &mut impl Rows, blocks: &Blocks) {
    for (kind, places) in blocks.counts(Index::Kind) {
        let count: u64 = load(rows, Table::Kinds, kind).unwrap_or(0);
        save(rows, Table::Kinds, kind, &count.saturating_add(places));
    }
}

/// First place of each second that has events. Times never decrease with places, so a moment is
/// bounded by two rows, and whoever needs it to the microsecond looks into that second.
pub(crate) struct Times;

/// The key of a second.
pub(crate) fn second(at: Timestamp) -> [u8; 8] {
    at.as_secs().to_be_bytes()
}

impl Projection for Times {
    const NAME: &'static str = "time";
    const VERSION: u32 = 1;
    const TABLES: &'static [Table] = &[Table::Times];

    fn apply(rows: &mut impl Rows, event: &Event) {
        let key = second(event.at);
        if rows.get(Table::Times, &key).is_none() {
            save(rows, Table::Times, &key, &event.seq);
        }
    }
}

/// Newest place of each subject: what a conditional append names.
pub(crate) struct Subjects;

impl Projection for Subjects {
    const NAME: &'static str = "subject";
    const VERSION: u32 = 1;
    const TABLES: &'static [Table] = &[Table::Subjects];

    fn apply(rows: &mut impl Rows, event: &Event) {
        if let Some(subject) = &event.subject {
            save(rows, Table::Subjects, &subject_key(subject), &event.seq);
        }
    }
}

/// The key of a subject.
pub(crate) fn subject_key(subject: &Subject) -> Vec<u8> {
    subject.to_string().into_bytes()
}
