//! Words of strangers, made short and harmless for an error message.
//!
//! Messages end up on terminals and in one-line logs. The exact text stays in the evidence; what is
//! made here is only an excerpt of it.

/// Longest excerpt, in characters.
pub const EXCERPT_CHARS_MAX: usize = 300;

/// At most [`EXCERPT_CHARS_MAX`] characters, controls and direction marks replaced, in one line.
pub fn excerpt(text: &str) -> String {
    let mut out = String::new();
    let blank = |character: char| character.is_whitespace() || is_harmful(character);
    for (count, character) in text.trim_matches(blank).chars().enumerate() {
        if count == EXCERPT_CHARS_MAX {
            out.push('…');
            break;
        }
        out.push(if is_harmful(character) {
            ' '
        } else {
            character
        });
    }
    out
}

/// The last byte, from `at` backwards, at which a text can be cut without cutting a character.
pub fn cut_at(text: &str, at: usize) -> usize {
    let mut end = at.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// Controls (C0, C1) and the marks that reorder or hide text.
fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
        )
}

/// Whether bytes look like an HTML page, whatever their media type says.
pub fn is_html(bytes: &[u8]) -> bool {
    let start = bytes.get(..bytes.len().min(512)).unwrap_or_default();
    let text = String::from_utf8_lossy(start)
        .trim_start()
        .to_ascii_lowercase();
    let text = text.trim_start_matches('\u{feff}');
    ["<!doctype html", "<html", "<head", "<body", "<!--", "<?xml"]
        .iter()
        .any(|opening| text.starts_with(opening))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line_without_controls() {
        let shown = excerpt("Weather.\u{1b}]0;owned\u{7} a\nb\u{202e}c");

        assert_eq!(shown, "Weather. ]0;owned  a b c");
        assert_eq!(
            excerpt(&"x".repeat(1_000)).chars().count(),
            EXCERPT_CHARS_MAX + 1
        );
        // Nothing but controls says nothing.
        assert_eq!(excerpt(&"\0 ".repeat(1_000)), "");
    }

    #[test]
    fn html_is_recognised_by_its_first_bytes() {
        assert!(is_html(b"\n <!DOCTYPE HTML><title>App</title>"));
        assert!(is_html(b"<html lang=en>"));
        assert!(!is_html(b"{\"html\":1}"));
        assert!(!is_html(b""));
    }
}
