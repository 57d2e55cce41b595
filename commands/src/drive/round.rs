//! Closing rounds whose process died: nobody carries a broadcast on that it has half sent.

use missive_log::Log;
use missive_log::backend::instance::Instance;
use missive_log::event::kind::RoundAbandoned;
use missive_log::event::{Links, OperationId};
use missive_projections::Round;

use super::Done;
use crate::decide::Moment;
use crate::decide::round::RoundOver;
use crate::exit::Exit;
use crate::failure::CommandError;
use crate::refusal::Refusal;
use crate::report::send::{AnswerReport, Resolution, RetryReport};
use crate::run::Missive;

/// Whether a round began, never ended, and its process does not live any more.
pub fn is_abandoned(round: &Round, run: &std::path::Path) -> bool {
    let instance = round.instance;
    round.ended.is_none() && instance.is_none_or(|instance| !Instance::is_alive(run, instance))
}

impl<L: Log> Missive<L> {
    /// Closes a round that was abandoned, and names what it had sent and nobody knows the fate of.
    /// `None` if the operation is no round.
    pub(super) async fn retry_round(
        &self,
        operation: &OperationId,
    ) -> Result<Option<Done<RetryReport>>, CommandError> {
        let views = self.views();
        let Some(round) = views.round(operation)? else {
            return Ok(None);
        };
        let operation = operation.clone();
        if round.ended.is_some() {
            return Err(Refusal::Finished { operation }.into());
        }
        if !is_abandoned(&round, self.run_folder()) {
            return Err(Refusal::StillRunning { operation }.into());
        }
        let sent = views.outbox()?.into_iter().filter(|open| {
            open.intent.is_message()
                && Some(open.instance) == round.instance
                && open.context == round.context
        });
        let in_doubt: Vec<String> = sent
            .filter_map(|open| Some(open.operation?.to_string()))
            .collect();
        let links = Links {
            agent: None,
            context: round.context.clone(),
            task: None,
            group: round.group.clone(),
        };
        let over = RoundOver {
            operation: &operation,
            drafts: |moment: &Moment<'_>| {
                let kind = RoundAbandoned {}.into();
                vec![moment.step(&operation, Some(round.begun), &links, kind, Vec::new())]
            },
        };
        let recorded = self.record(&over).await?;
        self.settle();
        let exit = if in_doubt.is_empty() {
            Exit::Done
        } else {
            Exit::Unknown
        };
        let report = RetryReport {
            operation_id: operation.to_string(),
            resolution: Resolution::Abandoned,
            agent: None,
            message_id: None,
            in_doubt,
            answer: AnswerReport::default(),
            sequence: recorded.last.0,
        };
        Ok(Some(Done { report, exit }))
    }
}
