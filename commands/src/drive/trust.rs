//! Who may sign an agent's card, and whether somebody who may has signed this one.
//!
//! Keys come from the log (`missive agent add --card-key`, `agent pin`) and from the configuration
//! (`[trust.ALIAS]`). A card is judged when it comes, by the bytes that came: what is stored may be
//! redacted, and then no signature holds any more. The judgement is recorded beside the card.

use std::collections::BTreeSet;

use missive_log::event::facts::{KeySource as StoredSource, Label, SignatureOutcome, Thumbprint};
use missive_log::event::kind::{CardChanged, CardChecked};
use missive_log::event::{Alias, EventKind};
use missive_log::{Log, Payload, Role};
use missive_projections::CardSignature;
use url::Url;

use super::card::Loaded;
use super::stored::{Stored, is_redacted, stored_bytes};
use crate::decide::Moment;
use crate::effect::fetch::{Fetch, Fetched};
use crate::effect::keys::fetch_keys;
use crate::effect::reach::Reach;
use crate::evidence;
use crate::failure::CommandError;
use crate::note::Note;
use crate::peer::Peer;
use crate::report::agent::SignatureView;
use crate::run::Missive;
use crate::wire::card::Card;
use crate::wire::json::Limits;
use crate::wire::signature::{Judged, KeySource, Outcome, Signed, Trust, Verdict, read_keys};

/// What was found out about a card that came.
#[derive(Debug)]
pub(crate) struct Checked {
    /// Its signatures, judged; none where there is nothing to record.
    pub(crate) verdict: Option<Verdict>,
    /// Hosts of interfaces that the card before it did not name.
    pub(crate) new_hosts: BTreeSet<String>,
    /// Whether another key signed it, or none that is trusted any more.
    pub(crate) other_key: bool,
    /// Whether there is anything that it could be judged by.
    trusted: bool,
}

impl<L: Log> Missive<L> {
    /// What is trusted for an agent; nothing for a bare address.
    pub(crate) async fn trust(&self, peer: &Peer) -> Result<Trust, CommandError> {
        let mut trust = Trust::default();
        let Some(alias) = &peer.alias else {
            return Ok(trust);
        };
        if let Some(configured) = self.config().trust.get(alias.as_str()) {
            trust.pinned.clone_from(&configured.keys);
            trust.origins.clone_from(&configured.origins);
        }
        let agent = self.views().agent(alias)?;
        for pinned in agent.map(|agent| agent.keys).unwrap_or_default() {
            let stored = stored_bytes(self.log(), pinned.source.seq, Role::Key).await?;
            let keys = stored.and_then(|stored| read_keys(&stored.bytes).ok());
            for key in keys.into_iter().flatten() {
                if !trust.pinned.contains(&key) {
                    trust.pinned.push(key);
                }
            }
        }
        Ok(trust)
    }

    /// Judges a card that just came; asks allowed addresses for keys first, where it takes any.
    pub(crate) async fn check_card(
        &self,
        fetch: &Fetch,
        mut trust: Trust,
        before: Option<&Stored>,
        seen: Option<&CardSignature>,
    ) -> Option<Checked> {
        let Ok(Fetched::New { card, .. }) = &fetch.outcome else {
            return None;
        };
        let Reach::Answered(answer) = &fetch.call.as_ref()?.reach else {
            return None;
        };
        let signed = Signed::read(&answer.body, &Limits::default())?;
        for url in signed.addresses(&trust) {
            tracing::info!(from = url.host_str(), "keys are asked for");
            let set = fetch_keys(self.card_calls(), &url, Some(self.card_deadline())).await;
            trust.sets.push(set);
        }
        let verdict = signed.judge(&trust);
        let trusted = !trust.is_empty();
        // Nobody asked about a card that was never signed and need not be.
        let matters = signed.count() > 0 || seen.is_some() || trusted;
        Some(Checked {
            new_hosts: before
                .map(|before| new_hosts(&before.card, card))
                .unwrap_or_default(),
            other_key: seen.is_some_and(|seen| is_other_key(seen, &verdict)),
            verdict: matters.then_some(verdict),
            trusted,
        })
    }

    /// Says what a person should know of it.
    pub(crate) fn note_check(&self, checked: &Checked) {
        let clean = |text: &str| self.redactor().clean(text);
        if !checked.new_hosts.is_empty() {
            let hosts: Vec<String> = checked.new_hosts.iter().map(|host| clean(host)).collect();
            self.note(Note::NewHosts(hosts.join(", ")));
        }
        if checked.other_key {
            self.note(Note::OtherKey);
        }
        let Some(verdict) = &checked.verdict else {
            return;
        };
        let why = verdict.decisive().and_then(|judged| judged.why.as_deref());
        match verdict.outcome {
            Outcome::Failed => self.note(Note::Signature(clean(why.unwrap_or_default()))),
            Outcome::Unverifiable if checked.trusted => {
                self.note(Note::Unverified(clean(why.unwrap_or_default())));
            }
            Outcome::Absent if checked.trusted => {
                self.note(Note::Unverified("it is not signed".to_owned()));
            }
            Outcome::Verified | Outcome::Unverifiable | Outcome::Absent => {}
        }
    }

    /// What the signatures of a card are worth that is on record: judged again where the stored bytes
    /// are those that came, and what was said at that time where they are not.
    pub(crate) async fn signature_view(
        &self,
        peer: &Peer,
        loaded: &Loaded,
    ) -> Result<SignatureView, CommandError> {
        if let Some(verdict) = &loaded.verdict {
            return Ok(SignatureView::of(verdict, self.redactor()));
        }
        let absent = SignatureView {
            status: Outcome::Absent.name(),
            ..SignatureView::default()
        };
        let Some(alias) = &peer.alias else {
            return Ok(absent);
        };
        let Some(card) = self.views().card(alias)? else {
            return Ok(absent);
        };
        let body = card.body.map(|body| body.source.seq);
        let stored = match body {
            Some(seq) => self.stored_bytes(seq, Role::Response).await?,
            None => None,
        };
        let trust = self.trust(peer).await?;
        let exact = stored.filter(|stored| stored.redacted == 0);
        let signed = exact.and_then(|stored| Signed::read(&stored.bytes, &Limits::default()));
        let seen = card.signature.filter(|seen| Some(seen.seq) > body);
        match (signed, seen) {
            // Keys are not asked for again to show what is known: what they said is on record.
            (Some(signed), None) => Ok(SignatureView::of(&signed.judge(&trust), self.redactor())),
            (Some(signed), Some(_)) if signed.addresses(&trust).is_empty() => {
                Ok(SignatureView::of(&signed.judge(&trust), self.redactor()))
            }
            (_, Some(seen)) => {
                let why = self.stored_bytes(seen.seq, Role::Error).await?;
                let why = why.and_then(|stored| String::from_utf8(stored.bytes).ok());
                Ok(SignatureView::recorded(&seen, why))
            }
            (None, None) => Ok(absent),
        }
    }

    /// The newest judgement about an agent's card, as it is on record.
    pub(crate) fn seen_signature(
        &self,
        alias: Option<&Alias>,
    ) -> Result<Option<CardSignature>, CommandError> {
        let Some(alias) = alias else {
            return Ok(None);
        };
        Ok(self.views().card(alias)?.and_then(|card| card.signature))
    }
}

/// The facts of a judgement, and what they leave out.
pub(crate) fn checked_fact(moment: &Moment<'_>, verdict: &Verdict) -> (EventKind, Vec<Payload>) {
    let decisive = verdict.decisive();
    let label = |text: &Option<String>| {
        let text = text
            .as_deref()
            .filter(|text| moment.redactor.clean(text) == **text);
        Label::new(text?).ok()
    };
    let mut payloads = Vec::new();
    if let Some(why) = decisive.and_then(|judged| judged.why.as_deref()) {
        payloads.push(evidence::of_error(moment, why));
    }
    let key = decisive.and_then(|judged| judged.key.as_ref());
    if let Some(key) = key {
        let jwk = key.jwk();
        payloads.push(evidence::of_object(
            moment.ids,
            moment.redactor,
            Role::Key,
            &jwk,
        ));
    }
    let facts = CardChecked {
        signature: outcome_of(verdict.outcome),
        signatures: u32::try_from(verdict.signatures.len()).unwrap_or(u32::MAX),
        algorithm: decisive.and_then(|judged| label(&judged.algorithm)),
        key: decisive.and_then(|judged| label(&judged.kid)),
        source: decisive.and_then(source_of),
        thumbprint: key.map(|key| Thumbprint(key.thumbprint())),
    };
    (EventKind::CardChecked(facts), payloads)
}

/// The fact that a card is not what it was; none if it is.
pub(crate) fn changed_fact(checked: &Checked) -> Option<EventKind> {
    let facts = CardChanged {
        interface_host: !checked.new_hosts.is_empty(),
        key: checked.other_key,
    };
    (facts.interface_host || facts.key).then_some(EventKind::CardChanged(facts))
}

fn outcome_of(outcome: Outcome) -> SignatureOutcome {
    match outcome {
        Outcome::Verified => SignatureOutcome::Verified,
        Outcome::Failed => SignatureOutcome::Failed,
        Outcome::Unverifiable => SignatureOutcome::Unverifiable,
        Outcome::Absent => SignatureOutcome::Absent,
    }
}

fn source_of(judged: &Judged) -> Option<StoredSource> {
    judged.source.map(|source| match source {
        KeySource::Pinned => StoredSource::Pinned,
        KeySource::Jku => StoredSource::Jku,
    })
}

/// Whether what signed the card before did not sign this one.
fn is_other_key(seen: &CardSignature, verdict: &Verdict) -> bool {
    if let Some(thumbprint) = &seen.thumbprint {
        let mut keys = verdict.signatures.iter().filter_map(|one| one.key.as_ref());
        return !keys.any(|key| Thumbprint(key.thumbprint()) == *thumbprint);
    }
    let Some(name) = &seen.key else {
        return false;
    };
    let mut names = verdict
        .signatures
        .iter()
        .filter_map(|one| one.kid.as_deref());
    // A card that was never verified and is not signed any more says nothing about keys.
    verdict.outcome != Outcome::Absent && !names.any(|kid| kid == name.as_str())
}

/// Hosts that the interfaces of a card name and those of the one before it did not.
fn new_hosts(before: &Card, now: &Card) -> BTreeSet<String> {
    let known = hosts(before);
    if known.is_empty()
        || before
            .interfaces
            .iter()
            .any(|entry| is_redacted(&entry.url))
    {
        return BTreeSet::new();
    }
    hosts(now).difference(&known).cloned().collect()
}

fn hosts(card: &Card) -> BTreeSet<String> {
    let urls = card.interfaces.iter();
    urls.filter_map(|entry| Url::parse(&entry.url).ok()?.host_str().map(str::to_owned))
        .collect()
}
