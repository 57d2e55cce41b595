//! What a group had said is kept: that it was read, from where, and which files were written of it.

use missive_log::Role;
use missive_log::event::kind::GatherRecorded;
use missive_log::event::{ContextId, GroupName, OperationId, Seq, Subject};
use missive_log::payload::About;
use missive_projections::Views;

use super::round::links_of;
use super::{Decide, Decision, Moment, Undecided, unchanged};

/// What is about to be recorded of a gather.
#[derive(Clone, Debug)]
pub struct RecordGather {
    /// Its operation.
    pub operation: OperationId,
    /// Whose outputs.
    pub group: GroupName,
    /// In which context.
    pub context: ContextId,
    /// Where the views stood.
    pub position: Seq,
    /// How many members there were.
    pub members: usize,
    /// The members in the order of ranks, each by the event that made it one.
    pub member_ids: Vec<Seq>,
    /// How many of them had said something.
    pub outputs: usize,
    /// How many files are about to be written.
    pub files: usize,
    /// Their names, with lengths and digests, as JSON; empty if there are none.
    pub names: String,
}

impl Decide for RecordGather {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let subject = Subject::Operation(self.operation.clone());
        let expect = vec![unchanged(views, subject)?];
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let facts = GatherRecorded {
            position: self.position,
            members: count(self.members),
            outputs: count(self.outputs),
            files: count(self.files),
            member_ids: self.member_ids.clone(),
        };
        let about = About {
            media_type: Some("application/json".to_owned()),
            name: None,
        };
        let mut payloads = Vec::new();
        if self.files > 0 {
            let names = self.names.as_bytes();
            let json = moment.redactor.json(moment.ids, Role::Files, about, names);
            payloads.push(json);
        }
        let links = links_of(&self.group, &self.context, None);
        let draft = moment.step(&self.operation, None, &links, facts.into(), payloads);
        Ok(Decision {
            expect,
            drafts: vec![draft],
        })
    }
}
