//! Credentials for one run: from flags, and from what the configuration refers to.
//!
//! A secret is read from its place when it is needed and goes nowhere but into the requests of this
//! run. One that cannot be resolved ends the run with 77 before any request is made. No message
//! holds a value, only the name of its place.

use crate::args::global::Globals;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::keyring::{Keyring, Unread};
use crate::suggest;
use missive_commands::Exit;
use missive_commands::config::{AuthScheme, Config, SecretPlace};
use missive_commands::secret::Secret;

/// What every request of this run carries to prove who asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Credentials {
    /// For `Authorization: Bearer`.
    pub(crate) bearer: Option<Secret>,
    /// Further headers, in the order of the command line.
    pub(crate) headers: Vec<(String, Secret)>,
}

impl Credentials {
    /// Resolves the flags, and the reference that the agent was registered with: `--header` takes the
    /// place of `--bearer-token-env`, and both that of the reference.
    pub(crate) fn resolve(
        globals: &Globals,
        config: &Config,
        auth_ref: Option<&str>,
        places: Places<'_>,
    ) -> Result<Self, Failure> {
        let mut found = Self::default();
        for header in &globals.header {
            found
                .headers
                .push((header.name.clone(), header.value.clone()));
        }
        let authorized = found.has("authorization");
        if let Some(name) = globals.bearer_token_env.as_ref().filter(|_| !authorized) {
            found.bearer = Some(variable(name, "--bearer-token-env", places.environment)?);
        }
        if let Some(name) = auth_ref {
            found.refer(name, config, authorized, places)?;
        }
        Ok(found)
    }

    fn refer(
        &mut self,
        name: &str,
        config: &Config,
        authorized: bool,
        places: Places<'_>,
    ) -> Result<(), Failure> {
        let Some(reference) = config.auth_refs.get(name) else {
            let known: Vec<&str> = config.auth_refs.keys().map(String::as_str).collect();
            return Err(
                unresolved(format!("the configuration has no [auth_refs.{name}]"))
                    .hint_if(suggest::hint(name, "reference", &known)),
            );
        };
        let given = match &reference.scheme {
            AuthScheme::Bearer => authorized || self.bearer.is_some(),
            AuthScheme::Header(header) => self.has(header),
        };
        if given {
            return Ok(());
        }
        let secret = match &reference.place {
            SecretPlace::Env(name_of) => {
                variable(name_of, &format!("[auth_refs.{name}]"), places.environment)?
            }
            SecretPlace::Keyring { service, account } => {
                entry(name, service, account, places.keyring)?
            }
        };
        match &reference.scheme {
            AuthScheme::Bearer => self.bearer = Some(secret),
            AuthScheme::Header(header) => self.headers.push((header.clone(), secret)),
        }
        Ok(())
    }

    fn has(&self, header: &str) -> bool {
        self.headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(header))
    }
}

/// Where credentials can be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    /// Variables.
    pub(crate) environment: &'a Environment<'a>,
    /// Entries of the system's keyring.
    pub(crate) keyring: Keyring<'a>,
}

/// The variables that hold secrets of ours, by what the flags and the configuration say.
pub(crate) fn variables(globals: &Globals, config: &Config) -> Vec<String> {
    let named = config
        .auth_refs
        .values()
        .filter_map(|reference| match &reference.place {
            SecretPlace::Env(name) => Some(name),
            SecretPlace::Keyring { .. } => None,
        });
    named.chain(&globals.bearer_token_env).cloned().collect()
}

/// Every secret that the flags and the configuration lead to in this process, whether the command uses it or
/// not: what a user types, or a peer gives back, must not bring any of them into the log. Places that hold
/// nothing are passed over, since only a command that needs them may fail for it.
pub(crate) fn resolvable(
    globals: &Globals,
    config: &Config,
    environment: &Environment<'_>,
) -> Vec<Secret> {
    let named = variables(globals, config).into_iter();
    let resolved = named.filter_map(|name| environment.get(&name)?.into_string().ok());
    let given = globals.header.iter().map(|header| header.value.clone());
    given.chain(resolved.map(Secret::new)).collect()
}

/// The secret in a variable.
pub(crate) fn variable(
    name: &str,
    named_by: &str,
    environment: &Environment<'_>,
) -> Result<Secret, Failure> {
    let Some(value) = environment.get(name) else {
        // A token that was pasted in place of the name can look like one: only plain names are shown.
        let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        let shown = if name.bytes().all(plain) {
            format!("the variable {name}, which {named_by} names, is not set")
        } else {
            format!("the variable that {named_by} names is not set")
        };
        return Err(unresolved(shown).hint("set it in the environment of the command"));
    };
    let text = value.into_string().unwrap_or_default();
    if text.is_empty() || text.chars().any(char::is_control) {
        let what = format!("the variable that {named_by} names holds no usable credential");
        return Err(unresolved(what).hint("it holds line breaks or bytes that no header can carry"));
    }
    Ok(Secret::new(text))
}

fn entry(
    name: &str,
    service: &str,
    account: &str,
    keyring: Keyring<'_>,
) -> Result<Secret, Failure> {
    let told = |words: &str| unresolved(format!("[auth_refs.{name}] {words}")).detail("keyring");
    let secret = keyring.get(service, account).map_err(|why| {
        let failure = told(why.words());
        match why {
            Unread::Absent | Unread::Closed if cfg!(target_os = "linux") => failure.hint(format!(
                "`keyctl padd user 'keyring:{account}@{service}' @u` puts it there, until the machine \
                 is started again; kind = \"env\" reads a variable instead"
            )),
            Unread::Absent => failure.hint(format!(
                "it is looked for as account `{account}` of service `{service}`"
            )),
            Unread::Closed | Unread::NoText => {
                failure.hint("kind = \"env\" reads a variable instead")
            }
        }
    })?;
    if secret.expose().is_empty() || secret.expose().chars().any(char::is_control) {
        return Err(told("holds no usable credential")
            .hint("it holds line breaks or bytes that no header can carry"));
    }
    Ok(secret)
}

fn unresolved(what: String) -> Failure {
    Failure::new(Exit::Auth, what).detail("unresolved")
}

#[cfg(test)]
mod tests {
    use super::{Credentials, Places};
    use crate::args::global::Globals;
    use crate::environment::Environment;
    use crate::failure::Failure;
    use crate::keyring::{Keyring, Unread};
    use missive_commands::config::{AuthRef, AuthScheme, Config, SecretPlace};
    use missive_commands::secret::Secret;
    use std::ffi::OsString;

    fn config() -> Config {
        let env = SecretPlace::Env("CRM_TOKEN".to_owned());
        let keyring = SecretPlace::Keyring {
            service: "missive".to_owned(),
            account: "old".to_owned(),
        };
        let header = AuthScheme::Header("X-Api-Key".to_owned());
        let entry = |account: &str| SecretPlace::Keyring {
            service: "missive".to_owned(),
            account: account.to_owned(),
        };
        let mut config = Config::default();
        for (name, place, scheme) in [
            ("kept", entry("crm"), AuthScheme::Bearer),
            ("locked", entry("locked"), AuthScheme::Bearer),
            ("blob", entry("blob"), AuthScheme::Bearer),
            ("lines", entry("lines"), AuthScheme::Bearer),
            ("crm", env.clone(), AuthScheme::Bearer),
            ("key", env, header),
            ("old", keyring, AuthScheme::Bearer),
        ] {
            config
                .auth_refs
                .insert(name.to_owned(), AuthRef { place, scheme });
        }
        config
    }

    fn resolved(
        flags: &[&str],
        bearer: Option<&str>,
        auth_ref: Option<&str>,
    ) -> Result<Credentials, Failure> {
        let globals = Globals {
            header: flags.iter().map(|flag| flag.parse().unwrap()).collect(),
            bearer_token_env: bearer.map(str::to_owned),
            ..Globals::default()
        };
        let lookup = |name: &str| match name {
            "CRM_TOKEN" => Some(OsString::from("s3cret")),
            "BROKEN" => Some(OsString::from("s3cret\nX: y")),
            _ => None,
        };
        let keyring = |service: &str, account: &str| match (service, account) {
            ("missive", "crm") => Ok(Secret::new("k3pt".to_owned())),
            ("missive", "locked") => Err(Unread::Closed),
            ("missive", "blob") => Err(Unread::NoText),
            ("missive", "lines") => Ok(Secret::new("s3cret\n".to_owned())),
            _ => Err(Unread::Absent),
        };
        let places = Places {
            environment: &Environment::from_lookup(&lookup),
            keyring: Keyring::from_lookup(&keyring),
        };
        Credentials::resolve(&globals, &config(), auth_ref, places)
    }

    fn shown(credentials: &Credentials) -> String {
        let bearer = credentials.bearer.as_ref().map(Secret::expose);
        let headers: Vec<String> = credentials
            .headers
            .iter()
            .map(|(name, value)| format!("{name}={}", value.expose()))
            .collect();
        format!("{} {}", bearer.unwrap_or("-"), headers.join(","))
    }

    #[test]
    fn a_reference_is_a_bearer_token_or_a_header() {
        assert_eq!(shown(&resolved(&[], None, Some("crm")).unwrap()), "s3cret ");
        assert_eq!(
            shown(&resolved(&[], None, Some("key")).unwrap()),
            "- X-Api-Key=s3cret"
        );
        assert_eq!(
            shown(&resolved(&[], Some("CRM_TOKEN"), None).unwrap()),
            "s3cret "
        );
    }

    #[test]
    fn an_entry_of_the_keyring_is_read_when_no_flag_says_otherwise() {
        assert_eq!(shown(&resolved(&[], None, Some("kept")).unwrap()), "k3pt ");
        // A flag takes its place, so the keyring is not even asked.
        let own = resolved(&["Authorization: Basic x"], None, Some("locked")).unwrap();
        assert_eq!(shown(&own), "- Authorization=Basic x");
        let token = resolved(&[], Some("CRM_TOKEN"), Some("locked")).unwrap();
        assert_eq!(shown(&token), "s3cret ");
    }

    #[test]
    fn a_flag_takes_the_place_of_a_reference() {
        let own = resolved(&["Authorization: Basic x"], None, Some("crm")).unwrap();
        let key = resolved(&["x-api-key: mine"], None, Some("key")).unwrap();

        // What is not needed need not be there.
        let over = resolved(&["Authorization: Basic x"], Some("MISSING"), Some("crn"));

        assert_eq!(shown(&own), "- Authorization=Basic x");
        assert_eq!(shown(&key), "- x-api-key=mine");
        assert_eq!(
            over.unwrap_err().message(),
            "the configuration has no [auth_refs.crn]"
        );
        let over = resolved(&["Authorization: Basic x"], Some("MISSING"), Some("crm")).unwrap();
        assert_eq!(shown(&over), "- Authorization=Basic x");
    }

    #[test]
    fn what_cannot_be_resolved_is_named_by_its_place_and_never_by_its_value() {
        let told = |result: Result<Credentials, Failure>| {
            let failure = result.unwrap_err();
            assert!(!format!("{failure:?}").contains("s3cret"));
            format!("{} {}", failure.exit().number(), failure.message())
        };

        insta::assert_snapshot!(told(resolved(&[], Some("MISSING"), None)), @"77 the variable MISSING, which --bearer-token-env names, is not set");
        insta::assert_snapshot!(told(resolved(&[], Some("ghp_s3cret"), None)), @"77 the variable that --bearer-token-env names is not set");
        insta::assert_snapshot!(told(resolved(&[], Some("BROKEN"), None)), @"77 the variable that --bearer-token-env names holds no usable credential");
        insta::assert_snapshot!(told(resolved(&[], None, Some("old"))), @"77 [auth_refs.old] is not in the keyring");
        insta::assert_snapshot!(told(resolved(&[], None, Some("locked"))), @"77 [auth_refs.locked] cannot be read: the keyring is locked, or not there");
        insta::assert_snapshot!(told(resolved(&[], None, Some("blob"))), @"77 [auth_refs.blob] holds no text");
        insta::assert_snapshot!(told(resolved(&[], None, Some("lines"))), @"77 [auth_refs.lines] holds no usable credential");
        insta::assert_snapshot!(told(resolved(&[], None, Some("crn"))), @"77 the configuration has no [auth_refs.crn]");
    }
}
