//! What giving an event its place means, for every backend that does it itself.

use crate::chain::{self, Anchor, Link, LogId};
use crate::contract::{AppendError, Record, not_before};
use crate::event::facts::{LogOrigin, Program};
use crate::event::kind::{LogCreated, Suite};
use crate::event::stored;
use crate::event::{Draft, EventKind, HostId, Links, Seq, Subject, Timestamp};
use crate::seam::Ids;

/// The version of the stored form that this build writes.
pub(crate) const FORMAT: u32 = 1;

/// The first event of a new log.
///
/// # Panics
/// Never: both names are constants of the right grammar.
#[expect(
    clippy::expect_used,
    reason = "the names are constants of the right grammar"
)]
pub fn genesis_draft(ids: &Ids) -> Draft {
    let facts = LogCreated {
        format: FORMAT,
        suite: Suite::Blake3Of202612,
        origin: LogOrigin::new("missive.local/log").expect("a log origin"),
        keys: Vec::new(),
        program: Some(
            Program::new(concat!("missive/", env!("CARGO_PKG_VERSION"))).expect("a program"),
        ),
        nonce: Some(ids.nonce()),
        test: ids.is_seeded(),
        continues: None,
    };
    Draft::new(ids.event(), Subject::Log, EventKind::LogCreated(facts))
}

/// The writer's place in the chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequencer {
    log: LogId,
    head: Anchor,
    at: Timestamp,
    host: Option<HostId>,
    /// What a seeded run adds to the last event's time, so that times differ although the clock stands.
    step: u64,
}

impl Sequencer {
    /// Begins a log: gives event 1 its place.
    pub(crate) fn create(
        genesis: &Draft,
        now: Timestamp,
        host: Option<HostId>,
    ) -> Result<(Self, Record), AppendError> {
        let body = stored::encode(genesis, now, host)?;
        let log = chain::log_id(body.as_bytes());
        let start = Anchor {
            log,
            seq: Seq::ZERO,
            link: chain::genesis(log),
        };
        let mut sequencer = Self {
            log,
            head: start,
            at: now,
            host,
            step: 0,
        };
        let (seq, link) = sequencer.chain(body.as_bytes(), Seq::ZERO);
        let record = Record {
            seq,
            prev: Seq::ZERO,
            link,
            body: body.into_boxed_str(),
        };
        Ok((sequencer, record))
    }

    /// Goes on where a log ended.
    pub(crate) fn resume(head: Anchor, at: Timestamp, host: Option<HostId>) -> Self {
        Self {
            log: head.log,
            head,
            at,
            host,
            step: 0,
        }
    }

    /// Makes times move by at least a millisecond from event to event, for seeded runs.
    pub(crate) fn stepping(mut self, seeded: bool) -> Self {
        self.step = if seeded { 1_000 } else { 0 };
        self
    }

    /// Goes on behind another place: only a re-anchoring leaves places empty.
    pub(crate) fn jump(mut self, head: Anchor) -> Self {
        self.head = head;
        self
    }

    /// Gives a draft the next place.
    pub(crate) fn place(
        &mut self,
        draft: &Draft,
        prev: Seq,
        now: Timestamp,
    ) -> Result<Record, AppendError> {
        let at = self.moment(now);
        let body = stored::encode(draft, at, self.host)?;
        self.at = at;
        let (seq, link) = self.chain(body.as_bytes(), prev);
        Ok(Record {
            seq,
            prev,
            link,
            body: body.into_boxed_str(),
        })
    }

    /// Gives a body that was made early its time and the next place.
    pub(crate) fn place_body(
        &mut self,
        body: &mut [u8],
        time: usize,
        prev: Seq,
        now: Timestamp,
    ) -> Link {
        self.at = self.moment(now);
        stored::set_time(body, time, self.at);
        let (_, link) = self.chain(body, prev);
        link
    }

    fn moment(&self, now: Timestamp) -> Timestamp {
        not_before(now, Timestamp::from_micros(self.at.as_micros() + self.step))
    }

    fn chain(&mut self, body: &[u8], prev: Seq) -> (Seq, Link) {
        let seq = self.head.seq.next();
        let digest = chain::digest(self.log, seq, prev, body);
        let link = chain::extend(self.head.link, digest);
        self.head = Anchor {
            log: self.log,
            seq,
            link,
        };
        (seq, link)
    }

    /// The process that writes.
    pub(crate) fn host(&self) -> Option<HostId> {
        self.host
    }

    /// The place of the last event.
    pub(crate) fn head(&self) -> Anchor {
        self.head
    }
}

/// The two keys under which an event's place is remembered: its thread and its subject.
///
/// The thread is the context, else the subject.
pub(crate) fn thread_keys(draft: &Draft) -> (String, String) {
    keys_of(&draft.subject, &draft.links)
}

/// The same for an event that has its place.
pub(crate) fn keys_of(subject: &Subject, links: &Links) -> (String, String) {
    let subject = subject.spell("s:");
    let thread = match &links.context {
        Some(context) => ["t:", context.as_str()].concat(),
        None => subject.clone(),
    };
    (thread, subject)
}
