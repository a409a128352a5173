//! Sends requests to a merchant's object.

use super::error::{Failure, Refusal};
use super::input::ApiKey;
use oncekey::codec::hex::hex;
use sha2::{Digest, Sha256};
use worker::{Env, Request, Response};

/// The binding of the namespace of merchants' objects.
const BINDING: &str = "MERCHANTS";

/// The owner of an object.
pub(super) enum Owner {
    Merchant(ApiKey),
    /// All senders of webhooks together, which are not merchants.
    Senders,
}

/// Sends a request to the owner's object, once: after a lost response its outcome is unknown, and the
/// caller, who has the key, decides whether to retry.
pub(super) async fn send(env: &Env, owner: &Owner, request: Request) -> Result<Response, Failure> {
    let sent = async {
        // The object's name identifies the merchant. The object does not get the credential.
        request.inner().headers().delete("X-Api-Key")?;
        let object = env.durable_object(BINDING)?.get_by_name(&object_name(owner))?;
        object.fetch_with_request(request).await
    };
    sent.await.map_err(|error: worker::Error| {
        worker::console_error!("merchant: {error}");
        Refusal::unavailable().into()
    })
}

/// Returns the object's name. It is a hash, so that no name, log or dashboard shows the credential.
fn object_name(owner: &Owner) -> String {
    let (domain, name) = match owner {
        Owner::Merchant(merchant) => ("oncekey sandbox merchant 1\0", merchant.as_str()),
        Owner::Senders => ("oncekey sandbox senders 1\0", ""),
    };
    let digest = Sha256::new().chain_update(domain).chain_update(name).finalize();
    hex(&digest)
}
