//! A reduction as it is recorded: the text, and what it was made of.

use missive_log::Role;
use missive_log::event::facts::{ReduceMethod, ReduceSource};
use missive_log::event::kind::{ReduceCompleted, ReduceFailed, ReduceSources};
use missive_log::event::{Draft, EventKind, Links, OperationId, Seq, Subject};
use missive_log::payload::About;
use missive_projections::Views;

use super::{Outcome, Reduce, Unmade};
use crate::collect::gather::{Gathered, MemberOutput};
use crate::decide::round::links_of;
use crate::decide::{Decide, Decision, Moment, Undecided, unchanged};

/// How many payloads of one member are named: a long artifact may have thousands.
const PAYLOADS_MAX: usize = 64;
/// How long one part of the list of sources may be, in bytes of its JSON.
const PART_BYTES_MAX: usize = 40_000;

/// A reduction, as it is made.
pub(super) struct Made<'a> {
    pub(super) operation: &'a OperationId,
    pub(super) command: &'a Reduce,
    pub(super) gathered: &'a Gathered,
    pub(super) inputs: u32,
}

impl Made<'_> {
    pub(super) fn links(&self) -> Links {
        let group = &self.gathered.roster.group.name;
        links_of(group, &self.gathered.context, None)
    }

    /// The sources, in parts, and the reduction itself.
    pub(super) fn drafts(
        &self,
        moment: &Moment<'_>,
        begun: Option<Seq>,
        outcome: &Outcome,
    ) -> Vec<Draft> {
        let links = self.links();
        let step =
            |kind: EventKind, payloads| moment.step(self.operation, begun, &links, kind, payloads);
        let sources = sources(self.gathered);
        let total = u32::try_from(sources.len()).unwrap_or(u32::MAX);
        let parts = (0..).zip(in_parts(sources));
        let mut drafts: Vec<Draft> = parts
            .map(|(part, sources)| step(ReduceSources { part, sources }.into(), Vec::new()))
            .collect();
        let completed = ReduceCompleted {
            strategy: self.command.strategy,
            method: self.command.by.method(),
            position: self.gathered.roster.position,
            inputs: self.inputs,
            sources: total,
            reducer: outcome.reducer.clone(),
            operation: outcome.asked.clone(),
            task: outcome.task.clone(),
        };
        let about = About::default();
        let text = moment
            .redactor
            .text(moment.ids, Role::Result, about, &outcome.text);
        drafts.push(step(completed.into(), vec![text]));
        drafts
    }

    pub(super) fn failed(&self, moment: &Moment<'_>, begun: Seq, unmade: &Unmade) -> Draft {
        let facts = ReduceFailed {
            failure: unmade.failure,
            exit: unmade.exit,
            operation: unmade.asked.clone(),
        };
        let about = About::default();
        let said = moment
            .redactor
            .text(moment.ids, Role::Error, about, &unmade.said);
        let links = self.links();
        moment.step(
            self.operation,
            Some(begun),
            &links,
            facts.into(),
            vec![said],
        )
    }

    /// A reduction that begins and ends with one append.
    pub(super) fn at_once<'a>(&'a self, outcome: &'a Outcome) -> impl Decide + 'a {
        move |views: &Views, moment: &Moment<'_>| -> Result<Decision, Undecided> {
            let subject = Subject::Operation(self.operation.clone());
            Ok(Decision {
                expect: vec![unchanged(views, subject)?],
                drafts: self.drafts(moment, None, outcome),
            })
        }
    }
}

/// What a reduction takes from each member, in the order of ranks.
pub fn sources(gathered: &Gathered) -> Vec<ReduceSource> {
    gathered.outputs.iter().map(source).collect()
}

/// Of what kind the text is that was taken from a member: a `message` (also that of a task's status), the
/// `status` of a task without one, or an `artifact`.
pub fn source_kind(source: &ReduceSource) -> &'static str {
    match (&source.artifact, &source.message) {
        (Some(_), _) => "artifact",
        (None, Some(_)) => "message",
        (None, None) => "status",
    }
}

fn source(output: &MemberOutput) -> ReduceSource {
    let payloads = &output.from.payloads;
    ReduceSource {
        agent: output.seat.agent().clone(),
        rank: output.seat.rank().clone(),
        status: output.status,
        task: output.task.as_ref().map(|task| task.task.clone()),
        state: output.task.as_ref().map(|task| task.state),
        message: output.from.message.clone(),
        artifact: output.from.artifact.clone(),
        version: output.from.version,
        payloads: payloads.iter().take(PAYLOADS_MAX).cloned().collect(),
        payloads_total: u32::try_from(payloads.len()).unwrap_or(u32::MAX),
    }
}

/// Parts that each fit into the body of an event.
fn in_parts(sources: Vec<ReduceSource>) -> Vec<Vec<ReduceSource>> {
    let mut parts: Vec<Vec<ReduceSource>> = Vec::new();
    let mut room = 0;
    for source in sources {
        let bytes = serde_json::to_vec(&source).map_or(PART_BYTES_MAX, |json| json.len());
        if let Some(part) = parts.last_mut().filter(|_| bytes <= room) {
            part.push(source);
        } else {
            parts.push(vec![source]);
            room = PART_BYTES_MAX;
        }
        room = room.saturating_sub(bytes);
    }
    parts
}

impl Reduce {
    /// By whom, as facts name it.
    pub fn method(&self) -> ReduceMethod {
        self.by.method()
    }
}
