//! Messages to a group: to whom its policy says, and to the next one where the policy says so.
//!
//! It is the decision of `route explain`. Whoever goes by turns takes its turn first, as a fact on the group: two
//! that want the same turn are each other's condition, so one of them decides again and gets the next.

use missive_log::Log;
use missive_log::event::facts::{MemberStatus, RoutingPolicy, TaskState};
use missive_log::event::kind::{GroupFact, GroupMemberTried, GroupTurnTaken};
use missive_log::event::{Alias, EventKind, GroupName, Links, OperationId, Rank, Seq, Subject};
use missive_log::payload::About;
use missive_log::{Draft, Role};
use missive_projections::Views;

use super::ask::{Among, Decided, Known, Routing, of_group};
use super::policy::{is_by_attempts, is_by_turns, is_for_many};
use crate::collect::bcast::{status_of_answer, status_of_error};
use crate::decide::{Decide, Decision, Moment, Undecided, unchanged};
use crate::drive::Done;
use crate::drive::send::Send;
use crate::drive::stream::{Show, Stream};
use crate::exit::Exit;
use crate::failure::{CommandError, Failure};
use crate::groups::GroupRefusal;
use crate::interrupt::Interrupt;
use crate::note::Note;
use crate::peer::Target;
use crate::refusal::Refusal;
use crate::report::route::{AttemptView, RouteTaken};
use crate::report::send::{AnswerReport, SendReport};
use crate::report::stream::StreamReport;
use crate::run::Missive;
use crate::wire::error::ErrorKind;

/// What came of a message to a group.
#[derive(Debug)]
pub struct Routed<R> {
    /// To whom it went, and who was tried before.
    pub taken: RouteTaken,
    /// What came of it there.
    pub ended: Result<Done<R>, CommandError>,
}

/// An answer, of whatever command.
trait Answer {
    fn answer(&self) -> &AnswerReport;
    fn operation(&self) -> &str;
    fn set_route(&mut self, taken: RouteTaken);
}

macro_rules! answers {
    ($($report:ty),+) => { $(impl Answer for $report {
        fn answer(&self) -> &AnswerReport {
            &self.answer
        }
        fn operation(&self) -> &str {
            &self.operation_id
        }
        fn set_route(&mut self, taken: RouteTaken) {
            self.route = Some(taken);
        }
    })+ };
}
answers!(SendReport, StreamReport);

/// Who is to be spoken to, one after the other.
struct Plan {
    group: GroupName,
    policy: RoutingPolicy,
    operation: OperationId,
    turn: Option<u64>,
    chosen: Vec<(Alias, Rank)>,
}

impl<L: Log> Missive<L> {
    /// Sends a message to the member of a group that its policy chooses.
    ///
    /// # Errors
    /// A refusal, with nothing sent. What comes of the message is in the result.
    pub async fn send_routed(
        &self,
        routing: &Routing,
        command: &Send,
        interrupt: &mut Interrupt,
    ) -> Result<Routed<SendReport>, CommandError> {
        self.routed(routing, command, interrupt, async |send, interrupt| {
            self.send(send, interrupt).await
        })
        .await
    }

    /// Sends a message to the member of a group that its policy chooses, and follows the answer.
    ///
    /// # Errors
    /// A refusal, with nothing sent. What comes of the message is in the result.
    pub async fn stream_routed(
        &self,
        routing: &Routing,
        command: &Stream,
        sink: &mut impl Show,
        interrupt: &mut Interrupt,
    ) -> Result<Routed<StreamReport>, CommandError> {
        self.routed(
            routing,
            &command.send,
            interrupt,
            async |send, interrupt| {
                let stream = Stream {
                    send: send.clone(),
                    ..command.clone()
                };
                self.stream(&stream, &mut *sink, interrupt).await
            },
        )
        .await
    }

    async fn routed<R: Answer>(
        &self,
        routing: &Routing,
        send: &Send,
        interrupt: &mut Interrupt,
        mut once: impl AsyncFnMut(&Send, &mut Interrupt) -> Result<Done<R>, CommandError>,
    ) -> Result<Routed<R>, CommandError> {
        self.refresh_candidates(routing, interrupt).await?;
        let plan = self.plan(routing, send).await?;
        let tries = is_by_attempts(plan.policy);
        let mut attempts = Vec::new();
        let mut places = plan.chosen.iter().peekable();
        while let Some((agent, rank)) = places.next() {
            let send = of_member(send, agent, &plan.group);
            let mut ended = once(&send, interrupt).await;
            let next = places.peek().filter(|_| {
                let in_time = self.deadline().is_none_or(|deadline| !deadline.is_over());
                in_time && !interrupt.has_come() && goes_on(plan.policy, &ended)
            });
            if tries {
                let attempt = self.attempt_of((agent, rank), &ended);
                self.record_attempt(&plan, attempts.len(), &attempt).await?;
                attempts.push(attempt);
            }
            if let Some((next, _)) = next {
                self.note(Note::NextTried {
                    agent: agent.clone(),
                    why: why_not(&ended),
                    next: next.clone(),
                });
                continue;
            }
            let taken = RouteTaken {
                group: plan.group.to_string(),
                policy: plan.policy.as_str(),
                agent: agent.to_string(),
                rank: rank.to_string(),
                turn: plan.turn,
                operation_id: (tries || plan.turn.is_some()).then(|| plan.operation.to_string()),
                attempts,
            };
            if let Ok(done) = &mut ended {
                done.report.set_route(taken.clone());
            }
            self.settle();
            return Ok(Routed { taken, ended });
        }
        Err(Failure::Internal {
            what: "a policy chose nobody and did not say so",
        }
        .into())
    }

    /// Decides, and takes the turn where the policy goes by turns.
    async fn plan(&self, routing: &Routing, send: &Send) -> Result<Plan, CommandError> {
        let Among::Group(name) = &routing.among else {
            return Err(Failure::Internal {
                what: "a message is routed among agents that are no group",
            }
            .into());
        };
        let known = if routing.needs.is_empty() {
            Known::default()
        } else {
            self.known_members(name).await?
        };
        let decided = one_of_group(routing, name, &known, &self.views(), &self.moment())?;
        let mut chosen = chosen(&decided);
        if let Some((agent, _)) = chosen.first() {
            // What is wrong with the message itself is refused before a turn is taken because of it.
            self.letter(&of_member(send, agent, name))?;
        }
        let policy = decided.question.policy;
        let operation = self.ids().operation();
        let mut turn = None;
        if is_by_turns(policy) {
            let take = TakeTurn {
                routing,
                name,
                known: &known,
                operation: &operation,
            };
            let taken = self.turn_taken(self.record(&take).await?.last).await?;
            turn = Some(taken.turn);
            chosen = vec![(taken.agent, taken.rank)];
        }
        if !is_by_attempts(policy) {
            chosen.truncate(1);
        }
        Ok(Plan {
            group: name.clone(),
            policy,
            operation,
            turn,
            chosen,
        })
    }

    /// The turn that was recorded at this place: whose it was is decided when it is appended.
    async fn turn_taken(&self, at: Seq) -> Result<GroupTurnTaken, CommandError> {
        let records = self.log().pick(&[at]).await?;
        let event = records.first().and_then(|record| record.decode().ok());
        if let Some(EventKind::Group(GroupFact::TurnTaken(taken))) = event.map(|event| event.kind) {
            return Ok(taken);
        }
        Err(Failure::Internal {
            what: "a turn that was just taken is not in the log",
        }
        .into())
    }

    fn attempt_of<R: Answer>(
        &self,
        (agent, rank): (&Alias, &Rank),
        ended: &Result<Done<R>, CommandError>,
    ) -> AttemptView {
        let (status, operation, state, error) = match ended {
            Ok(done) => {
                let answer = done.report.answer();
                let operation = OperationId::new(done.report.operation()).ok();
                (status_of_answer(answer), operation, answer.state, None)
            }
            Err(error) => {
                let text = self.redactor().clean(&error.to_string());
                let operation = error.operation().cloned();
                (status_of_error(error), operation, None, Some(text))
            }
        };
        AttemptView {
            agent: agent.to_string(),
            rank: rank.to_string(),
            status: status.as_str(),
            operation_id: operation.map(|operation| operation.to_string()),
            state,
            error,
        }
    }

    /// Says in the log who was tried, and what came of it.
    async fn record_attempt(
        &self,
        plan: &Plan,
        before: usize,
        attempt: &AttemptView,
    ) -> Result<(), CommandError> {
        let (Ok(agent), Ok(rank)) = (Alias::new(&attempt.agent), Rank::new(&attempt.rank)) else {
            return Ok(());
        };
        let number = u32::try_from(before).unwrap_or(u32::MAX);
        let operation = attempt.operation_id.as_deref();
        let fact = GroupMemberTried {
            policy: plan.policy,
            attempt: number.saturating_add(1),
            agent: agent.clone(),
            rank,
            status: MemberStatus::from_name(attempt.status).unwrap_or(MemberStatus::Failed),
            operation: operation.and_then(|operation| OperationId::new(operation).ok()),
        };
        let links = Links {
            agent: Some(agent),
            context: None,
            task: None,
            group: Some(plan.group.clone()),
        };
        let tried = |_: &Views, moment: &Moment<'_>| -> Result<Decision, Undecided> {
            let texts = attempt.error.iter();
            let payloads = texts.map(|text| {
                let about = About::default();
                moment.redactor.text(moment.ids, Role::Error, about, text)
            });
            let kind = EventKind::from(fact.clone());
            let draft: Draft = moment.step(&plan.operation, None, &links, kind, payloads.collect());
            Ok(Decision {
                expect: Vec::new(),
                drafts: vec![draft],
            })
        };
        self.record(&tried).await?;
        Ok(())
    }
}

/// The message as a member gets it.
fn of_member(send: &Send, agent: &Alias, group: &GroupName) -> Send {
    Send {
        target: Target::Alias(agent.clone()),
        group: Some(group.clone()),
        ..send.clone()
    }
}

fn chosen(decided: &Decided) -> Vec<(Alias, Rank)> {
    let selected = decided.selected();
    selected
        .filter_map(|one| Some((one.agent.clone(), one.rank.clone()?)))
        .collect()
}

/// The decision, if it chooses somebody, and one at a time.
fn one_of_group(
    routing: &Routing,
    name: &GroupName,
    known: &Known,
    views: &Views,
    moment: &Moment<'_>,
) -> Result<Decided, Undecided> {
    let decided = of_group(routing, name, known, (views, moment.config))?;
    let refused = |why: GroupRefusal| Undecided::Refused(why.into());
    let policy = decided.question.policy;
    let group = name.clone();
    if is_for_many(policy) {
        return Err(refused(GroupRefusal::PolicyOfMany { group, policy }));
    }
    if decided.candidates.is_empty() {
        return Err(Undecided::Refused(Refusal::EmptyGroup { name: group }));
    }
    if decided.choice.selected.is_empty() {
        let said = decided.candidates.iter().zip(&decided.choice.judged);
        let reasons = said.map(|(one, judged)| (one.agent.clone(), judged.reason.clone()));
        return Err(refused(GroupRefusal::NobodyFits {
            group,
            policy,
            reasons: reasons.collect(),
        }));
    }
    Ok(decided)
}

/// The next turn of a group. Who appends it has it.
struct TakeTurn<'a> {
    routing: &'a Routing,
    name: &'a GroupName,
    known: &'a Known,
    operation: &'a OperationId,
}

impl Decide for TakeTurn<'_> {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let subject = Subject::Group(self.name.clone());
        let expect = unchanged(views, subject.clone())?;
        let decided = one_of_group(self.routing, self.name, self.known, views, moment)?;
        let Some((agent, rank)) = chosen(&decided).into_iter().next() else {
            let name = self.name.clone();
            return Err(Undecided::Refused(Refusal::EmptyGroup { name }));
        };
        let fact = GroupTurnTaken {
            turn: decided.question.cursor,
            agent: agent.clone(),
            rank,
        };
        let mut draft = moment.draft(subject, fact.into(), Vec::new());
        draft.operation = Some(self.operation.clone());
        draft.links.group = Some(self.name.clone());
        draft.links.agent = Some(agent);
        Ok(Decision {
            expect: vec![expect],
            drafts: vec![draft],
        })
    }
}

/// Whether the next one is tried.
fn goes_on<R>(policy: RoutingPolicy, ended: &Result<Done<R>, CommandError>) -> bool {
    match (policy, ended) {
        (RoutingPolicy::FirstSuccess, Ok(done)) => matches!(
            done.exit,
            Exit::TaskFailed | Exit::TaskCanceled | Exit::TaskRejected
        ),
        (RoutingPolicy::FirstSuccess, Err(error)) => is_of_agent(error),
        (RoutingPolicy::Fallback, Err(error)) => was_not_had(error),
        (_, Ok(_) | Err(_)) => false,
    }
}

/// Whether an error is one agent's, and not of the log, the user or this process.
fn is_of_agent(error: &CommandError) -> bool {
    let CommandError::Failed(failure) = error else {
        return true;
    };
    matches!(
        failure,
        Failure::Card { .. }
            | Failure::NotSent { .. }
            | Failure::NoAnswer { .. }
            | Failure::InDoubt { .. }
            | Failure::Peer { .. }
            | Failure::TooLargeForPeer { .. }
            | Failure::Broken { .. }
            | Failure::Redirect { .. }
            | Failure::StreamLost { .. }
    )
}

/// Whether it is certain that the agent has not taken the message, for a reason of its own. A doubt is none: two
/// agents would do the same work.
fn was_not_had(error: &CommandError) -> bool {
    let CommandError::Failed(failure) = error else {
        return true;
    };
    if let Failure::Peer { error, .. } = failure {
        let kinds = [
            ErrorKind::VersionNotSupported,
            ErrorKind::ExtensionSupportRequired,
            ErrorKind::UnsupportedOperation,
            ErrorKind::MethodNotFound,
        ];
        return matches!(error.kind.exit(), Exit::Transport | Exit::Auth)
            || kinds.contains(&error.kind);
    }
    matches!(
        failure,
        Failure::Card { .. }
            | Failure::NotSent { .. }
            | Failure::Redirect { .. }
            | Failure::TooLargeForPeer { .. }
    )
}

/// What is told of an attempt before the next one.
fn why_not<R: Answer>(ended: &Result<Done<R>, CommandError>) -> String {
    match ended {
        Err(error) => error.to_string(),
        Ok(done) => {
            let state = done.report.answer().state.and_then(TaskState::from_name);
            state.map_or_else(
                || "it did not succeed".to_owned(),
                |state| format!("its task was {state}"),
            )
        }
    }
}
