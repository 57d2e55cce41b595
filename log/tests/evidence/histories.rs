//! Generated facts, drafts and logs: every kind, with every optional part there or absent.

use missive_log::backend::memory::MemoryLog;
use missive_log::event::facts::*;
use missive_log::event::kind::*;
use missive_log::event::{
    ActorId, Alias, ArtifactId, ContextId, EventId, InstanceId, MessageId, OperationId, Seq, TaskId,
};
use missive_log::payload::About;
use missive_log::payload::redact::Redactor;
use missive_log::seam::{FrozenClock, SeededRandomness};
use missive_log::{
    Batch, Draft, EventKind, Ids, Links, Log as _, Origin, Payload, Role, Subject, Timestamp, chain,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;

#[path = "histories_groups.rs"]
mod groups;
#[path = "histories_more.rs"]
mod more;

/// Identifiers that follow from the seed, on a clock that stands.
pub(crate) fn ids(seed: &str) -> Arc<Ids> {
    let clock = FrozenClock::at(Timestamp::parse_rfc3339("2026-12-01T09:00:00Z").unwrap());
    Arc::new(Ids::new(clock, SeededRandomness::new(seed.as_bytes(), b"")))
}

/// A log with these drafts, one append each.
pub(crate) fn log_of(drafts: Vec<Draft>) -> MemoryLog {
    let ids = ids("log");
    let log = MemoryLog::new(Arc::clone(&ids)).unwrap();
    for draft in drafts {
        now(log.append(Batch::new(ids.batch(), vec![draft]))).unwrap();
    }
    log
}

/// The answer of a future that never waits, as those of a log in memory are.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(answer) => answer,
        std::task::Poll::Pending => panic!("a log in memory does not wait"),
    }
}

/// A payload of any kind of bytes.
pub(crate) fn payload() -> impl Strategy<Value = Payload> {
    let bytes = prop_oneof![
        "\\PC{0,24}".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..24),
        Just(br#"{"token":"abc"}"#.to_vec()),
    ];
    (select(Role::ALL), bytes, any::<u64>()).prop_map(|(role, bytes, seed)| {
        let ids = ids(&seed.to_string());
        Redactor::default().json(&ids, role, About::default(), &bytes)
    })
}

/// A draft about anything.
pub(crate) fn draft() -> impl Strategy<Value = Draft> {
    let ids = (any::<[u8; 16]>(), of(any::<[u8; 16]>()));
    let place = (of(select(&Origin::ALL[..])), of(operation()), of(seq()));
    let group = groups::link_group();
    let links = (of(alias()), of(context()), of(task()), of(trace()), group);
    let rest = (subject(), kind(), vec(payload(), 0..3));
    (ids, place, links, rest).prop_map(|(ids, place, links, rest)| Draft {
        id: EventId(ids.0),
        subject: rest.0,
        operation: place.1,
        cause: place.2,
        origin: place.0,
        actor: ids.1.map(ActorId),
        links: Links {
            agent: links.0,
            context: links.1,
            task: links.2,
            group: links.4,
        },
        trace: links.3,
        kind: rest.1,
        payloads: rest.2,
    })
}

fn trace() -> impl Strategy<Value = TraceParent> {
    "0[0-9a-f]-1[0-9a-f]{31}-2[0-9a-f]{15}-0[01]"
        .prop_map(|text: String| TraceParent::new(&text).unwrap())
}

/// A draft that may stand behind the first event: logs are created and re-anchored by themselves.
pub(crate) fn later_draft() -> impl Strategy<Value = Draft> {
    draft().prop_filter("only the log itself says this", |draft| {
        !matches!(
            draft.kind,
            EventKind::LogCreated(_) | EventKind::LogReanchored(_)
        )
    })
}

fn seq() -> impl Strategy<Value = Seq> {
    (0..1_u64 << 53).prop_map(Seq)
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0..200_000_000_000_000_000_u64).prop_map(Timestamp::from_micros)
}

macro_rules! text {
    ($name:ident, $type:ty, $pattern:literal) => {
        fn $name() -> impl Strategy<Value = $type> {
            $pattern.prop_map(|text: String| <$type>::new(&text).unwrap())
        }
    };
}
use text;

text!(alias, Alias, "[a-z0-9][a-z0-9._-]{0,8}");
text!(name, Name, "[a-z0-9][a-z0-9._-]{0,8}");
text!(operation, OperationId, "[A-Za-z0-9_-]{1,9}");
text!(context, ContextId, "(?s).{1,9}");
text!(task, TaskId, "(?s).{1,9}");
text!(message, MessageId, "(?s).{1,9}");
text!(artifact, ArtifactId, "(?s).{1,9}");
text!(label, Label, "\\PC{1,9}");
text!(mode, MediaMode, "[a-z]{1,6}/[a-z+]{1,6}");
text!(context_name, ContextName, "\\PC{1,9}");
text!(etag, EntityTag, "(W/)?\"[a-z0-9\\\\]{0,9}\"");
text!(version, Version, "[0-9]{1,2}\\.[0-9]{1,2}");
text!(tenant, Tenant, "\\PC{1,9}");
text!(
    url,
    BareUrl,
    "https?://[a-z.]{1,9}(:[0-9]{2})?(/[a-z%/]{0,9})?"
);

fn subject() -> impl Strategy<Value = Subject> {
    prop_oneof![
        Just(Subject::Log),
        any::<[u8; 16]>().prop_map(|id| Subject::Actor(ActorId(id))),
        alias().prop_map(Subject::Agent),
        operation().prop_map(Subject::Operation),
        context().prop_map(Subject::Context),
        task().prop_map(Subject::Task),
        context_name().prop_map(Subject::ContextName),
        groups::subject_group(),
        "(later|x)(:\\PC{0,6})?".prop_map(|text| text.parse().unwrap()),
    ]
}

fn task_facts() -> impl Strategy<Value = TaskFacts> {
    let artifacts = vec((artifact(), any::<u32>()), 0..3);
    let state = select(TaskState::ALL);
    (
        task(),
        of(context()),
        state,
        of(time()),
        any::<u32>(),
        artifacts,
    )
        .prop_map(
            |(task, context, state, state_at, history, artifacts)| TaskFacts {
                task,
                context,
                state,
                state_at,
                history,
                artifacts: artifacts
                    .into_iter()
                    .map(|(artifact, parts)| ArtifactFacts { artifact, parts })
                    .collect(),
            },
        )
}

fn interface() -> impl Strategy<Value = InterfaceFacts> {
    (select(Binding::ALL), url()).prop_map(|(binding, url)| InterfaceFacts { binding, url })
}

fn violations() -> impl Strategy<Value = Vec<Violation>> {
    vec(select(Violation::ALL), 0..3)
}

fn instance() -> impl Strategy<Value = InstanceId> {
    any::<[u8; 8]>().prop_map(InstanceId)
}

fn link() -> impl Strategy<Value = chain::Link> {
    any::<[u8; 32]>().prop_map(chain::Link)
}

/// A fact of any kind.
pub(crate) fn kind() -> BoxedStrategy<EventKind> {
    prop_oneof![
        of_the_log(),
        of_agents(),
        of_cards(),
        of_sends(),
        of_calls(),
        more::of_streams(),
        more::of_pushes(),
        more::of_contexts(),
        more::of_checks(),
        groups::of_groups(),
        groups::of_rounds(),
        unknown()
    ]
    .boxed()
}

fn unknown() -> impl Strategy<Value = EventKind> {
    let facts = of(select(vec![
        "{}",
        "[1,true]",
        "\"x\"",
        "{\"a\":{\"b 1.5\":13}}",
    ]));
    ("(a2a|later)\\.[a-z_]{1,9}", 1..9_u32, facts).prop_map(|(kind, version, facts)| {
        EventKind::Unknown(UnknownFact {
            kind: kind.into(),
            version,
            facts: facts.map(Into::into),
        })
    })
}

fn of_the_log() -> impl Strategy<Value = EventKind> {
    let begun = (
        any::<u32>(),
        vec(label(), 0..3),
        of(any::<[u8; 32]>()),
        any::<bool>(),
    );
    let before = of((any::<[u8; 32]>(), seq(), link()));
    let created = (begun, before).prop_map(|((format, keys, nonce, test), before)| {
        EventKind::LogCreated(LogCreated {
            format,
            suite: Suite::Blake3Of202612,
            origin: LogOrigin::new("missive.local/log").unwrap(),
            keys,
            program: nonce.map(|_| Program::new("missive/0.1.0").unwrap()),
            nonce: nonce.map(Nonce),
            test,
            continues: before.map(|(log, seq, link)| Predecessor {
                log: chain::LogId(log),
                seq,
                link,
            }),
        })
    });
    let format = select(ExportFormat::ALL);
    let exported = (format, seq(), 0..1_u64 << 53, any::<bool>()).prop_map(
        |(format, through, events, filtered)| {
            EventKind::LogExported(LogExported {
                format,
                through,
                events,
                filtered,
            })
        },
    );
    let reanchored = (seq(), link(), seq(), link()).prop_map(
        |(witnessed, witnessed_link, found, found_link)| {
            EventKind::LogReanchored(LogReanchored {
                witnessed,
                witnessed_link,
                found,
                found_link,
            })
        },
    );
    prop_oneof![created, exported, reanchored]
}

fn of_agents() -> impl Strategy<Value = EventKind> {
    let bindings = vec(select(Binding::ALL), 0..3);
    let added = (
        url(),
        vec(interface(), 0..3),
        bindings,
        of(name()),
        vec(name(), 0..3),
    )
        .prop_map(|(url, interfaces, bindings, auth_ref, tags)| {
            EventKind::AgentAdded(AgentAdded {
                url,
                interfaces,
                bindings,
                auth_ref,
                tags,
            })
        });
    prop_oneof![
        added,
        Just(EventKind::ActorSeen(ActorSeen {})),
        Just(EventKind::AgentRemoved(AgentRemoved {})),
        alias().prop_map(|to| EventKind::AgentRenamed(AgentRenamed { to })),
    ]
}

fn card_facts() -> impl Strategy<Value = CardFacts> {
    let skills = vec((label(), vec(label(), 0..3)), 0..3);
    let flags = any::<[bool; 3]>();
    let modes = (vec(mode(), 0..3), vec(mode(), 0..3));
    (vec(interface(), 0..3), flags, modes, skills).prop_map(
        |(interfaces, [streaming, push, extended], modes, skills)| CardFacts {
            interfaces,
            streaming,
            push,
            extended,
            input_modes: modes.0,
            output_modes: modes.1,
            skills: skills
                .into_iter()
                .map(|(id, tags)| SkillFacts { id, tags })
                .collect(),
        },
    )
}

fn of_cards() -> impl Strategy<Value = EventKind> {
    let requested = (instance(), url(), any::<bool>()).prop_map(|(instance, url, revalidate)| {
        EventKind::CardRequested(CardRequested {
            instance,
            url,
            revalidate,
        })
    });
    let card = card_facts();
    let answer = (any::<u16>(), select(CardPath::ALL), url(), of(etag()));
    let fetched = (answer, of(time()), time(), of(card), violations()).prop_map(
        |((status, path, url, etag), last_modified, fresh_until, card, violations)| {
            EventKind::CardFetched(CardFetched {
                status,
                path,
                url,
                etag,
                last_modified,
                fresh_until,
                card,
                violations,
            })
        },
    );
    let failed = (select(Failure::ALL), of(any::<u16>()))
        .prop_map(|(failure, status)| EventKind::CardFailed(CardFailed { failure, status }));
    prop_oneof![requested, fetched, failed]
}

fn of_sends() -> impl Strategy<Value = EventKind> {
    let place = (
        select(Binding::ALL),
        url(),
        select(InterfaceSource::ALL),
        version(),
    );
    let counts = (any::<u32>(), any::<u32>());
    let requested = (instance(), message(), place, of(tenant()), counts).prop_map(
        |(instance, message, (binding, url, source, version), tenant, (parts, attempt))| {
            EventKind::SendRequested(SendRequested {
                instance,
                message,
                binding,
                url,
                source,
                version,
                tenant,
                parts,
                attempt,
            })
        },
    );
    let shape = select(Shape::ALL);
    let responded = (
        any::<u16>(),
        shape,
        of(message()),
        of(task_facts()),
        violations(),
    )
        .prop_map(|(status, shape, message, task, violations)| {
            EventKind::SendResponded(SendResponded {
                status,
                shape,
                message,
                task,
                violations,
            })
        });
    let failure = (
        select(Failure::ALL),
        of(any::<u16>()),
        of(select(A2aError::ALL)),
    );
    let failed = failure.clone().prop_map(|(failure, status, error)| {
        EventKind::SendFailed(SendFailed {
            failure,
            status,
            error,
        })
    });
    let in_doubt = failure
        .prop_map(|(failure, status, _)| EventKind::SendInDoubt(SendInDoubt { failure, status }));
    let resolved = task_facts().prop_map(|task| EventKind::SendResolved(SendResolved { task }));
    prop_oneof![requested, responded, failed, in_doubt, resolved]
}

fn of_calls() -> impl Strategy<Value = EventKind> {
    let place = (select(Method::ALL), select(Binding::ALL), url());
    let requested = (instance(), place, of(task()), of(context())).prop_map(
        |(instance, (method, binding, url), task, context)| {
            EventKind::CallRequested(CallRequested {
                instance,
                method,
                binding,
                url,
                task,
                context,
            })
        },
    );
    let responded =
        (any::<u16>(), any::<u32>(), violations()).prop_map(|(status, tasks, violations)| {
            EventKind::CallResponded(CallResponded {
                status,
                tasks,
                violations,
            })
        });
    let failed = (
        select(Failure::ALL),
        of(any::<u16>()),
        of(select(A2aError::ALL)),
    )
        .prop_map(|(failure, status, error)| {
            EventKind::CallFailed(CallFailed {
                failure,
                status,
                error,
            })
        });
    let updated = task_facts().prop_map(|task| EventKind::TaskUpdated(TaskUpdated { task }));
    prop_oneof![requested, responded, failed, updated]
}
