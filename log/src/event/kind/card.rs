//! Facts about agent cards: asked for, come, checked, changed (A2A 1.0 section 8).

use super::fact;
use crate::event::facts::{
    BareUrl, CardPath, EntityTag, Failure, InterfaceFacts, KeySource, Label, MediaMode,
    SignatureOutcome, SkillFacts, Thumbprint, Violation,
};
use crate::event::id::InstanceId;
use crate::event::time::Timestamp;
use serde::{Deserialize, Serialize};

fact!(
    /// A card is about to be asked for. Doubt is resolved by asking again.
    CardRequested {
        /// The run of the program that is about to do it.
        instance: InstanceId,
        /// The base URL.
        url: BareUrl,
        /// Whether a cached card is being revalidated.
        revalidate: bool,
    }
);
fact!(
    /// A card came, or the cached one was confirmed (304). The raw card is the payload.
    CardFetched {
        /// The HTTP status: 200 or 304.
        status: u16,
        /// Which path answered.
        path: CardPath,
        /// The exact place that answered.
        url: BareUrl,
        /// Its entity tag.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        etag: Option<EntityTag>,
        /// Its `Last-Modified`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_modified: Option<Timestamp>,
        /// Until when it may be used without asking again (RFC 9111).
        fresh_until: Timestamp,
        /// The facts of the card; absent with 304.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        card: Option<CardFacts>,
        /// What is wrong with the answer although it can be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
fact!(
    /// What routing and lists need of a card.
    CardFacts {
        /// Its interfaces that have an http(s) URL and a binding that we know by name, in order.
        interfaces: Vec<InterfaceFacts>,
        /// Whether it streams.
        streaming: bool,
        /// Whether it pushes.
        push: bool,
        /// Whether it has an extended card.
        extended: bool,
        /// What it takes.
        input_modes: Vec<MediaMode>,
        /// What it gives.
        output_modes: Vec<MediaMode>,
        /// What it can do, the first 256.
        skills: Vec<SkillFacts>,
    }
);
fact!(
    /// No card came. The answer, if any, is the payload.
    CardFailed {
        /// Why.
        failure: Failure,
        /// The HTTP status, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
    }
);
fact!(
    /// The signatures of a card were looked at. What is wrong with them, and a key that was fetched, are payloads.
    CardChecked {
        /// What came of it.
        signature: SignatureOutcome,
        /// How many signatures the card has.
        signatures: u32,
        /// The algorithm of the one that counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        algorithm: Option<Label>,
        /// The id of the key that it names.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Label>,
        /// Where that key came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<KeySource>,
        /// Its RFC 7638 thumbprint, if it verified the signature.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thumbprint: Option<Thumbprint>,
    }
);
fact!(
    /// A card differs from the one before it in what an agent is trusted by.
    CardChanged {
        /// Whether an interface moved to another host.
        interface_host: bool,
        /// Whether another key signs it.
        key: bool,
    }
);
fact!(
    /// A person gave the card of an agent that shows none. The raw card is the payload.
    CardGiven {
        /// The facts of the card.
        card: CardFacts,
        /// What is wrong with the card although it can be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
fact!(
    /// The extended card came in an answer to a call. The raw card is the payload.
    ExtendedCardFetched {
        /// The facts of the card.
        card: CardFacts,
        /// What is wrong with the answer although it can be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<Violation>,
    }
);
