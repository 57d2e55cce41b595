//! Who may deliver.
//!
//! A token opens the gate, wherever senders put it: in the header that the operator chose, or in one of the
//! two that A2A senders use for the token of a configuration. Where that token is another one, both must be
//! there. What is compared is compared in constant time, and nobody is told what was wrong.

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

/// The gate: closed by locks, or open to everyone.
#[derive(Debug)]
pub(super) struct Gate {
    locks: Vec<Lock>,
    prints: Fingerprints,
}

/// One token, and the places that it may stand in.
#[derive(Debug)]
struct Lock {
    token: Secret,
    /// Headers, with the word in front of it there.
    places: Vec<(String, Option<String>)>,
}

impl Gate {
    /// Closed by a key, and by the token of the push configuration where that is another one.
    pub(super) fn new(key: Option<Key>, notification_token: Option<Secret>, ids: &Ids) -> Self {
        let tokens = TOKEN_HEADERS.map(|name| (name.to_owned(), None));
        let mut locks = Vec::new();
        if let Some(key) = key {
            let mut places = vec![(key.header, key.scheme)];
            if notification_token.is_none() {
                places.extend(tokens.clone());
            }
            let token = key.token;
            locks.push(Lock { token, places });
        }
        if let Some(token) = notification_token {
            let places = tokens.to_vec();
            locks.push(Lock { token, places });
        }
        Self {
            locks,
            prints: Fingerprints::new(ids),
        }
    }

    /// Whether these headers open it: each lock, whatever the others say.
    pub(super) fn opens_for(&self, headers: &Headers) -> bool {
        let opened = self.locks.iter().map(|lock| self.opens(lock, headers));
        opened.fold(true, |all, one| all & one)
    }

    /// Whether the token stands in one of its places, and in none of them another one (C094). What stands under
    /// another scheme is no token of ours, and says nothing.
    fn opens(&self, lock: &Lock, headers: &Headers) -> bool {
        let (mut right, mut wrong) = (false, false);
        for (name, value) in &headers.0 {
            for (place, scheme) in &lock.places {
                if !name.eq_ignore_ascii_case(place) {
                    continue;
                }
                let told = match scheme {
                    None => Some(value.trim_ascii()),
                    Some(scheme) => credential(value, scheme),
                };
                let same = told.map(|told| self.is_right(&lock.token, told));
                right |= same == Some(true);
                wrong |= same == Some(false);
            }
        }
        right && !wrong
    }

    /// Whether a header proves who delivers: its value must be stored nowhere.
    pub(super) fn is_secret(&self, name: &str) -> bool {
        let places = self.locks.iter().flat_map(|lock| &lock.places);
        let own = places.map(|(name, _)| name.as_str());
        let known = TOKEN_HEADERS.into_iter().chain(own);
        known
            .chain(["authorization", "proxy-authorization"])
            .any(|secret| name.eq_ignore_ascii_case(secret))
    }

    fn is_right(&self, token: &Secret, told: &[u8]) -> bool {
        let same = self.prints.are_same(told, token.expose().as_bytes());
        same & !told.is_empty()
    }
}

/// What follows the scheme; `None` under another one.
fn credential<'a>(value: &'a [u8], scheme: &str) -> Option<&'a [u8]> {
    let value = value.trim_ascii();
    let end = value.iter().position(|byte| *byte == b' ');
    let (word, rest) = value.split_at_checked(end.unwrap_or(value.len()))?;
    word.eq_ignore_ascii_case(scheme.as_bytes())
        .then(|| rest.trim_ascii())
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
        Gate::new(Some(key), None, &Ids::from_system())
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
        let everywhere = [
            ("authorization", "Bearer t0ken"),
            ("x-a2a-notification-token", "t0ken"),
        ];
        assert!(opens(&gate, &everywhere));
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
                ("authorization", "Bearer t0ken"),
                ("x-a2a-notification-token", "wrong"),
            ],
            &[
                ("authorization", "Bearer"),
                ("a2a-notification-token", "t0ken"),
            ],
            &[
                ("x-a2a-notification-token", "t0ken"),
                ("a2a-notification-token", "wrong"),
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
    fn a_token_of_the_configuration_that_is_another_one_must_be_there_as_well() {
        let bearer = |key: Option<Key>| {
            let token = Secret::new("an0ther".to_owned());
            Gate::new(key, Some(token), &Ids::from_system())
        };
        let both = bearer(Some(Key {
            token: Secret::new("t0ken".to_owned()),
            header: "Authorization".to_owned(),
            scheme: Some("Bearer".to_owned()),
        }));
        let right = ("authorization", "Bearer t0ken");
        let told = |value| ("x-a2a-notification-token", value);

        assert!(opens(&both, &[right, told("an0ther")]));
        assert!(!opens(&both, &[right]));
        assert!(!opens(&both, &[right, told("t0ken")]));
        assert!(!opens(
            &both,
            &[("authorization", "Bearer an0ther"), told("an0ther")]
        ));
        // Alone it says nothing of other credentials.
        let alone = bearer(None);
        assert!(opens(&alone, &[right, told("an0ther")]));
        assert!(!opens(&alone, &[right, told("t0ken")]));
        assert!(!opens(&alone, &[right]));
    }

    #[test]
    fn a_gate_without_a_key_is_open() {
        let gate = Gate::new(None, None, &Ids::from_system());

        assert!(opens(&gate, &[]));
    }
}
