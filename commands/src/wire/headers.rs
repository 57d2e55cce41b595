//! HTTP header fields: an ordered list as received, and the checked ones that we send.

use crate::secret::Secret;

/// Header fields of an answer: names in lower case, values as bytes, in the order of receipt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(String, Vec<u8>)>);

impl Headers {
    /// The first value of a field, if it is printable ASCII or UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every readable value of a field.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(field, _)| field.eq_ignore_ascii_case(name))
            .filter_map(|(_, value)| std::str::from_utf8(value).ok())
            .map(str::trim)
    }

    /// The media type of the body.
    pub fn media(&self) -> Media {
        Media::parse(self.get("content-type"))
    }

    /// A content coding other than `identity`, such as `gzip`. We never ask for one.
    pub fn coding(&self) -> Option<&str> {
        self.get("content-encoding")
            .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"))
    }
}

impl<N: Into<String>, V: Into<Vec<u8>>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(fields: I) -> Self {
        Self(
            fields
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}

/// What a `Content-Type` says, as far as A2A cares (C027): case and parameters do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// `application/json`, `application/a2a+json` or any other `+json`.
    Json,
    /// `text/event-stream`.
    EventStream,
    /// Anything else.
    Other,
    /// No such header.
    Missing,
}

impl Media {
    /// Reads the value of a `Content-Type` field.
    pub fn parse(value: Option<&str>) -> Self {
        let Some(value) = value else {
            return Self::Missing;
        };
        let essence = value
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        match essence.as_str() {
            "" => Self::Missing,
            "application/json" | "text/json" => Self::Json,
            "text/event-stream" => Self::EventStream,
            other if other.ends_with("+json") => Self::Json,
            _ => Self::Other,
        }
    }
}

/// The value of a header that we send.
#[derive(Clone, Debug)]
pub enum HeaderText {
    /// May be shown and stored.
    Plain(String),
    /// A credential: sent to the origin it was meant for, shown and stored nowhere.
    Secret(Secret),
}

impl HeaderText {
    /// The text, for writing the header.
    pub fn expose(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Secret(secret) => secret.expose(),
        }
    }
}

/// Why a header that the user asked for is not sent. Never quotes the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// No `:` in a `Name: value` argument.
    #[error("a header is written `Name: value`")]
    NoColon,
    /// Not a token of RFC 9110.
    #[error("`{name}` is no header name")]
    Name {
        /// The name as an excerpt.
        name: String,
    },
    /// Line breaks or other controls would smuggle in further headers.
    #[error("the value of the header `{name}` holds a control character")]
    Value {
        /// The name.
        name: String,
    },
    /// Framing and routing fields belong to the transport.
    #[error("the header `{name}` is set by missive itself")]
    Reserved {
        /// The name.
        name: String,
    },
}

/// Fields that decide how bytes are framed or who is asked.
const RESERVED: [&str; 10] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "te",
    "trailer",
    "upgrade",
    "keep-alive",
    "proxy-connection",
    "expect",
];

/// Checks name and value of a header before any request is made.
///
/// # Errors
/// See [`HeaderError`].
pub fn check_header(name: &str, value: &str) -> Result<(), HeaderError> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || name.len() > 256 || !name.bytes().all(is_token) {
        return Err(HeaderError::Name {
            name: super::text::excerpt(name),
        });
    }
    if value
        .bytes()
        .any(|byte| (byte < 0x20 && byte != b'\t') || byte == 0x7f)
    {
        return Err(HeaderError::Value {
            name: name.to_owned(),
        });
    }
    if RESERVED
        .iter()
        .any(|reserved| name.eq_ignore_ascii_case(reserved))
    {
        return Err(HeaderError::Reserved {
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// Splits and checks `Name: value`. The value is a secret, since headers are where secrets go.
///
/// # Errors
/// See [`HeaderError`].
pub fn parse_header(line: &str) -> Result<(String, Secret), HeaderError> {
    let (name, value) = line.split_once(':').ok_or(HeaderError::NoColon)?;
    let value = value.trim_matches([' ', '\t']);
    check_header(name, value)?;
    Ok((name.to_owned(), Secret::new(value.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_compared_without_case_and_parameters() {
        for json in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/a2a+json",
            "application/a2a+json;charset=UTF-8",
            "application/problem+json",
        ] {
            assert_eq!(Media::parse(Some(json)), Media::Json, "{json}");
        }
        assert_eq!(
            Media::parse(Some("text/event-stream; charset=utf-8")),
            Media::EventStream
        );
        assert_eq!(Media::parse(Some("text/html")), Media::Other);
        assert_eq!(Media::parse(Some("application/jsonish")), Media::Other);
        assert_eq!(Media::parse(None), Media::Missing);
    }

    #[test]
    fn headers_that_would_smuggle_or_reframe_are_refused() {
        let refused = |line: &str| parse_header(line).unwrap_err().to_string();

        assert_eq!(
            refused("X-A: a\r\nHost: evil"),
            "the value of the header `X-A` holds a control character"
        );
        assert_eq!(refused("X A: a"), "`X A` is no header name");
        assert_eq!(refused("no colon"), "a header is written `Name: value`");
        assert_eq!(
            refused("Content-Length: 3"),
            "the header `Content-Length` is set by missive itself"
        );
        assert_eq!(
            parse_header("X-Key:  secret ").unwrap().1.expose(),
            "secret"
        );
    }

    #[test]
    fn all_values_of_a_field_are_found_whatever_the_case_of_its_name() {
        let headers: Headers = [
            ("www-authenticate", "Bearer"),
            ("x", "1"),
            ("www-authenticate", "Basic"),
        ]
        .into_iter()
        .collect();

        let found: Vec<_> = headers.all("WWW-Authenticate").collect();

        assert_eq!(found, ["Bearer", "Basic"]);
    }
}
