//! Protocol versions and bindings: the two names that a card entry is chosen by.

use std::fmt;

/// `Major.Minor` of the A2A protocol. Patch numbers never count (A2A 1.0, section 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Breaking changes.
    pub major: u16,
    /// Additions.
    pub minor: u16,
}

/// The versions that missive speaks, best first.
pub const SPOKEN: [Version; 1] = [Version { major: 1, minor: 0 }];

impl Version {
    /// Reads `1.0` or `1.0.3`; anything else, `1` and `1.0-beta` included, is no version.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.');
        let major = number(numbers.next()?)?;
        let minor = number(numbers.next()?)?;
        if let Some(patch) = numbers.next() {
            number(patch)?;
        }
        numbers.next().is_none().then_some(Self { major, minor })
    }

    /// Whether missive speaks it.
    pub fn is_spoken(self) -> bool {
        SPOKEN.contains(&self)
    }
}

fn number(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// How A2A is carried. The names differ between cards and the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// Bare objects over HTTP (A2A 1.0, section 11).
    HttpJson,
    /// JSON-RPC 2.0 over HTTP (section 9).
    JsonRpc,
    /// gRPC (section 10): recognised, not spoken yet.
    Grpc,
}

impl Binding {
    /// Every binding that A2A defines.
    pub const ALL: [Self; 3] = [Self::HttpJson, Self::JsonRpc, Self::Grpc];

    /// The name in missive's own arguments, outputs and facts.
    pub fn name(self) -> &'static str {
        match self {
            Self::HttpJson => "http+json",
            Self::JsonRpc => "json-rpc",
            Self::Grpc => "grpc",
        }
    }

    /// The name in an agent card, compared exactly (section 5.8).
    pub fn card_name(self) -> &'static str {
        match self {
            Self::HttpJson => "HTTP+JSON",
            Self::JsonRpc => "JSONRPC",
            Self::Grpc => "GRPC",
        }
    }

    /// Reads missive's own name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|binding| binding.name() == name)
    }

    /// Reads the name of a card entry, exactly.
    pub fn from_card(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|binding| binding.card_name() == name)
    }

    /// The binding that a card entry probably meant by a name that is not exact.
    pub fn near_miss(name: &str) -> Option<Self> {
        let letters = |text: &str| -> String {
            text.chars()
                .filter(char::is_ascii_alphanumeric)
                .map(|c| c.to_ascii_uppercase())
                .collect()
        };
        match letters(name).as_str() {
            "JSONRPC" | "JSONRPC20" | "JSONRPC2" => Some(Self::JsonRpc),
            "HTTPJSON" | "REST" | "HTTP" | "JSONHTTP" | "HTTPREST" => Some(Self::HttpJson),
            "GRPC" => Some(Self::Grpc),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_major_and_minor_and_the_patch_does_not_count() {
        let one = Some(Version { major: 1, minor: 0 });

        assert_eq!(Version::parse("1.0"), one);
        assert_eq!(Version::parse("1.0.3"), one);
        assert_eq!(
            Version::parse("0.30"),
            Some(Version {
                major: 0,
                minor: 30
            })
        );
        for wrong in [
            "", "1", "1.", "1.0.", "1.0.0.0", "v1.0", "1.0-rc", "+1.0", "99999.0", "1. 0",
        ] {
            assert_eq!(Version::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn binding_names_are_exact_and_near_misses_are_recognised() {
        assert_eq!(Binding::from_card("JSONRPC"), Some(Binding::JsonRpc));
        assert_eq!(Binding::from_card("jsonrpc"), None);
        assert_eq!(Binding::near_miss("jsonrpc"), Some(Binding::JsonRpc));
        assert_eq!(Binding::near_miss("http/json"), Some(Binding::HttpJson));
        assert_eq!(Binding::near_miss("https://x.example/binding"), None);
    }
}
