//! Who may deliver.
//!
//! One token opens the gate, wherever senders put it: in the header that the operator chose, or in one of
//! the two that A2A senders use for the token of a configuration. What is compared is compared in constant
//! time, and nobody is told what was wrong.

use missive_log::Ids;
use missive_log::fingerprint::Fingerprints;

use crate::secret::Secret;
use crate::wire::headers::{HeaderError, Headers, check_header};

/// The headers that senders put the token of a configuration into: A2A 1.0.1 names none, and the
/// official libraries use these.
pub const TOKEN_HEADERS: [&str; 2] = ["X-A2A-Notification-Token", "A2A-Notification-Token"];

/// What opens the gate.
#[derive(Clone, Debug)]
pub struct Key {
    /// The token.
    pub token: Secret,
    /// The header that it stands in.
    pub header: String,
    /// The word in front of it, in any case; `None`: the token stands alone.
    pub scheme: Option<String>,
}

impl Key {
    /// Checks the name of the header.
    ///
    /// # Errors
    /// It is no header name, or one that HTTP itself needs.
    pub fn check(&self) -> Result<(), HeaderError> {
        check_header(&self.header, "")
    }
}

/// The gate: closed by a key, or open to everyone.
#[derive(Debug)]
pub(super) struct Gate {
    key: Option<Key>,
    prints: Fingerprints,
}

impl Gate {
    pub(super) fn new(key: Option<Key>, ids: &Ids) -> Self {
        Self {
            key,
            prints: Fingerprints::new(ids),
        }
    }

    /// Whether these headers open it. A header that is there twice with two values opens nothing.
    pub(super) fn opens_for(&self, headers: &Headers) -> bool {
        let Some(key) = &self.key else {
            return true;
        };
        let mut open = self.is_right(key, headers, &key.header, key.scheme.as_deref());
        for name in TOKEN_HEADERS {
            // All are looked at, whatever the first one says.
            open |= self.is_right(key, headers, name, None);
        }
        open
    }

    /// Whether a header proves who delivers: its value must be stored nowhere.
    pub(super) fn is_secret(&self, name: &str) -> bool {
        let own = self.key.as_ref().map(|key| key.header.as_str());
        let known = TOKEN_HEADERS.into_iter().chain(own);
        known
            .chain(["authorization", "proxy-authorization"])
            .any(|secret| name.eq_ignore_ascii_case(secret))
    }

    fn is_right(&self, key: &Key, headers: &Headers, name: &str, scheme: Option<&str>) -> bool {
        let mut found = headers.0.iter();
        let mut values = found
            .by_ref()
            .filter(|(field, _)| field.eq_ignore_ascii_case(name));
        let Some((_, value)) = values.next() else {
            return false;
        };
        let alone = values.all(|(_, again)| again == value);
        let token = match scheme {
            None => value.trim_ascii(),
            Some(scheme) => credential(value, scheme),
        };
        let same = self.prints.are_same(token, key.token.expose().as_bytes());
        same & alone & !token.is_empty()
    }
}

/// What follows the scheme; nothing under another one.
fn credential<'a>(value: &'a [u8], scheme: &str) -> &'a [u8] {
    let value = value.trim_ascii();
    let end = value.iter().position(|byte| *byte == b' ');
    match value.split_at_checked(end.unwrap_or(value.len())) {
        Some((word, rest)) if word.eq_ignore_ascii_case(scheme.as_bytes()) => rest.trim_ascii(),
        Some(_) | None => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(header: &str, scheme: Option<&str>) -> Gate {
        let key = Key {
            token: Secret::new("t0ken".to_owned()),
            header: header.to_owned(),
            scheme: scheme.map(str::to_owned),
        };
        Gate::new(Some(key), &Ids::from_system())
    }

    fn opens(gate: &Gate, headers: &[(&str, &str)]) -> bool {
        gate.opens_for(&headers.iter().copied().collect())
    }

    #[test]
    fn the_token_opens_the_gate_in_any_of_its_places() {
        let gate = gate("Authorization", Some("Bearer"));

        for headers in [
            [("authorization", "Bearer t0ken")],
            [("Authorization", "bearer  t0ken ")],
            [("x-a2a-notification-token", "t0ken")],
            [("A2A-Notification-Token", "t0ken")],
        ] {
            assert!(opens(&gate, &headers), "{headers:?}");
        }
        // The sender was given credentials that this receiver does not know, and its token.
        let both = [
            ("authorization", "Basic eDp5"),
            ("x-a2a-notification-token", "t0ken"),
        ];
        assert!(opens(&gate, &both));
    }

    #[test]
    fn nothing_else_opens_the_gate() {
        let gate = gate("Authorization", Some("Bearer"));

        for headers in [
            &[][..],
            &[("authorization", "")],
            &[("authorization", "Bearer")],
            &[("authorization", "Bearer ")],
            &[("authorization", "t0ken")],
            &[("authorization", "Basic t0ken")],
            &[("authorization", "Bearer t0ke")],
            &[("authorization", "Bearer t0ken2")],
            &[("x-a2a-notification-token", "T0KEN")],
            &[("x-a2a-notification-token", "")],
            &[("x-token", "t0ken")],
            &[
                ("authorization", "Bearer t0ken"),
                ("Authorization", "Bearer other"),
            ],
            &[
                ("x-a2a-notification-token", "wrong"),
                ("x-a2a-notification-token", "t0ken"),
            ],
        ] {
            assert!(!opens(&gate, headers), "{headers:?}");
        }
        let twice = [("authorization", "Bearer t0ken"); 2];
        assert!(opens(&gate, &twice));
    }

    #[test]
    fn a_header_of_the_operator_may_hold_the_token_alone() {
        let gate = gate("X-Hook-Key", None);

        assert!(opens(&gate, &[("x-hook-key", "t0ken")]));
        assert!(!opens(&gate, &[("authorization", "Bearer t0ken")]));
        assert!(gate.is_secret("x-HOOK-key") && gate.is_secret("Authorization"));
        assert!(gate.is_secret("a2a-notification-token") && !gate.is_secret("date"));
    }

    #[test]
    fn a_gate_without_a_key_is_open() {
        let gate = Gate::new(None, &Ids::from_system());

        assert!(opens(&gate, &[]));
    }
}
