//! The bytes that a card's signature is over: the card without `signatures`, in the form of RFC 8785.
//!
//! A2A 1.0 (section 8.4.1) leaves out what has the default of its type, unless the field is required or
//! was set with presence. Signers do not agree on it, so a card has up to three forms here, each a pure
//! function of the text that came: unknown members stay in all of them. Nothing here fails: a number that
//! no double holds has no canonical form, and then there is none.

use serde_json::{Map, Value};

/// Which members of a card a signer signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// As section 8.4.1 says: no defaults of fields that are neither required nor optional.
    Strict,
    /// Everything that was sent.
    AsSent,
    /// Without anything empty, as some libraries sign.
    WithoutEmpty,
}

impl Form {
    /// Every form, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Strict, Self::AsSent, Self::WithoutEmpty];

    /// The name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::AsSent => "as_sent",
            Self::WithoutEmpty => "without_empty",
        }
    }
}

/// The canonical text of a card in one form; `None` if it is no object or has no such text.
pub(super) fn signed_text(card: &Value, form: Form) -> Option<String> {
    let mut card = card.as_object()?.clone();
    card.remove("signatures");
    let mut card = Value::Object(card);
    if form != Form::AsSent {
        drop_defaults(&mut card, &CARD);
    }
    if form == Form::WithoutEmpty {
        card = without_empty(card).unwrap_or(Value::Object(Map::new()));
    }
    canonical(&card)
}

/// RFC 8785: no white space, members by the UTF-16 of their names, numbers as ECMAScript prints them.
pub(super) fn canonical(value: &Value) -> Option<String> {
    let mut out = String::new();
    write(value, &mut out)?;
    Some(out)
}

fn write(value: &Value, out: &mut String) -> Option<()> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        // Every number is a double to RFC 8785, so an integer above 2^53 is the nearest one.
        Value::Number(number) => out.push_str(&decimal(number.as_f64()?)?),
        Value::String(text) => quote(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out)?;
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
            sorted.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            out.push('{');
            for (at, (name, member)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                quote(name, out);
                out.push(':');
                write(member, out)?;
            }
            out.push('}');
        }
    }
    Some(())
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' => {
                let code = u32::from(character);
                out.push_str("\\u00");
                for digit in [code >> 4, code & 15] {
                    out.extend(char::from_digit(digit, 16));
                }
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// `Number::toString` of ECMAScript: the shortest digits that read back as the same double, laid out by
/// the size of the number.
fn decimal(number: f64) -> Option<String> {
    if !number.is_finite() {
        return None;
    }
    if number == 0.0 {
        return Some("0".to_owned());
    }
    let written = shortest(number.abs());
    let (mantissa, exponent) = written.split_once('e')?;
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().ok()?;
    let count = i32::try_from(digits.len()).ok()?;
    // The decimal point stands behind this many digits.
    let point = exponent + 1;
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let sign = if number < 0.0 { "-" } else { "" };
    let text = if (count..=21).contains(&point) {
        format!("{digits}{}", zeros(point - count))
    } else if (1..=21).contains(&point) {
        let (whole, rest) = digits.split_at_checked(usize::try_from(point).ok()?)?;
        format!("{whole}.{rest}")
    } else if (-5..=0).contains(&point) {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at_checked(1)?;
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{first}{dot}{rest}e{exponent:+}")
    };
    Some(format!("{sign}{text}"))
}

/// The shortest digits, as `d.ddde±x`. Of two that are equally near, ECMAScript takes the even one and
/// Rust's shortest form the upper one, so the digits are taken again from its exact form.
fn shortest(number: f64) -> String {
    let shortest = format!("{number:e}");
    let digits = shortest.bytes().take_while(|byte| *byte != b'e');
    let count = digits.filter(u8::is_ascii_digit).count();
    let nearest = format!("{number:.*e}", count.saturating_sub(1));
    if nearest.parse() == Ok(number) {
        nearest
    } else {
        shortest
    }
}

/// The members of an A2A object that have rules; all others stay as they are.
struct Shape(&'static [Member]);

struct Member {
    name: &'static str,
    /// Whether it stays although it has the default of its type: it is required, or has presence.
    stays: bool,
    below: Below,
}

/// What a member holds.
enum Below {
    /// Nothing with rules of its own.
    Plain,
    /// One object.
    One(&'static Shape),
    /// A list of objects.
    Many(&'static Shape),
    /// A table of objects.
    Table(&'static Shape),
}

const fn stays(name: &'static str) -> Member {
    Member {
        name,
        stays: true,
        below: Below::Plain,
    }
}

const fn goes(name: &'static str) -> Member {
    Member {
        name,
        stays: false,
        below: Below::Plain,
    }
}

const fn one(name: &'static str, shape: &'static Shape) -> Member {
    Member {
        name,
        stays: true,
        below: Below::One(shape),
    }
}

const fn many(name: &'static str, stays: bool, shape: &'static Shape) -> Member {
    Member {
        name,
        stays,
        below: Below::Many(shape),
    }
}

const fn table(name: &'static str, shape: &'static Shape) -> Member {
    Member {
        name,
        stays: false,
        below: Below::Table(shape),
    }
}

// The messages of A2A 1.0 (`a2a.proto`), as far as a card holds them.
static CARD: Shape = Shape(&[
    stays("name"),
    stays("description"),
    many("supportedInterfaces", true, &INTERFACE),
    one("provider", &Shape(&[stays("url"), stays("organization")])),
    stays("version"),
    stays("documentationUrl"),
    one("capabilities", &CAPABILITIES),
    table("securitySchemes", &SCHEME),
    many("securityRequirements", false, &REQUIREMENT),
    stays("defaultInputModes"),
    stays("defaultOutputModes"),
    many("skills", true, &SKILL),
    stays("iconUrl"),
]);
static INTERFACE: Shape = Shape(&[
    stays("url"),
    stays("protocolBinding"),
    goes("tenant"),
    stays("protocolVersion"),
]);
static CAPABILITIES: Shape = Shape(&[
    stays("streaming"),
    stays("pushNotifications"),
    many("extensions", false, &EXTENSION),
    stays("extendedAgentCard"),
]);
static EXTENSION: Shape = Shape(&[
    goes("uri"),
    goes("description"),
    goes("required"),
    stays("params"),
]);
static SKILL: Shape = Shape(&[
    stays("id"),
    stays("name"),
    stays("description"),
    stays("tags"),
    goes("examples"),
    goes("inputModes"),
    goes("outputModes"),
    many("securityRequirements", false, &REQUIREMENT),
]);
static REQUIREMENT: Shape = Shape(&[table("schemes", &Shape(&[goes("list")]))]);
static SCHEME: Shape = Shape(&[
    one(
        "apiKeySecurityScheme",
        &Shape(&[goes("description"), stays("location"), stays("name")]),
    ),
    one(
        "httpAuthSecurityScheme",
        &Shape(&[goes("description"), stays("scheme"), goes("bearerFormat")]),
    ),
    one("oauth2SecurityScheme", &OAUTH2),
    one(
        "openIdConnectSecurityScheme",
        &Shape(&[goes("description"), stays("openIdConnectUrl")]),
    ),
    one("mtlsSecurityScheme", &Shape(&[goes("description")])),
]);
static OAUTH2: Shape = Shape(&[
    goes("description"),
    one("flows", &FLOWS),
    goes("oauth2MetadataUrl"),
]);
static FLOWS: Shape = Shape(&[
    one("authorizationCode", &FLOW),
    one("clientCredentials", &FLOW),
    one("deviceCode", &FLOW),
    one("implicit", &OLD_FLOW),
    one("password", &OLD_FLOW),
]);
static FLOW: Shape = Shape(&[
    stays("authorizationUrl"),
    stays("deviceAuthorizationUrl"),
    stays("tokenUrl"),
    goes("refreshUrl"),
    stays("scopes"),
    goes("pkceRequired"),
]);
static OLD_FLOW: Shape = Shape(&[
    goes("authorizationUrl"),
    goes("tokenUrl"),
    goes("refreshUrl"),
    goes("scopes"),
]);

fn drop_defaults(value: &mut Value, shape: &Shape) {
    let Some(members) = value.as_object_mut() else {
        return;
    };
    for member in shape.0 {
        let Some(found) = members.get_mut(member.name) else {
            continue;
        };
        // ProtoJSON reads null as absent, whatever the field is.
        if found.is_null() || (!member.stays && is_default(found)) {
            members.remove(member.name);
            continue;
        }
        match &member.below {
            Below::Plain => {}
            Below::One(shape) => drop_defaults(found, shape),
            Below::Many(shape) => {
                for item in found.as_array_mut().into_iter().flatten() {
                    drop_defaults(item, shape);
                }
            }
            Below::Table(shape) => {
                for item in found.as_object_mut().into_iter().flat_map(Map::values_mut) {
                    drop_defaults(item, shape);
                }
            }
        }
    }
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// Without empty texts, lists and objects, and what becomes empty by that.
fn without_empty(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then_some(Value::String(text)),
        Value::Array(items) => {
            let kept: Vec<Value> = items.into_iter().filter_map(without_empty).collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        Value::Object(members) => {
            let kept: Map<String, Value> = members
                .into_iter()
                .filter_map(|(name, member)| Some((name, without_empty(member)?)))
                .collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        other @ (Value::Bool(_) | Value::Number(_)) => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::{Document, Limits};

    fn canon(text: &str) -> String {
        let document = Document::read(text.as_bytes(), &Limits::default()).unwrap();
        canonical(document.value()).unwrap()
    }

    fn form(text: &str, form: Form) -> String {
        let document = Document::read(text.as_bytes(), &Limits::default()).unwrap();
        signed_text(document.value(), form).unwrap()
    }

    /// The samples of RFC 8785, appendix B.
    #[test]
    fn numbers_are_written_as_the_rfc_says() {
        let samples: [(u64, &str); 22] = [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ];

        for (bits, text) in samples {
            assert_eq!(decimal(f64::from_bits(bits)).unwrap(), text, "{bits:016x}");
        }
        assert_eq!(decimal(f64::NAN), None);
        assert_eq!(decimal(f64::INFINITY), None);
    }

    /// The samples of RFC 8785, sections 3.2.2 and 3.2.3.
    #[test]
    fn texts_and_members_are_written_as_the_rfc_says() {
        let values = r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
            "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#;
        let order = "{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\",\
            \"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\",\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}";

        assert_eq!(
            canon(values),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
        assert_eq!(
            canon(order),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\
             \"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}"
        );
    }

    #[test]
    fn integers_that_no_double_holds_are_the_nearest_one() {
        assert_eq!(
            canon("[9007199254740993,123456789012345678901234567890,-0,1.0]"),
            "[9007199254740992,1.2345678901234568e+29,0,1]"
        );
    }

    #[test]
    fn defaults_go_unless_a_field_is_required_or_was_set() {
        let card = r#"{"name":"","skills":[],"securitySchemes":{},"documentationUrl":"","iconUrl":null,
            "capabilities":{"streaming":false,"extensions":[{"uri":"u","required":false,"params":{"a":""}}]},
            "supportedInterfaces":[{"url":"u","protocolBinding":"b","protocolVersion":"1.0","tenant":""}],
            "securityRequirements":[{"schemes":{"s":{"list":[]}}}],"future":[],"signatures":[{}]}"#;

        assert_eq!(
            form(card, Form::Strict),
            r#"{"capabilities":{"extensions":[{"params":{"a":""},"uri":"u"}],"streaming":false},"documentationUrl":"","future":[],"name":"","securityRequirements":[{"schemes":{"s":{}}}],"skills":[],"supportedInterfaces":[{"protocolBinding":"b","protocolVersion":"1.0","url":"u"}]}"#
        );
        assert!(form(card, Form::AsSent).contains(r#""iconUrl":null"#));
        assert!(!form(card, Form::AsSent).contains("signatures"));
        assert_eq!(
            form(card, Form::WithoutEmpty),
            r#"{"capabilities":{"extensions":[{"uri":"u"}],"streaming":false},"supportedInterfaces":[{"protocolBinding":"b","protocolVersion":"1.0","url":"u"}]}"#
        );
    }
}
