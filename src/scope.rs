//! Whose key it is. Two tenants may choose the same key and must never meet.

mod aliases;

pub use aliases::{AliasError, ScopeAliases};

use crate::business::Number;
use crate::key::IdempotencyKey;
use core::fmt;
use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};

/// Where a request says who is calling.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ScopeSource {
    /// The value of this header, its name in lower case.
    Header(String),
    /// The value of this cookie.
    Cookie(String),
}

/// Whose keys these are: a hash, so that no credential is stored or logged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Scope(
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    [u8; 32],
);

/// The name that a record is stored under: SHA-256 over scope and key, or over scope and number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct ScopedKey(
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    [u8; 32],
);

/// Why a request has no scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScopeError {
    /// It carries none of the sources.
    Missing,
    /// It carries a token that changes at each refresh, or a signature that changes with each
    /// request, which would give the caller new keys each time and charge a retry twice.
    ShortLivedToken,
    /// The credential holds bytes that are not UTF-8. The platform puts one sign in place of all of
    /// them, so two tenants could look alike.
    Unreadable,
    /// The source comes twice. The origin may take another one of them than the scope does.
    Ambiguous,
}

impl Scope {
    /// The scope of a request: the first of `sources` that it carries, and only that one, because
    /// a mixture would change when a proxy adds or drops one. `value_of` looks a source up; it fails
    /// for one that comes twice.
    pub fn derive(
        sources: &[ScopeSource],
        aliases: &ScopeAliases,
        mut value_of: impl FnMut(&ScopeSource) -> Result<Option<String>, ScopeError>,
    ) -> Result<Self, ScopeError> {
        let carried = sources.iter().find_map(|source| match value_of(source) {
            Ok(Some(value)) if value.is_empty() => None,
            Ok(value) => value.map(|value| Ok((source, value))),
            Err(error) => Some(Err(error)),
        });
        let (source, value) = carried.ok_or(ScopeError::Missing)??;
        if value.contains(char::REPLACEMENT_CHARACTER) {
            return Err(ScopeError::Unreadable);
        }
        // An alias is explicit, so it also allows what would otherwise be refused below.
        if let Some(tenant) = aliases.tenant_of(&value) {
            return Ok(Self::of_tenant(tenant));
        }
        if is_short_lived(&value) {
            return Err(ScopeError::ShortLivedToken);
        }
        Ok(match source {
            ScopeSource::Header(name) => {
                Self::hash(&[b"header", name.as_bytes(), value.as_bytes()])
            }
            ScopeSource::Cookie(name) => {
                Self::hash(&[b"cookie", name.as_bytes(), value.as_bytes()])
            }
        })
    }

    /// The scope of a tenant that `SCOPE_ALIASES` names.
    pub fn of_tenant(tenant: &str) -> Self {
        Self::hash(&[b"tenant", tenant.as_bytes()])
    }

    /// The scope of a source of webhooks, whose events' ids are keys. It is no tenant's.
    pub fn of_source(source: &str) -> Self {
        Self::hash(&[b"source", source.as_bytes()])
    }

    /// The one scope that all callers without a credential share, where that is allowed.
    pub fn anonymous() -> Self {
        Self::hash(&[b"anonymous"])
    }

    /// Reads what [`Scope::hex`] gives.
    pub fn from_hex(text: &str) -> Option<Self> {
        parse_hex(text).map(Self)
    }

    /// 64 hexadecimal digits, fit for logs.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// The hash itself.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn hash(parts: &[&[u8]]) -> Self {
        Self(hash_parts(b"oncekey scope 1", parts))
    }
}

impl ScopedKey {
    /// How many shards the records are spread over: part of the storage layout, not a setting.
    pub const SHARDS: u16 = 256;

    /// The storage name of `key` in `scope`. Being a hash, it has one length whatever the key's.
    pub fn new(scope: &Scope, key: &IdempotencyKey) -> Self {
        Self(hash_parts(b"oncekey key 1", &[&scope.0, key.as_str().as_bytes()]))
    }

    /// The storage name of a business key in `scope`. It never meets the name of an idempotency key.
    pub fn of_number(scope: &Scope, number: &Number) -> Self {
        let parts = number.parts();
        let [method, path, pointer, value] = parts.each_ref().map(String::as_bytes);
        Self(hash_parts(b"oncekey number 1", &[&scope.0, method, path, pointer, value]))
    }

    /// Which shard holds it, below [`ScopedKey::SHARDS`].
    pub fn shard(&self) -> u8 {
        self.0[0]
    }

    /// Any name that lies in this shard: for calls that are about all of it.
    pub fn in_shard(shard: u8) -> Self {
        let mut name = [0; 32];
        name[0] = shard;
        Self(name)
    }

    /// Reads what [`ScopedKey::hex`] gives.
    pub fn from_hex(text: &str) -> Option<Self> {
        parse_hex(text).map(Self)
    }

    /// 64 hexadecimal digits, fit for logs and for store keys.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// The hash itself.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Whether a credential changes by itself: it holds a JWT, whatever its scheme and quotes, or its
/// scheme signs each request.
fn is_short_lived(value: &str) -> bool {
    let words = value.split([' ', '\t', ',', ';', '"', '=']).flat_map(|word| word.split("%22"));
    let lower = value.to_ascii_lowercase();
    let is_signed = ["signature=", "response=", "nonce="].iter().any(|part| lower.contains(part))
        || lower.starts_with("aws4-");
    is_signed || words.into_iter().any(is_jwt)
}

/// Whether a word has the shape of a JWT: a signed one has three base64url parts (RFC 7515), an
/// encrypted one five (RFC 7516), of which some may be empty. The first is a JSON object, which in
/// base64 starts with `eyJ`.
fn is_jwt(word: &str) -> bool {
    let is_base64url = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let parts = word.split('.').count();
    word.starts_with("eyJ") && matches!(parts, 3 | 5) && word.split('.').all(is_base64url)
}

/// SHA-256 over parts that each carry their length, so that no two lists of parts read the same.
fn hash_parts(domain: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in core::iter::once(&domain).chain(parts) {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

fn hex(bytes: &[u8; 32]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    digits.map(char::from).collect()
}

fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = (high * 16 + low) as u8;
    }
    Some(bytes)
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({})", self.hex())
    }
}

impl fmt::Debug for ScopedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScopedKey({})", self.hex())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Vec<ScopeSource> {
        vec![ScopeSource::Header("x-api-key".into()), ScopeSource::Header("authorization".into())]
    }

    fn derive(values: &[(&str, &str)], aliases: &ScopeAliases) -> Result<Scope, ScopeError> {
        Scope::derive(&sources(), aliases, |source| {
            let ScopeSource::Header(name) = source else { return Ok(None) };
            let found = values.iter().find(|(key, _)| key == name);
            Ok(found.map(|(_, value)| (*value).to_owned()))
        })
    }

    #[test]
    fn the_first_source_that_is_there_decides_alone() {
        let none = ScopeAliases::default();
        let both = derive(&[("x-api-key", "a"), ("authorization", "b")], &none);
        assert_eq!(both, derive(&[("x-api-key", "a")], &none));
        assert_ne!(
            both,
            derive(&[("authorization", "a")], &none),
            "the source is part of the scope"
        );
        assert_eq!(
            derive(&[("x-api-key", ""), ("authorization", "b")], &none),
            derive(&[("authorization", "b")], &none)
        );
        assert_eq!(derive(&[], &none), Err(ScopeError::Missing));
    }

    #[test]
    fn a_hash_is_told_in_bytes_and_in_digits() {
        let scope = Scope::of_tenant("a");
        let name = ScopedKey::new(&scope, &IdempotencyKey::parse_bare("k").expect("a key"));
        assert_eq!((hex(scope.as_bytes()), hex(name.as_bytes())), (scope.hex(), name.hex()));
        assert_eq!(name.shard(), name.as_bytes()[0]);
    }

    #[test]
    fn a_refreshed_token_is_refused_unless_an_alias_names_its_tenant() {
        let token = "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
        let none = ScopeAliases::default();
        assert_eq!(derive(&[("authorization", token)], &none), Err(ScopeError::ShortLivedToken));
        assert_eq!(
            derive(&[("authorization", &token[7..])], &none),
            Err(ScopeError::ShortLivedToken)
        );
        assert!(derive(&[("authorization", "Bearer sk_live_eyJ.a.b")], &none).is_ok());
        assert!(derive(&[("authorization", "Bearer eyJ.only-two")], &none).is_ok());
        let (jwt, jwe) = (&token[7..], "eyJhbGciOiJkaXIifQ..aXY.Y2lwaGVy.dGFn");
        for changing in [
            format!("DPoP {jwt}"),
            format!("Bearer \"{jwt}\""),
            format!("Bearer {jwt},"),
            format!("Bearer\t{jwt}"),
            format!("%22{jwt}%22"),
            format!("Bearer {jwe}"),
            "AWS4-HMAC-SHA256 Credential=AKID/20260101, Signature=fe5f".to_owned(),
            "Digest username=\"a\", nonce=\"b\"".to_owned(),
        ] {
            let found = derive(&[("authorization", &changing)], &none);
            assert_eq!(found, Err(ScopeError::ShortLivedToken), "{changing}");
        }
        let hash = hex(&Sha256::digest(token.as_bytes()).into());
        let aliases = ScopeAliases::parse(&format!("{hash}:acme")).unwrap();
        assert_eq!(derive(&[("authorization", token)], &aliases), Ok(Scope::of_tenant("acme")));
    }

    #[test]
    fn a_credential_that_cannot_be_told_from_another_is_refused() {
        let none = ScopeAliases::default();
        assert_eq!(derive(&[("x-api-key", "k\u{fffd}")], &none), Err(ScopeError::Unreadable));
        let twice = |_: &ScopeSource| Err(ScopeError::Ambiguous);
        assert_eq!(Scope::derive(&sources(), &none, twice), Err(ScopeError::Ambiguous));
    }

    #[test]
    fn a_rotated_credential_keeps_its_keys() {
        let hash = |value: &str| hex(&Sha256::digest(value.as_bytes()).into());
        let aliases =
            ScopeAliases::parse(&format!("{}:acme,{}:acme", hash("old"), hash("new"))).unwrap();
        assert_eq!(
            derive(&[("x-api-key", "old")], &aliases),
            derive(&[("x-api-key", "new")], &aliases)
        );
        assert_ne!(
            derive(&[("x-api-key", "old")], &aliases),
            derive(&[("x-api-key", "other")], &aliases)
        );
    }

    #[test]
    fn names_are_hashes_of_one_length_and_differ_by_scope_and_key() {
        let key = |text: &str| IdempotencyKey::parse_bare(text).unwrap();
        let (one, other) = (Scope::of_tenant("a"), Scope::of_tenant("b"));
        assert_ne!(ScopedKey::new(&one, &key("k")), ScopedKey::new(&other, &key("k")));
        assert_ne!(ScopedKey::new(&one, &key("k")), ScopedKey::new(&one, &key("l")));
        assert_eq!(ScopedKey::new(&one, &key(&"x".repeat(255))).hex().len(), 64);
        assert_eq!(Scope::from_hex(&one.hex()), Some(one));
        assert_eq!(Scope::from_hex("no"), None);
        let name = ScopedKey::new(&one, &key("k"));
        assert_eq!(ScopedKey::from_hex(&name.hex()), Some(name));
        assert_eq!(ScopedKey::in_shard(173).shard(), 173);
    }
}
