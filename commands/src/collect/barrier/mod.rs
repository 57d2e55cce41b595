//! Barrier: wait until enough members of a group have come to a state.
//!
//! Who is a member, and which task of each is waited for, is fixed at the beginning. All are waited for
//! together: by following where an agent streams, else by asking again and again; whatever another process
//! records counts as well. One deadline holds for all.

mod end;
mod leave;
mod standing;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use missive_log::event::facts::{FailurePolicy, MemberStatus, RoundStatus, TaskState};
use missive_log::event::kind::BarrierStarted;
use missive_log::event::{ContextId, EventKind, GroupName, OperationId, Seq, TaskId};
use missive_log::{Log, Record};
use missive_projections::{RoundMember, RoundWhat};

use super::begin::{Begin, Chosen, size};
use super::crowd::{Wish, wish};
use super::roster::Roster;
use super::state::of_state_for;
use crate::decide::Moment;
use crate::decide::round::RoundOver;
use crate::drive::Done;
use crate::drive::task::OnTask;
use crate::exit::Exit;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::note::ASKED;
use crate::peer::Target;
use crate::refusal::Refusal;
use crate::run::Missive;
use leave::{Membership, leave, left};
use standing::{counts, verdict};

pub use end::{BarrierEnd, BarrierMember};
pub use standing::USUAL;

/// The first pause before a task is looked at again that waits for the user.
const WAITING_MIN: Duration = Duration::from_secs(1);
/// The longest one.
const WAITING_MAX: Duration = Duration::from_secs(15);
/// How many bad answers in a row are borne.
const FAILURES_MAX: u32 = 12;
/// How long those that are followed may take to say that they were let go.
const LET_GO_MAX: Duration = Duration::from_secs(2);

/// `barrier`.
#[derive(Clone, Debug)]
pub struct Barrier {
    /// Whose tasks.
    pub group: GroupName,
    /// The context of the tasks, by id or name.
    pub context: String,
    /// The tasks of a broadcast, instead of the latest ones in the context.
    pub bcast: Option<FromBcast>,
    /// The states that satisfy it; empty: [`USUAL`].
    pub states: Vec<TaskState>,
    /// How many members must be in one of them; none: all.
    pub required: Option<u32>,
    /// What a failure means for the others.
    pub failure_policy: FailurePolicy,
    /// Ask again this often, instead of following.
    pub interval: Option<Duration>,
    /// Ask nobody: others record what happens.
    pub local: bool,
}

/// The tasks that a broadcast led to.
#[derive(Clone, Debug)]
pub struct FromBcast {
    /// Its operation.
    pub operation: OperationId,
}

/// Who is told how a barrier goes on.
pub trait WatchBarrier {
    /// A member stands otherwise than before; so many satisfy it now, of those that are needed.
    fn changed(
        &self,
        member: &BarrierMember,
        satisfied: usize,
        required: usize,
    ) -> impl Future<Output = ()>;
}

/// Nobody watches.
impl WatchBarrier for () {
    async fn changed(&self, _: &BarrierMember, _: usize, _: usize) {}
}

impl<L: Log> Missive<L> {
    /// Waits until enough members have come to a state.
    ///
    /// # Errors
    /// A refusal, with nothing recorded; or the log cannot be read or written. What fails for a member is
    /// no error: it is how that member stands.
    pub async fn barrier(
        &self,
        command: &Barrier,
        watch: &impl WatchBarrier,
        interrupt: &mut Interrupt,
    ) -> Result<Done<BarrierEnd>, CommandError> {
        let context = self.known_context(&command.context)?.context;
        let sent = self.broadcast_of(command)?;
        let mut following = self.follow();
        let operation = self.ids().operation();
        let start = Begin {
            group: &command.group,
            operation: &operation,
            context: &context,
            facts: |roster: &Roster, moment: &Moment<'_>| {
                Ok(started(command, roster, self.timeout_ms(), moment))
            },
            chosen: Chosen::default(),
        };
        let begun = self.record(&start).await?.last;
        let Some(roster) = start.chosen.into_roster() else {
            let what = "a barrier began without members";
            return Err(Failure::Internal { what }.into());
        };
        let mut end = BarrierEnd {
            operation: operation.clone(),
            members: self.members_of(command, &sent, &context, &roster)?,
            required: required(command, &roster),
            states: wanted(command),
            context,
            roster,
            status: RoundStatus::Canceled,
            sequence: Seq::ZERO,
        };
        end.status = self
            .await_all(command, &mut end, &mut following, watch, interrupt)
            .await?;
        let over = RoundOver {
            operation: &operation,
            drafts: |moment: &Moment<'_>| end.drafts(moment, begun),
        };
        let sequence = self.record(&over).await?.last;
        end.sequence = sequence;
        self.settle();
        let exit = end.exit();
        Ok(Done { report: end, exit })
    }

    /// What came of the members of the broadcast that is waited for, as this log has it.
    fn broadcast_of(&self, command: &Barrier) -> Result<Vec<RoundMember>, CommandError> {
        let Some(FromBcast { operation }) = &command.bcast else {
            return Ok(Vec::new());
        };
        let views = self.views();
        let round = views.round(operation)?;
        let round = round.filter(|round| matches!(round.what, RoundWhat::Bcast { .. }));
        let of_group = match round.as_ref().and_then(|round| round.group.as_ref()) {
            Some(name) => views.present_group(name)?,
            None => None,
        };
        if of_group.is_none_or(|group| group.name != command.group) {
            return Err(Refusal::NoBroadcast {
                operation: operation.clone(),
                group: command.group.clone(),
            }
            .into());
        }
        Ok(views.round_members(operation)?)
    }

    /// Which task of each member is waited for, and how it stands.
    fn members_of(
        &self,
        command: &Barrier,
        sent: &[RoundMember],
        context: &ContextId,
        roster: &Roster,
    ) -> Result<Vec<BarrierMember>, CommandError> {
        let doubts = self.doubts_in(context)?;
        let views = self.views();
        let mut members = Vec::with_capacity(roster.seats.len());
        for seat in &roster.seats {
            // Of one that was in doubt counts what the log knows by now.
            let mut sent = sent
                .iter()
                .filter(|sent| sent.rank == *seat.rank() && sent.status != MemberStatus::InDoubt);
            let output = views.output_of(&seat.member, context)?;
            let changed = output.as_ref().map(|output| output.changed);
            let (task, answered) = match (sent.next(), output) {
                (Some(sent), _) => {
                    let answered = sent.status == MemberStatus::Succeeded;
                    (sent.task.clone(), answered)
                }
                (None, Some(output)) => (output.task, output.message.is_some()),
                (None, None) => (None, false),
            };
            // Whatever it did before it was asked last is no answer to that.
            let mut doubts = doubts.iter().rev();
            let doubt = doubts.find(|doubt| doubt.agent == *seat.agent());
            let doubt = doubt.filter(|doubt| changed.is_none_or(|changed| changed < doubt.seq));
            let mut member = BarrierMember {
                seat: seat.clone(),
                status: MemberStatus::MissingTask,
                task,
                state: None,
                error: None,
                doubt: doubt.map(|doubt| doubt.operation.clone()),
            };
            if member.doubt.is_some() {
                member.status = MemberStatus::InDoubt;
                member.task = None;
            } else if member.task.is_none() && answered {
                member.status = MemberStatus::Succeeded;
            }
            self.look_at_member(&mut member, &wanted(command))?;
            members.push(member);
        }
        Ok(members)
    }

    /// Takes over what the log says of a member's task; whether that changes how it stands.
    fn look_at_member(
        &self,
        member: &mut BarrierMember,
        wanted: &[TaskState],
    ) -> Result<bool, CommandError> {
        let Some(task) = &member.task else {
            return Ok(false);
        };
        if member.status == MemberStatus::Left {
            return Ok(false);
        }
        let before = (member.status, member.state);
        let views = self.views();
        let known = match &member.seat.alias {
            // It may have been renamed since.
            Some(alias) => views.task(task, Some(&views.present_alias(alias)?))?,
            None => views.task(task, Some(&member.seat.member.agent))?,
        };
        member.state = known.map(|known| known.state);
        member.status = match (member.state, &member.seat.alias) {
            (Some(state), _) if of_state_for(state, wanted) == MemberStatus::Succeeded => {
                MemberStatus::Succeeded
            }
            (Some(state), _) if state.is_terminal() => of_state_for(state, wanted),
            // Nobody can be asked any more.
            (_, None) => MemberStatus::Unregistered,
            (Some(state), Some(_)) if member.error.is_none() => of_state_for(state, wanted),
            (None, Some(_)) if member.error.is_none() => MemberStatus::Accepted,
            (Some(_) | None, Some(_)) => MemberStatus::Failed,
        };
        Ok(before != (member.status, member.state))
    }

    async fn await_all(
        &self,
        command: &Barrier,
        end: &mut BarrierEnd,
        following: &mut missive_log::Subscription<L>,
        watch: &impl WatchBarrier,
        interrupt: &mut Interrupt,
    ) -> Result<RoundStatus, CommandError> {
        let places = places(&end.members);
        let mut membership = Membership::of(&command.group);
        let (let_go, wish) = wish();
        let mut asking: FuturesUnordered<Pin<Box<dyn Future<Output = Asked> + '_>>> =
            FuturesUnordered::new();
        for (at, member) in end.members.iter().enumerate() {
            if let (false, Some(on)) = (command.local, on_task(member)) {
                asking.push(Box::pin(self.ask_until_over(at, on, command, wish.clone())));
            }
        }
        let status = loop {
            let standing = counts(end.members.iter().map(|member| member.status));
            if command.required.is_none() {
                // All that are members: who left is not waited for.
                let members = end.members.len() - left(&end.members);
                end.required = u32::try_from(members.max(1)).unwrap_or(u32::MAX);
            }
            let required = usize::try_from(end.required).unwrap_or(usize::MAX);
            let gone = left(&end.members);
            if let Some(status) = verdict(standing, gone, required, command.failure_policy) {
                break status;
            }
            let changed = tokio::select! {
                biased;
                () = interrupt.came() => break RoundStatus::Canceled,
                asked = asking.next(), if !asking.is_empty() => asked.into_iter().map(|asked| {
                    if let Some(member) = end.members.get_mut(asked.at) {
                        member.error = asked.error;
                    }
                    Touch::Look(asked.at)
                }).collect(),
                records = following.next() => {
                    self.touched(&records?, &places, &mut membership, &end.members)
                }
                () = self.time_is_up() => break RoundStatus::TimedOut,
            };
            let changed: Vec<Touch> = changed;
            for touch in changed {
                let (Touch::Look(at) | Touch::Leave(at)) = touch;
                let Some(member) = end.members.get_mut(at) else {
                    continue;
                };
                let changed = match touch {
                    Touch::Look(_) => self.look_at_member(member, &end.states)?,
                    Touch::Leave(_) => leave(member),
                };
                if changed {
                    let member = member.clone_shown();
                    let statuses = end.members.iter().map(|member| member.status);
                    let [satisfied, ..] = counts(statuses);
                    watch.changed(&member, satisfied, required).await;
                }
            }
        };
        let_go.send_replace(true);
        let all_said = async { while asking.next().await.is_some() {} };
        // What they followed goes on at the agents; who does not say so in time is found by `doctor`.
        let _in_time = tokio::time::timeout(LET_GO_MAX, all_said).await;
        Ok(status)
    }

    /// The members that are concerned by what was appended, in its order.
    fn touched(
        &self,
        records: &[Record],
        places: &BTreeMap<TaskId, Vec<usize>>,
        membership: &mut Membership,
        members: &[BarrierMember],
    ) -> Vec<Touch> {
        if let Some(newest) = records.last() {
            self.saw(newest.seq);
        }
        let mut touched = Vec::new();
        for event in records.iter().filter_map(|record| record.decode().ok()) {
            let left = membership.left(&event, members).into_iter();
            touched.extend(left.map(Touch::Leave));
            let of_task = event.links.task.as_ref().and_then(|task| places.get(task));
            for at in of_task.into_iter().flatten() {
                if touched.last() != Some(&Touch::Look(*at)) {
                    touched.push(Touch::Look(*at));
                }
            }
        }
        touched
    }

    /// Asks for a task until it ends; one that waits for the user is asked for again later.
    async fn ask_until_over(&self, at: usize, on: OnTask, command: &Barrier, wish: Wish) -> Asked {
        let mut pause = command.interval.unwrap_or(WAITING_MIN);
        let mut failures = 0;
        loop {
            let mut interrupt = wish.interrupt();
            let on = match self.as_it_is_called_now(&on) {
                Ok(on) => on,
                Err(error) => {
                    let error = Some(error);
                    return Asked { at, error };
                }
            };
            let asked = match &on.target {
                Target::Alias(alias) => {
                    let waiting = self.task_wait(&on, command.interval, &mut interrupt);
                    ASKED.scope(alias.clone(), waiting).await
                }
                Target::Url(_) => self.task_wait(&on, command.interval, &mut interrupt).await,
            };
            match asked {
                // Who is being asked when the time is up has not failed: the barrier says that it is up.
                Err(error) if is_over(&error) || self.is_time_up() => {
                    return Asked { at, error: None };
                }
                // A bad answer says nothing of the task: it is asked for again, for a while.
                Err(error) if passes(&error) && failures < FAILURES_MAX => failures += 1,
                Err(error) => {
                    let error = Some(error);
                    return Asked { at, error };
                }
                Ok(done) => {
                    failures = 0;
                    let state = TaskState::from_name(done.report.task.state);
                    let waits = state.is_some_and(TaskState::is_interrupted);
                    if !waits || wish.has_come() {
                        return Asked { at, error: None };
                    }
                }
            }
            tokio::select! {
                () = interrupt.came() => return Asked { at, error: None },
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(WAITING_MAX),
            }
        }
    }
}

impl<L: Log> Missive<L> {
    fn is_time_up(&self) -> bool {
        self.deadline().is_some_and(|deadline| deadline.is_over())
    }

    fn as_it_is_called_now(&self, on: &OnTask) -> Result<OnTask, CommandError> {
        let target = match &on.target {
            Target::Alias(alias) => Target::Alias(self.views().present_alias(alias)?),
            Target::Url(url) => Target::Url(url.clone()),
        };
        let task = on.task.clone();
        Ok(OnTask { target, task })
    }
}

/// Whether a question ended because the command does.
fn is_over(error: &CommandError) -> bool {
    matches!(error.exit(), Exit::Interrupted | Exit::Timeout)
}

/// Whether a failure may pass by itself: the agent could not be reached, was too busy, or spoke nonsense.
fn passes(error: &CommandError) -> bool {
    match error {
        CommandError::Failed(_) => matches!(
            error.exit(),
            Exit::Transport | Exit::Protocol | Exit::Unknown
        ),
        CommandError::Refused(_) => false,
    }
}

/// What an event means for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touch {
    /// Its task may stand otherwise.
    Look(usize),
    /// It was taken out of the group.
    Leave(usize),
}

/// A member that is not asked any more.
struct Asked {
    at: usize,
    error: Option<CommandError>,
}

fn on_task(member: &BarrierMember) -> Option<OnTask> {
    let open = matches!(
        member.status,
        MemberStatus::Accepted | MemberStatus::Waiting
    );
    Some(OnTask {
        target: Target::Alias(member.seat.alias.clone().filter(|_| open)?),
        task: member.task.clone()?,
    })
}

/// Where the members of each task stand. Agents choose ids, so several may use the same one.
fn places(members: &[BarrierMember]) -> BTreeMap<TaskId, Vec<usize>> {
    let mut places: BTreeMap<TaskId, Vec<usize>> = BTreeMap::new();
    for (at, member) in members.iter().enumerate() {
        if let Some(task) = &member.task {
            places.entry(task.clone()).or_default().push(at);
        }
    }
    places
}

fn wanted(command: &Barrier) -> Vec<TaskState> {
    let mut states = command.states.clone();
    if states.is_empty() {
        states.extend(USUAL);
    }
    states.sort_unstable();
    states.dedup();
    states
}

fn required(command: &Barrier, roster: &Roster) -> u32 {
    command.required.unwrap_or(size(roster))
}

/// The fact that a barrier begins.
fn started(
    command: &Barrier,
    roster: &Roster,
    timeout_ms: Option<u64>,
    moment: &Moment<'_>,
) -> EventKind {
    let bcast = command.bcast.as_ref();
    let facts = BarrierStarted {
        instance: moment.instance,
        states: wanted(command),
        required: required(command, roster),
        failure_policy: command.failure_policy,
        members: size(roster),
        local: command.local,
        bcast: bcast.map(|bcast| bcast.operation.clone()),
        timeout_ms,
        position: roster.position,
        member_ids: roster.ids(),
    };
    facts.into()
}
