//! Credentials that cannot be printed, compared by accident or stored.
//!
//! A [`Secret`] has no `Serialize` and its `Debug` hides the text, so the ordinary ways into a log,
//! an error or an output do not compile or show nothing. The text comes out in one place only:
//! where a header is written.

use std::fmt;

/// A credential: a token, a password, a whole header value.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes a credential in.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself. Call this only to write a header, or to tell the redactor what to look for.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A secret that wraps this one, such as `Bearer <token>`.
    #[must_use]
    pub fn prefixed(&self, prefix: &str) -> Self {
        Self(format!("{prefix}{}", self.0))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_its_text() {
        let secret = Secret::new("hunter2".to_owned());

        let shown = format!("{secret:?} {:?}", secret.prefixed("Bearer "));

        assert_eq!(shown, "Secret(..) Secret(..)");
        assert_eq!(secret.prefixed("Bearer ").expose(), "Bearer hunter2");
    }
}
