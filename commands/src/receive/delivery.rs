//! One delivery, read: which update it is and what of it becomes a fact. Pure.
//!
//! Accepted is the shape of A2A 1.0: one object with exactly one of `task`, `message`, `statusUpdate` and
//! `artifactUpdate`, which names its task. The bare Task of 0.3 and JSON-RPC envelopes are told apart in
//! the words of the refusal, so that whoever configures the sender knows what to change (C093).

use missive_log::event::facts::{PushRefusal, TaskState, Violation};
use missive_log::event::kind::{PushArtifactUpdate, PushMessage, PushStatusUpdate, PushTask};
use missive_log::event::{ContextId, EventKind, Links, MessageId, Subject, TaskId};

use super::known::About;
use super::tally::Refused;
use crate::facts;
use crate::wire::headers::Headers;
use crate::wire::json::{Document, Limits};
use crate::wire::update::{NoUpdate, Update, UpdateKind};

/// The media types of deliveries (A2A 1.0, section 4.3.3; `application/json` before 1.0.1).
const MEDIA: [&str; 2] = ["application/a2a+json", "application/json"];

/// What is checked before anybody reads a body.
pub(super) fn check_head(
    headers: &Headers,
    length: Option<u64>,
    bytes_max: usize,
) -> Result<(), Refused> {
    if headers.coding().is_some() {
        let words = "the body is compressed, and is only taken as it is";
        return Err(Refused::new(PushRefusal::ContentType, words));
    }
    let media = headers.get("content-type").unwrap_or_default();
    let essence = media.split(';').next().unwrap_or_default().trim();
    if !MEDIA
        .iter()
        .any(|known| essence.eq_ignore_ascii_case(known))
    {
        let words = "the media type is neither application/a2a+json nor application/json";
        return Err(Refused::new(PushRefusal::ContentType, words));
    }
    let bytes_max = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    if length.is_some_and(|length| length > bytes_max) {
        return Err(too_large());
    }
    Ok(())
}

pub(super) fn too_large() -> Refused {
    let words = "the body is larger than this receiver takes";
    Refused::new(PushRefusal::TooLarge, words)
}

/// A delivery that can be recorded.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) update: Update,
    pub(super) about: About,
}

impl Delivery {
    pub(super) fn read(body: &[u8]) -> Result<Self, Refused> {
        let malformed = |words| Refused::new(PushRefusal::Malformed, words);
        let document = Document::read(body, &Limits::default())
            .map_err(|_| malformed("the body is no usable JSON"))?;
        let update = Update::read(&document, &[]).map_err(|error| {
            let value = document.value();
            if value.get("jsonrpc").is_some() {
                malformed("the body is a JSON-RPC envelope and not the bare update")
            } else if value.get("status").is_some() && value.get("kind").is_none() {
                malformed("the body is a bare task, as A2A 0.3 pushed it")
            } else {
                match error {
                    NoUpdate::Shape(words) | NoUpdate::Lacks(words) => malformed(words),
                }
            }
        })?;
        let task = update.task_id().and_then(|id| TaskId::new(id).ok());
        if task.is_none() && !matches!(update.kind, UpdateKind::Message(_)) {
            return Err(malformed("the update names no usable task"));
        }
        let context = update.context_id().and_then(|id| ContextId::new(id).ok());
        Ok(Self {
            about: About { task, context },
            update,
        })
    }

    /// `task`, `message`, `status_update` or `artifact_update`.
    pub(super) fn name(&self) -> &'static str {
        match self.update.kind {
            UpdateKind::Task(_) => "task",
            UpdateKind::Message(_) => "message",
            UpdateKind::Status(_) => "status_update",
            UpdateKind::Artifact(_) => "artifact_update",
        }
    }

    /// The state that it tells of.
    pub(super) fn state(&self) -> Option<TaskState> {
        self.update.state().map(facts::state)
    }

    /// The text that it brings.
    pub(super) fn text(&self) -> Option<String> {
        let text = match &self.update.kind {
            UpdateKind::Task(facts) => facts.text(),
            UpdateKind::Message(facts) => facts.text.clone(),
            UpdateKind::Status(facts) => facts.text.clone().unwrap_or_default(),
            UpdateKind::Artifact(facts) => facts.artifact.text.clone(),
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// What the event is about: also what is not linked keeps the thread of its task together.
    pub(super) fn subject(&self) -> Subject {
        match (&self.about.task, &self.about.context) {
            (Some(task), _) => Subject::Task(task.clone()),
            (None, Some(context)) => Subject::Context(context.clone()),
            (None, None) => Subject::Log,
        }
    }

    /// The fact; `None` only if there is no usable id, which [`Delivery::read`] rules out.
    pub(super) fn fact(&self, links: Option<&Links>, duplicate: bool) -> Option<EventKind> {
        let linked = self.is_linked(links);
        let violations = self.violations(links);
        Some(match &self.update.kind {
            UpdateKind::Task(read) => EventKind::PushTask(PushTask {
                task: facts::task(read)?,
                linked,
                duplicate,
                violations,
            }),
            UpdateKind::Message(read) => {
                let id = read.message_id.as_deref();
                EventKind::PushMessage(PushMessage {
                    message: id.and_then(|id| MessageId::new(id).ok()),
                    linked,
                    duplicate,
                    violations,
                })
            }
            UpdateKind::Status(read) => EventKind::PushStatusUpdate(PushStatusUpdate {
                status: facts::status(TaskId::new(read.task_id.as_deref()?).ok()?, read),
                linked,
                duplicate,
                violations,
            }),
            UpdateKind::Artifact(read) => EventKind::PushArtifactUpdate(PushArtifactUpdate {
                chunk: facts::chunk(TaskId::new(read.task_id.as_deref()?).ok()?, read)?,
                linked,
                duplicate,
                violations,
            }),
        })
    }

    /// Whether it may change what is known here. One bearer token serves the deliveries of all tasks, so
    /// one that contradicts what is recorded of its task may be about another's task, or forged.
    pub(super) fn is_linked(&self, links: Option<&Links>) -> bool {
        links.is_some() && !self.contradicts(links)
    }

    /// Whether it names another context than its task has.
    fn contradicts(&self, links: Option<&Links>) -> bool {
        let known = links.and_then(|links| links.context.as_ref());
        matches!((known, &self.about.context), (Some(known), Some(told)) if known != told)
    }

    fn violations(&self, links: Option<&Links>) -> Vec<Violation> {
        let mut found = facts::violations(&self.update.odd);
        if self.contradicts(links) && !found.contains(&Violation::ContextMismatch) {
            found.push(Violation::ContextMismatch);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> String {
        let refused = Delivery::read(body.as_bytes()).unwrap_err();
        format!("{} {refused}", refused.status())
    }

    #[test]
    fn each_of_the_four_updates_is_a_fact_of_its_own() {
        for (body, kind) in [
            (
                r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#,
                "a2a.push.task",
            ),
            (
                r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#,
                "a2a.push.message",
            ),
            (
                r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#,
                "a2a.push.status_update",
            ),
            (
                r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}"#,
                "a2a.push.artifact_update",
            ),
        ] {
            let delivery = Delivery::read(body.as_bytes()).unwrap();

            let fact = delivery.fact(None, false).unwrap();

            assert_eq!(fact.name(), kind);
            assert_eq!(kind, format!("a2a.push.{}", delivery.name()));
        }
    }

    #[test]
    fn what_is_no_update_of_this_version_says_what_it_is() {
        let task = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}"#;

        let told = [
            refused("{"),
            refused(""),
            refused("[]"),
            refused(task),
            refused(r#"{"kind":"task","id":"t","status":{"state":"completed"}}"#),
            refused(&format!(r#"{{"task":{task},"message":{{}}}}"#)),
            refused(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"result":{{"task":{task}}}}}"#
            )),
            refused(r#"{"task":{"status":{"state":"TASK_STATE_WORKING"}}}"#),
            refused(r#"{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}"#),
        ];

        insta::assert_snapshot!(told.join("\n"), @r"
        400 the body is no usable JSON
        400 the body is no usable JSON
        400 it is none of task, message, statusUpdate and artifactUpdate
        400 the body is a bare task, as A2A 0.3 pushed it
        400 it has the shape of A2A 0.3, not of 1.0
        400 it is several kinds of update at once
        400 the body is a JSON-RPC envelope and not the bare update
        400 the update names no usable task
        400 the update names no usable task
        ");
    }

    #[test]
    fn a_head_is_judged_before_the_body_is_read() {
        let head = |fields: &[(&str, &str)], length| {
            let headers = fields.iter().copied().collect();
            check_head(&headers, length, 100).map_err(Refused::status)
        };

        for media in [
            "application/json",
            "application/a2a+json",
            "Application/A2A+JSON; charset=utf-8",
        ] {
            assert_eq!(head(&[("content-type", media)], Some(100)), Ok(()));
        }
        for media in ["text/plain", "application/problem+json", ""] {
            assert_eq!(head(&[("content-type", media)], None), Err(415));
        }
        assert_eq!(head(&[], None), Err(415));
        let zipped = [
            ("content-type", "application/json"),
            ("content-encoding", "gzip"),
        ];
        assert_eq!(head(&zipped, None), Err(415));
        assert_eq!(
            head(&[("content-type", "application/json")], Some(101)),
            Err(413)
        );
    }
}
