//! Receiving push notifications (A2A 1.0, section 4.3): what becomes of one delivery.
//!
//! Whoever listens asks [`Reception::admit`] with the headers alone, and hands the body to
//! [`Reception::take`]. What that returns is durable, so only then may the sender be told that it arrived;
//! deliveries that come at once share the log's syncs. Refusals are counted and become events only when
//! [`Reception::flush`] is called, at most one for each reason. Nothing here listens on a socket or knows
//! the time.

mod delivery;
mod early;
mod gate;
mod known;
mod seen;
mod tally;

pub use gate::{Key, TOKEN_HEADERS};
pub use seen::{RECALLED_MAX, REMEMBERED_MAX};
pub use tally::Refused;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use missive_log::event::facts::{PushRefusal, TaskState, TraceParent, WebhookEnd};
use missive_log::event::kind::{PushRejected, WebhookStarted, WebhookStopped};
use missive_log::event::{Draft, EventKind, Links, OperationId, Seq};
use missive_log::fingerprint::Fingerprints;
use missive_log::payload::About;
use missive_log::{Log, Origin, Payload, Role};
use missive_projections::Views;

use crate::decide::{Decision, Moment, Undecided};
use crate::evidence::STAND_IN;
use crate::failure::{CommandError, Failure};
use crate::report::push::{DeliveryReport, RejectionReport, StoppedReport};
use crate::report::raw;
use crate::run::{Missive, Recorded};
use crate::secret::Secret;
use crate::wire::headers::Headers;
use delivery::{Delivery, check_head, too_large};
use early::Waiting;
use gate::Gate;
use known::Known;
use seen::Seen;
use tally::{Counted, Sample, Tally};

/// Most bytes of a refused body that are kept.
const SAMPLE_BYTES_MAX: usize = 64 << 10;

/// How to receive.
#[derive(Clone, Debug)]
pub struct Receive {
    /// The address and path that it listens on, for the log.
    pub address: String,
    /// What opens it. Without it and `notification_token` anybody may deliver.
    pub key: Option<Key>,
    /// The token of the push configuration, if it is another one than the key's: then it must be there as well.
    pub notification_token: Option<Secret>,
    /// Most bytes of a body.
    pub body_bytes_max: usize,
    /// It is over after so many accepted deliveries.
    pub accepted_max: Option<u64>,
    /// Whether reports hold the updates as they were received.
    pub raw: bool,
}

/// A receiver at work.
#[derive(Debug)]
pub struct Reception<L> {
    missive: Arc<Missive<L>>,
    operation: OperationId,
    started: Seq,
    gate: Gate,
    body_bytes_max: usize,
    raw: bool,
    seen: Seen,
    waiting: Waiting,
    known: Known,
    tally: Tally,
    /// How many more may be accepted.
    left: AtomicU64,
    accepted: AtomicU64,
}

/// Why a delivery was not taken.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// The sender is told why.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The log took nothing: the sender must come again, and nothing more can be received.
    #[error(transparent)]
    Failed(#[from] CommandError),
}

impl<L: Log> Reception<L> {
    /// Begins: reads what was delivered last, and records that it listens.
    ///
    /// # Errors
    /// The log or its views cannot be used.
    pub async fn start(missive: Arc<Missive<L>>, how: Receive) -> Result<Self, CommandError> {
        let ids = missive.ids();
        let seen = Seen::new(Fingerprints::new(ids));
        let waiting = missive.recall(&seen).await?;
        let operation = ids.operation();
        let begun = |_: &Views, moment: &Moment<'_>| {
            let kind = EventKind::WebhookStarted(WebhookStarted {});
            let address =
                moment
                    .redactor
                    .text(moment.ids, Role::Address, About::default(), &how.address);
            let links = Links::default();
            let draft = moment.step(&operation, None, &links, kind, vec![address]);
            Ok::<_, Undecided>(only(vec![draft]))
        };
        let started = missive.record(&begun).await?.last;
        tracing::info!(%operation, "receiver started");
        Ok(Self {
            gate: Gate::new(how.key, how.notification_token, missive.ids()),
            body_bytes_max: how.body_bytes_max,
            raw: how.raw,
            seen,
            waiting,
            known: Known::default(),
            tally: Tally::default(),
            left: AtomicU64::new(how.accepted_max.unwrap_or(u64::MAX)),
            accepted: AtomicU64::new(0),
            started,
            operation,
            missive,
        })
    }

    /// The operation that all its events belong to.
    pub fn operation(&self) -> &OperationId {
        &self.operation
    }

    /// The place of the event that says that it listens.
    pub fn started(&self) -> Seq {
        self.started
    }

    /// Most bytes of a body.
    pub fn body_bytes_max(&self) -> usize {
        self.body_bytes_max
    }

    /// Whether it has accepted as many as it should.
    pub fn is_full(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    /// Looks at the headers of a delivery, before its body is read: first at who sends it.
    ///
    /// # Errors
    /// It is refused, and that is counted.
    pub fn admit(&self, headers: &Headers, length: Option<u64>) -> Result<(), Refused> {
        if !self.gate.opens_for(headers) {
            let refused = Refused::new(PushRefusal::Unauthorized, "unauthorized");
            self.refuse(refused);
            return Err(refused);
        }
        check_head(headers, length, self.body_bytes_max)
            .inspect_err(|refused| self.refuse_known(*refused, headers, &[]))
    }

    /// Counts what was refused without being looked at.
    pub fn refuse(&self, refused: Refused) {
        self.tally.add(refused, || None);
    }

    /// Counts what an admitted sender did wrong; the first of its kind is kept.
    pub fn refuse_known(&self, refused: Refused, headers: &Headers, body: &[u8]) {
        self.tally.add(refused, || {
            Some(Sample {
                words: refused.to_string(),
                headers: headers.clone(),
                body: body.get(..SAMPLE_BYTES_MAX).unwrap_or(body).to_vec(),
            })
        });
    }

    /// Takes an admitted delivery. Once this returns, it is durable.
    ///
    /// # Errors
    /// It is refused, and that is counted; or it could not be recorded.
    pub async fn take(&self, headers: &Headers, body: &[u8]) -> Result<DeliveryReport, NotTaken> {
        let refuse = |refused: Refused| {
            self.refuse_known(refused, headers, body);
            NotTaken::Refused(refused)
        };
        if body.len() > self.body_bytes_max {
            return Err(refuse(too_large()));
        }
        let delivery = Delivery::read(body).map_err(refuse)?;
        if !self.reserve() {
            let words = "this receiver has taken as many as it should";
            let refused = Refused::new(PushRefusal::Busy, words);
            self.refuse(refused);
            return Err(refused.into());
        }
        let taken = self.record(headers, body, &delivery).await;
        match &taken {
            Ok(_) => self.accepted.fetch_add(1, Ordering::AcqRel),
            Err(_) => self.left.fetch_add(1, Ordering::AcqRel),
        };
        taken.map_err(NotTaken::Failed)
    }

    /// Takes one of the deliveries that may still come.
    fn reserve(&self) -> bool {
        let take = |left: u64| left.checked_sub(1);
        self.left
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, take)
            .is_ok()
    }

    async fn record(
        &self,
        headers: &Headers,
        body: &[u8],
        delivery: &Delivery,
    ) -> Result<DeliveryReport, CommandError> {
        let links = self.missive.link(&self.known, &delivery.about).await?;
        let moment = self.missive.moment();
        let payloads = self.payloads(&moment, headers, body);
        let stored = payloads.first().map_or(body, Payload::bytes);
        let linked = delivery.is_linked(links.as_ref());
        let counted = linked && self.is_counted(delivery, stored).await?;
        let noted = self.seen.note(stored, linked);
        let duplicate = noted.duplicate || counted;
        let recorded = match delivery.fact(links.as_ref(), duplicate) {
            Some(kind) => {
                let mut draft = moment.draft(delivery.subject(), kind, payloads);
                // The sender acted, and not whoever runs this.
                draft.actor = None;
                draft.origin = Some(Origin::Webhook);
                draft.trace = headers
                    .get("traceparent")
                    .and_then(|text| TraceParent::new(text).ok());
                draft.operation = Some(self.operation.clone());
                draft.links = links.clone().unwrap_or_default();
                self.append(&draft).await
            }
            None => Err(Failure::Internal {
                what: "a delivery that was read is no fact",
            }
            .into()),
        };
        let recorded = recorded.inspect_err(|_| self.seen.forget(&noted))?;
        self.seen.placed(&noted, linked, recorded.last);
        if links.is_none()
            && let Some(task) = &delivery.about.task
        {
            // It may become known before this delivery is in the log: then nobody else looks for it.
            self.waiting.add(task);
        }
        Ok(self.report(delivery, links.as_ref(), duplicate, recorded))
    }

    /// Whether the same delivery had come too early, and counts since its task is known.
    async fn is_counted(&self, delivery: &Delivery, stored: &[u8]) -> Result<bool, CommandError> {
        let (Some(task), Some(seq)) = (&delivery.about.task, self.seen.unlinked(stored)) else {
            return Ok(false);
        };
        Ok(self.missive.count_early(task).await?.contains(&seq))
    }

    async fn append(&self, draft: &Draft) -> Result<Recorded, CommandError> {
        let whole = |_: &Views, _: &Moment<'_>| Ok::<_, Undecided>(only(vec![draft.clone()]));
        self.missive.record(&whole).await
    }

    /// The body first, then the header lines, without what proves who delivers.
    fn payloads(&self, moment: &Moment<'_>, headers: &Headers, body: &[u8]) -> Vec<Payload> {
        let about = About {
            media_type: headers.get("content-type").map(str::to_owned),
            name: None,
        };
        let body = moment
            .redactor
            .json(moment.ids, Role::Delivery, about, body);
        let lines = headers.0.iter().map(|(name, value)| {
            let secret = self.gate.is_secret(name);
            let value = if secret { STAND_IN.as_bytes() } else { value };
            (name.as_str(), value)
        });
        let redacted = body.redacted() > 0;
        let lines = moment
            .redactor
            .headers(moment.ids, Role::RequestHeaders, lines, redacted);
        vec![body, lines]
    }

    fn report(
        &self,
        delivery: &Delivery,
        links: Option<&Links>,
        duplicate: bool,
        recorded: Recorded,
    ) -> DeliveryReport {
        let clean = |text: &str| self.missive.redactor().clean(text);
        DeliveryReport {
            delivered: delivery.name(),
            agent: links
                .and_then(|links| links.agent.as_ref())
                .map(ToString::to_string),
            task_id: delivery.about.task.as_ref().map(ToString::to_string),
            context_id: delivery.about.context.as_ref().map(ToString::to_string),
            state: delivery.state().map(TaskState::as_str),
            text: delivery.text().map(|text| clean(&text)),
            linked: delivery.is_linked(links),
            duplicate,
            raw: self
                .raw
                .then(|| raw(&clean(&delivery.update.raw)))
                .flatten(),
            sequence: recorded.last.0,
        }
    }

    /// Counts early deliveries whose task is known by now: whoever made it known may have died before it could.
    async fn count_waiting(&self) -> Result<(), CommandError> {
        for task in self.waiting.all() {
            let about = known::About {
                task: Some(task.clone()),
                context: None,
            };
            if self.missive.link(&self.known, &about).await?.is_some() {
                self.missive.count_early(&task).await?;
                self.waiting.remove(&task);
            }
        }
        Ok(())
    }

    /// Records what was refused since the last time, one event for each reason. Also lets what is known of
    /// tasks be looked up anew, and counts early deliveries; to be called every second.
    ///
    /// # Errors
    /// The log cannot be written.
    pub async fn flush(&self) -> Result<Vec<RejectionReport>, CommandError> {
        self.known.refresh();
        self.count_waiting().await?;
        let counted = self.tally.take();
        if counted.is_empty() {
            return Ok(Vec::new());
        }
        let moment = self.missive.moment();
        let drafts: Vec<Draft> = counted
            .iter()
            .map(|counted| self.rejection(&moment, counted))
            .collect();
        let recorded = self
            .missive
            .record(&|_: &Views, _: &Moment<'_>| Ok::<_, Undecided>(only(drafts.clone())))
            .await?;
        let places = recorded.first.0..;
        let reports = counted.iter().zip(places).map(|(counted, sequence)| {
            let reason = counted.refused.why.as_str();
            RejectionReport {
                reason,
                status: counted.refused.status(),
                count: counted.count,
                sequence,
            }
        });
        Ok(reports.collect())
    }

    fn rejection(&self, moment: &Moment<'_>, counted: &Counted) -> Draft {
        let kind = EventKind::PushRejected(PushRejected {
            why: counted.refused.why,
            status: counted.refused.status(),
            count: counted.count,
        });
        let mut payloads = Vec::new();
        if let Some(sample) = &counted.sample {
            payloads = self.payloads(moment, &sample.headers, &sample.body);
            if sample.body.is_empty() {
                payloads.remove(0);
            }
            let words = &sample.words;
            let words = moment
                .redactor
                .text(moment.ids, Role::Error, About::default(), words);
            payloads.push(words);
        }
        let links = Links::default();
        let started = Some(self.started);
        let mut draft = moment.step(&self.operation, started, &links, kind, payloads);
        draft.actor = None;
        draft.origin = Some(Origin::Webhook);
        draft
    }

    /// Records what is left to record, and that it is over.
    ///
    /// # Errors
    /// The log cannot be written.
    pub async fn end(
        &self,
        end: WebhookEnd,
    ) -> Result<(Vec<RejectionReport>, StoppedReport), CommandError> {
        let rejections = self.flush().await?;
        let accepted = self.accepted.load(Ordering::Acquire);
        let rejected = self.tally.total();
        let over = |_: &Views, moment: &Moment<'_>| {
            let kind = EventKind::WebhookStopped(WebhookStopped {
                end,
                accepted,
                rejected,
            });
            let links = Links::default();
            let started = Some(self.started);
            let draft = moment.step(&self.operation, started, &links, kind, Vec::new());
            Ok::<_, Undecided>(only(vec![draft]))
        };
        let recorded = self.missive.record(&over).await?;
        let stopped = StoppedReport {
            operation_id: self.operation.to_string(),
            end: end.as_str(),
            accepted,
            rejected,
            sequence: recorded.last.0,
        };
        Ok((rejections, stopped))
    }
}

/// Facts without a condition: what came is recorded, whatever else is known.
fn only(drafts: Vec<Draft>) -> Decision {
    Decision {
        expect: Vec::new(),
        drafts,
    }
}
