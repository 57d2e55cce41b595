//! Generated facts about streams, deliveries, contexts, files and checks.

use super::*;
use missive_log::event::PushConfigId;

text!(config, PushConfigId, "(?s).{1,9}");

fn status_facts() -> impl Strategy<Value = StatusFacts> {
    let state = select(TaskState::ALL);
    (task(), of(context()), state, of(time()), of(message())).prop_map(
        |(task, context, state, state_at, message)| StatusFacts {
            task,
            context,
            state,
            state_at,
            message,
        },
    )
}

fn chunk_facts() -> impl Strategy<Value = ChunkFacts> {
    let flags = any::<[bool; 2]>();
    (task(), of(context()), artifact(), any::<u32>(), flags).prop_map(
        |(task, context, artifact, parts, [append, last])| ChunkFacts {
            task,
            context,
            artifact,
            parts,
            append,
            last,
        },
    )
}

fn count() -> impl Strategy<Value = u64> {
    0..1_u64 << 53
}

fn of_requests() -> impl Strategy<Value = EventKind> {
    let place = (
        select(Binding::ALL),
        url(),
        select(InterfaceSource::ALL),
        version(),
        of(tenant()),
    );
    let requested = (instance(), message(), place, any::<u32>(), any::<u32>()).prop_map(
        |(instance, message, (binding, url, source, version, tenant), parts, attempt)| {
            EventKind::StreamRequested(StreamRequested {
                instance,
                message,
                binding,
                url,
                source,
                version,
                tenant,
                parts,
                attempt,
            })
        },
    );
    let subscribed = (
        instance(),
        task(),
        select(Binding::ALL),
        url(),
        any::<u32>(),
    )
        .prop_map(|(instance, task, binding, url, resume)| {
            EventKind::SubscriptionRequested(SubscriptionRequested {
                instance,
                task,
                binding,
                url,
                resume,
            })
        });
    prop_oneof![requested, subscribed]
}

pub(super) fn of_streams() -> impl Strategy<Value = EventKind> {
    let whole = (count(), task_facts(), violations()).prop_map(|(update, task, violations)| {
        EventKind::StreamTask(StreamTask {
            update,
            task,
            violations,
        })
    });
    let said = (count(), of(message()), violations()).prop_map(|(update, message, violations)| {
        EventKind::StreamMessage(StreamMessage {
            update,
            message,
            violations,
        })
    });
    let told = (count(), status_facts(), violations()).prop_map(|(update, status, violations)| {
        EventKind::StreamStatusUpdate(StreamStatusUpdate {
            update,
            status,
            violations,
        })
    });
    let brought = (count(), chunk_facts(), violations()).prop_map(|(update, chunk, violations)| {
        EventKind::StreamArtifactUpdate(StreamArtifactUpdate {
            update,
            chunk,
            violations,
        })
    });
    let malformed = (count(), select(Malformed::ALL))
        .prop_map(|(update, why)| EventKind::StreamMalformed(StreamMalformed { update, why }));
    let how = (
        select(StreamEnd::ALL),
        of(any::<u16>()),
        of(select(Failure::ALL)),
    );
    let closed = (
        how,
        of(select(A2aError::ALL)),
        count(),
        of(select(TaskState::ALL)),
    )
        .prop_map(|((end, status, failure), error, updates, state)| {
            EventKind::StreamClosed(StreamClosed {
                end,
                status,
                failure,
                error,
                updates,
                state,
            })
        });
    prop_oneof![of_requests(), whole, said, told, brought, malformed, closed]
}

pub(super) fn of_pushes() -> impl Strategy<Value = EventKind> {
    let how = || (any::<bool>(), any::<bool>(), violations());
    let whole = (task_facts(), how()).prop_map(|(task, (linked, duplicate, violations))| {
        EventKind::PushTask(PushTask {
            task,
            linked,
            duplicate,
            violations,
        })
    });
    let said = (of(message()), how()).prop_map(|(message, (linked, duplicate, violations))| {
        EventKind::PushMessage(PushMessage {
            message,
            linked,
            duplicate,
            violations,
        })
    });
    let told = (status_facts(), how()).prop_map(|(status, (linked, duplicate, violations))| {
        EventKind::PushStatusUpdate(PushStatusUpdate {
            status,
            linked,
            duplicate,
            violations,
        })
    });
    let brought = (chunk_facts(), how()).prop_map(|(chunk, (linked, duplicate, violations))| {
        EventKind::PushArtifactUpdate(PushArtifactUpdate {
            chunk,
            linked,
            duplicate,
            violations,
        })
    });
    let rejected =
        (select(PushRefusal::ALL), any::<u16>(), count()).prop_map(|(why, status, count)| {
            EventKind::PushRejected(PushRejected { why, status, count })
        });
    let flags = any::<[bool; 2]>();
    let configured = (task(), config(), url(), flags).prop_map(
        |(task, config, url, [token, authentication])| {
            EventKind::PushConfigured(PushConfigured {
                task,
                config,
                url,
                token,
                authentication,
            })
        },
    );
    let removed = (task(), config())
        .prop_map(|(task, config)| EventKind::PushRemoved(PushRemoved { task, config }));
    let stopped =
        (select(WebhookEnd::ALL), count(), count()).prop_map(|(end, accepted, rejected)| {
            EventKind::WebhookStopped(WebhookStopped {
                end,
                accepted,
                rejected,
            })
        });
    let started = Just(EventKind::WebhookStarted(WebhookStarted {}));
    let delivered = prop_oneof![whole, said, told, brought, rejected];
    prop_oneof![delivered, configured, removed, started, stopped]
}

pub(super) fn of_contexts() -> impl Strategy<Value = EventKind> {
    let named = context_name().prop_map(|name| EventKind::ContextNamed(ContextNamed { name }));
    let created = Just(EventKind::ContextCreated(ContextCreated {}));
    let forked = context().prop_map(|from| EventKind::ContextForked(ContextForked { from }));
    let exported =
        (select(ContextForm::ALL), seq(), count()).prop_map(|(format, through, events)| {
            EventKind::ContextExported(ContextExported {
                format,
                through,
                events,
            })
        });
    let sources = vec((seq(), any::<u16>(), any::<[u8; 32]>()), 0..3);
    let saved = (task(), vec(artifact(), 0..3), any::<u32>(), sources).prop_map(
        |(task, artifacts, files, sources)| {
            EventKind::ArtifactsSaved(ArtifactsSaved {
                task,
                artifacts,
                files,
                sources_total: files,
                sources: sources
                    .into_iter()
                    .map(|(seq, index, bytes)| PayloadFacts {
                        seq,
                        index,
                        commitment: chain::Commitment(bytes),
                    })
                    .collect(),
            })
        },
    );
    let closed = Just(EventKind::ContextClosed(ContextClosed {}));
    prop_oneof![created, forked, named, closed, exported, saved]
}

pub(super) fn of_checks() -> impl Strategy<Value = EventKind> {
    let outcome = (select(SignatureOutcome::ALL), any::<u32>());
    let by = (
        of(label()),
        of(label()),
        of(select(KeySource::ALL)),
        of(any::<[u8; 32]>()),
    );
    let checked = (outcome, by).prop_map(|((signature, signatures), by)| {
        EventKind::CardChecked(CardChecked {
            signature,
            signatures,
            algorithm: by.0,
            key: by.1,
            source: by.2,
            thumbprint: by.3.map(Thumbprint),
        })
    });
    let changed = any::<[bool; 2]>().prop_map(|[interface_host, key]| {
        EventKind::CardChanged(CardChanged {
            interface_host,
            key,
        })
    });
    let extended = (card_facts(), violations()).prop_map(|(card, violations)| {
        EventKind::ExtendedCardFetched(ExtendedCardFetched { card, violations })
    });
    let pinned = (of(label()), any::<[u8; 32]>()).prop_map(|(key, bytes)| {
        EventKind::KeyPinned(KeyPinned {
            key,
            thumbprint: Thumbprint(bytes),
        })
    });
    let given = (card_facts(), violations())
        .prop_map(|(card, violations)| EventKind::CardGiven(CardGiven { card, violations }));
    prop_oneof![checked, changed, extended, pinned, given]
}
