//! What a hosting process serves beside the log: the views, which this room does not know.

use crate::event::Seq;

/// Answers the requests of attached processes that are not about the log itself. Bytes in, bytes
/// out: only the room above knows what they mean.
pub trait Companion: Send + Sync + 'static {
    /// A word that must be the same on both sides, such as the versions of all views.
    fn fingerprint(&self) -> String;

    /// What an attached process is told when it is let in, so that it need not ask; little.
    fn greeting(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Answers one request at once, if that takes neither waiting nor much work: then it is answered by the
    /// thread that serves all peers. Otherwise `None`, and [`Companion::answer`] is asked elsewhere.
    fn answer_now(&self, _least: Seq, _request: &[u8]) -> Option<Result<Vec<u8>, String>> {
        None
    }

    /// Answers one request as of at least the place `least`; blocks until it has caught up to there.
    /// The error text is shown to the user of the attached process.
    fn answer(&self, least: Seq, request: &[u8]) -> Result<Vec<u8>, String>;
}

/// Nothing beside the log.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCompanion;

impl Companion for NoCompanion {
    fn fingerprint(&self) -> String {
        String::new()
    }

    fn answer(&self, _least: Seq, _request: &[u8]) -> Result<Vec<u8>, String> {
        Err("nothing is served beside the log".to_owned())
    }
}
