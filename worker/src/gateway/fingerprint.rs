//! The fingerprints of a request, hashed by the platform if the body is large.

use crate::http::bridge::Bridge;
use oncekey::fingerprint::{Digests, FingerprintSecrets, Fingerprints, Preimages, RequestParts};

/// The length of a body in bytes from which the platform's hash function is faster, although it is one more call.
const LARGE: usize = 64 << 10;

/// Computes the fingerprints of a request.
pub(super) async fn fingerprints(
    request: &RequestParts<'_>,
    secrets: &FingerprintSecrets,
    bridge: &Bridge,
) -> Fingerprints {
    let digests = if request.body.len() < LARGE { None } else { digests(request, bridge).await };
    match digests {
        Some(digests) => Fingerprints::of_digests(digests, secrets),
        None => Fingerprints::compute(request, secrets),
    }
}

/// Lets the platform hash a request. Returns `None` if it fails.
async fn digests(request: &RequestParts<'_>, bridge: &Bridge) -> Option<Digests> {
    let Preimages { form, whole, pairs } = Preimages::of(request);
    let form = bridge.sha256(form).await?;
    let mut hashes = [None, None];
    for (hash, bytes) in hashes.iter_mut().zip([whole, pairs]) {
        if let Some(bytes) = bytes {
            *hash = Some(bridge.sha256(bytes).await?);
        }
    }
    let [whole, pairs] = hashes;
    Some(Digests { form, whole, pairs })
}
