//! Commands about the log itself: an export on record, and going on after a loss.

use missive_log::event::Seq;
use missive_log::{Batch, Log};

use crate::decide::Moment;
use crate::decide::artifact::SaveArtifacts;
use crate::decide::export::{ContextExport, Export};
use crate::decide::gather::RecordGather;
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

    /// Records that artifacts are about to be written to files.
    pub async fn artifacts_saved(&self, saved: &SaveArtifacts) -> Result<Recorded, CommandError> {
        let recorded = self.record(saved).await?;
        self.settle();
        Ok(recorded)
    }

    /// Records that a group's outputs were gathered.
    pub async fn gather_recorded(&self, gather: &RecordGather) -> Result<Recorded, CommandError> {
        let recorded = self.record(gather).await?;
        self.settle();
        Ok(recorded)
    }

    /// Records that everything about a context left the house.
    pub async fn context_exported(&self, export: &ContextExport) -> Result<Recorded, CommandError> {
        let recorded = self.record(export).await?;
        self.settle();
        Ok(recorded)
    }
}

/// What a re-anchoring gave up, and where it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reanchored {
    /// The place of the declaration.
    pub sequence: Seq,
    /// The first and the last place that are lost; none if only their links changed.
    pub lost: Option<(Seq, Seq)>,
}

/// Declares that the log goes on although it lost events. It asks no views: they may not stand on such a
/// log.
///
/// # Errors
/// A refusal if there is nothing to declare, or what the log says.
pub async fn reanchor(
    log: &impl Log,
    moment: &Moment<'_>,
    command: &Reanchor,
) -> Result<Reanchored, CommandError> {
    let link = match command.last_good() {
        None => None,
        Some(place) => {
            let records = log.pick(&[place]).await.unwrap_or_default();
            records.first().map(|record| record.link)
        }
    };
    let (facts, draft) = command.decide(moment, link)?;
    // Alone, and on no condition: the log takes nothing else before it, not even its actor's introduction.
    let batch = Batch::new(moment.ids.batch(), vec![draft]);
    Ok(Reanchored {
        sequence: log.append(batch).await?.last,
        lost: (facts.found < facts.witnessed).then(|| (facts.found.next(), facts.witnessed)),
    })
}
