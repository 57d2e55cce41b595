//! Which names stand before secrets.
//!
//! Names are compared whole, in lower case and without `-` and `_`: `nextPageToken`, `max_tokens` and
//! `securitySchemes` are not secret-like.

/// The longest name that is looked at, in bytes; the longest one in the lists has twenty-three.
pub(super) const NAME_BYTES_MAX: usize = 64;

/// Sorted, for the binary search.
const SECRET: &[&str] = &[
    "a2anotificationtoken",
    "accesskey",
    "accesskeysecret",
    "accesstoken",
    "apikey",
    "apisecret",
    "apitoken",
    "appsecret",
    "authorization",
    "authtoken",
    "awssecretaccesskey",
    "awssessiontoken",
    "bearertoken",
    "clientassertion",
    "clientsecret",
    "connectionstring",
    "consumersecret",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "csrftoken",
    "encryptionkey",
    "idtoken",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "proxyauthorization",
    "pwd",
    "refreshtoken",
    "secret",
    "secretaccesskey",
    "secretkey",
    "secrettoken",
    "securitytoken",
    "sessioncookie",
    "sessiontoken",
    "setcookie",
    "sharedsecret",
    "signingkey",
    "signingsecret",
    "subscriptionkey",
    "token",
    "userpassword",
    "webhooksecret",
    "xa2anotificationtoken",
    "xaccesstoken",
    "xamzsecuritytoken",
    "xapikey",
    "xapitoken",
    "xauthorization",
    "xauthtoken",
    "xcsrftoken",
    "xforwardedauthorization",
    "xgoogapikey",
    "xsrftoken",
    "xxsrftoken",
];

/// Names of headers that stand before secrets, also where a header line is quoted in running text.
const QUOTED_HEADERS: &[&str] = &[
    "a2anotificationtoken",
    "authorization",
    "cookie",
    "proxyauthorization",
    "setcookie",
    "xa2anotificationtoken",
    "xaccesstoken",
    "xamzsecuritytoken",
    "xapikey",
    "xapitoken",
    "xauthtoken",
    "xcsrftoken",
    "xgoogapikey",
];

/// Headers that say something about the bytes of a body.
const FINGERPRINTS: &[&str] = &[
    "contentdigest",
    "contentlength",
    "contentmd5",
    "contentrange",
    "digest",
    "etag",
    "ifmatch",
    "ifnonematch",
    "ifrange",
    "reprdigest",
    "signature",
    "signatureinput",
    "xamzcontentsha256",
    "xchecksum",
    "xcontenthash",
    "xgooghash",
];

/// Objects whose keys are names that a card's author chose (A2A section 4.5): a security scheme that
/// is called `token`, or the OAuth flow that is called `password`, is no secret.
const NAMED_BY_AUTHORS: &[&str] = &[
    "flows",
    "schemes",
    "security",
    "securityrequirements",
    "securityschemes",
];

/// What ends the name of an environment variable that holds a secret.
const VARIABLE_ENDS: &[&str] = &[
    "_ACCESS_KEY",
    "_API_KEY",
    "_CREDENTIALS",
    "_PASSWORD",
    "_PRIVATE_KEY",
    "_SECRET",
    "_SECRET_KEY",
    "_TOKEN",
];

fn normalise(name: &[u8]) -> Option<String> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    name.iter()
        .filter(|b| !matches!(b, b'-' | b'_'))
        .map(|b| b.is_ascii().then(|| char::from(b.to_ascii_lowercase())))
        .collect()
}

fn is_in(list: &[&str], name: &[u8]) -> bool {
    normalise(name).is_some_and(|name| list.binary_search(&name.as_str()).is_ok())
}

/// Whether a value with this key or parameter name is secret.
pub(super) fn is_secret(name: &[u8]) -> bool {
    is_in(SECRET, name)
}

/// Whether a variable with this name, as in `NAME=value`, holds a secret.
pub(super) fn is_secret_variable(name: &[u8]) -> bool {
    let shouted = name
        .iter()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_');
    is_secret(name)
        || shouted
            && VARIABLE_ENDS
                .iter()
                .any(|end| name.ends_with(end.as_bytes()))
}

/// Whether the value of this header is secret.
pub(super) fn is_secret_header(name: &str) -> bool {
    is_secret(name.as_bytes())
        || normalise(name.as_bytes()).is_some_and(|name| {
            name.starts_with('x')
                && ["token", "apikey", "secret"]
                    .iter()
                    .any(|end| name.ends_with(end))
        })
}

/// Whether a line that begins with this name is a header line with a secret in it.
pub(super) fn is_quoted_header(name: &[u8]) -> bool {
    is_in(QUOTED_HEADERS, name)
}

/// Whether this header fingerprints the body that it belongs to.
pub(super) fn is_fingerprint(name: &str) -> bool {
    is_in(FINGERPRINTS, name.as_bytes())
        || normalise(name.as_bytes())
            .is_some_and(|name| name.starts_with('x') && name.contains("signature"))
}

/// Whether the keys of this key's object are names and not fields.
pub(super) fn names_its_members(key: &[u8]) -> bool {
    is_in(NAMED_BY_AUTHORS, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_normalised() {
        for list in [SECRET, QUOTED_HEADERS, FINGERPRINTS, NAMED_BY_AUTHORS] {
            assert!(list.is_sorted());
            for name in list {
                assert_eq!(normalise(name.as_bytes()).as_deref(), Some(*name));
            }
        }
    }

    #[test]
    fn case_dashes_and_underscores_do_not_matter_and_the_rest_does() {
        for name in [
            "Authorization",
            "api_key",
            "API-Key",
            "X-Api-Key",
            "client_secret",
            "pwd",
        ] {
            assert!(is_secret(name.as_bytes()), "{name}");
        }
        for name in [
            "nextPageToken",
            "max_tokens",
            "securitySchemes",
            "tokenUrl",
            "key",
            "",
        ] {
            assert!(!is_secret(name.as_bytes()), "{name}");
        }
    }
}
