//! Reads a TOML table key by key, and can name file, line and key in every error.
//!
//! The keys that were asked for are the valid ones: what is left over when a table is finished is
//! unknown, and the nearest valid key is proposed. There is no second list that could differ.

use crate::args::value;
use crate::failure::Failure;
use crate::suggest;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A configuration file: its text, and what it is called in errors.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    /// The name that errors show.
    pub(crate) name: String,
    /// The whole text.
    pub(crate) text: &'a str,
    /// The folder that files are named from.
    pub(crate) folder: PathBuf,
}

impl Source<'_> {
    /// An error at a place of the file: `file:line: what`.
    pub(crate) fn error(&self, at: &Range<usize>, what: &str) -> Failure {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        Failure::config(format!("{}:{line}: {what}", self.name)).detail("file")
    }
}

type Value<'a> = Spanned<DeValue<'a>>;

/// A free key, its text, and where the key stands.
pub(crate) type NamedText = (String, String, Range<usize>);

/// One table, with the keys that were asked for so far.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    source: &'a Source<'a>,
    /// `qos` or `profiles.work.qos`; empty at the top.
    path: String,
    place: Range<usize>,
    entries: &'a DeTable<'a>,
    asked: BTreeSet<&'static str>,
}

impl<'a> Table<'a> {
    /// The top of a file.
    pub(crate) fn top(source: &'a Source<'a>, table: &'a DeTable<'a>) -> Self {
        Self {
            source,
            path: String::new(),
            place: 0..0,
            entries: table,
            asked: BTreeSet::new(),
        }
    }

    /// The file that this is a table of.
    pub(crate) fn source(&self) -> &'a Source<'a> {
        self.source
    }

    /// Where this table begins.
    pub(crate) fn place(&self) -> Range<usize> {
        self.place.clone()
    }

    /// The full name of a key of this table.
    pub(crate) fn name(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// Whether a key is there; it need not be a valid one.
    pub(crate) fn span_of(&self, key: &str) -> Option<Range<usize>> {
        self.entries
            .iter()
            .find(|(found, _)| found.get_ref() == key)
            .map(|(found, _)| found.span())
    }

    /// Ends the reading: a key that nobody asked for is an error.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        for key in self.entries.keys() {
            if self.asked.contains(key.get_ref().as_ref()) {
                continue;
            }
            let valid: Vec<&str> = self.asked.iter().copied().collect();
            let what = format!("unknown key `{}`", self.name(key.get_ref()));
            let hint = suggest::hint(key.get_ref(), "key", &valid);
            return Err(self
                .source
                .error(&key.span(), &what)
                .detail("unknown_key")
                .hint_if(hint));
        }
        Ok(())
    }

    /// A table below this one.
    pub(crate) fn table(&mut self, key: &'static str) -> Result<Option<Table<'a>>, Failure> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        match value.get_ref().as_table() {
            Some(table) => Ok(Some(self.below(key, value.span(), table))),
            None => Err(self.wrong(key, value, "a table")),
        }
    }

    /// The tables of a section whose keys are names, such as `[agents.ALIAS]`.
    pub(crate) fn named_tables(
        &mut self,
        key: &'static str,
    ) -> Result<Vec<(String, Table<'a>)>, Failure> {
        let Some(section) = self.table(key)? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for (name, value) in section.entries {
            if let Err(refused) = value::name(name.get_ref()) {
                let what = format!("`{}`: {refused}", section.name(name.get_ref()));
                return Err(self.source.error(&name.span(), &what));
            }
            let Some(table) = value.get_ref().as_table() else {
                return Err(section.wrong(name.get_ref(), value, "a table"));
            };
            found.push((
                name.get_ref().to_string(),
                section.below(name.get_ref(), name.span(), table),
            ));
        }
        Ok(found)
    }

    /// A string.
    pub(crate) fn text(&mut self, key: &'static str) -> Result<Option<String>, Failure> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        match value.get_ref().as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(self.wrong(key, value, "a string")),
        }
    }

    /// A string that must pass a check, or be turned into something else.
    pub(crate) fn parsed<T, E: std::fmt::Display>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Failure> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        match parse(&text) {
            Ok(value) => Ok(Some(value)),
            Err(why) => Err(self.refused(key, &why.to_string())),
        }
    }

    /// One of a closed list of words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
    ) -> Result<Option<T>, Failure> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        if let Some((_, value)) = choices.iter().find(|(word, _)| *word == text) {
            return Ok(Some(*value));
        }
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let failure = self.refused(key, &format!("`{text}` is not a valid value"));
        Err(failure.hint_if(suggest::hint(&text, "value", &words)))
    }

    /// A list of strings, each of which must pass a check.
    pub(crate) fn list<T, E: std::fmt::Display>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<Vec<T>>, Failure> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let Some(items) = value.get_ref().as_array() else {
            return Err(self.wrong(key, value, "a list of strings"));
        };
        let mut list = Vec::new();
        for item in items {
            let Some(text) = item.get_ref().as_str() else {
                return Err(self.wrong(key, item, "a list of strings"));
            };
            match parse(text) {
                Ok(value) => list.push(value),
                Err(why) => {
                    let what = format!("`{}`: {why}", self.name(key));
                    return Err(self.source.error(&item.span(), &what));
                }
            }
        }
        Ok(Some(list))
    }

    /// A table of strings with free keys, in the order of the keys.
    pub(crate) fn pairs(&mut self, key: &'static str) -> Result<Option<Vec<NamedText>>, Failure> {
        let Some(section) = self.table(key)? else {
            return Ok(None);
        };
        let mut pairs = Vec::new();
        for (name, value) in section.entries {
            let Some(text) = value.get_ref().as_str() else {
                return Err(section.wrong(name.get_ref(), value, "a string"));
            };
            pairs.push((name.get_ref().to_string(), text.to_owned(), name.span()));
        }
        Ok(Some(pairs))
    }

    /// A whole number within bounds.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        allowed: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, Failure> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let number = value
            .get_ref()
            .as_integer()
            .and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        match number {
            Some(number) if allowed.contains(&number) => Ok(Some(number)),
            Some(_) | None => {
                let wanted = format!(
                    "a whole number from {} to {}",
                    allowed.start(),
                    allowed.end()
                );
                Err(self.wrong(key, value, &wanted))
            }
        }
    }

    /// True or false.
    pub(crate) fn flag(&mut self, key: &'static str) -> Result<Option<bool>, Failure> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        match value.get_ref().as_bool() {
            Some(flag) => Ok(Some(flag)),
            None => Err(self.wrong(key, value, "true or false")),
        }
    }

    /// A time such as `"30s"`.
    pub(crate) fn duration(&mut self, key: &'static str) -> Result<Option<Duration>, Failure> {
        match self.value(key) {
            Some(value) if value.get_ref().as_str().is_none() => {
                Err(self.wrong(key, value, "a time such as \"30s\""))
            }
            Some(_) | None => self.parsed(key, value::duration),
        }
    }

    /// An error about the value of a key.
    pub(crate) fn refused(&self, key: &str, why: &str) -> Failure {
        let at = self
            .entries
            .iter()
            .find(|(found, _)| found.get_ref() == key);
        let span = at.map(|(_, value)| value.span()).unwrap_or_default();
        self.source
            .error(&span, &format!("`{}`: {why}", self.name(key)))
    }

    fn value(&mut self, key: &'static str) -> Option<&'a Value<'a>> {
        self.asked.insert(key);
        self.entries.get(key)
    }

    fn below(&self, key: &str, place: Range<usize>, table: &'a DeTable<'a>) -> Self {
        let path = self.name(key);
        Self {
            source: self.source,
            path,
            place,
            entries: table,
            asked: BTreeSet::new(),
        }
    }

    fn wrong(&self, key: &str, value: &Value<'_>, wanted: &str) -> Failure {
        let found = value.get_ref().type_str();
        let article = if found.starts_with(['a', 'i']) {
            "an"
        } else {
            "a"
        };
        let what = format!(
            "`{}` must be {wanted}, and is {article} {found} here",
            self.name(key)
        );
        self.source.error(&value.span(), &what)
    }
}
