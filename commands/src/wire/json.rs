//! JSON as it came: the exact text is kept, a parsed copy serves for reading facts.
//!
//! Nothing here chooses silently. What a typical parser would hide (duplicate keys, integers that
//! lose digits, numbers beyond a double, lone surrogates, a byte order mark) is reported in
//! [`Flags`]. Text of our own user is held to a stricter rule by [`JsonText`], since it is us who
//! would send it.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::parse;

/// Bounds on a JSON text.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most bytes of the text.
    pub bytes_max: usize,
    /// Most levels of nesting; also what keeps later recursive readers from overflowing.
    pub depth_max: usize,
    /// Most values in the text, since each takes up to half a kilobyte once it is parsed and read.
    pub values_max: usize,
}

impl Default for Limits {
    /// 64 MiB, 120 levels (below the 127 that other readers of the same text stop at), 250,000 values.
    fn default() -> Self {
        Self {
            bytes_max: 64 << 20,
            depth_max: 120,
            values_max: 250_000,
        }
    }
}

/// Why bytes are no usable JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Nothing but white space.
    #[error("the JSON text is empty")]
    Empty,
    /// More bytes than allowed.
    #[error("{bytes} bytes of JSON are more than the {bytes_max} allowed")]
    TooLong {
        /// Bytes that there are.
        bytes: usize,
        /// Bytes that are allowed.
        bytes_max: usize,
    },
    /// A byte that is no UTF-8.
    #[error("not UTF-8 at byte {offset}")]
    NotUtf8 {
        /// First wrong byte, counted from 0.
        offset: usize,
    },
    /// Nested too deeply.
    #[error("JSON nested deeper than {depth_max} levels at byte {offset}")]
    TooDeep {
        /// Levels that are allowed.
        depth_max: usize,
        /// Where the next level opens.
        offset: usize,
    },
    /// Too many values.
    #[error("more than {values_max} JSON values at byte {offset}")]
    TooMany {
        /// Values that are allowed.
        values_max: usize,
        /// Where the next one starts.
        offset: usize,
    },
    /// Not JSON.
    #[error("not JSON at byte {offset}: {what}")]
    Syntax {
        /// Where it goes wrong, counted from 0.
        offset: usize,
        /// What is wrong there.
        what: &'static str,
    },
}

/// What is legal in a JSON text and still not what it seems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// JSON pointers (unescaped, at most eight) of keys that stand twice in one object.
    pub duplicate_keys: Vec<String>,
    /// An integer beyond 2^53: only the text has it exactly.
    pub big_integers: bool,
    /// Byte offset of the first number beyond the range of a double; the parsed copy holds null.
    pub out_of_range: Option<usize>,
    /// A `\ud800`-like escape without its other half; the parsed copy holds U+FFFD.
    pub lone_surrogates: bool,
    /// The text started with a byte order mark, which the document leaves out.
    pub byte_order_mark: bool,
}

/// A JSON text with its parsed copy.
#[derive(Clone, Debug)]
pub struct Document {
    text: String,
    value: Value,
    flags: Flags,
}

impl Document {
    /// Reads bytes that came from a peer.
    ///
    /// # Errors
    /// See [`JsonError`]. No input makes it panic or overflow the stack.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self, JsonError> {
        if bytes.len() > limits.bytes_max {
            return Err(JsonError::TooLong {
                bytes: bytes.len(),
                bytes_max: limits.bytes_max,
            });
        }
        let text = std::str::from_utf8(bytes).map_err(|error| JsonError::NotUtf8 {
            offset: error.valid_up_to(),
        })?;
        let without_mark = text.strip_prefix('\u{feff}');
        let text = without_mark.unwrap_or(text);
        let (value, mut flags) = parse::parse(text, limits)?;
        flags.byte_order_mark = without_mark.is_some();
        Ok(Self {
            text: text.to_owned(),
            value,
            flags,
        })
    }

    /// The text as it came, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parsed copy, for reading facts only.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What the parsed copy does not show.
    pub fn flags(&self) -> &Flags {
        &self.flags
    }

    /// The exact text of one member or element; array elements are addressed by decimal index.
    pub fn raw(&self, path: &[&str]) -> Option<&str> {
        parse::span(&self.text, path)
    }

    /// The exact texts of all elements of the list at `path`, in one pass.
    pub fn raw_elements(&self, path: &[&str]) -> Vec<&str> {
        parse::span(&self.text, path)
            .map(parse::elements)
            .unwrap_or_default()
    }
}

/// The exact text of a member of an object, given the object's text.
pub(crate) fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    parse::span(object, &[name])
}

/// Why JSON that our own user gave is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// It is no JSON at all.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// Two readers would understand it differently.
    #[error("the key {at} stands twice")]
    DuplicateKey {
        /// JSON pointer of the key.
        at: String,
    },
    /// A number that becomes infinite or null on the way.
    #[error("the number at byte {offset} is beyond the range of a double")]
    OutOfRange {
        /// Where the number starts.
        offset: usize,
    },
    /// Half of a surrogate pair, which is no Unicode text.
    #[error("a string holds half of a surrogate pair")]
    LoneSurrogate,
}

/// JSON that our own user gave: checked, kept and sent as the exact text.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct JsonText(Box<RawValue>);

impl JsonText {
    /// Checks a JSON text. Integers beyond 2^53 are legal and are sent exactly as written.
    ///
    /// # Errors
    /// See [`InputError`].
    pub fn parse(text: &str, limits: &Limits) -> Result<Self, InputError> {
        let document = Document::read(text.as_bytes(), limits)?;
        let flags = document.flags();
        if let Some(at) = flags.duplicate_keys.first() {
            return Err(InputError::DuplicateKey { at: at.clone() });
        }
        if let Some(offset) = flags.out_of_range {
            return Err(InputError::OutOfRange { offset });
        }
        if flags.lone_surrogates {
            return Err(InputError::LoneSurrogate);
        }
        let trimmed = document
            .text
            .trim_matches([' ', '\t', '\r', '\n'])
            .to_owned();
        let raw = RawValue::from_string(trimmed).map_err(|_| JsonError::Syntax {
            offset: 0,
            what: "a value was expected",
        })?;
        Ok(Self(raw))
    }

    /// The text, without white space around it.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Whether it is an object, as metadata must be.
    pub fn is_object(&self) -> bool {
        self.text().starts_with('{')
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Document, JsonError> {
        Document::read(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn a_document_keeps_its_text_and_gives_exact_pieces_of_it() {
        let text = " {\"a\" : [ 1.0, {\"n\":9007199254740993} ],\n \"b\":\"\\u00e9\" } ";

        let document = read(text).unwrap();

        assert_eq!(document.text(), text);
        assert_eq!(document.raw(&["a", "0"]), Some("1.0"));
        assert_eq!(document.raw(&["a", "1", "n"]), Some("9007199254740993"));
        assert_eq!(document.raw(&["a", "1"]), Some("{\"n\":9007199254740993}"));
        assert_eq!(document.raw(&["b"]), Some("\"\\u00e9\""));
        assert_eq!(document.value()["b"], "é");
        assert_eq!(document.raw(&["a", "2"]), None);
        assert_eq!(
            document.raw_elements(&["a"]),
            ["1.0", "{\"n\":9007199254740993}"]
        );
        assert_eq!(document.raw_elements(&["b"]), [""; 0]);
        assert!(document.flags().big_integers);
    }

    #[test]
    fn what_a_parser_would_hide_is_flagged() {
        let document = read(r#"{"a":{"k":1,"k":2},"s":"x\ud800y","f":1e400}"#).unwrap();

        let flags = document.flags();

        assert_eq!(flags.duplicate_keys, ["/a/k"]);
        assert!(flags.lone_surrogates);
        assert_eq!(flags.out_of_range, Some(38));
        assert!(!flags.big_integers);
        assert_eq!(document.value()["s"], "x\u{fffd}y");
        assert_eq!(document.raw(&["a", "k"]), Some("2"));
    }

    #[test]
    fn bytes_that_are_no_json_name_the_place() {
        let cases: [(&[u8], &str); 10] = [
            (b"", "the JSON text is empty"),
            (b" \n", "the JSON text is empty"),
            (b"{\"a\":\xff}", "not UTF-8 at byte 5"),
            (b"{\"a\":01}", "not JSON at byte 7: a number is malformed"),
            (b"[1,]", "not JSON at byte 3: a value was expected"),
            (b"{} x", "not JSON at byte 3: something follows the value"),
            (
                b"\"a\nb\"",
                "not JSON at byte 2: a control character stands in a string",
            ),
            (
                b"<!doctype html>",
                "not JSON at byte 0: a value was expected",
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,",
                "not JSON at byte 24: a member name was expected",
            ),
            (b"nul", "not JSON at byte 0: a value was expected"),
        ];

        for (bytes, message) in cases {
            let error = Document::read(bytes, &Limits::default()).unwrap_err();

            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn five_thousand_levels_are_an_error_and_no_overflow() {
        for open in ["[", "{\"a\":"] {
            let error = read(&open.repeat(5_000)).unwrap_err();

            assert!(
                matches!(error, JsonError::TooDeep { depth_max: 120, .. }),
                "{error}"
            );
        }
    }

    #[test]
    fn too_many_bytes_or_values_are_an_error() {
        let limits = Limits {
            bytes_max: 100,
            depth_max: 4,
            values_max: 10,
        };

        let long = Document::read(&[b' '; 101], &limits).unwrap_err();
        let many = Document::read(b"[1,2,3,4,5,6,7,8,9,10,11]", &limits).unwrap_err();

        assert_eq!(
            long,
            JsonError::TooLong {
                bytes: 101,
                bytes_max: 100
            }
        );
        assert!(matches!(many, JsonError::TooMany { values_max: 10, .. }));
    }

    #[test]
    fn a_byte_order_mark_is_left_out_and_reported() {
        let document = read("\u{feff}{}").unwrap();

        assert_eq!(document.text(), "{}");
        assert!(document.flags().byte_order_mark);
    }

    #[test]
    fn our_own_input_keeps_big_integers_and_refuses_what_would_change() {
        let kept = JsonText::parse(
            " {\"id\":9007199254740993,\"n\":42,\"f\":1.0}\n",
            &Limits::default(),
        );
        let refuse = |text: &str| JsonText::parse(text, &Limits::default()).unwrap_err();

        assert_eq!(
            kept.unwrap().text(),
            "{\"id\":9007199254740993,\"n\":42,\"f\":1.0}"
        );
        assert_eq!(
            refuse("{\"big\":1e400}"),
            InputError::OutOfRange { offset: 7 }
        );
        assert_eq!(
            refuse("{\"a\":1,\"a\":2}").to_string(),
            "the key /a stands twice"
        );
        assert_eq!(refuse("\"\\ud800\""), InputError::LoneSurrogate);
    }

    proptest! {
        /// Whatever bytes come, the answer is a document or an error.
        #[test]
        fn reading_arbitrary_bytes_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ignored = Document::read(&bytes, &Limits::default()).is_ok();
        }

        /// Text made of JSON's own characters gets deeper into the reader than noise does.
        #[test]
        fn reading_json_like_text_never_panics(text in "[\\[\\]{}\",:0-9eE.+\\-\\\\u d8tfn]{0,80}") {
            let _ignored = Document::read(text.as_bytes(), &Limits::default()).is_ok();
        }

        /// Whatever serde_json writes, this reader reads back, and every member of the top level can
        /// be cut out exactly.
        #[test]
        fn valid_json_reads_as_it_was_written(value in json_values()) {
            let text = serde_json::to_string_pretty(&value).unwrap();

            let document = read(&text).unwrap();

            prop_assert_eq!(document.value(), &value);
            if let Value::Object(map) = &value {
                for (key, member) in map {
                    let cut = read(document.raw(&[key]).unwrap()).unwrap();
                    prop_assert_eq!(cut.value(), member);
                }
            }
        }
    }

    fn json_values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9_f64..1e9).prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(".*", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }
}
