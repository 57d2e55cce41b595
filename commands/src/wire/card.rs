//! An agent card, read for facts: what the agent is called, can do and where it listens.
//!
//! The card is a stranger's text. It is read leniently, never re-serialised (the caller keeps the
//! bytes), and what it is instead of a card gets its own error: a web page, an agent of A2A 0.3,
//! some other JSON. Every string in here is data and needs escaping before a terminal shows it.

use serde_json::Value;

use super::facts::{ID_BYTES_MAX, identifier, list, string};
use super::headers::Media;
use super::json::{Document, JsonError, Limits};
use super::normal::normalise;
use super::text::{excerpt, is_html};
use super::version::Version;
use super::violation::Violations;

/// How many interfaces, skills, extensions or modes of one card are read.
pub const ENTRIES_MAX: usize = 1_000;

/// What a card says (A2A 1.0, section 4.4.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// Free text.
    pub name: String,
    /// Free text.
    pub description: String,
    /// The agent's own version, verbatim.
    pub version: String,
    /// The organisation that runs it. Free text.
    pub provider: Option<String>,
    /// Where it listens, in the card's order of preference.
    pub interfaces: Vec<Interface>,
    /// Optional operations.
    pub capabilities: Capabilities,
    /// Media types that it takes by default.
    pub input_modes: Vec<String>,
    /// Media types that it answers with by default.
    pub output_modes: Vec<String>,
    /// What it can do.
    pub skills: Vec<Skill>,
    /// Names of the security schemes, sorted.
    pub security_schemes: Vec<String>,
    /// Whether `securityRequirements` asks for any scheme.
    pub security_required: bool,
    /// How many signatures it carries; none is checked here.
    pub signatures: usize,
    /// Where the card breaks A2A without being useless.
    pub odd: Violations,
}

/// One entry of `supportedInterfaces`, verbatim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// The address as declared.
    pub url: String,
    /// `JSONRPC`, `HTTP+JSON`, `GRPC`, or whatever the card says.
    pub binding: String,
    /// `Major.Minor`, or whatever the card says.
    pub protocol_version: Option<String>,
    /// An opaque value that every request must repeat.
    pub tenant: Option<String>,
}

/// The optional operations of an agent. Absent is `false`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// `SendStreamingMessage` and `SubscribeToTask`.
    pub streaming: bool,
    /// Push notification configurations.
    pub push_notifications: bool,
    /// An extended card for authenticated callers.
    pub extended_card: bool,
    /// Protocol extensions.
    pub extensions: Vec<Extension>,
}

/// A protocol extension that the agent knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extension {
    /// Its identity, case-sensitive.
    pub uri: String,
    /// Whether every request must declare it.
    pub required: bool,
}

/// One thing that the agent can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skill {
    /// Stable name: what routing goes by.
    pub id: String,
    /// Free text.
    pub name: String,
    /// Free text.
    pub description: String,
    /// Keywords: what routing goes by.
    pub tags: Vec<String>,
    /// Media types, if they differ from the card's.
    pub input_modes: Vec<String>,
    /// Media types, if they differ from the card's.
    pub output_modes: Vec<String>,
}

/// Why bytes are no agent card that missive can use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CardError {
    /// The catch-all page of a web application, or a login form.
    #[error("not an Agent Card: HTML received from {from}")]
    Html {
        /// The address that answered.
        from: String,
    },
    /// A content coding that was not asked for.
    #[error("what {from} sent as its Agent Card is compressed, which was not asked for")]
    Compressed {
        /// The address that answered.
        from: String,
    },
    /// A card of A2A 0.3. There is no silent fallback to an older protocol.
    #[error("the agent at {from} offers only A2A {version}, and missive speaks 1.0")]
    OldProtocol {
        /// The address that answered.
        from: String,
        /// The version that the card names, else `0.3`.
        version: String,
    },
    /// No JSON.
    #[error("not an Agent Card: what {from} sent is no usable JSON")]
    Json {
        /// The address that answered.
        from: String,
        /// What is wrong with the text.
        #[source]
        error: JsonError,
    },
    /// JSON, but not of a card.
    #[error("not an Agent Card: the JSON from {from} {why}")]
    NotACard {
        /// The address that answered.
        from: String,
        /// What is missing.
        why: &'static str,
    },
}

/// Reads a card that `from` answered with; `media` is what its `Content-Type` said.
///
/// # Errors
/// See [`CardError`].
pub fn read_card(
    bytes: &[u8],
    media: Media,
    from: &str,
    limits: &Limits,
) -> Result<Card, CardError> {
    let from = excerpt(from);
    if is_html(bytes) {
        return Err(CardError::Html { from });
    }
    let document = match Document::read(bytes, limits) {
        Ok(document) => document,
        Err(error) => return Err(CardError::Json { from, error }),
    };
    let value = normalise(document.value());
    if !value.is_object() {
        return Err(CardError::NotACard {
            from,
            why: "is no object",
        });
    }
    refuse_old_or_foreign(&value, from)?;
    let mut card = read_members(&value);
    if media != Media::Json {
        let said = if media == Media::Missing {
            "has no content type"
        } else {
            "is not sent as JSON"
        };
        card.odd.note("content_type", format!("the card {said}"));
    }
    if let Some(at) = document.flags().duplicate_keys.first() {
        card.odd.note(
            "duplicate_key",
            format!("the key {} stands twice", excerpt(at)),
        );
    }
    Ok(card)
}

fn refuse_old_or_foreign(value: &Value, from: String) -> Result<(), CardError> {
    let has = |name: &str| value.get(name).is_some();
    if value
        .get("supportedInterfaces")
        .and_then(Value::as_array)
        .is_some_and(|all| !all.is_empty())
    {
        return Ok(());
    }
    let names_itself = has("name") && (has("skills") || has("capabilities"));
    let version = value.get("protocolVersion").and_then(Value::as_str);
    let old_version = version
        .and_then(Version::parse)
        .is_some_and(|version| version.major == 0);
    let old_members = has("preferredTransport") || has("additionalInterfaces");
    if old_version || (names_itself && (old_members || has("url"))) {
        return Err(CardError::OldProtocol {
            from,
            version: excerpt(version.filter(|text| !text.is_empty()).unwrap_or("0.3")),
        });
    }
    let why = if has("supportedInterfaces") {
        "has an empty supportedInterfaces"
    } else {
        "has no supportedInterfaces"
    };
    Err(CardError::NotACard { from, why })
}

fn read_members(value: &Value) -> Card {
    let mut odd = Violations::default();
    let text = |name: &str, odd: &mut Violations| {
        let found = string(value, name, odd);
        if found.is_none() {
            odd.note("missing_field", format!("the card has no {name}"));
        }
        found.unwrap_or_default()
    };
    let null = Value::Null;
    let provider = value.get("provider").unwrap_or(&null);
    let mut security_schemes: Vec<String> = value
        .get("securitySchemes")
        .and_then(Value::as_object)
        .map(|schemes| schemes.keys().take(ENTRIES_MAX).cloned().collect())
        .unwrap_or_default();
    security_schemes.sort();
    Card {
        name: text("name", &mut odd),
        description: text("description", &mut odd),
        version: text("version", &mut odd),
        provider: string(provider, "organization", &mut odd),
        interfaces: list(value, "supportedInterfaces", &mut odd)
            .take(ENTRIES_MAX)
            .map(|entry| interface(entry, &mut odd))
            .collect(),
        capabilities: capabilities(value.get("capabilities").unwrap_or(&null), &mut odd),
        input_modes: strings(value, "defaultInputModes", &mut odd),
        output_modes: strings(value, "defaultOutputModes", &mut odd),
        skills: list(value, "skills", &mut odd)
            .take(ENTRIES_MAX)
            .map(|entry| skill(entry, &mut odd))
            .collect(),
        security_schemes,
        security_required: list(value, "securityRequirements", &mut odd).len() > 0,
        signatures: list(value, "signatures", &mut odd).len(),
        odd,
    }
}

fn interface(value: &Value, odd: &mut Violations) -> Interface {
    Interface {
        url: string(value, "url", odd).unwrap_or_default(),
        binding: string(value, "protocolBinding", odd).unwrap_or_default(),
        protocol_version: identifier(value, "protocolVersion", odd),
        tenant: identifier(value, "tenant", odd),
    }
}

fn capabilities(value: &Value, odd: &mut Violations) -> Capabilities {
    Capabilities {
        streaming: flag(value, "streaming", odd),
        push_notifications: flag(value, "pushNotifications", odd),
        extended_card: flag(value, "extendedAgentCard", odd),
        extensions: list(value, "extensions", odd)
            .take(ENTRIES_MAX)
            .map(|entry| Extension {
                uri: identifier(entry, "uri", odd).unwrap_or_default(),
                required: flag(entry, "required", odd),
            })
            .filter(|extension| !extension.uri.is_empty())
            .collect(),
    }
}

fn skill(value: &Value, odd: &mut Violations) -> Skill {
    let id = identifier(value, "id", odd);
    if id.is_none() {
        odd.note("missing_field", "a skill has no id");
    }
    Skill {
        id: id.unwrap_or_default(),
        name: string(value, "name", odd).unwrap_or_default(),
        description: string(value, "description", odd).unwrap_or_default(),
        tags: strings(value, "tags", odd),
        input_modes: strings(value, "inputModes", odd),
        output_modes: strings(value, "outputModes", odd),
    }
}

fn flag(value: &Value, name: &str, odd: &mut Violations) -> bool {
    match value.get(name) {
        Some(Value::Bool(set)) => *set,
        None | Some(Value::Null) => false,
        Some(Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
            odd.note("wrong_type", format!("`{name}` is neither true nor false"));
            false
        }
    }
}

fn strings(value: &Value, name: &str, odd: &mut Violations) -> Vec<String> {
    list(value, name, odd)
        .filter_map(Value::as_str)
        .filter(|text| text.len() <= ID_BYTES_MAX)
        .take(ENTRIES_MAX)
        .map(str::to_owned)
        .collect()
}

/// The extensions that the card requires and the request would not declare (C029). If there are any,
/// the agent has to refuse, so nothing should be sent.
pub fn missing_extensions(card: &Card, declared: &[String]) -> Vec<String> {
    card.capabilities
        .extensions
        .iter()
        .filter(|extension| extension.required && !declared.contains(&extension.uri))
        .map(|extension| extension.uri.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: &str = "https://h.example/.well-known/agent-card.json";

    fn read(text: &str) -> Result<Card, CardError> {
        read_card(text.as_bytes(), Media::Json, FROM, &Limits::default())
    }

    #[test]
    fn a_card_is_read_into_plain_facts() {
        let card = read(
            r#"{"name":"N","description":"d","version":"1","provider":{"organization":"o","url":"u"},
            "capabilities":{"streaming":true,"extensions":[{"uri":"https://x.example/e","required":true},{"uri":"o"}]},
            "default_input_modes":["text/plain"],"defaultOutputModes":null,
            "skills":[{"id":"s","name":"S","description":"","tags":["t","u"]}],
            "securitySchemes":{"z":{},"a":{}},"securityRequirements":[{"schemes":{}}],
            "supportedInterfaces":[{"url":"http://h","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":"a/b é"}]}"#,
        )
        .unwrap();

        assert_eq!(card.interfaces[0].tenant.as_deref(), Some("a/b é"));
        assert!(card.capabilities.streaming && !card.capabilities.push_notifications);
        assert_eq!(card.skills[0].tags, ["t", "u"]);
        assert_eq!(card.security_schemes, ["a", "z"]);
        assert_eq!(card.input_modes, ["text/plain"]);
        assert_eq!(card.odd.as_slice(), []);
        assert_eq!(
            missing_extensions(&card, &["o".to_owned()]),
            ["https://x.example/e"]
        );
        assert_eq!(
            missing_extensions(&card, &["https://x.example/e".to_owned()]),
            [""; 0]
        );
    }

    #[test]
    fn what_is_no_card_says_what_it_is() {
        let old = r#"{"name":"V3","description":"d","version":"2","protocolVersion":"0.3.0","url":"https://h.example/a2a","preferredTransport":"JSONRPC","capabilities":{},"skills":[]}"#;
        let unversioned =
            r#"{"name":"V2","url":"https://h.example/a2a","capabilities":{},"skills":[]}"#;
        let cases = [
            (
                "<!doctype html><title>App</title>",
                "not an Agent Card: HTML received from https://h.example/.well-known/agent-card.json",
            ),
            (
                old,
                "the agent at https://h.example/.well-known/agent-card.json offers only A2A 0.3.0, and missive speaks 1.0",
            ),
            (
                unversioned,
                "the agent at https://h.example/.well-known/agent-card.json offers only A2A 0.3, and missive speaks 1.0",
            ),
            (
                "{\"error\":\"x\"}",
                "not an Agent Card: the JSON from https://h.example/.well-known/agent-card.json has no supportedInterfaces",
            ),
            (
                "{\"supportedInterfaces\":[]}",
                "not an Agent Card: the JSON from https://h.example/.well-known/agent-card.json has an empty supportedInterfaces",
            ),
            (
                "[]",
                "not an Agent Card: the JSON from https://h.example/.well-known/agent-card.json is no object",
            ),
            (
                "{",
                "not an Agent Card: what https://h.example/.well-known/agent-card.json sent is no usable JSON",
            ),
        ];

        for (text, message) in cases {
            assert_eq!(read(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn a_card_with_a_wrong_content_type_is_taken_with_a_warning() {
        let text = br#"{"name":"D","description":"d","version":"1","supportedInterfaces":[{}]}"#;

        for media in [Media::Missing, Media::Other] {
            let card = read_card(text, media, FROM, &Limits::default()).unwrap();

            assert_eq!(card.odd.as_slice()[0].code, "content_type");
        }
    }

    #[test]
    fn members_of_the_wrong_type_do_not_hide_the_rest() {
        let card = read(
            r#"{"name":7,"skills":{"a":1},"capabilities":[],"provider":"p","supportedInterfaces":[7,{"url":["u"],"protocolBinding":"JSONRPC"}]}"#,
        )
        .unwrap();

        assert_eq!(card.interfaces.len(), 2);
        assert_eq!(card.interfaces[1].binding, "JSONRPC");
        assert!(card.odd.as_slice().len() >= 4);
    }
}
