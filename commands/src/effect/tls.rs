//! HTTP clients, made when first needed.
//!
//! Loading the trusted roots of the system costs milliseconds, which a process that speaks to
//! loopback agents over plain HTTP should not pay. So there are two clients: one whose TLS trusts
//! nobody, for `http`, and one with the system's roots, for `https`.

use std::sync::{Arc, OnceLock};

use reqwest::{Certificate, Client, ClientBuilder};
use rustls::crypto::ring;

use super::http::Settings;

/// The two clients.
#[derive(Debug, Default)]
pub(super) struct Clients {
    plain: OnceLock<Result<Client, String>>,
    secure: OnceLock<Result<Client, String>>,
}

impl Clients {
    /// The client for a scheme.
    ///
    /// # Errors
    /// In words, when TLS cannot be set up, for example without any trusted root.
    pub(super) fn of(&self, scheme: &str, settings: &Settings) -> Result<&Client, &str> {
        let client = if scheme == "https" {
            self.secure.get_or_init(|| secure(settings))
        } else {
            self.plain.get_or_init(|| plain(settings))
        };
        client.as_ref().map_err(String::as_str)
    }
}

fn plain(settings: &Settings) -> Result<Client, String> {
    let provider = Arc::new(ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    finish(base(settings).tls_backend_preconfigured(tls))
}

fn secure(settings: &Settings) -> Result<Client, String> {
    // A second provider is refused, which only means that somebody else was first.
    let _first = ring::default_provider().install_default().is_ok();
    let mut extra = Vec::new();
    for der in &settings.extra_roots {
        extra.push(Certificate::from_der(der).map_err(|error| error.to_string())?);
    }
    finish(base(settings).tls_certs_merge(extra))
}

fn base(settings: &Settings) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("missive/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        // Whether a message is sent again is decided above, with the log in hand.
        .retry(reqwest::retry::never())
        // No proxy from the environment: where messages go is said in the configuration.
        .no_proxy()
        .referer(false)
        .connect_timeout(settings.connect)
        // An idle connection that the peer closes just now would leave a message in doubt.
        .pool_max_idle_per_host(0)
}

fn finish(builder: ClientBuilder) -> Result<Client, String> {
    builder.build().map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        cause.unwrap_or_else(|| error.to_string())
    })
}
