//! Templates: text with placeholders, read once. What is put in is never looked at again.

/// The placeholders that there are.
pub const PLACEHOLDERS: [&str; 6] = [
    "group",
    "context_id",
    "strategy",
    "input_count",
    "inputs",
    "default_reduction",
];

/// A template that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A placeholder that there is not.
    #[error("the template has the placeholder {{{{{name}}}}}, which there is not")]
    Unknown {
        /// What stands between the braces, cut to a length that can be shown.
        name: String,
    },
    /// A placeholder that does not end.
    #[error("the template has `{{{{` at byte {at} without `}}}}` behind it")]
    Open {
        /// Where it begins.
        at: usize,
    },
}

/// The longest name that is repeated in an error, in characters.
const NAME_CHARS_MAX: usize = 64;

/// A template that was read: literal text and the numbers of placeholders, in turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(usize),
}

/// What the placeholders stand for, in the order of [`PLACEHOLDERS`].
pub(super) type Values<'a> = [&'a str; PLACEHOLDERS.len()];

impl Template {
    /// Reads a template. White space around a name is passed over.
    ///
    /// # Errors
    /// See [`TemplateError`].
    pub fn read(text: &str) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let at = text.len() - after.len() - 2;
            let Some((inside, behind)) = after.split_once("}}") else {
                return Err(TemplateError::Open { at });
            };
            let name = inside.trim();
            let Some(number) = PLACEHOLDERS.iter().position(|known| *known == name) else {
                return Err(TemplateError::Unknown {
                    name: name.chars().take(NAME_CHARS_MAX).collect(),
                });
            };
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(Piece::Value(number));
            rest = behind;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    /// The text with every placeholder replaced, once; `Err` with its length if that is more than `bytes_max`.
    pub(super) fn fill(&self, values: &Values<'_>, bytes_max: usize) -> Result<String, usize> {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Value(number) => values.get(*number).copied().unwrap_or_default(),
        });
        let bytes = pieces
            .clone()
            .fold(0_usize, |bytes, piece| bytes.saturating_add(piece.len()));
        if bytes > bytes_max {
            return Err(bytes);
        }
        Ok(pieces.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VALUES: Values<'static> = ["board", "c-1", "vote", "2", "{{group}}", "D"];

    #[test]
    fn placeholders_are_filled_and_what_is_filled_in_is_not_read_again() {
        let template =
            Template::read("{{group}}/{{ context_id }}: {{inputs}} {{default_reduction}}");

        let template = template.unwrap();
        let filled = "board/c-1: {{group}} D";
        assert_eq!(template.fill(&VALUES, filled.len()), Ok(filled.to_owned()));
        assert_eq!(template.fill(&VALUES, filled.len() - 1), Err(filled.len()));
    }

    #[test]
    fn an_unknown_or_open_placeholder_is_an_error_that_names_it() {
        let unknown = Template::read("a {{Group}}").unwrap_err();
        let open = Template::read("ab {{group").unwrap_err();

        assert_eq!(
            unknown.to_string(),
            "the template has the placeholder {{Group}}, which there is not"
        );
        assert_eq!(open, TemplateError::Open { at: 3 });
    }

    proptest! {
        #[test]
        fn text_without_placeholders_stays_as_it_is(text in "[^{}]{0,40}") {
            prop_assert_eq!(Template::read(&text).unwrap().fill(&VALUES, 100), Ok(text));
        }

        #[test]
        fn reading_never_panics(text in "[{}a-z_ ]{0,40}") {
            let filled = Template::read(&text).map(|template| template.fill(&VALUES, 1_000));
            prop_assert!(filled.is_ok_and(|filled| filled.is_ok()) || text.contains("{{"));
        }
    }
}
