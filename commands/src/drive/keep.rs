//! Commands about the log itself: an export on record, and going on after a loss.

use missive_log::event::Seq;
use missive_log::{Batch, Log};

use crate::decide::export::Export;
use crate::decide::reanchor::Reanchor;
use crate::failure::CommandError;
use crate::run::{Missive, Recorded};

impl<L: Log> Missive<L> {
    /// Records that the log, or a part of it, left the house.
    pub async fn export_recorded(&self, export: &Export) -> Result<Recorded, CommandError> {
        let recorded = self.record(export).await?;
        self.settle();
        Ok(recorded)
    }

    /// Declares that the log goes on although it lost events; gives the place of the declaration.
    ///
    /// # Errors
    /// A refusal if there is nothing to declare, or what the log says.
    pub async fn reanchor(&self, command: &Reanchor) -> Result<Seq, CommandError> {
        let draft = command.decide(&self.moment())?;
        // Alone, and on no condition: the log takes nothing else before it.
        let batch = Batch::new(self.ids().batch(), vec![draft]);
        Ok(self.log().append(batch).await?.first)
    }
}
