//! The values that flags take: durations, aliases, pairs, headers.
//!
//! Every parser here says what is wrong without repeating a value that could be a secret.

use crate::environment::Environment;
use crate::seams::Seams;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use missive_commands::secret::Secret;
use missive_commands::wire::headers::{HeaderError, check_header};
use missive_commands::wire::version::Binding;
use missive_log::event::facts::{RoutingPolicy, Weight};
use missive_log::event::id::{NotAnId, PEER_ID_BYTES_MAX};
use missive_log::event::{Alias, GroupName, OperationId, Origin, Rank, Seq, Timestamp};
use missive_log::seam::{Clock as _, SystemClock};
use missive_projections::At;
use std::str::FromStr;
use std::time::Duration;

/// Why a value was refused; clap puts the flag in front of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(String);

fn refuse<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused(why.into()))
}

/// The longest time that a flag or a configuration key takes: 30 days.
const DURATION_SECONDS_MAX: u64 = 30 * 24 * 3600;

/// Parses `500ms`, `30s`, `2m` or `1h`.
pub(crate) fn duration(text: &str) -> Result<Duration, Refused> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or_default();
    let milliseconds_each: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "" => return refuse("a duration needs a unit, such as `500ms`, `30s`, `2m` or `1h`"),
        _ => return refuse("a duration is written like `500ms`, `30s`, `2m` or `1h`"),
    };
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let count = if plain {
        digits.parse::<u64>().ok()
    } else {
        None
    };
    let Some(count) = count else {
        return refuse(
            "a duration is a whole number and a unit, such as `500ms`, `30s`, `2m` or `1h`",
        );
    };
    match count.checked_mul(milliseconds_each) {
        Some(0) => refuse("a duration must be longer than nothing"),
        Some(total) if total <= DURATION_SECONDS_MAX * 1_000 => Ok(Duration::from_millis(total)),
        Some(_) | None => refuse("a duration is at most 30 days (`720h`)"),
    }
}

/// Parses a name that people look things up by: `[a-z0-9][a-z0-9._-]{0,62}`.
pub(crate) fn alias(text: &str) -> Result<Alias, Refused> {
    let text = name(text)?;
    Alias::new(text).map_err(|why| Refused(why.to_string()))
}

/// The name of a group. `show` is none: `reduce show` would mean two things.
pub(crate) fn group(text: &str) -> Result<GroupName, Refused> {
    let text = name(text)?;
    if text == "show" {
        return refuse("`show` is no name for a group");
    }
    GroupName::new(text).map_err(|why| Refused(why.to_string()))
}

/// The place of a member in its group.
pub(crate) fn rank(text: &str) -> Result<Rank, Refused> {
    let text = name(text)?;
    Rank::new(text).map_err(|why| Refused(why.to_string()))
}

/// How much of the work a member takes.
pub(crate) fn weight(text: &str) -> Result<Weight, Refused> {
    let weight = text.parse();
    weight.map_err(|why: NotAnId| Refused(format!("this is not {}", why.expected)))
}

/// Parses one of the policies of routing, and lists them in the help.
pub(crate) fn policy() -> impl TypedValueParser<Value = RoutingPolicy> {
    let names = RoutingPolicy::ALL.iter().map(|policy| policy.as_str());
    PossibleValuesParser::new(names).try_map(|name| {
        RoutingPolicy::from_name(&name).ok_or_else(|| Refused("no such policy".to_owned()))
    })
}

/// Checks a name against `[a-z0-9][a-z0-9._-]{0,62}`.
pub(crate) fn name(text: &str) -> Result<&str, Refused> {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let starts = text.bytes().next().is_some_and(alphanumeric);
    let rest = text
        .bytes()
        .all(|byte| alphanumeric(byte) || matches!(byte, b'.' | b'_' | b'-'));
    if starts && rest && text.len() <= 63 {
        return Ok(text);
    }
    refuse(
        "a name has 1 to 63 of the characters a-z, 0-9, `.`, `_` and `-`, and starts with a letter \
         or a digit",
    )
}

/// Whom to talk to: a registered alias, or a URL for one-off use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A registered agent.
    Alias(Alias),
    /// An address that is used once and not registered. It is not validated here.
    Url(String),
}

impl FromStr for Target {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        if text.contains("://") {
            return Ok(Self::Url(text.to_owned()));
        }
        match alias(text) {
            Ok(alias) => Ok(Self::Alias(alias)),
            Err(_) => refuse(
                "an agent is an alias (a-z, 0-9, `.`, `_`, `-`) or an absolute http or https URL",
            ),
        }
    }
}

/// `KEY=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    /// What stands before the first `=`; never empty.
    pub(crate) key: String,
    /// Everything after it; may be empty and may hold further `=`.
    pub(crate) value: String,
}

impl FromStr for Pair {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Self {
                key: key.trim().to_owned(),
                value: value.to_owned(),
            }),
            Some(_) | None => refuse("this must be written KEY=VALUE, with a key"),
        }
    }
}

/// `Name: value`, for one run and never stored.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    /// The field name as it was typed: an HTTP token.
    pub(crate) name: String,
    /// The field value, which may be a credential.
    pub(crate) value: Secret,
}

impl FromStr for Header {
    type Err = HeaderError;

    fn from_str(text: &str) -> Result<Self, HeaderError> {
        let (name, value) = text.split_once(':').ok_or(HeaderError::NoColon)?;
        let value = value.trim_matches([' ', '\t']);
        check_header(name, value)?;
        Ok(Self {
            name: name.to_owned(),
            value: Secret::new(value.to_owned()),
        })
    }
}

/// The name of an environment variable.
pub(crate) fn variable(text: &str) -> Result<String, Refused> {
    let starts = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if starts
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        return Ok(text.to_owned());
    }
    // A pasted token is the usual mistake here.
    refuse("this takes the name of an environment variable, not its value (which is not repeated)")
}

/// Parses one of the doors by which events enter the log, and lists them in the help.
pub(crate) fn origin() -> impl TypedValueParser<Value = Origin> {
    PossibleValuesParser::new(Origin::ALL.map(Origin::as_str)).try_map(|name| {
        let found = Origin::ALL
            .into_iter()
            .find(|origin| origin.as_str() == name);
        found.ok_or_else(|| Refused("no such origin".to_owned()))
    })
}

/// Parses a moment in RFC 3339.
pub(crate) fn moment(text: &str) -> Result<Timestamp, Refused> {
    if let Some(moment) = Timestamp::parse_rfc3339(text) {
        return Ok(moment);
    }
    match duration(text) {
        Ok(ago) => Ok(before(now(), ago)),
        Err(_) => refuse(
            "a time is written in RFC 3339, such as 2026-12-01T09:30:00Z, or as how long ago it is, such as \
             2h",
        ),
    }
}

fn before(now: Timestamp, ago: Duration) -> Timestamp {
    let ago = u64::try_from(ago.as_micros()).unwrap_or(u64::MAX);
    Timestamp::from_micros(now.as_micros().saturating_sub(ago))
}

/// The moment at which the command was typed: that of the machine, unless a test says another.
fn now() -> Timestamp {
    let seams = Seams::of(&Environment::of_process());
    let clock = seams.ok().and_then(|seams| seams.clock);
    clock.unwrap_or_else(|| SystemClock.now())
}

/// Parses a moment in RFC 3339 that something reaches up to. A time is as exact as it is written: without a
/// fraction it is the whole second, as lists show it.
pub(crate) fn until(text: &str) -> Result<Timestamp, Refused> {
    let moment = moment(text)?;
    // How long ago something is says no second.
    if text.contains('.') || Timestamp::parse_rfc3339(text).is_none() {
        return Ok(moment);
    }
    Ok(Timestamp::from_micros(
        moment.as_micros().saturating_add(999_999),
    ))
}

/// Parses a place in the log, or a moment in RFC 3339.
pub(crate) fn at(text: &str) -> Result<At, Refused> {
    if let Ok(place) = text.parse() {
        return Ok(At::Place(Seq(place)));
    }
    match until(text) {
        Ok(moment) => Ok(At::Time(moment)),
        Err(_) => refuse(
            "a moment is the place of an event, such as 42, a time in RFC 3339, such as \
             2026-12-01T09:30:00Z, or how long ago it is, such as 5m",
        ),
    }
}

/// Parses one of the bindings of A2A, and lists them in the help.
pub(crate) fn binding() -> impl TypedValueParser<Value = Binding> {
    PossibleValuesParser::new(Binding::ALL.map(Binding::name))
        .try_map(|name| Binding::parse(&name).ok_or_else(|| Refused("no such binding".to_owned())))
}

/// `Major.Minor`, such as `1.0`.
pub(crate) fn protocol_version(text: &str) -> Result<String, Refused> {
    let number = |part: &str| {
        !part.is_empty() && part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit())
    };
    match text.split_once('.') {
        Some((major, minor)) if number(major) && number(minor) => Ok(text.to_owned()),
        Some(_) | None => refuse("a protocol version is written Major.Minor, such as `1.0`"),
    }
}

/// An identifier that a peer or missive gave out: opaque, but one line and bounded.
pub(crate) fn identifier(text: &str) -> Result<String, Refused> {
    if text.is_empty() || text.len() > PEER_ID_BYTES_MAX {
        return refuse(format!("an identifier has 1 to {PEER_ID_BYTES_MAX} bytes"));
    }
    if text.chars().any(char::is_control) {
        return refuse("an identifier holds no control characters");
    }
    Ok(text.to_owned())
}

/// A typed identifier that the log knows.
pub(crate) fn id<T: FromStr<Err = NotAnId>>(text: &str) -> Result<T, Refused> {
    identifier(text)?
        .parse()
        .map_err(|why: NotAnId| Refused(format!("this is not {}", why.expected)))
}

/// The identifier of an operation, which is a UUID and may be typed without its dashes.
pub(crate) fn operation(text: &str) -> Result<OperationId, Refused> {
    let digits = |byte: u8| byte.is_ascii_hexdigit();
    if text.len() != 32 || !text.bytes().all(digits) {
        return id(text);
    }
    let mut dashed = String::with_capacity(36);
    for (at, digit) in text.to_ascii_lowercase().chars().enumerate() {
        if matches!(at, 8 | 12 | 16 | 20) {
            dashed.push('-');
        }
        dashed.push(digit);
    }
    id(&dashed)
}

/// `type/subtype`, optionally with parameters; `*` is allowed on both sides for what is accepted.
pub(super) fn media_type(text: &str) -> Result<String, String> {
    let essence = text.split(';').next().unwrap_or_default().trim();
    let token = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    let plain = text.len() <= 255 && text.chars().all(|letter| !letter.is_control());
    match essence.split_once('/') {
        Some((kind, subtype)) if plain && token(kind) && token(subtype) => Ok(text.to_owned()),
        Some(_) | None => {
            Err("a media type is written type/subtype, such as text/markdown".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        At, Header, Pair, Target, alias, at, duration, moment, operation, protocol_version, until,
        variable,
    };
    use std::time::Duration;

    #[test]
    fn a_time_without_a_fraction_reaches_to_the_end_of_its_second() {
        let second = "2026-12-01T09:30:00Z";
        let last = moment("2026-12-01T09:30:00.999999Z").unwrap();

        assert_eq!(until(second), Ok(last));
        assert_eq!(at(second), Ok(At::Time(last)));
        assert_eq!(until("2026-12-01T09:30:00.0Z"), moment(second));
        assert!(matches!(at("42"), Ok(At::Place(place)) if place.0 == 42));
    }

    #[test]
    fn durations_have_a_unit_and_a_bound() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("1h"), Ok(Duration::from_secs(3600)));

        for wrong in [
            "",
            "30",
            "s",
            "-1s",
            "1.5s",
            "1d",
            "0s",
            "1 s",
            "+1s",
            "721h",
            "1é",
            "99999999999999999999s",
        ] {
            assert!(duration(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn aliases_are_short_lower_case_names() {
        for good in ["a", "0", "ada", "a.b_c-d", &"a".repeat(63)] {
            assert!(alias(good).is_ok(), "{good:?}");
        }

        for wrong in [
            "",
            "Ada",
            ".a",
            "-a",
            "a b",
            "ä",
            "a/b",
            "a\u{1b}",
            &"a".repeat(64),
        ] {
            assert!(alias(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_target_with_a_scheme_is_a_url() {
        assert_eq!("http://h".parse(), Ok(Target::Url("http://h".to_owned())));
        assert!(matches!("ada".parse(), Ok(Target::Alias(_))));
        assert!("h:80".parse::<Target>().is_err());
    }

    #[test]
    fn an_operation_is_known_with_and_without_dashes() {
        let dashed = "0192f3a1-c6e8-7b4f-9d2e-5a6b7c8d9e0f";

        for typed in [
            dashed,
            &dashed.replace('-', ""),
            &dashed.replace('-', "").to_uppercase(),
        ] {
            assert_eq!(operation(typed).unwrap().as_str(), dashed);
        }
        assert_eq!(operation("op-1").unwrap().as_str(), "op-1");
    }

    #[test]
    fn a_pair_splits_at_the_first_equals_sign() {
        let pair: Pair = "k=a=b".parse().unwrap();

        assert_eq!((pair.key.as_str(), pair.value.as_str()), ("k", "a=b"));
        assert!("=v".parse::<Pair>().is_err());
        assert!("kv".parse::<Pair>().is_err());
    }

    #[test]
    fn no_way_to_print_a_header_shows_its_value() {
        let header: Header = "X-Api-Key:  s3cret ".parse().unwrap();

        assert_eq!(header.value.expose(), "s3cret");
        assert!(!format!("{header:?}").contains("s3cret"));
        for wrong in [
            "s3cret",
            ": s3cret",
            "X Y: s3cret",
            "X: s3cret\r\nY: z",
            "X: s3cret\u{7f}",
        ] {
            let refused = wrong.parse::<Header>().unwrap_err();
            assert!(!refused.to_string().contains("s3cret"), "{refused}");
        }
    }

    #[test]
    fn a_token_in_place_of_a_variable_name_is_not_repeated() {
        assert_eq!(variable("PY_TOKEN"), Ok("PY_TOKEN".to_owned()));
        assert!(
            !variable("Bearer s3cret")
                .unwrap_err()
                .to_string()
                .contains("s3cret")
        );
        assert!(variable("").is_err());
    }

    #[test]
    fn a_protocol_version_has_two_numbers() {
        assert!(protocol_version("1.0").is_ok());
        for wrong in ["1", "1.0.1", "v1.0", "1.", ".0", ""] {
            assert!(protocol_version(wrong).is_err(), "{wrong:?}");
        }
    }
}
