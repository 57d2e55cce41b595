//! A JSON reader that a stranger cannot crash, fill or fool.
//!
//! It differs from the usual one in what it does with legal but odd text: duplicate keys, integers
//! beyond 2^53, numbers beyond the range of a double and lone surrogates are read and flagged, so
//! that facts survive while nobody mistakes them for exact. Depth and the number of values are
//! bounded before anything is allocated for them. The text itself stays the evidence.

use serde_json::{Map, Number, Value};

use super::json::{Flags, JsonError, Limits};

/// Reads one whole JSON text.
///
/// # Errors
/// Bad syntax, or a bound of `limits` exceeded, each with the byte offset.
pub(super) fn parse(text: &str, limits: &Limits) -> Result<(Value, Flags), JsonError> {
    let mut reader = Reader::new(text, 0, limits);
    reader.skip_space();
    if reader.peek().is_none() {
        return Err(JsonError::Empty);
    }
    let value = reader.value()?;
    reader.skip_space();
    if reader.peek().is_some() {
        return Err(reader.wrong("something follows the value"));
    }
    Ok((value, reader.flags))
}

/// The exact text of the member or element at `path`, in a text that [`parse`] accepted.
///
/// Where a key stands twice the last one is taken, as in the parsed value.
pub(super) fn span<'a>(text: &'a str, path: &[&str]) -> Option<&'a str> {
    let limits = Limits::default();
    let mut reader = Reader::new(text, 0, &limits);
    for step in path {
        reader.skip_space();
        reader.at = match reader.next()? {
            b'{' => reader.member(step)?,
            b'[' => reader.element(step.parse().ok()?)?,
            _ => return None,
        };
    }
    reader.skip_space();
    let start = reader.at;
    reader.skip_value()?;
    text.get(start..reader.at)
}

/// The exact texts of the elements of a list that [`parse`] accepted; none for any other value.
pub(super) fn elements(list: &str) -> Vec<&str> {
    let limits = Limits::default();
    let mut reader = Reader::new(list, 0, &limits);
    let mut found = Vec::new();
    if reader.next() != Some(b'[') {
        return found;
    }
    loop {
        reader.skip_space();
        match reader.peek() {
            None | Some(b']') => return found,
            Some(b',') => reader.at += 1,
            Some(_) => {
                let start = reader.at;
                if reader.skip_value().is_none() {
                    return found;
                }
                found.extend(list.get(start..reader.at));
            }
        }
    }
}

/// How many places of duplicate keys are named; more are only counted as "there are some".
const DUPLICATES_NAMED_MAX: usize = 8;

/// Largest integer that every double-based reader keeps exactly.
const EXACT_INTEGER_MAX: u64 = 1 << 53;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    limits: &'a Limits,
    depth: usize,
    values: usize,
    path: Vec<String>,
    flags: Flags,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, at: usize, limits: &'a Limits) -> Self {
        Self {
            text,
            at,
            limits,
            depth: 0,
            values: 0,
            path: Vec::new(),
            flags: Flags::default(),
        }
    }

    fn wrong(&self, what: &'static str) -> JsonError {
        JsonError::Syntax {
            offset: self.at,
            what,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Value, JsonError> {
        self.values += 1;
        if self.values > self.limits.values_max {
            return Err(JsonError::TooMany {
                values_max: self.limits.values_max,
                offset: self.at,
            });
        }
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.wrong("a value was expected")),
            None => Err(self.wrong("the text ends too early")),
        }
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Value, JsonError>,
    ) -> Result<Value, JsonError> {
        if self.depth == self.limits.depth_max {
            return Err(JsonError::TooDeep {
                depth_max: self.depth,
                offset: self.at,
            });
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, JsonError> {
        let mut map = Map::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(map));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("a member name was expected"));
            }
            let key = self.string()?;
            self.skip_space();
            if self.next() != Some(b':') {
                return Err(self.wrong("a colon was expected"));
            }
            self.skip_space();
            self.path.push(key);
            let value = self.value()?;
            self.note_duplicate(&map);
            map.insert(self.path.pop().unwrap_or_default(), value);
            self.skip_space();
            match self.next() {
                Some(b',') => {}
                Some(b'}') => return Ok(Value::Object(map)),
                Some(_) | None => return Err(self.wrong("a comma or a closing brace was expected")),
            }
        }
    }

    fn note_duplicate(&mut self, map: &Map<String, Value>) {
        if !self.path.last().is_some_and(|key| map.contains_key(key)) {
            return;
        }
        if self.flags.duplicate_keys.len() < DUPLICATES_NAMED_MAX {
            self.flags
                .duplicate_keys
                .push(format!("/{}", self.path.join("/")));
        }
    }

    fn array(&mut self) -> Result<Value, JsonError> {
        let mut list = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(list));
        }
        loop {
            self.skip_space();
            self.path.push(list.len().to_string());
            list.push(self.value()?);
            self.path.pop();
            self.skip_space();
            match self.next() {
                Some(b',') => {}
                Some(b']') => return Ok(Value::Array(list)),
                Some(_) | None => {
                    return Err(self.wrong("a comma or a closing bracket was expected"));
                }
            }
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        if !self
            .text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(word))
        {
            return Err(self.wrong("a value was expected"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let leading_zero = self.peek() == Some(b'0');
        let digits = self.digits();
        if digits == 0 || (leading_zero && digits > 1) {
            return Err(self.wrong("a number is malformed"));
        }
        let mut integer = true;
        if self.peek() == Some(b'.') {
            integer = false;
            self.at += 1;
            if self.digits() == 0 {
                return Err(self.wrong("a number is malformed"));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.wrong("a number is malformed"));
            }
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        Ok(self.numeric(text, integer, start))
    }

    fn numeric(&mut self, text: &str, integer: bool, offset: usize) -> Value {
        if integer {
            let exact = text.trim_start_matches('-').parse::<u64>().ok();
            if exact.is_none_or(|magnitude| magnitude > EXACT_INTEGER_MAX) {
                self.flags.big_integers = true;
            }
            if let Ok(number) = text.parse::<i64>() {
                return Value::Number(number.into());
            }
            if let Ok(number) = text.parse::<u64>() {
                return Value::Number(number.into());
            }
        }
        let number = text.parse::<f64>().ok().and_then(Number::from_f64);
        if number.is_none() {
            self.flags.out_of_range.get_or_insert(offset);
        }
        number.map_or(Value::Null, Value::Number)
    }

    /// Reads the string that starts here; lone surrogates become U+FFFD and are flagged.
    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = String::new();
        let mut start = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    out.push_str(self.text.get(start..self.at).unwrap_or_default());
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(self.text.get(start..self.at).unwrap_or_default());
                    self.at += 1;
                    let decoded = self.escape()?;
                    out.push(decoded);
                    start = self.at;
                }
                Some(0..=0x1f) => return Err(self.wrong("a control character stands in a string")),
                Some(_) => self.at += 1,
                None => return Err(self.wrong("a string does not end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        match self.next() {
            Some(b'"') => Ok('"'),
            Some(b'\\') => Ok('\\'),
            Some(b'/') => Ok('/'),
            Some(b'b') => Ok('\u{8}'),
            Some(b'f') => Ok('\u{c}'),
            Some(b'n') => Ok('\n'),
            Some(b'r') => Ok('\r'),
            Some(b't') => Ok('\t'),
            Some(b'u') => self.unicode(),
            Some(_) | None => Err(self.wrong("an escape is malformed")),
        }
    }

    fn unicode(&mut self) -> Result<char, JsonError> {
        let first = self.hex4()?;
        if let Some(plain) = char::from_u32(first) {
            return Ok(plain);
        }
        let after_first = self.at;
        let is_high = (0xd800..0xdc00).contains(&first);
        let pair_follows = self
            .text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with("\\u"));
        if is_high && pair_follows {
            self.at += 2;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = after_first;
        }
        self.flags.lone_surrogates = true;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or_default();
        let all_hex = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u32::from_str_radix(digits, 16) {
            Ok(code) if all_hex => {
                self.at += 4;
                Ok(code)
            }
            Ok(_) | Err(_) => Err(self.wrong("an escape is malformed")),
        }
    }

    /// Moves behind the value that starts here, without building it. The text is known to be valid.
    fn skip_value(&mut self) -> Option<()> {
        let mut open = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    open += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    open = open.checked_sub(1)?;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' => {
                    self.at += 1;
                    continue;
                }
                _ => self.skip_word(),
            }
            if open == 0 {
                return Some(());
            }
        }
    }

    fn skip_word(&mut self) {
        while !matches!(
            self.peek(),
            None | Some(b' ' | b'\t' | b'\n' | b'\r' | b',' | b'}' | b']' | b':')
        ) {
            self.at += 1;
        }
    }

    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => self.at += 1,
                _ => {}
            }
        }
    }

    /// Just behind an opening brace: the offset of the value of the last member called `name`.
    fn member(&mut self, name: &str) -> Option<usize> {
        let mut found = None;
        loop {
            self.skip_space();
            match self.peek()? {
                b'}' => return found,
                b',' => self.at += 1,
                _ => {
                    let key = self.string().ok()?;
                    self.skip_space();
                    self.at += 1;
                    self.skip_space();
                    if key == name {
                        found = Some(self.at);
                    }
                    self.skip_value()?;
                }
            }
        }
    }

    /// Just behind an opening bracket: the offset of the element number `index`.
    fn element(&mut self, index: usize) -> Option<usize> {
        let mut seen = 0;
        loop {
            self.skip_space();
            match self.peek()? {
                b']' => return None,
                b',' => self.at += 1,
                _ if seen == index => return Some(self.at),
                _ => {
                    self.skip_value()?;
                    seen += 1;
                }
            }
        }
    }
}
