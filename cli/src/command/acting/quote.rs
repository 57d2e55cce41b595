//! Words in commands that a hint proposes: an id from a stranger must not act in the user's shell.

/// A word as it can be typed in a POSIX shell.
pub(crate) fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/-".contains(&byte);
    if !text.is_empty() && !text.starts_with('-') && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
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
        ]
        .map(word);

        assert_eq!(
            words.join(" "),
            r"t-1 http://127.0.0.1:7101/a '$(rm -rf ~)' 'it'\''s' '-x' ''"
        );
    }
}
