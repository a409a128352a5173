//! Requests, tokens and responses to test with.

use oncekey::fingerprint::RequestParts;
use oncekey::{AttemptToken, FingerprintSecrets, Fingerprints, StoredResponse};

/// Returns a request with this body, with fingerprints by these secrets (`id:secret,…`; empty for none).
pub(crate) fn request(body: &str, secrets: &str) -> Fingerprints {
    let secrets = match secrets {
        "" => FingerprintSecrets::none(),
        list => FingerprintSecrets::parse(list).expect("a list of secrets"),
    };
    let parts = RequestParts {
        method: "POST",
        path: "/v1/orders",
        query: None,
        content_encoding: None,
        content_type: Some("text/plain"),
        body: body.as_bytes(),
        ignore: &[],
    };
    Fingerprints::compute(&parts, &secrets)
}

/// Returns the token of attempt `number`.
pub(crate) fn token(number: u8) -> AttemptToken {
    AttemptToken::new([number; 16])
}

/// Returns a response with this status. Its body, which is also its request id, distinguishes it from all others.
pub(crate) fn response(status: u16, body: &str) -> StoredResponse {
    let headers = [("content-type".to_owned(), "text/plain".to_owned())];
    let request_id = format!("req {body}");
    StoredResponse::keep(status, headers, body.as_bytes().to_vec(), &request_id, 10_000).0
}
