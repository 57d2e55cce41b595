//! `missive push`: what agents push, asked of the agents themselves.
//!
//! Secrets are read from the environment before anything is opened, go into the request and into the
//! redactor, and nowhere else.

use super::acting::{self, OnLog, Told, Wish, word};
use super::{Setting, send};
use crate::args::push::{Create, List, Named, Push};
use crate::auth;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::open::Session;
use crate::render::{Kind, Lines, Output, Page, Report};
use missive_commands::drive::push::receiver_url;
use missive_commands::report::push::{
    PushConfigView, PushDeleteReport, PushListReport, PushReport,
};
use missive_commands::secret::Secret;
use missive_commands::wire::push::{NewPushConfig, PushAuthentication};
use missive_commands::{Done, Exit, Target};
use serde::Serialize;

pub(super) async fn run(
    command: &Push,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match command {
        Push::Create(command) => create(command, setting, output).await,
        Push::Get(command) => get(command, setting, output).await,
        Push::List(command) => list(command, setting, output).await,
        Push::Delete(command) => delete(command, setting, output).await,
    }
}

async fn create(
    command: &Create,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let target = acting::target(&command.agent);
    let config = config(command)?;
    let secrets: Vec<Secret> = [
        config.token.clone(),
        config
            .authentication
            .as_ref()
            .and_then(|how| how.credentials.clone()),
    ]
    .into_iter()
    .flatten()
    .collect();
    let asked = Asked {
        target: &target,
        kind: Kind::PushCreate,
        secrets,
    };
    asked
        .perform(setting, output, async |missive, wish| {
            missive
                .push_create(&target, &config, &mut wish.interrupt())
                .await
        })
        .await
}

/// What the arguments ask for; a secret that cannot be had ends the command here.
fn config(command: &Create) -> Result<NewPushConfig, Failure> {
    let environment = Environment::of_process();
    let secret = |name: &Option<String>, flag: &str| {
        let name = name.as_ref();
        name.map(|name| auth::variable(name, flag, &environment))
            .transpose()
    };
    let token = secret(&command.token_env, "--token-env")?;
    let credentials = secret(&command.auth_credentials_env, "--auth-credentials-env")?;
    let url = receiver_url(&command.url).map_err(|refusal| {
        Failure::from_error(refusal.exit(), &refusal)
            .detail(refusal.detail())
            .hint("the URL of a receiver holds no credentials: those have --token-env and --auth-scheme")
    })?;
    Ok(NewPushConfig {
        task_id: command.task.to_string(),
        config_id: command.config_id.as_ref().map(ToString::to_string),
        url,
        token,
        authentication: command
            .auth_scheme
            .clone()
            .map(|scheme| PushAuthentication {
                scheme,
                credentials,
            }),
        metadata: send::metadata(&command.metadata)?,
    })
}

async fn get(command: &Named, setting: &Setting<'_>, output: &mut Output) -> Result<Exit, Failure> {
    let target = acting::target(&command.agent);
    let (task, config) = (&command.task, &command.config_id);
    Asked::plain(&target, Kind::PushGet)
        .perform(setting, output, async |missive, wish| {
            missive
                .push_get(&target, task, config, &mut wish.interrupt())
                .await
        })
        .await
}

async fn list(command: &List, setting: &Setting<'_>, output: &mut Output) -> Result<Exit, Failure> {
    let target = acting::target(&command.agent);
    let asked = Asked::plain(&target, Kind::PushList);
    asked
        .perform(setting, output, async |missive, wish| {
            missive
                .push_list(&target, &command.task, &mut wish.interrupt())
                .await
        })
        .await
}

async fn delete(
    command: &Named,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let target = acting::target(&command.agent);
    let (task, config) = (&command.task, &command.config_id);
    Asked::plain(&target, Kind::PushDelete)
        .perform(setting, output, async |missive, wish| {
            missive
                .push_delete(&target, task, config, &mut wish.interrupt())
                .await
        })
        .await
}

/// A question to an agent.
struct Asked<'a> {
    target: &'a Target,
    kind: Kind,
    /// What must be stored nowhere beside what every command knows.
    secrets: Vec<Secret>,
}

impl<'a> Asked<'a> {
    fn plain(target: &'a Target, kind: Kind) -> Self {
        Self {
            target,
            kind,
            secrets: Vec::new(),
        }
    }

    async fn perform<R>(
        self,
        setting: &Setting<'_>,
        output: &mut Output,
        ask: impl AsyncFnOnce(&OnLog, &Wish) -> Result<Done<R>, missive_commands::CommandError>,
    ) -> Result<Exit, Failure>
    where
        Shown<R>: Report,
    {
        let session = acting::session_for(self.target, setting).await?;
        session
            .used(async |session: &Session| {
                let target = Some(self.target);
                let missive = acting::for_requests_with(setting, session, target, self.secrets)?;
                let wish = Wish::listen()?;
                let progress = acting::progress(output, "waiting for the agent");
                let asked = ask(&missive, &wish).await;
                drop(progress);
                let told = Told::of(setting).about(self.target);
                let told = told.ended_by(wish.ending());
                let asked = acting::concluded(&missive, output, &told, asked);
                let done = asked.map_err(|failure| self.kind.advise(failure, self.target))?;
                let shown = Shown {
                    kind: self.kind,
                    report: done.report,
                };
                output.report(&shown).await?;
                Ok(wish.exit(done.exit))
            })
            .await
    }
}

impl Kind {
    /// Whether an unanswered creation made a configuration is what the list tells.
    fn advise(self, failure: Failure, target: &Target) -> Failure {
        let unanswered = matches!(failure.exit(), Exit::Transport | Exit::Timeout);
        if self != Self::PushCreate || !unanswered {
            return failure;
        }
        let agent = match target {
            Target::Alias(alias) => alias.to_string(),
            Target::Url(url) => url.clone(),
        };
        failure.hint(format!(
            "`missive push list {} TASK` tells whether it was made all the same",
            word(&agent)
        ))
    }
}

/// A report under the name of its command.
#[derive(Serialize)]
#[serde(transparent)]
struct Shown<R> {
    #[serde(skip)]
    kind: Kind,
    report: R,
}

fn fields(page: &mut Page, task: &str, agent: &str, config: &PushConfigView) {
    let authentication = config.authentication.as_ref().map(|how| {
        let with = if how.credentials { "with" } else { "without" };
        format!("{} ({with} credentials)", how.scheme)
    });
    page.fields(&[
        ("config", config.config_id.as_deref().unwrap_or("(no id)")),
        ("task", task),
        ("agent", agent),
        ("url", config.url.as_deref().unwrap_or_default()),
        ("token", if config.token { "yes" } else { "no" }),
        ("auth", authentication.as_deref().unwrap_or("none")),
    ]);
}

impl Report for Shown<PushReport> {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn human(&self, page: &mut Page) {
        let report = &self.report;
        fields(page, &report.task_id, &report.agent, &report.config);
    }
}

impl Report for Shown<PushListReport> {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn human(&self, page: &mut Page) {
        let rows = self.report.configs.iter().map(|config| {
            let scheme = config.authentication.as_ref().map(|how| how.scheme.clone());
            [
                config.config_id.clone().unwrap_or_default(),
                config.url.clone().unwrap_or_default(),
                if config.token { "yes" } else { "no" }.to_owned(),
                scheme.unwrap_or_else(|| "none".to_owned()),
            ]
        });
        page.table(["config", "url", "token", "auth"], rows);
    }

    fn lines(&self, lines: &mut Lines) -> Result<(), serde_json::Error> {
        let report = &self.report;
        for config in &report.configs {
            let line = Listed {
                operation_id: &report.operation_id,
                agent: &report.agent,
                task_id: &report.task_id,
                config,
            };
            lines.push(self.kind, true, &line)?;
        }
        Ok(())
    }
}

/// One line of `push_list`.
#[derive(Serialize)]
struct Listed<'a> {
    operation_id: &'a str,
    agent: &'a str,
    task_id: &'a str,
    config: &'a PushConfigView,
}

impl Report for Shown<PushDeleteReport> {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn human(&self, page: &mut Page) {
        let report = &self.report;
        page.line(&format!(
            "{} pushes no more to configuration {} of task {}",
            report.agent, report.config_id, report.task_id
        ));
    }
}
