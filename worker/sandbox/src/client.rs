//! Sends commands to a merchant's object.

use super::command::Command;
use super::error::{Failure, Refusal};
use super::input::ApiKey;
use super::reply::Reply;
use oncekey::codec::hex::hex;
use platform::durable_object::DurableObject;
use sha2::{Digest, Sha256};
use worker::Env;

/// The binding of the namespace of merchants' objects.
const BINDING: &str = "MERCHANTS";

/// The statuses of responses without a body: the object does not know the form of the command, or
/// lost the command to a panic.
pub(super) const NOT_UNDERSTOOD: u16 = 503;
pub(super) const LOST: u16 = 500;

/// The owner of an object.
pub(super) enum Owner {
    Merchant(ApiKey),
    /// All senders of webhooks together, which are not merchants.
    Senders,
}

/// Sends a command to the owner's object and returns its reply. The command is sent once: after a
/// lost reply its outcome is unknown, and the caller, who has the key, decides whether to retry.
pub(super) async fn send(env: &Env, owner: &Owner, command: &Command) -> Result<Reply, Failure> {
    let object = DurableObject::named(env, BINDING, &object_name(owner))?;
    let sent = async {
        let reply = object.post(&command.encode(), None).await?;
        let link = reply.headers().get("Link")?;
        Ok((reply.status(), link, reply.bytes().await?))
    };
    let (status, link, body) = sent.await.map_err(|error: worker::Error| {
        worker::console_error!("merchant, {}: {error}", command.request_id);
        Refusal::unavailable()
    })?;
    match status {
        _ if !body.is_empty() => Ok(Reply::ready(status, body).with_link(link)),
        NOT_UNDERSTOOD => Err(Refusal::unavailable().into()),
        _ => Err(Refusal::internal().into()),
    }
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
