//! Gather: what every member of a group last said in a context. A pure read.
//!
//! For each member the latest work counts (the view `output` says which that is). Its text is the newest
//! message that came with it or after it, else the message of its status, else the first artifact that
//! holds text. A member without a task or a message, and one that said nothing, has a row that says so.

use std::ops::ControlFlow;

use missive_log::event::facts::{MemberStatus, PayloadFacts};
use missive_log::event::{ArtifactId, ContextId, GroupName, MessageId};
use missive_log::{Log, Opened};
use missive_projections::{Output, PayloadSource, Scope, Task, Views};

use super::roster::{Roster, Seat, roster};
use super::state::of_state;
use crate::artifact::{self, Content, Gone};
use crate::drive::stored::event_at;
use crate::failure::CommandError;
use crate::run::Missive;
use crate::wire::kept::{self, Kept};
use crate::wire::text::cut_at;
use crate::wire::update::UpdateKind;

/// The longest text of one member, in bytes: a longer one is cut, and marked.
pub const MEMBER_TEXT_BYTES_MAX: usize = 4 << 20;
/// The longest text of all members together, in bytes.
pub const TEXT_BYTES_MAX: usize = 64 << 20;

/// What a group said in a context, at one place of the log.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The group at that place.
    pub roster: Roster,
    /// The context.
    pub context: ContextId,
    /// What each member said, in the order of ranks.
    pub outputs: Vec<MemberOutput>,
}

/// How many members stand how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Said something, and are done.
    pub succeeded: usize,
    /// Said something, and are still at it.
    pub unfinished: usize,
    /// Their tasks failed, or were rejected or canceled.
    pub failed: usize,
    /// Have no task and no message.
    pub missing_task: usize,
    /// Said nothing.
    pub empty_output: usize,
}

/// What one member said.
#[derive(Clone, Debug)]
pub struct MemberOutput {
    /// The member.
    pub seat: Seat,
    /// Whether it said something.
    pub status: MemberStatus,
    /// Its latest task.
    pub task: Option<Task>,
    /// The text.
    pub text: String,
    /// Whether there is more text than that.
    pub cut: bool,
    /// What the text was read from.
    pub from: From,
    /// Payloads that should hold it and are not there.
    pub gone: Vec<Gone>,
}

/// What a text was read from.
#[derive(Clone, Debug, Default)]
pub struct From {
    /// `message`, `status` or `artifact`; none where there is no text.
    pub kind: Option<&'static str>,
    /// The message.
    pub message: Option<MessageId>,
    /// The artifact.
    pub artifact: Option<ArtifactId>,
    /// Its version: how many pieces and beginnings it was made of.
    pub version: Option<u32>,
    /// The payloads, in order.
    pub payloads: Vec<PayloadFacts>,
}

impl Gathered {
    /// How many members have said something and are done, or are still at it; failed; have no task; and have
    /// said nothing.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for output in &self.outputs {
            let count = match output.status {
                MemberStatus::Succeeded => &mut counts.succeeded,
                MemberStatus::MissingTask => &mut counts.missing_task,
                MemberStatus::EmptyOutput => &mut counts.empty_output,
                MemberStatus::Accepted | MemberStatus::Waiting => &mut counts.unfinished,
                MemberStatus::Failed
                | MemberStatus::TimedOut
                | MemberStatus::InDoubt
                | MemberStatus::Skipped
                | MemberStatus::Canceled
                | MemberStatus::Unregistered
                | MemberStatus::Left => &mut counts.failed,
            };
            *count += 1;
        }
        counts
    }
}

/// Reads what each member said. Views that stand still give the same answer every time.
///
/// # Errors
/// The log or the views cannot be read.
pub async fn gather<L: Log>(
    log: &L,
    views: &Views,
    roster: Roster,
    context: &ContextId,
) -> Result<Gathered, CommandError> {
    let mut outputs = Vec::with_capacity(roster.seats.len());
    let mut left = TEXT_BYTES_MAX;
    for seat in &roster.seats {
        let output = views.output_of(&seat.member, context)?;
        let mut read = Reading::new(log, views, left.min(MEMBER_TEXT_BYTES_MAX));
        let task = match &output {
            Some(output) => read.output(output).await?,
            None => None,
        };
        left = left.saturating_sub(read.text.len());
        let status = match &output {
            None => MemberStatus::MissingTask,
            Some(_) if read.text.is_empty() => MemberStatus::EmptyOutput,
            Some(_) => task
                .as_ref()
                .map_or(MemberStatus::Succeeded, |task| of_state(task.state)),
        };
        outputs.push(MemberOutput {
            seat: seat.clone(),
            status,
            task,
            text: read.text,
            cut: read.cut,
            from: read.from,
            gone: read.gone,
        });
    }
    Ok(Gathered {
        roster,
        context: context.clone(),
        outputs,
    })
}

/// How often a group is read again whose log grew meanwhile.
const READ_AGAIN_MAX: usize = 4;

impl<L: Log> Missive<L> {
    /// What a group said in a context, at the newest place of the log.
    ///
    /// # Errors
    /// There is no such group; or the log or the views cannot be read.
    pub async fn gathered(
        &self,
        group: &GroupName,
        context: &ContextId,
    ) -> Result<Gathered, CommandError> {
        for _ in 0..READ_AGAIN_MAX {
            let views = self.views();
            let roster = roster(&views, self.config(), group)?;
            let place = roster.position;
            let gathered = gather(self.log(), &views, roster, context).await?;
            if views.status()?.position == place {
                return Ok(gathered);
            }
        }
        // A log that never stands still is read as it stood.
        let place = self.views().status()?.position;
        let past = self.past(place, &Scope::Context(context.clone()))?;
        let roster = roster(&past, self.config(), group)?;
        gather(self.log(), &past, roster, context).await
    }
}

/// The text of one member, as it is looked for.
struct Reading<'a, L> {
    log: &'a L,
    views: &'a Views,
    bytes_max: usize,
    text: String,
    cut: bool,
    from: From,
    gone: Vec<Gone>,
}

impl<'a, L: Log> Reading<'a, L> {
    fn new(log: &'a L, views: &'a Views, bytes_max: usize) -> Self {
        Self {
            log,
            views,
            bytes_max,
            text: String::new(),
            cut: false,
            from: From::default(),
            gone: Vec::new(),
        }
    }

    /// Finds the text of an output, and gives its task.
    async fn output(&mut self, output: &Output) -> Result<Option<Task>, CommandError> {
        let task = self.views.task_of(output)?;
        if let Some(said) = &output.message {
            let of = self.open(said.source).await?;
            if let Some((Kept::Message(message), payload)) = of {
                self.from.message.clone_from(&said.message);
                self.take("message", &message.text, payload);
            }
        }
        if let Some(task) = &task
            && self.text.is_empty()
        {
            self.status(task).await?;
            if self.text.is_empty() {
                self.artifacts(task).await?;
            }
        }
        Ok(task)
    }

    async fn status(&mut self, task: &Task) -> Result<(), CommandError> {
        let Some((kept, payload)) = self.open(task.status).await? else {
            return Ok(());
        };
        let text = match kept {
            Kept::Task(task) => task.status_text,
            Kept::Update(UpdateKind::Status(status)) => {
                let id = status.message_id.as_deref();
                self.from.message = id.and_then(|id| MessageId::new(id).ok());
                status.text
            }
            Kept::Message(_) | Kept::Update(_) => None,
        };
        self.take("status", &text.unwrap_or_default(), payload);
        Ok(())
    }

    async fn artifacts(&mut self, task: &Task) -> Result<(), CommandError> {
        for artifact in self.views.artifacts(task)? {
            let (mut text, bytes_max, mut cut) = (String::new(), self.bytes_max, false);
            let gathered = artifact::gather(self.log, self.views, task, &artifact, |part| {
                if let Content::Text(more) = part.content {
                    let end = cut_at(more, bytes_max.saturating_sub(text.len()));
                    text.push_str(more.get(..end).unwrap_or_default());
                    cut |= end < more.len();
                }
                if cut {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
            .await?;
            self.gone.extend(gathered.holes.iter().map(|hole| hole.why));
            if text.is_empty() {
                continue;
            }
            self.text = text;
            self.cut = cut;
            self.from = From {
                kind: Some("artifact"),
                message: None,
                artifact: Some(artifact.artifact.clone()),
                version: Some(artifact.version()),
                payloads: gathered.sources,
            };
            return Ok(());
        }
        Ok(())
    }

    fn take(&mut self, kind: &'static str, text: &str, payload: PayloadFacts) {
        if text.is_empty() {
            self.from = From::default();
            return;
        }
        let end = cut_at(text, self.bytes_max);
        self.cut = end < text.len();
        text.get(..end)
            .unwrap_or_default()
            .clone_into(&mut self.text);
        self.from.kind = Some(kind);
        self.from.payloads = vec![payload];
    }

    async fn open(
        &mut self,
        source: PayloadSource,
    ) -> Result<Option<(Kept, PayloadFacts)>, CommandError> {
        let event = event_at(self.log, source.seq).await?;
        let Some(of) = event.and_then(|event| source.find(&event)) else {
            return Ok(None);
        };
        let bytes = match self.log.payload(of).await? {
            Opened::Present(row) => row.bytes,
            Opened::Erased(_) => {
                self.gone.push(Gone::Erased);
                return Ok(None);
            }
            Opened::Missing => {
                self.gone.push(Gone::Missing);
                return Ok(None);
            }
        };
        let payload = PayloadFacts {
            seq: of.seq,
            index: of.index,
            commitment: of.commitment,
        };
        Ok(kept::answer(&bytes).map(|kept| (kept, payload)))
    }
}
