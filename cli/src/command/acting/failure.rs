//! Refusals and failures of the acting room, with what the user can do about them.

use super::agent::{CREDENTIALS, LARGER_EVENTS, about_call, about_card, about_peer, larger};
use super::group;
use super::quote::word;
use crate::command::Setting;
use crate::failure::{Failure, LeftTask};
use crate::open::{Home, failure};
use crate::suggest;
use missive_commands::contexts::can_be_new;
use missive_commands::wire::negotiate::NoChoice;
use missive_commands::{CommandError, Exit, Failure as Broke, Refusal, Target};
use missive_log::event::{Alias, OperationId, TaskId};

const ADDRESS: &str = "the address of an agent is absolute, such as https://agent.example, and holds no \
                       secret: those have --bearer-token-env and --header";
const TOO_LARGE: &str = "raise `max_request_bytes` in [qos], or send a reference with --file";
const TOO_LARGE_THERE: &str = "a file given with --file-bytes travels in the message and grows by a third: send a \
                               reference with --file, or ask for a higher limit at the agent";
const PUBLIC_CARD: &str =
    "without --extended the public card is shown; --refresh asks for the newest one";

/// What the words of a failure need to know.
#[derive(Debug, Clone)]
pub(crate) struct Told<'a> {
    home: &'a Home,
    /// The agent as the user named it.
    agent: Option<String>,
    /// How a command ends that a signal ended.
    ending: Exit,
    /// Whether the user named a task with `--task`.
    continues: bool,
    /// Whether a message is sent.
    sends: bool,
}

impl<'a> Told<'a> {
    /// About nobody in particular.
    pub(crate) fn of(setting: &'a Setting<'_>) -> Self {
        Self {
            home: &setting.home,
            agent: None,
            ending: Exit::Interrupted,
            continues: false,
            sends: false,
        }
    }

    /// About an agent.
    pub(crate) fn about(mut self, target: &Target) -> Self {
        self.agent = Some(match target {
            Target::Alias(alias) => alias.to_string(),
            Target::Url(url) => url.clone(),
        });
        self
    }

    /// Of a command that sends a message, which continues a task or does not.
    pub(crate) fn continuing(mut self, task: Option<&TaskId>) -> Self {
        self.sends = true;
        self.continues = task.is_some();
        self
    }

    /// With the signal that ended the command.
    pub(crate) fn ended_by(mut self, ending: Exit) -> Self {
        self.ending = ending;
        self
    }

    /// An error of the acting room as the user is told.
    pub(crate) fn failure(&self, error: CommandError) -> Failure {
        let operation = error.operation().map(OperationId::to_string);
        let left_task = error.left_task().map(|left| LeftTask {
            task: left.task.to_string(),
            context: left.context.map(ToString::to_string),
            state: left.state,
        });
        let failure = match error {
            CommandError::Refused(refusal) => self.refused(&refusal),
            CommandError::Failed(broke) => self.failed(broke),
        };
        failure.of_operation(operation).leaving(left_task)
    }

    fn agent(&self) -> String {
        word(self.agent.as_deref().unwrap_or("AGENT"))
    }

    fn is_url(&self) -> bool {
        self.agent
            .as_deref()
            .is_some_and(|agent| agent.contains("://"))
    }

    fn refused(&self, refusal: &Refusal) -> Failure {
        let failure = Failure::from_error(refusal.exit(), refusal);
        let failure = failure.detail(refusal.detail());
        let hint = if let Refusal::NoAgent {
            alias,
            nearest,
            known,
            renamed_to,
            is_group,
        } = refusal
        {
            Some(if *is_group {
                group::instead_of_an_agent(alias.as_str())
            } else {
                who_was_meant(alias, nearest, known, renamed_to.as_ref())
            })
        } else if let Refusal::NoAuthRef { name, known } = refusal {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let hint = suggest::hint(name, "reference", &known);
            Some(hint.unwrap_or_else(|| {
                format!("docs/configuration.md shows how to write [auth_refs.{name}]")
            }))
        } else if let Refusal::NoInterface(why) = refusal {
            self.about_interfaces(why)
        } else {
            self.advice(refusal)
        };
        failure.hint_if(hint)
    }

    fn about_interfaces(&self, why: &NoChoice) -> Option<String> {
        match why {
            NoChoice::NothingFits { .. } if self.is_url() => Some(format!(
                "after `missive agent add ALIAS {}`, `missive agent inspect ALIAS` shows every interface and \
                 why it is not taken; missive speaks http+json and json-rpc",
                self.agent()
            )),
            NoChoice::NothingFits { .. } => Some(format!(
                "`missive agent inspect {}` shows every interface and why it is not taken; missive speaks \
                 http+json and json-rpc",
                self.agent()
            )),
            NoChoice::WrongHost { .. } | NoChoice::Nothing => Some(
                "say where the agent really listens with `missive agent add ALIAS URL --interface \
                 BINDING=URL`"
                    .to_owned(),
            ),
            NoChoice::NotSpoken { .. } => Some("this version speaks A2A 1.0".to_owned()),
            NoChoice::OnlyOldVersions { .. } => None,
        }
    }

    fn advice(&self, refusal: &Refusal) -> Option<String> {
        Some(match refusal {
            Refusal::AliasTaken { alias, configured } => taken(alias, *configured),
            Refusal::Configured { .. } => "change it in the configuration file".to_owned(),
            Refusal::BadUrl { .. } => ADDRESS.to_owned(),
            Refusal::TaskEnded {
                context: Some(context),
                ..
            } => format!(
                "open a new task in the same context with `missive send {} --context {} \"...\"`",
                self.agent(),
                word(context.as_str())
            ),
            Refusal::TaskEnded { context: None, .. } => {
                "leave --task out to open a new one".to_owned()
            }
            Refusal::ContextMismatch { belongs_to, .. } => format!(
                "leave --context out, or give --context {}",
                word(belongs_to.as_str())
            ),
            Refusal::NoTask { .. }
            | Refusal::SeveralTasks { .. }
            | Refusal::TaskOfUrl { .. }
            | Refusal::NoArtifact { .. } => return about_task(refusal),
            Refusal::NoContext { name, nearest } => no_context(name, nearest),
            Refusal::ContextTaken { context, .. } | Refusal::ContextClosed { context } => {
                format!("`missive context show {}` shows it", word(context.as_str()))
            }
            Refusal::NoPush { .. } => format!(
                "`missive task get TASK` shows what the log knows; `missive agent refresh {}` fetches the card \
                 again, should it be out of date",
                self.agent()
            ),
            Refusal::ExtensionsRequired { missing } => declare(missing),
            Refusal::NoExtendedCard => PUBLIC_CARD.to_owned(),
            Refusal::NoCardKnown { alias } => cards_of(alias),
            Refusal::NoCredentials => CREDENTIALS.to_owned(),
            Refusal::RequestTooLarge { .. } => TOO_LARGE.to_owned(),
            Refusal::NothingToReanchor => "`missive events verify` looks for one".to_owned(),
            Refusal::Redacted { message_id, .. } => format!(
                "type it again with `missive send {} --message-id {} ...`",
                self.agent(),
                word(message_id)
            ),
            Refusal::NoOperation { .. }
            | Refusal::Finished { .. }
            | Refusal::StillRunning { .. } => return about_operation(refusal),
            Refusal::NoGroup { .. }
            | Refusal::EmptyGroup { .. }
            | Refusal::NoBroadcast { .. }
            | Refusal::NothingToReduce { .. }
            | Refusal::NoReduction { .. } => return group::advice(refusal),
            Refusal::Group(why) => group::about(why),
            Refusal::NoAgent { .. }
            | Refusal::NoAuthRef { .. }
            | Refusal::NoInterface(_)
            | Refusal::BadName { .. }
            | Refusal::TooMany { .. }
            | Refusal::NoParts
            | Refusal::BadVersion { .. }
            | Refusal::Request(_)
            | Refusal::Address { .. }
            | Refusal::HiddenInterface { .. }
            | Refusal::Erased { .. }
            | Refusal::NoReason => return None,
        })
    }

    fn failed(&self, broke: Broke) -> Failure {
        let exit = if broke.exit() == Exit::Interrupted {
            self.ending
        } else {
            broke.exit()
        };
        let detail = broke.detail();
        let detailed = |failure: Failure| match detail {
            Some(detail) => failure.detail(detail),
            None => failure,
        };
        match broke {
            Broke::Append(error) => failure::append(self.home, error),
            Broke::Read(error) => failure::read(self.home, error),
            Broke::Views(error) => failure::views(self.home, &error),
            Broke::Card { error, cause, .. } => {
                let failure = detailed(Failure::from_error(exit, &error));
                let source = cause
                    .as_ref()
                    .map(|cause| -> &dyn std::error::Error { cause });
                let said = cause.as_ref().map(ToString::to_string);
                let failure = failure.caused_by(source);
                about_card(failure.without_layers_below(said.as_deref()), &error)
            }
            other @ (Broke::Peer { .. }
            | Broke::NotSent { .. }
            | Broke::NoAnswer { .. }
            | Broke::InDoubt { .. }
            | Broke::StillInDoubt { .. }
            | Broke::CannotAsk { .. }
            | Broke::Recorded { .. }
            | Broke::TooLargeForPeer { .. }
            | Broke::StreamLost { .. }
            | Broke::Reducer { .. }
            | Broke::Interrupted { .. }
            | Broke::Superseded { .. }
            | Broke::Contended { .. }
            | Broke::Payload { .. }
            | Broke::Broken { .. }
            | Broke::Redirect { .. }
            | Broke::Internal { .. }) => {
                advised(detailed(Failure::from_error(exit, &other)), &other, self)
            }
        }
    }
}

/// What to do where an operation cannot be looked after.
fn about_operation(refusal: &Refusal) -> Option<String> {
    if let Refusal::NoOperation { in_doubt, .. } = refusal {
        return Some(match in_doubt.first() {
            Some(first) => format!("in doubt is {first}; `missive doctor` lists all"),
            None => "`missive doctor` lists what is in doubt".to_owned(),
        });
    }
    if let Refusal::Finished { operation } = refusal {
        return Some(format!(
            "`missive events list --operation {operation}` shows how it ended"
        ));
    }
    matches!(refusal, Refusal::StillRunning { .. })
        .then(|| "wait until that process ends, or end it and run the command again".to_owned())
}

/// What can be done where a task, or a part of one, is not what was meant.
fn about_task(refusal: &Refusal) -> Option<String> {
    if let Refusal::NoTask { task, known, .. } = refusal {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        return Some(
            suggest::hint(task.as_str(), "task", &known).unwrap_or_else(|| {
                "`missive task list` shows all; name the agent with --agent to ask it".to_owned()
            }),
        );
    }
    if let Refusal::SeveralTasks { agents, .. } = refusal {
        return Some(format!("name one with --agent: {}", agents.join(", ")));
    }
    if let Refusal::NoArtifact {
        artifact, known, ..
    } = refusal
    {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        return suggest::hint(artifact, "artifact", &known);
    }
    Some("name its address with --agent URL".to_owned())
}

/// Where it is told when cards of an agent came.
fn cards_of(alias: &Alias) -> String {
    format!("`missive events list --agent {alias} --type 'a2a.card.*'` shows when one was fetched")
}

/// How extensions are declared.
fn declare(missing: &[String]) -> String {
    let flags = missing.iter();
    let flags: Vec<String> = flags
        .map(|uri| format!("--a2a-extension {}", word(uri)))
        .collect();
    format!("declare it with {}", flags.join(" "))
}

/// What can be done about a failure of an operation.
fn advised(failure: Failure, broke: &Broke, told: &Told<'_>) -> Failure {
    let agent = told.agent.as_deref();
    match broke {
        Broke::Peer { error, .. } => about_peer(failure, error, told.continues),
        Broke::NotSent { error, .. } | Broke::NoAnswer { error, .. } => failure
            .without_layers_below(Some(&error.to_string()))
            .hint_if(about_call(error.kind)),
        Broke::InDoubt { operation, error } => {
            let failure = failure.without_layers_below(Some(&error.to_string()));
            in_doubt(failure, operation).hint_if(larger(error))
        }
        Broke::StillInDoubt { operation, .. } => failure.hint(format!(
            "`missive retry {operation} --resend` sends it again with the same message id, which a \
             careful agent answers only once"
        )),
        Broke::CannotAsk { operation, .. } => failure
            .hint(format!(
                "run `missive retry {operation}` again when the agent answers: nothing is sent again \
                 before it was asked"
            ))
            .hint(
                "if the agent is gone for good the doubt stays on the record, and `missive doctor` keeps \
                 listing it",
            ),
        Broke::Recorded { operation, .. } => failure.hint(format!(
            "nobody was asked: the operation is over, and `missive events list --operation {operation}` \
             shows its events"
        )),
        Broke::TooLargeForPeer { error, .. } => about_peer(failure.hint(TOO_LARGE_THERE), error, told.continues),
        Broke::Interrupted {
            operation,
            in_doubt: doubt,
            task,
        } => match (doubt, task) {
            (true, _) => in_doubt(failure, operation),
            (false, Some(task)) => failure.hint(follow(task.as_str(), agent.unwrap_or_default())),
            (false, None) => failure,
        },
        Broke::StreamLost { task, why, .. } => {
            let failure = match task {
                Some(task) => failure.hint(follow(task.as_str(), agent.unwrap_or_default())),
                None => failure,
            };
            if why.contains("bytes allowed") {
                return failure.hint(LARGER_EVENTS);
            }
            failure
        }
        Broke::Broken { .. } if told.sends => failure.hint(format!(
            "the agent took the message and may act on it: `missive task list --remote --agent {}` shows its tasks",
            told.agent()
        )),
        Broke::Superseded { operation } => failure.hint(format!(
            "`missive events list --operation {operation}` shows how it ended"
        )),
        Broke::Contended { .. } => failure.hint("run the command again"),
        Broke::Append(_)
        | Broke::Read(_)
        | Broke::Views(_)
        | Broke::Card { .. }
        | Broke::Payload { .. }
        | Broke::Broken { .. }
        | Broke::Redirect { .. }
        | Broke::Reducer { .. }
        | Broke::Internal { .. } => failure,
    }
}

fn who_was_meant(
    alias: &Alias,
    nearest: &[Alias],
    known: &[Alias],
    renamed_to: Option<&Alias>,
) -> String {
    if let Some(now) = renamed_to {
        return format!("it was renamed to `{now}`");
    }
    if !nearest.is_empty() {
        let names: Vec<String> = nearest.iter().map(|near| format!("`{near}`")).collect();
        return format!("did you mean {}?", names.join(" or "));
    }
    let known: Vec<&str> = known.iter().map(Alias::as_str).collect();
    suggest::hint(alias.as_str(), "agent", &known)
        .unwrap_or_else(|| format!("register it with `missive agent add {alias} URL`"))
}

fn in_doubt(failure: Failure, operation: &OperationId) -> Failure {
    failure
        .hint(format!(
            "`missive retry {operation}` asks the agent what became of it"
        ))
        .hint("`missive doctor` lists everything that is in doubt")
}

/// The flag that says whose a task is, where it must be said: an alias is found by the task.
pub(crate) fn of_agent(agent: &str) -> String {
    if agent.contains("://") {
        format!(" --agent {}", word(agent))
    } else {
        String::new()
    }
}

/// How to follow a task that goes on at the agent.
pub(crate) fn follow(task: &str, agent: &str) -> String {
    let task = word(task);
    let of = of_agent(agent);
    format!(
        "the task goes on at the agent: `missive task subscribe {task}{of}` follows it, `missive task wait \
         {task}{of}` waits for its end, and `missive task cancel {task}{of}` cancels it"
    )
}

fn taken(alias: &Alias, configured: bool) -> String {
    let place = if configured {
        ", which the configuration holds"
    } else {
        ""
    };
    format!("choose another alias; `missive agent show {alias}` shows this one{place}")
}

fn no_context(name: &str, nearest: &[String]) -> String {
    if !nearest.is_empty() {
        return format!("did you mean `{}`?", nearest.join("`, `"));
    }
    if can_be_new(name) {
        return "`missive context list` shows the contexts that there are".to_owned();
    }
    "the id of a new context has 1 to 256 of the characters A-Z, a-z, 0-9, `.`, `_`, `:` and `-`"
        .to_owned()
}
