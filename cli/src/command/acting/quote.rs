//! Words in commands that a hint proposes: an id from a stranger must not act in the user's shell.

use crate::render::escape;

/// A word as it can be typed in a POSIX shell.
pub(crate) fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/-".contains(&byte);
    if !text.is_empty() && !text.starts_with('-') && text.bytes().all(plain) {
        return text.to_owned();
    }
    // What would be escaped when it is shown could not be typed as it stands.
    if escape::line(text) != text {
        return in_ascii(text);
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// `$'...'`, which bash, zsh and ksh read: every byte that is not plain by its number.
fn in_ascii(text: &str) -> String {
    let mut quoted = String::from("$'");
    for byte in text.bytes() {
        match byte {
            b'\n' => quoted.push_str("\\n"),
            b'\t' => quoted.push_str("\\t"),
            b'\r' => quoted.push_str("\\r"),
            b'\'' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' => quoted.push(char::from(byte)),
            other => quoted.extend(["\\x".to_owned(), format!("{other:02x}")]),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn what_a_shell_would_act_on_is_quoted() {
        let words = [
            "t-1",
            "http://127.0.0.1:7101/a",
            "$(rm -rf ~)",
            "it's",
            "-x",
            "",
            "a\u{1b}[2K'\\\n",
            "t\u{202e}1",
            "tâche 1",
        ]
        .map(word);

        assert_eq!(
            words.join(" "),
            r"t-1 http://127.0.0.1:7101/a '$(rm -rf ~)' 'it'\''s' '-x' '' $'a\x1b[2K\'\\\n' $'t\xe2\x80\xae1' 'tâche 1'"
        );
    }
}
