//! Rounds: broadcasts, barriers, gathers that were kept, and reductions.
//!
//! A round is known by its operation. One without an end is listed on its own, so that a process that died
//! in the middle is noticed; what it had sent is in doubt by itself, in the outbox.

use crate::group::rank_key;
use crate::rows::{Rows, Table, key_of, load, micros, micros_option, save};
use crate::source::Source;
use crate::view::Projection;
use missive_log::event::facts::{
    Execution, FailurePolicy, MemberStatus, ReduceFailure, ReduceMethod, ReduceStrategy,
    RoundStatus, TaskState,
};
use missive_log::event::kind::{
    BarrierCompleted, BarrierStarted, BcastCompleted, BcastStarted, ReduceCompleted, RoundFact,
};
use missive_log::event::{
    Alias, ContextId, EventKind, GroupName, InstanceId, OperationId, Rank, Seq, TaskId,
};
use missive_log::{Event, Role, Timestamp};
use serde::{Deserialize, Serialize};

/// A round, as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// The operation: how people name it.
    pub operation: OperationId,
    /// What it is.
    pub what: RoundWhat,
    /// The group, by the name that it had then.
    pub group: Option<GroupName>,
    /// The context.
    pub context: Option<ContextId>,
    /// The run of the program that carries it out; none for what ends at once.
    pub instance: Option<InstanceId>,
    /// The event that began it.
    pub begun: Seq,
    /// When that was.
    #[serde(with = "micros")]
    pub begun_at: Timestamp,
    /// The event that ended it.
    pub ended: Option<Seq>,
    /// When that was.
    #[serde(with = "micros_option")]
    pub ended_at: Option<Timestamp>,
    /// What came of it; none while it goes on, and for one whose process died.
    pub status: Option<RoundStatus>,
    /// How many members there were.
    pub members: u32,
    /// Where the views stood that named members or inputs.
    pub position: Seq,
}

/// What a round is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoundWhat {
    /// A message to every member.
    Bcast {
        /// In which order.
        execution: Execution,
        /// What a failure means.
        failure_policy: FailurePolicy,
    },
    /// A wait for every member.
    Barrier {
        /// The states that satisfy it.
        states: Vec<TaskState>,
        /// How many members must be in one of them.
        required: u32,
    },
    /// What a group had said, kept.
    Gather {
        /// How many members had said something.
        outputs: u32,
    },
    /// One made of what a group had said.
    Reduce(Reduction),
}

impl RoundWhat {
    /// In a word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bcast { .. } => "broadcast",
            Self::Barrier { .. } => "barrier",
            Self::Gather { .. } => "gather",
            Self::Reduce(_) => "reduction",
        }
    }
}

/// A reduction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reduction {
    /// How.
    pub strategy: ReduceStrategy,
    /// By whom.
    pub method: ReduceMethod,
    /// How many members had said something.
    pub inputs: u32,
    /// What it came to.
    pub result: Option<Source>,
    /// How many members its list of sources names.
    pub sources: u32,
    /// The agent that made it.
    pub reducer: Option<Alias>,
    /// The operation that asked it.
    pub asked: Option<OperationId>,
    /// Why it came to nothing.
    pub failure: Option<ReduceFailure>,
}

/// What came of a round for one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundMember {
    /// The member, by its alias then.
    pub agent: Alias,
    /// Its rank.
    pub rank: Rank,
    /// What came of it.
    pub status: MemberStatus,
    /// The operation that sent it a message.
    pub operation: Option<OperationId>,
    /// Its task.
    pub task: Option<TaskId>,
    /// The state of that task then.
    pub state: Option<TaskState>,
    /// The event that says so.
    pub seq: Seq,
}

pub(crate) struct Rounds;

impl Projection for Rounds {
    const NAME: &'static str = "round";
    const VERSION: u32 = 1;
    const TABLES: &'static [Table] = &[
        Table::Rounds,
        Table::RoundMembers,
        Table::OpenRounds,
        Table::ReduceSources,
    ];

    fn apply(rows: &mut impl Rows, event: &Event) {
        let (EventKind::Round(fact), Some(operation)) = (&event.kind, &event.operation) else {
            return;
        };
        match fact {
            RoundFact::BcastStarted(facts) => begin(rows, &bcast(event, operation, facts)),
            RoundFact::BarrierStarted(facts) => begin(rows, &barrier(event, operation, facts)),
            RoundFact::ReduceStarted(facts) => {
                let what = reduction(facts.strategy, facts.method, facts.inputs);
                let mut round = round_of(event, operation, RoundWhat::Reduce(what), facts.position);
                round.instance = Some(facts.instance);
                begin(rows, &round);
            }
            RoundFact::BcastMemberEnded(facts) => {
                let member = RoundMember {
                    agent: facts.agent.clone(),
                    rank: facts.rank.clone(),
                    status: facts.status,
                    operation: facts.operation.clone(),
                    task: facts.task.clone(),
                    state: facts.state,
                    seq: event.seq,
                };
                keep_member(rows, operation, &member);
            }
            RoundFact::BarrierMemberEnded(facts) => {
                let member = RoundMember {
                    agent: facts.agent.clone(),
                    rank: facts.rank.clone(),
                    status: facts.status,
                    operation: None,
                    task: facts.task.clone(),
                    state: facts.state,
                    seq: event.seq,
                };
                keep_member(rows, operation, &member);
            }
            RoundFact::BcastCompleted(BcastCompleted { status, .. })
            | RoundFact::BarrierCompleted(BarrierCompleted { status, .. }) => {
                end(rows, event, operation, Some(*status), |_| {});
            }
            RoundFact::GatherRecorded(facts) => {
                let what = RoundWhat::Gather {
                    outputs: facts.outputs,
                };
                let mut round = round_of(event, operation, what, facts.position);
                round.members = facts.members;
                round.ended = Some(event.seq);
                round.ended_at = Some(event.at);
                round.status = Some(RoundStatus::Succeeded);
                save(rows, Table::Rounds, key(operation), &round);
            }
            RoundFact::ReduceSources(facts) => {
                let place = sources_key(operation, facts.part);
                save(rows, Table::ReduceSources, &place, &event.seq);
            }
            RoundFact::ReduceCompleted(facts) => reduced(rows, event, operation, facts),
            RoundFact::ReduceFailed(facts) => {
                end(rows, event, operation, Some(RoundStatus::Failed), |what| {
                    what.failure = Some(facts.failure);
                    what.asked.clone_from(&facts.operation);
                });
            }
            RoundFact::Abandoned(_) => end(rows, event, operation, None, |_| {}),
        }
    }
}

fn key(operation: &OperationId) -> &[u8] {
    operation.as_str().as_bytes()
}

/// What stands in front of the members of a round.
pub(crate) fn members_prefix(operation: &OperationId) -> Vec<u8> {
    key_of(&[key(operation)], &[])
}

fn sources_key(operation: &OperationId, part: u32) -> Vec<u8> {
    key_of(&[key(operation)], &part.to_be_bytes())
}

fn round_of(event: &Event, operation: &OperationId, what: RoundWhat, position: Seq) -> Round {
    Round {
        operation: operation.clone(),
        what,
        group: event.links.group.clone(),
        context: event.links.context.clone(),
        instance: None,
        begun: event.seq,
        begun_at: event.at,
        ended: None,
        ended_at: None,
        status: None,
        members: 0,
        position,
    }
}

fn bcast(event: &Event, operation: &OperationId, facts: &BcastStarted) -> Round {
    let what = RoundWhat::Bcast {
        execution: facts.execution,
        failure_policy: facts.failure_policy,
    };
    Round {
        instance: Some(facts.instance),
        members: facts.members,
        ..round_of(event, operation, what, facts.position)
    }
}

fn barrier(event: &Event, operation: &OperationId, facts: &BarrierStarted) -> Round {
    let what = RoundWhat::Barrier {
        states: facts.states.clone(),
        required: facts.required,
    };
    Round {
        instance: Some(facts.instance),
        members: facts.members,
        ..round_of(event, operation, what, facts.position)
    }
}

fn reduction(strategy: ReduceStrategy, method: ReduceMethod, inputs: u32) -> Reduction {
    Reduction {
        strategy,
        method,
        inputs,
        result: None,
        sources: 0,
        reducer: None,
        asked: None,
        failure: None,
    }
}

/// A round begins once; its members are those of the beginning.
fn begin(rows: &mut impl Rows, round: &Round) {
    if rows.get(Table::Rounds, key(&round.operation)).is_some() {
        return;
    }
    save(rows, Table::Rounds, key(&round.operation), round);
    let place = round.begun.to_key();
    rows.put(Table::OpenRounds, &place, key(&round.operation).into());
}

/// The first end counts.
fn end(
    rows: &mut impl Rows,
    event: &Event,
    operation: &OperationId,
    status: Option<RoundStatus>,
    reduction: impl FnOnce(&mut Reduction),
) {
    let known = load::<Round>(rows, Table::Rounds, key(operation));
    let Some(mut round) = known.filter(|round| round.ended.is_none()) else {
        return;
    };
    round.ended = Some(event.seq);
    round.ended_at = Some(event.at);
    round.status = status;
    if let RoundWhat::Reduce(what) = &mut round.what {
        reduction(what);
    }
    rows.delete(Table::OpenRounds, &round.begun.to_key());
    save(rows, Table::Rounds, key(operation), &round);
}

/// A reduction that missive made itself begins and ends with one fact.
fn reduced(rows: &mut impl Rows, event: &Event, operation: &OperationId, facts: &ReduceCompleted) {
    if rows.get(Table::Rounds, key(operation)).is_none() {
        let what = reduction(facts.strategy, facts.method, facts.inputs);
        let round = round_of(event, operation, RoundWhat::Reduce(what), facts.position);
        save(rows, Table::Rounds, key(operation), &round);
    }
    end(
        rows,
        event,
        operation,
        Some(RoundStatus::Succeeded),
        |what| {
            what.result = Some(Source::of(event, &[Role::Result]));
            what.sources = facts.sources;
            what.reducer.clone_from(&facts.reducer);
            what.asked.clone_from(&facts.operation);
        },
    );
}

fn keep_member(rows: &mut impl Rows, operation: &OperationId, member: &RoundMember) {
    let mut place = members_prefix(operation);
    place.extend_from_slice(&rank_key(&member.rank));
    save(rows, Table::RoundMembers, &place, member);
}
