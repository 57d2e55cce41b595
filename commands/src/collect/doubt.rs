//! Messages of a context whose fate nobody knows: whoever reads or waits must not take an older answer for theirs.

use missive_log::Log;
use missive_log::event::{Alias, ContextId, OperationId, Seq};

use crate::doubt::is_under_way;
use crate::failure::CommandError;
use crate::run::Missive;

/// A message that may have arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubtful {
    /// To whom, by the alias of now.
    pub agent: Alias,
    /// The place of its intent.
    pub seq: Seq,
    /// What `retry` takes.
    pub operation: OperationId,
}

impl<L: Log> Missive<L> {
    /// The messages of a context that are in doubt, oldest first: that of a process that lives is not.
    ///
    /// # Errors
    /// The views cannot be read.
    pub fn doubts_in(&self, context: &ContextId) -> Result<Vec<Doubtful>, CommandError> {
        let views = self.views();
        let mut doubts = Vec::new();
        for open in views.outbox()? {
            let runs = is_under_way(&open, self.run_folder());
            if runs || !open.intent.is_message() || open.context.as_ref() != Some(context) {
                continue;
            }
            if let (Some(agent), Some(operation)) = (&open.agent, open.operation) {
                doubts.push(Doubtful {
                    agent: views.present_alias(agent)?,
                    seq: open.seq,
                    operation,
                });
            }
        }
        doubts.sort_by_key(|doubt| doubt.seq);
        Ok(doubts)
    }
}
