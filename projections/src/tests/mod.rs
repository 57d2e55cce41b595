//! What the tests of this room share: histories, and ways to fold them.

mod agents;
mod attached;
mod compared;
mod disk;
mod grouped;
mod moments;
mod outbox;
mod replay;
mod select;
mod streamed;
mod summed;
mod tasks;

use crate::rows::memory::MemoryStore;
use crate::rows::store::Store;
use crate::scenario::Scenario;
use crate::views::{self, Source, State};
use missive_log::backend::memory::MemoryLog;
use missive_log::chain::{Link, LogId};
use missive_log::event::facts::{
    A2aError, ArtifactFacts, BareUrl, Binding, CardPath, ContextName, ExportFormat, Failure,
    InterfaceSource, Method, Shape, StreamEnd, TaskFacts, TaskState, Version,
};
use missive_log::event::kind::{
    ActorSeen, AgentAdded, AgentRemoved, AgentRenamed, CallFailed, CallRequested, CallResponded,
    CardFacts, CardFailed, CardFetched, CardGiven, CardRequested, ContextClosed, ContextForked,
    ContextNamed, LogExported, LogReanchored, PushRemoved, SendFailed, SendInDoubt, SendRequested,
    SendResolved, SendResponded, TaskUpdated, UnknownFact,
};
use missive_log::event::{
    ActorId, Alias, ArtifactId, ContextId, Draft, EventId, EventKind, GroupName, InstanceId,
    MessageId, OperationId, Origin, PushConfigId, Seq, Subject, TaskId,
};
use missive_log::{Head, Log, Record, Timestamp};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

pub(super) fn alias(name: &str) -> Alias {
    Alias::new(name).unwrap()
}

pub(super) fn url(text: &str) -> BareUrl {
    BareUrl::new(text).unwrap()
}

pub(super) fn operation(name: &str) -> OperationId {
    OperationId::new(name).unwrap()
}

pub(super) fn task(id: &str) -> TaskId {
    TaskId::new(id).unwrap()
}

pub(super) fn context(id: &str) -> ContextId {
    ContextId::new(id).unwrap()
}

pub(super) fn message(id: &str) -> MessageId {
    MessageId::new(id).unwrap()
}

pub(super) fn at(micros: u64) -> Timestamp {
    Timestamp::from_micros(micros)
}

/// Where the clock of every history begins: 2026-12-01.
pub(super) const BEGIN: u64 = 1_796_083_200_000_000;

pub(super) fn added(base: &str) -> EventKind {
    EventKind::AgentAdded(AgentAdded {
        url: url(base),
        interfaces: Vec::new(),
        bindings: vec![Binding::JsonRpc],
        auth_ref: None,
        tags: Vec::new(),
    })
}

pub(super) fn renamed(to: &str) -> EventKind {
    EventKind::AgentRenamed(AgentRenamed { to: alias(to) })
}

pub(super) fn removed() -> EventKind {
    EventKind::AgentRemoved(AgentRemoved {})
}

pub(super) fn card_requested(base: &str) -> EventKind {
    EventKind::CardRequested(CardRequested {
        instance: InstanceId([3; 8]),
        url: url(base),
        revalidate: false,
    })
}

pub(super) fn card_fetched(status: u16, fresh_until: u64) -> EventKind {
    let card = CardFacts {
        interfaces: Vec::new(),
        streaming: true,
        push: false,
        extended: false,
        input_modes: Vec::new(),
        output_modes: Vec::new(),
        skills: Vec::new(),
    };
    EventKind::CardFetched(CardFetched {
        status,
        path: CardPath::WellKnown,
        url: url("http://one.test/.well-known/agent-card.json"),
        etag: None,
        last_modified: None,
        fresh_until: at(fresh_until),
        card: (status == 200).then_some(card),
        violations: Vec::new(),
    })
}

pub(super) fn card_given() -> EventKind {
    let EventKind::CardFetched(facts) = card_fetched(200, BEGIN) else {
        panic!("a card that came")
    };
    EventKind::CardGiven(CardGiven {
        card: facts.card.unwrap(),
        violations: Vec::new(),
    })
}

pub(super) fn card_failed() -> EventKind {
    EventKind::CardFailed(CardFailed {
        failure: Failure::ConnectRefused,
        status: None,
    })
}

pub(super) fn send(id: &str, attempt: u32) -> EventKind {
    EventKind::SendRequested(SendRequested {
        instance: InstanceId([3; 8]),
        message: message(id),
        binding: Binding::JsonRpc,
        url: url("http://one.test/rpc"),
        source: InterfaceSource::Card,
        version: Version::new("1.0").unwrap(),
        tenant: None,
        parts: 1,
        attempt,
    })
}

pub(super) fn responded(id: Option<&str>, task: Option<TaskFacts>) -> EventKind {
    EventKind::SendResponded(SendResponded {
        status: 200,
        shape: if task.is_some() {
            Shape::Task
        } else {
            Shape::Message
        },
        message: id.map(message),
        task,
        violations: Vec::new(),
    })
}

pub(super) fn send_failed() -> EventKind {
    EventKind::SendFailed(SendFailed {
        failure: Failure::A2aError,
        status: Some(400),
        error: Some(A2aError::InvalidParams),
    })
}

pub(super) fn in_doubt() -> EventKind {
    EventKind::SendInDoubt(SendInDoubt {
        failure: Failure::ConnectionLost,
        status: None,
    })
}

pub(super) fn call(id: &str) -> EventKind {
    EventKind::CallRequested(CallRequested {
        instance: InstanceId([3; 8]),
        method: Method::GetTask,
        binding: Binding::JsonRpc,
        url: url("http://one.test/rpc"),
        task: Some(task(id)),
        context: None,
    })
}

pub(super) fn called(tasks: u32) -> EventKind {
    EventKind::CallResponded(CallResponded {
        status: 200,
        tasks,
        violations: Vec::new(),
    })
}

pub(super) fn seen(id: &str, state: TaskState, state_at: Option<u64>) -> TaskFacts {
    TaskFacts {
        task: task(id),
        context: None,
        state,
        state_at: state_at.map(at),
        history: 0,
        artifacts: Vec::new(),
    }
}

pub(super) fn updated(task: TaskFacts) -> EventKind {
    EventKind::TaskUpdated(TaskUpdated { task })
}

pub(super) fn unknown(name: &str) -> EventKind {
    EventKind::Unknown(UnknownFact {
        kind: name.into(),
        version: 1,
        facts: None,
    })
}

/// A log in memory that is written one event at a time.
#[derive(Debug)]
pub(super) struct World {
    pub(super) log: Arc<MemoryLog>,
    scenario: Scenario,
}

impl World {
    pub(super) fn new() -> Self {
        Self::seeded(b"views")
    }

    pub(super) fn seeded(seed: &[u8]) -> Self {
        let scenario = Scenario::seeded(seed);
        Self {
            log: Arc::clone(scenario.log()),
            scenario,
        }
    }

    /// Lets time pass, in microseconds.
    pub(super) fn wait(&self, micros: u64) {
        self.scenario.wait(Duration::from_micros(micros));
    }

    /// Appends one event; its place.
    pub(super) fn append(&mut self, draft: Draft) -> Seq {
        self.append_all(vec![draft])
    }

    /// Appends a batch; the place of its last event.
    pub(super) fn append_all(&mut self, drafts: Vec<Draft>) -> Seq {
        let log: &missive_log::scenario::Scenario = &self.scenario;
        log.when(Vec::new(), drafts).unwrap().last
    }

    pub(super) fn head(&self) -> Head {
        self.scenario.head()
    }

    pub(super) fn source(&self) -> Source {
        self.scenario.source()
    }

    pub(super) fn records(&self) -> Vec<Record> {
        self.scenario.records(Seq::ZERO)
    }
}

/// A draft about an agent, with that agent's alias as subject and link.
pub(super) fn about(agent: &str, kind: EventKind) -> Draft {
    let mut draft = Draft::new(EventId([1; 16]), Subject::Agent(alias(agent)), kind);
    draft.links.agent = Some(alias(agent));
    draft
}

/// A draft of an operation, with an agent's alias as link.
pub(super) fn of(op: &str, agent: &str, cause: Option<Seq>, kind: EventKind) -> Draft {
    let mut draft = Draft::new(EventId([1; 16]), Subject::Operation(operation(op)), kind);
    draft.links.agent = Some(alias(agent));
    draft.operation = Some(operation(op));
    draft.cause = cause;
    draft
}

pub(super) fn memory() -> Store {
    Store::Memory(MemoryStore::default())
}

/// Folds records in chunks of these sizes, over and over.
pub(super) fn fold_in(log: LogId, records: &[Record], sizes: &[usize]) -> (Store, State) {
    let store = memory();
    let mut state = State::new(log);
    let mut rest = records;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = (*sizes.next().unwrap()).clamp(1, rest.len());
        let (chunk, later) = rest.split_at(size);
        state = views::fold(&store, &state, views::Prepared::of(chunk.to_vec())).unwrap();
        rest = later;
    }
    (store, state)
}

/// Few cases on a desk, since each is a whole history; `PROPTEST_CASES` asks for more.
pub(super) fn cases() -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let defaults = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    ProptestConfig {
        cases: if asked { defaults.cases } else { 64 },
        ..defaults
    }
}

/// One event of a generated history: small numbers, so that nouns meet again and again.
#[derive(Clone, Debug)]
pub(super) struct Step {
    what: u8,
    agent: u8,
    task: u8,
    context: u8,
    operation: u8,
    /// How far back the cause lies; 0: none.
    back: u8,
    state: usize,
    state_at: Option<u32>,
    pause: u32,
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let numbers = (0_u8..44, 0_u8..5, 0_u8..4, 0_u8..4, 0_u8..5, 0_u8..6);
    let rest = (
        0_usize..9,
        proptest::option::of(0_u32..40),
        0_u32..2_000_000,
    );
    let step = (numbers, rest).prop_map(
        |((what, agent, task, context, operation, back), (state, state_at, pause))| Step {
            what,
            agent,
            task,
            context,
            operation,
            back,
            state,
            state_at,
            pause,
        },
    );
    proptest::collection::vec(step, 0..60)
}

/// Histories of all kinds of events about few nouns, most of which no honest program would write.
pub(super) fn histories() -> impl Strategy<Value = Arc<World>> {
    steps().prop_map(|steps| {
        let mut world = World::new();
        for step in &steps {
            world.wait(u64::from(step.pause));
            let draft = draft(step, world.head().seq);
            world.append(draft);
        }
        Arc::new(world)
    })
}

const AGENTS: [&str; 4] = ["ada", "bob", "cyd", "dot"];
const IDS: [&str; 4] = ["one", "two", "a\0b", "über"];

fn reported(step: &Step) -> TaskFacts {
    let artifact = |n: u8| ArtifactFacts {
        artifact: ArtifactId::new(IDS[usize::from(n)]).unwrap(),
        parts: u32::from(step.back),
    };
    TaskFacts {
        task: task(IDS[usize::from(step.task)]),
        context: (step.context < 3).then(|| context(IDS[usize::from(step.context)])),
        state: TaskState::ALL[step.state],
        state_at: step.state_at.map(|s| at(BEGIN + u64::from(s) * 1_000_000)),
        history: u32::from(step.operation),
        artifacts: (0..step.back.min(3)).map(artifact).collect(),
    }
}

fn kind_of(step: &Step) -> EventKind {
    let id = IDS[usize::from(step.task)];
    let name = AGENTS[usize::from(step.task)];
    let base = ["http://one.test", "http://two.test/base"][usize::from(step.back % 2)];
    match step.what {
        0 => EventKind::ActorSeen(ActorSeen {}),
        1 | 2 => added(base),
        3 => renamed(name),
        4 => removed(),
        5 => card_requested(base),
        6 => card_fetched([200, 304][usize::from(step.back % 2)], BEGIN),
        7 => card_failed(),
        8..=10 => send(id, u32::from(step.back) + 1),
        11 => responded(Some(id), None),
        12 => responded(None, Some(reported(step))),
        13 => send_failed(),
        14 => in_doubt(),
        15 => EventKind::SendResolved(SendResolved {
            task: reported(step),
        }),
        16 => call(id),
        17 => called(u32::from(step.back)),
        18 => EventKind::CallFailed(CallFailed {
            failure: Failure::HttpStatus,
            status: Some(503),
            error: None,
        }),
        19 => updated(reported(step)),
        20 => EventKind::LogExported(LogExported {
            format: ExportFormat::Jsonl,
            through: Seq(1),
            events: 1,
            filtered: false,
        }),
        21 => EventKind::LogReanchored(LogReanchored {
            witnessed: Seq(9),
            witnessed_link: Link([1; 32]),
            found: Seq(8),
            found_link: Link([2; 32]),
        }),
        22..35 => of_streams(step),
        35..43 => grouped::of_numbers(step),
        _ => unknown(["missive.later.kind", "a2a.later"][usize::from(step.back % 2)]),
    }
}

/// Events of streams, deliveries and declarations.
fn of_streams(step: &Step) -> EventKind {
    let id = IDS[usize::from(step.task)];
    let artifact = IDS[usize::from(step.context)];
    let (append, last) = (step.back.is_multiple_of(2), step.back.is_multiple_of(3));
    let state = TaskState::ALL[step.state];
    let update = u64::from(step.back);
    match step.what {
        22 => streamed::streaming(id),
        23 => streamed::subscribed(id, 1),
        24..=26 => streamed::brought(update, streamed::chunk(id, artifact, append, last)),
        27 => streamed::told(update, id, state),
        28 => streamed::shown(update, reported(step)),
        29 => streamed::delivered(streamed::status(id, state), append, last),
        30 => streamed::closed(StreamEnd::ALL[step.state], update),
        31 => EventKind::ContextNamed(ContextNamed {
            name: ContextName::new(["one", "two", "three"][usize::from(step.back % 3)]).unwrap(),
        }),
        32 => EventKind::ContextForked(ContextForked { from: context(id) }),
        33 => EventKind::ContextClosed(ContextClosed {}),
        _ => EventKind::PushRemoved(PushRemoved {
            task: task(id),
            config: PushConfigId::new(artifact).unwrap(),
        }),
    }
}

fn draft(step: &Step, head: Seq) -> Draft {
    let agent = AGENTS.get(usize::from(step.agent)).map(|name| alias(name));
    let op = (step.operation < 4).then(|| operation(&format!("op-{}", step.operation)));
    let grouped = (35..40).contains(&step.what);
    let subject = match (step.state % 4, &agent, &op) {
        _ if grouped => grouped::subject_of_numbers(step),
        (0, Some(agent), _) => Subject::Agent(agent.clone()),
        (1, _, Some(op)) => Subject::Operation(op.clone()),
        (2, _, _) => Subject::Actor(ActorId([7; 16])),
        _ => Subject::Task(task(IDS[usize::from(step.task)])),
    };
    let mut draft = Draft::new(EventId([step.what; 16]), subject, kind_of(step));
    draft.operation = op;
    draft.origin = Origin::ALL
        .get(usize::from(step.context + step.back % 3))
        .copied();
    draft.cause = (step.back > 0).then(|| Seq((head.0 + 1).saturating_sub(u64::from(step.back))));
    draft.links.agent = agent;
    draft.links.context = IDS
        .get(usize::from(step.context) + step.state % 2)
        .map(|id| context(id));
    draft.links.group = (step.back > 3).then(|| GroupName::new("one").unwrap());
    draft.links.task = (!step.state.is_multiple_of(3)).then(|| task(IDS[usize::from(step.task)]));
    draft
}
