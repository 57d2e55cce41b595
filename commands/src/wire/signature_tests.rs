//! Cards that were signed, by whom, and what each of the field reports asks of a verifier.

use missive_fixtures::wire;
use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use serde_json::json;

use super::super::signature_canonical::canonical;
use super::*;

const KEYS: &str = "https://keys.example";
const JKU: &str = "https://keys.example/jwks.json";

/// Signs cards as an agent would: over exactly the text that it is told.
struct Signer(Ed25519KeyPair);

impl Signer {
    fn new(seed: u8) -> Self {
        Self(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap())
    }

    fn key(&self, kid: &str) -> Key {
        let x = encode_base64url(self.0.public_key().as_ref());
        let jwk = json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x});
        read_keys(jwk.to_string().as_bytes()).unwrap().remove(0)
    }

    fn entry(&self, header: &Value, payload: &str) -> Value {
        let protected = encode_base64url(header.to_string().as_bytes());
        let message = format!("{protected}.{}", encode_base64url(payload.as_bytes()));
        let signature = encode_base64url(self.0.sign(message.as_bytes()).as_ref());
        json!({"protected": protected, "signature": signature})
    }

    /// A card with a signature over its strict form.
    fn signed(&self, card: &Value, header: &Value) -> Signed {
        let payload = signed_text(card, Form::Strict).unwrap();
        with(card, &[self.entry(header, &payload)])
    }
}

fn with(card: &Value, signatures: &[Value]) -> Signed {
    let mut card = card.clone();
    card["signatures"] = json!(signatures);
    read(&card.to_string())
}

fn read(text: &str) -> Signed {
    Signed::read(text.as_bytes(), &Limits::default()).unwrap()
}

fn card() -> Value {
    json!({
        "name": "good", "description": "", "version": "1", "skills": [],
        "capabilities": {"streaming": false},
        "supportedInterfaces": [{"url": "https://good.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "defaultInputModes": [], "defaultOutputModes": [],
    })
}

fn header(kid: &str) -> Value {
    json!({"alg": "EdDSA", "kid": kid, "typ": "JOSE"})
}

fn pinned(keys: &[Key]) -> Trust {
    Trust {
        pinned: keys.to_vec(),
        ..Trust::default()
    }
}

fn allowed(keys: Result<Vec<Key>, String>) -> Trust {
    Trust {
        origins: vec![KEYS.to_owned()],
        sets: vec![KeySet {
            jku: JKU.to_owned(),
            keys,
        }],
        ..Trust::default()
    }
}

/// The outcome and the reason, in one line.
fn told(verdict: &Verdict) -> String {
    let why = verdict.decisive().and_then(|judged| judged.why.clone());
    format!("{}: {}", verdict.outcome.name(), why.unwrap_or_default())
}

#[test]
fn a_card_that_the_python_library_signed_is_verified_by_each_of_its_keys() {
    let signed = wire("signed/card_by_python_sdk.json");
    let keys = read_keys(wire("signed/keys_of_python_sdk.json")).unwrap();
    let signed = Signed::read(signed, &Limits::default()).unwrap();

    let verdict = signed.judge(&pinned(&keys));

    let seen: Vec<_> = verdict.signatures.iter().collect();
    assert_eq!(seen.len(), 3);
    for (judged, algorithm) in seen.into_iter().zip(["ES256", "EdDSA", "RS256"]) {
        assert_eq!(judged.outcome, Outcome::Verified, "{judged:?}");
        assert_eq!(judged.algorithm.as_deref(), Some(algorithm));
        // It leaves out whatever is empty, required or not.
        assert_eq!(judged.form, Some(Form::WithoutEmpty));
    }
    assert_eq!(verdict.outcome, Outcome::Verified);
}

#[test]
fn a_changed_letter_anywhere_in_a_signed_card_is_a_failure() {
    let signer = Signer::new(1);
    let trust = pinned(&[signer.key("k1")]);
    let good = signer.signed(&card(), &header("k1"));
    let entry = good.document.value()["signatures"][0].clone();

    let mut changed = card();
    changed["supportedInterfaces"][0]["url"] = json!("https://evil.example");
    let mut added = card();
    added["future"] = json!({"x": 1});

    let verdict = good.judge(&trust);
    assert_eq!(verdict.outcome, Outcome::Verified);
    assert_eq!(verdict.signatures[0].form, Some(Form::Strict));
    assert_eq!(verdict.signatures[0].key, Some(signer.key("k1")));
    for card in [changed, added] {
        let verdict = with(&card, std::slice::from_ref(&entry)).judge(&trust);
        assert_eq!(
            told(&verdict),
            "failed: it is no signature of this card by the key that it names"
        );
    }
}

#[test]
fn what_was_set_and_what_was_left_out_are_signed_differently() {
    let signer = Signer::new(1);
    let trust = pinned(&[signer.key("k1")]);
    let mut bare = card();
    bare["capabilities"] = json!({});
    let entry = |card: &Value| signer.entry(&header("k1"), &canonical(card).unwrap());
    let outcome = |card: &Value, entry: Value| with(card, &[entry]).judge(&trust).outcome;

    assert_eq!(outcome(&card(), entry(&card())), Outcome::Verified);
    assert_eq!(outcome(&bare, entry(&bare)), Outcome::Verified);
    assert_eq!(outcome(&card(), entry(&bare)), Outcome::Failed);
    assert_eq!(outcome(&bare, entry(&card())), Outcome::Failed);
}

#[test]
fn a_signer_who_signs_what_it_sends_and_one_who_leaves_defaults_out_are_both_verified() {
    let signer = Signer::new(1);
    let trust = pinned(&[signer.key("k1")]);
    let mut sent = card();
    sent["supportedInterfaces"][0]["tenant"] = json!("");
    sent["securitySchemes"] = json!({});

    let forms = Form::ALL.map(|form| {
        let entry = signer.entry(&header("k1"), &signed_text(&sent, form).unwrap());
        with(&sent, &[entry]).judge(&trust).signatures[0].form
    });

    assert_eq!(forms, Form::ALL.map(Some));
}

#[test]
fn a_key_that_nobody_trusts_proves_nothing_however_right_the_signature_is() {
    let evil = Signer::new(6);
    let mut jku = header("k1");
    jku["jku"] = json!("https://evil.example/jwks.json");
    let signed = evil.signed(&card(), &jku);
    let good = Signer::new(1);

    let nothing = signed.judge(&Trust::default());
    let other = signed.judge(&allowed(Ok(vec![evil.key("k1")])));
    let pin = signed.judge(&pinned(&[good.key("k1")]));
    let other_name = signed.judge(&pinned(&[good.key("k2")]));

    insta::assert_snapshot!(told(&nothing), @"unverifiable: keys from https://evil.example are not allowed for this agent");
    insta::assert_snapshot!(told(&other), @"unverifiable: keys from https://evil.example are not allowed for this agent");
    insta::assert_snapshot!(told(&pin), @"failed: it is no signature of this card by the key that it names");
    insta::assert_snapshot!(told(&other_name), @"unverifiable: no key called `k1` is pinned for this agent");
    assert_eq!(signed.addresses(&allowed(Ok(Vec::new()))), []);
}

#[test]
fn none_and_shared_secrets_are_refused_and_unknown_algorithms_are_not_judged() {
    let signer = Signer::new(1);
    let trust = pinned(&[signer.key("k1")]);
    let entry = |alg: &str| signer.entry(&json!({"alg": alg, "kid": "k1"}), "x");
    let verdict = |alg: &str| told(&with(&card(), &[entry(alg)]).judge(&trust));

    insta::assert_snapshot!(verdict("none"), @"failed: `none` is no signature");
    insta::assert_snapshot!(verdict("nOnE"), @"failed: `none` is no signature");
    insta::assert_snapshot!(verdict("HS256"), @"failed: HS256 needs a shared secret: whoever can check it could have made it, so it is refused");
    insta::assert_snapshot!(verdict("PS512"), @"unverifiable: PS512 is not one of EdDSA, ES256 and RS256");
    // The header calls an Ed25519 key one for RSA.
    insta::assert_snapshot!(verdict("RS256"), @"failed: the key that it names is not one for RS256");
}

#[test]
fn a_key_from_an_allowed_address_counts_and_only_its_address_is_asked() {
    let signer = Signer::new(1);
    let mut at_keys = header("k1");
    at_keys["jku"] = json!(JKU);
    let card = signer.signed(&self::card(), &at_keys);
    let open = allowed(Ok(vec![Signer::new(9).key("k0"), signer.key("k1")]));

    let verdict = card.judge(&open);

    assert_eq!(card.addresses(&open), [Url::parse(JKU).unwrap()]);
    assert_eq!(verdict.outcome, Outcome::Verified);
    assert_eq!(verdict.signatures[0].source, Some(KeySource::Jku));
    let rotated = card.judge(&allowed(Ok(vec![signer.key("k2")])));
    let gone = card.judge(&allowed(Err("no answer".to_owned())));
    insta::assert_snapshot!(told(&rotated), @"unverifiable: https://keys.example/jwks.json has no key called `k1`");
    insta::assert_snapshot!(told(&gone), @"unverifiable: no key from https://keys.example/jwks.json: no answer");
    // A pin says which keys count, so nobody is asked for others.
    let both = Trust {
        pinned: vec![Signer::new(2).key("k1")],
        ..open
    };
    assert_eq!(card.addresses(&both), []);
    assert_eq!(card.judge(&both).outcome, Outcome::Failed);
}

#[test]
fn addresses_of_keys_are_https_or_on_this_machine_and_hold_no_secret() {
    let origins = [KEYS, "http://127.0.0.1:9", "http://keys.example"].map(str::to_owned);
    let wrong = |jku: &str| address(jku, &origins).unwrap_err();

    assert!(address(JKU, &origins).is_ok());
    assert!(address("http://127.0.0.1:9/k", &origins).is_ok());
    insta::assert_snapshot!(wrong("http://keys.example/k"), @"its `jku` is neither https nor on this machine");
    insta::assert_snapshot!(wrong("file:///etc/passwd"), @"its `jku` is neither https nor on this machine");
    insta::assert_snapshot!(wrong("https://u:p@keys.example/k"), @"its `jku` holds credentials or a fragment");
    insta::assert_snapshot!(wrong("https://keys.example:444/k"), @"keys from https://keys.example:444 are not allowed for this agent");
    insta::assert_snapshot!(wrong("https://keys.example.evil.example/k"), @"keys from https://keys.example.evil.example are not allowed for this agent");
    assert_eq!(key_origin("https://keys.example:443/").as_deref(), Ok(KEYS));
    assert!(key_origin("https://keys.example/path").is_err());
    assert!(key_origin("http://keys.example").is_err());
}

#[test]
fn signatures_that_are_none_are_failures_with_a_reason() {
    let signer = Signer::new(1);
    let trust = pinned(&[signer.key("k1")]);
    let verdict = |entry: Value| told(&with(&card(), &[entry]).judge(&trust));
    let protected = |header: &str| encode_base64url(header.as_bytes());

    insta::assert_snapshot!(verdict(json!(7)), @"failed: it has no protected header");
    insta::assert_snapshot!(verdict(json!({"protected": "%%%"})), @"failed: its protected header is no base64url of a JSON object");
    insta::assert_snapshot!(verdict(json!({"protected": protected(r#"{"alg":"EdDSA","alg":"none"}"#), "signature": ""})), @"failed: its protected header is no base64url of a JSON object");
    insta::assert_snapshot!(verdict(json!({"protected": protected("{}"), "signature": ""})), @"failed: its header names no algorithm");
    insta::assert_snapshot!(verdict(json!({"protected": protected(r#"{"alg":"EdDSA"}"#), "signature": "!"})), @"failed: its signature is no base64url");
    insta::assert_snapshot!(verdict(signer.entry(&json!({"alg": "EdDSA", "kid": "k1", "crit": ["x"]}), "x")), @"failed: its header demands what is not understood here");
    insta::assert_snapshot!(told(&with(&card(), &[]).judge(&trust)), @"absent: ");
    insta::assert_snapshot!(told(&read(r#"{"signatures":"x"}"#).judge(&trust)), @"absent: ");
    assert!(Signed::read(b"<html>", &Limits::default()).is_none());
}

#[test]
fn a_card_that_two_readers_would_read_differently_has_no_signature() {
    let signer = Signer::new(1);
    let good = signer.signed(&card(), &header("k1"));
    let twice = good.document.text().replacen('{', r#"{"name":"evil","#, 1);

    let verdict = read(&twice).judge(&pinned(&[signer.key("k1")]));

    insta::assert_snapshot!(told(&verdict), @"failed: a name stands twice in the card, so it has no canonical form");
}

#[test]
fn one_good_signature_is_enough_and_one_bad_one_outweighs_those_that_cannot_be_judged() {
    let signer = Signer::new(1);
    let text = signed_text(&card(), Form::Strict).unwrap();
    let good = signer.entry(&header("k1"), &text);
    let bad = signer.entry(&header("k1"), "x");
    let unknown = Signer::new(2).entry(&header("k2"), &text);
    let trust = pinned(&[signer.key("k1")]);
    let outcome = |entries: &[&Value]| {
        let entries: Vec<Value> = entries.iter().copied().cloned().collect();
        with(&card(), &entries).judge(&trust).outcome
    };

    assert_eq!(outcome(&[&bad, &unknown, &good]), Outcome::Verified);
    assert_eq!(outcome(&[&unknown, &bad]), Outcome::Failed);
    assert_eq!(outcome(&[&unknown]), Outcome::Unverifiable);
}

#[test]
fn signatures_on_the_curve_p_256_verify_whoever_made_them() {
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap();
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    let jwk =
        json!({"kty": "EC", "crv": "P-256", "x": encode_base64url(x), "y": encode_base64url(y)});
    let keys = read_keys(jwk.to_string().as_bytes()).unwrap();
    let protected = encode_base64url(br#"{"alg":"ES256","kid":"unnamed"}"#);
    let text = signed_text(&card(), Form::Strict).unwrap();
    let message = format!("{protected}.{}", encode_base64url(text.as_bytes()));
    let signature = pair.sign(&random, message.as_bytes()).unwrap();

    let entry = json!({"protected": protected, "signature": encode_base64url(signature.as_ref())});
    let verdict = with(&card(), &[entry]).judge(&pinned(&keys));

    assert_eq!(verdict.outcome, Outcome::Verified);
}

proptest! {
    /// Whatever stands in `signatures`, and whatever JSON the card is: judged, and never a panic.
    #[test]
    fn hostile_signatures_are_judged_and_never_verified(
        protected in ".{0,40}", header in ".{0,60}", signature in "[A-Za-z0-9_=-]{0,90}", rest in ".{0,40}",
    ) {
        let trust = pinned(&[Signer::new(1).key("k1")]);
        let encoded = encode_base64url(header.as_bytes());
        let entries = json!([
            {"protected": protected, "signature": signature},
            {"protected": encoded, "signature": signature, "header": {"kid": rest}},
            rest,
        ]);

        let verdict = read(&json!({"name": rest, "signatures": entries}).to_string()).judge(&trust);

        prop_assert_eq!(verdict.outcome, Outcome::Failed);
        let _never_a_panic = Signed::read(protected.as_bytes(), &Limits::default());
    }

    /// RFC 8785 is a fixed point: the canonical text of a canonical text is itself.
    #[test]
    fn canonical_texts_stay_what_they_are(number in any::<f64>(), text in ".{0,20}", name in ".{0,20}") {
        let text = canonical(&json!({"n": number, name: [text, null, {"b": 1, "a": number}]}));
        prop_assume!(text.is_some());
        let text = text.unwrap();

        let again = read(&text);

        prop_assert_eq!(canonical(again.document.value()), Some(text));
    }
}
