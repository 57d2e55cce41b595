//! One HTTP call under our own rules: redirects, four timers, bounds, and a precise report.
//!
//! The transport is used for framing and TLS only. It follows nothing, repeats nothing, decodes
//! nothing and keeps no connection, so that what is reported is what happened: the exact bytes of
//! the answer, and whether any byte of the request can have left.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use url::Url;

use super::mark::MarkedBody;
pub use super::mark::Sent;
use super::reach::{Call, CallError, CallErrorKind, Hop, Reach};
use super::redirect::{RedirectRules, Verdict, judge, shown};
use super::tls::Clients;
use crate::wire::answer::Answer;
use crate::wire::headers::{HeaderText, Headers};
use crate::wire::request::{Request, Verb};
use crate::wire::sse::SseLimits;

/// What holds for every call of one caller.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Longest wait for a connection, TLS included.
    pub connect: Duration,
    /// Longest wait between sending and the head of the answer; a blocking send may take hours.
    pub first_byte: Option<Duration>,
    /// Longest silence within an answer.
    pub idle: Option<Duration>,
    /// Most bytes of a request body.
    pub request_bytes_max: usize,
    /// Most bytes of an answer's body.
    pub response_bytes_max: usize,
    /// Most bytes of one event of a stream.
    pub stream: SseLimits,
    /// Which redirects are followed.
    pub redirects: RedirectRules,
    /// Certificates (DER) that are trusted beside the system's.
    pub extra_roots: Vec<Vec<u8>>,
}

impl Default for Settings {
    /// Connect 10 s, idle 5 min, no first-byte limit, 64 MiB either way.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: None,
            idle: Some(Duration::from_secs(300)),
            request_bytes_max: 64 << 20,
            response_bytes_max: 64 << 20,
            stream: SseLimits::default(),
            redirects: RedirectRules::default(),
            extra_roots: Vec::new(),
        }
    }
}

/// The end of the user's patience, shared by all calls of one command.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
    of: Duration,
}

impl Deadline {
    /// So long from now.
    pub fn after(limit: Duration) -> Self {
        Self {
            at: Instant::now() + limit,
            of: limit,
        }
    }

    /// The whole time that the user gave.
    pub fn limit(&self) -> Duration {
        self.of
    }

    /// How much of the time is left.
    pub fn left(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// Whether the time is up.
    pub fn is_over(&self) -> bool {
        self.at <= Instant::now()
    }

    /// Returns when the time is up.
    pub async fn passed(&self) {
        sleep_until(self.at).await;
    }
}

/// Makes HTTP calls. It is cheap until the first one and can be shared.
#[derive(Debug, Default)]
pub struct HttpCaller {
    settings: Settings,
    clients: Clients,
}

impl HttpCaller {
    /// A caller under these settings. No client is made and no file read yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            clients: Clients::default(),
        }
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Makes one call and follows its redirects. `sent` tells, also after this future was dropped,
    /// whether request bytes may have left. Nothing is repeated.
    pub async fn call(&self, request: &Request, deadline: Option<Deadline>, sent: &Sent) -> Call {
        match self.begin(request, deadline, sent, |_| false).await {
            Begun::Ended(call) => call,
            Begun::Answering(response) => self.whole(*response, deadline).await,
        }
    }

    /// Makes one call and follows its redirects, up to the head of an answer that is `wanted` as it comes
    /// in; every other answer is received whole.
    pub(super) async fn begin(
        &self,
        request: &Request,
        deadline: Option<Deadline>,
        sent: &Sent,
        wanted: impl Fn(&Answer) -> bool,
    ) -> Begun {
        let mut hops = Vec::new();
        let mut refused_redirect = None;
        let mut url = request.url.clone();
        let mut with_secrets = true;
        let reach = loop {
            // A peer that answers with a redirect has not taken the message.
            sent.reset();
            tell_request(request, &url);
            let attempt = self.attempt(request, &url, with_secrets, deadline, sent);
            let reach = match attempt.await {
                Ok(response) => {
                    let answering = Answering {
                        head: head_of(&response),
                        response,
                        url: url.clone(),
                        bytes_max: self.response_bytes_max(request),
                        hops: std::mem::take(&mut hops),
                    };
                    if wanted(&answering.head) {
                        return Begun::Answering(Box::new(answering));
                    }
                    let call = self.whole(answering, deadline).await;
                    hops = call.hops;
                    call.reach
                }
                Err(reach) => reach,
            };
            tell_reach(&reach);
            let Reach::Answered(answer) = &reach else {
                break reach;
            };
            let location = answer.headers.get("location");
            let rules = &self.settings.redirects;
            match judge(
                answer.status,
                location,
                request.verb,
                &url,
                hops.len(),
                rules,
            ) {
                Verdict::Final => break reach,
                Verdict::Refuse(refused) => {
                    refused_redirect = Some(refused);
                    break reach;
                }
                Verdict::Follow {
                    to,
                    without_secrets,
                } => {
                    with_secrets &= !without_secrets;
                    tracing::debug!(to = shown(&to), with_secrets, "redirect followed");
                    hops.push(Hop {
                        status: answer.status,
                        from: url,
                        to: to.clone(),
                    });
                    url = to;
                }
            }
        };
        Begun::Ended(Call {
            hops,
            reach,
            refused_redirect,
        })
    }

    /// Up to the head of an answer.
    async fn attempt(
        &self,
        request: &Request,
        url: &Url,
        with_secrets: bool,
        deadline: Option<Deadline>,
        sent: &Sent,
    ) -> Result<Response, Reach> {
        let prepared = self
            .prepare(request, url, with_secrets, sent)
            .map_err(Reach::NotSent)?;
        // A timer counts whole milliseconds, in which a quick peer answers: nothing leaves too late.
        if let Some(deadline) = deadline
            && deadline.is_over()
        {
            return Err(Reach::NotSent(CallError::total_timeout(deadline.of)));
        }
        if request.body.is_none() {
            sent.begin();
        }
        let first_byte = async {
            match self.settings.first_byte.or(request.bounds.first_byte) {
                Some(limit) => {
                    sent.begun().await;
                    sleep(limit).await;
                    CallError::first_byte_timeout(limit)
                }
                None => std::future::pending().await,
            }
        };
        let error = tokio::select! {
            biased;
            answered = prepared.send() => match answered {
                Ok(response) => return Ok(response),
                Err(error) => CallError::sending(error, url, self.settings.connect),
            },
            error = first_byte => error,
            error = total(deadline) => error,
        };
        let never_connected = matches!(
            error.kind,
            CallErrorKind::ConnectRefused
                | CallErrorKind::Dns
                | CallErrorKind::Tls
                | CallErrorKind::Unreachable
                | CallErrorKind::ConnectTimeout
        );
        Err(if never_connected || !sent.may_have_left() {
            sent.reset();
            Reach::NotSent(error)
        } else {
            Reach::NothingBack(error)
        })
    }

    fn prepare(
        &self,
        request: &Request,
        url: &Url,
        with_secrets: bool,
        sent: &Sent,
    ) -> Result<reqwest::RequestBuilder, CallError> {
        let bytes_max = self.settings.request_bytes_max;
        if request
            .body
            .as_ref()
            .is_some_and(|body| body.len() > bytes_max)
        {
            return Err(CallError::new(
                CallErrorKind::RequestTooLarge,
                format!("the request is larger than the {bytes_max} bytes allowed"),
            ));
        }
        let client = self
            .clients
            .of(url.scheme(), &self.settings)
            .map_err(|why| {
                CallError::new(CallErrorKind::Tls, format!("TLS is not available: {why}"))
            })?;
        let method = match request.verb {
            Verb::Get => Method::GET,
            Verb::Post => Method::POST,
            Verb::Delete => Method::DELETE,
        };
        let headers = header_map(&request.headers, with_secrets)?;
        let mut builder = client.request(method, url.clone()).headers(headers);
        if let Some(body) = &request.body {
            let bytes = Bytes::copy_from_slice(body);
            builder = builder.body(reqwest::Body::wrap(MarkedBody::new(bytes, sent.clone())));
        }
        Ok(builder)
    }

    fn response_bytes_max(&self, request: &Request) -> usize {
        let own = request.bounds.response_bytes_max.unwrap_or(usize::MAX);
        own.min(self.settings.response_bytes_max)
    }

    async fn whole(&self, answering: Answering, deadline: Option<Deadline>) -> Call {
        let Answering {
            head: mut answer,
            mut response,
            url,
            bytes_max,
            hops,
        } = answering;
        let reach = |reach| Call {
            hops,
            reach,
            refused_redirect: None,
        };
        let error = loop {
            let next = tokio::select! {
                biased;
                next = self.next_chunk(&mut response, &url) => next,
                error = total(deadline) => Err(error),
            };
            match next {
                Ok(None) => return reach(Reach::Answered(answer)),
                Ok(Some(chunk)) => {
                    let room = bytes_max - answer.body.len();
                    answer
                        .body
                        .extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
                    if chunk.len() > room {
                        break CallError::too_large(bytes_max);
                    }
                }
                Err(error) => break error,
            }
        };
        reach(Reach::Partial { answer, error })
    }

    async fn next_chunk(
        &self,
        response: &mut Response,
        url: &Url,
    ) -> Result<Option<Bytes>, CallError> {
        let next = match self.settings.idle {
            Some(limit) => timeout(limit, response.chunk())
                .await
                .map_err(|_| CallError::idle_timeout(limit))?,
            None => response.chunk().await,
        };
        next.map_err(|error| CallError::receiving(error, url))
    }
}

/// How far a call is.
pub(super) enum Begun {
    /// It is over.
    Ended(Call),
    /// Its answer has begun.
    Answering(Box<Answering>),
}

/// An answer that is coming in.
pub(super) struct Answering {
    /// Status and headers.
    pub(super) head: Answer,
    pub(super) response: Response,
    pub(super) url: Url,
    bytes_max: usize,
    hops: Vec<Hop>,
}

fn head_of(response: &Response) -> Answer {
    let headers = response.headers().iter();
    Answer {
        status: response.status().as_u16(),
        headers: headers
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect::<Headers>(),
        body: Vec::new(),
    }
}

/// Addresses, numbers and kinds only: neither content nor header values are ever told.
fn tell_request(request: &Request, url: &Url) {
    let method = match request.verb {
        Verb::Get => "GET",
        Verb::Post => "POST",
        Verb::Delete => "DELETE",
    };
    let bytes = request.body.as_ref().map_or(0, Vec::len);
    let to = shown(url);
    tracing::info!(method, to, bytes, "request");
    let names: Vec<&str> = request.headers.iter().map(|(name, _)| &**name).collect();
    tracing::debug!(headers = names.join(" "), "request headers, by name");
}

fn tell_reach(reach: &Reach) {
    match reach {
        Reach::Answered(answer) => {
            let bytes = answer.body.len();
            tracing::info!(status = answer.status, bytes, "answer");
        }
        Reach::Partial { answer, error } => {
            let (status, bytes, why) = (answer.status, answer.body.len(), error.kind);
            tracing::info!(status, bytes, ?why, "answer cut off");
        }
        Reach::NothingBack(error) => tracing::info!(why = ?error.kind, "no answer"),
        Reach::NotSent(error) => tracing::info!(why = ?error.kind, "not sent"),
    }
}

pub(super) async fn total(deadline: Option<Deadline>) -> CallError {
    match deadline {
        Some(deadline) => {
            deadline.passed().await;
            CallError::total_timeout(deadline.of)
        }
        None => std::future::pending().await,
    }
}

fn header_map(fields: &[(String, HeaderText)], with_secrets: bool) -> Result<HeaderMap, CallError> {
    let mut map = HeaderMap::new();
    for (name, text) in fields {
        // The value is not quoted: it may be a credential.
        let bad = || {
            CallError::new(
                CallErrorKind::BadRequest,
                format!("the header `{name}` cannot be sent"),
            )
        };
        let secret = matches!(text, HeaderText::Secret(_));
        if secret && !with_secrets {
            continue;
        }
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_bytes(text.expose().as_bytes()).map_err(|_| bad())?;
        value.set_sensitive(secret);
        map.append(key, value);
    }
    // The bytes of an answer are evidence, so no coding may stand between them and us.
    map.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Ok(map)
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
