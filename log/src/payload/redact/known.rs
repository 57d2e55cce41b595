//! The secret values that this process resolved, and how they look when they are written down.

use super::spans::{self, Span};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::collections::BTreeSet;
use std::fmt;

/// Shorter values are not looked for: replacing every `a` would destroy what it protects.
pub const SECRET_BYTES_MIN: usize = 4;

/// How many characters of base64 must be the value's alone before they are looked for.
const BASE64_CHARS_MIN: usize = 8;

/// The first words of header values whose second word is the credential.
const SCHEMES: [&str; 6] = ["apikey", "basic", "bearer", "dpop", "key", "token"];

/// Secret values. They are not printed, not serialised and not given back.
#[derive(Clone, Default)]
pub struct KnownSecrets(BTreeSet<Box<str>>);

impl KnownSecrets {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more; values of less than [`SECRET_BYTES_MIN`] bytes are passed over.
    ///
    /// Of a whole header value (`Bearer xxx`, `Basic dXNlcjpwYXNz`) the credential alone is known as
    /// well, and what it spells: a peer may give back any of them.
    pub fn add(&mut self, secret: &str) {
        for text in [secret, secret.trim()] {
            if text.len() >= SECRET_BYTES_MIN {
                self.0.insert(text.into());
            }
        }
        let Some((scheme, credential)) = secret.trim().split_once(' ') else {
            return;
        };
        let scheme = scheme.to_ascii_lowercase();
        if !SCHEMES.contains(&&*scheme) {
            return;
        }
        let credential = credential.trim();
        self.add(credential);
        let decoded = STANDARD_NO_PAD
            .decode(credential.trim_end_matches('='))
            .ok();
        let spelled = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(spelled) = spelled.filter(|_| scheme == "basic") {
            self.add(&spelled);
            if let Some((_, password)) = spelled.split_once(':') {
                self.add(password);
            }
        }
    }
}

impl<T: AsRef<str>> FromIterator<T> for KnownSecrets {
    fn from_iter<I: IntoIterator<Item = T>>(secrets: I) -> Self {
        let mut known = Self::new();
        for secret in secrets {
            known.add(secret.as_ref());
        }
        known
    }
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownSecrets(..)")
    }
}

/// Every form of every value, by its first byte, so that most bytes cost one look.
#[derive(Default)]
pub(super) struct Forms(Vec<Vec<Box<[u8]>>>);

impl Forms {
    pub(super) fn of(secrets: &KnownSecrets) -> Self {
        let mut forms = BTreeSet::new();
        for secret in &secrets.0 {
            forms.insert(secret.as_bytes().to_vec());
            forms.extend(escaped(secret));
            forms.extend(percent_encoded(secret));
            forms.extend(in_base64(secret.as_bytes()));
        }
        let mut by_first = vec![Vec::new(); 256];
        for form in forms {
            if let Some(same) = form.first().and_then(|b| by_first.get_mut(usize::from(*b))) {
                same.push(form.into_boxed_slice());
            }
        }
        Self(by_first)
    }

    /// The length of the longest value that begins here.
    pub(super) fn longest_at(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let rest = bytes.get(at..)?;
        let same = self.0.get(usize::from(*rest.first()?))?;
        same.iter()
            .filter(|form| rest.starts_with(form))
            .map(|form| form.len())
            .max()
    }

    /// Whether one of the values stands anywhere in the bytes.
    pub(super) fn occur_in(&self, bytes: &[u8]) -> bool {
        (0..bytes.len()).any(|at| self.longest_at(bytes, at).is_some())
    }

    /// Where the values stand; those that overlap are one place.
    pub(super) fn find(&self, bytes: &[u8]) -> Vec<Span> {
        let mut found: Vec<Span> = Vec::new();
        if self.0.is_empty() {
            return found;
        }
        let mut at = 0;
        while at < bytes.len() {
            if let Some(end) = spans::word_at(bytes, at, self) {
                at = end;
                continue;
            }
            if let Some(length) = self.longest_at(bytes, at) {
                let end = at + length;
                match found.last_mut() {
                    Some(last) if at < last.end => last.end = last.end.max(end),
                    _ => found.push(Span::bare(at, end)),
                }
            }
            at += 1;
        }
        found
    }
}

/// As JSON writes it, with and without an escaped slash.
fn escaped(secret: &str) -> Vec<Vec<u8>> {
    let quoted = serde_json::Value::from(secret).to_string();
    let inner = quoted.trim_start_matches('"');
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    vec![
        inner.as_bytes().to_vec(),
        inner.replace('/', "\\/").into_bytes(),
    ]
}

/// As URLs and forms write it (RFC 3986 section 2.1).
fn percent_encoded(secret: &str) -> Vec<Vec<u8>> {
    let encode = |kept: &[u8], upper: bool| {
        let mut out = Vec::new();
        for byte in secret.bytes() {
            if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
                out.push(byte);
            } else if upper {
                out.extend_from_slice(format!("%{byte:02X}").as_bytes());
            } else {
                out.extend_from_slice(format!("%{byte:02x}").as_bytes());
            }
        }
        out
    };
    let form: Vec<u8> = String::from_utf8_lossy(&encode(b"-._*", true))
        .replace("%20", "+")
        .into_bytes();
    vec![
        encode(b"-._~", true),
        encode(b"-._~", false),
        // What `encodeURI` and most query writers leave alone.
        encode(b"-._~!$&'()*+,;=:@/?", true),
        form,
    ]
}

/// The characters that are the value's alone, wherever it lies in what was encoded.
fn in_base64(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for before in 0..3_usize {
        let mut padded = vec![0; before];
        padded.extend_from_slice(secret);
        // Of these characters the first ones hold bits of what stands before, the last one of what follows.
        let skip = (before * 8).div_ceil(6);
        let whole = padded.len() * 8 / 6;
        for text in [
            STANDARD_NO_PAD.encode(&padded),
            URL_SAFE_NO_PAD.encode(&padded),
        ] {
            if let Some(own) = text
                .get(skip..whole)
                .filter(|own| own.len() >= BASE64_CHARS_MIN)
            {
                forms.push(own.as_bytes().to_vec());
            }
        }
    }
    forms
}
