//! Sends commands to a merchant's object.

use super::answer::Answer;
use super::command::Command;
use super::error::{Failure, Refusal};
use super::input::ApiKey;
use oncekey::codec::hex::hex;
use platform::durable_object::DurableObject;
use sha2::{Digest, Sha256};
use worker::Env;

/// The binding of the namespace of merchants' objects.
const BINDING: &str = "MERCHANTS";

/// The object's statuses, without a body, for trouble of its own: it does not know the command, so
/// it does not know whose answer it would give; or it lost the command to a panic.
pub(super) const NOT_UNDERSTOOD: u16 = 503;
pub(super) const LOST: u16 = 500;

/// Whose object it is.
pub(super) enum Owner {
    Merchant(ApiKey),
    /// Of all who send events: they are no merchants.
    Senders,
}

/// Sends a command to the merchant's object and passes its answer on. It is sent once: after a lost
/// reply nobody here knows whether it took effect, and the caller, who has the key, decides.
pub(super) async fn send(env: &Env, owner: &Owner, command: &Command) -> Result<Answer, Failure> {
    let object = DurableObject::named(env, BINDING, &object_name(owner))?;
    let sent = async {
        let reply = object.post(&command.encode(), None).await?;
        Ok((reply.status(), reply.bytes().await?))
    };
    let (status, body) = sent.await.map_err(|error: worker::Error| {
        worker::console_error!("merchant, {}: {error}", command.request_id.as_str());
        Refusal::unavailable()
    })?;
    match status {
        _ if !body.is_empty() => Ok(Answer::ready(status, body)),
        NOT_UNDERSTOOD => Err(Refusal::unavailable().into()),
        _ => Err(Refusal::internal().into()),
    }
}

/// The object's name: the credential itself must not be found in names, logs or dashboards.
fn object_name(owner: &Owner) -> String {
    let (domain, name) = match owner {
        Owner::Merchant(merchant) => ("oncekey sandbox merchant 1\0", merchant.as_str()),
        Owner::Senders => ("oncekey sandbox senders 1\0", ""),
    };
    let digest = Sha256::new().chain_update(domain).chain_update(name).finalize();
    hex(&digest)
}
