//! `missive webhook run`: receives push notifications until it is interrupted, has enough, or its time is
//! over.
//!
//! The socket is bound before a log is opened, so that a port that is taken changes nothing. Deliveries are
//! shown as they come, in the order in which they became durable for their senders.

use super::acting::{self, Told};
use super::{Setting, warn_of_fault};
use crate::args::push::{Webhook, WebhookRun};
use crate::auth;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::gateway::webhook::{Door, Event, Limits, SHOWN_MAX, listen};
use crate::interrupt::Interrupt;
use crate::open::Session;
use crate::render::{Kind, Mode, Output, Page, Reader, Report, Tint};
use missive_commands::receive::{Key, Receive, Reception};
use missive_commands::report::push::{DeliveryReport, RejectionReport, StoppedReport};
use missive_commands::secret::Secret;
use missive_commands::wire::text::excerpt;
use missive_commands::{CommandError, Exit, Failure as Broke};
use missive_log::Log;
use missive_log::event::facts::WebhookEnd;
use serde::Serialize;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};

/// How often refusals are recorded, at most one event for each reason.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// How many deliveries are taken out at a time to be shown.
const SHOWN_AT_ONCE: usize = 64;

pub(super) async fn run(
    command: &Webhook,
    setting: &Setting<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let Webhook::Run(command) = command;
    let keys = Keys {
        key: key(command)?,
        notification_token: notification_token(command)?,
    };
    let listener = bind(command).await?;
    let session = setting.home.write().await?;
    session
        .used(async |session| receive(command, keys, listener, setting, session, output).await)
        .await
}

/// What opens the receiver.
struct Keys {
    key: Option<Key>,
    notification_token: Option<Secret>,
}

/// The push configuration's own token.
fn notification_token(command: &WebhookRun) -> Result<Option<Secret>, Failure> {
    let name = command.token_env.as_ref();
    let token = name.map(|name| auth::variable(name, "--token-env", &Environment::of_process()));
    token.transpose()
}

/// What opens the receiver by the operator's header. A secret that cannot be had ends the command here.
fn key(command: &WebhookRun) -> Result<Option<Key>, Failure> {
    let Some(name) = &command.auth_token_env else {
        return Ok(None);
    };
    let token = auth::variable(name, "--auth-token-env", &Environment::of_process())?;
    let alone = command.auth_scheme.eq_ignore_ascii_case("none");
    let key = Key {
        token,
        header: command.auth_header.clone(),
        scheme: Some(command.auth_scheme.clone()).filter(|_| !alone),
    };
    key.check()
        .map_err(|error| Failure::from_error(Exit::Usage, &error).detail("header"))?;
    Ok(Some(key))
}

async fn bind(command: &WebhookRun) -> Result<TcpListener, Failure> {
    let address = SocketAddr::new(command.bind_address, command.port);
    TcpListener::bind(address).await.map_err(|error| {
        let failure = Failure::io(format!("{address} cannot be listened on"), &error);
        let failure = failure.detail("listen");
        let kind = error.kind();
        if kind == ErrorKind::AddrInUse {
            failure.hint("something listens there already: choose another --port, or 0 for any")
        } else if kind == ErrorKind::AddrNotAvailable {
            failure.hint("--bind-address names an address of this machine, such as 127.0.0.1")
        } else {
            failure
        }
    })
}

async fn receive(
    command: &WebhookRun,
    keys: Keys,
    listener: TcpListener,
    setting: &Setting<'_>,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let address = listener
        .local_addr()
        .map_err(|error| Failure::io("the receiver's address is not known", &error))?;
    warn_of_fault(session, output);
    let Keys {
        key,
        notification_token,
    } = keys;
    if key.is_none() && notification_token.is_none() {
        output.warn(
            "without --auth-token-env whoever reaches this receiver can add deliveries to the log",
        );
    }
    let listening = Interrupt::listen();
    let interrupt =
        listening.map_err(|error| Failure::io("signals cannot be listened for", &error))?;
    let tokens = key.iter().map(|key| &key.token);
    let secrets: Vec<Secret> = tokens.chain(&notification_token).cloned().collect();
    let missive = Arc::new(acting::for_records_with(setting, session, secrets)?);
    let url = format!("http://{address}{}", command.path);
    let how = Receive {
        address: url.clone(),
        key,
        notification_token,
        body_bytes_max: body_bytes_max(setting),
        accepted_max: command.max_events,
        raw: output.style().mode == Mode::Ndjson,
    };
    let told = Told::of(setting);
    let reception = Reception::start(Arc::clone(&missive), how).await;
    let reception = Arc::new(reception.map_err(|error| told.failure(error))?);
    let (close, closing) = watch::channel(false);
    let (events, shown) = mpsc::channel(SHOWN_MAX);
    let limits = Limits::default();
    let serving = tokio::spawn(listen(
        listener,
        Door {
            reception: Arc::clone(&reception),
            path: command.path.clone(),
            bodies: Arc::new(Semaphore::new(limits.bodies_bytes_max)),
            limits,
            events,
            closing,
        },
    ));
    let mut ticks = interval(FLUSH_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut run = Run {
        reception: &reception,
        shown,
        output,
        interrupt,
        ticks,
        left: command.max_events,
    };
    let ended = run.go_on(&url, setting.globals.timeout).await;
    close.send_replace(true);
    let closed = run.close(ended).await;
    if let Err(error) = serving.await {
        tracing::error!(%error, "the receiver broke off");
    }
    closed.map_err(|stop| match stop {
        Stop::Acting(error) => told.failure(error),
        Stop::Output(failure) => failure,
    })
}

/// Most bytes of a delivery: as many as of an answer.
fn body_bytes_max(setting: &Setting<'_>) -> usize {
    let bytes_max = setting.config.qos_of(&setting.profile).response_bytes_max;
    let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    bytes_max.min(missive_commands::run::BODY_BYTES_MAX)
}

/// Why a receiver stops although nobody asked it to.
enum Stop {
    Acting(CommandError),
    Output(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Output(failure)
    }
}

impl From<CommandError> for Stop {
    fn from(error: CommandError) -> Self {
        Self::Acting(error)
    }
}

struct Run<'a, L> {
    reception: &'a Reception<L>,
    shown: mpsc::Receiver<Event>,
    output: &'a mut Output,
    interrupt: Interrupt,
    ticks: Interval,
    /// How many deliveries are to be shown before it is over.
    left: Option<u64>,
}

impl<L: Log> Run<'_, L> {
    /// Shows what comes until there is a reason to stop.
    async fn go_on(
        &mut self,
        url: &str,
        limit: Option<Duration>,
    ) -> Result<(WebhookEnd, Exit), Stop> {
        let time_is_up = async move {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let mut time_is_up = std::pin::pin!(time_is_up);
        let started = Started {
            operation_id: self.reception.operation().to_string(),
            url,
            sequence: self.reception.started().0,
        };
        if self.tell(&started).await? == Reader::Gone {
            return Ok((WebhookEnd::Interrupted, Exit::Done));
        }
        let mut events = Vec::with_capacity(SHOWN_AT_ONCE);
        loop {
            tokio::select! {
                biased;
                code = self.interrupt.came() => return Ok((WebhookEnd::Interrupted, code)),
                () = &mut time_is_up => return Ok((WebhookEnd::Timeout, Exit::Timeout)),
                _ = self.ticks.tick() => {
                    let rejections = self.reception.flush().await?;
                    self.tell_all(&rejections).await?;
                }
                count = self.shown.recv_many(&mut events, SHOWN_AT_ONCE) => {
                    // Nobody is left who could hand something in.
                    if count == 0 {
                        let what = "the receiver stopped by itself";
                        return Err(CommandError::from(Broke::Internal { what }).into());
                    }
                    for event in events.drain(..) {
                        if self.show(event).await? == Reader::Gone {
                            return Ok((WebhookEnd::Interrupted, Exit::Done));
                        }
                    }
                    if self.left == Some(0) {
                        return Ok((WebhookEnd::MaxEvents, Exit::Done));
                    }
                }
            }
        }
    }

    /// Shows what was still taken, and records that it is over.
    async fn close(&mut self, ended: Result<(WebhookEnd, Exit), Stop>) -> Result<Exit, Stop> {
        let mut fault = None;
        let (mut end, exit) = ended.unwrap_or_else(|stop| {
            fault = Some(stop);
            (WebhookEnd::Fault, Exit::Internal)
        });
        while let Some(event) = self.shown.recv().await {
            if let Err(stop) = self.show(event).await {
                fault.get_or_insert(stop);
                end = WebhookEnd::Fault;
            }
        }
        let over = self.reception.end(end).await;
        if let Some(fault) = fault {
            return Err(fault);
        }
        let (rejections, stopped) = over?;
        self.tell_all(&rejections).await?;
        self.output.report(&stopped).await?;
        Ok(exit)
    }

    async fn show(&mut self, event: Event) -> Result<Reader, Stop> {
        match event {
            Event::Taken(report) => {
                self.left = self.left.map(|left| left.saturating_sub(1));
                self.tell(&*report).await
            }
            Event::Broken(error) => Err(error.into()),
        }
    }

    async fn tell_all<R: Report>(&mut self, reports: &[R]) -> Result<(), Stop> {
        for report in reports {
            self.tell(report).await?;
        }
        Ok(())
    }

    /// One document has room for one result: with `--json` only the end is printed.
    async fn tell<R: Report>(&mut self, report: &R) -> Result<Reader, Stop> {
        if self.output.style().mode == Mode::Json {
            return Ok(Reader::Listening);
        }
        Ok(self.output.report(report).await?)
    }
}

/// `webhook_started`.
#[derive(Serialize)]
struct Started<'a> {
    operation_id: String,
    url: &'a str,
    sequence: u64,
}

impl Report for Started<'_> {
    fn kind(&self) -> Kind {
        Kind::WebhookStarted
    }

    fn human(&self, page: &mut Page) {
        page.line(&format!("listening on {}", self.url));
    }
}

impl Report for DeliveryReport {
    fn kind(&self) -> Kind {
        Kind::WebhookEvent
    }

    fn human(&self, page: &mut Page) {
        let place = format!("{:>6} ", self.sequence);
        let mut words = vec![self.delivered];
        words.extend(self.agent.as_deref());
        words.extend(self.task_id.as_deref());
        words.extend(self.state);
        let words = words.join(" ");
        let remark = match (self.linked, self.duplicate) {
            (_, true) => " (again)",
            (false, false) => " (fits nothing that is known here)",
            (true, false) => "",
        };
        let text = self.text.as_deref().map(excerpt);
        let text = text.map(|text| format!(": {text}")).unwrap_or_default();
        page.spans(&[
            (Tint::Faint, &place),
            (Tint::Plain, &words),
            (Tint::Faint, remark),
            (Tint::Plain, &text),
        ]);
    }
}

impl Report for RejectionReport {
    fn kind(&self) -> Kind {
        Kind::WebhookRejected
    }

    fn human(&self, page: &mut Page) {
        let place = format!("{:>6} ", self.sequence);
        let deliveries = match self.count {
            1 => "1 delivery".to_owned(),
            many => format!("{many} deliveries"),
        };
        let words = format!("{deliveries} refused: {} ({})", self.reason, self.status);
        page.spans(&[(Tint::Faint, &place), (Tint::Warning, &words)]);
    }
}

impl Report for StoppedReport {
    fn kind(&self) -> Kind {
        Kind::WebhookStopped
    }

    fn human(&self, page: &mut Page) {
        let (accepted, rejected) = (self.accepted, self.rejected);
        page.line(&format!(
            "stopped ({}): {accepted} accepted, {rejected} refused",
            self.end
        ));
    }
}
