//! Broadcast: one message to every member of a group.
//!
//! Who is a member is fixed when the broadcast begins. All messages belong to one context, and each has an
//! id of its own, so that each member's answer is told apart. One deadline holds for all: who has not
//! answered then is reported as such, in doubt where its message had left. What came of everyone stands in
//! the log before the report is shown.

mod end;

use std::sync::atomic::{AtomicBool, Ordering};

use missive_log::Log;
use missive_log::event::facts::{Execution, FailurePolicy, MemberStatus, TaskState};
use missive_log::event::kind::BcastStarted;
use missive_log::event::{Alias, ContextId, GroupName, Seq, Subject, TaskId};

use super::begin::{Begin, Chosen, size};
use super::crowd::{Wish, all};
use super::roster::{Roster, Seat};
use crate::contexts::{can_be_new, find_context, nearest_contexts, no_context};
use crate::decide::Moment;
use crate::decide::round::RoundOver;
use crate::drive::card::Want;
use crate::drive::stream::Stream;
use crate::drive::{Course, Done};
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::note::ASKED;
use crate::peer::Target;
use crate::refusal::Refusal;
use crate::report::stream::StreamEvent;
use crate::run::Missive;
use crate::{Send, Show};
use end::{exit_of, has_failed, status_of};

pub use end::{BcastEnd, MemberEnd};
pub(crate) use end::{status_of_answer, status_of_error};

/// `bcast`.
#[derive(Clone, Debug)]
pub struct Bcast {
    /// To whom.
    pub group: GroupName,
    /// What. Its target, task and message id mean nothing: each member gets a message of its own.
    pub send: Send,
    /// One after the other, or side by side.
    pub execution: Execution,
    /// What a failure means for those that have not begun.
    pub failure_policy: FailurePolicy,
    /// Whether members are asked to stream.
    pub stream: bool,
}

/// Who is told how a round goes on, as it does.
pub trait Watch {
    /// A member's stream brought an update, which is durable. As long as it takes, no further one of this
    /// member is read.
    fn update(&self, seat: &Seat, event: StreamEvent) -> impl Future<Output = ()>;
    /// A member is done.
    fn ended(&self, end: &MemberEnd) -> impl Future<Output = ()>;
}

/// Nobody watches.
impl Watch for () {
    async fn update(&self, _: &Seat, _: StreamEvent) {}
    async fn ended(&self, _: &MemberEnd) {}
}

impl<L: Log> Missive<L> {
    /// Sends a message to every member of a group.
    ///
    /// # Errors
    /// A refusal, with nothing recorded; or the log takes nothing more. What fails for a member is no
    /// error: it is what came of that member.
    pub async fn bcast(
        &self,
        command: &Bcast,
        watch: &impl Watch,
        interrupt: &mut Interrupt,
    ) -> Result<Done<BcastEnd>, CommandError> {
        if command.send.parts.is_empty() {
            return Err(Refusal::NoParts.into());
        }
        let context = self.round_context(command.send.context.as_deref())?;
        let mut course = Course::new(self.ids().operation());
        let operation = course.operation.clone();
        let start = Begin {
            group: &command.group,
            operation: &operation,
            context: &context,
            facts: |roster: &Roster, moment: &Moment<'_>| {
                let facts = BcastStarted {
                    instance: moment.instance,
                    execution: command.execution,
                    failure_policy: command.failure_policy,
                    members: size(roster),
                    timeout_ms: self.timeout_ms(),
                    position: roster.position,
                    member_ids: roster.ids(),
                };
                Ok(facts.into())
            },
            chosen: Chosen::default(),
        };
        let begun = self.intend(&mut course, &start).await?;
        let Some(roster) = start.chosen.into_roster() else {
            let what = "a broadcast began without members";
            return Err(Failure::Internal { what }.into());
        };
        let at_once = match command.execution {
            Execution::Sequential => 1,
            Execution::Concurrent => usize::try_from(self.qos().concurrency_max).unwrap_or(1),
        };
        let stopped = AtomicBool::new(false);
        let ends = all(&roster.seats, at_once, interrupt, async |seat, wish| {
            let end = if stopped.load(Ordering::Acquire) || wish.has_come() {
                MemberEnd::nothing(seat, MemberStatus::Skipped)
            } else {
                self.send_to_seat(command, (&context, &roster, begun), seat, watch, &wish)
                    .await
            };
            if has_failed(end.status) && command.failure_policy == FailurePolicy::Stop {
                stopped.store(true, Ordering::Release);
            }
            watch.ended(&end).await;
            end
        })
        .await;
        self.bcast_over(command, course, begun, (roster, context, ends), interrupt)
            .await
    }

    /// Records what came of everyone, and says how the command ends.
    async fn bcast_over(
        &self,
        command: &Bcast,
        course: Course,
        begun: Seq,
        (roster, context, members): (Roster, ContextId, Vec<MemberEnd>),
        interrupt: &Interrupt,
    ) -> Result<Done<BcastEnd>, CommandError> {
        let mut end = BcastEnd {
            operation: course.operation.clone(),
            status: status_of(&members, interrupt.has_come()),
            roster,
            context,
            members,
            sequence: Seq::ZERO,
        };
        let over = RoundOver {
            operation: &course.operation,
            drafts: |moment: &Moment<'_>| end.drafts(moment, begun),
        };
        end.sequence = self.record(&over).await?.last;
        self.settle();
        let exit = exit_of(&end, command.failure_policy);
        Ok(Done { report: end, exit })
    }

    /// The context that a round belongs to: the one that is named, or a new one.
    pub(super) fn round_context(&self, text: Option<&str>) -> Result<ContextId, CommandError> {
        let Some(text) = text else {
            return self.new_context_id();
        };
        let views = self.views();
        if let Some(known) = find_context(&views, text)? {
            return Ok(known.context);
        }
        match ContextId::new(text) {
            Ok(id) if can_be_new(text) => Ok(id),
            Ok(_) | Err(_) => Err(no_context(text, nearest_contexts(&views, text)?).into()),
        }
    }

    /// The limit of the whole command, in milliseconds.
    pub(super) fn timeout_ms(&self) -> Option<u64> {
        let limit = self.requests().timeout.or(self.qos().total_timeout)?;
        u64::try_from(limit.as_millis()).ok()
    }

    /// What a member is called now; none if it was taken out of the group since the beginning.
    fn still_member(
        &self,
        seat: &Seat,
        alias: &Alias,
        roster: &Roster,
    ) -> Result<Option<Alias>, CommandError> {
        let views = self.views();
        let subject = Subject::Group(roster.group.name.clone());
        let changed = views.last_of(&subject)?;
        if changed.is_some_and(|seq| seq > roster.position) {
            let members = match views.present_group(&roster.group.name)? {
                Some(group) => views.members(&group)?,
                None => Vec::new(),
            };
            if !members.contains(&seat.member) {
                return Ok(None);
            }
        }
        Ok(Some(views.present_alias(alias)?))
    }

    async fn send_to_seat(
        &self,
        command: &Bcast,
        (context, roster, begun): (&ContextId, &Roster, Seq),
        seat: &Seat,
        watch: &impl Watch,
        wish: &Wish,
    ) -> MemberEnd {
        let Some(alias) = &seat.alias else {
            return MemberEnd::nothing(seat, MemberStatus::Unregistered);
        };
        let alias = match self.still_member(seat, alias, roster) {
            Ok(Some(alias)) => alias,
            Ok(None) => return MemberEnd::nothing(seat, MemberStatus::Left),
            Err(error) => return MemberEnd::of(seat, Err(error)),
        };
        if self.deadline().is_some_and(|deadline| deadline.is_over()) {
            return MemberEnd::nothing(seat, MemberStatus::TimedOut);
        }
        let send = Send {
            target: Target::Alias(alias),
            context: Some(context.to_string()),
            task: None,
            message_id: None,
            group: Some(command.group.clone()),
            ..command.send.clone()
        };
        let mut interrupt = wish.interrupt();
        let asked = seat.agent().clone();
        let asking = async {
            if command.stream && self.offers_streams(&send.target, &mut interrupt).await {
                let stream = Stream {
                    send,
                    force: false,
                    cancel_on_interrupt: false,
                };
                let mut shown = Shown { seat, watch };
                let done = self.stream(&stream, &mut shown, &mut interrupt).await;
                done.map(|done| (done.report.operation_id, done.report.answer))
            } else {
                let done = self.send(&send, &mut interrupt).await;
                done.map(|done| (done.report.operation_id, done.report.answer))
            }
        };
        let came = ASKED.scope(asked, asking).await;
        let mut end = MemberEnd::of(seat, came);
        if end.error.is_some() {
            // Views that give no answer leave the member as it is.
            end.known = self.begun_since(seat, context, begun).unwrap_or_default();
            end.status = end.status_with_task();
        }
        end
    }

    /// Whether an agent's card offers streams; also where it cannot be had, since asking tells why.
    async fn offers_streams(&self, target: &Target, interrupt: &mut Interrupt) -> bool {
        let Ok(peer) = self.peer(target) else {
            return true;
        };
        let mut course = Course::new(self.ids().operation());
        let card = self.card(&mut course, &peer, Want::Usable, interrupt).await;
        card.map_or(true, |loaded| loaded.card.capabilities.streaming)
    }

    /// The task that a member has begun since the broadcast did: an answer may break after it named one.
    fn begun_since(
        &self,
        seat: &Seat,
        context: &ContextId,
        begun: Seq,
    ) -> Result<Option<(TaskId, TaskState)>, CommandError> {
        let views = self.views();
        let Some(output) = views.output_of(&seat.member, context)? else {
            return Ok(None);
        };
        if output.begun.is_none_or(|first| first < begun) {
            return Ok(None);
        }
        let task = views.task_of(&output)?;
        Ok(task.map(|task| (task.task, task.state)))
    }
}

/// Shows a member's updates with who it is.
struct Shown<'a, W> {
    seat: &'a Seat,
    watch: &'a W,
}

impl<W: Watch> Show for Shown<'_, W> {
    async fn show(&mut self, event: StreamEvent) {
        self.watch.update(self.seat, event).await;
    }
}
