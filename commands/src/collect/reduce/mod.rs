//! Reduce: one text made of what every member of a group last said in a context.
//!
//! Missive makes it itself, or has an agent or a command make it of a prompt. What it was made of is
//! recorded with it, in the same append: for each member the task, the message or artifact, and the
//! commitments of the payloads, so that it can be proved later what went in.

mod by_command;
mod local;
mod made;
mod proof;
mod template;

use missive_log::event::facts::{MemberStatus, ReduceFailure, ReduceMethod, ReduceStrategy};
use missive_log::event::kind::ReduceStarted;
use missive_log::event::{Alias, ContextId, GroupName, OperationId, Seq, Subject, TaskId};
use missive_log::payload::About;
use missive_log::{Log, Role};
use missive_projections::Views;

use super::gather::Gathered;
use crate::Send;
use crate::decide::round::RoundOver;
use crate::decide::{Decide, Decision, Moment, Undecided, unchanged};
use crate::drive::Done;
use crate::exit::Exit;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::peer::Target;
use crate::refusal::Refusal;
use crate::run::Missive;
use local::Input;
use made::Made;

pub use local::Tally;
pub use made::{source_kind, sources};
pub use proof::{Proof, ProvedSource, SourceState, prove};
pub use template::{PLACEHOLDERS, Template, TemplateError};

/// `reduce`.
#[derive(Clone, Debug)]
pub struct Reduce {
    /// Whose outputs.
    pub group: GroupName,
    /// In which context, by id or name.
    pub context: String,
    /// How.
    pub strategy: ReduceStrategy,
    /// Instead of the usual prompt; of `custom`, the text itself.
    pub template: Option<Template>,
    /// By whom.
    pub by: Reducer,
}

/// Who makes a reduction.
#[derive(Clone, Debug)]
pub enum Reducer {
    /// Missive itself.
    Local,
    /// An agent, which gets the prompt as a message.
    Agent(Alias),
    /// A command, which gets the prompt as its standard input.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// The whole as the user gave it.
        given: String,
        /// Variables that it does not get, since they hold secrets of ours.
        withheld: Vec<String>,
    },
}

impl Reducer {
    fn method(&self) -> ReduceMethod {
        match self {
            Self::Local => ReduceMethod::Local,
            Self::Agent(_) => ReduceMethod::Agent,
            Self::Command { .. } => ReduceMethod::Command,
        }
    }
}

/// What came of a reduction.
#[derive(Debug)]
pub struct ReduceEnd {
    /// Its operation: what `reduce show` takes.
    pub operation: OperationId,
    /// What it was made of.
    pub gathered: Gathered,
    /// How.
    pub strategy: ReduceStrategy,
    /// By whom.
    pub method: ReduceMethod,
    /// The text.
    pub text: String,
    /// Of how many members.
    pub inputs: u32,
    /// Of a vote that missive counted: every answer, the winner first.
    pub tallies: Vec<Tally>,
    /// Of such a vote: whether another answer has as many votes.
    pub tie: bool,
    /// The last event of the reduction.
    pub sequence: Seq,
}

/// What was made, before it is recorded.
struct Outcome {
    text: String,
    reducer: Option<Alias>,
    asked: Option<OperationId>,
    task: Option<TaskId>,
}

impl Outcome {
    fn of(text: String) -> Self {
        Self {
            text,
            reducer: None,
            asked: None,
            task: None,
        }
    }
}

/// Why a reducer made nothing.
struct Unmade {
    failure: ReduceFailure,
    exit: Option<u8>,
    asked: Option<OperationId>,
    said: String,
    error: CommandError,
}

impl<L: Log> Missive<L> {
    /// Makes one text of what a group said in a context.
    ///
    /// # Errors
    /// A refusal, with nothing recorded; or the reducer made nothing, which the log knows as well.
    pub async fn reduce(
        &self,
        command: &Reduce,
        interrupt: &mut Interrupt,
    ) -> Result<Done<ReduceEnd>, CommandError> {
        if let Reducer::Agent(alias) = &command.by {
            self.peer(&Target::Alias(alias.clone()))?;
        }
        let context = self.known_context(&command.context)?.context;
        let gathered = self.gathered(&command.group, &context).await?;
        let inputs = inputs_of(&gathered, command.strategy);
        if inputs.is_empty() {
            return Err(Refusal::NothingToReduce {
                group: command.group.clone(),
                context,
            }
            .into());
        }
        let reduced = local::reduce(command.strategy, &inputs);
        let bytes_max = self.calls().settings().request_bytes_max;
        let filled = filled(command, &context, &inputs, &reduced.text, bytes_max)?;
        let operation = self.ids().operation();
        let made = Made {
            operation: &operation,
            command,
            gathered: &gathered,
            inputs: u32::try_from(inputs.len()).unwrap_or(u32::MAX),
        };
        let (sequence, text) = match &command.by {
            Reducer::Local => {
                let text = filled.unwrap_or_else(|| reduced.text.clone());
                let outcome = Outcome::of(text);
                let recorded = self.record(&made.at_once(&outcome)).await?;
                (recorded.last, outcome.text)
            }
            Reducer::Agent(_) | Reducer::Command { .. } => {
                let prompt = match filled {
                    Some(filled) => filled,
                    None => local::prompt(command.strategy, &inputs, &reduced.text),
                };
                self.reduce_by(&made, &prompt, interrupt).await?
            }
        };
        self.settle();
        let by_missive = matches!(command.by, Reducer::Local);
        let report = ReduceEnd {
            operation: operation.clone(),
            strategy: command.strategy,
            method: command.by.method(),
            text,
            inputs: made.inputs,
            tie: by_missive && reduced.tie,
            tallies: if by_missive {
                reduced.tallies
            } else {
                Vec::new()
            },
            sequence,
            gathered,
        };
        Ok(Done {
            report,
            exit: Exit::Done,
        })
    }

    /// Has somebody else make it: intent, effect, outcome.
    async fn reduce_by(
        &self,
        made: &Made<'_>,
        prompt: &str,
        interrupt: &mut Interrupt,
    ) -> Result<(Seq, String), CommandError> {
        let bytes_max = self.calls().settings().request_bytes_max;
        if prompt.len() > bytes_max {
            let bytes = prompt.len();
            return Err(Refusal::RequestTooLarge { bytes, bytes_max }.into());
        }
        let start = Start { made, prompt };
        let begun = self.record(&start).await?.last;
        let came = match &made.command.by {
            Reducer::Agent(alias) => self.by_agent(made, alias, prompt, interrupt).await,
            Reducer::Command {
                program,
                arguments,
                withheld,
                ..
            } => {
                let what = (program.as_str(), arguments.as_slice(), withheld.as_slice());
                self.by_command(what, made, prompt, interrupt).await
            }
            Reducer::Local => Err(internal("missive asks nobody to reduce")),
        };
        match came {
            Ok(outcome) => {
                let over = RoundOver {
                    operation: made.operation,
                    drafts: |moment: &Moment<'_>| made.drafts(moment, Some(begun), &outcome),
                };
                let recorded = self.record(&over).await?;
                Ok((recorded.last, outcome.text))
            }
            Err(unmade) => {
                let over = RoundOver {
                    operation: made.operation,
                    drafts: |moment: &Moment<'_>| vec![made.failed(moment, begun, &unmade)],
                };
                self.record(&over).await?;
                Err(unmade.error)
            }
        }
    }

    async fn by_agent(
        &self,
        made: &Made<'_>,
        alias: &Alias,
        prompt: &str,
        interrupt: &mut Interrupt,
    ) -> Result<Outcome, Unmade> {
        let send = Send {
            context: Some(made.gathered.context.to_string()),
            group: Some(made.gathered.roster.group.name.clone()),
            wait: true,
            ..Send::text(Target::Alias(alias.clone()), prompt)
        };
        let done = self.send(&send, interrupt).await.map_err(|error| {
            let exit = error.exit();
            let failure = if exit == Exit::Unknown {
                ReduceFailure::InDoubt
            } else if exit == Exit::Interrupted {
                ReduceFailure::Interrupted
            } else {
                ReduceFailure::Agent
            };
            Unmade {
                failure,
                exit: None,
                asked: error.operation().cloned(),
                said: error.to_string(),
                error,
            }
        })?;
        let asked = OperationId::new(&done.report.operation_id).ok();
        let answer = done.report.answer;
        let said = if done.exit != Exit::Done {
            format!("its task is {}", answer.state.unwrap_or("not known"))
        } else if answer.text.is_empty() {
            "its answer has no text".to_owned()
        } else {
            return Ok(Outcome {
                text: answer.text,
                reducer: Some(alias.clone()),
                asked,
                task: answer
                    .task_id
                    .as_deref()
                    .and_then(|id| TaskId::new(id).ok()),
            });
        };
        let exit = if done.exit == Exit::Done {
            Exit::TaskFailed
        } else {
            done.exit
        };
        Err(Unmade {
            failure: ReduceFailure::Agent,
            exit: None,
            asked,
            error: Failure::Reducer {
                operation: made.operation.clone(),
                why: format!("{alias} made no reduction: {said}"),
                exit,
            }
            .into(),
            said,
        })
    }
}

fn internal(what: &'static str) -> Unmade {
    Unmade {
        failure: ReduceFailure::NotStarted,
        exit: None,
        asked: None,
        said: what.to_owned(),
        error: Failure::Internal { what }.into(),
    }
}

/// The template with what members said in it, if there is one.
fn filled(
    command: &Reduce,
    context: &ContextId,
    inputs: &[Input<'_>],
    reduced: &str,
    bytes_max: usize,
) -> Result<Option<String>, Refusal> {
    let Some(template) = &command.template else {
        return Ok(None);
    };
    let values = [
        command.group.as_str(),
        context.as_str(),
        command.strategy.as_str(),
        &inputs.len().to_string(),
        &local::attributed(inputs),
        reduced,
    ];
    let filled = template.fill(&values, bytes_max);
    let filled = filled.map_err(|bytes| Refusal::RequestTooLarge { bytes, bytes_max })?;
    Ok(Some(filled))
}

/// What goes in, in the order of ranks: what members said that are done, and, where nobody's answers are
/// counted, what those said that are still at it. What a task failed with is no answer.
fn inputs_of(gathered: &Gathered, strategy: ReduceStrategy) -> Vec<Input<'_>> {
    let goes_in = |status: MemberStatus| match status {
        MemberStatus::Succeeded => true,
        MemberStatus::Accepted | MemberStatus::Waiting => strategy != ReduceStrategy::Vote,
        MemberStatus::Failed
        | MemberStatus::TimedOut
        | MemberStatus::InDoubt
        | MemberStatus::Skipped
        | MemberStatus::Canceled
        | MemberStatus::Unregistered
        | MemberStatus::Left
        | MemberStatus::MissingTask
        | MemberStatus::EmptyOutput => false,
    };
    let outputs = gathered.outputs.iter();
    outputs
        .filter(|output| goes_in(output.status))
        .map(|output| Input {
            agent: output.seat.agent().as_str(),
            rank: output.seat.rank().as_str(),
            weight: output.seat.weight(),
            text: &output.text,
        })
        .collect()
}

/// The intent to have somebody else make it.
struct Start<'a> {
    made: &'a Made<'a>,
    prompt: &'a str,
}

impl Decide for Start<'_> {
    fn decide(&self, views: &Views, moment: &Moment<'_>) -> Result<Decision, Undecided> {
        let made = self.made;
        let subject = Subject::Operation(made.operation.clone());
        let expect = vec![unchanged(views, subject)?];
        let facts = ReduceStarted {
            instance: moment.instance,
            strategy: made.command.strategy,
            method: made.command.by.method(),
            position: made.gathered.roster.position,
            inputs: made.inputs,
            member_ids: made.gathered.roster.ids(),
        };
        let text = |role, text: &str| {
            let about = About::default();
            moment.redactor.text(moment.ids, role, about, text)
        };
        let mut payloads = vec![text(Role::Request, self.prompt)];
        if let Reducer::Command { given, .. } = &made.command.by {
            payloads.push(text(Role::Command, given));
        }
        let links = made.links();
        let draft = moment.step(made.operation, None, &links, facts.into(), payloads);
        Ok(Decision {
            expect,
            drafts: vec![draft],
        })
    }
}
