//! What the promises are tried with: drafts, batches, payloads, and reading a whole log.

use crate::chain::Verifier;
use crate::contract::{Batch, Head, Log, READ_RECORDS_MAX, Record};
use crate::event::facts::{BareUrl, Name};
use crate::event::kind::{ActorSeen, AgentAdded, EventKind};
use crate::event::{Alias, Draft, Subject};
use crate::payload::{Media, Payload, Role, row};
use crate::seam::Ids;
use std::sync::Arc;
use std::time::Duration;

/// A log that hangs fails its test, and does not stop the others.
pub(crate) async fn within_reason<T>(promise: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), promise)
        .await
        .expect("the log answers")
}

/// A draft about an agent of this name.
pub(crate) fn draft(alias: &str) -> Draft {
    let subject = Subject::Agent(Alias::new(alias).unwrap());
    Draft::new(
        Ids::from_system().event(),
        subject,
        EventKind::ActorSeen(ActorSeen {}),
    )
}

/// A batch of drafts about agents of these names.
pub(crate) fn batch(aliases: &[&str]) -> Batch {
    let drafts = aliases.iter().map(|alias| draft(alias)).collect();
    Batch::new(Ids::from_system().batch(), drafts)
}

/// A draft with about this many bytes of facts.
pub(super) fn draft_of_bytes(bytes: usize) -> Draft {
    let tag = Name::new(&"t".repeat(63)).unwrap();
    let kind = EventKind::AgentAdded(AgentAdded {
        url: BareUrl::new("https://agent.example/").unwrap(),
        interfaces: Vec::new(),
        bindings: Vec::new(),
        auth_ref: None,
        tags: vec![tag; bytes / 66],
    });
    let mut draft = draft("large");
    draft.kind = kind;
    draft
}

pub(super) fn payload(bytes: &[u8]) -> Payload {
    let mut row = vec![0];
    row.extend_from_slice(&Ids::from_system().salt().0);
    row.extend_from_slice(&[0, 0]);
    row.extend_from_slice(bytes);
    row::rebuild(Role::Note, Media::Text, 2, &row).unwrap()
}

pub(super) fn head<L: Log>(log: &Arc<L>) -> Head {
    *log.head().borrow()
}

/// Everything, by as many reads as it takes.
pub(crate) async fn read_all<L: Log>(log: &Arc<L>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let after = records.last().map(|record| record.seq).unwrap_or_default();
        let more = log.read(after, READ_RECORDS_MAX).await.unwrap();
        if more.is_empty() {
            return records;
        }
        records.extend(more);
    }
}

/// Holds the records against the chain, and gives the head that they end at.
pub(crate) fn verify(records: &[Record], head: Head) -> Head {
    let mut verifier = Verifier::new(head.log);
    for record in records {
        verifier
            .take(record.seq, record.digest(head.log), Some(record.link))
            .unwrap();
    }
    verifier.anchor()
}

/// Runs on a thread and a runtime of its own, as another part of the program would.
pub(super) async fn elsewhere<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    let run = || {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(work)
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}
