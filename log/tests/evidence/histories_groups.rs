//! Generated facts about groups and rounds.

use super::*;
use missive_log::event::facts::{
    Execution, FailurePolicy, MemberStatus, ReduceFailure, ReduceMethod, ReduceSource,
    ReduceStrategy, RoundStatus, RoutingPolicy, Weight,
};
use missive_log::event::{GroupName, Rank};

text!(group, GroupName, "[a-z0-9][a-z0-9._-]{0,8}");
text!(rank, Rank, "[a-z0-9][a-z0-9._-]{0,8}");

pub(super) fn link_group() -> impl Strategy<Value = Option<GroupName>> {
    of(group())
}

pub(super) fn subject_group() -> impl Strategy<Value = Subject> {
    group().prop_map(Subject::Group)
}

pub(super) fn of_groups() -> impl Strategy<Value = EventKind> {
    let weight = (1..=1_000_000_000_000_000_u64)
        .prop_map(|millionths| Weight::from_millionths(millionths).unwrap());
    prop_oneof![
        of(select(RoutingPolicy::ALL)).prop_map(|policy| GroupCreated { policy }.into()),
        group().prop_map(|to| GroupRenamed { to }.into()),
        Just(GroupDeleted {}.into()),
        (alias(), rank(), vec(name(), 0..3), of(weight)).prop_map(|(agent, rank, tags, weight)| {
            GroupMemberAdded {
                agent,
                rank,
                tags,
                weight,
            }
            .into()
        }),
        (alias(), rank()).prop_map(|(agent, rank)| GroupMemberRemoved { agent, rank }.into()),
        (seq(), alias(), rank()).prop_map(|(turn, agent, rank)| {
            let turn = turn.0;
            GroupTurnTaken { turn, agent, rank }.into()
        }),
        tried(),
    ]
}

fn tried() -> impl Strategy<Value = EventKind> {
    let who = (alias(), rank(), of(operation()));
    let what = (
        select(RoutingPolicy::ALL),
        any::<u32>(),
        select(MemberStatus::ALL),
    );
    (who, what).prop_map(|((agent, rank, operation), (policy, attempt, status))| {
        GroupMemberTried {
            policy,
            attempt,
            agent,
            rank,
            status,
            operation,
        }
        .into()
    })
}

pub(super) fn of_rounds() -> impl Strategy<Value = EventKind> {
    prop_oneof![of_bcasts(), of_barriers(), of_reductions()]
}

fn counts() -> impl Strategy<Value = [u32; 4]> {
    any::<[u32; 4]>()
}

fn of_bcasts() -> impl Strategy<Value = EventKind> {
    let policies = (select(Execution::ALL), select(FailurePolicy::ALL));
    let limit = of(0..1_u64 << 53);
    let place = (seq(), vec(seq(), 0..3));
    let started = (instance(), policies, any::<u32>(), limit, place).prop_map(
        |(instance, (execution, failure_policy), members, timeout_ms, (position, member_ids))| {
            BcastStarted {
                instance,
                execution,
                failure_policy,
                members,
                timeout_ms,
                position,
                member_ids,
            }
            .into()
        },
    );
    let came = (
        of(operation()),
        of(task()),
        of(select(TaskState::ALL)),
        of(select(Failure::ALL)),
    );
    let ended = (alias(), rank(), select(MemberStatus::ALL), came).prop_map(
        |(agent, rank, status, (operation, task, state, failure))| {
            BcastMemberEnded {
                agent,
                rank,
                status,
                operation,
                task,
                state,
                failure,
            }
            .into()
        },
    );
    let completed = (select(RoundStatus::ALL), counts()).prop_map(
        |(status, [succeeded, failed, unfinished, _])| {
            BcastCompleted {
                status,
                succeeded,
                failed,
                unfinished,
            }
            .into()
        },
    );
    prop_oneof![started, ended, completed, Just(RoundAbandoned {}.into())]
}

fn of_barriers() -> impl Strategy<Value = EventKind> {
    let wanted = (
        vec(select(TaskState::ALL), 0..3),
        select(FailurePolicy::ALL),
    );
    let limits = (of(operation()), of(0..1_u64 << 53), seq(), any::<bool>());
    let ids = vec(seq(), 0..3);
    let started = (instance(), wanted, counts(), limits, ids).prop_map(
        |(instance, (states, failure_policy), counts, limits, member_ids)| {
            let (bcast, timeout_ms, position, local) = limits;
            BarrierStarted {
                instance,
                states,
                required: counts[0],
                failure_policy,
                members: counts[1],
                local,
                bcast,
                timeout_ms,
                position,
                member_ids,
            }
            .into()
        },
    );
    let came = (of(task()), of(select(TaskState::ALL)));
    let ended = (alias(), rank(), select(MemberStatus::ALL), came).prop_map(
        |(agent, rank, status, (task, state))| {
            BarrierMemberEnded {
                agent,
                rank,
                status,
                task,
                state,
            }
            .into()
        },
    );
    let completed = (select(RoundStatus::ALL), counts()).prop_map(
        |(status, [required, satisfied, failed, unfinished])| {
            BarrierCompleted {
                status,
                required,
                satisfied,
                failed,
                unfinished,
            }
            .into()
        },
    );
    let gathered = (seq(), counts(), vec(seq(), 0..3)).prop_map(
        |(position, [members, outputs, files, _], member_ids)| {
            GatherRecorded {
                position,
                members,
                outputs,
                files,
                member_ids,
            }
            .into()
        },
    );
    prop_oneof![started, ended, completed, gathered]
}

fn source() -> impl Strategy<Value = ReduceSource> {
    let payload = (seq(), any::<u16>(), any::<[u8; 32]>()).prop_map(|(seq, index, commitment)| {
        PayloadFacts {
            seq,
            index,
            commitment: chain::Commitment(commitment),
        }
    });
    let what = (
        of(task()),
        of(select(TaskState::ALL)),
        of(message()),
        of(artifact()),
    );
    let payloads = (of(any::<u32>()), vec(payload, 0..3), any::<u32>());
    (alias(), rank(), select(MemberStatus::ALL), what, payloads).prop_map(
        |(agent, rank, status, (task, state, message, artifact), (version, payloads, total))| {
            ReduceSource {
                agent,
                rank,
                status,
                task,
                state,
                message,
                artifact,
                version,
                payloads,
                payloads_total: total,
            }
        },
    )
}

fn of_reductions() -> impl Strategy<Value = EventKind> {
    let how = || {
        (
            select(ReduceStrategy::ALL),
            select(ReduceMethod::ALL),
            seq(),
        )
    };
    let ids = vec(seq(), 0..3);
    let started = (instance(), how(), any::<u32>(), ids).prop_map(
        |(instance, (strategy, method, position), inputs, member_ids)| {
            ReduceStarted {
                instance,
                strategy,
                method,
                position,
                inputs,
                member_ids,
            }
            .into()
        },
    );
    let sources = (any::<u32>(), vec(source(), 0..3))
        .prop_map(|(part, sources)| ReduceSources { part, sources }.into());
    let asked = (of(alias()), of(operation()), of(task()));
    let completed = (how(), counts(), asked).prop_map(
        |((strategy, method, position), counts, (reducer, operation, task))| {
            ReduceCompleted {
                strategy,
                method,
                position,
                inputs: counts[0],
                sources: counts[1],
                reducer,
                operation,
                task,
            }
            .into()
        },
    );
    let failed = (select(ReduceFailure::ALL), of(any::<u8>()), of(operation())).prop_map(
        |(failure, exit, operation)| {
            ReduceFailed {
                failure,
                exit,
                operation,
            }
            .into()
        },
    );
    prop_oneof![started, sources, completed, failed]
}
