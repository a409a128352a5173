//! Tells whether two submits have the same payload.

use crate::codec::hex::hex32;
use crate::fingerprint::{Fingerprint, RequestParts};
use crate::key::IdempotencyKey;
use core::fmt;
use sha2::{Digest, Sha256};

/// The payload of an intent: hashes over the origin of the URL and the fingerprint of the request, one for
/// each version of its digest. It is kept in memory only.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Payload {
    /// With the digest of version 1. Earlier releases of the package made the tags of all entries of it.
    bytes: [u8; 32],
    /// With the digest of the version that new tags are made of: 2 for a form of pairs.
    value: [u8; 32],
}

/// 32 bits of a hash over key and payload: enough to notice a change. If it misses a change, the
/// server still refuses the request, because it compares whole fingerprints.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag(pub(super) u32);

impl Payload {
    /// Returns the payload of a request to this origin (`https://api.example`).
    pub fn of(origin: &str, request: &RequestParts<'_>) -> Self {
        let fingerprint = Fingerprint::plain(request);
        let of = |hex: &str| hash(b"oncekey payload 1", &[origin.as_bytes(), hex.as_bytes()]);
        let bytes = of(&fingerprint.digest_hex());
        Self { bytes, value: fingerprint.pairs_hex().map_or(bytes, |hex| of(&hex)) }
    }

    /// Returns the tag for a key. The key is the salt, so that no single table fits all entries.
    pub fn tag(&self, key: &IdempotencyKey) -> Tag {
        tag(key, &self.value)
    }

    /// Returns whether this is the payload that the tag for a key was made of.
    pub fn has_tag(&self, key: &IdempotencyKey, made: Tag) -> bool {
        [&self.value, &self.bytes].into_iter().any(|payload| tag(key, payload) == made)
    }
}

fn tag(key: &IdempotencyKey, payload: &[u8]) -> Tag {
    let [a, b, c, d, ..] = hash(b"oncekey tag 1", &[key.as_str().as_bytes(), payload]);
    Tag(u32::from_be_bytes([a, b, c, d]))
}

fn hash(domain: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(domain);
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Payload(…)")
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tag(")?;
        f.write_str(&hex32(self.0))?;
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_the_tag_that_an_earlier_release_made_of_its_bytes() {
        let request = |body| RequestParts {
            method: "POST",
            path: "/pay",
            query: None,
            content_type: Some("application/x-www-form-urlencoded"),
            content_encoding: None,
            body,
            ignore: &[],
        };
        let payload = |body| Payload::of("https://a.example", &request(body));
        let (one, same) = (payload(b"a=1&b=2"), payload(b"b=2&a=1"));
        let key = IdempotencyKey::parse_bare("order-1").unwrap();
        let hex = Fingerprint::plain(&request(b"a=1&b=2")).digest_hex();
        let earlier = hash(b"oncekey payload 1", &[b"https://a.example", hex.as_bytes()]);
        let earlier = tag(&key, &earlier);
        assert!(one.tag(&key) != earlier && one.has_tag(&key, earlier));
        // An earlier release compared forms by their bytes.
        assert!(!same.has_tag(&key, earlier));
    }
}
