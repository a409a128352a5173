//! Tells whether two submits have the same payload.

use crate::canonical::is_raw;
use crate::codec::hex::{hex, hex32};
use crate::fingerprint::{RequestParts, digest_of_version_1, preimage_of_version_1};
use crate::key::IdempotencyKey;
use core::fmt;
use sha2::{Digest, Sha256};

/// The length of a body, in bytes, from which it is faster to let the platform hash the request.
pub const LARGE_BODY: usize = 4 << 10;

/// The payload of an intent: a hash over the origin of the URL and the fingerprint of the request.
/// It is kept in memory only.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Payload([u8; 32]);

/// 32 bits of a hash over key and payload: enough to notice a change. If it misses a change, the
/// server still refuses the request, because it compares whole fingerprints.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag(pub(super) u32);

impl Payload {
    /// Returns the payload of a request to this origin (`https://api.example`).
    pub fn of(origin: &str, request: &RequestParts<'_>) -> Self {
        // Version 1 compares a form by its bytes. That is enough, because a browser writes a form in one way,
        // and a page need not load the code for version 2.
        Self::of_digest(origin, &digest_of_version_1(request))
    }

    /// Returns the payload of a request from the SHA-256 of its [preimage](Self::preimage).
    pub fn of_digest(origin: &str, digest: &[u8; 32]) -> Self {
        Self(hash(b"oncekey payload 1", &[origin.as_bytes(), hex(digest).as_bytes()]))
    }

    /// Returns the bytes that a platform may hash instead of the core. Its own hash function is many times faster,
    /// which matters for a body of [`LARGE_BODY`] bytes and more.
    pub fn preimage(request: &RequestParts<'_>) -> Vec<u8> {
        preimage_of_version_1(request)
    }

    /// Returns the part of the preimage before the body, if the rest is the body as it is. So a large file need not
    /// be copied to the core. The body of `request` is not read.
    pub fn preimage_before_body(request: &RequestParts<'_>) -> Option<Vec<u8>> {
        let bodiless = RequestParts { body: b"", ..*request };
        is_raw(request.content_type).then(|| preimage_of_version_1(&bodiless))
    }

    /// Returns the tag for a key. The key is the salt, so that no single table fits all entries.
    pub fn tag(&self, key: &IdempotencyKey) -> Tag {
        let [a, b, c, d, ..] = hash(b"oncekey tag 1", &[key.as_str().as_bytes(), &self.0]);
        Tag(u32::from_be_bytes([a, b, c, d]))
    }
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
