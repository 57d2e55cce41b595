//! A log in which something has happened, written by the library: what later commands read.

use crate::TestWorld;
use missive_log::backend::fjall::{FjallLog, LogFolder};
use missive_log::event::facts::{
    ArtifactFacts, BareUrl, Binding, CardPath, Failure, InterfaceFacts, InterfaceSource, Name,
    Shape, TaskFacts, TaskState, Version,
};
use missive_log::event::kind::{
    ActorSeen, AgentAdded, CardFacts, CardFetched, CardRequested, SendInDoubt, SendRequested,
    SendResponded,
};
use missive_log::event::{
    Alias, ArtifactId, ContextId, InstanceId, MessageId, OperationId, Seq, TaskId,
};
use missive_log::payload::About;
use missive_log::payload::redact::Redactor;
use missive_log::seam::{FrozenClock, SeededRandomness};
use missive_log::{
    Batch, Draft, EventKind, Ids, Links, Log as _, Origin, Payload, Role, Subject, Timestamp,
};
use missive_projections::block_on;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::sync::Arc;

/// A task as a peer gave it, with an integer that no float holds.
pub(crate) const TASK: &str = r#"{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a-1","parts":[{"text":"sunny"}]}],"history":[{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"weather?"}]},{"messageId":"m-2","role":"ROLE_AGENT","parts":[{"text":"wait"}]}],"metadata":{"n":9007199254740993}}"#;

/// The run of a program that has ended.
const DEAD: InstanceId = InstanceId([7; 8]);

/// Makes the profile's folders as missive does.
pub(crate) fn profile(world: &TestWorld) -> LogFolder {
    let profile = world.missive_home().join("profiles/default");
    let mut folders = fs::DirBuilder::new();
    folders.recursive(true).mode(0o700);
    for folder in ["log", "views", "run"] {
        folders
            .create(profile.join(folder))
            .expect("a folder of the profile");
    }
    fs::write(profile.join("FORMAT"), "missive profile 1\n").expect("the profile's mark");
    LogFolder::new(profile.join("log"), world.missive_home().join("witness"))
}

/// Somebody who writes history.
pub(crate) struct Writer {
    pub(crate) log: FjallLog,
    ids: Arc<Ids>,
}

impl Writer {
    /// Opens the log of a world, or begins it.
    pub(crate) fn open(world: &TestWorld) -> Self {
        let clock = Timestamp::parse_rfc3339("2026-12-01T09:00:00Z").expect("a time");
        let randomness = SeededRandomness::new(b"history", b"");
        let ids = Arc::new(Ids::new(FrozenClock::at(clock), randomness));
        let folder = profile(world);
        let log = FjallLog::open(&folder, Arc::clone(&ids), Box::new(|| true));
        Self {
            log: log.expect("a log that opens"),
            ids,
        }
    }

    /// Appends one fact.
    pub(crate) fn append(&self, draft: Draft) -> Seq {
        let batch = Batch::new(self.ids.batch(), vec![draft]);
        block_on(self.log.append(batch)).expect("an append").last
    }

    /// Appends `count` facts that mean nothing.
    pub(crate) fn append_many(&self, count: usize) {
        let drafts = (0..count).map(|_| {
            let subject = Subject::Actor(self.ids.actor());
            Draft::new(
                self.ids.event(),
                subject,
                EventKind::ActorSeen(ActorSeen {}),
            )
        });
        let batch = Batch::new(self.ids.batch(), drafts.collect());
        block_on(self.log.append(batch)).expect("an append");
    }

    /// Ends as a process does.
    pub(crate) fn close(self) {
        self.log.close().expect("a log that closes");
    }

    fn draft(&self, subject: Subject, kind: EventKind, payloads: Vec<Payload>) -> Draft {
        let mut draft = Draft::new(self.ids.event(), subject, kind);
        draft.origin = Some(Origin::Cli);
        draft.payloads = payloads;
        draft
    }

    fn json(&self, role: Role, text: &str) -> Payload {
        Redactor::default().json(&self.ids, role, About::default(), text.as_bytes())
    }
}

/// Nine events: an actor, an agent with its card, a message with its answer, and one without.
pub(crate) fn recorded(world: &TestWorld) {
    let writer = Writer::open(world);
    let actor = writer.ids.actor();
    let names = Redactor::default().text(&writer.ids, Role::Actor, About::default(), "ada@desk");
    let seen = EventKind::ActorSeen(ActorSeen {});
    writer.append(writer.draft(Subject::Actor(actor), seen, vec![names]));
    agent(&writer);
    card(&writer);
    let intent = writer.append(send(&writer, "op-1", "m-1"));
    writer.append(answer(&writer, intent));
    let intent = writer.append(send(&writer, "op-2", "m-3"));
    writer.append(doubt(&writer, intent));
    writer.close();
}

fn ada() -> Alias {
    Alias::new("ada").expect("an alias")
}

fn url(text: &str) -> BareUrl {
    BareUrl::new(text).expect("a URL")
}

fn agent(writer: &Writer) {
    let kind = EventKind::AgentAdded(AgentAdded {
        url: url("http://ada.test"),
        interfaces: Vec::new(),
        bindings: Vec::new(),
        auth_ref: None,
        tags: vec![Name::new("weather").expect("a tag")],
    });
    let note = writer.json(Role::Note, "speaks \u{1b}[31mred");
    writer.append(writer.draft(Subject::Agent(ada()), kind, vec![note]));
}

fn card(writer: &Writer) {
    let requested = EventKind::CardRequested(CardRequested {
        instance: DEAD,
        url: url("http://ada.test"),
        revalidate: false,
    });
    let cause = writer.append(writer.draft(Subject::Agent(ada()), requested, Vec::new()));
    let fetched = EventKind::CardFetched(CardFetched {
        status: 200,
        path: CardPath::WellKnown,
        url: url("http://ada.test/.well-known/agent-card.json"),
        etag: None,
        last_modified: None,
        fresh_until: Timestamp::parse_rfc3339("2026-12-01T09:05:00Z").expect("a time"),
        card: Some(CardFacts {
            interfaces: vec![InterfaceFacts {
                binding: Binding::HttpJson,
                url: url("http://ada.test/v1"),
            }],
            streaming: false,
            push: false,
            extended: false,
            input_modes: Vec::new(),
            output_modes: Vec::new(),
            skills: Vec::new(),
        }),
        violations: Vec::new(),
    });
    let body = writer.json(Role::Response, r#"{"name":"Ada"}"#);
    let mut draft = writer.draft(Subject::Agent(ada()), fetched, vec![body]);
    draft.cause = Some(cause);
    writer.append(draft);
}

fn of(operation: &str, mut draft: Draft, cause: Option<Seq>) -> Draft {
    draft.operation = Some(OperationId::new(operation).expect("an operation"));
    draft.cause = cause;
    draft.links = Links {
        agent: Some(ada()),
        context: Some(ContextId::new("c-1").expect("a context")),
        task: None,
        group: None,
    };
    draft
}

fn about(operation: &str) -> Subject {
    Subject::Operation(OperationId::new(operation).expect("an operation"))
}

fn send(writer: &Writer, operation: &str, message: &str) -> Draft {
    let kind = EventKind::SendRequested(SendRequested {
        instance: DEAD,
        message: MessageId::new(message).expect("a message id"),
        binding: Binding::HttpJson,
        url: url("http://ada.test/v1"),
        source: InterfaceSource::Card,
        version: Version::new("1.0").expect("a version"),
        tenant: None,
        parts: 1,
        attempt: 1,
    });
    let body = writer.json(
        Role::Request,
        r#"{"parts":[{"text":"weather?"}],"token":"s3cret-value"}"#,
    );
    of(
        operation,
        writer.draft(about(operation), kind, vec![body]),
        None,
    )
}

fn answer(writer: &Writer, intent: Seq) -> Draft {
    let context = ContextId::new("c-1").expect("a context");
    let kind = EventKind::SendResponded(SendResponded {
        status: 200,
        shape: Shape::Task,
        message: None,
        task: Some(TaskFacts {
            task: TaskId::new("t-1").expect("a task"),
            context: Some(context),
            state: TaskState::Completed,
            state_at: None,
            history: 2,
            artifacts: vec![ArtifactFacts {
                artifact: ArtifactId::new("a-1").expect("an artifact"),
                parts: 1,
            }],
        }),
        violations: Vec::new(),
    });
    let body = writer.json(Role::Response, &format!("{{\"task\": {TASK}}}"));
    let mut draft = of(
        "op-1",
        writer.draft(about("op-1"), kind, vec![body]),
        Some(intent),
    );
    draft.links.task = Some(TaskId::new("t-1").expect("a task"));
    draft
}

fn doubt(writer: &Writer, intent: Seq) -> Draft {
    let kind = EventKind::SendInDoubt(SendInDoubt {
        failure: Failure::ConnectionLost,
        status: None,
    });
    of(
        "op-2",
        writer.draft(about("op-2"), kind, Vec::new()),
        Some(intent),
    )
}
