//! From what was read on the wire to what the log keeps for ever.
//!
//! Facts are bounded: an event's body has at most 65,535 bytes, whatever a peer sends. What does not
//! fit is left out here and stays in the payload beside it.

use missive_log::Timestamp;
use missive_log::event::facts::{
    A2aError, ArtifactFacts, BareUrl, Binding, CardPath, ChunkFacts, EntityTag, Failure,
    InterfaceFacts, InterfaceSource, Label, Malformed, MediaMode, SkillFacts, StatusFacts,
    TaskFacts, TaskState, Tenant, Version, Violation,
};
use missive_log::event::kind::CardFacts;
use missive_log::event::{ArtifactId, ContextId, MessageId, TaskId};
use missive_log::payload::redact::Redactor;
use serde::Serialize;
use url::Url;

use crate::effect::reach::CallErrorKind;
use crate::wire;
use crate::wire::card::Card;
use crate::wire::discover::Place;
use crate::wire::error::{ErrorKind, PeerError};
use crate::wire::negotiate::Source;

/// The most interfaces of one card.
const INTERFACES_MAX: usize = 64;
/// The most skills of one card.
const SKILLS_MAX: usize = 256;
/// The most media modes of one card, each way.
const MODES_MAX: usize = 64;
/// The most tags of one skill.
const TAGS_MAX: usize = 16;
/// How many bytes one list of facts takes at most in the stored form.
const LIST_BYTES_MAX: usize = 14 << 10;

/// The first items that fit into the bound, in their order.
pub(crate) fn fitting<T: Serialize>(
    items: impl IntoIterator<Item = T>,
    count_max: usize,
) -> Vec<T> {
    let mut left = LIST_BYTES_MAX;
    let mut kept = Vec::new();
    for item in items.into_iter().take(count_max) {
        // A fact always has a JSON form; one that had none would not fit either.
        let bytes = serde_json::to_vec(&item).map_or(usize::MAX, |json| json.len() + 1);
        if bytes > left {
            break;
        }
        left -= bytes;
        kept.push(item);
    }
    kept
}

/// What is kept of a task; `None` without a usable id.
pub(crate) fn task(read: &wire::facts::TaskFacts) -> Option<TaskFacts> {
    let artifacts = read.artifacts.iter().filter_map(|artifact| {
        Some(ArtifactFacts {
            artifact: ArtifactId::new(artifact.artifact_id.as_deref()?).ok()?,
            parts: u32::try_from(artifact.parts.len()).unwrap_or(u32::MAX),
        })
    });
    Some(TaskFacts {
        task: TaskId::new(read.task_id.as_deref()?).ok()?,
        context: context(read.context_id.as_deref()),
        state: read.state.as_ref().map_or(TaskState::Unrecognized, state),
        state_at: read.updated.as_deref().and_then(Timestamp::parse_rfc3339),
        history: u32::try_from(read.history_count).unwrap_or(u32::MAX),
        artifacts: fitting(artifacts, usize::MAX),
    })
}

/// What is kept of a status update about this task.
pub(crate) fn status(task: TaskId, read: &wire::update::StatusFacts) -> StatusFacts {
    StatusFacts {
        task,
        context: context(read.context_id.as_deref()),
        state: state(&read.state),
        state_at: read.updated.as_deref().and_then(Timestamp::parse_rfc3339),
        message: read
            .message_id
            .as_deref()
            .and_then(|id| MessageId::new(id).ok()),
    }
}

/// What is kept of an artifact update about this task; `None` without a usable id.
pub(crate) fn chunk(task: TaskId, read: &wire::update::ChunkFacts) -> Option<ChunkFacts> {
    Some(ChunkFacts {
        task,
        context: context(read.context_id.as_deref()),
        artifact: ArtifactId::new(read.artifact.artifact_id.as_deref()?).ok()?,
        parts: u32::try_from(read.artifact.parts.len()).unwrap_or(u32::MAX),
        append: read.append,
        last: read.last,
    })
}

/// What is wrong with something that should be an update.
pub(crate) fn malformed(why: &wire::stream::Malformed) -> Malformed {
    use wire::stream::Malformed as Read;
    match why {
        Read::NotUtf8 { .. } => Malformed::NotUtf8,
        Read::NotJson(_) => Malformed::NotJson,
        Read::Envelope(_) => Malformed::Envelope,
        Read::NoUpdate(wire::update::NoUpdate::Shape(_)) => Malformed::NotAnUpdate,
        Read::NoUpdate(wire::update::NoUpdate::Lacks(_)) => Malformed::MissingField,
    }
}

/// A context id as the log keeps it.
pub(crate) fn context(id: Option<&str>) -> Option<ContextId> {
    ContextId::new(id?).ok()
}

/// A state by its name.
pub(crate) fn state(read: &wire::state::TaskState) -> TaskState {
    // The verbatim name of an unknown state could be spelled like one of ours.
    if matches!(read, wire::state::TaskState::Unknown(_)) {
        return TaskState::Unrecognized;
    }
    TaskState::from_name(read.name()).unwrap_or(TaskState::Unrecognized)
}

/// Each kind of violation once, in the order in which they were found.
pub(crate) fn violations(odd: &wire::violation::Violations) -> Vec<Violation> {
    let mut kinds = Vec::new();
    for violation in odd.as_slice() {
        // A member of the wrong type is not there as far as A2A goes.
        let name = match violation.code {
            "wrong_type" => "missing_field",
            other => other,
        };
        if let Some(kind) = Violation::from_name(name)
            && !kinds.contains(&kind)
        {
            kinds.push(kind);
        }
    }
    kinds
}

/// What routing and lists need of a card.
pub(crate) fn card(redactor: &Redactor, read: &Card) -> CardFacts {
    // A name with a secret in it is no name to route by.
    let label = |text: &str| {
        let harmless = redactor.clean(text) == text;
        Label::new(text).ok().filter(|_| harmless)
    };
    let interfaces = read.interfaces.iter().filter_map(|entry| {
        Some(InterfaceFacts {
            binding: binding(wire::version::Binding::from_card(&entry.binding)?),
            url: address(redactor, &Url::parse(&entry.url).ok()?)?,
        })
    });
    let skills = read.skills.iter().filter_map(|skill| {
        let tags = skill.tags.iter().filter_map(|tag| label(tag));
        Some(SkillFacts {
            id: label(&skill.id)?,
            tags: tags.take(TAGS_MAX).collect(),
        })
    });
    let modes = |all: &[String]| {
        let modes = all.iter().filter_map(|mode| MediaMode::new(mode).ok());
        fitting(modes, MODES_MAX)
    };
    CardFacts {
        interfaces: fitting(interfaces, INTERFACES_MAX),
        streaming: read.capabilities.streaming,
        push: read.capabilities.push_notifications,
        extended: read.capabilities.extended_card,
        input_modes: modes(&read.input_modes),
        output_modes: modes(&read.output_modes),
        skills: fitting(skills, SKILLS_MAX),
    }
}

/// The address without what may be secret; `None` if it holds credentials or is too long.
pub(crate) fn bare(url: &Url) -> Option<BareUrl> {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    BareUrl::new(url.as_str()).ok()
}

/// The same, without what the redactor finds in the path: facts are kept for ever.
pub(crate) fn address(redactor: &Redactor, url: &Url) -> Option<BareUrl> {
    BareUrl::new(&redactor.clean(bare(url)?.as_str())).ok()
}

/// An entity tag as the log keeps it.
pub(crate) fn etag(text: Option<&str>) -> Option<EntityTag> {
    EntityTag::new(text?).ok()
}

/// A tenant as the log keeps it.
pub(crate) fn tenant(text: Option<&str>) -> Option<Tenant> {
    Tenant::new(text?).ok()
}

/// A version that missive speaks.
pub(crate) fn version(version: wire::version::Version) -> Option<Version> {
    Version::new(&version.to_string()).ok()
}

/// The stored name of a binding.
pub(crate) fn binding(binding: wire::version::Binding) -> Binding {
    match binding {
        wire::version::Binding::HttpJson => Binding::HttpJson,
        wire::version::Binding::JsonRpc => Binding::JsonRpc,
        wire::version::Binding::Grpc => Binding::Grpc,
    }
}

/// The binding with this stored name.
pub(crate) fn binding_of(stored: Binding) -> wire::version::Binding {
    match stored {
        Binding::HttpJson => wire::version::Binding::HttpJson,
        Binding::JsonRpc => wire::version::Binding::JsonRpc,
        Binding::Grpc => wire::version::Binding::Grpc,
    }
}

/// Where an interface came from.
pub(crate) fn source(source: Source) -> InterfaceSource {
    match source {
        Source::Override => InterfaceSource::Override,
        Source::Card => InterfaceSource::Card,
        Source::Direct => InterfaceSource::Direct,
    }
}

/// Which path answered with a card.
pub(crate) fn place(place: Place) -> CardPath {
    match place {
        Place::Exact | Place::WellKnown => CardPath::WellKnown,
        Place::Legacy => CardPath::Legacy,
        Place::OriginRoot => CardPath::OriginRoot,
        Place::LegacyOriginRoot => CardPath::LegacyOriginRoot,
    }
}

/// Why a call got no further.
pub(crate) fn call_failure(kind: CallErrorKind) -> Failure {
    match kind {
        // Both were checked before anything was recorded, so this is a bug that sent nothing.
        CallErrorKind::RequestTooLarge | CallErrorKind::BadRequest | CallErrorKind::Unreachable => {
            Failure::Unreachable
        }
        CallErrorKind::ConnectRefused => Failure::ConnectRefused,
        CallErrorKind::Dns => Failure::Dns,
        CallErrorKind::Tls => Failure::Tls,
        CallErrorKind::ConnectTimeout => Failure::ConnectTimeout,
        CallErrorKind::FirstByteTimeout => Failure::FirstByteTimeout,
        CallErrorKind::IdleTimeout => Failure::IdleTimeout,
        CallErrorKind::TotalTimeout => Failure::TotalTimeout,
        CallErrorKind::ConnectionLost => Failure::ConnectionLost,
        CallErrorKind::AnswerCut => Failure::AnswerCut,
        CallErrorKind::AnswerTooLarge => Failure::AnswerTooLarge,
        CallErrorKind::BadHttp => Failure::ProtocolViolation,
    }
}

/// What kind of failure a peer's error is, and which A2A error, if it is one.
pub(crate) fn peer_failure(error: &PeerError) -> (Failure, Option<A2aError>) {
    if error.kind.is_a2a() {
        let named = A2aError::from_name(error.kind.name()).unwrap_or(A2aError::Other);
        return (Failure::A2aError, Some(named));
    }
    let failure = if matches!(
        error.kind,
        ErrorKind::Unauthenticated | ErrorKind::Forbidden
    ) {
        Failure::AuthRefused
    } else if error.kind == ErrorKind::RateLimited {
        Failure::RateLimited
    } else {
        Failure::HttpStatus
    };
    (failure, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::card::{Interface, Skill};

    #[test]
    fn the_facts_of_the_largest_card_fit_into_an_event() {
        let read = Card {
            interfaces: vec![
                Interface {
                    url: format!("https://h.example/{}", "\u{e9}".repeat(300)),
                    binding: "JSONRPC".to_owned(),
                    ..Interface::default()
                };
                1_000
            ],
            skills: vec![
                Skill {
                    id: "\"".repeat(128),
                    tags: vec!["\\".repeat(128); 1_000],
                    ..Skill::default()
                };
                1_000
            ],
            input_modes: vec!["\"".repeat(127); 1_000],
            output_modes: vec!["\"".repeat(127); 1_000],
            ..Card::default()
        };

        let facts = card(&Redactor::default(), &read);

        assert!(serde_json::to_vec(&facts).unwrap().len() < 60_000);
        assert!(!facts.interfaces.is_empty() && !facts.skills.is_empty());
    }

    #[test]
    fn every_failure_of_a_call_has_its_own_name_in_the_facts() {
        for kind in [
            CallErrorKind::ConnectRefused,
            CallErrorKind::Dns,
            CallErrorKind::Tls,
            CallErrorKind::Unreachable,
            CallErrorKind::ConnectTimeout,
            CallErrorKind::FirstByteTimeout,
            CallErrorKind::IdleTimeout,
            CallErrorKind::TotalTimeout,
            CallErrorKind::ConnectionLost,
            CallErrorKind::AnswerCut,
            CallErrorKind::AnswerTooLarge,
            CallErrorKind::BadHttp,
        ] {
            assert_eq!(call_failure(kind).as_str(), kind.name());
        }
    }

    #[test]
    fn an_address_in_facts_has_no_query_and_no_credentials() {
        let shown = |text: &str| bare(&Url::parse(text).unwrap()).map(|url| url.to_string());

        assert_eq!(
            shown("https://h.example/a?key=s#f").as_deref(),
            Some("https://h.example/a")
        );
        assert_eq!(shown("https://u:p@h.example/a"), None);
    }
}
