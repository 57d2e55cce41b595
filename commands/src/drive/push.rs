//! Push notification configurations at the agent: made, looked at, taken away.
//!
//! The card is asked first whether the agent pushes at all (A2A 1.0, section 3.1.7), so that nobody waits
//! for what cannot come. What an agent confirms becomes a fact; tokens and credentials become none, and are
//! in no payload either.

use missive_log::event::facts::BareUrl;
use missive_log::event::kind::{PushConfigured, PushRemoved};
use missive_log::event::{
    Draft, EventKind, Links, OperationId, PushConfigId, Seq, Subject, TaskId,
};
use missive_log::payload::About;
use missive_log::{Log, Role};
use url::Url;

use super::call::Call;
use super::card::Want;
use super::choose::Chosen;
use super::send::{Line, name_of};
use super::{Course, Done};
use crate::decide::Moment;
use crate::evidence;
use crate::exit::Exit;
use crate::facts;
use crate::failure::{CommandError, Failure};
use crate::interrupt::Interrupt;
use crate::note::Note;
use crate::peer::{Peer, Target, agent_url};
use crate::refusal::Refusal;
use crate::report::push::{
    PushAuthenticationView, PushConfigView, PushDeleteReport, PushListReport, PushReport,
};
use crate::report::raw;
use crate::run::Missive;
use crate::wire::answer::{Reading, Reply};
use crate::wire::push::{NewPushConfig, PushCall, PushConfig, PushReply};
use crate::wire::request::Operation;

/// The most pages of configurations that are asked for.
const PAGES_MAX: usize = 100;

/// Checks where deliveries are to go: an absolute http or https URL without credentials. Its query, if it has
/// one, goes to the agent and into no fact.
///
/// # Errors
/// [`Refusal::BadUrl`].
pub fn receiver_url(text: &str) -> Result<Url, Refusal> {
    let (bare, query) = match text.split_once('?') {
        Some((bare, query)) if !query.contains('#') => (bare, Some(query)),
        Some(_) | None => (text, None),
    };
    let (mut url, _) = agent_url(bare)?;
    url.set_query(query);
    Ok(url)
}

/// What a call is made with.
struct Way {
    peer: Peer,
    line: Line,
    course: Course,
    links: Links,
}

impl<L: Log> Missive<L> {
    /// Asks an agent to push the updates of a task.
    ///
    /// # Errors
    /// A refusal if the agent's card says that it does not push, or if the request cannot be formed; or a
    /// failure, which the log knows as well.
    pub async fn push_create(
        &self,
        target: &Target,
        config: &NewPushConfig,
        interrupt: &mut Interrupt,
    ) -> Result<Done<PushReport>, CommandError> {
        let call = PushCall::Create(config.clone());
        self.push_one(target, call, interrupt).await
    }

    /// Asks for one configuration.
    ///
    /// # Errors
    /// See [`Missive::push_create`].
    pub async fn push_get(
        &self,
        target: &Target,
        task: &TaskId,
        config: &PushConfigId,
        interrupt: &mut Interrupt,
    ) -> Result<Done<PushReport>, CommandError> {
        let call = PushCall::Get {
            task_id: task.to_string(),
            config_id: config.to_string(),
        };
        self.push_one(target, call, interrupt).await
    }

    async fn push_one(
        &self,
        target: &Target,
        call: PushCall,
        interrupt: &mut Interrupt,
    ) -> Result<Done<PushReport>, CommandError> {
        let task_id = call.task_id().to_owned();
        let mut way = self.push_way(target, &task_id, interrupt).await?;
        let reading = self.push_call(&mut way, call, interrupt).await?;
        self.settle();
        let Reply::Push(PushReply::Config(config)) = &reading.reply else {
            return Err(unexpected());
        };
        let report = PushReport {
            operation_id: way.course.operation.to_string(),
            agent: name_of(&way.peer),
            task_id,
            interface: way.line.report(),
            config: self.push_view(config, &reading.raw),
            sequence: way.course.newest.0,
        };
        Ok(Done {
            report,
            exit: Exit::Done,
        })
    }

    /// Asks for every configuration of a task, page by page.
    ///
    /// # Errors
    /// See [`Missive::push_create`].
    pub async fn push_list(
        &self,
        target: &Target,
        task: &TaskId,
        interrupt: &mut Interrupt,
    ) -> Result<Done<PushListReport>, CommandError> {
        let mut way = self.push_way(target, task.as_str(), interrupt).await?;
        let mut all = Vec::new();
        let mut page_token = None;
        for page in 1..=PAGES_MAX {
            let call = PushCall::List {
                task_id: task.to_string(),
                page_size: None,
                page_token: page_token.clone(),
            };
            let reading = self.push_call(&mut way, call, interrupt).await?;
            let Reply::Push(PushReply::Configs {
                configs,
                next_page_token,
            }) = reading.reply
            else {
                return Err(unexpected());
            };
            let views = configs
                .iter()
                .map(|(config, text)| self.push_view(config, text));
            all.extend(views);
            // An agent that hands out the same token again would be asked for ever.
            if next_page_token.is_none() || next_page_token == page_token {
                break;
            }
            page_token = next_page_token;
            if page == PAGES_MAX {
                self.note(Note::MorePages { pages: PAGES_MAX });
            }
        }
        self.settle();
        let report = PushListReport {
            operation_id: way.course.operation.to_string(),
            agent: name_of(&way.peer),
            task_id: task.to_string(),
            interface: way.line.report(),
            configs: all,
            sequence: way.course.newest.0,
        };
        Ok(Done {
            report,
            exit: Exit::Done,
        })
    }

    /// Asks an agent to push no more.
    ///
    /// # Errors
    /// See [`Missive::push_create`].
    pub async fn push_delete(
        &self,
        target: &Target,
        task: &TaskId,
        config: &PushConfigId,
        interrupt: &mut Interrupt,
    ) -> Result<Done<PushDeleteReport>, CommandError> {
        let mut way = self.push_way(target, task.as_str(), interrupt).await?;
        let call = PushCall::Delete {
            task_id: task.to_string(),
            config_id: config.to_string(),
        };
        self.push_call(&mut way, call, interrupt).await?;
        self.settle();
        let report = PushDeleteReport {
            operation_id: way.course.operation.to_string(),
            agent: name_of(&way.peer),
            task_id: task.to_string(),
            config_id: config.to_string(),
            interface: way.line.report(),
            sequence: way.course.newest.0,
        };
        Ok(Done {
            report,
            exit: Exit::Done,
        })
    }

    /// Whom to ask and where, if the agent pushes.
    async fn push_way(
        &self,
        target: &Target,
        task: &str,
        interrupt: &mut Interrupt,
    ) -> Result<Way, CommandError> {
        let peer = self.peer(target)?;
        let task = TaskId::new(task).map_err(|_| Failure::Internal {
            what: "a task id that was checked is none",
        })?;
        let known = self.views().task(&task, peer.alias.as_ref())?;
        let links = Links {
            agent: peer.alias.clone(),
            context: known.and_then(|known| known.context),
            task: Some(task),
            group: None,
        };
        let mut course = Course::new(self.ids().operation());
        let mut chosen = self
            .choose(&mut course, &peer, None, Want::Usable, interrupt)
            .await?;
        if denies_push(&chosen) && chosen.card.as_ref().is_some_and(|card| card.cached) {
            // Its owner may have taught it since.
            chosen = self
                .choose(&mut course, &peer, None, Want::Newest, interrupt)
                .await?;
        }
        if denies_push(&chosen) {
            return Err(Refusal::NoPush {
                agent: name_of(&peer),
                card: chosen
                    .card
                    .as_ref()
                    .and_then(|card| facts::address(self.redactor(), &card.from))
                    .map(|url| url.to_string()),
            }
            .into());
        }
        let line = Line::new(chosen.negotiated.choice, self.redactor())?;
        line.tell();
        Ok(Way {
            peer,
            line,
            course,
            links,
        })
    }

    async fn push_call(
        &self,
        way: &mut Way,
        call: PushCall,
        interrupt: &mut Interrupt,
    ) -> Result<Reading, CommandError> {
        let call = Call {
            agent: way.peer.alias.as_ref(),
            line: &way.line,
            operation: Operation::Push(call),
            links: way.links.clone(),
            known: None,
            abandoned: None,
        };
        self.call(&mut way.course, call, interrupt).await
    }

    fn push_view(&self, config: &PushConfig, text: &str) -> PushConfigView {
        let clean = |text: &String| self.redactor().clean(text);
        let scheme = config.scheme.as_ref().map(clean);
        PushConfigView {
            config_id: config.config_id.as_ref().map(clean),
            url: config.url.as_ref().map(clean),
            token: config.token,
            authentication: scheme.map(|scheme| PushAuthenticationView {
                scheme,
                credentials: config.credentials,
            }),
            raw: raw(&self.redactor().clean(text)),
        }
    }
}

fn unexpected() -> CommandError {
    Failure::Internal {
        what: "a call about push configurations was answered with something else",
    }
    .into()
}

fn denies_push(chosen: &Chosen) -> bool {
    let mut card = chosen.card.iter();
    card.any(|loaded| !loaded.card.capabilities.push_notifications)
}

/// What an agent confirmed by answering a call about push configurations.
pub(super) fn confirmed(
    moment: &Moment<'_>,
    (operation, intent): (&OperationId, Seq),
    links: &Links,
    call: &PushCall,
    reading: &Reading,
) -> Option<Draft> {
    let task = TaskId::new(call.task_id()).ok()?;
    let subject = Subject::Task(task.clone());
    let (kind, payloads) = match (call, &reading.reply) {
        (PushCall::Create(asked), Reply::Push(PushReply::Config(told))) => {
            let id = told.config_id.as_ref().or(asked.config_id.as_ref());
            let kind = EventKind::PushConfigured(PushConfigured {
                config: PushConfigId::new(id?).ok()?,
                task,
                url: address(moment, told.url.as_deref(), &asked.url)?,
                token: asked.token.is_some() || told.token,
                authentication: asked.authentication.is_some() || told.scheme.is_some(),
            });
            let (ids, redactor) = (moment.ids, moment.redactor);
            let answer = evidence::of_object(ids, redactor, Role::Response, &reading.raw);
            let mut payloads = vec![answer];
            if let Some(metadata) = &asked.metadata {
                let text = metadata.text().as_bytes();
                payloads.push(redactor.json(ids, Role::Metadata, About::default(), text));
            }
            (kind, payloads)
        }
        (PushCall::Delete { config_id, .. }, _) => {
            let config = PushConfigId::new(config_id).ok()?;
            let kind = EventKind::PushRemoved(PushRemoved { task, config });
            (kind, Vec::new())
        }
        (PushCall::Create(_) | PushCall::Get { .. } | PushCall::List { .. }, _) => return None,
    };
    let mut draft = moment.step(operation, Some(intent), links, kind, payloads);
    draft.subject = subject;
    Some(draft)
}

/// Where the agent says that it delivers, else where it was asked to.
fn address(moment: &Moment<'_>, told: Option<&str>, asked: &Url) -> Option<BareUrl> {
    let told = told.and_then(|text| Url::parse(text).ok());
    let told = told.and_then(|url| facts::address(moment.redactor, &url));
    told.or_else(|| facts::address(moment.redactor, asked))
}
