//! Public keys that cards are verified with: JWKs (RFC 7517, 7518, 8037) and nothing else.
//!
//! Only keys that can verify one of our three algorithms are taken: Ed25519, P-256 and RSA of 2,048 to
//! 8,192 bits. A private or symmetric key is refused, so that nobody pins one by mistake, and a key that
//! says that it is for something else is not used against its word.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, NO_PAD};
use ring::digest::{SHA256, digest};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde_json::{Map, Value, json};

use super::json::{Document, JsonError, Limits};
use super::text::excerpt;

/// Most bytes of a key or a key set.
pub const KEYS_BYTES_MAX: usize = 256 << 10;
/// Most keys of one set.
pub(super) const KEYS_MAX: usize = 64;
/// Bits of an RSA modulus that are enough, and not absurd.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2_048..=8_192;

/// base64url as JOSE has it; padding, which it forbids, is tolerated.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
);

/// Decodes base64url.
pub(super) fn decode_base64url(text: &str) -> Option<Vec<u8>> {
    BASE64URL.decode(text).ok()
}

/// Encodes as base64url without padding.
pub(super) fn encode_base64url(bytes: &[u8]) -> String {
    GeneralPurpose::new(&URL_SAFE, NO_PAD).encode(bytes)
}

/// An algorithm that missive verifies. `none` and everything with a shared secret has no place here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// Ed25519 (RFC 8037).
    EdDsa,
    /// ECDSA on P-256 with SHA-256 (RFC 7518, section 3.4).
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518, section 3.3).
    Rs256,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 3] = [Self::EdDsa, Self::Es256, Self::Rs256];

    /// The name that headers and keys use.
    pub fn name(self) -> &'static str {
        match self {
            Self::EdDsa => "EdDSA",
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
        }
    }

    /// The algorithm of a header; RFC 9864 calls Ed25519 by its own name.
    pub fn parse(name: &str) -> Option<Self> {
        if name == "Ed25519" {
            return Some(Self::EdDsa);
        }
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// The numbers of a key.
#[derive(Clone, PartialEq, Eq)]
enum Material {
    Ed25519 { x: Vec<u8> },
    P256 { x: Vec<u8>, y: Vec<u8> },
    Rsa { n: Vec<u8>, e: Vec<u8> },
}

/// A public key.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Its name; a stranger's text.
    pub kid: Option<String>,
    material: Material,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("kid", &self.kid)
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}

/// Why bytes are no key to verify with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No JSON.
    #[error("no JSON")]
    Json(#[from] JsonError),
    /// JSON, but neither a JWK nor a JWK Set.
    #[error("neither a JWK nor a JWK Set: {0}")]
    NotAKey(&'static str),
    /// Its secret half is in it, so it is not to be handed around.
    #[error("a private key: only the public half is needed here")]
    Private,
    /// A shared secret verifies nothing that its owner could not have made himself.
    #[error("a symmetric key: a signature with it could come from anybody who has it")]
    Symmetric,
    /// A type, a curve, a size or a purpose that is not used.
    #[error("{0}")]
    Unusable(String),
    /// Too many keys.
    #[error("more than {KEYS_MAX} keys")]
    TooMany,
    /// A set without a key that could be used.
    #[error("no key for EdDSA, ES256 or RS256 is in it")]
    NothingUsable,
}

/// Reads one key, or a set: in a set, keys of other kinds are passed over (RFC 7517, section 5).
///
/// # Errors
/// See [`KeyError`].
pub fn read_keys(bytes: &[u8]) -> Result<Vec<Key>, KeyError> {
    let limits = Limits {
        bytes_max: KEYS_BYTES_MAX,
        ..Limits::default()
    };
    let document = Document::read(bytes, &limits)?;
    if !document.flags().duplicate_keys.is_empty() {
        return Err(KeyError::NotAKey("a name stands twice in it"));
    }
    let Some(members) = document.value().as_object() else {
        return Err(KeyError::NotAKey("it is no object"));
    };
    let Some(keys) = members.get("keys") else {
        return Ok(vec![read_key(members)?]);
    };
    let Some(keys) = keys.as_array() else {
        return Err(KeyError::NotAKey("`keys` is no list"));
    };
    if keys.len() > KEYS_MAX {
        return Err(KeyError::TooMany);
    }
    let members = keys.iter().filter_map(Value::as_object);
    let usable: Vec<Key> = members.filter_map(|key| read_key(key).ok()).collect();
    if usable.is_empty() {
        return Err(KeyError::NothingUsable);
    }
    Ok(usable)
}

fn read_key(members: &Map<String, Value>) -> Result<Key, KeyError> {
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let unusable = |what: String| Err(KeyError::Unusable(what));
    let bytes = |name: &'static str| {
        let decoded = text(name).and_then(decode_base64url);
        decoded.ok_or_else(|| KeyError::Unusable(format!("`{name}` of the key is no base64url")))
    };
    let material = match (text("kty"), text("crv")) {
        (Some("oct"), _) => return Err(KeyError::Symmetric),
        _ if members.contains_key("d") => return Err(KeyError::Private),
        (Some("OKP"), Some("Ed25519")) => Material::Ed25519 { x: bytes("x")? },
        (Some("EC"), Some("P-256")) => Material::P256 {
            x: bytes("x")?,
            y: bytes("y")?,
        },
        (Some("RSA"), _) => Material::Rsa {
            n: without_leading_zeros(&bytes("n")?),
            e: without_leading_zeros(&bytes("e")?),
        },
        (Some(kty @ ("OKP" | "EC")), crv) => {
            let crv = excerpt(crv.unwrap_or("none"));
            return unusable(format!("a key of type {kty} on the curve {crv}"));
        }
        (Some(kty), _) => return unusable(format!("a key of type {}", excerpt(kty))),
        (None, _) => return Err(KeyError::NotAKey("it has no `kty`")),
    };
    let fits = match &material {
        Material::Ed25519 { x } => x.len() == 32,
        Material::P256 { x, y } => x.len() == 32 && y.len() == 32,
        Material::Rsa { n, e } => RSA_BITS.contains(&bits(n)) && (1..=8).contains(&e.len()),
    };
    if !fits {
        return unusable("a key of a length that is not used".to_owned());
    }
    let key = Key {
        kid: text("kid").filter(|kid| !kid.is_empty()).map(str::to_owned),
        material,
    };
    if text("use").is_some_and(|usage| usage != "sig") {
        return unusable("a key for encryption".to_owned());
    }
    let operations = members.get("key_ops").and_then(Value::as_array);
    if operations.is_some_and(|all| !all.iter().any(|one| one == "verify")) {
        return unusable("a key that is not for verifying".to_owned());
    }
    if text("alg").is_some_and(|name| Algorithm::parse(name) != Some(key.algorithm())) {
        return unusable("a key for another algorithm than its type has here".to_owned());
    }
    Ok(key)
}

fn without_leading_zeros(number: &[u8]) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default().to_vec()
}

fn bits(number: &[u8]) -> usize {
    let first = number.first().copied().unwrap_or(0);
    number.len() * 8 - usize::try_from(first.leading_zeros()).unwrap_or(0).min(8)
}

impl Key {
    /// The one algorithm that it verifies.
    pub fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::Ed25519 { .. } => Algorithm::EdDsa,
            Material::P256 { .. } => Algorithm::Es256,
            Material::Rsa { .. } => Algorithm::Rs256,
        }
    }

    /// Whether `signature` is one of this key over `message`.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Ed25519 { x } => UnparsedPublicKey::new(&ED25519, x)
                .verify(message, signature)
                .is_ok(),
            Material::P256 { x, y } => {
                let point = [&[4_u8][..], x, y].concat();
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
                    .verify(message, signature)
                    .is_ok()
            }
            Material::Rsa { n, e } => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
        }
    }

    /// Its thumbprint (RFC 7638, SHA-256): the same for the same key, however it is written or called.
    pub fn thumbprint(&self) -> [u8; 32] {
        let members = Value::Object(self.members()).to_string();
        let mut thumbprint = [0; 32];
        let hashed = digest(&SHA256, members.as_bytes());
        for (to, from) in thumbprint.iter_mut().zip(hashed.as_ref()) {
            *to = *from;
        }
        thumbprint
    }

    /// The key as a JWK of its public members, so that it can be kept.
    pub fn jwk(&self) -> String {
        let mut members = self.members();
        if let Some(kid) = &self.kid {
            members.insert("kid".to_owned(), json!(kid));
        }
        Value::Object(members).to_string()
    }

    /// The required members; the map sorts them, as RFC 7638 wants it.
    fn members(&self) -> Map<String, Value> {
        let members = match &self.material {
            Material::Ed25519 { x } => {
                json!({"crv": "Ed25519", "kty": "OKP", "x": encode_base64url(x)})
            }
            Material::P256 { x, y } => json!({
                "crv": "P-256", "kty": "EC", "x": encode_base64url(x), "y": encode_base64url(y),
            }),
            Material::Rsa { n, e } => {
                json!({"e": encode_base64url(e), "kty": "RSA", "n": encode_base64url(n)})
            }
        };
        match members {
            Value::Object(members) => members,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        }
    }
}

#[cfg(test)]
#[path = "signature_key_tests.rs"]
mod tests;
