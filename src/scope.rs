//! The owner of a key. Two tenants may choose the same key, and must never share a record.

mod aliases;
mod changing_credentials;
mod credential;
mod error;
pub mod jwt;
mod known_callers;
mod name;
mod origin;
mod schemes;
mod source_values;
mod sources;
mod step;

pub use aliases::{AliasError, ScopeAliases};
pub use error::ScopeError;
pub use known_callers::KnownCallers;
pub use origin::{OriginAnswer, OriginScope, OriginVerdict};
pub use sources::{ScopeSource, ScopeSources, SourceError, parse_replay_authorization};
pub use step::{JwtScope, ScopeStep};

pub(crate) use schemes::split_scheme;

use name::Part;

use crate::business_key::BusinessKey;
use crate::codec::hex::{hex, parse_hex};
use crate::key::IdempotencyKey;
use crate::message_fields;
use core::fmt;
use sha2::{Digest, Sha256};

/// The owner of keys: a SHA-256 hash of the caller's credential or tenant, so that no credential is
/// stored or logged.
///
/// ```
/// # use oncekey::{IdempotencyKey, Scope, ScopedKey};
/// let key = IdempotencyKey::parse_header("order-1042")?;
/// let [one, other] = ["acme", "other"].map(Scope::of_tenant);
/// assert_ne!(ScopedKey::new(&one, &key), ScopedKey::new(&other, &key));
/// # Ok::<(), oncekey::KeyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scope([u8; 32]);

message_fields!(Scope(hash));

/// The name that a record is stored under: SHA-256 over the scope and the idempotency key, or over the
/// scope and the business key.
///
/// ```
/// # use oncekey::{IdempotencyKey, Scope, ScopedKey};
/// let key = IdempotencyKey::parse_header("order-1042")?;
/// let name = ScopedKey::new(&Scope::of_tenant("acme"), &key);
/// assert_eq!(name.as_bytes().len(), 32); // as a BLOB
/// assert_eq!(ScopedKey::from_hex(&name.hex()), Some(name)); // or as text
/// # Ok::<(), oncekey::KeyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopedKey([u8; 32]);

message_fields!(ScopedKey(hash));

impl Scope {
    /// Returns the scope of a tenant that `SCOPE_ALIASES` names.
    pub fn of_tenant(tenant: &str) -> Self {
        Self::hash(&[b"tenant", tenant.as_bytes()])
    }

    /// Returns the scope of a webhook source, whose event ids are used as keys. It never equals the
    /// scope of a tenant.
    pub fn of_source(source: &str) -> Self {
        Self::hash(&[b"source", source.as_bytes()])
    }

    /// Returns the scope of a caller whom the API itself names. It never equals the scope of a credential or
    /// a tenant.
    pub fn of_caller(name: &str) -> Self {
        Self::hash(&[b"caller", name.as_bytes()])
    }

    /// Returns the scope that all callers without a credential share, if the settings allow such
    /// callers.
    pub fn anonymous() -> Self {
        Self::hash(&[b"anonymous"])
    }

    /// Parses the output of [`Scope::hex`].
    pub fn from_hex(text: &str) -> Option<Self> {
        parse_hex(text).map(Self)
    }

    /// Returns the hash as 64 hexadecimal digits, which may be logged.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// Returns the 32 bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the scope of joined parts.
    fn of_parts(parts: impl Iterator<Item = Part>) -> Self {
        let parts: Vec<_> = core::iter::once("joined".to_owned()).chain(parts.flatten()).collect();
        Self::hash(&parts.iter().map(String::as_bytes).collect::<Vec<_>>())
    }

    fn hash(parts: &[&[u8]]) -> Self {
        Self(hash_parts(b"oncekey scope 1", parts))
    }
}

impl ScopedKey {
    /// The number of shards. It is part of the storage layout and not a setting.
    pub const SHARDS: u16 = 256;

    /// Derives the storage name of a key in a scope. The name is always 32 bytes long.
    pub fn new(scope: &Scope, key: &IdempotencyKey) -> Self {
        Self(hash_parts(b"oncekey key 1", &[&scope.0, key.as_str().as_bytes()]))
    }

    /// Derives the storage name of a business key in a scope. It never equals the name of an idempotency
    /// key.
    pub fn of_business_key(scope: &Scope, business_key: &BusinessKey) -> Self {
        let parts = business_key.parts();
        let [method, path, pointer, value] = parts.each_ref().map(String::as_bytes);
        Self(hash_parts(b"oncekey number 1", &[&scope.0, method, path, pointer, value]))
    }

    /// Returns the index of the shard that stores the record, below [`ScopedKey::SHARDS`].
    pub fn shard(&self) -> u8 {
        self.0[0]
    }

    /// Returns a name that belongs to this shard, for calls that concern the whole shard.
    #[doc(hidden)]
    pub fn in_shard(shard: u8) -> Self {
        let mut name = [0; 32];
        name[0] = shard;
        Self(name)
    }

    /// Parses the output of [`ScopedKey::hex`].
    pub fn from_hex(text: &str) -> Option<Self> {
        parse_hex(text).map(Self)
    }

    /// Returns the hash as 64 hexadecimal digits, which may be logged and used as a storage key.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// Returns the 32 bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Returns the SHA-256 of parts. The length of each part is hashed before it, so that two different
/// lists of parts never give the same input.
fn hash_parts(domain: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in core::iter::once(&domain).chain(parts) {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
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

    fn derive_from(
        sources: &ScopeSources,
        values: &[(&str, &str)],
        aliases: &ScopeAliases,
    ) -> Result<Scope, ScopeError> {
        Scope::derive(sources, aliases, values.iter().copied())
    }

    fn derive(values: &[(&str, &str)], aliases: &ScopeAliases) -> Result<Scope, ScopeError> {
        derive_from(&ScopeSources::default(), values, aliases)
    }

    fn sha256(value: &str) -> String {
        hex(&Sha256::digest(value.as_bytes()))
    }

    #[test]
    fn a_request_carries_one_source() {
        let none = ScopeAliases::default();
        let one = derive(&[("x-api-key", "a")], &none);
        assert_ne!(one, derive(&[("authorization", "a")], &none), "the source is part of it");
        for empty in ["", " ", "Bearer", "basic"] {
            let both = [("x-api-key", "a"), ("authorization", empty)];
            assert_eq!(derive(&both, &none), one, "{empty:?} says nothing");
        }
        let sources = ScopeSources::default();
        let both = [("x-api-key", "a"), ("authorization", "b")];
        assert_eq!(derive(&both, &none), Err(ScopeError::Several(sources.clone())));
        assert_eq!(derive(&[], &none), Err(ScopeError::Missing(sources)));
    }

    #[test]
    fn the_hashes_of_usual_credentials_are_stable() {
        let none = ScopeAliases::default();
        let bearer = "b28522a0924d1a9e963c5a0ba7efddda011fdda520b056ebd2759e4ed6f4a9eb";
        for authorization in ["Bearer abc", "bearer abc", "BEARER \t abc", " Bearer abc "] {
            let scope = derive(&[("authorization", authorization)], &none).unwrap();
            assert_eq!(scope.hex(), bearer, "{authorization}");
        }
        let scope = derive(&[("x-api-key", "abc")], &none).unwrap();
        assert_eq!(scope.hex(), "b8a632d3d31bfceb290a44e587f4dfad4a9419ec6900e0c3e05332250f6ed7de");
        let cookie = ScopeSources::parse("cookie:sid").unwrap();
        let scope = derive_from(&cookie, &[("cookie", "sid=abc")], &none).unwrap();
        assert_eq!(scope.hex(), "170699ce6ca24c38ad89068fb8ad183638257daf5050a3c7739caee3a96b9c10");
    }

    #[test]
    fn the_order_of_joined_sources_does_not_change_the_scope() {
        let none = ScopeAliases::default();
        let of = |sources: &str, headers: &[(&str, &str)], aliases| {
            derive_from(&ScopeSources::parse(sources).unwrap(), headers, aliases)
        };
        let both = [("x-api-key", "abc"), ("authorization", "bearer abc")];
        let scope = of("header:X-Api-Key+header:Authorization", &both, &none).unwrap();
        assert_eq!(scope.hex(), "ea827eae95ddd440a5abb63f134e134f33a3a0b25c76c28c0af3e8209961698e");
        assert_eq!(of("header:Authorization+header:X-Api-Key", &both, &none), Ok(scope));
        let other = [("x-api-key", "abc"), ("authorization", "Bearer abd")];
        assert_ne!(of("header:X-Api-Key+header:Authorization", &other, &none), Ok(scope));
        // When the app's API key is rotated, each of its users keeps the same scope.
        let aliases =
            ScopeAliases::parse(&format!("{}:app,{}:app", sha256("old"), sha256("new"))).unwrap();
        let by = |key, user| {
            let headers = [("x-api-key", key), ("authorization", user)];
            of("header:X-Api-Key+header:Authorization", &headers, &aliases).unwrap()
        };
        assert_eq!(by("old", "Bearer a"), by("new", "Bearer a"));
        assert_ne!(by("old", "Bearer a"), by("new", "Bearer b"));
        assert_ne!(by("old", "Bearer a"), by("app", "Bearer a"));
    }

    #[test]
    fn bytes_and_hex_digits_of_a_hash_agree() {
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
        assert_eq!(derive(&[("x-api-key", token)], &none), Err(ScopeError::ShortLivedToken));
        let aliases = ScopeAliases::parse(&format!("{}:acme", sha256(token))).unwrap();
        assert_eq!(derive(&[("authorization", token)], &aliases), Ok(Scope::of_tenant("acme")));
    }

    #[test]
    fn an_alias_matches_every_spelling_of_the_scheme() {
        let list = ["old", "Bearer new", "bearer small"].map(|value| sha256(value) + ":acme");
        let aliases = ScopeAliases::parse(&list.join(",")).unwrap();
        let acme = Ok(Scope::of_tenant("acme"));
        assert_eq!(derive(&[("x-api-key", "old")], &aliases), acme);
        for value in ["Bearer new", "bearer  new", "Bearer small", "BEARER small"] {
            assert_eq!(derive(&[("authorization", value)], &aliases), acme, "{value}");
        }
        assert_ne!(derive(&[("x-api-key", "other")], &aliases), acme);
    }

    #[test]
    fn outside_of_authorization_an_alias_matches_only_its_own_scheme() {
        let acme = Ok(Scope::of_tenant("acme"));
        let aliases = ScopeAliases::parse(&format!("{}:acme", sha256("Token new"))).unwrap();
        for value in ["Token new", "token token = \"new\""] {
            assert_eq!(derive(&[("x-api-key", value)], &aliases), acme, "{value}");
        }
        for value in ["new", "Bearer new"] {
            assert_ne!(derive(&[("x-api-key", value)], &aliases), acme, "{value}");
        }
    }

    #[test]
    fn an_alias_matches_a_token_in_a_parameter() {
        let acme = Ok(Scope::of_tenant("acme"));
        for alias in
            ["Bearer new", "new", "Token token=new", "Token token=\"new\"", "Token token=new2"]
        {
            let aliases = ScopeAliases::parse(&format!("{}:acme", sha256(alias))).unwrap();
            for value in ["Token token=new", "token  token = \"new\"", "Bearer new", "Token new"] {
                let found = derive(&[("authorization", value)], &aliases);
                assert_eq!(found == acme, alias != "Token token=new2", "{alias}: {value}");
            }
        }
        let aliases = ScopeAliases::parse(&format!("{}:acme", sha256("Key id=new"))).unwrap();
        for value in ["Key id=new", "key id=\"new\"", "Bearer id = new"] {
            assert_eq!(derive(&[("authorization", value)], &aliases), acme, "{value}");
        }
    }

    #[test]
    fn a_stored_name_depends_on_scope_and_key() {
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
