//! Decisions become events: appended on their condition, and decided again when somebody was quicker.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use missive_log::backend::instance::Instance;
use missive_log::event::facts::TraceParent;
use missive_log::event::{Alias, Seq, Subject};
use missive_log::payload::redact::{KnownSecrets, Redactor};
use missive_log::{AppendError, Batch, Ids, Log, Origin};
use missive_projections::{Records, Scope, Views, ViewsError};

use crate::actor::Actor;
use crate::config::{Config, Protocol, Qos};
use crate::decide::{Decide, Moment};
use crate::effect::http::{Deadline, HttpCaller, Settings};
use crate::evidence::STAND_IN;
use crate::failure::{CommandError, Failure};
use crate::note::Note;
use crate::secret::Secret;
use crate::wire::sse::SseLimits;

/// How often something is decided again before the command gives up as busy.
pub const TRIES_MAX: usize = 16;

/// The longest body, either way, whatever the configuration says: redacted, which can make it about
/// two and a half times as long, it must still fit into one batch of the log.
pub const BODY_BYTES_MAX: usize = 36 << 20;

/// Longest time that looking for a card may take, unless the user gives another.
const CARD_TIME_MAX: Duration = Duration::from_secs(60);
/// Longest silence while looking for a card.
const CARD_SILENCE_MAX: Duration = Duration::from_secs(30);
/// The most notes that wait until somebody asks for them.
const NOTES_MAX: usize = 100;

/// What proves to a peer who asks.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// For `Authorization: Bearer`.
    pub bearer: Option<Secret>,
    /// Further header fields: sent, shown and stored nowhere.
    pub headers: Vec<(String, Secret)>,
}

/// What holds for every request of one command.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// `Major.Minor`, instead of the configuration's.
    pub protocol_version: Option<String>,
    /// Extension URIs beside the configuration's.
    pub extensions: Vec<String>,
    /// Service parameters beside the configuration's; the same name replaces.
    pub service_params: Vec<(String, String)>,
    /// For the whole command, instead of the configuration's.
    pub timeout: Option<Duration>,
    /// The W3C trace that the command is part of: sent with every request, kept in every event.
    pub trace: Option<TraceParent>,
}

/// Everything that a command acts with.
#[derive(Debug)]
pub struct Parts<L> {
    /// The log.
    pub log: Arc<L>,
    /// Its views, as of at least the head when the command began.
    pub views: Views,
    /// Clock, identifiers, salts.
    pub ids: Arc<Ids>,
    /// The configuration.
    pub config: Arc<Config>,
    /// The profile that is used.
    pub profile: String,
    /// Who acts.
    pub actor: Actor,
    /// This run of the program.
    pub instance: Arc<Instance>,
    /// The folder in which runs of the program show that they are alive.
    pub run: PathBuf,
    /// By which door.
    pub origin: Origin,
    /// What holds for every request.
    pub requests: Requests,
    /// For agents without credentials of their own: what the user gave for this command.
    pub credentials: Credentials,
    /// By alias, for agents that the configuration has credentials for.
    pub credentials_of: BTreeMap<Alias, Credentials>,
    /// Every other secret that this process could resolve; they are redacted as well.
    pub further_secrets: Vec<Secret>,
}

/// The acting half of missive: decides, records, performs, records again.
#[derive(Debug)]
pub struct Missive<L> {
    parts: Parts<L>,
    redactor: Redactor,
    qos: Qos,
    protocol: Protocol,
    calls: HttpCaller,
    card_calls: HttpCaller,
    deadline: Option<Deadline>,
    /// The least place that views are asked for.
    seen: AtomicU64,
    actor_is_known: AtomicBool,
    notes: Mutex<Vec<Note>>,
}

/// Where a decision landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The place of its first fact.
    pub first: Seq,
    /// The place of its last fact.
    pub last: Seq,
}

impl<L: Log> Missive<L> {
    /// Takes everything together. The total timer runs from here.
    pub fn new(parts: Parts<L>) -> Self {
        let qos = parts.config.qos_of(&parts.profile).clone();
        let protocol = parts.config.protocol_of(&parts.profile).clone();
        let limit = parts.requests.timeout.or(qos.total_timeout);
        let bytes = |bytes: u64| {
            usize::try_from(bytes)
                .unwrap_or(usize::MAX)
                .min(BODY_BYTES_MAX)
        };
        let settings = Settings {
            connect: qos.connect_timeout,
            first_byte: qos.first_byte_timeout,
            idle: Some(qos.idle_timeout),
            request_bytes_max: bytes(qos.request_bytes_max),
            response_bytes_max: bytes(qos.response_bytes_max),
            stream: SseLimits {
                line_bytes_max: bytes(qos.stream_line_bytes_max),
                event_bytes_max: bytes(qos.stream_event_bytes_max),
            },
            ..Settings::default()
        };
        let card_settings = Settings {
            first_byte: Some(qos.first_byte_timeout.unwrap_or(CARD_SILENCE_MAX)),
            idle: Some(qos.idle_timeout.min(CARD_SILENCE_MAX)),
            response_bytes_max: bytes(qos.card_bytes_max),
            ..settings.clone()
        };
        Self {
            redactor: Redactor::new(&secrets_of(&parts)),
            calls: HttpCaller::new(settings),
            card_calls: HttpCaller::new(card_settings),
            deadline: limit.map(Deadline::after),
            seen: AtomicU64::new(parts.views.least().0),
            actor_is_known: AtomicBool::new(false),
            notes: Mutex::default(),
            qos,
            protocol,
            parts,
        }
    }

    /// The log.
    pub fn log(&self) -> &L {
        &self.parts.log
    }

    /// The views, as of at least the last own append.
    pub fn views(&self) -> Views {
        let seen = Seq(self.seen.load(Ordering::Acquire));
        self.parts.views.at_least(seen)
    }

    /// The views as they stood at an earlier place, as far as the scope goes.
    ///
    /// # Errors
    /// The log has no such place, or cannot be read.
    pub(crate) fn past(&self, place: Seq, scope: &Scope) -> Result<Views, ViewsError> {
        let records = Records::of(Arc::clone(&self.parts.log));
        self.views().at(place, scope, &records, &mut |_| {})
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.parts.config
    }

    /// Replaces secrets in text that a person will see.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The folder in which runs of the program show that they are alive.
    pub(crate) fn run_folder(&self) -> &std::path::Path {
        &self.parts.run
    }

    pub(crate) fn ids(&self) -> &Ids {
        &self.parts.ids
    }

    pub(crate) fn qos(&self) -> &Qos {
        &self.qos
    }

    pub(crate) fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    pub(crate) fn requests(&self) -> &Requests {
        &self.parts.requests
    }

    pub(crate) fn calls(&self) -> &HttpCaller {
        &self.calls
    }

    pub(crate) fn card_calls(&self) -> &HttpCaller {
        &self.card_calls
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.deadline
    }

    /// The time that a search for a card has: the user's, else a bound of our own.
    pub(crate) fn card_deadline(&self) -> Deadline {
        self.deadline
            .unwrap_or_else(|| Deadline::after(CARD_TIME_MAX))
    }

    pub(crate) fn credentials(&self, agent: Option<&Alias>) -> &Credentials {
        agent
            .and_then(|alias| self.parts.credentials_of.get(alias))
            .unwrap_or(&self.parts.credentials)
    }

    pub(crate) fn moment(&self) -> Moment<'_> {
        Moment {
            ids: &self.parts.ids,
            redactor: &self.redactor,
            config: &self.parts.config,
            actor: self.parts.actor.id,
            origin: self.parts.origin,
            instance: self.parts.instance.id(),
            trace: self.parts.requests.trace.as_ref(),
        }
    }

    /// Keeps something that the user should know. What an agent does wrong may go on for hours, and the log has
    /// all of it: of many notes the first are kept.
    pub(crate) fn note(&self, note: Note) {
        let note = note.about_who_is_asked();
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < NOTES_MAX && !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// What the user should know, since it was asked last; also after a failure.
    pub fn take_notes(&self) -> Vec<Note> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Everything that is appended from the newest place that was seen on.
    pub(crate) fn follow(&self) -> missive_log::Subscription<L> {
        self.parts
            .log
            .subscribe(Seq(self.seen.load(Ordering::Acquire)))
    }

    /// Views are asked for this place at least from now on.
    pub(crate) fn saw(&self, seq: Seq) {
        self.seen.fetch_max(seq.0, Ordering::AcqRel);
    }

    /// Decides and appends; decides again when the condition does not hold any more.
    pub(crate) async fn record(&self, command: &impl Decide) -> Result<Recorded, CommandError> {
        // One id for all tries: an append that landed although its answer was lost is found again.
        let id = self.parts.ids.batch();
        for _ in 0..TRIES_MAX {
            let views = self.views();
            let decision = command.decide(&views, &self.moment())?;
            let mut batch = Batch {
                id,
                expect: decision.expect,
                drafts: decision.drafts,
            };
            let introduced = self.introduce(&views, &mut batch)?;
            match self.append(batch).await {
                Ok(appended) => {
                    self.actor_is_known.store(true, Ordering::Release);
                    self.seen.fetch_max(appended.last.0, Ordering::AcqRel);
                    return Ok(Recorded {
                        first: Seq(appended.first.0 + introduced),
                        last: appended.last,
                    });
                }
                Err(AppendError::Conflict { found, .. }) => {
                    let head = self.parts.log.head().borrow().seq;
                    let newest = found.map_or(head, |found| found.max(head));
                    self.seen.fetch_max(newest.0, Ordering::AcqRel);
                }
                Err(other) => return Err(other.into()),
            }
        }
        Err(Failure::Contended { tries: TRIES_MAX }.into())
    }

    /// Puts the actor's introduction in front, if nobody has introduced them yet; says how many facts.
    fn introduce(&self, views: &Views, batch: &mut Batch) -> Result<u64, CommandError> {
        if self.actor_is_known.load(Ordering::Acquire) {
            return Ok(0);
        }
        let actor = &self.parts.actor;
        if views.last_of(&Subject::Actor(actor.id))?.is_some() {
            return Ok(0);
        }
        let (expect, mut draft) = actor.seen(&self.parts.ids, &self.redactor);
        draft.origin = Some(self.parts.origin);
        draft.trace.clone_from(&self.parts.requests.trace);
        draft.actor = Some(actor.id);
        batch.expect.push(expect);
        batch.drafts.insert(0, draft);
        Ok(1)
    }

    /// Appends, and asks again with the same batch when the host was lost before it answered.
    async fn append(&self, batch: Batch) -> Result<missive_log::Appended, AppendError> {
        for _ in 1..TRIES_MAX {
            match self.parts.log.append(batch.clone()).await {
                Err(AppendError::HostLost) => {}
                other => return other,
            }
        }
        self.parts.log.append(batch).await
    }

    /// Lets the views catch up with what this command has appended. A fault is only told to the trace:
    /// what happened is in the log, and the next start folds it.
    pub(crate) fn settle(&self) {
        if let Err(error) = self.views().last_of(&Subject::Log) {
            tracing::warn!(%error, "the views did not catch up");
        }
    }
}

fn secrets_of<L>(parts: &Parts<L>) -> KnownSecrets {
    let mut known = KnownSecrets::new();
    known.add(STAND_IN);
    let all = std::iter::once(&parts.credentials).chain(parts.credentials_of.values());
    for credentials in all {
        if let Some(secret) = &credentials.bearer {
            known.add(secret.expose());
        }
        for (_, secret) in &credentials.headers {
            known.add(secret.expose());
        }
    }
    for secret in &parts.further_secrets {
        known.add(secret.expose());
    }
    known
}
