//! The rules for text: credentials as people, programs and peers write them in passing.

use super::json::{skip_space, string_end, value_end};
use super::known::Forms;
use super::names;
use super::spans::{self, Span};
use super::unescape::unescape;
use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{alphabet, engine};

/// How much white space is looked over between a name and its value.
const SPACE_MAX: usize = 64;

/// Words that follow `Bearer` in prose.
const PROSE: &[&str] = &[
    "and",
    "auth",
    "authentication",
    "authorization",
    "credential",
    "credentials",
    "format",
    "header",
    "headers",
    "in",
    "is",
    "of",
    "or",
    "prefix",
    "scheme",
    "schemes",
    "security",
    "token",
    "tokens",
];

/// Parameters of a challenge: `Bearer realm="x"` asks for a token and holds none (RFC 6750, section 3;
/// RFC 9728, section 5.1).
const CHALLENGE: &[&[u8]] = &[
    b"error",
    b"error_description",
    b"error_uri",
    b"realm",
    b"resource_metadata",
    b"scope",
];

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The secret places of a text; they may overlap.
pub(super) fn find(bytes: &[u8], forms: &Forms) -> Vec<Span> {
    let mut found = forms.find(bytes);
    let mut at = 0;
    while let Some(skipped) = next_beginning(bytes, at) {
        at += skipped;
        let span = match bytes.get(at) {
            Some(b'B' | b'b') => credentials(bytes, at),
            Some(b'=') => assignment(bytes, at),
            Some(b':') => user_part(bytes, at).or_else(|| header_line(bytes, at)),
            Some(b'"' | b'\'') => member(bytes, at),
            Some(b'-') => private_key(bytes, at),
            _ => None,
        };
        match span {
            Some(span) => {
                at = span.end.max(at + 1);
                found.push(span);
            }
            None => at = spans::word_at(bytes, at, forms).unwrap_or(at + 1),
        }
    }
    found
}

/// How many bytes lie before the next one at which a rule can begin. Most bytes of most texts are none.
fn next_beginning(bytes: &[u8], from: usize) -> Option<usize> {
    let begins = |byte: &u8| matches!(byte, b'B' | b'b' | b'=' | b':' | b'"' | b'\'' | b'-' | b'[');
    bytes.get(from..)?.iter().position(begins)
}

/// `Bearer xxx` and `Basic xxx` (RFC 6750, RFC 7617).
fn credentials(bytes: &[u8], at: usize) -> Option<Span> {
    let before = at.checked_sub(1).and_then(|at| bytes.get(at));
    if before.is_some_and(|b| is_name_byte(*b) || *b == b']') {
        return None;
    }
    let is = |name: &str| {
        let word = bytes.get(at..at + name.len());
        word.is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
    };
    let (name, bearer) = if is("bearer") {
        ("bearer", true)
    } else if is("basic") {
        ("basic", false)
    } else {
        return None;
    };
    let after = at + name.len();
    let start = skip_blanks(bytes, after);
    let end = run(bytes, start, is_token_byte);
    let token = bytes.get(start..end)?;
    let secret = if bearer {
        token.iter().any(u8::is_ascii_alphanumeric) && !is_prose(token) && !is_challenge(token)
    } else {
        is_basic(token)
    };
    (start > after && secret).then(|| Span::bare(start, end))
}

/// The beginning of a parameter; a token has `=` at its end only, and none of these names.
fn is_challenge(token: &[u8]) -> bool {
    let name = token.split(|byte| *byte == b'=').next();
    token.contains(&b'=') && name.is_some_and(|name| CHALLENGE.binary_search(&name).is_ok())
}

fn is_prose(token: &[u8]) -> bool {
    let word = token.to_ascii_lowercase();
    let word = std::str::from_utf8(&word).unwrap_or_default();
    PROSE
        .binary_search(&word.trim_end_matches(['.', '-', '/']))
        .is_ok()
}

/// `user:password` in base64. "Basic usage" is not.
fn is_basic(token: &[u8]) -> bool {
    let decoded = LENIENT
        .decode(token)
        .ok()
        .or_else(|| engine::general_purpose::URL_SAFE_NO_PAD.decode(token).ok());
    decoded.is_some_and(|text| text.contains(&b':'))
        || token.len() >= 16 && token.iter().any(u8::is_ascii_digit)
}

/// `name=value`: query parameters, forms, dumps of an environment.
fn assignment(bytes: &[u8], equals: usize) -> Option<Span> {
    let name = name_before(bytes, equals)?;
    let decoded = percent_decode(name);
    if !names::is_secret_variable(&decoded) {
        return None;
    }
    let start = equals + 1;
    if matches!(bytes.get(start)?, b'"' | b'\'') {
        let end = string_end(bytes, start).map_or(bytes.len(), |end| end - 1);
        return span_unless_harmless(bytes, start + 1, end);
    }
    span_unless_harmless(bytes, start, run(bytes, start, is_value_byte))
}

/// `://user:password@`.
fn user_part(bytes: &[u8], colon: usize) -> Option<Span> {
    let start = colon + 3;
    if bytes.get(colon..start)? != b"://" {
        return None;
    }
    let scheme = name_before(bytes, colon)?;
    let rest = bytes.get(start..)?;
    let inside =
        |b: &&u8| is_value_byte(**b) && !matches!(b, b'/' | b'?') || **b == b'&' || **b == b';';
    let authority = rest.get(..rest.iter().take_while(inside).count())?;
    let user = authority.iter().rposition(|b| *b == b'@')?;
    let user_text = authority.get(..user)?;
    let of_web = scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https");
    if !of_web && !user_text.contains(&b':') {
        return None; // `ssh://git@host` names nobody and hides nothing.
    }
    span_unless_harmless(bytes, start, start + user)
}

/// A header line that is quoted in text: the first word goes, the second one too after a scheme, and
/// no more of what may be prose; of cookies the whole line.
fn header_line(bytes: &[u8], colon: usize) -> Option<Span> {
    let name = name_before(bytes, colon)?;
    if !names::is_quoted_header(name) {
        return None;
    }
    let start = skip_blanks(bytes, colon + 1);
    let is_inside =
        |b: u8| is_value_byte(b) || matches!(b, b'&' | b'#' | b';' | b'<' | b'>' | b'`');
    if name.to_ascii_lowercase().ends_with(b"cookie") {
        let cookie = run(bytes, start, is_name_byte);
        let line = (bytes.get(cookie) == Some(&b'='))
            .then(|| run(bytes, start, |b| is_inside(b) || matches!(b, b' ' | b'\t')))?;
        return span_unless_harmless(bytes, start, line);
    }
    let word = run(bytes, start, is_inside);
    let is_scheme = bytes.get(start..word)?.iter().all(u8::is_ascii_alphabetic);
    let second = skip_blanks(bytes, word);
    let end = if is_scheme && second > word {
        run(bytes, second, is_inside)
    } else {
        word
    };
    span_unless_harmless(bytes, start, end)
}

/// The end of the run of such bytes that begins here.
fn run(bytes: &[u8], start: usize, is_inside: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|b| is_inside(**b)).count()
}

/// `"name": value` and `'name': value` outside of well-formed JSON.
fn member(bytes: &[u8], open: usize) -> Option<Span> {
    let quote = *bytes.get(open)?;
    let rest = bytes.get(open + 1..)?;
    // Six raw bytes can spell one character of a name.
    let length = rest
        .iter()
        .take(6 * names::NAME_BYTES_MAX)
        .position(|b| *b == quote)?;
    if !names::is_secret(&unescape(rest.get(..length)?).text) {
        return None;
    }
    let colon = skip_some_space(bytes, open + length + 2);
    if bytes.get(colon) != Some(&b':') {
        return None;
    }
    let start = skip_some_space(bytes, colon + 1);
    let first = *bytes.get(start)?;
    if matches!(first, b'"' | b'\'') {
        let end = string_end(bytes, start).map_or(bytes.len(), |end| end - 1);
        return span_unless_harmless(bytes, start + 1, end);
    }
    let end = value_end(bytes, start).unwrap_or(bytes.len());
    let value = bytes.get(start..end)?;
    let nothing = matches!(
        value,
        b"" | b"null" | b"true" | b"false" | b"None" | b"{}" | b"[]"
    );
    (!nothing && !spans::is_harmless(value)).then(|| Span::quoted(start, end))
}

/// The block of a private key in PEM (RFC 7468), from its first line to its last.
fn private_key(bytes: &[u8], at: usize) -> Option<Span> {
    let rest = bytes.get(at..)?.strip_prefix(b"-----BEGIN ")?;
    let label = rest.iter().take(40).position(|b| *b == b'-')?;
    if !rest.get(..label)?.ends_with(b"PRIVATE KEY") {
        return None;
    }
    let body = at + 16 + label;
    let lines = bytes.get(body..)?;
    let inside = lines.windows(9).position(|text| text == b"-----END ");
    let Some(inside) = inside else {
        return Some(Span::bare(at, bytes.len()));
    };
    let last = run(bytes, body + inside + 5, |b| b != b'-' && b != b'\n');
    Some(Span::bare(at, run(bytes, last, |b| b == b'-')))
}

fn skip_some_space(bytes: &[u8], from: usize) -> usize {
    let until = bytes.len().min(from + SPACE_MAX);
    skip_space(bytes.get(..until).unwrap_or_default(), from)
}

fn span_unless_harmless(bytes: &[u8], start: usize, end: usize) -> Option<Span> {
    let value = bytes.get(start..end)?;
    (!spans::is_harmless(value)).then(|| Span::bare(start, end))
}

/// The name that ends here, if it begins where a word begins.
fn name_before(bytes: &[u8], end: usize) -> Option<&[u8]> {
    let before = bytes.get(..end)?;
    let length = before
        .iter()
        .rev()
        .take(names::NAME_BYTES_MAX + 1)
        .take_while(|b| is_name_byte(**b))
        .count();
    let start = end - length;
    let glued = start.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b']');
    (!glued && (1..=names::NAME_BYTES_MAX).contains(&length)).then(|| before.get(start..))?
}

fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let blanks = rest
        .iter()
        .take(SPACE_MAX)
        .take_while(|b| matches!(b, b' ' | b'\t'));
    from + blanks.count()
}

fn percent_decode(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut at = 0;
    while let Some(&byte) = name.get(at) {
        let digit = |at: usize| name.get(at).and_then(|b| char::from(*b).to_digit(16));
        let pair = digit(at + 1).zip(digit(at + 2));
        match pair.and_then(|(high, low)| u8::try_from(high * 16 + low).ok()) {
            Some(decoded) if byte == b'%' => {
                out.push(decoded);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'%')
}

/// A byte of `b64token` (RFC 6750 section 2.1).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
}

fn is_value_byte(byte: u8) -> bool {
    byte > b' '
        && byte != 127
        && !matches!(
            byte,
            b'&' | b'#' | b';' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\'
        )
}
